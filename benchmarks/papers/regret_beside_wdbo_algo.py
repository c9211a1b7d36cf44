"""Regret of W-DBO as published over that of its authors' package wdbo_algo, and the reasons.

    python benchmarks/papers/regret_beside_wdbo_algo.py FOLDER --output wdbo-algo.txt

The setting is that of ``arena.py --every 4``. The runs of wdbo_algo are those stored in
benchmarks/results/tables/arena-queries-4.csv; seeds, initial designs and noise are the same. The
table has mean regrets of wdbo_algo and of W-DBO as published, and geometric means over the seeds
of paired ratios to wdbo_algo: of W-DBO as published, of it with one part as in wdbo_algo, and with
all of them. The last lines have the geometric means over the problems, of these ratios and of
those to W-DBO as published on the same seeds. ± is one standard error. Finished runs are stored in
FOLDER: the same command resumes.
"""

import argparse
import csv
from functools import partial
from pathlib import Path

import numpy as np
from _wdbo_variants import variants
from arena import HORIZON, PAPERS_PROBLEMS, constant
from joblib import parallel_config

from sktvbo import evaluation, problems

STORED = Path(__file__).parents[1] / "results" / "tables" / "arena-queries-4.csv"
SECONDS = 4.0
PUBLISHED = "W-DBO as published"

# More runs of those whose ratios matter most.
REPLICATIONS = {PUBLISHED: 12, "mean": 6, "all": 5}


def stored_runs():
    """Return regrets of wdbo_algo by problem and seed."""
    found = {problem: {} for problem in PAPERS_PROBLEMS}
    with STORED.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["algorithm"] == "wdbo_algo":
                found[row["problem"]][int(row["seed"])] = float(row["average_regret"])
    return found


def runs(name, optimizer, arguments):
    """Return regrets of an optimizer by problem and seed."""
    comparison = evaluation.compare(
        {name: optimizer},
        [
            problems.make(name, horizon=HORIZON, noise=0.05, noise_variance=None)
            for name in PAPERS_PROBLEMS
        ],
        REPLICATIONS.get(name, 3),
        clock=evaluation.SimulatedClock(partial(constant, SECONDS)),
        n_jobs=arguments.jobs,
        store=arguments.folder,
        on_error="raise",
    )
    found = {problem: {} for problem in PAPERS_PROBLEMS}
    for row in comparison.rows():
        found[row["problem"]][row["seed"]] = row["average_regret"]
    return found


def mean_and_error(values):
    return np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))


def digits(value, n):
    return np.format_float_positional(value, precision=n, fractional=False, trim="-")


def ratio_text(log_ratio, error):
    ratio = np.exp(log_ratio)
    return f"{ratio:.2f} ± {ratio * error:.2f}"


def ratios(regrets, reference):
    """Return ratios to the reference as text: of each problem, and their geometric mean."""
    found = [
        mean_and_error([np.log(y / reference[name][seed]) for seed, y in regrets[name].items()])
        for name in PAPERS_PROBLEMS
    ]
    logs, errors = np.array(found).T
    overall = ratio_text(logs.mean(), np.sqrt(np.sum(errors**2)) / len(errors))
    return [*(ratio_text(*pair) for pair in found), overall]


def means(regrets, seeds):
    """Return mean regrets of each problem as text, and two empty cells."""
    found = [mean_and_error([regrets[name][seed] for seed in seeds]) for name in PAPERS_PROBLEMS]
    return [*(f"{digits(mean, 4)} ± {digits(error, 2)}" for mean, error in found), "", ""]


def table(reference, found):
    """Return the lines of the table."""
    seeds = found[PUBLISHED][PAPERS_PROBLEMS[0]]
    columns = [
        ["problem", "seeds", *PAPERS_PROBLEMS, "geometric mean", "over as published"],
        ["wdbo_algo", f"{len(seeds)}", *means(reference, seeds)],
        [PUBLISHED, f"{len(seeds)}", *means(found[PUBLISHED], seeds)],
    ]
    for name, regrets in found.items():
        n = len(regrets[PAPERS_PROBLEMS[0]])
        change = "" if name == PUBLISHED else ratios(regrets, found[PUBLISHED])[-1]
        columns.append([f"ratio: {name}", f"{n}", *ratios(regrets, reference), change])
    widths = [max(map(len, column)) for column in columns]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
        for line in zip(*columns)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="store of finished runs")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--output", help="file for the table")
    arguments = parser.parse_args()
    with parallel_config("loky", inner_max_num_threads=1):
        found = {name: runs(name, each, arguments) for name, each in variants(HORIZON).items()}
    text = "\n".join(table(stored_runs(), found)) + "\n"
    print(text, end="")
    if arguments.output:
        Path(arguments.output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
