"""Acquisition functions: scores of a posterior mean and standard deviation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.special import erfcx, log_ndtr

from .._sklearn import BaseEstimator
from .._validation import check_real, invalid
from ._beta import AcquisitionState, DimensionBeta, LogBeta, Schedule

if TYPE_CHECKING:
    from .._typing import Array, Numbers

    # A custom acquisition function returns a score and its derivatives in mean and standard
    # deviation.
    Scores: TypeAlias = tuple[Numbers, Numbers, Numbers]
    Acquisition: TypeAlias = (
        Callable[[Numbers, Numbers, AcquisitionState], Scores]
        | Callable[[Numbers, Numbers, AcquisitionState, Array], Scores]  # ``sees_places``
        | "ThompsonSampling"
    )

# Smaller standard deviations are replaced by this one, whose reciprocal's square does not overflow.
_MIN_STD = np.finfo(np.float64).tiny ** 0.25

# Schedules that UCB takes by name.
_NAMED = {"dimension": DimensionBeta(), "log": LogBeta()}


class AcquisitionFunction:
    """Protocol of acquisition functions, with its defaults.

    A user's function, or object with some of these names, is wrapped by `as_acquisition`.

    Attributes
    ----------
    joint : bool
        True: not called, but a joint draw from the posterior is maximized.
    sees_places : bool
        True: called with rows (m, d + 1) as well, of inputs and times in the user's units.
    margin : float
        Width of the border of the box in which standard deviations are reduced, see `UCB`.
    logarithm : callable or None
        For an improvement, ``logarithm(score)`` returns the logarithm of it, and the derivative of
        this in the score. None for other scores.
    name : str
        For error messages.
    """

    joint = False
    sees_places = False
    margin = 0.0
    logarithm = None

    @property
    def name(self) -> str:
        """Name in messages."""
        return type(self).__name__

    def check(self) -> None:
        """Raise a ValueError if a parameter is invalid."""

    def __call__(self, mean: Array, std: Array, state: AcquisitionState) -> Scores:
        """Return scores (m,), and their derivatives in mean and standard deviation."""
        raise NotImplementedError


class _Custom(AcquisitionFunction):
    """A user's acquisition function, with defaults for the attributes that it does not define."""

    def __init__(self, function):
        self._function = function
        for name in ("joint", "sees_places", "margin", "logarithm", "check"):
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))

    @property
    def name(self):
        return getattr(self._function, "__name__", type(self._function).__name__)

    def __call__(self, *arguments):
        return self._function(*arguments)


@dataclass(eq=False, repr=False)
class UCB(AcquisitionFunction, BaseEstimator):
    """Upper confidence bound, μ + √β σ; with a ``margin`` σ is reduced near the faces of a box.

    Parameters
    ----------
    beta : "dimension", "log", float or callable, default="dimension"
        - "dimension": `DimensionBeta`, 0.2 min(d, 4) log(2 n);
        - "log": `LogBeta`, 0.8 log(4 t);
        - a non-negative float: a constant, which is competitive;
        - a callable of an `AcquisitionState`, such as `SmoothnessBeta`,
          `BOLTBeta` and `InformationGainBeta`.
    margin : float, default=0.0
        Width of the border of a box in which σ is reduced, in units of its sides. All optimizers
        have 0.2 by default. See the notes.

    Notes
    -----
    A bound is often largest on the faces of the box and in its corners, far from all observations.
    There, at most half of the information of an observation is about inputs in the box. With a
    margin r, σ² is therefore multiplied by the share of exp(−(v/r)²), v being the distance from the
    input, that lies in the box. This is done for each coordinate, and relative to the centre: ½ on
    a face, ¼ on an edge. Real coordinates have faces, unless they are a context's.

    Examples
    --------
    >>> from sktvbo.acquisition import UCB, AcquisitionState
    >>> score, d_mean, d_std = UCB(beta=4.0)(1.0, 0.5, AcquisitionState(n=10, n_told=10, n_dims=2))
    >>> float(score)
    2.0
    """

    beta: float | str | Schedule = "dimension"
    margin: float = 0.0

    def check(self) -> None:
        """Raise a ValueError if a parameter is invalid."""
        if not callable(self.beta) and not (isinstance(self.beta, str) and self.beta in _NAMED):
            self.beta_value(None)
        elif hasattr(self.beta, "check"):
            self.beta.check()

    def beta_value(self, state: AcquisitionState) -> float:
        """Return β in a state.

        Parameters
        ----------
        state : AcquisitionState

        Returns
        -------
        float
        """
        beta = _NAMED.get(self.beta, self.beta) if isinstance(self.beta, str) else self.beta
        if callable(beta):
            beta = beta(state)
        if not isinstance(beta, Real) or not 0.0 <= beta < np.inf:
            names = ", ".join(map(repr, _NAMED))
            expected = f"{names}, a float in the range [0, inf), or a callable"
            raise invalid("beta", expected, beta, self)
        return float(beta)

    def __call__(self, mean: Numbers, std: Numbers, state: AcquisitionState) -> Scores:
        """Return the score, and its derivatives in mean and standard deviation."""
        width = np.sqrt(self.beta_value(state))
        return mean + width * std, 1.0, width


