"""Processor time of a step with measured limits, relative to one without outcomes.

    python benchmarks/speed/step_with_limits.py --seeds 5

Steps 40 to 120 of W-DBO on development problems of benchmarks/decisions/outcomes.py: an ask and a
tell. The runs of a seed follow each other; means over seeds, and the least and largest ratio.
"""

import argparse
import pathlib
import sys
import time
import warnings

import numpy as np

sys.path.append(str(pathlib.Path(__file__).parents[1] / "decisions"))

from outcomes import DEVELOPMENT, NOISE

from sktvbo import WDBO
from sktvbo.exceptions import LimitWarning, ModelWarning

FIRST, LAST = 40, 120


def step_time(problem, n_outcomes, safety, seed):
    """Return the mean processor time of a step, in milliseconds."""
    rng, options = np.random.RandomState(seed), {}
    outcomes = dict(list(problem.outcomes.items())[:n_outcomes])
    if outcomes:
        limits = {name: problem.constraints[name] for name in outcomes}
        options = {"outcome_constraints": limits, "safety": safety}
    box = [(0.0, 1.0)] * problem.n_dims
    opt = WDBO(box, start_points=[problem.start], random_state=seed, **options)
    total = 0.0
    for t in range(LAST):
        start = time.process_time()
        x = opt.ask(t)
        total += (time.process_time() - start) * (t >= FIRST)
        X, noise = x[np.newaxis], NOISE * rng.standard_normal(1 + len(problem.outcomes))
        told = {name: f(X, t)[0] + e for (name, (f, _)), e in zip(outcomes.items(), noise[1:])}
        y = problem.objective(X, t)[0] + noise[0]
        start = time.process_time()
        opt.tell(x, y, outcomes=told or None)
        total += (time.process_time() - start) * (t >= FIRST)
    return 1e3 * total / (LAST - FIRST)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    names = ["draw-2d", "server-2d", "draw-4d"]
    parser.add_argument("--problems", nargs="+", choices=DEVELOPMENT, default=names)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", LimitWarning)
    warnings.simplefilter("ignore", ModelWarning)
    cases = [(0, None), (1, None), (1, 0.9), (2, None), (2, 0.9)]
    print(f"{'problem':12s}{'outcomes':>10s}{'safety':>8s}{'ms':>8s}{'ratio':>8s}")
    for name in arguments.problems:
        problem, seeds = DEVELOPMENT[name], range(arguments.seeds)
        times = np.array([[step_time(problem, *case, seed) for case in cases] for seed in seeds])
        ratios = times / times[:, :1]
        for i, (n_outcomes, safety) in enumerate(cases):
            mean = times[:, i].mean()
            shown = f"{mean:8.2f}{mean / times[:, 0].mean():8.2f}"
            spread = f"  {ratios[:, i].min():.2f} to {ratios[:, i].max():.2f}"
            print(f"{name:12s}{n_outcomes:10d}{safety or 'none':>8}{shown}{spread}", flush=True)


if __name__ == "__main__":
    main()
