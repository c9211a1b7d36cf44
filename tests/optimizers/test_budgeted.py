"""BR- and SW-GP-UCB: blocks and windows, with their lengths computed anew."""

import numpy as np
import pytest
from optimizers.dense import information_gain
from scipy.stats import qmc

from sktvbo import BRGPUCB, SWGPUCB


def value(x, t, speed=0.3):
    return np.sin(6.0 * x[0] + speed * t) + 0.05 * np.sin(37.0 * t)


def drive(opt, times, speed=0.3):
    for t in times:
        x = opt.ask(float(t))
        opt.tell(x, value(x, t, speed))


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
def test_width_follows_what_the_window_or_block_tells(algorithm, asked):
    """√β = 1 + √(2 (γ + 1 + log 10)), γ being the information gain of the data set alone."""
    opt = algorithm.set_params(domain=[(0.0, 1.0)], n_initial_points=5, random_state=0)
    drive(opt, range(5))
    for t in range(5, 25):
        gp = opt.surrogate_
        K = gp.signal_variance_ * gp.spatial_kernel_(opt.X_[:, :1])
        gain = information_gain(K, gp.noise_variance_)
        asked.clear()
        drive(opt, [t])
        expected = 1.0 + np.sqrt(2.0 * (gain + 1.0 + np.log(10.0)))
        np.testing.assert_allclose(asked["width"], expected, rtol=1e-6)
    assert opt.n_removed_ > 5


@pytest.mark.parametrize(("kind", "size"), [(SWGPUCB, 50), (BRGPUCB, 2)])
def test_without_arguments_a_window_or_a_block_has_50(kind, size):
    opt = kind([(0.0, 1.0)], n_initial_points=4, refit_every=1000, random_state=0)
    for t in range(52):
        opt.tell([0.1 + 0.01 * t], np.sin(t), t)
    assert len(opt.X_) == size
    assert opt.n_removed_ == 52 - size
    assert 0.0 <= opt.ask(52.0)[0] <= 1.0


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        (BRGPUCB(horizon=0), "'horizon' parameter .* must be an int"),
        (SWGPUCB(horizon=50, variation_budget=0.0), r"'variation_budget' parameter .* \(0, inf\)"),
        (SWGPUCB(window=2.5), "'window' parameter .* must be an int"),
    ],
)
def test_bad_parameters(algorithm, message):
    opt = algorithm.set_params(domain=[(0.0, 1.0)], n_initial_points=3, random_state=0)
    with pytest.raises(ValueError, match=message):
        drive(opt, range(5))
