"""Forecasts of the next hours and the next week, by kernel, by persistence, and by a ridge on lags.

    python benchmarks/regressors/horizons.py
    python benchmarks/regressors/horizons.py --origins 6

Hourly water flow in l/s, with holes, from river. Each forecast is made from three weeks. Mean
absolute errors are relative to that of the latest value; standard errors are over the origins, and
intervals are those of 90 %.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from river.datasets import WaterFlow
from sklearn.gaussian_process.kernels import Matern
from sklearn.linear_model import RidgeCV

from sktvbo import TimeVaryingGPRegressor
from sktvbo.kernels import season_priors, with_seasons

LEARNT, WEEK, LEVEL, N_LAGS = 21 * 24, 7 * 24, 0.9, 48
PERIODS = {"default": [], "day": [24.0], "day and week": [24.0, 168.0]}


def flow():
    """Return hours since the first one, NaN where a valve was closed or nothing was measured."""
    table = pd.read_csv(WaterFlow().path, names=["time", "flow"], header=0)
    times = pd.to_datetime(table["time"], utc=True)
    hours = ((times - times.min()) / pd.Timedelta("1h")).round().astype(int)
    series = np.full(hours.max() + 1, np.nan)
    series[hours] = table["flow"]
    return np.where(series > 90.0, series, np.nan)


def by_kernel(name, past, n):
    """Return forecasts of n hours, and the ends of their intervals."""
    options, periods = {}, PERIODS[name]
    if periods:
        options = {"temporal_kernel": with_seasons(Matern(24.0, nu=1.5), *periods)}
        options["hyperpriors"] = season_priors(*periods)
    gp = TimeVaryingGPRegressor(None, normalize_y=True, **options)
    known = np.flatnonzero(np.isfinite(past))
    gp.fit(known[:, np.newaxis].astype(float), past[known])
    ahead = len(past) + np.arange(float(n))[:, np.newaxis]
    return gp.predict(ahead), *gp.predict_interval(ahead, LEVEL)


def by_lags(past, n):
    """Forecast n hours by a ridge regression on the latest two days, hour by hour."""
    past = pd.Series(past).interpolate(limit_direction="both").to_numpy()
    rows = np.lib.stride_tricks.sliding_window_view(past, N_LAGS + 1)
    ridge = RidgeCV(np.logspace(-3, 3, 7)).fit(rows[:, :-1], rows[:, -1])
    values = list(past[-N_LAGS:])
    for _ in range(n):
        values.append(ridge.predict([values[-N_LAGS:]])[0])
    return np.array(values[N_LAGS:]), None, None


def by_lag(lag, past, n):
    """Repeat the value of ``lag`` hours before, or of the period before that if it is missing."""
    known = pd.Series(past)
    for _ in range(3):
        known = known.fillna(known.shift(lag))
    return np.resize(known.ffill().to_numpy()[-lag:], n), None, None


METHODS = {
    "latest value": lambda *given: by_lag(1, *given),
    "same hour yesterday": lambda *given: by_lag(24, *given),
    "same hour a week ago": lambda *given: by_lag(168, *given),
    **{name: lambda *given, name=name: by_kernel(name, *given) for name in PERIODS},
    "ridge on 48 lags": by_lags,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--origins", type=int, default=12)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    series = flow()
    origins = np.linspace(LEARNT, len(series) - WEEK, arguments.origins).astype(int)
    table, covered, seconds = {}, {}, dict.fromkeys(METHODS, 0.0)
    for name, method in METHODS.items():
        for origin in origins:
            past, truth = series[origin - LEARNT : origin], series[origin : origin + WEEK]
            start = time.process_time()
            mean, low, high = method(past, WEEK)
            seconds[name] += (time.process_time() - start) / len(origins)
            known = np.isfinite(truth)
            parts = {"next hours": known & (np.arange(WEEK) < 3), "next week": known}
            for part, mask in parts.items():
                table.setdefault((name, part), []).append(np.abs(mean - truth)[mask])
                if low is not None:
                    inside = (low <= truth) & (truth <= high)
                    covered.setdefault((name, part), []).append(inside[mask])
    print(
        "method                next 3 hours         next week            90 % intervals     seconds"
    )
    for name in METHODS:
        cells = []
        for part in ("next hours", "next week"):
            errors, others = table[name, part], table["latest value", part]
            means = np.array([[e.mean(), o.mean()] for e, o in zip(errors, others) if len(e)])
            ratio = means[:, 0].mean() / means[:, 1].mean()
            spread = (means[:, 0] - ratio * means[:, 1]).std(ddof=1) / means[:, 1].mean()
            cells.append(f"{ratio:.2f} ± {spread / np.sqrt(len(means)):.2f}")
        inside = [
            f"{np.concatenate(covered[name, part]).mean():.2f}" if (name, part) in covered else "-"
            for part in ("next hours", "next week")
        ]
        print(f"{name:20s}  {cells[0]:19s}  {cells[1]:19s}  {', '.join(inside):17s}", end="")
        print(f"  {seconds[name]:.2f}", flush=True)


if __name__ == "__main__":
    main()
