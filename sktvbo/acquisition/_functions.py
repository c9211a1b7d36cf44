"""Acquisition functions: scores of a posterior mean and standard deviation."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfcx, log_ndtr
from sklearn.base import BaseEstimator

from .._validation import check_real, invalid
from ._beta import AcquisitionState, DimensionBeta, GrowingBeta, LogBeta

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from .._typing import Array, Numbers
    from ._beta import Schedule

    # A custom acquisition function returns a score and its derivatives in mean and standard
    # deviation.
    Scores: TypeAlias = tuple[Numbers, Numbers, Numbers]
    Acquisition: TypeAlias = (
        Callable[[Numbers, Numbers, AcquisitionState], Scores] | "ThompsonSampling"
    )

# Smaller standard deviations are replaced by this one, whose reciprocal's square does not overflow.
_MIN_STD = np.finfo(np.float64).tiny ** 0.25

# UCB knows these schedules by name.
_NAMED = {"dimension": DimensionBeta(), "log": LogBeta(), "growing": GrowingBeta()}


class UCB(BaseEstimator):
    """Upper confidence bound, μ + √β σ, σ being less near the faces of a box with a ``margin``.

    Parameters
    ----------
    beta : "dimension", "log", "growing", float or callable, default="dimension"
        - "dimension": `DimensionBeta`, 0.2 d log(2 n);
        - "log": `LogBeta`, 0.8 log(4 t);
        - "growing": `GrowingBeta`, from 0.05 d log(2 n) to 0.2 d log(2 n);
        - a non-negative float: constant, which is competitive;
        - a callable of an `AcquisitionState`, such as `SmoothnessBeta`,
          `BOLTBeta` and `InformationGainBeta`.
    margin : float, default=0.0
        Width of the border of a box in which σ counts for less, in units of its sides; 0.2 is what
        all optimizers have by default. See the notes.

    Notes
    -----
    A bound is often largest on the faces of the box and in its corners, far from all observations,
    where half of what an observation tells, or less, is about places in the box. With a margin r,
    σ² is therefore multiplied by the share of exp(−(v/r)²), v being the distance from the place,
    that lies in the box, coordinate by coordinate, and relative to that of the centre: ½ on a face,
    ¼ on an edge. It is the real coordinates of a domain that have faces, but for those of a
    context.

    Examples
    --------
    >>> from sktvbo.acquisition import UCB, AcquisitionState
    >>> score, d_mean, d_std = UCB(beta=4.0)(1.0, 0.5, AcquisitionState(n=10, n_told=10, n_dims=2))
    >>> float(score)
    2.0
    """

    def __init__(self, beta: float | str | Schedule = "dimension", margin: float = 0.0) -> None:
        self.beta = beta
        self.margin = margin

    def check(self) -> None:
        """Raise a ValueError for a parameter that makes no sense."""
        beta = self._schedule()
        if not callable(beta):
            self._number(beta)
        elif hasattr(beta, "check"):
            beta.check()

    def beta_value(self, state: AcquisitionState) -> float:
        """β in this state.

        Parameters
        ----------
        state : AcquisitionState

        Returns
        -------
        float
        """
        beta = self._schedule()
        return self._number(beta(state) if callable(beta) else beta)

    def _schedule(self):
        return _NAMED.get(self.beta, self.beta) if isinstance(self.beta, str) else self.beta

    def _number(self, beta):
        if not isinstance(beta, Real) or not 0.0 <= beta < np.inf:
            expected = "'dimension', 'log', 'growing', a float in the range [0, inf), or a callable"
            raise invalid("beta", expected, beta, self)
        return float(beta)

    def __call__(self, mean: Numbers, std: Numbers, state: AcquisitionState) -> Scores:
        """Score, and its derivatives in mean and standard deviation; arrays or floats."""
        width = np.sqrt(self.beta_value(state))
        return mean + width * std, 1.0, width


class PosteriorMean(BaseEstimator):
    """The posterior mean: exploitation alone.

    Examples
    --------
    >>> from sktvbo.acquisition import PosteriorMean
    >>> PosteriorMean()(1.5, 0.3, state=None)
    (1.5, 1.0, 0.0)
    """

    def __call__(self, mean: Numbers, std: Numbers, state: AcquisitionState) -> Scores:
        """Score, and its derivatives in mean and standard deviation; arrays or floats."""
        return mean, 1.0, 0.0


class ProbabilityOfImprovement(BaseEstimator):
    """Probability that f exceeds the incumbent by ``xi``, Φ((μ − best − ξ) / σ).

    The incumbent is the best posterior mean, at the time of the query, among the places observed:
    with noise and with time an old observation is no record.

    Parameters
    ----------
    xi : float, default=0.01
        Improvement asked for, in units of y; with 0 it hardly explores.

    Notes
    -----
    The score is Φ's argument, which has the same maximizer and never becomes flat.

    Examples
    --------
    >>> from sktvbo import GPUCB
    >>> from sktvbo.acquisition import ProbabilityOfImprovement
    >>> opt = GPUCB([(0.0, 1.0)], acquisition=ProbabilityOfImprovement(), random_state=0)
    """

    def __init__(self, xi: float = 0.01) -> None:
        self.xi = xi

    def check(self) -> None:
        """Raise a ValueError for a parameter that makes no sense."""
        check_real(self.xi, "xi", self, interval="[0, inf)")

    def __call__(self, mean: Numbers, std: Numbers, state: AcquisitionState) -> Scores:
        """Score, and its derivatives in mean and standard deviation; arrays or floats."""
        z, std, scale = _improvement(self, mean, std, state)
        return z, 1.0 / std / scale, -z / std / scale

    def logarithm(self, score: Array) -> tuple[Array, Array]:
        """Logarithm of the probability, and its derivative in the score.

        Parameters
        ----------
        score : ndarray

        Returns
        -------
        value, slope : ndarray
        """
        log_p = log_ndtr(score)
        return log_p, np.exp(-0.5 * score**2 - log_p) / np.sqrt(2.0 * np.pi)


class ExpectedImprovement(BaseEstimator):
    """Expected improvement over the incumbent, E max(f − best − ξ, 0).

    The incumbent is that of `ProbabilityOfImprovement`.

    Parameters
    ----------
    xi : float, default=0.0
        Improvement that does not count, in units of y.

    Notes
    -----
    The score is its logarithm, in units of the observations' scale: it has the same maximizer, and
    slopes where expected improvement itself underflows (Ament et al. 2023).

    Examples
    --------
    >>> from sktvbo import WDBO
    >>> from sktvbo.acquisition import ExpectedImprovement
    >>> opt = WDBO([(0.0, 1.0)], acquisition=ExpectedImprovement(), random_state=0)
    """

    def __init__(self, xi: float = 0.0) -> None:
        self.xi = xi

    def check(self) -> None:
        """Raise a ValueError for a parameter that makes no sense."""
        check_real(self.xi, "xi", self, interval="[0, inf)")

    def __call__(self, mean: Numbers, std: Numbers, state: AcquisitionState) -> Scores:
        """Score, and its derivatives in mean and standard deviation; arrays or floats."""
        z, std, scale = _improvement(self, mean, std, state)
        log_h, cdf_share, pdf_share = _log_improvement(z)
        return np.log(std) + log_h, cdf_share / std / scale, pdf_share / std / scale

    def logarithm(self, score: Array) -> tuple[Array, Array]:
        """The score, and its derivative in itself: it is a logarithm.

        Parameters
        ----------
        score : ndarray

        Returns
        -------
        value, slope : ndarray
        """
        return score, np.ones_like(score)


def _improvement(acquisition, mean, std, state):
    """(μ − best − ξ) / σ, and σ in units of the observations' scale, and this scale."""
    acquisition.check()
    scale = state.scale
    std = np.maximum(std / scale, _MIN_STD)
    return (mean - state.incumbent - acquisition.xi) / scale / std, std, scale


