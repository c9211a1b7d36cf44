"""All that a constructor is given is checked at the first call; parts may be given by name."""

from datetime import timedelta

import numpy as np
import pytest
from contract.cases import BOX, N_INITIAL, ask_and_tell
from scipy.optimize import LinearConstraint
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
)

from sktvbo import TimeVaryingGPRegressor, staleness
from sktvbo import acquisition as acq
from sktvbo import optimizers as opts
from sktvbo.domain import StepLimit
from sktvbo.gaussian_process import GeometricInjection
from sktvbo.journal import Journal
from sktvbo.kernels import Wiener

STATIC = TimeVaryingGPRegressor(temporal_kernel=ConstantKernel(1.0, "fixed"))
WITHOUT_FORM = TimeVaryingGPRegressor(RationalQuadratic(0.5))
WIENER = TimeVaryingGPRegressor(RBF(0.3), Wiener())
BELOW = LinearConstraint([[1.0, 1.0]], ub=2.0)
NONE = LinearConstraint([1.0, 0.0], 3.0, 4.0)
NAN, INF = np.nan, np.inf

# Algorithm, parameter, what it must be, and values that it refuses.
VALUES = [
    (opts.WDBO, "n_initial_points", ".*an int.*'auto'|.*'auto'", [0, 2.5, "many", None]),
    (opts.WDBO, "refit_every", ".*'auto'", [0, "always"]),
    (opts.WDBO, "clock", "'wall', 'calendar', 'step' or a callable", ["sun", None]),
    (opts.ABO, "lookahead", "a float", [-0.1, INF, NAN, "far", None]),
    (opts.ABO, "max_size", "an int", ["recommended"]),
    (opts.BOLT, "max_size", ".*an int", [0, 2.5, "many"]),
    (opts.BRGPUCB, "horizon", "an int", [0]),
    (opts.BRGPUCB, "variation_budget", ".*", [0.0]),
    (opts.ETGPUCB, "delta", r".*float in the range \(0, 1\)", [0.0, 1.0, -0.5, None, "small"]),
    (opts.GPUCB, "constraints", ".*", [NONE, LinearConstraint([1.0], 0, 1), "x"]),
    (opts.GPUCB, "history", "an int in .*0, inf", [-1, 2.5, "all", True]),
    (opts.GPUCB, "max_size", "an int", [0, 1.5, "few", -1, "recommended", np.array([3, 4])]),
    (opts.GPUCB, "query_timeout", "a float", [0.0, -1.0, "soon", NAN, timedelta(0)]),
    (opts.IGPUCB, "delta", r".* in the range \(0, 1\)", [0.0, 1.0, None]),
    (opts.IGPUCB, "norm_bound", ".*", [-1.0]),
    (opts.RGPUCB, "reset_period", ".*", [0, "often", None]),
    (opts.SWGPUCB, "horizon", "an int", [0.5]),
    (opts.SWGPUCB, "variation_budget", r".* \(0, inf\)", [0.0]),
    (opts.SWGPUCB, "window", ".*an int", [0, 2.5]),
    (opts.WDBO, "seasonal_periods", "'auto', positive, a duration", [0.0, INF, "1Q", [24.0, None]]),
    (opts.WDBO, "seasonal_periods", "distinct", [[24.0, 24.0], []]),
    (opts.SparQGPUCB, "expert_noise_variance", ".* float in the range", [0.0, "none"]),
    (opts.SparQGPUCB, "n_queries", ".*'log', an int in the range", [-1, 2.5, "all"]),
    (opts.TVGPUCB, "epsilon", "'learn' or", [0.0, 1.0, -0.1, NAN, "guess", None]),
    (opts.UITVBO, "drift_variance", r".* \(0, inf\)", [0.0, -1.0, INF, "much"]),
    (opts.WDBO, "alpha", r"a float in the range \[0, inf\)", [-1.0, NAN, "much"]),
    (opts.WDBO, "max_size", "an int", [0, 2.5, "all"]),
    (opts.WDBO, "max_step", "a number in the range", [-0.1, NAN]),
    (opts.WDBO, "max_step", ".* 2 of them, or a dict", [[0.1]]),
    (opts.WDBO, "max_step", r".*dict of no names\. Got 'rate'", [{"rate": 0.1}]),
    (opts.WDBO, "maximize", "True or False", ["False", 0, 1, None, np.int64(1), np.array([True])]),
    (opts.WDBO, "outcome_constraints", "None or a dict", [{}, "load < 1", [1], {3: (0.0, 1.0)}]),
    (opts.WDBO, "exploration", r"a float in the range \[0, 1\)", [-0.1, 1.0, NAN, None, "much"]),
    (opts.WDBO, "safety", r"a float in the range \[0.5, 1\)", [0.4, 1.0, NAN, "high"]),
    (opts.WDBO, "step_budget", r"a float in the range \(0, inf\)", [0.0, -1.0, INF, NAN, "fast"]),
    (opts.WDBO, "time_unit", "'ns', 'us'", ["year", None]),
    (opts.WGPUCB, "discount", ".*", [0.0, 1.1, 1.5, "none"]),
    (opts.BayesianOptimizer, "policy", ".* or a StaleDataPolicy.* Derive the class", [object()]),
    (opts.BayesianOptimizer, "policy", ".*'keep-all'", ["keep-some", staleness.SlidingWindow]),
    (opts.GPUCB, "acquisition", ".*'ucb', 'ei'", ["best", acq.UCB, 3.0]),
    (opts.GPUCB, "surrogate", "None or", ["gp", TimeVaryingGPRegressor]),
]


