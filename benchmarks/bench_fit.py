"""A fit of the hyperparameters against scikit-learn's, same kernel, same start.

With one thread, ``OMP_NUM_THREADS=1 python bench_fit.py --cpu`` takes the processor's time, which
other work on the machine does not change. With several only elapsed time says what they are worth.
"""

import argparse
import warnings
from time import perf_counter, process_time

import numpy as np
from _timing import alternate, header
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from sktvbo import TimeVaryingGPRegressor
from sktvbo.kernels import Separable


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 200, 400, 800, 1600])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cpu", action="store_true", help="time of the processor")
    arguments = parser.parse_args()
    timer = process_time if arguments.cpu else perf_counter
    header("Maximum-likelihood fit, d = 3; theirs: scikit-learn")
    # scikit-learn says when an optimum is at a bound; so it is for both.
    warnings.simplefilter("ignore", ConvergenceWarning)
    for n in arguments.sizes:
        compare(n, arguments.repeats, timer)


def compare(n, repeats, timer):
    """Three kernels at one size."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(n, 3)), np.arange(n)])
    y = np.sin(5.0 * X[:, 0] + X[:, 3] / 50.0) + 0.1 * rng.normal(size=n)
    for spatial in (Matern(0.4, nu=2.5), Matern([0.4] * 3, nu=1.5), RBF(0.4)):
        temporal = Matern(20.0, nu=1.5)
        kernel = ConstantKernel(1.0, (1e-3, 1e3)) * Separable(spatial, temporal)
        kernel += WhiteKernel(0.01, (1e-6, 1e1))
        theirs = GaussianProcessRegressor(kernel, alpha=0.0)
        ours = TimeVaryingGPRegressor(spatial, temporal, noise_variance=0.01)
        sides = (lambda: ours.fit(X, y)), (lambda: theirs.fit(X, y))  # noqa: B023
        line = alternate(*sides, repeats, timer=timer)
        value = ours.log_marginal_likelihood_value_
        difference = value - theirs.log_marginal_likelihood_value_
        name = f"n = {n}, {spatial}"
        print(f"{name:>50}   {line}   likelihood {value:.3f}, ours - theirs {difference:.0e}")


if __name__ == "__main__":
    main()
