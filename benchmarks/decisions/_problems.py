"""Development and held-out problems: drawn Gaussian processes, classical functions, moving peaks.

None is a problem of the papers. The defaults were chosen on the development problems. The held-out
problems were chosen before any algorithm ran on them, except draw8-1d, on which the bowl was
tried.
"""

from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from sktvbo import problems
from sktvbo.problems import Problem

HORIZON = 600.0

# The papers' problems that move.
PAPERS_PROBLEMS = (
    "hartmann-3",
    "hartmann-6",
    "schwefel",
    "styblinski-tang",
    "rastrigin",
    "powell",
    "shekel",
    "eggholder",
    "rosenbrock",
    "ackley",
    "temperature-field",
)

# Number of times at which the optimum is searched globally; from those places at all others.
N_ANCHORS = 31


def constant(seconds, n):
    """Return a response time that does not depend on the size n of the data set."""
    return seconds


class Still(Problem):
    """A problem stopped in the middle of its time."""

    def __init__(self, moving):
        super().__init__(
            f"{moving.name}, still", moving.domain, moving.horizon, moving.noise_variance
        )
        self.moving = moving

    def _values(self, X, t):
        return self.moving._values(X, self.horizon / 2.0)

    def _find_optimum(self, t):
        if not hasattr(self, "_optimum"):
            self._optimum = self.moving.optimum(self.horizon / 2.0)
        return self._optimum


class Development(Problem):
    """A problem over the unit box whose optimum is tracked from places found in advance."""

    def __init__(self, name, n_dims, noise):
        super().__init__(name, [(0.0, 1.0)] * n_dims, HORIZON)
        self._set_noise(noise)
        times = np.linspace(0.0, HORIZON, N_ANCHORS)
        self.anchors = np.array([super(Development, self)._argmax(t) for t in times])

    def _argmax(self, t):
        values = self._values(self.anchors, t)
        found = [
            minimize(
                lambda x: -self._values(x[np.newaxis], t)[0],
                self.anchors[i],
                method="L-BFGS-B",
                bounds=[(0.0, 1.0)] * self.domain.n_dims,
            )
            for i in np.argsort(-values)[:3]
        ]
        return min(found, key=lambda result: result.fun).x


class Draw(Development):
    """A draw of a separable Gaussian process, by random features."""

    DIMENSIONS = (1, 2, 3, 4, 6, 2, 3, 8)
    N_FEATURES = 400

    def __init__(self, seed):
        rng = np.random.RandomState(1000 + seed)
        d = self.DIMENSIONS[seed % len(self.DIMENSIONS)]
        length_scales = np.exp(rng.uniform(np.log(0.2), np.log(0.7), size=d)) * np.sqrt(d) / 1.5
        time_scale = np.exp(rng.uniform(np.log(25.0), np.log(250.0)))
        orders = rng.choice([1.5, 2.5, np.inf]), rng.choice([1.5, 2.5, np.inf])
        self.in_space = self.frequencies(rng, d, orders[0]) / length_scales
        self.in_time = self.frequencies(rng, 1, orders[1])[:, 0] / time_scale
        self.phases = rng.uniform(0.0, 2.0 * np.pi, self.N_FEATURES)
        scale = np.exp(rng.uniform(-1.0, 3.0)) * np.sqrt(2.0 / self.N_FEATURES)
        self.weights, self.level = scale * rng.normal(size=self.N_FEATURES), 10.0 * rng.normal()
        super().__init__(f"draw{seed}-{d}d", d, noise=(0.01, 0.05)[seed % 2])

    def frequencies(self, rng, d, order):
        """From the spectrum of a Matérn kernel: Student's t with 2ν degrees of freedom."""
        normal = rng.normal(size=(self.N_FEATURES, d))
        if order == np.inf:
            return normal
        return normal * np.sqrt(2.0 * order / rng.chisquare(2.0 * order, (self.N_FEATURES, 1)))

    def _values(self, X, t):
        angles = X @ self.in_space.T + np.multiply.outer(np.broadcast_to(t, len(X)), self.in_time)
        return self.level + np.cos(angles + self.phases) @ self.weights


