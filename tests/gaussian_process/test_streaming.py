"""Rows appended and dropped one by one, in every model, against a fresh fit."""

from itertools import islice, product

import numpy as np
import pytest
from gaussian_process.cases import afresh, data, everything, make, stream
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.exceptions import JitterWarning
from sktvbo.gaussian_process import (
    GeometricInjection,
    QuadraticInjection,
    QuadraticMean,
    WeightedTimeVaryingGPRegressor,
)
from sktvbo.kernels import Forgetting, Wiener

STATIC, INDUCING = ConstantKernel(1.0, "fixed"), data(n=20, seed=7)[0]
SPARSE = {"kind": SparseTimeVaryingGPRegressor, "inducing": INDUCING}
MODELS = {
    "plain": {},
    "ard-forgetting": {"spatial": RBF([0.4, 0.9]), "temporal": Forgetting(0.1)},
    "rough": {"spatial": Matern(0.4, nu=0.5), "temporal": RBF(2.0)},
    "wiener": {"temporal": Wiener(0.07)},
    "level": {"level_kernel": 0.4 * Matern(0.6, nu=0.5)},
    "rational": {"spatial": RationalQuadratic(0.4), "noise_model": GeometricInjection(0.9)},
    "learnt mean": {"mean_prior_std": 1.5},
    "flat mean": {"mean_prior_std": np.inf, "kind": WeightedTimeVaryingGPRegressor},
    "quadratic mean": {"prior_mean": QuadraticMean(0.8), "mean_prior_std": 1.0},
    "quadratic noise": {"temporal": STATIC, "noise_model": QuadraticInjection(0.3)},
    "weighted": {"kind": WeightedTimeVaryingGPRegressor, "noise_model": GeometricInjection(0.9)},
    "sparse": {**SPARSE, "mean_prior_std": np.inf},
    "sparse, noise": {**SPARSE, "noise_model": QuadraticInjection(0.3)},
    "sparse, rational": {**SPARSE, "spatial": RationalQuadratic(0.5)},
}
WITHOUT_RELEVANCY = ("wiener", "rational", "quadratic noise", "sparse, rational")


@pytest.mark.parametrize(
    ("name", "variances", "normalize_y"),
    # Known noise and normalized y in every other model.
    [
        pytest.param(name, *given, marks=() if sum(given) == 2 * (i % 2) else pytest.mark.slow)
        for i, name in enumerate(MODELS)
        for given in product((False, True), (False, True))
    ],
)
def test_a_stream_is_a_fresh_fit(name, variances, normalize_y):
    gp = make(**MODELS[name], normalize_y=normalize_y)
    new, _ = data(n=20, seed=100)
    theta = clone(gp).fit(*data()).theta_
    for X, y, v in islice(stream(gp, 0, 200, variances=variances), 1, None, 2):
        assert_array_equal(gp.X_train_, X)
        assert_array_equal(gp.y_train_, y)
        assert_array_equal(gp.theta_, theta)
        fresh = afresh(gp, X, y, v)
        assert_allclose(everything(gp, new), everything(fresh, new), rtol=1e-8, atol=1e-8)
        cov, expected = (one.predict(new, return_cov=True)[1] for one in (gp, fresh))
        assert_allclose(cov, expected, atol=1e-8)
        assert gp._gp.objective == pytest.approx(fresh._gp.objective, abs=1e-7)
        assert gp.mean_ == pytest.approx(fresh.mean_, rel=1e-7, abs=1e-9)
        assert gp.information_gain() == pytest.approx(fresh.information_gain(), rel=1e-7)
        if name not in WITHOUT_RELEVANCY:
            found, expected = gp.relevancy(9.0), fresh.relevancy(9.0)
            assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_first_partial_fit_learns_nothing():
    X, y = data()
    gp = TimeVaryingGPRegressor(RBF(0.5), RBF(2.0)).partial_fit(X, y)
    assert_array_equal(gp.theta_, np.log([1.0, 0.5, 2.0, 1e-2]))
    fresh = make(RBF(0.5), RBF(2.0), signal_variance=1.0, noise_variance=1e-2).fit(X, y)
    assert_allclose(everything(gp, X), everything(fresh, X), rtol=1e-12)


def test_fit_forgets_all_earlier_rows():
    X, y = data()
    gp = make().fit(X, y, np.full(len(y), 3.0)).partial_fit(X, y)
    assert_array_equal(everything(gp.fit(X, y), X), everything(make().fit(X, y), X))


def test_forgetting_one_row_or_none():
    X, y = data(n=10)
    assert_array_equal(make().fit(X, y).forget(4).X_train_, np.delete(X, 4, axis=0))
    for nothing in ([], np.zeros(10, dtype=bool), np.array([], dtype=int)):
        gp = make().fit(X, y)
        before = everything(gp, X)
        assert gp.forget(nothing) is gp
        assert_array_equal(everything(gp, X), before)


def test_a_duplicate_with_little_noise_is_appended():
    X, y = data(n=30)
    gp = make(noise_variance=1e-20).fit(X, y)
    with pytest.warns(JitterWarning):
        gp.partial_fit(X[:1], y[:1])
    assert_allclose(gp.predict(X), y, atol=1e-4)
    gp.forget([30]).partial_fit(data(n=1, seed=9)[0], [0.0])
    assert np.isfinite(everything(gp, X)).all()
