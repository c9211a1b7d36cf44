"""Relevancy of the observations of a data set to future predictions."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

import numpy as np

from ..domain import FiniteSet, as_domain
from ..kernels import split_time
from ..optimizers._base import snapshot
from ._common import (
    COLOURS,
    Display,
    along_axis,
    display_data,
    fitted_surrogate,
    has_one_axis,
    legend_above,
    merge_style,
    place_label,
    present,
    was_removed,
)

if TYPE_CHECKING:
    from typing import Any, Self

    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from ..gaussian_process import TimeVaryingGPRegressor
    from ..optimizers import BayesianOptimizer


@display_data
class RelevancyDisplay(Display):
    """Time, place and relevancy of the observations.

    On a domain with one axis the display shows place against time, otherwise relevancy against
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
        Places of the observations, or indices of arms; None: several axes.
    removed_times : ndarray of shape (n_removed,), default=()
        Times of the observations removed from the data set.
    removed_places : ndarray of shape (n_removed,), default=None
        Places of the removed observations; None if ``places`` is None.
    time_unit : str, default="s"
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
    time_unit: str = "s"
    space_label: str = "x"

    _figsize = (7.6, 4.4)

    @classmethod
    def from_estimator(
        cls,
        gp: TimeVaryingGPRegressor,
        *,
        now: float | None = None,
        time_unit: str = "s",
        space_label: str = "x",
    ) -> Self:
        """Compute the relevancies of the training rows of a regressor.

        Parameters
        ----------
        gp : TimeVaryingGPRegressor
            A fitted regressor.
        now : float, default=None
            Present time, not before any row; None: the latest time of a row.
        time_unit, space_label : str
            Parts of the labels of the axes.

        Returns
        -------
        RelevancyDisplay

        Raises
        ------
        UnsupportedKernelError
            The kernel has no closed-form convolution.
        ValueError
            ``now`` is before a training row.
        """
        relevancy = gp.relevancy(now)
        column = gp.time_column
        if isinstance(column, str):
            column = gp.feature_names_in_.tolist().index(column)
        S, t = split_time(gp.X_train_, column)
        return cls(
            t[:, 0],
            relevancy,
            now=float(t.max() if now is None else now),
            places=S[:, 0] if S.shape[1] == 1 else None,
            time_unit=time_unit,
            space_label=space_label,
        )

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BayesianOptimizer,
        *,
        now: float | None = None,
        time_unit: str = "s",
        space_label: str | None = None,
    ) -> Self:
        """Compute the relevancies of the data set of an optimizer.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            An optimizer with a surrogate. It is not changed.
        now : float, default=None
            Present time; None: the latest time told or asked for.
        time_unit : str, default="s"
        space_label : str, default=None
            None: "x", or "index of the arm".

        Returns
        -------
        RelevancyDisplay

        Raises
        ------
        AskTellError
            The optimizer has no surrogate.
        UnsupportedKernelError
            The kernel of the surrogate has no closed-form convolution, for example because it does
            not depend on time.
        ValueError
            ``now`` is before an observation.
        """
        optimizer = snapshot(optimizer)
        domain, surrogate = as_domain(optimizer.domain), fitted_surrogate(optimizer)
        told, gone = optimizer.told_X_, was_removed(optimizer)
        if now is None:
            now = present(optimizer)
        places = along_axis(domain, told[:, :-1]) if has_one_axis(domain) else None
        return cls(
            told[~gone, -1],
            surrogate.relevancy(now),
            now=float(now),
            places=None if places is None else places[~gone],
            removed_times=told[gone, -1],
            removed_places=None if places is None else places[gone],
            time_unit=time_unit,
            space_label=place_label(space_label, isinstance(domain, FiniteSet)),
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
        ax = self._axes(ax)
        from matplotlib.collections import PathCollection
        from matplotlib.colors import PowerNorm

        order = np.argsort(self.relevancy)  # the most relevant ones are drawn last
        heights = self.relevancy if self.places is None else self.places
        style = {
            "s": 45.0,
            "cmap": cmap,
            # Few observations have a high relevancy: a square root leaves shades for the others.
            "norm": PowerNorm(0.5, vmin=0.0),
            "edgecolor": "0.35",
            "linewidth": 0.6,
            "zorder": 3,
            "label": f"kept ({len(self.times)})",
        }
        style = merge_style(style, dot_options, PathCollection)
        dots = ax.scatter(self.times[order], heights[order], c=self.relevancy[order], **style)
        if len(self.removed_times):
            low = self.removed_places is None
            ax.plot(
                self.removed_times,
                np.full(len(self.removed_times), 0.02) if low else self.removed_places,
                "x",
                transform=ax.get_xaxis_transform() if low else ax.transData,
                color=COLOURS[1],
                markersize=6,
                label=f"removed ({len(self.removed_times)})",
            )
        ax.axvline(self.now, color="black", linewidth=1.4, label=f"now, {self.now:g}")
        ax.set(
            xlabel=f"time ({self.time_unit})",
            ylabel="relevancy" if self.places is None else self.space_label,
        )
        self.colorbar_ = None
        if self.places is not None:
            self.colorbar_ = ax.figure.colorbar(dots, ax=ax, label="relevancy", pad=0.02)
        legend_above(ax, ncols=3)
        return self._finish(ax)
