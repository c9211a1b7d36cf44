"""Acquisition functions, the schedules of β, and the maximization over a domain.

An acquisition function is called with the posterior mean and standard deviation at a place and an
`AcquisitionState`; it returns a score, to be maximized, and the derivatives of the score in
both: the maximizer does the rest by the chain rule. One with ``joint = True`` is not called but
stands for a draw from the joint posterior, as `ThompsonSampling`.

One with ``sees_places = True`` is called with the places as well, ``(mean, std, state, X)``: arrays
(m,), and rows X (m, d + 1) in the user's units with the time of the query at their end, as in
``X_``. It returns the same three, each an array or a number; the derivatives in the place are found
by differences. One with a positive ``margin`` is called with standard deviations that are smaller
near the faces of the box, see `UCB`.

Where queries have failed, a score is weighed by the probability of success. One that measures an
improvement, which a failure does not bring, says so by ``logarithm(score)``: the logarithm of that
improvement, and its derivative in the score.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfcx, log_ndtr
from sklearn.base import BaseEstimator

from ._arrays import distinct_rows
from ._checks import check_choice, check_int, check_real, invalid
from ._maximizer import maximize

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from ._typing import Array, Numbers, Posterior
    from .staleness import Surrogate

    # What functions of one's own are: a schedule of β, and an acquisition function, which returns
    # a score and its derivatives in mean and standard deviation.
    Schedule: TypeAlias = Callable[["AcquisitionState"], float]
    Scores: TypeAlias = tuple[Numbers, Numbers, Numbers]
    Acquisition: TypeAlias = (
        Callable[[Numbers, Numbers, "AcquisitionState"], Scores] | "ThompsonSampling"
    )

__all__ = [
    "UCB",
    "AcquisitionState",
    "BOLTBeta",
    "DimensionBeta",
    "ExpectedImprovement",
    "GrowingBeta",
    "InformationGainBeta",
    "LogBeta",
    "PosteriorMean",
    "ProbabilityOfImprovement",
    "SmoothnessBeta",
    "ThompsonSampling",
    "as_acquisition",
    "maximize",
]

# A smaller standard deviation is taken for this one, whose reciprocal's square does not overflow.
_MIN_STD = np.finfo(np.float64).tiny ** 0.25


@dataclass(frozen=True)
class AcquisitionState:
    """What a score may depend on besides the posterior at the place.

    Attributes
    ----------
    n : int
        Observations in the data set.
    n_told : int
        Observations told so far, removed ones included.
    n_dims : int
        Dimensions of the domain, without time.
    surrogate : estimator
        Fitted.
    posterior : callable, (m, u) -> mean (m,), std (m,)
        At places in unit form, at the time of the query.
    n_pending : int
        Queries not told yet, which the surrogate takes for observations.
    information_gain : float
        Of the data set, ½ log det(I + Σ⁻¹ K), in nats.
    incumbent : float
        The largest posterior mean, at the time of the query, where the function was observed.
    scale : float
        Spread of the observations, by which those that improvement is measured in are divided
        before anything that could overflow; 1 where the posterior does not have any.
    """

    n: int
    n_told: int
    n_dims: int
    surrogate: Surrogate = field(default=None, repr=False)
    posterior: Posterior = field(default=None, repr=False)
    n_pending: int = 0

    @cached_property
    def information_gain(self) -> float:
        """What the observations tell about f, in nats."""
        return self.surrogate.information_gain()

    @cached_property
    def incumbent(self) -> float:
        """Largest posterior mean at the places of the observations."""
        places, _ = distinct_rows(self.surrogate.X_train_[:, :-1])
        mean = getattr(self.posterior, "mean", lambda S: self.posterior(S)[0])
        return float(np.max(mean(places)))

    @property
    def scale(self) -> float:
        return getattr(self.posterior, "scale", 1.0)


# --- schedules of β -------------------------------------------------------------------------------


class LogBeta(BaseEstimator):
    """β = scale · log(rate · t) or 0, t being the number of observations told (TVGP section 5).

    Parameters
    ----------
    scale, rate : float, default=0.8, 4.0
        TVGP's; ET has 0.4 and 4 on synthetic data, and both have 0.8 and 0.4 on temperatures.

    Examples
    --------
    >>> from sktvbo.acquisition import AcquisitionState, LogBeta
    >>> round(LogBeta()(AcquisitionState(n=5, n_told=25, n_dims=2)), 3)
    3.684
    """

    def __init__(self, scale: float = 0.8, rate: float = 4.0) -> None:
        self.scale = scale
        self.rate = rate

    def check(self) -> None:
        """Raise a ValueError for a parameter that makes no sense."""
        check_real(self.scale, "scale", self, interval="[0, inf)")
        check_real(self.rate, "rate", self, interval="(0, inf)")

    def __call__(self, state: AcquisitionState) -> float:
        return self.scale * max(float(np.log(self.rate * state.n_told)), 0.0)


class DimensionBeta(BaseEstimator):
    """β = scale · (1 + p) d log(2 n), with n observations and p queries pending.

    That of W-DBO's authors, in their code, where nothing is pending. Pending queries narrow the
    standard deviations before anything has been observed; the bound is made wider in return
    (Desautels et al. 2014 do so by a constant), so that queries made together do not crowd.

    Parameters
    ----------
    scale : float, default=0.2
        The authors'. BayesianOptimizer, WDBO, BOLT and ABO have a smaller one with few
        observations, see `GrowingBeta`.

    Examples
    --------
    >>> from sktvbo.acquisition import AcquisitionState, DimensionBeta
    >>> round(DimensionBeta()(AcquisitionState(n=5, n_told=25, n_dims=2)), 3)
    0.921
    """

    def __init__(self, scale: float = 0.2) -> None:
        self.scale = scale

    def check(self) -> None:
        """Raise a ValueError for a parameter that makes no sense."""
        check_real(self.scale, "scale", self, interval="[0, inf)")

    def __call__(self, state: AcquisitionState) -> float:
        return self.scale * (1 + state.n_pending) * state.n_dims * float(np.log(2.0 * state.n))


class GrowingBeta(BaseEstimator):
    """β = min(few · max(n / n_few, 1), many) · (1 + p) d log(2 n), a `DimensionBeta` that widens.

    Of a data set from which what is stale is removed, the size n says how often an optimizer
    queries while the function hardly changes. Where a few queries have to do, what changes becomes
    uncertain by itself, and is looked at again; where there are hundreds, to explore costs little
    of them. It is from no paper: see the page on the choice of the defaults.

    Parameters
    ----------
    few, many : float, default=0.05, 0.2
        Smallest and largest scale.
    n_few : int, default=None
        Observations up to which the scale is the smallest. None is 25 in one dimension, where few
        say much about the whole box, and 100 in more.

    Examples
    --------
    >>> from sktvbo.acquisition import AcquisitionState, DimensionBeta, GrowingBeta
    >>> for n in (20, 200, 2000):
    ...     state = AcquisitionState(n=n, n_told=n, n_dims=2)
    ...     print(round(GrowingBeta()(state) / DimensionBeta()(state), 3))
    0.25
    0.5
    1.0
    """

    def __init__(self, few: float = 0.05, many: float = 0.2, n_few: int | None = None) -> None:
        self.few = few
        self.many = many
        self.n_few = n_few

    def check(self) -> None:
        """Raise a ValueError for a parameter that makes no sense."""
        few = check_real(self.few, "few", self, interval="[0, inf)")
        check_real(self.many, "many", self, interval=f"[{few}, inf)")
        if self.n_few is not None:
            check_int(self.n_few, "n_few", self)

    def __call__(self, state: AcquisitionState) -> float:
        n_few = self.n_few or (25 if state.n_dims == 1 else 100)
        scale = min(self.few * max(state.n / n_few, 1.0), self.many)
        return DimensionBeta(scale)(state)


# SmoothnessBeta has this constant c, by the theorem that it comes from.
_THEOREMS = {"reset": 2.0 / 3.0, "forgetting": 0.5, "event": 4.0 / 3.0}


class SmoothnessBeta(BaseEstimator):
    """β of the regret bounds for smooth draws from a Gaussian process.

    β = 2 log(c π² t² / δ) + 2 d log(r d b t² √log(c d a π² t² / δ)): with probability 1 − δ the
    function is within √β σ of the posterior mean, at all times and on a grid so fine that the rest
    is within 1/t². t is the number of observations told. Conservative: in practice use
    `LogBeta`.

    Parameters
    ----------
    theorem : {"reset", "forgetting", "event"}, default="forgetting"
        Whose constant c: "reset" 2/3 (R-GP-UCB, TVGP eq. 16), "forgetting" 1/2 (TV-GP-UCB, TVGP
        eq. 19), "event" 4/3 (ET theorem 1).
    delta : float in (0, 1), default=0.1
    a, b : float, default=1.0
        Of the derivatives' tails: ``P(sup |∂f/∂x_j| > L)`` ≤ a exp(−(L/b)²) (TVGP eq. 10).
    r : float, default=1.0
        Side of the domain, 1 in the unit box.

    Examples
    --------
    >>> from sktvbo.acquisition import AcquisitionState, SmoothnessBeta
    >>> round(SmoothnessBeta()(AcquisitionState(n=5, n_told=25, n_dims=2)), 1)
    54.0
    """

    def __init__(
        self,
        theorem: str = "forgetting",
        delta: float = 0.1,
        a: float = 1.0,
        b: float = 1.0,
        r: float = 1.0,
    ) -> None:
        self.theorem = theorem
        self.delta = delta
        self.a = a
        self.b = b
        self.r = r

    def check(self) -> None:
        """Raise a ValueError for a parameter that makes no sense."""
        check_choice(self.theorem, tuple(_THEOREMS), "theorem", self)
        check_real(self.delta, "delta", self, interval="(0, 1)")
        for name in ("a", "b", "r"):
            check_real(getattr(self, name), name, self, interval="(0, inf)")

    def __call__(self, state: AcquisitionState) -> float:
        self.check()
        d, t = state.n_dims, float(state.n_told)
        ratio = _THEOREMS[self.theorem] * np.pi**2 * t**2 / self.delta
        fineness = self.r * d * self.b * t**2 * np.sqrt(np.log(d * self.a * ratio))
        return float(2.0 * np.log(ratio) + 2.0 * d * np.log(fineness))


class BOLTBeta(BaseEstimator):
    """β = 2 d log(L d t²) + 2 log(π² t² / (6 δ)) (BOLT eq. 63), t being the observations told.

    Parameters
    ----------
    lipschitz : float, default=1.0
        L, in units of y per side of the unit box.
    delta : float in (0, 1), default=0.1

    Notes
    -----
    This is what the union bound behind it needs. The paper prints 6 δ under the power d,
    which is the same for d = 1 only.

    Examples
    --------
    >>> from sktvbo.acquisition import AcquisitionState, BOLTBeta
    >>> round(BOLTBeta()(AcquisitionState(n=5, n_told=25, n_dims=1)), 2)
    31.35
    """

    def __init__(self, lipschitz: float = 1.0, delta: float = 0.1) -> None:
        self.lipschitz = lipschitz
        self.delta = delta

    def check(self) -> None:
        """Raise a ValueError for a parameter that makes no sense."""
        check_real(self.delta, "delta", self, interval="(0, 1)")
        check_real(self.lipschitz, "lipschitz", self, interval="(0, inf)")

    def __call__(self, state: AcquisitionState) -> float:
        self.check()
        d, t = state.n_dims, float(state.n_told)
        union = np.log(np.pi**2 * t**2 / (6.0 * self.delta))
        return float(2.0 * d * np.log(self.lipschitz * d * t**2) + 2.0 * union)


class InformationGainBeta(BaseEstimator):
    """β = (B + R √(2 (γ + c + log(1/δ))))², γ being the information gain of the data set.

    For functions of a bounded norm: IGP-UCB (Chowdhury & Gopalan 2017), in a window or a block SW-
    and BR-GP-UCB (Zhou & Shroff 2021), and with c = log 2 SparQ-GP-UCB (SparQ theorem 3.1, whose β
    is the root of this one).

    Parameters
    ----------
    norm_bound : float, default=1.0
        B, bound of the function's norm in the space of the surrogate's kernel, λ included, in units
        of the standardized y.
    noise_ratio : float, default=1.0
        R, bound of the noise's standard deviation in units of the surrogate's σ. The literature,
        which regularizes by 1 rather than by σ², has R in units of y.
    delta : float in (0, 1), default=0.1
    constant : float, default=1.0
        c.
    anytime : bool, default=False
        Spend δ over the steps, δ_t = δ / (2 t (1 + log t)²), as a bound that is to hold at all
        times needs for W-GP-UCB.

    Examples
    --------
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.acquisition import AcquisitionState, InformationGainBeta
    >>> gp = TimeVaryingGPRegressor(optimizer=None).fit([[0.1, 0.0], [0.9, 1.0]], [1.0, 2.0])
    >>> state = AcquisitionState(n=2, n_told=2, n_dims=1, surrogate=gp)
    >>> round(InformationGainBeta()(state), 1)
    24.7
    """

    def __init__(
        self,
        norm_bound: float = 1.0,
        noise_ratio: float = 1.0,
        delta: float = 0.1,
        constant: float = 1.0,
        anytime: bool = False,
    ) -> None:
        self.norm_bound = norm_bound
        self.noise_ratio = noise_ratio
        self.delta = delta
        self.constant = constant
        self.anytime = anytime

    def check(self) -> None:
        """Raise a ValueError for a parameter that makes no sense."""
        check_real(self.delta, "delta", self, interval="(0, 1)")
        for name in ("norm_bound", "noise_ratio", "constant"):
            check_real(getattr(self, name), name, self, interval="[0, inf)")

    def __call__(self, state: AcquisitionState) -> float:
        self.check()
        delta, t = self.delta, float(state.n_told)
        if self.anytime:
            delta = delta / (2.0 * t * (1.0 + np.log(t)) ** 2)
        inner = state.information_gain + self.constant - np.log(delta)
        return float((self.norm_bound + self.noise_ratio * np.sqrt(2.0 * inner)) ** 2)


# --- acquisition functions ------------------------------------------------------------------------


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
