"""Recorded runs of an optimizer on a problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..exceptions import MissingExtraError
from ._results import RunResult
from ._steps import Trial

if TYPE_CHECKING:
    from .._typing import RandomState
    from ..problems import Problem
    from ._ask_tell import Expert, OptimizerLike
    from ._clocks import Clock


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
    optimizer : AskTell, or function (domain, random_state) that makes one
        An optimizer of this package, or any other `AskTell`. It is cloned. The clone gets the
        problem's domain, a random state derived from the seed, and ``maximize=True``.
    problem : Problem
        Copied; the noise of the copy restarts from the seed.
    clock : Clock, default=None
        Clock of the run, which is copied. None: a `StepClock`.
    horizon : float, default=None
        End of the run, at most the problem's own horizon, which is the default.
    n_initial : int, default=15
        Number of points of the initial design.
    random_state : int, RandomState or None, default=0
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
    trial = Trial(optimizer, problem, clock, horizon, n_initial, random_state, expert)
    return record(trial, progress)


def record(trial, progress=False):
    """Run a `Trial` to its end and return its `RunResult`."""
    steps = _with_bar(trial) if progress else trial.steps()
    # The steps themselves are not stored: their surrogates are large.
    rows = [(s.time, s.x, s.y, s.seconds, s.size, s.removed) for s in steps]
    regrets = [trial.regret(x, t) for t, x, *_ in rows]
    times, queries, observations, seconds, sizes, removed = zip(*rows) if rows else [()] * 6
    return RunResult(
        problem=trial.problem.name,
        horizon=trial.horizon,
        n_initial=trial.n_initial,
        times=np.array(times, dtype=np.float64),
        queries=np.array(queries, dtype=np.float64).reshape(-1, trial.problem.domain.n_dims),
        observations=np.array(observations, dtype=np.float64),
        regrets=np.array(regrets, dtype=np.float64),
        response_times=np.array(seconds, dtype=np.float64),
        dataset_sizes=np.array(sizes, dtype=np.intp),
        removed_counts=np.array(removed, dtype=np.intp),
        history=dict(getattr(trial.optimizer, "history_", {})),
        optimizer=trial.optimizer,
        seed=trial.seed,
    )


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
