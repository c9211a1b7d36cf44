"""W-DBO as published, with what its authors' package wdbo_algo 1.0.7 does otherwise.

Each difference is one part of the optimizer, so that it can be changed alone. Written from the
behaviour of the package, not from its code.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import expit

from sktvbo.acquisition import UCB, DimensionBeta
from sktvbo.gaussian_process._data import Rows
from sktvbo.gaussian_process._exact_posterior import Dense
from sktvbo.gaussian_process._hyperparameters import SearchRecord
from sktvbo.optimizers import BayesianOptimizer
from sktvbo.papers import published
from sktvbo.papers._bardou2024 import UncappedBudget
from sktvbo.papers._parts import FixedStartGPRegressor
from sktvbo.relevancy import spatial_convolution, temporal_convolution
from sktvbo.staleness import StaleDataPolicy

# wdbo_algo: steps of Adam, least noise variance of the model and of the criterion.
N_STEPS, RATE = 150, 0.1
LEAST_NOISE, LEAST_NOISE_OF_CRITERION = 1e-4, 1e-5

MEAN_BOUNDS = (-10.0, 10.0)


def adam(objective, raw):
    """Minimize a function that returns a gradient, by 150 steps (Kingma & Ba 2015)."""
    first, second = np.zeros_like(raw), np.zeros_like(raw)
    for step in range(1, N_STEPS + 1):
        slope = objective(raw)
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        spread = np.sqrt(second / (1.0 - 0.999**step)) + 1e-8
        raw = raw - RATE * first / (1.0 - 0.9**step) / spread
    return raw


@dataclass(frozen=True, eq=False)
class RowsAboveMean(Rows):
    """Rows whose y is standardized as (y − average) / scale − constant.

    Attributes
    ----------
    constant : float
        Mean of the process in units of the scale.
    """

    constant: float = 0.0

    def __getstate__(self):
        return super().__getstate__() | {"constant": self.constant}

    @classmethod
    def above(cls, rows, constant):
        """Return rows with a constant."""
        state = rows.__getstate__() | {"location": rows.location + rows.scale * constant}
        return cls(**state, constant=constant)

    @property
    def average(self):
        """Location without the constant."""
        return self.location - self.scale * self.constant

    def _copy(self, changes):
        new = super()._copy(changes)
        vars(new)["constant"] = self.constant
        return new

    def _standardize_y(self):
        super()._standardize_y()
        vars(self)["location"] += self.scale * self.constant


class Likelihood:
    """Log likelihood of rows under a Matérn 5/2 in space and a Matérn 3/2 in time.

    Parameters
    ----------
    rows : Rows
        Their standardized y is used.
    """

    def __init__(self, rows):
        self._z = (rows.y - rows.location) / rows.scale
        self._distances = np.sqrt(5.0) * cdist(rows.S, rows.S)
        self._lags = np.sqrt(3.0) * np.abs(np.subtract.outer(rows.t, rows.t))

    def __call__(self, point):
        """Return the value and its gradient at the logarithms of λ, l_S, l_T, σ², and a mean."""
        signal, l_space, l_time, noise = np.exp(point[:-1])
        r, u = self._distances / l_space, self._lags / l_time
        decay, space, time = signal * np.exp(-r - u), 1.0 + r + r * r / 3.0, 1.0 + u
        K = decay * space * time
        L = cholesky(K + noise * np.eye(len(K)), lower=True, check_finite=False)
        P, _ = dpotri(L, lower=True)
        P += np.tril(P, -1).T
        z = self._z - point[-1]
        a = P @ z
        W = np.outer(a, a) - P
        weighed = W * decay
        slopes = [
            np.vdot(W, K),
            np.vdot(weighed * time, r * r * (1.0 + r)) / 3.0,
            np.vdot(weighed * space, u * u),
            noise * np.trace(W),
            2.0 * a.sum(),
        ]
        value = -0.5 * (z @ a + len(z) * np.log(2.0 * np.pi)) - np.sum(np.log(L.diagonal()))
        return value, 0.5 * np.array(slopes)


class VariantRegressor(FixedStartGPRegressor):
    """Surrogate of W-DBO as published, with other searches of its hyperparameters.

    Attributes
    ----------
    learns_mean : bool
        A constant mean is one more hyperparameter, by likelihood and without a prior.
    by_adam : bool
        150 steps of Adam in place of a search that converges.
    refits : bool
        The hyperparameters are searched after a removal as well.
    """

    learns_mean = False
    by_adam = False
    refits = False

    # Rows and result of the latest search: a policy that refits makes the optimizer's searches.
    _latest = ((), None)

    def _learn(self, rows, start=None, record=None, **options):
        if not (self.learns_mean or self.by_adam or self.refits):
            return super()._learn(rows, start, record, **options)
        key = type(self), rows.X.tobytes(), rows.y.tobytes()
        if VariantRegressor._latest[0] != key:
            if self.learns_mean or self.by_adam:
                found = self._search_with_mean(rows), SearchRecord()
            else:
                found = super()._learn(rows, start, record, **options)
            VariantRegressor._latest = key, found
        return VariantRegressor._latest[1]

    def _search_with_mean(self, rows):
        """Return the rows' posterior after a search of theta, and perhaps of the mean."""
        initial = self._initial_covariance(rows, follow_data=False)
        likelihood = Likelihood(rows)

        def loss(point):
            """Minus the likelihood a row, and its gradient in theta and mean."""
            value, slope = likelihood(point)
            slope[-1] *= self.learns_mean
            return -value / rows.n, -slope / rows.n

        start = np.append(initial.theta, 0.0)
        if self.by_adam:
            # Positive hyperparameters are softplus(raw), times the length of the run for l_T.
            unit = np.exp(initial.theta) / np.log(2.0)
            least = np.array([0.0, 0.0, 0.0, LEAST_NOISE])

            def positive(raw):
                return unit * np.logaddexp(0.0, raw[:-1]) + least

            def slope(raw):
                _, found = loss(np.append(np.log(positive(raw)), raw[-1]))
                return found * np.append(unit * expit(raw[:-1]) / positive(raw), 1.0)

            raw = adam(slope, np.zeros(len(start)))
            found = np.append(np.log(positive(raw)), raw[-1])
        else:
            bounds = np.vstack([initial.bounds, MEAN_BOUNDS])
            found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
        rows = RowsAboveMean.above(rows, float(found[-1]))
        return Dense.of(initial.with_theta(found[:-1]), rows)

    def without(self, indices, *, restandardize=None):
        """Return an estimator without some rows, refitted or not."""
        new = super().without(indices, restandardize=restandardize)
        return new.refit() if self.refits and new is not self else new


