"""Filter and smoother compared with the textbook's, and slopes with finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, Matern
from twins import kalman as twin

from sktvbo._fast import kalman as fast
from sktvbo.gaussian_process.kalman._state_space import state_space

# Kernels of f, or of f and of a level that all places share.
KERNELS = {
    "p = 1": (Matern(2.0, nu=0.5),),
    "p = 2": (Matern(2.0, nu=1.5),),
    "p = 3": (Matern(2.0, nu=2.5),),
    "p = 4": (Matern(2.0, nu=1.5) + Matern(0.5, nu=0.5) * Matern(3.0, nu=1.5),),
    "p = 1 and a level": (Matern(2.0, nu=0.5), Matern(0.6, nu=1.5)),
    "p = 3 and a level": (Matern(2.0, nu=2.5), Matern(0.6, nu=0.5)),
}


@pytest.fixture(params=KERNELS.values(), ids=list(KERNELS))
def process(request):
    return state_space(*request.param)


def case(process, M=3, counts=(1, 0, 3, 4, 1, 2, 0), k=2, seed=0):
    """Return arguments of the filter: irregular moves, no to several observations at a time."""
    rng = np.random.RandomState(seed)
    gaps, n, T = process.clock(np.array([0.4, 1.7, 1e-3])), int(np.sum(counts)), len(counts)
    A, Q = process.transitions(gaps)
    K = 1.3 * RBF(0.5)(rng.uniform(size=(M, 2)))[np.newaxis]
    if process.level:
        # Not quite the same at all places: the textbook inverts covariances.
        K = np.append(K, 0.4 * np.ones((1, M, M)) + 0.1 * np.eye(M), axis=0)
    start = np.append(0, np.cumsum(counts)).astype(np.intp)
    site = rng.randint(M, size=n).astype(np.intp)
    Y, R = rng.normal(size=(n, k)), rng.uniform(0.01, 0.5, n)
    # The initial covariance is the prior one.
    P = sum(map(np.kron, process.prior(0.0), K))
    m = rng.normal(size=(k, len(P)))
    move = rng.randint(len(gaps), size=T).astype(np.intp)
    return [move, A, Q, K, start, site, Y, R, m, P]


def filtered(arguments, keep=False):
    *rest, m, P = arguments
    m, P = m.copy(), P.copy()
    k, N = m.shape
    sums, T = np.zeros((k, k + 1)), len(arguments[0])
    kept = (np.empty((T, k, N)), np.empty((T, N, N))) if keep else ()
    assert fast.filter(*rest, m, P, sums, *kept) == 0
    return (sums, m, P, *kept)


def smoothed(arguments, **options):
    _, _, _, kept_m, kept_P = filtered(arguments, keep=True)
    k, N = arguments[-2].shape
    r, Lambda = np.zeros((k, N)), np.zeros((N, N))
    assert fast.smooth(*arguments, kept_m, kept_P, r, Lambda, **options) == 0


@pytest.mark.parametrize("M", [1, 3])
def test_filter(process, M):
    arguments = case(process, M)
    sums, m, P, kept_m, kept_P = filtered(arguments, keep=True)
    theirs, means, covariances = twin.filter(*arguments)
    assert_allclose(sums, theirs, rtol=1e-10)
    assert_allclose(kept_m, means, rtol=1e-9, atol=1e-11)
    assert_allclose(kept_P, covariances, rtol=1e-9, atol=1e-11)
    assert_array_equal(m, kept_m[-1])
    assert_array_equal(P, kept_P[-1])
    assert_allclose(filtered(arguments)[0], sums, rtol=1e-14)


@pytest.mark.parametrize("M", [1, 3])
def test_smoothed_means_and_variances_of_places_and_between(process, M):
    arguments = case(process, M)
    T, rng = len(arguments[0]), np.random.RandomState(1)
    W = rng.normal(size=(2, M))
    per_time = rng.randint(3, size=T)
    first = np.append(0, np.cumsum(per_time)).astype(np.intp)
    place = rng.randint(M + 2, size=first[-1]).astype(np.intp)
    out = np.full((len(place), 3), np.nan)
    smoothed(arguments, queries=(first, place, W, out))
    _, kept_m, kept_P = twin.filter(*arguments)
    means, covariances = twin.smooth(*arguments[:4], kept_m, kept_P)
    H = np.vstack([np.eye(M), W])[place]
    at = np.repeat(np.arange(T), per_time)
    assert len(at) > 3
    assert_allclose(out[:, :2], np.einsum("qkm,qm->qk", means[at][:, :, :M], H), rtol=1e-8)
    variances = np.einsum("qi,qij,qj->q", H, covariances[at][:, :M, :M], H)
    assert_allclose(out[:, 2], variances, rtol=1e-8)


def test_posterior_variances_of_observed_places_are_accurate():
    """With noise of 1e-14 of the prior variance, the posterior variance is the noise."""
    arguments = case(state_space(Matern(2.0, nu=0.5)), M=2, counts=[2], k=1)
    arguments[5][:] = [0, 1]
    arguments[7][:] = 1e-14
    P = filtered(arguments)[2]
    assert_allclose(np.diagonal(P), 1e-14, rtol=1e-10)


def test_an_indefinite_covariance_is_reported_by_its_time():
    arguments = case(state_space(Matern(2.0, nu=1.5)), counts=[1, 2, 1])
    arguments[7][2] = -100.0
    *rest, m, P = arguments
    assert fast.filter(*rest, m, P, np.zeros((2, 3))) == 2


OUTSIDE = [
    (0, np.array([9, 0, 0], dtype=np.intp), "moves must be"),
    (3, np.ones((1, 0, 3)), "do not fit"),
    (3, np.ones((1, 3, 0)), "there must be"),
    (3, np.ones((2, 3, 3)), "do not fit"),
    (4, np.array([0, 2, 1, 3], dtype=np.intp), "starts must not"),
    (4, np.array([0, 1, 2, 4], dtype=np.intp), "starts .* must lie"),
    (5, np.array([0, 3, 1], dtype=np.intp), "sites must be"),
]


@pytest.mark.parametrize(("where", "value", "message"), OUTSIDE)
def test_arguments_that_would_be_read_outside(where, value, message):
    arguments = case(state_space(Matern(2.0, nu=0.5)), counts=[1, 1, 1])
    kept_m, kept_P = filtered(arguments, keep=True)[3:]
    arguments[where] = value
    with pytest.raises(ValueError, match=message):
        fast.filter(*arguments, np.zeros((2, 3)))
    with pytest.raises(ValueError, match=message):
        fast.smooth(*arguments, kept_m, kept_P, np.zeros((2, 3)), np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slopes": [(2, 1, 1), (3, 1, 1, 1), (1, 3, 3), 3]}, "slopes in A and Q"),
        ({"slopes": [(3, 1, 1), (3, 1, 1, 1), (1, 3, 2), 3]}, "slopes in K and R"),
        ({"slopes": [(3, 1, 1), (3, 1, 1, 1), (1, 3, 3), 2]}, "slopes in K and R"),
        ({"queries": ([0, 0, 1], [0], (0, 3), (1, 3))}, "do not fit together"),
        ({"queries": ([0, 0, 1, 1], [0], (0, 3), (1, 2))}, "do not fit together"),
        ({"queries": ([0, 0, 1, 1], [3], (1, 4), (1, 3))}, "do not fit together"),
        ({"queries": ([0, 0, 1, 1], [3], (1, 0), (1, 3))}, "do not fit together"),
        ({"queries": ([0, 0, 1, 2], [0], (0, 3), (1, 3))}, "do not fit together"),
        ({"queries": ([0, 1, 0, 1], [0], (0, 3), (1, 3))}, "must not go back"),
        ({"queries": ([0, 0, 1, 1], [5], (2, 3), (1, 3))}, "places of queries"),
    ],
)
def test_outputs_that_would_be_written_outside(options, message):
    arguments = case(state_space(Matern(2.0, nu=0.5)), counts=[1, 1, 1])
    kept_m, kept_P = filtered(arguments, keep=True)[3:]
    if "slopes" in options:
        options = {"slopes": tuple(map(np.zeros, options["slopes"]))}
    else:
        first, place, *shapes = options["queries"]
        indices = np.array(first, dtype=np.intp), np.array(place, dtype=np.intp)
        options = {"queries": (*indices, *map(np.zeros, shapes))}
    with pytest.raises(ValueError, match=message):
        fast.smooth(*arguments, kept_m, kept_P, np.zeros((2, 3)), np.zeros((3, 3)), **options)
