"""What the observations of a data set matter to the future."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

import numpy as np

from ..domain import FiniteSet, as_domain
from ..kernels import split_time
from ._common import (
    COLOURS,
    Display,
    along_axis,
    fitted_surrogate,
    has_one_axis,
    legend_above,
    place_label,
    present,
    stored,
    styled,
    was_removed,
)

if TYPE_CHECKING:
    from typing import Any, Self

    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from ..gaussian_process import TimeVaryingGPRegressor
    from ..optimizers import BayesianOptimizer


@stored
class RelevancyDisplay(Display):
    """When and where the observations were made, and how much they matter from now on.

    Where all places lie along one axis, place is drawn against time, otherwise relevancy against
    time. Made by `from_estimator` or `from_optimizer`.

    Parameters
    ----------
    times : ndarray of shape (n,)
        Of the observations in the data set.
    relevancy : ndarray of shape (n,)
        Relevancy of each to predictions from ``now`` on (W-DBO eq. 12).
    now : float
    places : ndarray of shape (n,), default=None
        Place of each, or the index of its arm; None: not along one axis.
    removed_times : ndarray of shape (n_removed,), default=()
        Of the observations that were removed from the data set.
    removed_places : ndarray of shape (n_removed,), default=None
        None where ``places`` is None.
    time_unit : str, default="s"
    space_label : str, default="x"

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.
    colorbar_ : matplotlib Colorbar or None
        After `plot`; None where relevancy is an axis.

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
        """Relevancies of the training rows of a regressor.

        Parameters
        ----------
        gp : TimeVaryingGPRegressor
            Fitted.
        now : float, default=None
            Present time, not before any row; None: the latest one's.
        time_unit, space_label : str
            For the labels of the axes.

        Returns
        -------
        RelevancyDisplay

        Raises
        ------
        UnsupportedKernelError
            A kernel without a closed-form convolution.
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
        """Relevancies of the data set of an optimizer, and what it has removed.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            It is left as it is.
        now : float, default=None
            Present time; None: the latest one told or asked for.
        time_unit : str, default="s"
        space_label : str, default=None
            None: "x", or "index of the arm".

        Returns
        -------
        RelevancyDisplay

        Raises
        ------
        AskTellError
            The optimizer has no surrogate, or not yet.
        UnsupportedKernelError
            Its surrogate has a kernel without a closed-form convolution, as one that does not know
            time.
        ValueError
            ``now`` is before an observation.
        """
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
        """Draw a dot per observation, the darker the more it matters, and crosses for removed ones.

        Where relevancy is the vertical axis, the removed ones, which have none, stand at its foot.

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
            Without matplotlib.
        """
        ax = self._axes(ax)
        from matplotlib.collections import PathCollection
        from matplotlib.colors import PowerNorm

        order = np.argsort(self.relevancy)  # what matters most is not hidden
        heights = self.relevancy if self.places is None else self.places
        style = {
            "s": 45.0,
            "cmap": cmap,
            # A few often matter most: a square root leaves shades for the others.
            "norm": PowerNorm(0.5, vmin=0.0),
            "edgecolor": "0.35",
            "linewidth": 0.6,
            "zorder": 3,
            "label": f"kept ({len(self.times)})",
        }
        style = styled(style, dot_options, PathCollection)
        dots = ax.scatter(self.times[order], heights[order], c=self.relevancy[order], **style)
        if len(self.removed_times):
            foot = self.removed_places is None
            ax.plot(
                self.removed_times,
                np.full(len(self.removed_times), 0.02) if foot else self.removed_places,
                "x",
                transform=ax.get_xaxis_transform() if foot else ax.transData,
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
        return self._drawn(ax)
