"""step_budget: searches in slices, the limit of the data set, and warnings; refit(deadline=)."""

import contextlib
import pickle
import time
import warnings
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from grids import pairs_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import gamma
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic

from sktvbo import BOLT, GPUCB, WDBO, BayesianOptimizer, TimeVaryingGPRegressor
from sktvbo._values import replaced
from sktvbo.exceptions import AskTellError, StepBudgetWarning
from sktvbo.gaussian_process import SparseTimeVaryingGPRegressor
from sktvbo.gaussian_process._posterior_at import TimeSlice
from sktvbo.optimizers._budget import MODEL, QUERY, SEARCH, Search, StepTimer
from sktvbo.optimizers._durable import run_of
from sktvbo.optimizers._observe import begun_search

LONG = 1e6


def f(x, t):
    return -float(np.sum((np.asarray(x) - 0.5 - 0.3 * np.sin(0.05 * t)) ** 2))


def run(opt, steps, start=0):
    for t in range(start, start + steps):
        x = opt.ask(float(t))
        opt.tell(x, f(x, t))
    return opt


def theta(opt):
    return opt.surrogate_.theta_


# --- searches in parts ----------------------------------------------------------------------------


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=(26, 2)), np.arange(26.0)])
    y = [f(x[:2], x[2]) + 0.05 * rng.normal() for x in X]
    return X, np.array(y)


def by_scipy(function, start, bounds):
    found = minimize(function, start, jac=True, bounds=bounds, method="L-BFGS-B")
    return found.x, found.fun


REGRESSORS = {
    "plain": TimeVaryingGPRegressor(normalize_y=True),
    "robust": TimeVaryingGPRegressor(normalize_y=True, robust=True),
    "restarts": TimeVaryingGPRegressor(n_restarts_optimizer=2, normalize_y=True),
    "hyperpriors": TimeVaryingGPRegressor(hyperpriors={"noise_variance": gamma(2.0, scale=0.01)}),
    "scipy": TimeVaryingGPRegressor(optimizer=by_scipy),
    "kalman": TimeVaryingGPRegressor(solver="kalman"),
    "sparse": SparseTimeVaryingGPRegressor(n_inducing=10, random_state=0),
}


# A search by a callable is one part, and so is that of a sparse regressor.
N_PARTS = {"scipy": (1, 3), "sparse": (1, 2)}


@pytest.fixture
def one_part(monkeypatch):
    """Return a function that continues a search by one part: the clock counts its calls."""
    now = iter(range(10**9))
    monkeypatch.setattr(time, "process_time", lambda: float(next(now)))
    return lambda search: search.continued(time.process_time() + 4.5)


@pytest.mark.parametrize(
    ("name", "extra", "copied"), pairs_of(REGRESSORS, (False, True), (None, 3))
)
def test_a_search_in_parts_finds_the_same(name, extra, copied, rows, one_part):
    """Also if it goes on in copies, which know the results and not the computation."""
    X, y = rows
    if name == "robust":
        y = y + 5.0 * (np.arange(26) == 20)
    gp = REGRESSORS[name]
    if name == "restarts":
        gp.random_state = np.random.RandomState(0)
    gp.fit(X[:18], y[:18])
    gp = gp.condition_on(X[18:22], y[18:22])
    more = (X[22:], y[22:]) if extra else None
    if name == "restarts":
        gp.random_state = np.random.RandomState(1)
    expected = gp.refit(more)
    if name == "restarts":
        gp.random_state = np.random.RandomState(1)
    search, n_parts = Search(gp.fitted_, {"extra_rows": more}), 0
    while search.found is None:
        search, n_parts = one_part(search), n_parts + 1
        assert len(search.results) == n_parts
        if copied and n_parts % copied == 0:
            search = pickle.loads(pickle.dumps(search))
    least, most = N_PARTS.get(name, (6, 500))
    assert least <= n_parts <= most
    assert one_part(search) is search
    found = search.found
    assert_allclose(found.theta_, expected.theta_, rtol=1e-9, atol=1e-9)
    mean, std = found.predict(X, return_std=True)
    assert_allclose((mean, std), expected.predict(X, return_std=True), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"step_budget": LONG}], ids=["free", "budget"])
@pytest.mark.parametrize("kind", [TimeVaryingGPRegressor, SparseTimeVaryingGPRegressor])
def test_durations_in_a_held_kernel_have_the_unit_of_the_run(kind, options):
    kernel = Matern(np.timedelta64(3, "h"), "fixed", nu=1.5)
    surrogate = kind(Matern(0.5, "fixed"), kernel, optimizer=None)
    opt = BayesianOptimizer(
        [(0.0, 1.0)], surrogate=surrogate, acquisition="ucb", time_unit="h", random_state=0
    )
    run(opt.set_params(n_initial_points=3, **options), 5)
    assert opt.surrogate_.temporal_kernel_.length_scale == 3.0


