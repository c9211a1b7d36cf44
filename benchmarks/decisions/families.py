"""Regret of W-DBO and of its rivals on families of problems that a benchmark of boxes leaves out.

    python benchmarks/decisions/families.py runs.jsonl
    python benchmarks/decisions/families.py runs.jsonl --set held-out --seeds 12
    python benchmarks/decisions/families.py runs.jsonl --problems arms --algorithms W-DBO BOLT

Mixed spaces have 90 queries, of which the last 30 count; arms with 0/1 rewards and answers that are
late have 600, of which the last 400 count. The regret is divided by that of uniform queries. A
default is good if it pays in one family and costs in none by more than its error.

- recipe, batch, tune, plant (held out: learner, process, pumps, crossed): reals, integers,
  logarithms and categories whose best values drift.
- arms, late arms: four (held out: six) arms; answers come 25 steps (held out: 1 to 59) later.
- late box: a peak that moves in one dimension; answers come 10 (held out: 15) steps later.
- batches: the same in two dimensions, four queries at a time.

"Optuna GP" needs torch, "discounted TS" is for arms. Finished runs are stored in the file: the same
command resumes.
"""

import argparse
import json
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import optuna

from sktvbo import BOLT, TVGPUCB, WDBO, RandomSearch
from sktvbo.exceptions import ModelWarning

REAL = ("real", 0.0, 1.0)


def recipe(p, t):
    place = 0.02 * (p["heat"] - 60.0 - 0.6 * t) ** 2 + 12.0 * (np.log10(p["flow"]) + 0.3) ** 2
    return place + 2.0 * abs(p["stirrers"] - 3) + 4.0 * (p["pump"] == "old")


def batch(p, t):
    place = 3.0 * (p["a"] - 0.2 - 0.015 * t) ** 2 + 2.0 * (p["b"] - 0.7) ** 2
    return place + 0.08 * abs(p["n"] - 5) + {"u": 0.3, "v": 0.0, "w": 0.5}[p["k"]]


def tune(p, t):
    place = 4.0 * (p["a"] - 0.3 - 0.01 * t) ** 2 + 2.0 * (p["b"] - p["a"]) ** 2
    return place + 0.05 * (p["n"] - 6 + t / 15.0) ** 2


def plant(p, t):
    place = 4.0 * (p["a"] - 0.3 - 0.01 * t) ** 2 + 2.0 * (p["b"] - p["a"]) ** 2
    return place + (p["c"] - 0.8) ** 2 + 0.5 * (p["e"] - 0.6 + 0.01 * t) ** 2


def learner(p, t):
    rate = np.log10(p["rate"]) + 2.5 - 0.04 * t + 0.5 * (p["rule"] == "sgd")
    size = 0.2 * (np.log2(p["size"]) - 6.0) ** 2 + 0.15 * (p["depth"] - 4) ** 2
    return rate**2 + size + {"sgd": 0.8, "adam": 0.0, "lion": 0.3}[p["rule"]]


def process(p, t):
    place = 0.1 * (p["x"] - 2.0 * np.sin(t / 10.0)) ** 2 + 0.1 * (p["y"] + 1.0) ** 2
    wave = 0.5 * (1.0 - np.cos(6.0 * (p["z"] - 0.6)))
    return place + wave + {"a": 0.5, "b": 0.2, "c": 0.0, "d": 0.9}[p["mode"]]


def pumps(p, t):
    level = ["low", "mid", "high", "max"].index(p["level"])
    place = 0.002 * (p["valve"] - 70.0 + t) ** 2 + 0.1 * (p["pumps"] - 4 - t / 10.0) ** 2
    return place + 0.7 * abs(level - 2)


def crossed(p, t):
    centre = 0.3 if p["k"] == "u" else 0.6
    place = 2.0 * (p["a"] - centre - 0.01 * t) ** 2 + (p["b"] - 0.4) ** 2 + 0.1 * abs(p["n"] - 2)
    return place + 0.25 * (p["k"] == "u") + {"r": 0.4, "s": 0.0, "t": 0.2}[p["l"]]


