"""Algorithms that forget by resets and windows: R-, BR- and SW-GP-UCB."""

import json
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.dense import drive as driven
from optimizers.dense import information_gain, make
from scipy.stats import gamma
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sktvbo import BRGPUCB, RGPUCB, SWGPUCB, TimeVaryingGPRegressor
from sktvbo.acquisition import UCB, InformationGainBeta
from sktvbo.domain import Arms
from sktvbo.kernels import Empirical
from sktvbo.optimizers._serialization import constants_of, encode_parts
from sktvbo.staleness import VariationBudget


def value(x, t):
    return np.sin(6.0 * x[0] + 0.3 * t) + 0.05 * np.sin(37.0 * t)


def drive(opt, times):
    return driven(opt, times, value)


# --- the variation budget -------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "length"), [(BRGPUCB, "period_"), (SWGPUCB, "window_")])
def test_lengths_follow_the_variation_budget(kind, length):
    opt = drive(make(kind, horizon=60, variation_budget=2.0), range(6))
    expected = VariationBudget(60, 2.0)(opt.surrogate_)
    drive(opt, [6])
    assert getattr(opt.policy_, length) == expected
    assert 4 < expected < 22


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


@pytest.mark.parametrize("maximize", [pytest.param(True, marks=pytest.mark.slow), False])
def test_learnt_blocks_have_the_length_for_the_rate(maximize):
    """N is TVGP's of ε, which is learnt at first and when a block is full."""
    options = {"n_initial_points": 20, "refit_every": 10, "maximize": maximize}
    opt = make(RGPUCB, domain=[(-1.0, 3.0)], **options)
    rng = np.random.RandomState(0)
    f, learnt = rng.standard_normal(6), set()
    for t in range(75):
        x = opt.ask(float(3 * t))  # ε is per observation, whatever the time between them
        f = np.sqrt(0.8) * f + np.sqrt(0.2) * rng.standard_normal(6)  # eq. (4) with ε = 0.2
        opt.tell(x, 5.0 + np.interp(x[0], np.linspace(-1.0, 3.0, 6), f))
        if t < 20:
            continue
        epsilon = opt.history_["epsilon"][-1]
        c = 2.0 / (2.0 * 2.5 + 2.0)  # d = 1, ν = 5/2
        period = int(np.ceil(24.0 * epsilon ** (-1.0 / (4.0 - c))))
        learnt.add(epsilon)
        assert opt.policy_.period_ == period
        assert opt.policy_.epsilon_ == epsilon
    assert len(learnt) == 1 + opt.policy_.n_resets_ >= 2
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
    options = {"optimizer": None} if held else {"signal_variance_bounds": "fixed"}
    constant = ConstantKernel(1.0, "fixed")
    surrogate = TimeVaryingGPRegressor(Empirical(C), constant, noise_variance=0.05, **options)
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
    names = ("temporal_kernel__length_scale", "spatial_kernel__length_scale")
    priors = {name: gamma(3.0, scale=scale) for name, scale in zip(names, (10.0, 0.1))}
    surrogate = TimeVaryingGPRegressor(RBF(0.3), RBF(20.0), hyperpriors=priors, normalize_y=True)
    opt = drive(make(RGPUCB, surrogate=surrogate, n_initial_points=8), range(12))
    # An RBF in space has another exponent.
    assert opt.policy_.period_ == int(np.ceil(12.0 * opt.policy_.epsilon_**-0.25))


def test_a_journal_stores_no_observations_with_the_policy(tmp_path):
    """ε is learnt from the latest 200 observations, which the history has."""
    sizes = []
    for options in ({}, {"reset_period": 50}):
        opt = make(RGPUCB, refit_every=None, journal=tmp_path / f"{len(sizes)}", **options)
        for t in range(60):
            opt.tell([0.01 * t], np.sin(t), t)
        plain = encode_parts(opt._run, constants_of(opt._run))
        sizes.append([len(json.dumps(plain[name])) for name in ("policy", "policy_before")])
        opt.close()
    assert np.max(np.subtract(*sizes)) < 200
