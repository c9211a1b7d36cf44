"""Tasks: what they foretell, and their runs."""

import pytest
from papers.cases import SEEDS, run, task

from sktvbo import GPUCB, RGPUCB, RandomSearch, SparQGPUCB, evaluation
from sktvbo.evaluation import SimulatedClock, StepClock
from sktvbo.papers._tasks import Task, settings


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
    told = []
    comparison = run([task(), task("shekel")], tmp_path, report=told.append)
    assert comparison.problems == ["ackley", "shekel"]
    assert told == ["[1/2] ackley: 4 runs", "[2/2] shekel: 4 runs"]
    direct = evaluation.compare(
        task().optimizers,
        {"ackley": task().problem},
        clock=SimulatedClock("papers"),
        horizon=8.0,
        seeds=SEEDS,
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
        return settings([made], 10, 0)

    assert of(task()) == of(task())
    assert of(task()) != of(task(horizon=9.0))
    assert of(task(a=RGPUCB(reset_period=5))) != of(task(a=RGPUCB(reset_period=6)))
