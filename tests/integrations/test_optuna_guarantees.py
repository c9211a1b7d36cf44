"""Guarantees of the optimizers, kept by the sampler for Optuna."""

import math
import pickle
import threading
import warnings
from typing import ClassVar

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint

from sktvbo import BOLT, GPUCB, SWGPUCB, WDBO, Journal, RandomSearch
from sktvbo.domain import Constrained, Context, StepLimit
from sktvbo.exceptions import DomainError

optuna = pytest.importorskip("optuna")

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution  # noqa: E402
from optuna.trial import TrialState, create_trial  # noqa: E402

from sktvbo.integrations.optuna import TimeVaryingSampler  # noqa: E402


def new_study(algorithm, storage=None, name=None, direction="minimize", **options):
    sampler = TimeVaryingSampler(algorithm, **{"time": "number", "seed": 0} | options)
    options = {"storage": storage, "study_name": name, "direction": direction}
    return optuna.create_study(sampler=sampler, load_if_exists=True, **options)


def square(trial):
    x, y = trial.suggest_float("x", 0.0, 10.0), trial.suggest_float("y", -1.0, 1.0)
    return (x - 4.0) ** 2 + y**2


def points(study, *names):
    names = names or ("x", "y")
    return np.array([[trial.params[name] for name in names] for trial in study.trials])


class Spy(WDBO):
    """Optimizer that records itself at each query."""

    asked: ClassVar = []

    def ask(self, *arguments, **options):
        self.asked.append(self)
        return super().ask(*arguments, **options)


@pytest.fixture(autouse=True)
def _nothing_asked():
    Spy.asked.clear()


# --- start points ---------------------------------------------------------------------------------

STARTS = [{"x": 9.0, "y": 0.5}, {"x": np.float64(1.0), "y": -1.0}, {"x": 5.0, "y": 1.0}]


def started(study, n=3):
    return [trial.params for trial in study.trials[:n]]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("kind", [WDBO, RandomSearch, SWGPUCB])
def test_start_points_are_asked_in_their_order_and_once(kind, direction):
    study = new_study(kind(start_points=STARTS), direction=direction)
    study.optimize(square, n_trials=8)
    assert started(study) == STARTS
    assert all(type(v) is float for trial in study.trials for v in trial.params.values())
    assert not any(trial.params in STARTS for trial in study.trials[3:])


def test_start_points_are_initial_points():
    study = new_study(Spy(start_points=STARTS, n_initial_points=3))
    study.optimize(square, n_trials=5)
    assert [opt.surrogate_ is not None for opt in Spy.asked] == [False, False, True, True]


def test_start_points_with_trials_that_fail_are_enqueued_or_were_added():
    def objective(trial):
        if square(trial) and trial.number in (1, 2):
            raise RuntimeError

    study = new_study(WDBO(start_points=STARTS))
    known = {"x": FloatDistribution(0.0, 10.0), "y": FloatDistribution(-1.0, 1.0)}
    study.add_trial(create_trial(params={"x": 2.0, "y": 0.0}, distributions=known, value=3.0))
    study.enqueue_trial({"x": 3.0})
    study.optimize(lambda trial: objective(trial) or 1.0, n_trials=5, catch=RuntimeError)
    assert study.trials[1].params["x"] == 3.0
    assert [trial.params for trial in study.trials[2:5]] == STARTS


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_start_points_with_several_workers(n_jobs):
    barrier = threading.Barrier(n_jobs)

    def objective(trial):
        if trial.number < n_jobs:
            barrier.wait(60.0)  # all begin before any draws
        return square(trial)

    study = new_study(WDBO(start_points=STARTS))
    study.optimize(objective, n_trials=8, n_jobs=n_jobs)
    assert started(study) == STARTS
    assert not any(trial.params in STARTS for trial in study.trials[3:])


def test_start_points_of_a_study_that_is_resumed(tmp_path):
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    for n in (1, 1, 2):
        new_study(WDBO(start_points=STARTS), storage, "one").optimize(square, n_trials=n)
    study = new_study(WDBO(start_points=STARTS), storage, "one")
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    assert started(study) == STARTS
    study.optimize(square, n_trials=2)
    assert not any(trial.params in STARTS for trial in study.trials[3:])


