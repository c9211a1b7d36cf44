"""How a tuner has followed its stream."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

import numpy as np

from .._checks import invalid
from ._common import COLOURS, Display, legend_above, stored, styled

if TYPE_CHECKING:
    from typing import Any, Self

    from matplotlib.axes import Axes

    from ..model_selection import OnlineTuner


@stored
class TuningDisplay(Display):
    """What an `~sktvbo.model_selection.OnlineTuner` has tried of a hyperparameter, and chosen.

    Made by `from_estimator`.

    Parameters
    ----------
    rows : ndarray of shape (n_trials,)
        Rows of the stream scored until the end of each trial.
    values : ndarray of shape (n_trials,)
        Of the hyperparameter.
    advantage : ndarray of shape (n_trials,)
        By how much the loss was lower than the champion's in that round, 0 for the champion; NaN
        of what failed.
    champion : ndarray of bool of shape (n_trials,)
        Which of them served.
    parameter : str
        The hyperparameter's name.
    log : bool, default=False
        Whether the axis of values is logarithmic.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.
    line_ : matplotlib Line2D
        After `plot`: the champion's values.
    points_ : matplotlib PathCollection
        After `plot`: the challengers'.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import SGDRegressor
    >>> from sktvbo.model_selection import OnlineTuner
    >>> from sktvbo.plotting import TuningDisplay
    >>> tuner = OnlineTuner(SGDRegressor(), {"eta0": ("log-real", 1e-4, 0.3)}, random_state=0)
    >>> rng = np.random.RandomState(0)
    >>> for t in range(5):
    ...     X = rng.normal(size=(50, 2))
    ...     tuner = tuner.partial_fit(X, X[:, 0])
    >>> display = TuningDisplay.from_estimator(tuner)
    >>> display.parameter, display.log, int(display.champion.sum())
    ('eta0', True, 4)
    >>> display.plot().figure_.savefig("tuning.png")  # doctest: +SKIP
    """

    rows: np.ndarray
    values: np.ndarray
    advantage: np.ndarray
    champion: np.ndarray
    _: KW_ONLY
    parameter: str
    log: bool = False

    _figsize = (7.0, 4.2)

    @classmethod
    def from_estimator(cls, tuner: OnlineTuner, parameter: str | None = None) -> Self:
        """Take what there is to show from a tuner.

        Parameters
        ----------
        tuner : OnlineTuner
            Has scored at least a round.
        parameter : str, default=None
            One of those tuned; None is the first.

        Returns
        -------
        TuningDisplay

        Raises
        ------
        ValueError
            No such parameter, or no round yet.
        NotFittedError
            The tuner has learnt nothing.
        """
        trials, names = tuner.trials_, list(tuner.best_params_)
        if parameter is None:
            parameter = names[0]
        if parameter not in names:
            raise invalid("parameter", f"one of {', '.join(names)}, which are tuned", parameter)
        if not len(trials["time"]):
            advice = "Give it more batches."
            raise invalid("tuner", "one that has scored a round", got="none", advice=advice)
        champion = trials["champion"]
        loss = trials["loss"][champion]  # of each round
        advantage = loss[np.cumsum(champion) - 1] - trials["loss"]
        space = tuner.optimizer_.domain.parameters
        return cls(
            trials["n_rows"],
            trials[f"param_{parameter}"],
            advantage,
            champion,
            parameter=parameter,
            log=space[parameter][0] == "log-real",
        )

    def plot(self, ax: Axes | None = None, **line_options: Any) -> Self:
        """Draw the champion's values as a line, and the challengers' as points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure.
        **line_options
            Keywords of matplotlib's ``plot`` for the champion's line, such as ``linewidth``.

        Returns
        -------
        self : TuningDisplay

        Raises
        ------
        MissingExtraError
            Without matplotlib.
        """
        ax = self._axes(ax)
        from matplotlib.lines import Line2D

        values = self.values
        if values.dtype == object:  # categories, which stand one above the other
            values = np.array([repr(value) for value in values])
        serves = self.champion
        style = {"color": COLOURS[-1], "linewidth": 1.8, "label": "champion", "zorder": 3}
        style |= {"drawstyle": "steps-pre"}
        (self.line_,) = ax.plot(
            self.rows[serves], values[serves], **styled(style, line_options, Line2D)
        )
        # What failed is as bad as the worst; colours saturate where nine of ten points end.
        advantage = self.advantage[~serves]
        advantage = np.where(np.isnan(advantage), np.nanmin(self.advantage), advantage)
        limit = np.quantile(np.abs(advantage), 0.9) if advantage.size else 0.0
        limit = limit or 1.0
        self.points_ = ax.scatter(
            self.rows[~serves],
            values[~serves],
            c=advantage,
            cmap="RdBu",
            vmin=-limit,
            vmax=limit,
            s=16,
            linewidths=0.3,
            edgecolors="0.4",
            label="challengers",
        )
        label = "loss below the champion's"
        ax.figure.colorbar(self.points_, ax=ax, label=label, extend="both")
        if self.log:
            ax.set_yscale("log")
        ax.set(xlabel="rows of the stream", ylabel=self.parameter)
        legend_above(ax, ncols=2)
        return self._drawn(ax)