class Sliced(Development):
    """A function to be minimized, of which time is the last coordinate."""

    def __init__(self, function, low, high, n_dims, noise=0.02):
        self.function, self.low, self.high = function, np.asarray(low), np.asarray(high)
        super().__init__(f"{function.__name__}-{n_dims - 1}d", n_dims - 1, noise)

    def _values(self, X, t):
        U = np.column_stack([X, np.broadcast_to(t, len(X)) / HORIZON])
        return -self.function(self.low + U * (self.high - self.low))


class Circling(Development):
    """A function to be minimized, whose centre goes round."""

    def __init__(self, function, low, high, n_dims, turns=1.5, noise=0.02):
        self.function, self.low, self.high = function, low, high
        self.rate = 2.0 * np.pi * turns / HORIZON
        self.phases = np.random.RandomState(n_dims).uniform(0.0, 2.0 * np.pi, n_dims)
        super().__init__(f"circling-{function.__name__}-{n_dims}d", n_dims, noise)

    def _values(self, X, t):
        angles = self.rate * np.broadcast_to(t, len(X))[:, np.newaxis] + self.phases
        return -self.function(self.low + (X - 0.2 * np.sin(angles)) * (self.high - self.low))


class Jumping(Development):
    """Another function from a third of the time on, and from two thirds.

    Its parts are callable with places (m, d) of the unit box and a time; they are maximized.
    """

    def __init__(self, name, n_dims, parts, noise=0.02):
        self.parts = parts
        super().__init__(f"jumping-{name}-{n_dims}d", n_dims, noise)

    def _values(self, X, t):
        times = np.broadcast_to(t, len(X))
        which = np.minimum((3.0 * times / HORIZON).astype(int), 2)
        found = np.empty(len(X))
        for i in np.unique(which):
            found[which == i] = self.parts[i](X[which == i], times[which == i])
        return found


def levy(Z):
    w = 1.0 + (Z - 1.0) / 4.0
    inner = (w[:, :-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * w[:, :-1] + 1.0) ** 2)
    last = (w[:, -1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * w[:, -1]) ** 2)
    return np.sin(np.pi * w[:, 0]) ** 2 + inner.sum(axis=1) + last


def michalewicz(Z):
    i = np.arange(1, Z.shape[1] + 1)
    return -np.sum(np.sin(Z) * np.sin(i * Z**2 / np.pi) ** 10, axis=1)


def dixon_price(Z):
    i = np.arange(2, Z.shape[1] + 1)
    return (Z[:, 0] - 1.0) ** 2 + np.sum(i * (2.0 * Z[:, 1:] ** 2 - Z[:, :-1]) ** 2, axis=1)


def branin(Z):
    x, y = Z.T
    bowl = (y - 5.1 / (4.0 * np.pi**2) * x**2 + 5.0 / np.pi * x - 6.0) ** 2
    return bowl + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x) + 10.0


def zakharov(Z):
    s = Z @ (0.5 * np.arange(1, Z.shape[1] + 1))
    return np.sum(Z**2, axis=1) + s**2 + s**4


def cosine_mixture(Z):
    return np.sum(Z**2, axis=1) - 0.1 * np.sum(np.cos(5.0 * np.pi * Z), axis=1)


def alpine(Z):
    return np.sum(np.abs(Z * np.sin(Z) + 0.1 * Z), axis=1)


def salomon(Z):
    r = np.sqrt(np.sum(Z**2, axis=1))
    return 1.0 - np.cos(0.5 * np.pi * r) + 0.1 * r


def griewank(Z):
    i = np.sqrt(np.arange(1, Z.shape[1] + 1))
    return 1.0 + np.sum(Z**2, axis=1) / 40.0 - np.prod(np.cos(2.0 * Z / i), axis=1)