def test_start_points_of_conditional_spaces():
    starts = [{"kind": "net", "width": 2.5}, {"kind": "tree", "depth": np.int64(3)}, {"depth": 9}]

    def objective(trial):
        rate = trial.suggest_float("rate", 0.0, 1.0)
        if trial.suggest_categorical("kind", ["tree", "net"]) == "tree":
            return rate + trial.suggest_int("depth", 1, 9)
        return rate + trial.suggest_float("width", 0.0, 4.0)

    study = new_study(WDBO(start_points=starts, n_initial_points=4))
    study.optimize(objective, n_trials=5)
    for trial, start in zip(study.trials[:2], starts):
        assert trial.params == {"rate": trial.params["rate"]} | start
    assert study.trials[2].params.get("depth", 9) == 9
    assert len({trial.params["rate"] for trial in study.trials}) == 5


@pytest.mark.parametrize("first", [0, 3])
def test_a_start_point_outside_of_a_distribution_is_an_error(first):
    study = new_study(WDBO(start_points=[{"x": 99.0, "y": 0.0}]))
    for _ in range(first):
        study.enqueue_trial({"x": 1.0, "y": 0.0})
    with pytest.raises(DomainError, match="'x' in start_points must be a value of FloatDistr"):
        study.optimize(square, n_trials=first + 1)


# --- Thompson sampling and seeds ------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, None])
def test_each_trial_has_a_different_draw(seed):
    study = new_study(GPUCB(acquisition="ts", n_initial_points=3), seed=seed)
    known = {"x": FloatDistribution(0.0, 10.0)}
    for x in (0.0, 5.0, 10.0):
        study.add_trial(create_trial(params={"x": x}, distributions=known, value=abs(x - 5.0)))
    # No value is told in between, and no trial is pending.
    found = []
    for _ in range(4):
        trial = study.ask()
        found.append(trial.suggest_float("x", 0.0, 10.0))
        study.tell(trial, state=TrialState.PRUNED)
    assert len(set(found)) == 4


@pytest.mark.parametrize("acquisition", [None, "ts"])
def test_the_seed_decides(acquisition):
    def found(algorithm, **options):
        study = new_study(algorithm, **options)
        study.optimize(lambda trial: trial.suggest_int("x", 0, 99) % 7, n_trials=7)
        return points(study, "x").tolist()

    options = {"acquisition": acquisition, "n_initial_points": 3}
    by_seed = [found(GPUCB(**options), seed=seed) for seed in (5, 5, 6)]
    assert by_seed[0] == by_seed[1] != by_seed[2]
    by_state = [found(GPUCB(**options, random_state=s), seed=None) for s in (5, 5, 6)]
    assert by_state[0] == by_state[1] != by_state[2]
    by_both = found(GPUCB(**options, random_state=9), seed=5)
    assert by_both == by_seed[0]


# --- constraints ----------------------------------------------------------------------------------


def grid(trial):
    """Objective of parameters that the domain represents by other numbers."""
    n = trial.suggest_int("n", 10, 100, step=10)
    k = trial.suggest_int("k", -5, 5)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    trial.suggest_int("fixed", 3, 3)
    return abs(n - 70) / 10.0 + k + (kind == "a")


def small_sum(params):
    return params["n"] + 10 * params["k"] <= (60 if params["kind"] == "a" else 30)


CONSTRAINTS = {
    "yes or no": small_sum,
    "number": lambda p: (60.0 if p["kind"] == "a" else 30.0) - p["n"] - 10.0 * p["k"],
    "nonlinear": NonlinearConstraint(
        lambda p: p["n"] + 10.0 * p["k"] + (0.0 if p["kind"] == "a" else 30.0), -math.inf, 60.0
    ),
    "with one value": lambda p: p["fixed"] == 3 and small_sum(p),
}


@pytest.mark.parametrize("kind", [WDBO, RandomSearch])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_all_trials_satisfy_the_constraints(kind, constraint):
    options = {} if kind is RandomSearch else {"n_initial_points": 6}
    study = new_study(kind(constraints=[CONSTRAINTS[constraint]], **options))
    study.optimize(grid, n_trials=14)
    assert all(small_sum(trial.params) for trial in study.trials)
    assert len({tuple(trial.params.items()) for trial in study.trials}) > 5


