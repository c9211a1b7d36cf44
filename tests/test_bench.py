"""Benches: specifications, the papers' tables, and what is run and shown."""

import re
from math import ceil

import numpy as np
import pytest

from sktvbo import GPUCB, RGPUCB, WDBO, RandomSearch, SparQGPUCB, _bench, evaluation, problems
from sktvbo._bench import PRESETS, Task
from sktvbo.evaluation import SimulatedClock, StepClock, WallClock
from sktvbo.kernels import Wiener
from sktvbo.theory import maximum_information_gain


@pytest.fixture
def data(data_dir, monkeypatch):
    monkeypatch.setenv("SKTVBO_DATA", str(data_dir))


def task(name="ackley", horizon=8.0, **algorithms):
    algorithms = algorithms or {"W-DBO": WDBO(), "random": RandomSearch()}
    return Task(name, evaluation.Fresh(name), algorithms, SimulatedClock("papers"), horizon)


def run(tasks, store, **options):
    options = {"seed": 0, "n_jobs": 1, "report": lambda text: None} | options
    return _bench.run(tasks, 2, store=store, **options)


# -- specifications -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("ackley", "ackley", {}),
        ("wlan:n_nodes=6,n_users=27", "wlan", {"n_nodes": 6, "n_users": 27}),
        ("ackley:horizon=60.5, noise=1e-2", "ackley", {"horizon": 60.5, "noise": 0.01}),
        (
            "temperature-arms:train=(0,2),test=(3,4)",
            "temperature-arms",
            {"train": (0, 2), "test": (3, 4)},
        ),
        ("ozone:version=summer2006", "ozone", {"version": "summer2006"}),
        ("ozone:normalize=False", "ozone", {"normalize": False}),
    ],
)
def test_specifications_are_parsed(text, name, options):
    assert _bench.parse(text) == (name, options)


@pytest.mark.parametrize("text", ["wlan:", "wlan:n_nodes", "wlan:=6", "wlan:n_nodes=", "a:,b=1"])
def test_specifications_without_a_value_are_refused(text):
    with pytest.raises(ValueError, match="NAME:key=value,key=value, got"):
        _bench.parse(text)


def test_commas_before_options_do_not_split_a_list():
    text = "W-DBO:alpha=0.5,refit_every=2, BOLT,SW-GP-UCB:window=50"
    assert _bench.split_list(text) == [
        "W-DBO:alpha=0.5,refit_every=2",
        "BOLT",
        "SW-GP-UCB:window=50",
    ]


def test_options_reach_the_algorithm():
    optimizer = _bench.make_optimizer("wdbo:alpha=0.5,refit_every=2")
    assert isinstance(optimizer, WDBO)
    assert optimizer.alpha == 0.5
    assert optimizer.refit_every == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("W-DBA", r"must be one of GP-UCB, .*; got 'W-DBA'\. Did you mean 'W-DBO'\?"),
        ("W-DBO:beta=1", r"no option 'beta'; its options are alpha, n_initial_points, refit_every"),
        ("random:domain=1", r"no option 'domain'; its options are none"),
    ],
)
def test_unknown_algorithms_and_options_name_the_known_ones(text, message):
    with pytest.raises(ValueError, match=message):
        _bench.make_optimizer(text)


def test_all_algorithms_are_there():
    made = {type(_bench.make_optimizer(name)).__name__ for name in _bench.ALGORITHMS}
    assert made == set(_bench.optimizers.__all__) - {"BayesianOptimizer"}


def test_names_of_algorithms_are_those_of_the_papers_unless_they_have_options():
    made = _bench.make_task("ackley", "wdbo,W-DBO:alpha=0.5,random", StepClock(), 20.0)
    assert list(made.optimizers) == ["W-DBO", "W-DBO:alpha=0.5", "random"]


