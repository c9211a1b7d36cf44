"""State of the run for acquisition functions, and schedules of β."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._sklearn import BaseEstimator
from .._validation import check_choice, check_int, check_real
from .._values import distinct_rows

if TYPE_CHECKING:
    from .._typing import Array, Posterior

# A custom schedule of β.
Schedule: TypeAlias = Callable[["AcquisitionState"], float]


@dataclass(frozen=True)
class AcquisitionState:
    """State of the run, which an acquisition function may use with mean and standard deviation.

    Attributes
    ----------
    n : int
        Observations in the data set.
    n_told : int
        Observations told, including removed ones.
    n_dims : int
        Dimensions of the domain, without time.
    surrogate : estimator
        Fitted.
    posterior : callable, (m, u) -> mean (m,), std (m,)
        At inputs in unit form, at the time of the query.
    n_pending : int
        Pending queries, which the surrogate treats as observations.
    space : SearchSpace or None
        Inputs that may be queried, None for all.
    succeeds : callable, (m, u) -> (m,), or None
        Where a query at its time probably succeeds, within all limits; None for everywhere.
    latest : ndarray of shape (d + 1,), or None
        The query before and its time, in the user's units; None before the first.
    information_gain : float
        Information gain of the data set, ½ log det(I + Σ⁻¹ K), in nats.
    incumbent : float
        Largest posterior mean, at the time of the query, at the inputs observed or pending that
        succeed then, or for those outside of the domain at the nearest members. If none succeeds,
        the smallest. Without the pending ones all queries of a batch would improve at one input.
    scale : float
        Scale of the observations, by which improvements are divided to avoid overflow; 1 if the
        posterior has none.
    """

    n: int
    n_told: int
    n_dims: int
    surrogate: Any = field(default=None, repr=False)
    posterior: Posterior = field(default=None, repr=False)
    n_pending: int = 0
    space: Any = field(default=None, repr=False)
    succeeds: Callable[[Array], Array] | None = field(default=None, repr=False)
    latest: Array | None = field(default=None, repr=False)

    @cached_property
    def information_gain(self) -> float:
        """Information gain of the observations about f, in nats."""
        return self.surrogate.information_gain()

    @cached_property
    def incumbent(self) -> float:
        """Largest posterior mean at the inputs observed or pending that succeed."""
        places = self.surrogate.X_train_[:, :-1]
        places, _ = distinct_rows(places if self.space is None else self.space.nearest(places))
        mean = getattr(self.posterior, "mean", lambda S: self.posterior(S)[0])
        values = mean(places)
        if self.succeeds is not None:
            succeed = self.succeeds(places)
            values = values[succeed] if succeed.any() else values.min()
        return float(np.max(values))

    @property
    def scale(self) -> float:
        return getattr(self.posterior, "scale", 1.0)


@dataclass(eq=False, repr=False)
class LogBeta(BaseEstimator):
    """β = max(scale · log(rate · t), 0), t being the number of observations told (TVGP section 5).

    Parameters
    ----------
    scale, rate : float, default=0.8, 4.0
        The defaults are TVGP's. ET uses 0.4 and 4 on synthetic data; both use 0.8 and 0.4 on
        temperatures.

    Examples
    --------
    >>> from sktvbo.acquisition import AcquisitionState, LogBeta
    >>> round(LogBeta()(AcquisitionState(n=5, n_told=25, n_dims=2)), 3)
    3.684
    """

    scale: float = 0.8
    rate: float = 4.0

    def check(self) -> None:
        """Raise a ValueError if a parameter is invalid."""
        check_real(self.scale, "scale", self, interval="[0, inf)")
        check_real(self.rate, "rate", self, interval="(0, inf)")

    def __call__(self, state: AcquisitionState) -> float:
        return self.scale * max(float(np.log(self.rate * state.n_told)), 0.0)


@dataclass(eq=False, repr=False)
class DimensionBeta(BaseEstimator):
    """β = scale · min(d, max_dims) · log(2 n), with n observations in the data set.

    As in the code of W-DBO's authors, where d has no bound. In many dimensions the default β grows
    no further: most parameters have little effect, and the bound would follow σ alone.

    Parameters
    ----------
    scale : float, default=0.2
        The default is the authors'.
    max_dims : int, default=4
        Largest number of dimensions that counts; None: no bound.

    Examples
    --------
    >>> from sktvbo.acquisition import AcquisitionState, DimensionBeta
    >>> round(DimensionBeta()(AcquisitionState(n=5, n_told=25, n_dims=2)), 3)
    0.921
    """

    scale: float = 0.2
    max_dims: int | None = 4

    def check(self) -> None:
        """Raise a ValueError if a parameter is invalid."""
        check_real(self.scale, "scale", self, interval="[0, inf)")
        if self.max_dims is not None:
            check_int(self.max_dims, "max_dims", self)

    def __call__(self, state: AcquisitionState) -> float:
        d = state.n_dims if self.max_dims is None else min(state.n_dims, self.max_dims)
        return self.scale * d * float(np.log(2.0 * state.n))


# Constant c of SmoothnessBeta in each theorem.
_THEOREMS = {"reset": 2.0 / 3.0, "forgetting": 0.5, "event": 4.0 / 3.0}


@dataclass(eq=False, repr=False)
class SmoothnessBeta(BaseEstimator):
    """β of the regret bounds for smooth draws from a Gaussian process.

    β = 2 log(c π² t² / δ) + 2 d log(r d b t² √log(c d a π² t² / δ)): with probability 1 − δ the
    function is within √β σ of the posterior mean, at all times and on a grid so fine that the rest
    is within 1/t². t is the number of observations told. Conservative: in practice use
    `LogBeta`.

    Parameters
    ----------
    theorem : {"reset", "forgetting", "event"}, default="forgetting"
        Source of the constant c: "reset" 2/3 (R-GP-UCB, TVGP eq. 16), "forgetting" 1/2 (TV-GP-UCB,
        TVGP eq. 19), "event" 4/3 (ET theorem 1).
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

    theorem: str = "forgetting"
    delta: float = 0.1
    a: float = 1.0
    b: float = 1.0
    r: float = 1.0

    def check(self) -> None:
        """Raise a ValueError if a parameter is invalid."""
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


