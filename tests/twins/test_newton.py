"""Minimization over a box against SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from sktvbo.gaussian_process import _quasi_newton
from sktvbo.gaussian_process._quasi_newton import completed, model_minimum, predicted_gain

BOX = np.array([[-5.0, 5.0]] * 4)


def counted(function, start, bounds, **options):
    """Return the minimum of a function that returns value and slope, and the evaluations."""
    values, slopes = [], []

    def value(x):
        values.append(x)
        return function(x)[0]

    def slope(x):
        slopes.append(x)
        return function(x)[1]

    found = completed(_quasi_newton.minimize(value, slope, start, bounds, **options))
    assert len(slopes) <= len(values)
    return found, len(values)


def rosenbrock(x):
    return optimize.rosen(x), optimize.rosen_der(x)


def quadratic(rng, p=4):
    """Return an ill-conditioned ½ xᵀ A x + bᵀ x, A and b."""
    Q, _ = np.linalg.qr(rng.normal(size=(p, p)))
    A, b = (Q * np.geomspace(1.0, 1e3, p)) @ Q.T, 30.0 * rng.normal(size=p)
    return (lambda x: (0.5 * x @ A @ x + b @ x, A @ x + b)), A, b


@pytest.mark.parametrize("upper", [5.0, 0.7], ids=["inside", "at a side"])
def test_a_curved_valley(upper):
    bounds = np.array([[-5.0, upper]] * 4)
    start = np.array([-1.2, 0.5, -1.0, 0.3])
    found, n_evaluations = counted(rosenbrock, start, bounds, least_gain=1e-12)
    expected = optimize.minimize(
        *(rosenbrock, found.x), method="L-BFGS-B", jac=True, bounds=bounds, tol=1e-12
    )
    assert_allclose(found.value, expected.fun, atol=1e-8)
    assert_allclose(found.x, expected.x, atol=1e-4)
    assert n_evaluations < 120


def test_a_search_ends_if_the_value_to_reach_is_far_below_the_minimum(rng):
    function, A, _ = quadratic(rng)
    start, options = np.full(4, 4.0), {"hessian": A * 3.0, "least_gain": 1e-9}
    best, n_whole = counted(function, start, BOX, **options)
    reachable, n_reachable = counted(function, start, BOX, to_reach=best.value + 1.0, **options)
    assert (reachable.value, n_reachable) == (best.value, n_whole)
    hopeless, n_hopeless = counted(function, start, BOX, to_reach=best.value - 1e6, **options)
    assert hopeless.message == "given up"
    assert n_hopeless < n_whole


def test_a_known_hessian_saves_evaluations(rng):
    function, A, b = quadratic(rng)
    start = np.linalg.solve(A, -b) + 1.0
    box = BOX + start[:, np.newaxis]
    cold, n_cold = counted(function, start, box, least_gain=1e-9)
    warm, n_warm = counted(function, start, box, hessian=A, least_gain=1e-9)
    assert_allclose(cold.x, warm.x, atol=1e-3)
    assert n_cold > 5
    assert n_warm == 2
    assert counted(function, warm.x, box, hessian=A, least_gain=1e-9)[1] == 1


def test_it_ends_when_the_promised_gain_is_small(rng):
    function, A, b = quadratic(rng)
    x = np.linalg.solve(A, -b) + 1e-3
    gain = predicted_gain(function(x)[1], A, x, BOX + x[:, np.newaxis])
    assert gain == pytest.approx(function(x)[0] - function(x - 1e-3)[0])
    for least_gain, n_evaluations in ((1.01 * gain, 1), (0.99 * gain, 2)):
        options = {"hessian": A, "least_gain": least_gain}
        assert counted(function, x, BOX + x[:, np.newaxis], **options)[1] == n_evaluations


def test_steps_to_infinite_values_are_rejected():
    def function(x):
        return (-np.log(x[0]) + x[0] if x[0] > 0.0 else np.inf), 1.0 - 1.0 / x

    box, flat = np.array([[-3.0, 3.0]]), 0.1 * np.eye(1)
    found, _ = counted(function, np.array([0.2]), box, hessian=flat)
    assert found.x == pytest.approx(1.0, abs=1e-3)


def test_a_wrong_hessian_is_discarded():
    options = {"hessian": 1e-9 * np.eye(4), "least_gain": 1e-10}
    found, _ = counted(rosenbrock, np.full(4, -1.0), BOX, **options)
    # The global minimum, or the other one of this function in four dimensions.
    assert found.value < 1e-6 or found.value == pytest.approx(3.70, abs=0.1)


def test_a_start_without_a_value_is_returned():
    found, n_evaluations = counted(lambda x: (np.nan, x), np.zeros(2), BOX[:2])
    assert np.isnan(found.value)
    assert n_evaluations == 1


def test_nothing_free_to_move():
    bounds = np.array([[0.0, 1.0], [2.0, 2.0]])
    start = np.array([0.0, 2.0])
    found, n_evaluations = counted(lambda x: (x.sum(), np.ones(2)), start, bounds)
    assert_allclose(found.x, [0.0, 2.0])
    assert n_evaluations == 1


def test_a_singular_model_has_a_minimum_too():
    H = np.array([[2.0, 2.0], [2.0, 2.0]])
    step = model_minimum(H, np.array([-4.0, -4.0]), np.full(2, -9.0), np.full(2, 9.0))
    assert_allclose(step, [1.0, 1.0])


def test_a_function_without_curvature_keeps_a_definite_model(rng):
    """Each damping leaves a fifth of the model's curvature along a step: rounding, in the end."""
    H = quadratic(rng)[1]
    for _ in range(100):
        for step in (np.array([2.0, 0.0, 0.0, 2.0]), rng.normal(size=4)):
            H = _quasi_newton.bfgs_update(H, step, np.zeros(4), fresh=False)
        assert np.isfinite(H).all()
        assert np.linalg.eigvalsh(H).min() > 0.0


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_functions_of_any_size(size):
    def function(x):
        return size * np.sum((x - 1.0) ** 2), 2.0 * size * (x - 1.0)

    found, _ = counted(function, np.zeros(4), BOX, least_gain=1e-12 * size)
    assert np.isfinite(found.x).all()
    if size >= 1.0:
        assert_allclose(found.x, 1.0, atol=1e-5)


def test_a_gradient_that_is_not_finite_ends_the_search():
    def function(x):
        return -x.sum(), (-np.ones(2) if x.sum() < 1.0 else np.array([np.nan, -1.0]))

    found, _ = counted(function, np.zeros(2), BOX[:2])
    assert found.message == "the gradient is not finite"
    assert_allclose(found.x, 0.0)
