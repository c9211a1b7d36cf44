import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import make

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


# --- the throughput -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"n_nodes": 6, "n_users": 27, "bandwidth": 20.0},
        {"association": "fixed"},
        {"n_nodes": 1, "n_users": 1},  # without interference
    ],
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
    problem, n = wlan(), 2**20 // (4 * 18) + 10
    X, t = problem.domain.sample(n, 0), np.linspace(0.0, 600.0, n)
    f = problem.values(X, t)
    for i in (0, n // 2 - 1, n // 2, n // 2 + 1, n - 1):
        assert f[i] == pytest.approx(problem.value(X[i], t[i]), rel=1e-13)


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


def test_longer_horizon_and_more_users_leave_the_walks_as_they_were():
    t = np.linspace(0.0, 100.0, 11)
    expected = users(wlan(horizon=100.0), t)
    assert_array_equal(users(wlan(horizon=600.0), t), expected)
    assert_array_equal(users(wlan(n_users=30), t)[:, :18], expected)
