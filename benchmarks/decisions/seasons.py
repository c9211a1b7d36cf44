"""Regret with ``seasonal_periods``: an algorithm that knows a period beside the same without it.

    python benchmarks/decisions/seasons.py FOLDER --replications 2
    python benchmarks/decisions/seasons.py FOLDER --set held-out --replications 8
    python benchmarks/decisions/seasons.py FOLDER --set held-out --wrong --replications 20

300 queries at equal intervals, six periods of 50 queries (held out: 36 to 70). The columns have the
average regret over that of uniform queries, without a period and with it; the ratio of the medians;
the mean ratio with its standard error, paired run by run; and the ratio of the medians from the
third period on. With --wrong the period is 0.73 times the right one, and in "none" there is no
season. Finished runs are stored in FOLDER: the same command resumes.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np
from _problems import HORIZON, constant, held_out_seasonal_problems, seasonal_problems
from joblib import parallel_config

from sktvbo import RandomSearch, evaluation
from sktvbo.optimizers._names import ALGORITHMS

sys.path.append(str(Path(__file__).parents[1] / "papers"))

from _stored import compare

SETS = {
    "development": seasonal_problems,
    "held-out": held_out_seasonal_problems,
    "none": partial(seasonal_problems, 200, kinds=[("none", 1), ("none", 2), ("none", 3)]),
}


def regrets(label, problem, arguments, **options):
    """Return average regrets (2, n) of n runs: of all queries, and from the third period on."""
    made = RandomSearch() if label == "random" else ALGORITHMS[label](**options)
    with parallel_config("loky", inner_max_num_threads=1):
        comparison = compare(
            {f"{label} {options}": made},
            [problem],
            arguments.replications,
            clock=evaluation.SimulatedClock(partial(constant, 2.0)),
            horizon=HORIZON,
            n_initial=0,
            n_jobs=arguments.jobs,
            store=Path(arguments.folder, arguments.set),
        )
    (runs,) = comparison.results.values()
    late = [run.regrets[run.times > 2.0 * problem.period].mean() for run in runs]
    return np.array([[run.average_regret for run in runs], late])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="store of finished runs")
    parser.add_argument("--set", choices=SETS, default="development")
    parser.add_argument("--algorithm", choices=ALGORITHMS, default="W-DBO")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--problems", nargs="+", help="parts of their names")
    parser.add_argument("--replications", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    print(f"{'':18}{'without':>9}{'with':>9}{'ratio':>9}{'paired':>17}{'later':>9}")
    for problem in SETS[arguments.set]():
        if not any(part in problem.name for part in arguments.problems or [""]):
            continue
        period = problem.period * (0.73 if arguments.wrong else 1.0)
        uniform = regrets("random", problem, arguments)[0].mean()
        without = regrets(arguments.algorithm, problem, arguments)
        right = regrets(arguments.algorithm, problem, arguments, seasonal_periods=period)
        ratios = right[0] / without[0]
        middle, late = np.median(right, axis=1) / np.median(without, axis=1)
        error = np.std(ratios, ddof=1) / np.sqrt(len(ratios)) if len(ratios) > 1 else np.nan
        cells = f"{without[0].mean() / uniform:9.3f}{right[0].mean() / uniform:9.3f}{middle:9.3f}"
        cells += f"{ratios.mean():9.3f} ± {error:.3f}{late:9.3f}"
        print(f"{problem.name:18}{cells}", flush=True)


if __name__ == "__main__":
    main()
