"""Sampler for Optuna: search spaces, storages, processes, and states of trials."""

import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktvbo import BOLT, ETGPUCB, GPUCB, WDBO, Journal
from sktvbo.exceptions import DomainError

optuna = pytest.importorskip("optuna")

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution  # noqa: E402
from optuna.storages import JournalStorage, journal  # noqa: E402, F401
from optuna.testing.pytest_samplers import SingleOnlySamplerTestCase  # noqa: E402
from optuna.trial import TrialState, create_trial  # noqa: E402

from sktvbo.integrations.optuna import TimeVaryingSampler, _Curves  # noqa: E402


@pytest.fixture(autouse=True)
def _quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


def small(**options):
    """A sampler that models after few trials."""
    options = {"time": "number", "seed": 0} | options
    return TimeVaryingSampler(WDBO(n_initial_points=5), **options)


def new_study(sampler=None, **options):
    if not isinstance(sampler, optuna.samplers.BaseSampler | None):
        sampler = TimeVaryingSampler(sampler, time="number", seed=0)
    return optuna.create_study(sampler=sampler or small(), **options)


def bump(trial):
    x = trial.suggest_float("x", 0.0, 10.0)
    return (x - 3.0 - 0.05 * trial.number) ** 2


def params(study, name="x"):
    return [trial.params[name] for trial in study.trials]


# --- tracking -------------------------------------------------------------------------------------


def test_earlier_studies():
    """The first modelled trials are where they ended; groups and ranges may differ."""

    def with_choice(trial):
        y = (trial.suggest_float("x", 0.0, 10.0) - 7.0) ** 2
        return y + (trial.suggest_categorical("c", ["a", "b"]) == "a")

    first = new_study(small())
    first.optimize(with_choice, n_trials=40)
    sampler = small(earlier=[first], seed=1)
    study = new_study(pickle.loads(pickle.dumps(sampler)))
    study.optimize(with_choice, n_trials=4)
    assert np.abs(np.array(params(study)[1:]) - 7.0).max() < 1.0
    assert params(study, "c")[1:] == ["b"] * 3
    with pytest.raises(ValueError, match="studies to maximize"):
        new_study(sampler, direction="maximize").optimize(with_choice, n_trials=3)
    for wrong in (first, [1]):
        with pytest.raises(ValueError, match="list of optuna"):
            small(earlier=wrong)
    with pytest.raises(ValueError, match="earlier studies"):
        TimeVaryingSampler(WDBO(earlier=[]))


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_it_follows_the_optimum(direction):
    sign = 1.0 if direction == "minimize" else -1.0
    for seed in range(3):
        study = new_study(TimeVaryingSampler(time="number", seed=seed), direction=direction)
        study.optimize(lambda trial: sign * bump(trial), n_trials=35)
        assert abs(np.median(params(study)[-8:]) - 4.6) < 0.5


def test_the_members_of_a_small_space_are_visited_in_turn():
    study = new_study()
    study.optimize(lambda trial: (trial.suggest_int("depth", 1, 12) - 3) ** 2, n_trials=45)
    assert set(params(study, "depth")) == {*range(1, 13)}


@pytest.mark.parametrize("algorithm", ["W-DBO", "BOLT", "SWGPUCB", "random", ETGPUCB()])
def test_algorithms_by_name_or_made(algorithm):
    study = new_study(algorithm)
    study.optimize(bump, n_trials=3)
    assert len(study.trials) == 3


# --- spaces ---------------------------------------------------------------------------------------

DISTRIBUTIONS = [
    FloatDistribution(-1.0, 1.0),
    FloatDistribution(0.0, 1.0, step=0.25),
    FloatDistribution(1e-7, 1.0, log=True),
    IntDistribution(-10, 10),
    IntDistribution(0, 9, step=3),
    IntDistribution(1, 100, log=True),
    CategoricalDistribution((1, 2.5, "a", None, True)),
    # At the limits of floats and of axes:
    IntDistribution(-(2**49), 2**49),
    IntDistribution(7, 10**14, step=11),
    IntDistribution(1, 2**44, log=True),
    FloatDistribution(-8e307, 8e307),
    FloatDistribution(0.0, 1e-320),
    FloatDistribution(1.0, math.nextafter(1.0, 2.0)),
    FloatDistribution(5e-324, 1.7e308, log=True),
    FloatDistribution(5e-324, 1e-322, log=True),
    FloatDistribution(1e300, math.nextafter(1e300, math.inf), log=True),
    FloatDistribution(-0.3, 0.7, step=0.1),
    FloatDistribution(0.0, 1.0, step=1e-6),
    FloatDistribution(1e-300, 1.1e-299, step=1e-300),
    CategoricalDistribution((1, True, 1.0, "1", 0, False, math.nan, None)),
]


