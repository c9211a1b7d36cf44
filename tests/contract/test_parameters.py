"""Parameters: said once, stored, and those of a run that has begun."""

import copy
import inspect
import pickle
from collections import ChainMap, OrderedDict
from types import MappingProxyType

import numpy as np
import pytest
from contract.cases import (
    BOX,
    BY_NAME,
    CASES,
    N_INITIAL,
    SHOWN,
    ask_and_tell,
    objective,
    same_state,
)
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sktvbo import WDBO, BayesianOptimizer, RandomSearch, TimeVaryingGPRegressor, optimizers
from sktvbo.acquisition import PosteriorMean
from sktvbo.journal import Journal
from sktvbo.staleness import SlidingWindow

SHARED = ["surrogate", "acquisition", "n_initial_points", "refit_every", "maximize", "clock"]
SHARED += ["constraints", "random_state", "history", "journal", "max_step", "start_points"]
SHARED += ["max_size", "query_timeout", "time_unit", "step_budget", "seasonal_periods", "robust"]
SHARED += ["outcome_constraints", "safety"]
MODEL = {"surrogate", "acquisition", "n_initial_points", "refit_every", "max_size"}
MODEL |= {"seasonal_periods", "robust"}
MODEL |= {"outcome_constraints", "safety"}

# Name in the literature, and parameters of its own.
ALGORITHMS = {
    "ABO": ("ABO", ["lookahead"]),
    "BOLT": ("BOLT", ["max_size"]),
    "BRGPUCB": ("BR-GP-UCB", ["reset_period", "horizon", "variation_budget"]),
    "BayesianOptimizer": (None, ["policy"]),
    "ETGPUCB": ("ET-GP-UCB", ["delta"]),
    "GPUCB": ("GP-UCB", []),
    "IGPUCB": ("IGP-UCB", ["norm_bound", "delta"]),
    "RGPUCB": ("R-GP-UCB", ["reset_period"]),
    "RandomSearch": ("random", []),
    "SWGPUCB": ("SW-GP-UCB", ["window", "horizon", "variation_budget"]),
    "SparQGPUCB": ("SparQ-GP-UCB", ["n_queries", "noise_cap", "expert_noise_variance"]),
    "TVGPUCB": ("TV-GP-UCB", ["epsilon"]),
    "UITVBO": ("UI-TVBO", ["drift_variance"]),
    "WDBO": ("W-DBO", ["alpha"]),
    "WGPUCB": ("W-GP-UCB", ["discount"]),
}

KINDS = sorted(set(optimizers.__all__) - {"Query"})
every_kind = pytest.mark.parametrize("name", KINDS)


# --- said once ------------------------------------------------------------------------------------


@every_kind
def test_the_domain_comes_first_and_the_rest_by_name(name):
    kind = getattr(optimizers, name)
    domain, *others = inspect.signature(kind).parameters.values()
    assert (domain.name, domain.kind) == ("domain", domain.POSITIONAL_OR_KEYWORD)
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in others)
    own = ALGORITHMS[name][1]
    expected = own + [shared for shared in SHARED if shared not in own]
    if kind is RandomSearch:
        expected = [shared for shared in SHARED if shared not in MODEL]
    assert sorted(p.name for p in others) == sorted(expected)
    if kind is not BayesianOptimizer:  # of which all are shared
        assert [p.name for p in others] == expected
    opt = kind(BOX)
    assert opt.domain is BOX
    assert opt.get_params(deep=False) == {"domain": BOX} | {p.name: p.default for p in others}
    with pytest.raises(TypeError, match="positional argument"):
        kind(BOX, None)


@every_kind
def test_named_algorithms_are_compositions_with_a_policy_of_their_own(name):
    opt = getattr(optimizers, name)()
    assert isinstance(opt, BayesianOptimizer)
    assert opt.label == ALGORITHMS[name][0]
    assert "label" not in opt.get_params()
    assert ("policy" in opt.get_params()) == (name == "BayesianOptimizer")
    if name != "BayesianOptimizer":
        with pytest.raises(TypeError, match="policy"):
            type(opt)(policy=None)


def test_every_optimizer_is_tested():
    assert {case.kind.__name__ for case in CASES} == set(KINDS)


