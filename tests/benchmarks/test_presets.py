"""Presets of the papers: their tasks, the functions that are drawn, and the published numbers."""

import copy
import functools
import json
from pathlib import Path

import numpy as np
import pytest
from _presets import PRESETS
from _report import published_numbers
from _sensors import ALGORITHMS
from _tasks import AS_PUBLISHED
from benchmarks.cases import run
from datasets import MissingDataError
from numpy.testing import assert_array_equal
from rounding import assert_stored
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sktvbo import WDBO, TimeVaryingGPRegressor, evaluation, problems

# --- decisions of the algorithms as published -----------------------------------------------------

# At the beginning of each paper's experiment: queries between given observations, in units of the
# domain, posterior mean and standard deviation there, and the size of the data set at the end.
DECISIONS = json.loads(Path(__file__).with_name("decisions.json").read_text(encoding="utf-8"))
N_QUERIES = 10
TOLERANCE = 1e-4


def times_of(task):
    """Return the times of the initial design, and of the queries of what forgets nothing."""
    clock = copy.deepcopy(task.clock)
    initial, start = clock.initial_times(task.n_initial, task.horizon, np.random.RandomState(0))
    clock.start(start)
    times = list(initial)
    while clock.now() < task.horizon:
        times.append(clock.answer(len(times), clock.now()))
        clock.told()
    return np.array(times)


def decisions(optimizer, domain, X, times, y):
    """Return `DECISIONS` of an optimizer that is told given observations."""
    opt = clone(optimizer).set_params(domain=domain, random_state=0, maximize=True)
    last, found = len(y) - 1, []
    asks = set(np.linspace(min(16, last - N_QUERIES), last, N_QUERIES).astype(int).tolist())
    for i, (x, t, value) in enumerate(zip(X, times, y)):
        if i in asks:
            query = opt.suggest(t)
            opt.cancel(query)
            place = query.x[np.newaxis]
            found += [*domain.to_unit(place)[0], *np.ravel(opt.predict(place, t, return_std=True))]
        opt.tell(x, value, t)
    return np.append(found, len(opt.X_))


@pytest.mark.parametrize(
    "stored", DECISIONS, ids=lambda stored: f"{stored['preset']}-{stored['problem']}"
)
def test_decisions_are_as_stored(stored):
    preset, numbers = PRESETS[stored["preset"]], stored["decisions"]
    try:
        task = preset.task(stored["problem"], list(numbers), stored["horizon"], as_published=True)
    except MissingDataError as exc:
        pytest.skip(str(exc))
    problem, times = task.problem(3), times_of(task)
    X = problem.domain.sample(len(times), np.random.RandomState(3))
    y = [problem.observe(x, t) for x, t in zip(X, times)]
    for name, expected in numbers.items():
        published = task.optimizers[name + AS_PUBLISHED]
        decide = functools.partial(decisions, published, problem.domain, X, times)
        assert_stored(decide, y, expected, atol=TOLERANCE)


def test_every_preset_with_algorithms_as_published_is_there():
    assert {stored["preset"] for stored in DECISIONS} == PRESETS.keys() - {"sensors"}


# --- tasks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_tasks_have_the_names_and_the_algorithms_that_the_preset_names(name, data):
    preset = PRESETS[name]
    named = set()
    for problem, make in preset.tasks.items():
        made = make()
        assert made.name == problem
        assert list(made.optimizers) == [a for a in preset.algorithms if a in made.optimizers]
        assert set(made.as_published) <= set(made.optimizers)
        named |= set(made.optimizers)
    assert named == set(preset.algorithms)
    assert preset.rival in (None, *preset.algorithms)


def test_an_algorithm_that_nobody_has_thought_of_runs_on_the_sensors_too(data, monkeypatch):
    class Newcomer(WDBO):
        label = "newcomer"

    monkeypatch.setitem(ALGORITHMS, "newcomer", Newcomer)
    made = PRESETS["sensors"].tasks["ozone"]()
    theirs, newcomer = made.optimizers["W-DBO"], made.optimizers["newcomer"]
    assert type(newcomer) is Newcomer
    assert newcomer.surrogate is theirs.surrogate
    assert newcomer.n_initial_points == 1


# --- drawn functions ------------------------------------------------------------------------------


def test_the_kernel_of_the_bump_has_the_highest_likelihood():
    made = PRESETS["sparq-fig1"].tasks["moving bump"]()
    known = made.as_published["TV-GP-UCB"].surrogate.spatial_kernel
    problem, rng = made.problem(0), np.random.RandomState(0)
    places = rng.uniform(-50.0, 50.0, (300, 1))
    y = [problem.observe(x, 0.0) for x in places]
    fixed = {"signal_variance_bounds": "fixed", "noise_variance_bounds": "fixed"}
    kernels = RBF(0.2), ConstantKernel(1.0, "fixed")
    model = TimeVaryingGPRegressor(*kernels, noise_variance=0.01, mean_prior_std=2.0, **fixed)
    model.fit(np.column_stack([problem.domain.to_unit(places), np.zeros(300)]), y)
    assert known.length_scale == pytest.approx(model.spatial_kernel_.length_scale, rel=0.2)


def test_functions_and_noise_come_from_the_seed_itself(tmp_path):
    made = PRESETS["et-table1"].task("gp-abrupt", ["ET-GP-UCB"], 8.0)
    (first, _) = run([made], tmp_path).results["ET-GP-UCB", "gp-abrupt"]
    problem = problems.make("gp-abrupt", horizon=500, noise_variance=0.1, random_state=first.seed)
    optimizer = made.optimizers["ET-GP-UCB"]
    by_hand = evaluation.run(optimizer, problem, horizon=8.0, n_initial=0, random_state=first.seed)
    assert_array_equal(first.observations, by_hand.observations)
    assert_array_equal(first.regrets, by_hand.regrets)


# --- published numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "shape"), [("wdbo-table2", (6, 12)), ("bolt-table3", (7, 10))])
def test_every_published_number_has_its_runs(name, shape):
    preset = PRESETS[name]
    assert (len(preset.algorithms), len(preset.tasks)) == shape
    assert set(published_numbers(name)) == {(a, p) for a in preset.algorithms for p in preset.tasks}
