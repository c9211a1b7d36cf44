"""Noise models against the dense formulas and finite differences."""

import numpy as np
import pytest
from gaussian_process.cases import dense_prediction, lifted, prior, shuffled
from scipy import stats
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import GeometricInjection, QuadraticInjection, WeightedGPRegressor

STATIC = ConstantKernel(1.0, "fixed")
MODELS = [QuadraticInjection(0.3), GeometricInjection(0.9)]
LEARNT = [QuadraticInjection(0.3, (1e-3, 1e1)), GeometricInjection(0.9, (0.2, 1.0))]


def make(model, temporal=STATIC, kind=TimeVaryingGPRegressor, **options):
    options = {
        "spatial_kernel": RBF(0.4),
        "noise_model": model,
        "optimizer": None,
        "noise_variance": 0.05,
    } | options
    return kind(temporal_kernel=temporal, **options)


def noise(model, age):
    if isinstance(model, QuadraticInjection):
        return 0.05 * (1.0 + model.rate**2 * age**2)
    return 0.05 * model.discount**-age


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("temporal", [STATIC, Matern(20.0, nu=1.5)], ids=["static", "matern"])
@pytest.mark.parametrize("now", [None, 155.0])
def test_posterior_is_the_dense_formula(model, temporal, now):
    X, y, v = shuffled()
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
    X, y, _ = shuffled()
    grown, plain = make(model).fit(X, y), make(None).fit(X, y)
    np.testing.assert_allclose(
        grown.predict(X, return_std=True), plain.predict(X, return_std=True), atol=1e-12
    )


@pytest.mark.parametrize("model", LEARNT, ids=str)
def test_growth_is_learnt(model):
    rng = np.random.RandomState(0)
    X, _, _ = shuffled(150)
    truth = clone(model)
    y = np.sin(5.0 * X[:, 0]) + rng.normal(size=150) * np.sqrt(noise(truth, 249.0 - X[:, 2]))
    (parameter,) = model.hyperparameter_names
    start = clone(model).set_params(**{parameter: 0.5})
    # The variance is held: old data identify only its product with the growth.
    gp = make(start, optimizer="fmin_l_bfgs_b", noise_variance_bounds="fixed").fit(X, y)
    learnt = getattr(gp.noise_model_, parameter)
    assert learnt == pytest.approx(getattr(truth, parameter), rel=0.3)
    assert getattr(start, parameter) == 0.5  # the given model is unchanged


def test_neither_a_late_row_nor_forgetting_the_newest_moves_the_present():
    X, y, _ = shuffled()
    gp = make(QuadraticInjection(0.3)).fit(X, y)
    gp.partial_fit([[0.5, 0.5, 50.0]], [1.0])
    assert gp.now_ == X[:, 2].max()
    gp.forget([int(np.argmax(X[:, 2]))])
    assert gp.now_ == X[:, 2].max()


def test_weights_that_underflow():
    X, y, _ = shuffled()
    X[:5, 2] -= 1e6
    gp = make(GeometricInjection(0.5)).fit(X, y)
    mean, std = gp.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    without = make(GeometricInjection(0.5)).fit(X[5:], y[5:])
    np.testing.assert_allclose(mean, without.predict(X), atol=1e-8)
    np.testing.assert_allclose(std, without.predict(X, return_std=True)[1], atol=1e-8)


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (120.0, r"a time not before the latest training time 139\.0\. Got 120\.0 instead"),
        (np.nan, r"a float in the range \(-inf, inf\)\. Got nan instead"),
        (np.inf, r"a float in the range \(-inf, inf\)\. Got inf instead"),
        ("now", r"a float in the range \(-inf, inf\)\. Got 'now' instead"),
    ],
)
def test_now_is_not_before_the_data(now, message):
    X, y, _ = shuffled()
    gp = make(QuadraticInjection(0.3)).fit(X, y)
    before = gp.predict(X)
    with pytest.raises(ValueError, match=f"now must be {message}"):
        gp.advance(now)
    np.testing.assert_array_equal(gp.predict(X), before)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (QuadraticInjection(-1.0), r"'rate' .* QuadraticInjection must be .* \[0, inf\)\. Got -1"),
        (QuadraticInjection(0.0, (1e-3, 1.0)), r"'rate' .* in the range \(0, inf\)\. Got 0\.0"),
        (QuadraticInjection(1.0, (0.0, 1.0)), r"'rate_bounds' .* 0 < low <= high\. Got \(0\.0"),
        (QuadraticInjection(1.0, (1.0, np.inf)), r"'rate_bounds' .* Got \(1\.0, inf\) instead"),
        (GeometricInjection(0.0), r"'discount' .* in the range \(0, 1\]\. Got 0\.0 instead"),
        (GeometricInjection(1.1), r"'discount' .* in the range \(0, 1\]\. Got 1\.1 instead"),
        (
            GeometricInjection(0.9, (0.5, 1.5)),
            r"'discount_bounds' .* <= high <= 1\. Got \(0\.5",
        ),
        ("quadratic", "'noise_model' .* must be a NoiseModel, .* or None. Got 'quadratic' instead"),
    ],
    ids=str,
)
def test_bad_models(model, message):
    X, y, _ = shuffled()
    with pytest.raises(ValueError, match=message):
        make(model).fit(X, y)


# --- total variances ------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [None, QuadraticInjection(0.5)], ids=str)
@pytest.mark.parametrize("kind", [TimeVaryingGPRegressor, WeightedGPRegressor])
def test_a_total_variance_is_the_whole_noise_of_a_row(kind, model):
    """Neither σ² nor its growth with age is added."""
    X, y, v = lifted()
    gp = make(model, RBF(3.0), kind, normalize_y=True).fit(X, y, v)
    given = np.array([1e-4, 0.3, 2.0])
    extra, answers = X[:3] + 0.02, y[:3] + 0.5
    gp = gp.condition_on(extra, answers, given, total_variance=True)

    location, scale = y.mean(), y.std()  # held
    X, y = np.vstack([X, extra]), np.append(y, answers)
    age = X[:, -1].max() - X[:, -1]
    growth = 0.05 * (1.0 + (0.5 * age) ** 2) if model else np.full(len(X), 0.05)
    noise = np.append(growth[:-3] + v / scale**2, given / scale**2)
    test = lifted(6, seed=2)[0]
    mean, std = dense_prediction(gp, X, y, noise, test, location, scale)
    np.testing.assert_allclose(gp.predict(test), mean, rtol=1e-9)
    if kind is WeightedGPRegressor:
        c = np.linalg.solve(prior(gp)(X) + np.diag(noise), prior(gp)(X, test))
        excess = np.append(growth[:-3] - 0.05, np.zeros(3))
        std = np.sqrt(std**2 - scale**2 * excess @ c**2)
    np.testing.assert_allclose(gp.predict(test, return_std=True)[1], std, rtol=1e-9)


def test_a_total_variance_has_no_share_in_the_gradient_of_the_likelihood():
    X, y, _ = lifted()
    model = QuadraticInjection(0.5, (1e-3, 1e1))
    gp = make(model, RBF(3.0)).fit(X, y)
    gp = gp.condition_on(X[:3] + 0.02, y[:3] + 0.5, [1e-2, 0.3, 2.0], total_variance=True)
    theta = gp.theta_ + 0.1
    gradient = gp.log_marginal_likelihood(theta, eval_gradient=True)[1]
    np.testing.assert_allclose(
        gradient, approx_fprime(theta, gp.log_marginal_likelihood, 1e-6), rtol=1e-3
    )
