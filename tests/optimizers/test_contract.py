"""One contract for every optimizer: the books it keeps, calls in and out of order, atomic steps."""

import copy
import inspect

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.cases import (
    ARMS,
    BOX,
    BY_NAME,
    N_INITIAL,
    SHOWN,
    STEPS,
    fail_after,
    fingerprint,
    objective,
    points,
    points_of,
    same_state,
    space,
    timed,
)
from scipy.optimize import Bounds
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sktvbo import GPUCB, WDBO, RandomSearch, TimeVaryingGPRegressor
from sktvbo.domain import Box, FiniteSet
from sktvbo.exceptions import AskTellError, DomainError, InvalidObservationError

# --- books ----------------------------------------------------------------------------------------


def test_run_keeps_its_books(case, domain):
    opt, queries = case.after(domain=domain)
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


def test_history_has_a_row_for_each_observation(case, domain):
    opt, _ = case.after(domain=domain)
    history = opt.history_
    assert tuple(history) == ("time", "n", *case.records)
    assert {column.shape for column in history.values()} == {(STEPS,)}
    assert_array_equal(history["time"], np.arange(STEPS))
    # Those told by then, without those removed by then.
    left = [np.sum(~(opt.removed_at_[: k + 1] <= time)) for k, time in enumerate(history["time"])]
    assert_array_equal(history["n"], left)
    assert history["n"][-1] == len(opt.X_)
    for name in case.records:
        if name == "length_scale":
            expected = opt.surrogate_.temporal_kernel_.length_scale
        else:
            expected = getattr(opt.policy_, f"{name}_")
        assert history[name][-1] == expected
        assert np.isfinite(history[name][-1])


def test_surrogate_holds_the_data_set(modelled, domain):
    opt, _ = modelled.after(domain=domain)
    gp = opt.surrogate_
    assert_array_equal(gp.X_train_[:, :-1], space(domain).to_unit(opt.X_[:, :-1]))
    assert_array_equal(gp.X_train_[:, -1], opt.X_[:, -1])
    assert_array_equal(gp.y_train_, opt.y_)
    assert_allclose(gp.predict(gp.X_train_), opt.y_, atol=0.5)


@pytest.mark.parametrize("form", [BOX, Box(BOX), Bounds([0, -1], [2, 1])])
def test_a_box_may_be_written_in_three_ways(form):
    opt = GPUCB(form, n_initial_points=3, random_state=0)
    for t in range(5):
        opt.tell(opt.ask(t), np.cos(t))
    expected = GPUCB(BOX, n_initial_points=3, random_state=0)
    for t in range(5):
        expected.tell(expected.ask(t), np.cos(t))
    same_state(opt, expected)


def test_reading_begins_nothing(case, domain):
    opt = case.make(domain)
    before = joblib.hash(vars(opt))
    for name in SHOWN:
        assert not hasattr(opt, name)
        with pytest.raises(NotFittedError, match=r"has not begun a run yet\. Call ask\(\) or tell"):
            getattr(opt, name)
        with pytest.raises(AskTellError, match="has not begun a run"):
            getattr(opt, name)
    assert not hasattr(opt, "expert_X_")
    assert not hasattr(opt, "epsilon_")
    members = dict(inspect.getmembers(opt))
    assert members["random_state"] == 0
    assert not any(name in members for name in SHOWN)
    with pytest.raises(AskTellError, match=r"before recommend\(\) must be at least"):
        opt.recommend(0.0)
    assert joblib.hash(vars(opt)) == before


def test_a_first_call_that_fails_begins_nothing(case):
    opt = case.make()
    for name, (bad, error, message) in BAD_CALLS.items():
        if name not in ("told", "backwards", "recommend"):
            with pytest.raises(error, match=message):
                bad(opt)
    assert not any(hasattr(opt, name) for name in SHOWN)


def test_nothing_is_there_before_the_first_observation(case, domain):
    opt = case.make(domain)
    d = space(domain).n_dims
    time = opt.suggest(0.0).t
    assert opt.X_.shape == opt.told_X_.shape == (0, d + 1)
    assert opt.y_.shape == opt.told_y_.shape == opt.removed_at_.shape == (0,)
    assert (opt.n_told_, opt.n_removed_, opt.next_time_, opt.history_) == (0, 0, time, {})
    assert opt.surrogate_ is None
    with pytest.raises(
        AskTellError, match=r"before recommend\(\) must be at least .* Got 0 instead"
    ):
        opt.recommend(0.0)