# Space, cost and noise of the mixed problems.
MIXED = {
    "development": {
        "recipe": (
            {
                "heat": ("real", 20.0, 120.0),
                "flow": ("log-real", 0.1, 10.0),
                "stirrers": ("integer", 1, 4),
                "pump": ["old", "new"],
            },
            recipe,
            1.0,
        ),
        "batch": (
            {"a": REAL, "b": REAL, "n": ("integer", 1, 8), "k": ["u", "v", "w"]},
            batch,
            0.02,
        ),
        "tune": ({"a": REAL, "b": REAL, "n": ("integer", 1, 10)}, tune, 0.05),
        "plant": (dict.fromkeys("abce", REAL), plant, 0.03),
    },
    "held-out": {
        "learner": (
            {
                "rate": ("log-real", 1e-4, 1.0),
                "size": ("log-integer", 8, 512),
                "rule": ["sgd", "adam", "lion"],
                "depth": ("integer", 1, 6),
            },
            learner,
            0.1,
        ),
        "process": (
            {
                "x": ("real", -5.0, 5.0),
                "y": ("real", -5.0, 5.0),
                "z": REAL,
                "mode": ["a", "b", "c", "d"],
            },
            process,
            0.05,
        ),
        "pumps": (
            {
                "valve": ("real", 0.0, 100.0),
                "pumps": ("integer", 0, 12),
                "level": ("ordinal", ["low", "mid", "high", "max"]),
            },
            pumps,
            0.2,
        ),
        "crossed": (
            {"a": REAL, "b": REAL, "k": ["u", "v"], "l": ["r", "s", "t"], "n": ("integer", 1, 5)},
            crossed,
            0.04,
        ),
    },
}
RATES = {
    "development": [0.5, 0.1, 0.1, 0.1],
    "held-out": [0.25, 0.45, 0.3, 0.1, 0.2, 0.15],
}
DELAYS = {
    "none": lambda rng, held_out: 0,
    "arms": lambda rng, held_out: rng.integers(1, 60) if held_out else 25,
    "box": lambda rng, held_out: 15 if held_out else 10,
}


class Optuna:
    """Optuna with one of its samplers, with ask and tell."""

    def __init__(self, sampler, space, maximize=True, random_state=None):
        sampler = getattr(optuna.samplers, sampler)(seed=random_state)
        direction = "maximize" if maximize else "minimize"
        self._study, self._space = optuna.create_study(sampler=sampler, direction=direction), space
        self._trials = {}

    def suggest(self, t, n=None):
        if n is not None:
            return [self.suggest(t) for _ in range(n)]
        trial = self._study.ask()
        found = {name: self._value(trial, name, spec) for name, spec in self._space.items()}
        self._trials[id(found)] = trial
        return found

    def _value(self, trial, name, spec):
        if isinstance(spec, list) or spec[0] == "ordinal":
            return trial.suggest_categorical(name, spec if isinstance(spec, list) else spec[1])
        kind = trial.suggest_int if "integer" in spec[0] else trial.suggest_float
        return kind(name, *spec[1:], log=spec[0].startswith("log"))

    def tell(self, query, y):
        self._study.tell(self._trials.pop(id(query)), y)


class DiscountedThompson:
    """Thompson sampling of 0/1 rewards whose counts fade (Raj and Kalyani 2017), for one category.

    Of the discounts 0.95, 0.98, 0.99 and 0.995 the last is the best on the held-out arms.
    """

    def __init__(self, space, random_state=None, discount=0.995):
        ((self._name, self._arms),) = space.items()
        self._counts, self._discount = np.zeros((2, len(self._arms))), discount
        self._rng = np.random.default_rng(random_state)

    def suggest(self, t):
        drawn = self._rng.beta(*(self._counts + 1.0))
        return {self._name: self._arms[np.argmax(drawn)]}

    def tell(self, query, y):
        self._counts *= self._discount
        self._counts[0 if y else 1, self._arms.index(query[self._name])] += 1.0


ALGORITHMS = {"W-DBO": WDBO, "BOLT": BOLT, "TV-GP-UCB": TVGPUCB, "random": RandomSearch}
ALGORITHMS["discounted TS"] = DiscountedThompson
ALGORITHMS |= {"TPE": partial(Optuna, "TPESampler"), "Optuna GP": partial(Optuna, "GPSampler")}


def mixed(make, name, held_out, seed):
    """Return the mean cost of the last 30 of 90 queries."""
    space, cost, noise = MIXED["held-out" if held_out else "development"][name]
    rng, optimizer = np.random.default_rng(seed), make(space, maximize=False, random_state=seed)
    costs = []
    for i in range(90):
        query = optimizer.suggest(float(i))
        costs.append(cost(getattr(query, "x", query), i / 3.0))
        optimizer.tell(query, costs[-1] + noise * rng.normal())
    return np.mean(costs[60:])


