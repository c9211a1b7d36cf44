"""Regret at two response times: results of ``sktvbo bench``, compared seed by seed.

    sktvbo bench --preset bolt-table3 --output slow
    sktvbo bench --preset bolt-table3 --response-time sktvbo --output fast
    python benchmarks/papers/faster_steps.py slow fast --output faster-steps.csv

One line for each problem and algorithm that both sides have: queries per run, mean size of the data
set and average regret ± standard error at either response time; and the reduction of the mean
regret, with the standard error of the differences of each seed.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from sktvbo.evaluation import Comparison

COLUMNS = ("n_queries", "dataset_size", "average_regret")


def by_seed(comparison):
    """Rows of finished runs by (problem, algorithm) and seed."""
    found = {}
    for row in comparison.rows():
        if row["failure"] is None:
            found.setdefault((row["problem"], row["algorithm"]), {})[row["seed"]] = row
    return found


def error(values):
    return np.std(values, ddof=1) / np.sqrt(len(values))


def digits(value, n):
    return np.format_float_positional(value, precision=n, fractional=False, trim="-")


def compare(slow, fast):
    slow, fast = by_seed(slow), by_seed(fast)
    for key in slow:
        seeds = sorted(slow[key].keys() & fast.get(key, {}).keys())
        if len(seeds) < 2:
            continue
        old, new = (
            {name: np.array([runs[key][seed][name] for seed in seeds]) for name in COLUMNS}
            for runs in (slow, fast)
        )
        before = old["average_regret"]
        fall = (before - new["average_regret"]) / np.mean(before)
        line = {"problem": key[0], "algorithm": key[1], "replications": len(seeds)}
        for name, runs in (("slow", old), ("fast", new)):
            line[f"queries, {name}"] = f"{np.mean(runs['n_queries']):.0f}"
            line[f"size, {name}"] = f"{np.mean(runs['dataset_size']):.0f}"
            regret = runs["average_regret"]
            line[f"regret, {name}"] = f"{digits(np.mean(regret), 4)} ± {digits(error(regret), 2)}"
        line["regret falls by"] = f"{100 * np.mean(fall):.0f} ± {100 * error(fall):.0f} %"
        yield line


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("slow", type=Path, help="folder that sktvbo bench has written")
    parser.add_argument("fast", type=Path, nargs="+", help="others, with a faster response time")
    parser.add_argument("--output", type=Path, default=Path("faster-steps.csv"))
    arguments = parser.parse_args()
    slow = Comparison.from_json(arguments.slow / "runs.json")
    lines = [
        line
        for folder in arguments.fast
        for line in compare(slow, Comparison.from_json(folder / "runs.json"))
    ]
    if not lines:
        parser.error("the sides have no problem and algorithm with two replications in common")
    with arguments.output.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    for line in lines:
        print(", ".join(f"{name}: {value}" for name, value in line.items()))


if __name__ == "__main__":
    main()
