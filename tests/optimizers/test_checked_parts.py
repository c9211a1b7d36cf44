"""All that a constructor is given is checked at the first call; parts may be given by name."""

import numpy as np
import pytest
from optimizers.cases import BOX, objective
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern

from sktvbo import TimeVaryingGPRegressor, acquisition, staleness
from sktvbo import optimizers as opts
from sktvbo.acquisition import (
    UCB,
    BOLTBeta,
    DimensionBeta,
    ExpectedImprovement,
    GrowingBeta,
    InformationGainBeta,
    LogBeta,
    ProbabilityOfImprovement,
    SmoothnessBeta,
    as_acquisition,
)
from sktvbo.gaussian_process import GeometricInjection
from sktvbo.staleness import (
    EventTriggeredReset,
    NoiseThreshold,
    PeriodicReset,
    RelevancyBudget,
    RelevancyCap,
    SlidingWindow,
    VariationBudget,
    as_policy,
)

STATIC = TimeVaryingGPRegressor(temporal_kernel=ConstantKernel(1.0, "fixed"))
compose = opts.BayesianOptimizer

BAD = [
    (
        opts.WDBO(BOX, alpha=-1.0),
        r"'alpha' parameter of WDBO must be a float in the range \[0, inf\)",
    ),
    (opts.BOLT(BOX, max_size=0), "'max_size' parameter of BOLT"),
    (opts.BOLT(BOX, max_size="few"), "'max_size' parameter of BOLT"),
    (opts.BOLT(BOX, max_size=None), "'max_size' parameter of BOLT"),
    (opts.WDBO(BOX, max_size=0), "'max_size' parameter of WDBO"),
    (opts.GPUCB(BOX, max_size="recommended"), "'max_size' parameter of GPUCB"),
    (opts.GPUCB(BOX, max_size=np.array([3, 4])), "'max_size' parameter of GPUCB"),
    (opts.ETGPUCB(BOX, delta=1.0), "'delta' parameter of ETGPUCB"),
    (opts.WGPUCB(BOX, discount=1.5), "'discount' parameter of WGPUCB"),
    (opts.IGPUCB(BOX, norm_bound=-1.0), "'norm_bound' parameter of IGPUCB"),
    (opts.IGPUCB(BOX, delta=0.0), "'delta' parameter of IGPUCB"),
    (opts.RGPUCB(BOX, reset_period=0), "'reset_period' parameter of RGPUCB"),
    (opts.SWGPUCB(BOX, window=0), "'window' parameter of SWGPUCB"),
    (opts.SWGPUCB(BOX, horizon=0.5), "'horizon' parameter of SWGPUCB"),
    (opts.BRGPUCB(BOX, variation_budget=0.0), "'variation_budget' parameter of BRGPUCB"),
    (opts.SparQGPUCB(BOX, n_queries=-1), "'n_queries' parameter of SparQGPUCB"),
    (opts.SparQGPUCB(BOX, noise_cap=-1.0), "'cap' parameter of NoiseThreshold"),
    (opts.TVGPUCB(BOX, epsilon=2.0), "'epsilon' parameter of TVGPUCB"),
    (opts.UITVBO(BOX, drift_variance=0.0), "'drift_variance' parameter of UITVBO"),
    (opts.ABO(BOX, lookahead=-1.0), "'lookahead' parameter of ABO"),
    # Policies.
    (compose(BOX, policy=RelevancyBudget(min_size=0)), "'min_size' parameter of RelevancyBudget"),
    (compose(BOX, policy=RelevancyBudget(max_step=0)), "'max_step' parameter of RelevancyBudget"),
    (compose(BOX, policy=RelevancyCap("many")), "'max_size' parameter of RelevancyCap"),
    (compose(BOX, policy=RelevancyCap(9, 0)), "'min_size' parameter of RelevancyCap"),
    (compose(BOX, policy=SlidingWindow(0)), "'window' parameter of SlidingWindow"),
    (compose(BOX, policy=SlidingWindow(VariationBudget(0))), "'horizon' parameter of Variation"),
    (compose(BOX, policy=PeriodicReset(2.5)), "'period' parameter of PeriodicReset"),
    (compose(BOX, policy=EventTriggeredReset(2.0)), "'delta' parameter of EventTriggered"),
    (compose(BOX, policy=NoiseThreshold("lg")), "'cap' parameter of NoiseThreshold"),
    (compose(BOX, policy="keep-some"), "'policy' parameter of BayesianOptimizer .*'keep-all'"),
    (compose(BOX, policy=SlidingWindow), "'policy' parameter of BayesianOptimizer"),
    (compose(BOX, policy=object()), "'policy' .* or a StaleDataPolicy.* Derive the class"),
    # Acquisition functions.
    (opts.GPUCB(BOX, acquisition="best"), "'acquisition' parameter of GPUCB .*'ucb', 'ei'"),
    (opts.GPUCB(BOX, acquisition=UCB), "'acquisition' parameter of GPUCB"),
    (opts.GPUCB(BOX, acquisition=3.0), "'acquisition' parameter of GPUCB"),
    (opts.GPUCB(BOX, acquisition=UCB(-1.0)), "'beta' parameter of UCB"),
    (opts.GPUCB(BOX, acquisition=UCB("lg")), "'beta' parameter of UCB"),
    (opts.GPUCB(BOX, acquisition=ExpectedImprovement(-1)), "'xi' parameter of ExpectedImp"),
    (opts.GPUCB(BOX, acquisition=ProbabilityOfImprovement(np.nan)), "'xi' parameter of Prob"),
    (opts.GPUCB(BOX, acquisition=UCB(LogBeta(-1.0))), "'scale' parameter of LogBeta"),
    (opts.GPUCB(BOX, acquisition=UCB(LogBeta(rate=0.0))), "'rate' parameter of LogBeta"),
    (opts.GPUCB(BOX, acquisition=UCB(DimensionBeta("x"))), "'scale' parameter of DimensionBeta"),
    (opts.GPUCB(BOX, acquisition=UCB(GrowingBeta(-0.1))), "'few' parameter of GrowingBeta"),
    (
        opts.GPUCB(BOX, acquisition=UCB(GrowingBeta(0.1, 0.05))),
        r"'many' .* in the range \[0.1, inf",
    ),
    (opts.GPUCB(BOX, acquisition=UCB(GrowingBeta(n_few=0))), "'n_few' parameter"),
    (opts.GPUCB(BOX, acquisition=UCB(SmoothnessBeta("x"))), "'theorem' parameter of Smoothness"),
    (opts.GPUCB(BOX, acquisition=UCB(BOLTBeta(0.0))), "'lipschitz' parameter of BOLTBeta"),
    (opts.GPUCB(BOX, acquisition=UCB(InformationGainBeta(delta=2))), "'delta' parameter of Inf"),
    # Surrogates.
    (opts.GPUCB(BOX, surrogate="gp"), "'surrogate' parameter of GPUCB must be None or"),
    (opts.GPUCB(BOX, surrogate=TimeVaryingGPRegressor), "'surrogate' parameter of GPUCB"),
    (opts.GPUCB(BOX, surrogate=TimeVaryingGPRegressor(noise_variance=-1.0)), "'noise_variance'"),
    (opts.GPUCB(BOX, surrogate=TimeVaryingGPRegressor("rbf")), "'spatial_kernel' parameter"),
    (
        opts.WDBO(BOX, surrogate=STATIC),
        "relevancy of observations is not available .*never forgets",
    ),
    (opts.BOLT(BOX, surrogate=TimeVaryingGPRegressor(RBF(), DotProduct())), "not available"),
    (opts.SparQGPUCB(BOX, surrogate=STATIC), "'noise_model' parameter of TimeVaryingGPRegressor"),
]