def test_a_task_that_cannot_be_run_is_refused_at_once():
    with pytest.raises(ValueError, match=r"horizon must be in \(0, 600"):
        _bench.make_task("ackley", "random", StepClock(), 700.0)
    with pytest.raises(ValueError, match="n_initial=15 steps"):
        _bench.make_task("ackley", "random", StepClock(), 10.0)
    with pytest.raises(ValueError, match="'window' parameter of SWGPUCB"):
        _bench.make_task("ackley", "SW-GP-UCB", StepClock(), None)


# -- the papers ---------------------------------------------------------------------------------


def published_overall(name):
    published = PRESETS[name].published
    return _bench.normalized({key: _bench._mean(entry) for key, entry in published.items()})


def rounding(name):
    """How far the rounding of a table's entries may move the last row, itself rounded."""
    columns = {}
    for (_, problem), entry in PRESETS[name].published.items():
        columns.setdefault(problem, []).append(entry.partition("±")[0])
    moves = []
    for entries in columns.values():
        half = 0.5 * 10.0 ** -max(len(entry.partition(".")[2]) for entry in entries)
        values = np.array(entries, dtype=float)
        # Of (v - low) / (high - low): each of the three is off by half a unit.
        moves.append(4.0 * half / (np.ptp(values) - 2.0 * half))
    return np.mean(moves) + 0.005


def test_the_last_row_of_wdbo_table_2_follows_from_the_others():
    last_row = {
        "GP-UCB": 0.48,
        "R-GP-UCB": 0.47,
        "TV-GP-UCB": 0.29,
        "ET-GP-UCB": 0.54,
        "ABO": 0.62,
        "W-DBO": 0.01,
    }
    assert rounding("wdbo-table2") < 0.54 - 0.48
    expected = pytest.approx(last_row, abs=rounding("wdbo-table2"))
    assert published_overall("wdbo-table2") == expected


def test_the_last_row_of_bolt_table_3_has_three_columns_in_another_order():
    last_row = {
        "GP-UCB": 0.66,
        "ABO": 0.68,  # printed below ET-GP-UCB
        "ET-GP-UCB": 0.63,  # below R-GP-UCB
        "R-GP-UCB": 0.40,  # below ABO
        "TV-GP-UCB": 0.81,
        "W-DBO": 0.14,
        "BOLT": 0.01,
    }
    assert rounding("bolt-table3") < 0.68 - 0.63  # so that it tells the columns apart
    expected = pytest.approx(last_row, abs=rounding("bolt-table3"))
    assert published_overall("bolt-table3") == expected


@pytest.mark.parametrize(("name", "shape"), [("wdbo-table2", (6, 12)), ("bolt-table3", (7, 10))])
def test_every_published_number_has_its_runs(name, shape, data):
    preset = PRESETS[name]
    assert (len(preset.algorithms), len(preset.tasks)) == shape
    assert set(preset.published) == {(a, p) for a in preset.algorithms for p in preset.tasks}
    assert preset.replications == 10
    for problem, make in preset.tasks.items():
        made = make()
        assert made.name == problem
        assert tuple(made.optimizers) == preset.algorithms
        assert (made.horizon, made.n_initial) == (600.0, 15)
        assert made.clock.response_time.name == "papers"


def test_noise_and_call_durations_are_the_papers(data):
    tasks = {name: PRESETS[name].tasks["powell"]() for name in ("wdbo-table2", "bolt-table3")}
    by_noise = {name: made.problem(0).noise_variance for name, made in tasks.items()}
    assert by_noise["wdbo-table2"] == pytest.approx(5.0 * by_noise["bolt-table3"])
    assert tasks["wdbo-table2"].clock.call_duration == 0.0
    assert tasks["bolt-table3"].clock.call_duration == 1.0
    wlan = PRESETS["bolt-table3"].tasks["wlan"]()
    assert wlan.problem(0).domain.n_dims == 6
    assert wlan.clock.call_duration == 0.1
    assert wlan.problem.options["n_users"] == 27


