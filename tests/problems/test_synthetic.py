"""Published functions, and the bump that moves."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktvbo.domain import Box
from sktvbo.problems import make

# Class of problems whose coordinates are scaled.
SYNTHETIC = type(make("ackley"))
SEPARABLE = ["rastrigin", "schwefel", "styblinski-tang"]
# Dimensions with time, and range of the coordinates: W-DBO appendix G.2, BOLT appendix F.
SETTINGS = {
    "rastrigin": (5, -4.0, 4.0),
    "schwefel": (4, -500.0, 500.0),
    "styblinski-tang": (4, -5.0, 5.0),
    "rosenbrock": (3, -1.0, 1.5),
    "shekel": (4, 0.0, 10.0),
    "hartmann-3": (3, 0.0, 1.0),
    "hartmann-6": (6, 0.0, 1.0),
    "powell": (4, -4.0, 5.0),
    "griewank": (6, -600.0, 600.0),
    "ackley": (4, -32.0, 32.0),
}


def times(n):
    """Return random times and both ends."""
    return np.r_[0.0, 600.0, np.random.RandomState(0).uniform(0.0, 600.0, size=n)]


# --- published values -----------------------------------------------------------------------------


def table(text):
    return [[float(v) for v in row.split()] for row in text.strip().splitlines()]


HARTMANN_3_A = table("3 10 30\n 0.1 10 35\n 3 10 30\n 0.1 10 35")
HARTMANN_3_P = table("3689 1170 2673\n 4699 4387 7470\n 1091 8732 5547\n 381 5743 8828")
HARTMANN_6_A = table("""
    10    3    17    3.50  1.7  8
    0.05  10   17    0.1   8    14
    3     3.5  1.7   10    17   8
    17    8    0.05  10    0.1  14
""")
HARTMANN_6_P = table("""
    1312  1696  5569  124   8283  5886
    2329  4135  8307  3736  1004  9991
    2348  1451  3522  2883  3047  6650
    4047  8828  8732  5743  1091  381
""")
SHEKEL_C = table("""
    4  1  8  6  3  2  5  8  6  7
    4  1  8  6  7  9  3  1  2  3.6
    4  1  8  6  3  2  5  8  6  7
    4  1  8  6  7  9  3  1  2  3.6
