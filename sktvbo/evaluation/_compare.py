"""Comparison of several optimizers on several problems, replicated in parallel."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Literal, TypeAlias

from joblib import Parallel, delayed, effective_n_jobs

from .._validation import check_choice, check_int, invalid
from .._warnings import warn_caller
from ..exceptions import OverconfidenceWarning
from ..problems import Problem
from ._arguments import check_horizon, check_run_options, random_seeds
from ._clocks import Clock
from ._comparison import Comparison, Failure, record_failure
from ._optimizer import check_optimizer
from ._problems import Fresh, is_factory, make_problem, named_problems
from ._run import Trial, progress_bar, record

if TYPE_CHECKING:
    from .._typing import RandomState
    from ._optimizer import Expert, OptimizerLike

# A problem, or a function of a replication's seed that makes one.
Member: TypeAlias = Problem | Callable[[int], Problem]
Problems: TypeAlias = Mapping[str, Member] | Sequence[Problem | Fresh | Mapping[str, Member]]


def compare(
    optimizers: Mapping[str, OptimizerLike],
    problems: Problems,
    n_replications: int = 10,
    *,
    clock: Clock | None = None,
    horizon: float | None = None,
    n_initial: int = 15,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: bool = False,
    keep_optimizers: bool = False,
    expert: Expert | None = None,
    on_error: Literal["report", "raise"] = "report",
    seeds: Sequence[int] | None = None,
) -> Comparison:
    """Run every optimizer on every problem, several times, in parallel.

    In a replication, all optimizers start from the same initial design and seed. The results do not
    depend on ``n_jobs`` or on joblib's backend, except on a `WallClock`.

    Parameters
    ----------
    optimizers : dict of str to Optimizer or function
        The algorithms by name. Anything with the two methods of `Optimizer` is accepted.
    problems : list or dict
        A list of problems with distinct names, of `Fresh` problems and of dicts; or one dict. A
        dict maps names to problems, or to callables that make a problem from a replication's seed.
    n_replications : int, default=10
    clock : Clock, default=None
        As in `run`; each replication has its own copy.
    horizon : float, default=None
        As in `run`; None is the horizon of the problem.
    n_initial : int, default=15
        As in `run`: number of observations that all algorithms are told first.
    random_state : int, RandomState, Generator or None, default=0
        Source of the replications' seeds. The first seeds do not depend on their number.
    n_jobs : int, default=None
        Number of parallel jobs, as in joblib; `joblib.parallel_config` selects the backend, also a
        cluster. Parallel jobs share the machine, which affects a `WallClock`.
    progress : bool, default=False
        Show a progress bar; needs tqdm.
    keep_optimizers : bool, default=False
        Keep the final optimizers in the results, which makes the results large.
    expert : callable, (X, t) -> (q,), or "problem", default=None
        See `run`.
    on_error : {"report", "raise"}, default="report"
        "report": continue after a failed run, warn at the end and list it in ``failures``.
        "raise": stop at once and raise the error of the run.
    seeds : list of int, default=None
        Seeds of the replications, in place of ``n_replications`` drawn from ``random_state``.

    Returns
    -------
    Comparison

    Raises
    ------
    TypeError
        An invalid problem or optimizer, or optimizers without names.
    ValueError
        No optimizer or problem, two problems of the same name, or an invalid option. With
        ``on_error="raise"``, any error of a run.
    MissingExtraError
        ``progress=True`` without tqdm.

    Warns
    -----
    UserWarning
        Runs have failed.

    Notes
    -----
    When a worker process is killed, for lack of memory for example, joblib stops. Finished runs are
    kept and the others are reported as failures.

    Examples
    --------
    >>> from sktvbo import evaluation, problems
    >>> from sktvbo.optimizers import RandomSearch
    >>> problem = problems.make("six-hump-camel", horizon=30.0)
    >>> table = evaluation.compare(
    ...     {"random": RandomSearch(problem.domain)}, [problem], n_replications=2
    ... )
    >>> table.summary()[0]["n_replications"]
    2
    """
    problems = named_problems(problems)
    options = {"clock": clock, "horizon": horizon, "n_initial": n_initial, "expert": expert}
    _check(optimizers, problems, options)
    check_choice(on_error, ("report", "raise"), "on_error")
    effective_n_jobs(n_jobs)  # raises an error for an invalid number
    if seeds is None:
        seeds = random_seeds(random_state, check_int(n_replications, "n_replications"))
    else:
        seeds = [check_int(seed, f"seeds[{i}]", low=0) for i, seed in enumerate(seeds)]
    if not seeds:
        raise invalid("seeds", "None or a list of at least one seed", seeds)

    keys = [(a, p, seed) for a in optimizers for p in problems for seed in seeds]
    outcomes = [None] * len(keys)
    calls = [
        delayed(_attempt)(
            i, key, optimizers[key[0]], problems[key[1]], options, keep_optimizers, on_error
        )
        for i, key in enumerate(keys)
    ]
    bar = progress_bar(total=len(keys), unit="run") if progress else nullcontext()
    with bar, closing(_outcomes(calls, keys, n_jobs, on_error)) as arriving:
        for i, outcome in arriving:
            outcomes[i] = outcome
            if progress:
                bar.update()

    results = {key[:2]: [] for key in keys}
    failures = []
    for key, outcome in zip(keys, outcomes):
        (failures if isinstance(outcome, Failure) else results[key[:2]]).append(outcome)
    if failures:
        warn_caller(
            f"{len(failures)} of {len(keys)} runs failed, see the comparison's failures. The "
            f"first: {failures[0]}",
        )
    return Comparison(results, failures)


def _check(optimizers, problems, options):
    """Raise an error unless these can be compared."""
    if not isinstance(optimizers, Mapping):
        raise invalid("optimizers", "a dict of name to optimizer", optimizers, error=TypeError)
    for name, optimizer in optimizers.items():
        check_optimizer(optimizer, f"optimizers[{name!r}]")
    if not optimizers or not problems:
        got = f"{len(optimizers)} and {len(problems)}"
        raise invalid("The numbers of optimizers and of problems", "at least 1", got=got)
    check_run_options(options["n_initial"], options["expert"])
    for problem in problems.values():
        if not is_factory(problem):
            check_horizon(options["horizon"], problem)


def _attempt(i, key, optimizer, problem, options, keep_optimizer, on_error):
    """Return i and the result of the i-th run, or its failure if failures are reported."""
    _, name, seed = key
    trial = None
    try:
        trial = Trial(optimizer, make_problem(problem, name, seed), random_state=seed, **options)
        with warnings.catch_warnings():
            # Some algorithms of a comparison have a model that does not suit the problem.
            warnings.simplefilter("ignore", OverconfidenceWarning)
            result = record(trial)
    except Exception as exc:
        if on_error == "raise":
            exc.add_note("In the run of {!r} on {!r} with random_state={}.".format(*key))
            raise
        return i, record_failure(exc, *key, time=None if trial is None else trial.now)
    if not keep_optimizer:
        result.optimizer = None
    return i, result


def _outcomes(calls, keys, n_jobs, on_error):
    """Yield the return values of the calls, then failures of the calls without one."""
    waiting = dict(enumerate(keys))
    try:
        for i, outcome in _arriving(calls, n_jobs):
            del waiting[i]
            yield i, outcome
    except Exception as exc:
        # Runs report their own errors: this one is of joblib or of the cluster.
        if on_error == "raise":
            raise
        message = f"{exc} (The run was not finished; it need not be the cause.)"
        for i, key in waiting.items():
            yield i, record_failure(exc, *key, message=message)


def _arriving(calls, n_jobs):
    """Yield the return values of the calls in the order of completion."""
    try:
        # With larger batches, a finished run would wait for the others of its batch.
        parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    except ValueError:
        # The backend returns all results at the end, as Spark does: run in rounds of n_jobs.
        size = effective_n_jobs(n_jobs)
        for start in range(0, len(calls), size):
            yield from Parallel(n_jobs=n_jobs)(calls[start : start + size])
    else:
        yield from parallel(calls)
