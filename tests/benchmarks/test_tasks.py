"""The command of the papers: presets, specifications and tasks."""

import pytest
from _specs import configured, parse, split_list
from _tasks import Task
from benchmarks.cases import SEEDS, run, task

from sktvbo import GPUCB, RandomSearch, SparQGPUCB, evaluation
from sktvbo.evaluation import SimulatedClock, StepClock


@pytest.mark.parametrize("clock", [SimulatedClock("papers", 0.5), StepClock()])
def test_queries_are_foretold(clock):
    made = Task("ackley", evaluation.Fresh("ackley"), {"GP-UCB": GPUCB()}, clock, 30.0)
    result = evaluation.run(GPUCB(), made.problem(0), clock, 30.0)
    assert list(made.sizes()) == result.dataset_sizes[14:-1].tolist()
    R = SimulatedClock("sktvbo").response_time
    assert made.seconds() == pytest.approx(sum(R(n) for n in made.sizes()))


class Exhausted(RandomSearch):
    """Random search that can be told to fail."""

    tired = False

    def suggest(self, t=None, n=None, *, context=None):
        if self.tired:
            raise RuntimeError("too tired")
        return super().suggest(t)


def test_runs_that_are_kept_are_not_made_again(tmp_path, monkeypatch):
    made, other = (task(name, exhausted=Exhausted()) for name in ("ackley", "shekel"))
    first = run([made], tmp_path)
    monkeypatch.setattr(Exhausted, "tired", True)
    again = run([made], tmp_path)
    assert again.summary() == first.summary()
    assert again.failures == []
    assert len(run([other], tmp_path).failures) == 2  # these would be


def test_tasks_make_one_comparison(tmp_path):
    told, made = [], [task(name, 3.0, a=RandomSearch()) for name in ("ackley", "shekel")]
    comparison = run(made, tmp_path, report=told.append)
    assert comparison.problems == ["ackley", "shekel"]
    assert told == ["[1/2] ackley: 2 runs", "[2/2] shekel: 2 runs"]
    options = {"clock": SimulatedClock("papers"), "horizon": 3.0, "seeds": SEEDS}
    direct = evaluation.compare(made[0].optimizers, {"ackley": made[0].problem}, **options)
    assert comparison.summary()[0]["average_regret"] == direct.summary()[0]["average_regret"]


def test_the_problem_is_the_expert(tmp_path):
    problem = evaluation.Fresh("moving-bump")
    made = Task("moving-bump", problem, {"SparQ": SparQGPUCB()}, StepClock(), 19.0)
    result = run([made], tmp_path).results["SparQ", "moving-bump"][0]

    def regrets(expert):
        options = {"random_state": result.seed, "expert": expert}
        function = problem(result.seed)
        return evaluation.run(SparQGPUCB(), function, StepClock(), 19.0, **options).regrets

    assert result.regrets.tolist() == regrets("problem").tolist()
    assert result.regrets.tolist() != regrets(None).tolist()


# --- names, lists and options as a user writes them -----------------------------------------------


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", {}),
        (":horizon=60.5, n_nodes=6", {"horizon": 60.5, "n_nodes": 6}),
        (":train=(0,2),test=(3,4)", {"train": (0, 2), "test": (3, 4)}),
        (":version=summer2006,normalize=False", {"version": "summer2006", "normalize": False}),
    ],
)
def test_specifications_are_parsed(text, options):
    assert parse("name" + text) == ("name", options)


@pytest.mark.parametrize("text", ["wlan:", "wlan:n_nodes", "wlan:=6", "wlan:n_nodes=", "a:,b=1"])
def test_specifications_without_a_value_are_refused(text):
    with pytest.raises(ValueError, match=r"NAME:key=value,key=value. Got"):
        parse(text)


def test_commas_before_options_do_not_split_a_list():
    parts = ["W-DBO:alpha=0.5,refit_every=2", "BOLT", "SW-GP-UCB:window=50"]
    assert split_list(",".join(parts)) == parts


def test_common_parameters_are_for_those_that_have_them_and_own_ones_come_first():
    common = {"n_initial_points": 3, "alpha": 0.5}
    found = configured(("W-DBO", "GP-UCB", "random"), common, {"W-DBO": {"alpha": 2.0}})
    assert list(found) == ["W-DBO", "GP-UCB", "random"]
    assert found["W-DBO"].get_params()["alpha"] == 2.0
    assert found["W-DBO"].n_initial_points == found["GP-UCB"].n_initial_points == 3
    assert "alpha" not in found["GP-UCB"].get_params()
    with pytest.raises(ValueError, match="alpha"):
        configured(("GP-UCB",), {}, {"GP-UCB": {"alpha": 2.0}})
