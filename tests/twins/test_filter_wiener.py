"""Kalman filter of Wiener kernels before, at and after their start, against the dense solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.gaussian_process.kalman._filter import Filter
from sktvbo.gaussian_process.kalman._state_space import state_space
from sktvbo.kernels import Wiener
from twins.test_filter import RBF, SITES, assert_equal, both, grown, likelihoods, queries, stream


def constant_before(start, drift=0.3):
    return Wiener(drift, start=start, before="constant")


# The rows are from 0 to 20.
MODELS = {
    "no row before": constant_before(-2.0),
    "some rows before": constant_before(7.3),
    "a row at the start": constant_before(np.sort(stream()[0][:, -1])[30]),
    "all rows before": constant_before(22.0),
    "fixed": Wiener(0.3, "fixed", start=7.3, before="constant"),
}


@pytest.mark.parametrize("temporal", MODELS.values(), ids=list(MODELS))
def test_likelihoods_and_queries_before_and_after_all_changes(temporal):
    """Rows in order, late, before the start and forgotten, at old and new places."""
    options = {"temporal_kernel": temporal, "mean_prior_std": 2.0, "normalize_y": True}
    dense, kalman = both(*stream(), **options)
    (one, slope), (other, found) = likelihoods([dense, kalman], 0.3)
    assert_allclose(other, one, rtol=1e-10)
    assert_allclose(found, slope, rtol=1e-7, atol=1e-8 * np.abs(slope).max())
    Q = queries()
    Q[:2, -1], Q[2, -1] = temporal.start, max(temporal.start - 1.0, -5.0)
    assert_equal(dense, kalman, Q)
    end = dense.X_train_[:, -1].max()
    rows = [[*SITES[0], end - 0.1], [0.1, 0.7, end + 0.2], [*SITES[1], end + 3.0]]
    rows += [[*SITES[2], -1.5], [0.4, 0.4, -1.7], [*SITES[1], end + 2.9], [*SITES[2], end + 9.0]]
    grown(dense, kalman, zip(rows, np.linspace(-1.0, 1.0, len(rows))), check=[2, 6])
    for gp in (dense, kalman):
        gp.forget([0, 7, 33])
    assert_equal(dense, kalman, draws=False)


def test_steps_that_wait_to_be_settled():
    """At many places, across the start of the walk; two of the rows are late."""
    sites = np.random.RandomState(3).uniform(size=(260, 2))
    X, y = stream(80, sites=sites)
    X = X[np.argsort(X[:, -1], kind="stable")]
    X[[40, 65, 60, 72]] = X[[65, 40, 72, 60]]
    dense, kalman = both(X[:10], y[:10], temporal_kernel=constant_before(12.0), sites=sites)
    grown(dense, kalman, zip(X[10:], y[10:]))
    assert kalman._gp.state.base_t < kalman._gp.state.t
    assert_equal(dense, kalman, queries(sites=sites[:5]), draws=False)


def test_a_single_series_with_rows_before_the_start():
    t = np.sort(np.random.RandomState(0).uniform(100.0, 400.0, 300))[:, np.newaxis]
    y = 5.0 + np.sin(t[:, 0] / 30.0)
    temporal = constant_before(150.0, 0.02)
    dense, kalman = both(t, y, spatial_kernel=None, temporal_kernel=temporal, normalize_y=True)
    times = np.array([0.0, 50.0, 100.0, 140.0, 150.0, 150.0, 200.3, 500.0])
    assert_equal(dense, kalman, times[:, np.newaxis])
    searched = [
        TimeVaryingGPRegressor(None, temporal, solver=solver, normalize_y=True).fit(t, y)
        for solver in ("auto", "dense")
    ]
    assert type(searched[0]._gp) is Filter
    assert_allclose(searched[0].theta_, searched[1].theta_, rtol=1e-3, atol=1e-3)


CALLS = {
    "predict": lambda gp, x: gp.predict(x, return_std=True),
    "cov": lambda gp, x: gp.predict(x, return_cov=True),
    "one time": lambda gp, x: gp.posterior_at(x[0][-1])(np.array(x)[:, :-1]),
    "sample_y": lambda gp, x: gp.sample_y(x),
    "terms": lambda gp, x: gp.predict_terms(x),
    "partial_fit": lambda gp, x: gp.partial_fit(x, [0.0]),
    "condition_on": lambda gp, x: gp.condition_on(x, [0.0]),
    "fit": lambda gp, x: gp.fit(x, [0.0]),
}
WALK = Wiener(0.1, start=-1.0)


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
@pytest.mark.parametrize(
    "options",
    [
        {"temporal_kernel": WALK, "solver": "dense"},
        {"temporal_kernel": WALK, "solver": "kalman"},
        {"temporal_kernel": Matern(3.0, nu=1.5), "level_kernel": WALK},
    ],
    ids=["dense", "kalman", "level"],
)
def test_times_before_the_start_are_errors(call, options):
    gp = TimeVaryingGPRegressor(RBF(0.5), **options, optimizer=None).fit(*stream())
    for place in (SITES[0], [0.3, 0.4]):
        call(clone(gp).fit(*stream()), [[*place, -0.9]])
        with pytest.raises(ValueError, match=r"times of Wiener must be at or after start=-1\.0\."):
            call(gp, [[*place, -1.1]])
    assert_array_equal(gp.X_train_, stream()[0])


@pytest.mark.parametrize(
    "kernel", [Matern() + Wiener(), Matern(nu=0.5) * Wiener(before="constant")], ids=str
)
def test_sums_and_products_are_refused_or_solved_densely(kernel):
    X, y = stream(300)
    assert state_space(kernel) is None
    gp = TimeVaryingGPRegressor(temporal_kernel=kernel, solver="kalman", optimizer=None)
    with pytest.raises(UnsupportedKernelError, match=r"sums and products of these, without Wiener"):
        gp.fit(X, y)
    auto, dense = (clone(gp).set_params(solver=s).fit(X, y) for s in ("auto", "dense"))
    assert_array_equal(auto.predict(X, True), dense.predict(X, True))
