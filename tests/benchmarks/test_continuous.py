"""W-DBO table 2 and BOLT table 3: what is published, and what is run."""

import numpy as np
import pytest
from _presets import PRESETS
from _report import published_numbers
from numpy.testing import assert_array_equal
from problems import make as make_problem

from sktvbo.evaluation._statistics import normalized


def published_overall(name):
    known = published_numbers(name)
    rows = normalized({key: float(mean) for key, (mean, _) in known.items()})
    return {row["algorithm"]: row["normalized_regret"] for row in rows}


def rounding(name):
    """How far the rounding of a table's entries may move the last row, itself rounded."""
    columns = {}
    for (_, problem), (mean, _) in published_numbers(name).items():
        columns.setdefault(problem, []).append(mean)
    moves = []
    for entries in columns.values():
        half = 0.5 * 10.0 ** -max(len(entry.partition(".")[2]) for entry in entries)
        values = np.array(entries, dtype=float)
        # Of (v - low) / (high - low): each of the three is off by half a unit.
        moves.append(4.0 * half / (np.ptp(values) - 2.0 * half))
    return np.mean(moves) + 0.005


# The columns of BOLT's last row are printed in another order: ABO's stands below ET-GP-UCB,
# ET-GP-UCB's below R-GP-UCB, and R-GP-UCB's below ABO.
LAST_ROWS = {
    "wdbo-table2": {
        **{"GP-UCB": 0.48, "R-GP-UCB": 0.47, "TV-GP-UCB": 0.29},
        **{"ET-GP-UCB": 0.54, "ABO": 0.62, "W-DBO": 0.01},
    },
    "bolt-table3": {
        **{"GP-UCB": 0.66, "ABO": 0.68, "ET-GP-UCB": 0.63, "R-GP-UCB": 0.40},
        **{"TV-GP-UCB": 0.81, "W-DBO": 0.14, "BOLT": 0.01},
    },
}


@pytest.mark.parametrize(("name", "gap"), [("wdbo-table2", 0.06), ("bolt-table3", 0.05)])
def test_the_last_row_follows_from_the_others(name, gap):
    assert rounding(name) < gap  # so that it tells the columns apart
    expected = pytest.approx(LAST_ROWS[name], abs=rounding(name))
    assert published_overall(name) == expected


@pytest.mark.parametrize(("name", "shape"), [("wdbo-table2", (6, 12)), ("bolt-table3", (7, 10))])
def test_every_published_number_has_its_runs(name, shape, data):
    preset = PRESETS[name]
    assert (len(preset.algorithms), len(preset.tasks)) == shape
    assert set(published_numbers(name)) == {(a, p) for a in preset.algorithms for p in preset.tasks}
    assert preset.replications == 10
    for problem, make in preset.tasks.items():
        made = make()
        assert made.name == problem
        assert tuple(made.optimizers) == preset.algorithms
        assert (made.horizon, made.n_initial) == (600.0, 15)
        assert made.clock.response_time.name == "papers"


def test_the_noise_of_wdbo_table_2_is_what_is_printed(data):
    printed = {
        "rastrigin": 0.25,  # this, Styblinski-Tang's and Rosenbrock's are Schwefel's
        "schwefel": 0.25,
        "styblinski-tang": 0.25,
        "eggholder": 0.1,
        "ackley": 0.05,
        "rosenbrock": 0.25,
        "shekel": 0.02,
        "hartmann-3": 0.05,
        "hartmann-6": 0.05,
        "powell": 2.5,
        "temperature-field": 0.16,
        "wlan": 1.5,
    }
    tasks = PRESETS["wdbo-table2"].tasks
    assert {name: make().problem(0).noise_variance for name, make in tasks.items()} == printed


def test_noise_and_call_durations_are_the_papers(data):
    tasks = {name: PRESETS[name].tasks["powell"]() for name in ("wdbo-table2", "bolt-table3")}
    variance = make_problem("powell", noise=1.0).noise_variance
    noise = tasks["bolt-table3"].problem(0).noise_variance
    assert noise == pytest.approx(0.01 * variance)
    assert tasks["wdbo-table2"].clock.call_duration == 0.0
    assert tasks["bolt-table3"].clock.call_duration == 1.0
    wlan = PRESETS["bolt-table3"].tasks["wlan"]()
    assert wlan.problem(0).domain.n_dims == 6
    # What is printed is about one per cent of this network's variance, as the text says.
    assert wlan.problem(0).noise_variance == pytest.approx(1.5, rel=0.25)
    assert wlan.clock.call_duration == 0.1
    assert wlan.problem.options["n_users"] == 27


@pytest.mark.parametrize("preset", ["wdbo-table2", "bolt-table3"])
def test_the_users_stay_with_their_node_and_the_first_day_is_a_saturday(preset, data):
    tasks = PRESETS[preset].tasks
    network = tasks["wlan"]().problem(0)
    _, serving = network._links(np.linspace(0.0, 600.0, 50))
    assert np.all(serving == serving[:1])
    # Nobody is there: it is the first of the two days on which the temperatures change least.
    tables = [make_problem("temperature-field", day=day)._table for day in range(8)]
    changes = [np.abs(np.diff(table, axis=0)).mean() for table in tables]
    day = min(np.argsort(changes)[:2])
    field = tasks["temperature-field"]().problem(0)
    assert_array_equal(field._table, tables[day])


@pytest.mark.parametrize("preset", ["wdbo-table2", "bolt-table3"])
@pytest.mark.parametrize(("problem", "nu"), [("ackley", 1.5), ("wlan", 0.5)])
def test_as_published_all_is_learnt_by_likelihood_at_each_step(preset, problem, nu):
    made = PRESETS[preset].tasks[problem]()
    assert list(made.as_published) == list(made.optimizers)
    for name, optimizer in made.as_published.items():
        assert (optimizer.refit_every, optimizer.n_initial_points) == (1, 15)
        assert optimizer.acquisition.margin == 0.0
        surrogate = optimizer.surrogate
        assert surrogate.mean_prior_std == 0.0
        assert surrogate.spatial_kernel.nu == 2.5
        temporal = surrogate.temporal_kernel
        if name in ("ABO", "W-DBO", "BOLT"):
            assert (temporal.nu, temporal.length_scale) == (nu, pytest.approx(600.0 * np.log(2.0)))
        elif name == "TV-GP-UCB":
            assert (type(temporal).__name__, optimizer.clock) == ("Forgetting", "step")
        else:
            assert temporal.constant_value_bounds == "fixed"
    assert made.as_published["R-GP-UCB"].policy.period is None
    assert made.as_published["ABO"].horizon == 600.0


@pytest.mark.parametrize("preset", ["wdbo-table2", "bolt-table3"])
def test_wlan_has_a_rough_kernel_in_time_as_the_papers_say(preset):
    made = PRESETS[preset].tasks["wlan"]()
    for name, optimizer in made.optimizers.items():
        if name in ("ABO", "W-DBO", "BOLT"):
            assert optimizer.surrogate.temporal_kernel.nu == 0.5
        else:
            assert optimizer.surrogate is None
