"""Kalman filter against the dense solver for random sums and products of kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import ConstantKernel, ExpSineSquared, Matern

from sktvbo.kernels import Forgetting, Wiener
from twins.test_filter import RBF, assert_equal, both, likelihoods


def leaf(rng):
    kind = rng.randint(6)
    if kind < 3:
        return Matern(rng.uniform(0.5, 20.0), nu=(0.5, 1.5, 2.5)[kind])
    if kind == 3:
        return Forgetting(rng.uniform(0.02, 0.6))
    if kind == 4:
        return ConstantKernel(rng.uniform(0.2, 2.0))
    return ExpSineSquared(rng.uniform(1.0, 3.0), rng.uniform(2.0, 15.0))


def composite(rng, depth=2):
    """Return a random sum or product."""
    if depth == 0 or rng.uniform() < 0.3:
        return leaf(rng)
    one, other = composite(rng, depth - 1), composite(rng, depth - 1)
    return one + other if rng.uniform() < 0.6 else one * other


def model(rng):
    """Return a temporal kernel, and one of a level or None: composites, or a walk amid the rows."""
    walk = Wiener(rng.uniform(0.05, 0.5), start=rng.uniform(-5.0, 25.0), before="constant")
    if rng.uniform() < 0.2:
        return walk, None
    temporal = Matern(5.0, nu=0.5) + composite(rng)
    return temporal, composite(rng, 1) if rng.uniform() < 0.4 else None


@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 60))]
)
def test_random_models(seed):
    rng = np.random.RandomState(seed)
    temporal, level = model(rng)
    n, d, n_places = 40, 2, rng.randint(1, 4)
    places = rng.uniform(size=(n_places, d))
    t = np.round(rng.uniform(0.0, 20.0, n), rng.randint(0, 3))
    far = 0.0 if isinstance(temporal, Wiener) else 500.0 * (seed % 2)
    X = np.column_stack([places[rng.randint(n_places, size=n)], t])
    Q = np.column_stack([rng.uniform(size=(8, d)), rng.uniform(-6.0, 26.0, 8)])
    Q[:4, :d] = places[rng.randint(n_places, size=4)]
    options = {"spatial_kernel": RBF(0.5)}
    if n_places == 1 and rng.uniform() < 0.7:
        X, Q, options = X[:, d:], Q[:, d:], {"spatial_kernel": None}
    X[:, -1], Q[:, -1] = X[:, -1] + far, Q[:, -1] + far
    options |= {"temporal_kernel": temporal, "level_kernel": level}
    options |= {"mean_prior_std": rng.choice([0.0, 2.0]), "normalize_y": bool(rng.randint(2))}
    dense, kalman = both(X[:30], rng.normal(size=n)[:30], **options)
    (one, slope), (other, found) = likelihoods([dense, kalman], 0.0)
    # The series of a season omits 1e-10 of the variance.
    assert_allclose(other, one, rtol=1e-8)
    assert_allclose(found, slope, rtol=1e-6, atol=1e-6 * np.abs(slope).max())
    assert_equal(dense, kalman, Q, rtol=1e-7, draws=False)
    for gp in (dense, kalman):
        gp.partial_fit(X[30:], np.linspace(-1.0, 1.0, n - 30)).forget([1, 5])
    assert_equal(dense, kalman, Q, rtol=1e-7, draws=False)
