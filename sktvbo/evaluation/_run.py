"""A whole run, recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..exceptions import MissingExtraError
from ._results import RunResult
from ._steps import Trial

if TYPE_CHECKING:
    from .._typing import RandomState
    from ..problems import Problem
    from ._clocks import Clock
    from ._contestants import Contestant, Expert


def run(
    optimizer: Contestant,
    problem: Problem,
    clock: Clock | None = None,
    horizon: float | None = None,
    n_initial: int = 15,
    random_state: RandomState = 0,
    progress: bool = False,
    *,
    expert: Expert | None = None,
) -> RunResult:
    """Let an optimizer loose on a problem and record its regret.

    An initial design, uniform in the domain and the same for all optimizers under the same seed,
    is told before the clock starts. Then, until the horizon: ask, observe at the time when the
    answer arrives, tell. A query that would happen at the horizon or later is not made.

    Parameters
    ----------
    optimizer : AskTell, or function (domain, random_state) that makes one
        An optimizer of this package or, see `AskTell`, another. It is cloned; the clone gets the
        problem's domain, a random state derived from the seed, and ``maximize=True``.
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
    expert : callable, (X, t) -> (q,), or "problem", default=None
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
    AskTellError
        The optimizer wants to query the past.
    InvalidObservationError
        A simulated clock on which time stands still; an objective that is not finite.
    MissingExtraError
        ``progress=True`` without tqdm.

    See Also
    --------
    steps : The same, step by step.

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
    """The `RunResult` of a `Trial`, run to its end."""
    steps = _with_bar(trial) if progress else trial.steps()
    # A step's surrogate is large, and is not kept.
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
    """Yield a trial's steps under a bar of its time."""
    with progress_bar(total=trial.horizon, unit="t", desc=trial.problem.name) as bar:
        for step in trial.steps():
            bar.update(step.time - bar.n)
            yield step


def progress_bar(**options):
    """A tqdm bar, or an error that says which extra is missing."""
    try:
        from tqdm.auto import tqdm
    except ImportError as exc:
        raise MissingExtraError(
            "progress=True needs tqdm: pip install 'sktvbo[progress]', or use progress=False."
        ) from exc
    return tqdm(**options)
