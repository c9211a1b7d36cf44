"""Share of fits within 1 nat of the best of 20 restarts, by kind of data, and their time.

    python benchmarks/decisions/fits.py restarts.json
    python benchmarks/decisions/fits.py restarts.json --base ../released
    python benchmarks/decisions/fits.py restarts.json --set held-out --kinds cycle glitch

The default regressor with ``normalize_y`` is fitted to data of each kind, and ten seeds. Each seed
has another number of rows, from 60 to 500 (``--large``: 1,000). Functions have 0 to 6 columns of
space. Some kinds have kernels of their own: a lengthscale per column, one far from the data's
scale, and sums in time. Held-out data have other seeds and waves of another shape.

With a base checkout its fits alternate with these: the table has its share as well, and the
processor time over its. The best of 20 restarts is stored in the file, as it takes long. Real data
is read from the folder SKTVBO_DATA.
"""

import argparse
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.kernels import with_seasons

SIZES = 60, 90, 130, 200, 300, 80, 110, 160, 240, 500
HELD_OUT, LARGE = 1000, 1_000_000  # added to seeds


class Draw:
    """Random functions and places of one data set."""

    def __init__(self, kind, seed):
        self.rng = np.random.default_rng([sum(map(ord, kind)), seed])
        self.n = 1000 if seed >= LARGE else SIZES[seed % len(SIZES)]
        self.held_out = seed % LARGE >= HELD_OUT
        self.t, self.std = np.arange(self.n) * 1.0, self.rng.choice([0.05, 0.1, 0.3])

    def places(self, low, high):
        return self.rng.uniform(size=(self.n, self.rng.integers(low, high + 1)))

    def wave(self, phase):
        """Return a sine, or on held-out data a triangle."""
        return 2.0 / np.pi * np.arcsin(np.sin(phase)) if self.held_out else np.sin(phase)

    def cycle(self, shortest=5.0, longest=80.0):
        period = np.exp(self.rng.uniform(np.log(shortest), np.log(longest)))
        return self.wave(2.0 * np.pi * self.t / period + self.rng.uniform(0.0, 6.3))

    def space(self, x):
        """Return a strong function of the first column, plus a linear one of the others."""
        strong = self.rng.uniform(1.0, 3.0) * self.wave(self.rng.uniform(3.0, 9.0) * x[:, 0])
        return strong + x[:, 1:] @ self.rng.normal(size=x.shape[1] - 1)

    def walk(self, decay=1.0):
        steps, total = self.rng.normal(size=self.n), np.zeros(self.n)
        for i in range(1, self.n):
            total[i] = decay * total[i - 1] + steps[i]
        return total / total.std()

    def process(self, x, nu=1.5):
        """Return a draw of the model at columns of any lengthscales."""
        extents = np.exp(self.rng.uniform(np.log(0.1), np.log(2.0))) * np.sqrt(x.shape[1])
        span = self.n * np.exp(self.rng.uniform(np.log(0.01), np.log(1.0)))
        K = Matern(extents, nu=2.5)(x) * Matern(span, nu=nu)(self.t[:, np.newaxis])
        return np.linalg.cholesky(K + 1e-9 * np.eye(self.n)) @ self.rng.normal(size=self.n)

    def noisy(self, x, f, **kernels):
        """Return X, y and kernels of a function with noise."""
        y = f + self.std * self.rng.normal(size=self.n)
        return np.column_stack([x, self.t]), y, kernels


def cycle(draw):
    x = draw.places(1, 2)
    return draw.noisy(x, draw.space(x) + draw.cycle())


def cycle_columns(draw):
    x = draw.places(3, 6)
    return draw.noisy(x, draw.space(x) + draw.cycle())


def trend(draw):
    x = draw.places(1, 3)
    return draw.noisy(x, draw.space(x) + draw.rng.uniform(-4.0, 4.0) * draw.t / draw.n)


def glitch(draw, n_glitches=1):
    x, n = draw.places(1, 1), draw.n
    draw.t = np.sort(draw.rng.uniform(0.0, 0.4 * n, n))
    X, y, kernels = draw.noisy(x, draw.wave(draw.t / 4.0) + draw.wave(5.0 * x[:, 0]))
    y[draw.rng.choice(n, n_glitches, replace=False)] += 8.0
    return X, y, kernels


def glitches(draw):
    return glitch(draw, 3)


def product(draw):
    x, rate = draw.places(1, 3), np.exp(draw.rng.uniform(np.log(0.02), np.log(0.7)))
    return draw.noisy(x, draw.wave(5.0 * x[:, 0] + rate * draw.t) + x[:, 1:].sum(axis=1))


