"""One optimizer, one problem, one clock: the loop that every experiment goes through."""

from __future__ import annotations

import itertools
import math
from copy import deepcopy
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from .._validation import invalid
from ..exceptions import AskTellError, InvalidObservationError
from ._arguments import (
    check_horizon,
    check_problem,
    check_run_options,
    random_seeds,
)
from ._clocks import StepClock
from ._contestants import check_contestant, contestant, model_of, next_query, size_thought_about

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._typing import RandomState
    from ..problems import Problem
    from ._clocks import Clock
    from ._contestants import Contestant, Expert


@dataclass(frozen=True, eq=False)
class Step:
    """A query of a run, just after the optimizer was told what came out.

    Attributes
    ----------
    time : float
        When the query happened.
    x : ndarray of shape (d,)
        Where.
    y : float
        The noisy value that the optimizer was told.
    seconds : float
        Measured seconds of asking and telling; of telling alone for the initial design.
    size : int
        Observations that the optimizer keeps.
    removed : int
        Observations that it has removed so far.
    initial : bool
        Whether the query belongs to the initial design.
    surrogate : estimator or None
        The optimizer's ``belief_``, or ``surrogate_``, as it was before the observation: what it
        believed when it was asked. None where it had none.
    optimizer : estimator
        The optimizer as it is now. It is the run's own, and changes when the run goes on.

    Notes
    -----
    A surrogate may hold arrays of n² numbers: keep what is needed of a step rather than all steps.
    """

    time: float
    x: np.ndarray
    y: float
    seconds: float
    size: int
    removed: int
    initial: bool
    surrogate: object
    optimizer: object


def steps(
    optimizer: Contestant,
    problem: Problem,
    clock: Clock | None = None,
    horizon: float | None = None,
    n_initial: int = 15,
    random_state: RandomState = 0,
    *,
    expert: Expert | None = None,
) -> Iterator[Step]:
    """Yield the steps of a run, one by one.

    `run` is this generator drained into a result; with the same arguments both make the same run.
    Here the caller sees each step as it happens, and may stop at any time. What the caller does
    between two steps takes no time, except on a `WallClock`.

    Parameters
    ----------
    optimizer : AskTell or function
        As in `run`.
    problem : Problem
        As in `run`.
    clock : Clock, default=None
        As in `run`: None is a `StepClock`.
    horizon : float, default=None
        As in `run`: None is the problem's.
    n_initial : int, default=15
        As in `run`.
    random_state : int, RandomState or None, default=0
        As in `run`.
    expert : callable, (X, t) -> (q,), or "problem", default=None
        As in `run`.

    Returns
    -------
    generator of Step
        A step is yielded when the optimizer has been told its observation, so that the optimizer
        can be looked at, asked for a recommendation, or kept, between any two steps.

    Raises
    ------
    TypeError, ValueError
        At once, where the arguments make no sense; see `run`.
    InvalidObservationError, AskTellError
        On the way; see `run`.

    Examples
    --------
    Until the optimizer forgets something:

    >>> from sktvbo import WDBO, problems
    >>> from sktvbo.evaluation import steps
    >>> problem = problems.make("six-hump-camel", horizon=60.0)
    >>> for step in steps(WDBO(n_initial_points=5), problem, n_initial=5):
    ...     if step.removed:
    ...         break
    >>> step.time < 59.0, step.initial
    (True, False)
    >>> len(step.optimizer.X_) == step.size
    True
    """
    return Trial(optimizer, problem, clock, horizon, n_initial, random_state, expert).steps()


