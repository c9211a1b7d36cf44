"""Sums over rows for conditioning through inducing points, the bound, and its jitter."""

import numpy as np
import pytest
from gaussian_process.cases import lifted, make
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo.exceptions import NotPositiveDefiniteError
from sktvbo.gaussian_process import SparseTimeVaryingGPRegressor
from sktvbo.gaussian_process._covariance import SeparableCovariance
from sktvbo.gaussian_process._data import Layout, Rows
from sktvbo.gaussian_process._inducing_posterior import Inducing, Sums, bound

BOUNDS = (1e-6, 1e3)
COVARIANCE = SeparableCovariance.of(
    Matern(0.4, nu=2.5), Matern(3.0, nu=1.5), (1.3, BOUNDS), (0.05, BOUNDS), 2
)


def rows_of(n=30, standardize=True, known=1.0):
    X, y, variance = lifted(n)
    arrays = X, y, known * variance, np.zeros(n, dtype=bool)
    return Rows.of(*arrays, Layout(2, 50.0), standardize=standardize)


def random_rows(seed, n=20, m=5):
    """Return V, y, noise and variance, for `Sums.of`."""
    rng = np.random.RandomState(seed)
    V = 0.3 * rng.normal(size=(n, m))
    return V, rng.normal(size=n), rng.uniform(0.1, 2.0, n), 1.0 + np.sum(V**2, axis=1)


def solved(sums, *location_and_scale):
    """Return the bound, the solver of B, and β."""
    return sums.solve(*location_and_scale)[:3]


# --- sums -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("location", "scale"), [(0.0, 1.0), (3.0, 0.5)])
def test_sums_are_of_targets_as_given(location, scale):
    """Another location and scale of y give the sums of y standardized so."""
    V, y, noise, variance = random_rows(0)
    found = solved(Sums.of(V, y, noise, variance), location, scale)
    expected = solved(Sums.of(V, (y - location) / scale, noise, variance))
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    assert_allclose(found[2], expected[2], rtol=1e-10)


def test_sums_that_overflow():
    V, y, noise, variance = random_rows(0)
    sums = Sums.of(V, y, noise, variance)
    bad = sums.plus(Sums.of(V * 1e160, y, noise, variance), sign=-1)
    assert solved(bad) == (-np.inf, None, None)


# --- the bound ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("location", "scale"), [(1e8, 1.0), (-1e12, 1e3), (0.0, 1e99)])
def test_the_unit_of_standardized_targets_does_not_matter(location, scale):
    rows, Z = rows_of(known=0.0), lifted(7, seed=1)[0]
    known = rows.variance, rows.total, rows.layout
    moved = Rows.of(rows.X, location + scale * rows.y, *known, standardize=True)
    X, y, _ = lifted(3, seed=2)
    noise = np.zeros(3), np.zeros(3, dtype=bool)
    here, there = (Inducing.of(COVARIANCE, r, Z) for r in (rows, moved))
    for _ in range(2):
        assert there.objective == pytest.approx(here.objective, rel=1e-5)
        assert there.objective == pytest.approx(bound(COVARIANCE, there.rows, Z, False)[0])
        here = here.append(X, y, *noise).drop(np.array([0, 7]))
        there = there.append(X, location + scale * y, *noise).drop(np.array([0, 7]))


def test_a_matrix_that_is_not_positive_definite_has_the_bound_of_minus_infinity():
    broken = SeparableCovariance.of(Nothing(), RBF(), (1.3, BOUNDS), (0.05, BOUNDS), 2)
    rows, Z = rows_of(), lifted(7, seed=1)[0]
    value, gradient = bound(broken, rows, Z, True)
    assert value == -np.inf
    assert_array_equal(gradient, np.zeros(len(broken.bounds)))
    assert bound(broken, rows, Z, False) == (-np.inf, None)
    with pytest.raises(NotPositiveDefiniteError, match=r"The 7 x 7 .* of the inducing points"):
        Inducing.of(broken, rows, Z)


class Nothing(ConstantKernel):
    """Kernel with a negative diagonal, which is not positive definite."""

    def __call__(self, X, Y=None, eval_gradient=False):
        K = super().__call__(X, Y, eval_gradient)
        return (-K[0], -K[1]) if eval_gradient else -K

    def diag(self, X):
        return -super().diag(X)


def test_gradient_with_a_jitter_that_counts(monkeypatch):
    """The jitter is relative to the signal variance, and counts in that derivative."""
    monkeypatch.setattr("sktvbo.gaussian_process._inducing_posterior._JITTERS", (1e-2,))
    X, y, v = lifted(60)
    gp = make(kind=SparseTimeVaryingGPRegressor, inducing=X[::4]).fit(X, y, v)
    gradient = gp.elbo(gp.theta_, eval_gradient=True)[1]
    numeric = approx_fprime(gp.theta_, gp.elbo, 1e-6)
    assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-3)
