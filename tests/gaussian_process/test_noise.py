"""Noise models against dense formulas, total variances, and a custom model."""

from typing import ClassVar

import numpy as np
import pytest
from gaussian_process.cases import dense_prediction, lifted, prior, shuffled
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import (
    GeometricInjection,
    NoiseModel,
    QuadraticInjection,
    SparseTimeVaryingGPRegressor,
    WeightedTimeVaryingGPRegressor,
)


class PowerInjection(NoiseModel):
    """σ² (1 + (rate age)^power)."""

    intervals: ClassVar[dict] = {"rate": "[0, inf)", "power": "(0, 4]"}

    def __init__(self, rate=0.3, power=1.5, rate_bounds=(1e-3, 1e1), power_bounds=(0.5, 4.0)):
        self.rate = rate
        self.power = power
        self.rate_bounds = rate_bounds
        self.power_bounds = power_bounds

    def ratio(self, age):
        return 1.0 + (self.rate * age) ** self.power


STATIC = ConstantKernel(1.0, "fixed")
MODELS = [QuadraticInjection(0.3), GeometricInjection(0.9)]
LEARNT = [QuadraticInjection(0.3, (1e-3, 1e1)), GeometricInjection(0.9, (0.2, 1.0))]


def make(model, temporal=STATIC, kind=TimeVaryingGPRegressor, **options):
    defaults = {"noise_model": model, "optimizer": None, "noise_variance": 0.05}
    return kind(RBF(0.4), temporal, **defaults | options)


def noise(model, age):
    if isinstance(model, QuadraticInjection):
        return 0.05 * (1.0 + model.rate**2 * age**2)
    return 0.05 * model.discount**-age


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("temporal", [STATIC, Matern(20.0, nu=1.5)], ids=["static", "matern"])
@pytest.mark.parametrize("now", [139.0, 155.0])
def test_posterior_is_the_dense_formula(model, temporal, now):
    X, y, v = shuffled()
    gp = make(model, temporal).fit(X, y, y_variance=v)
    assert gp.now_ == 139.0 == X[:, 2].max()
    gp.advance(now)
    new = np.random.RandomState(1).uniform(size=(7, 3)) + np.array([0.0, 0.0, 120.0])
    variances = noise(model, now - X[:, 2]) + v
    expected = dense_prediction(gp, X, y, variances, new, 0.0, 1.0)
    assert_allclose(gp.predict(new, return_std=True), expected, atol=1e-9)
    value = stats.multivariate_normal(np.zeros(len(y)), prior(gp)(X) + np.diag(variances)).logpdf(y)
    assert gp.log_marginal_likelihood_value_ == pytest.approx(value, abs=1e-8)


NO_GROWTH = QuadraticInjection(0.0), GeometricInjection(1.0), PowerInjection(0.0, 1.5, "fixed")


@pytest.mark.parametrize("model", NO_GROWTH, ids=str)
def test_no_growth_is_the_homoscedastic_regressor(model):
    X, y, _ = shuffled()
    grown, plain = (make(m).fit(X, y).predict(X, return_std=True) for m in (model, None))
    assert_allclose(grown, plain, atol=1e-12)


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


def test_a_late_row_has_the_noise_of_its_age_with_time_in_any_column():
    X, y, _ = shuffled()
    X[-1, 2] = 50.0
    expected = make(QuadraticInjection(0.3)).fit(X, y).predict(X, return_std=True)
    for column, order in enumerate(([2, 0, 1], [0, 2, 1], [0, 1, 2])):
        moved = X[:, order]
        gp = make(QuadraticInjection(0.3), time_column=column).fit(moved[:-1], y[:-1])
        gp.partial_fit(moved[-1:], y[-1:])
        assert_allclose(gp.predict(moved, return_std=True), expected, rtol=1e-8)


def test_weights_that_underflow():
    X, y, _ = shuffled()
    X[:5, 2] -= 1e6
    gp, without = (make(GeometricInjection(0.5)).fit(X[n:], y[n:]) for n in (0, 5))
    found, expected = (one.predict(X, return_std=True) for one in (gp, without))
    assert_allclose(found, expected, atol=1e-8)


# --- total variances ------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [None, QuadraticInjection(0.5)], ids=str)
def test_a_total_variance_is_the_whole_noise_of_a_row(model):
    """Neither σ² nor its growth with age is added."""
    X, y, v = lifted()
    gp = make(model, RBF(3.0), normalize_y=True).fit(X, y, v)
    given = np.array([1e-4, 0.3, 2.0])
    extra, answers = X[:3] + 0.02, y[:3] + 0.5
    gp = gp.condition_on(extra, answers, given, total_variance=True)

    location, scale = y.mean(), y.std()  # held
    growth = 0.05 * (1.0 if model is None else model.ratio(X[-1, -1] - X[:, -1]))
    noise = np.append(growth + v / scale**2, given / scale**2)
    rows = np.vstack([X, extra]), np.append(y, answers)
    test = lifted(6, seed=2)[0]
    expected = dense_prediction(gp, *rows, noise, test, location, scale)
    assert_allclose(gp.predict(test, return_std=True), expected, rtol=1e-9)


# --- a custom model -------------------------------------------------------------------------------


def analytic_slopes(model, age):
    """Return the derivatives of the ratio in log power and log rate."""
    x = model.rate * np.maximum(age, 1e-300)
    grown = model.power * x**model.power
    return np.column_stack([grown * np.log(x), grown])


