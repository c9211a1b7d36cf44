"""Sparse regressor against the exact one and its definition."""

import numpy as np
import pytest
from gaussian_process.cases import assert_same_posterior, prior
from gaussian_process.models import make
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic
from sklearn.utils.estimator_checks import parametrize_with_checks

from sktvbo import WDBO, SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.gaussian_process import GeometricInjection, QuadraticInjection
from sktvbo.kernels import Forgetting

STATIC = ConstantKernel(1.0, "fixed")

MODELS = {
    "matern": (Matern(0.4, nu=2.5), Matern(3.0, nu=1.5), None),
    "ard-injection": (Matern([0.4, 0.6], nu=1.5), RBF(3.0), QuadraticInjection(0.3)),
    "unknown": (RationalQuadratic(0.5), Forgetting(0.1), GeometricInjection(0.9)),
    "static-injection": (RBF(0.5), STATIC, QuadraticInjection(0.3)),
}


every_model = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))


def data(n=60, seed=0):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n, 2)), rng.uniform(0.0, 10.0, n) + 50.0])
    y = np.sin(5.0 * X[:, 0] + 0.3 * X[:, 2]) + 0.1 * rng.normal(size=n)
    return X, y, rng.uniform(0.0, 0.1, n)


def exact(model, kind=TimeVaryingGPRegressor, **options):
    spatial, temporal, noise_model = model
    return make(spatial, temporal, kind, noise_model=noise_model, **options)


def sparse(model, **options):
    return exact(model, SparseTimeVaryingGPRegressor, **{"random_state": 0} | options)


# A check requires a score on 200 rows with one informative column of ten. With the lengthscale 1
# this needs as many inducing points as rows.
@parametrize_with_checks([SparseTimeVaryingGPRegressor(optimizer=None, n_inducing=300)])
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        SparseTimeVaryingGPRegressor(random_state=0),
        SparseTimeVaryingGPRegressor(
            inducing="kmeans", n_inducing=60, normalize_y=True, time_column=0, random_state=0
        ),
        SparseTimeVaryingGPRegressor(n_inducing=60, inducing="greedy"),
        SparseTimeVaryingGPRegressor(
            RBF(), Forgetting(), noise_model=QuadraticInjection(0.1), n_inducing=300
        ),
        SparseTimeVaryingGPRegressor(RationalQuadratic(alpha_bounds="fixed"), n_inducing=300),
    ]
)
def test_others_are_scikit_learn_compatible(estimator, check):
    check(estimator)


@every_model
@pytest.mark.parametrize("normalize_y", [False, True])
def test_with_inducing_points_at_all_rows_it_is_exact(model, normalize_y):
    X, y, v = data()
    expected = exact(model, normalize_y=normalize_y).fit(X, y, v)
    gp = sparse(model, inducing=X, normalize_y=normalize_y).fit(X, y, v)
    assert gp.elbo_ == pytest.approx(expected.log_marginal_likelihood_value_, abs=1e-8)
    assert gp.kl_divergence() == pytest.approx(0.0, abs=1e-8)
    assert_same_posterior(gp, expected, data(20, seed=1)[0])


def dense_bound(gp, X, y, noise):
    """SparQ proposition 5, with n x n matrices."""
    k = prior(gp)
    Z = gp.inducing_points_
    K_Z, K_ZX = k(Z), k(Z, X)
    Q = K_ZX.T @ np.linalg.solve(K_Z + 1e-12 * np.eye(len(Z)), K_ZX)
    S = Q + np.diag(noise)
    log_determinant = np.linalg.slogdet(S)[1]
    value = -0.5 * (y @ np.linalg.solve(S, y) + log_determinant + len(y) * np.log(2 * np.pi))
    return value - 0.5 * np.sum((k.diag(X) - np.diag(Q)) / noise)


@every_model
def test_the_bound_is_its_definition_and_below_the_likelihood(model):
    X, y, v = data()
    gp = sparse(model, inducing=X[::4] + 0.01).fit(X, y, v)
    expected = exact(model).fit(X, y, v)
    noise = 0.05 * (1.0 if model[2] is None else model[2].ratio(X[:, 2].max() - X[:, 2])) + v
    assert gp.elbo_ == pytest.approx(dense_bound(gp, X, y, noise), rel=1e-7)
    likelihood = expected.log_marginal_likelihood_value_
    assert gp.elbo_ < likelihood
    assert gp.kl_divergence() == pytest.approx(likelihood - gp.elbo_)
    assert gp.log_marginal_likelihood() == pytest.approx(likelihood)


@every_model
@pytest.mark.parametrize("inducing", ["kdpp", "greedy", "kmeans"])
def test_the_bound_never_exceeds_the_likelihood(model, inducing):
    X, y, v = data()
    gp = sparse(model, inducing=inducing)
    bounds = [gp.set_params(n_inducing=m).fit(X, y, v).elbo_ for m in (1, 5, 20, 59)]
    expected = exact(model).fit(X, y, v)
    assert max(bounds) <= expected.log_marginal_likelihood_value_ + 1e-8
    assert bounds[0] < bounds[-1]


def test_with_rows_chooses_other_inducing_points():
    """One row at another time, as after a policy that drops all."""
    X, y, _ = data()
    gp = sparse(MODELS["matern"], n_inducing=10).fit(X, y)
    row = X[:1] + np.array([0.0, 0.0, 500.0])
    gp = gp.fitted_.with_rows(row, y[:1]).regressor()
    assert_array_equal(gp.inducing_points_, row)
    expected = exact(MODELS["matern"]).fit(row, y[:1])
    assert_allclose(gp.predict(row), expected.predict(row), atol=1e-8)


