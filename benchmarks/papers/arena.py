"""Optimizers of this package and of others, on equal terms.

    python benchmarks/papers/arena.py FOLDER --every 4 --replications 3
    python benchmarks/papers/arena.py FOLDER --query 0.1 --optimizers W-DBO wdbo_algo
    python benchmarks/papers/arena.py FOLDER --preset wdbo-table2 --optimizers W-DBO wdbo_algo

With --every, all optimizers query at the same times of a run of 600 seconds, so that only decisions
count. With --query, a query takes that long and each optimizer also spends its own computing time,
in processor seconds of one thread. A preset is the setting of a paper's table, in which an answer
takes as long as a step of the authors' code. The initial design and the noise are the same for
all. The noise has 5 % of the function's variance over box and time (--noise); with --printed what
BOLT's table 2 prints; with a preset what that says. --still stops the functions in the middle of
their time; --problems development, held-out and seasonal are those of decisions/. The packages of
the rivals are in requirements-peers.txt. Finished runs are stored in FOLDER: the same command
resumes.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import _tasks
from _continuous import PRESETS, PRINTED_NOISE
from _rivals import WdboAlgo, rivals
from _stored import compare
from joblib import parallel_config
from problems import make

from sktvbo import BOLT, GPUCB, WDBO, RandomSearch, evaluation
from sktvbo.papers import published

sys.path.append(str(Path(__file__).parents[1] / "decisions"))

from _problems import (
    HORIZON,
    PAPERS_PROBLEMS,
    Still,
    constant,
    development_problems,
    held_out_problems,
    held_out_seasonal_problems,
)

SETS = {
    "development": development_problems,
    "held-out": held_out_problems,
    "seasonal": held_out_seasonal_problems,
}
OPTIMIZERS = {"W-DBO": WDBO(), "BOLT": BOLT(), "GP-UCB": GPUCB(), "random": RandomSearch()}
OPTIMIZERS["W-DBO as published"] = published("W-DBO", horizon=HORIZON)
OPTIMIZERS |= rivals(HORIZON)
DEFAULT = list(OPTIMIZERS)
# A diagnosis by name only: its steps take seconds.
OPTIMIZERS["wdbo_algo without clean"] = WdboAlgo(horizon=HORIZON, cleans=False)


def chosen(arguments):
    """Return the problems that were asked for."""
    noise = PRINTED_NOISE if arguments.printed else {}
    found = []
    for name in arguments.problems or PAPERS_PROBLEMS:
        if name in SETS:
            found += SETS[name]()
        else:
            options = {"noise": arguments.noise or 0.05, "noise_variance": noise.get(name)}
            found.append(make(name, horizon=HORIZON, **options))
    return [Still(problem) for problem in found] if arguments.still else found


def in_a_papers_setting(arguments):
    """Return the comparison of optimizers in the setting of a preset."""
    preset = PRESETS[arguments.preset]
    tasks = [preset.tasks[name]() for name in arguments.problems or preset.tasks]
    if arguments.noise is not None:
        tasks = [task.with_noise(arguments.noise) for task in tasks]
    for task in tasks:
        # On WLAN the papers have a Matérn 1/2 in time.
        nu = 0.5 if task.name == "wlan" else 1.5
        known = task.optimizers | {"wdbo_algo": WdboAlgo(temporal_nu=nu)}
        task.optimizers = {name: known[name] for name in arguments.optimizers}
    seeds = preset.seeds(0, arguments.replications)
    return _tasks.run(tasks, seeds, n_jobs=arguments.jobs, store=arguments.folder)


def on_equal_terms(arguments):
    """Return the comparison of optimizers at equal queries, or at equal time."""
    if arguments.query is None:
        clock = evaluation.SimulatedClock(partial(constant, arguments.every))
    else:
        clock = evaluation.ThinkingClock(arguments.query)
    return compare(
        {name: OPTIMIZERS[name] for name in arguments.optimizers},
        chosen(arguments),
        arguments.replications,
        clock=clock,
        n_jobs=arguments.jobs,
        store=arguments.folder,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="store of finished runs")
    clock = parser.add_mutually_exclusive_group(required=True)
    clock.add_argument("--every", type=float, metavar="SECONDS", help="between two queries")
    clock.add_argument("--query", type=float, metavar="SECONDS", help="duration of a query")
    clock.add_argument("--preset", choices=PRESETS, help="setting of a paper's table")
    parser.add_argument("--noise", type=float, help="variance in units of that of the function")
    parser.add_argument("--printed", action="store_true", help="the noise that the papers print")
    parser.add_argument("--still", action="store_true", help="stop the functions")
    parser.add_argument("--replications", type=int, default=3)
    parser.add_argument("--optimizers", nargs="+", choices=OPTIMIZERS, default=DEFAULT)
    parser.add_argument("--problems", nargs="+", help="names, development or held-out")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--csv", help="file for a row per run")
    arguments = parser.parse_args()
    run = in_a_papers_setting if arguments.preset else on_equal_terms
    with parallel_config("loky", inner_max_num_threads=1):
        comparison = run(arguments)
    print(comparison)
    if arguments.csv:
        comparison.to_csv(arguments.csv)


if __name__ == "__main__":
    main()
