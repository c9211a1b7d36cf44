"""Posterior of an optimizer along each parameter, in any number of dimensions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .._validation import check_int, finite_array, invalid
from ..domain import as_domain
from ..optimizers._base import run_of, snapshot
from ..optimizers._feasibility import Feasibility
from ._common import (
    display_data,
    draw_band,
    draw_best_places,
    draw_observations,
    fitted_surrogate,
    in_numbers,
    line_style,
    outline,
    present,
    pyplot,
    was_removed,
)
from ._parameters import Axis, axes_of, coordinates, rows_along

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Self

    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from numpy.typing import ArrayLike, NDArray

    from .._typing import ContextLike
    from ..optimizers import BayesianOptimizer

# Largest number of panels side by side.
_N_COLUMNS = 3

# An observation fades over this distance from the slice in the unit box, down to this opacity.
_FADING_DISTANCE, _FAINTEST = 0.5, 0.12


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


class _PanelDisplay:
    """Base class of the displays with a panel for each parameter or outcome."""

    _panel_size = (3.6, 3.0)

    def _grid(self, axes, n, **options):
        """Return n axes: the given ones, or new ones for None."""
        plt = pyplot(f"{type(self).__name__}.plot")
        if axes is not None:
            axes = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
            if len(axes) != n:
                raise invalid("axes", f"{n} of them, one per panel", got=str(len(axes)))
            return axes
        n_columns = min(n, _N_COLUMNS)
        n_rows = -(-n // n_columns)
        size = self._panel_size[0] * n_columns + 0.6, self._panel_size[1] * n_rows + 0.5
        _, grid = plt.subplots(
            n_rows, n_columns, figsize=size, layout="constrained", squeeze=False, **options
        )
        for spare in grid.ravel()[n:]:
            spare.set_visible(False)
        return grid.ravel()[:n]

    def _finish(self, axes):
        """Draw the legend, store the axes and return the display, at the end of ``plot``."""
        self.axes_, self.figure_ = axes, axes[0].figure
        handles, labels = axes[0].get_legend_handles_labels()
        options = {
            "loc": "outside upper center",
            "ncols": min(len(labels), 4, 2 + len(axes)),
            "frameon": False,
        }
        self.figure_.legend(handles, labels, **options)
        return self


def _recommended(optimizer, domain, times, context):
    """Return the rows (n_times, d) that an optimizer recommends at given times, in a context."""
    optimizer = in_numbers(optimizer)
    points = (optimizer.recommend(t, context=context) for t in times)
    return np.array([domain.place(x, context) for x in points])


def _posterior_along(posteriors, domain, points, i, axis):
    """Return mean and std (n_times, m) along the i-th axis, through a point at each time."""
    found = [
        posterior(domain.to_unit(rows_along(domain, i, axis.values, x)))
        for posterior, x in zip(posteriors, points)
    ]
    mean, std = (np.array(parts) for parts in zip(*found))
    return mean, std


@display_data
class SliceDisplay(_PanelDisplay):
    """Posterior along each parameter through the recommended point, with its uncertainty.

    Made by `from_optimizer`, in the user's names, units and scales.

    Parameters
    ----------
    slices : list of Slice
        One per parameter.
    times : ndarray of shape (n_times,)
    y : ndarray of shape (n,)
        Values of the observations in the data set.
    time_unit : str, default="s"
    value_label : str, default="f"

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
    >>> found = optimize(
    ...     lambda p, t: -(p["rate"] * 100.0 - 1.0) ** 2 - (p["loss"] == "l1"),
    ...     {"rate": ("log-real", 1e-4, 1.0), "loss": ["l1", "l2"]},
    ...     n_calls=20, clock=StepClock(), n_initial_points=6, random_state=0,
    ... )
    >>> display = SliceDisplay.from_optimizer(found.optimizer)
    >>> [part.axis.name for part in display.slices]
    ['rate', 'loss']
    >>> display.plot().figure_.savefig("slices.png")  # doctest: +SKIP
    """

    slices: list
    times: np.ndarray
    y: np.ndarray
    _: KW_ONLY
    time_unit: str = "s"
    value_label: str = "f"

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
        time_unit: str = "s",
        value_label: str = "f",
    ) -> Self:
        """Evaluate an optimizer's surrogate along each parameter.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            An optimizer with a surrogate, over any domain. It is not changed.
        times : float or array-like of shape (n_times,), default=None
            Times of the slices, each through the point recommended then; None: the present.
        n_values : int, default=101
            Number of values along a parameter; of categories, ordinals and few integers all.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Context of the slices, on a domain with a context; its variables have slices as well.
        names : list of str, default=None
            Names of the dimensions of a box; None: x[0], x[1], ...
        units : dict of str to str, default=None
            Units of the parameters by name, for the labels.
        time_unit, value_label : str

        Returns
        -------
        SliceDisplay

        Raises
        ------
        AskTellError
            The optimizer has no surrogate.
        ValueError
            Invalid names, units or times; a missing context, or one without a domain for it.
        """
        optimizer = snapshot(optimizer)
        domain, surrogate = as_domain(optimizer.domain), fitted_surrogate(optimizer)
        check_int(n_values, "n_values", low=2)
        axes = axes_of(domain, n_values, names, units)
        times = np.atleast_1d(present(optimizer) if times is None else times)
        times = finite_array(times, "times", ("n_times",))
        points = _recommended(optimizer, domain, times, context)
        posteriors = [surrogate.posterior_at(t) for t in times]
        kept = optimizer.X_[:, :-1]
        places, observed = coordinates(domain, points), coordinates(domain, kept)
        sign = 1.0 if optimizer.maximize else -1.0
        slices = []
        for i, axis in enumerate(axes):
            mean, std = _posterior_along(posteriors, domain, points, i, axis)
            on_slice = rows_along(domain, i, observed[:, i], points[-1])
            distance = np.linalg.norm(domain.unit_of(kept) - domain.unit_of(on_slice), axis=1)
            slices.append(Slice(axis, sign * mean, std, places[:, i], observed[:, i], distance))
        return cls(
            slices, times, np.array(optimizer.y_), time_unit=time_unit, value_label=value_label
        )

    def plot(
        self,
        axes: Sequence[Axes] | NDArray[Any] | None = None,
        *,
        observations: bool = True,
        **line_options: Any,
    ) -> Self:
        """Draw a panel per parameter: the mean, and a band of two standard deviations.

        Discrete values are dots with error bars. Each time has its colour, and a vertical line at
        the recommended value. Observations fade with their distance from the slice in the other
        parameters.

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
        axes = self._grid(axes, len(self.slices), sharey=True)
        for ax, part in zip(axes, self.slices):
            if observations:
                _draw_observations(ax, part, self.y)
            for k, t in enumerate(self.times):
                label = f"t = {t:.4g} {self.time_unit}"
                _draw_slice(ax, part, k, len(self.times), label, line_options)
            part.axis.set_up(ax, "x")
            if ax.get_subplotspec() is None or ax.get_subplotspec().is_first_col():
                ax.set_ylabel(self.value_label)
        return self._finish(axes)