def drop_wave(Z):
    r = np.sum(Z**2, axis=1)
    return -(1.0 + np.cos(4.8 * np.sqrt(r))) / (0.5 * r + 2.0)


def colville(Z):
    a, b, c, d = Z.T
    valleys = 100.0 * (a**2 - b) ** 2 + 90.0 * (c**2 - d) ** 2 + (a - 1.0) ** 2 + (c - 1.0) ** 2
    return valleys + 10.1 * ((b - 1.0) ** 2 + (d - 1.0) ** 2) + 19.8 * (b - 1.0) * (d - 1.0)


def sum_powers(Z):
    return np.sum(np.abs(Z) ** np.arange(2, Z.shape[1] + 2), axis=1)


def bohachevsky(Z):
    a, b = Z[:, :-1], Z[:, 1:]
    ripples = 1.4 - 0.6 * np.cos(3.0 * np.pi * a) - 0.8 * np.cos(4.0 * np.pi * b)
    return np.sum(a**2 + 2.0 * b**2 + ripples, axis=1)


def trid(Z):
    return np.sum((Z - 1.0) ** 2, axis=1) - np.sum(Z[:, 1:] * Z[:, :-1], axis=1)


def schaffer(Z):
    r = Z[:, :-1] ** 2 + Z[:, 1:] ** 2
    return np.sum(0.5 + (np.sin(np.sqrt(r)) ** 2 - 0.5) / (1.0 + 0.01 * r) ** 2, axis=1)


def mccormick(Z):
    x, y = Z.T
    return np.sin(x + y) + (x - y) ** 2 - 1.5 * x + 2.5 * y + 1.0


CENTRE = np.array([0.3, -0.2, 0.1, 0.25, -0.15, 0.2])


def funnel(Z):
    Y = Z - CENTRE[: Z.shape[1]]
    r = np.sqrt(np.mean(Y**2, axis=1))
    return -10.0 * np.exp(-4.0 * r) - 0.3 * np.mean(np.cos(8.0 * np.pi * Y), axis=1)


def well(Z):
    Y = Z + CENTRE[: Z.shape[1]]
    return 0.5 * np.mean(Z, axis=1) - 5.0 / (1.0 + 20.0 * np.mean(Y**2, axis=1)) ** 2


def jumping_draws():
    """Sums of waves that are other sums after each jump: slower, slow, and still between them."""
    for seed, (d, length_scale, time_scale) in enumerate(
        [(2, 0.3, 600.0), (3, 0.4, 300.0), (2, 0.2, 1e5)]
    ):
        parts = [_waves(77 + 10 * seed + i, d, length_scale, time_scale) for i in range(3)]
        yield Jumping(f"draw{seed}", d, parts)


def _waves(seed, d, length_scale, time_scale, n=400):
    rng = np.random.RandomState(seed)
    in_space = rng.normal(size=(n, d)) / length_scale
    in_time = rng.standard_t(3.0, size=n) / time_scale
    phases, weights = rng.uniform(0.0, 2.0 * np.pi, n), rng.normal(size=n) * 3.0 * np.sqrt(2.0 / n)
    return lambda X, t: 5.0 + np.cos(X @ in_space.T + np.outer(t, in_time) + phases) @ weights


def _placed(function, low, high, order=None, shift=0.0):
    """A function to be minimized over a box, with its coordinates in another order, or shifted."""
    low, high = np.asarray(low), np.asarray(high)

    def values(X, t):
        U = X if order is None else X[:, order]
        return -function(low + (U - np.asarray(shift)) * (high - low))

    return values


PEAKS = (
    {"n_peaks": 5, "n_dims": 2, "shape": "gaussian", "shift_severity": 2.0},
    {"n_peaks": 4, "n_dims": 3, "shape": "cone", "shift_severity": 1.5},
    {"n_peaks": 3, "n_dims": 4, "shape": "gaussian", "shift_severity": 3.0},
)


