"""How much the demo's first problem depends on the rate of queries and on the seeds."""

from functools import partial

import numpy as np
from _timing import constant
from joblib import parallel_config

from sktvbo import GPUCB, WDBO, evaluation, problems


def main():
    problem = problems.make("six-hump-camel-switched")
    algorithms = {"W-DBO": WDBO(), "GP-UCB": GPUCB()}
    print("Average regret on the switched Six-Hump-Camel, 12 seeds: mean ± s.e. (median)")
    for seconds in (3.0, 4.0, 5.0):
        clock = evaluation.SimulatedClock(partial(constant, seconds))
        with parallel_config("loky", inner_max_num_threads=1):
            comparison = evaluation.compare(
                algorithms, [problem], 12, clock=clock, random_state=1, n_jobs=-1
            )
        for row in comparison.summary():
            runs = comparison.results[row["algorithm"], problem.name]
            median = np.median([run.average_regret for run in runs])
            mean, error = row["average_regret"], row["standard_error"]
            name = row["algorithm"]
            print(f"{seconds:g} s a query   {name:<7} {mean:6.2f} ± {error:.2f} ({median:.2f})")


if __name__ == "__main__":
    main()