# --- the direction --------------------------------------------------------------------------------


def test_minimizing_mirrors_maximizing(case):
    domain = "named" if case.name in ("WDBO", "thompson", "SparQGPUCB") else "box"
    up, queries = case.after(domain=domain)
    down = case.make(domain, maximize=False)
    mirrored = case.drive(down, STEPS, domain=domain, sign=-1.0)
    assert_array_equal(points(queries, domain), points(mirrored, domain))
    assert_array_equal(up.X_, down.X_)
    assert_array_equal(up.y_, -down.y_)
    if case.expert:
        case.consult(up, STEPS, domain), case.consult(down, STEPS, domain, -1.0)
    best = points([up.recommend(STEPS), down.recommend(STEPS)], domain)
    assert_array_equal(*best)


def test_recommendation_lies_in_the_domain_and_changes_nothing(few, domain):
    opt, _ = few.after(domain=domain)
    before = fingerprint(opt)
    now, again, past = (opt.recommend(t) for t in (STEPS, STEPS, 2.0))
    assert fingerprint(opt) == before
    assert_array_equal(points([now], domain), points([again], domain))
    assert type(now) is type(opt.ask(STEPS))
    assert space(domain).contains(now)
    assert space(domain).contains(past)


def test_recommendation_is_the_best_that_is_known(modelled):
    opt, _ = modelled.after()
    x = opt.recommend(STEPS)
    grid = Box(BOX).sample(300, np.random.RandomState(0))
    rows = np.column_stack([Box(BOX).to_unit(np.vstack([x, grid])), np.full(301, float(STEPS))])
    mean = opt.surrogate_.predict(rows)
    assert mean[0] >= mean[1:].max() - 1e-9


# --- bad calls ------------------------------------------------------------------------------------

BAD_CALLS = {
    "nan": (lambda o: o.tell([0.5, np.nan], 1.0, 20.0), InvalidObservationError, "must be finite"),
    "outside": (lambda o: o.tell([0.5, 3.0], 1.0, 20.0), DomainError, r"x\[1\] must be in"),
    "short": (lambda o: o.tell([0.5], 1.0, 20.0), InvalidObservationError, "shape"),
    "two": (lambda o: o.tell([[0.5, 0.5]] * 2, 1.0, 20.0), InvalidObservationError, "shape"),
    "words": (lambda o: o.tell(["a", "b"], 1.0, 20.0), InvalidObservationError, "real numbers"),
    "dict": (lambda o: o.tell({"a": 1.0}, 1.0, 20.0), InvalidObservationError, "has the unknown"),
    "y-nan": (lambda o: o.tell([0.5, 0.5], np.nan, 20.0), InvalidObservationError, "y must be fin"),
    "y-inf": (lambda o: o.tell([0.5, 0.5], np.inf, 20.0), InvalidObservationError, "y must be fin"),
    "y-big": (
        lambda o: o.tell([0.5, 0.5], -1e101, 20.0),
        InvalidObservationError,
        "at most 1e.100",
    ),
    "y-one-big": (
        lambda o: o.tell_many([[0.5, 0.5]] * 2, [0.0, 1e101], 20.0),
        InvalidObservationError,
        r"y must be at most 1e\+100 in absolute value\. Got 1e\+101",
    ),
    "t-big": (
        lambda o: o.tell([0.5, 0.5], 1.0, 1e101),
        InvalidObservationError,
        "t must be at most",
    ),
    "y-two": (lambda o: o.tell([0.5, 0.5], [1, 2], 20.0), InvalidObservationError, "y must be one"),
    "y-word": (lambda o: o.tell([0.5, 0.5], "a", 20.0), InvalidObservationError, "y must be one"),
    "y-none": (lambda o: o.tell([0.5, 0.5], None, 20.0), InvalidObservationError, "y must be one"),
    "y-mask": (
        lambda o: o.tell([0.5, 0.5], np.ma.masked, 20.0),
        InvalidObservationError,
        "y must be one real number",
    ),
    "mask": (
        lambda o: o.tell(np.ma.array([0.5, 0.5], mask=[True, False]), 1.0, 20.0),
        InvalidObservationError,
        "x must be real numbers",
    ),
    "t-nan": (lambda o: o.tell([0.5, 0.5], 1.0, np.nan), InvalidObservationError, "t must be fini"),
    "t-word": (lambda o: o.tell([0.5, 0.5], 1.0, "now"), InvalidObservationError, "t must be one"),
    "stranger": (lambda o: o.tell([0.123, 0.5], 1.0), AskTellError, "still pending"),
    "told": (lambda o: o.tell(o.told_X_[-1, :2], 1.0), AskTellError, "still pending"),
    "backwards": (
        lambda o: o.ask(o.history_["time"][-1] - 0.5),
        InvalidObservationError,
        r"t must be at least \d+\.0, the latest .* Got -?\d",
    ),
    "ask-inf": (lambda o: o.ask(np.inf), InvalidObservationError, "t must be finite"),
    "suggest-none": (lambda o: o.suggest(99.0, n=0), ValueError, "n must be an int in"),
    "suggest-half": (lambda o: o.suggest(99.0, n=1.5), ValueError, "n must be an int"),
    "suggest-true": (lambda o: o.suggest(99.0, n=True), ValueError, "n must be an int"),
    "suggest-word": (lambda o: o.suggest(99.0, n="4"), ValueError, "n must be an int"),
    "recommend": (lambda o: o.recommend(np.nan), InvalidObservationError, "t must be finite"),
}


