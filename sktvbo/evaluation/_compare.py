"""Several optimizers on several problems, replicated in parallel."""

import warnings
from collections.abc import Mapping
from contextlib import closing, nullcontext
from importlib.metadata import version

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils import check_random_state

from ._comparison import Comparison, Failure, record_failure
from ._problems import is_factory, make_problem, named_problems
from ._results import RunResult
from ._run import check_horizon, check_options, progress_bar, run
from ._store import Store, describe, describe_optimizer

__all__ = ["compare"]


def compare(
    optimizers,
    problems,
    n_replications=10,
    *,
    clock=None,
    horizon=None,
    n_initial=15,
    random_state=0,
    n_jobs=None,
    progress=False,
    keep_optimizers=False,
    expert=None,
    store=None,
    on_error="report",
):
    """Run every optimizer on every problem, several times, in parallel.

    In one replication all optimizers start from the same initial design and seeds. The results
    do not depend on ``n_jobs`` or on joblib's backend, except on a `WallClock`.

    Parameters
    ----------
    optimizers : dict of str to estimator
        The algorithms by name.
    problems : list or dict
        A list of problems with distinct names, of `Fresh` ones, which are another function in each
        replication, and of dicts; or one dict. A dict has, by name, problems and callables that
        take a replication's seed and return its problem.
    n_replications : int, default=10
    clock, horizon, n_initial
        See `run`.
    random_state : int, RandomState or None, default=0
        The replications' seeds are drawn from it; the first ones do not depend on how many follow.
    n_jobs : int, default=None
        Parallel jobs, as in joblib; `joblib.parallel_config` chooses the backend, a cluster's
        too. Jobs in parallel share the machine, which a `WallClock` notices.
    progress : bool, default=False
        Show a bar; needs tqdm.
    keep_optimizers : bool, default=False
        Keep the optimizers' final states in the results, which makes them heavy.
    expert : callable (X, t) -> (q,), or "problem", default=None
        See `run`.
    store : path-like, default=None
        Folder in which every finished run is kept as a JSON file as soon as it arrives. The same
        call, after whatever has stopped it, takes these and makes only the others; so does a call
        with more algorithms, problems or replications. Failed runs are not kept: they are tried
        again. Only the calling process writes.
    on_error : {"report", "raise"}, default="report"
        What to do when a run fails. "report": go on, warn at the end and list it in
        ``failures``, since one run in a thousand should not cost the others. "raise": stop at once
        and raise what the run has raised.

    Returns
    -------
    Comparison

    Raises
    ------
    TypeError
        Something that is not a problem, or not an optimizer, or optimizers without names.
    ValueError
        Nothing to compare, two problems of one name, or an option that makes no sense. With
        ``on_error="raise"``, whatever a run raises.
    StoreMismatchError
        The store has one of the runs with other settings: another parameter, option, clock,
        problem or version of this package.
    StoreError
        The store cannot be written. What it holds stays.
    MissingExtraError
        ``progress=True`` without tqdm.

    Warns
    -----
    UserWarning
        Runs have failed, or the store has files that hold no run, which is then made again.

    Notes
    -----
    Settings that differ are refused, not run anew under another key: they are more often a slip
    than a wish, and tables must not mix them. Functions among them (a clock's response time, an
    objective) are compared by their code and the constants they close over, not by the other
    functions and variables that they use.

    When a worker process is killed, by a lack of memory for example, joblib stops. The runs that
    have arrived are kept and the others are reported; with a store, the same call makes them.

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
    _check_optimizers(optimizers)
    if not optimizers or not problems:
        raise ValueError(
            f"compare needs at least one optimizer and one problem, got {len(optimizers)} and "
            f"{len(problems)}."
        )
    if not isinstance(n_replications, int | np.integer) or n_replications < 1:
        raise ValueError(f"n_replications must be a whole number >= 1, got {n_replications!r}.")
    if on_error not in ("report", "raise"):
        raise ValueError(f"on_error must be 'report' or 'raise', got {on_error!r}.")
    check_options(n_initial, expert)
    for problem in problems.values():
        if not is_factory(problem):
            check_horizon(horizon, problem)
    if store is not None and (keep_optimizers or random_state is None):
        raise ValueError(
            "store needs a random_state, which gives the same seeds again, and keeps no "
            f"optimizers; got random_state={random_state!r}, keep_optimizers={keep_optimizers!r}."
        )
    effective_n_jobs(n_jobs)  # raises when it makes no sense

    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_replications)
    keys = [(a, p, seed) for a in optimizers for p in problems for seed in seeds.tolist()]
    outcomes = [None] * len(keys)
    options = {"clock": clock, "horizon": horizon, "n_initial": n_initial, "expert": expert}
    if store is not None:
        store = Store(store)
        settings = _settings(optimizers, problems, options)
        outcomes = [store.load(*key, settings[key[:2]]) for key in keys]
    missing = {i: key for i, key in enumerate(keys) if outcomes[i] is None}
    calls = [
        delayed(_attempt)(
            i, key, optimizers[key[0]], problems[key[1]], options, keep_optimizers, on_error
        )
        for i, key in missing.items()
    ]
    bar = nullcontext()
    if progress:
        bar = progress_bar(total=len(keys), initial=len(keys) - len(missing), unit="run")
    with bar, closing(_outcomes(calls, missing, n_jobs, on_error)) as arriving:
        for i, outcome in arriving:
            outcomes[i] = outcome
            if store is not None and isinstance(outcome, RunResult):
                store.save(*keys[i], settings[keys[i][:2]], outcome)
            if progress:
                bar.update()

    results = {key[:2]: [] for key in keys}
    failures = []
    for key, outcome in zip(keys, outcomes):
        (failures if isinstance(outcome, Failure) else results[key[:2]]).append(outcome)
    if failures:
        warnings.warn(
            f"{len(failures)} of {len(keys)} runs failed, see the comparison's failures. The "
            f"first: {failures[0]}",
            stacklevel=2,
        )
    return Comparison(results, failures)


def _attempt(i, key, optimizer, problem, options, keep_optimizer, on_error):
    """The i-th run's place and result, or failure where failures are reported."""
    _, name, seed = key
    try:
        result = run(optimizer, make_problem(problem, name, seed), random_state=seed, **options)
    except Exception as exc:
        if on_error == "raise":
            exc.add_note("In the run of {!r} on {!r} with random_state={}.".format(*key))
            raise
        return i, record_failure(exc, *key)
    if not keep_optimizer:
        result.optimizer = None
    return i, result


