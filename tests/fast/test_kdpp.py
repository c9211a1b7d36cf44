"""Greedy choices and the swap chain compared with determinants."""

import numpy as np
import pytest
from fast.matrices import spd
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF
from twins import kdpp as twin

from sktvbo._fast import kdpp as fast

TOL = 1e-13


def greedy(K, k, tol=TOL):
    """Return the compiled choices (k,), the factor and the residuals."""
    diagonal = np.diagonal(K).copy()
    L, residual, chosen = np.full((k, len(K)), np.nan), diagonal.copy(), []
    for m in range(k):
        chosen.append(fast.best(residual, diagonal, tol))
        fast.eliminate(K[chosen[-1]], L, residual, m, chosen[-1])
    return np.array(chosen), L, residual


def proposals(rng, n, N, k):
    """Return positions that leave and enter, and uniform numbers."""
    leave, enter = rng.randint(k, size=n), rng.randint(N - k, size=n)
    return leave.astype(np.intp), enter.astype(np.intp), rng.uniform(size=n)


def start(N, k):
    return np.arange(k), np.arange(k, N)


def greedy_start(K, k):
    Z = greedy(K, k)[0]
    return Z, np.setdiff1d(np.arange(len(K)), Z)


def chain(K, Z, rest, leave, enter, u, tol=TOL, period=1000):
    """Run the chain on copies; return its states, last rest, log-determinant and accepted."""
    Z, rest, trace = Z.copy(), rest.copy(), np.full((len(u), len(Z)), -1)
    log_det, accepted = fast.swap_chain(K, Z, rest, leave, enter, u, tol, period, trace)
    if len(u):
        assert_array_equal(trace[-1], Z)
    return trace, rest, log_det, accepted


# --- symmetry -------------------------------------------------------------------------------------


