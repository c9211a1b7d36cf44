"""A W-DBO step with the hyperparameters held: how its time grows with n, and what BLAS alone takes.

The bare side makes the triangular solves, the matrix-vector products, and the update and the sum
over the inverse that the step cannot do without, on matrices of the same size. CPU time, for one
thread: ``OMP_NUM_THREADS=1 python bench_held.py``.
"""

import argparse
from time import process_time

import numpy as np
from _timing import header, report, seconds
from scipy.linalg import blas
from sklearn.gaussian_process.kernels import Matern

from sktvbo import WDBO, TimeVaryingGPRegressor

D, STEPS = 3, 9


def objective(x, t, rng):
    return np.sin(4.0 * np.sum(x) + t / 100.0) + 0.1 * rng.normal()


def bare(n):
    """A step's calls of BLAS, without its exponentials."""
    rng = np.random.default_rng(0)
    L = np.asfortranarray(np.tril(rng.normal(size=(n, n))) / n + np.eye(n))
    P, b = np.asfortranarray(rng.normal(size=(n, n))), rng.normal(size=n)
    two, four = (
        np.asfortranarray(rng.normal(size=(n, 2))),
        np.asfortranarray(rng.normal(size=(n, 4))),
    )
    spare = np.asfortranarray(P)

    def calls():
        # The new row of the factor, its covariances with the inverse, weights and mean.
        for _ in range(3):
            blas.dtrsv(L, b, lower=1)
            blas.dtrsv(L, b, lower=1, trans=1)
        blas.dger(1e-9, b, b, a=spare, overwrite_a=1)
        # The forms, with the convolutions and with the inverse; what the sweep sums.
        blas.dgemm(1.0, P, two)
        blas.dgemm(1.0, P, four)
        blas.dgemv(1.0, P, b)
        np.einsum("ij,ij->", P, spare)

    return calls


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1000, 2000, 4000])
    sizes = parser.parse_args().sizes
    header(f"A W-DBO step, hyperparameters held, d = {D}; ours: tell, theirs: its bare BLAS calls")
    medians = []
    for n in sizes:
        rng = np.random.default_rng(0)
        surrogate = TimeVaryingGPRegressor(
            Matern(0.5, nu=2.5),
            Matern(float(n), nu=1.5),
            normalize_y=True,
            mean_prior_std=1.0,
            optimizer=None,
        )
        opt = WDBO(
            [(0.0, 1.0)] * D, surrogate=surrogate, alpha=0.0, n_initial_points=n, random_state=0
        )
        for t in range(n):
            x = rng.uniform(size=D)
            opt.tell(x, objective(x, t, rng), t)
        calls, tell, ask, other = bare(n), [], [], []
        for t in range(n, n + STEPS + 2):
            elapsed, x = seconds(lambda: opt.ask(t), process_time)  # noqa: B023
            ask.append(elapsed)
            y = objective(x, t, rng)

            def step(x=x, y=y):
                opt.tell(x, y)  # noqa: B023
                opt.surrogate_.relevancy_sweep(float(opt.next_time_)).relevancy()  # noqa: B023

            tell.append(seconds(step, process_time)[0])
            other.append(seconds(calls, process_time)[0])
        # The first two steps compute what the others keep.
        tell, ask, other = tell[2:], ask[2:], other[2:]
        medians.append(np.median(tell) + np.median(ask))
        print(f"n = {n:4d}   {report(tell, other)}   ask {1e3 * np.median(ask):.4g} ms")
    if len(sizes) > 1:
        slope = np.polyfit(np.log(sizes), np.log(medians), 1)[0]
        print(f"the time of tell and ask grows as n to the power {slope:.2f}")


if __name__ == "__main__":
    main()
