"""Many observations at once, one taken back, and those of long ago: what they make of a run."""

import numpy as np

from .._values import replaced
from ._queries import Query, at_latest

# Hyperparameters are learnt from at most this many of the observations, the latest.
_MAX_LEARNT = 1000


def with_many(run, observations):
    """The run with observations (x, y, t, variance, query), in the order of time.

    y is None of a measurement that failed. The hyperparameters are learnt once, of all. Then the
    observations are added one by one with these, so that the policy sees each as if it had been
    told by itself. Returned with the run is what the log has of them, a list of Told, and of rows
    (d + 1,) that failed.
    """
    entries = []

    def observe(run, observation, **options):
        x, y, t, _, query = observation
        if y is None:
            entries.append(np.append(x, t))
            return run.after_failing(x, t, query)
        after = run.after_observing(*observation, **options)
        entries.append(after.told[-1])
        return after

    # The last one that is needed makes the first surrogate.
    measured = [i for i, (_, y, *_) in enumerate(observations) if y is not None]
    needed = max(run.n_initial - len(run.kept) - 1, 0) if run.surrogate is None else 0
    before = measured[needed] if needed < len(measured) else len(observations)
    for observation in observations[:before]:
        run = observe(run, observation)
    rest = observations[before:]
    if not rest:
        return run, entries
    learning = [observation for observation in rest if observation[1] is not None]
    learnt = _learnt(run, learning)
    searched = {"since_search": 0}
    if run.surrogate is not None and run.holds:
        searched = {"since_search": run.since_search + len(learning)}
    if run.keeps_all:
        for observation in rest:
            run = observe(run, observation, only_kept=True)
        if len(learnt.X_train_) < len(run.kept):
            learnt = _conditioned(run, learnt, run.kept)
        return replaced(run, surrogate=learnt, searched=len(run.kept), **searched), entries
    if run.surrogate is None:
        x, y, t, variance, _ = rest[0]
        kept = run.kept.append(run.told.total, np.append(x, t), y, variance)
        first = _conditioned(run, learnt, kept)
        run, rest = observe(run, rest[0], first=first), rest[1:]
    else:
        run = replaced(run, surrogate=_conditioned(run, learnt, run.kept))
    for observation in rest:
        run = observe(run, observation, held=True)
    return replaced(run, searched=len(run.kept), **searched), entries


def _learnt(run, observations):
    """A surrogate whose hyperparameters know of observations, conditioned on the data set as well.

    Of very many the latest are learnt from, and conditioned on, unless nothing is learnt.
    """
    rows = np.array([np.append(x, t) for x, _, t, *_ in observations])
    y, variances = (np.array([each[i] for each in observations]) for i in (1, 3))
    if run.surrogate is None:
        kept, total = run.kept, run.told.total
        for i, (row, value, variance) in enumerate(zip(rows, y, variances)):
            kept = kept.append(total + i, row, value, variance)
        return run.first_surrogate(kept.drop(np.arange(max(len(kept) - _MAX_LEARNT, 0))))
    if not (run.holds and run.keeps_all):
        rows, y, variances = rows[-_MAX_LEARNT:], y[-_MAX_LEARNT:], variances[-_MAX_LEARNT:]
    X, targets = run.to_surrogate(rows, y)
    known = run.some_variances(variances)
    if run.holds:
        return run.surrogate.condition_on(X, targets, *known, restandardize=True)
    kernel = run.temporal_kernel_for(np.append(run.surrogate.X_train_[:, -1], X[:, -1]))
    surrogate = run.surrogate.condition_on(X, targets, *known, restandardize=True)
    return surrogate.refit(temporal_kernel=kernel)


def _conditioned(run, learnt, kept):
    """A surrogate with the hyperparameters that were learnt, and a data set for its own."""
    X, y = run.to_surrogate(kept.rows, kept.y)
    follow = len(kept) >= run.min_to_learn
    return learnt.with_rows(X, y, *run.some_variances(kept.variance), restandardize=follow)


def without(run, position):
    """The run without the observation at a position among all that was told.

    With it goes what it did, while it is in the data set or the latest one: what was removed when
    it was told is back, as far as it is remembered. Hyperparameters are held. The policy is as it
    was before the latest observation, when it is that which is taken back.
    """
    entry, told, kept = run.told.at([position])[0], run.told, run.kept
    left = run.positions
    latest, back = position == left[-1], set()
    if latest or position in kept.positions:
        back = set(entry.removed.tolist()).intersection(left)
    kept = kept.drop(np.flatnonzero(kept.positions == position))
    for i in sorted(back.difference({position}, kept.positions.tolist())):
        other = told.at([i])[0]
        kept = kept.append(i, other.row, other.y, other.variance)
    kept = kept.of(np.argsort(kept.positions, kind="stable"))
    surrogate, policy, untold = run.surrogate, run.policy, (*run.untold, position)
    if latest and run.policy_before is not None:
        policy = run.policy_before
    if surrogate is not None:
        if not len(kept) or told.total - len(untold) < run.n_initial:
            surrogate, policy = None, run.make_policy()
        elif len(kept) != len(run.kept) or (kept.positions != run.kept.positions).any():
            surrogate = _conditioned(run, surrogate, kept)
    after = replaced(
        run,
        surrogate=surrogate,
        policy=policy,
        policy_before=None,
        kept=kept,
        untold=untold,
    )
    times = [other.row[-1] for other in after.entries] + kept.rows[:, -1:].ravel().tolist()
    if run.limiter is not None:
        gone = Query(-1, entry.row[:-1], entry.row[-1])
        after = replaced(after, limiter=run.limiter.back(after, gone))
    if run.failures is not None:
        times += run.failures.rows[:, -1].tolist()
    return at_latest(replaced(after, passed=float(max(times, default=-np.inf))))


def position_of(run, x, t, handle):
    """Position of the latest observation told at a row x (d,), or near it as float32, or None.

    ``handle`` is the id of the query that it answered, None: any; x and t may be None as well.
    """
    for position in reversed(run.positions):
        entry = run.told.at([position])[0]
        place, time = entry.row[:-1], entry.row[-1]
        here = x is None or (np.abs(place - x) <= 2.0**-23 * np.abs(place))[~np.isnan(x)].all()
        if here and t in (None, time) and handle in (None, entry.query):
            return position
    return None
