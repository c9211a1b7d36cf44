"""One contract for every optimizer: calls in and out of order, atomic steps, pickling, clones."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import Bounds
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from sktvbo import GPUCB, WDBO, BayesianOptimizer, RandomSearch, TimeVaryingGPRegressor
from sktvbo.acquisition import UCB
from sktvbo.domain import Box, FiniteSet
from sktvbo.exceptions import AskTellError, DomainError, InvalidObservationError
from sktvbo.staleness import RelevancyBudget

BOX = [(0.0, 2.0), (-1.0, 1.0)]
ARMS = FiniteSet(np.random.RandomState(3).uniform(size=(12, 2)))


def objective(x, t):
    """A bump whose place moves with time."""
    return np.exp(-4.0 * np.sum((x - 0.5 - 0.01 * t) ** 2))


def composed(domain, **options):
    return BayesianOptimizer(domain, policy=RelevancyBudget(alpha=0.5), **options)


SURROGATES = [GPUCB, WDBO, composed]


def make(kind, domain=BOX, **options):
    options = {"random_state": 0} | options
    if kind is not RandomSearch:
        options = {"n_initial_points": 5} | options
    return kind(domain, **options)


def drive(opt, steps, start=0, sign=1.0):
    """Ask and tell; the queries made."""
    queries = []
    for t in range(start, start + steps):
        x = opt.ask(float(t))
        opt.tell(x, sign * objective(x, t))
        queries.append(x)
    return np.array(queries)


def same_state(a, b):
    np.testing.assert_array_equal(a.X_, b.X_)
    np.testing.assert_array_equal(a.y_, b.y_)
    assert (a.n_told_, a.n_removed_) == (b.n_told_, b.n_removed_)


@pytest.fixture(params=[RandomSearch, *SURROGATES], ids=lambda k: k.__name__)
def kind(request):
    return request.param


@pytest.fixture(params=SURROGATES, ids=lambda k: k.__name__)
def modelled(request):
    return request.param


@pytest.mark.parametrize("domain", [BOX, Box(BOX), Bounds([0, -1], [2, 1]), ARMS])
def test_run_keeps_its_books(kind, domain):
    opt = make(kind, domain)
    queries = drive(opt, 12)
    assert queries.shape == (12, 2)
    assert opt.n_told_ == 12
    assert opt.n_removed_ == 12 - len(opt.X_)
    assert opt.X_.shape == (len(opt.y_), 3)
    np.testing.assert_array_equal(opt.told_X_, np.column_stack([queries, np.arange(12.0)]))
    kept = np.isnan(opt.removed_at_)
    np.testing.assert_array_equal(opt.told_X_[kept], opt.X_)
    np.testing.assert_array_equal(opt.told_y_[kept], opt.y_)
    if domain is ARMS:
        assert all(any(np.array_equal(q, p) for p in ARMS.points) for q in queries)
    else:
        assert np.all((queries >= [0, -1]) & (queries <= [2, 1]))


def test_surrogate_holds_the_data_set(modelled):
    opt = make(modelled)
    drive(opt, 25)
    X = opt.surrogate_.X_train_
    np.testing.assert_allclose(X[:, :2], (opt.X_[:, :2] - [0, -1]) / 2.0)
    np.testing.assert_array_equal(X[:, 2], opt.X_[:, 2])
    np.testing.assert_array_equal(opt.surrogate_.y_train_, opt.y_)


def test_same_seed_same_run_other_seed_another(kind):
    first, again = drive(make(kind), 9), drive(make(kind), 9)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, drive(make(kind, random_state=1), 9))


def test_minimizing_mirrors_maximizing(modelled):
    up = drive(make(modelled), 10)
    down = drive(make(modelled, maximize=False), 10, sign=-1.0)
    np.testing.assert_allclose(up, down, atol=1e-6)


@pytest.mark.parametrize("at", [3, 10])
def test_pickling_and_copying_in_mid_run_gives_the_same_next_point(kind, at):
    opt = make(kind)
    drive(opt, at)
    twins = [pickle.loads(pickle.dumps(opt)), copy.deepcopy(opt)]
    expected = drive(opt, 4, start=at)
    for twin in twins:
        np.testing.assert_array_equal(drive(twin, 4, start=at), expected)
        same_state(twin, opt)


def test_clone_starts_afresh_with_the_same_parameters(kind):
    opt = make(kind, random_state=7)
    drive(opt, 7)
    fresh = clone(opt)
    assert fresh.n_told_ == 0
    assert {k: repr(v) for k, v in fresh.get_params().items()} == {
        k: repr(v) for k, v in opt.get_params().items()
    }
    assert repr(fresh).startswith(type(opt).__name__)


def test_constructor_only_stores():
    domain, surrogate = object(), object()
    opt = WDBO(domain, surrogate=surrogate, alpha="nonsense", n_initial_points=-3)
    assert opt.domain is domain
    assert opt.surrogate is surrogate
    assert opt.set_params(alpha=0.5).alpha == 0.5


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (lambda o: o.tell([0.5, np.nan], 1.0, 20.0), InvalidObservationError, "must be finite"),
        (lambda o: o.tell([0.5, 3.0], 1.0, 20.0), DomainError, r"x\[1\] must lie in"),
        (lambda o: o.tell([0.5], 1.0, 20.0), InvalidObservationError, "shape"),
        (lambda o: o.tell([0.5, 0.5], np.inf, 20.0), InvalidObservationError, "y must be finite"),
        (lambda o: o.tell([0.5, 0.5], [1.0, 2.0], 20.0), InvalidObservationError, "one real"),
        (lambda o: o.tell([0.5, 0.5], "high", 20.0), InvalidObservationError, "one real"),
        (lambda o: o.tell([0.5, 0.5], 1.0, np.nan), InvalidObservationError, "t must be finite"),
        (lambda o: o.tell([0.123, 0.5], 1.0), AskTellError, "not pending"),
        (lambda o: o.ask(3.0), InvalidObservationError, "must not go backwards: expected t >= 11"),
        (lambda o: o.ask(np.inf), InvalidObservationError, "t must be finite"),
    ],
)
def test_a_bad_call_says_why_and_changes_nothing(kind, bad, error, message):
    opt, twin = make(kind), make(kind)
    drive(opt, 12), drive(twin, 12)
    with pytest.raises(error, match=message):
        bad(opt)
    same_state(opt, twin)
    np.testing.assert_array_equal(drive(opt, 2, start=12), drive(twin, 2, start=12))


def test_failure_in_the_middle_of_a_step_changes_nothing(modelled, monkeypatch):
    opt, twin = make(modelled), make(modelled)
    drive(opt, 12), drive(twin, 12)
    x = opt.ask(12.0)
    np.testing.assert_array_equal(x, twin.ask(12.0))

    def fail(self, surrogate, now):
        self.budget_ = np.nan
        raise MemoryError("planted")

    with monkeypatch.context() as patch:
        patch.setattr(type(opt.policy_), "after_add", fail)
        with pytest.raises(MemoryError, match="planted"):
            opt.tell(x, 1.0)
    same_state(opt, twin)
    assert vars(opt.policy_) == vars(twin.policy_)
    opt.tell(x, 1.0), twin.tell(x, 1.0)  # the corrected call succeeds
    same_state(opt, twin)
    np.testing.assert_array_equal(opt.ask(13.0), twin.ask(13.0))


def test_failure_while_asking_draws_no_random_numbers(modelled, monkeypatch):
    opt, twin = make(modelled), make(modelled)
    drive(opt, 8), drive(twin, 8)

    def fail(score, posterior, domain, rng, **options):
        rng.uniform(size=100)
        raise MemoryError("planted")

    with monkeypatch.context() as patch:
        patch.setattr("sktvbo.optimizers._base.maximize", fail)
        with pytest.raises(MemoryError, match="planted"):
            opt.ask(8.0)
    np.testing.assert_array_equal(opt.ask(8.0), twin.ask(8.0))


def test_callers_arrays_are_neither_changed_nor_kept(kind):
    opt = make(kind)
    drive(opt, 6)
    x = opt.ask(6.0)
    mine = x.copy()
    opt.tell(mine, 0.5)
    mine[:] = 77.0
    x[:] = 77.0
    assert opt.told_X_.max() < 7.0
    opt.X_[:] = 77.0
    opt.told_y_[:] = 77.0
    assert opt.told_X_.max() < 7.0
    assert opt.told_y_.max() <= 1.0


def test_asking_again_and_telling_in_any_order(kind):
    opt = make(kind)
    drive(opt, 6)
    a, b = opt.ask(6.0), opt.ask(7.0)
    opt.tell(b, 0.2)
    opt.tell(a, 0.1)
    assert opt.told_X_[-2:, 2].tolist() == [7.0, 6.0]
    assert opt.told_y_[-2:].tolist() == [0.2, 0.1]
    assert opt.ask(7.0).shape == (2,)


def test_late_corrected_and_uninvited_observations_are_welcome(kind):
    opt = make(kind)
    drive(opt, 8)
    x = opt.ask(9.0)
    opt.tell(x, 0.1, 9.7)  # it took a while
    opt.tell([1.0, 0.0], 0.2, 4.5)  # late, and never asked for
    assert opt.told_X_[-2:, 2].tolist() == [9.7, 4.5]
    with pytest.raises(InvalidObservationError, match=r"expected t >= 9\.7"):
        opt.ask(9.5)
    assert opt.ask(9.7).shape == (2,)


def test_the_same_point_any_number_of_times(kind):
    opt = make(kind)
    for t in range(40):
        opt.tell([1.0, 0.5], 0.3, float(t))
    x, t = opt.ask(40.0, return_time=True)
    assert np.isfinite(x).all()
    assert t == opt.next_time_ == 40.0


@pytest.mark.parametrize("n_initial_points", [1, 2])
def test_hardly_any_data(modelled, n_initial_points):
    opt = make(modelled, n_initial_points=n_initial_points)
    queries = drive(opt, 6)
    assert np.isfinite(queries).all()
    assert np.isfinite(opt.recommend(6.0)).all()


def test_recommend_follows_the_optimum(modelled):
    opt = make(modelled, [(0.0, 2.0)], n_initial_points=5)
    for t in range(30):
        x = opt.ask(float(t))
        opt.tell(x, -((x[0] - 0.5) ** 2))
    assert opt.recommend(30.0) == pytest.approx(0.5, abs=0.05)
    assert opt.n_told_ == 30  # looking is not asking


def test_recommend_needs_observations(kind):
    with pytest.raises(AskTellError, match="at least"):
        make(kind).recommend(0.0)


def test_refit_every_holds_the_hyperparameters_between(modelled):
    opt = make(modelled, n_initial_points=6, refit_every=3)
    drive(opt, 6)
    thetas = []
    for t in range(6, 13):
        thetas.append(opt.surrogate_.theta_)
        drive(opt, 1, start=t)
    changed = [not np.array_equal(a, b) for a, b in pairwise(thetas)]
    assert changed == [False, False, True, False, False, True]


def test_held_steps_equal_a_fresh_surrogate(modelled):
    opt = make(modelled, n_initial_points=8, refit_every=1000)
    drive(opt, 40)
    gp = opt.surrogate_
    fresh = TimeVaryingGPRegressor(
        gp.spatial_kernel_,
        gp.temporal_kernel_,
        signal_variance=gp.signal_variance_,
        noise_variance=gp.noise_variance_,
        normalize_y=True,
        optimizer=None,
    ).fit(gp.X_train_, gp.y_train_)
    X = np.random.RandomState(0).uniform(size=(20, 3)) * [1, 1, 50]
    for got, expected in zip(gp.predict(X, return_std=True), fresh.predict(X, return_std=True)):
        np.testing.assert_allclose(got, expected, atol=1e-8)


@pytest.mark.parametrize("clock", ["step", "wall", lambda: 3.5])
def test_clocks(kind, clock):
    opt = make(kind, clock=clock)
    times = []
    for _ in range(3):
        x, t = opt.ask(return_time=True)
        opt.tell(x, 0.0)
        times.append(t)
    assert opt.told_X_[:, 2].tolist() == times
    if clock == "step":
        assert times == [0.0, 1.0, 2.0]
    elif clock == "wall":
        assert times == sorted(times)
        assert 0.0 <= times[0] < times[2] < 60.0
    else:
        assert times == [3.5, 3.5, 3.5]


def test_wall_clock_goes_on_where_it_stood():
    opt = make(RandomSearch)
    opt.ask()
    earlier = opt.ask(return_time=True)[1]
    twin = pickle.loads(pickle.dumps(opt))
    assert earlier <= twin.ask(return_time=True)[1] < earlier + 60.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"domain": None}, "needs a domain"),
        ({"domain": {1.0, 2.0}}, "domain must be"),
        ({"n_initial_points": 0}, "'n_initial_points' parameter .* positive int"),
        ({"refit_every": 0}, "'refit_every' parameter"),
        ({"clock": "sun"}, "'clock' parameter must be"),
    ],
)
def test_bad_parameters(options, message):
    opt = GPUCB(**({"domain": BOX} | options))
    with pytest.raises(ValueError, match=message):
        opt.ask(0.0)
    assert opt.set_params(domain=BOX, n_initial_points=5, refit_every=1, clock="step").ask(
        0.0
    ).shape == (2,)


@pytest.mark.parametrize("alpha", [-0.1, np.nan, "much"])
def test_bad_alpha(alpha):
    opt = make(WDBO, alpha=alpha)
    with pytest.raises(ValueError, match="'alpha' parameter"):
        drive(opt, 8)


@pytest.mark.parametrize(
    "surrogate",
    [
        TimeVaryingGPRegressor(RBF(0.4), Matern(10.0, nu=0.5), normalize_y=True),
        TimeVaryingGPRegressor(Matern([0.4, 0.6], nu=2.5), normalize_y=True),
        TimeVaryingGPRegressor(RationalQuadratic(0.5), ConstantKernel(1.0, "fixed")),
        TimeVaryingGPRegressor(RBF(0.3), Matern(20.0, nu=1.5), optimizer=None),
    ],
    ids=["rbf-matern", "ard", "unknown-kernel", "fixed"],
)
def test_the_users_own_surrogate(surrogate):
    before = repr(surrogate.get_params())
    opt = make(GPUCB, surrogate=surrogate, acquisition=UCB(beta=1.0))
    drive(opt, 9)
    assert opt.surrogate_.spatial_kernel_ is not surrogate.spatial_kernel
    assert repr(surrogate.get_params()) == before
    assert not hasattr(surrogate, "X_train_")


def test_wdbo_refuses_a_kernel_without_closed_form():
    opt = make(WDBO, surrogate=TimeVaryingGPRegressor(RationalQuadratic(0.5)))
    with pytest.raises(ValueError, match="not available for RationalQuadratic"):
        drive(opt, 12)


class TrackLast(BayesianOptimizer):
    """A toy algorithm: only the last five observations count."""

    def __init__(self, domain=None, *, n_initial_points=5, maximize=True, random_state=None):
        super().__init__(
            domain,
            n_initial_points=n_initial_points,
            maximize=maximize,
            random_state=random_state,
        )

    def _make_policy(self):
        class LastFive:
            def before_add(self, surrogate, x, t, y):
                return np.arange(len(surrogate.X_train_) - 4)

            def after_add(self, surrogate, now):
                return np.empty(0, dtype=int)

        return LastFive()


def test_an_algorithm_is_one_small_class():
    opt = make(TrackLast)
    queries = drive(opt, 12)
    np.testing.assert_array_equal(opt.X_, np.column_stack([queries, np.arange(12.0)])[-5:])
    assert opt.n_removed_ == 7


def test_a_policy_may_drop_everything_before_the_new_observation():
    class Reset:
        def before_add(self, surrogate, x, t, y):
            return np.arange(len(surrogate.X_train_)) if t == 8.0 else np.empty(0, dtype=int)

        def after_add(self, surrogate, now):
            return np.empty(0, dtype=int)

    class Resetting(TrackLast):
        def _make_policy(self):
            return Reset()

    opt = make(Resetting)
    drive(opt, 9)
    assert opt.X_[:, 2].tolist() == [8.0]
    drive(opt, 3, start=9)
    assert opt.X_[:, 2].tolist() == [8.0, 9.0, 10.0, 11.0]
