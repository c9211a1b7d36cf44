import math

import numpy as np
import pytest

from sktvbo.problems import make


def f(x, t):
    """SparQ section 4.1."""
    return math.exp(-0.05 * (x - 5 * math.sin(0.1 * t)) ** 2) + 0.5 * math.cos(0.2 * x) + 1.5


def times():
    # Includes the turning points of the bump and its passages through 0, near and exactly.
    special = [0.0, 5 * np.pi, 10 * np.pi, 10 * np.pi + 1e-7, 15 * np.pi, 500.0]
    return np.r_[special, np.random.RandomState(0).uniform(0.0, 500.0, size=60)]


def test_values_are_the_formula():
    problem = make("moving-bump")
    rng = np.random.RandomState(0)
    X, t = rng.uniform(-50.0, 50.0, size=(300, 1)), rng.uniform(0.0, 500.0, size=300)
    expected = [f(x, s) for (x,), s in zip(X, t)]
    assert problem.values(X, t) == pytest.approx(expected, rel=1e-13)
    assert problem.values(X, 7.0) == pytest.approx([f(x, 7.0) for (x,) in X], rel=1e-13)


def test_optimum_is_the_best_of_a_dense_search():
    problem = make("moving-bump")
    X = np.linspace(-50.0, 50.0, 200_001)[:, np.newaxis]
    for t in times():
        x_star, f_star = problem.optimum(t)
        values = problem.values(X, t)
        assert f_star >= values.max() - 1e-14
        # A grid of width 5e-4 misses a maximum of curvature below 0.2 by less than 1e-8.
        assert f_star - values.max() < 1e-8
        assert abs(x_star[0] - X[np.argmax(values), 0]) < 1e-3
        assert f_star == problem.value(x_star, t)


def test_options():
    problem = make("moving-bump", horizon=50, noise_variance=4.0, random_state=0)
    assert problem.horizon == 50.0
    noise = 2.0 * np.random.RandomState(0).standard_normal()
    assert problem.observe(3.0, 2.0) == pytest.approx(f(3.0, 2.0) + noise)