@pytest.mark.parametrize("steps", [2, STEPS], ids=["early", "late"])
def test_a_bad_call_says_why_and_changes_nothing(few, steps):
    opt, _ = few.after(steps)
    before = fingerprint(opt)
    for name, (bad, error, message) in BAD_CALLS.items():
        with pytest.raises(error, match=message):
            bad(opt)
        assert fingerprint(opt) == before, name


def test_an_optimizer_that_was_called_wrongly_goes_on_like_one_that_was_not(case):
    twin, queries = case.after(8)
    opt = case.make()
    for t in range(8):
        case.consult(opt, t)
        x = opt.ask(t)
        assert_array_equal(x, queries[t])
        for bad, error, message in BAD_CALLS.values():
            if opt.n_told_:
                with pytest.raises(error, match=message):
                    bad(opt)
        opt.tell(x, objective(x, t))
    same_state(opt, twin)


# --- failures in the middle -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "when"),
    [
        ("fit", "first"),
        ("after_add", "first"),
        ("before_add", "later"),
        ("updated", "later"),
        ("after_add", "later"),
    ],
)
def test_failure_while_telling_changes_nothing(few_modelled, place, when, monkeypatch):
    first = few_modelled.options.get("n_initial_points", N_INITIAL) - 1
    steps = first if when == "first" else STEPS
    opt, _ = few_modelled.after(steps)
    few_modelled.consult(opt, steps)
    x = opt.ask(steps)
    assert (opt.surrogate_ is None) == (when == "first")
    twin, before = copy.deepcopy(opt), fingerprint(opt)
    owner = TimeVaryingGPRegressor if place in ("fit", "updated") else type(opt.policy_)
    with monkeypatch.context() as patch:
        called = fail_after(patch, owner, place)
        with pytest.raises(MemoryError, match="planted"):
            opt.tell(x, 0.7)
    assert called
    assert fingerprint(opt) == before
    opt.tell(x, 0.7), twin.tell(x, 0.7)  # the corrected call succeeds
    same_state(opt, twin)
    assert fingerprint(opt) != before


def test_failure_while_asking_changes_nothing(modelled, monkeypatch):
    opt, _ = modelled.after()
    twin, _ = modelled.after()
    modelled.consult(opt, STEPS), modelled.consult(twin, STEPS)
    before, called = fingerprint(opt), []

    def fail(domain, n, rng):
        called.append(rng.uniform(size=100))
        raise MemoryError("planted")

    for call in (opt.ask, lambda t: opt.suggest(t, n=3)):
        with monkeypatch.context() as patch:
            patch.setattr(Box, "candidates", fail)
            with pytest.raises(MemoryError, match="planted"):
                call(STEPS + 1.0)
        assert fingerprint(opt) == before
    assert len(called) == 2
    assert_array_equal(opt.ask(STEPS), twin.ask(STEPS))  # nor has time moved on


