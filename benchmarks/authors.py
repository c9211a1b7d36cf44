"""W-DBO's authors' own code in the setting of W-DBO's table 2 or BOLT's table 3, beside ours.

    python authors.py wdbo-table2 FOLDER --problems rosenbrock powell --replications 3

Where our regret is above the published one, this tells whether theirs is, too: the same problem,
noise and clock, on which an answer takes what a step of theirs took, whatever it takes here. FOLDER
keeps finished runs; --quick is arena.py's. wdbo_algo is one of requirements-peers.txt.
"""

import argparse

from joblib import parallel_config
from rivals import WdboAlgo

from sktvbo._bench._continuous import PRESETS
from sktvbo._bench._tasks import run


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("preset", choices=PRESETS)
    parser.add_argument("folder", help="where finished runs are kept")
    parser.add_argument("--problems", nargs="+", required=True)
    parser.add_argument("--replications", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a quick wdbo_algo")
    parser.add_argument("--noise", type=float, help="in units of f's variance; else the preset's")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--csv", help="also write a row per run there")
    arguments = parser.parse_args()
    preset = PRESETS[arguments.preset]
    tasks = [preset.tasks[name]() for name in arguments.problems]
    if arguments.noise is not None:
        tasks = [task.with_noise(arguments.noise) for task in tasks]
    for task in tasks:
        # On WLAN the papers have a Matérn 1/2 in time, as the preset has.
        theirs = WdboAlgo(temporal_nu=0.5 if task.name == "wlan" else 1.5, quick=arguments.quick)
        task.optimizers = {"W-DBO": task.optimizers["W-DBO"], "wdbo_algo": theirs}
    seeds = preset.seeds(0, arguments.replications)
    with parallel_config("loky", inner_max_num_threads=1):
        comparison = run(tasks, seeds, n_jobs=arguments.jobs, store=arguments.folder)
    print(comparison)
    for task in tasks:
        print(f"published for W-DBO on {task.name}: {preset.published['W-DBO', task.name]}")
    if arguments.csv:
        comparison.to_csv(arguments.csv)


if __name__ == "__main__":
    main()
