"""Regressors beside those of other packages: error, intervals, time and memory on real data.

    python benchmarks/regressors/compare.py FOLDER             # all that is installed, one by one
    python benchmarks/regressors/compare.py FOLDER --tasks wind --methods sktvbo ridge

Each method runs in a process of its own with one thread, and its result is a file in FOLDER; a
second call makes what is missing. ``benchmarks/results/regressors.rst`` has the conditions. The
data are those of ``benchmarks/papers/datasets``, in the folder SKTVBO_DATA, and river's.
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

LEVEL = 0.9
Z = 1.6449  # of a normal distribution, for LEVEL
DATA = Path(os.environ.get("SKTVBO_DATA", "."))
FOLDS = 12


# --- tasks: yield (X to learn from, y, X asked for, y there); the last column is time ------------


def sensors():
    """Laboratory temperatures at ten sensors left out, from three hours of the others."""
    data = np.load(DATA / "intel_lab_temperature.npz")
    values, xy, rng = data["temperature_c"], data["xy_m"], np.random.default_rng(0)
    for now in np.linspace(200, len(values) - 1, FOLDS).astype(int):
        hidden = rng.permutation(len(xy)) < 10
        bins = np.arange(now - 18, now + 1, 3)
        yield (*_rows(values, xy, bins, ~hidden), *_rows(values, xy, [now], hidden))


def wind():
    """Wind at twelve Irish stations, knots, a day ahead from three weeks."""
    data = np.load(DATA / "irish_wind.npz")
    values, xy = data["wind_knots"], data["xy_km"]
    every = np.ones(len(xy), dtype=bool)
    for now in np.linspace(400, len(values) - 2, FOLDS).astype(int):
        past = _rows(values, xy, np.arange(now - 20, now + 1), every)
        yield (*past, *_rows(values, xy, [now + 1], every))


def flow():
    """Hourly water flow in l/s, a day ahead from two weeks."""
    import pandas as pd
    from river.datasets import WaterFlow

    table = pd.read_csv(WaterFlow().path, names=["time", "flow"], header=0)
    times = pd.to_datetime(table["time"], utc=True)
    t = ((times - times.min()) / pd.Timedelta("1h")).round().to_numpy()
    y = table["flow"].to_numpy()
    t, y = t[y > 90.0], y[y > 90.0]  # without hours in which a valve was closed
    for now in np.arange(16.0, 16.0 + 3 * FOLDS, 3.0) * 24.0:
        past, ahead = (t >= now - 336.0) & (t < now), (t >= now) & (t < now + 24.0)
        if ahead.sum() > 12:
            yield t[past, np.newaxis], y[past], t[ahead, np.newaxis], y[ahead]


def stream():
    """A linear function of five inputs that rotates, the next 20 rows from the latest 300."""
    rng = np.random.default_rng(0)
    t, X = np.arange(900.0), rng.normal(size=(900, 5))
    angle = 2.0 * np.pi * t / 600.0
    f = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1] + 0.5 * X[:, 2]
    X, y = np.column_stack([X, t]), f + 0.2 * rng.normal(size=900)
    for now in np.linspace(320, 880, FOLDS).astype(int):
        yield X[now - 300 : now], y[now - 300 : now], X[now : now + 20], y[now : now + 20]


def _rows(values, xy, times, mask):
    times = np.asarray(times)
    X = np.column_stack([np.tile(xy[mask], (len(times), 1)), np.repeat(times, mask.sum())])
    return X.astype(float), values[times][:, mask].ravel().astype(float)


TASKS = {"sensors": sensors, "wind": wind, "flow": flow, "stream": stream}
PERIOD = {"flow": 24.0}  # known seasons


# --- methods: return mean, lower and upper end of the interval ------------------------------------


def sktvbo_(task, X, y, X_new):
    from sklearn.gaussian_process.kernels import Matern

    from sktvbo import TimeVaryingGPRegressor
    from sktvbo.kernels import season_priors, with_seasons

    options = {"normalize_y": True, "random_state": 0}
    if X.shape[1] == 1:
        options |= {"spatial_kernel": None}
    if task in PERIOD:
        kernel = with_seasons(Matern(24.0, nu=1.5), PERIOD[task])
        options |= {"temporal_kernel": kernel, "hyperpriors": season_priors(PERIOD[task])}
    model = TimeVaryingGPRegressor(**options).fit(X, y)
    return model.predict(X_new), *model.predict_interval(X_new, level=LEVEL)


def scikit_learn(task, X, y, X_new):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, ExpSineSquared, Matern, WhiteKernel

    shift, scale = X.mean(axis=0), X.std(axis=0)
    kernel = ConstantKernel() * Matern(np.ones(X.shape[1]), nu=1.5) + WhiteKernel(0.1)
    if task in PERIOD:
        period = PERIOD[task] / scale[-1]
        kernel += ConstantKernel(0.1) * ExpSineSquared(1.0, period, periodicity_bounds="fixed")
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    mean, std = model.fit((X - shift) / scale, y).predict((X_new - shift) / scale, return_std=True)
    return _normal(mean, std)


def gpytorch_(task, X, y, X_new):
    import gpytorch
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    shift, scale, mu, sd = X.mean(axis=0), X.std(axis=0), y.mean(), y.std()
    inputs, outputs = torch.tensor((X - shift) / scale), torch.tensor((y - mu) / sd)

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(inputs, outputs, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            kernel = gpytorch.kernels.MaternKernel(1.5, ard_num_dims=X.shape[1])
            self.covar_module = gpytorch.kernels.ScaleKernel(kernel)
            if task in PERIOD:
                season = gpytorch.kernels.PeriodicKernel()
                season.period_length = PERIOD[task] / scale[-1]
                season.raw_period_length.requires_grad_(False)
                self.covar_module += gpytorch.kernels.ScaleKernel(season)

        def forward(self, x):
            mean, covar = self.mean_module(x), self.covar_module(x)
            return gpytorch.distributions.MultivariateNormal(mean, covar)

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(likelihood)
    model.train(), likelihood.train()
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.1)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(100):
        adam.zero_grad()
        loss = -objective(model(inputs), outputs)
        loss.backward()
        adam.step()
    model.eval(), likelihood.eval()
    with torch.no_grad():
        found = likelihood(model(torch.tensor((X_new - shift) / scale)))
        return _normal(mu + sd * found.mean.numpy(), sd * found.stddev.numpy())


def ridge(task, X, y, X_new):
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    degree = 1 if task == "stream" else 2
    penalties = RidgeCV(np.logspace(-3, 3, 7))
    model = make_pipeline(PolynomialFeatures(degree), StandardScaler(), penalties)
    # On a stream the latest third: chosen by hand, in favour of the method.
    latest = slice(-100, None) if task == "stream" else slice(None)
    A, b = _features(task, X)[latest], y[latest]
    model.fit(A, b)
    return _normal(model.predict(_features(task, X_new)), np.std(b - model.predict(A)))


def boosting(task, X, y, X_new):
    from sklearn.ensemble import HistGradientBoostingRegressor as Boosting

    A, B = _features(task, X), _features(task, X_new)
    low, middle, high = (
        Boosting(loss="quantile", quantile=q, max_iter=100, random_state=0).fit(A, y).predict(B)
        for q in ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2)
    )
    return middle, np.minimum(low, high), np.maximum(low, high)


def last_value(task, X, y, X_new):
    """The latest value of the same place (its day before, of a season), or the mean of all."""
    lag = PERIOD.get(task, 0.0)
    mean = np.full(len(X_new), y.mean())
    for i, x in enumerate(X_new):
        same = np.all(X[:, :-1] == x[:-1], axis=1) & (X[:, -1] <= x[-1] - lag)
        if same.any():
            mean[i] = y[same][X[same, -1].argmax()]
    return _normal(mean, y.std() if task in ("sensors", "stream") else np.std(np.diff(y)))


def statsmodels_(task, X, y, X_new):
    from statsmodels.tsa.statespace.structural import UnobservedComponents

    if task != "flow":
        return None  # one series
    hours = np.arange(X[0, 0], X_new[-1, 0] + 1.0)
    series = np.full(len(hours), np.nan)
    series[(X[:, 0] - hours[0]).astype(int)] = y
    n = int(X_new[0, 0] - hours[0])
    season = [{"period": 24, "harmonics": 3}]
    model = UnobservedComponents(series[:n], "local level", freq_seasonal=season, autoregressive=1)
    found = model.fit(disp=False).get_forecast(len(hours) - n)
    asked = (X_new[:, 0] - hours[n]).astype(int)
    low, high = found.conf_int(alpha=1 - LEVEL)[asked].T
    return found.predicted_mean[asked], low, high


def prophet_(task, X, y, X_new):
    import logging

    import pandas as pd
    from prophet import Prophet

    if task != "flow":
        return None
    logging.getLogger("cmdstanpy").setLevel(logging.WARNING)
    start = pd.Timestamp("2022-03-20")
    frames = [pd.DataFrame({"ds": start + pd.to_timedelta(A[:, 0], "h")}) for A in (X, X_new)]
    model = Prophet(interval_width=LEVEL, weekly_seasonality=False, yearly_seasonality=False)
    found = model.fit(frames[0].assign(y=y)).predict(frames[1])
    return tuple(found[name].to_numpy() for name in ("yhat", "yhat_lower", "yhat_upper"))


def river_(task, X, y, X_new):
    from river import linear_model, optim, preprocessing

    if task != "stream":
        return None
    scaler = preprocessing.StandardScaler()
    model = scaler | linear_model.LinearRegression(optim.SGD(0.05))
    errors = []
    for x, value in zip(X[:, :-1], y):
        row = dict(enumerate(x))
        errors.append(value - model.predict_one(row))
        model.learn_one(row, value)
    mean = np.array([model.predict_one(dict(enumerate(x))) for x in X_new[:, :-1]])
    return _normal(mean, np.std(errors[-100:]))


def _features(task, X):
    if task not in PERIOD:
        return X
    angle = 2.0 * np.pi * X[:, -1:] / PERIOD[task]
    return np.hstack([X, np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)])


def _normal(mean, std):
    return mean, mean - Z * std, mean + Z * std


METHODS = {
    "sktvbo": sktvbo_,
    "scikit-learn": scikit_learn,
    "gpytorch": gpytorch_,
    "ridge": ridge,
    "boosting": boosting,
    "last value": last_value,
    "statsmodels": statsmodels_,
    "prophet": prophet_,
    "river": river_,
}
PACKAGES = {"sktvbo", "gpytorch", "statsmodels", "prophet", "river"}


# --- one method on one task, and the table --------------------------------------------------------


def measured(task, method):
    """Scores of each fold, processor time and peak memory of this process; None if not for it."""
    scores, spent = [], 0.0
    for X, y, X_new, truth in TASKS[task]():
        start = time.process_time()
        found = METHODS[method](task, X, y, X_new)
        if found is None:
            return None
        spent += time.process_time() - start
        mean, low, high = found
        outside = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
        scores.append(
            {
                "RMSE": np.sqrt(np.mean((mean - truth) ** 2)),
                "coverage": np.mean(outside == 0.0),
                "interval score": np.mean(high - low + 2.0 / (1.0 - LEVEL) * outside),
            }
        )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return {"scores": scores, "seconds": spent / len(scores), "MB": memory}


def line(name, result):
    """A row of a table: mean ± standard error over the folds."""
    cells = [f"{name:13s}"]
    for score, digits in (("RMSE", 3), ("coverage", 2), ("interval score", 2)):
        values = np.array([fold[score] for fold in result["scores"]], dtype=float)
        error = values.std(ddof=1) / np.sqrt(len(values))
        cells.append(f"{values.mean():.{digits}f} ± {error:.{digits}f}")
    cells += [f"{result['seconds']:.2f}", f"{result['MB']:.0f}"]
    return "  ".join(cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--here", action="store_true", help="one task and method, in this process")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.here:
        (task,), (method,) = given.tasks, given.methods
        path = given.folder / f"{task}-{method.replace(' ', '-')}.json"
        path.write_text(json.dumps(measured(task, method)), encoding="utf-8")
        return
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    for task in given.tasks:
        print(f"\n{task}: {TASKS[task].__doc__}")
        print("method         RMSE  coverage  interval score  seconds a fit  peak MB")
        for method in given.methods:
            if method in PACKAGES and importlib.util.find_spec(method) is None:
                print(f"{method:13s}  is not installed")
                continue
            path = given.folder / f"{task}-{method.replace(' ', '-')}.json"
            if not path.is_file():
                one = ["--here", "--tasks", task, "--methods", method]
                # Advice on models has no room in a table.
                command = [sys.executable, "-W", "ignore", __file__, given.folder, *one]
                subprocess.run(command, check=True, env=os.environ | threads)
            result = json.loads(path.read_text(encoding="utf-8"))
            if result is not None:
                print(line(method, result), flush=True)


if __name__ == "__main__":
    main()
