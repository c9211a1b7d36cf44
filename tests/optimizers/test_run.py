"""Hyperparameters and the scale of y in a run: when they are learnt, and of which observations."""

import numpy as np
import pytest
from contract.cases import BOX, N_INITIAL, fingerprint
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.dense import FITTED
from scipy.stats import gamma
from sklearn.gaussian_process.kernels import RBF

from sktvbo import (
    ETGPUCB,
    GPUCB,
    SWGPUCB,
    WDBO,
    BayesianOptimizer,
    SparQGPUCB,
    TimeVaryingGPRegressor,
)
from sktvbo.domain import Box
from sktvbo.staleness import PeriodicReset, StaleDataPolicy

# Observations from which hyperparameters and the scale of y are learnt.
ENOUGH = 10

X = Box(BOX).sample(30, np.random.RandomState(0))
Y = 100.0 + 7.0 * np.sin(5.0 * X[:, 0]) + np.arange(30.0) / 10.0


class DropAt(StaleDataPolicy):
    """All but the latest ``keep`` of the old observations go at one time, before or after."""

    def __init__(self, time=12.0, keep=0, before=True):
        self.time = time
        self.keep = keep
        self.before = before

    def _stale(self, surrogate, wanted, keep):
        n = len(surrogate.X_train_)
        return np.arange(n - keep) if wanted else np.empty(0, dtype=int)

    def before_add(self, surrogate, x, t, y):
        return self._stale(surrogate, self.before and t == self.time, self.keep)

    def after_add(self, surrogate, now):
        return self._stale(surrogate, not self.before and now == self.time, self.keep + 1)


def make(policy, **options):
    options = {"n_initial_points": N_INITIAL, "random_state": 0} | options
    return BayesianOptimizer(BOX, policy=policy, **options)


def tell(opt, start, stop):
    for t in range(start, stop):
        opt.tell(X[t], Y[t], t)


def scale(opt):
    """Standard deviation by which the surrogate divides y."""
    gp = opt.surrogate_
    return gp.noise_std_ / np.sqrt(gp.noise_variance_)


@pytest.fixture(params=[True, False], ids=["before", "after"])
def before(request):
    return request.param


@pytest.mark.parametrize("n_initial_points", [5, 12])
def test_no_search_sees_fewer_than_enough_observations(before, n_initial_points, monkeypatch):
    """The latest 10, whatever the initial design is; none of those forgotten stays."""
    searched, original = [], FITTED.refit

    def spy(self, extra_rows=None, **options):
        rows = [self.X_train_] if extra_rows is None else [self.X_train_, extra_rows[0]]
        searched.append(sorted(np.concatenate(rows)[:, -1]))
        return original(self, extra_rows, **options)

    monkeypatch.setattr(FITTED, "refit", spy)
    opt = make(DropAt(before=before), n_initial_points=n_initial_points, refit_every=1)
    tell(opt, 0, 13)
    for t in range(13, 25):
        searched.clear()
        tell(opt, t, t + 1)
        since_drop = t - 11
        assert searched == [list(range(t + 1 - max(ENOUGH, since_drop), t + 1))]
        assert_array_equal(opt.surrogate_.X_train_[:, -1], np.arange(12.0, t + 1))


def test_scale_of_y_is_never_that_of_a_handful(before):
    opt = make(DropAt(before=before), refit_every=100)
    tell(opt, 0, 12)
    held = scale(opt)
    assert_allclose(held, Y[:12].std())
    theta = opt.surrogate_.theta_
    for t in range(12, 22):
        tell(opt, t, t + 1)
        n = t - 11
        assert len(opt.X_) == n
        if n >= ENOUGH:
            assert_allclose(scale(opt), Y[12 : t + 1].std())
        elif t == 12 and not before:
            held = scale(opt)
            assert_allclose(held, Y[:13].std())  # with the new one, before the drop
        else:
            assert scale(opt) == held
        assert_array_equal(opt.surrogate_.theta_, theta)


def test_a_lone_observation_is_believed_within_its_noise(before):
    opt = make(DropAt(before=before))
    tell(opt, 0, 13)
    gp = opt.surrogate_
    assert len(gp.X_train_) == 1
    mean, std = gp.predict(gp.X_train_, return_std=True)
    assert abs(mean[0] - Y[12]) < abs(Y[:12].mean() - Y[12])
    prior = gp.signal_variance_ * gp.temporal_kernel_.diag(np.zeros((1, 1)))[0]
    assert 0.0 < std[0] < scale(opt) * np.sqrt(prior + 1.0)  # that of the mean included
    assert Box(BOX).contains(opt.ask(13))


