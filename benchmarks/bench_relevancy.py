"""Relevancy of all observations: this package against the authors' compiled one. CPU time."""

from time import process_time

import numpy as np
import wdbo_criterion
from _timing import alternate, header, report, seconds
from sklearn.gaussian_process.kernels import Matern

from sktvbo.relevancy import wasserstein_relevancy


def problem(n, d=3):
    rng = np.random.default_rng(0)
    X, t, y = rng.uniform(size=(n, d)), np.sort(rng.uniform(size=n)), rng.normal(size=n)

    def ours():
        return wasserstein_relevancy(
            np.column_stack([X, t]),
            y,
            spatial_kernel=Matern(0.3, nu=2.5),
            temporal_kernel=Matern(0.4, nu=1.5),
            signal_variance=1.0,
            noise_variance=0.05,
            now=1.0,
        )

    def theirs():
        kernels = wdbo_criterion.MaternKernel(0.3, 2.5), wdbo_criterion.MaternKernel(0.4, 1.5)
        return wdbo_criterion.wasserstein_criterion(X, y, t, n, d, 1.0, 0.05, *kernels, 1.0, 0, 1)

    return ours, theirs


if __name__ == "__main__":
    header("Relevancy of n observations, d = 3, Matern 5/2 x Matern 3/2; theirs: wdbo_criterion")
    for n in (50, 100, 200):
        ours, theirs = problem(n)
        error = np.abs(ours() - np.ravel(theirs())).max()
        line = alternate(ours, theirs, 7, 100, process_time)
        print(f"n = {n:3d}   {line}   |difference| {error:.0e}")
    # Their code takes the better part of a minute here: it runs once, in the middle of our runs.
    ours, theirs = problem(400)
    mine = [seconds(ours, process_time)[0] for _ in range(20)]
    other, result = seconds(theirs, process_time)
    mine += [seconds(ours, process_time)[0] for _ in range(20)]
    error = np.abs(ours() - np.ravel(result)).max()
    print(f"n = 400   {report(mine, [other])}   |difference| {error:.0e}")
