"""Regret on live systems: a level moves all values, and the best place drifts, jumps or returns.

    python benchmarks/decisions/live.py --seeds 8
    python benchmarks/decisions/live.py --seeds 8 --set held-out --variants default TV-GP-UCB
    python benchmarks/decisions/live.py --seeds 8 --kinds walk jumps --first 48
    python benchmarks/decisions/live.py --kinds walk --step 3 --control

A run has 336 queries at equal intervals over the unit box, in one and two dimensions. The value is
that of a bowl (held out: of a peak with long slopes) around a moving centre, with a standard
deviation of 1 over the box, plus noise of 0.1. Cells have the average regret over that of uniform
queries ± the standard error over the seeds, and the milliseconds of processor time of a step. With
``--first`` only the first queries count. With ``--control`` the centre of the box is measured at
the time of each query as well, and told with it.

======  ============================================================================================
Kind    What moves
======  ============================================================================================
drift   the centre, smoothly, as in all kinds but jumps and daily
level   also a smooth level of all values with a standard deviation of 20
walk    also a level with independent steps of 0.5 (held out: 0.8), or of ``--step``
load    also a level of standard deviation 2 that reverts to 0 in 20 queries (held out: 8)
jumps   the centre jumps every 42 queries (held out: 33)
daily   centre and level have a period of 24 queries, which is told
clicks  the value is the share of 300 trials that succeed, while the traffic changes
======  ============================================================================================
"""

import argparse
import time
import warnings
from functools import cached_property

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from sktvbo import TVGPUCB, WDBO
from sktvbo.exceptions import ModelWarning

N_STEPS, NOISE, N_TRIALS, PERIOD = 336, 0.1, 300, 24.0
KINDS = ("drift", "level", "walk", "load", "jumps", "daily", "clicks")


def smooth(rng, n, d, duration):
    """Return paths (n, d) of standard deviation 1 that change over a duration."""
    rates, phases = rng.normal(size=(20, d)) / duration, rng.uniform(0.0, 2.0 * np.pi, (20, d))
    waves = np.cos(np.arange(n)[:, np.newaxis, np.newaxis] * rates + phases)
    return np.sqrt(0.1) * np.sum(rng.normal(size=(20, d)) * waves, axis=1)


def reverting(rng, n, duration):
    """Return a path (n,) of standard deviation 1 that reverts to 0, rough at all times."""
    decay, path = np.exp(-1.0 / duration), rng.normal(size=n)
    for i in range(1, n):
        path[i] = decay * path[i - 1] + np.sqrt(1.0 - decay**2) * path[i]
    return path


class Live:
    """A live system of one kind, over the unit box."""

    def __init__(self, kind, d, seed, held_out, step=None):
        self.kind, self.d, self.held_out = kind, d, held_out
        kind_seed = KINDS.index(kind) * 100 + 10 * seed + d + 7000 * held_out
        rng, t = np.random.RandomState(kind_seed), np.arange(N_STEPS)
        self.noise, self.scale = np.random.RandomState(seed), 1.0
        self.traffic, self.level = np.ones(N_STEPS), np.zeros(N_STEPS)
        centre = 0.5 + 0.22 * smooth(rng, N_STEPS, d, 70.0 if held_out else 90.0)
        if kind == "level":
            self.level = 20.0 * smooth(rng, N_STEPS, 1, 20.0 if held_out else 25.0)[:, 0]
        elif kind == "walk":
            self.level = np.cumsum(rng.normal(size=N_STEPS)) * (step or (0.8 if held_out else 0.5))
        elif kind == "load":
            self.level = 2.0 * reverting(rng, N_STEPS, 8.0 if held_out else 20.0)
        elif kind == "jumps":
            part = t // (33 if held_out else 42)
            centre = rng.uniform(0.1, 0.9, (part[-1] + 1, d))[part]
            centre = centre + 0.03 * smooth(rng, N_STEPS, d, 60.0)
        elif kind == "daily":
            phases, angle = rng.uniform(0.0, 2.0 * np.pi, d), 2.0 * np.pi * t / PERIOD
            centre = 0.5 + 0.25 * np.sin(angle[:, np.newaxis] + phases)
            centre = centre + 0.06 * smooth(rng, N_STEPS, d, 150.0)
            if held_out:
                centre = centre + 0.1 * np.sin(2.0 * (angle[:, np.newaxis] + phases))
            self.level = np.sin(angle + phases[0] + 1.0)
        elif kind == "clicks":
            self.traffic = np.exp(0.5 * reverting(rng, N_STEPS, 30.0))
        self.centre = np.clip(centre, 0.02, 0.98)
        self.places = np.random.RandomState(0).uniform(size=(4000, d))
        self.scale = 1.0 / np.std(self.values(self.places, 0)) if kind != "clicks" else 4.0

    def values(self, X, t):
        """Return f (m,) at places (m, d) and the t-th query."""
        squares = np.sum((X - self.centre[t]) ** 2, axis=1)
        g = -squares
        if self.held_out:
            g = np.exp(-8.0 * squares / np.sqrt(self.d)) - 0.3 * np.sqrt(squares)
        if self.kind == "clicks":
            return np.minimum(0.06 * self.traffic[t] * np.exp(self.scale * g), 1.0)
        return self.scale * g + self.level[t]

    def observed(self, value):
        if self.kind == "clicks":
            return self.noise.binomial(N_TRIALS, value) / N_TRIALS
        return value + NOISE * self.noise.normal()

    @cached_property
    def best(self):
        """Largest value (n,) at each query."""
        return np.array([self.values(self.centre[t][np.newaxis], t)[0] for t in range(N_STEPS)])

    @property
    def uniform(self):
        """Average regret (n,) of uniform queries."""
        return np.array([self.best[t] - self.values(self.places, t).mean() for t in range(N_STEPS)])


