"""A run as a film."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._validation import check_int, check_real, invalid
from ..domain import FiniteSet
from ..evaluation import steps
from ..evaluation._arguments import check_optimizer, check_problem
from ..exceptions import AskTellError
from ._common import (
    COLOURS,
    NO_SURROGATE,
    TEXT_BOX,
    along_axis,
    axis_limits,
    check_one_axis,
    legend_above,
    new_axes,
    place_label,
    pyplot,
    unit_places,
)

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

    from .._typing import RandomState
    from ..evaluation import Clock, Contestant, Expert
    from ..problems import Problem

_FIGSIZE = (7.6, 4.8)

# An observation fades over this part of the horizon, down to this opacity while it is kept.
_FADED, _FAINTEST = 0.25, 0.15


@dataclass
class _Frame:
    """What an optimizer believed when it made a query."""

    time: float
    mean: np.ndarray
    std: np.ndarray
    kept: np.ndarray  # of all queries, the positions of those in the data set
    query: int  # the position of this query


def animate_run(
    optimizer: Contestant,
    problem: Problem,
    *,
    clock: Clock | None = None,
    horizon: float | None = None,
    n_initial: int = 15,
    random_state: RandomState = 0,
    expert: Expert | None = None,
    n_frames: int = 100,
    fps: float = 10,
    n_places: int = 201,
    time_unit: str = "s",
    space_label: str | None = None,
    value_label: str = "f(x, t)",
    ax: Axes | None = None,
) -> FuncAnimation:
    """Run an optimizer on a problem, and show what it believed at each query.

    A frame shows the moment of a query: the posterior mean with a band of two standard deviations,
    before the query's observation; the objective and its optimum; the data set, whose observations
    fade as they age, and those removed from it since the last frame; and the query.

    Parameters
    ----------
    optimizer : estimator
        An ask/tell optimizer with a ``surrogate_``, as those of this package have. It is cloned;
        the run makes the clone maximize.
    problem : Problem
        Over one real dimension, or a `FiniteSet`.
    clock : Clock, default=None
        As in `sktvbo.evaluation.run`, as are the next four: with the same arguments it makes the
        same run, except on a `WallClock`, to which evaluating the frames appears as thinking.
    horizon : float, default=None
    n_initial : int, default=15
    random_state : int, RandomState or None, default=0
    expert : callable, (X, t) -> (q,), or "problem", default=None
    n_frames : int, default=100
        The most frames, evenly spread over the queries made with a surrogate.
    fps : float, default=10
        Frames per second.
    n_places : int, default=201
        Places along the dimension; a finite set is shown whole.
    time_unit : str, default="s"
    space_label : str, default=None
        None: "x", or "index of the arm".
    value_label : str, default="f(x, t)"
        For the label of the axis, where a unit is welcome.
    ax : matplotlib Axes, default=None
        Cleared at each frame. None: a new figure.

    Returns
    -------
    animation : matplotlib.animation.FuncAnimation
        ``animation.save("run.gif", writer="pillow")`` writes it, ``animation.to_jshtml()`` shows it
        in a notebook. Keep it while it plays.

    Raises
    ------
    MissingExtraError
        Without matplotlib.
    TypeError
        Something that is not an ask/tell optimizer, or not a problem.
    DomainError
        The domain has several dimensions.
    ValueError
        A number of frames or places, or a rate, that makes no sense.
    AskTellError
        The optimizer has made no query with a surrogate.

    Notes
    -----
    In the manner of the videos of W-DBO appendix G.4, whose picture `PosteriorDisplay` draws. What
    an optimizer believes is its ``belief_``: the answers of an expert are in it.

    Examples
    --------
    >>> from sktvbo import WDBO, problems
    >>> from sktvbo.plotting import animate_run
    >>> problem = problems.make("six-hump-camel", horizon=60.0)
    >>> animation = animate_run(WDBO(), problem)           # doctest: +SKIP
    >>> animation.save("run.gif", writer="pillow")         # doctest: +SKIP
    """
    plt = pyplot("animate_run")
    from matplotlib.animation import FuncAnimation

    _check(optimizer, problem, n_frames, fps, n_places)
    domain = problem.domain
    arms = isinstance(domain, FiniteSet)
    U = unit_places(domain, n_places)
    run = steps(optimizer, problem, clock, horizon, n_initial, random_state, expert=expert)
    queries, frames = _watch(run, U)
    if not frames:
        raise invalid(
            "The run",
            "one with queries made with a surrogate",
            got=f"{type(optimizer).__name__} with none among {len(queries)} queries",
            advice=NO_SURROGATE,
            error=AskTellError,
        )
    shown = np.linspace(0, len(frames) - 1, min(n_frames, len(frames))).round().astype(int)
    film = _Film(
        ax=new_axes(plt, _FIGSIZE) if ax is None else ax,
        frames=[frames[i] for i in shown],
        queries=queries,
        problem=problem,
        horizon=problem.horizon if horizon is None else horizon,
        title=f"{type(optimizer).__name__} on {problem.name}",
        points=domain.points if arms else domain.from_unit(U),
        time_unit=time_unit,
        labels={
            "xlabel": place_label(space_label, arms),
            "ylabel": value_label,
        },
    )
    film.draw(0)  # a figure that is saved before it plays is not empty
    return FuncAnimation(film.ax.figure, film.draw, frames=len(shown), interval=1000.0 / fps)


def _check(optimizer, problem, n_frames, fps, n_places):
    check_optimizer(optimizer)
    check_problem(problem)
    check_one_axis(problem.domain, "The problem's domain")
    check_int(n_frames, "n_frames")
    check_int(n_places, "n_places", low=2)
    check_real(fps, "fps", interval="(0, inf)")


def _watch(run, U):
    """The queries (x, t, y) of a run, and the frames, over the places U, of those with a surrogate.

    A step comes when its observation has been told. The data set that the query was made with is
    that of the step before.
    """
    queries, frames, kept = [], [], np.empty(0, dtype=np.intp)
    for step in run:
        if step.surrogate is not None:
            posterior = step.surrogate.at(step.time).posterior_at(step.time)
            frames.append(_Frame(step.time, *posterior(U), kept=kept, query=len(queries)))
        queries.append((*step.x.tolist(), step.time, step.y))
        rows = set(map(tuple, np.asarray(step.optimizer.X_).tolist()))
        kept = np.flatnonzero([query[:-1] in rows for query in queries])
    return np.array(queries), frames


class _Film:
    """Draws the frames of a run of ``queries`` (n, d + 2), with ``points`` (m, d) of the domain."""

    def __init__(self, ax, frames, queries, problem, horizon, points, title, time_unit, labels):
        self.ax = ax
        self.frames = frames
        self.horizon = horizon
        self.title = title
        self.arms = isinstance(problem.domain, FiniteSet)
        self.time_unit = time_unit
        self.labels = labels
        self.places = along_axis(problem.domain, points)
        self.queries = along_axis(problem.domain, queries[:, :-2])
        self.times, self.observations = queries[:, -2], queries[:, -1]
        self.truth = np.array([problem.values(points, frame.time) for frame in frames])
        optima = [problem.optimum(frame.time) for frame in frames]
        self.optimum_places = along_axis(problem.domain, np.array([x for x, _ in optima]))
        self.optimum_values = [f for _, f in optima]
        # The whole film has one scale.
        values = np.concatenate([self.truth.ravel(), self.observations])
        margin = 0.15 * (np.ptp(values) or 1.0)
        self.value_limits = values.min() - margin, values.max() + 2.0 * margin

    def draw(self, i):
        """Draw the i-th frame."""
        ax, frame = self.ax, self.frames[i]
        ax.clear()
        step = {"drawstyle": "steps-mid"} if self.arms else {}
        places, truth, mean, std = self._cells(self.truth[i], frame.mean, frame.std)
        ax.fill_between(
            places,
            mean - 2.0 * std,
            mean + 2.0 * std,
            step="mid" if self.arms else None,
            color=COLOURS[0],
            alpha=0.2,
            linewidth=0,
            label="± 2 s.d.",
        )
        ax.plot(places, mean, color=COLOURS[0], linewidth=1.8, label="posterior mean", **step)
        ax.plot(places, truth, "--", color="black", linewidth=1.4, label="objective", **step)
        ax.plot(
            self.optimum_places[i],
            self.optimum_values[i],
            "*",
            color=COLOURS[4],
            markeredgecolor="black",
            markersize=14,
            label="optimum",
        )
        age = (frame.time - self.times[frame.kept]) / (_FADED * self.horizon)
        ax.scatter(
            self.queries[frame.kept],
            self.observations[frame.kept],
            s=26,
            color=COLOURS[0],
            alpha=np.clip(1.0 - age, _FAINTEST, 1.0),
            linewidth=0,
        )
        ax.plot([], [], "o", color=COLOURS[0], markersize=5, label="kept (pale: old)")
        removed = self._removed(i)
        ax.plot(
            self.queries[removed],
            self.observations[removed],
            "x",
            color=COLOURS[1],
            markersize=7,
            label="just removed",
        )
        x, y = self.queries[frame.query], self.observations[frame.query]
        ax.axvline(x, color=COLOURS[2], linewidth=1.0)
        ax.plot(x, y, "D", color=COLOURS[2], markersize=7, label="query")
        ax.annotate(
            f"{self.title}, t = {frame.time:.4g} {self.time_unit}, {len(frame.kept)} kept",
            (0.015, 0.97),
            xycoords="axes fraction",
            va="top",
            bbox=TEXT_BOX,
        )
        ax.set(
            xlim=axis_limits(self.places, self.arms),
            ylim=self.value_limits,
            **self.labels,
        )
        legend_above(ax, ncols=4, columnspacing=1.2, handletextpad=0.5)

    def _cells(self, *values):
        """Places, and values there; steps need half a cell more at both ends."""
        if not self.arms:
            return self.places, *values
        return np.arange(-1, len(self.places) + 1), *(np.pad(v, 1, mode="edge") for v in values)

    def _removed(self, i):
        """Positions of the observations removed since the frame before."""
        frame, before = self.frames[i], self.frames[max(i - 1, 0)]
        return np.setdiff1d(
            np.arange(frame.query),
            np.union1d(frame.kept, np.setdiff1d(np.arange(before.query), before.kept)),
        )