class PosteriorMean(AcquisitionFunction, BaseEstimator):
    """Posterior mean: pure exploitation.

    Examples
    --------
    >>> from sktvbo.acquisition import AcquisitionState, PosteriorMean
    >>> PosteriorMean()(1.5, 0.3, AcquisitionState(n=3, n_told=3, n_dims=1))
    (1.5, 1.0, 0.0)
    """

    def __call__(self, mean: Numbers, std: Numbers, state: AcquisitionState) -> Scores:
        """Return the score, and its derivatives in mean and standard deviation."""
        return mean, 1.0, 0.0


class _Improvement(AcquisitionFunction, BaseEstimator):
    """Base class of the improvements over the incumbent by ``xi``."""

    def check(self) -> None:
        """Raise a ValueError if a parameter is invalid."""
        check_real(self.xi, "xi", self, interval="[0, inf)")

    def _standardized(self, mean, std, state):
        """Return (μ − best − ξ) / σ, σ in units of the observations' scale, and this scale."""
        self.check()
        scale = state.scale
        std = np.maximum(std / scale, _MIN_STD)
        return (mean - state.incumbent - self.xi) / scale / std, std, scale


@dataclass(eq=False, repr=False)
class ProbabilityOfImprovement(_Improvement):
    """Probability that f exceeds the incumbent by ``xi``, Φ((μ − best − ξ) / σ).

    The incumbent is the best posterior mean, at the time of the query, at the inputs observed or
    pending: an old observation, or a noisy one, is not a reference. It is among the inputs that
    would probably succeed at that time, within all limits.

    Parameters
    ----------
    xi : float, default=0.01
        Required improvement, in units of y; with 0 there is little exploration.

    Notes
    -----
    The score is the argument of Φ, which has the same maximizer and is never flat.

    Examples
    --------
    >>> from sktvbo import GPUCB
    >>> from sktvbo.acquisition import ProbabilityOfImprovement
    >>> opt = GPUCB([(0.0, 1.0)], acquisition=ProbabilityOfImprovement(), random_state=0)
    """

    xi: float = 0.01

    def __call__(self, mean: Numbers, std: Numbers, state: AcquisitionState) -> Scores:
        """Return the score, and its derivatives in mean and standard deviation."""
        z, std, scale = self._standardized(mean, std, state)
        return z, 1.0 / std / scale, -z / std / scale

    def logarithm(self, score: Array) -> tuple[Array, Array]:
        """Return the logarithm of the probability, and its derivative in the score.

        Parameters
        ----------
        score : ndarray

        Returns
        -------
        value, slope : ndarray
        """
        log_p = log_ndtr(score)
        return log_p, np.exp(-0.5 * score**2 - log_p) / np.sqrt(2.0 * np.pi)


@dataclass(eq=False, repr=False)
class ExpectedImprovement(_Improvement):
    """Expected improvement over the incumbent, E max(f − best − ξ, 0).

    The incumbent is that of `ProbabilityOfImprovement`.

    Parameters
    ----------
    xi : float, default=0.0
        Improvement that does not count, in units of y.

    Notes
    -----
    The score is the logarithm, in units of the observations' scale. It has the same maximizer, and
    a gradient where expected improvement itself underflows (Ament et al. 2023).

    Examples
    --------
    >>> from sktvbo import WDBO
    >>> from sktvbo.acquisition import ExpectedImprovement
    >>> opt = WDBO([(0.0, 1.0)], acquisition=ExpectedImprovement(), random_state=0)
    """

    xi: float = 0.0

    def __call__(self, mean: Numbers, std: Numbers, state: AcquisitionState) -> Scores:
        """Return the score, and its derivatives in mean and standard deviation."""
        z, std, scale = self._standardized(mean, std, state)
        log_h, cdf_share, pdf_share = _log_improvement(z)
        return np.log(std) + log_h, cdf_share / std / scale, pdf_share / std / scale

    def logarithm(self, score: Array) -> tuple[Array, Array]:
        """Return the score, which is a logarithm, and its derivative in itself, 1.

        Parameters
        ----------
        score : ndarray

        Returns
        -------
        value, slope : ndarray
        """
        return score, np.ones_like(score)


