"""Sampler for Optuna: search spaces, storages, processes, and states of trials."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktvbo import ETGPUCB, WDBO

optuna = pytest.importorskip("optuna")

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution  # noqa: E402
from optuna.storages import JournalStorage, RDBStorage  # noqa: E402
from optuna.storages.journal import JournalFileBackend  # noqa: E402
from optuna.trial import TrialState, create_trial  # noqa: E402

from sktvbo.integrations.optuna import TimeVaryingSampler  # noqa: E402


def small(**options):
    """A sampler that models after few trials."""
    options = {"time": "number", "seed": 0} | options
    return TimeVaryingSampler(WDBO(n_initial_points=5), **options)


def new_study(sampler=None, **options):
    return optuna.create_study(sampler=sampler or small(), **options)


def bump(trial):
    x = trial.suggest_float("x", 0.0, 10.0)
    return (x - 3.0 - 0.05 * trial.number) ** 2


def params(study, name="x"):
    return [trial.params[name] for trial in study.trials]


# --- tracking -------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_it_follows_the_optimum(direction):
    study = new_study(direction=direction)
    sign = 1.0 if direction == "minimize" else -1.0
    study.optimize(lambda trial: sign * bump(trial), n_trials=35)
    late = params(study)[-8:]
    assert abs(np.median(late) - 4.6) < 0.5


@pytest.mark.parametrize("algorithm", ["W-DBO", "BOLT", "SWGPUCB", "random", ETGPUCB()])
def test_algorithms_by_name_or_made(algorithm):
    study = new_study(TimeVaryingSampler(algorithm, time="number", seed=0))
    study.optimize(bump, n_trials=3)
    assert len(study.trials) == 3


# --- spaces ---------------------------------------------------------------------------------------

DISTRIBUTIONS = [
    FloatDistribution(-1.0, 1.0),
    FloatDistribution(0.0, 1.0, step=0.3),
    FloatDistribution(1e-7, 1.0, log=True),
    IntDistribution(-10, 10),
    IntDistribution(0, 10, step=3),
    IntDistribution(1, 100, log=True),
    CategoricalDistribution((1, 2.5, "a", None, True)),
]


def suggest(trial, name, distribution):
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    kind = trial.suggest_float if isinstance(distribution, FloatDistribution) else trial.suggest_int
    step = {} if distribution.step is None else {"step": distribution.step}
    return kind(name, distribution.low, distribution.high, log=distribution.log, **step)


def test_all_together_are_one_relative_space():
    study = new_study()
    names = [f"p{i}" for i in range(len(DISTRIBUTIONS))]

    def objective(trial):
        for name, distribution in zip(names, DISTRIBUTIONS):
            suggest(trial, name, distribution)
        return float(trial.number % 3)

    study.optimize(objective, n_trials=8)
    trial = study.ask()
    assert set(trial.relative_params) == set(names)
    objective(trial)
    assert trial.params == trial.relative_params


def test_conditional_spaces_are_modelled_in_groups():
    def objective(trial):
        rate = trial.suggest_float("rate", 0.0, 1.0)
        if trial.suggest_categorical("kind", ["tree", "net"]) == "tree":
            return rate + 0.1 * trial.suggest_int("depth", 1, 9)
        return rate + 0.2 * (trial.suggest_float("width", 0.0, 4.0) - 3.0) ** 2 - 1.0

    study = new_study()
    study.optimize(objective, n_trials=40)
    trial = study.ask()
    assert set(trial.relative_params) == {"rate", "kind", "depth", "width"}
    late = [t.params for t in study.trials[-9:-1] if t.params["kind"] == "net"]
    assert len(late) >= 5
    # The best value is -1, that of uniform draws -0.03 on average.
    assert np.mean([t.value for t in study.trials[-9:-1]]) < -0.6
    alone = new_study(small(group=False))
    alone.add_trials(study.get_trials(states=[TrialState.COMPLETE]))
    assert set(alone.ask().relative_params) == {"rate", "kind"}


def test_without_a_common_parameter_there_is_nothing_relative():
    study = new_study(small(group=False))
    for name in ("a", "b"):
        study.add_trial(finished({name: 0.5}))
    assert study.ask().relative_params == {}


def test_a_range_that_changes_is_followed():
    study = new_study()

    def objective(trial):
        high = 10.0 if trial.number < 8 else 4.0
        return trial.suggest_float("x", 0.0, high)

    study.optimize(objective, n_trials=16)
    assert max(params(study)[8:]) <= 4.0
    assert study.ask().relative_params["x"] <= 4.0


def test_a_single_value_is_left_to_optuna():
    study = new_study()

    def objective(trial):
        trial.suggest_int("fixed", 4, 4)
        return bump(trial)

    study.optimize(objective, n_trials=7)
    assert params(study, "fixed") == [4] * 7
    assert set(study.ask().relative_params) == {"x"}


def test_a_partially_fixed_sampler_works():
    study = new_study()

    def objective(trial):
        return bump(trial) + trial.suggest_float("y", -1.0, 1.0) ** 2

    study.optimize(objective, n_trials=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.PartialFixedSampler({"y": 0.25}, study.sampler)
    study.optimize(objective, n_trials=4)
    assert params(study, "y")[8:] == [0.25] * 4


# --- states of trials -----------------------------------------------------------------------------


def finished(values, y=1.0, state=TrialState.COMPLETE, steps=None, **options):
    distributions = {name: FloatDistribution(0.0, 10.0) for name in values}
    value = {"value": y} if state == TrialState.COMPLETE else {}
    options |= {"params": values, "distributions": distributions, "state": state, **value}
    return create_trial(intermediate_values=steps or {}, **options)


class Watched(WDBO):
    """Optimizer on [0, 10] that records its calls."""

    told, announced, asked = [], [], []

    def tell(self, x, y=None, t=None, *, failed=False):
        self.told.append((x["x"], "failed" if failed else y, t))
        super().tell(x, y, t, failed=failed)

    def tell_many(self, X, y, t, *, failed):
        rows = zip(X, y, t, failed)
        self.told.extend((x["x"], "failed" if f else y, t) for x, y, t, f in rows)
        super().tell_many(X, y, t, failed=failed)

    def announce(self, x, t=None):
        self.announced.append((x["x"], t))
        super().announce(x, t)

    def ask(self, t=None, **options):
        self.asked.append(t)
        return super().ask(t, **options)


@pytest.fixture
def watched():
    for seen in (Watched.told, Watched.announced, Watched.asked):
        seen.clear()
    return Watched(n_initial_points=3)


def test_complete_pruned_failed_and_infinite_trials(watched):
    study = new_study(TimeVaryingSampler(watched, time="number", seed=0))
    study.add_trials(
        [
            finished({"x": 1.0}, 5.0),
            finished({"x": 2.0}, state=TrialState.PRUNED, steps={0: 9.0, 4: 7.0}),
            finished({"x": 3.0}, state=TrialState.PRUNED),
            finished({"x": 4.0}, state=TrialState.PRUNED, steps={2: float("nan")}),
            finished({"x": 5.0}, state=TrialState.FAIL),
            finished({"x": 6.0}, float("inf")),
            finished({"x": 7.0}, -float("inf")),
        ]
    )
    trial = study.ask()
    trial.suggest_float("x", 0.0, 10.0)
    assert watched.told == [
        (1.0, 5.0, 0.0),
        (2.0, 7.0, 1.0),
        (5.0, "failed", 4.0),
        (6.0, 7.0, 5.0),
        (7.0, 5.0, 6.0),
    ]
    assert watched.asked == [7.0]
    study.tell(trial, 6.0)
    study.ask().suggest_float("x", 0.0, 10.0)
    assert [t for *_, t in watched.told[5:]] == [7.0]  # earlier trials are not told again


def test_only_infinite_values_tell_nothing():
    study = new_study()
    study.add_trial(finished({"x": 1.0}, float("inf")))
    assert 0.0 <= study.ask().suggest_float("x", 0.0, 10.0) <= 10.0


def test_trials_that_run_are_pending(watched):
    study = new_study(TimeVaryingSampler(watched, time="number", seed=0))
    study.add_trials([finished({"x": float(i)}, (i - 3.0) ** 2) for i in range(6)])
    running = [study.ask() for _ in range(3)]
    queries = [trial.suggest_float("x", 0.0, 10.0) for trial in running]
    assert watched.announced == [(queries[0], 6.0), (queries[0], 6.0), (queries[1], 7.0)]
    assert np.diff(np.sort(queries)).min() > 1e-3
    study.tell(running[0], state=TrialState.FAIL)
    watched.announced.clear()
    study.ask().suggest_float("x", 0.0, 10.0)
    assert watched.announced == [(queries[1], 7.0), (queries[2], 8.0)]


def test_another_study_is_told_from_the_start(watched):
    study = new_study(TimeVaryingSampler(watched, time="number", seed=0))
    study.add_trials([finished({"x": float(i)}) for i in range(4)])
    study.ask().suggest_float("x", 0.0, 10.0)
    other = optuna.create_study(sampler=study.sampler)
    other.add_trials([finished({"x": float(i)}, 2.0) for i in range(2)])
    other.ask().suggest_float("x", 0.0, 10.0)
    assert [y for _, y, _ in watched.told] == [1.0] * 4 + [2.0] * 2


# --- constraints ----------------------------------------------------------------------------------

# Optuna deprecates the function in favour of trial.set_constraint.
deprecated = pytest.mark.filterwarnings("ignore:.*constraints_func.*:FutureWarning")


def test_infeasible_trials_are_told_as_failures(watched):
    study = new_study(TimeVaryingSampler(watched, time="number", seed=0))
    values = [[-1.0, 0.0], [0.5, -1.0], [2.0]]
    attributes = [{}, {"constraints:a": 1.0}, *({"constraints": value} for value in values)]
    states = [TrialState.COMPLETE] * 4 + [TrialState.PRUNED]
    for i, (system_attrs, state) in enumerate(zip(attributes, states)):
        study.add_trial(finished({"x": float(i)}, 5.0, state, system_attrs=system_attrs))
    study.ask().suggest_float("x", 0.0, 10.0)
    seen = [(x, y) for x, y, _ in watched.told]
    assert seen == [(0.0, 5.0), (1.0, "failed"), (2.0, 5.0), (3.0, "failed"), (4.0, "failed")]


def test_constraints_are_stored_like_those_of_other_samplers(watched):
    def of(trial):
        return [trial.params["x"] - 5.0, -1.0]

    stored = []
    for new in (
        lambda: TimeVaryingSampler(watched, time="number", constraints_func=of),
        lambda: optuna.samplers.TPESampler(constraints_func=of),
    ):
        with pytest.warns(FutureWarning, match="constraints_func"):
            sampler = new()
        study = new_study(sampler)
        study.enqueue_trial({"x": 7.0})
        study.optimize(bump, n_trials=1)
        stored.append(study.trials[0].constraints)
        with pytest.raises(ValueError, match="feasible"):
            _ = study.best_trial
    assert stored[0] == stored[1] == {"0": 2.0, "1": -1.0}


@deprecated
@pytest.mark.parametrize("by", ["constraints_func", "set_constraint"])
def test_queries_move_to_where_constraints_hold(by):
    """The optimum is infeasible; the best feasible x is 4."""

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 10.0)
        if by == "set_constraint":
            trial.set_constraint("low", x - 4.0)
        return (x - 6.0) ** 2

    def excess(trial):
        return [trial.params["x"] - 4.0]

    study = new_study(small(constraints_func=excess if by == "constraints_func" else None))
    study.optimize(objective, n_trials=50)
    late = np.array(params(study)[25:])
    assert np.mean(late > 4.0) < 0.5  # 0.6 at random, 1 without learning
    assert 3.0 < study.best_params["x"] <= 4.0
    assert np.median(np.abs(late - 4.0)) < 1.0


def test_constraints_that_are_named_are_modelled():
    limits = {"low": (None, 0.0), "objective": (None, 30.0)}
    optimizer = WDBO(outcome_constraints=limits, n_initial_points=4)

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 10.0)
        if trial.number == 3:
            return 0.0  # without the constraint: a failure
        trial.set_constraint("low", x - 4.0)
        trial.set_constraint("other", 0.0 if trial.number != 5 else 1.0)
        return (x - 6.0) ** 2

    study = new_study(TimeVaryingSampler(optimizer, time="number", seed=0))
    study.optimize(objective, n_trials=30)
    (model,) = study.sampler._memory.models.values()
    assert model.optimizer.n_failed_ == 2
    late = np.array(params(study)[15:])
    assert np.mean(late > 4.0) < 0.4
    assert np.median(np.abs(late - 4.0)) < 0.5
    expected = np.array([1.0, 3.0]) - 4.0
    found = model.optimizer.predict([{"x": 1.0}, {"x": 3.0}], 30.0, outcome="low")
    assert_allclose(found, expected, atol=0.3)


@pytest.mark.parametrize(
    ("names", "missing", "given"),
    [
        (["latency_ms"], "'latency', 'memory'", "'latency_ms'"),
        (["memory"], "'latency'", "'memory'"),
        ([], "'latency', 'memory'", "none"),
        (["latency", "memory"], None, None),
    ],
)
def test_a_constraint_that_no_trial_sets_warns_once(names, missing, given):
    limits = {"latency": (None, 0.0), "memory": (None, 0.0), "objective": (None, 9.0)}

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        if trial.number == 0:
            raise OSError("a failure shows nothing of the names")
        for name in names:
            trial.set_constraint(name, x - 0.5)
        return x

    optimizer = WDBO(outcome_constraints=limits, n_initial_points=4)
    study = new_study(TimeVaryingSampler(optimizer, time="number", seed=0))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        study.optimize(objective, n_trials=8, catch=OSError)
    told = [str(one.message) for one in told if "outcome_constraints" in str(one.message)]
    assert len(told) == (missing is not None)
    for message in told:
        assert f"has set the constraint {missing} of outcome_constraints" in message
        assert f"set were: {given}. A trial without it is a failure." in message


@deprecated
@pytest.mark.parametrize("found", [ZeroDivisionError, float("nan")])
def test_constraints_that_fail_are_errors(found):
    def excess(trial):
        return [1.0 / 0.0 if found is ZeroDivisionError else found]

    study = new_study(small(constraints_func=excess))
    with pytest.raises((ZeroDivisionError, ValueError), match=r"division|NaN"):
        study.optimize(bump, n_trials=1)


# --- time -----------------------------------------------------------------------------------------


def test_time_is_the_start_in_seconds(watched):
    study = new_study(TimeVaryingSampler(watched, seed=0))
    study.optimize(bump, n_trials=4)
    study.ask().suggest_float("x", 0.0, 10.0)
    starts = [trial.datetime_start.timestamp() for trial in study.trials]
    assert [t for *_, t in watched.told] == starts[:4]
    assert watched.asked == starts[1:]  # the first trial has no known parameter


def test_time_is_a_user_attribute(watched):
    study = new_study(TimeVaryingSampler(watched, time="hour", seed=0))
    for number in range(5):
        trial = study.ask()
        trial.set_user_attr("hour", 100.0 + 0.5 * number)
        study.tell(trial, bump(trial))
    assert [t for *_, t in watched.told] == [100.0, 100.5, 101.0, 101.5]
    assert watched.asked == [100.5, 101.0, 101.5, 102.0]
    with pytest.raises(ValueError, match="Trial 5 must be one with the user attribute 'hour'"):
        study.ask().suggest_float("x", 0.0, 10.0)


def test_time_is_a_callable(watched):
    sampler = TimeVaryingSampler(watched, time=lambda study, trial: 2 * trial.number, seed=0)
    study = new_study(sampler)
    study.optimize(bump, n_trials=4)
    assert watched.asked == [2.0, 4.0, 6.0]


# --- storages, processes, restarts ----------------------------------------------------------------


@pytest.fixture
def storage(kind, tmp_path):
    """Expression of a storage in a file, for this and other processes."""
    if kind == "sqlite":
        # SQLite's default of five seconds is too short on a busy machine.
        patience = {"connect_args": {"timeout": 120.0}}
        return f"RDBStorage('sqlite:///{tmp_path / 'study.db'}', engine_kwargs={patience})"
    return f"JournalStorage(JournalFileBackend('{tmp_path / 'study.log'}'))"


WORKER = """
import optuna
from optuna.storages import JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from sktvbo import WDBO
from sktvbo.integrations.optuna import TimeVaryingSampler
optuna.logging.set_verbosity(optuna.logging.WARNING)
sampler = TimeVaryingSampler(WDBO(n_initial_points=5), time="number", seed=0)
study = optuna.load_study(study_name="shared", storage={storage}, sampler=sampler)
study.optimize(lambda trial: (trial.suggest_float("x", 0.0, 10.0) - 4.0) ** 2, n_trials=8)
"""


def open_storage(storage):
    names = {
        "RDBStorage": RDBStorage,
        "JournalStorage": JournalStorage,
        "JournalFileBackend": JournalFileBackend,
    }
    return eval(storage, names)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_several_processes_share_a_study(kind, storage):
    opened = open_storage(storage)
    study = optuna.create_study(study_name="shared", storage=opened, sampler=small())
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER.format(storage=storage)]) for _ in range(2)
    ]
    assert [worker.wait(timeout=300) for worker in workers] == [0, 0]
    trials = study.get_trials()
    assert [trial.number for trial in trials] == list(range(16))
    assert all(trial.state == TrialState.COMPLETE for trial in trials)
    queries = params(study)
    assert len(set(queries[:5])) == 5  # despite the same seed
    assert abs(np.median(queries[-5:]) - 4.0) < 0.7


@pytest.mark.parametrize("kind", [pytest.param("sqlite", marks=pytest.mark.slow), "journal"])
def test_a_restart_goes_on(kind, storage):
    once = optuna.create_study(study_name="once", sampler=small(), storage=open_storage(storage))
    once.optimize(bump, n_trials=6)
    again = optuna.load_study(study_name="once", sampler=small(), storage=open_storage(storage))
    again.optimize(bump, n_trials=24)
    assert [trial.number for trial in again.trials] == list(range(30))
    # Uniform queries would have a mean of 9.
    assert np.mean([trial.value for trial in again.trials[-10:]]) < 1.0


def test_threads_of_one_study():
    study = new_study()
    study.optimize(bump, n_trials=16, n_jobs=4)
    assert len(study.trials) == 16
    # A trial that begins just after the optimum was told may repeat it.
    assert len(set(params(study))) >= 15


def test_trials_are_known_before_their_parameters_are_stored():
    second = []
    for stored in (True, False):
        study = new_study()
        study.optimize(bump, n_trials=8)
        first, following = study.ask(), study.ask()
        # Optuna draws when a parameter is first suggested, and stores it afterwards.
        if stored:
            first.suggest_float("x", 0.0, 10.0)
        else:
            assert set(first.relative_params) == {"x"}
        assert bool(study.trials[8].params) == stored
        second.append(following.suggest_float("x", 0.0, 10.0))
    assert second[0] == second[1]


def test_the_same_seed_gives_the_same_trials():
    studies = [new_study(small(seed=seed)) for seed in (3, 3, 4)]
    for study in studies:
        study.optimize(bump, n_trials=9)
    a, b, c = map(params, studies)
    assert a == b
    assert not set(a) & set(c)


def test_a_pickle_goes_on_from_the_storage():
    study = new_study()
    study.optimize(bump, n_trials=8)
    sampler = pickle.loads(pickle.dumps(study.sampler))
    x = study.ask().suggest_float("x", 0.0, 10.0)
    other = optuna.create_study(sampler=sampler)
    other.add_trials(study.get_trials(states=[TrialState.COMPLETE]))
    assert other.ask().suggest_float("x", 0.0, 10.0) == pytest.approx(x, abs=1e-3)


# --- invalid input --------------------------------------------------------------------------------


def test_several_objectives_are_refused():
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=small())
    with pytest.raises(ValueError, match=r"one with one objective\. Got 2 objectives"):
        study.ask().suggest_float("x", 0.0, 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"algorithm": "W-DBA"},
            "'algorithm' parameter of TimeVaryingSampler .* Did you mean 'W-DBO'",
        ),
        ({"algorithm": WDBO}, "'algorithm' parameter of TimeVaryingSampler"),
        ({"time": 3.0}, "'time' parameter of TimeVaryingSampler"),
        ({"seed": -1}, "'seed' parameter of TimeVaryingSampler"),
        ({"seed": "x"}, "'seed' parameter of TimeVaryingSampler"),
        ({"constraints_func": [0.0]}, "'constraints_func' parameter of TimeVaryingSampler"),
    ],
)
def test_invalid_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        TimeVaryingSampler(**options)


def test_an_invalid_parameter_of_the_algorithm_fails_at_the_first_trial_told():
    study = new_study(TimeVaryingSampler(WDBO(alpha=-1.0), time="number"))
    with pytest.raises(ValueError, match="'alpha' parameter of WDBO"):
        study.optimize(bump, n_trials=2)