def suggest(trial, name, distribution):
    return trial._suggest(name, distribution)


def test_conditional_spaces_are_modelled_in_groups():
    def objective(trial):
        rate = trial.suggest_float("rate", 0.0, 1.0)
        if trial.suggest_categorical("kind", ["tree", "net"]) == "tree":
            return rate + 0.1 * trial.suggest_int("depth", 1, 9)
        return rate + 0.2 * (trial.suggest_float("width", 0.0, 4.0) - 3.0) ** 2 - 1.0

    late = []
    for seed in range(6):
        study = new_study(small(seed=seed))
        study.optimize(objective, n_trials=60)
        late += study.trials[-8:]
        trial = study.ask()
        assert set(trial.relative_params) == {"rate", "kind", "depth", "width"}
    assert sum(t.params["kind"] == "net" for t in late) >= 30
    # The best value is -1, that of uniform draws -0.03 on average, and the error of six runs 0.12.
    assert np.mean([t.value for t in late]) < -0.3
    alone = new_study(small(group=False))
    alone.add_trials(study.get_trials(states=[TrialState.COMPLETE]))
    alone.add_trial(finished({"of a failure": 0.5}, state=TrialState.FAIL))
    assert set(alone.ask().relative_params) == {"rate", "kind"}
    alone.add_trial(finished({"other": 0.5}))
    assert alone.ask().relative_params == {}


def by_choice(trial):
    if trial.suggest_categorical("m", ["svm", "rf"]) == "svm":
        return 0.2 + 0.1 * (math.log10(trial.suggest_float("C", 1e-3, 1e3, log=True)) - 1.0) ** 2
    depth, k = trial.suggest_int("depth", 1, 20), trial.suggest_float("k", 0.0, 1.0)
    return ((depth - 5) / 10) ** 2 + (k - 0.3) ** 2


def by_flag(trial):
    """The parameters of the worse branch are those that both have."""
    value = 2.0 * (trial.suggest_float("x", 0.0, 1.0) - 0.2) ** 2
    if not trial.suggest_categorical("flag", [False, True]):
        return value + 0.2
    p, q = trial.suggest_float("p", 0.0, 1.0), trial.suggest_float("q", 0.0, 1.0)
    return value + 2.0 * ((p - 0.7) ** 2 + (q - 0.2) ** 2)


def nested(trial):
    if trial.suggest_categorical("m", ["linear", "tree"]) == "linear":
        return 0.3 + 0.1 * (trial.suggest_float("C", -3.0, 3.0) + 2.0) ** 2
    if trial.suggest_int("kind", 1, 2) == 1:
        return 0.15 + (trial.suggest_float("share", 0.0, 1.0) - 0.6) ** 2
    leaves, rate = (
        trial.suggest_int("leaves", 2, 128, log=True),
        trial.suggest_float("r", -3.0, 0.0),
    )
    return (leaves / 60 - 0.5) ** 2 + 0.3 * (rate + 1.5) ** 2


@pytest.mark.parametrize(
    ("objective", "last"), [(by_choice, "depth"), (by_flag, "p"), (nested, "leaves")]
)
def test_the_better_branch_is_found(objective, last):
    study = new_study(small(seed=2))
    study.optimize(objective, n_trials=70)
    # Of the worse branches, the value is at least 0.15.
    assert study.best_value < 0.1
    assert sum(last in trial.params for trial in study.trials[50:]) >= 5


def test_a_branch_that_is_not_known_is_visited():
    study, choices = new_study(), {"m": ["a", "b", "c"]}

    def tell(m, value, **others):
        axes = {"m": CategoricalDistribution(choices["m"])}
        axes |= {name: FloatDistribution(0.0, 1.0) for name in others}
        trial = create_trial(params={"m": m, **others}, distributions=axes, value=value)
        study.add_trial(trial)

    for i in range(12):
        tell("a", 0.0, x=i / 12)
        tell("b", 1.0)
    tell("c", 9.0, y=0.3)
    assert [study.ask().relative_params["m"] for _ in range(3)] == ["c"] * 3
    # Neither what is fixed is overruled, nor is a parameter awaited that the code no longer has.
    study.sampler = partially_fixed({"m": "b"}, study.sampler)
    assert set(study.ask().relative_params) == {"x", "y"}
    study.sampler = small()
    for _ in range(4):
        tell("c", 9.0)
    assert {study.ask().relative_params["m"] for _ in range(6)} != {"c"}


