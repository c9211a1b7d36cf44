"""Surrogates and acquisition functions by default, and that their parts pay."""

import numpy as np
import pytest
from contract.cases import ask_and_tell
from numpy.testing import assert_allclose
from optimizers.dense import without_prior_mean
from scipy.optimize import LinearConstraint
from sklearn.gaussian_process.kernels import Matern

from sktvbo import (
    ABO,
    BOLT,
    WDBO,
    BayesianOptimizer,
    RandomSearch,
    TimeVaryingGPRegressor,
    evaluation,
    optimizers,
    problems,
)
from sktvbo.acquisition import UCB, AcquisitionState, DimensionBeta
from sktvbo.domain import Context, FiniteSet, WithContext
from sktvbo.gaussian_process import QuadraticMean

NoPriorMean = without_prior_mean(WDBO)


class ZeroMean(NoPriorMean):
    """W-DBO that takes what is unexplored for as good as what it has seen on average."""

    def _make_surrogate(self, times):
        return super()._make_surrogate(times).set_params(mean_prior_std=0.0)


def levy(z):
    w = 1.0 + (z - 1.0) / 4.0
    inner = (w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * w[:-1] + 1.0) ** 2)
    last = (w[-1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * w[-1]) ** 2)
    return np.sin(np.pi * w[0]) ** 2 + inner.sum() + last


@pytest.fixture(scope="module")
def regret():
    """Average regret of an optimizer over two seeds, on Levy's function along a coordinate."""

    def value(x, t):
        return -levy(np.append(20.0 * np.asarray(x), 0.2 * t) - 10.0)

    def optimum(t):
        best = np.full(3, 0.55)
        return best, value(best, t)

    problem = problems.from_callable(
        value, [(0.0, 1.0)] * 3, horizon=50.0, optimum=optimum, noise_variance=1.0
    )

    def measured(optimizer):
        runs = [evaluation.run(optimizer, problem, random_state=seed) for seed in range(2)]
        return np.mean([run.average_regret for run in runs])

    return measured


# The default one, but for its margin.
NARROW = UCB(DimensionBeta(0.05))


@pytest.mark.slow
def test_a_learnt_mean_little_exploration_and_a_margin_pay(regret):
    no_margin = regret(NoPriorMean(acquisition=NARROW))
    assert no_margin < 0.6 * regret(ZeroMean(acquisition=NARROW))
    assert no_margin < 0.6 * regret(NoPriorMean(acquisition=UCB(DimensionBeta(0.2))))
    assert regret(NoPriorMean()) < 0.6 * no_margin
    assert regret(WDBO()) < 0.6 * no_margin


@pytest.mark.parametrize(
    "name",
    [
        "GPUCB",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("SWGPUCB", "SparQGPUCB", "TVGPUCB", "UITVBO", "WGPUCB")
        ),
    ],
)
def test_a_margin_pays_whatever_is_forgotten(regret, name):
    algorithm = getattr(optimizers, name)
    acquisition = algorithm()._make_acquisition()
    assert acquisition.margin == 0.2
    if acquisition.beta == "growing":
        # With so narrow a bound the margin makes no difference here.
        acquisition.set_params(beta="dimension")
    with_margin = regret(algorithm(acquisition=acquisition))
    assert with_margin < 0.8 * regret(algorithm(acquisition=acquisition.set_params(margin=0.0)))


@pytest.mark.parametrize("name", ["SWGPUCB", "WGPUCB", "BRGPUCB", "IGPUCB"])
def test_a_drift_is_tracked_by_default(regret, name):
    assert regret(getattr(optimizers, name)()) < regret(RandomSearch()) / 3.0


class LongLengthscales(NoPriorMean):
    """W-DBO that may believe in a function that is nearly a plane, and the rest noise."""

    def _make_surrogate(self, times):
        return super()._make_surrogate(times).set_params(hyperpriors=None)


def test_a_jump_is_not_explained_by_noise():
    problem = problems.make("six-hump-camel-switched")
    clock = evaluation.SimulatedClock(response_time=lambda n: 5.0)

    def largest_regret(optimizer):
        seeds = range(4)
        runs = [evaluation.run(optimizer, problem, clock, random_state=seed) for seed in seeds]
        return max(run.average_regret for run in runs)

    # With a margin neither is lost, and with a surrogate from the third observation on.
    options = {"acquisition": NARROW, "n_initial_points": 15}
    assert 3.0 * largest_regret(WDBO(**options)) < largest_regret(LongLengthscales(**options))