def test_fitting_approaches_the_exact_fit():
    X, y, _ = data(400)
    model = MODELS["matern"]
    expected = exact(model, optimizer="fmin_l_bfgs_b").fit(X, y)
    gaps = []
    for m in (20, 80, 200):
        gp = sparse(model, optimizer="fmin_l_bfgs_b", n_inducing=m).fit(X, y)
        gaps.append(expected.log_marginal_likelihood_value_ - gp.elbo_)
    assert gaps[0] > gaps[1] > gaps[2] > 0.0
    assert_allclose(gp.predict(X), expected.predict(X), atol=0.1)


@pytest.mark.parametrize("inducing", ["kdpp", "greedy", "kmeans"])
def test_inducing_points(inducing):
    X, y, _ = data(2500)
    gp = sparse(MODELS["matern"], inducing=inducing, n_inducing=30).fit(X, y)
    Z = gp.inducing_points_
    assert Z.shape == (30, 3)
    assert np.all((X.min(axis=0) <= Z) & (X.max(axis=0) >= Z))
    if inducing != "kmeans":
        assert all((z == X).all(axis=1).any() for z in Z)
    again = sparse(MODELS["matern"], inducing=inducing, n_inducing=30).fit(X, y)
    assert_array_equal(again.inducing_points_, Z)
    # Better than 30 points close together.
    close = sparse(MODELS["matern"], inducing=X[np.argsort(X[:, 0])[:30]]).fit(X, y)
    assert gp.elbo_ > close.elbo_


def test_no_more_inducing_points_than_distinct_rows():
    X, y, _ = data(20)
    X = np.vstack([X, X])
    gp = sparse(MODELS["matern"], n_inducing=50).fit(X, np.append(y, y))
    assert gp.inducing_points_.shape == (20, 3)
    assert gp.kl_divergence() == pytest.approx(0.0, abs=1e-6)


def test_duplicated_inducing_points_change_nothing():
    X, y, _ = data()
    Z = X[::5]
    once = sparse(MODELS["matern"], inducing=Z).fit(X, y)
    twice = sparse(MODELS["matern"], inducing=np.vstack([Z, Z])).fit(X, y)
    assert_allclose(once.predict(X), twice.predict(X), atol=1e-6)
    assert once.elbo_ == pytest.approx(twice.elbo_, abs=1e-4)


def test_a_kernel_that_is_constant_over_the_points():
    X, y, _ = data(200)
    gp = sparse((RBF(50.0), STATIC, None), n_inducing=60).fit(X, y)
    assert np.isfinite(gp.predict(X)).all()


def to_the_end(objective, theta, bounds):
    """Optimizer without an early stop, so that both likelihoods reach the same optimum."""
    found = minimize(objective, theta, method="L-BFGS-B", jac=True, bounds=bounds)
    return found.x, found.fun


def test_as_the_surrogate_of_an_optimizer():
    """With an inducing point for each observation W-DBO makes the same queries as the exact one."""
    queries, kernels = [], (Matern(0.4, nu=2.5), Matern(20.0, nu=1.5))
    for surrogate in (
        TimeVaryingGPRegressor(*kernels),
        SparseTimeVaryingGPRegressor(*kernels, n_inducing=40, random_state=0),
    ):
        surrogate.set_params(normalize_y=True, optimizer=to_the_end)
        opt = WDBO(
            [(0.0, 1.0)], surrogate=surrogate, n_initial_points=8, refit_every=1, random_state=0
        )
        for t in range(25):
            x = opt.ask(float(t))
            opt.tell(x, -((x[0] - 0.3 - 0.01 * t) ** 2))
        queries.append(opt.told_X_)
        assert opt.n_removed_ > 0
    assert_allclose(*queries, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_inducing": 2.5}, "'n_inducing' parameter"),
        ({"inducing": "random"}, r"'inducing' .* 'kdpp', 'greedy' or 'kmeans'\. Got 'random'"),
        ({"inducing": np.zeros((4, 2))}, r"array of shape \(m, 3\)\. Got shape \(4, 2\)"),
        ({"inducing": np.full((4, 3), np.nan)}, "must be finite"),
        ({"inducing": np.zeros((0, 3))}, r"Got shape \(0, 3\)"),
    ],
)
def test_bad_parameters(options, message):
    X, y, _ = data()
    with pytest.raises(ValueError, match=message):
        sparse(MODELS["matern"], **options).fit(X, y)


@pytest.mark.slow
def test_a_hundred_thousand_rows():
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=(100_000, 2)), np.linspace(0.0, 10.0, 100_000)])
    y = np.sin(5.0 * X[:, 0] + X[:, 2]) + 0.1 * rng.normal(size=100_000)
    gp = SparseTimeVaryingGPRegressor(n_inducing=200, random_state=0).fit(X, y)
    # The residual of the points counts as noise: at the maximum of the bound the noise variance is
    # the expected squared error. (It is searched on a sample of the rows.)
    f, std = gp.predict(X, return_std=True)
    assert_allclose(gp.noise_variance_, np.mean((y - f) ** 2 + std**2), rtol=0.05)
    assert gp.noise_variance_ > 0.01
    assert gp.score(X, y) > 0.97