class Counted:
    """Surrogate whose search returns the sum of some numbers, one part each."""

    def __init__(self, *parts):
        self.parts, self.n_begun = parts, 0

    def refitted(self):
        self.n_begun += 1
        total = 0
        for part in self.parts:
            total += yield part
        return total


def test_a_step_that_is_repeated_finds_the_same(one_part):
    """A step that fails half-way leaves the search before it unchanged."""
    surrogate = Counted(lambda: 1, lambda: 20, lambda: 300)
    before = one_part(Search(surrogate, {}))
    after = one_part(one_part(before))
    assert (before.results, before.found) == ((1,), None)
    assert (after.results, after.found, surrogate.n_begun) == ((1, 20, 300), 321, 1)
    again = one_part(one_part(before))
    assert (again.results, again.found, surrogate.n_begun) == ((1, 20, 300), 321, 2)


def test_a_part_that_fails_is_computed_again(one_part):
    fails = [True, False]

    def part():
        if fails.pop(0):
            raise KeyboardInterrupt
        return 20

    before = one_part(Search(Counted(lambda: 1, part), {}))
    with pytest.raises(KeyboardInterrupt):
        one_part(before)
    assert before.results == (1,)
    assert one_part(before).found == 21


def test_no_part_begins_that_would_last_too_long(clock):
    """As long as the longest one so far, or as expected."""
    parts = [lambda seconds=seconds: clock(seconds) or 1 for seconds in (2.0, 0.5, 0.6, 0.1)]
    search = Search(Counted(*parts), {}).continued(5.0)
    assert (search.results, search.cost, search.found) == ((1, 1, 1), 2.0, None)
    assert search.continued(5.0) is search
    assert search.continued(5.0, n_sure=1).found == 4
    expected = Search(Counted(*parts), {}, 2.0)
    assert expected.continued(time.process_time() + 1.9) is expected
    assert expected.continued(time.process_time() + 2.1) is not expected


def test_no_part_follows_a_long_beginning(clock):
    """The next step goes on from there."""

    class Slow(Counted):
        def refitted(self):
            clock(3.0)
            return (yield from super().refitted())

    before = Search(Slow(lambda: 1, lambda: 20), {}, 1.0)
    assert before.continued(time.process_time() + 3.5) is before
    assert before.continued(time.process_time() + 3.5).found == 21
    assert before.surrogate.n_begun == 1


# --- optimizers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [WDBO, BOLT, GPUCB])
def test_with_a_long_budget_hyperparameters_are_learnt_at_once(kind):
    opt = run(kind([(0, 1)] * 2, n_initial_points=5, step_budget=LONG, random_state=0), 30)
    state = run_of(opt)
    assert state.sliced_search is None
    assert state.search.age < 30
    assert not np.allclose(opt.surrogate_.signal_variance_, opt.surrogate_.signal_variance)
    searched = opt.surrogate_.refit()
    assert searched.log_marginal_likelihood() - opt.surrogate_.log_marginal_likelihood() < 1.0


@pytest.mark.parametrize(("kind", "refit_every"), [(WDBO, "auto"), (BOLT, 1), (GPUCB, None)])
def test_no_observation_is_lost_whatever_the_budget(kind, refit_every):
    opt = kind([(0, 1)] * 2, n_initial_points=5, refit_every=refit_every, step_budget=1e-9)
    opt.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepBudgetWarning)
        run(opt, 60)
    assert opt.n_told_ == len(opt.told_y_) == 60
    assert len(opt.X_) <= 33
    assert_array_equal(opt.told_X_[:, -1], np.arange(60.0))


def test_a_budget_that_cannot_be_kept_warns_once_and_names_the_part():
    opt = run(WDBO([(0, 1)], n_initial_points=3, step_budget=LONG, random_state=0), 6)
    run_of(opt).timer.seconds = 1e-9
    with pytest.warns(StepBudgetWarning) as caught:
        run(opt, 100, start=6)
    (message,) = [str(w.message) for w in caught]
    # Two of each of the first six cycles were within the budget.
    assert "12 of the latest 24 steps" in message
    assert "the update of the model took" in message or "the search for the query" in message
    assert "larger step_budget" in message
    assert caught[0].filename == __file__