def test_the_second_of_a_batch_may_fail_without_a_trace(modelled, monkeypatch):
    opt, _ = modelled.after()
    before = fingerprint(opt)
    with monkeypatch.context() as patch:
        calls = fail_after(patch, Box, "candidates", calls=2)
        with pytest.raises(MemoryError, match="planted"):
            opt.suggest(STEPS, n=3)
    assert len(calls) == 2
    assert fingerprint(opt) == before


# --- the order of calls ---------------------------------------------------------------------------


def test_asking_again_and_telling_in_any_order(few, domain):
    opt, _ = few.after(7, domain)
    a, b = opt.ask(7.0), opt.ask(8.0)
    opt.tell(b, 0.2)
    opt.tell(a, 0.1)
    assert opt.told_X_[-2:, -1].tolist() == [8.0, 7.0]  # the latest first, of equal ones too
    assert opt.told_y_[-2:].tolist() == [0.2, 0.1]
    assert_array_equal(opt.told_X_[-2:, :-1], points([b, a], domain))
    assert space(domain).contains(opt.ask(8.0))


def test_late_corrected_and_uninvited_observations_are_welcome(case):
    opt, _ = case.after(8)
    x = opt.ask(9.0)
    opt.tell(x, 0.1, 9.7)  # it took a while
    opt.tell([1.0, 0.0], 0.2, 4.5)  # late, and never asked for
    opt.tell([2.0, 1.0], 0.3, -3.0)  # before all others
    assert opt.told_X_[-3:, 2].tolist() == [9.7, 4.5, -3.0]
    assert_array_equal(opt.history_["time"][-3:], 9.7)
    if opt.surrogate_ is not None:
        assert_array_equal(opt.surrogate_.X_train_[:, -1], opt.X_[:, -1])
    with pytest.raises(InvalidObservationError, match=r"t must be at least 9\.7"):
        opt.ask(9.5)
    assert Box(BOX).contains(opt.ask(9.7))


def test_removal_is_dated_by_the_present_when_a_late_observation_caused_it():
    opt, _ = BY_NAME["SWGPUCB"].after()
    oldest = np.flatnonzero(np.isnan(opt.removed_at_))[0]
    opt.tell([1.0, 0.0], 0.2, STEPS - 2.5)
    assert opt.removed_at_[oldest] == opt.history_["time"][-1] == STEPS - 1


def test_late_observations_are_welcome_while_hyperparameters_are_held(modelled):
    opt = modelled.make(refit_every=100, n_initial_points=N_INITIAL)
    for t in range(10, 18):
        opt.tell(opt.ask(t), np.sin(t))
    opt.tell([1.0, 0.0], 0.3, 2.0)
    assert Box(BOX).contains(opt.ask(18))
    assert np.isfinite(opt.surrogate_.predict(opt.surrogate_.X_train_, return_std=True)).all()


def test_observations_may_all_be_uninvited(few, domain):
    opt = few.make(domain)
    X = space(domain).sample(8, np.random.RandomState(1))
    for t, x in enumerate(X):
        opt.tell(x, objective(x, t, domain), t)
    assert_array_equal(opt.told_X_, np.column_stack([X, np.arange(8.0)]))
    assert opt.next_time_ is None
    assert space(domain).contains(opt.ask(8))


