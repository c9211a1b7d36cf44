"""Dense, Weighted and Inducing: every change agrees with conditioning from nothing."""

import pickle
from dataclasses import FrozenInstanceError
from itertools import product

import numpy as np
import pytest
from gaussian_process.cases import data, everything, lifted, make
from grids import pairs_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from sktvbo.exceptions import NotPositiveDefiniteError
from sktvbo.gaussian_process import GeometricInjection, QuadraticInjection, _exact_posterior
from sktvbo.gaussian_process._conditioned import TimeSlice
from sktvbo.gaussian_process._covariance import SeparableCovariance
from sktvbo.gaussian_process._data import Layout, Rows
from sktvbo.gaussian_process._exact_posterior import Dense, Weighted
from sktvbo.gaussian_process._inducing_posterior import Inducing

INDUCING = lifted(11, seed=7)[0]
KINDS = {"dense": (Dense,), "weighted": (Weighted,), "inducing": (Inducing, INDUCING)}

STATIC = ConstantKernel(1.0, "fixed")
COVARIANCES = {
    "plain": (Matern(0.4, nu=2.5), Matern(3.0, nu=1.5), None),
    "quadratic": (RBF([0.4, 0.9]), STATIC, QuadraticInjection(0.3, (1e-3, 1e1))),
    "geometric, unknown": (RationalQuadratic(0.4), RBF(4.0), GeometricInjection(0.8, (0.5, 1.0))),
}
PLACES, AT = np.random.RandomState(5).uniform(size=(6, 2)), np.linspace(-1.0, 13.0, 6)


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def kind(request):
    return request.param


@pytest.fixture(params=COVARIANCES.values(), ids=list(COVARIANCES))
def covariance(request):
    spatial, temporal, model = request.param
    bounds = (1e-6, 1e3)
    return SeparableCovariance.of(spatial, temporal, (1.3, bounds), (0.05, bounds), 2, model)


def each_posterior(**others):
    """Parametrize kind and covariance, all of them, each with every value of the others."""
    both = [*product(KINDS.values(), COVARIANCES.values())]
    rows = [(*row[0], *row[1:]) for row in pairs_of(both, *others.values())]
    return pytest.mark.parametrize(
        ("kind", "covariance", *others), rows, indirect=["kind", "covariance"]
    )


SCALES, KNOWN = (False, True), ("none", "known", "total")


def given(n, known, seed=0):
    """Return inputs, targets, variances and the mask of total variances."""
    X, y, variance = lifted(n, seed=seed)
    return X, y, variance * (known != "none"), (np.arange(n) % 2 == 0) & (known == "total")


def rows_of(known, standardize, n=30):
    return Rows.of(*given(n, known), Layout(2, 50.0), standardize=standardize)


def condition(kind, covariance, rows):
    cls, *basis = kind
    return cls.of(covariance, rows, *basis)


def assert_equal(found, expected, tolerance=1e-9):
    """Posterior, objective and rows of two conditioned GPs are equal."""
    assert type(found) is type(expected)
    options = {"rtol": tolerance, "atol": tolerance}
    for option in ("return_std", "return_cov"):
        for a, b in zip(*(gp.posterior(PLACES, AT, **{option: True}) for gp in (found, expected))):
            assert_allclose(a, b, **options)
    assert_allclose(found.objective, expected.objective, **options)
    assert_allclose(found.information_gain, expected.information_gain, **options)
    slopes = (TimeSlice(gp, 55.0).with_gradient(PLACES[0]) for gp in (found, expected))
    for a, b in zip(*slopes):
        assert_allclose(a, b, **options)
    assert_array_equal(found.rows.X, expected.rows.X)
    assert_array_equal(found.rows.y, expected.rows.y)
    assert found.rows.now == expected.rows.now


# --- changes --------------------------------------------------------------------------------------


@each_posterior(known=KNOWN, standardize=SCALES, m=(1, 3, 8))
def test_append(kind, covariance, known, standardize, m):
    rows, more = rows_of(known, standardize), given(m, known, seed=1)
    found = condition(kind, covariance, rows).append(*more)
    assert_equal(found, condition(kind, covariance, rows.append(*more)))