def _log_improvement(z):
    """Return log h, Φ / h and φ / h for h(z) = φ(z) + z Φ(z), the improvement in units of σ."""
    # The scaled error function gives Φ / φ, finite for any z < 0; the cap avoids an overflow.
    mills = np.sqrt(np.pi / 2.0) * erfcx(-np.minimum(z, 5.0) / np.sqrt(2.0))
    # h / φ = 1 + z Φ / φ; for large −z its terms cancel, to 1/z² − 3/z⁴ + 15/z⁶.
    far = np.minimum(z, -200.0) ** -2.0
    h = np.where(z < -200.0, far * (1.0 - 3.0 * far + 15.0 * far**2), 1.0 + z * mills)
    log_pdf = -0.5 * z**2 - 0.5 * np.log(2.0 * np.pi)
    # Beyond z = 5, where the ratio is capped, h = φ + z Φ is evaluated directly.
    cdf, pdf = np.exp(log_ndtr(z)), np.exp(log_pdf)
    large = np.where(z > 5.0, pdf + z * cdf, 1.0)
    return (
        np.where(z > 5.0, np.log(large), log_pdf + np.log(np.where(z > 5.0, 1.0, h))),
        np.where(z > 5.0, cdf / large, mills / h),
        np.where(z > 5.0, pdf / large, 1.0 / h),
    )


class ThompsonSampling(AcquisitionFunction, BaseEstimator):
    """Thompson sampling: query where one draw from the posterior is largest.

    The draw is exact and joint at some hundreds of inputs: the Sobol points, the latest queries and
    inputs near them. It has no parameter, and its randomness makes the queries of a batch differ.

    Over a finite set the draw is made at all members, up to 1024. In a larger set, it is made at
    1024 members chosen uniformly for each query, at the latest queries and at the 32 members
    nearest to each: its cost grows with the third power of the number of inputs.

    Examples
    --------
    >>> from sktvbo import GPUCB
    >>> from sktvbo.acquisition import ThompsonSampling
    >>> opt = GPUCB([(0.0, 1.0)], acquisition=ThompsonSampling(), random_state=0)
    """

    joint = True


# --- by name --------------------------------------------------------------------------------------

_ACQUISITIONS = {
    "ucb": UCB,
    "ei": ExpectedImprovement,
    "pi": ProbabilityOfImprovement,
    "ts": ThompsonSampling,
    "mean": PosteriorMean,
}


def as_acquisition(acquisition: Acquisition | str, owner: object = None) -> AcquisitionFunction:
    """Return an acquisition function from any of the forms that users give.

    Parameters
    ----------
    acquisition : callable or str
        "ucb", "ei", "pi", "ts" and "mean" are `UCB`, `ExpectedImprovement`,
        `ProbabilityOfImprovement`, `ThompsonSampling` and `PosteriorMean`. An optimizer's "ucb" is
        its own default.
    owner : object, default=None
        Named in errors as the object whose parameter it is.

    Returns
    -------
    AcquisitionFunction
        Its own parameters have been checked.

    Raises
    ------
    ValueError
        Another type or name, or an invalid parameter of the acquisition function.

    Examples
    --------
    >>> from sktvbo.acquisition import as_acquisition
    >>> as_acquisition("ei")
    ExpectedImprovement()
    """
    if isinstance(acquisition, str) and acquisition in _ACQUISITIONS:
        return _ACQUISITIONS[acquisition]()
    if isinstance(acquisition, AcquisitionFunction):
        function = acquisition
    elif isinstance(acquisition, type) or not (
        callable(acquisition) or getattr(acquisition, "joint", False)
    ):
        names = ", ".join(map(repr, _ACQUISITIONS))
        expected = f"{names}, None, or a callable (mean, std, state)"
        raise invalid("acquisition", expected, acquisition, owner)
    else:
        function = _Custom(acquisition)
    check_real(function.margin, "margin", acquisition, interval="[0, inf)")
    function.check()
    return function