@dataclass(eq=False, repr=False)
class BOLTBeta(BaseEstimator):
    """β = 2 d log(L d t²) + 2 log(π² t² / (6 δ)) (BOLT eq. 63), t being the observations told.

    Parameters
    ----------
    lipschitz : float, default=1.0
        L, in units of y per side of the unit box.
    delta : float in (0, 1), default=0.1

    Notes
    -----
    The union bound in the proof requires this formula. The paper prints 6 δ under the power d,
    which is equal for d = 1 only.

    Examples
    --------
    >>> from sktvbo.acquisition import AcquisitionState, BOLTBeta
    >>> round(BOLTBeta()(AcquisitionState(n=5, n_told=25, n_dims=1)), 2)
    31.35
    """

    lipschitz: float = 1.0
    delta: float = 0.1

    def check(self) -> None:
        """Raise a ValueError if a parameter is invalid."""
        check_real(self.delta, "delta", self, interval="(0, 1)")
        check_real(self.lipschitz, "lipschitz", self, interval="(0, inf)")

    def __call__(self, state: AcquisitionState) -> float:
        self.check()
        d, t = state.n_dims, float(state.n_told)
        union = np.log(np.pi**2 * t**2 / (6.0 * self.delta))
        return float(2.0 * d * np.log(self.lipschitz * d * t**2) + 2.0 * union)


@dataclass(eq=False, repr=False)
class InformationGainBeta(BaseEstimator):
    """β = scale (B + R √(2 (γ + c + log(1/δ))))², γ being the information gain of the data set.

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
        Divide δ among the steps, δ_t = δ / (2 t (1 + log t)²), as W-GP-UCB needs for a bound that
        holds at all times.
    scale : float, default=1.0
        Factor of β: 1 for the regret bounds, with which queries are almost uniform for hundreds of
        steps. IGPUCB has 0.02.

    Examples
    --------
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.acquisition import AcquisitionState, InformationGainBeta
    >>> gp = TimeVaryingGPRegressor(optimizer=None).fit([[0.1, 0.0], [0.9, 1.0]], [1.0, 2.0])
    >>> state = AcquisitionState(n=2, n_told=2, n_dims=1, surrogate=gp)
    >>> round(InformationGainBeta()(state), 1)
    24.7
    """

    norm_bound: float = 1.0
    noise_ratio: float = 1.0
    delta: float = 0.1
    constant: float = 1.0
    anytime: bool = False
    scale: float = 1.0

    def check(self) -> None:
        """Raise a ValueError if a parameter is invalid."""
        check_real(self.delta, "delta", self, interval="(0, 1)")
        for name in ("norm_bound", "noise_ratio", "constant", "scale"):
            check_real(getattr(self, name), name, self, interval="[0, inf)")

    def __call__(self, state: AcquisitionState) -> float:
        self.check()
        delta, t = self.delta, float(state.n_told)
        if self.anytime:
            delta = delta / (2.0 * t * (1.0 + np.log(t)) ** 2)
        inner = state.information_gain + self.constant - np.log(delta)
        width = self.norm_bound + self.noise_ratio * np.sqrt(2.0 * inner)
        return float(self.scale * width**2)