@pytest.mark.parametrize(("d", "median"), [(1, 0.4), (2, 0.4), (8, 0.8)])
def test_lengthscales_grow_with_the_distance_of_places(d, median):
    rng = np.random.RandomState(0)
    opt = WDBO([(0.0, 1.0)] * d, n_initial_points=5, outcome_constraints={"load": (None, 9.0)})
    for t in range(5):
        opt.tell(rng.uniform(size=d), rng.normal(), t, outcomes={"load": rng.normal()})
    prior = opt.surrogate_.hyperpriors["spatial_kernel__length_scale"]
    assert prior.median == pytest.approx(median)
    assert opt.surrogate_.spatial_kernel_.length_scale_bounds == (0.01, 4.0)
    (outcome,) = opt._run.outcomes.models
    assert outcome.surrogate.spatial_kernel_.length_scale_bounds == (0.01, 1.25 * median)


def test_outcomes_beside_a_context_may_have_longer_ones():
    rng = np.random.RandomState(0)
    domain = WithContext([(0.0, 1.0)], [(0.0, 1.0)])
    opt = WDBO(domain, n_initial_points=5, outcome_constraints={"load": (None, 9.0)})
    for t in range(5):
        told = {"context": rng.uniform(size=1), "outcomes": {"load": rng.normal()}}
        opt.tell(rng.uniform(size=1), rng.normal(), t, **told)
    (outcome,) = opt._run.outcomes.models
    assert outcome.surrogate.spatial_kernel_.length_scale_bounds == (0.01, 2.0)


GROWING = ("ABO", "BOLT", "BRGPUCB", "BayesianOptimizer", "SWGPUCB", "WDBO", "WGPUCB")
OTHERS = ("ETGPUCB", "GPUCB", "RGPUCB", "TVGPUCB", "UITVBO")
BY_INFORMATION = ("IGPUCB", "SparQGPUCB")


@pytest.mark.parametrize("name", GROWING + OTHERS + BY_INFORMATION)
def test_all_learn_a_mean(name):
    options = {"BRGPUCB": {"reset_period": 20}, "SWGPUCB": {"window": 20}}.get(name, {})
    rng = np.random.RandomState(0)
    opt = getattr(optimizers, name)([(0.0, 1.0)] * 2, n_initial_points=8, **options)
    for t in range(8):
        opt.tell(rng.uniform(size=2), rng.normal(), t)
    assert opt.surrogate_.mean_prior_std == 1.0


@pytest.mark.parametrize(
    ("names", "n", "scale"),
    [(GROWING, 7, 0.05), (GROWING, 300, 0.15), (OTHERS, 7, 0.2), (OTHERS, 300, 0.2)],
    ids=["growing", "growing, many", "others", "others, many"],
)
def test_beta_by_default(names, n, scale):
    state = AcquisitionState(n=n, n_told=n + 2, n_dims=3)
    expected = pytest.approx(UCB(DimensionBeta(scale)).beta_value(state), rel=1e-12)
    for name in names:
        acquisition = getattr(optimizers, name)()._make_acquisition()
        assert acquisition.beta_value(state) == expected


def test_time_is_smooth_and_rough():
    opt = WDBO([(0.0, 1.0)], outcome_constraints={"load": (None, 9.0)}, random_state=0)
    for t in range(5):
        opt.tell([t / 5.0], t % 2, t, outcomes={"load": t % 3})
    kernel = opt.surrogate_.temporal_kernel_
    assert (kernel.k1.nu, kernel.k2.k2.nu) == (2.5, 0.5)
    (outcome,) = opt._run.outcomes.models
    assert outcome.surrogate.temporal_kernel_.nu == 2.5


# --- the prior mean -------------------------------------------------------------------------------


def surrogate(**options):
    parameters = {
        "normalize_y": True,
        "mean_prior_std": 1.0,
        "prior_mean": QuadraticMean(0.25),
    } | options
    return TimeVaryingGPRegressor(Matern(0.4, nu=2.5), Matern(20.0, nu=2.5), **parameters)


def dixon_price(z):
    weights = np.arange(2, len(z) + 1)
    return (z[0] - 1.0) ** 2 + np.sum(weights * (2.0 * z[1:] ** 2 - z[:-1]) ** 2)


def test_it_pays_where_the_best_places_are_inside():
    """Dixon's and Price's valley, whose place in the box goes round."""

    def centre(t):
        return 0.5 + 0.15 * np.sin(t / 16.0 + np.arange(4))

    def value(x, t):
        return -dixon_price(1.0 + 8.0 * (np.asarray(x) - centre(t)))

    def optimum(t):
        z = 2.0 ** (2.0 ** -np.arange(4) - 1.0)
        return (z - 1.0) / 8.0 + centre(t), 0.0

    problem = problems.from_callable(
        value, [(0.0, 1.0)] * 4, horizon=50.0, optimum=optimum, noise_variance=4.0
    )

    def regret(optimizer):
        runs = [evaluation.run(optimizer, problem, random_state=seed) for seed in range(2)]
        return np.mean([run.average_regret for run in runs])

    without = regret(without_prior_mean(WDBO)())
    assert regret(WDBO()) < 0.75 * without


