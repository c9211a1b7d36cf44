"""Nothing enters or leaves by reference: what callers give or get is not the memory of a run."""

import copy
import itertools
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from contract.cases import BOX, FEW, FEW_MODELLED, N_INITIAL, SHOWN, objective
from numpy.testing import assert_array_equal
from scipy.optimize import Bounds, LinearConstraint
from sklearn.gaussian_process.kernels import Matern

from sktvbo import (
    GPUCB,
    SWGPUCB,
    WDBO,
    BayesianOptimizer,
    SparseTimeVaryingGPRegressor,
    TimeVaryingGPRegressor,
)
from sktvbo.domain import StepLimit
from sktvbo.gaussian_process import QuadraticInjection
from sktvbo.kernels import Empirical
from sktvbo.staleness import StaleDataPolicy

SCIPY = Bounds, LinearConstraint, StepLimit


def spoil(value):
    """Write to each array and container that public names reach, and set parameters."""
    if isinstance(value, np.ndarray):
        if value.flags.owndata and value.flags.writeable and value.dtype.kind in "fiub":
            value[...] = 3
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            spoil(part)
        if not isinstance(value, tuple):
            value.clear()
    elif hasattr(value, "get_params") and not isinstance(value, type):
        parameters = value.get_params(deep=False)
        results = [name for name in dir(value) if name.endswith("_") and name[0] != "_"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spoil([getattr(value, name, None) for name in results])
        spoil(list(parameters.values()))
        numbers = {k: 7 * v for k, v in parameters.items() if type(v) in (int, float)}
        value.set_params(**numbers)
    elif isinstance(value, SCIPY):
        spoil(list(vars(value).values()))


def test_the_spoiler_reaches_what_it_is_made_for():
    kernel, limit = Matern(np.array([1.0, 2.0])), Bounds(np.zeros(2), np.ones(2))
    values = {"kernel": kernel, "limit": [limit]}
    spoil(copy.copy(values))
    assert_array_equal(kernel.length_scale, [3.0, 3.0])
    assert_array_equal(limit.lb, [3.0, 3.0])


def drive(opt, case, steps, spoils):
    """Return queries, recommendations and predictions of a run, whose results may be spoiled."""
    seen = []
    for t in range(steps):
        case.consult(opt, float(t))
        query = opt.suggest(float(t))
        x, late = query.x.copy(), t % 4 == 3 and t < steps - 1
        seen.append(x)
        y = objective(x, t)
        if spoils:
            spoil(query.x)
        if not late:
            opt.tell(x, y, float(t))
        if late or t == 5:  # a batch of observations, and one that failed
            X, times = np.array([x, x + 0.01]), np.full(2, float(t))
            values = np.array([y, np.nan if t == 5 else y])
            X = np.clip(X, *np.transpose(BOX))
            opt.tell_many(X, values, times, failed=np.array([False, t == 5]))
            if spoils:
                spoil([X, values, times])
        if t > N_INITIAL and case.modelled:
            best = opt.recommend(float(t))
            mean, std = opt.predict([[0.5, 0.0]], t=float(t), return_std=True)
            seen += [best.copy(), mean.copy(), std.copy()]
            if spoils:
                spoil([best, mean, std])
        if spoils:
            for name in SHOWN:
                spoil(getattr(opt, name))
            spoil(opt.pending_)
    return np.concatenate(seen)


@pytest.mark.parametrize("case", FEW, ids=lambda case: case.name)
def test_what_a_run_hands_out_is_not_its_own(case):
    expected = drive(case.make(), case, 12, spoils=False)
    assert_array_equal(drive(case.make(), case, 12, spoils=True), expected)


# Parameters that hold arrays or containers, made afresh for each run.
GIVEN = {
    "bounds": lambda: {"domain": np.array(BOX)},
    "list": lambda: {"domain": [list(pair) for pair in BOX]},
    "scipy": lambda: {"domain": Bounds(np.array([0.0, -1.0]), np.array([2.0, 1.0]))},
    "max_step": lambda: {"max_step": np.array([0.2, 0.3])},
    "step limit": lambda: {"max_step": StepLimit(np.array([0.2, 0.3]))},
    "start_points": lambda: {"start_points": np.array([[0.3, 0.1], [0.5, 0.4]])},
    "start table": lambda: {
        "domain": {"a": ("real", 0.0, 2.0), "b": ("real", -1.0, 1.0)},
        "start_points": pd.DataFrame({"a": [0.3, 0.5], "b": [0.1, 0.4]}),
    },
    "constraint": lambda: {
        "constraints": [LinearConstraint(np.ones((1, 2)), np.array([-9.0]), np.array([1.5]))]
    },
    "surrogate": lambda: {
        "surrogate": TimeVaryingGPRegressor(
            Matern(np.array([0.4, 0.5]), nu=2.5), noise_model=QuadraticInjection(0.1)
        )
    },
}


def spoil_table(value):
    if isinstance(value, pd.DataFrame):
        value.iloc[:, :] = 1.0
    else:
        spoil(value)


WAYS = "run", "with_parameters", "json"
# JSON holds no tables: its error names the parameter.
WAYS_ON = [p for p in itertools.product(GIVEN, WAYS) if p != ("start table", "json")]


@pytest.mark.parametrize(("given", "goes_on"), WAYS_ON)
def test_what_a_run_is_given_is_not_the_callers(given, goes_on):
    def queries(spoils):
        options = {"domain": np.array(BOX)} | GIVEN[given]()
        opt = GPUCB(n_initial_points=3, random_state=0, **options)
        asked = []
        for t in range(8):
            x = opt.ask(float(t))
            values = list(x.values()) if isinstance(x, dict) else list(x)
            asked.append(values)
            opt.tell(x, -float(np.sum((np.array(values) - 0.4) ** 2)))
            if t == 5:
                if spoils:
                    for value in options.values():
                        spoil_table(value)
                if goes_on == "with_parameters":
                    opt = opt.with_parameters(history=3)
                elif goes_on == "json":
                    opt = type(opt).from_json(opt.to_json())
        return asked

    assert queries(spoils=True) == queries(spoils=False)


class CountsByPlace(StaleDataPolicy):
    """Policy whose state is a dict that it changes in place."""

    def __init__(self, fails_at=None):
        self.fails_at = fails_at

    def check(self, surrogate=None):
        self.seen_ = {}

    def before_add(self, surrogate, x, t, y):
        key = round(float(x[0]), 1)
        self.seen_[key] = self.seen_.get(key, 0) + 1
        if t == self.fails_at:
            raise RuntimeError("a fault of the user's policy")
        return []

    def record(self):
        return {"seen": sum(self.seen_.values())}


def test_a_policys_state_is_a_value():
    opt = BayesianOptimizer(
        BOX, policy=CountsByPlace(fails_at=8.0), n_initial_points=3, random_state=0
    )
    for t in range(8):
        opt.tell(opt.ask(t), 0.1 * t)
    seen = opt.policy_.record()["seen"]
    with pytest.raises(RuntimeError, match="fault"):
        opt.tell(opt.ask(8), 0.8)
    assert opt.policy_.record()["seen"] == seen
    opt.untell()
    assert opt.policy_.record()["seen"] == seen - 1


@pytest.mark.parametrize("case", FEW_MODELLED, ids=lambda case: case.name)
def test_the_policy_that_is_shown_is_a_copy(case):
    opt, _ = case.after()
    opt.policy_.changed = True
    assert not hasattr(opt.policy_, "changed")
    assert opt.policy_ is not opt.policy_


REGRESSORS = {
    "default": lambda: TimeVaryingGPRegressor(normalize_y=True),
    "kernels": lambda: TimeVaryingGPRegressor(
        Matern(np.array([0.4, 0.5]), nu=2.5),
        Matern(9.0),
        level_kernel=Matern(4.0),
        noise_model=QuadraticInjection(0.1),
    ),
    "robust": lambda: TimeVaryingGPRegressor(robust=True),
    "sites": lambda: TimeVaryingGPRegressor(
        solver="kalman", sites=np.array([[x, y] for x in (0.0, 1.0) for y in (0.0, 1.0)])
    ),
    "arms": lambda: TimeVaryingGPRegressor(Empirical(np.eye(4) + 0.3), optimizer=None),
    "sparse": lambda: SparseTimeVaryingGPRegressor(n_inducing=20, random_state=0),
    "inducing": lambda: SparseTimeVaryingGPRegressor(
        n_inducing=3, inducing=np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 5.0], [1.0, 1.0, 20.0]])
    ),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_nothing_enters_or_leaves_an_estimator_by_reference(name):
    rng, n = np.random.default_rng(0), 30
    S = rng.integers(0, 2, (n, 2)).astype(float)
    if name == "arms":
        S = rng.integers(0, 4, (n, 1)).astype(float)
    X, y = np.column_stack([S, np.arange(n)]), rng.normal(size=n)

    def predictions(spoils):
        estimator, given = REGRESSORS[name](), [X[:20].copy(), y[:20].copy(), np.full(20, 0.01)]
        estimator.fit(*given)
        if spoils:
            spoil(given)
            spoil([estimator.predict(X, return_std=True), estimator.relevancy()])
            spoil(
                [
                    getattr(estimator, key, None)
                    for key in dir(estimator)
                    if re.fullmatch(r"[a-zA-Z]\w*_", key)
                ]
            )
        more = [X[20:].copy(), y[20:].copy()]
        estimator.partial_fit(*more)
        if spoils:
            spoil(more)
        return estimator.predict(X, return_std=True)

    assert_array_equal(predictions(spoils=True), predictions(spoils=False))


def test_steps_of_a_machine_keep_their_limit():
    step = np.array([0.1])
    opt = SWGPUCB([(0.0, 10.0)], max_step=step, start_points=[[5.0]], random_state=0)
    for t in range(6):
        x = opt.ask(t)
        opt.tell(x, -float((x[0] - 9.0) ** 2))
    step[0] = 1.0
    latest = opt.told_X_[-1, 0]
    assert abs(opt.with_parameters(window=9).ask(6.0)[0] - latest) <= 1.0 + 1e-9


def test_outcomes_and_contexts_that_are_told_are_copied():
    def queries(spoils):
        opt = WDBO(
            BOX, outcome_constraints={"load": (None, 0.9)}, n_initial_points=4, random_state=0
        )
        asked = []
        for t in range(8):
            x, fixed = opt.ask(t), {"x0": 0.5}
            asked.append(x.copy())
            outcomes = {"load": np.array(0.3 + 0.05 * t)}
            opt.tell(x, 0.1, outcomes=outcomes)
            query = opt.suggest(t, fixed=fixed)
            opt.cancel(query)
            if spoils:
                spoil([x, outcomes, fixed, query.x])
        return asked

    assert_array_equal(queries(spoils=True), queries(spoils=False))