def peaks(some=PEAKS, first_seed=0):
    """Moving peaks with some options each; their seeds count up from the first."""
    for seed, options in enumerate(some, start=first_seed):
        problem = problems.make(
            "moving-peaks",
            **options,
            height_severity=3.0,
            smooth=True,
            horizon=HORIZON,
            random_state=seed,
        )
        problem.name = f"peaks-{options['n_dims']}d"
        yield problem


def development_problems():
    """Return the 39 problems on which the defaults were chosen.

    The first twenty are older; the others jump, ripple, or have a valley or a narrow funnel.
    """
    branin_box = [-5.0, 0.0], [10.0, 15.0]
    levys = [_placed(levy, 0.0, 12.0, shift=s) for s in ([0.2, 0.8], [0.8, 0.3], [0.4, 0.5])]
    branins = [_placed(branin, *branin_box, order=order) for order in ([0, 1], [1, 0], [0, 1])]
    zakharovs = [
        _placed(zakharov, 0.0, 5.0, shift=s)
        for s in ([0.2, 0.2, 0.3], [0.8, 0.7, 0.6], [0.3, 0.8, 0.5])
    ]
    return [
        *(Draw(seed) for seed in range(8)),
        Sliced(levy, -10.0, 10.0, 4),
        Sliced(michalewicz, 0.0, np.pi, 3),
        Sliced(dixon_price, -3.0, 3.0, 5),
        Sliced(branin, [-5.0, 0.0], [10.0, 15.0], 2),
        Sliced(alpine, -8.0, 8.0, 4),
        Circling(cosine_mixture, -1.0, 1.0, 3),
        Circling(levy, -5.0, 5.0, 2),
        Circling(zakharov, -3.0, 3.0, 4, noise=0.01),
        Circling(salomon, -6.0, 6.0, 5, turns=0.7),
        *peaks(),
        *jumping_draws(),
        Jumping("levy", 2, levys),
        Jumping("branin", 2, branins),
        Jumping("zakharov", 3, zakharovs),
        Sliced(griewank, -6.0, 6.0, 4, noise=0.05),
        Circling(drop_wave, -5.0, 5.0, 2, noise=0.05),
        Sliced(colville, -2.0, 2.0, 4, noise=0.05),
        Circling(sum_powers, -1.0, 1.0, 6, noise=0.05),
        Circling(bohachevsky, -2.0, 2.0, 5, turns=0.8, noise=0.05),
        Circling(trid, -16.0, 16.0, 4, noise=0.05),
        Sliced(schaffer, -10.0, 10.0, 5, noise=0.05),
        Sliced(mccormick, [-1.5, -3.0], [4.0, 4.0], 2, noise=0.05),
        Sliced(funnel, -1.0, 1.0, 4, noise=0.05),
        Sliced(funnel, -1.0, 1.0, 6, noise=0.05),
        Circling(funnel, -1.0, 1.0, 3, noise=0.05),
        Sliced(well, -1.0, 1.0, 4, noise=0.05),
        Sliced(well, -1.0, 1.0, 5, noise=0.05),
    ]


# --- held out -------------------------------------------------------------------------------------


def qing(Z):
    return np.sum((Z**2 - np.arange(1, Z.shape[1] + 1)) ** 2, axis=1)


def brown(Z):
    a, b = Z[:, :-1] ** 2, Z[:, 1:] ** 2
    return np.sum(a ** (b + 1.0) + b ** (a + 1.0), axis=1)


def happy_cat(Z):
    d, r = Z.shape[1], np.sum(Z**2, axis=1)
    return np.abs(r - d) ** 0.25 + (0.5 * r + Z.sum(axis=1)) / d + 0.5


def log_goldstein_price(Z):
    x, y = Z.T
    left = 1.0 + (x + y + 1.0) ** 2 * (
        19.0 - 14.0 * x + 3.0 * x**2 - 14.0 * y + 6.0 * x * y + 3.0 * y**2
    )
    right = 30.0 + (2.0 * x - 3.0 * y) ** 2 * (
        18.0 - 32.0 * x + 12.0 * x**2 + 48.0 * y - 36.0 * x * y + 27.0 * y**2
    )
    return np.log(left * right)


