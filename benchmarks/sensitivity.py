"""How much the demo's first problem depends on the rate of queries, the seeds and the bound of l_S.

    python benchmarks/sensitivity.py
    python benchmarks/sensitivity.py --seconds 2 3 4 5 6 --replications 20 --longest 2

--longest compares with W-DBO that believes in lengthscales up to it, both without margin and bowl
and with the β of then, and not with GP-UCB.
"""

import argparse
from functools import partial

import numpy as np
from _timing import constant
from decisions import Variant
from joblib import parallel_config

from sktvbo import GPUCB, WDBO, evaluation, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, nargs="+", default=(3.0, 4.0, 5.0))
    parser.add_argument("--replications", type=int, default=12)
    parser.add_argument("--longest", type=float, help="an upper bound of l_S, to be compared")
    arguments = parser.parse_args()
    problem = problems.make("six-hump-camel-switched")
    algorithms = {"W-DBO": WDBO(), "GP-UCB": GPUCB()}
    if arguments.longest:
        then = {"margin": 0.0, "many": 0.0, "alternatives": ""}
        algorithms = {
            "W-DBO": Variant(**then),
            f"l_S to {arguments.longest:g}": Variant(longest=arguments.longest, **then),
        }
    n = arguments.replications
    print(
        f"Average regret on the switched Six-Hump-Camel, {n} seeds: "
        "mean ± s.e., median, how many above 3"
    )
    for seconds in arguments.seconds:
        clock = evaluation.SimulatedClock(partial(constant, seconds))
        with parallel_config("loky", inner_max_num_threads=1):
            comparison = evaluation.compare(
                algorithms, [problem], n, clock=clock, random_state=1, n_jobs=-1
            )
        for row in comparison.summary():
            name = row["algorithm"]
            regrets = [run.average_regret for run in comparison.results[name, problem.name]]
            mean, error = row["average_regret"], row["standard_error"]
            lost = np.sum(np.array(regrets) > 3.0)
            print(
                f"{seconds:g} s a query   {name:<9} {mean:6.2f} ± {error:.2f}, "
                f"{np.median(regrets):.2f}, {lost}"
            )


if __name__ == "__main__":
    main()
