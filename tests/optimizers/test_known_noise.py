"""Observations whose noise is known: tell(x, y, y_variance=...)."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from optimizers.cases import fingerprint
from sklearn.gaussian_process.kernels import RBF

from sktvbo import WDBO, BayesianOptimizer, SparQGPUCB, TimeVaryingGPRegressor
from sktvbo.staleness import PeriodicReset, StaleDataPolicy

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


def test_zero_is_the_same_as_none():
    first, second = (
        tell_all(WDBO([(0, 1)], n_initial_points=4, random_state=0), 12, [variance])
        for variance in (0.0, None)
    )
    assert fingerprint(first) == fingerprint(second)


def test_variances_survive_a_pickle():
    opt = tell_all(BayesianOptimizer([(0, 1)], surrogate=held(), n_initial_points=6), 5)
    again = pickle.loads(pickle.dumps(opt))
    for each in (opt, again):
        each.tell([0.5], 1.0, 5.0, y_variance=1.0)
    assert_allclose(opt.surrogate_.predict([[0.2, 7]]), again.surrogate_.predict([[0.2, 7]]))


def test_an_expert_optimizer_takes_variances_too():
    exact = tell_all(SparQGPUCB([(0, 1)], n_initial_points=4, random_state=0), 8, [0.0])
    vague = tell_all(SparQGPUCB([(0, 1)], n_initial_points=4, random_state=0), 8)
    assert fingerprint(exact) != fingerprint(vague)


def test_a_surrogate_that_knows_no_variances_is_never_given_any():
    class Plain(TimeVaryingGPRegressor):
        def fit(self, X, y):
            return super().fit(X, y)

    kernels = RBF(0.3, "fixed"), RBF(5.0, "fixed")
    opt = BayesianOptimizer([(0, 1)], surrogate=Plain(*kernels), n_initial_points=4)
    assert tell_all(opt, 6, [None]).surrogate_ is not None


@pytest.mark.parametrize("variance", [-1.0, np.nan, np.inf, "much", [1.0]])
def test_what_is_no_variance_is_refused_and_nothing_told(variance):
    opt = tell_all(WDBO([(0, 1)], n_initial_points=4, random_state=0), 5)
    before = fingerprint(opt)
    for wrong in (np.inf, np.nan, -1.0):
        with pytest.raises(ValueError, match=f"y_variance must be a .* Got {wrong} in row 1"):
            opt.tell_many([[0.5]] * 3, [1.0] * 3, 0.0, y_variance=[1.0, wrong, 1.0])
    with pytest.raises(ValueError, match=r"y_variance must be a float in the range \[0, inf\)"):
        opt.tell([0.5], 1.0, 5.0, y_variance=variance)
    assert fingerprint(opt) == before


def test_policies_see_the_surrogate_with_the_variances():
    seen = []

    class Watcher(StaleDataPolicy):
        def after_add(self, surrogate, now):
            seen.append(surrogate.predict([[0.5, now]], return_std=True)[1][0])
            return []

    for variance in (0.0, 100.0):
        opt = BayesianOptimizer(
            [(0, 1)], surrogate=held(), policy=Watcher(), n_initial_points=1, random_state=0
        )
        opt.tell([0.5], 1.0, 0.0, y_variance=variance)
    assert seen[0] < 0.5 < 0.99 < seen[1]
