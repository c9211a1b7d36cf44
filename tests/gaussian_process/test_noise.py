"""Noise models and hyperpriors against the dense formulas and finite differences."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import GeometricInjection, QuadraticInjection

STATIC = ConstantKernel(1.0, "fixed")
MODELS = [QuadraticInjection(0.3), GeometricInjection(0.9)]
LEARNT = [QuadraticInjection(0.3, (1e-3, 1e1)), GeometricInjection(0.9, (0.2, 1.0))]


def data(n=40, seed=0):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n, 2)), rng.permutation(n) + 100.0])
    return X, np.sin(5.0 * X[:, 0]) + 0.1 * rng.normal(size=n), rng.uniform(0.0, 0.3, n)


def make(model, temporal=STATIC, **options):
    options = {
        "spatial_kernel": RBF(0.4),
        "noise_model": model,
        "optimizer": None,
        "noise_variance": 0.05,
    } | options
    return TimeVaryingGPRegressor(temporal_kernel=temporal, **options)


def noise(model, age):
    if isinstance(model, QuadraticInjection):
        return 0.05 * (1.0 + model.rate**2 * age**2)
    return 0.05 * model.discount**-age


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("temporal", [STATIC, Matern(20.0, nu=1.5)], ids=["static", "matern"])
@pytest.mark.parametrize("now", [None, 155.0])
def test_posterior_is_the_dense_formula(model, temporal, now):
    X, y, v = data()
    gp = make(model, temporal).fit(X, y, y_variance=v)
    if now is not None:
        gp.advance(now)
    T = X[:, 2].max() if now is None else now
    assert gp.now_ == T
    Z = np.random.RandomState(1).uniform(size=(7, 3)) + np.array([0.0, 0.0, 120.0])

    def k(A, B):
        return RBF(0.4)(A[:, :2], B[:, :2]) * temporal(A[:, 2:], B[:, 2:])

    Delta = k(X, X) + np.diag(noise(model, T - X[:, 2]) + v)
    mean, cov = gp.predict(Z, return_cov=True)
    np.testing.assert_allclose(mean, k(Z, X) @ np.linalg.solve(Delta, y), atol=1e-9)
    expected = k(Z, Z) - k(Z, X) @ np.linalg.solve(Delta, k(X, Z))
    np.testing.assert_allclose(cov, expected, atol=1e-9)
    value = stats.multivariate_normal(np.zeros(len(y)), Delta).logpdf(y)
    assert gp.log_marginal_likelihood_value_ == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("model", [QuadraticInjection(0.0), GeometricInjection(1.0)], ids=str)
def test_no_growth_is_the_homoscedastic_regressor(model):
    X, y, _ = data()
    grown, plain = make(model).fit(X, y), make(None).fit(X, y)
    for a, b in zip(grown.predict(X, return_std=True), plain.predict(X, return_std=True)):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("model", LEARNT, ids=str)
@pytest.mark.parametrize("normalize_y", [False, True])
def test_likelihood_gradient(model, normalize_y):
    X, y, v = data()
    gp = make(model, Matern(20.0, nu=1.5), normalize_y=normalize_y).fit(X, y, y_variance=v)
    theta = gp.theta_ + 0.1
    assert len(theta) == 5
    gradient = gp.log_marginal_likelihood(theta, eval_gradient=True)[1]
    numeric = approx_fprime(theta, gp.log_marginal_likelihood, 1e-6)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("model", LEARNT, ids=str)
def test_growth_is_learnt(model):
    rng = np.random.RandomState(0)
    X, _, _ = data(150)
    truth = clone(model)
    y = np.sin(5.0 * X[:, 0]) + rng.normal(size=150) * np.sqrt(noise(truth, 249.0 - X[:, 2]))
    start = clone(model).set_params(**{model._parameter: 0.5})
    # With the variance held: of old data only its product with the growth is known.
    gp = make(start, optimizer="fmin_l_bfgs_b", noise_variance_bounds="fixed").fit(X, y)
    learnt = getattr(gp.noise_model_, model._parameter)
    assert learnt == pytest.approx(getattr(truth, model._parameter), rel=0.3)
    assert getattr(start, model._parameter) == 0.5  # the parameter given is left alone


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("known_noise", [False, True])
def test_streaming_equals_a_fresh_fit(model, normalize_y, known_noise):
    X, y, v = data(60)
    v = v if known_noise else 0.0 * v
    order = np.argsort(X[:, 2])
    X, y, v = X[order], y[order], v[order]
    gp = make(model, normalize_y=normalize_y).partial_fit(X[:20], y[:20], v[:20])
    for i in range(20, 60):
        gp.partial_fit(X[[i]], y[[i]], v[[i]])
        if i % 3 == 0:
            gp.forget([1])
    rows = [int(np.flatnonzero((x == X).all(axis=1))[0]) for x in gp.X_train_]
    fresh = make(model, normalize_y=normalize_y).fit(X[rows], y[rows], v[rows])
    assert gp.now_ == fresh.now_
    for a, b in zip(gp.predict(X, return_std=True), fresh.predict(X, return_std=True)):
        np.testing.assert_allclose(a, b, atol=1e-8)


def test_a_late_row_is_old_at_once_and_forgetting_the_newest_turns_no_clock_back():
    X, y, _ = data()
    gp = make(QuadraticInjection(0.3)).fit(X, y)
    gp.partial_fit([[0.5, 0.5, 50.0]], [1.0])
    assert gp.now_ == X[:, 2].max()
    gp.forget([int(np.argmax(X[:, 2]))])
    assert gp.now_ == X[:, 2].max()


def test_weights_that_underflow():
    X, y, _ = data()
    X[:5, 2] -= 1e6
    gp = make(GeometricInjection(0.5)).fit(X, y)
    mean, std = gp.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    without = make(GeometricInjection(0.5)).fit(X[5:], y[5:])
    np.testing.assert_allclose(mean, without.predict(X), atol=1e-8)
    np.testing.assert_allclose(std, without.predict(X, return_std=True)[1], atol=1e-8)


@pytest.mark.parametrize("now", [120.0, np.nan, np.inf, "now"])
def test_now_is_not_before_the_data(now):
    X, y, _ = data()
    gp = make(QuadraticInjection(0.3)).fit(X, y)
    before = gp.predict(X)
    with pytest.raises(ValueError, match="not before the latest training time"):
        gp.advance(now)
    np.testing.assert_array_equal(gp.predict(X), before)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (QuadraticInjection(-1.0), "'rate' parameter"),
        (QuadraticInjection(0.0, (1e-3, 1.0)), "'rate' parameter"),
        (QuadraticInjection(1.0, (0.0, 1.0)), "'rate_bounds' parameter"),
        (QuadraticInjection(1.0, (1.0, np.inf)), "'rate_bounds' parameter"),
        (GeometricInjection(0.0), "'discount' parameter .* at most 1"),
        (GeometricInjection(1.1), "'discount' parameter"),
        (GeometricInjection(0.9, (0.5, 1.5)), "'discount_bounds' parameter"),
        ("quadratic", "'noise_model' parameter"),
    ],
    ids=str,
)
def test_bad_models(model, message):
    X, y, _ = data()
    with pytest.raises(ValueError, match=message):
        make(model).fit(X, y)


def test_grid_search_over_the_rate():
    X, y, _ = data(60)
    X = X[np.argsort(X[:, 2])]
    grid = {"noise_model__rate": [0.0, 0.1, 3.0]}
    search = GridSearchCV(make(QuadraticInjection()), grid, cv=TimeSeriesSplit(3)).fit(X, y)
    assert search.best_params_["noise_model__rate"] in (0.0, 0.1, 3.0)
    assert len(set(np.round(search.cv_results_["mean_test_score"], 6))) == 3


# --- hyperpriors ----------------------------------------------------------------------------------


def fit(hyperpriors, **options):
    X, y, _ = data()
    options = {"optimizer": "fmin_l_bfgs_b", "normalize_y": True} | options
    return make(None, Matern(20.0, nu=1.5), hyperpriors=hyperpriors, **options).fit(X, y)


def test_a_narrow_prior_holds_its_hyperparameter():
    free, held = fit(None), fit({"spatial_kernel__length_scale": stats.norm(0.15, 1e-3)})
    assert held.spatial_kernel_.length_scale == pytest.approx(0.15, abs=0.005)
    assert abs(free.spatial_kernel_.length_scale - 0.15) > 0.05
    assert held.log_marginal_likelihood_value_ < free.log_marginal_likelihood_value_


@pytest.mark.parametrize("model", [None, QuadraticInjection(0.1, (1e-3, 1.0))], ids=str)
def test_the_posterior_mode_is_stationary(model):
    priors = {
        "signal_variance": stats.gamma(2.0, scale=1.0),
        "spatial_kernel__length_scale": stats.gamma(3.0, scale=0.2),
        "temporal_kernel__length_scale": stats.lognorm(1.0, scale=30.0),
        "noise_variance": stats.gamma(2.0, scale=0.1),
    }
    if model is not None:
        priors["noise_model__rate"] = stats.gamma(2.0, scale=0.1)
    gp = fit(priors, noise_model=model)

    def log_posterior(theta):
        terms = zip(priors.values(), np.exp(theta))
        return gp.log_marginal_likelihood(theta) + sum(p.logpdf(v) for p, v in terms)

    slope = approx_fprime(gp.theta_, log_posterior, 1e-6)
    np.testing.assert_allclose(slope, 0.0, atol=1e-2)


def test_one_prior_for_all_lengthscales():
    prior = {"spatial_kernel__length_scale": stats.norm(0.2, 1e-3)}
    gp = fit(prior, spatial_kernel=Matern([0.4, 0.4], nu=2.5))
    np.testing.assert_allclose(gp.spatial_kernel_.length_scale, 0.2, atol=0.005)


@pytest.mark.parametrize(
    ("hyperpriors", "message"),
    [
        ({"length_scale": stats.gamma(2.0)}, "'length_scale', which is not among"),
        ({"noise_variance": 0.1}, "must be a frozen scipy.stats distribution"),
        ({"noise_variance": stats.uniform(5.0, 1.0)}, "no density: noise_variance = "),
    ],
)
def test_bad_hyperpriors(hyperpriors, message):
    with pytest.raises(ValueError, match=message):
        fit(hyperpriors)
