"""Blocks and windows: R-, BR- and SW-GP-UCB, with their lengths computed anew."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import qmc
from sklearn.gaussian_process.kernels import Matern

from sktvbo import BRGPUCB, RGPUCB, SWGPUCB
from sktvbo.acquisition import UCB


def value(x, t, speed=0.3):
    return np.sin(6.0 * x[0] + speed * t) + 0.05 * np.sin(37.0 * t)


def drive(opt, times, speed=0.3):
    for t in times:
        x = opt.ask(float(t))
        opt.tell(x, value(x, t, speed))


# --- R-GP-UCB -------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [RGPUCB, BRGPUCB])
@pytest.mark.parametrize("n_initial_points", [4, 12])
def test_blocks_of_a_given_length(algorithm, n_initial_points):
    """Resets come after each N observations; the initial points are part of the first block."""
    period = 9
    opt = algorithm(
        [(0.0, 1.0)], reset_period=period, n_initial_points=n_initial_points, random_state=0
    )
    sizes = []
    for t in range(40):
        drive(opt, [t])
        sizes.append(len(opt.X_))
    first = max(period, n_initial_points)  # no block ends before there is a surrogate
    expected = [*range(1, first + 1), *[1 + t % period for t in range(40 - first)]]
    assert sizes == expected
    assert opt.policy_.n_resets_ == expected.count(1) - 1 == opt.history_["n_resets"][-1]
    newest = np.arange(40.0)[-expected[-1] :]
    np.testing.assert_array_equal(opt.X_[:, 1], newest)
    # Forgotten at the time of the first observation of the next block.
    starts = np.flatnonzero(np.array(expected) == 1)
    for start, end in pairwise(starts):
        assert np.all(opt.removed_at_[start:end] == end)


def minus_likelihood(theta, X, y):
    """Minus the log marginal likelihood of TVGP's model, one unit of time an observation."""
    signal, space, time, noise = np.exp(theta)
    steps = np.arange(float(len(y)))[:, np.newaxis]
    K = signal * Matern(space, nu=2.5)(X) * np.exp(-np.abs(steps - steps.T) / time)
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


@pytest.mark.parametrize("maximize", [True, False])
def test_learnt_blocks_follow_the_likelihood_of_the_rate(maximize):
    """ε maximizes the marginal likelihood of all that was told, N is TVGP's of ε."""
    opt = RGPUCB(
        [(-1.0, 3.0)], n_initial_points=20, refit_every=10, maximize=maximize, random_state=0
    )
    rng = np.random.RandomState(0)
    f, learnt, size = rng.standard_normal(6), [], 0
    for t in range(75):
        x = opt.ask(float(3 * t))  # ε is per observation, whatever the time between them
        f = np.sqrt(0.8) * f + np.sqrt(0.2) * rng.standard_normal(6)  # eq. (4) with ε = 0.2
        before = vars(opt.policy_).get("epsilon_"), opt.told_X_, opt.told_y_
        opt.tell(x, 5.0 + np.interp(x[0], np.linspace(-1.0, 3.0, 6), f))
        if t < 20:
            continue
        size = size + 1 if t > 20 else 21
        epsilon = opt.policy_.epsilon_
        if epsilon != before[0]:
            X, y = (before[1][:, :1] + 1.0) / 4.0, before[2]
            y = (y - y.mean()) / y.std()
            assert best_likelihood(X, y, epsilon) >= best_likelihood(X, y) - 1e-3
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


def test_a_faster_change_makes_shorter_blocks():
    periods = []
    for speed in (0.02, 1.0):
        opt = RGPUCB([(0.0, 1.0)], n_initial_points=25, refit_every=50, random_state=0)
        drive(opt, range(26), speed)
        periods.append(opt.policy_.period_)
    assert periods[1] < periods[0]


# --- the variation budget of BR- and SW-GP-UCB ----------------------------------------------------


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