def test_wlan_has_a_rough_kernel_in_time_as_wdbo_says():
    made = PRESETS["wdbo-table2"].tasks["wlan"]()
    for name, optimizer in made.optimizers.items():
        if name in ("ABO", "W-DBO"):
            assert optimizer.surrogate.temporal_kernel.nu == 0.5
        else:
            assert optimizer.surrogate is None


def test_sensors_have_the_papers_parameters(data):
    tvgp = PRESETS["tvgp-fig3"].tasks["temperature-arms"]()
    assert tvgp.optimizers["R-GP-UCB"].reset_period == 15
    assert tvgp.optimizers["TV-GP-UCB"].surrogate.temporal_kernel.epsilon == 0.03
    beta = tvgp.optimizers["GP-UCB"].acquisition.beta
    assert (beta.scale, beta.rate) == (0.8, 0.4)
    days = PRESETS["tvgp-fig3"].tasks["traffic-day-6"]()
    assert days.optimizers["TV-GP-UCB"].surrogate.temporal_kernel.epsilon == 0.04
    assert days.optimizers["TV-GP-UCB"].acquisition.beta.scale == 0.2
    assert days.horizon == 60.0
    et = PRESETS["et-fig3"].tasks["temperature-days-7-8"]()
    assert et.optimizers["ET-GP-UCB"].surrogate.noise_variance == 0.01
    assert len(et.problem(0).training) == 6 * 144
    assert isinstance(et.clock, StepClock)


def test_all_algorithms_have_the_same_kernel_and_beta_on_the_sensors(data):
    made = PRESETS["sensors"].tasks["ozone"]()
    assert list(made.optimizers) == list(_bench.ALGORITHMS)
    problem = made.problem(0)
    for name, optimizer in made.optimizers.items():
        assert type(optimizer) is _bench.ALGORITHMS[name]
        if name != "random":
            assert optimizer.surrogate.spatial_kernel == problem.empirical_kernel()
            assert optimizer.surrogate.noise_variance == problem.surrogate().noise_variance
            assert optimizer.surrogate.optimizer is None
        if name not in ("random", "IGP-UCB"):
            assert (optimizer.acquisition.beta.scale, optimizer.acquisition.beta.rate) == (0.8, 0.4)
        if name in ("TV-GP-UCB", "ABO", "W-DBO", "BOLT"):
            epsilon = optimizer.surrogate.temporal_kernel.epsilon
            assert epsilon == problem.forgetting_rate()
    found = made.optimizers
    assert found["UI-TVBO"].surrogate.temporal_kernel == Wiener(problem.forgetting_rate(), "fixed")
    # Blocks, windows and weights of one variation budget.
    gain = maximum_information_gain(
        problem.empirical_kernel().covariance, problem.surrogate().noise_variance, 169
    )
    length = ceil(gain**0.25 * 13.0)
    assert found["BR-GP-UCB"].reset_period == found["SW-GP-UCB"].window == length
    assert found["W-GP-UCB"].surrogate.noise_model.discount == 1.0 - 1.0 / length


def test_readings_are_noisy_where_the_runs_would_be_alike(data):
    for preset, name in (("sensors", "ozone"), ("sparq-fig2", "ozone")):
        problem = PRESETS[preset].tasks[name]().problem(0)
        assert problem.noise_variance == problems.make("ozone", noise=0.05).noise_variance > 0.0


@pytest.mark.parametrize(
    ("preset", "problem", "horizon"),
    [
        ("wdbo-table2", "wlan", 4.0),
        ("bolt-table3", "temperature-field", 8.0),
        ("tvgp-fig3", "temperature-arms", 20.0),
        ("tvgp-fig3", "traffic-day-7", 20.0),
        ("et-fig3", "temperature-days-4-5", 20.0),
        ("et-fig3", "cart-pole", 20.0),
        ("sparq-fig2", "ozone", 20.0),
        ("sensors", "temperature-arms", 20.0),
    ],
)
def test_presets_run(preset, problem, horizon, data, tmp_path):
    made = _bench.preset_task(PRESETS[preset], problem, horizon=horizon)
    comparison = _bench.run([made], 1, seed=0, n_jobs=1, store=tmp_path, report=lambda text: None)
    assert comparison.failures == []
    assert set(comparison.algorithms) <= set(PRESETS[preset].algorithms)
    for (runs,) in comparison.results.values():
        assert len(runs.times) > runs.n_initial
        assert np.isfinite(runs.average_regret)


