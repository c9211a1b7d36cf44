"""Parts that several papers share, and that the rest of the package does not have."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import gamma
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from .._sklearn import BaseEstimator
from .._validation import check_real, invalid
from ..acquisition import UCB, LogBeta
from ..gaussian_process import TimeVaryingGPRegressor
from ..staleness._windows import maximum_gain

STATIC = ConstantKernel(1.0, "fixed")


def known_horizon(horizon, name, other=""):
    """Return the length of a run, or raise: a paper assumes it known, and a wrong one is not seen.

    ``other`` is a parameter that may be given in its place.
    """
    if horizon is None:
        unit = "in steps" if other else "in the unit of its times"
        expected = f"given: the length of the run, {unit}"
        advice = f"The paper takes {other} from it: give one of them." if other else ""
        raise invalid("horizon", expected, owner=f"published({name!r})", got="none", advice=advice)
    check_real(horizon, "horizon", f"published({name!r})", interval="(0, inf)")
    return horizon


def known_surrogate(
    spatial_kernel,
    noise_variance,
    temporal_kernel=STATIC,
    kind=TimeVaryingGPRegressor,
    noise_model=None,
):
    """Return a zero-mean surrogate on raw y whose hyperparameters are known.

    Without a spatial kernel it is a squared exponential with lengthscale 0.2, as in the synthetic
    experiments of TVGP section 5.1 and ET section 5.1, with k(x, x) = 1.
    """
    return kind(
        RBF(0.2, "fixed") if spatial_kernel is None else spatial_kernel,
        temporal_kernel,
        signal_variance=1.0,
        signal_variance_bounds="fixed",
        noise_variance=noise_variance,
        noise_variance_bounds="fixed",
        noise_model=noise_model,
        optimizer=None,
    )


def log_ucb(c1, c2):
    """Return UCB with β_t = c1 log(c2 t), t being the step of the query (TVGP section 5)."""
    return UCB(NextStep(LogBeta(c1, c2)))


@dataclass(eq=False, repr=False)
class NextStep(BaseEstimator):
    """Schedule of β at the step of the query: t is one more than the observations told.

    The papers choose x_t with β_t from t − 1 observations. The schedules of `sktvbo.acquisition`
    use the number of observations told.

    Parameters
    ----------
    schedule : callable of an AcquisitionState
    """

    schedule: object = None

    def check(self):
        """Raise a ValueError if a parameter is invalid."""
        self.schedule.check()

    def __call__(self, state):
        return self.schedule(replace(state, n_told=state.n_told + 1))


@dataclass(eq=False, repr=False)
class MaximumGainBeta(BaseEstimator):
    """β = (B + R √(2 (γ_n + 1 + log(1/δ))))², γ_n being the maximum information gain.

    `~sktvbo.acquisition.InformationGainBeta` has the gain of the data set instead, which is
    smaller. n is the size of the data set. The candidates are those of
    `~sktvbo.staleness.VariationBudget`.

    Parameters
    ----------
    norm_bound : float, default=1.0
        B.
    noise_bound : float, default=1.0
        R, in units of y.
    delta : float in (0, 1), default=0.1
    """

    norm_bound: float = 1.0
    noise_bound: float = 1.0
    delta: float = 0.1

    def __call__(self, state):
        # Stored in the state, as a cached property is: an acquisition function is called often.
        known = vars(state)
        if "maximum_gain" not in known:
            known["maximum_gain"] = maximum_gain(state.surrogate, state.n)
        inner = known["maximum_gain"] + 1.0 - np.log(self.delta)
        return float((self.norm_bound + self.noise_bound * np.sqrt(2.0 * inner)) ** 2)


class GammaPrior(BaseEstimator):
    """Gamma distribution that can be stored in a journal, as a prior of hyperparameters.

    Parameters
    ----------
    shape, rate : float
    """

    def __init__(self, shape, rate):
        self.shape = shape
        self.rate = rate

    def logpdf(self, x):
        """Return log densities."""
        return gamma(self.shape, scale=1.0 / self.rate).logpdf(x)


class FixedStartGPRegressor(TimeVaryingGPRegressor):
    """Regressor whose every hyperparameter search starts from the kernels as given."""

    def _learn(self, rows, start=None, record=None, *, initial=None, **options):
        initial = initial or self._initial_covariance(rows, follow_data=False)
        return super()._learn(rows, initial.theta, initial=initial, **options)