@pytest.mark.parametrize(("opt", "message"), BAD)
@pytest.mark.parametrize("call", ["ask", "tell"])
def test_what_makes_no_sense_is_said_at_the_first_call(opt, message, call):
    opt = clone(opt)
    with pytest.raises(ValueError, match=message):
        opt.ask(0.0) if call == "ask" else opt.tell([1.0, 0.5], 1.0, 0.0)
    assert not hasattr(opt, "n_told_")


# Of each algorithm the parameters of a part that the user may give in its place.
OVERRIDDEN = {
    opts.TVGPUCB: [("epsilon", 0.3, {"surrogate": STATIC})],
    opts.UITVBO: [("drift_variance", 0.5, {"surrogate": STATIC})],
    opts.WGPUCB: [("discount", 0.5, {"surrogate": STATIC})],
    opts.IGPUCB: [
        ("norm_bound", 2.0, {"acquisition": "ei"}),
        ("delta", 0.2, {"acquisition": UCB(2.0)}),
    ],
    opts.ABO: [("lookahead", 2.0, {"acquisition": "ts"})],
    opts.SWGPUCB: [
        ("horizon", 50, {"window": 10}),
        ("variation_budget", 2.0, {"window": 10}),
        ("variation_budget", 2.0, {}),
    ],
    opts.BRGPUCB: [
        ("horizon", 50, {"reset_period": 10}),
        ("variation_budget", 2.0, {"reset_period": 10}),
        ("variation_budget", 2.0, {}),
    ],
}


