"""Failed queries and regret where a quarter of the box fails, beside Optuna's TPE.

    python benchmarks/robustness/failures.py       # needs Optuna: 6 problems, 5 seeds, 4 minutes

A bump moves on an ellipse in the unit box, at some times inside the region that fails: a box, a
stripe or a corner, at rest or moving, a quarter of the area. The regret of a query counts from the
best place that does not fail; a query that fails has the regret of the worst place. The first 15
queries do not count. The random search is this package's, which avoids failures as well.
"""

import argparse

import numpy as np

from sktvbo import WDBO, RandomSearch

GRID = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 101)] * 2), axis=-1).reshape(-1, 2)


def values(X, t):
    centre = np.array([0.5 + 0.35 * np.cos(0.05 * t), 0.5 + 0.25 * np.sin(0.05 * t)])
    return np.exp(-8.0 * np.sum((X - centre) ** 2, axis=-1))


def box(X, t, moves):
    middle = 0.5 + 0.25 * moves * np.array([np.sin(0.03 * t), np.cos(0.03 * t)])
    return np.max(np.abs(X - middle), axis=-1) < 0.25


def stripe(X, t, moves):
    middle = 0.5 + 0.375 * moves * np.sin(0.03 * t)
    return np.abs(X[..., 0] - middle) < 0.125


def corner(X, t, moves):
    # The corner is that of a square whose sides are half of the box's, and turns with time.
    k = int(t // 60.0) % 4 if moves else 0
    right, upper = (k in (1, 2)), (k in (2, 3))
    return ((X[..., 0] > 0.5) == right) & ((X[..., 1] > 0.5) == upper)


class Tpe:
    """Optuna's TPE, told of failures as Optuna is."""

    def __init__(self, seed):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._state = optuna.trial.TrialState.FAIL
        sampler = optuna.samplers.TPESampler(seed=seed)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)

    def ask(self, t):
        self._trial = self._study.ask()
        return np.array([self._trial.suggest_float(name, 0.0, 1.0) for name in "ab"])

    def tell(self, x, y=None, *, failed=False):
        self._study.tell(self._trial, y, **({"state": self._state} if failed else {}))


CONTESTANTS = {
    "W-DBO": lambda seed: WDBO([(0.0, 1.0)] * 2, random_state=seed),
    "TPE": Tpe,
    "random": lambda seed: RandomSearch([(0.0, 1.0)] * 2, random_state=seed),
}


def run(make, fails, moves, seed, steps, n_initial=15):
    """Failed queries, and the average regret."""
    optimizer, rng = make(seed), np.random.RandomState(seed)
    failed, lost = 0, []
    for t in np.arange(float(steps)):
        x = np.asarray(optimizer.ask(t))
        bad = bool(fails(x, t, moves))
        all_values = values(GRID, t)
        best = all_values[~fails(GRID, t, moves)].max()
        if bad:
            optimizer.tell(x, failed=True)
        else:
            optimizer.tell(x, float(values(x, t)) + 0.02 * rng.normal())
        if t >= n_initial:
            failed += bad
            lost.append(best - (all_values.min() if bad else float(values(x, t))))
    return failed, np.mean(lost)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()
    print(f"{'':18s}" + "".join(f"{name:>20s}" for name in CONTESTANTS))
    for fails in (box, stripe, corner):
        for moves in (False, True):
            cells = []
            for make in CONTESTANTS.values():
                runs = [run(make, fails, moves, s, arguments.steps) for s in range(arguments.seeds)]
                failed, regret = np.mean(runs, axis=0)
                cells.append(f"{failed:11.1f}{regret:9.4f}")
            name = f"{fails.__name__}, {'moves' if moves else 'at rest'}"
            print(f"{name:18s}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
