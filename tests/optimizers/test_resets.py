"""Algorithms that forget by resets and windows: R-, BR-, SW- and ET-GP-UCB."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.dense import drive as driven
from optimizers.dense import information_gain, make
from scipy.optimize import minimize
from scipy.stats import gamma, qmc
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo import BRGPUCB, ETGPUCB, RGPUCB, SWGPUCB, TimeVaryingGPRegressor
from sktvbo.acquisition import UCB, InformationGainBeta
from sktvbo.domain import Arms
from sktvbo.kernels import Empirical


def value(x, t):
    return np.sin(6.0 * x[0] + 0.3 * t) + 0.05 * np.sin(37.0 * t)


def drive(opt, times):
    return driven(opt, times, value)


# --- the variation budget -------------------------------------------------------------------------


def greedy_gain(gp, n_dims, horizon):
    """γ_T by brute force: the whole posterior covariance after each choice."""
    places = qmc.Sobol(n_dims, scramble=False).random(256)
    K, noise = gp.signal_variance_ * gp.spatial_kernel_(places), gp.noise_variance_
    gain = 0.0
    for _ in range(horizon):
        i = np.argmax(np.diag(K))
        gain += 0.5 * np.log(1.0 + K[i, i] / noise)
        K = K - np.outer(K[:, i], K[i]) / (K[i, i] + noise)
    return gain


def test_block_follows_the_variation_budget():
    horizon, budget = 100, 4.0
    options = {"horizon": horizon, "variation_budget": budget}
    opt = drive(make(BRGPUCB, domain=[(0.0, 2.0), (-1.0, 1.0)], **options), range(6))
    size, period, periods = 6, 0, []
    for t in range(6, 45):
        gp = opt.surrogate_
        drive(opt, [t])
        size += 1
        if size > period:  # how long blocks should be is asked when one is full
            length = greedy_gain(gp, 2, horizon) ** 0.25 * np.sqrt(horizon / budget)
            period = int(np.ceil(length))
            periods.append(period)
        if size > period:
            size = 1
        assert opt.policy_.period_ == period
        assert len(opt.X_) == size
    assert len(periods) >= 2
    assert opt.policy_.n_resets_ >= 1
    assert max(periods) < horizon


@pytest.mark.parametrize(("horizon", "budget"), [(60, 2.0), (30, 1.0)])
def test_window_follows_the_variation_budget(horizon, budget):
    opt = drive(make(SWGPUCB, horizon=horizon, variation_budget=budget), range(6))
    gp = opt.surrogate_  # the window is that of the first one
    window = int(np.ceil(greedy_gain(gp, 1, horizon) ** 0.25 * np.sqrt(horizon / budget)))
    drive(opt, range(6, 30))
    assert opt.policy_.window_ == window
    assert 4 < window < 22
    assert_array_equal(opt.X_[:, 1], np.arange(30.0)[-window:])


# --- SW-GP-UCB ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "size"), [(BRGPUCB, "reset_period"), (SWGPUCB, "window")])
def test_width_follows_what_the_window_or_block_tells(kind, size, asked):
    """√β = 1 + √(2 (γ + 1 + log 10)), γ being the information gain of the data set alone."""
    acquisition = UCB(InformationGainBeta())
    opt = drive(make(kind, acquisition=acquisition, **{size: 11}), range(6))
    for t in range(6, 25):
        gp = opt.surrogate_
        K = gp.signal_variance_ * gp.spatial_kernel_(opt.X_[:, :1])
        gain = information_gain(K, gp.noise_variance_)
        asked.clear()
        drive(opt, [t])
        expected = 1.0 + np.sqrt(2.0 * (gain + 1.0 + np.log(10.0)))
        assert_allclose(asked["width"], expected, rtol=1e-6)
    assert opt.n_removed_ > 5


@pytest.mark.parametrize(("kind", "size"), [(SWGPUCB, 25), (BRGPUCB, 2)])
def test_without_arguments_a_window_has_25_and_a_block_50(kind, size):
    opt = make(kind, refit_every=1000)
    for t in range(52):
        opt.tell([0.1 + 0.01 * t], np.sin(t), t)
    assert len(opt.X_) == size
    assert opt.n_removed_ == 52 - size
    assert 0.0 <= opt.ask(52.0)[0] <= 1.0


# --- R-GP-UCB -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("algorithm", "n_initial_points"), [(RGPUCB, 12), (BRGPUCB, 4)])
def test_blocks_of_a_given_length(algorithm, n_initial_points):
    """Resets come after each N observations; the initial points are part of the first block."""
    period = 9
    opt = make(algorithm, reset_period=period, n_initial_points=n_initial_points)
    sizes = []
    for t in range(40):
        drive(opt, [t])
        sizes.append(len(opt.X_))
    first = max(period, n_initial_points)  # no block ends before there is a surrogate
    expected = [*range(1, first + 1), *[1 + t % period for t in range(40 - first)]]
    assert sizes == expected
    assert opt.policy_.n_resets_ == expected.count(1) - 1 == opt.history_["n_resets"][-1]
    newest = np.arange(40.0)[-expected[-1] :]
    assert_array_equal(opt.X_[:, 1], newest)
    # Forgotten at the time of the first observation of the next block.
    starts = np.flatnonzero(np.array(expected) == 1)
    for start, end in pairwise(starts):
        assert np.all(opt.removed_at_[start:end] == end)


def minus_likelihood(theta, X, y):
    """Minus the log marginal likelihood of TVGP's model and a mean, one unit of time a row."""
    signal, space, time, noise = np.exp(theta)
    steps = np.arange(float(len(y)))[:, np.newaxis]
    K = 1.0 + signal * Matern(space, nu=2.5)(X) * np.exp(-np.abs(steps - steps.T) / time)
    L = np.linalg.cholesky(K + noise * np.eye(len(y)))
    z = np.linalg.solve(L, y)
    return 0.5 * z @ z + np.log(np.diag(L)).sum() + 0.5 * len(y) * np.log(2.0 * np.pi)


