"""Displays of comparisons: curves over time for each algorithm, and regrets over all problems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._validation import invalid
from ..exceptions import AskTellError
from ._common import (
    COLOURS,
    Display,
    display_data,
    draw_band,
    legend_above,
    line_style,
    merge_style,
    time_labels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..evaluation import Comparison, RunResult
    from ..optimizers import BayesianOptimizer

# Bars start below 0, so that the best algorithm of a problem, at 0, has a visible bar.
_FLOOR = -0.03

# Hatches distinguish algorithms with the same colour.
_HATCHES = ("", "//", "..", "xx")


def finished_runs(comparison, problem):
    """Return the name of the problem and its finished runs, a dict of algorithm to list.

    The problem may be None if the comparison has only one.
    """
    names = comparison.problems
    if problem is None and len(names) == 1:
        problem = names[0]
    if problem not in names:
        expected = f"one of {', '.join(names)}, the problems of the comparison"
        raise invalid("problem", expected, problem, advice="Make one display for each.")
    runs = {name: comparison.results.get((name, problem)) for name in comparison.algorithms}
    runs = {name: results for name, results in runs.items() if results}
    if not runs:
        expected = f"one with a finished run on {problem!r}"
        raise invalid("The comparison", expected, got="none", advice="See its failures.")
    return problem, runs


class CurveDisplay(Display):
    """Base class of the displays of a curve per algorithm over ``times``, with a band around it."""

    def _draw(self, ax, curves, bands, widths, options, step=None):
        """Draw curves and bands by algorithm, and store the lines in ``lines_``.

        Parameters
        ----------
        ax : matplotlib Axes
        curves : dict of str to ndarray of shape (n_times,)
        bands : dict of str to tuple of two ndarrays of shape (n_times,)
            Lower and upper edge; a curve without an entry has no band.
        widths : sequence of float
            Widths of the lines.
        options : dict
            The user's keywords of the lines, which override those of the display.
        step : "post", default=None
            Draw curves that are constant until the next time.
        """
        self.lines_, times = {}, self._on_axis(self.times)
        for i, ((name, curve), width) in enumerate(zip(curves.items(), widths)):
            style = line_style(i) | {"linewidth": width, "label": name}
            if step:
                style["drawstyle"] = f"steps-{step}"
            (line,) = ax.plot(times, curve, **merge_style(style, options))
            self.lines_[name] = line
            if name in bands:
                draw_band(ax, times, *bands[name], line.get_color(), step=step)
        if times[0] < times[-1]:
            ax.set_xlim(times[0], times[-1])
        self._set_up_time(ax)
        ax.grid(alpha=0.3)
        ax.legend()


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
        **labels: Any,
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
        **labels : str
            ``time_unit``, ``regret_unit``: see `RegretDisplay`.

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
            mean[name], error[name] = values.mean(axis=0), np.full(n_times, np.nan)
            if len(values) > 1:
                error[name] = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        n_replications = max(map(len, runs.values()))
        return cls(times, mean, error, problem=problem, n_replications=n_replications, **labels)

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
        (ax,) = self._panels(ax)
        bands = {
            name: (self.mean[name] - error, self.mean[name] + error)
            for name, error in self.standard_error.items()
            if np.isfinite(error).all()
        }
        runs = f"mean ± s.e. of {self.n_replications} runs" if self.n_replications > 1 else "1 run"
        self._draw(ax, self.mean, bands, [1.8] * len(self.mean), line_options)
        ylabel = f"average regret ({self.regret_unit or 'units of f'})"
        ax.set(title=f"{self.problem} ({runs})", ylabel=ylabel)
        # A regret is negative where the optimum is only an approximation.
        negative = any(np.min(curve) < 0.0 for curve in self.mean.values())
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]) if negative else 0.0)
        return self._finish(ax)


def _running_average(result):
    """Return times (n,) and running average regret (n,) of the queries after the initial ones."""
    _ = result.average_regret  # raises an error without such queries
    regrets = result.regrets[result.n_initial :]
    return result.times[result.n_initial :], np.cumsum(regrets) / np.arange(1, len(regrets) + 1)


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
    told : ndarray of shape (n_times,), default=None
        Number of observations told to one optimizer until each time; None: runs of a comparison.
    time_unit : str, default="s"
    dates : bool, default=False
        Times are dates, in this unit since 1970.

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
    told: np.ndarray | None = None
    time_unit: str = "s"
    dates: bool = False

    @classmethod
    def from_runs(cls, runs: Mapping[str, Sequence[RunResult]], **labels: Any) -> Self:
        """Compute medians and quartiles over runs.

        Parameters
        ----------
        runs : dict of str to list of sktvbo.evaluation.RunResult
            Runs by algorithm.
        **labels : str
            ``time_unit``: unit in the label of the axis, such as "steps" for a `StepClock`.

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
            _ = run.average_regret  # raises an error without a query after the initial ones
        first = max(run.times[run.n_initial] for run in results)
        end = min(run.horizon for run in results)
        times = np.unique(np.concatenate([run.times for run in results]))
        times = np.append(times[(first <= times) & (times < end)], end)
        lower, median, upper = {}, {}, {}
        for name, some in runs.items():
            latest = [np.searchsorted(run.times, times, side="right") - 1 for run in some]
            sizes = [run.dataset_sizes[i] for run, i in zip(some, latest)]
            quartiles = np.percentile(sizes, [25.0, 50.0, 75.0], axis=0)
            lower[name], median[name], upper[name] = quartiles
        n_runs, problems = {a: len(some) for a, some in runs.items()}, {r.problem for r in results}
        problem = problems.pop() if len(problems) == 1 else None
        return cls(times, median, lower, upper, n_runs=n_runs, problem=problem, **labels)

    @classmethod
    def from_optimizer(
        cls, optimizer: BayesianOptimizer, *, name: str | None = None, **labels: Any
    ) -> Self:
        """Show the history of one optimizer.

        Parameters
        ----------
        optimizer : BayesianOptimizer
            An optimizer after at least two observations. It is not changed.
        name : str, default=None
            Name in the legend; None: its ``label``, or the name of its class.
        **labels : str
            ``time_unit``.

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
            expected, got = "one with two observations or more", f"{optimizer.n_told_} observations"
            raise invalid("optimizer", expected, got=got, error=AskTellError)
        name = name or optimizer.label or type(optimizer).__name__
        run, sizes = optimizer._current(), {name: history["n"]}
        # Observations before the history that is shown count as well.
        told = run.history.n_told - len(run.shown) + np.arange(1, len(run.shown) + 1)
        labels = {"told": told, "time_unit": ""} | time_labels(optimizer, labels)
        return cls(history["time"], sizes, sizes, sizes, n_runs={name: 1}, **labels)

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, problem: str | None = None, **labels: Any
    ) -> Self:
        """Compute medians and quartiles over the replications of a comparison.

        Parameters
        ----------
        comparison : sktvbo.evaluation.Comparison
        problem : str, default=None
            Name of the problem; None if the comparison has only one.
        **labels : str
            ``time_unit``.

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
        return cls.from_runs(runs, **labels)

    def plot(self, ax: Axes | None = None, *, log: bool = False, **line_options: Any) -> Self:
        """Draw a median curve per algorithm, and a band between its quartiles.

        For one optimizer, a dotted line is the number of observations told, and the title has the
        number of those kept.

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
        (ax,) = self._panels(ax)
        if self.told is not None:
            style = {"color": "0.5", "linewidth": 1.2, "linestyle": ":", "label": "told"}
            ax.plot(self._on_axis(self.times), self.told, drawstyle="steps-post", **style)
        several, n = [name for name, n_runs in self.n_runs.items() if n_runs > 1], len(self.median)
        bands = {name: (self.lower[name], self.upper[name]) for name in several}
        # Algorithms that remove nothing coincide: a thinner line shows the one below it.
        widths = [1.4 + 2.0 * (n - 1 - i) / n for i in range(n)]
        self._draw(ax, self.median, bands, widths, line_options, step="post")
        ax.set(title=self._title(), ylabel="size of the data set (observations)")
        if log and self.dates:
            ax.set_yscale("log")
        elif log:
            ax.set(xscale="log", yscale="log")
            ax.set_xlim(left=self.times[self.times > 0.0][0])
        else:
            ax.set_ylim(bottom=0.0)
        return self._finish(ax)

    def _title(self):
        counts = list(self.n_runs.values())
        if self.told is not None:
            (sizes,) = self.median.values()
            kept, told = int(sizes[-1]), int(self.told[-1])
            return f"all {told} observations are kept" if kept == told else f"{kept} of {told} kept"
        if self.problem is None and counts == [1]:
            return ""
        low, high = min(counts), max(counts)
        number = high if low == high else f"{low} to {high}"
        runs = "1 run" if high == 1 else f"median and quartiles of {number} runs"
        return f"{self.problem or 'several problems'} ({runs})"


@display_data
class ComparisonDisplay(Display):
    """Normalized average regret over the problems, by algorithm (W-DBO and BOLT, figures 3).

    Made by `from_comparison`.

    Parameters
    ----------
    mean : dict of str to float
        Mean of the normalized regret over the problems, by algorithm. On each problem, 0 is the
        best algorithm and 1 the worst. NaN without a finished run.
    standard_error : dict of str to float
        Standard error of ``mean`` over the problems; NaN for a single problem.
    by_problem : dict of str to dict of str to float
        Normalized regret by algorithm and problem; NaN without a finished run.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.
    bars_ : dict of str to matplotlib BarContainer
        Bars of each algorithm, after `plot`.

    Examples
    --------
    >>> from sktvbo import GPUCB, RandomSearch, evaluation, problems
    >>> from sktvbo.plotting import ComparisonDisplay
    >>> both = [problems.make(name, horizon=30.0) for name in ("six-hump-camel", "ackley")]
    >>> algorithms = {"GP-UCB": GPUCB(), "random": RandomSearch()}
    >>> comparison = evaluation.compare(algorithms, both, n_replications=2)
    >>> display = ComparisonDisplay.from_comparison(comparison)
    >>> sorted(display.by_problem["random"])
    ['ackley', 'six-hump-camel']
    >>> display.plot().figure_.savefig("comparison.png")  # doctest: +SKIP
    """

    mean: dict
    standard_error: dict
    by_problem: dict

    _panel_size = (7.2, 4.2)

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> Self:
        """Normalize the average regrets of a comparison.

        Parameters
        ----------
        comparison : sktvbo.evaluation.Comparison

        Returns
        -------
        ComparisonDisplay

        Notes
        -----
        See `sktvbo.evaluation.Comparison.normalized`, also for the limits of these numbers.
        """
        columns = "normalized_regret", "standard_error", "by_problem"
        rows = comparison.normalized()
        return cls(*({row["algorithm"]: row[column] for row in rows} for column in columns))

    def plot(self, ax: Axes | None = None, *, by_problem: bool = False, **bar_options: Any) -> Self:
        """Draw a bar per algorithm, the best first, with its standard error.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure.
        by_problem : bool, default=False
            Also draw bars per problem, to the right of those of the mean.
        **bar_options
            Keywords of matplotlib's ``bar`` for all bars, such as ``alpha``.

        Returns
        -------
        self : ComparisonDisplay

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.
        """
        (ax,) = self._panels(ax)
        from matplotlib.patches import Rectangle

        problems = list(next(iter(self.by_problem.values())))
        title = f"mean ± s.e. of {len(problems)} problems" if len(problems) > 1 else problems[0]
        # Each algorithm has the same colour as in the other displays.
        names = list(self.mean)
        ranked = sorted(names, key=lambda name: (math.isnan(self.mean[name]), self.mean[name]))
        groups = np.arange(1 + len(problems) if by_problem else 1)
        width = 0.8 / len(names) if by_problem else 0.7
        self.bars_ = {}
        for rank, name in enumerate(ranked):
            i = names.index(name)
            left = groups + width * (rank + 0.5 - 0.5 * len(names)) if by_problem else rank
            values = np.array([self.mean[name], *self.by_problem[name].values()])[: len(groups)]
            where = np.broadcast_to(left, values.shape)
            hatch = _HATCHES[i // len(COLOURS) % len(_HATCHES)]
            style = {"color": COLOURS[i % len(COLOURS)], "hatch": hatch, "label": name}
            style |= {"edgecolor": "black", "linewidth": 0.8}
            style = merge_style(style, bar_options, Rectangle)
            self.bars_[name] = ax.bar(where, values - _FLOOR, width, _FLOOR, **style)
            error = {"color": "black", "capsize": 1.5 if by_problem else 4.0}
            ax.errorbar(where[0], self.mean[name], self.standard_error[name], **error)
            for x in where[np.isnan(values)]:
                ax.annotate("no run", (x, 0.0), rotation=90, ha="center", va="bottom")
        if by_problem:
            ax.set_xticks(groups, ["mean ± s.e.", *problems], rotation=30, ha="right")
            ax.axvline(0.5, color="0.5", linewidth=0.8)
            legend_above(ax, ncols=min(len(names), 5), columnspacing=1.2)
        else:
            slanted = {"rotation": 30, "ha": "right"} if len(names) > 6 else {}
            ax.set_xticks(range(len(names)), ranked, **slanted)
            ax.set_title(title)
        limits = min(_FLOOR, ax.dataLim.y0 - 0.01), max(1.05, ax.dataLim.y1 + 0.01)
        ylabel = "normalized average regret\n(best 0, worst 1)"
        ax.set(ylabel=ylabel, ylim=limits, axisbelow=True)
        ax.grid(axis="y", alpha=0.3)
        return self._finish(ax)
