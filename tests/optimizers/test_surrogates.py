"""Algorithms that are their surrogate: TV-, W- and IGP-GP-UCB and UI-TVBO, written out densely."""

import numpy as np
import pytest

from sktvbo import IGPUCB, TVGPUCB, UITVBO, WGPUCB, problems
from sktvbo.acquisition import UCB

GRID = np.linspace(0.0, 1.0, 401)[:, np.newaxis]


def value(x, t):
    """Neither of mean 0 nor of scale 1, so that units matter."""
    return 30.0 + 5.0 * np.sin(6.0 * x[0] + 0.15 * t) + 0.2 * np.sin(37.0 * t)


def drive(opt, times):
    for t in times:
        x = opt.ask(float(t))
        opt.tell(x, value(x, t))
    return opt


@pytest.fixture
def asked(monkeypatch):
    """The state that the latest query's score was given, and its √β."""
    original, seen = UCB.__call__, {}

    def spy(self, mean, std, state):
        result = original(self, mean, std, state)
        seen.update(state=state, width=result[2])
        return result

    monkeypatch.setattr(UCB, "__call__", spy)
    return seen


def standardized(opt):
    y = opt.told_y_
    return (y - y.mean()) / y.std(), y.mean(), y.std()


def dense(K, noise, k, prior, y):
    """Posterior mean and variance, with the inverse written out; k is (m, n)."""
    inverse = np.linalg.inv(K + noise * np.eye(len(K)))
    return k @ inverse @ y, prior - np.einsum("ij,jk,ik->i", k, inverse, k)


def check_query(asked, x, mean, std, width):
    """The posterior and √β are those found anew at the grid, and the query is the best place."""
    got = asked["state"].posterior(np.vstack([x, GRID]))
    np.testing.assert_allclose(got[0][1:], mean, rtol=1e-6)
    np.testing.assert_allclose(got[1][1:], std, rtol=1e-5)
    assert asked["width"] == pytest.approx(width, rel=1e-7)
    score = got[0] + width * got[1]
    assert score[0] >= score[1:].max() - 1e-6 * np.ptp(score)


# --- TV-GP-UCB ------------------------------------------------------------------------------------


def forgetting_posterior(opt, epsilon, t):
    """TVGP eq. (7) and (8) at the grid at time t, in the units of y."""
    gp, X, times = opt.surrogate_, opt.X_[:, :1], opt.X_[:, 1]
    y, location, scale = standardized(opt)
    D = (1.0 - epsilon) ** (np.abs(times[:, np.newaxis] - times) / 2.0)
    d = (1.0 - epsilon) ** (np.abs(t - times) / 2.0)
    K = gp.signal_variance_ * gp.spatial_kernel_(X)
    k = gp.signal_variance_ * gp.spatial_kernel_(GRID, X)
    mean, variance = dense(K * D, gp.noise_variance_, k * d, gp.signal_variance_, y)
    return location + scale * mean, scale * np.sqrt(variance)


@pytest.mark.parametrize("origin", [0.0, 1.7e9])
@pytest.mark.parametrize("epsilon", [0.05, "learn"])
def test_tv_queries_where_the_forgetting_model_says(epsilon, origin, asked):
    opt = TVGPUCB([(0.0, 1.0)], epsilon=epsilon, n_initial_points=6, random_state=0)
    drive(opt, origin + np.arange(25.0))
    for t in origin + np.array([25.0, 25.5, 40.0]):
        x = opt.ask(t)
        rate = opt.epsilon_
        assert rate == 0.05 if epsilon == 0.05 else 0.0 < rate < 0.5
        width = np.sqrt(0.2 * np.log(2.0 * len(opt.X_)))
        check_query(asked, x, *forgetting_posterior(opt, rate, t), width)
        opt.tell(x, value(x, t))
    assert opt.n_removed_ == 0
    assert len(opt.X_) == 28