def modulated(draw):
    x = draw.places(1, 4)
    return draw.noisy(x, draw.space(x) * draw.cycle())


def walk(draw):
    x = draw.places(1, 3)
    return draw.noisy(x, draw.space(x) + draw.walk())


def autoregressive(draw):
    x = draw.places(1, 2)
    return draw.noisy(x, draw.space(x) + draw.walk(draw.rng.uniform(0.5, 0.95)))


def model(draw):
    x = draw.places(1, 6)
    return draw.noisy(x, draw.process(x))


def total(draw):
    x = draw.places(1, 3)
    return draw.noisy(x, draw.process(x) + 0.5 * draw.process(x, nu=0.5) + draw.cycle())


def regime(draw):
    x = draw.places(1, 2)
    change = draw.rng.uniform(0.1, 0.6) * draw.n
    late = np.where(draw.t < change, draw.t / 50.0, draw.cycle(5.0, 20.0))
    return draw.noisy(x, draw.space(x) + late)


def sites(draw):
    places = draw.rng.uniform(size=(draw.rng.integers(2, 9), 2))
    index = np.arange(draw.n) % len(places)
    draw.t = np.arange(draw.n) // len(places) * 1.0
    x = places[index]
    return draw.noisy(x, draw.space(x) + draw.cycle() + 0.5 * draw.cycle() * x[:, 0])


def static(draw):
    x = draw.places(2, 6)
    return draw.noisy(x, draw.space(x) + draw.wave(4.0 * x[:, 0] * x[:, 1]))


def noise(draw):
    x = draw.places(1, 6)
    return draw.noisy(x, np.zeros(draw.n))