def _draw_slice(ax, part, k, n_times, label, options):
    """Draw the slice of the k-th time."""
    axis, mean, std = part.axis, part.mean[k], part.std[k]
    style = line_style(k) | {"label": label}
    if axis.discrete:
        # Dots of several times are side by side.
        shift = 0.12 * (k - 0.5 * (n_times - 1)) if not axis.log else 0.0
        style |= {"linestyle": "none", "marker": "o", "capsize": 3.0}
        ax.errorbar(axis.values + shift, mean, 2.0 * std, **style | options)
    else:
        draw_band(ax, axis.values, mean - 2.0 * std, mean + 2.0 * std, style["color"])
        ax.plot(axis.values, mean, **style | {"linewidth": 1.8} | options)
    ax.axvline(part.incumbent[k], color=style["color"], linewidth=1.0, linestyle=":")


def _draw_observations(ax, part, y):
    """Draw the observations, paler with their distance from the slice."""
    alpha = np.clip(1.0 - part.distance / _FADING_DISTANCE, _FAINTEST, 1.0)
    ax.scatter(part.observed, y, s=14, color="0.25", alpha=alpha, linewidth=0)
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
    recommended : ndarray of shape (n_times,)
        Recommended value at each time.
    queried : ndarray of shape (n_told,)
        Values of all observations, including removed ones.
    feasible : ndarray of shape (m, n_times), or None
        Probability that all ``outcome_constraints`` hold, where ``mean`` is; None without any.
    """

    axis: Axis
    mean: np.ndarray
    recommended: np.ndarray
    queried: np.ndarray
    feasible: np.ndarray | None = None


@display_data
class TrackDisplay(_PanelDisplay):
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
    time_unit : str, default="s"
    value_label : str, default="posterior mean"
    safety : float, default=0.5
        Probability at the outline of the feasible region.

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
    time_unit: str = "s"
    value_label: str = "posterior mean"
    safety: float = 0.5

    _panel_size = (4.2, 2.9)

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BayesianOptimizer,
        *,
        since: float | None = None,
        until: float | None = None,
        n_times: int = 60,
        n_values: int = 51,
        context: ContextLike = None,
        names: Sequence[str] | None = None,
        units: Mapping[str, str] | None = None,
        time_unit: str = "s",
        value_label: str = "posterior mean",
    ) -> Self:
        """Evaluate an optimizer's surrogate over time, along each parameter.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            An optimizer with a surrogate, over any domain. It is not changed.
        since, until : float, default=None
            First and last time; None: the time of the first observation, and the present.
        n_times : int, default=60
            Number of times. Each needs a recommendation: a search for the best posterior mean.
        n_values : int, default=51
            As in `SliceDisplay.from_optimizer`.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Context of the means and recommendations, on a domain with a context.
        names : list of str, default=None
            Names of the dimensions of a box; None: x[0], x[1], ...
        units : dict of str to str, default=None
            Units of the parameters by name.
        time_unit : str, default="s"
        value_label : str, default="posterior mean"

        Returns
        -------
        TrackDisplay

        Raises
        ------
        AskTellError
            The optimizer has no surrogate.
        ValueError
            Invalid names, units or times; a missing context, or one without a domain for it.

        Notes
        -----
        The mean at past times is the *present* posterior, without the removed observations.
        """
        optimizer = snapshot(optimizer)
        domain, surrogate = as_domain(optimizer.domain), fitted_surrogate(optimizer)
        check_int(n_values, "n_values", low=2)
        check_int(n_times, "n_times", low=2)
        axes, told = axes_of(domain, n_values, names, units), optimizer.told_X_
        until = present(optimizer) if until is None else until
        since = float(told[:, -1].min()) if since is None else since
        if not since < until:
            raise invalid("until", f"later than since={since}", until)
        times = np.linspace(since, until, n_times)
        points = _recommended(optimizer, domain, times, context)
        sign = 1.0 if optimizer.maximize else -1.0
        posteriors = [surrogate.posterior_at(t) for t in times]
        recommended = coordinates(domain, points)
        queried = coordinates(domain, told[:, :-1])
        tracks, chances = [], None
        if optimizer.outcome_constraints is not None:
            feasibility = Feasibility(run_of(optimizer))
            chances = [feasibility.at(t) for t in times]
        for i, axis in enumerate(axes):
            mean, _ = _posterior_along(posteriors, domain, points, i, axis)
            track = Track(axis, sign * mean.T, recommended[:, i], queried[:, i])
            if chances is not None:
                rows = [rows_along(domain, i, axis.values, x) for x in points]
                logs = [chance.log(domain.to_unit(part)) for chance, part in zip(chances, rows)]
                track = replace(track, feasible=np.exp(logs).T)
            tracks.append(track)
        return cls(
            tracks,
            times,
            told[:, -1],
            ~was_removed(optimizer),
            now=present(optimizer),
            time_unit=time_unit,
            value_label=value_label,
            safety=optimizer.safety or 0.5,
        )

    def plot(
        self, axes: Sequence[Axes] | NDArray[Any] | None = None, *, cmap: str | Colormap = "viridis"
    ) -> Self:
        """Draw a panel per parameter: the mean in colours, recommended values and observations.

        The curve is the recommended value, and a vertical line is the present. Red dots are
        observations in the data set, and crosses are removed ones. A white line surrounds the
        places where all limits hold with probability ``safety``.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            One per parameter; None: a new figure.
        cmap : str or matplotlib Colormap, default="viridis"

        Returns
        -------
        self : TrackDisplay

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.
        """
        axes = self._grid(axes, len(self.tracks), sharex=True)
        limits = {
            "vmin": min(track.mean.min() for track in self.tracks),
            "vmax": max(track.mean.max() for track in self.tracks),
        }
        step = self.times[1] - self.times[0]
        t_edges = np.append(self.times - 0.5 * step, self.times[-1] + 0.5 * step)
        for ax, track in zip(axes, self.tracks):
            track.axis.set_up(ax, "y")
            mesh = ax.pcolormesh(
                t_edges, track.axis.edges, track.mean, cmap=cmap, rasterized=True, **limits
            )
            if track.feasible is not None:
                self._draw_feasible(ax, track)
            observations = np.column_stack([track.queried, self.told_at])
            draw_observations(ax, observations[self.kept], observations[~self.kept], size=5.0)
            style = {"drawstyle": "steps-mid"} if track.axis.discrete else {}
            draw_best_places(ax, self.times, track.recommended, "recommended", 1.6, **style)
            ax.axvline(self.now, color="black", linewidth=1.4)
            ax.set(xlim=(t_edges[0], max(t_edges[-1], self.now)), xlabel=f"time ({self.time_unit})")
            ax.set_ylim(track.axis.edges[[0, -1]])
        self.colorbar_ = axes[0].figure.colorbar(mesh, ax=list(axes), label=self.value_label)
        return self._finish(axes)

    def _draw_feasible(self, ax, track):
        """Draw the outline of the region where all limits hold with probability ``safety``."""
        style = {"colors": "white", "linewidths": 1.6, "linestyles": "--"}
        if track.feasible.min() < self.safety < track.feasible.max():
            lines = ax.contour(
                self.times, track.axis.values, track.feasible, [self.safety], **style
            )
            lines.set(path_effects=outline(3.0, "black"))
        label = f"limits hold ({self.safety:g})"
        ax.plot([], [], "--", color="white", path_effects=outline(3.0, "black"), label=label)
