"""Policy that drops observations whose noise has grown too large."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from .._validation import invalid
from ._base import StaleDataPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .._typing import Indices
    from ._base import RunSoFar
    from ._surrogate import Surrogate


class NoiseThreshold(StaleDataPolicy):
    """Drop observations whose injected noise exceeds a bound g(s) (SparQ algorithm 1, line 4).

    Parameters
    ----------
    cap : "log", float or callable, default="log"
        g in units of σ², of the number s of observations so far: "log" is log s. A callable takes
        s; any g of order below s^{1/4} keeps the regret bound.

    Attributes
    ----------
    steps_ : int
        Observations so far, from `watch`; without that call the rows of the surrogate count.
    cap_ : float
        The latest g.

    Notes
    -----
    Observations at the latest time always stay. The surrogate needs a ``noise_model``.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.gaussian_process import QuadraticInjection
    >>> from sktvbo.staleness import NoiseThreshold
    >>> X = np.column_stack([np.linspace(0, 1, 20), np.arange(20.0)])
    >>> gp = TimeVaryingGPRegressor(noise_model=QuadraticInjection(), optimizer=None)
    >>> NoiseThreshold().after_add(gp.fit(X, X[:, 0]), now=19.0).size   # 1 + age² > log 20
    18
    """

    steps_: int | None = None
    cap_: float | None = None

    def __init__(self, cap: float | str | Callable[[int], float] = "log") -> None:
        self.cap = cap

    def check(self, surrogate: Surrogate | None = None) -> None:
        """Raise a ValueError for an invalid parameter; see `StaleDataPolicy.check`."""
        if not callable(self.cap):
            self._cap(1)
        if surrogate is not None and hasattr(surrogate, "noise_model"):
            _check_noise_model(surrogate.noise_model, surrogate)

    def watch(self, run: RunSoFar) -> None:
        """Count the observations so far, removed ones included."""
        self.steps_ = run.n_told

    def after_add(self, surrogate: Surrogate, now: float) -> Indices:
        """Return the rows whose noise variance at time ``now`` exceeds g σ²."""
        _check_noise_model(surrogate.noise_model_, surrogate)
        times = surrogate.X_train_[:, -1]
        self.cap_ = self._cap(len(times) if self.steps_ is None else self.steps_)
        ratio = surrogate.noise_model_.ratio(np.maximum(now - times, 0.0))
        stale = ratio > self.cap_
        stale[times == times.max()] = False
        return np.flatnonzero(stale)

    def _cap(self, steps):
        cap = np.log if isinstance(self.cap, str) and self.cap == "log" else self.cap
        cap = cap(steps) if callable(cap) else cap
        if not isinstance(cap, Real) or not cap >= 0.0:
            expected = "'log', a float in the range [0, inf], or a callable that gives one"
            raise invalid("cap", expected, cap, self)
        return float(cap)

    def record(self) -> Mapping[str, float]:
        """Return columns of the optimizer's history."""
        return {"cap": self.cap_}


def _check_noise_model(noise_model, surrogate):
    if noise_model is None:
        raise invalid(
            "noise_model",
            "a noise model, such as QuadraticInjection(), for NoiseThreshold",
            None,
            surrogate,
            advice="Without one the noise of an observation never grows.",
        )