""")
SHEKEL_BETA = [0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5]


def hartmann_by_sums(z, A, P):
    return -sum(
        alpha * math.exp(-sum(a * (x - p / 1e4) ** 2 for a, x, p in zip(a_row, z, p_row)))
        for alpha, a_row, p_row in zip((1.0, 1.2, 3.0, 3.2), A, P)
    )


# Term by term, as in the papers (but for Styblinski-Tang's 1/2).
BY_SUMS = {
    "rastrigin": lambda z: 10 * 5 + sum(x**2 - 10 * math.cos(2 * math.pi * x) for x in z),
    "schwefel": lambda z: 418.9829 * 4 - sum(x * math.sin(abs(x) ** 0.5) for x in z),
    "styblinski-tang": lambda z: sum(x**4 - 16 * x**2 + 5 * x for x in z) / 2,
    "rosenbrock": lambda z: sum(
        100 * (z[i + 1] - z[i] ** 2) ** 2 + (z[i] - 1) ** 2 for i in (0, 1)
    ),
    "shekel": lambda z: (
        -sum(
            1 / (sum((z[j] - SHEKEL_C[j][i]) ** 2 for j in range(4)) + SHEKEL_BETA[i])
            for i in range(10)
        )
    ),
    "hartmann-3": lambda z: hartmann_by_sums(z, HARTMANN_3_A, HARTMANN_3_P),
    "hartmann-6": lambda z: hartmann_by_sums(z, HARTMANN_6_A, HARTMANN_6_P),
    "powell": lambda z: (
        (z[0] + 10 * z[1]) ** 2
        + 5 * (z[2] - z[3]) ** 2
        + (z[1] - 2 * z[2]) ** 4
        + 10 * (z[0] - z[3]) ** 4
    ),
    "ackley": lambda z: (
        20
        + math.e
        - 20 * math.exp(-0.2 * (sum(x**2 for x in z) / 4) ** 0.5)
        - math.exp(sum(math.cos(2 * math.pi * x) for x in z) / 4)
    ),
    "griewank": lambda z: (
        sum(x**2 / 4000 for x in z)
        - math.prod(math.cos(x / (i + 1) ** 0.5) for i, x in enumerate(z))
        + 1
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_values_are_minus_the_formula_in_its_own_units(name):
    n_dims, low, high = SETTINGS[name]
    problem = make(name, horizon=100.0)
    assert problem.domain == Box([(0.0, 1.0)] * (n_dims - 1))
    U = np.random.RandomState(0).uniform(size=(50, n_dims))
    expected = [-BY_SUMS[name]((low + (high - low) * u).tolist()) for u in U]
    assert_allclose(problem.values(U[:, :-1], 100.0 * U[:, -1]), expected, rtol=1e-11)


# --- the problems ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SEPARABLE)
def test_optimum_of_a_sum_is_the_best_of_each_coordinate(name):
    problem = make(name)
    axis = np.linspace(0.0, 1.0, 40_001)
    scale = np.ptp(problem.values(problem.domain.sample(2000, 0), 300.0))
    for t in times(3):
        x_star, f_star = problem.optimum(t)
        for j in range(problem.domain.n_dims):
            X = np.tile(x_star, (len(axis), 1))
            X[:, j] = axis
            f = problem.values(X, t)
            assert f.max() <= f_star + 1e-12 * scale
            assert abs(axis[np.argmax(f)] - x_star[j]) < 1e-4


def test_griewanks_optimum_is_the_best_of_a_dense_search():
    problem = make("griewank")
    # Grids of those multiples of pi sqrt(i) at which the cosines have their signs, and of halves.
    grids = [np.array([0.0, 0.5, 1.0, -1.0, 2.0]) * np.pi * np.sqrt(i) for i in range(1, 6)]
    lattice = np.stack(np.meshgrid(*grids), axis=-1).reshape(-1, 5)
    lines = np.zeros((5, 4001, 5))
    for i in range(5):
        lines[i, :, i] = np.linspace(-4.0, 4.0, 4001) * np.sqrt(i + 1)
    rng = np.random.RandomState(0)
    near = rng.uniform(-4.0, 4.0, size=(20_000, 5)) * rng.uniform(size=(20_000, 1))
    U = (np.vstack([lattice, *lines, near]) + 600.0) / 1200.0
    # The cosine of the time coordinate is -1, about 0, nearly -1/2000, and random.
    z = np.sqrt(6.0) * np.array([np.pi, np.pi / 2, np.pi / 2 + 4e-4, np.pi / 2 + 6e-4, -np.pi])
    for t in np.r_[300.0 + z / 2.0, times(12)]:
        _, f_star = problem.optimum(t)
        found = problem.values(U, t).max()
        assert f_star >= found - 1e-12
        assert found >= f_star - 1e-6


def test_switched_camel_swaps_at_minus_a_half():
    plain, switched = make("six-hump-camel"), make("six-hump-camel-switched")
    early, late = 0.3 * 600.0, 0.7 * 600.0
    assert switched.value(0.2, early) == plain.value(0.2, early)
    assert switched.value(0.2, late) == pytest.approx(plain.value(0.7, 0.2 * 600.0))
    # The switch itself: t = -1/2 belongs to the second part.
    at = 600.0 * 1.5 / 4.0
    assert switched.value(0.2, at) == pytest.approx(plain.value(0.375, 0.2 * 600.0))
    assert abs(switched.value(0.2, at) - switched.value(0.2, at - 1e-6)) > 1e-3


def six_hump_camel(Z):
    a, b = Z.T
    return (4.0 - 2.1 * a**2 + a**4 / 3.0) * a**2 + a * b + 4.0 * (b**2 - 1.0) * b**2


def test_a_function_without_argmin_is_searched_numerically():
    known = make("six-hump-camel")
    searched = SYNTHETIC("camel", six_hump_camel, (-2.0, 2.0), 2)
    for t in times(5):
        assert searched.optimum(t)[1] == pytest.approx(known.optimum(t)[1], abs=1e-7)


def test_bounds_may_differ_by_coordinate():
    problem = SYNTHETIC("sum", lambda Z: Z.sum(axis=1), [(0.0, 1.0), (10.0, 20.0)], 2, horizon=5.0)
    assert problem.value(0.5, 2.5) == pytest.approx(-15.5)


# --- moving_bump ----------------------------------------------------------------------------------


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