@pytest.mark.parametrize("N", [0, 1, 2, 16, 17, 35])
def test_every_entry_counts_for_symmetry(rng, N):
    K = spd(rng, N)
    assert fast.is_symmetric(K) is twin.is_symmetric(K) is True
    K[:, : N // 2] = -0.0  # equal to 0
    K[: N // 2] = 0.0
    assert fast.is_symmetric(K)
    for i in range(N):
        for j in range(N):
            for value in (np.nan, np.inf, -np.inf):
                K = np.ones((N, N))
                K[i, j] = K[j, i] = value
                assert not fast.is_symmetric(K)
            if i != j:
                K = np.zeros((N, N))
                K[i, j] = 5e-324
                assert fast.is_symmetric(K) is twin.is_symmetric(K) is False
    with pytest.raises(ValueError, match="must be square"):
        fast.is_symmetric(np.ones((N, N + 1)))


# --- greedy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("N", [0, 1, 2, 30])
def test_best(rng, N):
    for residual in (rng.uniform(size=N), np.round(rng.uniform(size=N), 1), np.zeros(N)):
        diagonal = residual + rng.uniform(size=N)
        for tol in (0.0, 1e-13, 0.2):
            assert fast.best(residual, diagonal, tol) == twin.best(residual, diagonal, tol)


@pytest.mark.parametrize("N", [1, 2, 30])
def test_eliminate(rng, N):
    K = spd(rng, N)
    L, residual = np.full((N, N), np.nan), np.diagonal(K).copy()
    for m, j in enumerate(rng.permutation(N)):
        expected_row, expected = twin.eliminate(K[j], L, residual, m, j)
        fast.eliminate(K[j], L, residual, m, j)
        assert_allclose(L[m], expected_row, rtol=1e-10, atol=1e-12)
        assert_allclose(residual, expected, rtol=1e-10, atol=1e-12)
    assert_allclose(L.T @ L, K, rtol=1e-10, atol=1e-12)
    assert_array_equal(residual <= 1e-12, True)


# --- the chain ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("N", "k"), [(2, 1), (9, 1), (9, 8), (20, 6), (40, 15)])
def test_chain_step_by_step(rng, N, k):
    K = spd(rng, N)
    arguments = (K, *start(N, k), *proposals(rng, 3000, N, k))
    expected, expected_rest, expected_log_det, expected_accepted = twin.swap_chain(*arguments, TOL)
    assert expected_accepted > 100
    for period in (0, 1, 7, 10**9):
        states, rest, log_det, accepted = chain(*arguments, period=period)
        assert_array_equal(states, expected)
        assert_array_equal(rest, expected_rest)
        assert log_det == pytest.approx(expected_log_det, abs=1e-9)
        assert accepted == expected_accepted


@pytest.mark.parametrize("period", [100, 10**9])
def test_the_inverse_stays_accurate(rng, period):
    # Nearly singular states, where updates alone lose all digits.
    x = np.sort(rng.uniform(size=(60, 1)), axis=0)
    K, k = RBF(0.15)(x), 9
    moves, (Z, rest) = proposals(rng, 200_000, 60, k), greedy_start(K, k)
    log_det, accepted = fast.swap_chain(K, Z, rest, *moves, TOL, period)
    assert accepted > 20_000
    condition = np.linalg.cond(K[np.ix_(Z, Z)])
    assert log_det == pytest.approx(twin.log_determinant(K, Z), abs=1e-14 * condition + 1e-9)
    # The next proposals are decided as with a new inverse.
    more = proposals(rng, 1000, 60, k)
    assert_array_equal(chain(K, Z, rest, *more)[0], twin.swap_chain(K, Z, rest, *more, TOL)[0])


def clusters(rng, sizes, length_scale):
    """Return the kernel matrix of distant intervals of points, nearly singular in each."""
    x = np.concatenate([1000.0 * c + rng.uniform(size=size) for c, size in enumerate(sizes)])
    return RBF(length_scale)(x[:, np.newaxis])


def scaled(rng):
    scales = np.geomspace(1e-6, 1e6, 12)
    return spd(rng, 12) * np.outer(scales, scales)


def of_rank_five(rng):
    half = rng.normal(size=(40, 5))
    return half @ half.T


# Matrix, size, proposals, and the least median condition number of the states.
HARD = {
    "condition 1e8": (lambda rng: spd(rng, 30, 1e8), 12, 5_000, 1.0),
    "line": (lambda rng: clusters(rng, [60], 3.0), 5, 8_000, 1e6),
    "four clusters": (lambda rng: clusters(rng, [15, 15, 15, 15], 3.0), 16, 10_000, 1e6),
    "cube": (lambda rng: RBF(2.0)(rng.uniform(size=(200, 3))), 40, 2_000, 1e6),
    "very different variances": (scaled, 4, 3_000, 1.0),
    "just the rank": (of_rank_five, 5, 3_000, 1.0),
}


@pytest.mark.parametrize("name", HARD)
def test_nearly_singular_states(rng, name):
    # With an inverse alone, even a new one, decisions are wrong here.
    make, k, n, least = HARD[name]
    K = make(rng)
    Z, rest = greedy_start(K, k) if least > 1.0 else start(len(K), k)
    arguments = (K, Z, rest, *proposals(rng, n, len(K), k))
    expected, _, expected_log_det, accepted = twin.swap_chain(*arguments, TOL)
    assert accepted > (0 if name == "very different variances" else 200)
    conditions = [np.linalg.cond(K[np.ix_(state, state)]) for state in expected[:: n // 50]]
    assert np.median(conditions) > least
    for period in (0, 10**9):
        states, _, log_det, found = chain(*arguments, period=period)
        assert_array_equal(states, expected)
        assert found == accepted
        # Nearly singular states have few digits of the determinant.
        assert name[:9] != "condition" or log_det == pytest.approx(expected_log_det, abs=1e-6)


def test_uniform_numbers_close_to_the_ratio(rng):
    margin, n, k = 1e-5, 3_000, 40
    K = RBF(1.0)(rng.uniform(size=(200, 3)))
    Z, rest = greedy_start(K, k)
    leave, enter, u = proposals(rng, n, len(K), k)
    state, others, expected = Z.copy(), rest.copy(), np.empty((n, k), dtype=int)
    log_det, accepted = twin.log_determinant(K, state), 0
    for m in range(n):
        new = state.copy()
        new[leave[m]] = others[enter[m]]
        log_new = twin.log_determinant(K, new)
        ratio = min(1.0, np.exp(log_new - log_det))
        # A tiny ratio belongs to a state too singular for the margin.
        accept = ratio > 0.01 and u[m] < 0.5
        u[m] = 0.5 * ratio * (1.0 - margin if accept else 1.0 + margin if ratio > 0.01 else 1.1)
        if accept:
            others[enter[m]] = state[leave[m]]
            state, log_det, accepted = new, log_new, accepted + 1
        expected[m] = state
    assert accepted > 100
    assert_array_equal(chain(K, Z, rest, leave, enter, u)[0], expected)


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
def test_units_do_not_matter(rng, scale):
    K = spd(rng, 20)
    arguments = (*start(20, 6), *proposals(rng, 1000, 20, 6))
    assert_array_equal(chain(scale * K, *arguments)[0], chain(K, *arguments)[0])
    assert_array_equal(greedy(scale * K, 6)[0], greedy(K, 6)[0])


def test_singular_states_are_never_entered(rng):
    # Every item three times: a state with two copies of one is singular.
    K = np.kron(spd(rng, 6), np.ones((3, 3)))
    Z = np.arange(0, 18, 3)[:4].copy()
    rest = np.setdiff1d(np.arange(18), Z)
    states, _, log_det, accepted = chain(K, Z, rest, *proposals(rng, 5000, 18, 4))
    assert accepted > 100
    assert all(len(set(state // 3)) == 4 for state in states)
    assert log_det == pytest.approx(twin.log_determinant(K, states[-1]), abs=1e-9)


def test_trace_is_thinned(rng):
    K, (Z, rest), moves = spd(rng, 10), start(10, 3), proposals(rng, 60, 10, 3)
    everything = chain(K, Z, rest, *moves)[0]
    for rows in (1, 2, 20):
        trace = np.empty((rows, 3), dtype=np.intp)
        fast.swap_chain(K, Z.copy(), rest.copy(), *moves, TOL, 10, trace)
        assert_array_equal(trace, everything[60 // rows - 1 :: 60 // rows])
    untraced = Z.copy()
    fast.swap_chain(K, untraced, rest.copy(), *moves, TOL, 10)
    assert_array_equal(untraced, everything[-1])


@pytest.mark.parametrize("k", [2, 5])
def test_no_proposals(rng, k):
    K, (Z, rest) = spd(rng, 5), start(5, k)
    _, left, log_det, accepted = chain(K, Z, rest, *proposals(rng, 0, 6, k))
    assert (log_det, accepted) == (pytest.approx(twin.log_determinant(K, Z)), 0)
    assert_array_equal(left, rest)


# --- errors, layouts ------------------------------------------------------------------------------


def integers(*values):
    return np.array(values, dtype=np.intp)


def call(**changes):
    arguments = {
        "K": np.eye(4),
        "Z": integers(0, 1),
        "rest": integers(2, 3),
        "leave": integers(0, 1),
        "enter": integers(1, 0),
        "u": np.array([0.1, 0.9]),
        "tol": TOL,
        "period": 10,
        "trace": np.zeros((2, 2), dtype=np.intp),
    } | changes
    return fast.swap_chain(*arguments.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"K": np.ones((4, 4))}, "starts from is singular"),
        ({"Z": integers(0, 1, 2)}, "each item once"),
        ({"Z": integers(0, 0)}, "each item once"),
        ({"Z": integers(0, 4)}, "each item once"),
        ({"Z": integers(0, -1)}, "each item once"),
        ({"Z": integers(), "rest": integers(0, 1, 2, 3)}, "not empty"),
        ({"leave": integers(0, 2)}, "positions"),
        ({"leave": integers(0, -1)}, "positions"),
        ({"enter": integers(0, 2)}, "positions"),
        ({"enter": integers(0, -1)}, "positions"),
    ],
    ids=str,
)
def test_errors_of_the_chain(changes, message):
    assert call()[1] == 1
    with pytest.raises(ValueError, match=message):
        call(**changes)


def test_errors_of_eliminate():
    for m, j in ((2, 0), (-1, 0), (0, 4), (0, -1)):
        with pytest.raises(ValueError, match="are needed"):
            fast.eliminate(np.ones(4), np.ones((2, 4)), np.ones(4), m, j)
    with pytest.raises(ValueError, match="must be positive"):
        fast.eliminate(np.ones(4), np.ones((2, 4)), np.zeros(4), 0, 0)