class Trial:
    """A run under way: copies of all that was given, seeded, and the time that it has reached.

    Parameters
    ----------
    optimizer, problem, clock, horizon, n_initial, random_state, expert
        See `run`.

    Attributes
    ----------
    optimizer, problem, clock
        The copies, which the run changes.
    horizon : float
    n_initial : int
    seed : int or None
        The ``random_state``, where that was a number.
    now : float or None
        The time of what is being done, or has failed; None before the first step.
    """

    def __init__(
        self,
        optimizer,
        problem,
        clock=None,
        horizon=None,
        n_initial=15,
        random_state=0,
        expert=None,
    ):
        check_contestant(optimizer)
        check_problem(problem)
        self.horizon = check_horizon(horizon, problem)
        check_run_options(n_initial, expert)
        self.n_initial = int(n_initial)
        self.seed = int(random_state) if isinstance(random_state, int | np.integer) else None
        design_seed, noise_seed, optimizer_seed = random_seeds(random_state, 3)
        self.clock = StepClock() if clock is None else deepcopy(clock)
        self.problem = deepcopy(problem).seed(noise_seed)
        self.optimizer = contestant(optimizer, self.problem.domain, optimizer_seed)
        self.now = None
        consulting = expert is not None and hasattr(self.optimizer, "ask_expert")
        self._expert = expert if consulting else None
        design = np.random.RandomState(design_seed)
        times, self._start = self.clock.initial_times(self.n_initial, self.horizon, design)
        points = self.problem.domain.sample(self.n_initial, design)
        self._design = list(zip(points, times.tolist()))

    def steps(self):
        """Yield the steps, as `Step`; to be called once."""
        for n, (x, t) in enumerate(self._design, 1):
            self.now = t
            yield self._tell(x, 0.0, n, initial=True)
        self.clock.start(self._start)
        for n in itertools.count(self.n_initial + 1):
            self.now = self.clock.now()
            if self.now >= self.horizon:
                return
            size = size_thought_about(self.optimizer)
            x, not_before, seconds = self._ask()
            if not_before >= self.horizon:
                return
            answered = self.clock.answer(size, not_before)
            if answered >= self.horizon:
                return
            self.now = answered
            step = self._tell(x, seconds, n, initial=False)
            self.clock.told()
            yield step

    def regret(self, x, t):
        """Noise-free regret of a query.

        To be called after the run: the search for the optimum costs time, which a wall clock would
        charge to the optimizer.
        """
        self.now = t
        return self._finite(self.problem.optimum(t)[1] - self.problem.value(x, t), x)

    def _ask(self):
        """Query, the time before which it must not happen, and seconds that this has taken."""
        t = self.now
        tic = perf_counter()
        if self._expert is not None:
            self._consult(t)
        x, not_before = next_query(self.optimizer, t)
        seconds = perf_counter() - tic
        # A time before t by less than a billionth of it is a rounding error.
        if not not_before >= t - 1e-9 * max(1.0, t):
            raise invalid(
                "The time of the query that suggest(t) returns",
                "at least t",
                got=f"{not_before} for t={t}",
                error=AskTellError,
            )
        return x, not_before, seconds

    def _consult(self, t):
        places = self.optimizer.ask_expert(t)
        if len(places):
            if callable(self._expert):
                answers = self._expert(places, t)
            else:
                answers = [self.problem.observe(x, t) for x in places]
            self.optimizer.tell_expert(places, answers, t)

    def _tell(self, x, seconds, n, initial):
        """Observe the n-th value at the present time, tell the optimizer, and return the step."""
        optimizer, t = self.optimizer, self.now
        x = self.problem.domain.validate_point(x)
        y = self._finite(self.problem.observe(x, t), x)
        surrogate = model_of(optimizer)
        tic = perf_counter()
        optimizer.tell(x.copy(), y, t)
        seconds += perf_counter() - tic
        size = len(optimizer.X_) if hasattr(optimizer, "X_") else n
        removed = getattr(optimizer, "n_removed_", 0)
        return Step(t, x, y, seconds, size, removed, initial, surrogate, optimizer)

    def _finite(self, value, x):
        """A value or a regret at the present time, or raise: averages and models cannot use NaN."""
        if not math.isfinite(value):
            raise invalid(
                f"The values and optima of {self.problem.name!r}",
                "finite",
                got=f"{value} at x={x.tolist()}, t={self.now:g}",
                error=InvalidObservationError,
            )
        return value
