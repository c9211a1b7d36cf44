"""Filter and smoother of one series compared with dense linear algebra and finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import block_diag
from twins import series as twin

from sktvbo._fast import series as fast
from sktvbo.gaussian_process.kalman._state_space import Stationary

CASES = {
    "order 1": ([1], [0.7], [0]),
    "order 2": ([2], [0.7], [0]),
    "order 3": ([3], [0.7], [0]),
    "constant": ([1], [0.0], [0]),
    "one with H": ([2], [0.7], [0]),
    "five": ([3, 1, 2, 1], [0.4, 1.3, 2.0, 0.0], [2, 0, 0, 1, 3]),
}


@pytest.fixture(params=list(CASES))
def case(request):
    """Return the arguments of `Chains`: short, long and no gaps, every fifth row a query."""
    order, rate, line = CASES[request.param]
    rng, n = np.random.RandomState(0), 60
    gap = rng.exponential(0.3, size=n)
    gap[::7], gap[30], gap[0] = 0.0, 50.0, 0.0
    R = rng.uniform(0.01, 0.5, size=n)
    R[2::5] = np.inf
    H = rng.normal(size=(n, len(line))) if len(line) > 1 or "H" in request.param else None
    weight = rng.uniform(0.5, 2.0, size=len(line))
    line = np.array(line, dtype=np.intp)
    return [np.array(order), np.array(rate), line, weight, gap, rng.normal(size=(n, 4)), R, H]


def moments(arguments):
    """Return the mean and covariance of the prior."""
    order, _, line, weight, _, Y, *_ = arguments
    P = block_diag(*(w * Stationary(order[i], 1.0).prior(0.0)[0] for w, i in zip(weight, line)))
    return np.zeros((Y.shape[1], len(P))), P


def smooth(arguments, out):
    m, P = moments(arguments)
    chains = fast.Chains(*arguments)
    assert chains.smooth(m, P, np.zeros_like(m), np.zeros_like(P), None, out) == 0


@pytest.mark.parametrize("k", [1, 2, 4])
def test_sums_and_smoothed_means_and_variances(case, k):
    case[5] = case[5][:, :k].copy()
    if k > 2 and case[7] is None:
        case[7] = np.ones((len(case[4]), 1))
    sums, out = np.zeros((k, k + 1)), np.empty((len(case[4]), k + 1))
    assert fast.Chains(*case).filter(*moments(case), sums) == 0
    squares, log_determinant = twin.Chains(*case).sums()
    assert_allclose(sums[:, :k], squares, rtol=1e-10)
    assert_allclose(sums[0, k], log_determinant, rtol=1e-10)
    smooth(case, out)
    means, variances = twin.Chains(*case).smoothed()
    assert_allclose(out[:, :k], means, rtol=1e-9, atol=1e-11)
    assert_allclose(out[:, k], variances, rtol=1e-9)


def test_long_series_are_filtered_twice():
    """Blocks of states give what one block gives."""
    rng, n = np.random.RandomState(0), 2**18
    i, gap, R = np.zeros(1, dtype=np.intp), rng.exponential(size=n), rng.uniform(0.1, 1.0, size=n)
    arguments = [np.array([2]), np.array([0.7]), i, np.ones(1), gap]
    arguments += [rng.normal(size=(n, 1)), R, None]
    R[1000] = np.inf
    out = np.empty((n, 2))
    smooth(arguments, out)
    near = slice(900, 1100)
    arguments[4:7] = gap[near], arguments[5][near], R[near]
    means, variances = twin.Chains(*arguments).smoothed()
    assert_allclose(out[980:1020], np.column_stack([means, variances])[80:120], rtol=1e-9)


def one_chain():
    chain = [np.array([2]), np.ones(1), np.zeros(1, dtype=np.intp), np.ones(1)]
    return [*chain, np.ones(3), np.ones((3, 1)), np.ones(3), None]


def test_a_row_without_positive_variance_is_reported():
    case = one_chain()
    case[6] = np.array([1.0, -9.0, 1.0])
    assert fast.Chains(*case).filter(*moments(case), np.zeros((1, 2))) == 2
    m, P = moments(case)
    assert fast.Chains(*case).smooth(m, P, np.zeros_like(m), np.zeros_like(P)) == 2


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (0, np.array([4]), "orders must be"),
        (1, np.ones(2), "do not fit"),
        (2, np.array([1], dtype=np.intp), "lines must be"),
        (3, np.ones(2), "do not fit"),
        (4, np.ones(2), "do not fit"),
        (5, np.ones((3, 3)), "do not fit"),
        (6, np.ones(2), "do not fit"),
        (7, np.ones((3, 2)), "H must be"),
    ],
)
def test_arguments_that_would_be_read_outside(where, value, message):
    case = one_chain()
    fast.Chains(*case)
    case[where] = value
    with pytest.raises(ValueError, match=message):
        fast.Chains(*case)


def test_outputs_that_would_be_written_outside():
    case = one_chain()
    chains, (m, P) = fast.Chains(*case), moments(case)
    with pytest.raises(ValueError, match="moments must be"):
        chains.filter(m, np.eye(3), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="sums must be"):
        chains.filter(m, P, np.zeros((1, 1)))
    for slopes in ((2, 1, 3), (1, 2, 3), (1, 1, 2)):
        with pytest.raises(ValueError, match="slopes in weights"):
            chains.smooth(m, P, m.copy(), P.copy(), (*map(np.zeros, slopes), None))
    slopes = (*map(np.zeros, (1, 1, 3)), np.zeros((3, 1)))
    with pytest.raises(ValueError, match="slopes in H"):
        chains.smooth(m, P, m.copy(), P.copy(), slopes)
    with pytest.raises(ValueError, match="out must be"):
        chains.smooth(m, P, m.copy(), P.copy(), None, np.zeros((3, 1)))
