"""What persists and what all places share, beside what moves: against sums of kernels."""

import datetime
import pickle

import numpy as np
import pytest
from gaussian_process.cases import PLACES, moving_waves
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from sktvbo import TimeVaryingGPRegressor
from sktvbo._covariance import SeparableCovariance
from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.gaussian_process import Bowl, QuadraticInjection, WeightedGPRegressor
from sktvbo.kernels import Additive, Forgetting, Separable, Wiener
from sktvbo.relevancy import RelevancySweep, spatial_convolution, temporal_convolution

BOUNDS = (1e-2, 20.0)
SPATIAL, TEMPORAL = Matern([0.4, 0.7], nu=2.5), Matern(5.0, nu=1.5)
ONCE, FIXED = ConstantKernel(1.0, "fixed"), ConstantKernel(0.3, "fixed")
ADDITIVE = ConstantKernel(0.6, BOUNDS) * Additive(Matern(0.3, nu=2.5))
DRIFT = ConstantKernel(0.4, BOUNDS) * Matern(8.0, nu=2.5)

# (persistent, drift), or None: those that compiled code knows, and those that it does not.
TERMS = {
    "additive-and-drift": (ADDITIVE, DRIFT),
    "ard": (ConstantKernel(0.5) * RBF([0.3, 0.8]), None),
    "without-variances": (Additive(Matern(0.3, nu=1.5)), Forgetting(0.2)),
    "fixed": (FIXED * Additive(RBF(0.3, "fixed")), FIXED * RBF(8.0)),
    "drift-alone": (None, DRIFT),
    "general": (0.5 * RationalQuadratic(0.4), 0.3 * RationalQuadratic(6.0)),
    "additive-general": (FIXED * Additive(RationalQuadratic(0.4)), Wiener(0.1)),
    "variance-last": (Additive(RBF(0.3)) * ConstantKernel(0.5), Matern(8.0) * FIXED),
}
GENERAL = ("general", "additive-general", "variance-last")
every_term = pytest.mark.parametrize(("persistent", "drift"), TERMS.values(), ids=list(TERMS))
both_kinds = pytest.mark.parametrize("kind", [TimeVaryingGPRegressor, WeightedGPRegressor])


def covariance(persistent, drift, kernels=(SPATIAL, TEMPORAL), d=2):
    signal, noise = (1.7, BOUNDS), (0.05, BOUNDS)
    return SeparableCovariance(*kernels, signal, noise, d, None, 0.0, persistent, drift)


def summed(persistent, drift, signal=1.7):
    """The whole by scikit-learn's sums."""
    kernel = ConstantKernel(signal) * Separable(SPATIAL, TEMPORAL)
    if persistent is not None:
        kernel += Separable(persistent, ONCE)
    return kernel if drift is None else kernel + Separable(ONCE, drift)


def data(n=30, seed=0):
    """Waves that move, waves that do not, and a level that drifts."""
    X, y = moving_waves(n, seed)
    return X, y + np.cos(6.0 * X[:, 1]) + np.sin(0.3 * X[:, 2])


def make(kind=TimeVaryingGPRegressor, **options):
    parameters = {
        "spatial_kernel": SPATIAL,
        "temporal_kernel": TEMPORAL,
        "signal_variance": 0.7,
        "noise_variance": 0.02,
        "optimizer": None,
        "persistent_kernel": ADDITIVE,
        "drift_kernel": DRIFT,
    }
    return kind(**(parameters | options))


# --- the covariance -------------------------------------------------------------------------------


@every_term
@pytest.mark.parametrize("moving", [(SPATIAL, TEMPORAL), (RationalQuadratic(0.5), TEMPORAL)])
def test_it_is_the_sum_of_its_terms(persistent, drift, moving, rng):
    c, (X, _) = covariance(persistent, drift, moving), data(9)
    S, t = X[:, :2], X[:, 2]
    expected = summed(persistent, drift) if moving[0] is SPATIAL else c.kernel
    assert_allclose(np.tril(c.gram(S, t)), np.tril(expected(X)), rtol=1e-12)
    assert_allclose(c.cross(S, t, S[:4], t[:4]), expected(X, X[:4]), rtol=1e-12)
    assert_allclose(c.cross(S, t), c.kernel(X), rtol=1e-12)
    assert_allclose(c.variance(S, t), expected.diag(X), rtol=1e-12)
    out = np.full((9, 9), np.nan)
    assert c.cross(S, t, out=out) is out
    assert_allclose(out, c.kernel(X), rtol=1e-12)


def test_above_its_diagonal_there_are_numbers():
    c, (X, _) = covariance(ADDITIVE, DRIFT), data(9)
    used = [np.full((9, 9), np.nan) for _ in range(50)]
    del used  # what is written to next was used before
    assert_array_equal(np.triu(c.gram(X[:, :2], X[:, 2]), 1), 0.0)


