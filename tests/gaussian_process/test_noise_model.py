"""Custom noise model with two hyperparameters and no derivatives."""

import inspect
from typing import ClassVar

import numpy as np
import pytest
from gaussian_process.cases import make, shuffled
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import (
    NoiseModel,
    QuadraticInjection,
    SparseTimeVaryingGPRegressor,
    WeightedGPRegressor,
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


def analytic_slopes(model, age):
    """Return the derivatives of the ratio in log power and log rate."""
    x = model.rate * np.maximum(age, 1e-300)
    grown = model.power * x**model.power
    return np.column_stack([grown * np.log(x), grown])


KINDS = {
    "exact": (TimeVaryingGPRegressor, {}),
    "weighted": (WeightedGPRegressor, {}),
    "sparse": (SparseTimeVaryingGPRegressor, {"inducing": shuffled(15, seed=3)[0]}),
}
every_kind = pytest.mark.parametrize(("kind", "options"), KINDS.values(), ids=list(KINDS))


def regressor(model, kind=TimeVaryingGPRegressor, **options):
    return make(RBF(0.4), RBF(20.0), kind, noise_variance=0.05, noise_model=model, **options)


def test_it_needs_few_lines_and_no_private_name():
    lines = inspect.getsource(PowerInjection).splitlines()
    assert len(lines) <= 40
    assert not any("._" in line for line in lines)


# --- hyperparameters ------------------------------------------------------------------------------


def test_hyperparameters():
    model = PowerInjection()
    assert model.hyperparameter_names == ["power", "rate"]
    assert_allclose(model.theta, np.log([1.5, 0.3]))
    assert_allclose(model.bounds, np.log([[0.5, 4.0], [1e-3, 1e1]]))
    other = model.clone_with_theta(np.log([2.0, 0.7]))
    assert (other.rate, other.power) == (pytest.approx(0.7), pytest.approx(2.0))
    assert (model.rate, model.power) == (0.3, 1.5)
    assert type(other) is PowerInjection


@pytest.mark.parametrize(
    ("fixed", "left"), [("rate", ["power"]), ("power", ["rate"]), (("rate", "power"), [])]
)
def test_fixed_hyperparameters(fixed, left):
    fixed = [fixed] if isinstance(fixed, str) else fixed
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


def test_a_model_must_define_a_ratio():
    class Forgetful(NoiseModel):
        pass

    with pytest.raises(NotImplementedError, match=r"Forgetful must define ratio\(age\)"):
        Forgetful().ratio(1.0)


# --- in a regressor -------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("normalize_y", [False, True])
def test_likelihood_gradient(kind, options, normalize_y):
    X, y, v = shuffled()
    gp = regressor(PowerInjection(), kind, normalize_y=normalize_y, **options)
    gp.fit(X[:30], y[:30], v[:30])
    gp = gp.condition_on(X[30:], y[30:], v[30:], total_variance=True)
    theta = gp.theta_ + 0.1
    assert len(theta) == 6
    value = gp.elbo if isinstance(gp, SparseTimeVaryingGPRegressor) else gp.log_marginal_likelihood
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


@every_kind
def test_both_hyperparameters_are_learnt(kind, options):
    rng = np.random.RandomState(0)
    X, _, _ = shuffled(150)
    truth = PowerInjection(0.2, 2.5)
    noise = 0.05 * truth.ratio(249.0 - X[:, 2])
    y = np.sin(5.0 * X[:, 0]) + rng.normal(size=150) * np.sqrt(noise)
    start = PowerInjection(0.4, 1.0)
    options = {"inducing": X[::2]} if options else {}
    gp = regressor(start, kind, optimizer="fmin_l_bfgs_b", noise_variance_bounds="fixed", **options)
    gp.fit(X, y)
    found = gp.noise_model_
    # Old data identify the noise itself well, not its parameters.
    grown = truth.ratio(np.array([20.0, 100.0]))
    assert_allclose(found.ratio(np.array([20.0, 100.0])), grown, rtol=0.4)
    assert found.power == pytest.approx(2.5, rel=0.2)
    assert (start.rate, start.power) == (0.4, 1.0)
    assert_allclose(gp.theta_[-2:], found.theta)


def test_a_prior_of_each():
    X, y, _ = shuffled()
    prior = {"noise_model__power": stats.norm(3.0, 1e-3), "noise_model__rate": stats.norm(1, 1e-3)}
    gp = regressor(PowerInjection(1.0, 3.0), optimizer="fmin_l_bfgs_b", hyperpriors=prior)
    gp.fit(X, y)
    assert gp.noise_model_.power == pytest.approx(3.0, abs=0.01)
    assert gp.noise_model_.rate == pytest.approx(1.0, abs=0.01)


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
    ("parameters", "message"),
    [
        ({"rate": -1.0}, r"'rate' parameter of PowerInjection must be a float in .* Got -1\.0 ins"),
        ({"rate": 0.0}, r"'rate' .* in the range \(0, inf\)\. Got 0\.0 instead"),
        ({"rate": "fast"}, r"'rate' .* in the range \(0, inf\)\. Got 'fast' instead"),
        ({"rate": np.nan}, r"'rate' .* Got nan instead"),
        ({"rate": np.inf}, r"'rate' .* Got inf instead"),
        ({"power": 4.5}, r"'power' .* in the range \(0, 4\]\. Got 4\.5 instead"),
        ({"power": True}, r"'power' .* Got True instead"),
        ({"rate_bounds": "free"}, r"'rate_bounds' .* 'fixed' or a pair .* Got 'free' instead"),
        ({"rate_bounds": (0.0, 1.0)}, r"'rate_bounds' .* low <= high\. Got \(0\.0, 1\.0\) instead"),
        ({"rate_bounds": (2.0, 1.0)}, r"'rate_bounds' .* Got \(2\.0, 1\.0\) instead"),
        ({"power_bounds": (0.5, 5.0)}, r"'power_bounds' .* <= high <= 4\. Got \(0\.5, 5\.0\) inst"),
        ({"power_bounds": None}, r"'power_bounds' .* Got None instead"),
    ],
    ids=str,
)
def test_check(parameters, message):
    model = PowerInjection(**parameters)
    with pytest.raises(ValueError, match=message):
        model.check()
    X, y, _ = shuffled()
    with pytest.raises(ValueError, match=message):
        regressor(model).fit(X, y)


def test_a_fixed_rate_may_be_0():
    PowerInjection(0.0, rate_bounds="fixed").check()
    X, y, _ = shuffled()
    still = regressor(PowerInjection(0.0, rate_bounds="fixed")).fit(X, y)
    assert_allclose(still.predict(X), regressor(None).fit(X, y).predict(X), rtol=1e-10)
