"""Xopt's loop with its time-dependent generator, and with that of this package, on a drifting beam.

    python benchmarks/decisions/xopt_drift.py --seeds 4 --held-out
    python benchmarks/decisions/xopt_drift.py --seeds 4 --held-out --free

It needs Xopt, which brings torch: an environment with ``pip install "xopt==3.2.2" "sktvbo[gest]"``.

Two magnets, each in [0, 1]. The excess of the beam size is 1 - exp(-|x - c(t)|² / 0.08), measured
with noise of 0.02. The centre c moves once around a circle of radius 0.3 in 100 s (held out: along
a figure of eight in 140 s). A measurement takes 0.5 s. The clock is simulated: it advances by the
measurements and, unless ``--free``, by the processor time of the loop, with one thread. Xopt's
generator waits until its time of prediction, ``added_time`` after it was asked. Each loop begins
with five random points and lasts 60 s.

Columns: the average excess over these 60 s at the setting in use, without noise, ± the standard
error over the seeds; evaluations; the median processor time of a step, in seconds.
"""

import argparse
import time
import types

import numpy as np
import torch
from gest_api.vocs import VOCS
from xopt import Evaluator, Xopt
from xopt.generators.bayesian import time_dependent
from xopt.generators.bayesian.upper_confidence_bound import TDUpperConfidenceBoundGenerator

from sktvbo import WDBO
from sktvbo.integrations.gest import TimeVaryingGenerator

HORIZON, MEASUREMENT, NOISE, N_RANDOM = 60.0, 0.5, 0.02, 5
VOCS_OF_BEAM = VOCS(variables={"x": [0.0, 1.0], "y": [0.0, 1.0]}, objectives={"size": "MINIMIZE"})


class Beam:
    """The beam, and the simulated clock, which starts at 1.7e9 s."""

    start = 1.7e9

    def __init__(self, seed, held_out):
        self.now, self.rng = self.start, np.random.default_rng(seed)
        self.held_out, self.phase = held_out, self.rng.uniform(0.0, 2.0 * np.pi)
        self.settings = []  # (time, x) from which on a setting is in use

    def excess(self, x, t):
        """Return the excess of settings (n, 2) at times (n,)."""
        angle = self.phase + 2.0 * np.pi * (t - self.start) / (140.0 if self.held_out else 100.0)
        double = 2.0 * angle if self.held_out else angle
        centre = 0.5 + 0.3 * np.column_stack([np.cos(angle), np.sin(double)])
        return 1.0 - np.exp(-np.sum((x - centre) ** 2, axis=1) / 0.08)

    def measure(self, inputs):
        x = np.array([inputs["x"], inputs["y"]], dtype=float)
        self.settings.append((self.now, x))
        self.now += MEASUREMENT
        size = self.excess(x[np.newaxis], np.array([self.now]))[0]
        return {"size": size + self.rng.normal(0.0, NOISE), "time": self.now}

    def average(self):
        """Return the average excess at the settings in use."""
        times = self.start + np.arange(0.05, HORIZON, 0.1)
        used = np.searchsorted([t for t, _ in self.settings], times, side="right") - 1
        return self.excess(np.array([x for _, x in self.settings])[used], times).mean()

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def ours(beam, seed):
    optimizer = WDBO(clock=beam.time, n_initial_points=N_RANDOM, random_state=seed)
    return TimeVaryingGenerator(VOCS_OF_BEAM, optimizer, time="time")


def theirs(**options):
    return lambda beam, seed: TDUpperConfidenceBoundGenerator(vocs=VOCS_OF_BEAM, **options)


GENERATORS = {
    "sktvbo, W-DBO": ours,
    "Xopt, as it is": theirs(),
    "Xopt, added_time=1": theirs(added_time=1.0),
    "Xopt, added_time=1, forgetting_time=20": theirs(added_time=1.0, forgetting_time=20.0),
}


def run(name, seed, held_out, free):
    """Return the average excess, the number of evaluations, and the median time of a step."""
    beam, costs = Beam(seed, held_out), []
    torch.manual_seed(seed)
    # Xopt reads the time from this module.
    time_dependent.time = types.SimpleNamespace(time=beam.time, sleep=beam.sleep)
    X = Xopt(generator=GENERATORS[name](beam, seed), evaluator=Evaluator(function=beam.measure))
    if not name.startswith("sktvbo"):
        X.random_evaluate(N_RANDOM, seed=seed)
    while beam.now < beam.start + HORIZON:
        asked, began = beam.now, time.process_time()
        points = X.generator.suggest(1)
        suggested = time.process_time()
        if not free:  # a generator that waits has computed meanwhile
            beam.now = max(beam.now, asked + suggested - began)
        X.evaluate_data(points)
        ingested = time.process_time()
        if not free:
            beam.now += ingested - suggested
        costs.append(ingested - began)
    return beam.average(), len(X.data), np.median(costs[len(costs) // 2 :])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--free", action="store_true", help="processor time is not counted")
    parser.add_argument("--generators", nargs="+", choices=GENERATORS, default=list(GENERATORS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'generator':42s}{'excess':>16s}{'evaluations':>14s}{'seconds':>10s}")
    for name in options.generators:
        seeds = range(100 * options.held_out, 100 * options.held_out + options.seeds)
        runs = [run(name, seed, options.held_out, options.free) for seed in seeds]
        excess, n, seconds = np.array(runs).T
        error = excess.std(ddof=1) / np.sqrt(len(excess)) if len(excess) > 1 else np.nan
        mean = f"{excess.mean():.3f} ± {error:.3f}"
        print(f"{name:42s}{mean:>16s}{n.mean():14.0f}{np.median(seconds):10.3f}", flush=True)


if __name__ == "__main__":
    main()