def best_likelihood(X, y, epsilon=None):
    """The largest log marginal likelihood, of all ε or of one."""
    bounds = np.log([(0.05, 20.0), (0.01, 2.0), -2.0 / np.log1p([-0.9, -1e-5]), (1e-4, 1.0)])
    start = np.log([1.0, 0.5, 20.0, 1e-2])
    if epsilon is not None:
        start[2] = np.log(-2.0 / np.log1p(-epsilon))
        bounds[2] = start[2]
    found = minimize(minus_likelihood, start, args=(X, y), method="L-BFGS-B", bounds=bounds)
    return -found.fun


@pytest.mark.parametrize("maximize", [pytest.param(True, marks=pytest.mark.slow), False])
def test_learnt_blocks_follow_the_likelihood_of_the_rate(maximize):
    """ε maximizes the marginal likelihood of all that was told, N is TVGP's of ε."""
    options = {"n_initial_points": 20, "refit_every": 10, "maximize": maximize}
    opt = make(RGPUCB, domain=[(-1.0, 3.0)], **options)
    rng = np.random.RandomState(0)
    f, learnt, size = rng.standard_normal(6), [], 0
    for t in range(75):
        x = opt.ask(float(3 * t))  # ε is per observation, whatever the time between them
        f = np.sqrt(0.8) * f + np.sqrt(0.2) * rng.standard_normal(6)  # eq. (4) with ε = 0.2
        before = getattr(opt.policy_, "epsilon_", None), opt.told_X_, opt.told_y_
        opt.tell(x, 5.0 + np.interp(x[0], np.linspace(-1.0, 3.0, 6), f))
        if t < 20:
            continue
        size = size + 1 if t > 20 else 21
        epsilon = opt.policy_.epsilon_
        if epsilon != before[0]:
            X, y = (before[1][:, :1] + 1.0) / 4.0, before[2]
            y = (y - y.mean()) / y.std()
            # A search that goes on from another one ends where it predicts to gain less than 1e-3.
            assert best_likelihood(X, y, epsilon) >= best_likelihood(X, y) - 3e-3
            c = 2.0 / (2.0 * 2.5 + 2.0)  # d = 1, ν = 5/2
            period = int(np.ceil(24.0 * epsilon ** (-1.0 / (4.0 - c))))
            learnt.append(t)
        if size > period:
            size = 1
        assert opt.policy_.period_ == period
        assert len(opt.X_) == size
        assert opt.history_["epsilon"][-1] == epsilon
    assert len(learnt) >= 2  # at the first observation after the initial ones, and at a full block
    assert opt.policy_.n_resets_ >= 1
    assert 0.03 < epsilon < 0.6


def arms_likelihood(rate, C, arms, y, noise):
    """Log marginal likelihood of a rate of change per observation, of arms with covariance C."""
    steps = np.arange(float(len(y)))
    D = (1.0 - rate) ** (np.abs(steps[:, np.newaxis] - steps) / 2.0)
    K = C[np.ix_(arms, arms)] * D + noise * np.eye(len(y))
    return -0.5 * y @ np.linalg.solve(K, y) - 0.5 * np.linalg.slogdet(K)[1]