def _outcomes(calls, keys, n_jobs, on_error):
    """Yield what the calls return, and failures of those that do not."""
    waiting = dict(keys)
    try:
        for i, outcome in _arriving(calls, n_jobs):
            del waiting[i]
            yield i, outcome
    except Exception as exc:
        # Runs report their own errors: this one is joblib's, or the cluster's.
        if on_error == "raise":
            raise
        message = f"{exc} (The run had not arrived; it need not be the cause.)"
        for i, key in waiting.items():
            yield i, record_failure(exc, *key, message)


def _arriving(calls, n_jobs):
    """Yield what the calls return, as it arrives."""
    try:
        # A batch would withhold a finished run until the others of the batch are finished too.
        parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    except ValueError:
        # The backend returns everything at the end, as Spark's does: rounds end sooner.
        size = effective_n_jobs(n_jobs)
        for start in range(0, len(calls), size):
            yield from Parallel(n_jobs=n_jobs)(calls[start : start + size])
    else:
        yield from parallel(calls)


def _check_optimizers(optimizers):
    if not isinstance(optimizers, Mapping):
        raise TypeError(
            f"optimizers must be a dict of name to optimizer, got {type(optimizers).__name__}."
        )
    for name, optimizer in optimizers.items():
        known = all(hasattr(optimizer, method) for method in ("ask", "tell", "get_params"))
        if not known or isinstance(optimizer, type):
            raise TypeError(
                f"{name!r} must be an ask/tell optimizer that is a scikit-learn estimator, such "
                f"as sktvbo.WDBO(), got {optimizer!r}."
            )


def _settings(optimizers, problems, options):
    """All that a run depends on besides its seed, by (algorithm, problem)."""
    common = {"version": version("sktvbo"), **describe(options)}
    by_optimizer = {name: describe_optimizer(optimizer) for name, optimizer in optimizers.items()}
    by_problem = {name: describe(problem) for name, problem in problems.items()}
    return {
        (a, p): {"optimizer": by_optimizer[a], "problem": by_problem[p], **common}
        for a in optimizers
        for p in problems
    }
