"""Kalman filter with a level that all places share, against the dense solver."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.gaussian_process._exact_posterior import Dense
from sktvbo.gaussian_process.kalman._filter import Filter
from sktvbo.gaussian_process.kalman._state_space import process_of, state_space
from sktvbo.journal._encoding import decode, encode
from sktvbo.kernels import Forgetting, Wiener
from twins.test_filter import SITES, assert_equal, both, every_mean, grown, queries, stream

ROUGH = Matern(0.7, nu=0.5)
TWO = ConstantKernel(0.2) * Matern(1.0, nu=0.5) + ConstantKernel(2.0) * Matern(9.0, nu=1.5)
SEASON = ConstantKernel(0.3) * Matern(20.0, nu=1.5) * ExpSineSquared(5.0, 6.0)
PAIRS = {
    "Forgetting, Matern 3/2": (Forgetting(0.1), ConstantKernel(0.4) * Matern(2.0, nu=1.5)),
    "Matern 5/2, rough": (Matern(3.0, nu=2.5), ROUGH),
    "Matern 3/2, constant": (Matern(3.0, nu=1.5), ConstantKernel(0.5)),
    "static, Matern 3/2": (ConstantKernel(1.0, "fixed"), ConstantKernel(0.4) * Matern(2.0, nu=1.5)),
    "Matern 5/2, season": (Matern(3.0, nu=2.5), SEASON),
    "two, two": (ConstantKernel(0.7) * Matern(5.0, nu=2.5) + 0.3 * Forgetting(0.3), TWO),
}
every_pair = pytest.mark.parametrize(("temporal", "level"), PAIRS.values(), ids=list(PAIRS))


def implied(process, K, times):
    """Return the covariance of f at increasing times and all places, (T, M, T, M)."""
    M = K.shape[1]
    A, Q = process.transitions(np.diff(times, prepend=times[0]))
    A, P = [np.kron(a, np.eye(M)) for a in A], sum(map(np.kron, process.prior(times[0]), K))
    found = np.empty((len(times), M, len(times), M))
    for i in range(len(times)):
        if i:
            P = A[i] @ P @ A[i].T + sum(map(np.kron, Q[i], K))
        cross = P.copy()
        for j in range(i, len(times)):
            cross = A[j] @ cross if j > i else cross
            found[j, :, i] = cross[:M, :M]
            found[i, :, j] = cross[:M, :M].T
    return found


@every_pair
def test_the_process_has_the_covariance_of_the_kernels(temporal, level):
    times, S = np.array([0.0, 0.0, 1e-3, 0.7, 5.0, 5.5, 60.0]), SITES[:3]
    process = state_space(temporal, level)
    assert process.order == state_space(temporal).order + state_space(level).order
    parts = temporal, level
    K = [
        k.diag(np.zeros((1, 1)))[0] * space
        for k, space in zip(parts, [RBF(0.5)(S), np.ones((3, 3))])
    ]
    T = times[:, np.newaxis]
    expected = (
        np.einsum("ab,ij->aibj", temporal(T), RBF(0.5)(S)) + level(T)[:, np.newaxis, :, np.newaxis]
    )
    assert_allclose(implied(process, np.array(K), times), expected, rtol=1e-8, atol=1e-8)


@every_pair
def test_slopes_are_those_of_differences_in_theta(temporal, level):
    h, process = 1e-6, state_space(temporal, level)
    gaps = process.clock(np.array([0.0, 0.2, 3.0]))
    theta, n = np.append(temporal.theta, level.theta), len(temporal.theta)
    slopes = *process.slopes(gaps), process.prior_slopes(2.0)
    assert len(theta) == len(slopes[0]) == len(slopes[1]) == len(slopes[2])
    for i, step in enumerate(h * np.eye(len(theta))):
        up, down = (
            state_space(temporal.clone_with_theta(x[:n]), level.clone_with_theta(x[n:]))
            for x in (theta + step, theta - step)
        )
        pairs = zip(
            [*up.transitions(gaps), up.prior(2.0)], [*down.transitions(gaps), down.prior(2.0)]
        )
        for (above, below), slope in zip(pairs, slopes):
            assert_allclose(slope[i], (above - below) / (2.0 * h), rtol=1e-6, atol=1e-8)


@every_pair
@pytest.mark.parametrize("tau", [0.0, 2.0, np.inf])
def test_likelihoods_and_their_gradients_elsewhere(temporal, level, tau):
    kernels = {"temporal_kernel": temporal, "level_kernel": level}
    gps = both(*stream(), mean_prior_std=tau, **kernels)
    theta = gps[0].theta_ + np.linspace(-0.3, 0.3, len(gps[0].theta_))
    (one, slope), (other, found) = (gp.log_marginal_likelihood(theta, True) for gp in gps)
    # The series of a season omits 1e-10 of the variance.
    assert_allclose(other, one, rtol=1e-8 if level is SEASON else 1e-10)
    assert_allclose(found, slope, rtol=1e-7, atol=1e-7 * np.abs(slope).max())


@every_pair
def test_queries_after_all_changes(temporal, level):
    """At sites, new sites and other places; in order, late, very late, and forgotten."""
    rng = np.random.RandomState(0)
    X, y = stream(60)
    X = X[np.argsort(X[:, -1], kind="stable")]
    options = {"temporal_kernel": temporal, "level_kernel": level, "mean_prior_std": 2.0}
    dense, kalman = both(X[:40], y[:40], normalize_y=True, **options)
    assert_equal(dense, kalman)
    end = X[-1, -1]
    late = [
        [*SITES[0], end - 0.7],
        [0.11, 0.77, end + 0.2],
        [*SITES[3], 1.3],
        [0.4, 0.9, end + 3.0],
    ]
    grown(dense, kalman, zip([*X[40:], *late], rng.normal(size=24)))
    assert_equal(dense, kalman)
    for gp in (dense, kalman):
        gp.forget([0, 7, 33])
    assert_equal(dense, kalman)
    for again in (pickle.loads(pickle.dumps(kalman)), decode(encode(kalman))):
        assert_equal(dense, again, draws=False)


def test_many_sites_whose_steps_wait_to_be_settled():
    axis, rng = np.linspace(0.0, 1.0, 10), np.random.RandomState(0)
    grid = np.array([(a, b) for a in axis for b in axis])
    times = np.cumsum(rng.choice([0.0, 0.5, 2.0], size=100))
    X, y = np.column_stack([grid[rng.randint(100, size=100)], times]), rng.normal(size=100)
    dense, kalman = both(X[:10], y[:10], sites=grid, level_kernel=ROUGH, mean_prior_std=1.0)
    for i in range(10, 100):
        kalman.partial_fit(X[i : i + 1], y[i : i + 1])
    assert kalman._gp.state.n_pending > 0
    assert_equal(dense.fit(X, y), kalman, queries(sites=grid[:5]), draws=False)


@pytest.mark.parametrize("bounds", ["fixed", (1e-3, 1e3)], ids=["fixed", "learnt"])
def test_gradients_with_fixed_hyperparameters(bounds):
    level = ConstantKernel(0.4, "fixed") * Matern(2.0, bounds, nu=1.5)
    options = {"temporal_kernel": Matern(3.0, "fixed", nu=1.5), "level_kernel": level}
    dense, kalman = both(*stream(), signal_variance_bounds=bounds, **options)
    one, other = (gp.log_marginal_likelihood(gp.theta_, True)[1] for gp in (dense, kalman))
    assert_allclose(other, one, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("spatial", [None, RBF(0.4)], ids=["time alone", "one place"])
def test_one_place(spatial):
    t = np.sort(np.random.RandomState(0).uniform(0.0, 20.0, 60))
    X = t[:, np.newaxis] if spatial is None else np.column_stack([np.full(60, 0.3), t])
    options = {"spatial_kernel": spatial, "level_kernel": ROUGH}
    dense, kalman = both(X, np.sin(t), mean_prior_std=1.0, **options)
    Q = np.linspace(-3.0, 25.0, 30)[:, np.newaxis]
    if spatial is not None:
        Q = np.column_stack([np.linspace(0.0, 0.9, 30), Q])
    assert_equal(dense, kalman, Q)


def test_many_rows_and_little_noise():
    """The components of the level stay the same at all places."""
    rng, n = np.random.RandomState(0), 5000
    t = np.cumsum(rng.choice([0.0, 1e-6, 0.3, 1.0], size=n))
    X = np.column_stack([SITES[rng.randint(len(SITES), size=n)], t])
    y = np.sin(4.0 * X[:, 0] + t / 30.0) + np.sin(t / 3.0) + 1e-3 * rng.normal(size=n)
    options = {"temporal_kernel": Matern(5.0, nu=2.5), "level_kernel": TWO}
    gp = TimeVaryingGPRegressor(
        RBF(0.5), solver="kalman", noise_variance=1e-6, optimizer=None, **options
    ).fit(X, y)
    latest = clone(gp).set_params(solver="dense").fit(X[-500:], y[-500:])
    Q = np.column_stack([queries()[:, :2], t[-1] + np.linspace(0.0, 9.0, 10)])
    assert_allclose(gp.predict(Q, True), latest.predict(Q, True), rtol=1e-6, atol=1e-6)
    state = gp._gp.state
    p, M, level = state.process.order, state.M, state.process.level
    P, m = state.P.reshape(p, M, p, M)[level, :, level], state.m.reshape(-1, p, M)[0, level]
    assert_allclose(P, P[0, 0], rtol=1e-6)
    assert_allclose(m, m[0], rtol=1e-6)


# --- views ----------------------------------------------------------------------------------------


@every_pair
@every_mean
def test_views_and_their_gradients(temporal, level, tau):
    options = {"temporal_kernel": temporal, "level_kernel": level, "mean_prior_std": tau}
    dense, kalman = both(*stream(), normalize_y=True, **options)
    S = np.vstack([SITES, queries()[5:, :2]])
    for t in (7.3, 25.0):
        for with_level in (True, False):
            one, other = (gp.posterior_at(t, level=with_level) for gp in (dense, kalman))
            assert_allclose(other(S), one(S), rtol=1e-7)
            for place in (SITES[1], np.array([0.3, 0.4])):
                for a, b in zip(one.with_gradient(place), other.with_gradient(place)):
                    assert_allclose(b, a, rtol=1e-7, atol=1e-7)
    windows = [gp.fitted_.posterior_between(21.0, 25.0) for gp in (dense, kalman)]
    one, other = (view.with_gradient(np.array([0.1, 0.2, 0.3])) for view in windows)
    for a, b in zip(one, other):
        assert_allclose(b, a, rtol=1e-6, atol=1e-7)


@every_pair
@every_mean
@pytest.mark.parametrize("t", [7.3, 25.0])
def test_deviations_at_one_time(temporal, level, tau, t):
    """g + E[level]: the part that depends on the place, around the mean of the level."""
    options = {"temporal_kernel": temporal, "level_kernel": level, "mean_prior_std": tau}
    dense, kalman = both(*stream(), normalize_y=True, **options)
    gp, since = dense._gp, t - dense._gp.rows.layout.origin
    S, rows, signal = np.vstack([SITES, queries()[5:, :2]]), gp.rows, gp.covariance.signal_variance
    times = np.full((len(S), 1), since)
    in_time = gp.covariance.temporal
    K = signal * gp.covariance.spatial(S, rows.S) * in_time(times, rows.t[:, np.newaxis])
    on_level = signal * gp.covariance.level(times, rows.t[:, np.newaxis])
    mean = gp.mean.value + (K + on_level) @ gp.weights
    cov = signal * gp.covariance.spatial(S) * in_time(times)
    cov += replace(gp.mean, share=0.0).covariance(K, True) - gp.variance_reduction(K.copy(), True)
    found = kalman._gp.during(since, since, level=False)
    for full, spread in ((True, cov), (False, np.diagonal(cov))):
        one, other = found.joint(S, times[:, 0], full)
        assert_allclose((one - rows.location) / rows.scale, mean, rtol=1e-8, atol=1e-8)
        assert_allclose(other, spread, rtol=1e-8, atol=1e-8)
    assert found.covariance.level is None


def test_terms_are_those_of_the_dense_solver():
    options = {"temporal_kernel": Matern(5.0, nu=2.5) + 0.3 * Forgetting(0.3), "level_kernel": TWO}
    dense, kalman = both(*stream(), mean_prior_std=2.0, **options)
    one, other = (gp.predict_terms(queries(), return_std=True) for gp in (dense, kalman))
    assert_allclose(other, one, rtol=1e-6, atol=1e-6)


# --- choice of the solver -------------------------------------------------------------------------


def test_a_fit_finds_the_same_hyperparameters():
    rng = np.random.RandomState(3)
    t = np.repeat(np.arange(30.0), len(SITES))
    X = np.column_stack([np.tile(SITES, (30, 1)), t])
    wave = np.repeat(np.cumsum(rng.normal(size=30)), len(SITES))
    y = np.sin(4.0 * X[:, 0] + 3.0 * X[:, 1] + 0.4 * t) + 0.3 * wave + 0.1 * rng.normal(size=len(t))
    options = {"level_kernel": ConstantKernel(0.5) * Matern(2.0, nu=0.5), "mean_prior_std": 1.0}
    dense, kalman = both(X, y, optimizer="fmin_l_bfgs_b", **options)
    # Both searches may end elsewhere near the optimum: the filter has no information matrix.
    values = [gp.log_marginal_likelihood_value_ for gp in (kalman, dense)]
    assert values[0] > values[1] - 0.1
    assert_allclose(kalman.theta_, dense.theta_, rtol=0.1, atol=0.1)


def test_auto_uses_the_filter_for_many_rows_of_few_sites():
    X, y = stream(1000)
    options = {"temporal_kernel": Matern(3.0, nu=1.5), "level_kernel": ROUGH, "optimizer": None}
    gp = TimeVaryingGPRegressor(**options)
    assert gp.solver == "auto"
    fitted = {n: clone(gp).fit(X[:n], y[:n]) for n in (30, 1000)}
    assert [type(each._gp) for each in fitted.values()] == [Dense, Filter]
    process = process_of(fitted[1000]._gp.covariance)
    assert (process.order, process.level) == (3, 2)


@pytest.mark.parametrize(
    "kernels",
    [
        {"temporal_kernel": Matern(3.0), "level_kernel": RBF()},
        {"temporal_kernel": Matern(3.0), "level_kernel": Wiener(0.1, start=-1.0)},
        {"temporal_kernel": Wiener(0.1, start=-1.0), "level_kernel": Matern(3.0)},
    ],
    ids=["RBF", "Wiener level", "Wiener"],
)
def test_levels_without_a_filter(kernels):
    X, y = stream(300)
    gp = TimeVaryingGPRegressor(**kernels, optimizer=None)
    assert type(gp.fit(X, y)._gp) is Dense
    with pytest.raises(UnsupportedKernelError, match="no Kalman filter"):
        gp.set_params(solver="kalman").fit(X, y)