@every_term
def test_its_derivatives_in_theta(persistent, drift, rng):
    c, (X, _) = covariance(persistent, drift), data(9)
    S, t = X[:, :2], X[:, 2]
    a, A = rng.normal(size=9), rng.normal(size=(9, 9))
    P = A @ A.T
    found = c.gradient(S, t, c.gram(S, t), P.copy(), a)
    assert len(found) == len(c.theta) - 1 == len(c.names) - 1 == len(c.bounds) - 1

    def function(theta):
        return np.sum((np.outer(a, a) - P) * c.with_theta(np.append(theta, 0.0)).cross(S, t))

    theta, step = c.theta[:-1], 1e-5
    expected = [
        (function(theta + e) - function(theta - e)) / (2.0 * step)
        for e in step * np.eye(len(theta))
    ]
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@every_term
def test_the_products_of_its_derivatives(persistent, drift, rng):
    c, (X, _) = covariance(persistent, drift), data(9)
    S, t, a = X[:, :2], X[:, 2], rng.normal(size=9)
    found = c.slope_products(S, t, c.gram(S, t), a)
    if (persistent, drift) in [TERMS[name] for name in GENERAL]:
        assert found is None
        return
    theta, step = c.theta, 1e-5
    expected = [
        (c.with_theta(theta + e).cross(S, t) - c.with_theta(theta - e).cross(S, t))
        @ a
        / (2.0 * step)
        for e in step * np.eye(len(theta))[:-1]
    ]
    assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@every_term
def test_its_gradient_in_the_point(persistent, drift):
    c, (X, _) = covariance(persistent, drift), data(9)
    S, t = X[:, :2], X[:, 2]
    point, units = np.array([0.3, 0.6, 31.0]), c.units()

    def row(p):
        return c.cross(p[np.newaxis, :2], p[2:], S, t)[0]

    scaled = c.to_scaled(S, t)
    k, dk = c.cross_with_gradient(point[:2] * units[:2], point[2] * units[2], *scaled)
    assert_allclose(k, row(point), rtol=1e-12)
    expected = approx_fprime(point, row, 1e-7).T
    assert_allclose(dk * units[:, np.newaxis], expected, rtol=1e-5, atol=1e-5)
    k, dk = c.cross_with_gradient(point[:2], point[2], *scaled, [False, True])
    assert_allclose(dk[1], expected[1], rtol=1e-5, atol=1e-5)
    variance, slope = c.variance_with_gradient(point[:2], point[2])
    assert variance == pytest.approx(c.variance(point[np.newaxis, :2], point[2:])[0])
    expected = approx_fprime(point, lambda p: c.variance(p[np.newaxis, :2], p[2:])[0], 1e-7)
    assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


def test_time_alone_may_drift_too():
    c = covariance(None, DRIFT, (None, TEMPORAL), d=0)
    t = np.linspace(0.0, 9.0, 5)
    S, T = np.empty((5, 0)), t[:, np.newaxis]
    assert_allclose(c.cross(S, t), 1.7 * TEMPORAL(T) + DRIFT(T), rtol=1e-12)
    assert_allclose(c.kernel(T), c.cross(S, t), rtol=1e-12)


@every_term
def test_theta_there_and_back(persistent, drift):
    c, (X, _) = covariance(persistent, drift), data(5)
    S, t = X[:, :2], X[:, 2]
    moves = 0.1 * np.arange(len(c.theta))
    moved = c.with_theta(c.theta + moves)
    assert_allclose(moved.theta, c.theta + moves, rtol=1e-13)
    assert moved.names == c.names
    assert_array_equal(moved.bounds, c.bounds)
    assert_allclose(moved.cross(S, t), moved.kernel(X), rtol=1e-12)
    assert_allclose(moved.with_theta(c.theta).cross(S, t), c.cross(S, t), rtol=1e-12)
    assert_array_equal(pickle.loads(pickle.dumps(moved)).cross(S, t), moved.cross(S, t))
    assert (c.persistent, c.drift) == (persistent, drift)
    assert c.signal_variance == 1.7


def test_theta_is_in_the_order_of_its_names():
    c = covariance(ADDITIVE, DRIFT)
    values = {
        "signal_variance": [1.7],
        "spatial_kernel__length_scale": [0.4, 0.7],
        "temporal_kernel__length_scale": [5.0],
        "persistent_kernel__k1__constant_value": [0.6],
        "persistent_kernel__k2__kernel__length_scale": [0.3],
        "drift_kernel__k1__constant_value": [0.4],
        "drift_kernel__k2__length_scale": [8.0],
        "noise_variance": [0.05],
    }
    assert c.names == [name for name, value in values.items() for _ in value]
    assert_allclose(np.exp(c.theta), np.concatenate(list(values.values())), rtol=1e-13)
    assert str(c).count(" + ") == 2
    assert str(covariance(None, DRIFT)).endswith(f" + {DRIFT}")


