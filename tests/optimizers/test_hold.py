"""Hyperparameters and the scale of y when a policy leaves hardly any observations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.cases import BOX, N_INITIAL

from sktvbo import BayesianOptimizer, TimeVaryingGPRegressor
from sktvbo.domain import Box
from sktvbo.staleness import StaleDataPolicy

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


@pytest.mark.parametrize("keep", [0, 2])
@pytest.mark.parametrize("maximize", [True, False])
def test_the_books_agree_after_a_drop(before, keep, maximize):
    opt = make(DropAt(keep=keep, before=before), maximize=maximize)
    tell(opt, 0, 13)
    left = np.arange(12 - keep, 13)
    for stop in range(13, 20):
        rows = np.append(left, np.arange(13, stop))
        assert_array_equal(opt.X_, np.column_stack([X[rows], rows]))
        assert_array_equal(opt.y_, Y[rows])
        assert opt.n_removed_ == 12 - keep
        assert_array_equal(np.flatnonzero(np.isnan(opt.removed_at_)), rows)
        assert_array_equal(opt.removed_at_[: 12 - keep], 12.0)
        gp = opt.surrogate_
        assert_array_equal(gp.X_train_[:, :2], Box(BOX).to_unit(opt.X_[:, :2]))
        assert_array_equal(gp.X_train_[:, 2], rows)
        assert_array_equal(gp.y_train_, opt.y_ if maximize else -opt.y_)
        tell(opt, stop, stop + 1)


@pytest.mark.parametrize("n_initial_points", [5, 12])
def test_no_search_sees_fewer_than_enough_observations(before, n_initial_points, monkeypatch):
    """min(n_initial_points, 10) of them, the latest; none of those forgotten stays."""
    searched, original = [], TimeVaryingGPRegressor.updated

    def spy(self, X=None, y=None, *, drop=(), refit=False, learn_with=None, **options):
        if refit:
            times = np.append(np.delete(self.X_train_[:, -1], drop), X[:, -1])
            if learn_with is not None:
                times = np.append(times, learn_with[0][:, -1])
            searched.append(sorted(times))
        return original(self, X, y, drop=drop, refit=refit, learn_with=learn_with, **options)

    monkeypatch.setattr(TimeVaryingGPRegressor, "updated", spy)
    opt = make(DropAt(before=before), n_initial_points=n_initial_points, refit_every=1)
    tell(opt, 0, 13)
    enough = min(n_initial_points, 10)
    for t in range(13, 25):
        searched.clear()
        tell(opt, t, t + 1)
        since_drop = t - 11
        assert searched == [list(range(t + 1 - max(enough, since_drop), t + 1))]
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
        if n >= N_INITIAL:
            assert_allclose(scale(opt), Y[12 : t + 1].std())
        elif t == 12 and not before:
            held = scale(opt)
            assert_allclose(held, Y[:13].std())  # with the new one, before the drop
        else:
            assert scale(opt) == held
        assert_array_equal(opt.surrogate_.theta_, theta)


def test_scale_of_y_at_a_search_is_that_of_the_latest_observations():
    opt = make(DropAt())
    tell(opt, 0, 13)
    for t in range(13, 17):
        assert_allclose(scale(opt), Y[t - N_INITIAL : t].std())
        tell(opt, t, t + 1)


def test_a_lone_observation_is_believed_within_its_noise(before):
    opt = make(DropAt(before=before))
    tell(opt, 0, 13)
    gp = opt.surrogate_
    assert len(gp.X_train_) == 1
    mean, std = gp.predict(gp.X_train_, return_std=True)
    assert abs(mean[0] - Y[12]) < abs(Y[:12].mean() - Y[12])
    assert 0.0 < std[0] < scale(opt) * np.sqrt(gp.signal_variance_)
    assert Box(BOX).contains(opt.ask(13))
