"""A small task, and how the tests run it."""

from sktvbo import WDBO, RandomSearch, evaluation
from sktvbo.evaluation import SimulatedClock
from sktvbo.papers import _tasks as tasks
from sktvbo.papers._tasks import Task

SEEDS = [3, 7]

# Lengths of the runs in the experiments of the papers, for `sktvbo.papers.published`.
HORIZONS = {"W-DBO": {"horizon": 1.0}, "ABO": {"horizon": 1.0}, "BOLT": {"horizon": 600.0}}
HORIZONS |= {"R-GP-UCB": {"horizon": 200}}
HORIZONS |= {name: {"horizon": 500} for name in ("SW-GP-UCB", "BR-GP-UCB", "W-GP-UCB")}


def task(name="ackley", horizon=8.0, **algorithms):
    algorithms = algorithms or {"W-DBO": WDBO(), "random": RandomSearch()}
    return Task(name, evaluation.Fresh(name), algorithms, SimulatedClock("papers"), horizon)


def run(some, store, **options):
    options = {"n_jobs": 1, "report": lambda text: None} | options
    return tasks.run(some, SEEDS, store=store, **options)
