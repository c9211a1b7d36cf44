"""Display of the gain of a run: observations beside predictions at a fixed setting."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..optimizers._durable import run_of
from ._common import (
    N_VECTORS,
    Display,
    OptimizerView,
    display_data,
    draw_band,
    legend_above,
    line_style,
    merge_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .._typing import ContextLike, PointLike
    from ..optimizers import BayesianOptimizer

# Observations in a block, further ones on each side that its predictions use, and the number of
# observations above which there are several blocks.
_BLOCK, _MARGIN, _MANY = 500, 150, 1000

# Number of observations at whose times the best point is searched, and the limits are predicted.
_N_RECOMMENDED = 100


@display_data
class BaselineDisplay(Display):
    """Objective over time beside its prediction at a fixed setting: the gain of a run.

    Made by `from_optimizer`.

    Parameters
    ----------
    times : ndarray of shape (n,)
        Times of the observations, in ascending order.
    y : ndarray of shape (n,)
        Their values, or predictions of them in one ``context``.
    baseline, baseline_std : ndarray of shape (n,)
        Prediction at the fixed setting, in the context of each observation.
    recommended : ndarray of shape (n,)
        Prediction at the best point at each time, in hindsight from all observations. With more
        than 100 observations, NaN at all but 100.
    gain_std : float
        Standard deviation of the gain.
    feasible : ndarray of shape (n,), or None
        Probability that the fixed setting is within all limits, where ``recommended`` is known;
        None without limits.
    maximize : bool, default=True
    predicted : bool, default=False
        True if ``y`` are predictions.
    time_unit : str, default=""
    dates : bool, default=False
        Times are dates, in this unit since 1970.
    value_label : str, default="objective"

    Attributes
    ----------
    gain : float
        Sum over the observations of y minus the baseline, or of the baseline minus y without
        ``maximize``.
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> from sktvbo import WDBO
    >>> from sktvbo.plotting import BaselineDisplay
    >>> opt = WDBO([(0.0, 1.0)], random_state=0)
    >>> for t in range(20):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -((x[0] - 0.02 * t - 0.3) ** 2))
    >>> display = BaselineDisplay.from_optimizer(opt, [0.3])
    >>> bool(display.gain > 0.0)
    True
    >>> display.plot().figure_.savefig("gain.png")  # doctest: +SKIP
    """

    times: np.ndarray
    y: np.ndarray
    baseline: np.ndarray
    baseline_std: np.ndarray
    recommended: np.ndarray
    _: KW_ONLY
    gain_std: float
    feasible: np.ndarray | None = None
    maximize: bool = True
    predicted: bool = False
    time_unit: str = ""
    dates: bool = False
    value_label: str = "objective"

    _panel_size = (7.2, 3.6)

    @property
    def gain(self) -> float:
        return float(np.sum(self.y - self.baseline) * (1.0 if self.maximize else -1.0))

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BayesianOptimizer,
        baseline: PointLike,
        *,
        context: ContextLike = None,
        **labels: Any,
    ) -> Self:
        """Predict a fixed setting at the times of an optimizer's observations.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            An optimizer with a surrogate of `sktvbo.gaussian_process`. It is not changed.
        baseline : array-like of shape (d,), or a dict for named parameters
            The fixed setting, for instance the one before the run.
        context : array-like of shape (c,), or a dict for named variables, default=None
            None: each observation is compared with the baseline in its own context. Otherwise all
            are compared in this context, with predictions at the queries instead of y.
        **labels : str
            ``time_unit``, ``value_label``: see `BaselineDisplay`.

        Returns
        -------
        BaselineDisplay

        Raises
        ------
        AskTellError
            The optimizer has no surrogate.
        ValueError
            ``history=0``; a baseline outside of the domain; a context on a domain without one.

        Notes
        -----
        Predictions use the present hyperparameters and all observations shown, also removed ones.
        Far from all of them the baseline has a large standard deviation. The gain does not count
        violations: with limits, the legend has the share of times at which the baseline is within
        them.

        More than 1000 observations are predicted in blocks of 500, each from its own observations
        and the 150 before and after. ``gain_std``, a sum over the blocks, is then an upper bound.
        """
        view = OptimizerView(optimizer)
        domain, order = run_of(view.optimizer).domain, np.argsort(view.told_at, kind="stable")
        rows, y, k = view.told[order], view.optimizer.told_y_[order], domain.n_chosen
        fixed, best = rows.copy(), np.full(rows.shape, np.nan)
        fixed[:, :k] = domain.place(baseline)[:k]
        if context is not None:
            rows[:, k:-1] = fixed[:, k:-1] = domain.contexts(context, 1)
        feasible = None if view.optimizer.outcome_constraints is None else np.full(len(y), np.nan)
        for i in np.unique(np.linspace(0, len(y) - 1, _N_RECOMMENDED).astype(int)):
            t, here = rows[i, -1], domain.decode_context(rows[i, :-1])
            best[i] = rows[i]
            best[i, :k] = domain.place(view.recommend(t, here))[:k]
            if feasible is not None:
                feasible[i] = view.optimizer.probability_feasible(baseline, t, context=here)
        found = [
            _predictions(domain, surrogate, *(some[block] for some in (fixed, rows, best)))
            for block, surrogate in _in_hindsight(view, domain, order)
        ]
        mean, std, at_set, at_best = view.sign * np.hstack([moments for moments, _ in found])
        deviations = [joint[0 if context is None else 1] for _, joint in found]
        return cls(
            rows[:, -1],
            y if context is None else at_set,
            mean,
            np.abs(std),
            at_best,
            gain_std=float(np.sum(deviations)),
            feasible=feasible,
            maximize=view.optimizer.maximize,
            predicted=context is not None,
            **view.labels(labels),
        )

    def plot(self, ax: Axes | None = None, **line_options: Any) -> Self:
        """Draw observations, both predictions, and in the title the gain over the baseline.

        The band, and the error of the gain, are two standard deviations.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure.
        **line_options
            Keywords of matplotlib's ``plot`` for the predictions, such as ``linewidth``.

        Returns
        -------
        self : BaselineDisplay

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.
        """
        (ax,) = self._panels(ax)
        times, ends = self._on_axis(self.times), 2.0 * self.baseline_std
        are_many = len(times) > N_VECTORS
        dots = {"color": "0.35", "markersize": 1.5 if are_many else 3.5, "rasterized": are_many}
        label = "predicted at the queries" if self.predicted else "measured"
        ax.plot(times, self.y, "o", **dots, label=label)
        fixed, known = "at the baseline", np.isfinite(self.recommended)
        if self.feasible is not None:
            fixed += f" (within limits: {np.mean(self.feasible[known] >= 0.5):.0%})"
        lines = (times[known], self.recommended[known]), (times, self.baseline)
        for i, (label, line) in enumerate(zip(("best in hindsight", fixed), lines)):
            ax.plot(*line, **merge_style(line_style(i) | {"label": label}, line_options))
        draw_band(ax, times, self.baseline - ends, self.baseline + ends, line_style(1)["color"])
        n, what = len(self.y), "above" if self.maximize else "below"
        each, error = self.gain / n, 2.0 * self.gain_std / n
        title = (
            f"{each:.3g} ± {error:.1g} {what} the baseline per observation, {self.gain:.3g} in all"
        )
        wide = self.feasible is not None or self.predicted
        ax.set_title(title, fontsize="medium", pad=44.0 if wide else 26.0)
        ax.set_ylabel(self.value_label)
        self._set_up_time(ax)
        legend_above(ax, ncols=2 if wide else 3)
        return self._finish(ax)


def _in_hindsight(view, domain, order):
    """Yield blocks of the told observations in ``order``, and surrogates with all of them.

    The order is that of time. A surrogate is conditioned on the observations of its block, and on
    some before and after it.
    """
    told, removed, y = view.told[order], view.removed[order], view.optimizer.told_y_[order]
    size = _BLOCK if len(order) > _MANY else len(order)
    for first in range(0, len(order), size):
        block = slice(first, first + size)
        near = np.arange(max(first - _MARGIN, 0), min(first + size + _MARGIN, len(order)))
        surrogate = _without_others(view.surrogate, told[near[[0, -1]], -1])
        missing = near[removed[near]]
        if len(missing):
            seen = _in_unit_box(domain, told[missing])
            surrogate = surrogate.condition_on(seen, view.sign * y[missing])
        yield block, surrogate


def _without_others(surrogate, span):
    """Return a surrogate without its observations outside of a span of times; one always stays."""
    times = surrogate.X_train_[:, -1]
    beyond = np.maximum(np.maximum(span[0] - times, times - span[1]), 0.0)
    others = np.flatnonzero(beyond > 0.0)
    if len(others) == len(times):
        others = np.delete(others, np.argmin(beyond))
    return surrogate.without(others) if len(others) else surrogate


def _in_unit_box(domain, rows):
    """Return rows (n, d + 1) in the unit form of a surrogate."""
    return np.column_stack([domain.unit_of(rows[:, :-1]), rows[:, -1]])


def _predictions(domain, surrogate, fixed, rows, best):
    """Return predictions at a baseline, at the queries and at the best inputs.

    Parameters
    ----------
    domain : Domain
    surrogate : estimator
    fixed, rows, best : ndarray of shape (n, d + 1)
        Unknown rows of ``best`` are NaN.

    Returns
    -------
    moments : ndarray of shape (4, n)
        Mean and standard deviation at the baseline, and means of the others.
    deviations : tuple of float
        Deviations of the sum over the baseline, and of the sum of its differences from the queries.
    """
    n, known = len(fixed), np.isfinite(best).all(axis=1)
    inputs = _in_unit_box(domain, np.vstack([fixed, rows]))
    mean, covariance = surrogate.predict(inputs, return_cov=True)
    at_best = np.full(n, np.nan)
    if known.any():
        at_best[known] = surrogate.predict(_in_unit_box(domain, best[known]))
    std = np.sqrt(np.maximum(np.diag(covariance)[:n], 0.0))
    signs = np.repeat([1.0, -1.0], n)
    sums = covariance[:n, :n].sum(), signs @ covariance @ signs
    deviations = tuple(float(np.sqrt(max(value, 0.0))) for value in sums)
    return np.array([mean[:n], std, mean[n:], at_best]), deviations
