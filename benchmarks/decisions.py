"""What makes W-DBO decide well: its parts, one changed at a time, on development problems.

    python benchmarks/decisions.py FOLDER --seconds 4 --replications 6

Every algorithm gets the same queries at the same times, so that its own speed counts for nothing.
The problems are in no paper, and have been chosen before anything was tuned on them: draws of
spatio-temporal Gaussian processes with random kernels, rates and noise in 1 to 8 dimensions,
classical functions that the papers do not have, sliced along their last coordinate or going round,
and moving peaks. FOLDER keeps finished runs: the same command goes on where it was stopped.
"""

import argparse
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from _timing import constant
from joblib import parallel_config
from scipy.optimize import minimize
from scipy.stats import lognorm

from sktvbo import WDBO, evaluation, problems
from sktvbo.acquisition import UCB, DimensionBeta
from sktvbo.problems import Problem

HORIZON = 600.0

# The optimum is searched globally at so many times, and from what was found there at all others.
N_ANCHORS = 31


# --- problems -------------------------------------------------------------------------------------


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


PEAKS = (
    {"n_peaks": 5, "n_dims": 2, "shape": "gaussian", "shift_severity": 2.0},
    {"n_peaks": 4, "n_dims": 3, "shape": "cone", "shift_severity": 1.5},
    {"n_peaks": 3, "n_dims": 4, "shape": "gaussian", "shift_severity": 3.0},
)


def peaks():
    """Moving peaks in 2, 3 and 4 dimensions."""
    for seed, options in enumerate(PEAKS):
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
    """All of them, in the order of the tables."""
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
    ]


# --- variants -------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class Variant(WDBO):
    """W-DBO with other parameters of its own surrogate.

    Parameters
    ----------
    options : dict
        Parameters of the surrogate that replace the defaults.
    prior : float or None
        Median of a log-normal prior of the spatial lengthscale, in diagonals of the unit box.
    """

    options: dict = field(default_factory=dict)
    prior: float | None = None

    def _make_surrogate(self, times):
        surrogate = super()._make_surrogate(times).set_params(**self.options)
        if self.prior is not None:
            median = self.prior * np.sqrt(len(self.domain.lower))
            priors = {"spatial_kernel__length_scale": lognorm(s=0.75, scale=median)}
            surrogate.set_params(hyperpriors=priors)
        return surrogate


def variant(mean=0.0, scale=0.2, prior=None, **parameters):
    """A variant by the width of its mean's prior, the scale of β and the prior of l_S."""
    beta = UCB(DimensionBeta(scale))
    options = {"mean_prior_std": mean}
    return Variant(acquisition=beta, options=options, prior=prior, **parameters)


VARIANTS = {
    "first version": variant(),
    **{f"mean {width:g}": variant(width) for width in (0.5, 1.0, 2.0, 4.0, np.inf)},
    **{f"mean 1, β {scale:g}": variant(1.0, scale) for scale in (0.02, 0.05, 0.1, 0.4)},
    "mean 1, β 0.05, prior of l_S": variant(1.0, 0.05, prior=0.5),
    "mean 1, β 0.05, α 0.1": variant(1.0, 0.05, alpha=0.1),
    "mean 1, β 0.05, α 1": variant(1.0, 0.05, alpha=1.0),
    "search always": WDBO(refit_every=1),
    "search when it pays": WDBO(refit_every="auto"),
}


# --- the study ------------------------------------------------------------------------------------


def study(folder, seconds, n_replications, names):
    """Finished runs of the variants on all problems."""
    clock = evaluation.SimulatedClock(partial(constant, seconds))
    with parallel_config("loky", inner_max_num_threads=1):
        return evaluation.compare(
            {name: VARIANTS[name] for name in names},
            development_problems(),
            n_replications,
            clock=clock,
            horizon=HORIZON,
            n_jobs=-1,
            store=folder,
        )


def print_table(comparison):
    """Average regret of the first variant, and that of the others in units of it."""
    names = list(dict.fromkeys(row["algorithm"] for row in comparison.summary()))
    regrets = {}
    for row in comparison.summary():
        regrets.setdefault(row["problem"], {})[row["algorithm"]] = row["average_regret"]
    ratios = {p: [r[name] / r[names[0]] for name in names] for p, r in regrets.items()}
    for i, name in enumerate(names):
        print(f"({i}) {name}")
    print(f"{'':24}{names[0]:>14}" + "".join(f"{f'({i})':>7}" for i in range(1, len(names))))
    for problem, row in ratios.items():
        cells = "".join(f"{ratio:7.2f}" for ratio in row[1:])
        print(f"{problem:24}{regrets[problem][names[0]]:14.4g}{cells}")
    means = np.exp(np.mean(np.log(list(ratios.values())), axis=0))
    print(f"{'geometric mean':38}" + "".join(f"{mean:7.2f}" for mean in means[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="where finished runs are kept")
    parser.add_argument("--seconds", type=float, default=4.0, help="between two queries")
    parser.add_argument("--replications", type=int, default=3)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    arguments = parser.parse_args()
    print_table(
        study(arguments.folder, arguments.seconds, arguments.replications, arguments.variants)
    )


if __name__ == "__main__":
    main()