def test_a_warning_that_is_an_error_leaves_the_optimizer_as_it_was():
    opt = run(WDBO([(0, 1)], n_initial_points=3, step_budget=LONG, random_state=0), 6)
    opt.ask(6.0)
    run_of(opt).timer.seconds = 1e-9
    run(opt, 6, start=6)
    x = opt.ask(12.0)  # 13 of 26 steps exceed the budget, before 12 of 25
    before = run_of(opt)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepBudgetWarning)
        with pytest.raises(StepBudgetWarning):
            opt.tell(x, 1.0)
        assert run_of(opt) is before
        opt.tell(x, 1.0)
    assert opt.n_told_ == 13


# Steps that raise, or that change nothing.
WITHOUT_EFFECT = {
    "tell": lambda opt: opt.tell([0.5], np.nan, 7.0),
    "tell outside": lambda opt: opt.tell([2.0], 1.0, 7.0),
    "tell again": lambda opt: opt.tell(opt.again, 0.5),
    "fail": lambda opt: opt.tell([0.5], 1.0, 7.0, failed=True),
    "ask": lambda opt: opt.ask(-1.0),
    "suggest": lambda opt: opt.suggest(np.nan, n=2),
    "tell_many": lambda opt: opt.tell_many([[0.5]], [np.nan], [7.0], outcomes=1.0),
    "announce": lambda opt: opt.announce([2.0], 7.0),
    "cancel": lambda opt: opt.cancel([0.123]),
    "untell": lambda opt: opt.untell(id=99),
}


@pytest.mark.parametrize("call", WITHOUT_EFFECT.values(), ids=WITHOUT_EFFECT)
def test_a_step_without_effect_is_over(call, monkeypatch):
    """Work of the caller after a step is not counted as a step."""
    seconds = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: seconds[0])
    opt = WDBO([(0, 1)], n_initial_points=3, step_budget=LONG, random_state=0)
    opt.again = opt.suggest(0.0)
    opt.tell(opt.again, 0.5)
    run(opt, 2, start=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepBudgetWarning)
        for _ in range(4):
            with contextlib.suppress(ValueError, RuntimeError):
                call(opt)
            seconds[0] += 100.0 * LONG
            opt.announce([0.5], 7.0)
            opt.tell_many([[0.25]], [0.5], [7.0])
            opt.refit()
        run(opt, 1, start=8)


def test_a_search_whose_parts_do_not_fit_ends_and_limits_the_data_set():
    opt = run(GPUCB([(0, 1)], n_initial_points=5, step_budget=LONG, random_state=0), 40)
    before, timer = run_of(opt), run_of(opt).timer
    timer.seconds = 1.0
    timer._limits[SEARCH].clear()
    search = replaced(begun_search(before, before.surrogate, before.data), expected=100.0)
    opt._run = before.with_objective(sliced_search=search)
    run(opt, 1, start=40)
    assert run_of(opt).sliced_search is not search
    assert timer.limit == 30


def test_a_search_that_is_interrupted_goes_on():
    """In steps, and in refit; a pickle has the unfinished search."""
    opt = run(WDBO([(0, 1)] * 2, n_initial_points=5, step_budget=LONG, random_state=0), 20)
    opt = pickle.loads(pickle.dumps(opt))
    before, n = theta(opt), len(opt.X_)
    done = [opt.refit(deadline=1e-5)]
    while not done[-1] and len(done) < 500:
        if len(done) % 3 == 0:
            opt = pickle.loads(pickle.dumps(opt))
        done.append(opt.refit(deadline=1e-5))
    assert len(done) > 3
    assert done[-1]
    assert len(opt.X_) == n
    assert (theta(opt) != before).any()
    assert run_of(opt).search.age == 0


def test_refit_is_the_search_of_the_surrogate():
    opt = run(WDBO([(0, 1)] * 2, n_initial_points=5, refit_every=None, random_state=0), 25)
    expected = opt.surrogate_.refit(**run_of(opt).temporal_kernel_for(opt.X_[:, -1]))
    assert opt.refit() is True
    assert_allclose(theta(opt), expected.theta_, rtol=1e-10)
    assert opt.n_told_ == 25


def test_refit_before_the_surrogate_and_without_hyperparameters():
    opt = WDBO([(0, 1)], n_initial_points=5)
    with pytest.raises(AskTellError, match=r"refit\(\) must be at least"):
        opt.refit()
    # A control loop calls it in every cycle.
    assert opt.refit(deadline=0.1) is True
    fixed = TimeVaryingGPRegressor(optimizer=None)
    opt = run(WDBO([(0, 1)], surrogate=fixed, n_initial_points=2, random_state=0), 4)
    before = run_of(opt)
    assert opt.refit() is True
    assert run_of(opt) is before
    for bad in (0.0, -1.0, np.nan, "soon"):
        with pytest.raises(ValueError, match="deadline must be a float"):
            opt.refit(deadline=bad)