@each_posterior(known=KNOWN, standardize=SCALES, indices=([4], [0, 17, 29], [*range(3, 28)]))
def test_drop(kind, covariance, known, standardize, indices):
    rows = rows_of(known, standardize)
    found = condition(kind, covariance, rows).drop(np.array(indices))
    assert_equal(found, condition(kind, covariance, rows.drop(indices)))


@each_posterior(known=KNOWN, standardize=SCALES)
def test_at(kind, covariance, known, standardize):
    rows = rows_of(known, standardize)
    gp = condition(kind, covariance, rows)
    assert_equal(gp.at(66.0), condition(kind, covariance, rows.at(66.0)), 1e-12)
    moved = not np.array_equal(gp.at(66.0).weights, gp.weights)
    assert moved == (covariance.noise_model is not None)


def test_many_changes(kind, covariance):
    rng = np.random.RandomState(0)
    rows = rows_of("total", True)
    gp = condition(kind, covariance, rows)
    for seed in range(40):
        more = given(1 + seed % 3, "total", seed=10 + seed)
        rows, gp = rows.append(*more), gp.append(*more)
        out = np.sort(rng.choice(rows.n, rows.n - 30, replace=False))
        rows, gp = rows.drop(out), gp.drop(out)
        gp = pickle.loads(pickle.dumps(gp)) if seed % 10 == 0 else gp
    assert_equal(gp, condition(kind, covariance, rows), 1e-8)


@pytest.mark.parametrize("standardize", SCALES)
def test_a_change_sets_whether_the_scale_follows_y(kind, covariance, standardize):
    gp = condition(kind, covariance, rows_of("known", standardize))
    more = given(3, "known", seed=1)
    for changed in (
        gp.drop(np.arange(20), standardize=not standardize),
        gp.append(*more, standardize=not standardize),
    ):
        expected = gp.rows.scale if standardize else changed.rows.y.std()
        assert changed.rows.scale == pytest.approx(expected, rel=1e-12)
        assert_equal(changed, condition(kind, covariance, changed.rows))
        # The scale is then held.
        assert changed.drop([0]).rows.scale == changed.rows.scale
    assert not gp.rows.standardize


def test_conditioned_gps_are_immutable(kind, covariance):
    gp = condition(kind, covariance, rows_of("total", True))
    before = gp.posterior(PLACES, AT, return_std=True)
    more = given(2, "total", seed=1)
    for change in (gp.append(*more), gp.drop([0]), gp.at(99.0)):
        assert change is not gp
        change.append(*more).drop(np.array([0, 1]))
    assert_array_equal(gp.posterior(PLACES, AT, return_std=True), before)
    with pytest.raises(FrozenInstanceError):
        gp.rows = None


# --- rounding and failure -------------------------------------------------------------------------


def test_a_row_needs_no_factorization(monkeypatch):
    X, y = data()
    gp = make().fit(X[:35], y[:35])
    monkeypatch.setattr(_exact_posterior, "cholesky", None)
    gp.partial_fit(X[35:38], y[35:38]).forget([0, 7, 36]).partial_fit(X[38:], y[38:])
    monkeypatch.undo()
    fresh = make().fit(gp.X_train_, gp.y_train_)
    assert_allclose(everything(gp, X), everything(fresh, X), rtol=1e-8, atol=1e-8)


def test_a_likelihood_that_overflows_is_minus_infinity(covariance):
    X, y, variance, total = given(30, "none")
    rows = Rows.of(X, 1e200 * y, variance, total, Layout(2, 50.0), standardize=False)
    value, gradient = Dense.criterion(rows)(covariance, True)
    assert value == -np.inf
    assert_array_equal(gradient, np.zeros(len(covariance.bounds)))
    assert Dense.criterion(rows)(covariance, False) == (-np.inf, None)


def test_conditioning_that_overflows(kind, covariance):
    X, y, variance, total = given(30, "none")
    rows = Rows.of(X, 1e200 * y, variance, total, Layout(2, 50.0), standardize=False)
    with pytest.raises(NotPositiveDefiniteError, match=r"Scale y .*normalize_y=True"):
        condition(kind, covariance, rows)
    huge = np.array([1e200])
    gp = condition(kind, covariance, rows_of("none", False))
    with pytest.raises(NotPositiveDefiniteError, match=r"Scale y .*normalize_y=True"):
        gp.append(X[:1], huge, variance[:1], total[:1])
