"""Kinds of systems, with many runs of each.

All runs of a kind have its shape, its typical setting, its noise and its speed of change. Where
exactly the best setting of a run is, and how it moves, is drawn for each.

==============  ====================================================================================
Kind            What is special, on a bowl (held out: a peak with long slopes) over two parameters
==============  ====================================================================================
drift           the best setting drifts smoothly, as in all kinds that are not named otherwise
jump            it jumps every 42 queries (held out: 33)
delayed         answers come 10 queries (held out: 15) later
still           it does not move
settles         it comes to rest
level           a level with independent steps of 0.5 (held out: 0.8) moves all values
daily           it has a period of 24 queries, which is told
noisy           noise has the standard deviation of the values
one, six        one, six or twelve parameters
twelve
... off         the typical setting is far from the middle
narrow          a peak of width 0.1 (held out: 0.08), far from the middle, that hardly moves
narrow one      the same for one parameter
hills           six hills, of which the highest moves
corner          all parameters should be as large as possible; only how much one matters drifts
valley          a long narrow valley along which the best setting moves
batches         four queries at a time
constrained     the middle violates a known constraint
context         a measured variable moves the best setting
mixed           a real, a logarithm, an integer and a category of three
arms            six arms with 0/1 outcomes
limited         the best settings violate a limit of a second outcome; those beyond it yield nothing
==============  ====================================================================================
"""

from functools import cached_property

import numpy as np
from live import smooth

from sktvbo.domain import Context

N_STEPS, NOISE, PERIOD = 160, 0.1, 24.0

DIMS = {"one": 1, "one off": 1, "narrow one": 1, "six": 6, "six off": 6, "twelve": 12}
DIMS |= {"twelve off": 12, "arms": 1, "mixed": 3}
OFF = ("one off", "two off", "six off", "twelve off", "narrow", "narrow one", "still off")
RATES = {False: (0.5, 0.1, 0.15, 0.1, 0.2, 0.3), True: (0.25, 0.45, 0.3, 0.1, 0.2, 0.15)}
MODES = {False: (0.3, 0.0, 0.5), True: (0.0, 0.4, 0.15)}

KINDS = (
    "drift", "jump", "delayed", "still", "settles", "level", "daily", "noisy", "one", "one off",
    "two off", "still off", "six", "six off", "twelve", "twelve off", "narrow", "narrow one",
    "hills", "corner", "valley", "batches", "constrained", "context", "mixed", "arms", "limited",
)  # fmt: skip