# --- in a regressor -------------------------------------------------------------------------------


@both_kinds
@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_it_is_scikit_learns(kind, tau):
    X, y = data()
    kernel = summed(ADDITIVE, DRIFT, 0.7)
    if tau:
        kernel += ConstantKernel(tau**2)
    theirs = GaussianProcessRegressor(kernel, alpha=0.02, optimizer=None).fit(X, y)
    ours = make(kind, mean_prior_std=tau).fit(X, y)
    for found, expected in zip(
        ours.predict(PLACES, return_std=True), theirs.predict(PLACES, return_std=True)
    ):
        assert_allclose(found, expected, rtol=1e-9)
    assert_allclose(
        ours.predict(PLACES, return_cov=True)[1],
        theirs.predict(PLACES, return_cov=True)[1],
        rtol=1e-8,
        atol=1e-12,
    )
    expected = theirs.log_marginal_likelihood_value_
    assert_allclose(ours.log_marginal_likelihood_value_, expected, rtol=1e-10)


def test_the_likelihood_is_maximized():
    X, y = data(60)
    gp = make(optimizer="fmin_l_bfgs_b", mean_prior_std=1.0, warn=False).fit(X, y)
    value, gradient = gp.log_marginal_likelihood(eval_gradient=True)
    bounds = gp._gp.covariance.bounds
    inside = ~np.isclose(gp.theta_[:, np.newaxis], bounds).any(axis=1)
    assert inside.sum() >= 5
    assert np.abs(gradient[inside]).max() < 1e-2
    assert value > make(mean_prior_std=1.0).fit(X, y).log_marginal_likelihood_value_ + 1.0
    assert value > make(
        optimizer="fmin_l_bfgs_b",
        mean_prior_std=1.0,
        warn=False,
        persistent_kernel=None,
        drift_kernel=None,
    ).fit(X, y).log_marginal_likelihood_value_ + 1.0  # fmt: skip
    assert gp.persistent_kernel_.k1.constant_value != ADDITIVE.k1.constant_value
    assert gp.drift_kernel_.k2.length_scale != DRIFT.k2.length_scale
    assert make().fit(X, y).persistent_kernel_ == ADDITIVE


def test_many_updates_are_a_fresh_fit():
    X, y = data(160)
    gp, kept = make(mean_prior_std=1.0).fit(X[:20], y[:20]), [*range(20)]
    rng = np.random.RandomState(0)
    for i in range(20, 160):
        gp.partial_fit(X[i : i + 1], y[i : i + 1])
        kept.append(i)
        gp.relevancy(now=200.0)  # the inverse is kept from now on
        if rng.uniform() < 0.8:
            gone = rng.randint(len(kept))
            gp.forget([gone])
            kept.pop(gone)
    fresh = make(mean_prior_std=1.0).fit(X[kept], y[kept])
    for found, expected in zip(
        gp.predict(PLACES, return_std=True), fresh.predict(PLACES, return_std=True)
    ):
        assert_allclose(found, expected, rtol=1e-9)
    assert_allclose(gp.relevancy(now=200.0), fresh.relevancy(now=200.0), rtol=1e-7)


@pytest.mark.parametrize("tau", [0.0, 1.5])
def test_the_relevancy_is_that_of_what_moves(tau):
    """The convolutions are those of the product, the inverse covariance is that of the sum."""
    X, y = data()
    gp = make(mean_prior_std=tau).fit(X, y)
    P = np.linalg.inv(summed(ADDITIVE, DRIFT, 0.7)(X) + tau**2 + 0.02 * np.eye(len(X)))
    C = spatial_convolution(SPATIAL, X[:, :2]) * temporal_convolution(TEMPORAL, X[:, 2], 31.0)
    assert_allclose(gp.relevancy(31.0), RelevancySweep(P, P @ y, C).relevancy(), rtol=1e-6)


def test_it_tells_what_persists_from_what_drifts():
    """A sum of functions of one coordinate and of time: one that was observed at few places."""
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=(60, 4)), np.arange(60.0)])
    level = 3.0 * np.sin(0.2 * X[:, 4])
    y = np.sin(6.0 * X[:, :4]).sum(axis=1) + level + 0.05 * rng.normal(size=60)
    places = np.column_stack([rng.uniform(size=(200, 4)), np.full(200, 60.0)])
    truth = np.sin(6.0 * places[:, :4]).sum(axis=1) + 3.0 * np.sin(12.0)
    errors = []
    for terms in ({}, {"persistent_kernel": None, "drift_kernel": None}):
        gp = make(
            spatial_kernel=Matern(0.5, nu=2.5),
            optimizer="fmin_l_bfgs_b",
            normalize_y=True,
            mean_prior_std=1.0,
            warn=False,
            **terms,
        ).fit(X, y)
        errors.append(np.sqrt(np.mean((gp.predict(places) - truth) ** 2)))
    assert errors[0] < 0.25 * errors[1]