class WithMean(VariantRegressor):
    learns_mean = True


class WithAdam(VariantRegressor):
    by_adam = True


class WithRefits(VariantRegressor):
    refits = True


class AsAuthors(VariantRegressor):
    learns_mean = by_adam = refits = True


class NoisyUCB(UCB):
    """UCB of the deviation of noisy observations."""

    def __call__(self, mean, std, state):
        noisy = np.hypot(std, state.surrogate.noise_std_)
        score, on_mean, width = super().__call__(mean, noisy, state)
        return score, on_mean, width * std / noisy


def relevancies(surrogate, now, *, capped):
    """Return the relevancies (n,) of a surrogate's rows, of y less its average.

    ``capped``: the convolution of the spatial kernel is at most 1, and rows with a negative square
    have -1.
    """
    rows = surrogate._gp.rows
    z = (rows.y - getattr(rows, "average", rows.location)) / rows.scale
    C = spatial_convolution(surrogate.spatial_kernel_, rows.S)
    if capped:
        C = np.minimum(C, 1.0)
    C = C * temporal_convolution(surrogate.temporal_kernel_, rows.X[:, -1], now)
    noise = max(surrogate.noise_variance_, LEAST_NOISE_OF_CRITERION)
    K = surrogate.spatial_kernel_(rows.S) * surrogate.temporal_kernel_(rows.t[:, np.newaxis])
    K *= surrogate.signal_variance_
    P = np.linalg.inv(K + noise * np.eye(rows.n))
    a, p = P @ z, P.diagonal()
    squares = np.einsum("ij,ij->i", P, P @ C) * (a**2 + p) / p**2
    squares /= a @ C @ a + np.sum(P * C)
    return np.where(squares < 0.0, -1.0, np.sqrt(np.abs(squares)))


class VariantBudget(StaleDataPolicy):
    """Budget of eq. (80) with the relevancies of wdbo_algo.

    Parameters
    ----------
    capped : bool, default=False
        See `relevancies`.
    latest_length_scale : bool, default=False
        The budget grows by the l_T that was just fitted, not by that before the observation.
    stops_early : bool, default=False
        No more removals once the budget left is at most the price of the last one.
    """

    def __init__(self, capped=False, latest_length_scale=False, stops_early=False, alpha=0.25):
        self.capped = capped
        self.latest_length_scale = latest_length_scale
        self.stops_early = stops_early
        self.alpha = alpha

    budget_ = 1.0
    now_ = None

    def after_add(self, surrogate, now):
        """Return the least relevant rows."""
        fitted = surrogate.temporal_kernel_.length_scale
        if self.now_ is not None:
            length_scale = fitted if self.latest_length_scale else self.length_scale_
            steps = min((now - self.now_) / length_scale, 1000.0)
            self.budget_ = min(self.budget_ * (1.0 + self.alpha) ** steps, 1e200)
        left = np.arange(len(surrogate.X_train_))
        n, price = len(left), 0.0
        while len(left) > 2 and not (self.stops_early and price >= self.budget_):
            found = relevancies(surrogate, now, capped=self.capped)
            least = int(np.argmin(found))
            price = 1.0 + found[least]
            if not price < self.budget_:
                break
            self.budget_ /= max(price, 1.0)
            left = np.delete(left, least)
            refits = getattr(surrogate, "refits", False)
            surrogate = surrogate.without([least], restandardize=refits)
        self.now_, self.length_scale_ = now, surrogate.temporal_kernel_.length_scale
        return np.setdiff1d(np.arange(n), left)


class Variant(BayesianOptimizer):
    """W-DBO of given parts, which also learns from two observations."""

    _min_to_learn = 2


def variants(horizon):
    """Return W-DBO as published and its variants, by name."""
    original = published("W-DBO", horizon=horizon)
    surrogate = original.surrogate

    def variant(kind=FixedStartGPRegressor, acquisition=UCB, policy=None):
        return Variant(
            surrogate=kind(**surrogate.get_params(deep=False)),
            acquisition=acquisition(DimensionBeta(0.2)),
            policy=UncappedBudget() if policy is None else policy,
            n_initial_points=15,
            refit_every=1,
        )

    return {
        "W-DBO as published": original,
        "cap": variant(policy=VariantBudget(capped=True)),
        "mean": variant(WithMean),
        "noisy deviation": variant(acquisition=NoisyUCB),
        "l_T just fitted": variant(policy=VariantBudget(latest_length_scale=True)),
        "fit after removals": variant(WithRefits, policy=VariantBudget()),
        "early stop": variant(policy=VariantBudget(stops_early=True)),
        "Adam": variant(WithAdam),
        "all": variant(AsAuthors, NoisyUCB, VariantBudget(True, True, True)),
    }
