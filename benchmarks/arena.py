"""The arena: everybody on the papers' moving problems, at equal queries or at equal time.

    python arena.py FOLDER --every 4 --replications 3
    python arena.py FOLDER --query 0.1 --optimizers W-DBO wdbo_algo --problems hartmann-3 powell

Equal queries (--every): each gets one query every so many seconds of 600, at the same times, so
that only what it decides counts. Equal time (--query): a query takes so long, and thinking as long
as each one takes, in processor seconds of one thread. The initial design and the noise are the same
for all. The noise has 5 % of the function's variance over box and time, or with --printed what
BOLT's table 2 prints. --still stops the functions in the middle; --development, --single
(one dimension) and --held-out are other problems, those of decisions.py and some on which nothing
was tuned. --quick replaces the slow parts of wdbo_algo by others that compute the same to rounding,
in a tenth of the time (quick.py compares them). FOLDER keeps finished runs: the same command goes
on where it was stopped. The rivals' packages are those of requirements-peers.txt.
"""

import argparse
from functools import partial

from _development import development_problems, later_problems, single_problems
from _held_out import held_out_problems
from _still import Still
from _timing import constant
from decisions import Variant
from joblib import parallel_config
from rivals import rivals

from sktvbo import BOLT, GPUCB, WDBO, RandomSearch, evaluation, problems
from sktvbo._bench._continuous import PRINTED_NOISE

HORIZON = 600.0

PROBLEMS = (
    "hartmann-3",
    "hartmann-6",
    "schwefel",
    "styblinski-tang",
    "rastrigin",
    "powell",
    "shekel",
    "eggholder",
    "rosenbrock",
    "ackley",
    "temperature-field",
)


def chosen(arguments):
    """The problems that were asked for."""
    if arguments.development:
        moving = [*development_problems(), *later_problems()]
    elif arguments.single:
        moving = single_problems()
    elif arguments.held_out:
        moving = held_out_problems()
    else:
        noise = PRINTED_NOISE if arguments.printed else {}
        moving = [
            problems.make(name, horizon=HORIZON, noise=0.05, noise_variance=noise.get(name))
            for name in arguments.problems
        ]
    return [Still(problem) for problem in moving] if arguments.still else moving


def everybody(quick=False):
    """Optimizers by name; ``quick``: what wdbo_algo computes is computed quickly."""
    ours = {"W-DBO": WDBO(), "BOLT": BOLT(), "GP-UCB": GPUCB(), "random": RandomSearch()}
    ours |= {
        "W-DBO, no bowl": Variant(alternatives=""),
        "W-DBO, bowl": Variant(bowl=(0.25, 0.25, 0.25), alternatives=""),
        "W-DBO, alternatives": Variant(alternatives="bowl terms both"),
    }
    return ours | rivals(HORIZON, quick)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="where finished runs are kept")
    clock = parser.add_mutually_exclusive_group(required=True)
    clock.add_argument("--every", type=float, metavar="SECONDS", help="between two queries")
    clock.add_argument("--query", type=float, metavar="SECONDS", help="that a query takes")
    parser.add_argument("--printed", action="store_true", help="the noise that the papers print")
    parser.add_argument("--still", action="store_true", help="stop the functions")
    parser.add_argument("--quick", action="store_true", help="a quick wdbo_algo")
    parser.add_argument("--replications", type=int, default=3)
    parser.add_argument("--optimizers", nargs="+", choices=everybody(), default=list(everybody()))
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    which.add_argument("--development", action="store_true", help="those of decisions.py instead")
    which.add_argument("--single", action="store_true", help="those in one dimension instead")
    which.add_argument("--held-out", action="store_true", help="others, on which nothing was tuned")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--csv", help="also write a row per run there")
    arguments = parser.parse_args()
    if arguments.quick and arguments.query is not None:
        parser.error("--quick with --query: the time of wdbo_algo would not be its own.")
    if arguments.printed and (arguments.development or arguments.single or arguments.held_out):
        parser.error("--printed is for the papers' problems; others have their own noise.")
    optimizers = everybody(arguments.quick)
    if arguments.query is None:
        clock = evaluation.SimulatedClock(partial(constant, arguments.every))
    else:
        clock = evaluation.ThinkingClock(arguments.query)
    with parallel_config("loky", inner_max_num_threads=1):
        comparison = evaluation.compare(
            {name: optimizers[name] for name in arguments.optimizers},
            chosen(arguments),
            arguments.replications,
            clock=clock,
            n_jobs=arguments.jobs,
            store=arguments.folder,
        )
    print(comparison)
    if arguments.csv:
        comparison.to_csv(arguments.csv)


if __name__ == "__main__":
    main()