def test_with_noise_that_grows_and_a_bowl():
    X, y = data()
    options = {"noise_model": QuadraticInjection(0.02), "mean_prior_std": 1.0}
    gp = make(prior_mean=Bowl(), **options).fit(X[:-3], y[:-3]).partial_fit(X[-3:], y[-3:])
    fresh = make(prior_mean=Bowl(), **options).fit(X, y)
    assert_allclose(gp.predict(PLACES), fresh.predict(PLACES), rtol=1e-9)
    stds = fresh._gp.rows.features.stds
    phi = [fresh._gp.rows.features.polynomials(Z[:, :2]) for Z in (X, PLACES)]
    m = [fresh._gp.rows.features.expected(Z[:, :2])[:, 0] for Z in (X, PLACES)]
    kernel = summed(ADDITIVE, DRIFT, 0.7)
    noise = 0.02 * QuadraticInjection(0.02).ratio(fresh.now_ - X[:, 2])
    D = kernel(X) + 1.0 + (phi[0] * stds**2) @ phi[0].T + np.diag(noise)
    k = kernel(PLACES, X) + 1.0 + (phi[1] * stds**2) @ phi[0].T
    assert_allclose(fresh.predict(PLACES), m[1] + k @ np.linalg.solve(D, y - m[0]), rtol=1e-9)


def test_copies_are_independent_and_the_same():
    X, y = data()
    gp = make(mean_prior_std=1.0).fit(X, y)
    back = pickle.loads(pickle.dumps(gp))
    assert_array_equal(back.predict(PLACES), gp.predict(PLACES))
    assert clone(gp).persistent_kernel == ADDITIVE
    gp.partial_fit(X[:1] + 1.0, y[:1])
    assert_array_equal(back.predict(PLACES), make(mean_prior_std=1.0).fit(X, y).predict(PLACES))


@pytest.mark.parametrize("persistent", [ADDITIVE, RBF(0.5)])
def test_where_time_is_alone_nothing_persists(persistent):
    t, y = np.arange(6.0)[:, np.newaxis], np.sin(np.arange(6.0))
    gp, without = (make(persistent_kernel=p).fit(t, y) for p in (persistent, None))
    assert gp.persistent_kernel_ is None
    assert_array_equal(gp.predict(t + 0.5), without.predict(t + 0.5))


def test_a_walk_counts_from_the_times_as_given():
    X, y = data()
    X[:, 2] += 1000.0
    later = PLACES + np.array([0.0, 0.0, 1000.0])
    gp = make(persistent_kernel=None, drift_kernel=Wiener(0.1, start=990.0)).fit(X, y)
    K = summed(None, Wiener(0.1, start=990.0), 0.7)(X) + 0.02 * np.eye(len(X))
    k = summed(None, Wiener(0.1, start=990.0), 0.7)(later, X)
    assert_allclose(gp.predict(later), k @ np.linalg.solve(K, y), rtol=1e-9)


def test_durations_may_be_given():
    hour = datetime.timedelta(hours=1)
    X, y = data()
    found = make(drift_kernel=0.4 * Matern(8 * hour, (hour, 24 * hour)), time_unit="h").fit(X, y)
    expected = make(drift_kernel=0.4 * Matern(8.0, (1.0, 24.0))).fit(X, y)
    assert_array_equal(found.predict(PLACES), expected.predict(PLACES))
    assert "length_scale=8" in repr(make(drift_kernel=Matern(8 * hour), time_unit="h"))


# --- what is not possible -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["persistent_kernel", "drift_kernel"])
def test_bad_parameters(name):
    X, y = data()
    with pytest.raises(ValueError, match=f"{name}.* must be a scikit-learn kernel or None"):
        make(**{name: 1.0}).fit(X, y)
    kernels = {"persistent_kernel": None, "drift_kernel": None, name: RBF(0.5)}
    with pytest.raises(ValueError, match=f"{name}.* must be None with solver='kalman'"):
        make(solver="kalman", **kernels).fit(X, y)
    # It is not chosen where it cannot be.
    places = np.repeat(X[:2, :2], 200, axis=0)
    many = np.column_stack([places, np.arange(400.0)])
    gp = make(**kernels).fit(many, np.sin(many[:, 2]))
    assert type(gp._gp).__name__ == "Dense"


def test_what_moves_must_have_a_closed_form_all_the_same():
    X, y = data()
    gp = make(temporal_kernel=RationalQuadratic(3.0)).fit(X, y)
    with pytest.raises(UnsupportedKernelError, match="RationalQuadratic"):
        gp.relevancy()