def test_a_preset_is_cut_to_what_is_asked_for():
    made = _bench.preset_task(PRESETS["et-fig3"], "cart-pole", ["UI-TVBO", "GP-UCB"], 30.0)
    assert list(made.optimizers) == ["UI-TVBO", "GP-UCB"]
    assert made.horizon == 30.0


# -- the work -----------------------------------------------------------------------------------


@pytest.mark.parametrize("clock", [SimulatedClock("papers", 0.5), StepClock()])
def test_queries_are_foretold(clock):
    made = Task("ackley", evaluation.Fresh("ackley"), {"GP-UCB": GPUCB()}, clock, 30.0)
    result = evaluation.run(GPUCB(), made.problem(0), clock, 30.0)
    assert list(made.sizes()) == result.dataset_sizes[14:-1].tolist()
    R = SimulatedClock("sktvbo").response_time
    assert made.seconds() == pytest.approx(sum(R(n) for n in made.sizes()))


def test_real_time_takes_as_long_as_it_is():
    made = Task("ackley", evaluation.Fresh("ackley"), {"GP-UCB": GPUCB()}, WallClock(), 30.0)
    assert made.seconds() == 30.0


def test_the_plan_adds_up():
    text = _bench.plan([task(), task("shekel", horizon=16.0)], replications=3, n_jobs=2)
    rows = {line.split()[0]: line.split()[1:3] for line in text.splitlines()[2:4]}
    assert [runs for runs, _ in rows.values()] == ["6", "6"]
    assert int(rows["ackley"][1]) < int(rows["shekel"][1])
    total = 6 * task().seconds() + 6 * task("shekel", horizon=16.0).seconds()
    assert f"12 runs: about {_bench._duration(total / 2)} with 2 job(s)" in text
    assert "algorithms: W-DBO, random" in text


@pytest.mark.parametrize(("seconds", "text"), [(3.2, "4 s"), (1620.0, "27 min"), (9000.0, "2.5 h")])
def test_durations_are_rounded(seconds, text):
    assert _bench._duration(seconds) == text


def test_runs_that_are_kept_are_not_made_again(tmp_path, monkeypatch):
    first = run([task()], tmp_path)
    monkeypatch.setattr("sktvbo.evaluation._compare.run", None)
    again = run([task()], tmp_path)
    assert again.summary() == first.summary()
    assert len(run([task("shekel")], tmp_path).failures) == 4  # these would be


def test_tasks_make_one_comparison(tmp_path):
    told = []
    comparison = run([task(), task("shekel")], tmp_path, report=told.append)
    assert comparison.problems == ["ackley", "shekel"]
    assert told == ["[1/2] ackley: 4 runs", "[2/2] shekel: 4 runs"]
    direct = evaluation.compare(
        task().optimizers,
        {"ackley": task().problem},
        2,
        clock=SimulatedClock("papers"),
        horizon=8.0,
    )
    for row, expected in zip(comparison.summary()[:2], direct.summary(), strict=True):
        assert row["average_regret"] == expected["average_regret"]


def test_the_problem_is_the_expert(tmp_path):
    problem = evaluation.Fresh("moving-bump")
    made = Task("moving-bump", problem, {"SparQ": SparQGPUCB()}, StepClock(), 25.0)
    result = run([made], tmp_path).results["SparQ", "moving-bump"][0]

    def regrets(expert):
        options = {"random_state": result.seed, "expert": expert}
        function = problem(result.seed)
        return evaluation.run(SparQGPUCB(), function, StepClock(), 25.0, **options).regrets

    assert result.regrets.tolist() == regrets("problem").tolist()
    assert result.regrets.tolist() != regrets(None).tolist()


