"""Animation of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._validation import check_int, check_real, invalid
from ..domain import FiniteSet
from ..evaluation import steps
from ..exceptions import AskTellError
from ._common import (
    COLOURS,
    NO_SURROGATE,
    TEXT_BOX,
    along_axis,
    axis_limits,
    check_one_axis,
    draw_band,
    legend_above,
    place_label,
    pyplot,
    unit_places,
)

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

    from .._typing import RandomState
    from ..evaluation import Clock
    from ..evaluation._ask_tell import Expert, OptimizerLike
    from ..problems import Problem

_FIGSIZE = (7.6, 4.8)

# An observation fades over this fraction of the horizon, down to this opacity.
_FADING_TIME, _FAINTEST = 0.25, 0.15


@dataclass
class _Frame:
    """Posterior and data set of an optimizer at a query."""

    time: float
    mean: np.ndarray
    std: np.ndarray
    kept: np.ndarray  # indices of the queries in the data set
    query: int  # index of this query


def animate_run(
    optimizer: OptimizerLike,
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
    """Run an optimizer on a problem, and animate its posterior at each query.

    A frame shows a query and the state before its observation: the posterior mean with a band of
    two standard deviations, the objective and its optimum, and the data set. Observations fade with
    age, and those removed since the last frame are marked.

    Parameters
    ----------
    optimizer : AskTell or function
        As in `sktvbo.evaluation.run`; it must have a ``surrogate_``.
    problem : Problem
        Over one real dimension, or a `FiniteSet`.
    clock : Clock, default=None
        As in `sktvbo.evaluation.run`, like the next four parameters. The same arguments make the
        same run, except on a `WallClock`, which counts the evaluation of the frames.
    horizon : float, default=None
    n_initial : int, default=15
    random_state : int, RandomState, Generator or None, default=0
    expert : callable, (X, t) -> (q,), or "problem", default=None
    n_frames : int, default=100
        Largest number of frames, evenly spread over the queries made with a surrogate.
    fps : float, default=10
        Frames per second.
    n_places : int, default=201
        Number of places along the dimension; all members of a finite set are shown.
    time_unit : str, default="s"
    space_label : str, default=None
        None: "x", or "index of the arm".
    value_label : str, default="f(x, t)"
        Label of the value axis, which should name a unit.
    ax : matplotlib Axes, default=None
        Cleared at each frame. None: a new figure.

    Returns
    -------
    animation : matplotlib.animation.FuncAnimation
        ``animation.save("run.gif", writer="pillow")`` writes a file, and ``animation.to_jshtml()``
        shows it in a notebook. Keep a reference to it while it plays.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    TypeError
        Invalid optimizer or problem.
    DomainError
        The domain has several dimensions.
    ValueError
        Invalid number of frames or places, or invalid rate.
    AskTellError
        The optimizer has made no query with a surrogate.

    Notes
    -----
    The animation follows the videos of W-DBO appendix G.4; `PosteriorDisplay` draws their picture.
    The posterior is that of ``belief_`` if the optimizer has one, which includes the answers of an
    expert.

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

    check_int(n_frames, "n_frames")
    check_int(n_places, "n_places", low=2)
    check_real(fps, "fps", interval="(0, inf)")
    run = steps(optimizer, problem, clock, horizon, n_initial, random_state, expert=expert)
    domain = problem.domain
    check_one_axis(domain, "The problem's domain")
    U = unit_places(domain, n_places)
    queries, frames = _record(run, U)
    if not frames:
        expected = "one with queries made with a surrogate"
        got = f"{type(optimizer).__name__} with none among {len(queries)} queries"
        raise invalid("The run", expected, got=got, advice=NO_SURROGATE, error=AskTellError)
    shown = np.linspace(0, len(frames) - 1, min(n_frames, len(frames))).round().astype(int)
    if ax is None:
        ax = plt.subplots(figsize=_FIGSIZE, layout="constrained")[1]
    film = _Film(
        ax,
        problem,
        U,
        queries,
        frames=[frames[i] for i in shown],
        horizon=problem.horizon if horizon is None else horizon,
        title=f"{type(optimizer).__name__} on {problem.name}, t = ",
        time_unit=time_unit,
        xlabel=place_label(space_label, isinstance(domain, FiniteSet)),
        ylabel=value_label,
    )
    film.draw(0)  # so that a figure saved before it plays is not empty
    return FuncAnimation(film.ax.figure, film.draw, frames=len(shown), interval=1000.0 / fps)