@pytest.mark.parametrize("n_with_another", [0, 8])
def test_a_range_that_changes_is_followed(n_with_another):
    study = new_study()

    def objective(trial):
        if trial.number < n_with_another:
            trial.suggest_float("y", 0.0, 1.0)
        return -trial.suggest_float("x", 0.0, 10.0 if trial.number < 8 else 4.0)

    study.optimize(objective, n_trials=16)
    assert max(params(study)[8:]) <= 4.0
    assert 3.0 < study.ask().relative_params["x"] <= 4.0


def test_a_single_value_is_left_to_optuna():
    study = new_study()

    def objective(trial):
        trial.suggest_int("fixed", 4, 4)
        return bump(trial)

    study.optimize(objective, n_trials=7)
    assert params(study, "fixed") == [4] * 7
    assert set(study.ask().relative_params) == {"x"}


# --- fixed values ---------------------------------------------------------------------------------


def matched(trial):
    """The setting must match the load, and the step the kind."""
    load = trial.suggest_float("load", 0.1, 10.0, log=True)
    setting = trial.suggest_float("setting", 0.0, 1.0)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    step = trial.suggest_int("step", 2, 12, step=2)
    wanted = 4 if kind == "a" else 10
    return (setting - 0.5 - 0.4 * math.log10(load)) ** 2 + 0.02 * (step - wanted) ** 2


@pytest.mark.parametrize("algorithm", ["W-DBO", "GP-UCB", "BOLT"])
def test_others_are_chosen_for_the_values_of_an_enqueued_trial(algorithm):
    study, rng = new_study(algorithm), np.random.default_rng(1)
    for _ in range(36):
        given = {"load": float(rng.choice([0.2, 5.0])), "kind": str(rng.choice(["a", "b"]))}
        study.enqueue_trial(given)
        study.optimize(matched, n_trials=1)
        assert given.items() <= study.trials[-1].params.items()
    # Values chosen for the best load and kind, whatever is given, have a median above 0.07.
    assert np.median([trial.value for trial in study.trials[-12:]]) < 0.03


def partially_fixed(fixed, sampler):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.PartialFixedSampler(fixed, sampler)


def test_others_are_chosen_for_the_values_of_a_partially_fixed_sampler():
    study = new_study()
    study.optimize(matched, n_trials=25)
    own = study.sampler
    study.sampler = partially_fixed({"load": 8.0, "kind": "a"}, own)
    study.sampler = partially_fixed({"load": 0.15}, study.sampler)
    study.enqueue_trial({"kind": "b"})
    study.optimize(matched, n_trials=9)
    late = study.trials[25:]
    assert {trial.params["load"] for trial in late} == {0.15}
    assert [trial.params["kind"] for trial in late] == ["b", *"a" * 8]
    assert np.median([trial.value for trial in late]) < 0.03
    study.sampler = own
    study.optimize(matched, n_trials=1)
    assert study.trials[-1].params["load"] != 0.15


def test_fixed_values_beyond_a_range_are_not_held():
    study = new_study()
    study.optimize(matched, n_trials=8)
    study.enqueue_trial({"kind": "c"})
    trial = study.ask()
    assert set(trial.relative_params) == {"load", "setting", "kind", "step"}
    study.sampler = partially_fixed({"load": 20.0}, study.sampler)
    trial = study.ask()
    assert set(trial.relative_params) == {"setting", "kind", "step"}
    with pytest.warns(UserWarning, match="out of range"):
        assert trial.suggest_float("load", 0.1, 10.0, log=True) == 20.0


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_values_are_those_that_optuna_stores(distribution, watched):
    study = new_study(watched)
    seen = []

    def objective(trial):
        value = suggest(trial, "a", distribution)
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
    told = watched.optimizers[-1].told_X_[:, 0]
    assert len(told) == 7  # all were encoded
    # Coordinates are distinct and ordered like the values.
    assert len(set(told)) == len(set(seen[:7]))
    assert np.array_equal(np.argsort(told, kind="stable"), np.argsort(seen[:7], kind="stable"))


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        (IntDistribution(0, 2**50), r"integers of at most 5\.6e\+14.* Use suggest_float"),
        (IntDistribution(1, 2**45, log=True), r"integers of at most 1\.8e\+13"),
        (FloatDistribution(0.0, math.inf), "must be of finite width"),
        (FloatDistribution(-1.5e308, 1.5e308, step=1e300), "must be of finite width"),
        (FloatDistribution(0.0, 1.0, step=1e-7), "at most 1000000 steps.* Leave out the step"),
    ],
    ids=repr,
)
def test_distributions_with_too_many_values_are_refused(distribution, message):
    with pytest.raises(DomainError, match=message):
        suggest(new_study().ask(), "a", distribution)


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
def test_numpy_scalars_are_numbers(distribution, value, position, watched):
    study = new_study(watched)
    study.add_trial(create_trial(params={"a": value}, distributions={"a": distribution}, value=1.0))
    study.enqueue_trial({"a": value})
    for _ in range(2):
        trial = study.ask()
        suggest(trial, "a", distribution)
        study.tell(trial, 2.0)
    assert watched.optimizers[-1].told_X_[:, 0].tolist() == [position] * 2