def told(domain, point, n=8, **options):
    rng = np.random.RandomState(0)
    opt = BayesianOptimizer(domain, surrogate=surrogate(), n_initial_points=5, random_state=0)
    for t in range(n):
        opt.tell(point(rng), rng.normal(), t, **{k: make(rng) for k, make in options.items()})
    return opt


def test_it_is_one_of_the_reals():
    domain = {
        "kind": ("categorical", ["a", "b", "c"]),
        "size": ("integer", 1, 9),
        "rate": ("log-real", 1e-3, 1.0),
        "share": ("real", 0.0, 1.0),
    }
    point = {"kind": "b", "size": 3, "rate": 0.1, "share": 0.5}
    opt = told(domain, lambda rng: point | {"share": rng.uniform()})
    d = opt.surrogate_.X_train_.shape[1] - 1
    assert opt.surrogate_.prior_mean.columns == [d - 2, d - 1]
    assert opt.ask(9.0)["kind"] in "abc"


def test_a_context_is_not_chosen():
    domain = {"x": ("real", 0.0, 1.0), "load": Context("real", 0.0, 1.0)}
    opt = told(
        domain, lambda rng: {"x": rng.uniform()}, context=lambda rng: {"load": rng.uniform()}
    )
    assert opt.surrogate_.prior_mean.columns == [0]


def test_columns_that_were_given_stay():
    rng = np.random.RandomState(0)
    given = surrogate(prior_mean=QuadraticMean(columns=[1]))
    opt = BayesianOptimizer([(0.0, 1.0)] * 2, surrogate=given, n_initial_points=5)
    for t in range(6):
        opt.tell(rng.uniform(size=2), rng.normal(), t)
    assert opt.surrogate_.prior_mean.columns == [1]
    assert given.prior_mean.columns == [1]


@pytest.mark.parametrize(
    ("algorithm", "is_default"),
    [(WDBO, True), (BOLT, True), (BayesianOptimizer, True), (ABO, False)],
)
def test_whose_default_it_is(algorithm, is_default):
    opt = algorithm([(0.0, 1.0)], n_initial_points=3, random_state=0)
    ask_and_tell(opt, 4, lambda x, t: 1.0 + t)
    assert (opt.surrogate_.prior_mean is not None) is is_default


def test_with_constraints_it_is_no_default():
    """They are made for places that would be better: the best that may be queried are at them."""
    half = LinearConstraint([1.0], -np.inf, 0.4)
    bound = [(0.0, 1.0)]
    given = surrogate(prior_mean=QuadraticMean(only_if_likelier=True))
    expected = {"domain", "given"}
    for name, options in {
        "domain": {"domain": bound},
        "constraints": {"domain": bound, "constraints": half},
        "both": {"domain": WithContext(bound, bound), "constraints": half},
        "limits": {"domain": bound, "outcome_constraints": {"load": (None, 0.4)}},
        "given": {"domain": bound, "constraints": half, "surrogate": given},
    }.items():
        opt = WDBO(n_initial_points=3, random_state=0, **options)
        context = {"context": [0.5]} if name == "both" else {}
        for t in range(4):
            told = {"outcomes": {"load": 0.1 * t}} if name == "limits" else {}
            opt.tell(opt.ask(t, **context), 1.0 + t, t, **context, **told)
        assert (opt.surrogate_.prior_mean is not None) is (name in expected)
        assert name not in expected or opt.surrogate_.prior_mean.only_if_likelier


def test_a_finite_set_has_no_faces():
    points = np.random.RandomState(0).uniform(size=(20, 2))
    opt = told(FiniteSet(points), lambda rng: points[rng.randint(20)])
    assert opt.surrogate_.prior_mean is None


@pytest.mark.parametrize("maximize", [True, False])
def test_it_is_highest_inside_whatever_the_sign(maximize):
    """The optimizer maximizes what the surrogate sees: with nothing known of it, the middle."""
    known = surrogate(optimizer=None)
    opt = BayesianOptimizer(
        [(0.0, 1.0)] * 2, surrogate=known, maximize=maximize, n_initial_points=5
    )
    rng = np.random.RandomState(0)
    for t in range(6):
        opt.tell(rng.uniform(size=2), rng.normal(), t)
    assert_allclose(opt.recommend(1e6), 0.5, atol=1e-4)
