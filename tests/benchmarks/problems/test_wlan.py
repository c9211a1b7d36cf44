import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import make
from scipy.optimize import check_grad, minimize
from scipy.stats import qmc

LOW, HIGH = 10**0.1, 10**2.5


def wlan(n_nodes=4, n_users=18, random_state=0, **options):
    return make(
        "wlan", n_nodes=n_nodes, n_users=n_users, random_state=random_state, noise=0, **options
    )


def users(problem, t):
    return problem._users(np.atleast_1d(t))


def by_links(problem, x, t):
    """Return the throughput in Mbit/s, link by link, in watts and hertz."""
    bandwidth = problem._bandwidth * 1e6
    noise = 10 ** ((-174 + 7 + 10 * math.log10(bandwidth)) / 10) / 1000
    total = 0.0
    for first, place in zip(users(problem, 0.0)[0], users(problem, t)[0]):
        home = first if problem._association == "fixed" else place
        own = min(range(len(problem._nodes)), key=lambda i: math.dist(home, problem._nodes[i]))
        distances = [math.dist(place, node) for node in problem._nodes]
        received = [
            p / 1000 / 10 ** ((40.05 + 30 * math.log10(max(r, 1.0))) / 10)
            for p, r in zip(x, distances)
        ]
        signal = received[own]
        total += bandwidth * math.log2(1 + signal / (noise + sum(received) - signal)) / 1e6
    return total


def multistart(problem, t):
    """Return the best of a dense set over the logarithms of the powers, refined around its best."""
    d = problem.domain.n_dims

    def values(U):
        return problem.values(np.clip(10 ** (0.1 + 2.4 * U), LOW, HIGH), t)

    U = np.vstack([qmc.Sobol(d, scramble=False).random_base2(13), corners(d)])
    steps = np.vstack([2.0 * qmc.Sobol(d, scramble=False).random_base2(8) - 1.0, np.eye(d)])
    best = -np.inf
    for u in U[np.argsort(-values(U))[:5]]:
        for width in 0.3 * 0.6 ** np.arange(22):
            around = np.clip(u + width * np.vstack([steps, -steps]), 0.0, 1.0)
            around = np.vstack([u, around])
            f = values(around)
            u = around[np.argmax(f)]
        best = max(best, f.max())
    return best


def corners(d):
    return np.stack(np.meshgrid(*[[0.0, 1.0]] * d), axis=-1).reshape(-1, d)


# --- the throughput -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"n_nodes": 6, "n_users": 27, "bandwidth": 20.0}, {"association": "fixed"}]
)
def test_values_are_the_capacities_link_by_link(options):
    problem = wlan(**options)
    X = problem.domain.sample(6, 0)
    X[0], X[1] = LOW, HIGH
    t = np.linspace(0.0, 600.0, 6)
    expected = [by_links(problem, x, s) for x, s in zip(X, t)]
    assert_allclose([problem.value(x, s) for x, s in zip(X, t)], expected, rtol=1e-10)
    assert_allclose(problem.values(X, t), expected, rtol=1e-10)


