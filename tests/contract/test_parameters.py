"""Parameters: said once, stored, and those of a run that has begun."""

import copy
import inspect
import json
import pickle
from collections import ChainMap
from types import MappingProxyType

import numpy as np
import pytest
from contract.cases import BOX, BY_NAME, CASES, N_INITIAL, SHOWN, STEPS, objective, same_state
from sklearn.base import clone

from sktvbo import WDBO, BayesianOptimizer, RandomSearch, optimizers
from sktvbo.exceptions import AskTellError
from sktvbo.journal import Journal

# Parameters that have no effect in some algorithms, which lack them.
# A model without time has no seasons.
STATIC = ["BRGPUCB", "ETGPUCB", "GPUCB", "IGPUCB", "RGPUCB", "SWGPUCB", "SparQGPUCB", "WGPUCB"]


KINDS = sorted(set(optimizers.__all__) - {"Prior", "Query"})
every_kind = pytest.mark.parametrize("name", KINDS)


# --- said once ------------------------------------------------------------------------------------


@every_kind
def test_a_stored_run_names_the_public_class(name):
    opt = getattr(optimizers, name)(BOX)
    assert json.loads(opt.to_json())["optimizer"] == f"sktvbo.optimizers.{name}"


@every_kind
def test_the_domain_comes_first_and_the_rest_by_name(name):
    kind = getattr(optimizers, name)
    domain, *others = inspect.signature(kind).parameters.values()
    assert (domain.name, domain.kind) == ("domain", domain.POSITIONAL_OR_KEYWORD)
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in others)
    opt = kind(BOX)
    assert opt.domain is BOX
    assert opt.get_params(deep=False) == {"domain": BOX} | {p.name: p.default for p in others}
    with pytest.raises(TypeError, match="positional argument"):
        kind(BOX, None)


@every_kind
def test_an_optimizer_is_no_target_of_metadata_routing(name):
    members = dir(getattr(optimizers, name))
    assert not [each for each in members if each.startswith("set_") and each.endswith("_request")]


@every_kind
def test_named_algorithms_are_compositions_with_a_policy_of_their_own(name):
    opt = getattr(optimizers, name)()
    assert isinstance(opt, BayesianOptimizer) == (name != "RandomSearch")
    assert "label" not in opt.get_params()
    assert ("policy" in opt.get_params()) == (name == "BayesianOptimizer")
    # A reader's way from an algorithm to the steps of a run.
    chain = [kind for kind in type(opt).__mro__ if kind.__module__.startswith("sktvbo.optimizers")]
    assert len(chain) <= 4


def test_random_search_has_nothing_of_a_model():
    of_model = set(BayesianOptimizer().get_params()) - set(RandomSearch().get_params())
    assert len(of_model) > 10
    assert not [name for name in [*of_model, "predict", "refit"] if hasattr(RandomSearch(), name)]


def test_parameters_without_effect_are_lacking():
    for name in STATIC:
        with pytest.raises(TypeError, match="seasonal_periods"):
            getattr(optimizers, name)(BOX, seasonal_periods=None)
    for kind in (optimizers.SparQGPUCB, optimizers.WGPUCB):
        with pytest.raises(TypeError, match="robust"):
            kind(BOX, robust=None)


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
    shown = repr(opt)
    assert shown.startswith(f"{case.kind.__name__}(")
    assert all(f"{name}=" in shown for name in case.options)
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


def test_set_params_before_the_first_step():
    opt = WDBO(BOX, n_initial_points="nonsense", random_state=0)
    with pytest.raises(ValueError, match="'n_initial_points' parameter of WDBO"):
        opt.ask(0.0)
    opt.set_params(n_initial_points=3, domain=[(5.0, 6.0)])
    assert 5.0 <= opt.ask(0.0)[0] <= 6.0
    with pytest.raises(ValueError, match="'domain' parameter of WDBO must be a Box"):
        WDBO().ask(0.0)


# --- of a run -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("GPUCB", {"maximize": False}),
        ("SWGPUCB", {"window": 2}),
        ("SparQGPUCB-expert", {"expert_noise_variance": 5.0}),
    ],
)
def test_a_clone_begins_a_run_with_the_new_ones(name, options):
    case = BY_NAME[name]
    opt, _ = case.after()
    fresh = clone(opt).set_params(**options)
    case.drive(fresh, STEPS)
    made = case.make(**options)
    case.drive(made, STEPS)
    same_state(fresh, made)
    assert not np.array_equal(fresh.told_X_, opt.told_X_) or fresh.n_removed_ != opt.n_removed_


def test_parameters_of_its_parts_are_not_set_either():
    case = BY_NAME["improvement"]
    opt, _ = case.after(N_INITIAL + 2)
    opt.set_params(acquisition__xi=opt.acquisition.xi, policy__alpha=2.0)
    with pytest.raises(AskTellError, match=r"got acquisition__xi, policy__alpha\. with_parameters"):
        opt.set_params(acquisition__xi=9.0, policy__alpha=0.1)
    assert (opt.policy.alpha, opt.policy_.alpha) == (2.0, 2.0)


def test_a_clock_of_the_users_is_read_itself():
    times = iter([3.0, 4.0, 5.0])
    opt = WDBO(BOX, clock=lambda: next(times), random_state=0)
    opt.ask()
    assert opt.suggest().t == 4.0
    # Not a copy of it.
    assert next(times) == 5.0


# --- mappings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mapping"),
    [("RandomSearch", MappingProxyType), ("BOLT", MappingProxyType), ("WDBO", ChainMap)],
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
    x = opt.ask(0.0)
    opt.tell(x, 1.0, outcomes={"load": 0.5} if "outcome_constraints" in plain else None)
    for twin in twins:
        assert twin.set_params(journal=None).ask(0.0) == x
    opt.close()
    resumed = kind(**values, random_state=0, journal=Journal(path, resume=True))
    assert resumed.n_told_ == 1
    assert resumed.ask(1.0) == kind.from_json(opt.to_json()).ask(1.0)