def holder_table(Z):
    x, y = Z.T
    r = np.sqrt(x**2 + y**2)
    return -np.abs(np.sin(x) * np.cos(y) * np.exp(np.abs(1.0 - r / np.pi)))


LANGERMANN = np.array([[3.0, 5.0, 2.0], [5.0, 2.0, 6.0], [2.0, 1.0, 4.0], [7.0, 9.0, 5.0]])


def langermann(Z):
    r = np.sum((Z[:, np.newaxis] - LANGERMANN[:, : Z.shape[1]]) ** 2, axis=2)
    return -(np.exp(-r / np.pi) * np.cos(np.pi * r)) @ np.array([1.0, 2.0, 5.0, 2.0])


def perm(Z):
    i = np.arange(1, Z.shape[1] + 1)
    return sum(np.sum((i**k + 0.5) * ((Z / i) ** k - 1.0), axis=1) ** 2 for k in i)


def egg_crate(Z):
    return np.sum(Z**2 + 25.0 * np.sin(Z) ** 2, axis=1)


def alpine2(Z):
    return -np.prod(np.sqrt(Z) * np.sin(Z), axis=1)


def wavy(Z):
    return 1.0 - np.mean(np.cos(10.0 * Z) * np.exp(-0.5 * Z**2), axis=1)


def exponential(Z):
    return -np.exp(-0.5 * np.sum(Z**2, axis=1))


def ellipsoid(Z):
    return Z**2 @ np.arange(1.0, Z.shape[1] + 1.0)


def three_hump_camel(Z):
    x, y = Z.T
    return 2.0 * x**2 - 1.05 * x**4 + x**6 / 6.0 + x * y + y**2


HELD_OUT_PEAKS = (
    {"n_peaks": 6, "n_dims": 2, "shape": "cone", "shift_severity": 2.0},
    {"n_peaks": 5, "n_dims": 3, "shape": "gaussian", "shift_severity": 2.0},
    {"n_peaks": 3, "n_dims": 5, "shape": "cone", "shift_severity": 1.5},
)


def held_out_problems():
    """Return the 27 problems on which nothing was chosen."""
    return [
        *(Draw(seed) for seed in range(8, 16)),
        Sliced(qing, -2.5, 2.5, 4, noise=0.05),
        Sliced(brown, -1.0, 2.0, 3, noise=0.05),
        Sliced(happy_cat, -2.0, 2.0, 5, noise=0.05),
        Sliced(log_goldstein_price, -2.0, 2.0, 2, noise=0.05),
        Sliced(holder_table, -10.0, 10.0, 2, noise=0.05),
        Sliced(langermann, 0.0, 10.0, 3, noise=0.05),
        Sliced(perm, -3.0, 4.0, 4, noise=0.05),
        Sliced(egg_crate, -5.0, 5.0, 5, noise=0.05),
        Sliced(alpine2, 0.0, 10.0, 4, noise=0.05),
        Sliced(wavy, -np.pi, np.pi, 3, noise=0.05),
        Circling(egg_crate, -5.0, 5.0, 3, noise=0.05),
        Circling(happy_cat, -2.0, 2.0, 4, noise=0.05),
        Circling(ellipsoid, -3.0, 3.0, 6, noise=0.05),
        Circling(exponential, -2.0, 2.0, 5, noise=0.05),
        Circling(wavy, -np.pi, np.pi, 2, noise=0.05),
        Circling(three_hump_camel, -2.5, 2.5, 2, noise=0.05),
        *peaks(HELD_OUT_PEAKS, first_seed=10),
    ]


