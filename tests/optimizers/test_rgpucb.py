"""R-GP-UCB: blocks of a given length, or one that follows the rate of change."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import gamma
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo import BRGPUCB, RGPUCB, TimeVaryingGPRegressor
from sktvbo.domain import Arms
from sktvbo.kernels import Empirical


def value(x, t, speed=0.3):
    return np.sin(6.0 * x[0] + speed * t) + 0.05 * np.sin(37.0 * t)


def drive(opt, times, speed=0.3):
    for t in times:
        x = opt.ask(float(t))
        opt.tell(x, value(x, t, speed))


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
    opt = RGPUCB(Arms(10), surrogate=surrogate, n_initial_points=60, random_state=0)
    f, arms, y = A @ rng.normal(size=3) / np.sqrt(3.0), rng.randint(10, size=61), []
    for t, arm in enumerate(arms):
        f = np.sqrt(0.9) * f + np.sqrt(0.1) * A @ rng.normal(size=3) / np.sqrt(3.0)
        y.append(f[arm] + np.sqrt(0.05) * rng.normal())
        opt.tell([arm], y[-1], 5.0 * t)
    # It is learnt at the first observation after the initial ones, from these.
    found, rates = opt.policy_.epsilon_, np.geomspace(1e-4, 0.89, 400)

    def best(rate):
        noises = [0.05] if held else np.geomspace(1e-3, 1.0, 60)
        return max(arms_likelihood(rate, C, arms[:60], np.array(y[:60]), n) for n in noises)

    assert best(found) >= max(map(best, rates[::4])) - 1e-2
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
    opt = RGPUCB([(0.0, 1.0)], surrogate=surrogate, n_initial_points=8, random_state=0)
    drive(opt, range(12))
    # An RBF in space has another exponent.
    assert opt.policy_.period_ == int(np.ceil(12.0 * opt.policy_.epsilon_**-0.25))


def test_a_faster_change_makes_shorter_blocks():
    periods = []
    for speed in (0.02, 1.0):
        opt = RGPUCB([(0.0, 1.0)], n_initial_points=25, refit_every=50, random_state=0)
        drive(opt, range(26), speed)
        periods.append(opt.policy_.period_)
    assert periods[1] < periods[0]


@pytest.mark.parametrize("reset_period", [0, "often", None])
def test_bad_reset_period(reset_period):
    opt = RGPUCB([(0.0, 1.0)], reset_period=reset_period, n_initial_points=3, random_state=0)
    with pytest.raises(ValueError, match="'reset_period' parameter of RGPUCB must be"):
        drive(opt, range(5))
