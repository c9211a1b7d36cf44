"""Average regrets of the algorithms over all problems."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ._common import COLOURS, Display, display_data, legend_above, merge_style

if TYPE_CHECKING:
    from typing import Any, Self

    from matplotlib.axes import Axes

    from ..evaluation import Comparison

# Bars start below 0, so that the best algorithm of a problem, at 0, has a visible bar.
_FLOOR = -0.03

# Hatches distinguish algorithms with the same colour.
_HATCHES = ("", "//", "..", "xx")


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

    _figsize = (7.2, 4.2)

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
        rows = comparison.normalized()
        return cls(
            {row["algorithm"]: row["normalized_regret"] for row in rows},
            {row["algorithm"]: row["standard_error"] for row in rows},
            {row["algorithm"]: row["by_problem"] for row in rows},
        )

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
        ax = self._axes(ax)
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
            style = {
                "color": COLOURS[i % len(COLOURS)],
                "hatch": _HATCHES[i // len(COLOURS) % len(_HATCHES)],
                "edgecolor": "black",
                "linewidth": 0.8,
                "label": name,
            }
            heights = values - _FLOOR
            style = merge_style(style, bar_options, Rectangle)
            self.bars_[name] = ax.bar(where, heights, width, _FLOOR, **style)
            ax.errorbar(
                where[0],
                self.mean[name],
                self.standard_error[name],
                color="black",
                capsize=1.5 if by_problem else 4.0,
            )
            for x in where[np.isnan(values)]:
                ax.annotate("no run", (x, 0.0), rotation=90, ha="center", va="bottom")
        ax.set(ylabel="normalized average regret\n(best 0, worst 1)")
        if by_problem:
            ax.set_xticks(groups, ["mean ± s.e.", *problems], rotation=30, ha="right")
            ax.axvline(0.5, color="0.5", linewidth=0.8)
            legend_above(ax, ncols=min(len(names), 5), columnspacing=1.2)
        else:
            slanted = {"rotation": 30, "ha": "right"} if len(names) > 6 else {}
            ax.set_xticks(range(len(names)), ranked, **slanted)
            ax.set_title(title)
        ax.set_ylim(min(_FLOOR, ax.dataLim.y0 - 0.01), max(1.05, ax.dataLim.y1 + 0.01))
        ax.grid(axis="y", alpha=0.3)
        ax.set_axisbelow(True)
        return self._finish(ax)