# --- searches that pay, and when ------------------------------------------------------------------


UNIT = [(0.0, 1.0)] * 2


@pytest.fixture
def searches(monkeypatch):
    """Sizes of the data sets that were searched, first fits left out."""
    original, sizes = FITTED.refit, []

    def spy(self, *args, **options):
        sizes.append(len(self.X_train_))
        return original(self, *args, **options)

    monkeypatch.setattr(FITTED, "refit", spy)
    return sizes


def drive(opt, n_steps, begin=0, value=lambda x, t: np.sin(4.0 * x.sum() + t / 10.0)):
    rng = np.random.RandomState(begin)
    for t in range(begin, begin + n_steps):
        x = rng.uniform(size=2)
        opt.tell(x, value(x, t) + 0.1 * rng.normal(), float(t))


def test_searches_are_few_and_miss_little(searches):
    opt = GPUCB(UNIT, n_initial_points=20, refit_every="auto")
    drive(opt, 80, value=lambda x, t: np.sin(4.0 * x.sum()))
    # Growing by a tenth from 20 to 80 rows makes about fifteen.
    assert 8 <= len(searches) <= 30
    surrogate = opt.surrogate_
    again = surrogate.refit()
    gained = again.log_marginal_likelihood_value_ - surrogate.log_marginal_likelihood_value_
    assert gained < 1.0


def test_a_promise_makes_a_search(searches, monkeypatch):
    opt = GPUCB(UNIT, n_initial_points=30, refit_every="auto")
    drive(opt, 31)
    searches.clear()
    promised = iter([0.0, 0.1, 0.101])  # nats
    monkeypatch.setattr(FITTED, "search_gain", lambda self: next(promised))
    drive(opt, 3, begin=31)
    assert searches == [34]


def test_growth_and_resets_make_a_search(searches, monkeypatch):
    monkeypatch.setattr(FITTED, "search_gain", lambda self: 0.0)
    drive(GPUCB(UNIT, n_initial_points=30, refit_every="auto"), 45)
    assert searches == [34, 38, 42]
    searches.clear()
    opt = ETGPUCB(UNIT, n_initial_points=30, refit_every="auto")
    drive(opt, 33)
    assert searches == []
    opt.tell([0.5, 0.5], 1e3, 33.0)
    assert searches == [1]


def test_searches_come_at_the_latest_when_so_many_data_sets_have_come(searches, monkeypatch):
    monkeypatch.setattr(FITTED, "search_gain", lambda self: 0.0)
    drive(SWGPUCB(UNIT, window=10, n_initial_points=10, refit_every="auto"), 115)
    assert searches == []
    drive(SWGPUCB(UNIT, window=10, n_initial_points=10, refit_every="auto"), 250)
    assert searches == [11, 11]  # with the one that the window then drops


def test_a_surrogate_without_a_promise_is_searched_always(searches, monkeypatch):
    monkeypatch.delattr(FITTED, "search_gain")
    drive(GPUCB(UNIT, n_initial_points=20, refit_every="auto"), 25)
    assert len(searches) == 5


def test_nothing_to_search(searches):
    surrogate = TimeVaryingGPRegressor(optimizer=None, normalize_y=True)
    opt = BayesianOptimizer(UNIT, surrogate=surrogate, n_initial_points=10, refit_every="auto")
    drive(opt, 40)
    assert searches == []
    assert opt.surrogate_.fitted_.search_gain() == 0.0


# --- the promise ----------------------------------------------------------------------------------


def sample(n, seed=0):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n, 2)), np.arange(n)])
    return X, np.sin(4.0 * X[:, 0] + X[:, 2] / 20.0) + 0.1 * rng.normal(size=n)


def test_there_is_nothing_to_gain_after_a_search():
    X, y = sample(60)
    for hyperpriors in (None, {"noise_variance": gamma(3.0, scale=0.5)}):
        gp = TimeVaryingGPRegressor(hyperpriors=hyperpriors).fit(X, y)
        assert 0.0 <= gp.fitted_.search_gain() < 1e-6


def test_the_promise_is_about_what_a_search_gains():
    X, y = sample(80)
    gp = TimeVaryingGPRegressor().fit(X[:74], y[:74])
    held = gp.condition_on(X[74:], np.where(np.arange(6) % 2, 1.5, -1.5))
    gained = held.refit().log_marginal_likelihood_value_
    gained -= held.log_marginal_likelihood_value_
    assert gained > 1.0
    assert held.fitted_.search_gain() > 0.1


