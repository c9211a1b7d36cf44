"""ET-GP-UCB's own decision: an observation beyond the bound starts the data set anew."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sktvbo import ETGPUCB, BayesianOptimizer, TimeVaryingGPRegressor
from sktvbo.gaussian_process import QuadraticInjection
from sktvbo.staleness import EventTriggeredReset

DELTA = 0.2
N_INITIAL = 12
JUMPS = (25, 45)


def value(x, t):
    """A bump that jumps twice, and a wiggle that stands for noise; far from zero, and not of
    scale 1, so that units matter."""
    place = 0.2 + 0.5 * (t >= JUMPS[0]) - 0.3 * (t >= JUMPS[1])
    return 40.0 + 7.0 * np.exp(-20.0 * (x[0] - place) ** 2) + 0.1 * np.sin(37.0 * t)


class ZeroMean(ETGPUCB):
    """Of a known mean, so that the data tell what y was standardized by."""

    def _make_surrogate(self, times):
        return super()._make_surrogate(times).set_params(mean_prior_std=0.0)


def location_and_scale(gp):
    """What y is standardized by: the prior mean, found far away, and σ in both units."""
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


@pytest.mark.parametrize("maximize", [True, False])
def test_trigger_recomputed_with_scikit_learn(maximize):
    sign = 1.0 if maximize else -1.0
    opt = ZeroMean(
        [(0.0, 1.0)], delta=DELTA, n_initial_points=N_INITIAL, maximize=maximize, random_state=0
    )
    resets, last_reset = [], -1
    for t in range(60):
        x = opt.ask(float(t))
        y = value(x, t)
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


def test_steps_are_counted_from_the_reset():
    """The first step after a reset is t' = 1, as the first of the run is."""
    X = np.column_stack([np.linspace(0.0, 1.0, 9), np.arange(9.0)])
    static = TimeVaryingGPRegressor(
        RBF(0.5), ConstantKernel(1.0, "fixed"), noise_variance=0.04, optimizer=None
    )
    gp = static.fit(X, np.zeros(9))
    policy = EventTriggeredReset(delta=0.3)
    std = gp.predict([[0.5, 9.0]], return_std=True)[1][0]

    def bound(steps):
        return np.sqrt(2.0 * np.log(2.0 * np.pi**2 * steps**2 / 6.0 / 0.3)) * (std + 0.2)

    expected = [10, 11, 12, 1, 2]  # nine were there before the policy
    for t, (y, steps) in enumerate(zip([0.0, 0.0, 9.0, 0.0, 0.0], expected)):
        dropped = policy.before_add(gp, np.array([0.5]), 9.0 + t, y)
        assert policy.bound_ == pytest.approx(bound(steps))
        assert dropped.size == (9 if y else 0)


def test_a_deviation_just_below_the_bound_is_tolerated_and_one_just_above_is_not():
    X = np.column_stack([np.linspace(0.0, 1.0, 9), np.arange(9.0)])
    gp = TimeVaryingGPRegressor(temporal_kernel=ConstantKernel(1.0, "fixed"), optimizer=None)
    gp.fit(X, np.sin(6.0 * X[:, 0]))
    x = np.array([0.37])
    mean = gp.predict([[0.37, 9.0]])[0]
    probe = EventTriggeredReset()
    probe.before_add(gp, x, 9.0, 0.0)
    for side in (-1.0, 1.0):
        inside, outside = mean + side * probe.bound_ * np.array([0.999, 1.001])
        assert EventTriggeredReset().before_add(gp, x, 9.0, inside).size == 0
        assert EventTriggeredReset().before_add(gp, x, 9.0, outside).size == 9


def test_injected_noise_has_grown_when_the_observation_comes():
    """With a surrogate that forgets by age the bound is that of the time of the observation."""
    X = np.column_stack([np.linspace(0.0, 1.0, 8), np.arange(8.0)])
    y = np.sin(6.0 * X[:, 0])
    gp = TimeVaryingGPRegressor(
        RBF(0.3),
        ConstantKernel(1.0, "fixed"),
        noise_model=QuadraticInjection(0.5),
        optimizer=None,
    ).fit(X, y)
    policy = EventTriggeredReset()
    policy.before_add(gp, np.array([0.4]), 20.0, 0.0)
    reference = GaussianProcessRegressor(
        RBF(0.3), alpha=0.01 * (1.0 + 0.25 * (20.0 - X[:, 1]) ** 2), optimizer=None
    ).fit(X[:, :1], y)
    mean, std = reference.predict([[0.4]], return_std=True)
    log = np.log(2.0 * np.pi**2 * 81.0 / 6.0 / 0.1)
    assert policy.deviation_ == pytest.approx(abs(mean[0]), rel=1e-6)
    assert policy.bound_ == pytest.approx(np.sqrt(2.0 * log) * (std[0] + 0.1), rel=1e-6)
    assert gp.now_ == 7.0


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.5, None, "small"])
def test_bad_delta(delta):
    opt = ETGPUCB([(0.0, 1.0)], delta=delta, n_initial_points=3, random_state=0)
    with pytest.raises(ValueError, match=r"'delta' parameter .* float in the range \(0, 1\)"):
        opt.tell([0.5], 1.0, 3)


def test_a_static_function_is_hardly_ever_forgotten():
    resets = 0
    for seed in range(5):
        rng = np.random.RandomState(seed)
        opt = BayesianOptimizer(
            [(0.0, 1.0)],
            surrogate=TimeVaryingGPRegressor(
                RBF(0.3), ConstantKernel(1.0, "fixed"), noise_variance=0.01, optimizer=None
            ),
            policy=EventTriggeredReset(),
            n_initial_points=5,
            random_state=seed,
        )
        for t in range(40):
            x = opt.ask(float(t))
            opt.tell(x, np.sin(6.0 * x[0]) + 0.1 * rng.standard_normal())
        resets += opt.policy_.n_resets_
    assert resets == 0
