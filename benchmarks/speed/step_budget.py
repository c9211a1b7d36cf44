"""Processor time of ask and tell with a step_budget, and what it costs in regret.

    python benchmarks/speed/step_budget.py WDBO --seconds 0.005 --steps 3000
    python benchmarks/speed/step_budget.py WDBO --steps 1000 --reference

A quadratic in three dimensions, with noise of standard deviation 0.1, whose optimum moves by 0.3
around the centre in a period of some steps. Time counts steps, so no algorithm knows how long its
own take, and the data set grows with the period. ``--reference`` repeats each run without a budget
and prints the ratio of the mean regrets; one such run of 3,000 steps takes minutes.
"""

import argparse
import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import time
import warnings

import numpy as np

import sktvbo

PERIODS = (400, 1000, 4000)


def followed(kind, steps, period, seed, **options):
    """Return processor times of ask and tell (steps, 2), regrets (steps,), and sizes (steps,)."""
    rng, phases = np.random.RandomState(seed), np.arange(3) / 3
    optimizer = getattr(sktvbo, kind)([(0, 1)] * 3, clock="step", random_state=seed, **options)
    times, regrets, sizes = np.empty((steps, 2)), np.empty(steps), np.empty(steps, dtype=int)
    for t in range(steps):
        begin = time.process_time()
        x = optimizer.ask()
        asked = time.process_time()
        best = 0.5 + 0.3 * np.sin(2 * np.pi * (t / period + phases))
        regrets[t] = 10 * np.sum((x - best) ** 2)
        y = -regrets[t] + 0.1 * rng.normal()
        told = time.process_time()
        optimizer.tell(x, y)
        times[t] = asked - begin, time.process_time() - told
        sizes[t] = len(optimizer.X_)
    return times, regrets, sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", choices=["WDBO", "BOLT", "GPUCB", "TVGPUCB"])
    parser.add_argument("--seconds", type=float, default=0.005)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--reference", action="store_true", help="also without a budget")
    args = parser.parse_args()
    for kind in (sktvbo.exceptions.ModelWarning, sktvbo.exceptions.StepBudgetWarning):
        warnings.simplefilter("ignore", kind)
    print(
        f"{args.kind}, {args.steps} steps of {1e3 * args.seconds:g} ms; median, 99 %, 99.9 %, max"
    )
    logs = []
    for period in PERIODS:
        for seed in range(args.seeds):
            run = args.kind, args.steps, period, seed
            times, regrets, sizes = followed(*run, step_budget=args.seconds)
            ask, tell = 1e3 * np.percentile(times, [50, 99, 99.9, 100], axis=0).T
            line = f"period {period:4d} seed {seed}: ask {ask.round(2)}, tell {tell.round(2)} ms, "
            line += f"n {int(np.median(sizes))}, regret {regrets.mean():.4f}"
            if args.reference:
                _, expected, unlimited = followed(*run)
                logs.append(np.log(regrets.mean() / expected.mean()))
                line += f" / {expected.mean():.4f} with n {int(np.median(unlimited))}"
            print(line, flush=True)
    if logs:
        error = np.std(logs, ddof=1) / np.sqrt(len(logs))
        print(f"regret / without a budget: {np.exp(np.mean(logs)):.3f}, log error {error:.3f}")


if __name__ == "__main__":
    main()