def test_settings_tell_apart():
    def of(made):
        return _bench.settings([made], 10, 0)

    assert of(task()) == of(task())
    assert of(task()) != of(task(horizon=9.0))
    assert of(task(a=RGPUCB(reset_period=5))) != of(task(a=RGPUCB(reset_period=6)))


# -- what is shown ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    names = ["ackley", "shekel", "powell", "eggholder"]
    tasks = [task(name, r=RandomSearch(), **{"W-DBO": WDBO()}) for name in names]
    return run(tasks, tmp_path_factory.mktemp("store"))


def test_tables_have_every_problem_once_and_fit(comparison):
    text = _bench.tables(comparison, 60)
    headers = [line.split()[2:] for line in text.splitlines() if line.startswith("average regret")]
    assert len(headers) > 1
    assert [name for header in headers for name in header] == comparison.problems
    assert max(map(len, text.splitlines())) <= 60
    assert _bench.tables(comparison, 500) == str(comparison)


def test_published_numbers_stand_beside_ours(comparison):
    published = {
        ("W-DBO", "ackley"): "2.90±0.35",
        ("r", "ackley"): "5",
        ("W-DBO", "shekel"): "1.5",
        ("r", "shekel"): "1.0",
        ("W-DBO", "elsewhere"): "7",
    }
    text = _bench.beside(comparison, published, 60)
    assert max(len(line) for line in text.splitlines()[:-1]) <= 60
    rows = [re.split(r"\s{2,}", line) for line in text.splitlines()]
    ours = {(r["algorithm"], r["problem"]): r for r in comparison.summary()}
    header, w_dbo = rows[0], next(row for row in rows if row[0] == "W-DBO")
    assert header[:3] == ["average regret", "ackley", "published"]
    mean = float(w_dbo[1].split(" ± ")[0])
    assert mean == pytest.approx(ours["W-DBO", "ackley"]["average_regret"], rel=0.05)
    assert w_dbo[2] == "2.90 ± 0.35"
    # W-DBO is the best on one problem and the worst on the other.
    last = [row for row in rows if row[0] == "W-DBO"][-1]
    mine = next(r for r in comparison.normalized() if r["algorithm"] == "W-DBO")
    assert last[-2:] == [f"{mine['normalized_regret']:.2f}", "0.50"]
    assert "7" not in "".join(w_dbo[2:])


def test_normalized_is_that_of_comparisons(comparison):
    means = {(r["algorithm"], r["problem"]): r["average_regret"] for r in comparison.summary()}
    expected = {r["algorithm"]: r["normalized_regret"] for r in comparison.normalized()}
    assert _bench.normalized(means) == pytest.approx(expected)
    assert _bench.normalized({("a", "p"): 2.0}) == {"a": 0.0}


def test_pictures_leave_out_what_has_failed(comparison):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    waiting = evaluation.run(RandomSearch(), task().problem(0), task().clock, 8.0, n_initial=1)
    waiting.n_initial = len(waiting.times)
    without = {("BOLT", "ackley"): [], ("ABO", "ackley"): [waiting]}
    broken = evaluation.Comparison(comparison.results | without)
    assert _bench.draw(figure, broken, task())
    regrets, sizes = figure.axes
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["r", "W-DBO"]
    assert regrets.get_legend() is sizes.get_legend() is None
    assert "size" in sizes.get_ylabel()
    nothing = evaluation.Comparison({("BOLT", "ackley"): []})
    assert not _bench.draw(Figure(), nothing, task())


def test_file_names_have_no_signs():
    assert _bench.file_name("wlan:n_nodes=6,n_users=27") == "wlan-n_nodes-6-n_users-27"
