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


def forecast(gp, X, y, old, columns):
    """Return RMSE and coverage of a regressor that is fitted to a mask of the rows, and itself."""
    A, truth = X[:, columns], y[~old]
    gp.fit(A[old], y[old])
    lower, upper = gp.predict_interval(A[~old], LEVEL)
    error = np.sqrt(np.mean((gp.predict(A[~old]) - truth) ** 2))
    return error, np.mean((lower <= truth) & (truth <= upper)), gp


def elevation(seed):
    """Yield (model, RMSE, coverage, standardized error of the coefficient) of temperatures."""
    rng = np.random.default_rng(seed)
    places, height = rng.uniform(0.0, 300.0, (80, 2)), rng.gamma(2.0, 0.5, 80)
    station = np.append(rng.integers(40, size=160), np.arange(40, 80))
    S, t = places[station], np.append(rng.integers(30, size=160), np.full(40, 29.0))[:, np.newaxis]
    K = 4.0 * Matern(80.0, nu=1.5)(S) * Matern(5.0, nu=1.5)(t) + 1e-9 * np.eye(200)
    y = 12.0 + LAPSE * height[station] + np.linalg.cholesky(K) @ rng.normal(size=200)
    y += 0.3 * rng.normal(size=200)
    X, old = np.column_stack([S, height[station], t]), np.arange(200) < 160
    plain = TimeVaryingGPRegressor(normalize_y=True)
    yield "not told", *forecast(plain, X, y, old, [0, 1, 3])[:2], np.nan
    gp = TimeVaryingGPRegressor(Matern([80.0, 80.0, 1.0], nu=1.5), normalize_y=True)
    yield "coordinate of the kernel", *forecast(gp, X, y, old, [0, 1, 2, 3])[:2], np.nan
    F = np.column_stack([np.ones(200), X[:, 2]])
    b, (squares,), *_ = np.linalg.lstsq(F[old], y[old])
    std = np.sqrt(squares / 158.0 * np.linalg.inv(F[old].T @ F[old])[1, 1])
    found = forecast(plain, X, y - F @ b, old, [0, 1, 3])
    yield "subtracted before", *found[:2], (b[1] - LAPSE) / std
    gp = TimeVaryingGPRegressor(prior_mean=LinearMean([2]), normalize_y=True)
    found = forecast(gp, X, y, old, [0, 1, 2, 3])
    yield "LinearMean", *found[:2], (gp.coef_[0] - LAPSE) / gp.coef_std_[0]


def traffic(seed):
    """Yield the same of a sensor, the standardized coefficient in place of its error."""
    with np.load(Path(os.environ["SKTVBO_DATA"]) / "metr_la_speed_week1.npz") as content:
        speeds = content["speed_mph"]
    sensor = np.random.default_rng(0).permutation(speeds.shape[1])[seed // 2]
    y, hours = speeds[::3, sensor].astype(float), np.arange(len(speeds) // 3) / 4.0
    day, hour = np.divmod(hours, 24.0)
    busy = ((hour >= 6) & (hour < 10)) | ((hour >= 15) & (hour < 20))
    rush = busy & ~np.isin(day, (2, 3))
    last = 3 + seed % 2
    rows = day <= last
    X, y, old = np.column_stack([rush, hours])[rows], y[rows], day[rows] < last
    kernel = with_seasons(Matern(2.0, nu=1.5), 24.0)
    gp = TimeVaryingGPRegressor(None, kernel, normalize_y=True)
    yield "without", *forecast(gp, X, y, old, [1])[:2], np.nan
    gp = TimeVaryingGPRegressor(None, kernel, prior_mean=LinearMean([0]), normalize_y=True)
    found = forecast(gp, X, y, old, [0, 1])
    yield "LinearMean", *found[:2], gp.coef_[0] / gp.coef_std_[0]


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
            far = np.nan if np.isnan(z).any() else np.mean(np.abs(z) > 1.96)
            print(
                f"{model:26} {ratio.mean():6.3f} ± {errors[0]:.3f} {share.mean():6.3f} ± "
                f"{errors[1]:.3f} {far:6.2f}"
            )


if __name__ == "__main__":
    main()