def refused(opt, message):
    for call in (lambda: opt.ask(0.0), lambda: opt.tell([1.0, 0.5], 1.0, 0.0)):
        with pytest.raises(ValueError, match=message):
            call()
        assert "_run" not in vars(opt)


@pytest.mark.parametrize(("kind", "name", "expected", "bad"), VALUES)
def test_a_bad_value_is_refused_at_the_first_call(kind, name, expected, bad):
    others = {"horizon": 50} if name == "variation_budget" else {}
    for value in bad:
        opt = kind(BOX, **{name: value}, **others)
        refused(opt, f"'{name}' parameter of {kind.__name__} must be {expected}")
        opt.set_params(**{name: kind().get_params()[name]})
        opt.ask(0.0)


# Algorithm, a part of it, and what is said of the part.
PARTS = [
    (opts.SparQGPUCB, {"noise_cap": "high"}, "'cap' parameter of NoiseThreshold"),
    (opts.WDBO, {"max_step": "small"}, "'max_step' parameter"),
    (opts.WDBO, {"max_step": StepLimit(0.1, per="day")}, "'per' parameter of StepLimit must be"),
    (opts.WDBO, {"max_step": StepLimit(-1.0)}, "'share' parameter of StepLimit"),
    (opts.GPUCB, {"start_points": [[9.0, 0.0]]}, r"^start_points\[0, 0\] must be in .* Got 9.0"),
    (opts.GPUCB, {"start_points": [1.0, 0.5]}, r"^start_points must be an array of shape \(n, 2\)"),
    (opts.GPUCB, {"start_points": [[2.0, 0.9]], "constraints": BELOW}, "satisfy the constraints"),
    (opts.RandomSearch, {"journal": 3}, "journal must be a path or a Journal"),
    (opts.RandomSearch, {"journal": b"run.db"}, r"a path of text, .* Convert it with os\.fsdecode"),
    (opts.RandomSearch, {"journal": Journal(3, resume=True)}, "journal must be a path or a Journ"),
    (
        opts.RandomSearch,
        {"journal": Journal("run.db", "off")},
        "'synchronous' parameter of Journal",
    ),
    (opts.RandomSearch, {"journal": Journal("run.db", resume=1)}, "'resume' parameter of Journal"),
    (opts.BayesianOptimizer, {"policy": staleness.MaximumSize(0)}, "'max_size' parameter of Max"),
    (
        opts.BayesianOptimizer,
        {"policy": staleness.SlidingWindow(staleness.VariationBudget(0))},
        "'horizon' parameter",
    ),
    *(
        (opts.GPUCB, {"acquisition": function}, message)
        for function, message in [
            (acq.UCB(-1.0), "'beta' parameter of UCB"),
            (acq.UCB(1.0, margin=NAN), "'margin' parameter of UCB must be a float in the range"),
            (acq.ExpectedImprovement(-1), "'xi' parameter of ExpectedImp"),
            (acq.ProbabilityOfImprovement(NAN), "'xi' parameter of Prob"),
            (acq.UCB(acq.LogBeta(-1.0)), "'scale' parameter of LogBeta"),
            (acq.UCB(acq.DimensionBeta(max_dims=0)), "'max_dims' parameter of DimensionBeta"),
            (acq.UCB(acq.BOLTBeta(0.0)), "'lipschitz' parameter of BOLTBeta"),
            (acq.UCB(acq.InformationGainBeta(delta=2)), "'delta' parameter of Inf"),
        ]
    ),
    (opts.GPUCB, {"surrogate": TimeVaryingGPRegressor(noise_variance=-1.0)}, "'noise_variance'"),
    (opts.GPUCB, {"surrogate": TimeVaryingGPRegressor("rbf")}, "'spatial_kernel' parameter"),
    (opts.WDBO, {"surrogate": STATIC}, "relevancy of observations is not available .*never forg"),
    (opts.BOLT, {"surrogate": WITHOUT_FORM}, "not available for RationalQuadratic"),
    (opts.BOLT, {"surrogate": TimeVaryingGPRegressor(RBF(), DotProduct())}, "not available"),
    (opts.BayesianOptimizer, {"surrogate": WIENER, "policy": "relevancy-cap"}, "Wiener"),
    (opts.SparQGPUCB, {"surrogate": STATIC}, "'noise_model' parameter of TimeVaryingGPRegressor"),
]


