"""Regret over time."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

import numpy as np

from ._common import runs_on, stored
from ._curves import Curves

if TYPE_CHECKING:
    from typing import Any, Self

    from matplotlib.axes import Axes

    from ..evaluation import Comparison


@stored
class RegretDisplay(Curves):
    """Running average regret of several algorithms on one problem, over time.

    Made by `from_comparison`.

    Parameters
    ----------
    times : ndarray of shape (n_times,)
    mean : dict of str to ndarray of shape (n_times,)
        By algorithm: the running average regret, averaged over the replications.
    standard_error : dict of str to ndarray of shape (n_times,)
        Of ``mean``; NaN for a single replication.
    problem : str
        The problem's name.
    n_replications : int
    time_unit : str, default="s"
    regret_unit : str, default=None
        None: the objective's.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.
    lines_ : dict of str to matplotlib Line2D
        After `plot`: the curve of each algorithm.

    Examples
    --------
    >>> from sktvbo import RandomSearch, evaluation, problems
    >>> from sktvbo.plotting import RegretDisplay
    >>> problem = problems.make("six-hump-camel", horizon=50.0)
    >>> comparison = evaluation.compare({"random": RandomSearch()}, [problem], n_replications=3)
    >>> display = RegretDisplay.from_comparison(comparison)
    >>> display.mean["random"].shape
    (200,)
    >>> display.plot().figure_.savefig("regret.png")  # doctest: +SKIP
    """

    times: np.ndarray
    mean: dict
    standard_error: dict
    _: KW_ONLY
    problem: str
    n_replications: int
    time_unit: str = "s"
    regret_unit: str | None = None

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        problem: str | None = None,
        *,
        n_times: int = 200,
        time_unit: str = "s",
        regret_unit: str | None = None,
    ) -> Self:
        """Average the runs of a comparison.

        Parameters
        ----------
        comparison : sktvbo.evaluation.Comparison
        problem : str, default=None
            Name of the problem; None when the comparison has only one.
        n_times : int, default=200
            Times at which the runs are compared, from the moment when every run has made its first
            query after the initial ones to the horizon.
        time_unit : str, default="s"
            For the label of the axis, such as "steps" for a `StepClock`.
        regret_unit : str, default=None
            For the label of the axis; None: the objective's.

        Returns
        -------
        RegretDisplay

        Raises
        ------
        ValueError
            The comparison has no such problem, or several and none was named, or no finished run.
        InvalidObservationError
            A run has no query after the initial ones.

        Notes
        -----
        The running average at a time is the mean regret over the queries made until then, the
        initial ones left out; at the horizon it is the run's ``average_regret``.
        """
        problem, runs = runs_on(comparison, problem)
        curves = {name: [_running_average(r) for r in results] for name, results in runs.items()}
        first = max(t[0] for results in curves.values() for t, _ in results)
        horizon = max(r.horizon for results in runs.values() for r in results)
        times = np.linspace(first, horizon, n_times)
        mean, error = {}, {}
        for name, results in curves.items():
            # Between two queries the average stays what it was after the first of them.
            values = np.array([a[np.searchsorted(t, times, side="right") - 1] for t, a in results])
            n = len(values)
            mean[name] = values.mean(axis=0)
            error[name] = (
                values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(n_times, np.nan)
            )
        return cls(
            times,
            mean,
            error,
            problem=problem,
            n_replications=max(len(results) for results in runs.values()),
            time_unit=time_unit,
            regret_unit=regret_unit,
        )

    def plot(self, ax: Axes | None = None, **line_options: Any) -> Self:
        """Draw a curve per algorithm, and a band of plus and minus one standard error.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure.
        **line_options
            Keywords of matplotlib's ``plot`` for all curves, such as ``linewidth``.

        Returns
        -------
        self : RegretDisplay

        Raises
        ------
        MissingExtraError
            Without matplotlib.
        """
        ax = self._axes(ax)
        bands = {
            name: (self.mean[name] - error, self.mean[name] + error)
            for name, error in self.standard_error.items()
            if np.isfinite(error).all()
        }
        runs = f"mean ± s.e. of {self.n_replications} runs" if self.n_replications > 1 else "1 run"
        self._draw(
            ax,
            self.mean,
            bands,
            widths=[1.8] * len(self.mean),
            options=line_options,
            title=f"{self.problem} ({runs})",
            ylabel=f"average regret ({self.regret_unit or 'units of f'})",
        )
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]) if _negative(self.mean) else 0.0)
        return self._drawn(ax)


def _running_average(result):
    """Times (n,) and running average regret (n,) of the queries after the initial ones."""
    _ = result.average_regret  # raises when there are none
    regrets = result.regrets[result.n_initial :]
    return result.times[result.n_initial :], np.cumsum(regrets) / np.arange(1, len(regrets) + 1)


def _negative(curves):
    """Whether a regret is negative, as it may be where the optimum is only approximated."""
    return any(np.min(curve) < 0.0 for curve in curves.values())