def test_values_between_those_of_a_new_step_are_left_out(watched):
    study = new_study(watched)
    for step, x in ((2, 4), (2, 6), (3, 6)):
        axis = IntDistribution(0, 12, step=step)
        study.add_trial(create_trial(params={"a": x}, distributions={"a": axis}, value=1.0))
    suggest(study.ask(), "a", IntDistribution(0, 12, step=3))
    assert watched.optimizers[-1].told_X_[:, 0].tolist() == [2.0, 2.0]


# --- states of trials -----------------------------------------------------------------------------


def finished(values, y=1.0, state=TrialState.COMPLETE, steps=None, **options):
    distributions = {name: FloatDistribution(0.0, 10.0) for name in values}
    value = {"value": y} if state == TrialState.COMPLETE else {}
    options |= {"params": values, "distributions": distributions, "state": state, **value}
    return create_trial(intermediate_values=steps or {}, **options)


class Watched(WDBO):
    """Optimizer of one parameter that records its calls."""

    told, batches, announced, asked, optimizers = [], [], [], [], []

    def tell(self, x, y=None, t=None, *, failed=False, **options):
        self.told.append((*x.values(), "failed" if failed else y, t))
        self.batches.append(1)
        super().tell(x, y, t, failed=failed, **options)

    def tell_many(self, X, y, t, *, failed, **options):
        rows = zip(X, y, t, failed)
        self.told.extend((*x.values(), "failed" if f else y, t) for x, y, t, f in rows)
        self.batches.append(len(X))
        super().tell_many(X, y, t, failed=failed, **options)

    def announce(self, x, t=None):
        self.announced.append((*x.values(), t))
        super().announce(x, t)

    def ask(self, t=None, **options):
        self.asked.append(t)
        self.optimizers.append(self)
        return super().ask(t, **options)


@pytest.fixture
def watched():
    for name in ("told", "batches", "announced", "asked", "optimizers"):
        getattr(Watched, name).clear()
    return Watched(n_initial_points=3)


def test_complete_pruned_failed_and_infinite_trials(watched):
    study = new_study(watched)
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


# --- pruned trials --------------------------------------------------------------------------------


def excess(trial):
    return (trial.params["x"] - 3.0) ** 2 + (trial.params["y"] - 7.0) ** 2


# Reported at steps 1 to 8, by the excess of a trial.
CURVES = {
    "loss": ("minimize", lambda v, k: 0.01 * v + 3.0 * np.exp(-k)),
    "relative loss": ("minimize", lambda v, k: (0.1 + 0.01 * v) * (1.0 + 5.0 * np.exp(-0.5 * k))),
    "accuracy": ("maximize", lambda v, k: np.exp(-0.02 * v) * (1.0 - np.exp(-0.5 * k))),
}
PRUNERS = {"median": optuna.pruners.MedianPruner, "halving": optuna.pruners.SuccessiveHalvingPruner}


@pytest.mark.parametrize("pruner", PRUNERS)
@pytest.mark.parametrize("curve", CURVES)
def test_pruned_trials_are_compared_with_complete_ones_at_their_step(curve, pruner):
    direction, report = CURVES[curve]

    def objective(trial):
        trial.suggest_float("x", 0.0, 10.0), trial.suggest_float("y", 0.0, 10.0)
        for k in range(1, 9):
            trial.report(value := report(excess(trial), k), k)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    excesses, n_pruned = [], 0
    for seed in range(3):
        study = new_study(
            TimeVaryingSampler(seed=seed), direction=direction, pruner=PRUNERS[pruner]()
        )
        study.optimize(objective, n_trials=45)
        n_pruned += sum(trial.state == TrialState.PRUNED for trial in study.trials)
        excesses.append(np.mean([excess(trial) for trial in study.trials[30:]]))
    assert n_pruned > 2
    # Told as if they were final, the last values lead to a mean from 0.27 to 16.
    assert np.median(excesses) < 0.1


def uninformative(v, k, rng):
    """Accuracy that is at chance level until half of a trial has passed."""
    final = 0.95 - 0.45 * min(0.03 * v, 1.0)
    return (0.5 if k < 4 else 0.5 + (final - 0.5) * (k - 3) / 5.0) + 0.02 * rng.normal()