@pytest.mark.parametrize(
    ("kind", "name", "value", "parts"),
    [(kind, *case) for kind, cases in OVERRIDDEN.items() for case in cases],
)
def test_a_parameter_without_effect_is_refused(kind, name, value, parts):
    opt = kind(BOX, **{name: value}, **parts)
    with pytest.raises(ValueError, match=f"'{name}' parameter of {kind.__name__} must be left at"):
        opt.ask(0.0)
    # Either of the two may be given.
    others = {"horizon": 50} if name == "variation_budget" else {}
    for options in (parts, {name: value} | others):
        kind(BOX, **options).ask(0.0)


def test_a_custom_acquisition_needs_no_check():
    opt = compose(BOX, acquisition=lambda m, s, state: (m, 1.0, 0.0), n_initial_points=3)
    for t in range(5):
        opt.tell(opt.ask(t), float(t))
    assert len(opt.X_) == 5


# --- by name --------------------------------------------------------------------------------------

ACQUISITIONS = {
    "ucb": "UCB",
    "ei": "ExpectedImprovement",
    "pi": "ProbabilityOfImprovement",
    "ts": "ThompsonSampling",
    "mean": "PosteriorMean",
}
POLICIES = {
    "keep-all": "KeepAll",
    "sliding-window": "SlidingWindow",
    "periodic-reset": "PeriodicReset",
    "event-triggered-reset": "EventTriggeredReset",
    "relevancy-budget": "RelevancyBudget",
    "relevancy-cap": "RelevancyCap",
    "noise-threshold": "NoiseThreshold",
}


@pytest.mark.parametrize(("name", "kind"), ACQUISITIONS.items())
def test_an_acquisition_by_name_is_that_of_the_class(name, kind):
    kind = getattr(acquisition, kind)
    assert type(as_acquisition(name)) is kind
    queries = []
    for given in (name, kind()):
        opt = opts.WDBO(BOX, acquisition=given, n_initial_points=10, random_state=0)
        for t in range(11):
            x = opt.ask(t)
            opt.tell(x, objective(x, t))
        queries.append(opt.ask(11))
    np.testing.assert_array_equal(*queries)
    assert opt.get_params()["acquisition"].__class__ is kind


@pytest.mark.parametrize(("name", "kind"), POLICIES.items())
def test_a_policy_by_name_is_that_of_the_class(name, kind):
    kind = getattr(staleness, kind)
    assert type(as_policy(name)) is kind
    surrogate = None
    if name == "noise-threshold":
        surrogate = TimeVaryingGPRegressor(RBF(0.3), Matern(9.0), noise_model=GeometricInjection())
    opt = compose(BOX, policy=name, surrogate=surrogate, n_initial_points=3, random_state=0)
    for t in range(4):
        x = opt.ask(t)
        opt.tell(x, objective(x, t))
    assert type(opt.policy_) is kind
    assert clone(opt).policy == name


def test_a_policy_is_cloned():
    given = SlidingWindow(3)
    assert as_policy(given) is not given
    assert as_policy(given).window == 3