def test_constructor_only_stores(case):
    kind = case.kind
    values = {name: object() for name in kind().get_params()}
    opt = kind(**values)
    assert vars(opt).keys() >= values.keys()
    assert not any(hasattr(opt, name) for name in SHOWN)
    assert all(getattr(opt, name) is value for name, value in values.items())


def test_parameters_are_got_set_and_shown(case):
    opt = case.make()
    assert opt.get_params()["random_state"] == 0
    shown = repr(opt)
    assert shown.startswith(f"{case.kind.__name__}(")
    for name in case.options:
        assert f"{name}=" in shown
    assert opt.set_params(random_state=3, maximize=False) is opt
    assert (opt.random_state, opt.maximize) == (3, False)
    with pytest.raises(ValueError, match="Invalid parameter 'speed'"):
        opt.set_params(speed=1.0)
    before = opt.get_params()
    opt.tell([1.0, 0.5], objective([1.0, 0.5], 0), 0)
    opt.ask(1)
    assert opt.get_params() == before


def test_nested_parameters():
    opt = BY_NAME["improvement"].make()
    opt.set_params(acquisition__xi=0.3, policy__alpha=2.0)
    assert clone(opt).get_params()["acquisition__xi"] == 0.3
    BY_NAME["improvement"].drive(opt, 7)
    assert opt.policy_.alpha == 2.0
    assert opt.policy_ is not opt.policy
    assert opt.policy.budget_ is None


def test_a_run_does_not_reach_the_parameters_policy():
    opt = BY_NAME["thompson"].make()
    policy = opt.policy
    BY_NAME["thompson"].drive(opt, 13)
    assert opt.policy is policy
    assert vars(policy) == {"period": 11, "from_prior": False}
    assert opt.policy_.n_resets_ == 1


def test_set_params_before_the_first_step():
    opt = WDBO(BOX, n_initial_points="nonsense", random_state=0)
    with pytest.raises(ValueError, match="'n_initial_points' parameter of WDBO"):
        opt.ask(0.0)
    opt.set_params(n_initial_points=3, domain=[(5.0, 6.0)])
    assert 5.0 <= opt.ask(0.0)[0] <= 6.0


# --- of a run -------------------------------------------------------------------------------------


def half(x):
    return x[0] < 0.5


OTHERS = {
    "domain": [(5.0, 6.0)],
    "surrogate": TimeVaryingGPRegressor(RBF(0.1), ConstantKernel(1.0, "fixed"), optimizer=None),
    "acquisition": PosteriorMean(),
    "policy": SlidingWindow(2),
    "n_initial_points": 50,
    "refit_every": 7,
    "maximize": False,
    "clock": "step",
    "random_state": 99,
    "history": 1,
    "journal": "elsewhere.db",
    "max_step": 0.1,
    "constraints": half,
    "start_points": [[0.5, 0.5]],
    "query_timeout": 0.5,
    "time_unit": "h",
    "seasonal_periods": 3.0,
    "lookahead": 9.0,
    "max_size": 1,
    "step_budget": 1e-9,
    "robust": True,
    "outcome_constraints": {"load": (None, 1.0)},
    "safety": 0.9,
    "reset_period": 2,
    "window": 2,
    "horizon": 3,
    "variation_budget": 40.0,
    "delta": 0.9,
    "norm_bound": 7.0,
    "n_queries": 1,
    "noise_cap": 1e6,
    "expert_noise_variance": 5.0,
    "epsilon": 0.8,
    "drift_variance": 4.0,
    "alpha": 50.0,
    "discount": 0.5,
}


def test_a_run_keeps_the_parameters_it_began_with(case):
    begun, steps = 3, 5
    opt, _ = case.after(begun)
    others = {name: OTHERS[name] for name in opt.get_params(deep=False)}
    opt.set_params(**others)
    case.drive(opt, steps, begun)
    same_state(opt, case.after(begun + steps)[0])
    copied = clone(opt)
    for name, value in others.items():
        assert getattr(opt, name) is value
        assert repr(getattr(copied, name)) == repr(value)