@pytest.mark.parametrize("kind", [WDBO, BOLT, GPUCB])
def test_a_result_that_did_not_fit_is_used_by_the_next_tell(kind):
    opt = run(kind([(0, 1)] * 2, n_initial_points=5, step_budget=LONG, random_state=0), 20)
    before = run_of(opt)
    search = begun_search(before, before.surrogate.refit(), before.data).continued(np.inf)
    gp, model = search.found.gp, search.found.model
    gp = model._condition(gp.covariance.with_theta(theta(opt) - 0.1), gp.rows)
    search = replaced(search, found=replaced(search.found, gp=gp))
    opt._run = before.with_objective(sliced_search=search)
    run(opt, 1, start=20)
    assert_array_equal(theta(opt), search.found.theta_)
    assert run_of(opt).sliced_search is None
    assert (run_of(opt).search.age, run_of(opt).search.size) == (0, search.n)
    assert len(opt.X_) == len(opt.surrogate_.X_train_)


def test_untell_ends_a_search_that_may_know_the_observation():
    opt = run(WDBO([(0, 1)] * 2, n_initial_points=5, random_state=0), 20)
    assert opt.refit(deadline=1e-5) is False
    opt.untell()
    assert run_of(opt).sliced_search is None


def test_an_interrupted_search_does_not_stop_those_of_tell():
    opt = run(WDBO([(0, 1)] * 2, n_initial_points=5, refit_every=3, random_state=0), 20)
    assert opt.refit(deadline=1e-5) is False
    run(opt, 4, start=20)
    assert run_of(opt).sliced_search is None
    assert run_of(opt).search.age < 3


def test_a_journal_has_the_hyperparameters(tmp_path):
    path = tmp_path / "run.db"
    opt = WDBO([(0, 1)] * 2, n_initial_points=5, step_budget=0.02, random_state=0, journal=path)
    run(opt, 30)
    while not opt.refit(deadline=1e-4):
        pass
    expected, told = theta(opt), opt.told_X_
    opt.close()
    again = WDBO.resume(path)
    assert again.step_budget == 0.02
    assert_array_equal(theta(again), expected)
    assert_array_equal(again.told_X_, told)
    run(again, 5, start=30)


def test_many_observations_are_limited_too():
    opt = GPUCB([(0, 1)], n_initial_points=5, step_budget=LONG, random_state=0)
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(50, 1))
    opt.tell_many(X, [f(x, 0) for x in X], t=np.arange(50.0))
    assert len(opt.X_) == 50
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepBudgetWarning)
        run_of(opt).timer.seconds = 1e-9
        run(opt, 20, start=50)
    assert len(opt.X_) < 50
    assert opt.n_told_ == 70


KERNELS = {"compiled": None, "called": RationalQuadratic(0.5)}


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_search_for_a_query_stops(kernel):
    """When the time is over before the search, the score of the candidates is all that is left."""
    calls = []

    def score(mean, std, state):
        calls.append(len(mean))
        return mean + std, np.ones(len(mean)), np.ones(len(mean))

    surrogate = TimeVaryingGPRegressor(KERNELS[kernel], Matern(9.0, nu=1.5), optimizer=None)
    opt = GPUCB([(0, 1)] * 3, n_initial_points=5, acquisition=score, surrogate=surrogate)
    opt.set_params(step_budget=LONG, random_state=0)
    run(opt, 7)
    calls.clear()
    opt.ask(7.0)
    assert len(calls) > 5
    assert calls[0] > 500
    timer = run_of(opt).timer
    timer.seconds = 1e-9
    for t in range(8, 15):
        opt.cancel(opt.pending_[-1])
        calls.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StepBudgetWarning)
            x = opt.ask(float(t))
    assert ((x >= 0.0) & (x <= 1.0)).all()
    assert calls == [16 + 3]  # and the latest three places


def test_draws_at_fewer_places():
    opt = GPUCB([(0, 1)], n_initial_points=5, acquisition="ts", step_budget=LONG, random_state=0)
    run(opt, 6)
    run_of(opt).timer._n_candidates = 32
    sizes, original = [], TimeSlice.sample

    def sample(self, S, rng):
        sizes.append(len(S))
        return original(self, S, rng)

    with mock.patch.object(TimeSlice, "sample", sample):
        opt.ask(6.0)
    assert 32 < sizes[0] < 200


