"""White noise in a kernel: independent for each row, as in scikit-learn, after any update."""

import numpy as np
import pytest
from gaussian_process.cases import data
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    WhiteKernel,
)

from sktvbo import TimeVaryingGPRegressor
from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.gaussian_process import SparseTimeVaryingGPRegressor
from sktvbo.kernels import Separable

SPATIAL = {
    "sum": RBF(0.5) + WhiteKernel(0.3),
    "product": 2.0 * RBF(0.5) * (Matern(0.5) + WhiteKernel(0.2)),
    "power": (RBF(0.5) + WhiteKernel(0.2)) ** 2,
    "white that grows": DotProduct() + WhiteKernel(0.1) * DotProduct(),
    "white alone": WhiteKernel(0.5),
    "smooth": Matern(0.5, nu=2.5),
    "smooth, pairwise": PairwiseKernel(metric="rbf"),
}
TEMPORAL = {
    "smooth": Matern(3.0, nu=1.5),
    "sum": Matern(3.0, nu=1.5) + WhiteKernel(0.4),
    "static": ConstantKernel(1.0, "fixed"),
    "season": ExpSineSquared(1.0, 2.0) * WhiteKernel(0.2) + RBF(3.0),
}
every_kernel = pytest.mark.parametrize(
    ("spatial", "temporal"),
    [
        pytest.param(s, t, id=f"{name}-{of_time}")
        for name, s in SPATIAL.items()
        for of_time, t in TEMPORAL.items()
        if "sum" in (name, of_time) or name == of_time
    ],
)

# Some rows have equal places and times, and some queries are rows.
X, Y = data()
X[5], X[20] = X[4], X[3]
QUERIES = np.vstack([X[:4], data(6, seed=1)[0] + np.array([0.0, 0.0, 3.0])])


def grown(gp, n, rows=X, y=Y):
    """Fit n rows and append the others one by one."""
    gp.partial_fit(rows[:n], y[:n])
    for i in range(n, len(y)):
        gp.partial_fit(rows[i : i + 1], y[i : i + 1])
    return gp


def dropped(gp):
    """Fit more rows and drop some."""
    more = [0, 7, 30]
    gp.partial_fit(np.insert(X, more, QUERIES[4:7], axis=0), np.insert(Y, more, 3.0))
    return gp.forget([more[i] + i for i in range(3)])


WAYS = {
    "fit": lambda gp: gp.fit(X, Y),
    "one by one": lambda gp: grown(gp, 1),
    "from the middle": lambda gp: grown(gp, 25),
    "many at once": lambda gp: gp.fit(X[:10], Y[:10]).partial_fit(X[10:], Y[10:]),
    "dropped": dropped,
    "conditioned on": lambda gp: gp.fit(X[:38], Y[:38]).condition_on(X[38:], Y[38:]),
}


def assert_says(gp, mean, std, cov, evidence=None, rtol=1e-8):
    close = {"rtol": rtol, "atol": rtol}
    for found, expected in zip(gp.predict(QUERIES, return_std=True), (mean, std)):
        assert_allclose(found, expected, **close)
    assert_allclose(gp.predict(QUERIES, return_cov=True)[1], cov, **close)
    if evidence is not None:
        assert_allclose(gp.log_marginal_likelihood_value_, evidence, **close)


@every_kernel
def test_all_orders_of_updates_agree_with_scikit_learn(spatial, temporal):
    kernel = ConstantKernel(1.3) * Separable(spatial, temporal)
    other = GaussianProcessRegressor(kernel, alpha=0.05, optimizer=None).fit(X, Y)
    mean, cov = other.predict(QUERIES, return_cov=True)
    _, std = other.predict(QUERIES, return_std=True)
    evidence, slope = other.log_marginal_likelihood(other.kernel_.theta, eval_gradient=True)
    known = {"signal_variance": 1.3, "noise_variance": 0.05, "optimizer": None}
    for way in WAYS.values():
        gp = way(TimeVaryingGPRegressor(spatial, temporal, **known))
        assert_says(gp, mean, std, cov, evidence)
        found = gp.log_marginal_likelihood(gp.theta_, eval_gradient=True)[1]
        assert_allclose(found[:-1], slope, rtol=1e-8, atol=1e-8)
    draws = gp.sample_y(QUERIES, 4000)
    errors = 6.0 * np.sqrt(2.0 / 4000) * np.outer(std, std) + 1e-6
    assert np.all(np.abs(np.cov(draws) - cov) <= errors)
    # With a point at each row the bound is tight: the white part is noise of the rows.
    points = np.unique(X, axis=0)
    for way in ("fit", "from the middle", "dropped"):
        gp = SparseTimeVaryingGPRegressor(
            spatial, temporal, **known, inducing=points, n_inducing=len(points)
        )
        gp = WAYS[way](gp)
        assert_says(gp, mean, std, cov, evidence, rtol=1e-6)
        assert_allclose(gp.elbo_, evidence, rtol=1e-6)
        exact = TimeVaryingGPRegressor(spatial, temporal, **known).fit(X, Y)
        assert_allclose(gp.information_gain(), exact.information_gain(), rtol=1e-6)


@pytest.mark.parametrize("name", ["sum", "white that grows", "smooth"])
def test_the_gradient_of_the_bound(name):
    options = {"optimizer": None, "inducing": X[::5], "n_inducing": 8}
    gp = SparseTimeVaryingGPRegressor(SPATIAL[name], TEMPORAL["sum"], **options).fit(X, Y)
    theta, h = gp.theta_, 1e-5 * np.eye(len(gp.theta_))
    differences = [(gp.elbo(theta + step) - gp.elbo(theta - step)) / 2e-5 for step in h]
    assert_allclose(gp.elbo(theta, eval_gradient=True)[1], differences, rtol=1e-5, atol=1e-4)


def test_a_place_observed_again_has_new_noise_with_every_solver():
    """A Kalman filter has one state for each place, and is not used."""
    rng = np.random.RandomState(0)
    rows = np.column_stack([rng.randint(3, size=300) / 2.0, np.arange(300.0)])
    y = rng.normal(size=300)
    gp = TimeVaryingGPRegressor(RBF(0.5) + WhiteKernel(0.3), Matern(20.0, nu=1.5), optimizer=None)
    later = rows[-3:] + np.array([0.0, 2.0])
    found = grown(clone(gp), 250, rows, y).predict(later, return_std=True)
    dense = clone(gp).set_params(solver="dense").fit(rows, y)
    assert_allclose(found, dense.predict(later, return_std=True), rtol=1e-8)
    with pytest.raises(UnsupportedKernelError, match="has no Kalman filter: a WhiteKernel"):
        gp.set_params(solver="kalman").fit(rows, y)
    # Rounding in the diagonal of a kernel does not count as white noise.
    pairwise = TimeVaryingGPRegressor(
        PairwiseKernel(metric="rbf"), Matern(20.0, nu=1.5), optimizer=None, solver="kalman"
    )
    far = rows + np.array([300.0, 0.0])
    dense = clone(pairwise).set_params(solver="dense").fit(far, y)
    assert_allclose(pairwise.fit(far, y).predict(far[-3:]), dense.predict(far[-3:]), atol=1e-6)