@pytest.mark.slow
def test_trials_that_are_pruned_at_chance_level_mislead_nobody():
    def objective(trial):
        trial.suggest_float("x", 0.0, 10.0), trial.suggest_float("y", 0.0, 10.0)
        for k in range(1, 9):
            trial.report(value := uninformative(excess(trial), k, rng), k)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    excesses = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        study = new_study(
            TimeVaryingSampler(time="number", seed=seed),
            direction="maximize",
            pruner=PRUNERS["halving"](),
        )
        study.optimize(objective, n_trials=60)
        excesses.append(np.mean([excess(trial) for trial in study.trials[30:]]))
    # Told as certain, such values lead to means up to 14.
    assert np.median(excesses) < 3.0


def curves_of(steps, finals):
    """Intermediate values at step 1 of complete trials, and their final ones."""
    curves = _Curves()
    for x, y in zip(steps, finals):
        curves.add(finished({"x": 1.0}, y, steps={1: x}))
    return curves


def pruned_at(value):
    return finished({"x": 1.0}, state=TrialState.PRUNED, steps={1: value})


def test_a_pruned_value_is_as_uncertain_as_it_was_for_complete_trials():
    rng = np.random.default_rng(0)
    finals, noise = rng.normal(size=(2, 400))
    known = curves_of(finals + 7.0, finals).final_value(pruned_at(9.0))
    assert known == pytest.approx((2.0, 0.0), abs=1e-9)
    y, variance = curves_of(0.01 * noise, finals).final_value(pruned_at(0.02))
    assert y == pytest.approx(0.0, abs=0.3)
    assert variance > 5.0
    # A measurement with noise, and not the mean of the final value given it, which is 1.
    finals, noise = rng.normal(size=(2, 20, 100))
    known = [curves_of(y + e, y).final_value(pruned_at(2.0)) for y, e in zip(finals, noise)]
    assert np.mean(known, axis=0) == pytest.approx((2.0, 1.0), abs=0.2)
    assert curves_of([], []).final_value(pruned_at(3.0)) == (3.0, 0.0)
    assert curves_of([3.0], [1.0]).final_value(pruned_at(6.0)) == (4.0, 4.0)


def test_the_measurement_is_that_of_all_trials_although_the_worst_are_pruned():
    rng, errors = np.random.default_rng(0), []
    for finals, noise in rng.normal(size=(10, 2, 100)):
        steps, curves = finals + noise, _Curves()
        pruned = steps > 0.0
        for x, y, is_pruned in zip(steps, finals, pruned):
            curves.add(pruned_at(x) if is_pruned else finished({"x": 1.0}, y, steps={1: x}))
        told = [curves.final_value(pruned_at(x))[0] for x in steps[pruned]]
        errors.append(np.mean(told - steps[pruned]))
    # A regression of what complete trials reported on their final values has an error of 3.3.
    assert abs(np.mean(errors)) < 0.3


def test_trials_that_ended_before_a_step_say_nothing_of_it():
    rng, known = np.random.default_rng(0), []
    for has_early in (False, True):
        curves = _Curves()
        for x in np.linspace(-1.0, 1.0, 30):
            steps = {1: 50.0 * rng.normal(), 5: x}
            curves.add(finished({"x": 1.0}, x + 0.5 * rng.normal(), steps=steps))
            if has_early:
                curves.add(finished({"x": 1.0}, state=TrialState.PRUNED, steps={1: 50.0}))
        late = finished({"x": 1.0}, state=TrialState.PRUNED, steps={5: 0.5})
        known.append(curves.final_value(late))
        rng = np.random.default_rng(0)
    assert known[0] == known[1]


def test_pruned_trials_are_told_again_when_the_complete_ones_have_doubled(watched):
    study, found = new_study(watched), []

    def tell(x, y=1.0, **options):
        study.add_trial(finished({"x": x}, y, **options))
        watched.told.clear()
        study.ask().suggest_float("x", 0.0, 10.0)
        found.append({x: y for x, y, _ in watched.told})

    tell(9.0, state=TrialState.PRUNED, steps={1: 6.0})
    # Final values are a third of those at step 1, and 0.5 less than those at step 4.
    for x, y in enumerate((1.0, 3.0, 2.0, 5.0)):
        tell(float(x), y, steps={1: 3.0 * y, 4: y + 0.5, 6: math.nan})
    tell(8.0, state=TrialState.PRUNED, steps={1: 9.0, 5: 2.5})
    tell(7.0, state=TrialState.PRUNED, steps={0: 2.5})
    assert found[:2] == [{9.0: 6.0}, {9.0: 4.0, 0.0: 1.0}]
    assert [list(each) for each in found[2:5]] == [
        [9.0, 0.0, 1.0],
        [2.0],
        [9.0, 0.0, 1.0, 2.0, 3.0],
    ]
    assert found[4][9.0] == pytest.approx(2.0, abs=0.1)
    assert found[5:] == [{8.0: pytest.approx(2.0)}, {7.0: 2.5}]


