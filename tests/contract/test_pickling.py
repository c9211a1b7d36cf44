"""Interrupted and resumed, copied, cloned, seeded."""

import copy
import json
import pickle
from importlib.util import find_spec

import numpy as np
import pytest
from contract.cases import ARMS, BOX, ROUNDING, STEPS, in_turns, same_state
from numpy.testing import assert_array_equal
from scipy.optimize import LinearConstraint

from sktvbo import (
    BOLT,
    ETGPUCB,
    GPUCB,
    SWGPUCB,
    WDBO,
    BayesianOptimizer,
    SparQGPUCB,
    SparseTimeVaryingGPRegressor,
    TimeVaryingGPRegressor,
)
from sktvbo.domain import Context, WithContext
from sktvbo.gaussian_process import GeometricInjection
from sktvbo.staleness import SlidingWindow


def from_json(opt):
    text = opt.to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    return type(opt).from_json(text)


COPIES = {
    "pickle": lambda opt: pickle.loads(pickle.dumps(opt)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "json": from_json,
}


def tolerance(make):
    return ROUNDING if make is from_json else 0.0


@in_turns("twin_of", COPIES.values())
def test_a_copy_goes_on_alike_and_leaves_the_original(few, twin_of):
    opt, _ = few.after(STEPS - 1)
    twin = twin_of(opt)
    assert twin.get_params().keys() == opt.get_params().keys()
    few.drive(twin, 1, start=STEPS - 1)
    same_state(twin, few.after()[0], tolerance(twin_of))
    same_state(opt, few.after(STEPS - 1)[0])


# --- seeds ----------------------------------------------------------------------------------------


def test_same_seed_same_run_other_seed_another(few):
    opt, queries = few.after(7)
    again = few.make()
    assert_array_equal(few.drive(again, 7), queries)
    same_state(again, opt)
    assert not np.array_equal(few.make(random_state=1).ask(0), queries[0])


def test_a_random_state_is_not_used_up(few):
    rng = np.random.RandomState(7)
    first, second = few.make(random_state=rng), few.make(random_state=7)
    assert_array_equal(few.drive(first, 6), few.drive(second, 6))
    assert rng.randint(2**30) == np.random.RandomState(7).randint(2**30)


def test_without_a_seed_each_is_another_and_numpys_generator_stays(few):
    before = np.random.get_state()[1].copy()
    first, second = few.make(random_state=None), few.make(random_state=None)
    assert not np.array_equal(first.ask(0.0), second.ask(0.0))
    few.drive(first, 6, start=1)
    assert_array_equal(np.random.get_state()[1], before)


# --- whatever a run has ---------------------------------------------------------------------------


def plain(opt, t):
    opt.tell(opt.ask(t), np.sin(3.0 * t))


def with_known_noise(opt, t):
    opt.tell(opt.ask(t), np.sin(3.0 * t), y_variance=0.1 * t)


def in_context(opt, t):
    named = isinstance(opt.domain, dict)
    opt.tell(opt.ask(t, context={"load": float(t), "sky": "sun"} if named else [float(t)]), 0.3 * t)


def in_batches(opt, t):
    _, second, _ = opt.suggest(t, n=3)
    opt.cancel(second)
    opt.tell(opt.pending_[0], float(t))


def taking_back(opt, t):
    if t in (6, 10):
        opt.cancel(opt.ask(1e12))
    plain(opt, t)


def untelling(opt, t):
    plain(opt, t)
    if t % 4 == 3:
        row = opt.told_X_[-3]
        opt.untell()
        opt.untell(row[:-1], row[-1])


def many_at_once(opt, t):
    """More than 256 in all: the oldest are no longer remembered."""
    X = np.random.RandomState(t).uniform(size=(28, 2))
    failed = np.arange(28) % 5 == 1
    y = np.where(failed, np.nan, X[:, 0])
    opt.tell_many(X, y, t + np.arange(28.0) / 28.0, failed=failed)


def asking(opt, t):
    """A question to an expert is answered in the next step."""
    if t > 5:
        opt.tell_expert([[0.5, 0.5], [1.0, 0.0]], [0.1, 0.2])
    plain(opt, t)
    if t > 4:
        opt.ask_expert(t)


def in_part(opt, t):
    """All results, one outcome, none, or those of a failure, in turns."""
    query = opt.suggest(t)
    values = {"load": query.x[0], "heat": None if t % 4 == 1 else query.x[1]}
    values = dict.fromkeys(values, np.nan) if t % 4 == 2 else values
    opt.tell(query, **({"failed": True} if t % 4 == 3 else {"y": 1.0}), outcomes=values)


CONTEXT = {"load": Context(0.0, 100.0), "sky": Context(["sun", "rain"])}
HELD = {"optimizer": None, "normalize_y": True}
INDUCING = SparseTimeVaryingGPRegressor(n_inducing=8, random_state=0, **HELD)
GROWING = TimeVaryingGPRegressor(noise_model=GeometricInjection(0.9), **HELD)
RECENT = SlidingWindow(9)
IN_CONTEXT = WithContext(BOX, [(0.0, 100.0)])
OF_CONTEXT = LinearConstraint([1.0, 0.0, 0.1], -np.inf, 2.0)
LIMITS = {"load": (None, 1.5), "heat": (-0.5, 0.9)}
RUNS = {
    "contexts of a set": (WDBO, WithContext(ARMS, [(0.0, 100.0)]), {}, in_context),
    "contexts with names": (WDBO, {"rate": ("real", 0.0, 1.0)} | CONTEXT, {}, in_context),
    "pending queries": (WDBO, BOX, {}, in_batches),
    "queries that expire": (WDBO, BOX, {"query_timeout": 3.0}, lambda opt, t: opt.ask(t)),
    "queries taken back": (BOLT, BOX, {}, taking_back),
    "known noise": (GPUCB, BOX, {"history": 0, "refit_every": 3}, with_known_noise),
    "inducing points": (BayesianOptimizer, BOX, {"surrogate": INDUCING, "policy": RECENT}, plain),
    "growing noise": (BayesianOptimizer, BOX, {"surrogate": GROWING, "policy": RECENT}, plain),
    "untold, a window": (SWGPUCB, BOX, {"window": 5}, untelling),
    "untold, resets": (ETGPUCB, BOX, {}, untelling),
    "many at once": (SWGPUCB, BOX, {"window": 5, "history": 3, "refit_every": 10**9}, many_at_once),
    "a question to an expert": (SparQGPUCB, BOX, {"n_queries": 3}, asking),
    "partial results": (WDBO, BOX, {"outcome_constraints": LIMITS}, in_part),
    "a constraint of the context": (WDBO, IN_CONTEXT, {"constraints": OF_CONTEXT}, in_context),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_goes_on_with_all_that_it_had(name, tmp_path):
    kind, domain, options, step = RUNS[name]
    seldom = {} if kind is SparQGPUCB else {"refit_every": 3}
    options = {"n_initial_points": 4, "random_state": 0} | seldom | options
    opt, written = kind(domain, **options), kind(domain, journal=tmp_path / "run.db", **options)
    for each in (opt, written):
        for t in range(10):
            step(each, t)
    written.close()
    twins = [(COPIES["pickle"](opt), 0.0), (from_json(opt), ROUNDING)]
    twins.append((kind.resume(tmp_path / "run.db"), ROUNDING))
    for twin, stray in twins:
        same_state(twin, opt)
        if find_spec("pandas"):  # an extra
            import pandas.testing

            tables = twin.to_frame(), opt.to_frame()
            pandas.testing.assert_frame_equal(*tables, rtol=stray, atol=stray)
    for t in range(10, 12):
        step(opt, t)
        for twin, stray in twins:
            step(twin, t)
            same_state(twin, opt, stray)
