"""W-DBO's authors' own code in the setting of W-DBO's table 2 or BOLT's table 3, beside ours.

    python authors.py wdbo-table2 FOLDER --problems rosenbrock powell --replications 3

Where our regret is above the published one, this tells whether theirs is, too: the same problem,
noise and clock, on which an answer takes what a step of theirs took, whatever it takes here. FOLDER
keeps finished runs. wdbo_algo is one of requirements-peers.txt.
"""

import argparse
import csv

from joblib import parallel_config
from rivals import WdboAlgo

from sktvbo import evaluation
from sktvbo._bench._continuous import PRESETS


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("preset", choices=PRESETS)
    parser.add_argument("folder", help="where finished runs are kept")
    parser.add_argument("--problems", nargs="+", required=True)
    parser.add_argument("--replications", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--csv", help="also write a row per run there")
    arguments = parser.parse_args()
    preset, rows = PRESETS[arguments.preset], []
    for name in arguments.problems:
        task = preset.tasks[name]()
        contestants = {"W-DBO": task.optimizers["W-DBO"], "wdbo_algo": WdboAlgo()}
        with parallel_config("loky", inner_max_num_threads=1):
            comparison = evaluation.compare(
                contestants,
                {name: task.problem},
                arguments.replications,
                clock=task.clock,
                n_jobs=arguments.jobs,
                store=arguments.folder,
            )
        print(comparison, f"published: {preset.published['W-DBO', name]}", sep="\n")
        rows.extend(comparison.rows())
    if arguments.csv:
        with open(arguments.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
