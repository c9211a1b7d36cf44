"""Forecasts and tracking of real data, with and without a season.

    python benchmarks/decisions/real_seasons.py forecast
    python benchmarks/decisions/real_seasons.py track

Forecasts of single sensors 1, 6 and 24 hours ahead (ozone: days, with a season of a week), from
rows until an origin; hyperparameters are searched at each origin. Root mean squared error, mean
negative log predictive density and coverage of intervals of 90 %, all in units of the standard
deviation of the sensor's readings. Tracking: regret of W-DBO, which asks one sensor at each time
for the largest reading, over that of random search.
"""

import argparse
import os
import warnings

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from sktvbo import WDBO, RandomSearch, TimeVaryingGPRegressor, datasets, problems
from sktvbo.kernels import season_priors, with_seasons

HORIZONS = (1, 6, 24)


def series(name, n_sensors=3):
    """Return times (n,) in hours or days, readings (n, sensors) and the period."""
    if name == "temperature":
        table, rows = datasets.load_intel_temperature().temperature, 3
    elif name == "traffic":
        table, rows = datasets.load_la_traffic().speed, 6
    else:
        table, rows = datasets.load_ny_ozone(version="2020").ozone, 1
    columns = np.linspace(0, table.shape[1] - 1, n_sensors).astype(int)
    n = len(table) // rows
    y = table[: n * rows, columns].reshape(n, rows, n_sensors).mean(axis=1)
    spacing, period = (1.0, 7.0) if name == "ozone" else (0.5, 24.0)
    return spacing * np.arange(n), (y - y.mean(axis=0)) / y.std(axis=0), period


def plain_kernel():
    return Matern(6.0, (0.5, 1e3), nu=1.5)


def ours(t, y, at, period=None):
    """Return means and standard deviations of readings by this package's regressor."""
    kernel, priors = plain_kernel(), None
    if period is not None:
        kernel, priors = with_seasons(kernel, period), season_priors(period)
    gp = TimeVaryingGPRegressor(None, kernel, hyperpriors=priors, normalize_y=True, warn=False)
    mean, std = gp.fit(t[:, np.newaxis], y).predict(at[:, np.newaxis], return_std=True)
    return mean, np.hypot(std, gp.noise_std_)


def scikit_learns(t, y, at, period):
    """Return the same by scikit-learn's regressor with the same kernel, without the priors."""
    kernel = ConstantKernel() * with_seasons(plain_kernel(), period) + WhiteKernel(0.1)
    gp = GaussianProcessRegressor(kernel, normalize_y=True).fit(t[:, np.newaxis], y)
    return gp.predict(at[:, np.newaxis], return_std=True)


def boosted(t, y, at, period):
    """Return forecasts of trees that see phase, latest reading and that of a period ago."""
    spacing, means, stds = t[1] - t[0], [], []
    back = round(period / spacing)
    for time in at:
        ahead = round((time - t[-1]) / spacing)
        first = max(back, ahead)

        def features(rows, ahead=ahead):
            phase = spacing * rows % period
            return np.column_stack([phase, y[rows - ahead], y[rows - max(back, ahead)]])

        rows = np.arange(first, len(y))
        held_out = rows[-len(rows) // 5 :]
        model = HistGradientBoostingRegressor(max_iter=100, min_samples_leaf=10)
        earlier = rows[: -len(held_out)]
        model.fit(features(earlier), y[earlier])
        stds.append(np.std(y[held_out] - model.predict(features(held_out))))
        model.fit(features(rows), y[rows])
        means.append(model.predict(features(np.array([len(y) - 1 + ahead])))[0])
    return np.array(means), np.array(stds)


def repeated(t, y, at, period):
    """Return the readings of a period ago, with the deviation of such forecasts of the past."""
    back = round(period / (t[1] - t[0]))
    ahead = np.round((at - t[-1]) / (t[1] - t[0])).astype(int)
    std = np.std(y[back:] - y[:-back])
    return y[len(y) - 1 - back + (ahead - 1) % back + 1], np.full(len(at), std)


METHODS = {
    "no season": lambda t, y, at, period: ours(t, y, at),
    "season": ours,
    "scikit-learn": scikit_learns,
    "boosted trees": boosted,
    "a period ago": repeated,
}


def forecast(n_origins):
    """Print errors, densities and coverage of all methods."""
    columns = "".join(f"{f'{h} ahead':>24}" for h in HORIZONS)
    print(f"{'RMSE / NLPD / coverage':28}{columns}")
    for name in ("temperature", "traffic", "ozone"):
        t, table, period = series(name)
        ahead = np.round(np.array(HORIZONS) / (t[1] - t[0])).astype(int)
        origins = np.linspace(len(t) // 2, len(t) - 1 - ahead[-1], n_origins).astype(int)
        for label, method in METHODS.items():
            z, errors, log_density = [], [], []
            for y in table.T:
                for origin in origins:
                    at = origin + ahead
                    mean, std = method(t[: origin + 1], y[: origin + 1], t[at], period)
                    errors.append(y[at] - mean)
                    z.append(errors[-1] / std)
                    log_density.append(norm.logpdf(y[at], mean, std))
            rmse = np.sqrt(np.mean(np.square(errors), axis=0))
            covered = np.mean(np.abs(z) < norm.ppf(0.95), axis=0)
            nlpd = -np.mean(log_density, axis=0)
            cells = "".join(
                f"{a:10.2f} /{b:5.2f} /{100 * c:4.0f} %" for a, b, c in zip(rmse, nlpd, covered)
            )
            print(f"{name:14}{label:14}{cells}", flush=True)


TRACKED = {
    "temperature-arms": ({"train": (0, 0), "test": (1, 6)}, 3, 48.0),
    "traffic": ({"hours": (0, 24), "train": (0, 0), "test": (1, 6)}, 6, 48.0),
    "ozone": ({"train": (0, 29), "test": (30, 329)}, 1, 7.0),
}


def track(n_seeds):
    """Print the regret of W-DBO with and without a season."""
    print(f"{'':20}{'random':>10}{'no season':>12}{'season':>10}{'paired ratio':>24}")
    for name, (options, rows, period) in TRACKED.items():
        found = np.empty((3, n_seeds))
        for seed in range(n_seeds):
            for i, made in enumerate([RandomSearch(), WDBO(), WDBO(seasonal_periods=period)]):
                problem = problems.make(name, noise=0.05, random_state=seed, **options)
                optimizer = made.set_params(domain=problem.domain, random_state=seed)
                regrets = []
                for step in range(int(problem.horizon) // rows):
                    x = optimizer.ask(float(step))
                    regrets.append(problem.optimum(step * rows)[1] - problem.value(x, step * rows))
                    optimizer.tell(x, problem.observe(x, step * rows), float(step))
                found[i, seed] = np.mean(regrets)
        random, plain, season = found
        ratios = season / plain
        error = np.std(ratios, ddof=1) / np.sqrt(n_seeds) if n_seeds > 1 else np.nan
        cells = f"{random.mean():10.3f}{plain.mean():12.3f}{season.mean():10.3f}"
        print(f"{name:20}{cells}{ratios.mean():15.3f} ± {error:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=["forecast", "track"])
    parser.add_argument("--origins", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=8)
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.simplefilter("ignore", ConvergenceWarning)  # of scikit-learn's regressor
    if arguments.part == "forecast":
        forecast(arguments.origins)
    else:
        track(arguments.seeds)


if __name__ == "__main__":
    main()
