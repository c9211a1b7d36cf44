"""Tasks and presets: what is run, and the runs themselves."""

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace

import numpy as np
from _stored import compare, describe, describe_optimizer

from sktvbo import __version__, evaluation
from sktvbo.evaluation._arguments import check_horizon, random_seeds

# Ending of the names, in a comparison, of algorithms as published.
AS_PUBLISHED = ", as published"


@dataclass
class Task:
    """Optimizers on one problem.

    Attributes
    ----------
    name : str
        The problem's in the comparison.
    problem : callable, int -> Problem
        Makes the problem of a replication's seed, such as `problems.Fresh`.
    optimizers : dict of str to optimizer
        This package's versions, by label.
    clock : Clock
    horizon : float, default=None
        End of the runs; None: the problem's horizon.
    n_initial : int, default=15
    as_published : dict of str to optimizer, default={}
        The algorithms as published, by label, in the setting of the experiment.
    """

    name: str
    problem: Callable
    optimizers: dict
    clock: evaluation.Clock
    horizon: float | None = None
    n_initial: int = 15
    as_published: dict = field(default_factory=dict)

    def __post_init__(self):
        """Raise what the runs would raise, ValueError or MissingDataError, at once."""
        problem = self.problem(0)
        self.horizon = check_horizon(self.horizon, problem)
        self.clock.initial_times(self.n_initial, self.horizon, np.random.RandomState(0))
        for optimizer in self.optimizers.values():
            deepcopy(optimizer).set_params(domain=problem.domain).ask(0.0)

    def with_noise(self, fraction):
        """This task, with noise of a fraction of the objective's variance; for a `Fresh` problem.

        Raises TypeError where the problem has no such option.
        """
        problem = copy(self.problem)
        problem.options = problem.options | {"noise": fraction}
        problem.options.pop("noise_variance", None)
        return replace(self, problem=problem)

    @property
    def time_unit(self):
        """Unit of the clock's time."""
        return "steps" if isinstance(self.clock, evaluation.StepClock) else "s"

    def sizes(self):
        """Yield the sizes of the data set, query by query, of an optimizer that forgets nothing."""
        clock = deepcopy(self.clock)
        _, start = clock.initial_times(self.n_initial, self.horizon, np.random.RandomState(0))
        clock.start(start)
        n = self.n_initial
        while clock.now() < self.horizon and clock.answer(n, clock.now()) < self.horizon:
            yield n
            clock.told()
            n += 1

    def seconds(self):
        """Computing time, about, of a run that forgets nothing."""
        return sum(map(evaluation.SimulatedClock("sktvbo").response_time, self.sizes()))

    def describe(self):
        """All that the runs depend on besides their seeds, ready for JSON."""
        return {
            "problem": self.name,
            "options": describe(self.problem),
            "algorithms": {a: describe_optimizer(o) for a, o in self.optimizers.items()},
            "clock": describe(self.clock),
            "horizon": self.horizon,
            "n_initial": self.n_initial,
        }


@dataclass(frozen=True)
class Preset:
    """A comparison that a paper has made.

    Attributes
    ----------
    source : str
        Where the paper shows it.
    tasks : dict of str to callable, () -> Task
        By the problem's name.
    algorithms : tuple of str
    replications : int
    notes : tuple of str, default=()
        What differs from the paper, or is not known.
    rival : str, default=None
        The paper's algorithm, where its order among the others is the question: a table of orders
        compares the others with it, seed by seed.
    counted_seeds : bool, default=False
        Whether the replications' seeds are the numbers from the bench's seed on, and not drawn
        from it.
    """

    source: str
    tasks: dict[str, Callable]
    algorithms: tuple
    replications: int
    notes: tuple = ()
    rival: str | None = None
    counted_seeds: bool = False

    def task(self, name, algorithms=None, horizon=None, as_published=False):
        """Return the task of a problem, cut to some algorithms and a horizon.

        With ``as_published`` the algorithms as published are there as well.
        """
        task = self.tasks[name]()
        labels = task.optimizers if algorithms is None else algorithms
        found = {a: task.optimizers[a] for a in labels if a in task.optimizers}
        if as_published:
            found |= {
                a + AS_PUBLISHED: task.as_published[a] for a in found if a in task.as_published
            }
        return replace(task, optimizers=found, horizon=task.horizon if horizon is None else horizon)

    def seeds(self, seed, n):
        """Seeds of n replications."""
        return list(range(seed, seed + n)) if self.counted_seeds else random_seeds(seed, n)


def run(tasks, seeds, *, n_jobs, store, progress=False, report=print):
    """Run the tasks, one after the other.

    Parameters
    ----------
    tasks : list of Task
    seeds, n_jobs, store, progress
        See `_stored.compare`.
    report : callable, str -> None
        Is told which problem's turn it is.

    Returns
    -------
    Comparison
    """
    results, failures = {}, []
    for i, task in enumerate(tasks, 1):
        n_runs = len(seeds) * len(task.optimizers)
        report(f"[{i}/{len(tasks)}] {task.name}: {n_runs} runs")
        comparison = compare(
            task.optimizers,
            {task.name: task.problem},
            clock=task.clock,
            horizon=task.horizon,
            n_initial=task.n_initial,
            n_jobs=n_jobs,
            progress=progress,
            expert="problem",
            store=store,
            seeds=seeds,
        )
        results |= comparison.results
        failures += comparison.failures
    return evaluation.Comparison(results, failures)


def settings(tasks, replications, seed):
    """All that the results depend on, ready for JSON."""
    return {
        "version": __version__,
        "replications": replications,
        "seed": seed,
        "tasks": [task.describe() for task in tasks],
    }
