"""Runs of an optimizer on a problem: step by step, and recorded."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import invalid, invalid_observation
from ..exceptions import AskTellError, MissingExtraError
from ..problems import Problem
from ._arguments import check_horizon, check_problem, check_run_options, random_seeds
from ._clocks import Clock, StepClock, copy_clock
from ._optimizer import check_optimizer, copy_optimizer, next_query, surrogate_of, surrogate_size
from ._results import ARRAYS, RunResult

if TYPE_CHECKING:
    from .._typing import RandomState
    from ._optimizer import Expert, OptimizerLike


def run(
    optimizer: OptimizerLike,
    problem: Problem,
    clock: Clock | None = None,
    horizon: float | None = None,
    n_initial: int = 15,
    random_state: RandomState = 0,
    progress: bool = False,
    *,
    expert: Expert | None = None,
) -> RunResult:
    """Run an optimizer on a problem and record its regret.

    First the optimizer is told an initial design, uniform in the domain, which depends only on the
    seed. Then the clock starts, and until the horizon the run asks, observes at the time of the
    answer, and tells. A query at or after the horizon is not made.

    Parameters
    ----------
    optimizer : Optimizer, or function (domain, random_state) that makes one
        An optimizer of this package, or any other `Optimizer`. It is cloned. The clone gets the
        problem's domain, a random state derived from the seed, and ``maximize=True``.
    problem : Problem
        Copied; the noise of the copy restarts from the seed.
    clock : Clock, default=None
        Clock of the run, which is copied. None: a `StepClock`.
    horizon : float, default=None
        End of the run, at most the problem's own horizon, which is the default.
    n_initial : int, default=15
        Number of points of the initial design.
    random_state : int, RandomState, Generator or None, default=0
        Source of the design, the noise and the optimizer's random state.
    progress : bool, default=False
        Show a progress bar; needs tqdm.
    expert : callable, (X, t) -> (q,), or "problem", default=None
        Answers the questions of an optimizer with ``ask_expert``, before each query, at the points
        X (q, d) and time t. "problem" observes the problem, with noise. Ignored by other
        optimizers.

    Returns
    -------
    RunResult

    Raises
    ------
    TypeError
        An invalid problem, optimizer or expert.
    ValueError
        An invalid horizon or initial design.
    AskTellError
        The optimizer returns a query in the past.
    InvalidObservationError
        A simulated clock that does not advance, or an objective that is not finite.
    MissingExtraError
        ``progress=True`` without tqdm.

    See Also
    --------
    steps : The same run, step by step.

    Notes
    -----
    The setting is that of W-DBO appendix G.1. An optimizer with ``outcome_constraints`` is told the
    problem's outcomes, and the regret is that to the best point within the limits.

    Examples
    --------
    >>> from sktvbo import evaluation, problems
    >>> from sktvbo.optimizers import RandomSearch
    >>> problem = problems.make("eggholder", horizon=60.0)
    >>> clock = evaluation.SimulatedClock(response_time=lambda n: 0.5)
    >>> result = evaluation.run(RandomSearch(problem.domain), problem, clock=clock)
    >>> result.times[15:18]
    array([2. , 2.5, 3. ])
    """
    trial = Trial(optimizer, problem, clock, horizon, n_initial, random_state, expert)
    return record(trial, progress)


def record(trial, progress=False):
    """Run a `Trial` to its end and return its `RunResult`."""
    steps = _with_bar(trial) if progress else trial.steps()
    # The steps themselves are not stored: their surrogates are large.
    steps = [(s.time, s.x, s.y, s.seconds, s.size, s.removed) for s in steps]
    rows = [(t, x, y, trial.regret(x, t), *others) for t, x, y, *others in steps]
    columns = zip(ARRAYS.items(), zip(*rows) if rows else [()] * len(ARRAYS))
    arrays = {name: np.array(column, dtype=dtype) for (name, dtype), column in columns}
    arrays["queries"] = arrays["queries"].reshape(-1, trial.problem.domain.n_dims)
    violations = None
    if trial.problem.outcome_constraints is not None:
        violations = np.array([trial.problem.violates(x, t) for t, x, *_ in rows], dtype=bool)
    return RunResult(
        problem=trial.problem.name,
        horizon=trial.horizon,
        n_initial=trial.n_initial,
        history=_whole(getattr(trial.optimizer, "history_", {}), len(rows)),
        optimizer=trial.optimizer,
        seed=trial.seed,
        violations=violations,
        **arrays,
    )


def _whole(history, n):
    """Return columns of n rows; NaN in those that an optimizer with ``history`` has lost."""
    return {
        name: np.concatenate([np.full(n - len(column), np.nan), column])
        for name, column in history.items()
    }


def _with_bar(trial):
    """Yield the steps of a trial and show a progress bar of its time."""
    with progress_bar(total=trial.horizon, unit="t", desc=trial.problem.name) as bar:
        for step in trial.steps():
            bar.update(step.time - bar.n)
            yield step


def progress_bar(**options):
    """Return a tqdm progress bar, or raise an error that names the missing extra."""
    try:
        from tqdm.auto import tqdm
    except ImportError as exc:
        raise MissingExtraError(
            "progress=True needs tqdm: pip install 'sktvbo[progress]', or use progress=False."
        ) from exc
    return tqdm(**options)


# --- steps ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Step:
    """Query of a run, recorded after the optimizer was told its observation.

    Attributes
    ----------
    time : float
        Time of the query.
    x : ndarray of shape (d,)
        Point of the query.
    y : float
        Noisy value told to the optimizer.
    seconds : float
        Measured seconds of ask and tell; of tell alone for the initial design.
    size : int
        Number of observations in the optimizer's data set.
    removed : int
        Number of observations removed so far.
    initial : bool
        True for a query of the initial design.
    surrogate : estimator or None
        The optimizer's ``belief_``, or ``surrogate_``, before the observation, with which the query
        was made; None without a model.
    optimizer : estimator
        The optimizer of the run, which changes when the run continues.

    Notes
    -----
    A surrogate may hold arrays of n² numbers: store only the needed fields of a step.
    """

    time: float
    x: np.ndarray
    y: float
    seconds: float
    size: int
    removed: int
    initial: bool
    surrogate: Any
    optimizer: Any


def steps(
    optimizer: OptimizerLike,
    problem: Problem,
    clock: Clock | None = None,
    horizon: float | None = None,
    n_initial: int = 15,
    random_state: RandomState = 0,
    *,
    expert: Expert | None = None,
) -> Iterator[Step]:
    """Yield the steps of a run, one by one.

    `run` collects this generator in a result; with the same arguments both make the same run. Here
    the caller sees each step as it happens and may stop at any time. The caller's work between two
    steps takes no simulated time, except on a `WallClock` or a `ThinkingClock`.

    Parameters
    ----------
    optimizer : Optimizer or function
        As in `run`.
    problem : Problem
        As in `run`.
    clock : Clock, default=None
        As in `run`; None is a `StepClock`.
    horizon : float, default=None
        As in `run`; None is the horizon of the problem.
    n_initial : int, default=15
        As in `run`.
    random_state : int, RandomState, Generator or None, default=0
        As in `run`.
    expert : callable, (X, t) -> (q,), or "problem", default=None
        As in `run`.

    Returns
    -------
    generator of Step
        Each step is yielded after the optimizer was told its observation. Between steps, the caller
        may inspect the optimizer or ask it for a recommendation.

    Raises
    ------
    TypeError, ValueError
        Invalid arguments, raised before the first step; see `run`.
    InvalidObservationError, AskTellError
        Raised during the run; see `run`.

    Examples
    --------
    Stop at the first removal of an observation:

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
    """State of a run: seeded copies of its arguments, and its present time.

    Parameters
    ----------
    optimizer, problem, clock, horizon, n_initial, random_state, expert
        See `run`.

    Attributes
    ----------
    optimizer, problem, clock
        Copies, which the run changes.
    horizon : float
    n_initial : int
    seed : int or None
        The ``random_state``, if it was a number.
    now : float or None
        Time of the present action, also if it has failed; None before the first step.
    """

    def __init__(self, optimizer, problem, clock, horizon, n_initial, random_state, expert):
        check_optimizer(optimizer)
        check_problem(problem)
        self.horizon = check_horizon(horizon, problem)
        check_run_options(n_initial, expert)
        self.n_initial = int(n_initial)
        self.seed = int(random_state) if isinstance(random_state, int | np.integer) else None
        design_seed, noise_seed, optimizer_seed = random_seeds(random_state, 3)
        self.clock = StepClock() if clock is None else copy_clock(clock)
        self.problem = deepcopy(problem).seed(noise_seed)
        self.optimizer = copy_optimizer(optimizer, self.problem.domain, optimizer_seed)
        self.now = None
        self._expert = expert if hasattr(self.optimizer, "ask_expert") else None
        design = np.random.RandomState(design_seed)
        times, self._start = self.clock.initial_times(self.n_initial, self.horizon, design)
        points = self.problem.domain.sample(self.n_initial, design)
        self._design = list(zip(points, times.tolist()))

    def steps(self):
        """Yield the steps, as `Step`. Call once only."""
        for n, (x, t) in enumerate(self._design, 1):
            self.now = t
            yield self._tell(x, 0.0, n, initial=True)
        self.clock.start(self._start)
        for n in itertools.count(self.n_initial + 1):
            self.now = self.clock.now()
            if self.now >= self.horizon:
                return
            size = surrogate_size(self.optimizer)
            x, not_before, query, seconds = self._ask()
            if not_before >= self.horizon:
                return
            answered = self.clock.answer(size, not_before)
            if answered >= self.horizon:
                return
            self.now = answered
            step = self._tell(x, seconds, n, initial=False, query=query)
            self.clock.told()
            yield step

    def regret(self, x, t):
        """Return the noise-free regret of a query.

        Call it after the run: searching the optimum takes time, which a wall clock would charge to
        the optimizer.
        """
        self.now = t
        return self._check_finite(self.problem.optimum(t)[1] - self.problem.value(x, t), x)

    def _ask(self):
        """Return a point, its earliest time, its query or None, and the seconds taken."""
        t = self.now
        tic = perf_counter()
        places = () if self._expert is None else self.optimizer.ask_expert(t)
        if len(places):
            if callable(self._expert):
                answers = self._expert(places, t)
            else:
                answers = [self.problem.observe(x, t) for x in places]
            self.optimizer.tell_expert(places, answers, t)
        x, not_before, query = next_query(self.optimizer, t)
        seconds = perf_counter() - tic
        # A relative difference below 1e-9 is a rounding error.
        if not not_before >= t - 1e-9 * max(1.0, t):
            raise invalid(
                "The time of the query that suggest(t) returns",
                "at least t",
                got=f"{not_before} for t={t}",
                error=AskTellError,
            )
        return x, not_before, query, seconds

    def _tell(self, x, seconds, n, initial, query=None):
        """Observe the n-th value at the present time, tell it, and return the step."""
        optimizer, t = self.optimizer, self.now
        x = self.problem.domain.validate_point(x)
        y = self._check_finite(self.problem.observe(x, t), x)
        surrogate, known = surrogate_of(optimizer), {}
        limits = getattr(optimizer, "outcome_constraints", None)
        if limits:
            outcomes = self.problem.observe_outcomes(x, t)
            known = {"outcomes": {name: outcomes[name] for name in outcomes if name in limits}}
        tic = perf_counter()
        optimizer.tell(x.copy() if query is None else query, y, t, **known)
        seconds += perf_counter() - tic
        size = len(optimizer.X_) if hasattr(optimizer, "X_") else n
        removed = getattr(optimizer, "n_removed_", 0)
        return Step(t, x, y, seconds, size, removed, initial, surrogate, optimizer)

    def _check_finite(self, value, x):
        """Return a value or regret at the present time, or raise an error if it is not finite."""
        if not math.isfinite(value):
            raise invalid_observation(
                f"The values and optima of {self.problem.name!r}",
                "finite",
                got=f"{value} at x={x.tolist()}, t={self.now:g}",
            )
        return value
