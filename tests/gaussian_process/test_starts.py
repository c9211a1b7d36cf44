"""Where searches start: near the data's scale, and from an exact fit of a part of the rows."""

import numpy as np
import pytest
from gaussian_process.cases import data
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.gaussian_process import QuadraticInjection


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_a_start_far_from_the_data_learns_what_a_near_one_does(scale):
    """Times in another unit than the lengthscale's start; the search finds its way."""
    X, y = data(80)
    bounds = (1e-10, 1e12)
    near = TimeVaryingGPRegressor(RBF(0.5), Matern(2.0, bounds)).fit(X, y)
    X[:, -1] *= scale
    far = TimeVaryingGPRegressor(RBF(0.5), Matern(2.0, bounds)).fit(X, y)
    learnt = far.temporal_kernel_.length_scale / scale
    assert learnt == pytest.approx(near.temporal_kernel_.length_scale, rel=0.05)
    ours = far.log_marginal_likelihood_value_
    assert ours == pytest.approx(near.log_marginal_likelihood_value_, abs=1e-3)


def test_a_start_near_the_data_is_the_only_one():
    seen = []

    class Noting(RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            seen.append(self.length_scale)
            return super().__call__(X, Y, eval_gradient)

    X, y = data()
    TimeVaryingGPRegressor(Noting(0.5), Matern(2.0)).fit(X, y)
    assert seen[0] == pytest.approx(0.5)
    assert seen.count(seen[0]) < len(seen)
    seen.clear()
    TimeVaryingGPRegressor(Noting(1e-9, (1e-10, 1e2)), Matern(2.0)).fit(X, y)
    assert seen[0] == pytest.approx(1e-9)
    assert len(seen) > 5
    assert max(seen) > 0.1


def collapsing(n):
    """At little noise the trace term of the bound drives a search to noise alone."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(n, 2)), np.sort(rng.uniform(0.0, 100.0, n))])
    y = np.sin(6.0 * X[:, 0] + 0.2 * X[:, 2]) + np.cos(5.0 * X[:, 1])
    return X, y + 0.1 * rng.normal(size=n)


def test_the_sparse_regressor_does_not_collapse():
    X, y = collapsing(6_000)
    gp = SparseTimeVaryingGPRegressor(normalize_y=True, random_state=0).fit(X, y)
    assert gp.score(X, y) > 0.97
    # As few points as cannot tell are no reason to learn nothing.
    few = SparseTimeVaryingGPRegressor(
        n_inducing=50, normalize_y=True, random_state=0, warn=False
    ).fit(X, y)
    assert few.score(X, y) > 0.6
    assert gp.elbo_ > few.elbo_


def test_the_bound_is_maximal_where_the_search_ends():
    X, y = collapsing(2_000)
    gp = SparseTimeVaryingGPRegressor(n_inducing=60, inducing=X[::40], random_state=0, warn=False)
    gp.fit(X, y)
    rng = np.random.RandomState(0)
    for _ in range(10):
        step = 0.1 * rng.normal(size=len(gp.theta_))
        assert gp.elbo(gp.theta_ + step) < gp.elbo_


def test_hyperpriors_hold_and_starts_without_density_are_left_out():
    X, y = collapsing(800)
    prior = stats.uniform(0.05, 0.2)
    gp = SparseTimeVaryingGPRegressor(
        Matern(0.1, nu=2.5),
        hyperpriors={"spatial_kernel__length_scale": prior},
        n_inducing=40,
        random_state=0,
        warn=False,
    ).fit(X, y)
    assert 0.05 <= gp.spatial_kernel_.length_scale <= 0.25


def test_known_noise_and_noise_models_in_the_start():
    X, y = collapsing(600)
    gp = SparseTimeVaryingGPRegressor(
        noise_model=QuadraticInjection(0.01), n_inducing=100, random_state=0, warn=False
    )
    assert gp.fit(X, y, np.full(600, 0.01)).score(X, y) > 0.8