def changed(change):
    """Return W-DBO with a default surrogate that a function (surrogate, interval) changes.

    With seasons it has neither a rough part nor priors, and is not changed.
    """

    class Changed(WDBO):
        def _make_surrogate(self, times):
            made = super()._make_surrogate(times)
            return made if self.seasonal_periods else change(made, times.interval)

    return Changed


def without_rough_part(surrogate, interval):
    priors = {name: p for name, p in surrogate.hyperpriors.items() if "temporal" not in name}
    kernel = surrogate.temporal_kernel.k1
    return surrogate.set_params(temporal_kernel=kernel, hyperpriors=priors)


def with_short_lengthscale(surrogate, interval):
    priors = {name: p for name, p in surrogate.hyperpriors.items() if "spatial" not in name}
    bounds = {"spatial_kernel__length_scale_bounds": (0.01, 0.5)}
    return surrogate.set_params(hyperpriors=priors, **bounds)


def with_level(surrogate, interval):
    """Return the surrogate with a rough level, of which all else may be a small part."""
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * Matern(
        3.0 * interval, (0.5 * interval, 1e6 * interval), nu=0.5
    )
    return surrogate.set_params(
        level_kernel=kernel,
        signal_variance_bounds=(1e-4, 20.0),
        noise_variance_bounds=(1e-6, 1.0),
    )


VARIANTS = {
    "default": WDBO,
    "smooth": changed(without_rough_part),
    "l at most 1/2": changed(with_short_lengthscale),
    "level": changed(with_level),
    "TV-GP-UCB": TVGPUCB,
}


def regret_and_time(made, problem, seed, first, control=False):
    """Return the regret of a run over that of uniform queries, and milliseconds a step."""
    options = {"seasonal_periods": PERIOD} if problem.kind == "daily" else {}
    optimizer = made([(0.0, 1.0)] * problem.d, random_state=seed, **options)
    regrets, start = np.empty(first), time.process_time()
    for t in range(first):
        x = optimizer.ask(float(t))
        value = problem.values(x[np.newaxis], t)[0]
        regrets[t] = problem.best[t] - value
        if control:
            fixed = np.full((1, problem.d), 0.5)
            y = [problem.observed(value), problem.observed(problem.values(fixed, t)[0])]
            optimizer.tell_many(np.vstack([x, fixed]), y, t=[float(t)] * 2)
        else:
            optimizer.tell(x, problem.observed(value))
    milliseconds = 1000.0 * (time.process_time() - start) / first
    return regrets.mean() / problem.uniform[:first].mean(), milliseconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--set", choices=("development", "held-out"), default="development")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["default"])
    parser.add_argument("--dims", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--step", type=float, help="standard deviation of the steps of a walk")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--first", type=int, default=N_STEPS, metavar="QUERIES")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ModelWarning)
    print(f"{'':10}" + "".join(f"{name:>24}" for name in arguments.variants))
    for kind in arguments.kinds:
        for d in arguments.dims:
            cells = ""
            for name in arguments.variants:
                runs = []
                for seed in range(arguments.seeds):
                    problem = Live(kind, d, seed, arguments.set == "held-out", arguments.step)
                    how = arguments.first, arguments.control
                    runs.append(regret_and_time(VARIANTS[name], problem, seed, *how))
                regrets, milliseconds = np.transpose(runs)
                error = np.std(regrets, ddof=1) / np.sqrt(len(regrets)) if len(runs) > 1 else np.nan
                cell = f"{regrets.mean():.3f} ± {error:.3f}  {milliseconds.mean():4.1f} ms"
                cells += f"{cell:>24}"
            print(f"{kind + f'-{d}d':10}{cells}", flush=True)


if __name__ == "__main__":
    main()
