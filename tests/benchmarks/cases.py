"""A small task, and how the tests run it."""

import _tasks as tasks
from _tasks import Task

from sktvbo import WDBO, RandomSearch, evaluation
from sktvbo.evaluation import SimulatedClock

SEEDS = [3, 7]


def task(name="ackley", horizon=8.0, **algorithms):
    algorithms = algorithms or {"W-DBO": WDBO(), "random": RandomSearch()}
    return Task(name, evaluation.Fresh(name), algorithms, SimulatedClock("papers"), horizon)


def run(some, store, seeds=SEEDS, **options):
    options = {"n_jobs": 1, "report": lambda text: None} | options
    return tasks.run(some, seeds, store=store, **options)