def test_infinite_values_wait_for_a_finite_one(watched):
    study = new_study(watched)
    study.add_trial(finished({"x": 1.0}, float("inf")))
    assert 0.0 <= study.ask().suggest_float("x", 0.0, 10.0) <= 10.0
    assert watched.told == []
    study.add_trial(finished({"x": 2.0}, 3.0))
    study.ask().suggest_float("x", 0.0, 10.0)
    assert watched.told == [(1.0, 3.0, 0.0), (2.0, 3.0, 2.0)]


def test_trials_that_run_are_pending(watched):
    study = new_study(watched)
    study.add_trials([finished({"x": float(i)}, (i - 3.0) ** 2) for i in range(6)])
    running = [study.ask() for _ in range(3)]
    queries = [trial.suggest_float("x", 0.0, 10.0) for trial in running]
    assert watched.announced == [(queries[0], 6.0), (queries[0], 6.0), (queries[1], 7.0)]
    assert np.diff(np.sort(queries)).min() > 1e-3
    study.tell(running[0], state=TrialState.FAIL)
    watched.announced.clear()
    study.ask().suggest_float("x", 0.0, 10.0)
    assert watched.announced == [(queries[1], 7.0), (queries[2], 8.0)]


@pytest.mark.parametrize("name", [None, "one"])
def test_another_study_is_told_from_the_start(name, watched):
    """Also one of the same name."""
    sampler = TimeVaryingSampler(watched, time="number", seed=0)
    for value in (1.0, 2.0):
        study = new_study(sampler, study_name=name)
        study.add_trials([finished({"x": 1.0}, value)])
        study.ask().suggest_float("x", 0.0, 10.0)
    assert [y for _, y, _ in watched.told] == [1.0, 2.0]
    assert new_study(sampler, study_name=name).ask().relative_params == {}


# --- constraints ----------------------------------------------------------------------------------


def test_infeasible_trials_are_told_as_failures(watched):
    study = new_study(watched)
    values = [[-1.0, 0.0], [0.5, -1.0], [2.0]]
    attributes = [{}, {"constraints:a": 1.0}, *({"constraints": value} for value in values)]
    states = [TrialState.COMPLETE] * 4 + [TrialState.PRUNED]
    for i, (system_attrs, state) in enumerate(zip(attributes, states)):
        study.add_trial(finished({"x": float(i)}, 5.0, state, system_attrs=system_attrs))
    study.ask().suggest_float("x", 0.0, 10.0)
    seen = [(x, y) for x, y, _ in watched.told]
    assert seen == [(0.0, 5.0), (1.0, "failed"), (2.0, 5.0), (3.0, "failed"), (4.0, "failed")]


def test_constraints_of_a_function_are_stored(watched):
    options = {"time": "number", "constraints_func": lambda trial: [trial.params["x"] - 5.0, -1.0]}
    with pytest.warns(FutureWarning, match="constraints_func"):
        study = new_study(TimeVaryingSampler(watched, **options))
    study.enqueue_trial({"x": 7.0})
    study.optimize(bump, n_trials=1)
    assert study.trials[0].constraints == {"0": 2.0, "1": -1.0}


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

    study = new_study(optimizer)
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
        (["memory", "latency_ms"], "'latency'", "'latency_ms', 'memory'"),
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
    study = new_study(optimizer)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        study.optimize(objective, n_trials=8, catch=OSError)
    told = [str(one.message) for one in told if "outcome_constraints" in str(one.message)]
    assert len(told) == (missing is not None)
    for message in told:
        assert f"has set the constraint {missing} of outcome_constraints" in message
        assert f"set were: {given}. A trial without it is a failure." in message


# --- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("start", lambda trial: trial.datetime_start.timestamp()),
        ("hour", lambda trial: 100.0 + 0.5 * trial.number),
        (lambda study, trial: 2 * trial.number, lambda trial: 2.0 * trial.number),
    ],
)
def test_time_of_a_trial(time, expected, watched):
    study = new_study(TimeVaryingSampler(watched, time=time, seed=0))
    for number in range(5):
        trial = study.ask()
        trial.set_user_attr("hour", 100.0 + 0.5 * number)
        study.tell(trial, bump(trial))
    times = [expected(trial) for trial in study.trials]
    assert [t for *_, t in watched.told] == times[:4]
    assert watched.asked == times[1:]  # the first trial has no known parameter