def test_many_rows_are_evaluated_in_parts():
    problem = wlan()
    n = 2**20 // (4 * 18) + 10
    X, t = problem.domain.sample(n, 0), np.linspace(0.0, 600.0, n)
    f = problem.values(X, t)
    for i in (0, n // 2 - 1, n // 2, n // 2 + 1, n - 1):
        assert f[i] == pytest.approx(problem.value(X[i], t[i]), rel=1e-13)


def test_a_lone_node_has_no_interference():
    problem = wlan(n_nodes=1, n_users=1, bandwidth=20.0)
    assert_allclose(problem._nodes, [[12.5, 12.5]])
    x_star, f_star = problem.optimum(100.0)
    assert x_star == pytest.approx(HIGH)
    distance = math.dist(users(problem, 100.0)[0, 0], (12.5, 12.5))
    received = 25.0 - 40.05 - 30.0 * math.log10(max(distance, 1.0))  # dBm
    noise = -174.0 + 7.0 + 10.0 * math.log10(20e6)
    assert f_star == pytest.approx(20.0 * math.log2(1.0 + 10.0 ** ((received - noise) / 10.0)))


@pytest.mark.parametrize(("association", "jumps"), [("nearest", True), ("fixed", False)])
def test_only_a_user_that_changes_node_makes_f_jump(association, jumps):
    problem = wlan(association=association)
    step = 600.0 / 2**17
    t = np.arange(0.0, 100.0, step)
    f = problem.values(np.broadcast_to([LOW, HIGH, LOW, HIGH], (len(t), 4)), t)
    assert (np.abs(np.diff(f)).max() > 0.1) == jumps
    at_start = wlan().value([100.0] * 4, 0.0)
    assert problem.value([100.0] * 4, 0.0) == at_start
    assert (problem.value([100.0] * 4, 300.0) == wlan().value([100.0] * 4, 300.0)) == jumps


# --- the users and the nodes ----------------------------------------------------------------------


def test_users_walk_in_the_arena_at_walking_speed():
    problem = wlan(n_nodes=6, n_users=40)
    P = users(problem, np.linspace(0.0, 600.0, 6001))
    assert P.shape == (6001, 40, 2)
    assert P.min() >= 0.0
    assert np.all(P.max(axis=(0, 1)) <= [75.0, 50.0])
    assert np.all(P.max(axis=(0, 1)) > [70.0, 47.0])
    speeds = np.linalg.norm(np.diff(P, axis=0), axis=2) / 0.1
    assert speeds.max() < 1.5 + 1e-6
    # The chord of a step is shorter than the path only at a corner.
    assert np.mean(speeds < 0.5 - 1e-6) < 0.01
    starts = P[0] / [75.0, 50.0]
    assert abs(starts.mean() - 0.5) < 5.0 / np.sqrt(12 * starts.size)


def test_walks_are_straight_from_waypoint_to_waypoint():
    problem = wlan()
    times, places = problem._walks[3]
    assert times[0] == 0.0
    assert times[-2] < 600.0 <= times[-1]
    middle = 0.75 * times[:-2] + 0.25 * times[1:-1]
    assert_allclose(users(problem, middle)[:, 3], 0.75 * places[:-2] + 0.25 * places[1:-1])


def test_longer_horizon_and_more_users_leave_the_walks_as_they_were():
    t = np.linspace(0.0, 100.0, 11)
    expected = users(wlan(horizon=100.0), t)
    assert_array_equal(users(wlan(horizon=600.0), t), expected)
    assert_array_equal(users(wlan(n_users=30), t)[:, :18], expected)


# --- the optimum ----------------------------------------------------------------------------------


def test_slopes_are_those_of_finite_differences():
    problem = wlan(n_nodes=3)
    links = problem._links(np.array([50.0]))
    for u in np.random.RandomState(0).uniform(0.3, 5.7, size=(5, 3)):
        value, slopes = problem._minus_capacity(u, links)
        assert value == pytest.approx(-problem.value(np.exp(u), 50.0))
        error = check_grad(
            lambda v: problem._minus_capacity(v, links)[0],
            lambda v: problem._minus_capacity(v, links)[1],
            u,
        )
        assert error < 1e-5 * (1.0 + np.abs(slopes).max())


@pytest.mark.parametrize(
    ("n_nodes", "n_users", "association", "n"),
    [
        (2, 9, "nearest", 3),
        (3, 13, "fixed", 2),
        pytest.param(3, 13, "nearest", 4, marks=pytest.mark.slow),
        pytest.param(4, 18, "fixed", 3, marks=pytest.mark.slow),
    ],
)
def test_optimum_is_the_best_of_a_dense_search(n_nodes, n_users, association, n):
    problem = wlan(n_nodes, n_users, association=association)
    scale = np.ptp(problem.values(problem.domain.sample(2000, 0), 300.0))
    for t in np.linspace(0.0, 600.0, n):
        x_star, f_star = problem.optimum(t)
        found = multistart(problem, t)
        assert f_star == problem.value(x_star, t)
        assert f_star >= found - 1e-9 * scale
        assert found >= f_star - 1e-6 * scale


def climb(problem, t, starts):
    """Return the best value that L-BFGS-B reaches from starts in the unit box of log powers."""
    bounds = [(math.log(LOW), math.log(HIGH))] * problem.domain.n_dims
    links = problem._links(np.array([t]))
    return -min(
        minimize(problem._minus_capacity, u, (links,), "L-BFGS-B", jac=True, bounds=bounds).fun
        for u in math.log(10.0) * (0.1 + 2.4 * starts)
    )


@pytest.mark.parametrize(
    "t", [20.0, *(pytest.param(t, marks=pytest.mark.slow) for t in (250.0, 434.0, 524.0, 542.0))]
)
def test_optimum_is_found_where_the_best_samples_mislead(t):
    problem = wlan()
    U = qmc.Sobol(4, scramble=False).random_base2(10)
    U = U[np.argsort(-problem.values(np.clip(10 ** (0.1 + 2.4 * U), LOW, HIGH), t))]
    f_star = problem.optimum(t)[1]
    assert climb(problem, t, U[:4]) < f_star * (1.0 - 1e-4)
    best = climb(problem, t, np.vstack([U[::8], corners(4)]))
    assert f_star == pytest.approx(best, rel=1e-9)