def test_nor_does_a_parameter_that_makes_no_sense_reach_it(case):
    opt, _ = case.after(3)
    opt.set_params(**dict.fromkeys(opt.get_params(deep=False), "nonsense"))
    case.drive(opt, 2, 3)
    same_state(opt, case.after(5)[0])
    with pytest.raises(ValueError, match="must be"):
        clone(opt).ask(0.0)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("GPUCB", {"maximize": False}),
        ("GPUCB", {"n_initial_points": 12}),
        ("GPUCB", {"random_state": 1}),
        ("WDBO", {"alpha": 1e-3}),
        ("SWGPUCB", {"window": 2}),
        ("UITVBO", {"drift_variance": 4.0}),
        ("SparQGPUCB-expert", {"n_queries": 1}),
        ("SparQGPUCB-expert", {"expert_noise_variance": 5.0}),
    ],
)
def test_a_clone_begins_a_run_with_the_new_ones(name, options):
    case = BY_NAME[name]
    opt, _ = case.after()
    fresh = clone(opt.set_params(**options))
    case.drive(fresh, 14)
    made = case.make(**options)
    case.drive(made, 14)
    same_state(fresh, made)
    assert not np.array_equal(fresh.told_X_, opt.told_X_) or fresh.n_removed_ != opt.n_removed_


def test_a_clone_begins_a_run_in_another_domain():
    opt, _ = BY_NAME["GPUCB"].after(6)
    fresh = clone(opt.set_params(domain=[(5.0, 6.0)]))
    assert opt.ask(6.0).shape == (2,)
    assert 5.0 <= fresh.ask(6.0)[0] <= 6.0


def test_nor_do_parameters_of_its_parts():
    case = BY_NAME["improvement"]
    surrogate = TimeVaryingGPRegressor(RBF(0.3), RBF(20.0), normalize_y=True)
    opt, twin = (case.make(surrogate=clone(surrogate), policy=SlidingWindow(7)) for _ in range(2))
    for each in (opt, twin):
        case.drive(each, N_INITIAL + 2)
    opt.set_params(acquisition__xi=9.0, surrogate__spatial_kernel__length_scale=0.01)
    opt.set_params(surrogate__optimizer=None, policy__window=2)
    for each in (opt, twin):
        case.drive(each, 4, N_INITIAL + 2)
    same_state(opt, twin)


def test_the_clock_of_a_run_stays():
    times = iter([3.0, 4.0, 5.0])
    opt = WDBO(BOX, clock=lambda: next(times), random_state=0)
    opt.ask()
    opt.set_params(clock="step")
    assert opt.suggest().t == 4.0
    # A clock of the user's is asked itself, and not a copy of it.
    assert next(times) == 5.0


def test_a_recommendation_goes_the_way_the_run_began():
    opt = RandomSearch(BOX, random_state=0)
    ask_and_tell(opt, 6, lambda x, t: float(t))
    opt.set_params(maximize=False)
    assert_array_equal(opt.recommend(6.0), opt.told_X_[-1, :-1])


# --- mappings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mapping"),
    [*((name, MappingProxyType) for name in KINDS), ("WDBO", ChainMap), ("WDBO", OrderedDict)],
)
def test_any_mapping_is_a_dict_of_parameters(name, mapping, tmp_path):
    """Run, clone, copy, pickle, JSON and journal are those of the dicts."""
    plain = {"domain": {"a": ("real", 0.0, 1.0)}}
    if name != "RandomSearch":
        plain["outcome_constraints"] = {"load": (None, 1.0)}
    values = {key: mapping(value) for key, value in plain.items()}
    kind, path = getattr(optimizers, name), tmp_path / "run.db"
    opt = kind(**values, random_state=0, journal=path)
    assert opt.domain is values["domain"]
    twins = [kind(**plain, random_state=0), clone(opt), copy.copy(opt), copy.deepcopy(opt)]
    twins += [pickle.loads(pickle.dumps(opt)), kind.from_json(opt.to_json())]
    x, told = opt.ask(0.0), {"outcomes": {"load": 0.5}} if "outcome_constraints" in plain else {}
    opt.tell(x, 1.0, **told)
    for twin in twins:
        assert twin.set_params(journal=None).ask(0.0) == x
    opt.close()
    assert kind.resume(path).n_told_ == 1
    resumed = kind(**values, random_state=0, journal=Journal(path, resume=True))
    assert resumed.n_told_ == 1
    assert resumed.ask(1.0) == kind.from_json(opt.to_json()).ask(1.0)