def test_a_trial_without_the_attribute_of_its_time():
    study = new_study(small(time="hour"))
    study.add_trial(finished({"x": 1.0}))
    with pytest.raises(ValueError, match="Trial 0 must be one with the user attribute 'hour'"):
        study.ask().suggest_float("x", 0.0, 10.0)


# --- Thompson sampling and seeds ------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, None])
def test_each_trial_has_a_different_draw(seed):
    algorithm = GPUCB(acquisition="ts", n_initial_points=3)
    study = new_study(TimeVaryingSampler(algorithm, time="number", seed=seed))
    study.add_trials([finished({"x": x}, abs(x - 5.0)) for x in (0.0, 5.0, 10.0)])
    # No value is told in between, and no trial is pending.
    found = []
    for _ in range(4):
        trial = study.ask()
        found.append(trial.suggest_float("x", 0.0, 10.0))
        study.tell(trial, state=TrialState.PRUNED)
    assert len(set(found)) > 1  # draws may have their maximum at the same end of the range


@pytest.mark.parametrize("acquisition", [None, "ts"])
def test_the_seed_decides(acquisition):
    def found(algorithm, **options):
        study = new_study(TimeVaryingSampler(algorithm, time="number", **options))
        study.optimize(lambda trial: trial.suggest_int("x", 0, 99) % 7, n_trials=7)
        return params(study)

    options = {"acquisition": acquisition, "n_initial_points": 3}
    by_seed = [found(GPUCB(**options), seed=seed) for seed in (5, 5, 6)]
    assert by_seed[0] == by_seed[1] != by_seed[2]
    by_state = [found(GPUCB(**options, random_state=s), seed=None) for s in (5, 5, 6)]
    assert by_state[0] == by_state[1] != by_state[2]
    by_both = found(GPUCB(**options, random_state=9), seed=5)
    assert by_both == by_seed[0]


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
        assert set(trial.relative_params) == {"x"}
        found.append(trial.suggest_float("x", 0.0, 10.0))
        study.tell(trial, state=TrialState.PRUNED)
    assert np.mean(np.array(found) > 5.0) > 0.7  # 0.5 without learning


def test_expired_trials_are_no_longer_kept_away_from(watched):
    found = []
    for timeout in (None, 3.0):
        study = new_study(watched.set_params(query_timeout=timeout))
        study.optimize(bump, n_trials=6)
        bump(study.ask())
        study.optimize(bump, n_trials=5)
        found.append(len(watched.optimizers[-1].pending_))
    assert found == [2, 1]  # the new query included


@pytest.mark.usefixtures("watched")
def test_the_policy_receives_the_times_of_queries():
    # The response time needs the times of queries.
    class Bolt(BOLT, Watched):
        pass

    study = new_study(Bolt(n_initial_points=4))
    study.optimize(bump, n_trials=12)
    assert Watched.optimizers[-1].policy_.response_time_ is not None


