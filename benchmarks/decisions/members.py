"""Regret on spaces of few members, beside GP-UCB and Optuna's TPE, and how many are visited.

    python benchmarks/decisions/members.py --members 9 50 --seeds 8
    python benchmarks/decisions/members.py --members 9 20 --seeds 100 --steps 5 --optimizers W-DBO

Members are uniform in the unit square, functions draws of a Gaussian process of space (lengthscale
0.4) and of time (0: still). Regret is over that of uniform queries. "best" is the share of the runs
that queried the first maximizer, "visited" the mean share of members that were queried, and "all"
the share of the runs that queried all of them. --steps is a number of steps per member, at most 200
steps. TPE, if Optuna is installed, chooses among categories.
"""

import argparse
import warnings

import numpy as np

from sktvbo.domain import FiniteSet
from sktvbo.exceptions import OverconfidenceWarning
from sktvbo.optimizers._names import ALGORITHMS

N_FEATURES, LENGTHSCALE, MAX_STEPS = 200, 0.4, 200


class Ours:
    """An algorithm of this package, asked for the index of a member."""

    def __init__(self, name, members, seed):
        self._domain = FiniteSet(members)
        self._optimizer = ALGORITHMS[name](self._domain, random_state=seed)

    def ask(self, t):
        self._x = self._optimizer.ask(t)
        return self._domain.index(self._x)

    def tell(self, y, t):
        self._optimizer.tell(self._x, y, t)


class TPE:
    """Optuna's sampler, which chooses among categories."""

    def __init__(self, members, seed):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=seed)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._members = range(len(members))

    def ask(self, t):
        self._trial = self._study.ask()
        return self._trial.suggest_categorical("member", self._members)

    def tell(self, y, t):
        self._study.tell(self._trial, y)


def run(name, n_members, lengthscale_in_time, noise, n_steps, seed):
    """Return the relative regret, whether the best member was queried, and the share queried."""
    rng = np.random.RandomState(seed)
    members = rng.uniform(size=(n_members, 2))
    rate = 1.0 / lengthscale_in_time if lengthscale_in_time else 0.0
    frequencies = rng.normal(size=(N_FEATURES, 3)) * [1.0 / LENGTHSCALE, 1.0 / LENGTHSCALE, rate]
    phases = rng.uniform(0.0, 2.0 * np.pi, N_FEATURES)
    weights = rng.normal(size=N_FEATURES) * np.sqrt(2.0 / N_FEATURES)
    errors = noise * rng.normal(size=n_steps)
    optimizer = TPE(members, seed) if name == "TPE" else Ours(name, members, seed)
    regret, of_uniform, visited = 0.0, 0.0, set()
    for t in range(n_steps):
        f = np.cos(members @ frequencies[:, :2].T + t * frequencies[:, 2] + phases) @ weights
        if t == 0:
            first = int(f.argmax())
        i = optimizer.ask(float(t))
        optimizer.tell(f[i] + errors[t], float(t))
        visited.add(i)
        regret += f.max() - f[i]
        of_uniform += f.max() - f.mean()
    share = len(visited) / n_members
    return regret / of_uniform, first in visited, share, share == 1.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--members", nargs="+", type=int, default=[9, 50, 200, 500])
    parser.add_argument("--optimizers", nargs="+", default=["W-DBO", "GP-UCB", "TPE"])
    parser.add_argument("--steps", type=int, default=MAX_STEPS)
    parser.add_argument("--seeds", type=int, default=8)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", OverconfidenceWarning)
    for n in arguments.members:
        for lengthscale in (0.0, 150.0):
            for noise in (0.0, 0.1):
                print(f"{n} members, lengthscale in time {lengthscale:g}, noise {noise:g}")
                for name in arguments.optimizers:
                    setting = n, lengthscale, noise, min(arguments.steps * n, MAX_STEPS)
                    runs = [run(name, *setting, seed) for seed in range(arguments.seeds)]
                    regret, best, visited, everything = np.transpose(runs)
                    error = regret.std(ddof=1) / np.sqrt(len(runs))
                    shares = f"best {best.mean():4.0%}  visited {visited.mean():4.0%}"
                    line = f"{name:10}{regret.mean():8.3f} ± {error:.3f}  {shares}"
                    print(f"{line}  all {everything.mean():4.0%}", flush=True)


if __name__ == "__main__":
    main()
