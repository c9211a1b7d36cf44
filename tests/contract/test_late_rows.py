"""Late observations trigger nothing, whatever the policy and however they are told.

The function jumps at time 12, and policies reset. Of two batches, from before the reset and from
after it, one query is answered at the end: the first by the value of its time, the second by one
that contradicts everything.
"""

import copy
import functools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo import ABO, BRGPUCB, ETGPUCB, RGPUCB, BayesianOptimizer, Journal, SparQGPUCB
from sktvbo.staleness import (
    EventTriggeredReset,
    KeepAll,
    MaximumSize,
    PeriodicReset,
    RelevancyBudget,
    RelevancyCap,
    SlidingWindow,
    StaleDataPolicy,
)

BOX, N, OLD, JUMP, LATE = [(0.0, 1.0)], 20, 8.0, 12.0, 17.0


class OwnReset(StaleDataPolicy):
    """Reset by an observation that is far from its prediction."""

    n_resets_ = 0

    def is_far(self, surrogate, x, t, y):
        is_far = abs(y - surrogate.posterior_at(t)(x[np.newaxis])[0][0]) > 12.0
        self.n_resets_ += is_far
        return is_far

    def before_add(self, surrogate, x, t, y):
        return np.full(len(surrogate.X_train_), self.is_far(surrogate, x, t, y))

    def record(self):
        return {"n_resets": self.n_resets_}


class OwnOutcome(OwnReset):
    """Reset by an outcome."""

    before_add = StaleDataPolicy.before_add

    def before_outcome(self, surrogate, x, t, value):
        return self.is_far(surrogate, x, t, value)


class OwnLast(OwnReset):
    """Drop all but the last row, if that is far from the one before it."""

    before_add = StaleDataPolicy.before_add

    def after_add(self, surrogate, now):
        y = surrogate.y_train_
        is_far = len(y) > 1 and abs(y[-1] - y[-2]) > 12.0
        self.n_resets_ += is_far
        return np.arange(len(y) - 1) if is_far else []


def composed(policy, **options):
    return BayesianOptimizer, {"policy": policy, **options}


# With 18 observations on time, the blocks of 6 are full.
RESETS = {
    "event": composed(EventTriggeredReset()),
    "period": composed(PeriodicReset(6)),
    "of the prior": composed(PeriodicReset(6, from_prior=True)),
    "own": composed(OwnReset()),
    "own outcome": composed(OwnOutcome()),
    "ETGPUCB": (ETGPUCB, {}),
    "RGPUCB": (RGPUCB, {"reset_period": 6}),
    "BRGPUCB": (BRGPUCB, {"reset_period": 6}),
}
OTHERS = {
    "keep-all": (composed(KeepAll()), N),
    "window": (composed(SlidingWindow(9)), 9),
    "window of 1": (composed(SlidingWindow(1)), 1),
    "budget": (composed(RelevancyBudget(1.0, min_size=4)), N),
    "cap": (composed(RelevancyCap(9)), 9),
    "maximum": (composed(MaximumSize(9)), 9),
    "own last": (composed(OwnLast()), N),
    "RGPUCB-auto": ((RGPUCB, {}), N),
    "ABO": ((ABO, {}), N),
    "SparQGPUCB": ((SparQGPUCB, {}), N),
}
LIMITED = {"outcome_constraints": {"load": (None, 100.0)}}


def truth(x, t):
    return float(np.sin(6.0 * x[0]) + 20.0 * (t >= JUMP))


def begun(kind, options, **others):
    """A run, and the two handles that are not answered."""
    common = {"n_initial_points": 4, "refit_every": 5, "random_state": 0, "query_timeout": None}
    opt, left, rng = kind(BOX, **common | options | others), [], np.random.RandomState(0)
    for t in np.arange(float(N)):
        if t in (OLD, LATE):
            first, second = opt.suggest(t, n=2)
            opt.cancel(first)
            left.append(second)
        else:
            x = rng.uniform(size=1)
            tell(opt, x, truth(x, t), t)
    return opt, left


@functools.cache
def known(name, limited):
    kind, options = RESETS[name] if name in RESETS else OTHERS[name][0]
    return begun(kind, options, **(LIMITED if limited else {}))


def tell(opt, x, y, t=None):
    measured = {"outcomes": {"load": y}} if opt.outcome_constraints else {}
    opt.tell(x, y, t, **measured)


def told_at_once(opt, queries, y):
    measured = {"outcomes": {"load": y}} if opt.outcome_constraints else {}
    opt.tell_many(queries, y, **measured)
    return opt


def told_one_by_one(opt, queries, y):
    for query, value in zip(queries, y):
        tell(opt, query, value)
    return opt


