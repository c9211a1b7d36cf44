"""Scores against their formulas, and the maximizer against a dense search."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from sktvbo import TimeVaryingGPRegressor
from sktvbo.acquisition import UCB, AcquisitionState, maximize
from sktvbo.domain import Box, FiniteSet
from sktvbo.kernels import Wiener

STATE = AcquisitionState(n=30, n_told=50, n_dims=2)


@pytest.mark.parametrize(
    ("beta", "expected"),
    [
        ("dimension", 0.2 * 2 * np.log(60.0)),
        ("log", 0.8 * np.log(200.0)),
        (2.5, 2.5),
        (0, 0.0),
        (lambda state: state.n / 10.0, 3.0),
    ],
)
def test_beta(beta, expected):
    ucb = UCB(beta)
    assert ucb.beta_value(STATE) == pytest.approx(expected)
    mean, std = np.array([1.0, 2.0]), np.array([0.5, 0.1])
    score, on_mean, on_std = ucb(mean, std, STATE)
    np.testing.assert_allclose(score, mean + np.sqrt(expected) * std)
    assert (on_mean, on_std) == (1.0, pytest.approx(np.sqrt(expected)))


@pytest.mark.parametrize("beta", [-1.0, np.nan, np.inf, "dimensions", None, lambda state: -1.0])
def test_bad_beta(beta):
    with pytest.raises(ValueError, match="'beta' parameter of UCB"):
        UCB(beta).beta_value(STATE)


def upper_bound(width):
    return lambda mean, std: (mean + width * std, 1.0, width)


def fitted(d, kernel=None):
    rng = np.random.RandomState(1)
    X = np.column_stack([rng.uniform(size=(25, d)), np.arange(25.0)])
    y = np.sin(5.0 * X[:, :d].sum(axis=1) + 0.1 * X[:, d])
    return TimeVaryingGPRegressor(
        kernel or Matern(0.3, nu=2.5), Matern(20.0, nu=1.5), optimizer=None
    ).fit(X, y)


@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(0.3, nu=1.5), RationalQuadratic(0.3)])
def test_posterior_gradient_agrees_with_differences(kernel):
    posterior = fitted(2, kernel).posterior_at(26.0)
    u, h = np.array([0.41, 0.67]), 1e-5
    mean, std, mean_slope, std_slope = posterior.with_gradient(u)
    np.testing.assert_allclose([[mean], [std]], posterior(u[np.newaxis]), rtol=1e-9)
    for k, step in enumerate(h * np.eye(2)):
        up, down = posterior((u + step)[np.newaxis]), posterior((u - step)[np.newaxis])
        assert mean_slope[k] == pytest.approx((up[0] - down[0])[0] / (2 * h), rel=1e-5, abs=1e-7)
        assert std_slope[k] == pytest.approx((up[1] - down[1])[0] / (2 * h), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("width", [0.0, 1.5])
def test_maximum_over_a_box_is_that_of_a_dense_search(d, width):
    posterior = fitted(d).posterior_at(26.0)
    score = upper_bound(width)
    box = Box([(-2.0, 4.0)] * d)
    x = maximize(score, posterior, box, np.random.RandomState(0))
    grid = np.linspace(0.0, 1.0, 2001 if d == 1 else 151)
    dense = np.stack(np.meshgrid(*[grid] * d), axis=-1).reshape(-1, d)
    found = score(*posterior(box.to_unit(x)[np.newaxis]))[0][0]
    assert found >= score(*posterior(dense))[0].max() - 1e-9
    assert box.contains(x)


def test_maximum_over_a_finite_set_is_found_by_enumeration():
    posterior = fitted(2).posterior_at(26.0)
    arms = FiniteSet(np.random.RandomState(5).uniform(-3, 3, size=(40, 2)))
    score = upper_bound(1.0)
    x = maximize(score, posterior, arms, np.random.RandomState(0))
    values = score(*posterior(arms.to_unit(arms.points)))[0]
    assert arms.index(x) == np.argmax(values)


def test_anchor_in_a_narrow_peak_is_found():
    """A peak too narrow for the Sobol points is found from a place on its slope."""

    class Peak:
        def __call__(self, U):
            return np.exp(-(((U[:, 0] - 0.70001) / 1e-3) ** 2)), np.zeros(len(U))

        def with_gradient(self, u):
            value = self(u[np.newaxis])[0][0]
            slope = -2.0 * (u - 0.70001) / 1e-6 * value
            return value, 0.0, slope, np.zeros(1)

    score = upper_bound(0.0)
    box = Box([(0.0, 1.0)])
    rng = np.random.RandomState(0)
    x = maximize(score, Peak(), box, rng, anchors=np.array([[0.7005]]), n_candidates=16)
    assert x == pytest.approx(0.70001, abs=1e-4)


def test_posterior_gradient_of_a_kernel_that_starts_at_a_time():
    """A step in space must not become one in time, before the start."""
    rng = np.random.RandomState(1)
    X = np.column_stack([rng.uniform(size=(12, 2)), 1.7e9 + np.arange(12.0)])
    gp = TimeVaryingGPRegressor(RBF(0.3), Wiener(0.03, start=1.7e9), optimizer=None)
    posterior = gp.fit(X, np.sin(5.0 * X[:, 0])).posterior_at(1.7e9)
    u, h = np.array([0.41, 0.67]), 1e-5
    slope = posterior.with_gradient(u)[2]
    for k, step in enumerate(h * np.eye(2)):
        up, down = posterior((u + step)[np.newaxis])[0], posterior((u - step)[np.newaxis])[0]
        assert slope[k] == pytest.approx((up - down)[0] / (2 * h), rel=1e-5, abs=1e-7)
