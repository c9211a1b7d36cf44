"""Regret with outliers: an algorithm with ``robust=True`` beside the same with ``robust=False``.

    python benchmarks/decisions/robust.py                         # development
    python benchmarks/decisions/robust.py --set held-out --seeds 8
    python benchmarks/decisions/robust.py --variants clean jumps --seeds 20

Regret is the average over the steps of f's maximum less f at the query, over that of uniform
queries. Functions drift over the unit box in one to three dimensions: draws of a Gaussian process,
in which a run may stay at a local maximum, or bowls, whose maximum moves. A seed draws another
function for each. The ratio of both regrets is paired by seed, with its standard error over the
seeds.

=========  ========================================================================================
Variant    Readings
=========  ========================================================================================
clean      Gaussian noise
glitches   as clean; 3 % are off by 100 to 1,000 noise standard deviations, up or down
dropouts   as clean; 3 % are 0
student    noise with Student's t distribution of 3 degrees of freedom
heavy      the same with 1.5 degrees of freedom
jumps      as clean; the function is replaced by another one every 50 steps
shifts     as clean; a bowl whose maximum moves by half the range after half of the steps
none       no noise
=========  ========================================================================================
"""

import argparse

import numpy as np

from sktvbo.optimizers._names import ALGORITHMS

N_STEPS, N_FEATURES, SHARE = 150, 200, 0.03
VARIANTS = ("clean", "glitches", "dropouts", "student", "heavy", "jumps", "shifts", "none")

DEGREES = {"student": 3.0, "heavy": 1.5}

# By set: standard deviation of the noise, lengthscales in space (0: bowls) and in steps, level.
SETS = {
    "development": (0.1, 0.6, 150.0, 5.0),
    "held-out": (0.05, 0.8, 100.0, -4.0),
    "development-bowls": (0.05, 0.0, 400.0, -6.0),
    "held-out-bowls": (0.1, 0.0, 300.0, 3.0),
}


class Drift:
    """A draw of a Gaussian process of space and time, squared exponential, plus a level."""

    def __init__(self, n_dims, space, time, level, rng):
        scales = np.append(np.full(n_dims, 1.0 / space), 1.0 / time)
        self._frequencies = rng.normal(size=(N_FEATURES, n_dims + 1)) * scales
        self._phases = rng.uniform(0.0, 2.0 * np.pi, N_FEATURES)
        self._weights = rng.normal(size=N_FEATURES) * np.sqrt(2.0 / N_FEATURES)
        self._level = level

    def __call__(self, X, t):
        """Return f (m,) at places (m, d)."""
        angles = X @ self._frequencies[:, :-1].T + t * self._frequencies[:, -1] + self._phases
        return self._level + np.cos(angles) @ self._weights


class Bowl:
    """A quadratic function whose maximum moves back and forth in each coordinate, plus a level."""

    def __init__(self, n_dims, time, level, rng):
        self._phases = rng.uniform(0.0, 2.0 * np.pi, n_dims)
        self._frequencies = 2.0 * np.pi / rng.uniform(0.4 * time, time, n_dims)
        self._middle, self._level = rng.uniform(0.3, 0.7, n_dims), level

    def __call__(self, X, t):
        """Return f (m,) at places (m, d)."""
        center = self._middle + 0.25 * np.sin(self._frequencies * t + self._phases)
        return self._level - 6.0 * ((X - center) ** 2).sum(axis=1)


class Shift:
    """A quadratic function whose maximum moves once, by half the range in each coordinate."""

    def __init__(self, n_dims, time, level, rng):
        low, up = rng.uniform(0.15, 0.35, n_dims), rng.uniform(size=n_dims) < 0.5
        self._centers, self._level = (
            (np.where(up, low, low + 0.5), np.where(up, low + 0.5, low)),
            level,
        )

    def __call__(self, X, t):
        """Return f (m,) at places (m, d)."""
        center = self._centers[int(t >= N_STEPS // 2)]
        return self._level - 6.0 * ((X - center) ** 2).sum(axis=1)


def run(optimizer, variant, setting, n_dims, seed):
    """Return the relative regret of an optimizer."""
    noise, space, time, level = setting
    rng = np.random.RandomState(1000 * n_dims + seed)
    n_functions = 1 + N_STEPS // 50
    kind = Shift if variant == "shifts" else Drift if space else Bowl
    scales = (space, time) if kind is Drift else (time,)
    functions = [kind(n_dims, *scales, level, rng) for _ in range(n_functions)]
    uniform = rng.uniform(size=(2000, n_dims))
    degrees = DEGREES.get(variant)
    errors = rng.standard_t(degrees, N_STEPS) if degrees else rng.normal(size=N_STEPS)
    bad = rng.uniform(size=N_STEPS) < SHARE
    glitches = rng.choice([-1.0, 1.0], N_STEPS) * 10.0 ** rng.uniform(2.0, 3.0, N_STEPS)
    regret, of_uniform = 0.0, 0.0
    for step in range(N_STEPS):
        f = functions[step // 50 if variant == "jumps" else 0]
        x = optimizer.ask(float(step))
        values, value = f(uniform, step), f(x[np.newaxis], step)[0]
        y = value + (0.0 if variant == "none" else noise * errors[step])
        if bad[step] and variant == "glitches":
            y += noise * glitches[step]
        if bad[step] and variant == "dropouts":
            y = 0.0
        optimizer.tell(x, y, float(step))
        highest = max(values.max(), value)
        regret += highest - value
        of_uniform += highest - values.mean()
    return regret / of_uniform


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--set", choices=SETS, default="development")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=VARIANTS[:-1])
    parser.add_argument("--algorithm", choices=ALGORITHMS, default="W-DBO")
    parser.add_argument("--dims", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--seeds", type=int, default=8)
    arguments = parser.parse_args()
    print(f"{'':12}{'plain':>10}{'robust':>10}{'ratio of means':>24}")
    for variant in arguments.variants:
        found = np.empty((2, arguments.seeds))
        for robust in (False, True):
            for seed in range(arguments.seeds):
                regrets = []
                for n_dims in arguments.dims:
                    box, options = [(0.0, 1.0)] * n_dims, {"robust": robust, "random_state": seed}
                    optimizer = ALGORITHMS[arguments.algorithm](box, **options)
                    regrets.append(run(optimizer, variant, SETS[arguments.set], n_dims, seed))
                found[int(robust), seed] = np.mean(regrets)
        plain, robust = found
        ratio = robust.mean() / plain.mean()
        error = np.std(robust - ratio * plain, ddof=1) / plain.mean() / np.sqrt(len(plain))
        line = f"{variant:12}{plain.mean():10.3f}{robust.mean():10.3f}"
        print(f"{line}{ratio:16.3f} ± {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
