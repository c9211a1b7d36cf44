"""Contract of all problems, those of benchmarks/papers included."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from datasets import MissingDataError
from numpy.testing import assert_allclose, assert_array_equal
from problems import make

from sktvbo.domain import FiniteSet
from sktvbo.problems import available

GRID = {"n_grid": 11, "n_dims": 1, "horizon": 8}
ARMS = ["temperature-arms", "traffic", "ozone", "wind", "stocks"]
OPTIONS = {
    "gp-abrupt": GRID | {"change_times": (2.0, 5.0)},
    "gp-slow": GRID,
    "markov-gp": GRID,
    **{name: {"noise": 0.1} for name in ARMS},
}
every_problem = pytest.mark.parametrize("name", available())
# Problems whose function depends on the random state.
random_functions = pytest.mark.parametrize(
    "name", ["gp-abrupt", "gp-slow", "markov-gp", "moving-peaks", "wlan"]
)


def new(name, **options):
    try:
        return make(name, **{"random_state": 0} | OPTIONS.get(name, {}) | options)
    except MissingDataError as exc:
        pytest.skip(str(exc))


def query(problem):
    return problem.domain.sample(1, 0)[0], 0.6 * problem.horizon


@pytest.mark.parametrize(
    ("name", "lower", "upper", "size", "horizon", "noise_variance"),
    [
        ("ackley", [0.0] * 3, [1.0] * 3, np.inf, 600.0, None),
        ("cart-pole", [-3, -6, -50, -4], [-2, -4, -25, -2], np.inf, 300.0, None),
        ("gp-abrupt", [0.0], [1.0], 101, 500.0, 0.1),
        ("gp-slow", [0.0], [1.0], 101, 500.0, 0.1),
        ("markov-gp", [0.0, 0.0], [1.0, 1.0], 50**2, 500.0, 0.01),
        ("moving-bump", [-50.0], [50.0], np.inf, 500.0, 0.01),
        ("moving-peaks", [0.0, 0.0], [100.0, 100.0], np.inf, 500.0, 1.0),
        ("wlan", [10**0.1] * 4, [10**2.5] * 4, np.inf, 600.0, None),
    ],
)
def test_defaults(name, lower, upper, size, horizon, noise_variance):
    problem = make(name, random_state=0)
    assert_array_equal([problem.domain.lower, problem.domain.upper], [lower, upper])
    assert (problem.domain.size, problem.horizon) == (size, horizon)
    assert noise_variance in (None, problem.noise_variance)


@every_problem
def test_values_take_one_time_or_one_per_row(name):
    problem = new(name)
    X, t = problem.domain.sample(6, 0), np.linspace(0.0, problem.horizon, 6)
    expected = [problem.value(x, s) for x, s in zip(X, t)]
    assert_allclose(problem.values(X, t), expected, rtol=1e-12, atol=1e-12)
    expected = [problem.value(x, t[2]) for x in X]
    assert_allclose(problem.values(X, t[2]), expected, rtol=1e-12, atol=1e-12)


@every_problem
def test_copies_continue_with_the_same_function_and_noise(name):
    problem = new(name)
    x, t = query(problem)
    problem.observe(x, t)
    copies = deepcopy(problem), pickle.loads(pickle.dumps(problem))
    expected, optimum = problem.observe(x, t), problem.optimum(t)[0]
    for copy in copies:
        assert copy.observe(x, t) == expected
        assert_array_equal(copy.optimum(t)[0], optimum)


@every_problem
def test_seed_restarts_the_noise_alone(name):
    problem = new(name, random_state=3)
    x, t = query(problem)
    value, first = problem.value(x, t), [problem.observe(x, t) for _ in range(2)]
    assert first[0] != first[1]
    assert new(name, random_state=3).observe(x, t) == first[0]
    assert [problem.seed(3).observe(x, t) for _ in range(2)] == [first[0]] * 2
    assert problem.seed(4).observe(x, t) != first[0]
    assert problem.value(x, t) == value


@every_problem
def test_the_optimum_has_its_value_and_is_the_best_of_finitely_many(name):
    problem = new(name)
    for t in problem.horizon * np.array([0.0, 0.21, 0.4, 0.77, 1.0]):
        x_star, f_star = problem.optimum(t)
        assert f_star == problem.value(x_star, t)
        finite = isinstance(problem.domain, FiniteSet)
        X = problem.domain.points if finite else problem.domain.sample(500, 0)
        f = problem.values(X, t)
        assert f_star == f.max() if finite else f_star >= f.max() - 1e-9 * np.ptp(f)


FRACTIONAL = ["ackley", "eggholder", "six-hump-camel-switched", "wlan", "temperature"]


@pytest.mark.parametrize("name", [*FRACTIONAL, "temperature-field", *ARMS])
def test_noise_is_a_fraction_of_the_variance(name):
    problem, still = new(name, noise=0.1), new(name, noise=0.0)
    rng = np.random.RandomState(1)
    X, t = problem.domain.sample(20_000, rng), rng.uniform(0.0, problem.horizon, size=20_000)
    assert problem.noise_variance == pytest.approx(0.1 * problem.values(X, t).var(), rel=0.05)
    x, t = query(problem)
    assert still.observe(x, t) == still.value(x, t) != problem.observe(x, t)


@random_functions
def test_the_random_state_determines_the_function(name):
    one, same, other = (new(name, random_state=seed) for seed in (0, 0, 1))
    x, t = query(one)
    assert one.value(x, t) == same.value(x, t) != other.value(x, t)


@random_functions
def test_the_order_of_calls_does_not_matter(name):
    forwards, backwards = new(name), new(name)
    x, _ = query(forwards)
    times = forwards.horizon * np.array([0.0, 0.1, 0.6, 1.0])
    values = [forwards.value(x, t) for t in times]
    backwards.optimum(backwards.horizon)
    assert [backwards.value(x, t) for t in times[::-1]] == values[::-1]


@pytest.mark.parametrize("name", ["powell", "wlan", "temperature", "temperature-field", *ARMS])
def test_noise_variance_may_replace_the_fraction(name):
    assert new(name, noise=1.0, noise_variance=2.5).noise_variance == 2.5
    assert new(name, noise=1.0).noise_variance != 2.5
    with pytest.raises(ValueError, match=r"noise_variance.*\[0, inf\).*-1"):
        new(name, noise_variance=-1.0)


@pytest.mark.parametrize(
    ("name", "options", "horizons", "rtol"),
    [
        ("moving-peaks", {"smooth": False}, (35.0, 500.0), 0.0),
        ("moving-peaks", {"smooth": True}, (35.0, 500.0), 0.0),
        ("markov-gp", {}, (3, 8), 1e-12),
    ],
)
def test_a_longer_horizon_continues_the_function(name, options, horizons, rtol):
    short, long = (new(name, **options | {"horizon": horizon}) for horizon in horizons)
    X = short.domain.sample(9, 0)
    for t in (0.0, 1.0, horizons[0] / 2, horizons[0]):
        assert_allclose(short.values(X, t), long.values(X, t), rtol=rtol)


POSITIVE, NONNEGATIVE = r"float in the range \(0, inf\)", r"float in the range \[0, inf\)"
WHOLE = r"int in the range \[1, inf\)"
CHANGES = [(0.0, 3.0), (3.0, 3.0), (5.0, 3.0), (np.nan,), (np.inf,), 4.0]
DAYS = [-1, 8, (3, 2), (0, 8), (0, 1, 2), 1.5, "monday", True, (0.0, 1.0)]
SENSORS = [0, 208, 2.0, "all", [], [1, 1], [-1], [207], [[1]], [0.5]]
HOURS = [6, (6,), (11, 6), (6, 6), (-1, 6), (6, 25), (6.0, 11.0), "day"]


@pytest.mark.parametrize(
    ("name", "option", "values", "message"),
    [
        ("ackley", "horizon", [0.0, np.inf, "long"], f"must be a {POSITIVE}"),
        ("ackley", "noise", [-0.1, np.nan], f"must be a {NONNEGATIVE}"),
        ("cart-pole", "friction_factor", [0.0, 5.1], r"range \(0, 5\]"),
        ("cart-pole", "change_time", [-1.0], POSITIVE),
        ("cart-pole", "process_noise", [-1.0], NONNEGATIVE),
        ("gp-abrupt", "n_grid", [1, 4.0], r"int in the range \[2, inf\)"),
        ("gp-abrupt", "kernel", ["rbf"], "must be one of scikit-learn's"),
        ("gp-abrupt", "change_times", CHANGES, "must be an increasing"),
        ("gp-slow", "n_dims", [0, True], WHOLE),
        ("markov-gp", "epsilon", [-0.1, 1.1, np.nan], r"must be .* \[0, 1\]"),
        ("moving-bump", "noise_variance", [-1.0], NONNEGATIVE),
        ("moving-peaks", "n_peaks", [0], WHOLE),
        ("moving-peaks", "n_dims", [2.0, True], WHOLE),
        ("moving-peaks", "shape", ["cube"], "must be 'cone' or 'gaussian'"),
        ("moving-peaks", "heights", [(70.0, 30.0), (0.0, 30.0)], "a pair 0 < low <= high"),
        ("moving-peaks", "widths", [3.0, (1.0, np.inf), ("a", "b")], "a pair 0 < low <= high"),
        ("moving-peaks", "shift_severity", [-1.0], NONNEGATIVE),
        ("moving-peaks", "height_severity", [np.nan], NONNEGATIVE),
        ("moving-peaks", "width_severity", ["big"], NONNEGATIVE),
        ("moving-peaks", "correlation", [1.5], r"\[0, 1\]"),
        ("moving-peaks", "change_every", [0.0], POSITIVE),
        ("temperature", "day", DAYS, r"\[0, 7\] or a pair \(first, last\)"),
        ("traffic", "sensors", SENSORS, r"\[1, 207\] or distinct"),
        ("traffic", "hours", HOURS, "must be two ints 0 <= first < last <= 24"),
        ("wlan", "n_nodes", [0, 9, 4.0], r"int in the range \[1, 8\]"),
        ("wlan", "n_users", [0, True], WHOLE),
        ("wlan", "bandwidth", [0.0], POSITIVE),
        ("wlan", "association", ["none"], "must be 'nearest' or 'fixed'"),
    ],
)
def test_invalid_options(name, option, values, message):
    new(name)  # without its data the test is skipped
    error = TypeError if option == "kernel" else ValueError
    for value in values:
        with pytest.raises(error, match=f"'{option}' parameter of .*{message}"):
            make(name, **{option: value})
