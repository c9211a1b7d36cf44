"""What an optimizer believes over time and space."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

import numpy as np

from .._validation import check_real
from ..domain import FiniteSet, as_domain
from ._common import (
    TEXT_BOX,
    Display,
    along_axis,
    axis_limits,
    check_one_axis,
    fitted_surrogate,
    legend_above,
    place_label,
    present,
    stored,
    unit_places,
    was_removed,
)

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from ..optimizers import BayesianOptimizer
    from ..problems import Problem

# A move of the optimum by more than this part of the domain, from one time to the next, is a jump.
_JUMP = 0.05


@stored
class PosteriorDisplay(Display):
    """What an optimizer believes, over time and space, and what it has kept (W-DBO figure 18).

    Made by `from_run`.

    Parameters
    ----------
    times : ndarray of shape (n_times,)
    places : ndarray of shape (n_places,)
        Places of a one-dimensional domain, or the indices of the arms of a finite set.
    mean : ndarray of shape (n_places, n_times)
        Posterior mean of the objective.
    kept : ndarray of shape (n_kept, 2)
        Place and time of the observations in the data set.
    removed : ndarray of shape (n_removed, 2)
        Place and time of those removed from it.
    now : float
        Present time of the optimizer.
    optimum : ndarray of shape (n_times,), default=None
        Where the objective is best at each time; None: not known.
    arms : bool, default=False
        Whether ``places`` are indices of arms.
    maximize : bool, default=True
        Whether the best is the largest.
    time_unit : str, default="s"
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
    time_unit: str = "s"
    space_label: str | None = None
    value_label: str = "posterior mean"

    _figsize = (7.6, 4.8)

    @classmethod
    def from_run(
        cls,
        optimizer: BayesianOptimizer,
        problem: Problem | None = None,
        *,
        until: float | None = None,
        n_times: int = 200,
        n_places: int = 101,
        time_unit: str = "s",
        space_label: str | None = None,
        value_label: str = "posterior mean",
    ) -> Self:
        """Evaluate an optimizer's surrogate over time and space.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            In any state of a run in which it has a surrogate; over a box of one dimension, or a
            `FiniteSet`. It is left as it is.
        problem : Problem, default=None
            Gives the moving optimum and the horizon; None: the optimum is not known.
        until : float, default=None
            Last time to show; None: the problem's horizon, or else the present.
        n_times : int, default=200
        n_places : int, default=101
            Places along a box; a finite set is shown whole.
        time_unit, space_label, value_label : str
            For the labels, see `PosteriorDisplay`.

        Returns
        -------
        PosteriorDisplay

        Raises
        ------
        AskTellError
            The optimizer has no surrogate, or not yet.
        DomainError
            The domain is a box of several dimensions.

        Notes
        -----
        The mean at past times is what the optimizer believes *now* of the past, with what it has
        removed taken out.
        """
        domain = as_domain(optimizer.domain)
        arms = isinstance(domain, FiniteSet)
        advice = "Show a slice with surrogate_.posterior_at(t)."
        check_one_axis(domain, "The optimizer's domain", advice)
        surrogate = fitted_surrogate(optimizer)
        told, gone, now = optimizer.told_X_, was_removed(optimizer), present(optimizer)
        points = np.column_stack([along_axis(domain, told[:, :-1]), told[:, -1]])

        start = float(told[:, -1].min()) if problem is None else 0.0
        if until is None:
            until = now if problem is None else problem.horizon
        times = np.linspace(start, until, n_times)
        U = unit_places(domain, n_places)
        mean = np.column_stack([surrogate.posterior_at(t)(U)[0] for t in times])
        optimum = None
        if problem is not None:
            optimum = along_axis(domain, np.array([problem.optimum(t)[0] for t in times]))
        return cls(
            times,
            np.arange(len(U)) if arms else domain.from_unit(U)[:, 0],
            # The surrogate of an optimizer that minimizes was given -y.
            mean if optimizer.maximize else -mean,
            kept=points[~gone],
            removed=points[gone],
            now=now,
            optimum=optimum,
            arms=arms,
            maximize=optimizer.maximize,
            time_unit=time_unit,
            space_label=space_label,
            value_label=value_label,
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

        Kept observations are red dots, removed ones black crosses, the optimum is a cyan curve, the
        present a vertical black line labelled t0.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure.
        cmap : str or matplotlib Colormap, default="viridis"
        n_levels : int, default=15
            Contour levels, about. The arms of a finite set have no order, so they are drawn as rows
            and not as contours.
        coloured : float, default=0.5
            Which part of times and places, the best, the colours are spent on; all worse ones have
            one colour. What the first queries found far from any optimum would take most of them.

        Returns
        -------
        self : PosteriorDisplay

        Raises
        ------
        MissingExtraError
            Without matplotlib.
        """
        ax = self._axes(ax)
        low, high, extend = self._coloured_range(coloured)
        if self.arms:
            mappable = ax.pcolormesh(
                self.times, self.places, self.mean, cmap=cmap, vmin=low, vmax=high, rasterized=True
            )
        else:
            levels = _round_levels(low, high, n_levels)
            mappable = ax.contourf(
                self.times, self.places, self.mean, levels=levels, cmap=cmap, extend=extend
            )
        self.colorbar_ = ax.figure.colorbar(
            mappable, ax=ax, label=self.value_label, pad=0.02, extend=extend
        )
        optimum = self._draw_optimum(ax)
        observations = self._draw_observations(ax)
        now = self._draw_present(ax)
        ax.set(
            xlabel=f"time ({self.time_unit})",
            ylabel=place_label(self.space_label, self.arms),
            xlim=(self.times[0], self.times[-1]),
            ylim=axis_limits(self.places, self.arms),
        )
        handles = [*observations, *optimum, now]
        legend_above(ax, handles=handles, ncols=4, columnspacing=1.2, handletextpad=0.5)
        return self._drawn(ax)

    def _coloured_range(self, part):
        """Lowest and highest value with a colour of its own, and at which end there are others."""
        check_real(part, "coloured", interval="(0, 1]")
        if part == 1.0:
            return self.mean.min(), self.mean.max(), "neither"
        if self.maximize:
            return np.quantile(self.mean, 1.0 - part), self.mean.max(), "min"
        return self.mean.min(), np.quantile(self.mean, part), "max"

    def _draw_optimum(self, ax):
        """Draw the moving optimum, and return its line, or none."""
        if self.optimum is None:
            return []
        return ax.plot(
            *self._optimum_curve(),
            color="cyan",
            linewidth=2.0,
            label=r"optimum $\mathrm{argmax}_x\, f(x, t)$",
            path_effects=_outline(3.4, "black"),
        )

    def _draw_observations(self, ax):
        """Draw kept and removed observations, and return their lines."""
        removed = ax.plot(
            self.removed[:, 1],
            self.removed[:, 0],
            "x",
            color="black",
            markersize=5.0,
            markeredgewidth=1.3,
            label=f"removed ({len(self.removed)})",
            path_effects=_outline(2.6, "white"),
        )
        kept = ax.plot(
            self.kept[:, 1],
            self.kept[:, 0],
            "o",
            color="red",
            markersize=5.5,
            markeredgecolor="white",
            markeredgewidth=0.7,
            label=f"kept ({len(self.kept)})",
        )
        return [*kept, *removed]

    def _draw_present(self, ax):
        """Draw the present, and return its line."""
        late = self.now > 0.5 * (self.times[0] + self.times[-1])
        ax.annotate(
            "$t_0$",
            (self.now, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-5 if late else 5, -5),
            textcoords="offset points",
            ha="right" if late else "left",
            va="top",
            bbox=TEXT_BOX,
        )
        return ax.axvline(self.now, color="black", linewidth=1.6, label="now, $t_0$")

    def _optimum_curve(self):
        """Times and places of the optimum, with NaN where it jumps, so that no line joins them."""
        if self.arms:
            # Each stay at an arm is one level line, as wide as the cells of its times.
            step = 0.5 * (self.times[1] - self.times[0])
            gap = np.full(len(self.times), np.nan)
            t = np.column_stack([self.times - step, self.times + step, gap])
            x = np.column_stack([self.optimum, self.optimum, gap])
            return t.ravel(), x.ravel()
        jumps = np.flatnonzero(
            np.abs(np.diff(self.optimum)) > _JUMP * (self.places[-1] - self.places[0])
        )
        return np.insert(self.times, jumps + 1, np.nan), np.insert(self.optimum, jumps + 1, np.nan)


def _round_levels(low, high, n):
    """About n round numbers that cover a range, even one that has no width."""
    from matplotlib.ticker import MaxNLocator

    if not high > low:
        low, high = low - 0.5, high + 0.5
    return MaxNLocator(n, min_n_ticks=2).tick_values(low, high)


def _outline(width, colour):
    """Path effects that keep a line legible on any colour: dark around light, light around dark."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground=colour)]
