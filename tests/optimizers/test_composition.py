"""The seams: parts of one's own, and whole algorithms."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from optimizers.cases import ARMS, BOX, NAMED, objective
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from sktvbo import GPUCB, WDBO, BayesianOptimizer, TimeVaryingGPRegressor
from sktvbo.acquisition import UCB
from sktvbo.staleness import RelevancyBudget


class KeepBest:
    """A policy without base class: the ten best, and the newest."""

    def before_add(self, surrogate, x, t, y):
        return np.argsort(surrogate.y_train_)[:-10]

    def after_add(self, surrogate, now):
        return np.empty(0, dtype=int)

    def record(self):
        return {"kept": 10}


class EpsilonGreedy(BayesianOptimizer):
    """A toy algorithm: the posterior mean, and now and then what is least known."""

    def __init__(self, domain=None, *, rate=0.25, n_initial_points=5, random_state=None):
        super().__init__(domain, n_initial_points=n_initial_points, random_state=random_state)
        self.rate = rate

    def _make_surrogate(self, times, recent):
        return TimeVaryingGPRegressor(RBF(0.3), Matern(20.0, nu=0.5), normalize_y=True)

    def _make_acquisition(self):
        def explore_every_so_often(mean, std, state):
            if state.n_told % round(1.0 / self.rate) == 0:
                return std, 0.0, 1.0
            return mean, 1.0, 0.0

        return explore_every_so_often

    def _make_policy(self):
        return KeepBest()


def test_a_complete_algorithm_takes_forty_lines():
    lines = inspect.getsource(KeepBest) + inspect.getsource(EpsilonGreedy)
    assert len(lines.splitlines()) <= 40


@pytest.mark.parametrize("domain", [BOX, ARMS, NAMED], ids=["box", "finite", "named"])
def test_the_toy_algorithm_keeps_the_contract(domain):
    name = {id(BOX): "box", id(ARMS): "finite", id(NAMED): "named"}[id(domain)]
    opt = EpsilonGreedy(domain, random_state=0)
    for t in range(20):
        x = opt.ask(t)
        gp = opt.surrogate_
        if name == "box" and gp is not None:
            places = np.vstack([opt._run.domain.to_unit(x), np.random.RandomState(t).rand(99, 2)])
            mean, std = gp.posterior_at(t)(places)
            scores = std if t % 4 == 0 else mean
            assert scores[0] >= scores[1:].max() - 1e-6
        opt.tell(x, objective(x, t, name))
    assert len(opt.X_) == 11
    assert opt.y_[:-1].min() >= np.sort(opt.told_y_[:-1])[-10]
    assert_array_equal(opt.history_["kept"][5:], 10.0)
    assert isinstance(gp.spatial_kernel_, RBF)
    assert clone(opt).set_params(rate=0.5).rate == 0.5


def test_a_policy_of_ones_own_is_given_without_a_class_of_optimizers():
    policy = KeepBest()
    opt = BayesianOptimizer(BOX, policy=policy, n_initial_points=5, random_state=0)
    for t in range(14):
        x = opt.ask(t)
        opt.tell(x, objective(x, t))
    assert len(opt.X_) == 11
    assert opt.policy_ is not policy


def test_a_policy_may_drop_any_rows_in_any_order():
    class Odd(KeepBest):
        def before_add(self, surrogate, x, t, y):
            return [3, 1] if t == 8 else np.empty(0, dtype=int)

        def after_add(self, surrogate, now):
            return (5, 0) if now == 10 else np.empty(0, dtype=int)

    opt = BayesianOptimizer(BOX, policy=Odd(), n_initial_points=5, random_state=0)
    for t in range(12):
        x = opt.ask(t)
        opt.tell(x, objective(x, t))
    assert opt.X_[:, 2].tolist() == [2.0, 4.0, 5.0, 6.0, 8.0, 9.0, 10.0, 11.0]
    assert_array_equal(opt.surrogate_.X_train_[:, 2], opt.X_[:, 2])
    assert_array_equal(opt.surrogate_.y_train_, opt.y_)
    assert opt.removed_at_[[1, 3]].tolist() == [8.0, 8.0]
    assert opt.removed_at_[[0, 7]].tolist() == [10.0, 10.0]


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
@pytest.mark.parametrize("policy", [None, KeepBest()], ids=["all", "best"])
def test_the_users_own_surrogate(surrogate, policy):
    before = repr(surrogate.get_params())
    opt = BayesianOptimizer(
        BOX,
        surrogate=surrogate,
        acquisition=UCB(beta=1.0),
        policy=policy,
        n_initial_points=5,
        random_state=0,
    )
    for t in range(9):
        x = opt.ask(t)
        opt.tell(x, objective(x, t))
    assert type(opt.surrogate_.spatial_kernel_) is type(surrogate.spatial_kernel)
    assert opt.surrogate_.spatial_kernel_ is not surrogate.spatial_kernel
    assert repr(surrogate.get_params()) == before
    assert not hasattr(surrogate, "X_train_")
    held = surrogate.optimizer is None
    assert (opt.surrogate_.spatial_kernel_ == surrogate.spatial_kernel) == held


def test_a_kernel_without_closed_form_is_refused_where_one_is_needed():
    surrogate = TimeVaryingGPRegressor(RationalQuadratic(0.5))
    for opt in (
        WDBO(BOX, surrogate=surrogate, n_initial_points=5, random_state=0),
        BayesianOptimizer(
            BOX,
            surrogate=surrogate,
            policy=RelevancyBudget(min_size=5),
            n_initial_points=5,
            random_state=0,
        ),
    ):
        told, x = 0, opt.ask(0)
        with pytest.raises(ValueError, match="not available for RationalQuadratic"):  # noqa: PT012
            for told in range(12):
                x = opt.ask(told)
                opt.tell(x, float(told % 3))
        assert opt.n_told_ == told
        with pytest.raises(ValueError, match="not available for RationalQuadratic"):
            opt.tell(x, 1.0)
        assert opt.n_told_ == told


def test_an_acquisition_of_ones_own_is_a_function():
    def distance(mean, std, state):
        assert state.n == state.n_told == len(state.surrogate.X_train_)
        assert state.n_dims == 2
        return -((mean - 0.25) ** 2), -2.0 * (mean - 0.25), 0.0

    opt = GPUCB(BOX, acquisition=distance, n_initial_points=12, random_state=0)
    for t in range(13):
        x = opt.ask(t)
        mean = opt.surrogate_ and opt.surrogate_.posterior_at(t)(opt._run.domain.to_unit([x]))[0]
        opt.tell(x, x[0])
    assert mean[0] == pytest.approx(0.25, abs=1e-3)
