"""One optimizer, one problem, one clock: the loop that every experiment goes through."""

import math
from copy import deepcopy
from time import perf_counter

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..exceptions import AskTellError, InvalidObservationError, MissingExtraError
from ._clocks import StepClock
from ._results import RunResult

__all__ = ["run"]


def progress_bar(**options):
    """Return a tqdm bar, or say which extra is missing."""
    try:
        from tqdm.auto import tqdm
    except ImportError as exc:
        raise MissingExtraError(
            "progress=True needs tqdm: pip install 'sktvbo[progress]', or use progress=False."
        ) from exc
    return tqdm(**options)


def check_problem(problem):
    """Raise unless problem looks like a `sktvbo.problems.Problem`."""
    if not all(hasattr(problem, name) for name in ("domain", "horizon", "observe", "optimum")):
        raise TypeError(
            f"A problem must be a sktvbo.problems.Problem, got {problem!r}; "
            "use sktvbo.problems.make(name)."
        )


def check_horizon(horizon, problem):
    """Return the horizon of a run on problem, or raise."""
    if horizon is None:
        return problem.horizon
    if not 0.0 < horizon <= problem.horizon:
        raise ValueError(
            f"horizon must be in (0, {problem.horizon}], the problem's own horizon, "
            f"got {horizon!r}."
        )
    return float(horizon)


def check_options(n_initial, expert):
    """Raise unless these options of a run, which do not depend on the problem, make sense."""
    if not (expert is None or expert == "problem" or callable(expert)):
        raise TypeError(
            f"expert must be a callable (X, t) -> y, 'problem' or None, got {expert!r}."
        )
    if not isinstance(n_initial, int | np.integer) or n_initial < 0:
        raise ValueError(f"n_initial must be a whole number >= 0, got {n_initial!r}.")


def run(
    optimizer,
    problem,
    clock=None,
    horizon=None,
    n_initial=15,
    random_state=0,
    progress=False,
    *,
    expert=None,
):
    """Let an optimizer loose on a problem and record its regret.

    An initial design, uniform in the domain and the same for all optimizers under the same seed,
    is told before the clock starts. Then, until the horizon: ask, observe at the time when the
    answer arrives, tell. A query that would happen at the horizon or later is not made.

    Parameters
    ----------
    optimizer : estimator
        An ask/tell optimizer. It is cloned; the clone gets the problem's domain, a random state
        derived from the seed, and ``maximize=True``.
    problem : Problem
        It is copied; the copy's noise restarts from the seed.
    clock : Clock, default=None
        How time passes; it is copied. None: a `StepClock`.
    horizon : float, default=None
        End of the run, at most the problem's own horizon, which is the default.
    n_initial : int, default=15
        Points of the initial design.
    random_state : int, RandomState or None, default=0
        Of the design, the noise and the optimizer.
    progress : bool, default=False
        Show a bar; needs tqdm.
    expert : callable (X, t) -> (q,), or "problem", default=None
        Answers the questions of an optimizer that has ``ask_expert``, before each of its queries,
        about the places X (q, d) at time t. "problem": the problem itself, with its noise. Other
        optimizers do not notice it.

    Returns
    -------
    RunResult

    Raises
    ------
    TypeError
        Something that is not a problem, not an optimizer, or not an expert.
    ValueError
        A horizon or an initial design that makes no sense.
    InvalidObservationError
        A simulated clock on which time stands still; an objective that is not finite.
    MissingExtraError
        ``progress=True`` without tqdm.

    Notes
    -----
    The setting is that of W-DBO appendix G.1.

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
    check_problem(problem)
    horizon = check_horizon(horizon, problem)
    check_options(n_initial, expert)
    seed = int(random_state) if isinstance(random_state, int | np.integer) else None
    design_seed, noise_seed, optimizer_seed = (
        check_random_state(random_state).randint(np.iinfo(np.int32).max, size=3).tolist()
    )
    clock = StepClock() if clock is None else deepcopy(clock)
    problem = deepcopy(problem).seed(noise_seed)
    optimizer = clone(optimizer).set_params(
        domain=problem.domain, random_state=optimizer_seed, maximize=True
    )
    design = np.random.RandomState(design_seed)
    initial_times, start = clock.initial_times(n_initial, horizon, design)
    initial_points = problem.domain.sample(n_initial, design)

    rows = []

    def observe_and_tell(x, t, seconds):
        x = problem.domain.validate_point(x)
        y = _finite(problem.observe(x, t), problem, x, t)
        tic = perf_counter()
        optimizer.tell(x.copy(), y, t)
        seconds += perf_counter() - tic
        rows.append((t, x, y, seconds, len(optimizer.X_), optimizer.n_removed_))

    def consult(t):
        places = optimizer.ask_expert(t)
        if len(places):
            if expert == "problem":
                answers = [problem.observe(x, t) for x in places]
            else:
                answers = expert(places, t)
            optimizer.tell_expert(places, answers, t)

    consulting = expert is not None and hasattr(optimizer, "ask_expert")
    bar = progress_bar(total=horizon, unit="t", desc=problem.name) if progress else None
    now = 0.0
    regrets = []
    try:
        for x, now in zip(initial_points, initial_times.tolist()):
            observe_and_tell(x, now, 0.0)
        clock.start(start)
        while (now := clock.now()) < horizon:
            size = rows[-1][4] if rows else 0
            tic = perf_counter()
            if consulting:
                consult(now)
            x, not_before = optimizer.ask(now, return_time=True)
            seconds = perf_counter() - tic
            if not not_before >= now - 1e-9 * max(1.0, now):
                raise AskTellError(
                    f"ask(t, return_time=True) must return a time >= t, got {not_before} for "
                    f"t={now}."
                )
            if not_before >= horizon or (t := clock.answer(size, not_before)) >= horizon:
                break
            now = t
            observe_and_tell(x, now, seconds)
            clock.told()
            if bar is not None:
                bar.update(now - bar.n)
        # Regrets are computed after the run: the search for the optimum costs time, which a wall
        # clock would charge to the optimizer.
        for now, x, *_ in rows:
            regret = problem.optimum(now)[1] - problem.value(x, now)
            regrets.append(_finite(regret, problem, x, now))
    except Exception as exc:
        exc.failed_at = now  # for those who report it
        raise
    finally:
        if bar is not None:
            bar.close()
    times, queries, observations, seconds, sizes, removed = zip(*rows) if rows else [()] * 6
    return RunResult(
        problem=problem.name,
        horizon=horizon,
        n_initial=int(n_initial),
        times=np.array(times, dtype=np.float64),
        queries=np.array(queries, dtype=np.float64).reshape(-1, problem.domain.n_dims),
        observations=np.array(observations, dtype=np.float64),
        regrets=np.array(regrets, dtype=np.float64),
        response_times=np.array(seconds, dtype=np.float64),
        dataset_sizes=np.array(sizes, dtype=np.intp),
        removed_counts=np.array(removed, dtype=np.intp),
        history=dict(getattr(optimizer, "history_", {})),
        optimizer=optimizer,
        seed=seed,
    )


def _finite(value, problem, x, t):
    """Return a value or a regret of problem, or raise: averages and models cannot use NaN."""
    if not math.isfinite(value):
        raise InvalidObservationError(
            f"{problem.name!r} must have finite values and optima, got {value} at "
            f"x={x.tolist()}, t={t:g}."
        )
    return value
