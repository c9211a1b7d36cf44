"""Regret with 6, 12 and 20 parameters that drift, relative to that of random search.

    python benchmarks/decisions/many.py runs.jsonl
    python benchmarks/decisions/many.py runs.jsonl --set held-out --seeds 5
    python benchmarks/decisions/many.py runs.jsonl --algorithms W-DBO TuRBO --dims 12 20

Problems over the unit box, one query per unit of time, 400 queries:

- valley: a quadratic function with condition number 100, in rotated axes.
- few active: a Gaussian peak over four of the parameters.
- optics: a row of d / 2 crystals with two angles each, as in a split-and-delay line (Mishra et al.,
  "Data driven drift correction for complex optical systems", J. Synchrotron Rad. 2026). A crystal
  deflects the beam by twice its error, with alternating signs, and transmits 1 / (1 + r²), where r
  is the angle of the beam to it. So does an aperture at the end, where r is the distance of the
  beam from its centre. The objective is the logarithm of the product.

With "limited" a linear combination of the parameters is measured as well, which has an upper limit
that moves close to the optimum. W-DBO has it as an outcome. Others are told the objective less a
penalty; queries count with this penalty. Readings have noise of 5 % of the standard deviation over
the box. The regret is the mean over the queries from the 100th on, and is divided by that of
uniform queries.

The seed of a run draws the problem, the noise and the algorithm's choices. The optimum moves
smoothly, or as a random walk; on held-out problems also along straight lines, with other seeds,
speeds and condition numbers, and another number of active parameters for every second seed.

Finished runs are stored in the file: the same command resumes. TuRBO needs torch.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from _local_search import RIVALS

from sktvbo import WDBO
from sktvbo.exceptions import LimitWarning, ModelWarning

N_QUERIES, FIRST, NOISE = 400, 100, 0.05
DIMS = 6, 12, 20


def smooth(rng, d, speed):
    """Return a sum (N_QUERIES, d) of two sines for each parameter, around 0.5."""
    t = np.arange(N_QUERIES)[:, np.newaxis]
    periods, phases = rng.uniform(400.0, 1000.0, (2, d)) / speed, rng.uniform(0.0, 6.3, (2, d))
    waves = [np.sin(2.0 * np.pi * t / p + phase) for p, phase in zip(periods, phases)]
    return 0.5 + 0.15 * sum(waves)


def walk(rng, d, speed):
    """Return a random walk (N_QUERIES, d) that turns at 0.2 and 0.8."""
    steps = 0.006 * speed * rng.standard_normal((N_QUERIES, d))
    return _folded(rng.uniform(0.3, 0.7, d) + np.cumsum(steps, axis=0))


def straight(rng, d, speed):
    """Return straight lines (N_QUERIES, d) that turn at 0.2 and 0.8."""
    slopes = 0.002 * speed * rng.uniform(-1.0, 1.0, d)
    return _folded(rng.uniform(0.3, 0.7, d) + np.arange(N_QUERIES)[:, np.newaxis] * slopes)


def _folded(path):
    return 0.8 - np.abs((path - 0.2) % 1.2 - 0.6)


class Drifting:
    """Problem with optimum ``path`` (N_QUERIES, d), and an outcome with an upper limit of 0."""

    def __init__(self, kind, d, seed, held_out):
        rng = np.random.RandomState(seed + 1000 * d + 100_000 * held_out)
        drifts = (straight, smooth, walk) if held_out else (smooth, walk)
        speed = rng.uniform(0.7, 1.4) if held_out else 1.0
        self.path = drifts[seed % len(drifts)](rng, d, speed)
        self.function = KINDS[kind](rng, d, 1.0 + (held_out and seed % 2))
        direction = rng.standard_normal(d)
        self.direction = direction / np.linalg.norm(direction) * np.sqrt(12.0)
        times = rng.randint(FIRST, N_QUERIES, 4000)
        values = self.function(rng.uniform(size=(4000, d)) - self.path[times])
        self.noise, self.scale = NOISE * values.std(), -values.mean()
        self.random = {
            limited: np.mean([self.regret(x, t, limited) for x, t in zip(rng.rand(4000, d), times)])
            for limited in (False, True)
        }

    def value(self, x, t):
        return self.function((x - self.path[t])[np.newaxis])[0]

    def excess(self, x, t):
        """Return the outcome, whose standard deviation over the box is 1."""
        return self.direction @ (x - self.path[t]) - 0.1

    def penalty(self, excess):
        return self.scale * max(excess, 0.0)

    def regret(self, x, t, limited):
        return limited * self.penalty(self.excess(x, t)) - self.value(x, t)


def valley(rng, d, scale):
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    axes = np.geomspace(1.0, (100.0 * scale) ** -0.5, d)[:, np.newaxis] * rotation
    return lambda Z: -np.sum((Z @ axes.T) ** 2, axis=1)


def few_active(rng, d, scale):
    active = rng.choice(d, 4 if scale == 1.0 else 3, replace=False)
    widths = rng.uniform(0.2, 0.3, len(active))
    return lambda Z: np.exp(-0.5 * np.sum((Z[:, active] / widths) ** 2, axis=1)) - 1.0


def optics(rng, d, scale):
    n = d // 2
    angles, places = np.zeros((n + 1, n)), np.sort(rng.uniform(0.0, 1.0, n))
    signs = np.resize([1.0, -1.0, -1.0, 1.0], n)
    for i in range(n):
        angles[i, :i], angles[i, i] = 2.0 * signs[:i], signs[i]
    angles[n] = 2.0 * signs * (1.0 - places) * 3.0
    angles *= 2.0 * np.sqrt(scale) * rng.uniform(0.7, 1.4, (n + 1, 1))

    def values(Z):
        both = np.stack([Z[:, ::2] @ angles.T, Z[:, 1::2] @ angles.T])
        return -np.log1p(both**2).sum(axis=(0, 2))

    return values


KINDS = {"valley": valley, "few active": few_active, "optics": optics}


def run(name, problem, d, seed, limited):
    """Return the relative regret of an algorithm."""
    rng, total = np.random.RandomState(seed), 0.0
    optimizer = RIVALS[name](d, seed) if name in RIVALS else OURS[name](d, seed, limited)
    for t in range(N_QUERIES):
        x = np.asarray(optimizer.ask(t))
        noise = rng.standard_normal(2)
        y = problem.value(x, t) + problem.noise * noise[0]
        excess = problem.excess(x, t) + NOISE * noise[1]
        if isinstance(optimizer, WDBO):
            known = {"outcomes": {"excess": excess}} if limited else {}
            optimizer.tell(x, y, **known)
        else:
            optimizer.tell(x, y - limited * problem.penalty(excess), t)
        if t >= FIRST:
            total += problem.regret(x, t, limited)
    return total / (N_QUERIES - FIRST) / problem.random[limited]


def wdbo(**options):
    def make(d, seed, limited):
        limits = {"outcome_constraints": {"excess": (None, 0.0)}} if limited else {}
        return WDBO([(0.0, 1.0)] * d, random_state=seed, **limits, **options)

    return make


OURS = {
    "W-DBO": wdbo(),
    "W-DBO, max_step=0.1": wdbo(max_step=0.1),
    "W-DBO, max_step=0.05": wdbo(max_step=0.05),
}
ALGORITHMS = [*OURS, *RIVALS]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", help="finished runs")
    parser.add_argument("--set", choices=("development", "held-out"), default="development")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--dims", nargs="+", type=int, default=DIMS)
    parser.add_argument("--limited", nargs="+", type=int, default=(0, 1))
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=ALGORITHMS)
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", LimitWarning)
    warnings.simplefilter("ignore", ModelWarning)
    warnings.filterwarnings("ignore", module=r"(gpytorch|botorch|linear_operator|optuna)\b")
    file = Path(arguments.file)
    lines = file.read_text().splitlines() if file.exists() else []
    done = {tuple(key): value for key, value in map(json.loads, lines)}
    print(f"{'':28}" + "".join(f"{name:>22}" for name in arguments.algorithms))
    cases = [(k, d, s) for s in arguments.limited for k in arguments.kinds for d in arguments.dims]
    for kind, d, limited in cases:
        row = f"{kind}, {d}" + ", limited" * limited
        print(f"{row:28}", end="", flush=True)
        for name in arguments.algorithms:
            found = []
            for seed in range(arguments.seeds):
                key = (arguments.set, kind, d, limited, name, seed)
                if key not in done:
                    problem = Drifting(kind, d, seed, arguments.set == "held-out")
                    done[key] = run(name, problem, d, seed, bool(limited))
                    with file.open("a") as stream:
                        print(json.dumps([key, done[key]]), file=stream)
                found.append(done[key])
            error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
            print(f"{np.mean(found):14.3f} ± {error:.3f}", end="", flush=True)
        print()


if __name__ == "__main__":
    main()
