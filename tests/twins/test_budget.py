"""Searches in slices against whole ones, and the times that fit into a budget."""

import pickle
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from grids import pairs_of
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.test_budget import LONG, f, run, theta
from scipy.optimize import minimize
from scipy.stats import gamma

from sktvbo import BOLT, GPUCB, WDBO, TimeVaryingGPRegressor
from sktvbo._values import replaced
from sktvbo.exceptions import StepBudgetWarning
from sktvbo.gaussian_process import SparseTimeVaryingGPRegressor
from sktvbo.optimizers._budget import MODEL, QUERY, SEARCH, Search, StepTimer
from sktvbo.optimizers._models import begun_search, new_surrogate, objective


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
    "sparse": SparseTimeVaryingGPRegressor(n_inducing=10),
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
    gp = REGRESSORS[name].set_params(random_state=np.random.RandomState(0)).fit(X[:18], y[:18])
    gp = gp.condition_on(X[18:22], y[18:22])
    more = (X[22:], y[22:]) if extra else None
    gp.random_state = np.random.RandomState(1)
    expected = gp.refit(more)
    gp.random_state = np.random.RandomState(1)
    search, n_parts = Search(gp.fitted_, {"extra_rows": more}), 0
    while search.optimum is None:
        search, n_parts = one_part(search), n_parts + 1
        assert len(search.results) == n_parts
        if copied and n_parts % copied == 0:
            search = pickle.loads(pickle.dumps(search))
    least, most = N_PARTS.get(name, (6, 500))
    assert least <= n_parts <= most
    assert one_part(search) is search
    found = search.optimum
    assert_allclose(found.theta_, expected.theta_, rtol=1e-9, atol=1e-9)
    mean, std = found.predict(X, return_std=True)
    assert_allclose((mean, std), expected.predict(X, return_std=True), rtol=1e-7, atol=1e-9)


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
    fails = [True, False, False]

    def part():
        if fails.pop(0):
            raise KeyboardInterrupt
        return 20

    surrogate = Counted(lambda: 1, part, lambda: 300)
    before = one_part(Search(surrogate, {}))
    with pytest.raises(KeyboardInterrupt):
        one_part(before)
    after = one_part(one_part(before))
    assert (before.results, before.optimum) == ((1,), None)
    assert (after.results, after.optimum, surrogate.n_begun) == ((1, 20, 300), 321, 2)
    again = one_part(one_part(before))
    assert (again.results, again.optimum, surrogate.n_begun) == ((1, 20, 300), 321, 3)


def test_no_part_begins_that_would_last_too_long(clock):
    """As long as the longest one so far, or as expected."""
    parts = [lambda seconds=seconds: clock(seconds) or 1 for seconds in (2.0, 0.5, 0.6, 0.1)]
    search = Search(Counted(*parts), {}).continued(5.0)
    assert (search.results, search.cost, search.optimum) == ((1, 1, 1), 2.0, None)
    assert search.continued(5.0) is search
    assert search.continued(5.0, n_sure=1).optimum == 4
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
    assert before.continued(time.process_time() + 3.5).optimum == 21
    assert before.surrogate.n_begun == 1


# --- in a run -------------------------------------------------------------------------------------


def test_a_search_whose_parts_do_not_fit_ends_and_limits_the_data_set():
    opt = run(GPUCB([(0, 1)], n_initial_points=5, step_budget=LONG, random_state=0), 40)
    before, timer = opt._run, opt._run.timer
    timer.seconds = 1.0
    timer._limits[SEARCH].clear()
    search = begun_search(objective(before), before.surrogate, before.data)
    search = replaced(search.continued(0.0, n_sure=1), cost=100.0)
    opt._run = before.with_objective(sliced_search=search)
    run(opt, 1, start=40)
    assert opt._run.sliced_search is not search
    assert timer.limit == 30


