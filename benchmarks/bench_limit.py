"""How far fit, sweep and bound are from the LAPACK, BLAS and exponentials that they need.

    OMP_NUM_THREADS=1 python benchmarks/bench_limit.py

CPU time, both sides in turn. The bare side makes the calls on matrices of the same size and layout,
and as many of NumPy's exponentials as there are pairs of points; it has no distances, no gradient
and no Python. `bench_ask` has the ask, `bench_held` the step with hyperparameters held.
"""

import argparse
from time import process_time

import numpy as np
from _timing import header, report
from scipy.linalg import blas, lapack
from sklearn.gaussian_process.kernels import Matern

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor

N_INDUCING = 100


def data(n):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(n, 3)), np.arange(n)])
    return X, np.sin(5.0 * X[:, 0] + X[:, 3] / 50.0) + 0.1 * rng.normal(size=n)


def positive(n):
    A = np.random.default_rng(1).normal(size=(n, n)) / n
    return np.asfortranarray(A @ A.T + np.eye(n))


def fit(n):
    """A likelihood with its gradient: a factor, an inverse, n²/2 exponentials."""
    gp = TimeVaryingGPRegressor(Matern(0.4, nu=2.5), Matern(20.0, nu=1.5)).fit(*data(n))
    theta, A, pairs = gp.theta_ + 0.01, positive(n), np.full(n * (n + 1) // 2, -0.7)

    def bare():
        np.exp(pairs)
        L, _ = lapack.dpotrf(A, lower=1)
        lapack.dpotri(L, lower=1, overwrite_c=1)

    return lambda: gp.log_marginal_likelihood(theta, eval_gradient=True), bare


def sweep(n):
    """All relevancies from nothing: an inverse, a product of matrices, n² exponentials."""
    gp = TimeVaryingGPRegressor(Matern(0.4, nu=2.5), Matern(20.0, nu=1.5), optimizer=None)
    (X, y), A, square = data(n), positive(n), np.full((n, n), -0.7)

    def ours():
        return gp.fit(X, y).relevancy()

    def bare():
        np.exp(square)
        L, _ = lapack.dpotrf(A, lower=1)
        P, _ = lapack.dpotri(L, lower=1, overwrite_c=1)
        blas.dgemm(1.0, P, square.T)

    return ours, bare


def bound(n):
    """A sparse bound with its gradient: n m exponentials, four solves, a product."""
    gp = SparseTimeVaryingGPRegressor(
        Matern(0.4, nu=2.5),
        Matern(20.0, nu=1.5),
        n_inducing=N_INDUCING,
        optimizer=None,
        random_state=0,
    ).fit(*data(n))
    m, theta = N_INDUCING, gp.theta_ + 0.01
    L, _ = lapack.dpotrf(positive(m), lower=1)
    K, A = np.full((m, n), -0.7, order="F"), positive(m)

    def bare():
        V = np.exp(K)
        lapack.dpotrf(A, lower=1)
        blas.dtrsm(1.0, L, V, lower=1, overwrite_b=1)
        lapack.dpotrf(blas.dsyrk(1.0, V, c=A, beta=1.0, lower=1), lower=1)
        for transposed in (0, 1, 1):
            blas.dtrsm(1.0, L, V, lower=1, trans_a=transposed, overwrite_b=1)

    return lambda: gp.elbo(theta, eval_gradient=True), bare


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 400, 800, 1600])
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    header("Over the bare arithmetic; theirs: SciPy's LAPACK and NumPy's exp")
    for make in (fit, sweep, bound):
        print(make.__doc__)
        for n in arguments.sizes:
            sides, times = make(n), ([], [])
            for _ in range(arguments.repeats + 1):
                for call, found in zip(sides, times):
                    start = process_time()
                    call()
                    found.append(process_time() - start)
            ours, theirs = (found[1:] for found in times)
            over = np.median(ours) / np.median(theirs)
            print(f"n = {n:5}   {report(ours, theirs)}   over the limit {over:.2f}")


if __name__ == "__main__":
    main()
