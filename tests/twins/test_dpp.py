"""Greedy choices and samples compared with enumeration."""

from fractions import Fraction

import numpy as np
import pytest
from fast.matrices import spd
from numpy.testing import assert_array_equal
from scipy.stats import chi2
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from sktvbo import dpp
from sktvbo._fast import kdpp as fast
from sktvbo.dpp import greedy_map, sample_kdpp
from sktvbo.exceptions import NotPositiveDefiniteError
from twins import kdpp as twin

N, K_ITEMS, N_DRAWS = 8, 3, 200_000
METHODS = ["mcmc", "exact"]
every_method = pytest.mark.parametrize("method", METHODS)


# --- greedy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 1), (20, 7), (15, 15)])
def test_greedy_is_brute_force(rng, n, k):
    for _ in range(10):
        K = spd(rng, n)
        found = greedy_map(K, k)
        assert found.dtype == np.intp
        assert_array_equal(found, twin.greedy(K, k))
        assert_array_equal(found[: k // 2 + 1], greedy_map(K, k // 2 + 1))


def test_ties_go_to_the_lowest_index():
    assert_array_equal(greedy_map(np.eye(5), 3), [0, 1, 2])
    assert_array_equal(greedy_map(np.diag([1.0, 2.0, 2.0]), 3), [1, 2, 0])
    # Corners, edges and middles of a grid are tied up to rounding.
    axis = np.linspace(-0.7, 0.7, 5) + 0.1
    grid = np.column_stack([g.ravel() for g in np.meshgrid(axis, axis)])
    for kernel in (RBF(0.5), Matern(0.7, nu=1.5)):
        assert_array_equal(greedy_map(kernel(grid), 9), twin.greedy(kernel(grid), 9))
    # A difference within rounding is a tie.
    assert greedy_map(np.diag([1.0, 1.0 + 1e-16, 1.0 + 4e-16]), 1) == 0


def test_greedy_from_a_kernel_is_that_from_its_matrix(rng):
    X, kernel = rng.uniform(size=(50, 2)), Matern(0.3, nu=2.5) + WhiteKernel(0.1)
    for points in (X, np.asfortranarray(X), X.tolist()):
        assert_array_equal(greedy_map(kernel, 12, X=points), greedy_map(kernel(X), 12))


class Columns(RBF):
    """A kernel that refuses to compute more than a column at a time."""

    def __call__(self, X, Y=None, eval_gradient=False):
        assert Y is not None
        assert len(Y) == 1
        return super().__call__(X, Y)


def test_greedy_computes_columns_only(rng):
    X = rng.uniform(size=(5000, 3))
    assert len(set(greedy_map(Columns(0.5), 10, X=X))) == 10


# --- distributions --------------------------------------------------------------------------------


def chi_square_p_value(draws, subsets, probabilities):
    """Return the p-value of the counts of draws (n, k), as sets."""
    n = subsets.max() + 1
    codes = np.sort(subsets, axis=1) @ n ** np.arange(subsets.shape[1])
    counts = np.bincount(np.sort(draws, axis=1) @ n ** np.arange(subsets.shape[1]))
    counts = np.r_[counts, np.zeros(max(0, codes.max() + 1 - len(counts)), dtype=int)]
    observed, expected = counts[codes], len(draws) * probabilities
    assert observed.sum() == len(draws)
    # Rare sets are pooled.
    rare = expected < 10.0
    if rare.any():
        observed = np.r_[observed[~rare], observed[rare].sum()]
        expected = np.r_[expected[~rare], expected[rare].sum()]
    with np.errstate(divide="ignore"):
        statistic = np.sum((observed - expected) ** 2 / expected)
    return chi2.sf(statistic, len(expected) - 1)


def chain_draws(K, k, thin, n_draws, rng, coins=lambda u: u):
    """Return every thin-th state of one long chain of the compiled routine, (n_draws, k)."""
    n = len(K)
    Z = greedy_map(K, k)
    rest = np.setdiff1d(np.arange(n), Z)
    draws, n_blocks = [], 20
    for block in range(n_blocks + 1):
        size = thin * n_draws // n_blocks
        leave = rng.randint(k, size=size, dtype=np.intp)
        enter = rng.randint(n - k, size=size, dtype=np.intp)
        trace = np.empty((n_draws // n_blocks, k), dtype=np.intp)
        u = coins(rng.uniform(size=size))
        fast.swap_chain(K, Z, rest, leave, enter, u, 1e-13, 1000, trace)
        if block > 0:  # the first block is the burn-in
            draws.append(trace)
    return np.concatenate(draws)


def thinning(K, k):
    """Return the number of proposals that reduces all correlations to 1/1000 or less.

    From the second eigenvalue of the transition matrix. The variance of the counts is that of
    independent draws up to a factor of 1.002.
    """
    second = np.sort(np.abs(np.linalg.eigvals(twin.transitions(K, k))))[-2]
    return int(np.ceil(np.log(1e-3) / np.log(second)))


@pytest.fixture(scope="module")
def small():
    """Kernel matrix of 8 items, the 3-subsets and their probabilities, and the thinning."""
    K = spd(np.random.RandomState(3), N, condition=200.0)
    return K, *twin.distribution(K, K_ITEMS), thinning(K, K_ITEMS)


def test_the_chains_counts(small, rng):
    K, subsets, probabilities, thin = small
    draws = chain_draws(K, K_ITEMS, thin, N_DRAWS, rng)
    assert chi_square_p_value(draws, subsets, probabilities) > 1e-3


def test_the_exact_samplers_counts(small, rng):
    K, subsets, probabilities, _ = small
    draws = exact_draws(K, K_ITEMS, rng, N_DRAWS)
    assert chi_square_p_value(draws, subsets, probabilities) > 1e-3


@pytest.mark.slow
def test_planted_wrong_samplers_fail(small, rng):
    K, subsets, probabilities, thin = small
    exact = exact_draws(K, K_ITEMS, rng, N_DRAWS)
    wrong = {
        # 2 u² < r / 2 when u < √r / 2: accepted with the root of the ratio.
        "root of the ratio": chain_draws(K, K_ITEMS, thin, N_DRAWS, rng, lambda u: 2.0 * u**2),
        "half of the items": chain_draws(K[:4, :4].copy(), K_ITEMS, thin, N_DRAWS, rng),
        "eigenvectors of the largest eigenvalues": dpp._projection_draws(
            np.broadcast_to(np.linalg.eigh(K)[1].T[-3:], (N_DRAWS, 3, N)), rng
        ),
        "uniform": subsets[rng.randint(56, size=N_DRAWS)],
        "5% of the draws uniform": np.where(
            rng.uniform(size=(N_DRAWS, 1)) < 0.05, subsets[rng.randint(56, size=N_DRAWS)], exact
        ),
    }
    for name, draws in wrong.items():
        assert chi_square_p_value(draws, subsets, probabilities) < 1e-6, name


def exact_draws(K, k, rng, n=50_000):
    return dpp._exact_draws(K, k, n, rng, dpp._EPS)


def exact_probabilities(K, subsets):
    """Return probabilities from determinants in rational arithmetic, exact for any K."""

    def determinant(rows):
        if len(rows) == 1:
            return rows[0][0]
        minors = ([row[:c] + row[c + 1 :] for row in rows[1:]] for c in range(len(rows)))
        return sum((-1) ** c * rows[0][c] * determinant(m) for c, m in enumerate(minors))

    exact = [[Fraction(float(x)) for x in row] for row in K]
    weights = [determinant([[exact[i][j] for j in items] for i in items]) for items in subsets]
    return np.array([float(w / sum(weights)) for w in weights])


@every_method
def test_counts_with_condition_number_1e12(rng, method):
    # The matrix of any four of these points is nearly singular.
    K, k = RBF(3.0)(np.linspace(0.0, 1.0, 7)[:, np.newaxis] ** 1.1), 4
    assert np.linalg.cond(K) > 1e12
    subsets, _ = twin.distribution(K, k)
    probabilities = exact_probabilities(K, subsets)
    exact = method == "exact"
    draws = exact_draws(K, k, rng) if exact else chain_draws(K, k, 50, 10_000, rng)
    assert chi_square_p_value(draws, subsets, probabilities) > 1e-3
    flat = subsets[rng.randint(len(subsets), size=10_000)]
    assert chi_square_p_value(flat, subsets, probabilities) < 1e-6


def test_the_sums_of_products_of_tiny_eigenvalues_do_not_underflow():
    tiny = np.log(np.geomspace(1e-300, 1e-10, 60))
    E = dpp._log_elementary_symmetric(tiny, 60)
    assert E[60, 60] == pytest.approx(tiny.sum(), rel=1e-12)


# --- samples --------------------------------------------------------------------------------------


@every_method
def test_seeds(rng, method):
    K = spd(rng, 30)

    def draw(seed):
        return sample_kdpp(K, 6, method=method, random_state=seed)

    assert_array_equal(draw(0), draw(0))
    assert_array_equal(draw(np.random.RandomState(5)), draw(5))
    assert len({tuple(draw(seed)) for seed in range(10)}) > 5
    shared = np.random.RandomState(0)
    assert len({tuple(draw(shared)) for _ in range(10)}) > 5


def test_the_samplers_chain_is_the_twins(rng):
    K, k, n_steps = spd(rng, 25), 6, dpp._BLOCK + 500
    found = sample_kdpp(K, k, n_steps=n_steps, random_state=7)
    stream = np.random.RandomState(7)
    Z = twin.greedy(K, k)
    rest = np.setdiff1d(np.arange(25), Z)
    for size in (dpp._BLOCK, 500):
        moves = stream.randint(k, size=size), stream.randint(25 - k, size=size)
        states, rest, *_ = twin.swap_chain(K, Z, rest, *moves, stream.uniform(size=size), 1e-13)
        Z = states[-1]
    assert_array_equal(found, np.sort(Z))


@pytest.mark.parametrize(("n", "k", "expected"), [(8, 3, 222), (2, 1, 19), (1000, 20, 10_000)])
def test_default_number_of_steps(n, k, expected):
    K = np.eye(n)  # half of all proposals are accepted: one more or less changes the draws

    def draws(n_steps):
        return [tuple(sample_kdpp(K, k, n_steps=n_steps, random_state=seed)) for seed in range(12)]

    assert draws(None) == draws(expected)
    assert draws(None) not in (draws(expected - 1), draws(expected + 1))


@every_method
def test_layouts_and_types(rng, method):
    K = spd(rng, 20)
    expected = sample_kdpp(K, 5, method=method, random_state=0)
    K.flags.writeable = False
    for matrix in (K, np.asfortranarray(K), np.repeat(K, 2, axis=1)[:, ::2], K.tolist()):
        assert_array_equal(sample_kdpp(matrix, 5, method=method, random_state=0), expected)
        assert_array_equal(greedy_map(matrix, 5), greedy_map(K, 5))
    # Asymmetry within rounding is accepted.
    tilted = K * (1.0 + 1e-12 * rng.normal(size=K.shape))
    for matrix in (K.astype(np.float32), tilted):
        assert_array_equal(greedy_map(matrix, 5), greedy_map(K, 5))
        assert len(sample_kdpp(matrix, 5, method=method, random_state=0)) == 5
    whole = np.array([[2, 1], [1, 2]])
    assert_array_equal(sample_kdpp(whole, np.int64(2), n_steps=np.int32(5), method=method), [0, 1])


@every_method
def test_items_without_variance_and_duplicates_are_not_chosen(rng, method):
    X = np.repeat(rng.uniform(size=(6, 2)), 3, axis=0)
    K = np.zeros((20, 20))
    K[:18, :18] = RBF(0.3)(X)
    for seed in range(20):
        indices = sample_kdpp(K, 6, method=method, random_state=seed)
        assert indices.dtype == np.intp
        assert_array_equal(np.sort(indices // 3), np.arange(6))
    assert_array_equal(np.sort(greedy_map(K, 6)) % 3, 0)
    for too_many in (lambda: sample_kdpp(K, 7, method=method), lambda: greedy_map(K, 7)):
        with pytest.raises(NotPositiveDefiniteError, match=r"rank k = 7 or more\. .* rank 6 up"):
            too_many()


@every_method
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rank", [1, 4, 20])
def test_rank(rng, rank, dtype, method):
    half = rng.normal(size=(60, rank))
    K = (half @ half.T).astype(dtype)
    assert len(sample_kdpp(K, rank, method=method, random_state=0)) == rank
    with pytest.raises(NotPositiveDefiniteError, match=f"rank {rank} up to rounding instead. A"):
        sample_kdpp(K, rank + 1, method=method)


def test_smooth_kernels_down_to_rounding():
    # Up to the numerical rank, the chain must be able to use each greedy start.
    K, possible = RBF(1.0)(np.linspace(0.0, 1.0, 40)[:, np.newaxis]), 0
    for k in range(1, 25):
        try:
            start = greedy_map(K, k)
        except NotPositiveDefiniteError:
            break
        possible = k
        for seed in range(3):
            assert len(set(sample_kdpp(K, k, n_steps=500, random_state=seed))) == len(start)
    assert 5 < possible < 24


# --- errors ---------------------------------------------------------------------------------------

BAD_MATRICES = [
    (np.ones((2, 3)), r"square matrix \(N, N\), N ≥ 1\. Got shape \(2, 3\)"),
    (np.ones(4), r"square matrix .* Got shape \(4,\)"),
    (np.empty((0, 0)), r"square matrix .* Got shape \(0, 0\)"),
    ([[1.0, np.nan], [np.nan, 1.0]], "K must be finite"),
    ([[np.inf, 0.0], [0.0, 1.0]], "K must be finite"),
    ([[1.0, 0.5], [0.4, 1.0]], r"symmetric\. Got .* by 1\.0e-01 .* Give \(K \+ K\.T\)"),
    (np.eye(2) * 1j, "real numbers. Got dtype complex128"),
    (-np.eye(2), "positive semi-definite"),
    ([[1.0, 2.0], [2.0, 1.0]], "positive semi-definite"),
]


@pytest.mark.parametrize(("K", "message"), BAD_MATRICES, ids=lambda value: str(value)[:30])
def test_invalid_matrices(K, message):
    calls = [lambda: greedy_map(K, 1), *(lambda m=m: sample_kdpp(K, 1, method=m) for m in METHODS)]
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call()


def test_an_indefinite_matrix(rng):
    K = spd(rng, 20)
    values, vectors = np.linalg.eigh(K)
    values[0] = -0.3
    K = (vectors * values) @ vectors.T
    K = 0.5 * (K + K.T)
    with pytest.raises(NotPositiveDefiniteError, match=r"Got the eigenvalue -3\.00e-01"):
        sample_kdpp(K, 3, method="exact")
    for call in (greedy_map, sample_kdpp):
        with pytest.raises(NotPositiveDefiniteError, match=r"Got .* beyond rounding: check"):
            call(K, 15)


@pytest.mark.parametrize("k", [0, 5, 2.0, None, True])
def test_invalid_arguments(k):
    X = np.arange(4.0)[:, np.newaxis]
    for call in (greedy_map, sample_kdpp, lambda _, k: greedy_map(RBF(), k, X=X)):
        with pytest.raises(ValueError, match=r"k must be an int in the range \[1, 4\]\. Got"):
            call(np.eye(4), k)
    with pytest.raises(ValueError, match=r"method must be 'mcmc' or 'exact'\. Got"):
        sample_kdpp(np.eye(3), 2, method=k)
    for n_steps in (-1, 1.5, "10", True):
        with pytest.raises(ValueError, match=r"n_steps must be an int in the range \[0, inf\)"):
            sample_kdpp(np.eye(3), 2, n_steps=n_steps)


def test_kernels_and_matrices_mixed_up():
    X = np.arange(4.0)[:, np.newaxis]
    with pytest.raises(ValueError, match=r"X must be an array of the items .* Got None, and K=RBF"):
        greedy_map(RBF(), 2)
    with pytest.raises(ValueError, match=r"K must be a scikit-learn Kernel .* Got ndarray"):
        greedy_map(np.eye(4), 2, X=X)
    with pytest.raises(ValueError, match=r"K must be a matrix.* Got the kernel RBF.*Give K\(X\)"):
        sample_kdpp(RBF(), 2)
    with pytest.raises(ValueError, match="Expected 2D array"):
        greedy_map(RBF(), 2, X=X[:, 0])
    with pytest.raises(ValueError, match="contains NaN"):
        greedy_map(RBF(), 2, X=X * np.nan)
    with pytest.raises(ValueError, match=r"must be finite at X\. Got NaN"):
        greedy_map(ConstantKernel(np.inf), 2, X=X)
    with pytest.raises(NotPositiveDefiniteError, match="rank k = 2 or more"):
        greedy_map(ConstantKernel(2.0), 2, X=X)