def test_the_same_point_any_number_of_times(few, domain):
    opt = few.make(domain)
    x = space(domain).sample(1, np.random.RandomState(1))[0]
    for t in range(16):
        opt.tell(x, 0.3, t // 2)  # also twice at one time
    query, t = timed(opt.suggest(8.0))
    assert space(domain).contains(query)
    assert t == opt.next_time_
    assert t == 8.0 or few.name == "ABO"


def test_of_a_point_asked_for_twice_the_query_at_the_told_time_is_answered():
    opt = RandomSearch(FiniteSet(ARMS.points[:1]), random_state=0)
    x = opt.ask(6.0)
    opt.ask(7.0)
    opt.tell(x, 0.1, 7.0)
    opt.tell(x, 0.2)
    assert opt.told_X_[:, -1].tolist() == [7.0, 6.0]


def test_constant_observations(modelled):
    opt = modelled.make(n_initial_points=N_INITIAL)
    for t in range(7):
        opt.tell(opt.ask(t), 3.0)
    assert Box(BOX).contains(opt.ask(10))
    assert Box(BOX).contains(opt.recommend(10))


@pytest.mark.parametrize("n_initial_points", [1, 2])
def test_hardly_any_data(few_modelled, n_initial_points):
    opt = few_modelled.make(n_initial_points=n_initial_points)
    queries = few_modelled.drive(opt, 4)
    assert all(Box(BOX).contains(x) for x in queries)
    assert Box(BOX).contains(opt.recommend(4.0))


# --- the caller's own -----------------------------------------------------------------------------


def test_callers_arrays_are_neither_changed_nor_kept(case):
    opt, _ = case.after(6)
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


def test_a_readonly_array_of_any_real_type_is_accepted(case):
    opt, twin = case.make(), case.make()
    x = np.array([1, 0], dtype=np.int8)
    x.flags.writeable = False
    opt.tell(x, np.float32(0.5), np.int64(0))
    twin.tell([1.0, 0.0], 0.5, 0.0)
    same_state(opt, twin)


# --- hyperparameters ------------------------------------------------------------------------------


def test_refit_every_holds_the_hyperparameters_between(modelled, monkeypatch):
    opt = modelled.make(n_initial_points=6, refit_every=3)
    original, searches = TimeVaryingGPRegressor.updated, []

    def spy(*args, refit=False, **options):
        if refit:
            searches.append(opt.n_told_ + 1)
        return original(*args, refit=refit, **options)

    monkeypatch.setattr(TimeVaryingGPRegressor, "updated", spy)
    held = set()
    for t, x in enumerate(Box(BOX).sample(13, np.random.RandomState(0))):
        gp = getattr(opt, "surrogate_", None)
        opt.tell(x, objective(x, t), t)
        assert (opt.surrogate_ is None) == (t < 5)
        if gp is not None and np.array_equal(gp.theta_, opt.surrogate_.theta_):
            held.add(opt.n_told_)
    assert searches == [9, 12]  # and at the sixth the first one
    assert held >= {7, 8, 10, 11, 13}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("GPUCB", {}),
        ("TVGPUCB-learn", {}),
        ("WGPUCB", {}),
        ("UITVBO", {}),
        ("WDBO", {}),
        ("BOLT-max-size", {"max_size": 20}),
        ("SWGPUCB", {"window": 20}),
        ("SparQGPUCB", {"noise_cap": 300.0}),
    ],
)
def test_held_steps_equal_a_fresh_surrogate(name, options):
    """Forty steps of appending and dropping rows against one factorization."""
    opt = BY_NAME[name].make(n_initial_points=8, refit_every=1000, **options)
    X = Box(BOX).sample(40, np.random.RandomState(0))
    for t, x in enumerate(X):
        opt.tell(x, objective(x, t), t)
    assert (opt.n_removed_ > 0) == BY_NAME[name].forgets
    gp = opt.surrogate_
    fresh = clone(gp).set_params(
        spatial_kernel=gp.spatial_kernel_,
        temporal_kernel=gp.temporal_kernel_,
        signal_variance=gp.signal_variance_,
        noise_variance=gp.noise_variance_,
        optimizer=None,
    )
    if "prior_mean" in fresh.get_params():
        mean = gp.prior_mean_
        fresh.set_params(prior_mean=mean and clone(mean).set_params(only_if_likelier=False))
    fresh.fit(gp.X_train_, gp.y_train_)
    rows = np.random.RandomState(0).uniform(size=(20, 3)) * [1, 1, 50]
    for got, expected in zip(gp.predict(rows, return_std=True), fresh.predict(rows, True)):
        assert_allclose(got, expected, atol=1e-8)


# --- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "clock", ["step", "wall", "calendar", lambda: 3.5], ids=["step", "wall", "calendar", "callable"]
)
def test_clocks(case, clock):
    opt = case.make(clock=clock)
    times = []
    for _ in range(7):
        x, t = timed(opt.suggest())
        opt.tell(x, 0.0)
        times.append(t)
    assert opt.told_X_[:, 2].tolist() == times
    if clock == "step":
        assert times == list(range(7))
    elif clock in ("wall", "calendar"):
        assert times == sorted(times)
        assert 0.0 <= times[0] < times[6] < 60.0
    else:
        assert times == [3.5] * 7


def test_a_broken_clock_is_noticed(case):
    times = iter([0.0, 5.0, np.nan, 4.0, 6.0])
    opt = case.make(clock=lambda: next(times))
    opt.ask(), opt.ask()
    before = opt.next_time_
    with pytest.raises(InvalidObservationError, match="t must be finite"):
        opt.ask()
    with pytest.raises(InvalidObservationError, match="t must be at least"):
        opt.ask()
    assert opt.next_time_ == before == 5.0
    opt.ask()
    assert opt.next_time_ == 6.0