def told_by_place(opt, queries, y):
    for query, value in zip(queries, y):
        tell(opt, query.x, value, query.t)
    return opt


def told_after_json(opt, queries, y):
    return told_one_by_one(again(opt), queries, y)


def again(opt):
    own = {"policy": opt.policy} if type(opt.policy).__module__ == __name__ else {}
    return type(opt).from_json(opt.to_json(), **own)


def events(opt):
    return opt.history_["n_resets"][-1] if "n_resets" in opt.history_ else None


def check_counts(opt, queries):
    told = opt.told_X_.tolist()
    assert [[*query.x, query.t] in told for query in queries] == [True, True]
    assert opt.n_told_ == N == len(told)
    assert np.isnan(opt.removed_at_).sum() == len(opt.y_) == opt.n_told_ - opt.n_removed_
    assert sorted(opt.X_[:, -1]) == sorted(opt.told_X_[np.isnan(opt.removed_at_), -1])


# Ways, and whether an outcome is told as well.
SLOW = [pytest.param(way, True, marks=pytest.mark.slow) for way in (told_at_once, told_after_json)]
EVERY_WAY = pytest.mark.parametrize(
    ("way", "limited"),
    [(told_one_by_one, True), (told_at_once, False), (told_by_place, False), *SLOW],
)


@EVERY_WAY
@pytest.mark.parametrize("name", RESETS)
def test_what_is_older_than_a_reset_is_history_and_what_is_late_resets_nothing(name, way, limited):
    opt, queries = copy.deepcopy(known(name, limited or name == "own outcome"))
    rows, n_resets, resets = opt.X_, events(opt), np.diff(opt.history_["n_resets"], prepend=0.0)
    assert OLD < opt.told_X_[np.flatnonzero(resets)[-1], -1] <= LATE
    opt = way(opt, queries, [truth(queries[0].x, OLD), -40.0])
    assert events(opt) == n_resets
    assert_array_equal(opt.X_, [*rows, [*queries[1].x, LATE]])
    check_counts(opt, queries)
    assert opt.removed_at_[opt.told_X_[:, -1] == OLD].tolist() == [N - 1.0]
    # Blocks are full: the next observation on time opens another one.
    tell(opt, [0.5], truth([0.5], N), float(N))
    assert events(opt) == n_resets + hasattr(opt.policy_, "period_")


@EVERY_WAY
@pytest.mark.parametrize("name", OTHERS)
def test_a_late_row_takes_the_place_of_no_newer_one(name, way, limited):
    opt, queries = copy.deepcopy(known(name, limited))
    largest = OTHERS[name][1]
    newest, n_resets = opt.X_[-1].tolist(), events(opt)
    opt = way(opt, queries, [truth(queries[0].x, OLD), -40.0])
    assert newest in opt.X_.tolist()
    assert events(opt) == n_resets
    assert len(opt.X_) <= largest
    check_counts(opt, queries)


@pytest.mark.parametrize("name", ["event", "own outcome", "BRGPUCB"])
def test_a_run_that_is_resumed_or_copied_knows_its_resets(name, tmp_path):
    kind, options = RESETS[name]
    opt, queries = begun(kind, options, journal=tmp_path / "run", **LIMITED)
    rows, n_resets = opt.X_, events(opt)
    opt.close()
    journal = Journal(tmp_path / "run", resume=True)
    resumed = kind(**opt.get_params(deep=False) | {"journal": journal})
    for each in (again(resumed), resumed):
        told_one_by_one(each, queries, [truth(queries[0].x, OLD), -40.0])
        assert events(each) == n_resets
        assert_array_equal(each.X_, [*rows, [*queries[1].x, LATE]])


def test_a_policy_may_want_late_rows():
    class Wanting(OwnReset):
        wants_late_rows = True

    opt, (_, late) = begun(*composed(Wanting()))
    n_resets = events(opt)
    opt.tell(late, -40.0)
    assert events(opt) == n_resets + 1
    assert opt.X_.tolist() == [[*late.x, LATE]]


def test_a_reset_that_is_taken_back_is_none():
    opt, (old, late) = begun(*RESETS["event"])
    rows = opt.X_
    opt.tell([0.5], -40.0, float(N))
    assert opt.X_.tolist() == [[0.5, N]]
    opt.untell()
    assert_array_equal(opt.X_, rows)
    opt.tell(late, 20.0)  # since the reset before
    opt.tell(old, 0.0)
    assert_array_equal(opt.X_, [*rows, [*late.x, LATE]])
    while len(opt.X_) < 10:  # all of the block, with its first row
        opt.untell()
    opt.tell([0.4], 0.0, OLD)
    assert opt.X_[-1].tolist() == [0.4, OLD]