def regressor(model, kind=TimeVaryingGPRegressor, **options):
    return make(model, RBF(20.0), kind, **options)


@pytest.mark.parametrize(
    ("fixed", "left"), [(["rate"], ["power"]), (["power"], ["rate"]), (["rate", "power"], [])]
)
def test_fixed_hyperparameters(fixed, left):
    model = PowerInjection(**{f"{name}_bounds": "fixed" for name in fixed})
    assert model.hyperparameter_names == left
    assert_allclose(model.theta, np.log([getattr(model, name) for name in left]))
    assert model.bounds.shape == (len(left), 2)
    assert model.slopes(np.arange(5.0)).shape == (5, len(left))
    changed = model.clone_with_theta(model.theta + 0.5)
    assert all(getattr(changed, name) == getattr(model, name) for name in fixed)


@pytest.mark.parametrize(
    "model", [PowerInjection(), PowerInjection(2.0, 0.7), PowerInjection(power=4.0)], ids=str
)
def test_slopes_are_the_derivatives(model):
    age = np.array([0.0, 0.1, 1.0, 7.0, 40.0])
    assert_allclose(model.slopes(age), analytic_slopes(model, age), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("model", LEARNT, ids=str)
def test_slopes_of_built_in_models_are_the_derivatives(model):
    age, h = np.array([0.0, 0.1, 1.0, 7.0]), 1e-6
    up, down = (model.clone_with_theta(model.theta + step).ratio(age) for step in (h, -h))
    assert_allclose(model.slopes(age)[:, 0], (up - down) / (2.0 * h), rtol=1e-7, atol=1e-9)


def test_a_model_must_define_a_ratio():
    class Forgetful(NoiseModel):
        pass

    with pytest.raises(NotImplementedError, match=r"Forgetful must define ratio\(age\)"):
        Forgetful().ratio(1.0)


# --- a custom model in a regressor ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (TimeVaryingGPRegressor, {}),
        (WeightedTimeVaryingGPRegressor, {}),
        (SparseTimeVaryingGPRegressor, {"inducing": shuffled(15, seed=3)[0]}),
    ],
)
@pytest.mark.parametrize("normalize_y", [False, True])
def test_likelihood_gradient(kind, options, normalize_y):
    X, y, v = shuffled()
    gp = regressor(PowerInjection(), kind, normalize_y=normalize_y, **options)
    gp.fit(X[:30], y[:30], v[:30])
    gp = gp.condition_on(X[30:], y[30:], v[30:], total_variance=True)
    theta = gp.theta_ + 0.1
    assert len(theta) == 6
    value = getattr(gp, "elbo", gp.log_marginal_likelihood)
    numeric = approx_fprime(theta, value, 1e-6)
    assert np.abs(numeric[-2:]).min() > 1e-2
    assert_allclose(value(theta, eval_gradient=True)[1], numeric, rtol=1e-4, atol=1e-3)


def test_it_agrees_with_the_built_in_model():
    X, y, v = shuffled()
    own = regressor(PowerInjection(0.3, 2.0, "fixed", "fixed")).fit(X, y, v).advance(150.0)
    built_in = regressor(QuadraticInjection(0.3)).fit(X, y, v).advance(150.0)
    assert_allclose(
        own.predict(X, return_std=True), built_in.predict(X, return_std=True), rtol=1e-10
    )


def test_scikit_learns_conventions():
    gp = regressor(PowerInjection(0.5))
    assert clone(gp).noise_model.get_params() == gp.noise_model.get_params()
    gp.set_params(noise_model__power=2.0)
    assert gp.noise_model.power == 2.0
    assert str(gp.noise_model) == "PowerInjection(power=2.0, rate=0.5)"
    X, y, _ = shuffled()
    gp.fit(X, y)
    assert gp.noise_model_ is not gp.noise_model
    assert_array_equal(gp.noise_model_.theta, gp.noise_model.theta)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (QuadraticInjection(-1.0), r"'rate' .* QuadraticInjection must be .* \[0, inf\)\. Got -1"),
        (QuadraticInjection(0.0, (1e-3, 1.0)), r"'rate' .* in the range \(0, inf\)\. Got 0\.0"),
        (GeometricInjection(0.0), r"'discount' .* in the range \(0, 1\]\. Got 0\.0 instead"),
        (GeometricInjection(0.9, (0.5, 1.5)), r"'discount_bounds' .* high <= 1\. Got \(0\.5"),
        (PowerInjection("fast"), r"'rate' .* PowerInjection must be .* \(0, inf\)\. Got 'fast'"),
        (PowerInjection(power=4.5), r"'power' .* in the range \(0, 4\]\. Got 4\.5 instead"),
        (PowerInjection(rate_bounds="free"), r"'rate_bounds' .* or a pair .* Got 'free' instead"),
        (PowerInjection(power_bounds=(0.5, 5.0)), r"'power_bounds' .* <= high <= 4\. Got \(0\.5"),
    ],
    ids=str,
)
def test_bad_models(model, message):
    with pytest.raises(ValueError, match=message):
        model.check()
    X, y, _ = shuffled()
    with pytest.raises(ValueError, match=message):
        make(model).fit(X, y)


def test_another_object_is_no_noise_model():
    message = "'noise_model' .* must be a NoiseModel, .* or None. Got 'quadratic' instead"
    with pytest.raises(ValueError, match=message):
        make("quadratic").fit(*shuffled()[:2])