def test_tv_rate_is_that_of_the_kernel():
    opt = drive(TVGPUCB([(0.0, 1.0)], n_initial_points=6, random_state=0), range(20))
    ages = np.array([[1.0], [7.0]])
    correlations = opt.surrogate_.temporal_kernel_(np.zeros((1, 1)), ages)[0]
    np.testing.assert_allclose(correlations, (1.0 - opt.epsilon_) ** (ages[:, 0] / 2.0))


def test_tv_recovers_the_rate_of_markov_samples():
    """On average over samples, from places drawn at random (TVGP appendix B)."""
    means = []
    for epsilon in (0.02, 0.1):
        found = []
        for seed in range(6):
            problem = problems.make(
                "markov-gp", epsilon=epsilon, n_dims=1, horizon=120, random_state=seed
            )
            opt = TVGPUCB(problem.domain, n_initial_points=120, random_state=seed)
            for t in range(120):
                x = opt.ask(float(t))
                opt.tell(x, problem.observe(x, float(t)))
            found.append(opt.epsilon_)
        means.append(np.exp(np.mean(np.log(found))))
    assert 0.5 < means[0] / 0.02 < 2.0
    assert 0.5 < means[1] / 0.1 < 2.0


# --- UI-TVBO --------------------------------------------------------------------------------------


def wiener_posterior(opt, drift, t):
    """Of k_S (1 + σ_w² (min(t, t') − t_start)), t_start being the first time."""
    gp, X, times = opt.surrogate_, opt.X_[:, :1], opt.X_[:, 1]
    y, location, scale = standardized(opt)
    start = times.min()
    D = 1.0 + drift * (np.minimum(times[:, np.newaxis], times) - start)
    d = 1.0 + drift * (np.minimum(t, times) - start)
    K = gp.signal_variance_ * gp.spatial_kernel_(X)
    k = gp.signal_variance_ * gp.spatial_kernel_(GRID, X)
    prior = gp.signal_variance_ * (1.0 + drift * (t - start))
    mean, variance = dense(K * D, gp.noise_variance_, k * d, prior, y)
    return location + scale * mean, scale * np.sqrt(variance)


@pytest.mark.parametrize("origin", [0.0, 1.7e9])
@pytest.mark.parametrize("drift", [0.03, 0.5])
def test_ui_queries_where_the_wiener_model_says(drift, origin, asked):
    opt = UITVBO([(0.0, 1.0)], drift_variance=drift, n_initial_points=6, random_state=0)
    drive(opt, origin + np.arange(20.0))
    for t in origin + np.array([20.0, 20.5, 33.0]):
        x = opt.ask(t)
        width = np.sqrt(0.2 * np.log(2.0 * len(opt.X_)))
        check_query(asked, x, *wiener_posterior(opt, drift, t), width)
        opt.tell(x, value(x, t))
    assert opt.n_removed_ == 0


def test_ui_mean_is_frozen_and_variance_grows_linearly_between_observations():
    opt = UITVBO([(0.0, 1.0)], drift_variance=0.07, n_initial_points=6, random_state=0)
    drive(opt, range(20))
    gp, scale = opt.surrogate_, opt.told_y_.std()
    slope = 0.07 * gp.signal_variance_ * scale**2
    first = [p.copy() for p in gp.predict(np.column_stack([GRID, np.full(401, 19.0)]), True)]
    for later in (0.5, 10.0, 300.0):
        mean, std = gp.predict(np.column_stack([GRID, np.full(401, 19.0 + later)]), True)
        np.testing.assert_allclose(mean, first[0], rtol=1e-9)
        np.testing.assert_allclose(std**2, first[1] ** 2 + slope * later, rtol=1e-7)
    assert opt.recommend(20.0) == pytest.approx(opt.recommend(300.0), abs=1e-3)


