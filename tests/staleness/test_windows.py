"""Windows, and the variation budget that gives their length."""

from math import ceil, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import qmc
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from staleness.surrogates import STATIC, static

from sktvbo import TimeVaryingGPRegressor
from sktvbo.kernels import Empirical
from sktvbo.staleness import PeriodicReset, SlidingWindow, VariationBudget
from sktvbo.theory import maximum_information_gain


def at_times(*times):
    return SimpleNamespace(X_train_=np.column_stack([np.zeros(len(times)), times]))


@pytest.mark.parametrize(
    ("times", "dropped"),
    [
        ([0.0, 1.0, 2.0], []),
        ([0.0, 1.0, 2.0, 3.0], [0]),
        ([0.0, 5.0, 2.0, 3.0], [0]),
        ([4.0, 5.0, 6.0, 3.0], [3]),  # told late
        ([4.0, 1.0, 6.0, 3.0, 2.0], [1, 4]),
        ([1.0, 1.0, 1.0, 1.0, 1.0], [0, 1]),  # of the same time the first told
        ([0.0], []),
    ],
)
def test_a_window_keeps_the_latest_by_time(times, dropped):
    found = SlidingWindow(3).after_add(at_times(*times), now=9.0)
    assert sorted(found.tolist()) == dropped


def test_a_callable_window_is_called_once():
    asked = []

    def window(gp):
        asked.append(gp)
        return 2

    policy, first = SlidingWindow(window), at_times(0.0, 1.0, 2.0)
    assert policy.after_add(first, now=2.0).tolist() == [0]
    assert policy.after_add(at_times(1.0, 2.0, 3.0), now=3.0).tolist() == [0]
    assert asked == [first]
    assert policy.window_ == 2


def greedy_gain(K, noise, n):
    """Return ½ log|I + K/σ²| of n greedily chosen places, by determinants."""
    chosen, best = [], 0.0
    for _ in range(n):
        gains = []
        for i in range(len(K)):
            rows = [*chosen, i]
            M = np.eye(len(rows)) + K[np.ix_(rows, rows)] / noise
            gains.append(0.5 * np.linalg.slogdet(M)[1])
        chosen.append(int(np.argmax(gains)))
        best = max(gains)
    return best


@pytest.mark.parametrize(("horizon", "budget"), [(3, 1.0), (5, 0.7), (5, 2.5)])
def test_variation_budget_is_its_formula(horizon, budget):
    gp = TimeVaryingGPRegressor(
        RBF(0.4), STATIC, signal_variance=2.0, noise_variance=0.3, optimizer=None
    ).fit([[0.1, 0.2, 0.0], [0.9, 0.3, 1.0]], [1.0, 2.0])
    K = 2.0 * RBF(0.4)(qmc.Sobol(2, scramble=False).random_base2(8))
    gain = greedy_gain(K, 0.3, horizon)
    expected = min(horizon, ceil(gain**0.25 * sqrt(horizon / budget)))
    assert VariationBudget(horizon, budget)(gp) == expected


@pytest.mark.parametrize(("budget", "length"), [(1e-9, 400), (1e9, 1)])
def test_a_window_is_from_one_observation_to_the_horizon(budget, length):
    assert VariationBudget(400, budget)(static()) == length


def test_variation_budget_grows_with_the_square_root():
    few, many = VariationBudget(1000, 4.0)(static()), VariationBudget(1000, 1.0)(static())
    assert many == pytest.approx(2 * few, abs=2)


def test_variation_budget_makes_windows_and_blocks():
    gp = static()
    length = VariationBudget(400)(gp)
    window, block = SlidingWindow(VariationBudget(400)), PeriodicReset(VariationBudget(400))
    window.after_add(gp, now=20.0)
    block.before_add(gp, np.zeros(1), 20.0, 0.0)
    assert window.window_ == block.period_ == length


def test_variation_budget_of_arms_counts_them_all():
    rng = np.random.RandomState(0)
    A = rng.normal(size=(6, 3))
    gp = TimeVaryingGPRegressor(
        Empirical(A @ A.T), ConstantKernel(1.0, "fixed"), noise_variance=0.1, optimizer=None
    ).fit([[0, 0.0], [3, 1.0]], [0.0, 1.0])
    gain = maximum_information_gain(A @ A.T, 0.1, 50)
    assert VariationBudget(50)(gp) == int(np.ceil(gain**0.25 * np.sqrt(50)))
