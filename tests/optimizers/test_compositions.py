"""Compositions that no paper has: any surrogate, acquisition and policy work together."""

import pickle

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from sktvbo import (
    ABO,
    BOLT,
    ETGPUCB,
    TVGPUCB,
    WDBO,
    BayesianOptimizer,
    SparseTimeVaryingGPRegressor,
    TimeVaryingGPRegressor,
)
from sktvbo.acquisition import (
    UCB,
    ExpectedImprovement,
    InformationGainBeta,
    ProbabilityOfImprovement,
    ThompsonSampling,
)
from sktvbo.domain import Arms
from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.gaussian_process import GeometricInjection, QuadraticInjection, WeightedGPRegressor
from sktvbo.kernels import Empirical, Forgetting, Separable, Wiener
from sktvbo.relevancy import wasserstein_relevancy
from sktvbo.staleness import (
    EventTriggeredReset,
    KeepAll,
    NoiseThreshold,
    PeriodicReset,
    RelevancyBudget,
    RelevancyCap,
    SlidingWindow,
    VariationBudget,
)

STATIC = ConstantKernel(1.0, "fixed")


def surrogate(temporal_kernel, kind=TimeVaryingGPRegressor, **options):
    return kind(
        RBF(0.3, (0.05, 2.0)),
        temporal_kernel,
        noise_variance_bounds=(1e-4, 1.0),
        normalize_y=True,
        **options,
    )


def value(x, t):
    """A bump that drifts, and jumps at 20."""
    return 10.0 + 3.0 * np.exp(-20.0 * (x[0] - 0.2 - 0.005 * t - 0.4 * (t >= 20)) ** 2)


def compose(**parts):
    return BayesianOptimizer([(0.0, 1.0)], n_initial_points=12, random_state=0, **parts)


def drive(opt, times):
    for t in times:
        x = opt.ask(float(t))
        opt.tell(x, value(x, t))
    return opt


@pytest.mark.parametrize(
    ("gp", "acquisition", "policy"),
    [
        (surrogate(Forgetting()), ThompsonSampling(), EventTriggeredReset()),
        (surrogate(Wiener()), ExpectedImprovement(), SlidingWindow(15)),
        (surrogate(Forgetting()), UCB("log"), RelevancyBudget(alpha=1.0)),
        (surrogate(RBF(10.0, (5.0, 100.0))), ThompsonSampling(), RelevancyCap(max_size=14)),
        (surrogate(STATIC, noise_model=QuadraticInjection(0.2)), UCB(1.0), EventTriggeredReset()),
        (
            surrogate(STATIC, noise_model=GeometricInjection(0.9)),
            ProbabilityOfImprovement(),
            PeriodicReset(13),
        ),
        (
            surrogate(STATIC, WeightedGPRegressor, noise_model=GeometricInjection(0.9)),
            ThompsonSampling(),
            NoiseThreshold(cap=3.0),
        ),
        (surrogate(Forgetting()), UCB(InformationGainBeta()), SlidingWindow(VariationBudget(40))),
        (surrogate(Forgetting(), SparseTimeVaryingGPRegressor), ThompsonSampling(), KeepAll()),
    ],
)
def test_parts_fit_together(gp, acquisition, policy):
    """A run keeps its books, goes on from a pickle, and leaves the parts as they were given."""
    given = repr((gp, acquisition, policy))
    opt = drive(compose(surrogate=gp, acquisition=acquisition, policy=policy), range(32))
    assert repr((gp, acquisition, policy)) == given
    assert not hasattr(gp, "X_train_")
    assert len(opt.X_) + opt.n_removed_ == 32
    assert (opt.n_removed_ > 0) == (type(policy) is not KeepAll)
    np.testing.assert_array_equal(opt.surrogate_.X_train_, opt.X_)
    twin = pickle.loads(pickle.dumps(opt))
    np.testing.assert_array_equal(drive(opt, [32, 33]).told_X_, drive(twin, [32, 33]).told_X_)


