"""Measure a likelihood with its gradient by both exact solvers, and the choice of solver="auto".

    OMP_NUM_THREADS=1 python benchmarks/speed/solvers.py [--largest N] [kernel ...]

A line for each kernel, number of rows and of places, and kind of times: milliseconds of processor
time by the Cholesky factor and by the Kalman filter, their ratio, and the solver that "auto" takes.
The constants of ``sktvbo/gaussian_process/_exact.py`` are from here.
"""

import argparse
import warnings

import numpy as np
from _timing import header, seconds
from sklearn.gaussian_process.kernels import ExpSineSquared, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process.kalman._filter import Filter
from sktvbo.kernels import Forgetting, with_seasons

SEASON = Matern(48.0, nu=2.5) + Matern(100.0, nu=1.5) * ExpSineSquared(1.5, 24.0)
KERNELS = {
    "forgetting": (Forgetting(0.05), None),
    "matern": (Matern(20.0, nu=2.5), None),
    "sum": (Matern(20.0, nu=1.5) + 0.5 * Matern(5.0, nu=0.5), None),
    "season": (SEASON, None),
    "seasons": (with_seasons(Matern(48.0, nu=2.5), 24.0, 168.0), None),
    "decays": (Matern(30.0, nu=1.5) * ExpSineSquared(1.0, 7.0) * Matern(9.0, nu=0.5), None),
    "level": (Matern(20.0, nu=1.5), 0.5 * Matern(5.0, nu=0.5)),
}
ROWS, PLACES = (250, 500, 1000, 2000, 4000), (1, 5, 15, 50, 150)


def case(kernels, n, n_places, times):
    """Return an unfitted regressor, X and y of n rows at places in turn."""
    rng, i = np.random.default_rng(0), np.arange(n)
    t = np.cumsum(rng.uniform(0.5, 1.5, n)) if times == "irregular" else 1.0 * i
    t = i // n_places if times == "coincident" else t
    S = rng.uniform(size=(n_places, 2 * (n_places > 1)))
    X, y = np.column_stack([S[i % n_places], t]), np.sin(t / 10.0) + 0.1 * rng.normal(size=n)
    spatial = Matern(0.3, nu=2.5) if n_places > 1 else None
    temporal, level = kernels
    return TimeVaryingGPRegressor(spatial, temporal, level_kernel=level, optimizer=None), X, y


def measured(gp, X, y, repeats=3):
    """Return the seconds of a likelihood with its gradient by each solver, and auto's choice."""
    found = []
    for solver in ("dense", "kalman"):
        fitted = gp.set_params(solver=solver).fit(X, y)
        call = lambda: fitted.log_marginal_likelihood(fitted.theta_, True)  # noqa: B023, E731
        found.append(min(seconds(call)[0] for _ in range(repeats)))
    return *found, "kalman" if type(
        gp.set_params(solver="auto").fit(X, y)._gp
    ) is Filter else "dense"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", default=list(KERNELS), metavar="kernel")
    parser.add_argument("--largest", type=int, default=4000, help="largest number of rows")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    header("A likelihood with its gradient: kernel, n, places, times, dense ms, filter ms, ratio")
    for name in options.kernels:
        for n in (n for n in ROWS if n <= options.largest):
            for n_places in PLACES:
                for times in ("regular", "irregular", "coincident")[: 3 if n_places > 1 else 2]:
                    dense, kalman, chosen = measured(*case(KERNELS[name], n, n_places, times))
                    line = f"{name:10} {n:5} {n_places:4} {times:10}"
                    line += (
                        f" {1e3 * dense:9.1f} {1e3 * kalman:9.1f} {dense / kalman:7.2f} {chosen}"
                    )
                    wrong = (dense > 2 * kalman) if chosen == "dense" else (kalman > 2 * dense)
                    print(line + " slower" * wrong, flush=True)


if __name__ == "__main__":
    main()
