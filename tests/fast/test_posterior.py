"""Posteriors at several places compared with their NumPy twin."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from grids import pairs_of
from numpy.testing import assert_allclose, assert_array_equal
from twins import posterior as twin

from sktvbo._fast import posterior as fast
from sktvbo._fast.gram import Family
from sktvbo._fast.posterior import Formula

N = 17

# Extensions of a plain posterior.
KINDS = ("plain", "mean", "weighted", "weighted-mean", "sparse", "sparse-mean")
KINDS += ("quadratic", "weighted-quadratic", "sparse-quadratic", "quadratic-mean")

all_kinds = pytest.mark.parametrize("kind", KINDS)


def lower(rng, n, capacity=None):
    """Return a lower factor in the corner of a larger array, which leaves some variance."""
    A = rng.normal(size=(n, n))
    L = np.full((capacity or n,) * 2, np.nan)
    L[:n, :n] = np.linalg.cholesky(A @ A.T + 2.0 * n * np.eye(n))
    return L[:n, :n]


def arguments(rng, d=2, moves=False, kind="plain", n=N, families=(Family.MATERN52,) * 2):
    Z, times, weights = rng.normal(size=(d, n)), rng.normal(size=n), rng.normal(size=n)
    positional = (*families, 1.3, Z, times, 0.2, moves, weights, lower(rng, n, capacity=n + 3))
    options = {"mean": 0.4}
    if kind.endswith("mean"):
        options |= {"direction": 0.1 * rng.normal(size=n), "precision": 3.0}
    if kind.startswith("weighted"):
        options |= {"excess": 0.1 * rng.uniform(size=n)}
    if "quadratic" in kind:
        options |= {"linear": rng.normal(size=d), "square": rng.normal(size=d)}
    if kind.startswith("sparse"):
        options |= {"outer": lower(rng, n, capacity=n + 1)}
    return positional, options


def both(*args, **options):
    positional, named = arguments(*args, **options)
    return fast.Posterior(*positional, **named), twin.Posterior(*positional, **named)


# The sum of the weights is the signal.
TERMS = np.array([Family.MATERN52, Family.MATERN12, Family.RBF], dtype=np.intc)
TERMS = (TERMS, np.array([0.5, 2.0, 0.1]), np.array([0.8, 0.3, 0.2]))
# Further options, and whether time may be one of the coordinates.
OPTIONS = {
    "none": ({}, (False, True)),
    "a sum in time": ({"terms": TERMS}, (True,)),
    "a mean that is not predicted": ({"share": 0.0}, (False, True)),
    "covariances in time": ({"in_time": np.linspace(-1.0, 2.0, N)}, (False,)),
}


def check(positional, named, X):
    """Compare values and gradients, and bounds."""
    ours, theirs = (made.Posterior(*positional, **named) for made in (fast, twin))
    for found, expected in zip(ours.with_gradients(X), theirs.with_gradients(X)):
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    for found, expected in zip(ours.values(X), theirs.values(X)):
        assert_allclose(found, expected, rtol=1e-9)
    return ours, theirs


@pytest.mark.parametrize(
    ("spatial", "temporal", "moves", "d"), pairs_of(Family, Family, (False, True), (1, 3))
)
def test_families(rng, spatial, temporal, moves, d):
    """At other points and at those of the basis, where gradients are those of the families or 0."""
    positional, named = arguments(rng, d, moves, families=(spatial, temporal))
    X = rng.normal(size=(5, d + moves))
    X[:2, :d] = positional[3].T[:2]
    check(positional, named, X)


@all_kinds
@pytest.mark.parametrize(
    ("option", "moves"), [(name, m) for name, (_, both) in OPTIONS.items() for m in both]
)
def test_kinds(rng, kind, option, moves):
    for n in (1, 2, N) if option == "none" else (N,):
        positional, named = arguments(rng, 2, moves, kind, n=n)
        X = rng.normal(size=(4, 2 + moves))
        ours, theirs = check(positional, named | OPTIONS[option][0], X)
        if option == "a mean that is not predicted":
            assert_allclose(ours.above(X), theirs.above(X), rtol=1e-3)


@all_kinds
def test_blocks_of_places_are_as_single_ones(rng, kind):
    ours, _ = both(rng, 2, True, kind)
    for m in (0, 1, 3, 7, 127, 128, 129, 300):
        X = rng.normal(size=(m, 3))
        together = ours.values(X), ours.with_gradients(X)
        for parts in together:
            assert all(len(part) == m for part in parts)
        for i in range(0, m, 50):
            for found, single in zip(together[1], ours.with_gradients(X[i : i + 1])):
                assert_allclose(found[i], single[0], rtol=1e-11, atol=1e-13)
        for found, expected in zip(*together):
            assert_allclose(found, expected, rtol=1e-12)


# With 9 coordinates there are more features than are summed at a time.
@pytest.mark.parametrize(
    ("kind", "moves", "d", "n"), pairs_of(KINDS, (False, True), (2, 9), (1, 2, N, 150))
)
def test_above(rng, kind, moves, d, n):
    ours, theirs = both(rng, d, moves, kind, n=n)
    X = rng.normal(size=(130, d + moves))
    for found, expected in zip(ours.above(X), theirs.above(X)):
        assert_allclose(found, expected, rtol=1e-9)
    mean, std = ours.values(X)
    assert_array_equal(ours.above(X)[0], mean)
    assert (ours.above(X)[1] >= std).all()
    assert all(len(part) == 0 for part in ours.above(X[:0]))


def test_above_of_a_point_that_is_known(rng):
    """The bound holds under rounding where almost no variance is left."""
    positional, named = arguments(rng, n=20, families=(Family.RBF, Family.CONSTANT))
    Z = positional[3]
    q = ((Z[:, :, np.newaxis] - Z[:, np.newaxis]) ** 2).sum(axis=0)
    L = np.linalg.cholesky(1.3 * np.exp(-q) + 1e-12 * np.eye(20))
    ours = fast.Posterior(*positional[:-1], L, **named)
    X = np.ascontiguousarray(Z.T)
    assert (ours.above(X)[1] >= ours.values(X)[1]).all()
    assert ours.above(X)[1][-1] < 1e-4


def test_far_away_it_is_the_prior(rng):
    for family in [f for f in Family if f != Family.CONSTANT]:
        ours, _ = both(rng, families=(family, Family.CONSTANT))
        mean, std, *slopes = ours.with_gradients(np.array([[1e4, 0.0], [0.0, -1e200]]))
        assert_array_equal(mean, 0.4)
        assert_array_equal(std, np.sqrt(1.3))
        assert_allclose(slopes, 0.0, atol=1e-100)


def test_nan_stays_nan(rng):
    ours, _ = both(rng)
    found = ours.with_gradients(np.array([[np.nan, 0.0], [0.0, 0.0]]))
    for part in found:
        assert np.isnan(part[0]).all()
        assert np.isfinite(part[1]).all()


def test_a_negative_variance_counts_as_zero(rng):
    """If rounding makes the variance negative, the standard deviation is about 0."""
    positional, named = arguments(rng)
    named["mean"] = 0.0
    tiny = (*positional[:-1], 1e-3 * np.eye(N))
    mean, std, *_ = fast.Posterior(*tiny, **named).with_gradients(np.zeros((2, 2)))
    assert (std <= 1e-140).all()
    assert np.isfinite(mean).all()


@pytest.mark.parametrize("formula", Formula)
def test_scores(formula):
    z = np.array([-1e4, -200.5, -199.5, -40.0, -8.0, -1.0, 0.0, 0.7, 4.99, 5.01, 8.0, 30.0])
    for std in (1e-3, 0.7, 50.0):
        mean = 0.4 + z * std
        found = fast.scores(formula, 0.4, mean, np.full(len(z), std))
        for ours, theirs in zip(found, twin.scores(formula, 0.4, mean, np.full(len(z), std))):
            assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("formula", [Formula.PROBABILITY, Formula.IMPROVEMENT])
def test_scores_without_uncertainty_are_finite(formula):
    found = fast.scores(formula, 0.0, np.array([-1.0, 0.0, 1.0]), np.array([0.0, 1e-150, 1e-300]))
    assert np.isfinite(found).all()


def test_shapes_are_checked(rng):
    positional, named = arguments(rng)
    for i, wrong in ((3, np.zeros((2, N - 1))), (7, np.zeros(N + 1)), (8, np.zeros((N, N + 1)))):
        changed = list(positional)
        changed[i] = wrong
        with pytest.raises(ValueError, match=r"do not fit|must be"):
            fast.Posterior(*changed, **named)
    for name in ("direction", "excess", "in_time"):
        with pytest.raises(ValueError, match="must hold n"):
            fast.Posterior(*positional, **named | {name: np.zeros(3)})
    positional_moving, _ = arguments(rng, moves=True)
    with pytest.raises(ValueError, match="of one time"):
        fast.Posterior(*positional_moving, in_time=np.zeros(N))
    for wrong in (np.zeros((3, 3)), np.zeros((N, 2 * N))[:, ::2]):
        with pytest.raises(ValueError, match="contiguous rows"):
            fast.Posterior(*positional, **named | {"outer": wrong})
    families, rates, weights = TERMS
    for moves, terms in ((True, (families, rates[:2], weights)), (False, TERMS)):
        with pytest.raises(ValueError, match=r"one length|moving"):
            fast.Posterior(*arguments(rng, moves=moves)[0], terms=terms)
    ours = fast.Posterior(*positional, **named)
    for method in (ours.values, ours.with_gradients):
        with pytest.raises(ValueError, match="n_coordinates"):
            method(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="one length"):
        fast.scores(Formula.BOUND, 0.0, np.zeros(3), np.zeros(2))


def test_threads_that_share_a_posterior_get_the_same_results(rng):
    positional, options = arguments(rng, n=300)
    shared = fast.Posterior(*positional, **options)
    queries = [rng.uniform(size=(m, 2)) for m in (1, 70, 300, 5) * 4]
    alone = [np.array(shared.values(X)) for X in queries]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(shared.values, queries))
    assert len({one.tobytes() for one in alone}) == len(queries)
    for one, other in zip(alone, together):
        assert_array_equal(one, other)