def _record(run, U):
    """Return the queries (x, t, y) of a run, and the frames over the places U.

    Only queries made with a surrogate have a frame. A step comes after its observation, so the data
    set of a query is that of the previous step.
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
    """Frames of a run with ``queries`` (n, d + 2), at places U of the domain in unit form."""

    def __init__(self, ax, problem, U, queries, *, frames, horizon, title, time_unit, **labels):
        self.ax, self.frames, self.horizon = ax, frames, horizon
        self.title, self.time_unit, self.labels = title, time_unit, labels
        domain = problem.domain
        self.arms = isinstance(domain, FiniteSet)
        points = domain.points if self.arms else domain.from_unit(U)
        self.places = along_axis(domain, points)
        self.queries = along_axis(domain, queries[:, :-2])
        self.times, self.observations = queries[:, -2], queries[:, -1]
        self.truth = np.array([problem.values(points, frame.time) for frame in frames])
        optima = [problem.optimum(frame.time) for frame in frames]
        self.optima = [(along_axis(domain, x[np.newaxis]).item(), f) for x, f in optima]
        # All frames have the same scale.
        values = np.concatenate([self.truth.ravel(), self.observations])
        margin = 0.15 * (np.ptp(values) or 1.0)
        self.limits = values.min() - margin, values.max() + 2.0 * margin

    def draw(self, i):
        """Draw the i-th frame."""
        ax, frame, x, y = self.ax, self.frames[i], self.queries, self.observations
        kept = frame.kept
        ax.clear()
        self._draw_curves(i)
        age = (frame.time - self.times[kept]) / (_FADING_TIME * self.horizon)
        fading = {"alpha": np.clip(1.0 - age, _FAINTEST, 1.0), "linewidth": 0}
        ax.scatter(x[kept], y[kept], s=26, color=COLOURS[0], **fading)
        ax.plot([], [], "o", color=COLOURS[0], markersize=5, label="kept (pale: old)")
        # Observations removed since the previous frame.
        before = self.frames[max(i - 1, 0)]
        gone = np.setdiff1d(np.arange(before.query), before.kept)
        now = np.setdiff1d(np.arange(frame.query), np.union1d(kept, gone))
        ax.plot(x[now], y[now], "x", color=COLOURS[1], markersize=7, label="just removed")
        ax.axvline(x[frame.query], color=COLOURS[2], linewidth=1.0)
        query = x[frame.query], y[frame.query]
        ax.plot(*query, "D", color=COLOURS[2], markersize=7, label="query")
        place = {"xycoords": "axes fraction", "va": "top", "bbox": TEXT_BOX}
        title = f"{self.title}{frame.time:.4g} {self.time_unit}, {len(kept)} kept"
        ax.annotate(title, (0.015, 0.97), **place)
        ax.set(xlim=axis_limits(self.places, self.arms), ylim=self.limits, **self.labels)
        legend_above(ax, ncols=4, columnspacing=1.2, handletextpad=0.5)

    def _draw_curves(self, i):
        """Draw posterior, objective and optimum."""
        places, curves = self.places, [self.truth[i], self.frames[i].mean, self.frames[i].std]
        style = {}
        if self.arms:  # steps need half a cell more at both ends
            places = np.arange(-1, len(places) + 1)
            curves = [np.pad(curve, 1, mode="edge") for curve in curves]
            style = {"drawstyle": "steps-mid"}
        truth, mean, std = curves
        band = {"step": "mid" if self.arms else None, "label": "± 2 s.d."}
        draw_band(self.ax, places, mean - 2.0 * std, mean + 2.0 * std, COLOURS[0], **band)
        dashed = {"color": "black", "linewidth": 1.4, "label": "objective"} | style
        style |= {"color": COLOURS[0], "linewidth": 1.8, "label": "posterior mean"}
        self.ax.plot(places, mean, **style)
        self.ax.plot(places, truth, "--", **dashed)
        star = {"color": COLOURS[4], "markeredgecolor": "black", "markersize": 14}
        self.ax.plot(*self.optima[i], "*", label="optimum", **star)