def test_unix_timestamps_make_the_same_run(case):
    """Times that are 2^30 later are exact in floats, and shifted by the first inside."""
    _, queries = case.after(9)
    late, origin = case.make(), float(2**30)
    for t, x in enumerate(queries):
        if case.expert:
            places = late.ask_expert(origin + t)
            late.tell_expert(places, [objective(p, t) for p in places])
        assert_allclose(late.ask(origin + t), x, atol=1e-5)
        late.tell(x, objective(x, t), origin + t)


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"domain": None}, "'domain' parameter of .* must be a Box, a FiniteSet"),
        ({"domain": {1.0, 2.0}}, "domain must be"),
        ({"n_initial_points": 0}, "'n_initial_points' parameter .* must be an int"),
        ({"refit_every": 0}, "'refit_every' parameter"),
        ({"refit_every": "always"}, "'auto' will do"),
        (
            {"clock": "sun"},
            "'clock' parameter of .* must be 'wall', 'calendar', 'step' or a callable",
        ),
        ({"clock": None}, "'clock' parameter of .* Got None instead"),
    ],
)
def test_bad_parameters(case, options, message):
    known = case.make().get_params()
    if not options.keys() <= known.keys():
        return  # RandomSearch has neither initial points nor a surrogate
    opt = case.make().set_params(**options)
    for call in (lambda: opt.ask(0.0), lambda: opt.tell([0.5, 0.5], 1.0, 0.0)):
        with pytest.raises(ValueError, match=message):
            call()
    opt.set_params(**{name: known[name] for name in options})
    assert opt.ask(0.0).shape == (2,)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("WDBO", {"alpha": -0.1}, "'alpha' parameter"),
        ("WDBO", {"alpha": np.nan}, "'alpha' parameter"),
        ("WDBO", {"alpha": "much"}, "'alpha' parameter"),
        ("RGPUCB-period", {"reset_period": 0}, "'reset_period' parameter of RGPUCB"),
        ("RGPUCB-period", {"reset_period": "often"}, "'reset_period' parameter of RGPUCB"),
        ("BRGPUCB", {"variation_budget": 0.0}, "'variation_budget' parameter"),
        ("SWGPUCB", {"window": 2.5}, "'window' parameter"),
        ("TVGPUCB-fixed", {"epsilon": 1.5}, "epsilon"),
        ("TVGPUCB-fixed", {"epsilon": "high"}, "epsilon"),
        ("WGPUCB", {"discount": 1.5}, "'discount' parameter"),
        ("UITVBO", {"drift_variance": -1.0}, "'drift_variance' parameter"),
        ("ETGPUCB", {"delta": 0.0}, "'delta' parameter"),
        ("ETGPUCB", {"delta": "small"}, "'delta' parameter"),
        ("IGPUCB", {"delta": 1.0}, "'delta' parameter"),
        ("ABO", {"lookahead": -1.0}, "'lookahead' parameter"),
        ("ABO", {"lookahead": "far"}, "'lookahead' parameter"),
        ("BOLT-max-size", {"max_size": 0}, "'max_size' parameter"),
        ("BOLT-max-size", {"max_size": "few"}, "'max_size' parameter"),
        ("SparQGPUCB", {"noise_cap": -1.0}, "'cap' parameter"),
        ("SparQGPUCB-expert", {"n_queries": 2.5}, "'n_queries' parameter"),
        ("SparQGPUCB-expert", {"expert_noise_variance": 0.0}, "'expert_noise_variance' parameter"),
    ],
)
def test_bad_parameters_of_one_algorithm(name, options, message):
    opt = BY_NAME[name].make(**options)
    with pytest.raises(ValueError, match=message):
        BY_NAME[name].drive(opt, 8)


# --- the gist -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [GPUCB, WDBO])
def test_recommend_follows_the_optimum(kind):
    opt = kind([(0.0, 2.0)], n_initial_points=5, random_state=0)
    for t in range(20):
        x = opt.ask(t)
        opt.tell(x, -((x[0] - 0.5) ** 2))
    assert opt.recommend(20.0) == pytest.approx(0.5, abs=0.05)
    assert opt.n_told_ == 20  # looking is not asking
