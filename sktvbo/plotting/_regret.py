"""Regret over time."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

import numpy as np

from ._common import CurveDisplay, display_data, finished_runs

if TYPE_CHECKING:
    from typing import Any, Self

    from matplotlib.axes import Axes

    from ..evaluation import Comparison


@display_data
class RegretDisplay(CurveDisplay):
    """Running average regret of several algorithms on one problem, over time.

    Made by `from_comparison`.

    Parameters
    ----------
    times : ndarray of shape (n_times,)
    mean : dict of str to ndarray of shape (n_times,)
        Running average regret, averaged over the replications, by algorithm.
    standard_error : dict of str to ndarray of shape (n_times,)
        Standard error of ``mean``; NaN for a single replication.
    problem : str
        Name of the problem.
    n_replications : int
    time_unit : str, default="s"
    regret_unit : str, default=None
        Unit of the regret in the label; None: "units of f".

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.
    lines_ : dict of str to matplotlib Line2D
        Curve of each algorithm, after `plot`.

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
            Name of the problem; None if the comparison has only one.
        n_times : int, default=200
            Number of times at which the runs are compared, from the latest first query after the
            initial ones to the horizon.
        time_unit : str, default="s"
            Unit in the label of the axis, such as "steps" for a `StepClock`.
        regret_unit : str, default=None
            Unit of the regret in the label; None: "units of f".

        Returns
        -------
        RegretDisplay

        Raises
        ------
        ValueError
            Unknown or missing name of the problem, or no finished run on it.
        InvalidObservationError
            A run has no query after the initial ones.

        Notes
        -----
        The running average at a time is the mean regret over the queries until then, without the
        initial ones. At the horizon it equals the ``average_regret`` of the run.
        """
        problem, runs = finished_runs(comparison, problem)
        curves = {name: [_running_average(r) for r in results] for name, results in runs.items()}
        first = max(t[0] for results in curves.values() for t, _ in results)
        horizon = max(r.horizon for results in runs.values() for r in results)
        times = np.linspace(first, horizon, n_times)
        mean, error = {}, {}
        for name, results in curves.items():
            # Between two queries the average is constant.
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
        """Draw a curve per algorithm, with a band of one standard error on each side.

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
            matplotlib is not installed.
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
        # A regret is negative where the optimum is only an approximation.
        negative = any(np.min(curve) < 0.0 for curve in self.mean.values())
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]) if negative else 0.0)
        return self._finish(ax)


def _running_average(result):
    """Return times (n,) and running average regret (n,) of the queries after the initial ones."""
    _ = result.average_regret  # raises an error without such queries
    regrets = result.regrets[result.n_initial :]
    return result.times[result.n_initial :], np.cumsum(regrets) / np.arange(1, len(regrets) + 1)
