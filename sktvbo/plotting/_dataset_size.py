"""Size of the data set over time."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

import numpy as np

from .._validation import invalid
from ..exceptions import AskTellError, InvalidObservationError
from ._common import CurveDisplay, display_data, finished_runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Self

    from matplotlib.axes import Axes

    from ..evaluation import Comparison, RunResult
    from ..optimizers import BayesianOptimizer


@display_data
class DatasetSizeDisplay(CurveDisplay):
    """Size of the data set over time, by algorithm (BOLT figure 4).

    Made by `from_runs`, `from_comparison` or `from_optimizer`.

    Parameters
    ----------
    times : ndarray of shape (n_times,)
    median : dict of str to ndarray of shape (n_times,)
        Median size over the runs, by algorithm. A size holds until the next time.
    lower, upper : dict of str to ndarray of shape (n_times,)
        Lower and upper quartiles.
    n_runs : dict of str to int
        Number of runs, by algorithm.
    problem : str, default=None
        Name of the problem; None: several problems.
    time_unit : str, default="s"

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
    >>> from sktvbo.plotting import DatasetSizeDisplay
    >>> problem = problems.make("six-hump-camel", horizon=50.0)
    >>> run = evaluation.run(RandomSearch(), problem)
    >>> display = DatasetSizeDisplay.from_runs({"random": [run]}, time_unit="steps")
    >>> display.median["random"][-3:].tolist()
    [49.0, 50.0, 50.0]
    >>> display.plot(log=True).figure_.savefig("sizes.png")  # doctest: +SKIP
    """

    times: np.ndarray
    median: dict
    lower: dict
    upper: dict
    _: KW_ONLY
    n_runs: dict
    problem: str | None = None
    time_unit: str = "s"

    @classmethod
    def from_runs(cls, runs: Mapping[str, Sequence[RunResult]], *, time_unit: str = "s") -> Self:
        """Compute medians and quartiles over runs.

        Parameters
        ----------
        runs : dict of str to list of sktvbo.evaluation.RunResult
            Runs by algorithm.
        time_unit : str, default="s"
            Unit in the label of the axis, such as "steps" for a `StepClock`.

        Returns
        -------
        DatasetSizeDisplay

        Raises
        ------
        ValueError
            No algorithm, or an algorithm without a run.
        InvalidObservationError
            A run has no query after the initial ones.

        Notes
        -----
        The times are those at which a size changes, from the latest first query after the initial
        ones to the earliest end of a run.
        """
        empty = [name for name, results in runs.items() if not results]
        if empty or not runs:
            got = f"none for {empty[0]!r}" if empty else "no algorithm"
            raise invalid("runs", "a dict of at least one RunResult for each algorithm", got=got)
        results = [run for some in runs.values() for run in some]
        for run in results:
            if len(run.times) <= run.n_initial:
                raise invalid(
                    "Each run",
                    f"one with a query after the {run.n_initial} initial ones",
                    got=f"none before the horizon {run.horizon:g} of one on {run.problem!r}",
                    advice="Use a longer horizon or a faster clock.",
                    error=InvalidObservationError,
                )
        first = max(run.times[run.n_initial] for run in results)
        end = min(run.horizon for run in results)
        times = np.unique(np.concatenate([run.times for run in results]))
        times = np.append(times[(first <= times) & (times < end)], end)
        quartiles = {}
        for name, some in runs.items():
            latest = [np.searchsorted(run.times, times, side="right") - 1 for run in some]
            sizes = [run.dataset_sizes[i] for run, i in zip(some, latest)]
            quartiles[name] = np.percentile(sizes, [25.0, 50.0, 75.0], axis=0)
        problems = {run.problem for run in results}
        return cls(
            times,
            median={name: values[1] for name, values in quartiles.items()},
            lower={name: values[0] for name, values in quartiles.items()},
            upper={name: values[2] for name, values in quartiles.items()},
            n_runs={name: len(some) for name, some in runs.items()},
            problem=problems.pop() if len(problems) == 1 else None,
            time_unit=time_unit,
        )

    @classmethod
    def from_optimizer(
        cls, optimizer: BayesianOptimizer, *, name: str | None = None, time_unit: str = "s"
    ) -> Self:
        """Show the history of one optimizer.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            An optimizer after at least two observations. It is not changed.
        name : str, default=None
            Name in the legend; None: its ``label``, or the name of its class.
        time_unit : str, default="s"

        Returns
        -------
        DatasetSizeDisplay
            Display of the sizes after each ``tell``.

        Raises
        ------
        AskTellError
            Fewer than two observations.
        """
        history = optimizer.history_
        if len(history.get("n", ())) < 2:
            expected, got = "one that was told at least twice", f"{optimizer.n_told_} observations"
            raise invalid("optimizer", expected, got=got, error=AskTellError)
        name = name or optimizer.label or type(optimizer).__name__
        sizes = {name: history["n"]}
        return cls(history["time"], sizes, sizes, sizes, n_runs={name: 1}, time_unit=time_unit)

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, problem: str | None = None, *, time_unit: str = "s"
    ) -> Self:
        """Compute medians and quartiles over the replications of a comparison.

        Parameters
        ----------
        comparison : sktvbo.evaluation.Comparison
        problem : str, default=None
            Name of the problem; None if the comparison has only one.
        time_unit : str, default="s"

        Returns
        -------
        DatasetSizeDisplay

        Raises
        ------
        ValueError
            Unknown or missing name of the problem, or no finished run on it.
        InvalidObservationError
            A run has no query after the initial ones.
        """
        _, runs = finished_runs(comparison, problem)
        return cls.from_runs(runs, time_unit=time_unit)

    def plot(self, ax: Axes | None = None, *, log: bool = False, **line_options: Any) -> Self:
        """Draw a median curve per algorithm, and a band between its quartiles.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure.
        log : bool, default=False
            Use logarithmic axes, as in the paper. An algorithm that removes nothing is then a
            straight line, and small sizes are distinguishable.
        **line_options
            Keywords of matplotlib's ``plot`` for all curves, such as ``linewidth``.

        Returns
        -------
        self : DatasetSizeDisplay

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.
        """
        ax = self._axes(ax)
        several = [name for name, n_runs in self.n_runs.items() if n_runs > 1]
        n = len(self.median)
        self._draw(
            ax,
            self.median,
            {name: (self.lower[name], self.upper[name]) for name in several},
            # Algorithms that remove nothing coincide: a thinner line shows the one below it.
            widths=[1.4 + 2.0 * (n - 1 - i) / n for i in range(n)],
            options=line_options,
            step="post",
            title=self._title(),
            ylabel="size of the data set (observations)",
        )
        if log:
            ax.set(xscale="log", yscale="log")
            ax.set_xlim(left=self.times[self.times > 0.0][0])
        else:
            ax.set_ylim(bottom=0.0)
        return self._finish(ax)

    def _title(self):
        counts = list(self.n_runs.values())
        if self.problem is None and counts == [1]:
            return ""  # one optimizer, whose problem is unknown
        low, high = min(counts), max(counts)
        number = high if low == high else f"{low} to {high}"
        runs = "1 run" if high == 1 else f"median and quartiles of {number} runs"
        return f"{self.problem or 'several problems'} ({runs})"
