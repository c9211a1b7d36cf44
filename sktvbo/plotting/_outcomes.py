"""Outcomes of an optimizer over time, with their limits."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._validation import check_int, invalid
from ..optimizers._base import run_of, snapshot
from ..optimizers._outcomes import OBJECTIVE, measured
from ._common import (
    display_data,
    draw_band,
    draw_observations,
    fitted_surrogate,
    in_numbers,
    line_style,
    present,
    was_removed,
)
from ._slices import _PanelDisplay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Self

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from .._typing import ContextLike
    from ..optimizers import BayesianOptimizer


@dataclass(frozen=True, eq=False)
class OutcomeTrack:
    """Outcome over time.

    Attributes
    ----------
    name : str
    label : str
        Name and unit.
    low, high : float
        Limits; infinite where there is none.
    told : ndarray of shape (n_told,)
        Values of all observations, including removed ones.
    mean, std : ndarray of shape (n_times,)
        Prediction at the point recommended at each time.
    """

    name: str
    label: str
    low: float
    high: float
    told: np.ndarray
    mean: np.ndarray
    std: np.ndarray


@display_data
class OutcomeDisplay(_PanelDisplay):
    """Each outcome with limits over time: observations, and predictions where recommended.

    Made by `from_optimizer`.

    Parameters
    ----------
    tracks : list of OutcomeTrack
        One per outcome.
    times : ndarray of shape (n_times,)
    told_at : ndarray of shape (n_told,)
        Times of all observations.
    kept : ndarray of bool of shape (n_told,)
        Mask of the observations in the data set.
    time_unit : str, default="s"

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (n_outcomes,)
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> from sktvbo import WDBO
    >>> from sktvbo.plotting import OutcomeDisplay
    >>> opt = WDBO([(0.0, 1.0)], outcome_constraints={"load": (None, 0.8)}, random_state=0)
    >>> for t in range(15):
    ...     x = opt.ask(t)
    ...     opt.tell(x, x[0], outcomes={"load": x[0] + 0.1 * np.sin(t / 5.0)})
    >>> display = OutcomeDisplay.from_optimizer(opt, n_times=10)
    >>> [(track.name, track.high, track.mean.shape) for track in display.tracks]
    [('load', 0.8, (10,))]
    >>> display.plot().figure_.savefig("outcomes.png")  # doctest: +SKIP
    """

    tracks: list
    times: np.ndarray
    told_at: np.ndarray
    kept: np.ndarray
    _: KW_ONLY
    time_unit: str = "s"

    _panel_size = (4.2, 2.9)

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BayesianOptimizer,
        *,
        until: float | None = None,
        n_times: int = 60,
        context: ContextLike = None,
        units: Mapping[str, str] | None = None,
        time_unit: str = "s",
    ) -> Self:
        """Predict an optimizer's outcomes over time, at the point recommended at each time.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            An optimizer with ``outcome_constraints`` and a surrogate. It is not changed.
        until : float, default=None
            Last time; None: the present. The first is that of the first observation.
        n_times : int, default=60
            Number of times. Each needs a recommendation.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Context of the predictions, on a domain with a context.
        units : dict of str to str, default=None
            Units of the outcomes by name, for the labels.
        time_unit : str, default="s"

        Returns
        -------
        OutcomeDisplay

        Raises
        ------
        AskTellError
            The optimizer has no surrogate.
        ValueError
            The optimizer has no ``outcome_constraints``, or ``history=0``; invalid times; a missing
            context.

        Notes
        -----
        Predictions at past times are those of the *present* models, without removed observations.
        """
        optimizer = snapshot(optimizer)
        fitted_surrogate(optimizer)
        check_int(n_times, "n_times", low=2)
        if optimizer.outcome_constraints is None:
            raise invalid("optimizer", "one with outcome_constraints", optimizer)
        run, now, units = run_of(optimizer), present(optimizer), {} if units is None else units
        optimizer = in_numbers(optimizer)
        told_at = optimizer.told_X_[:, -1]
        outcomes = np.array([entry.outcomes for entry in run.shown], dtype=np.float64)
        values = {OBJECTIVE: optimizer.told_y_} | dict(zip(measured(run), outcomes.T))
        times = np.linspace(told_at.min(), now if until is None else until, n_times)
        points, tracks = [optimizer.recommend(t, context=context) for t in times], []
        for name, low, high in run.config.limits:
            found = [
                optimizer.predict(x, t, return_std=True, context=context, outcome=name)
                for x, t in zip(points, times)
            ]
            label = f"{name} ({units[name]})" if name in units else name
            tracks.append(OutcomeTrack(name, label, low, high, values[name], *np.array(found).T))
        return cls(tracks, times, told_at, ~was_removed(optimizer), time_unit=time_unit)

    def plot(self, axes: Sequence[Axes] | NDArray[Any] | None = None, **line_options: Any) -> Self:
        """Draw a panel per outcome: observations, limits, and the prediction where recommended.

        The band is two standard deviations wide on both sides, without noise. Red dots are
        observations in the data set, and crosses are removed ones.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            One per outcome; None: a new figure.
        **line_options
            Keywords of matplotlib's ``plot`` for the predictions, such as ``linewidth``.

        Returns
        -------
        self : OutcomeDisplay

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.
        """
        axes = self._grid(axes, len(self.tracks), sharex=True)
        for ax, track in zip(axes, self.tracks):
            told = np.column_stack([track.told, self.told_at])
            draw_observations(ax, told[self.kept], told[~self.kept], size=4.0)
            style = line_style(0) | {"label": "predicted where recommended"} | line_options
            low, high = track.mean - 2.0 * track.std, track.mean + 2.0 * track.std
            draw_band(ax, self.times, low, high, line_style(0)["color"])
            ax.plot(self.times, track.mean, **style)
            for limit in {track.low, track.high} - {-np.inf, np.inf}:
                ax.axhline(limit, color="black", linestyle="--", label="limit")
            ax.set(xlabel=f"time ({self.time_unit})", ylabel=track.label)
        return self._finish(axes)