def test_constraints_hold_with_enqueued_and_failed_trials_and_workers():
    def objective(trial):
        value = grid(trial)
        if trial.number % 3 == 0:
            raise RuntimeError
        return value

    study = new_study(WDBO(constraints=small_sum, n_initial_points=4))
    for n in (20, 90):
        study.enqueue_trial({"n": n})
    study.optimize(objective, n_trials=12, n_jobs=2, catch=RuntimeError)
    assert [trial.params["n"] for trial in study.trials[:2]] == [20, 90]
    assert all(small_sum(trial.params) for trial in study.trials)


def test_constraints_know_of_parameters_that_are_held():
    study = new_study(WDBO(constraints=lambda p: p["x"] + 10.0 * p["y"] <= 5.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.PartialFixedSampler({"y": 0.25}, study.sampler)
    study.optimize(square, n_trials=8)
    assert (points(study)[:, 0] + 10.0 * 0.25 <= 5.0).all()


def test_start_points_must_satisfy_the_constraints():
    def low(params):
        return params["x"] <= 5.0

    study = new_study(WDBO(start_points=STARTS, constraints=low))
    with pytest.raises(DomainError, match=r"constraints.* must be satisfied .*'x': 9\.0"):
        study.optimize(square, n_trials=1)


def test_a_first_trial_that_cannot_satisfy_the_constraints():
    study = new_study(WDBO(constraints=lambda p: p["y"] <= -2.0))
    with pytest.raises(DomainError, match=r"satisfies .*enqueue_trial.* or start_points"):
        study.optimize(square, n_trials=1)


def test_a_constraint_on_an_unknown_parameter_warns():
    study = new_study(WDBO(constraints=lambda p: p["speed"] > 0.0))
    with pytest.warns(UserWarning, match="ignored: it needs 'speed', which no trial has"):
        study.optimize(square, n_trials=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(square, n_trials=1)


# --- steps ----------------------------------------------------------------------------------------

RANGES = np.array([10.0, 2.0])


@pytest.mark.parametrize("ends", ["complete", "failed", "pruned", "running"])
@pytest.mark.parametrize("kind", [WDBO, RandomSearch])
def test_no_step_is_longer(kind, ends):
    study = new_study(kind(max_step={"x": 0.1, "y": 0.05}))
    for number in range(14):
        trial = study.ask()
        value = square(trial)
        if ends == "complete" or (ends == "running" and number % 2):
            study.tell(trial, value)
        elif ends != "running":
            state = TrialState.FAIL if ends == "failed" else TrialState.PRUNED
            study.tell(trial, state=state)
    steps = np.abs(np.diff(points(study), axis=0)) / RANGES
    assert (steps <= np.array([0.1, 0.05]) + 1e-9).all()
    assert steps[:, 0].max() > 0.05


def test_steps_are_from_where_trials_left_each_parameter():
    def objective(trial):
        x = trial.suggest_float("x", 0.0, 10.0)
        if trial.suggest_categorical("kind", ["a", "b"]) == "b":
            return x + trial.suggest_int("depth", 0, 100)
        return x

    study = new_study(WDBO(max_step=0.1, n_initial_points=5))
    study.enqueue_trial({"kind": "b", "depth": 77, "x": 0.0})
    study.optimize(objective, n_trials=20)
    depths = [trial.params["depth"] for trial in study.trials if "depth" in trial.params]
    assert len(depths) < 20
    assert np.abs(np.diff(depths)).max() <= 10
    assert np.abs(np.diff(points(study, "x")[:, 0])).max() <= 1.0 + 1e-9


def test_steps_after_a_restart_and_a_range_that_changed():
    storage = optuna.storages.InMemoryStorage()
    for n in (4, 4, 4):
        study = new_study(WDBO(max_step=0.1, n_initial_points=3), storage, "one")
        high = 10.0 if len(study.trials) < 8 else 5.0
        study.optimize(lambda trial, high=high: trial.suggest_float("x", 0.0, high), n_trials=n)
    x = points(study, "x")[:, 0]
    assert np.abs(np.diff(x[:8])).max() <= 1.0 + 1e-9
    assert x[8:].max() <= 5.0
    assert np.abs(np.diff(x[8:])).max() <= 0.5 + 1e-9


def test_start_points_are_approached_by_steps():
    storage = optuna.storages.InMemoryStorage()
    starts = [{"x": 2.0, "y": -0.9}, {"x": 9.0, "y": 0.1}, {"x": 9.0, "y": 0.0}]
    for _ in range(3):
        study = new_study(WDBO(start_points=starts, max_step=0.25), storage, "one")
        study.optimize(square, n_trials=2)
    expected = [[2.0, -0.9], [4.5, -0.4], [7.0, 0.1], [9.0, 0.1], [9.0, 0.0]]
    assert np.allclose(points(study)[:5], expected, atol=1e-9)
    assert points(study)[[0, 3, 4]].tolist() == [list(start.values()) for start in starts]


def test_steps_per_unit_of_time():
    limit = StepLimit(0.01, per="time")
    study = new_study(WDBO(max_step=limit, n_initial_points=3), time="hour")
    for hour in np.cumsum([0.0, 1.0, 5.0, 0.0, 2.0, 9.0, 3.0]):
        trial = study.ask()
        trial.set_user_attr("hour", hour)
        study.tell(trial, square(trial))
    steps = np.abs(np.diff(points(study), axis=0)) / RANGES
    hours = np.diff([trial.user_attrs["hour"] for trial in study.trials])
    assert (steps <= 0.01 * hours[:, np.newaxis] + 1e-9).all()
    assert steps.max() > 0.0


# --- failures, timeouts, policies and pruners -----------------------------------------------------


def test_where_trials_fail_is_learnt_though_none_has_succeeded():
    def objective(trial):
        trial.suggest_float("x", 0.0, 10.0)
        raise RuntimeError

    study = new_study(WDBO())
    for x in (1.0, 2.0, 3.0, 4.0, 4.5):
        study.enqueue_trial({"x": x})
    study.optimize(objective, n_trials=5, catch=RuntimeError)
    found = []
    for _ in range(30):
        trial = study.ask()
        found.append(trial.suggest_float("x", 0.0, 10.0))
        study.tell(trial, state=TrialState.PRUNED)
    assert np.mean(np.array(found) > 5.0) > 0.7  # 0.5 without learning


def test_expired_trials_are_no_longer_kept_away_from():
    found = []
    for timeout in (None, 3.0):
        study = new_study(Spy(n_initial_points=4, query_timeout=timeout))
        study.optimize(square, n_trials=6)
        lost = study.ask()
        square(lost)
        study.optimize(square, n_trials=5)
        found.append(len(Spy.asked[-1].pending_))
    assert found == [2, 1]  # the new query included


def test_the_policy_receives_the_times_of_queries():
    # The response time needs the times of queries.
    class Bolt(BOLT, Spy):
        pass

    study = new_study(Bolt(n_initial_points=4))
    study.optimize(square, n_trials=12)
    assert Spy.asked[-1].policy_.response_time_ is not None


def test_all_brackets_of_hyperband_are_known():
    pruner = optuna.pruners.HyperbandPruner(1, 9, 3)
    sampler = TimeVaryingSampler(GPUCB(n_initial_points=4, max_step=0.1), time="number", seed=0)
    study = optuna.create_study(sampler=sampler, pruner=pruner)

    def objective(trial):
        value = square(trial)
        for step in range(4):
            trial.report(value, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study.optimize(objective, n_trials=12)
    assert (np.abs(np.diff(points(study), axis=0)) <= 0.1 * RANGES + 1e-9).all()


# --- many trials ----------------------------------------------------------------------------------


class Counted(SWGPUCB):
    calls: ClassVar = []

    def tell(self, *arguments, **options):
        self.calls.append(1)
        super().tell(*arguments, **options)

    def tell_many(self, X, *arguments, **options):
        self.calls.append(len(X))
        super().tell_many(X, *arguments, **options)


def many(n):
    rng = np.random.RandomState(0)
    axes = {"x": FloatDistribution(0.0, 10.0), "k": IntDistribution(0, 100, step=5)}
    return [
        create_trial(
            params={"x": rng.uniform(0.0, 10.0), "k": 5 * rng.randint(21)},
            distributions=axes,
            value=float(i % 7),
        )
        for i in range(n)
    ]


def test_many_trials_are_told_at_once_and_read_once(monkeypatch):
    Counted.calls.clear()
    read = []
    before = IntDistribution.to_internal_repr
    monkeypatch.setattr(
        IntDistribution, "to_internal_repr", lambda self, v: read.append(v) or before(self, v)
    )
    study = new_study(Counted(window=20, n_initial_points=5))
    study.add_trials(many(600))
    expected = []
    for new in (600, 1, 1):
        trial = study.ask()
        x, k = trial.suggest_float("x", 0.0, 10.0), trial.suggest_int("k", 0, 100, step=5)
        study.tell(trial, x + k)
        expected.append(new)
        assert Counted.calls == expected
        if new == 1:
            assert len(read) < 30
        read.clear()


# --- values ---------------------------------------------------------------------------------------

DISTRIBUTIONS = [
    FloatDistribution(-1.0, 1.0),
    FloatDistribution(0.0, 1.0, step=0.3),
    FloatDistribution(1e-7, 1.0, log=True),
    IntDistribution(-10, 10),
    IntDistribution(0, 10, step=3),
    IntDistribution(1, 100, log=True),
    CategoricalDistribution((1, 2.5, "a", None, True)),
    # Distributions at the limits of floats:
    IntDistribution(0, 2**53),
    IntDistribution(2**53 - 3, 2**53 + 8),
    IntDistribution(-(2**62), 2**62),
    IntDistribution(2**62, 2**62 + 10**6, step=1024),
    IntDistribution(0, 2**61, step=3),
    IntDistribution(0, 10**30),
    IntDistribution(7, 10**15, step=11),
    IntDistribution(1, 2**60, log=True),
    IntDistribution(1, 10**300, log=True),
    IntDistribution(2**53 - 2, 2**53 + 6, log=True),
    FloatDistribution(-1.7e308, 1.7e308),
    FloatDistribution(0.0, 1e-320),
    FloatDistribution(1.0, math.nextafter(1.0, 2.0)),
    FloatDistribution(5e-324, 1.7e308, log=True),
    FloatDistribution(5e-324, 1e-322, log=True),
    FloatDistribution(1e300, math.nextafter(1e300, math.inf), log=True),
    FloatDistribution(-0.3, 0.7, step=0.1),
    FloatDistribution(0.0, 1.0, step=1e-9),
    FloatDistribution(0.0, 1e18, step=0.25),
    FloatDistribution(1e-300, 1.1e-299, step=1e-300),
    CategoricalDistribution((None, True, False, 0.5, 3, "x")),
    CategoricalDistribution((1, True, 1.0, "1", 0, False, math.nan, None)),
]


def suggested(trial, distribution):
    return trial._suggest("a", distribution)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_values_are_those_that_optuna_stores(distribution):
    study = new_study(Spy(n_initial_points=3))
    seen = []

    def objective(trial):
        value = suggested(trial, distribution)
        internal = distribution.to_internal_repr(value)
        stored = distribution.to_external_repr(internal)
        assert distribution._contains(internal)
        assert stored is value or (type(stored) is type(value) and stored == value)
        if isinstance(distribution, IntDistribution):
            assert (value - distribution.low) % distribution.step == 0
            assert distribution.low <= value <= distribution.high
        seen.append(internal)
        return float(trial.number % 3)

    study.optimize(objective, n_trials=8)
    assert len(set(seen)) > 1
    told = Spy.asked[-1].told_X_[:, 0]
    assert len(told) == 7  # all were encoded
    # Coordinates are distinct and ordered like the values.
    assert len(set(told)) == len(set(seen[:7]))
    assert np.array_equal(np.argsort(told, kind="stable"), np.argsort(seen[:7], kind="stable"))


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        (IntDistribution(2**62 + 1, 2**62 + 5), "must be one with values that floats represent"),
        (IntDistribution(1, 10**400), "must be of finite floats"),
        (FloatDistribution(0.0, math.inf), "must be of finite floats"),
        (FloatDistribution(-1.5e308, 1.5e308, step=1e300), "must be of finite floats"),
    ],
    ids=repr,
)
def test_distributions_without_values_are_refused(distribution, message):
    with pytest.raises(ValueError, match=message):
        suggested(new_study(WDBO()).ask(), distribution)


@pytest.mark.parametrize(
    ("distribution", "value", "position"),
    [
        (FloatDistribution(0.0, 1.0), np.float32(0.25), 0.25),
        (FloatDistribution(0.0, 1.0), np.float16(0.5), 0.5),
        (FloatDistribution(0.0, 4.0), np.int8(3), 3.0),
        (IntDistribution(0, 10, step=2), np.uint8(6), 3),
        (IntDistribution(0, 10, step=2), np.float64(6.0), 3),
        (IntDistribution(0, 1), np.True_, 1),
        (CategoricalDistribution((0, 5, "a")), np.int64(5), 1),
        (CategoricalDistribution((0.5, "a")), np.str_("a"), 1),
        (CategoricalDistribution((False, True)), np.True_, 1),
        (CategoricalDistribution((math.nan, 2)), np.float32("nan"), 0),
    ],
)
def test_numpy_scalars_are_numbers(distribution, value, position):
    study = new_study(WDBO(start_points=[{"a": value}], n_initial_points=2))
    first = suggested(study.ask(), distribution)
    assert type(first) in (int, float, str, bool)
    assert first == value or first != first
    study = new_study(Spy(n_initial_points=2))
    study.add_trial(create_trial(params={"a": value}, distributions={"a": distribution}, value=1.0))
    study.enqueue_trial({"a": value})
    for _ in range(2):
        trial = study.ask()
        suggested(trial, distribution)
        study.tell(trial, 2.0)
    assert Spy.asked[-1].told_X_[:, 0].tolist() == [position] * 2


def test_values_between_those_of_a_new_step_are_left_out():
    study = new_study(Spy(n_initial_points=2))
    for step, x in ((2, 4), (2, 6), (3, 6)):
        axis = IntDistribution(0, 12, step=step)
        study.add_trial(create_trial(params={"a": x}, distributions={"a": axis}, value=1.0))
    suggested(study.ask(), IntDistribution(0, 12, step=3))
    assert Spy.asked[-1].told_X_[:, 0].tolist() == [2.0, 2.0]


# --- invalid parameters ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"journal": "run.db"}, "'journal' parameter of WDBO must be None in a study"),
        (
            {"journal": Journal("run.db", resume=True)},
            r"derives its state from the trials .*load_if_exists=True\) resumes a study",
        ),
        ({"safety": 0.9}, "'safety' parameter of WDBO must be None in a study"),
        ({"start_points": [[1.0, 2.0]]}, "'start_points' parameter of WDBO must be a list of dic"),
        ({"start_points": np.ones((2, 2))}, "'start_points' parameter of WDBO must be a list of d"),
        ({"max_step": [0.1, 0.2]}, "'max_step' parameter of WDBO must be a number or a dict"),
        ({"max_step": StepLimit([0.1, 0.2])}, "'max_step' parameter of WDBO must be a number or"),
        ({"max_step": -1.0}, r"'max_step' parameter of WDBO must be a number in the range"),
        ({"constraints": LinearConstraint([[1.0, 1.0]], 1.0)}, "'constraints' parameter of WDBO"),
        ({"constraints": "x > y"}, "'constraints' parameter of WDBO"),
        ({"domain": Constrained([(0.0, 1.0)], lambda x: x[0] > 0.5)}, "'domain' parameter of WDBO"),
        ({"domain": {"x": ("real", 0.0, 1.0), "c": Context(0.0, 1.0)}}, "'domain' parameter"),
    ],
)
def test_parameters_that_a_study_does_not_support(options, message):
    with pytest.raises(ValueError, match=message):
        TimeVaryingSampler(WDBO(**options))