@pytest.mark.parametrize(("horizon", "budget"), [(100, 4.0), (60, 1.0)])
def test_block_follows_the_variation_budget(horizon, budget):
    opt = BRGPUCB(
        [(0.0, 2.0), (-1.0, 1.0)],
        horizon=horizon,
        variation_budget=budget,
        n_initial_points=6,
        random_state=0,
    )
    size, period, periods = 6, 0, []
    drive(opt, range(6))
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
    opt = SWGPUCB(
        [(0.0, 1.0)],
        horizon=horizon,
        variation_budget=budget,
        n_initial_points=8,
        random_state=0,
    )
    drive(opt, range(8))
    gp = opt.surrogate_  # the window is that of the first one
    window = int(np.ceil(greedy_gain(gp, 1, horizon) ** 0.25 * np.sqrt(horizon / budget)))
    drive(opt, range(8, 30))
    assert opt.policy_.window_ == window
    assert 4 < window < 22
    np.testing.assert_array_equal(opt.X_[:, 1], np.arange(30.0)[-window:])


def test_a_budget_of_hardly_any_change_keeps_the_horizon():
    opt = SWGPUCB(
        [(0.0, 1.0)], horizon=20, variation_budget=1e-6, n_initial_points=4, random_state=0
    )
    drive(opt, range(25))
    assert opt.policy_.window_ == len(opt.X_) == 20


# --- SW-GP-UCB ------------------------------------------------------------------------------------


def test_window_holds_the_latest_by_time_also_when_told_late():
    opt = SWGPUCB([(0.0, 1.0)], window=8, n_initial_points=4, random_state=0)
    drive(opt, range(12))
    assert opt.X_[:, 1].tolist() == [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]

    opt.tell([0.5], 0.7, 6.5)  # late, within the window
    assert opt.X_[:, 1].tolist() == [5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 6.5]
    assert opt.removed_at_[4] == 11.0

    opt.tell([0.25], 0.1, 1.5)  # older than the window
    assert opt.X_[:, 1].tolist() == [5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 6.5]
    assert opt.told_X_[-1].tolist() == [0.25, 1.5]
    assert opt.removed_at_[-1] == 11.0
    np.testing.assert_array_equal(opt.surrogate_.X_train_, opt.X_)
    np.testing.assert_array_equal(opt.surrogate_.y_train_, opt.y_)

    drive(opt, [12])
    assert opt.X_[:, 1].tolist() == [6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 6.5, 12.0]


@pytest.mark.parametrize(
    "algorithm", [BRGPUCB(reset_period=14), SWGPUCB(window=11)], ids=["BR", "SW"]
)
def test_width_follows_what_the_window_or_block_tells(algorithm, monkeypatch):
    """√β = 1 + √(2 (γ + 1 + log 10)), γ being the information gain of the data set alone."""
    opt = algorithm.set_params(domain=[(0.0, 1.0)], n_initial_points=5, random_state=0)
    original, widths = UCB.__call__, []

    def spy(self, mean, std, state):
        result = original(self, mean, std, state)
        widths.append(result[2])
        return result

    monkeypatch.setattr(UCB, "__call__", spy)
    drive(opt, range(5))
    for t in range(5, 25):
        gp = opt.surrogate_
        K = gp.signal_variance_ * gp.spatial_kernel_(opt.X_[:, :1])
        gain = 0.5 * np.linalg.slogdet(np.eye(len(K)) + K / gp.noise_variance_)[1]
        widths.clear()
        drive(opt, [t])
        expected = 1.0 + np.sqrt(2.0 * (gain + 1.0 + np.log(10.0)))
        assert widths
        np.testing.assert_allclose(widths, expected, rtol=1e-6)
    assert opt.n_removed_ > 5


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        (BRGPUCB(), "give reset_period, or the number of observations"),
        (SWGPUCB(), "give window, or the number of observations"),
        (RGPUCB(reset_period=0), "'period' parameter .* positive int"),
        (RGPUCB(reset_period="often"), "'period' parameter .* positive int"),
        (BRGPUCB(horizon=0), "'horizon' parameter .* positive int"),
        (SWGPUCB(horizon=50, variation_budget=0.0), "'variation_budget' parameter .* positive"),
        (SWGPUCB(window=2.5), "'window' parameter .* positive int"),
    ],
)
def test_bad_parameters(algorithm, message):
    opt = algorithm.set_params(domain=[(0.0, 1.0)], n_initial_points=3, random_state=0)
    with pytest.raises(ValueError, match=message):
        drive(opt, range(5))
