import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import qmc

from sktvbo.domain import Box
from sktvbo.problems import make
from sktvbo.problems._synthetic import Synthetic, ackley, eggholder, six_hump_camel

ONE_DIMENSIONAL = ["eggholder", "six-hump-camel", "six-hump-camel-switched"]


def times(n):
    """Some times, the ends among them."""
    return np.r_[0.0, 600.0, np.random.RandomState(0).uniform(0.0, 600.0, size=n)]


def spread(problem):
    rng = np.random.RandomState(1)
    f = problem.values(problem.domain.sample(2000, rng), rng.uniform(0.0, 600.0, size=2000))
    return np.ptp(f)


# -- the functions against published values -----------------------------------------------------


def test_ackley_is_zero_at_the_origin():
    assert_allclose(ackley(np.zeros((1, 4))), 0.0, atol=1e-12)
    assert_allclose(ackley(np.full((1, 4), 1.0)), 20.0 - 20.0 * np.exp(-0.2))


def test_eggholders_global_minimum():
    assert_allclose(eggholder(np.array([[512.0, 404.2319]])), -959.6407, atol=1e-4)


def test_six_hump_camels_global_minima():
    Z = np.array([[0.0898, -0.7126], [-0.0898, 0.7126]])
    assert_allclose(six_hump_camel(Z), -1.0316, atol=1e-4)


# -- the problems -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ackley", *ONE_DIMENSIONAL])
def test_spatial_domain_is_the_unit_box(name):
    problem = make(name)
    assert problem.domain == Box([(0.0, 1.0)] * (3 if name == "ackley" else 1))
    assert problem.horizon == 600.0
    assert not problem.needs_data


def test_coordinates_are_scaled_and_the_sign_is_turned():
    problem = make("ackley", horizon=100.0)
    x, t = np.array([0.1, 0.6, 0.9]), 25.0
    z = -32.0 + 64.0 * np.array([[0.1, 0.6, 0.9, 0.25]])
    assert problem.value(x, t) == pytest.approx(-ackley(z)[0])


@pytest.mark.parametrize("name", ONE_DIMENSIONAL)
def test_optimum_is_the_best_of_a_dense_search(name):
    problem = make(name)
    X = np.linspace(0.0, 1.0, 50_001)[:, np.newaxis]
    scale = spread(problem)
    for t in times(40):
        x_star, f_star = problem.optimum(t)
        f = problem.values(X, t)
        assert problem.value(x_star, t) == f_star
        assert f_star >= f.max() - 1e-12 * scale
        # And it is no better than what is near it: the dense search is nearly as good.
        near = f[np.abs(X[:, 0] - x_star[0]) < 1e-4]
        assert f_star - near.max() < 1e-3 * scale


def test_ackleys_optimum_is_the_best_of_a_search():
    problem = make("ackley")
    X = qmc.Sobol(3, scramble=False).random_base2(14)
    for t in times(10):
        x_star, f_star = problem.optimum(t)
        assert_allclose(x_star, 0.5)
        nearby = np.clip(x_star + 1e-3 * (X - 0.5), 0.0, 1.0)
        assert f_star >= max(problem.values(X, t).max(), problem.values(nearby, t).max())


def test_switched_camel_changes_places_at_minus_a_half():
    plain, switched = make("six-hump-camel"), make("six-hump-camel-switched")
    early, late = 0.3 * 600.0, 0.7 * 600.0
    assert switched.value(0.2, early) == plain.value(0.2, early)
    assert switched.value(0.2, late) == pytest.approx(plain.value(0.7, 0.2 * 600.0))
    # The switch itself: t = -1/2 belongs to the second part.
    at = 600.0 * 1.5 / 4.0
    assert switched.value(0.2, at) == pytest.approx(plain.value(0.375, 0.2 * 600.0))
    assert abs(switched.value(0.2, at) - switched.value(0.2, at - 1e-6)) > 1e-3


def test_a_function_without_argmin_is_searched_numerically():
    known = make("six-hump-camel")
    searched = Synthetic("camel", six_hump_camel, (-2.0, 2.0), 2)
    for t in times(5):
        assert searched.optimum(t)[1] == pytest.approx(known.optimum(t)[1], abs=1e-7)


def test_bounds_may_differ_by_coordinate():
    problem = Synthetic("sum", lambda Z: Z.sum(axis=1), [(0.0, 1.0), (10.0, 20.0)], 2, horizon=5.0)
    assert problem.value(0.5, 2.5) == pytest.approx(-15.5)