class Seasonal(Development):
    """Hills over the unit box, of which level, places or heights follow a period.

    =========  =====================================================================================
    Kind       Function
    =========  =====================================================================================
    shared     Level and place of one hill follow the period.
    level      The level follows the period; the hill moves slowly.
    regimes    Two hills take turns: one is high by day, the other by night.
    clicks     As level, with noise of the standard deviation of f, and a smaller level.
    none       As level, without a season.
    =========  =====================================================================================

    The shape of the season changes slowly over the run.

    Parameters
    ----------
    kind : str
    n_dims : int
    seed : int
    period : float
        In units of time, of which a run has `HORIZON`.
    noise : float, default=0.02
        Variance of the noise over that of f.
    """

    SWINGS: ClassVar = {
        "shared": 1.0,
        "level": 1.0,
        "regimes": 0.5,
        "clicks": 1.0,
        "none": 0.0,
    }

    def __init__(self, kind, n_dims, seed, period, noise=0.02):
        rng = np.random.RandomState(seed)
        self.kind, self.period, self.swing = kind, period, self.SWINGS[kind]
        self.harmonics = rng.normal(size=(1 + n_dims, 3)) / [1.0, 2.0, 4.0]
        self.harmonics /= np.linalg.norm(self.harmonics, axis=1, keepdims=True)
        self.phases = rng.uniform(0.0, 2.0 * np.pi, (1 + n_dims, 3))
        self.slow_phases = rng.uniform(0.0, 2.0 * np.pi, 1 + n_dims)
        self.centres = rng.uniform(0.15, 0.35, (2, n_dims))
        self.centres[1] = 1.0 - self.centres[1]
        flip = rng.uniform(size=n_dims) < 0.5
        self.centres[:, flip] = 1.0 - self.centres[:, flip]
        self.width = 0.25 * np.sqrt(n_dims)
        noise = 1.0 if kind == "clicks" else noise
        super().__init__(f"{kind}-{n_dims}d-{seed}", n_dims, noise)

    def cycles(self, t):
        """Return periodic functions (m, 1 + d) of times (m,), about in [-1, 1]."""
        angles = 2.0 * np.pi * np.multiply.outer(t / self.period, np.arange(1.0, 4.0))
        found = np.sum(self.harmonics * np.cos(angles[:, np.newaxis] + self.phases), axis=2)
        slow = 2.0 * np.pi * t[:, np.newaxis] / HORIZON
        return found * (1.0 + 0.15 * np.sin(slow + self.slow_phases))

    def hill(self, X, centre):
        return np.exp(-0.5 * np.sum((X - centre) ** 2, axis=1) / self.width**2)

    def _values(self, X, t):
        t = np.broadcast_to(np.asarray(t, dtype=float), len(X))
        cycles = self.cycles(t)
        level = 3.0 + self.swing * cycles[:, 0]
        if self.kind == "regimes":
            day = 0.5 + 0.5 * np.tanh(3.0 * cycles[:, 1])
            first, second = (self.hill(X, centre) for centre in self.centres)
            return level + 1.5 * (day * first + (1.0 - day) * second)
        slow = 0.3 * np.sin(3.0 * np.pi * t[:, np.newaxis] / HORIZON + self.slow_phases[1:])
        move = 0.25 * cycles[:, 1:] if self.kind == "shared" else slow
        return level + 1.5 * self.hill(X, 0.5 + move)


# Kind, dimensions, period and noise of the seasonal problems; a day is of 48 queries every 4 units
# of time in the first ones.
SEASONAL = [
    ("shared", 1),
    ("shared", 2),
    ("level", 2),
    ("regimes", 1),
    ("regimes", 2),
    ("clicks", 2),
]


def seasonal_problems(seed=0, periods=(100.0,), kinds=SEASONAL):
    """Return problems with seasons."""
    return [
        Seasonal(kind, n_dims, seed + i, periods[i % len(periods)])
        for i, (kind, n_dims) in enumerate(kinds)
    ]


def held_out_seasonal_problems():
    """Return problems with other seeds and periods, and more dimensions."""
    kinds = [*SEASONAL, ("shared", 3), ("regimes", 3)]
    return seasonal_problems(100, (72.0, 140.0, 100.0), kinds)