def test_what_is_not_known():
    X, y = sample(60)
    gp = TimeVaryingGPRegressor().partial_fit(X, y)
    assert gp.fitted_.search_gain() == np.inf
    gp.fit(X, y)
    assert gp.without(np.arange(20)).fitted_.search_gain() == np.inf
    callable_search = TimeVaryingGPRegressor(optimizer=lambda f, x, bounds: (x, f(x)[0]))
    assert callable_search.fit(X, y).fitted_.search_gain() == np.inf


# --- noise that is known --------------------------------------------------------------------------


VARIANCES = [0.0, 4.0, 0.25, 1.0]


def held():
    kernels = RBF(0.3, "fixed"), RBF(5.0, "fixed")
    return TimeVaryingGPRegressor(*kernels, noise_variance=0.1, optimizer=None)


def tell_all(opt, n, variances=VARIANCES):
    """Tell n observations, with these variances in turn."""
    for t in range(n):
        x = np.random.RandomState(t).uniform(size=1)
        opt.tell(x, np.sin(6.0 * x[0]), t, y_variance=variances[t % len(variances)])
    return opt


def test_the_surrogate_is_conditioned_with_the_variances_told():
    for n in (4, 11):  # fitted at once, and observation by observation
        opt = tell_all(BayesianOptimizer([(0, 1)], surrogate=held(), n_initial_points=4), n)
        known = np.resize(VARIANCES, n)
        expected = held().fit(opt.X_, opt.y_, known)
        where = [[0.2, 10.0], [0.7, 12.0]]
        assert_allclose(
            opt.surrogate_.predict(where, return_std=True),
            expected.predict(where, return_std=True),
            rtol=1e-10,
        )
        ignorant = held().fit(opt.X_, opt.y_).predict(where)
        assert np.abs(opt.surrogate_.predict(where) - ignorant).max() > 1e-3


def test_what_was_forgotten_teaches_with_its_variances():
    # After a reset the hyperparameters are learnt with what was forgotten. Its noise is known, so
    # that none is left to learn; told without a variance it is the surrogate's.
    def learnt(variance):
        learner = TimeVaryingGPRegressor(
            RBF(0.3, "fixed"), RBF(5.0, "fixed"), noise_variance_bounds=(1e-4, 10.0)
        )
        opt = BayesianOptimizer(
            [(0, 1)], surrogate=learner, policy=PeriodicReset(12), n_initial_points=12
        )
        rng = np.random.RandomState(0)
        for t in range(13):
            noise = rng.normal() if t < 12 else 0.0
            opt.tell([t / 13], np.sin(3.0 * t / 13) + noise, t, y_variance=variance)
        assert len(opt.y_) == 1
        return opt.surrogate_.noise_variance_

    assert learnt(1.0) < 0.05 < 0.3 < learnt(0.0)


@pytest.mark.parametrize("kind", [WDBO, SparQGPUCB])
def test_zero_is_the_same_as_none(kind):
    zero, none, some = (
        fingerprint(tell_all(kind([(0, 1)], n_initial_points=4, random_state=0), 12, variances))
        for variances in ([0.0], [None], VARIANCES)
    )
    assert zero == none != some


def test_a_surrogate_that_knows_no_variances_is_never_given_any():
    class Plain(TimeVaryingGPRegressor):
        def fit(self, X, y):
            return super().fit(X, y)

    kernels = RBF(0.3, "fixed"), RBF(5.0, "fixed")
    opt = BayesianOptimizer([(0, 1)], surrogate=Plain(*kernels), n_initial_points=4)
    assert tell_all(opt, 6, [None]).surrogate_ is not None


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_what_is_no_variance_is_refused_and_nothing_told(wrong):
    opt = tell_all(WDBO([(0, 1)], n_initial_points=4, random_state=0), 5)
    before = fingerprint(opt)
    with pytest.raises(ValueError, match=f"y_variance must be a .* Got {wrong} in row 1"):
        opt.tell_many([[0.5]] * 3, [1.0] * 3, 0.0, y_variance=[1.0, wrong, 1.0])
    assert fingerprint(opt) == before


def test_any_row_of_the_data_set_may_be_recommended():
    """With a short lengthscale each row is a peak of the posterior mean: a search finds six."""
    gp = TimeVaryingGPRegressor(RBF(0.01), noise_variance=0.01, optimizer=None)
    rng = np.random.RandomState(0)
    X, y = rng.uniform(size=(100, 4)), rng.uniform(size=100)
    opt = GPUCB([(0.0, 1.0)] * 4, surrogate=gp, random_state=0)
    opt.tell_many(X, y, np.zeros(100))
    assert_allclose(opt.recommend(0.0), X[np.argmax(y)], atol=0.01)
