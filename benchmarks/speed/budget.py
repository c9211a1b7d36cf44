"""Times and regret of steps with a budget, on a bowl whose optimum circles in three dimensions.

    OMP_NUM_THREADS=1 python benchmarks/speed/budget.py --seconds 0.005 --runs 4

Processor time of ask and tell in ms: median, 99 % and 99.9 %. "late" is the share of calls above
the budget, n the median size of the data set. The first 100 steps do not count. Times depend on
the machine, and so does the regret: the data set and the searches are what fits.
"""

import argparse
import time
import warnings

import numpy as np

from sktvbo import BOLT, WDBO
from sktvbo.exceptions import StepBudgetWarning

N_LEARNING, NOISE = 100, 0.05


def run(algorithm, budget, seed, n_steps):
    """Return times of ask and tell (n,), regrets (n,) and sizes (n,) of a run."""
    rng = np.random.default_rng(seed)
    period = rng.uniform(400.0, 1200.0)
    opt, rows = algorithm([(0.0, 1.0)] * 3, step_budget=budget, random_state=seed), []
    for t in range(n_steps):
        angle = 2.0 * np.pi * t / period
        centre = 0.5 + 0.3 * np.array([np.cos(angle), np.sin(angle), np.sin(2.0 * angle)])
        begin = time.process_time()
        x = opt.ask(float(t))
        asked = time.process_time()
        regret = float(np.sum((x - centre) ** 2))
        y = -regret + NOISE * rng.normal()
        begun = time.process_time()
        opt.tell(x, y)
        told = time.process_time()
        rows.append((asked - begin, told - begun, regret, len(opt.X_)))
    return np.array(rows[N_LEARNING:]).T


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=0.005, help="budget of a step")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--steps", type=int, default=1500)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", StepBudgetWarning)
    for seed in range(arguments.runs):
        for algorithm in (WDBO, BOLT):
            ask, tell, regrets, sizes = run(algorithm, arguments.seconds, seed, arguments.steps)
            times = [np.percentile(1e3 * each, [50.0, 99.0, 99.9]) for each in (ask, tell)]
            shown = "   ".join(", ".join(f"{value:.1f}" for value in each) for each in times)
            late = np.mean(np.append(ask, tell) > arguments.seconds)
            print(
                f"{algorithm.__name__:5} seed {seed}   ask {shown.replace('   ', '   tell ')}   "
                f"late {100.0 * late:.2f} %   n {np.median(sizes):.0f}   "
                f"regret {np.mean(regrets):.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