@pytest.mark.parametrize("held", [True, False])
def test_the_rate_is_learnt_under_the_users_own_kernel(held):
    """Arms whose indices say nothing: with their covariance, held or searched, ε is found."""
    rng = np.random.RandomState(1)
    A = rng.normal(size=(10, 3))
    C = A @ A.T / 3.0
    surrogate = TimeVaryingGPRegressor(
        Empirical(C),
        ConstantKernel(1.0, "fixed"),
        noise_variance=0.05,
        **{"optimizer": None} if held else {"signal_variance_bounds": "fixed"},
    )
    opt = make(RGPUCB, domain=Arms(10), surrogate=surrogate, n_initial_points=60)
    f, arms, y = A @ rng.normal(size=3) / np.sqrt(3.0), rng.randint(10, size=61), []
    for t, arm in enumerate(arms):
        f = np.sqrt(0.9) * f + np.sqrt(0.1) * A @ rng.normal(size=3) / np.sqrt(3.0)
        y.append(f[arm] + np.sqrt(0.05) * rng.normal())
        opt.tell([arm], y[-1], 5.0 * t)
    # It is learnt at the first observation after the initial ones, from these.
    found, rates = opt.policy_.epsilon_, np.geomspace(1e-4, 0.89, 60)

    def best(rate):
        noises = [0.05] if held else np.geomspace(1e-3, 1.0, 60)
        return max(arms_likelihood(rate, C, arms[:60], np.array(y[:60]), n) for n in noises)

    assert best(found) >= max(map(best, rates)) - 1e-2
    assert 0.03 < found < 0.3
    assert opt.policy_.period_ == int(np.ceil(24.0 * found ** (-1.0 / (4.0 - 2.0 / 7.0))))
    assert opt.get_params()["surrogate__optimizer"] == surrogate.optimizer


def test_priors_of_the_surrogates_own_temporal_kernel_are_left_out():
    surrogate = TimeVaryingGPRegressor(
        RBF(0.3),
        RBF(20.0),
        hyperpriors={
            "temporal_kernel__length_scale": gamma(3.0, scale=10.0),
            "spatial_kernel__length_scale": gamma(3.0, scale=0.1),
        },
        normalize_y=True,
    )
    opt = drive(make(RGPUCB, surrogate=surrogate, n_initial_points=8), range(12))
    # An RBF in space has another exponent.
    assert opt.policy_.period_ == int(np.ceil(12.0 * opt.policy_.epsilon_**-0.25))


# --- ET-GP-UCB ------------------------------------------------------------------------------------

DELTA = 0.2
N_INITIAL = 12
JUMPS = (25, 45)


def bump(x, t):
    """A bump that jumps twice, in units of its own."""
    place = 0.2 + 0.5 * (t >= JUMPS[0]) - 0.3 * (t >= JUMPS[1])
    return 40.0 + 7.0 * np.exp(-20.0 * (x[0] - place) ** 2) + 0.1 * np.sin(37.0 * t)


class ZeroMean(ETGPUCB):
    """Of a known mean, so that the data tell what y was standardized by."""

    def _make_surrogate(self, times):
        return super()._make_surrogate(times).set_params(mean_prior_std=0.0)


def location_and_scale(gp):
    """Return location and scale of y, from the prior mean far away and σ in both units."""
    far = gp.predict([[1e6, gp.now_]])[0]
    return far, gp.noise_std_ / np.sqrt(gp.noise_variance_)


def trigger(gp, y_train, x, y, steps, delta):
    """Eq. (10) and (11) by scikit-learn, in the units of y."""
    mean, scale = location_and_scale(gp)
    reference = GaussianProcessRegressor(
        ConstantKernel(gp.signal_variance_) * gp.spatial_kernel_,
        alpha=gp.noise_variance_,
        optimizer=None,
    ).fit(gp.X_train_[:, :-1], (y_train - mean) / scale)
    mu, sigma = reference.predict(x[np.newaxis], return_std=True)
    log = np.log(2.0 * (np.pi**2 * steps**2 / 6.0) / delta)
    noise_bound = np.sqrt(2.0 * gp.noise_variance_ * scale**2 * log)
    return abs(y - mean - scale * mu[0]), np.sqrt(2.0 * log) * scale * sigma[0] + noise_bound


@pytest.mark.parametrize("maximize", [pytest.param(True, marks=pytest.mark.slow), False])
def test_trigger_recomputed_with_scikit_learn(maximize):
    sign = 1.0 if maximize else -1.0
    opt = make(ZeroMean, delta=DELTA, n_initial_points=N_INITIAL, maximize=maximize)
    resets, last_reset = [], -1
    for t in range(60):
        x = opt.ask(float(t))
        y = bump(x, t)
        gp, y_train = opt.surrogate_, sign * opt.y_
        opt.tell(x, sign * y)
        if gp is None:
            continue
        if len(gp.X_train_) > N_INITIAL:
            expected = y_train.mean(), y_train.std()
            assert location_and_scale(gp) == pytest.approx(expected, rel=1e-6)
        steps = t - last_reset
        deviation, bound = trigger(gp, y_train, x, y, steps, DELTA)
        assert opt.policy_.deviation_ == pytest.approx(deviation, rel=1e-5, abs=1e-6)
        assert opt.policy_.bound_ == pytest.approx(bound, rel=1e-5)
        if deviation > bound:
            assert opt.X_.tolist() == [[*x, t]]
            assert opt.y_.tolist() == [sign * y]
            resets.append(t)
            last_reset = t
        else:
            assert len(opt.X_) == len(y_train) + 1
        assert opt.policy_.n_resets_ == len(resets)
        assert opt.history_["n_resets"][-1] == len(resets)
    assert 2 <= len(resets) <= 6
    for jump in JUMPS:  # noticed within a few queries
        assert any(jump <= t < jump + 5 for t in resets)
