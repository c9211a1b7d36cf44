"""Displays with a panel for each parameter or outcome of an optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import check_int, finite_array, invalid
from ..optimizers._durable import run_of
from ..optimizers._feasibility import Feasibility
from ..optimizers._outcomes import OBJECTIVE, measured
from ._common import (
    N_VECTORS,
    OptimizerView,
    PanelDisplay,
    coloured_range,
    display_data,
    draw_band,
    draw_best_places,
    line_style,
    merge_style,
    outline,
    set_left_label,
)
from ._parameters import Axis, axes_of, coordinates, n_chosen_axes, rows_along

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from .._typing import ContextLike, Time
    from ..optimizers import BayesianOptimizer

# Slices that differ by less than this part of the axis are drawn as one.
_ALIKE = 0.03


@dataclass(frozen=True, eq=False)
class Slice:
    """Posterior along one parameter.

    Attributes
    ----------
    axis : Axis
        ``name``, ``label``, ``values`` (m,) and more.
    mean, std : ndarray of shape (n_times, m)
    incumbent : ndarray of shape (n_times,)
        Recommended value at each time.
    observed : ndarray of shape (n,)
        Values of the observations in the data set.
    distance : ndarray of shape (n,)
        Distances of the observations from the last slice, in the unit box.
    """

    axis: Axis
    mean: np.ndarray
    std: np.ndarray
    incumbent: np.ndarray
    observed: np.ndarray
    distance: np.ndarray


class _Sections:
    """Posterior of an optimizer along each axis, through the point recommended at each time."""

    def __init__(self, view, times, n_values, context, names, units):
        check_int(n_values, "n_values", low=2)
        self.domain, self.sign = view.domain, view.sign
        self.axes = axes_of(self.domain, n_values, names, units)
        contexts = view.contexts(times, context)
        recommended = [view.recommend(t, c) for t, c in zip(times, contexts)]
        self.points = np.array([self.domain.place(*pair) for pair in zip(recommended, contexts)])
        self.posteriors = [view.surrogate.posterior_at(t) for t in times]

    def rows(self, i):
        """Return the rows (m, u) along the i-th axis at each time, in the unit box."""
        values = self.axes[i].values
        along = (rows_along(self.domain, i, values, x) for x in self.points)
        return [self.domain.to_unit(rows) for rows in along]

    def along(self, i):
        """Return mean and std (n_times, m) along the i-th axis."""
        posteriors = [posterior(U) for posterior, U in zip(self.posteriors, self.rows(i))]
        mean, std = (np.array(parts) for parts in zip(*posteriors))
        return self.sign * mean, std


@display_data
class SliceDisplay(PanelDisplay):
    """Posterior along each parameter through the recommended point, with its uncertainty.

    Made by `from_optimizer`, in the user's names, units and scales.

    Parameters
    ----------
    slices : list of Slice
        One per parameter.
    times : ndarray of shape (n_times,)
    y : ndarray of shape (n,)
        Values of the observations in the data set.
    time_unit : str, default=""
    dates : bool, default=False
        Times are dates, in this unit since 1970.
    value_label : str, default="objective"

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (n_slices,)
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> from sktvbo import optimize
    >>> from sktvbo.evaluation import StepClock
    >>> from sktvbo.plotting import SliceDisplay
    >>> optimization = optimize(
    ...     lambda p, t: -(p["rate"] * 100.0 - 1.0) ** 2 - (p["loss"] == "l1"),
    ...     {"rate": ("log-real", 1e-4, 1.0), "loss": ["l1", "l2"]},
    ...     n_calls=20, clock=StepClock(), n_initial_points=6, random_state=0,
    ... )
    >>> display = SliceDisplay.from_optimizer(optimization.optimizer)
    >>> [part.axis.name for part in display.slices]
    ['rate', 'loss']
    >>> display.plot().figure_.savefig("slices.png")  # doctest: +SKIP
    """

    slices: list
    times: np.ndarray
    y: np.ndarray
    _: KW_ONLY
    time_unit: str = ""
    dates: bool = False
    value_label: str = "objective"

    _panel_size = (3.6, 3.0)

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BayesianOptimizer,
        times: ArrayLike | None = None,
        *,
        n_values: int = 101,
        context: ContextLike = None,
        names: Sequence[str] | None = None,
        units: Mapping[str, str] | None = None,
        **labels: Any,
    ) -> Self:
        """Evaluate an optimizer's surrogate along each parameter.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            An optimizer with a surrogate, over any domain. It is not changed.
        times : float, date or array-like of shape (n_times,), default=None
            Times of the slices, each through the point recommended then; None: the present.
        n_values : int, default=101
            Number of values along a parameter; all are used of categories, ordinals and few
            integers.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Context of the slices; None: that of the latest observation until each time. Its
            variables have slices as well.
        names : list of str, default=None
            Names of the dimensions of a box; None: x[0], x[1], ...
        units : dict of str to str, default=None
            Units of the parameters by name, for the labels.
        **labels : str
            ``time_unit``, ``value_label``: see `SliceDisplay`.

        Returns
        -------
        SliceDisplay

        Raises
        ------
        AskTellError
            The optimizer has no surrogate.
        ValueError
            Invalid names, units or times; a context on a domain without one.
        """
        view = OptimizerView(optimizer)
        times = [view.now] if times is None else np.atleast_1d(times)
        if np.ndim(times) == 1:
            times = [view.number(t) for t in times]
        times = finite_array(times, "times", ("n_times",))
        sections = _Sections(view, times, n_values, context, names, units)
        domain, kept = view.domain, view.optimizer.X_[:, :-1]
        incumbents, observed = coordinates(domain, sections.points), coordinates(domain, kept)
        slices = []
        for i, axis in enumerate(sections.axes):
            on_slice = rows_along(domain, i, observed[:, i], sections.points[-1])
            distance = np.linalg.norm(domain.unit_of(kept) - domain.unit_of(on_slice), axis=1)
            columns = incumbents[:, i], observed[:, i]
            slices.append(Slice(axis, *sections.along(i), *columns, distance))
        return cls(slices, times, np.array(view.optimizer.y_), **view.labels(labels))

    def plot(
        self,
        axes: Sequence[Axes] | NDArray[Any] | None = None,
        *,
        observations: bool = True,
        **line_options: Any,
    ) -> Self:
        """Draw a panel per parameter: the mean, and a band of two standard deviations.

        Discrete values are dots with error bars. Each time has its colour, and a vertical line at
        the recommended value; times with nearly equal slices share a colour. Bands are cut where
        they are far wider than the range of means and observations. Observations fade with their
        distance from the slice in the other parameters.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            One per parameter; None: a new figure.
        observations : bool, default=True
            Draw the observations.
        **line_options
            Keywords of matplotlib's ``plot`` for the means, such as ``linewidth``.

        Returns
        -------
        self : SliceDisplay

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.
        """
        axes, alike = self._panels(axes, len(self.slices), sharey=True), self._alike()
        for ax, part in zip(axes, self.slices):
            if observations:
                _draw_observations(ax, part, self.y)
            for i, group in enumerate(alike):
                times = " and ".join(self._time_text(self.times[k]) for k in group)
                label = f"t = {times}{' (the same)' * (len(group) > 1)}"
                _draw_slice(ax, part, i, group, len(alike), label, line_options)
            part.axis.set_up(ax, "x")
            ax.set_ylim(*self._range(observations))
            set_left_label(ax, self.value_label)
        return self._finish(axes)

    def _curves(self):
        """Return means and standard deviations (n_times, m) of all slices, side by side."""
        return (
            np.hstack([getattr(part, name) for part in self.slices]) for name in ("mean", "std")
        )

    def _range(self, observations):
        """Return the ends of the axis of values: all means and observations, and bands.

        Bands are cut half a range beyond these: that of a prior would fill the picture.
        """
        mean, std = self._curves()
        shown = np.append(mean, self.y) if observations else mean
        low, high = shown.min(), shown.max()
        room = 0.5 * (high - low) or np.inf
        low = min(low, max((mean - 2.0 * std).min(), low - room))
        high = max(high, min((mean + 2.0 * std).max(), high + room))
        margin = 0.05 * (high - low) or 0.5
        return low - margin, high + margin

    def _alike(self):
        """Return groups of times, lists of indices, whose slices are nearly equal."""
        mean, std = self._curves()
        curves = np.hstack([mean, 2.0 * std])
        near, groups = _ALIKE * np.subtract(*self._range(True)[::-1]), []
        for k, curve in enumerate(curves):
            same = (g for g in groups if np.abs(curve - curves[g[0]]).max() < near)
            group = next(same, None)
            if group is None:
                groups.append([k])
            else:
                group.append(k)
        return groups


def _draw_slice(ax, part, i, group, n_groups, label, options):
    """Draw the slice of the i-th group of times, and the recommendation at each of them."""
    axis, mean, std = part.axis, part.mean[group[0]], part.std[group[0]]
    style = line_style(i) | {"label": label}
    if axis.discrete:
        # Dots of several times are side by side.
        shift = 0.12 * (i - 0.5 * (n_groups - 1)) if not axis.log else 0.0
        style |= {"linestyle": "none", "marker": "o", "capsize": 3.0}
        ax.errorbar(axis.values + shift, mean, 2.0 * std, **merge_style(style, options))
    else:
        draw_band(ax, axis.values, mean - 2.0 * std, mean + 2.0 * std, style["color"])
        ax.plot(axis.values, mean, **merge_style(style | {"linewidth": 1.8}, options))
    for value in np.unique(part.incumbent[group]):
        ax.axvline(value, color=style["color"], linewidth=1.0, linestyle=":")


def _draw_observations(ax, part, y):
    """Draw the observations, paler with their distance from the slice, in sides of the box."""
    alpha = np.clip(1.0 - part.distance / 0.5, 0.12, 1.0)
    style = {"color": "0.25", "linewidth": 0, "rasterized": len(y) > N_VECTORS}
    ax.scatter(part.observed, y, s=14, alpha=alpha, **style)
    ax.plot([], [], "o", color="0.25", markersize=4, label="observations (pale: far away)")


# --- over time ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Track:
    """Posterior along one parameter over time.

    Attributes
    ----------
    axis : Axis
        ``name``, ``label``, ``values`` (m,) and more.
    mean : ndarray of shape (m, n_times)
        Posterior mean through the point recommended at each time.
    recommended : ndarray of shape (n_times,), or None
        Recommended value at each time; None for a variable of the context.
    queried : ndarray of shape (n_told,)
        Values of all observations, including removed ones.
    feasible : ndarray of shape (m, n_times), or None
        Probability that all ``outcome_constraints`` hold, at the points of ``mean``; None without
        any.
    """

    axis: Axis
    mean: np.ndarray
    recommended: np.ndarray
    queried: np.ndarray
    feasible: np.ndarray | None = None


@display_data
class TrackDisplay(PanelDisplay):
    """Each parameter over time: posterior mean, recommended values and queries.

    Made by `from_optimizer`, in the user's names, units and scales. For one dimension,
    `PosteriorDisplay` also shows the optimum of a known problem.

    Parameters
    ----------
    tracks : list of Track
        One per parameter.
    times : ndarray of shape (n_times,)
    told_at : ndarray of shape (n_told,)
        Times of all observations.
    kept : ndarray of bool of shape (n_told,)
        Mask of the observations in the data set.
    now : float
        Present time of the optimizer.
    maximize : bool, default=True
        True if the best value is the largest.
    time_unit : str, default=""
    dates : bool, default=False
        Times are dates, in this unit since 1970.
    value_label : str, default="posterior mean"
    safety : float, default=0.5
        Probability of the limits below which a panel is hatched.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (n_tracks,)
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.
    colorbar_ : matplotlib Colorbar
        After `plot`.

    Examples
    --------
    >>> from sktvbo import WDBO, evaluation, problems
    >>> from sktvbo.plotting import TrackDisplay
    >>> problem = problems.make("ackley", horizon=30.0)
    >>> optimizer = evaluation.run(WDBO(), problem).optimizer
    >>> display = TrackDisplay.from_optimizer(optimizer, n_times=5, n_values=11)
    >>> [track.mean.shape for track in display.tracks]
    [(11, 5), (11, 5), (11, 5)]
    >>> display.plot().figure_.savefig("tracks.png")  # doctest: +SKIP
    """

    tracks: list
    times: np.ndarray
    told_at: np.ndarray
    kept: np.ndarray
    _: KW_ONLY
    now: float
    maximize: bool = True
    time_unit: str = ""
    dates: bool = False
    value_label: str = "posterior mean"
    safety: float = 0.5

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BayesianOptimizer,
        *,
        since: Time | None = None,
        until: Time | None = None,
        n_times: int = 60,
        n_values: int = 51,
        context: ContextLike = None,
        names: Sequence[str] | None = None,
        units: Mapping[str, str] | None = None,
        **labels: Any,
    ) -> Self:
        """Evaluate an optimizer's surrogate over time, along each parameter.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            An optimizer with a surrogate, over any domain. It is not changed.
        since, until : float or date, default=None
            First and last time; None: the time of the first observation, and the present.
        n_times : int, default=60
            Number of times. Each needs a recommendation: a search for the best posterior mean.
        n_values : int, default=51
            As in `SliceDisplay.from_optimizer`.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Context of the means and recommendations; None: at each time that of the latest
            observation until then.
        names : list of str, default=None
            Names of the dimensions of a box; None: x[0], x[1], ...
        units : dict of str to str, default=None
            Units of the parameters by name.
        **labels : str
            ``time_unit``, ``value_label``: see `TrackDisplay`.

        Returns
        -------
        TrackDisplay

        Raises
        ------
        AskTellError
            The optimizer has no surrogate.
        ValueError
            Invalid names, units or times; a context on a domain without one.

        Notes
        -----
        The mean at past times is the *present* posterior, without the removed observations. A
        variable of the context is measured: it has no recommended value.
        """
        view = OptimizerView(optimizer)
        times = view.times(since, until, n_times)
        sections = _Sections(view, times, n_values, context, names, units)
        recommended = coordinates(view.domain, sections.points)
        queried, chances = coordinates(view.domain, view.told[:, :-1]), None
        if view.optimizer.outcome_constraints is not None:
            feasibility = Feasibility(run_of(view.optimizer))
            chances = [feasibility.at(t) for t in times]
        tracks, n_chosen = [], n_chosen_axes(view.domain)
        for i, axis in enumerate(sections.axes):
            mean, feasible = sections.along(i)[0].T, None
            if chances is not None:
                logs = [chance.log(U) for chance, U in zip(chances, sections.rows(i))]
                feasible = np.exp(logs).T
            best = recommended[:, i] if i < n_chosen else None
            tracks.append(Track(axis, mean, best, queried[:, i], feasible))
        options = {"now": view.now, "safety": view.optimizer.safety or 0.5}
        options["maximize"] = view.optimizer.maximize
        told_at, labels = view.told[:, -1], view.labels(labels)
        return cls(tracks, times, told_at, ~view.removed, **options, **labels)

    def plot(
        self,
        axes: Sequence[Axes] | NDArray[Any] | None = None,
        *,
        cmap: str | Colormap = "viridis",
        coloured: float = 0.5,
    ) -> Self:
        """Draw a panel per parameter: the mean in colours, recommended values and observations.

        The curve is the recommended value, and a vertical line is the present. Red dots are
        observations in the data set, and crosses are removed ones. Panels are hatched where all
        limits hold with a lower probability than ``safety`` by the present models: earlier queries
        may lie there.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            One per parameter; None: a new figure.
        cmap : str or matplotlib Colormap, default="viridis"
        coloured : float, default=0.5
            Fraction of the means, the best ones, that the colour scale covers; see
            `PosteriorDisplay.plot`.

        Returns
        -------
        self : TrackDisplay

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.
        """
        axes = self._panels(axes, len(self.tracks), sharex=True)
        means = np.concatenate([track.mean.ravel() for track in self.tracks])
        low, high, extend = coloured_range(means, coloured, self.maximize)
        colours = {"cmap": cmap, "vmin": low, "vmax": high, "rasterized": True}
        times, now = self._on_axis(self.times), self._on_axis(self.now)
        step = times[1] - times[0]
        t_edges = np.append(times - 0.5 * step, times[-1] + 0.5 * step)
        for ax, track in zip(axes, self.tracks):
            track.axis.set_up(ax, "y")
            mesh = ax.pcolormesh(t_edges, track.axis.edges, track.mean, **colours)
            if track.feasible is not None:
                self._draw_infeasible(ax, track)
            observations = np.column_stack([track.queried, self.told_at])
            self._draw_observations(ax, observations[self.kept], observations[~self.kept], size=5.0)
            if track.recommended is not None:
                style = {"drawstyle": "steps-mid"} if track.axis.discrete else {}
                draw_best_places(ax, times, track.recommended, "recommended", 1.6, **style)
            ax.axvline(now, color="black", linewidth=1.4)
            limits = {"xlim": (t_edges[0], max(t_edges[-1], now))}
            limits["ylim"] = track.axis.edges[[0, -1]]
            ax.set(**limits)
            self._set_up_time(ax)
        options = {"ax": list(axes), "label": self.value_label, "extend": extend}
        self.colorbar_ = axes[0].figure.colorbar(mesh, **options)
        return self._finish(axes)

    def _draw_infeasible(self, ax, track):
        """Hatch where all limits hold with a lower probability than ``safety``."""
        times, low = self._on_axis(self.times), track.feasible < self.safety
        style = {"facecolor": "none", "edgecolor": "white", "linewidth": 0.0, "hatch": "////"}
        label = f"limits hold with less than {self.safety:g}"
        if track.axis.discrete or not low.any() or low.all():
            edges = track.axis.edges
            for bottom, top, where in zip(edges, edges[1:], low):
                ax.fill_between(times, bottom, top, where=where, step="mid", **style)
        else:
            grid = times, track.axis.values, track.feasible
            ax.contourf(*grid, [-1.0, self.safety], colors="none", hatches=["////"]).set(
                edgecolor="white", linewidth=0.0
            )
            lines = ax.contour(*grid, [self.safety], colors="white", linewidths=1.6)
            lines.set(path_effects=outline(3.0, "black"))
        style |= {"facecolor": "0.4", "label": label}
        ax.fill_between([], [], [], **style)


# --- outcomes -------------------------------------------------------------------------------------


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
    scale : {"linear", "log"}
        Scale of the axis, and of the band.
    """

    name: str
    label: str
    low: float
    high: float
    told: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    scale: str = "linear"

    def line_and_band(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return medians, and two standard deviations below and above them, each (n_times,)."""
        if self.scale == "linear":
            return self.mean, self.mean - 2.0 * self.std, self.mean + 2.0 * self.std
        variance = np.log1p((self.std / self.mean) ** 2)
        middle, half = np.log(self.mean) - 0.5 * variance, 2.0 * np.sqrt(variance)
        return np.exp(middle), np.exp(middle - half), np.exp(middle + half)


@display_data
class OutcomeDisplay(PanelDisplay):
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
    time_unit : str, default=""
    dates : bool, default=False
        Times are dates, in this unit since 1970.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (n_outcomes,)
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> import numpy as np
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
    time_unit: str = ""
    dates: bool = False

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BayesianOptimizer,
        *,
        until: Time | None = None,
        n_times: int = 60,
        context: ContextLike = None,
        units: Mapping[str, str] | None = None,
        **labels: Any,
    ) -> Self:
        """Predict an optimizer's outcomes over time, at the point recommended at each time.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            An optimizer with ``outcome_constraints`` and a surrogate. It is not changed.
        until : float or date, default=None
            Last time; None: the present. The first is that of the first observation.
        n_times : int, default=60
            Number of times. Each needs a recommendation.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Context of the predictions; None: at each time that of the latest observation until
            then.
        units : dict of str to str, default=None
            Units of the outcomes by name, for the labels.
        **labels : str
            ``time_unit``.

        Returns
        -------
        OutcomeDisplay

        Raises
        ------
        AskTellError
            The optimizer has no surrogate.
        ValueError
            The optimizer has no ``outcome_constraints``, or ``history=0``; invalid times; a context
            on a domain without one.

        Notes
        -----
        Predictions at past times are those of the *present* models, without removed observations.
        """
        view = OptimizerView(optimizer)
        optimizer, run, units = view.optimizer, run_of(view.optimizer), units or {}
        if optimizer.outcome_constraints is None:
            raise invalid("optimizer", "one with outcome_constraints", optimizer)
        times = view.times(None, until, n_times)
        outcomes = np.array([entry.outcomes for entry in run.shown], dtype=np.float64)
        values = {OBJECTIVE: optimizer.told_y_} | dict(zip(measured(run), outcomes.T))
        contexts, tracks = view.contexts(times, context), []
        points = [view.recommend(t, c) for t, c in zip(times, contexts)]
        for name, low, high, scale in run.config.limits:
            predictions = [
                optimizer.predict(x, t, return_std=True, context=c, outcome=name)
                for x, t, c in zip(points, times, contexts)
            ]
            label = f"{name} ({units[name]})" if name in units else name
            track = OutcomeTrack(
                name, label, low, high, values[name], *np.array(predictions).T, scale
            )
            tracks.append(track)
        return cls(tracks, times, view.told[:, -1], ~view.removed, **view.labels(labels))

    def plot(self, axes: Sequence[Axes] | NDArray[Any] | None = None, **line_options: Any) -> Self:
        """Draw a panel per outcome: observations, limits, and the prediction where recommended.

        The prediction is the median without noise, to which the limits apply; with
        ``outcome_scales`` "log" the mean of `predict` is above it. The band is two standard
        deviations wide on both sides, without noise. Red dots are observations in the data set, and
        crosses are removed ones.

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
        axes = self._panels(axes, len(self.tracks), sharex=True)
        style = line_style(0) | {"label": "predicted where recommended"}
        style, times = merge_style(style, line_options), self._on_axis(self.times)
        for ax, track in zip(axes, self.tracks):
            observations = np.column_stack([track.told, self.told_at])
            self._draw_observations(ax, observations[self.kept], observations[~self.kept], size=4.0)
            line, *ends = track.line_and_band()
            draw_band(ax, times, *ends, line_style(0)["color"])
            ax.plot(times, line, **style)
            limits = [limit for limit in (track.low, track.high) if np.isfinite(limit)]
            for limit, label in zip(limits, ("limit", None)):
                ax.axhline(limit, color="black", linestyle="--", label=label)
            ax.set(ylabel=track.label, yscale=track.scale)
            self._set_up_time(ax)
        return self._finish(axes)
