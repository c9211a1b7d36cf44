"""Base of all problems, problems of functions, and the registry."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo.domain import Box
from sktvbo.exceptions import DomainError, InvalidObservationError
from sktvbo.problems import Problem, from_callable, make


def squares(X, t):
    return -np.sum((X - t / 10.0) ** 2, axis=1)


class Moving(Problem):
    """The smallest subclass."""

    def _values(self, X, t):
        return squares(X, np.reshape(t, (-1, 1)))


# --- the base class -------------------------------------------------------------------------------


def test_a_subclass_gets_a_numeric_optimum():
    problem = Moving("moving", [(0, 1)] * 2, horizon=10.0)
    for t in (0.0, 3.3, 10.0):
        problem.optimum(t)[0][:] = 7.0  # a copy
        x_star, f_star = problem.optimum(t)
        assert_allclose(x_star, t / 10.0, atol=1e-6)
        assert f_star == problem.value(x_star, t)


def test_a_subclass_must_define_values():
    with pytest.raises(NotImplementedError, match=r"must define _values"):
        Problem("nothing", [(0, 1)], horizon=1.0).value(0.5, 0.5)


@pytest.mark.parametrize(
    ("t", "message"),
    [
        (-1.0, r"t must be in \[0, 600.0\].*Got -1.0"),
        (600.1, r"Got 600.1 instead\. Use a longer horizon"),
        (np.nan, "Got nan"),
        ([1.0, 2.0], r"scalar\. Got shape \(2,\)"),
        ("noon", "real numbers"),
    ],
)
def test_times_outside_the_horizon_are_rejected(t, message):
    problem = make("six-hump-camel")
    for call in (problem.optimum, partial(problem.value, 0.5), partial(problem.observe, 0.5)):
        with pytest.raises(InvalidObservationError, match=message):
            call(t)
    assert problem.value(0.5, 600.0 + 1e-8) == problem.value(0.5, 600.0)  # within rounding


# --- noise ----------------------------------------------------------------------------------------


def test_noise_has_the_stated_variance():
    problem = make("eggholder", noise=0.05, random_state=0)
    assert problem.value(0.3, 100.0) == problem.value(0.3, 100.0)
    n = 4000
    noise = np.array([problem.observe(0.3, 100.0) for _ in range(n)]) - problem.value(0.3, 100.0)
    # Five standard errors of the mean and of the variance.
    assert abs(noise.mean()) < 5 * np.sqrt(problem.noise_variance / n)
    assert noise.var() == pytest.approx(problem.noise_variance, rel=5 * np.sqrt(2 / n))


# --- functions of users ---------------------------------------------------------------------------


def bump(x, t):
    return float(np.exp(-np.sum((x - 0.5 - 0.3 * np.sin(t)) ** 2)))


def test_from_callable_over_a_box():
    problem = from_callable(bump, [(0, 1)] * 2, horizon=20.0, name="bump")
    assert problem.name == "bump"
    assert problem.domain == Box([(0, 1)] * 2)
    assert problem.value([0.2, 0.3], 1.0) == bump(np.array([0.2, 0.3]), 1.0)
    for t in (0.0, 2.0, 20.0):
        x_star, f_star = problem.optimum(t)
        assert_allclose(x_star, 0.5 + 0.3 * np.sin(t), atol=1e-4)
        assert f_star == pytest.approx(1.0, abs=1e-7)


def test_from_callable_with_its_own_optimum():
    problem = from_callable(
        bump, [(0, 1)], horizon=2.0, optimum=lambda t: (0.5 + 0.3 * np.sin(t), 1)
    )
    x_star, f_star = problem.optimum(1.0)
    assert_allclose(x_star, [0.5 + 0.3 * np.sin(1.0)])
    assert f_star == 1.0


def test_function_cannot_change_the_point():
    def vandal(x, t):
        x[:] = 99.0
        return 0.0

    problem = from_callable(vandal, [(0, 1)], horizon=2.0)
    x = np.array([0.5])
    problem.values(x[np.newaxis], 1.0)
    assert x[0] == 0.5


@pytest.mark.parametrize("bad", [np.nan, np.array([1.0, 2.0])])
def test_function_must_return_one_finite_number(bad):
    problem = from_callable(lambda x, t: bad, [(0, 1)], horizon=2.0, name="broken")
    with pytest.raises(InvalidObservationError, match=r"'broken' at x=.* one finite number\. Got"):
        problem.value(0.5, 1.0)


def test_from_callable_rejects_bad_arguments():
    with pytest.raises(TypeError, match=r"function must be callable\. Got 3 instead"):
        from_callable(3, [(0, 1)], horizon=2.0)
    with pytest.raises(TypeError, match=r"optimum must be callable or None\. Got \(0.5, 1.0\)"):
        from_callable(bump, [(0, 1)], horizon=2.0, optimum=(0.5, 1.0))
    with pytest.raises(ValueError, match=r"'noise_variance' .* float in the range \[0, inf\)"):
        from_callable(bump, [(0, 1)], horizon=2.0, noise_variance=-1.0)


# --- named parameters -----------------------------------------------------------------------------

NAMED = {
    "rate": ("log-real", 1e-4, 1.0),
    "depth": ("integer", 0, 30),
    "kind": ("categorical", ["linear", None]),
}


def named(x, t):
    """Best at rate 10^-(1 + t), depth 3 t and no kind."""
    assert [type(v) for v in (x["rate"], x["depth"])] == [float, int]
    return (
        -((np.log10(x["rate"]) + 1.0 + t) ** 2)
        - 0.1 * (x["depth"] - 3.0 * t) ** 2
        - 0.5 * (x["kind"] is not None)
    )


def test_function_of_named_parameters_gets_a_dict():
    problem = from_callable(named, NAMED, horizon=2.0)
    point = {"rate": 0.01, "depth": 2, "kind": "linear"}
    row = problem.domain.validate_point(point)
    assert problem.value(point, 1.0) == named(point, 1.0) == problem.value(row, 1.0)
    assert_array_equal(
        problem.values([point, point], [1.0, 2.0]), problem.values([row] * 2, [1, 2])
    )
    assert problem.observe(point, 1.0) == named(point, 1.0)
    with pytest.raises(DomainError, match=r"x\['depth'\] must be"):
        problem.value({**point, "depth": 31}, 1.0)


@pytest.mark.parametrize("t", [0.0, 1.0, 2.0])
def test_optimum_over_named_parameters_is_found(t):
    problem = from_callable(named, NAMED, horizon=2.0)
    x_star, f_star = problem.optimum(t)
    best = problem.domain.decode(x_star)
    assert (best["depth"], best["kind"]) == (3 * t, None)
    assert best["rate"] == pytest.approx(10.0 ** -(1.0 + t), rel=1e-3)
    assert f_star == pytest.approx(0.0, abs=1e-6)


def test_optimum_over_combinations_is_exact():
    parameters = {"a": ("integer", -9, 9), "b": ("categorical", [0.3, -0.2, 0.1])}
    table = np.random.RandomState(0).normal(size=(19, 3))
    values = parameters["b"][1]
    problem = from_callable(
        lambda x, t: table[x["a"] + 9, values.index(x["b"])], parameters, horizon=1.0
    )
    x_star, f_star = problem.optimum(0.5)
    assert f_star == table.max()
    assert_array_equal(x_star, np.argwhere(table == table.max())[0] - [9, 0])


# --- registry -------------------------------------------------------------------------------------


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"one of ackley, .*Got 'akley' .*Did you mean 'ackley'"):
        make("akley")


def test_unknown_option_lists_the_known_ones():
    with pytest.raises(TypeError, match=r"among .*noise_variance, random_state\. Got 'day'"):
        make("ackley", day=0)