def with_delay(make, space, reward, best, seed, delay, n):
    """Return the mean regret of the last two thirds of n queries with answers that are late."""
    rng, optimizer = np.random.default_rng(seed), make(space, random_state=seed)
    waiting, regrets = [], []
    for t in range(n):
        for _, query, y in [each for each in waiting if each[0] <= t]:
            optimizer.tell(query, y)
        waiting = [each for each in waiting if each[0] > t]
        query = optimizer.suggest(float(t))
        value, y = reward(getattr(query, "x", query), t, rng)
        regrets.append(best - value)
        waiting.append((t + 1 + delay(rng), query, y))
    return np.mean(regrets[n // 3 :])


def arms(make, delay, held_out, seed):
    rates = dict(enumerate(RATES["held-out" if held_out else "development"]))

    def reward(x, t, rng):
        rate = rates[x["arm"]]
        return rate, float(rng.random() < rate)

    wait = DELAYS[delay]
    space = {"arm": list(rates)}
    best = max(rates.values())
    return with_delay(make, space, reward, best, seed, lambda rng: wait(rng, held_out), 600)


def late_box(make, delay, held_out, seed):
    speed = 30.0 if held_out else 40.0

    def reward(x, t, rng):
        value = np.exp(-20.0 * (x["x"] - 0.5 - 0.3 * np.sin(t / speed)) ** 2)
        return value, value + 0.05 * rng.normal()

    wait = DELAYS[delay]
    return with_delay(make, {"x": REAL}, reward, 1.0, seed, lambda rng: wait(rng, held_out), 200)


def batches(make, held_out, seed):
    """Return the mean regret of the queries from the 40th to the 200th, four at a time."""
    rng, optimizer = np.random.default_rng(seed), make({"x": REAL, "y": REAL}, random_state=seed)
    regrets, speed = [], 8.0 if held_out else 12.0
    for t in range(50):
        centre = 0.5 + 0.3 * np.array([np.sin(t / speed), np.cos(0.7 * t / speed)])
        queries = optimizer.suggest(float(t), n=4)
        for query in queries:
            x = getattr(query, "x", query)
            value = np.exp(-10.0 * ((x["x"] - centre[0]) ** 2 + (x["y"] - centre[1]) ** 2))
            regrets.append(1.0 - value)
            optimizer.tell(query, value + 0.05 * rng.normal())
    return np.mean(regrets[40:])


def problems(held_out):
    """Return the problems of a set, functions (make, seed) -> regret, by name."""
    names = MIXED["held-out" if held_out else "development"]
    found = {
        name: lambda make, seed, name=name: mixed(make, name, held_out, seed) for name in names
    }
    for name, run, delay in (
        ("arms", arms, "none"),
        ("late arms", arms, "arms"),
        ("box", late_box, "none"),
        ("late box", late_box, "box"),
    ):
        found[name] = lambda make, seed, run=run, delay=delay: run(make, delay, held_out, seed)
    found["batches"] = lambda make, seed: batches(make, held_out, seed)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", help="finished runs")
    parser.add_argument("--set", choices=("development", "held-out"), default="development")
    parser.add_argument("--problems", nargs="+")
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=["W-DBO", "TPE"])
    parser.add_argument("--seeds", type=int, default=6)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ModelWarning)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    file, known = Path(arguments.file), problems(arguments.set == "held-out")
    lines = file.read_text().splitlines() if file.exists() else []
    done = {tuple(key): value for key, value in map(json.loads, lines)}

    def runs(name, problem):
        for seed in range(arguments.seeds):
            key = arguments.set, problem, name, seed
            if key not in done:
                done[key] = known[problem](ALGORITHMS[name], seed)
                with file.open("a") as stream:
                    print(json.dumps([key, done[key]]), file=stream)
        return np.array([done[arguments.set, problem, name, s] for s in range(arguments.seeds)])

    print(f"{'':12}" + "".join(f"{name:>18}" for name in arguments.algorithms))
    for problem in arguments.problems or known:
        uniform = runs("random", problem).mean()
        print(f"{problem:12}", end="", flush=True)
        for name in arguments.algorithms:
            found = runs(name, problem) / uniform
            error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
            print(f"{found.mean():10.3f} ± {error:.3f}", end="", flush=True)
        print()


if __name__ == "__main__":
    main()
