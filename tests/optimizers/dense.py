"""Posteriors written out densely, and a drifting objective to query."""

import numpy as np
import pytest
from scipy.special import erf
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.relevancy import temporal_convolution

# Class of fitted regressors.
FITTED = type(
    TimeVaryingGPRegressor(optimizer=None).fit([[0.0, 0.0], [1.0, 1.0]], [0.0, 1.0]).fitted_
)

GRID = np.linspace(0.0, 1.0, 401)[:, np.newaxis]


def value(x, t):
    """Neither of mean 0 nor of scale 1, so that units matter."""
    return 30.0 + 5.0 * np.sin(6.0 * x[0] + 0.15 * t) + 0.2 * np.sin(37.0 * t)


def make(kind, **options):
    defaults = {"domain": [(0.0, 1.0)], "n_initial_points": 6, "random_state": 0}
    return kind(**defaults | options)


def drive(opt, times, value=value):
    for t in times:
        x = opt.ask(float(t))
        opt.tell(x, value(x, t))
    return opt


def length_scale_of(kernel):
    """Lengthscale of the Matérn 5/2 kernel with the same ∫ (k(τ) / k(0))² over the future."""
    if hasattr(kernel, "length_scale"):
        return kernel.length_scale
    now = np.zeros((1, 1))
    integrals = [
        temporal_convolution(each, [0.0], 0.0)[0, 0] / each(now)[0, 0] ** 2
        for each in (kernel, Matern(1.0, nu=2.5))
    ]
    return integrals[0] / integrals[1]


def inside(x, margin=0.2):
    """Roots of the shares of places (m, d) in the unit box, of which the default bound is."""
    near = np.asarray(x)
    share = erf(near / margin) + erf((1.0 - near) / margin)
    return np.sqrt(np.prod(share / (2.0 * erf(0.5 / margin)), axis=-1))


def without_prior_mean(algorithm):
    """A class like another, whose surrogate has no prior mean to choose."""

    class Plain(algorithm):
        def _make_surrogate(self, times):
            return super()._make_surrogate(times).set_params(prior_mean=None)

    return Plain


def standardized(opt):
    y = opt.told_y_
    return (y - y.mean()) / y.std(), y.mean(), y.std()


def dense(K, noise, k, prior, y):
    """Posterior mean and variance, with the inverse written out; k is (m, n).

    The mean, which the surrogates learn, has the prior variance 1.
    """
    K, k, prior = K + 1.0, k + 1.0, prior + 1.0
    inverse = np.linalg.inv(K + noise * np.eye(len(K)))
    return k @ inverse @ y, prior - np.einsum("ij,jk,ik->i", k, inverse, k)


def posterior(opt, t, temporal):
    """Mean and standard deviation at the grid and time t, in units of y.

    The covariance is that of the surrogate in space times ``temporal(t, t')``.
    """
    gp, X, times = opt.surrogate_, opt.X_[:, :1], opt.X_[:, 1]
    y, location, scale = standardized(opt)
    signal = gp.signal_variance_
    K = signal * gp.spatial_kernel_(X) * temporal(times[:, np.newaxis], times)
    k = signal * gp.spatial_kernel_(GRID, X) * temporal(t, times)
    mean, variance = dense(K, gp.noise_variance_, k, signal * temporal(t, t), y)
    return location + scale * mean, scale * np.sqrt(variance)


def information_gain(K, noise):
    """What observations tell about f: less than about f and the mean, by that about the mean."""
    noise = np.diag(np.broadcast_to(noise, len(K)))
    return 0.5 * (np.linalg.slogdet(K + noise + 1.0)[1] - np.linalg.slogdet(noise + 1.0)[1])


def check_query(asked, x, mean, std, width):
    """Compare posterior and √β with those at the grid; the query is the best place."""
    places = np.vstack([x, GRID])
    got = asked["state"].posterior(places)
    np.testing.assert_allclose(got[0][1:], mean, rtol=1e-6)
    np.testing.assert_allclose(got[1][1:], std, rtol=1e-5)
    assert asked["width"] == pytest.approx(width, rel=1e-7)
    score = got[0] + width * inside(places) * got[1]
    assert score[0] >= score[1:].max() - 1e-6 * np.ptp(score)