def test_a_search_that_was_too_long_once_is_timed_again():
    """Where one slow part of a search, by the load of a machine, has ended the searches."""
    opt = run(GPUCB([(0, 1)], n_initial_points=5, step_budget=LONG, random_state=0), 40)
    timer, before = opt._run.timer, theta(opt)
    timer.seconds = 1.0
    timer._limits[SEARCH].clear()
    timer.searched(40, 100.0)
    run(opt, 45, start=40)
    assert_array_equal(theta(opt), before)
    run(opt, 15, start=85)
    assert (theta(opt) != before).any()
    assert timer.expected(SEARCH, 40) < 1.0


def test_refit_is_the_search_of_the_surrogate():
    opt = run(WDBO([(0, 1)] * 2, n_initial_points=5, refit_every=None, random_state=0), 25)
    unfitted = new_surrogate(objective(opt._run), opt.X_[:, -1])
    expected = opt.surrogate_.refit(temporal_kernel=unfitted.temporal_kernel)
    assert opt.refit() is True
    assert_allclose(theta(opt), expected.theta_, rtol=1e-10)
    assert opt.n_told_ == 25


@pytest.mark.parametrize("kind", [WDBO, BOLT, GPUCB])
def test_a_result_that_did_not_fit_is_used_by_the_next_tell(kind):
    opt = run(kind([(0, 1)] * 2, n_initial_points=5, step_budget=LONG, random_state=0), 20)
    before = opt._run
    search = begun_search(objective(before), before.surrogate.refit(), before.data).continued(
        np.inf
    )
    gp, model = search.optimum.gp, search.optimum.model
    gp = model._condition(gp.covariance.with_theta(theta(opt) - 0.1), gp.rows)
    search = replaced(search, optimum=replaced(search.optimum, gp=gp))
    opt._run = before.with_objective(sliced_search=search)
    run(opt, 1, start=20)
    assert_array_equal(theta(opt), search.optimum.theta_)
    assert opt._run.sliced_search is None
    assert (opt._run.search.age, opt._run.search.size) == (0, search.n)
    assert len(opt.X_) == len(opt.surrogate_.X_train_)


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


def test_the_limit_follows_from_the_slower_of_two_updates(clock):
    timer = StepTimer(1.0)
    assert timer.wants_timing(5)
    assert timer.limit == np.inf
    updated(timer, clock, 50, 0.1, fresh=True)
    assert timer.limit == np.inf
    updated(timer, clock, 51, 0.05)
    # Of 0.1 s half grows with n³: at twice the size it takes 0.05 + 0.4 s, nearly half of 1 s.
    assert timer.limit == 102
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
    assert 51 < timer.limit < n  # between what the two measurements say
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
    least, *sizes = (timer.expected(part, n) for n in (0, 100, 200))
    assert_allclose(least, 0.1)
    assert_allclose(sizes[1] - least, 8.0 * (sizes[0] - least))
    timer.begin()
    assert timer.fits(part, 200)
    clock(0.7)
    assert not timer.fits(part, 200)


def test_three_of_a_hundred_steps(clock):
    timer = StepTimer(1.0)
    for seconds in [2.0] + [0.5] * 99 + [3.0, 2.0]:
        updated(timer, clock, 100, seconds)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        timer.begin()  # the first one is longer ago
    with pytest.warns(StepBudgetWarning, match=r"of tell\(\), 3 seconds .* model took 3[.]"):
        updated(timer, clock, 100, 1.5)
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
    for _ in range(2):
        updated(timer, clock, 100, 2.0)
    with pytest.warns(StepBudgetWarning, match="3 of the latest 3 steps"):
        updated(timer, clock, 100, 2.0)


def test_candidates_follow_the_time_of_a_query(clock):
    timer, run = StepTimer(1.0), SimpleNamespace(data=range(100))

    def queried(seconds):
        timer.begin()
        clock(seconds)
        timer.suggested(run, ["a query"])
        timer.end("ask")

    def n_candidates():
        return timer.effort(1)["n_candidates"]

    for _ in range(5):
        queried(0.95)
    assert n_candidates() == 16
    assert timer.limit == np.inf
    queried(0.95)
    assert timer.limit == 30  # the least
    queried(0.2)
    assert n_candidates() == 32
