"""Violations of limits over long runs, also where the model is wrong; and published cases.

    python benchmarks/decisions/safety.py --seeds 1                    # development
    python benchmarks/decisions/safety.py --held-out --seeds 3         # hours
    python benchmarks/decisions/safety.py --kinds pauses --held-out --seeds 3
    python benchmarks/decisions/safety.py --published --seeds 5        # cases of TVSafeOpt

A violation is a query at which the noise-free outcome is beyond its limit. Columns: share of
violations, the worst run, share among the three queries after a pause; cumulative performance, as
a share of what lies between the backup place (0) and the best allowed place (1).
"""

import argparse
import warnings

import numpy as np
from _tvsafeopt import Compressors, Synthetic, TVSafeOpt
from sklearn.gaussian_process.kernels import RBF

from sktvbo import ETGPUCB, GPUCB, WDBO, TimeVaryingGPRegressor
from sktvbo.exceptions import LimitWarning, ModelWarning

NOISE, N_AFTER, PAUSES = 0.05, 3, (5, 10, 20, 40, 70, 100)
KINDS = "drift", "jumps", "walk", "kinks", "ripples", "lengthscales", "pauses"


class System:
    """A moving optimum over the unit box, and an outcome that must stay below 1.

    Of ``kinks`` and ``ripples`` in the outcome a smooth kernel knows nothing. With
    ``lengthscales`` the kernel is smooth and its wrong hyperparameters are held. The outcome of
    the start point, 0.08 in each dimension, is always below 1.
    """

    def __init__(self, kind, n_dims, seed, held_out):
        rng, times = np.random.RandomState(1000 * held_out + seed), np.arange(6000)
        self.kind, self.start = kind, np.full(n_dims, 0.08)
        self.duration, self._frequency = ((30.0, 9.0), (22.0, 13.0))[held_out]
        slopes = rng.uniform(0.6, 1.2, n_dims)
        self._slopes, phases = 1.6 * slopes / slopes.sum(), rng.uniform(0.0, 6.0, 1 + n_dims)
        self._level = 0.25 * np.sin(times / self.duration + phases[0])
        if kind == "jumps":
            gap = (90, 60)[held_out]
            self._level = np.repeat(rng.uniform(-0.4, 0.4, len(times) // gap + 1), gap)
        if kind == "walk":
            level = np.zeros(len(times))
            for i in range(1, len(times)):
                level[i] = 0.97 * level[i - 1] + 0.07 * rng.standard_normal()
            self._level = np.clip(level, -0.5, 0.5)
        self._best = 0.6 + 0.3 * np.sin(times[:, np.newaxis] / (1.7 * self.duration) + phases[1:])

    def outcome(self, X, t):
        along, turn = X @ self._slopes, t / self.duration
        change = {
            "kinks": 0.18 * np.sign(np.sin(self._frequency * along + turn)),
            "ripples": 0.15 * np.sin(4.0 * self._frequency * along + turn),
        }.get(self.kind, 0.0)
        near = np.clip(np.linalg.norm(X - self.start, axis=1) / 0.15, 0.0, 1.0)
        return 0.9 * along + near * (self._level[t] + change)

    def objective(self, X, t):
        return -3.0 * np.sum((X - self._best[t]) ** 2, axis=1)

    @property
    def options(self):
        if self.kind != "lengthscales":
            return {}
        return {
            "surrogate": TimeVaryingGPRegressor(
                spatial_kernel=RBF(0.8),
                temporal_kernel=RBF(150.0),
                noise_variance=0.01,
                optimizer=None,
            )
        }


def run(system, seed, n_steps, safety):
    """Return shares of violations, of all queries and after pauses, and the performance."""
    rng, places = np.random.RandomState(seed), np.random.RandomState(5).uniform(size=(400, 2))
    places = places[:, : len(system.start)]
    optimizer = WDBO(
        [(0.0, 1.0)] * len(system.start),
        start_points=[system.start],
        outcome_constraints={"c": (None, 1.0)},
        safety=safety,
        random_state=seed,
        **system.options,
    )
    t, since, violations, after, gains = 0, N_AFTER, [], [], []
    for i in range(n_steps):
        if system.kind == "pauses" and i and i % 50 == 0:
            t, since = t + PAUSES[(i // 50) % len(PAUSES)], 0
        x = optimizer.ask(t)
        here = x[np.newaxis], t
        c, y = system.outcome(*here)[0], system.objective(*here)[0]
        noise = NOISE * rng.standard_normal(2)
        optimizer.tell(x, y + noise[0], outcomes={"c": c + noise[1]})
        violations.append(c > 1.0)
        if since < N_AFTER:
            after.append(c > 1.0)
        if i % 10 == 0:
            allowed = places[system.outcome(places, t) <= 1.0]
            backup = system.objective(system.start[np.newaxis], t)[0]
            gains.append((y - backup, system.objective(allowed, t).max() - backup))
        t, since = t + 1, since + 1
    gained, possible = np.sum(gains, axis=0)
    return np.mean(violations), np.mean(after) if after else np.nan, gained / possible


def mean_and_error(rates):
    """Return the mean of rates as text, with its standard error if there are several."""
    if len(rates) == 1:
        return f"{rates[0]:18.2f} %"
    return f"{rates.mean():11.2f} ± {rates.std(ddof=1) / np.sqrt(len(rates)):4.2f} %"


def print_systems(arguments):
    print(f"{'system':16s}{'safety':>8s}{'violations':>20s}{'worst':>8s}{'after':>8s}{'gain':>8s}")
    for kind in arguments.kinds:
        for safety in arguments.safety:
            for n_dims in arguments.dims:
                found = []
                for seed in range(arguments.seeds):
                    system = System(kind, n_dims, seed, arguments.held_out)
                    found.append(run(system, seed, arguments.n_steps, safety))
                (rates, after), gains = 100.0 * np.array(found).T[:2], np.array(found).T[2]
                shares = f"{mean_and_error(rates)}{rates.max():8.2f}{after.mean():8.2f}"
                print(
                    f"{kind} {n_dims}d".ljust(16),
                    f"{safety:7g}{shares}{gains.mean():8.2f}",
                    flush=True,
                )


class Ours:
    """An optimizer of the package with the interface of `TVSafeOpt`."""

    def __init__(self, problem, kind, safety, seed):
        names = [f"c{i}" for i in range(len(problem.outcomes(problem.start[np.newaxis], 0)))]
        limits = dict.fromkeys(names, (0.0, None))
        options = {"start_points": [problem.start], "random_state": seed}
        self._names = names
        self._optimizer = kind(problem.bounds, outcome_constraints=limits, safety=safety, **options)

    def ask(self, t):
        return self._optimizer.ask(t)

    def tell(self, x, t, values):
        self._optimizer.tell(x, values[0], outcomes=dict(zip(self._names, values[1:])))


METHODS = {
    "TVSafeOpt": lambda problem, seed: TVSafeOpt(problem),
    "SafeOpt": lambda problem, seed: TVSafeOpt(problem, forgets=False),
    "start point": None,
    **{
        f"{kind.label}, {safety}": lambda problem, seed, kind=kind, safety=safety: Ours(
            problem, kind, safety, seed
        )
        for kind in (WDBO, ETGPUCB, GPUCB)
        for safety in (None, 0.95, 0.99)
    },
}


def print_published(n_seeds, names):
    print(f"{'problem':14s}{'method':20s}{'violations':>20s}{'regret':>10s}{'performance':>14s}")
    for problem in (Synthetic(), Compressors()):
        rng = np.random.RandomState(0)
        low, high = np.array(problem.bounds).T
        places = low + (high - low) * rng.uniform(size=(20_000, len(low)))
        allowed = [
            places[(problem.outcomes(places, t) >= 0.0).all(axis=0)] for t in range(problem.n_steps)
        ]
        best = [problem.objective(X, t).max() for t, X in enumerate(allowed)]
        for name in names:
            runs = []
            for seed in range(n_seeds):
                noise, method = np.random.RandomState(seed), METHODS[name]
                method = method and method(problem, seed)
                found = []
                for t in range(problem.n_steps):
                    x = problem.start if method is None else method.ask(t)
                    X = np.array(x, dtype=float)[np.newaxis]
                    y, outcomes = problem.objective(X, t), problem.outcomes(X, t)[:, 0]
                    told = np.append(y, outcomes)
                    if method is not None:
                        method.tell(x, t, told + 0.01 * noise.standard_normal(len(told)))
                    found.append((outcomes.min() < 0.0, max(best[t] - y[0], 0.0), y[0]))
                runs.append(np.mean(found, axis=0))
            rates, regrets, performances = np.transpose(runs)
            shares = mean_and_error(100.0 * rates)
            numbers = f"{shares}{regrets.mean():10.4f}{performances.mean():14.4f}"
            print(type(problem).__name__.ljust(14) + name.ljust(20) + numbers, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--dims", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--n-steps", type=int, default=2000)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--safety", nargs="+", type=float, default=[0.8, 0.9, 0.95, 0.99])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    options = parser.parse_args()
    warnings.simplefilter("ignore", LimitWarning)
    warnings.simplefilter("ignore", ModelWarning)
    if options.published:
        print_published(options.seeds, options.methods)
    else:
        print_systems(options)
