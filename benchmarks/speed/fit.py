"""Maximum-likelihood fits beside scikit-learn's: same kernel, same start.

    OMP_NUM_THREADS=1 python benchmarks/speed/fit.py --cpu
    python benchmarks/speed/fit.py
    python benchmarks/speed/fit.py --threads

``--cpu`` takes processor time with one thread, which other work on the machine does not change;
without it, elapsed time with all threads. ``--threads`` compares one BLAS thread with as many as
there are cores.
"""

import argparse
import warnings
from time import perf_counter, process_time

from _timing import alternate, drifting, header, report, seconds
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from threadpoolctl import threadpool_limits

from sktvbo import TimeVaryingGPRegressor
from sktvbo.kernels import Separable


def beside_scikit_learn(n, repeats, timer):
    """Print a line for each of three spatial kernels at one size."""
    X, y = drifting(n)
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


def by_threads(n, repeats):
    """Print a line: a fit with one thread, and with all."""
    X, y = drifting(n)
    gp = TimeVaryingGPRegressor(Matern(0.4, nu=2.5), Matern(20.0, nu=1.5))
    one, many = [], []
    for _ in range(repeats):
        with threadpool_limits(1):
            one.append(seconds(lambda: gp.fit(X, y), perf_counter)[0])
        many.append(seconds(lambda: gp.fit(X, y), perf_counter)[0])
    print(f"n = {n:3d}   {report(one, many)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 200, 400, 800, 1600])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cpu", action="store_true", help="processor time")
    parser.add_argument("--threads", action="store_true", help="one thread beside all")
    arguments = parser.parse_args()
    # scikit-learn warns when an optimum is at a bound, which is so for both.
    warnings.simplefilter("ignore", ConvergenceWarning)
    if arguments.threads:
        header("Maximum-likelihood fit, d = 3; ours: one BLAS thread, theirs: all")
    else:
        header("Maximum-likelihood fit, d = 3; theirs: scikit-learn")
    for n in arguments.sizes:
        if arguments.threads:
            by_threads(n, arguments.repeats)
        else:
            timer = process_time if arguments.cpu else perf_counter
            beside_scikit_learn(n, arguments.repeats, timer)


if __name__ == "__main__":
    main()