# --- the timer ------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: now[0])

    def wait(seconds):
        now[0] += seconds

    return wait


def updated(timer, clock, n, seconds, fresh=False):
    timer.begin()
    clock(seconds)
    timer.model_updated(n, fresh)
    timer.end("tell")


def limit(n, seconds, least):
    """Size at which the part that grows with n³ and the least time take 0.45 of 1 s."""
    return n * ((0.45 - least) / max(seconds - least, 0.1 * seconds)) ** (1 / 3)


def test_the_limit_follows_from_the_slower_of_two_updates(clock):
    timer = StepTimer(1.0)
    assert timer.wants_timing(5)
    assert timer.limit == np.inf
    updated(timer, clock, 50, 0.1, fresh=True)
    assert timer.limit == np.inf
    updated(timer, clock, 51, 0.05)
    assert timer.limit == int(limit(51, 0.1, 0.05)) == 102
    assert timer.size_for(51) == timer.limit
    assert timer.size_for(40) == 80
    assert not timer.wants_timing(51)


def test_beyond_the_limit_it_is_measured_before_anything_is_removed(clock):
    timer = StepTimer(1.0)
    updated(timer, clock, 50, 0.1, fresh=True)
    updated(timer, clock, 51, 0.05)
    n = timer.limit + 1
    assert timer.size_for(n) == n
    assert timer.wants_timing(n)
    updated(timer, clock, n, 0.6, fresh=True)
    updated(timer, clock, n + 1, 0.7)
    assert not timer.wants_timing(n + 1)
    expected = np.median([limit(51, 0.1, 0.05), limit(n + 1, 0.7, 0.05)])
    assert timer.limit == int(expected) < n
    # At most 10 of the n + 1 leave in one step.
    assert timer.size_for(n + 1) == max(timer.limit, n + 1 - 10)


def test_an_old_measurement_is_repeated(clock):
    timer = StepTimer(1.0)
    updated(timer, clock, 40, 0.1, fresh=True)
    for _ in range(256):
        assert not timer.wants_timing(40)
        updated(timer, clock, 40, 0.1)
    assert timer.wants_timing(40)


@pytest.mark.parametrize("part", [MODEL, SEARCH, QUERY])
def test_expected_times_grow_with_the_cube(part, clock):
    timer = StepTimer(1.0)
    assert timer.expected(part, 100) == 0.0
    timer._set_limit(part, 100, 0.1)
    timer._set_limit(part, 200, 0.3)
    at_limit = np.median([limit(100, 0.1, 0.1), limit(200, 0.3, 0.1)])
    assert_allclose(timer.expected(part, 150), 0.1 + 0.35 * (150 / at_limit) ** 3)
    assert_allclose(timer.expected(part, at_limit), 0.45)
    timer.begin()
    assert timer.fits(part, at_limit)
    clock(0.5)
    assert not timer.fits(part, at_limit)


def test_three_of_a_hundred_steps(clock):
    timer = StepTimer(1.0)
    for seconds in [2.0] + [0.5] * 99 + [3.0, 2.0]:
        updated(timer, clock, 100, seconds)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        timer.begin()  # the first one is longer ago
    updated(timer, clock, 100, 1.5)
    with pytest.warns(StepBudgetWarning, match=r"of tell\(\), 3 seconds .* model took 3[.]"):
        timer.begin()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        timer.begin()


def test_the_first_steps_may_be_slow(clock):
    """They show which data set fits; a budget that is never kept is named at once."""
    timer, slow = StepTimer(1.0), {0, 25, 35, 39, 41, 45, 47, 49, 53, 59}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(300):
            updated(timer, clock, 100, 2.0 if i in slow or i in (150, 290) else 0.5)
    timer = StepTimer(1.0)
    for _ in range(3):
        updated(timer, clock, 100, 2.0)
    with pytest.warns(StepBudgetWarning, match="3 of the latest 3 steps"):
        timer.begin()


def test_candidates_follow_the_time_of_a_query(clock):
    timer, run = StepTimer(1.0), SimpleNamespace(data=range(100))

    def queried(seconds):
        timer.begin()
        clock(seconds)
        timer.suggested(run, ["a query"])
        timer.end("ask")

    def n_candidates():
        return timer.effort(SimpleNamespace(queries=(), n_left=1))["n_candidates"]

    for _ in range(5):
        queried(0.95)
    assert n_candidates() == 16
    assert timer.limit == np.inf
    queried(0.95)
    assert timer.limit == 30  # the least
    queried(0.2)
    assert n_candidates() == 32
