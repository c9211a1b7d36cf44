"""One contract for every optimizer: its attributes, the order of calls, atomic steps, units."""

import inspect

import joblib
import numpy as np
import pytest
from contract.cases import (
    BOX,
    BY_NAME,
    DOMAINS,
    SHOWN,
    STEPS,
    fingerprint,
    in_turns,
    objective,
    points,
    points_of,
    space,
    timed,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from sktvbo.acquisition import ProbabilityOfImprovement
from sktvbo.domain import Box
from sktvbo.exceptions import AskTellError, InvalidObservationError


def check_books(opt, queries, case, domain):
    X = points(queries, domain)
    assert_array_equal(opt.told_X_, np.column_stack([X, np.arange(float(STEPS))]))
    assert opt.told_y_.tolist() == [objective(x, t, domain) for t, x in enumerate(queries)]
    assert all(space(domain).contains(x) for x in queries)
    assert opt.n_told_ == STEPS
    assert opt.X_.shape == (len(opt.y_), X.shape[1] + 1)
    assert opt.n_removed_ == STEPS - len(opt.X_)
    kept = np.isnan(opt.removed_at_)
    assert_array_equal(opt.told_X_[kept], opt.X_)
    assert_array_equal(opt.told_y_[kept], opt.y_)
    assert np.all(opt.removed_at_[~kept] >= opt.told_X_[~kept, -1])
    if domain == "box":
        assert (opt.n_removed_ > 0) == case.forgets


def check_history(opt, case):
    history = opt.history_
    assert tuple(history) == ("time", "n", *case.records)
    assert {column.shape for column in history.values()} == {(STEPS,)}
    assert_array_equal(history["time"], np.arange(STEPS))
    # Those told by then, without those removed by then.
    left = [np.sum(~(opt.removed_at_[: k + 1] <= time)) for k, time in enumerate(history["time"])]
    assert_array_equal(history["n"], left)
    assert history["n"][-1] == len(opt.X_)
    for name in case.records:
        assert np.isfinite(history[name][-1])
        if name != "length_scale":  # of the surrogate
            assert history[name][-1] == getattr(opt.policy_, f"{name}_")


def check_surrogate(opt, domain):
    gp = opt.surrogate_
    assert_array_equal(gp.X_train_[:, :-1], space(domain).to_unit(opt.X_[:, :-1]))
    assert_array_equal(gp.X_train_[:, -1], opt.X_[:, -1])
    assert_array_equal(gp.y_train_, opt.y_)
    assert_allclose(gp.predict(gp.X_train_), opt.y_, atol=0.5)


def test_books_history_and_surrogate_of_a_run_agree(placed):
    case, domain = placed
    opt, queries = case.after(domain=domain)
    check_books(opt, queries, case, domain)
    check_history(opt, case)
    if case.modelled:
        check_surrogate(opt, domain)


@in_turns("domain", DOMAINS)
def test_reading_begins_nothing(few, domain):
    opt = few.make(domain)
    before = joblib.hash(vars(opt))
    d = space(domain).n_dims
    assert opt.X_.shape == opt.told_X_.shape == opt.failed_X_.shape == (0, d + 1)
    assert opt.y_.shape == opt.told_y_.shape == opt.removed_at_.shape == (0,)
    assert (opt.n_told_, opt.n_removed_, opt.n_failed_, opt.history_) == (0, 0, 0, {})
    assert (opt.pending_, opt.pending_X_.shape) == ([], (0, d + 1))
    assert (opt.next_time_, opt.surrogate_, opt.belief_) == (None, None, None)
    members = dict(inspect.getmembers(opt))
    assert set(SHOWN) < set(members)
    assert type(members["policy_"]) is type(few.after(1, domain)[0].policy_)
    with pytest.raises(AskTellError, match=r"before recommend\(\) must be at least"):
        opt.recommend(0.0)
    assert joblib.hash(vars(opt)) == before


def test_an_optimizer_that_cannot_begin_has_no_attributes_of_a_run(few):
    for options, expected in (({"domain": None}, "'domain' param"), ({"history": -1}, "'history'")):
        opt = few.make().set_params(**options)
        for name in SHOWN:
            assert not hasattr(opt, name)
            with pytest.raises(NotFittedError, match=f"cannot begin one.*{expected}"):
                getattr(opt, name)
        assert not set(SHOWN) & set(dict(inspect.getmembers(opt)))


# --- the direction --------------------------------------------------------------------------------


def test_minimizing_mirrors_maximizing(few):
    domain = "named" if few.name in ("WDBO", "thompson", "SparQGPUCB") else "box"
    up, queries = few.after(domain=domain)
    down = few.make(domain, maximize=False)
    mirrored = few.drive(down, STEPS, domain=domain, sign=-1.0)
    assert_array_equal(points(queries, domain), points(mirrored, domain))
    assert_array_equal(up.X_, down.X_)
    assert_array_equal(up.y_, -down.y_)
    if few.expert:
        few.consult(up, STEPS, domain), few.consult(down, STEPS, domain, -1.0)
    best = points([up.recommend(STEPS), down.recommend(STEPS)], domain)
    assert_array_equal(*best)


@in_turns("domain", DOMAINS)
def test_recommendation_is_the_best_of_the_domain_and_changes_nothing(few, domain):
    opt, _ = few.after(domain=domain)
    before = fingerprint(opt)
    places = space(domain).decode_all(space(domain).sample(500, 0))
    for t in (STEPS, 2.0, 30.0):
        x = opt.recommend(t)
        assert space(domain).contains(x)
        assert_array_equal(points([opt.recommend(t)], domain), points([x], domain))
        if few.modelled:
            assert opt.predict(x, t) >= opt.predict(places, t).max() - 1e-6
    assert fingerprint(opt) == before
    assert type(x) is type(opt.ask(STEPS))


# --- the order of calls ---------------------------------------------------------------------------


def test_removal_is_dated_by_the_present_when_a_late_observation_caused_it():
    opt, _ = BY_NAME["SWGPUCB"].after()
    oldest = np.flatnonzero(np.isnan(opt.removed_at_))[0]
    opt.tell([1.0, 0.0], 0.2, STEPS - 2.5)
    assert opt.removed_at_[oldest] == opt.history_["time"][-1] == STEPS - 1
    with pytest.raises(InvalidObservationError, match=r"t must be at least 13\.0"):
        opt.ask(STEPS - 1.5)


@in_turns("domain", DOMAINS)
def test_the_same_point_any_number_of_times(few, domain):
    opt = few.make(domain)
    x = space(domain).sample(1, np.random.RandomState(1))[0]
    for t in range(16):
        opt.tell(x, 0.3, t // 2)  # also twice at one time
    query, t = timed(opt.suggest(8.0))
    assert space(domain).contains(query)
    assert t == opt.next_time_
    assert t == 8.0 or few.name == "ABO"


# --- the caller's own -----------------------------------------------------------------------------


def test_callers_arrays_are_neither_changed_nor_kept(few):
    opt, _ = few.after(6)
    x = opt.ask(6.0)
    mine, given = x.copy(), x.copy()
    opt.tell(mine, 0.5)
    assert_array_equal(mine, given)
    mine[:] = x[:] = 77.0
    before = fingerprint(opt)
    for name in ("X_", "y_", "told_X_", "told_y_", "removed_at_"):
        getattr(opt, name)[...] = 77.0
    opt.history_["n"][...] = 77.0
    batch = points_of(opt.suggest(6.0, n=2))
    asked = batch.copy()
    batch[:] = 77.0
    assert opt.told_X_.max() < 7.0
    assert opt.told_y_.max() <= 1.0
    assert opt.history_["n"].max() <= 7.0
    assert before != fingerprint(opt)  # for there are two pending now
    for x in asked:
        opt.cancel(x)


# --- hyperparameters ------------------------------------------------------------------------------


def test_refit_every_holds_the_hyperparameters_between(few_modelled):
    opt, held = few_modelled.make(n_initial_points=6, refit_every=3), set()
    for t, x in enumerate(Box(BOX).sample(13, np.random.RandomState(0))):
        gp = getattr(opt, "surrogate_", None)
        opt.tell(x, objective(x, t), t)
        assert (opt.surrogate_ is None) == (t < 5)
        if gp is not None and np.array_equal(gp.theta_, opt.surrogate_.theta_):
            held.add(opt.n_told_)
    assert held == {7, 8, 10, 11, 13}


# --- time -----------------------------------------------------------------------------------------


@in_turns("clock", ["step", "wall", "calendar", lambda: 3.5])
def test_clocks(few, clock):
    opt, times = few.make(clock=clock), []
    for _ in range(7):
        x, t = timed(opt.suggest())
        opt.tell(x, 0.0)
        times.append(t)
    assert opt.told_X_[:, 2].tolist() == times
    if callable(clock):
        assert times == [3.5] * 7
    elif clock == "step":
        assert times == list(range(7))
    else:
        assert times == sorted(times)
        assert 0.0 <= times[0] < times[6] < 60.0


def test_a_broken_clock_is_noticed(few):
    times = iter([0.0, 5.0, np.nan, 4.0, 6.0])
    opt = few.make(clock=lambda: next(times))
    opt.ask(), opt.ask()
    before = opt.next_time_
    with pytest.raises(InvalidObservationError, match="t must be finite"):
        opt.ask()
    with pytest.raises(InvalidObservationError, match="t must be at least"):
        opt.ask()
    assert opt.next_time_ == before == 5.0
    opt.ask()
    assert opt.next_time_ == 6.0


def test_unix_timestamps_make_the_same_run(few):
    """Times that are 2^30 later are exact in floats, and shifted by the first inside."""
    _, queries = few.after(9)
    late, origin = few.make(), float(2**30)
    for t, x in enumerate(queries):
        if few.expert:
            places = late.ask_expert(origin + t)
            late.tell_expert(places, [objective(p, t) for p in places])
        assert_allclose(late.ask(origin + t), x, atol=1e-5)
        late.tell(x, objective(x, t), origin + t)


# --- the unit of the observations changes nothing -------------------------------------------------

UNIT_STEPS = 9


def queries(case, factor, domain):
    """Queries for an objective in another unit."""
    # The improvement asked for is one in units of y.
    options = {"acquisition": ProbabilityOfImprovement(0.01 * factor)}
    opt = case.make(domain, **options if case.name == "probability" else {})
    found = []
    for t in np.arange(float(UNIT_STEPS)):
        if case.expert:
            places = opt.ask_expert(t)
            opt.tell_expert(places, [factor * objective(x, t, domain) for x in places])
        found.append(opt.ask(t))
        opt.tell(found[-1], factor * objective(found[-1], t, domain), t)
    return points([*found, opt.recommend(UNIT_STEPS)], domain)


def test_queries_do_not_depend_on_the_unit_of_the_observations(few_modelled):
    domain = "named" if few_modelled.name in ("WDBO", "thompson") else "box"
    expected = queries(few_modelled, 1.0, domain)
    for power in (-300, 300):
        assert_array_equal(queries(few_modelled, 2.0**power, domain), expected)
