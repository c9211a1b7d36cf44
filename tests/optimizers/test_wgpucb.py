"""W-GP-UCB is its surrogate: weighted regression, written out densely."""

import numpy as np
import pytest
from optimizers.dense import GRID, check_query, drive, information_gain, standardized, value

from sktvbo import WGPUCB


def feature_space_posterior(opt, discount, t):
    """Weighted ridge regression on explicit features, with the literature's weights γ^{−s}.

    φ are rows of a root of the kernel matrix of all places, the mean's 1 in it,
    w_s = γ^{−s}, λ_t = σ² γ^{−t};
    V = Φᵀ W Φ + λ_t I, Ṽ = Φᵀ W² Φ + λ_t² / σ² I, mean φᵀ V⁻¹ Φᵀ W y and width
    s² = σ² φᵀ V⁻¹ Ṽ V⁻¹ φ.
    """
    gp, X, times = opt.surrogate_, opt.X_[:, :1], opt.X_[:, 1]
    y, location, scale = standardized(opt)
    K = 1.0 + gp.signal_variance_ * gp.spatial_kernel_(np.vstack([X, GRID]))
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    Phi, phi = features[: len(X)], features[len(X) :]
    w, regularizer = discount**-times, gp.noise_variance_ * discount**-t
    identity = np.eye(len(K))
    V = (Phi.T * w) @ Phi + regularizer * identity
    V2 = (Phi.T * w**2) @ Phi + regularizer**2 / gp.noise_variance_ * identity
    mean = phi @ np.linalg.solve(V, Phi.T @ (w * y))
    half = np.linalg.solve(V, phi.T)
    variance = gp.noise_variance_ * np.einsum("im,ij,jm->m", half, V2, half)
    return location + scale * mean, scale * np.sqrt(variance)


def weighted_width(opt, discount, t):
    """√β with the information gain under the aged noise, and δ spent over the steps."""
    gp, X, ages = opt.surrogate_, opt.X_[:, :1], t - opt.X_[:, 1]
    K = gp.signal_variance_ * gp.spatial_kernel_(X)
    noise = gp.noise_variance_ * discount**-ages
    gain = information_gain(K, noise)
    delta = 0.1 / (2.0 * len(X) * (1.0 + np.log(len(X))) ** 2)
    return 1.0 + np.sqrt(2.0 * (gain + 1.0 + np.log(1.0 / delta)))


@pytest.mark.parametrize("discount", [0.8, 0.99, 1.0])
def test_w_ages_equal_the_weights_of_the_literature(discount, asked):
    opt = WGPUCB([(0.0, 1.0)], discount=discount, n_initial_points=6, random_state=0)
    drive(opt, np.arange(20.0))
    for t in (20.0, 22.5):
        x = opt.ask(t)
        expected = feature_space_posterior(opt, discount, t)
        check_query(asked, x, *expected, weighted_width(opt, discount, t))
        opt.tell(x, value(x, t))
    assert opt.n_removed_ == 0


def test_w_unix_timestamps_neither_overflow_nor_matter():
    with np.errstate(over="raise", invalid="raise"):
        queries = []
        for origin in (0.0, 1.7e9):
            opt = WGPUCB([(0.0, 1.0)], discount=0.9, n_initial_points=6, random_state=0)
            for t in 0.5 * np.arange(18.0):
                x = opt.ask(origin + t)
                opt.tell(x, value(x, t))
            queries.append(opt.told_X_[:, 0])
    near, far = queries
    np.testing.assert_allclose(near, far, atol=1e-6)


@pytest.mark.parametrize("discount", [0.0, 1.1, "none"])
def test_bad_discount(discount):
    opt = WGPUCB([(0.0, 1.0)], discount=discount, n_initial_points=3, random_state=0)
    with pytest.raises(ValueError, match="'discount' parameter"):
        drive(opt, range(5))