@pytest.mark.parametrize(("kind", "parts", "message"), PARTS)
def test_a_bad_part_is_refused_at_the_first_call(kind, parts, message):
    refused(clone(kind(BOX, **parts)), message)


OVERRIDDEN = [
    (opts.TVGPUCB, "epsilon", 0.3, {"surrogate": STATIC}),
    (opts.UITVBO, "drift_variance", 0.5, {"surrogate": STATIC}),
    (opts.WGPUCB, "discount", 0.5, {"surrogate": STATIC}),
    (opts.IGPUCB, "norm_bound", 2.0, {"acquisition": "ei"}),
    (opts.IGPUCB, "delta", 0.2, {"acquisition": acq.UCB(2.0)}),
    (opts.ABO, "lookahead", 2.0, {"acquisition": "ts"}),
    (opts.SWGPUCB, "horizon", 50, {"window": 10}),
    (opts.SWGPUCB, "variation_budget", 2.0, {}),
    (opts.BRGPUCB, "horizon", 50, {"reset_period": 10}),
    (opts.BRGPUCB, "variation_budget", 2.0, {"reset_period": 10}),
]


@pytest.mark.parametrize(("kind", "name", "value", "parts"), OVERRIDDEN)
def test_a_parameter_without_effect_is_refused(kind, name, value, parts):
    opt = kind(BOX, **{name: value}, **parts)
    with pytest.raises(ValueError, match=f"'{name}' parameter of {kind.__name__} must be left at"):
        opt.ask(0.0)
    # Either of the two may be given.
    others = {"horizon": 50} if name == "variation_budget" else {}
    for options in (parts, {name: value} | others):
        kind(BOX, **options).ask(0.0)


# --- by name --------------------------------------------------------------------------------------

BY_NAME = {"ei": acq.ExpectedImprovement, "pi": acq.ProbabilityOfImprovement}
BY_NAME |= {"ts": acq.ThompsonSampling, "mean": acq.PosteriorMean}
POLICIES = ["keep-all", "sliding-window", "periodic-reset", "event-triggered-reset"]
POLICIES += ["relevancy-budget", "relevancy-cap", "noise-threshold"]
BY_NAME |= {name: getattr(staleness, name.title().replace("-", "")) for name in POLICIES}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_part_by_name_is_that_of_the_class(name):
    parameter = "policy" if name in POLICIES else "acquisition"
    gp = TimeVaryingGPRegressor(RBF(0.3), Matern(9.0), noise_model=GeometricInjection())
    options = {"surrogate": gp if name == "noise-threshold" else None, "random_state": 0}
    given, told = BY_NAME[name](), []
    for part in (name, given):
        opt = clone(opts.BayesianOptimizer(BOX, n_initial_points=4, **options, **{parameter: part}))
        ask_and_tell(opt, 5)
        told.append(opt.told_X_)
        if parameter == "policy":
            assert type(opt.policy_) is type(given)
            assert opt.policy_ is not given
    np.testing.assert_array_equal(*told)


def test_ucb_by_name_is_the_default_of_the_algorithm(few_modelled):
    if "acquisition" not in few_modelled.options:
        _, expected = few_modelled.after(N_INITIAL + 2)
        named = few_modelled.make(acquisition="ucb")
        np.testing.assert_array_equal(few_modelled.drive(named, N_INITIAL + 2), expected)
    assert opts.IGPUCB(BOX, norm_bound=2.0, acquisition="ucb").ask(0.0).shape == (2,)