@pytest.mark.parametrize("refit_every", [1, 1000])
def test_ui_welcomes_what_was_observed_before_the_first_time(refit_every, asked):
    opt = UITVBO([(0.0, 1.0)], n_initial_points=6, refit_every=refit_every, random_state=0)
    drive(opt, np.arange(10.0, 22.0))
    opt.tell([0.3], 27.0, 4.0)
    opt.tell([0.8], 31.0, 2.5)
    x = opt.ask(23.0)
    width = np.sqrt(0.2 * np.log(2.0 * 14))
    check_query(asked, x, *wiener_posterior(opt, 0.03, 23.0), width)
    assert opt.X_[-1].tolist() == [0.8, 2.5]


def test_ui_goes_on_when_the_first_queries_are_never_answered():
    """Pending queries from before all observations stand for hallucinated ones."""
    opt = UITVBO([(0.0, 1.0)], n_initial_points=4, random_state=0)
    opt.ask(0.0)
    drive(opt, np.arange(3.0, 12.0))
    assert np.isfinite(opt.ask(12.0)).all()


# --- W-GP-UCB -------------------------------------------------------------------------------------


def feature_space_posterior(opt, discount, t):
    """Weighted ridge regression on explicit features, with the literature's weights γ^{−s}.

    φ are rows of a root of the kernel matrix of all places, w_s = γ^{−s}, λ_t = σ² γ^{−t};
    V = Φᵀ W Φ + λ_t I, Ṽ = Φᵀ W² Φ + λ_t² / σ² I, mean φᵀ V⁻¹ Φᵀ W y and width
    s² = σ² φᵀ V⁻¹ Ṽ V⁻¹ φ.
    """
    gp, X, times = opt.surrogate_, opt.X_[:, :1], opt.X_[:, 1]
    y, location, scale = standardized(opt)
    K = gp.signal_variance_ * gp.spatial_kernel_(np.vstack([X, GRID]))
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
    gain = 0.5 * np.linalg.slogdet(np.eye(len(K)) + K / noise)[1]
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


# --- IGP-UCB --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("norm_bound", "delta"), [(1.0, 0.1), (2.5, 0.01)])
def test_igp_width_follows_the_information_gained(norm_bound, delta, asked):
    opt = IGPUCB(
        [(0.0, 1.0)], norm_bound=norm_bound, delta=delta, n_initial_points=6, random_state=0
    )
    drive(opt, range(20))
    for t in range(20, 23):
        x = opt.ask(float(t))
        gp, X = opt.surrogate_, opt.X_[:, :1]
        y, location, scale = standardized(opt)
        K = gp.signal_variance_ * gp.spatial_kernel_(X)
        k = gp.signal_variance_ * gp.spatial_kernel_(GRID, X)
        mean, variance = dense(K, gp.noise_variance_, k, gp.signal_variance_, y)
        gain = 0.5 * np.linalg.slogdet(np.eye(len(K)) + K / gp.noise_variance_)[1]
        width = norm_bound + np.sqrt(2.0 * (gain + 1.0 + np.log(1.0 / delta)))
        check_query(asked, x, location + scale * mean, scale * np.sqrt(variance), width)
        opt.tell(x, value(x, t))


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        *[
            (TVGPUCB(epsilon=bad), r"'epsilon' parameter .* float in \(0, 1\) or 'learn'")
            for bad in (0.0, 1.0, -0.1, np.nan, "guess", None)
        ],
        *[
            (UITVBO(drift_variance=bad), "'drift_variance' parameter .* positive float")
            for bad in (0.0, -1.0, np.inf, "much")
        ],
        *[(WGPUCB(discount=bad), "'discount' parameter") for bad in (0.0, 1.1, "none")],
        *[(IGPUCB(delta=bad), r"'delta' parameter .* in \(0, 1\)") for bad in (0.0, 1.0, None)],
    ],
)
def test_bad_parameters(algorithm, message):
    opt = algorithm.set_params(domain=[(0.0, 1.0)], n_initial_points=3, random_state=0)
    with pytest.raises(ValueError, match=message):
        drive(opt, range(5))