def _log_improvement(z):
    """log h, Φ / h and φ / h for h(z) = φ(z) + z Φ(z), the improvement in units of σ."""
    # The scaled error function gives Φ / φ, finite for any z < 0; the cap only spares an overflow.
    mills = np.sqrt(np.pi / 2.0) * erfcx(-np.minimum(z, 5.0) / np.sqrt(2.0))
    # This is h / φ = 1 + z Φ / φ; far out its terms cancel, and 1/z² − 3/z⁴ + 15/z⁶ is left.
    far = np.minimum(z, -200.0) ** -2.0
    h = np.where(z < -200.0, far * (1.0 - 3.0 * far + 15.0 * far**2), 1.0 + z * mills)
    log_pdf = -0.5 * z**2 - 0.5 * np.log(2.0 * np.pi)
    # Beyond z = 5, where that ratio is capped, h = φ + z Φ itself is taken.
    cdf, pdf = np.exp(log_ndtr(z)), np.exp(log_pdf)
    large = np.where(z > 5.0, pdf + z * cdf, 1.0)
    return (
        np.where(z > 5.0, np.log(large), log_pdf + np.log(np.where(z > 5.0, 1.0, h))),
        np.where(z > 5.0, cdf / large, mills / h),
        np.where(z > 5.0, pdf / large, 1.0 / h),
    )


class ThompsonSampling(BaseEstimator):
    """Thompson sampling: query where one draw from the posterior is largest.

    The draw is exact, and joint, at some hundreds of places: the Sobol points, the latest queries
    and places near them. It has no parameter to choose, and its randomness makes several queries at
    once differ.

    Over a finite set the draw is made at all members, up to 1024. Of a larger one, it is made at
    1024 members chosen uniformly for each query, and at the latest queries and the 32 members
    nearest to each, since its cost grows with the third power of the number of places.

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


def as_acquisition(acquisition: Acquisition | str, owner: object = None) -> Acquisition:
    """Return an acquisition function from any of the forms in which users give one.

    Parameters
    ----------
    acquisition : callable or str
        "ucb", "ei", "pi", "ts" and "mean" are `UCB`, `ExpectedImprovement`,
        `ProbabilityOfImprovement`, `ThompsonSampling` and `PosteriorMean`.
    owner : object, default=None
        Whose parameter it is, for messages.

    Returns
    -------
    callable
        Its own parameters have been checked.

    Raises
    ------
    ValueError
        Something else, or a parameter of it that makes no sense.

    Examples
    --------
    >>> from sktvbo.acquisition import as_acquisition
    >>> as_acquisition("ei")
    ExpectedImprovement()
    """
    if isinstance(acquisition, str) and acquisition in _ACQUISITIONS:
        return _ACQUISITIONS[acquisition]()
    usable = callable(acquisition) or getattr(acquisition, "joint", False)
    if not usable or isinstance(acquisition, type):
        names = ", ".join(map(repr, _ACQUISITIONS))
        expected = f"{names}, None, or a callable (mean, std, state)"
        raise invalid("acquisition", expected, acquisition, owner)
    check_real(getattr(acquisition, "margin", 0.0), "margin", acquisition, interval="[0, inf)")
    if hasattr(acquisition, "check"):
        acquisition.check()
    return acquisition
