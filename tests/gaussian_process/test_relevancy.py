"""Relevancies of the training rows, as methods of the regressors."""

import numpy as np
import pytest
from gaussian_process.cases import MODELS, both, data, make
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, RationalQuadratic

from sktvbo import SparseTimeVaryingGPRegressor
from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.kernels import Wiener
from sktvbo.relevancy import wasserstein_relevancy


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("name", ["rbf-rbf", "ard-forgetting", "time-first", "time-alone"])
def test_relevancy_is_that_of_the_function(name, normalize_y):
    gp, *_ = both(*MODELS[name], normalize_y=normalize_y)
    y, variance = gp.y_train_, np.linspace(0.0, 0.1, len(gp.y_train_))
    mean, scale = (y.mean(), y.std()) if normalize_y else (0.0, 1.0)
    gp.fit(gp.X_train_, y, variance)
    for now in (None, 8.5, 20.0):
        expected = wasserstein_relevancy(
            *(gp.X_train_, (y - mean) / scale),
            spatial_kernel=gp.spatial_kernel,
            temporal_kernel=gp.temporal_kernel,
            signal_variance=1.3,
            noise_variance=0.02 + variance / scale**2,
            now=gp.X_train_[:, gp.time_column].max() if now is None else now,
            time_column=gp.time_column,
        )
        assert_allclose(gp.relevancy(now), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("shift", [0.0, 0.1, 1.7e9 + 0.3])
def test_now_may_be_the_latest_time(shift):
    X, y = data()
    gp = make().fit(X + np.array([0.0, 0.0, shift]), y)
    latest = gp.X_train_[:, -1].max()
    assert_array_equal(gp.relevancy(latest), gp.relevancy())
    # A time that is earlier by rounding is accepted.
    assert_allclose(gp.relevancy(np.nextafter(latest, 0.0)), gp.relevancy(), rtol=1e-9)


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (1.0, "now must be no earlier than any observation"),
        (np.nan, "now must be finite"),
        (np.inf, "now must be finite"),
    ],
)
def test_relevancy_at_bad_times(now, message):
    gp = make().fit(*data())
    for method in (gp.relevancy, gp.fitted_.relevancy_sweep):
        with pytest.raises(ValueError, match=message):
            method(now)


def test_relevancies_of_sparse_regression_are_exact():
    X, y = data()
    sparse = make(kind=SparseTimeVaryingGPRegressor, n_inducing=5).fit(X, y)
    assert_allclose(sparse.relevancy(20.0), make().fit(X, y).relevancy(20.0))
    assert not np.allclose(sparse.relevancy(20.0), sparse.relevancy())


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ((RationalQuadratic(), RBF()), "not available for RationalQuadratic"),
        (
            (RBF(), Wiener()),
            r"not available for Wiener\(drift_variance=0.03, start=0\): it is not stationary",
        ),
        ((RBF(), ExpSineSquared()), "not available for ExpSineSquared.* Multiply that part by a"),
        ((RBF(), RBF(1e5) * ExpSineSquared()), "oscillates too often"),
        ((RBF(), RBF() + ExpSineSquared(0.3)), "it never forgets"),
        ((RBF(), RationalQuadratic(alpha=0.2)), "it decays so slowly"),
    ],
    ids=str,
)
def test_relevancy_of_unsupported_kernels(kernels, message):
    gp = make(*kernels).fit(*data())
    with pytest.raises(UnsupportedKernelError, match=message):
        gp.relevancy()
