"""A whole W-DBO step, d = 3: tell (refit), forget, ask; against wdbo_algo.

    OMP_NUM_THREADS=1 python benchmarks/bench_step.py

Both optimizers hold the same n observations and are told the same ones. Each step both fit the
hyperparameters, compute the relevancies, remove what their budget allows, and maximize the
acquisition function. CPU time.
"""

import argparse
import warnings
from time import process_time

import gpytorch
import numpy as np
import torch
from _timing import header, report
from wdbo_algo.optimizer import WDBOOptimizer

from sktvbo import WDBO, TimeVaryingGPRegressor

D = 3


def objective(x, t, rng):
    return np.sin(4.0 * np.sum(x) + 6.0 * t) + 0.1 * rng.normal()


def their_likelihood(gpr):
    """Log marginal likelihood that their fit attained, with their constant mean."""
    gpr.train(), gpr.likelihood.train()
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(gpr.likelihood, gpr)
    value = mll(gpr(gpr.train_x), gpr.train_y).item() * len(gpr.train_y)
    gpr.eval(), gpr.likelihood.eval()
    return value


def cpu(function):
    """Processor time of one call, and what it returned."""
    start = process_time()
    result = function()
    return process_time() - start, result


def compare(n, steps):
    """Steps in turn from n observations."""
    np.random.seed(0)
    rng = np.random.default_rng(0)
    kernel = gpytorch.kernels.MaternKernel
    theirs = WDBOOptimizer(np.array([[0.0, 1.0]] * D), kernel, kernel, [2.5], [1.5], n)
    # Time runs over [0, 1] as theirs expects.
    ours = WDBO([(0.0, 1.0)] * D, n_initial_points=n, random_state=0)
    for t in np.linspace(0.0, 0.5, n):
        x = rng.uniform(size=D)
        y = objective(x, t, rng)
        theirs.tell(x, t, y)
        ours.tell(x, y, t)
    theirs.clean(0.5)
    t, mine, other, sizes, likelihoods = 0.5, [], [], [], []
    x = ours.ask(t)
    theirs.next_query(t)
    for _ in range(steps):
        t += 0.5 / n
        y = objective(x, t, rng)

        def their_step(x=x, t=t, y=y):
            theirs.tell(x, t, y)
            theirs.clean(t)
            return theirs.next_query(t)

        def our_step(x=x, t=t, y=y):
            ours.tell(x, y, t)
            return ours.ask(t)

        other.append(cpu(their_step)[0])
        elapsed, x = cpu(our_step)
        mine.append(elapsed)
        sizes.append((len(ours.X_), theirs.dataset_size()))
        # Both are timed on the data set of theirs: the removals may differ.
        gp = ours.surrogate_
        fit = TimeVaryingGPRegressor(
            gp.spatial_kernel_,
            gp.temporal_kernel_,
            signal_variance=gp.signal_variance_,
            noise_variance=gp.noise_variance_,
            normalize_y=True,
            optimizer=None,
        ).fit(theirs._xx_tt, theirs._yy)
        likelihoods.append(
            (
                fit.log_marginal_likelihood(),
                fit.log_marginal_likelihood(theirs._gpr.get_kernel_log_hyperparameters()),
                their_likelihood(theirs._gpr),
            )
        )
    (first, last), (their_first, their_last) = np.transpose([sizes[0], sizes[-1]])
    print(f"n = {n:4d}   {report(mine, other)}")
    print(f"data-set sizes: ours {first} to {last}, theirs {their_first} to {their_last}")
    ours_ll, at_theirs, with_mean = np.median(likelihoods, axis=0)
    print(
        f"log marginal likelihood on their data set (median): ours {ours_ll:.3f}, theirs "
        f"{at_theirs:.3f}; theirs with their constant mean {with_mean:.3f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[30, 60, 120, 240])
    parser.add_argument("--steps", type=int, default=12)
    arguments = parser.parse_args()
    header(f"A W-DBO step, d = {D}; theirs: wdbo_algo")
    torch.set_default_dtype(torch.float64)
    warnings.filterwarnings("ignore", module="gpytorch|botorch|linear_operator")
    for n in arguments.sizes:
        compare(n, arguments.steps)


if __name__ == "__main__":
    main()