def test_all_brackets_of_hyperband_are_known(watched):
    study = new_study(watched, pruner=optuna.pruners.HyperbandPruner(1, 9, 3))

    def objective(trial):
        value = bump(trial)
        for step in range(4):
            trial.report(value, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study.optimize(objective, n_trials=12)
    # Some are told again, as there are more to compare them with.
    assert {t for *_, t in watched.told} == {*range(11)}


# --- many trials ----------------------------------------------------------------------------------


def test_many_trials_are_told_at_once_and_read_once(monkeypatch, watched):
    read = []
    before = IntDistribution.to_internal_repr
    monkeypatch.setattr(
        IntDistribution, "to_internal_repr", lambda self, v: read.append(v) or before(self, v)
    )
    study = new_study(watched.set_params(n_initial_points=605))
    axes = {"x": FloatDistribution(0.0, 10.0), "k": IntDistribution(0, 100, step=5)}
    for i in range(600):
        values = {"x": 0.01 * i, "k": 5 * (i % 21)}
        study.add_trial(create_trial(params=values, distributions=axes, value=float(i % 7)))
    expected = []
    for new in (600, 1, 1):
        trial = study.ask()
        x, k = trial.suggest_float("x", 0.0, 10.0), trial.suggest_int("k", 0, 100, step=5)
        study.tell(trial, x + k)
        expected.append(new)
        assert watched.batches == expected
        if new == 1:
            assert len(read) < 30
        read.clear()


def test_a_long_study_is_told_its_latest_trials(monkeypatch, watched):
    monkeypatch.setattr("sktvbo.integrations.optuna._N_TOLD", 20)
    study = new_study(watched)
    study.add_trials([finished({"x": 0.1 * i}, float(i % 7)) for i in range(50)])
    for _ in range(2):
        trial = study.ask()
        study.tell(trial, trial.suggest_float("x", 0.0, 10.0))
    assert watched.batches == [20, 1]
    assert [t for *_, t in watched.told] == [*range(30, 51)]


# --- storages, processes, restarts ----------------------------------------------------------------


# Expressions, for this and other processes. SQLite's default of five seconds is too short on a
# busy machine.
PATIENCE = {"connect_args": {"timeout": 120.0}}
SQLITE = f"optuna.storages.RDBStorage('sqlite:///study.db', engine_kwargs={PATIENCE})"
JOURNAL = "JournalStorage(journal.JournalFileBackend('study.log'))"

WORKER = """
import optuna
from optuna.storages import JournalStorage, journal
from sktvbo import WDBO
from sktvbo.integrations.optuna import TimeVaryingSampler
optuna.logging.set_verbosity(optuna.logging.WARNING)
sampler = TimeVaryingSampler(WDBO(n_initial_points=5), time="number", seed=0)
study = optuna.load_study(study_name="shared", storage={storage}, sampler=sampler)
study.optimize(lambda trial: (trial.suggest_float("x", 0.0, 10.0) - 4.0) ** 2, n_trials=8)
"""


@pytest.mark.slow
@pytest.mark.parametrize("storage", [SQLITE, JOURNAL], ids=["sqlite", "journal"])
def test_several_processes_share_a_study(storage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = new_study(study_name="shared", storage=eval(storage))
    command = [sys.executable, "-c", WORKER.format(storage=storage)]
    workers = [subprocess.Popen(command) for _ in range(2)]
    assert [worker.wait(timeout=300) for worker in workers] == [0, 0]
    trials = study.get_trials()
    assert [trial.number for trial in trials] == list(range(16))
    assert all(trial.state == TrialState.COMPLETE for trial in trials)
    queries = params(study)
    assert len(set(queries[:5])) == 5  # despite the same seed
    assert abs(np.median(queries[-5:]) - 4.0) < 0.7


@pytest.mark.parametrize(
    "storage", [pytest.param(SQLITE, marks=pytest.mark.slow, id="sqlite"), JOURNAL]
)
def test_a_restart_goes_on(storage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new_study(study_name="once", storage=eval(storage)).optimize(bump, n_trials=6)
    again = optuna.load_study(study_name="once", sampler=small(), storage=eval(storage))
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


def test_a_pickle_goes_on_from_the_storage():
    study = new_study()
    study.optimize(bump, n_trials=8)
    sampler = pickle.loads(pickle.dumps(study.sampler))
    x = study.ask().suggest_float("x", 0.0, 10.0)
    other = optuna.create_study(sampler=sampler)
    other.add_trials(study.get_trials(states=[TrialState.COMPLETE]))
    assert other.ask().suggest_float("x", 0.0, 10.0) == pytest.approx(x, abs=1e-3)


# --- invalid input --------------------------------------------------------------------------------


class TestSeveralObjectivesAreRefused(SingleOnlySamplerTestCase):
    """Optuna's own test of samplers for one objective."""

    @pytest.fixture
    def sampler(self):
        return small


def test_the_message_names_the_number_of_objectives():
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=small())
    with pytest.raises(ValueError, match=r"one with one objective\. Got 2 objectives"):
        study.ask().suggest_float("x", 0.0, 1.0)


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("algorithm", "W-DBA", "Did you mean 'W-DBO'"),
        ("algorithm", WDBO, ""),
        ("time", 3.0, ""),
        ("seed", -1, ""),
        ("seed", "x", ""),
        ("constraints_func", [0.0], ""),
    ],
)
def test_invalid_parameters(name, value, advice):
    with pytest.raises(ValueError, match=f"'{name}' parameter of TimeVaryingSampler .*{advice}"):
        TimeVaryingSampler(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("domain", [(0.0, 1.0)], "The domain is the study's"),
        ("journal", "run.db", "derives its state from the trials"),
        ("journal", Journal("run.db", resume=True), "load_if_exists=True"),
        ("safety", 0.9, "without a study"),
        ("max_step", 0.1, "without a study"),
        ("start_points", [{"x": 1.0}], "enqueue_trial"),
        ("constraints", bool, "set_constraint"),
    ],
)
def test_parameters_of_an_algorithm_that_a_study_has_itself(name, value, advice):
    with pytest.raises(ValueError, match=f"'{name}' parameter of WDBO .*in a study.*{advice}"):
        TimeVaryingSampler(WDBO(**{name: value}))


def test_an_invalid_parameter_of_the_algorithm_fails_at_the_first_trial_told():
    study = new_study(TimeVaryingSampler(WDBO(alpha=-1.0), time="number"))
    with pytest.raises(ValueError, match="'alpha' parameter of WDBO"):
        study.optimize(bump, n_trials=2)
