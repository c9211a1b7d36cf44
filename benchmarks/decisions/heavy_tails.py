"""Safe replicas of a service whose latency has a heavy tail, on a linear and a logarithmic scale.

    python benchmarks/decisions/heavy_tails.py --seeds 8

The load is 6 + 3 sin(t / 12 + phase) of a replica's capacity, an integer from 1 to 20 is chosen
each hour for 100 hours, and the median latency 40 ms / (1 - load / replicas) must be at most 200 ms
with ``safety=0.95``. It is measured with a log-normal spread of 0.25 and, one hour in a hundred, 8
times as large. Columns: mean replicas over those that are needed, from hour 30 on, and the part of
all hours in which the median is above its limit, ± standard errors.
"""

import argparse
import warnings

import numpy as np

from sktvbo import WDBO
from sktvbo.exceptions import LimitWarning

HOURS, LIMIT = 100, 200.0


def median(load, replicas):
    return 40.0 / max(1.0 - load / replicas, 0.02)


def run(scale, seed):
    """Return mean replicas over those needed, and the part of hours above the limit."""
    rng, ratios, above = np.random.default_rng(seed), [], 0
    opt = WDBO(
        {"replicas": ("integer", 1, 20)},
        maximize=False,
        outcome_constraints={"ms": (None, LIMIT)},
        outcome_scales={"ms": scale},
        safety=0.95,
        start_points=[{"replicas": 18}],
        random_state=seed,
    )
    phase = rng.uniform(0.0, 2.0 * np.pi)
    for t in range(HOURS):
        load = 6.0 + 3.0 * np.sin(t / 12.0 + phase)
        replicas = opt.ask(t)["replicas"]
        needed = next(n for n in range(1, 21) if median(load, n) <= LIMIT)
        ms = median(load, replicas) * np.exp(0.25 * rng.normal())
        ms *= 8.0 if rng.uniform() < 0.01 else 1.0
        ratios.append(replicas / needed)
        above += median(load, replicas) > LIMIT
        cost = replicas + 0.05 * rng.normal()
        opt.tell({"replicas": replicas}, cost, outcomes={"ms": ms})
    return np.mean(ratios[30:]), above / HOURS


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=8)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore", LimitWarning)
    for scale in ("linear", "log"):
        found = np.array([run(scale, seed) for seed in seeds])
        mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
        print(
            f"{scale:7}replicas {mean[0]:.2f} ± {error[0]:.2f}, "
            f"above {100 * mean[1]:.1f} ± {100 * error[1]:.1f} %"
        )


if __name__ == "__main__":
    main()