class System:
    """A run of a kind.

    Parameters
    ----------
    kind : str
    instance, seed : int
        Of the system, which determines its typical setting, and of the run.
    held_out : bool
        Other shapes, settings and speeds.
    y_scale, y_offset : float
        Unit of y.
    bounds : (float, float)
        Of each real parameter.
    noise, speed : float
        Factors of the noise and of the speed of change.
    """

    def __init__(
        self,
        kind,
        instance,
        seed=0,
        held_out=False,
        *,
        y_scale=1.0,
        y_offset=0.0,
        bounds=(0.0, 1.0),
        noise=1.0,
        speed=1.0,
    ):
        number = [KINDS.index(kind), int(held_out), instance]
        of_kind, rng = (np.random.RandomState(each) for each in (number, [*number, 1 + seed]))
        self.kind, self.held_out, self.d = kind, held_out, DIMS.get(kind, 2)
        self.y_scale, self.y_offset, self.bounds = y_scale, y_offset, bounds
        self.deviation = noise * (1.0 if kind == "noisy" else NOISE)
        self.observing = np.random.RandomState([instance, seed])
        self.delay = (15 if held_out else 10) if kind == "delayed" else 0
        self.size = 4 if kind == "batches" else 1
        self.options = {"seasonal_periods": PERIOD} if kind == "daily" else {}
        if kind == "limited":
            self.options = {"outcome_constraints": {"load": (None, 1.0)}}
        self.typical = np.full(self.d, 0.5)
        if kind in OFF:
            sides = of_kind.choice([-1.0, 1.0], self.d)
            self.typical = 0.5 + sides * of_kind.uniform(0.15, 0.4, self.d)
        self.level, self.hidden = np.zeros(N_STEPS), np.zeros(N_STEPS)
        self.centre = np.clip(self._path(rng, speed), 0.02, 0.98)
        if kind == "level":
            steps = rng.normal(size=N_STEPS) * (0.8 if held_out else 0.5) * np.sqrt(speed)
            self.level = np.cumsum(steps)
        elif kind == "hills":
            self.others = rng.uniform(0.0, 1.0, (5, 2))
        elif kind == "corner":
            self.weights = 1.0 + 0.5 * smooth(rng, N_STEPS, 2, 60.0)
        elif kind == "context":
            self.hidden = np.clip(0.5 + 0.25 * smooth(rng, N_STEPS, 1, 10.0)[:, 0], 0.0, 1.0)
        elif kind == "arms":
            rates = np.array(RATES[held_out])
            self.rates = np.clip(rates + 0.03 * rng.normal(size=len(rates)), 0.02, 0.98)
        self.scale = 1.0
        if kind not in ("arms", "limited", "mixed"):
            self.scale = 1.0 / np.std(self._shape(self._samples, 0))

    def _path(self, rng, speed):
        """Return the best setting (N_STEPS, d) at each query."""
        kind, n, d = self.kind, N_STEPS, self.d
        spread, t = 0.22 if kind not in OFF else 0.08, np.arange(N_STEPS) * speed
        if kind in ("still", "still off"):
            return np.tile(self.typical + spread * rng.normal(size=d), (n, 1))
        if kind.startswith("narrow"):
            start = self.typical + 0.05 * rng.normal(size=d)
            return start + 0.03 * smooth(rng, n, d, 120.0 / speed)
        if kind == "jump":
            part = (t // (33 if self.held_out else 42)).astype(int)
            return rng.uniform(0.1, 0.9, (part[-1] + 1, d))[part]
        if kind == "daily":
            angle = 2.0 * np.pi * np.arange(n)[:, np.newaxis] / PERIOD
            phases = rng.uniform(0.0, 2.0 * np.pi, d)
            return 0.5 + 0.25 * np.sin(angle + phases) + 0.06 * smooth(rng, n, d, 150.0 / speed)
        if kind == "settles":
            start, end = self.typical + spread * rng.normal(size=(2, d))
            return end + (start - end) * np.exp(-t / (30.0 if self.held_out else 45.0))[:, None]
        if d > 2:
            spread = 0.6 * spread
        return self.typical + spread * smooth(rng, n, d, (70.0 if self.held_out else 90.0) / speed)

    # --- the function -----------------------------------------------------------------------------

    @cached_property
    def domain(self):
        if self.kind == "arms":
            return {"arm": [f"a{i}" for i in range(len(self.rates))]}
        if self.kind == "mixed":
            return {
                "heat": ("real", *self.bounds),
                "flow": ("log-real", 0.1, 10.0),
                "n": ("integer", 1, 8),
                "mode": ["u", "v", "w"],
            }
        names = {f"x{i}": ("real", *self.bounds) for i in range(self.d)}
        return names | ({"load": Context(0.0, 1.0)} if self.kind == "context" else {})

    @property
    def constraints(self):
        if self.kind != "constrained":
            return None
        if self.held_out:
            return lambda x: (x["x0"] - 0.5) ** 2 + (x["x1"] - 0.5) ** 2 >= 0.15**2
        return lambda x: abs(x["x0"] - x["x1"]) >= 0.15

    def settings(self, points):
        """Return settings (m, d) of points, a list of dicts, in units of the box [0, 1]."""
        if self.kind == "arms":
            return np.array([[int(x["arm"][1:])] for x in points])
        if self.kind == "mixed":
            heat, flow, n, mode = zip(*(x.values() for x in points))
            modes = ["uvw".index(each) for each in mode]
            return np.column_stack(
                [heat, 0.5 * np.log10(flow) + 0.5, (np.array(n) - 1) / 7.0, modes]
            )
        return np.array([[x[f"x{i}"] for i in range(self.d)] for x in points])

    @cached_property
    def _samples(self):
        """Settings (m, d) of uniform queries."""
        rng = np.random.RandomState(0)
        if self.kind == "arms":
            return np.arange(len(self.rates))[:, np.newaxis]
        if self.kind == "mixed":
            X = np.column_stack([rng.uniform(*self.bounds, 2000), rng.uniform(size=2000)])
            return np.column_stack([X, rng.randint(8, size=2000) / 7.0, rng.randint(3, size=2000)])
        X = rng.uniform(*self.bounds, (2000, self.d))
        if self.constraints is not None:
            names = [{"x0": a, "x1": b} for a, b in X]
            X = X[[bool(self.constraints(x)) for x in names]]
        return X

    def _shape(self, X, i):
        """Return values (m,) at settings (m, d) and the i-th query, before they are scaled."""
        kind, centre = self.kind, self._optimum(i)
        if kind == "arms":
            return self.rates[X[:, 0]]
        if kind == "mixed":
            shift = 0.15 * (X[:, 3] == 2)
            squares = 3.0 * (X[:, 0] - centre[0] - shift) ** 2 + (X[:, 1] - centre[1]) ** 2
            squares = squares + 1.5 * (X[:, 2] - centre[2]) ** 2
            return -squares - np.take(MODES[self.held_out], X[:, 3].astype(int))
        if kind == "corner":
            values = (X * self.weights[i]).sum(axis=1)
            return values + X[:, 0] * X[:, 1] if self.held_out else values
        squares = np.sum((X - centre) ** 2, axis=1)
        if kind.startswith("narrow"):
            return np.exp(-0.5 * squares / (0.08 if self.held_out else 0.1) ** 2)
        if kind == "hills":
            heights = [0.3, 0.4, 0.5, 0.6, 0.7]
            width = 0.12 if self.held_out else 0.15
            hills = [
                height * np.exp(-0.5 * np.sum((X - other) ** 2, axis=1) / width**2)
                for height, other in zip(heights, self.others)
            ]
            return np.maximum(np.exp(-0.5 * squares / width**2), np.max(hills, axis=0))
        if kind == "valley":
            across = X[:, 1] - X[:, 0] ** 2 if self.held_out else X[:, 0] - X[:, 1]
            return -np.abs(across) - 2.0 * (X[:, 0] - centre[0]) ** 2
        if kind == "limited":
            values = np.exp(-3.0 * squares / self.d)
            return np.where(self.load(X, i) <= 1.0, values, 0.0)
        if self.held_out:
            return np.exp(-8.0 * squares / np.sqrt(self.d)) - 0.3 * np.sqrt(squares)
        return -squares

    def load(self, X, i):
        """Return the limited outcome (m,) at settings (m, d)."""
        direction = np.array([1.0, 0.5 * self.held_out])
        return 1.0 + 2.0 * ((X - self.centre[i]) @ direction + 0.02)

    def values(self, X, i):
        """Return values (m,) at settings (m, d) and the i-th query."""
        return self.y_offset + self.y_scale * (self.scale * self._shape(X, i) + self.level[i])

    def observed(self, X, i):
        """Return what is told of one setting (1, d) at the i-th query: y, and outcomes or None."""
        value = self.values(X, i)[0]
        if self.kind == "arms":
            return float(self.observing.uniform() < value), None
        outcomes = None
        if self.kind == "limited":
            # y is measured beyond the limit as well.
            value = np.exp(-3.0 * np.sum((X[0] - self.centre[i]) ** 2) / self.d)
            outcomes = {"load": self.load(X, i)[0] + 0.05 * self.observing.normal()}
        noise = self.y_scale * self.deviation * (0.5 if self.kind in ("limited", "mixed") else 1.0)
        return value + noise * self.observing.normal(), outcomes

    @cached_property
    def best(self):
        """Largest value (N_STEPS,) at each query, from samples near the best ones."""
        found, samples, rng = [], self._samples, np.random.RandomState(1)
        for i in range(N_STEPS):
            values = self.values(samples, i)
            best, X = values.max(), samples
            if self.kind not in ("arms", "mixed"):
                near = samples[np.argsort(-values)[:20]]
                low, high = self.bounds
                if self.kind not in ("limited", "constrained", "valley", "corner"):
                    near = np.vstack([near, np.clip(self._optimum(i), low, high)])
                best = max(best, self.values(near, i).max())
                for width in (0.05, 0.01):
                    X = near[rng.randint(len(near), size=200)]
                    X = np.clip(X + width * rng.normal(size=X.shape), low, high)
                    if self.constraints is not None:
                        X = X[[bool(self.constraints({"x0": a, "x1": b})) for a, b in X]]
                    values = self.values(X, i)
                    near, best = X[np.argsort(-values)[:5]], max(best, values.max())
            elif self.kind == "mixed":
                X = np.array([[*self.centre[i], k] for k in range(3)])
                X[:, 2] = np.round(7.0 * X[:, 2]) / 7.0
                X[2, 0] += 0.15
                best = self.values(X, i).max()
            found.append(best)
        return np.array(found)

    def _optimum(self, i):
        """Return the best setting (d,) at the i-th query, without limits."""
        if self.kind != "context":
            return self.centre[i]
        shift = np.array([0.5 * (self.hidden[i] - 0.5), 0.0])
        return np.clip(self.centre[i] + shift, 0.02, 0.98)

    @cached_property
    def uniform(self):
        """Average regret (N_STEPS,) of uniform queries."""
        means = [self.values(self._samples, i).mean() for i in range(N_STEPS)]
        return self.best - np.array(means)


def regrets_of(optimizer, system, n=N_STEPS):
    """Return regrets (n,) of an optimizer's queries."""
    regrets, waiting = np.empty(n), []
    for i in range(0, n, system.size):
        for due, query, told in waiting:
            if due <= i:
                optimizer.tell(query, told[0], outcomes=told[1])
        waiting = [each for each in waiting if each[0] > i]
        context = {"load": system.hidden[i]} if system.kind == "context" else None
        queries = optimizer.suggest(float(i), context=context, n=system.size)
        for j, query in enumerate(queries, i):
            X = system.settings([query.x])
            regrets[j] = system.best[i] - system.values(X, i)[0]
            told = system.observed(X, i)
            if system.delay:
                waiting.append((i + system.delay, query, told))
            else:
                optimizer.tell(query, told[0], outcomes=told[1])
    return regrets