def test_event_triggered_reset_of_a_forgetting_surrogate_with_thompson_sampling():
    """The trigger is that of the surrogate's own posterior at the time of the observation."""
    opt = compose(
        surrogate=surrogate(Forgetting(0.05, "fixed")),
        acquisition=ThompsonSampling(),
        policy=EventTriggeredReset(delta=0.1),
    )
    last_reset, resets = -1, []
    for t in range(40):
        x = opt.ask(float(t))
        gp = opt.surrogate_
        opt.tell(x, value(x, t))
        if gp is None:
            continue
        kernel = Separable(gp.spatial_kernel_, Matern(-2.0 / np.log(0.95), nu=0.5))
        location = gp.predict([[1e6, t]])[0]
        scale = gp.noise_std_ / np.sqrt(gp.noise_variance_)
        reference = GaussianProcessRegressor(
            ConstantKernel(gp.signal_variance_) * kernel, alpha=gp.noise_variance_, optimizer=None
        ).fit(gp.X_train_, (gp.y_train_ - location) / scale)
        mean, std = reference.predict([[*x, t]], return_std=True)
        root = np.sqrt(2.0 * np.log(2.0 * (np.pi * (t - last_reset)) ** 2 / 6.0 / 0.1))
        bound = scale * root * (std[0] + np.sqrt(gp.noise_variance_))
        assert opt.policy_.bound_ == pytest.approx(bound, rel=1e-5)
        deviation = abs(value(x, t) - location - scale * mean[0])
        assert opt.policy_.deviation_ == pytest.approx(deviation, rel=1e-5, abs=1e-8)
        if deviation > bound:
            resets.append(t)
            last_reset = t
        assert len(opt.X_) == (1 if deviation > bound else len(gp.X_train_) + 1)
    assert 1 <= len(resets) <= 5


def test_relevancy_cap_of_a_forgetting_surrogate():
    """What goes is the least relevant by the Matérn 1/2 kernel that forgetting is."""
    opt = compose(
        surrogate=surrogate(Forgetting(0.1, "fixed"), optimizer=None),
        policy=RelevancyCap(max_size=15),
    )
    drive(opt, range(15))
    for t in range(15, 30):
        X, y = opt.X_, opt.y_
        drive(opt, [t])
        X, y = np.vstack([X, opt.told_X_[-1]]), np.append(y, opt.told_y_[-1])
        R = wasserstein_relevancy(
            X,
            (y - y.mean()) / y.std(),
            spatial_kernel=RBF(0.3),
            temporal_kernel=Matern(-2.0 / np.log(0.9), nu=0.5),
            signal_variance=1.0,
            noise_variance=1e-2,
            now=float(t),
        )
        np.testing.assert_array_equal(opt.X_, np.delete(X, np.argmin(R), axis=0))


@pytest.mark.parametrize("policy", [RelevancyBudget(), RelevancyCap(max_size=12)])
def test_a_policy_that_needs_a_convolution_says_so(policy):
    opt = compose(surrogate=surrogate(Wiener()), policy=policy)
    with pytest.raises(ValueError, match="Wiener"):
        drive(opt, range(16))


def test_a_policy_that_needs_a_noise_model_says_so():
    opt = compose(surrogate=surrogate(STATIC), policy=NoiseThreshold())
    with pytest.raises(ValueError, match="needs a surrogate with a noise_model"):
        drive(opt, range(12))
    assert opt.n_told_ == 11


def test_a_kernel_without_relevancy_is_refused_at_the_first_step_with_a_surrogate():
    for kind in (WDBO, BOLT):
        opt = kind(
            [(0.0, 1.0)],
            surrogate=TimeVaryingGPRegressor(RationalQuadratic(0.5)),
            n_initial_points=4,
            random_state=0,
        )
        for t in range(3):
            opt.tell(opt.ask(t), float(t % 2))
        x = opt.ask(3)
        with pytest.raises(UnsupportedKernelError, match="not available for RationalQuadratic"):
            opt.tell(x, 1.0)
        assert opt.n_told_ == 3


@pytest.mark.parametrize("kind", [WDBO, BOLT, ABO, ETGPUCB, TVGPUCB])
def test_arms_with_an_empirical_covariance(kind):
    rng = np.random.RandomState(0)
    A = rng.normal(size=(8, 4))
    options = {"max_size": 12} if kind is BOLT else {}
    surrogate = TimeVaryingGPRegressor(Empirical(A @ A.T / 4.0), Matern(20.0, (1.0, 100.0), nu=1.5))
    opt = kind(Arms(8), surrogate=surrogate, n_initial_points=6, random_state=0, **options)
    t, regrets = 0.0, []
    for _ in range(40):
        x, t = opt.ask(t, return_time=True)
        values = A @ np.array([np.sin(0.05 * t), np.cos(0.05 * t), 1.0, 0.0])
        opt.tell(x, values[int(x[0])])
        regrets.append(values.max() - values[int(x[0])])
        t += 1.0
    assert np.mean(regrets[20:]) < 0.5 * np.mean(regrets[:6])
