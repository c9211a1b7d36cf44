"""Displays over time and input: posterior mean, and relevancy of the observations."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._validation import invalid_domain
from ..domain import FiniteSet
from ..kernels import split_time
from ._common import (
    COLOURS,
    TEXT_BOX,
    Display,
    OptimizerView,
    coloured_range,
    display_data,
    draw_best_places,
    legend_above,
    merge_style,
    names_of_places,
    regressor_labels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from .._typing import Time
    from ..gaussian_process import TimeVaryingGPRegressor
    from ..optimizers import BayesianOptimizer
    from ..problems import Problem


@display_data
class PosteriorDisplay(Display):
    """Posterior mean of an optimizer over time and space, and its data set (W-DBO figure 18).

    Made by `from_run`.

    Parameters
    ----------
    times : ndarray of shape (n_times,)
    places : ndarray of shape (n_places,)
        Inputs of a one-dimensional domain, or indices of the arms of a finite set.
    mean : ndarray of shape (n_places, n_times)
        Posterior mean of the objective.
    kept : ndarray of shape (n_kept, 2)
        Input and time of the observations in the data set.
    removed : ndarray of shape (n_removed, 2)
        Input and time of the observations removed from it.
    now : float
        Present time of the optimizer.
    optimum : ndarray of shape (n_times,), default=None
        Input of the optimum at each time; None: unknown.
    arms : bool, default=False
        True if ``places`` are indices of arms.
    maximize : bool, default=True
        True if the best value is the largest.
    time_unit : str, default=""
    dates : bool, default=False
        Times are dates, in this unit since 1970.
    space_label : str, default=None
        None: "x", or "index of the arm".
    value_label : str, default="posterior mean"

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.
    colorbar_ : matplotlib Colorbar
        After `plot`.

    Examples
    --------
    >>> from sktvbo import WDBO, evaluation, problems
    >>> from sktvbo.plotting import PosteriorDisplay
    >>> problem = problems.make("six-hump-camel", horizon=60.0)
    >>> result = evaluation.run(WDBO(), problem, horizon=40.0)
    >>> display = PosteriorDisplay.from_run(result.optimizer, problem)
    >>> display.now, len(display.kept) + len(display.removed)
    (39.0, 40)
    >>> display.plot().figure_.savefig("posterior.png")  # doctest: +SKIP
    """

    times: np.ndarray
    places: np.ndarray
    mean: np.ndarray
    _: KW_ONLY
    kept: np.ndarray
    removed: np.ndarray
    now: float
    optimum: np.ndarray | None = None
    arms: bool = False
    maximize: bool = True
    time_unit: str = ""
    dates: bool = False
    space_label: str | None = None
    value_label: str = "posterior mean"

    _panel_size = (7.6, 4.8)

    @classmethod
    def from_run(
        cls,
        optimizer: BayesianOptimizer,
        problem: Problem | None = None,
        *,
        until: Time | None = None,
        n_times: int = 200,
        n_places: int = 101,
        **labels: Any,
    ) -> Self:
        """Evaluate an optimizer's surrogate over time and space.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            An optimizer with a surrogate, over a box of one dimension or a `FiniteSet`. It is not
            changed.
        problem : Problem, default=None
            Problem with the moving optimum and the horizon; None: the optimum is unknown.
        until : float or date, default=None
            Last time; None: the horizon of the problem, or the present without a problem.
        n_times : int, default=200
            Number of times.
        n_places : int, default=101
            Number of inputs in a box; all members of a finite set are shown.
        **labels : str
            ``time_unit``, ``space_label``, ``value_label``: see `PosteriorDisplay`.

        Returns
        -------
        PosteriorDisplay

        Raises
        ------
        AskTellError
            The optimizer has no surrogate.
        DomainError
            The domain is a box of several dimensions.

        Notes
        -----
        The mean at past times is the *present* posterior, without the removed observations.
        """
        view = OptimizerView(optimizer)
        domain, arms = view.domain, isinstance(view.domain, FiniteSet)
        if not _has_one_axis(domain):
            advice = "Use a SliceDisplay or a TrackDisplay, for any domain."
            expected = "of one real dimension, or a FiniteSet"
            raise invalid_domain("The optimizer's domain", expected, domain, advice=advice)
        observations, now = view.told, view.now
        points = np.column_stack([_along_axis(domain, observations[:, :-1]), observations[:, -1]])
        start = float(observations[:, -1].min()) if problem is None else 0.0
        if until is None:
            until = now if problem is None else problem.horizon
        times = np.linspace(start, view.number(until), n_times)
        U = np.linspace(0.0, 1.0, n_places)[:, np.newaxis]
        if arms:
            U = domain.to_unit(domain.points)
        places = np.arange(len(U)) if arms else domain.from_unit(U)[:, 0]
        mean = np.column_stack([view.surrogate.posterior_at(t)(U)[0] for t in times])
        optimum = None
        if problem is not None:
            optimum = _along_axis(domain, np.array([problem.optimum(t)[0] for t in times]))
        return cls(
            times,
            places,
            view.sign * mean,
            kept=points[~view.removed],
            removed=points[view.removed],
            now=now,
            optimum=optimum,
            arms=arms,
            maximize=view.optimizer.maximize,
            **view.labels(labels),
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        cmap: str | Colormap = "viridis",
        n_levels: int = 15,
        coloured: float = 0.5,
    ) -> Self:
        """Draw the posterior mean with a colour bar, the observations and the moving optimum.

        Kept observations are red dots and removed ones black crosses. The optimum is a cyan curve,
        and the present a vertical black line labelled t0.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure.
        cmap : str or matplotlib Colormap, default="viridis"
        n_levels : int, default=15
            Approximate number of contour levels. The arms of a finite set have no order, so they
            are drawn as rows.
        coloured : float, default=0.5
            Fraction of times and inputs, the best ones, that the colour scale covers. All worse
            values have the same colour: regions far from the optimum would take most of the scale.

        Returns
        -------
        self : PosteriorDisplay

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.
        """
        (ax,) = self._panels(ax)
        low, high, extend = coloured_range(self.mean, coloured, self.maximize)
        grid = self._on_axis(self.times), self.places, self.mean
        if self.arms:
            mappable = ax.pcolormesh(*grid, cmap=cmap, vmin=low, vmax=high, rasterized=True)
        else:
            levels = _round_levels(low, high, n_levels)
            mappable = ax.contourf(*grid, levels=levels, cmap=cmap, extend=extend)
        options = {"ax": ax, "label": self.value_label, "pad": 0.02, "extend": extend}
        self.colorbar_ = ax.figure.colorbar(mappable, **options)
        optimum = []
        if self.optimum is not None:
            label = r"optimum $\mathrm{argmax}_x\, f(x, t)$"
            times, inputs = self._optimum_curve()
            optimum = draw_best_places(ax, self._on_axis(times), inputs, label, linewidth=2.0)
        observations = self._draw_observations(ax, self.kept, self.removed, size=5.5)
        now = self._draw_present(ax)
        low, high = self.places[0], self.places[-1]
        margin = 0.5 if self.arms else 0.02 * (high - low)
        limits = {"xlim": self._on_axis(self.times)[[0, -1]], "ylim": (low - margin, high + margin)}
        ax.set(ylabel=_input_label(self.space_label, self.arms), **limits)
        self._set_up_time(ax)
        handles = [*observations, *optimum, now]
        legend_above(ax, handles=handles, ncols=4, columnspacing=1.2, handletextpad=0.5)
        return self._finish(ax)

    def _draw_present(self, ax):
        """Draw the present and return its line."""
        late = self.now > 0.5 * (self.times[0] + self.times[-1])
        x, side = (-5, "right") if late else (5, "left")
        at = {"xycoords": ("data", "axes fraction"), "xytext": (x, -5), "ha": side, "va": "top"}
        at["textcoords"] = "offset points"
        now = self._on_axis(self.now)
        ax.annotate("$t_0$", (now, 1.0), bbox=TEXT_BOX, **at)
        return ax.axvline(now, color="black", linewidth=1.6, label="now, $t_0$")

    def _optimum_curve(self):
        """Return times and inputs of the optimum, with NaN at its jumps to break the line."""
        if self.arms:
            # The optimum at an arm is a horizontal line, as wide as the cells of its times.
            step = 0.5 * (self.times[1] - self.times[0])
            gap = np.full(len(self.times), np.nan)
            t = np.column_stack([self.times - step, self.times + step, gap])
            x = np.column_stack([self.optimum, self.optimum, gap])
            return t.ravel(), x.ravel()
        # A move by more than a twentieth of the domain between two times is a jump.
        far = np.abs(np.diff(self.optimum)) > 0.05 * (self.places[-1] - self.places[0])
        jumps = np.flatnonzero(far) + 1
        return np.insert(self.times, jumps, np.nan), np.insert(self.optimum, jumps, np.nan)


def _round_levels(low, high, n):
    """Return about n round numbers that cover a range, also an empty one."""
    from matplotlib.ticker import MaxNLocator

    if not high > low:
        low, high = low - 0.5, high + 0.5
    return MaxNLocator(n, min_n_ticks=2).tick_values(low, high)


@display_data
class RelevancyDisplay(Display):
    """Time, input and relevancy of the observations.

    On a domain with one axis the display shows input against time, otherwise relevancy against
    time. Made by `from_estimator` or `from_optimizer`.

    Parameters
    ----------
    times : ndarray of shape (n,)
        Times of the observations in the data set.
    relevancy : ndarray of shape (n,)
        Relevancy of each observation to predictions from ``now`` on (W-DBO eq. 12).
    now : float
        Present time.
    places : ndarray of shape (n,), default=None
        Inputs of the observations, or indices of arms; None: several axes.
    removed_times : ndarray of shape (n_removed,), default=()
        Times of the observations removed from the data set.
    removed_places : ndarray of shape (n_removed,), default=None
        Inputs of the removed observations; None if ``places`` is None.
    time_unit : str, default=""
    dates : bool, default=False
        Times are dates, in this unit since 1970.
    space_label : str, default="x"

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.
    colorbar_ : matplotlib Colorbar or None
        After `plot`; None if relevancy is an axis.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.plotting import RelevancyDisplay
    >>> X = np.column_stack([np.linspace(0, 1, 8) ** 2, np.arange(8)])
    >>> gp = TimeVaryingGPRegressor(optimizer=None).fit(X, np.sin(X[:, 0]))
    >>> display = RelevancyDisplay.from_estimator(gp, now=8.0)
    >>> int(np.argmax(display.relevancy))
    7
    >>> display.plot().figure_.savefig("relevancy.png")  # doctest: +SKIP
    """

    times: np.ndarray
    relevancy: np.ndarray
    _: KW_ONLY
    now: float
    places: np.ndarray | None = None
    removed_times: np.ndarray = ()
    removed_places: np.ndarray | None = None
    time_unit: str = ""
    dates: bool = False
    space_label: str = "x"

    _panel_size = (7.6, 4.4)

    @classmethod
    def from_estimator(
        cls, gp: TimeVaryingGPRegressor, *, now: Time | None = None, **labels: Any
    ) -> Self:
        """Compute the relevancies of the training rows of a regressor.

        Parameters
        ----------
        gp : TimeVaryingGPRegressor
            A fitted regressor.
        now : float or date, default=None
            Present time, not before any row; None: the latest time of a row.
        **labels : str
            ``time_unit``, ``space_label``: see `RelevancyDisplay`. After a fit with dates, or with
            names of columns, these are the defaults.

        Returns
        -------
        RelevancyDisplay

        Raises
        ------
        UnsupportedKernelError
            The kernel has no convolution.
        ValueError
            ``now`` is before a training row.
        """
        relevancy = gp.relevancy(now)
        S, t = split_time(gp.X_train_, gp.time_column_)
        now = float(t.max() if now is None else gp._number_of(now, "now"))
        labels, places = regressor_labels(gp, labels), None
        if S.shape[1] == 1:
            places, labels = S[:, 0], {"space_label": names_of_places(gp)[0]} | labels
        return cls(t[:, 0], relevancy, now=now, places=places, **labels)

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BayesianOptimizer,
        *,
        now: Time | None = None,
        space_label: str | None = None,
        **labels: Any,
    ) -> Self:
        """Compute the relevancies of the data set of an optimizer.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            An optimizer with a surrogate. It is not changed.
        now : float or date, default=None
            Present time; None: the latest time told or asked for.
        space_label : str, default=None
            None: "x", or "index of the arm".
        **labels : str
            ``time_unit``.

        Returns
        -------
        RelevancyDisplay

        Raises
        ------
        AskTellError
            The optimizer has no surrogate.
        UnsupportedKernelError
            The kernel of the surrogate has no convolution, for example because it does not depend
            on time.
        ValueError
            ``now`` is before an observation.
        """
        view = OptimizerView(optimizer)
        observations, gone, places, removed_places = view.told, view.removed, None, None
        now = view.now if now is None else view.number(now)
        if _has_one_axis(view.domain):
            places = _along_axis(view.domain, observations[:, :-1])
            places, removed_places = places[~gone], places[gone]
        return cls(
            observations[~gone, -1],
            view.surrogate.relevancy(now),
            now=now,
            places=places,
            removed_times=observations[gone, -1],
            removed_places=removed_places,
            space_label=_input_label(space_label, isinstance(view.domain, FiniteSet)),
            **view.labels(labels),
        )

    def plot(
        self, ax: Axes | None = None, *, cmap: str | Colormap = "viridis_r", **dot_options: Any
    ) -> Self:
        """Draw a dot per observation, darker for a higher relevancy, and crosses for removed ones.

        Removed observations have no relevancy. On an axis of relevancy they are at its lower end.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure.
        cmap : str or matplotlib Colormap, default="viridis_r"
        **dot_options
            Keywords of matplotlib's ``scatter`` for the dots, such as ``s``.

        Returns
        -------
        self : RelevancyDisplay

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.
        """
        (ax,) = self._panels(ax)
        from matplotlib.collections import PathCollection
        from matplotlib.colors import PowerNorm

        order = np.argsort(self.relevancy)  # the most relevant ones are drawn last
        heights = self.relevancy if self.places is None else self.places
        # Few observations have a high relevancy: a square root leaves shades for the others.
        norm = PowerNorm(0.5, vmin=0.0)
        style = {"s": 45.0, "cmap": cmap, "norm": norm, "edgecolor": "0.35", "linewidth": 0.6}
        style |= {"zorder": 3, "label": f"kept ({len(self.times)})"}
        style = merge_style(style, dot_options, PathCollection)
        dots = ax.scatter(
            self._on_axis(self.times)[order], heights[order], c=self.relevancy[order], **style
        )
        if n_removed := len(self.removed_times):
            places, transform = self.removed_places, ax.transData
            if places is None:
                places, transform = np.full(n_removed, 0.02), ax.get_xaxis_transform()
            style = {"color": COLOURS[1], "markersize": 6, "label": f"removed ({n_removed})"}
            ax.plot(self._on_axis(self.removed_times), places, "x", transform=transform, **style)
        label = f"now, {self._time_text(self.now) if self.dates else format(self.now, 'g')}"
        ax.axvline(self._on_axis(self.now), color="black", linewidth=1.4, label=label)
        ylabel = "relevancy" if self.places is None else self.space_label
        ax.set(ylabel=ylabel)
        self._set_up_time(ax)
        self.colorbar_ = None
        if self.places is not None:
            self.colorbar_ = ax.figure.colorbar(dots, ax=ax, label="relevancy", pad=0.02)
        legend_above(ax, ncols=3)
        return self._finish(ax)


# --- inputs along one axis ------------------------------------------------------------------------


def _has_one_axis(domain):
    """Return True if all inputs of a domain can be drawn along one axis."""
    return isinstance(domain, FiniteSet) or domain.continuous.tolist() == [True]


def _along_axis(domain, X):
    """Return the coordinates (n,) of points (n, d) along the axis of a domain."""
    return domain.indices(X) if isinstance(domain, FiniteSet) else X[:, 0]


def _input_label(label, arms):
    """Return the user's label of the axis of inputs, or the default one for None."""
    return ("index of the arm" if arms else "x") if label is None else label
