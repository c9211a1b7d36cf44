"""Regressors with a linear mean of known columns, beside others: errors, coverage, coefficients.

    python benchmarks/decisions/known_trends.py
    python benchmarks/decisions/known_trends.py --sets elevation --replications 20

elevation: temperatures at 40 stations, on some of 30 days, fall by 6.5 degrees a kilometre, beside
a function drawn from a Gaussian process in space and time. Errors are those at 40 stations without
reports, relative to the model that is not told the elevation.

traffic: speeds at a sensor of METR-LA every 15 minutes, from the folder SKTVBO_DATA. Thursday to
Saturday are fitted, and Sunday is forecast; then Thursday to Sunday, and Monday. The column is 1
from 6 to 10 and from 15 to 20 o'clock on working days. The kernel has a season of a day.
Errors are relative to the model without the column.

Standard errors are over replications or sensors. Coverage is that of intervals of observations.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import LinearMean
from sktvbo.kernels import with_seasons

LEVEL, LAPSE = 0.9, -6.5


def forecast(gp, X, y, new, truth):
    """Return RMSE and coverage of a regressor, and the regressor."""
    gp.fit(X, y)
    lower, upper = gp.predict_interval(new, LEVEL)
    error = np.sqrt(np.mean((gp.predict(new) - truth) ** 2))
    return error, np.mean((lower <= truth) & (truth <= upper)), gp


def elevation(seed):
    """Yield (model, RMSE, coverage, standardized error of the coefficient) of drawn temperatures."""
    rng = np.random.default_rng(seed)
    places, height = rng.uniform(0.0, 300.0, (80, 2)), rng.gamma(2.0, 0.5, 80)
    station, day = rng.integers(40, size=160), rng.integers(30, size=160)
    station, day = np.append(station, np.arange(40, 80)), np.append(day, np.full(40, 29))
    S, t = places[station], day[:, np.newaxis].astype(float)
    K = 4.0 * Matern(80.0, nu=1.5)(S) * Matern(5.0, nu=1.5)(t) + 1e-9 * np.eye(200)
    y = 12.0 + LAPSE * height[station] + np.linalg.cholesky(K) @ rng.normal(size=200)
    y += 0.3 * rng.normal(size=200)
    X = np.column_stack([S, height[station], t])
    old, new = slice(160), slice(160, None)
    plain = TimeVaryingGPRegressor(normalize_y=True)
    yield "not told", *forecast(plain, np.delete(X, 2, 1)[old], y[old], np.delete(X, 2, 1)[new], y[new])[:2], np.nan
    kernel = TimeVaryingGPRegressor(Matern([80.0, 80.0, 1.0], nu=1.5), normalize_y=True)
    yield "coordinate of the kernel", *forecast(kernel, X[old], y[old], X[new], y[new])[:2], np.nan
    F = np.column_stack([np.ones(200), X[:, 2]])
    b = np.linalg.lstsq(F[old], y[old])[0]
    rest, less = TimeVaryingGPRegressor(normalize_y=True), y - F @ b
    known = np.delete(X, 2, 1)[old], less[old], np.delete(X, 2, 1)[new], less[new]
    residuals = less[old] - less[old].mean()
    std = np.sqrt(residuals @ residuals / 158.0 * np.linalg.inv(F[old].T @ F[old])[1, 1])
    yield "subtracted before", *forecast(rest, *known)[:2], (b[1] - LAPSE) / std
    gp = TimeVaryingGPRegressor(prior_mean=LinearMean([2]), normalize_y=True)
    error, share, gp = forecast(gp, X[old], y[old], X[new], y[new])
    yield "LinearMean", error, share, (gp.coef_[0] - LAPSE) / gp.coef_std_[0]


def traffic(seed):
    """Yield the same of a sensor, the standardized coefficient in place of its error."""
    with np.load(Path(os.environ["SKTVBO_DATA"]) / "metr_la_speed_week1.npz") as content:
        speeds = content["speed_mph"]
    sensor = np.random.default_rng(0).permutation(speeds.shape[1])[seed // 2]
    y, hours = speeds[::3, sensor].astype(float), np.arange(len(speeds) // 3) / 4.0
    day, hour = np.divmod(hours, 24.0)
    busy = ((hour >= 6) & (hour < 10)) | ((hour >= 15) & (hour < 20))
    rush = busy & ~np.isin(day, (2, 3))
    X, last = np.column_stack([rush, hours]), 3 + seed % 2
    old, new = day < last, day == last
    kernel = with_seasons(Matern(2.0, nu=1.5), 24.0)
    for name, columns in (("without", [1]), ("LinearMean", [0, 1])):
        mean = LinearMean([0]) if len(columns) > 1 else None
        gp = TimeVaryingGPRegressor(None, kernel, prior_mean=mean, normalize_y=True)
        A = X[:, columns].astype(float)
        error, share, gp = forecast(gp, A[old], y[old], A[new], y[new])
        yield name, error, share, gp.coef_[0] / gp.coef_std_[0] if mean else np.nan


SETS = {"elevation": (elevation, 40), "traffic": (traffic, 40)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--replications", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in options.sets:
        run, n = SETS[name]
        results = [list(run(seed)) for seed in range(options.replications or n)]
        values = np.array([[row[1:] for row in rows] for rows in results], dtype=float)
        relative = values[:, :, 0] / values[:, :1, 0]
        print(f"\n{name}, {len(results)} replications: RMSE, coverage, |z| > 1.96")
        for i, (model, *_) in enumerate(results[0]):
            ratio, share, z = relative[:, i], values[:, i, 1], values[:, i, 2]
            errors = [np.std(x, ddof=1) / np.sqrt(len(x)) for x in (ratio, share)]
            print(
                f"{model:26} {ratio.mean():6.3f} ± {errors[0]:.3f} {share.mean():6.3f} ± "
                f"{errors[1]:.3f} {np.mean(np.abs(z) > 1.96) if np.isfinite(z).all() else np.nan:6.2f}"
            )


if __name__ == "__main__":
    main()