def skewed(draw):
    x = np.exp(1.5 * draw.rng.normal(size=(draw.n, draw.rng.integers(1, 4))))
    draw.t[: draw.n // 20] -= 30.0 * draw.n
    return draw.noisy(x, draw.wave(np.log(x[:, 0]) * 2.0) + draw.cycle(8.0, 60.0))


def alone(draw):
    draw.t = np.sort(draw.rng.uniform(0.0, draw.n, draw.n))
    f = draw.cycle(8.0, 90.0) + draw.t / draw.n + 0.5 * draw.walk()
    return draw.noisy(np.empty((draw.n, 0)), f)


def gaps(draw):
    x, n = draw.places(1, 3), draw.n
    draw.t = np.cumsum(draw.rng.pareto(1.2, n) + 0.1)
    return draw.noisy(x, draw.space(x) + draw.wave(draw.t / np.quantile(np.diff(draw.t), 0.9)))


def per_column(draw):
    x = draw.places(2, 4)
    f = draw.wave(draw.rng.uniform(6.0, 15.0) * x[:, -1]) + 0.3 * x[:, 0] + draw.cycle(20.0, 200.0)
    return draw.noisy(x, f, spatial_kernel=Matern(np.ones(x.shape[1]), nu=2.5))


def unscaled(draw):
    x = 1000.0 * draw.places(1, 3)
    f = draw.space(x / 1000.0) + draw.cycle()
    draw.t = draw.t * 3600.0
    kernels = {"spatial_kernel": RBF(1.0, (1e-5, 1e5)), "temporal_kernel": Matern(1.0, (1e-5, 1e7))}
    return draw.noisy(x, f, **kernels)


def seasons(draw):
    x = draw.places(1, 2)
    f = draw.space(x) + draw.wave(2.0 * np.pi * draw.t / 12.0) + draw.walk()
    return draw.noisy(x, f, temporal_kernel=with_seasons(Matern(20.0, nu=1.5), 12.0))


def rough(draw):
    x = draw.places(1, 3)
    kernel = Matern(30.0, nu=2.5) + 0.3 * Matern(3.0, nu=0.5)
    return draw.noisy(x, draw.space(x) + draw.cycle() + draw.walk(0.8), temporal_kernel=kernel)


def _real(draw, file, name, places, transform=np.asarray):
    data = np.load(Path(os.environ.get("SKTVBO_DATA", "data")) / file)
    Y, m = data[name], draw.rng.integers(1, 6)
    if not draw.held_out:
        Y = Y[: len(Y) // 2]
    else:
        Y = Y[len(Y) // 2 :]
    m = max(m, -(-draw.n // len(Y)))
    columns = draw.rng.choice(Y.shape[1], m, replace=False)
    first = draw.rng.integers(max(len(Y) - draw.n // m, 1))
    t, index = np.divmod(np.arange(draw.n), m)
    X = np.column_stack([data[places][columns][index], t])
    return X, transform(Y[first + np.minimum(t, len(Y) - 1 - first), columns[index]]), {}


def lab(draw):
    return _real(draw, "intel_lab_temperature.npz", "temperature_c", "xy_m")


def traffic(draw):
    return _real(draw, "metr_la_speed_week1.npz", "speed_mph", "xy_km")


def wind(draw):
    return _real(draw, "irish_wind.npz", "wind_knots", "xy_km")


def ozone(draw):
    return _real(draw, "ny_state_ozone_2020.npz", "ozone_ppb", "xy_km")


def prices(draw):
    data = np.load(Path(os.environ.get("SKTVBO_DATA", "data")) / "sp500_subset_close.npz")
    Y = np.log(data["close_usd"])
    column, first = draw.rng.integers(Y.shape[1]), draw.rng.integers(len(Y) - draw.n)
    return draw.t[:, np.newaxis], Y[first : first + draw.n, column], {}


KINDS = {
    kind.__name__: kind
    for kind in (
        *(cycle, cycle_columns, trend, glitch, glitches, product, modulated, walk, autoregressive),
        *(model, total, regime, sites, static, noise, skewed, alone, gaps, per_column, unscaled),
        *(seasons, rough, lab, traffic, wind, ozone, prices),
    )
}


def fitted(kind, seed, n_restarts=0):
    """Return log likelihood and processor seconds of a fit."""
    X, y, kernels = KINDS[kind](Draw(kind, seed))
    gp = TimeVaryingGPRegressor(
        **kernels, normalize_y=True, n_restarts_optimizer=n_restarts, random_state=0
    )
    start = process_time()
    gp = clone(gp).fit(X, y)
    return gp.log_marginal_likelihood_value_, process_time() - start


class Worker:
    """Fits by a checkout in a process of its own."""

    def __init__(self, checkout):
        command = [sys.executable, __file__, "--work"]
        options = {"env": os.environ | {"PYTHONPATH": str(checkout)}, "text": True}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, **pipes, **options)

    def __call__(self, *arguments):
        print(json.dumps(arguments), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def work():
    for line in sys.stdin:
        print(json.dumps(fitted(*json.loads(line))), flush=True)


def best(path, kind, seed):
    """Return the log likelihood of the best of 20 restarts, stored in a file."""
    stored = json.loads(path.read_text()) if path.exists() else {}
    key = f"{kind} {seed}"
    if key not in stored:
        stored[key], _ = fitted(kind, seed, 20)
        path.write_text(json.dumps(stored))
    return stored[key]


def report(kinds, seeds, path, base, verbose):
    """Print the table."""
    columns = "kind            within 1 nat  median loss  largest   seconds"
    print(columns + ("   base: within  largest   time over base" if base else ""))
    everything = []
    for kind in kinds:
        table = []
        for seed in seeds:
            (value, seconds), (other, before) = fitted(kind, seed), (-np.inf, np.nan)
            if base is not None:
                other, before = base(kind, seed)
            top = max(best(path, kind, seed), value, other)
            table.append((top - value, seconds, top - other, before))
            if verbose and max(top - value, top - other) > 1.0:
                print(f"   {kind} {seed}: {top - value:.2f}  base {top - other:.2f}")
        everything += table
        print(_line(kind, np.array(table), base), flush=True)
    print(_line("all", np.array(everything), base))


def _line(name, table, base):
    loss, seconds, other, before = table.T
    line = f"{name:16s} {np.mean(loss < 1.0):10.2f} {np.median(loss):12.3f} {loss.max():8.1f}"
    line += f" {seconds.sum():9.2f}"
    if base is not None:
        line += f" {np.mean(other < 1.0):12.2f} {other.max():10.1f}"
        line += f" {seconds.sum() / before.sum():13.2f} {np.median(seconds / before):6.2f}"
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("stored", nargs="?", type=Path, help="file of the best of 20 restarts")
    parser.add_argument("--base", type=Path, help="checkout to compare with")
    parser.add_argument("--set", choices=["known", "held-out"], default="known")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--large", action="store_true", help="1,000 rows")
    parser.add_argument("--verbose", action="store_true", help="print each fit that loses 1 nat")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.work:
        return work()
    offset = HELD_OUT * (arguments.set == "held-out") + LARGE * arguments.large
    seeds = [seed + offset for seed in arguments.seeds]
    base = Worker(arguments.base) if arguments.base else None
    report(arguments.kinds, seeds, arguments.stored, base, arguments.verbose)


if __name__ == "__main__":
    main()
