"""What makes W-DBO decide well: its parts, one changed at a time, on development problems.

    python benchmarks/decisions.py FOLDER --seconds 4 --replications 3
    python benchmarks/decisions.py FOLDER --seconds 4 --replications 3 --still

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
from _still import Still
from _timing import constant
from joblib import parallel_config
from scipy.optimize import minimize
from scipy.stats import lognorm
from sklearn.gaussian_process.kernels import Matern

from sktvbo import GPUCB, WDBO, evaluation, problems
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
    """W-DBO with other parts; the defaults are those chosen.

    Parameters
    ----------
    mean : float
        Width of the mean's prior.
    scale : float
        Of β = scale · d log(2 n).
    spatial_nu, temporal_nu : float
        Smoothness of the Matérn kernels.
    isotropic : bool
        One spatial lengthscale for all dimensions.
    longest : float
        Upper bound of the spatial lengthscales.
    prior : float
        Standard deviation of log l_S in a prior with median ½ √d; 0 for none.
    time_prior : float
        That of log l_T, with a median of 100 s; 0 for none.
    noise_prior : float
        That of log σ², with median 0.01; 0 for none.
    options : dict
        More parameters of the surrogate.
    min_size : int
        Observations that W-DBO keeps in any case.
    """

    mean: float = 1.0
    scale: float = 0.05
    spatial_nu: float = 2.5
    temporal_nu: float = 2.5
    isotropic: bool = True
    longest: float = 2.0
    prior: float = 0.0
    time_prior: float = 0.0
    noise_prior: float = 0.0
    options: dict = field(default_factory=dict)
    min_size: int = 10

    def _make_acquisition(self):
        return UCB(DimensionBeta(self.scale))

    def _make_policy(self):
        return super()._make_policy().set_params(min_size=self.min_size)

    def _make_surrogate(self, times):
        surrogate, d = super()._make_surrogate(times), len(self.domain.lower)
        length_scale, priors = 0.5, {}
        for sd, name, median in (
            (self.prior, "spatial_kernel__length_scale", 0.5 * np.sqrt(d)),
            (self.time_prior, "temporal_kernel__length_scale", HORIZON / 6.0),
            (self.noise_prior, "noise_variance", 0.01),
        ):
            if sd:
                priors[name] = lognorm(s=sd, scale=median)
        if not self.isotropic and d > 1:
            length_scale = np.full(d, length_scale)
        bounds = (0.01, self.longest)
        return surrogate.set_params(
            spatial_kernel=Matern(length_scale, bounds, nu=self.spatial_nu),
            temporal_kernel__nu=self.temporal_nu,
            mean_prior_std=self.mean,
            hyperpriors=priors or None,
            **self.options,
        )


# One part changed at a time, but for the first, which is how the package began.
VARIANTS = {
    "first version": {"mean": 0.0, "scale": 0.2, "temporal_nu": 1.5, "refit_every": 1},
    "chosen": {},
    **{f"mean {width:g}": {"mean": width} for width in (0.0, 0.5, 2.0, 4.0, np.inf)},
    **{f"β {scale:g}": {"scale": scale} for scale in (0.01, 0.02, 0.1, 0.2, 0.4)},
    **{f"ν_T {nu:g}": {"temporal_nu": nu} for nu in (0.5, 1.5, np.inf)},
    **{f"ν_S {nu:g}": {"spatial_nu": nu} for nu in (1.5, np.inf)},
    "l_S up to 5": {"longest": 5.0},
    "prior of l_S": {"prior": 0.75},
    "l_S by dimension": {"isotropic": False},
    "l_S by dimension, prior": {"isotropic": False, "prior": 1.0},
    "prior of l_T": {"time_prior": 1.0},
    "prior of σ²": {"noise_prior": 1.5},
    "σ² from 1e-6": {"options": {"noise_variance_bounds": (1e-6, 1.0)}},
    "λ up to 100": {"options": {"signal_variance_bounds": (0.05, 100.0)}},
    "a restart at each search": {"options": {"n_restarts_optimizer": 1}},
    "search always": {"refit_every": 1},
    "search every 5": {"refit_every": 5},
    "α 0.1": {"alpha": 0.1},
    "α 1": {"alpha": 1.0},
    "at least 30": {"min_size": 30},
}


def static(mean, scale):
    """GP-UCB, for functions that do not change."""
    surrogate = GPUCB()._make_surrogate(None).set_params(mean_prior_std=mean)
    return GPUCB(acquisition=UCB(DimensionBeta(scale)), surrogate=surrogate)


STATIC = {
    "first version": (0.0, 0.2),
    **{f"mean 1, β {scale:g}": (1.0, scale) for scale in (0.02, 0.05, 0.1, 0.2, 0.4)},
    "mean 4, β 0.1": (4.0, 0.1),
    "mean inf, β 0.1": (np.inf, 0.1),
}


# --- the study ------------------------------------------------------------------------------------


def study(folder, seconds, n_replications, variants, still):
    """Finished runs of the variants on all problems."""
    found = development_problems()
    clock = evaluation.SimulatedClock(partial(constant, seconds))
    with parallel_config("loky", inner_max_num_threads=1):
        return evaluation.compare(
            variants,
            [Still(problem) for problem in found] if still else found,
            n_replications,
            clock=clock,
            horizon=HORIZON,
            n_jobs=-1,
            store=folder,
        )


def print_table(comparison):
    """Regrets in units of the first variant's, run by run: geometric means over the problems."""
    regrets = {}
    for row in comparison.rows():
        runs = regrets.setdefault(row["algorithm"], {})
        runs.setdefault(row["problem"], []).append(row["average_regret"])
    first = next(iter(regrets.values()))
    print(f"{'':28}{'regret':>8}{'error':>8}   worst and best problem")
    for name, runs in regrets.items():
        logs = {p: np.mean(np.log(runs[p]) - np.log(first[p])) for p in first}
        values = np.array(list(logs.values()))
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        ends = [
            f"{p} {np.exp(logs[p]):.2f}" for p in (max(logs, key=logs.get), min(logs, key=logs.get))
        ]
        mean = np.exp(np.mean(values))
        print(f"{name:28}{mean:8.2f}{mean * error:8.2f}   {', '.join(ends)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="where finished runs are kept")
    parser.add_argument("--seconds", type=float, default=4.0, help="between two queries")
    parser.add_argument("--replications", type=int, default=3)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--still", action="store_true", help="GP-UCB's parts, on stopped functions")
    arguments = parser.parse_args()
    if arguments.still:
        variants = {name: static(*parts) for name, parts in STATIC.items()}
    else:
        variants = {name: Variant(**VARIANTS[name]) for name in arguments.variants}
    folder, seconds = arguments.folder, arguments.seconds
    print_table(study(folder, seconds, arguments.replications, variants, arguments.still))


if __name__ == "__main__":
    main()
