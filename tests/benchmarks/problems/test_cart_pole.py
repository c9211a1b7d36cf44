import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import make
from problems._cart_pole import _dynamics
from scipy.integrate import solve_ivp
from scipy.linalg import solve_discrete_are

FRICTION = 2.2e-3
GAINS = np.array([-2.5, -5.0, -35.0, -3.0])
START = np.array([4.0, 0.0, 0.1, -0.01])


def pole(u, friction):
    """Return the nonlinear dynamics: a thin rod falls in the cart's accelerated frame."""
    m, length, g = 0.0804, 0.147, 9.81

    def slope(_, z):
        _, v, angle, rate = z
        a = u - v  # the drive: gain 1, time constant 1 s
        torque = m * length / 2 * (g * np.sin(angle) - a * np.cos(angle)) - friction * rate
        return [v, a, rate, torque / (m * length**2 / 3)]

    return slope


def by_steps(x, friction, noise, n=1000):
    """Return the expected cost, from the second moments of the states in sequence."""
    A, b = _dynamics(friction)
    F = A - np.outer(b, x)
    W = 10.0 * np.eye(4) + np.outer(x, x)
    M, cost = np.outer(START, START), 0.0
    for _ in range(n):
        cost += np.trace(W @ M)
        M = F @ M @ F.T + noise**2 * np.eye(4)
    return cost / n


# --- the system -----------------------------------------------------------------------------------


@pytest.mark.parametrize("friction", [FRICTION, 2.5 * FRICTION])
def test_dynamics_are_those_of_a_pole_at_small_angles(friction):
    A, b = _dynamics(friction)
    rng = np.random.RandomState(0)
    for _ in range(5):
        z, u = 1e-4 * rng.standard_normal(4), 1e-4 * rng.standard_normal()
        exact = solve_ivp(pole(u, friction), (0.0, 0.02), z, rtol=1e-10, atol=1e-15).y[:, -1]
        assert_allclose(A @ z + b * u, exact, atol=1e-10)


def test_infinite_horizon_optimal_gains_are_in_the_domain():
    for friction in (FRICTION, 2.5 * FRICTION):
        A, b = _dynamics(friction)
        P = solve_discrete_are(A, b[:, np.newaxis], 10.0 * np.eye(4), np.eye(1))
        assert make("cart-pole").domain.contains(b @ P @ A / (1.0 + b @ P @ b))


# --- values and roll-outs -------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 6e-4, 0.05])
def test_values_are_the_expected_cost(noise):
    problem = make("cart-pole", process_noise=noise)
    for x in problem.domain.sample(4, 0):
        assert problem.value(x, 5.0) == pytest.approx(-by_steps(x, FRICTION, noise), rel=1e-12)
        after = -by_steps(x, 2.5 * FRICTION, noise)
        assert problem.value(x, 200.0) == pytest.approx(after, rel=1e-12)
        if noise == 0.0:  # a roll-out gives the value
            for t in (5.0, 200.0):
                assert problem.observe(x, t) == pytest.approx(problem.value(x, t), rel=1e-12)


@pytest.mark.parametrize(
    ("noise", "t"), [pytest.param(6e-4, 0.0, marks=pytest.mark.slow), (0.03, 150.0)]
)
def test_roll_outs_have_the_expected_mean_and_variance(noise, t):
    n = 400
    problem = make("cart-pole", process_noise=noise, random_state=0)
    results = np.array([problem.observe(GAINS, t) for _ in range(n)])
    variance = problem._rollout_variance(GAINS, t)
    # Five standard errors; a sum of squares is a little more skewed than a Gaussian.
    assert abs(results.mean() - problem.value(GAINS, t)) < 5.0 * np.sqrt(variance / n)
    assert results.var() == pytest.approx(variance, rel=5.0 * np.sqrt(2.0 / n))


def test_friction_changes_at_its_step():
    problem = make("cart-pole", change_time=40.0, horizon=80.0)
    before, after = problem.value(GAINS, 0.0), problem.value(GAINS, 80.0)
    assert after < before - 0.1
    assert problem.value(GAINS, 39.99) == before
    assert problem.value(GAINS, 40.0) == problem.value(GAINS, 40.0 - 1e-10) == after
    assert_array_equal(problem.values([GAINS] * 3, [0.0, 41.0, 3.0]), [before, after, before])


# --- the optimum ----------------------------------------------------------------------------------


def test_optimum_is_searched_once_before_and_once_after(monkeypatch):
    problem = make("cart-pole")
    searched, search = [], problem._search
    monkeypatch.setattr(
        problem, "_search", lambda regime: searched.append(regime) or search(regime)
    )
    before, after = problem.optimum(0.0)[0], problem.optimum(100.0)[0]
    assert np.abs(before - after).max() > 1.0
    assert_array_equal(problem.optimum(99.0)[0], before)
    assert_array_equal(problem.optimum(300.0)[0], after)
    assert searched == [0, 1]
