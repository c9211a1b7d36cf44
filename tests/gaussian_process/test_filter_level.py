"""Kalman filter with a level that all places share, against the dense solver."""

from dataclasses import replace

import numpy as np
import pytest
from gaussian_process.test_filter import (
    LEVELS,
    PAIRS,
    SITES,
    TEMPORAL,
    assert_equal,
    both,
    every_mean,
    queries,
    stream,
)
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process._exact_posterior import Dense
from sktvbo.gaussian_process.kalman._filter import Filter
from sktvbo.gaussian_process.kalman._state_space import outputs, process_of, state_space
from sktvbo.kernels import Wiener

every_pair = pytest.mark.parametrize(
    ("temporal", "level"),
    [(TEMPORAL[a], LEVELS[b]) for a, b in PAIRS],
    ids=map(", ".join, PAIRS),
)


def implied(process, K, times):
    """Return the covariance of f at increasing times and all places, (T, M, T, M)."""
    p, M = process.order, K.shape[1]

    def in_space(Q):
        return sum(np.kron(q, k) for q, k in zip(Q.reshape(-1, p, p), K.reshape(-1, M, M)))

    A, Q = process.transitions(
        np.diff(process.clock(times), axis=0, prepend=process.clock(times[:1]))
    )
    A, P = [np.kron(a, np.eye(M)) for a in A], in_space(process.prior(times[0]))
    found = np.empty((len(times), M, len(times), M))
    for i in range(len(times)):
        if i:
            P = A[i] @ P @ A[i].T + in_space(Q[i])
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
    assert_allclose(implied(process, np.vstack(K), times), expected, rtol=1e-8, atol=1e-8)


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
    options = {"spatial_kernel": spatial, "level_kernel": LEVELS["Matern 1/2"]}
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
    options = {"temporal_kernel": Matern(5.0, nu=2.5), "level_kernel": LEVELS["sum"]}
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


def test_a_level_may_take_a_random_walk_from_the_first_time_on():
    X, y, *_ = stream()
    X = X + np.array([0.0, 0.0, 1000.0])
    level = Wiener(0.05, start=X[:, -1].min())
    options = {"temporal_kernel": Matern(9.0, nu=1.5), "level_kernel": level, "optimizer": None}
    models = [
        TimeVaryingGPRegressor(solver=solver, **options).fit(X, y) for solver in ("dense", "kalman")
    ]
    later = [[0.1, 0.2, X[:, -1].max() + 3.0], [*SITES[0], X[:, -1].mean()]]
    one, other = (gp.predict(later, return_std=True) for gp in models)
    assert_allclose(other, one, rtol=1e-7)


def test_terms_are_those_of_the_dense_solver():
    options = {"temporal_kernel": TEMPORAL["sum"], "level_kernel": LEVELS["sum"]}
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
    assert_allclose(kalman.theta_, dense.theta_, rtol=1e-3, atol=1e-3)
    assert_allclose(
        kalman.log_marginal_likelihood_value_, dense.log_marginal_likelihood_value_, rtol=1e-8
    )


def test_auto_uses_the_filter_for_many_rows_of_few_sites():
    X, y = stream(1000)
    gp = TimeVaryingGPRegressor(
        temporal_kernel=Matern(3.0, nu=1.5), level_kernel=LEVELS["Matern 1/2"], optimizer=None
    )
    assert gp.solver == "auto"
    fitted = {n: clone(gp).fit(X[:n], y[:n]) for n in (30, 1000)}
    assert [type(each._gp) for each in fitted.values()] == [Dense, Filter]
    process = process_of(fitted[1000]._gp.covariance)
    assert (process.order, process.level, list(outputs(process, 2))) == (3, 2, [0, 1, 4])
    without = clone(gp).set_params(level_kernel=RBF()).fit(X[:600], y[:600])
    assert type(without._gp) is Dense
