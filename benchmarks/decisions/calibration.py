"""False alarms of the OverconfidenceWarning: the share of runs that it is given in.

    python benchmarks/decisions/calibration.py --replications 20

W-DBO, 150 queries. "draws" are functions from Gaussian processes with Gaussian noise, for which the
default model is right but for its hyperparameters, which it learns. "others" are the development
and held-out problems that are no draws, "arms" six arms with rewards of 0 and 1. The columns have
the runs, those with a warning, and the largest number of residuals beyond ±1.30 among 50 in turn,
of which 25 warn; then, for comparison, the runs in which the root mean square of 50 exceeds 1.8.
"""

import argparse
import warnings

import numpy as np
from _problems import HORIZON, Development, Draw, development_problems, held_out_problems

from sktvbo import WDBO
from sktvbo.domain import Arms
from sktvbo.exceptions import OverconfidenceWarning
from sktvbo.problems import Problem

STEPS, WINDOW, LARGE, LARGEST_RMS = 150, 50, 1.30, 1.8
RATES = np.array([0.6, 0.3, 0.2, 0.1, 0.1, 0.1])


def without_optima(self, name, n_dims, noise):
    """Initialize a problem whose optimum nobody asks for: finding it takes most of the time."""
    Problem.__init__(self, name, [(0.0, 1.0)] * n_dims, HORIZON)
    self._set_noise(noise)


def residuals(domain, observe, seed):
    """Return whether a run warns, and its residuals without sign."""
    opt, rng = WDBO(domain, random_state=seed), np.random.RandomState(10_000 + seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for t in np.arange(STEPS) * HORIZON / STEPS:
            x = opt.ask(t)
            opt.tell(x, float(observe(x, t, rng)))
    found = np.abs(opt.to_frame()["residual"].dropna())
    return any(issubclass(each.category, OverconfidenceWarning) for each in caught), found


def of_problem(problem, seed):
    noise = np.sqrt(problem.noise_variance)

    def observe(x, t, rng):
        return problem._values(np.atleast_2d(x), t)[0] + noise * rng.normal()

    return residuals(problem.domain, observe, seed)


def of_arms(seed):
    rates = np.random.RandomState(seed).permutation(RATES)
    return residuals(Arms(len(rates)), lambda x, t, rng: rng.uniform() < rates[int(x[0])], seed)


def row(name, runs):
    """Print the row of a family of runs."""
    runs = list(runs)
    windows = [np.lib.stride_tricks.sliding_window_view(found, WINDOW) for _, found in runs]
    counts = [(window > LARGE).sum(axis=1).max() for window in windows]
    sizes = [np.sqrt((window**2).mean(axis=1)).max() for window in windows]
    n_warned, n_large = sum(warned for warned, _ in runs), sum(s > LARGEST_RMS for s in sizes)
    print(f"{name:8}{len(runs):8}{n_warned:8}{max(counts):8}{n_large:8}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--replications", type=int, default=20)
    n = parser.parse_args().replications
    Development.__init__ = without_optima
    others = [*development_problems(), *held_out_problems()]
    others = [problem for problem in others if not isinstance(problem, Draw)]
    print(f"{'':8}{'runs':>8}{'warned':>8}{'largest':>8}{'rms':>8}")
    row("draws", (of_problem(Draw(seed), seed) for seed in range(n)))
    row("arms", (of_arms(seed) for seed in range(n)))
    row("others", (of_problem(problem, 0) for problem in others[:n]))


if __name__ == "__main__":
    main()
