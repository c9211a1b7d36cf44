import math

import numpy as np
import pytest

from sktvbo.problems import make


def f(x, t):
    """SparQ section 4.1."""
    return math.exp(-0.05 * (x - 5 * math.sin(0.1 * t)) ** 2) + 0.5 * math.cos(0.2 * x) + 1.5


def test_values_are_the_formula():
    problem = make("moving-bump")
    rng = np.random.RandomState(0)
    X, t = rng.uniform(-50.0, 50.0, size=(300, 1)), rng.uniform(0.0, 500.0, size=300)
    expected = [f(x, s) for (x,), s in zip(X, t)]
    assert problem.values(X, t) == pytest.approx(expected, rel=1e-13)
    assert problem.values(X, 7.0) == pytest.approx([f(x, 7.0) for (x,) in X], rel=1e-13)


def test_options():
    problem = make("moving-bump", horizon=50, noise_variance=4.0, random_state=0)
    assert problem.horizon == 50.0
    noise = 2.0 * np.random.RandomState(0).standard_normal()
    assert problem.observe(3.0, 2.0) == pytest.approx(f(3.0, 2.0) + noise)
