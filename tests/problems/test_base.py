import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo.exceptions import DomainError, InvalidObservationError
from sktvbo.problems import Problem, make


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
        x_star, f_star = problem.optimum(t)
        assert_allclose(x_star, t / 10.0, atol=1e-6)
        assert f_star == problem.value(x_star, t)
    assert not problem.needs_data


def test_a_subclass_must_define_values():
    with pytest.raises(NotImplementedError, match=r"must define _values"):
        Problem("nothing", [(0, 1)], horizon=1.0).value(0.5, 0.5)


def test_callers_arrays_are_not_changed():
    problem = make("ackley")
    X, t = np.full((3, 3), 1.0 + 1e-12), np.full(3, 600.0 + 1e-9)
    X_before, t_before = X.copy(), t.copy()
    problem.values(X, t)
    problem.observe(X[0], 1.0)
    assert_array_equal(X, X_before)
    assert_array_equal(t, t_before)


@pytest.mark.parametrize("call", ["value", "observe", "optimum"])
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
def test_times_outside_the_horizon_are_rejected(call, t, message):
    problem = make("six-hump-camel")
    args = (t,) if call == "optimum" else (0.5, t)
    with pytest.raises(InvalidObservationError, match=message):
        getattr(problem, call)(*args)


def test_rounding_at_the_horizon_is_forgiven():
    problem = make("six-hump-camel")
    assert problem.value(0.5, 600.0 + 1e-8) == problem.value(0.5, 600.0)


def test_one_time_per_row_must_have_as_many():
    with pytest.raises(InvalidObservationError, match=r"of shape \(2,\)\. Got shape \(3,\)"):
        make("six-hump-camel").values([[0.1], [0.2]], [1.0, 2.0, 3.0])


def test_points_outside_are_rejected():
    with pytest.raises(DomainError, match=r"x\[0\] must be in \[0.0, 1.0\]. Got 1.5"):
        make("six-hump-camel").value(1.5, 0.0)


def test_optimum_returns_copies():
    problem = make("ackley")
    problem.optimum(1.0)[0][:] = 7.0
    assert_array_equal(problem.optimum(1.0)[0], 0.5)


# --- noise ----------------------------------------------------------------------------------------


def test_noise_has_the_stated_variance():
    problem = make("eggholder", noise=0.05, random_state=0)
    assert problem.value(0.3, 100.0) == problem.value(0.3, 100.0)
    n = 4000
    noise = np.array([problem.observe(0.3, 100.0) for _ in range(n)]) - problem.value(0.3, 100.0)
    # Five standard errors of the mean and of the variance.
    assert abs(noise.mean()) < 5 * np.sqrt(problem.noise_variance / n)
    assert noise.var() == pytest.approx(problem.noise_variance, rel=5 * np.sqrt(2 / n))


def test_no_noise():
    problem = make("ackley", noise=0.0)
    assert problem.observe([0.1, 0.2, 0.3], 5.0) == problem.value([0.1, 0.2, 0.3], 5.0)


def test_noise_variance_does_not_depend_on_the_horizon_or_the_seed():
    a, b = make("ackley", random_state=0), make("ackley", horizon=7.0, random_state=1)
    assert a.noise_variance == pytest.approx(b.noise_variance)


def test_objective_variance_over_named_parameters():
    class Named(Problem):
        def _values(self, X, t):
            return np.log10(X[:, 0]) + X[:, 1]

    problem = Named("named", {"a": ("log-real", 1e-3, 1.0), "b": ("integer", 0, 3)}, horizon=1.0)
    problem._set_noise(1.0)
    assert problem.noise_variance == pytest.approx(3.0**2 / 12 + 15 / 12, rel=1e-3)
