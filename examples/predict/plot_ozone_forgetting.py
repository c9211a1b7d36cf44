"""
==================================================
Sites that report now and then: how fast to forget
==================================================

A pipeline that scales the coordinates in space and leaves time alone, a grid search over the
forgetting rate that never looks into the future, and a score on later days, against the same
pipeline without time. The data are generated; with a file of the US EPA they are the ozone of 2020.
"""

# %%
# The data
# --------
# 25 sites, one value a day. Not all of it is known: every evening a random half of the sites have
# reported. The task is to predict the values of the *silent sites today* and of *all sites
# tomorrow*, from the reports of the past three weeks, today's included.
#
# The generated field loses 40 % of its variance to a new one every day. Where the folder
# ``SKTVBO_DATA`` has the ozone of New York State in 2020, from the US EPA's AirData, the same
# program runs on it.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.gaussian_process.kernels import ConstantKernel, Matern
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from sktvbo import TimeVaryingGPRegressor
from sktvbo.kernels import Forgetting


def generated_field():
    """A spatial field of which 40 % is new every day, with noise."""
    rng = np.random.RandomState(0)
    xy = rng.uniform(-200.0, 200.0, size=(25, 2))
    root = np.linalg.cholesky(Matern(150.0, nu=2.5)(xy) + 1e-9 * np.eye(25))
    fields = rng.normal(size=(338, 25)) @ root.T
    for today in range(1, 338):
        fields[today] = np.sqrt(0.6) * fields[today - 1] + np.sqrt(0.4) * fields[today]
    ozone = 37.0 + 9.0 * fields + 3.0 * rng.normal(size=fields.shape)
    date = np.datetime64("2020-01-01") + np.arange(338)
    names = np.array([f"SITE {i}" for i in range(25)])
    return Bunch(ozone=ozone, date=date, t=np.arange(338.0), xy=xy, site_name=names)


path = Path(os.environ.get("SKTVBO_DATA", ".")) / "ny_state_ozone_2020.npz"
if path.is_file():
    arrays = np.load(path)
    ozone, xy = (arrays[name].astype(float) for name in ("ozone_ppb", "xy_km"))
    date = arrays["date"].astype("datetime64[D]")
    data = Bunch(ozone=ozone, date=date, t=np.arange(338.0), xy=xy, site_name=arrays["site_name"])
    source = "ozone (ppb), New York State, 2020"
else:
    print(f"{path.name}, from aqs.epa.gov/aqsweb/airdata, is not in SKTVBO_DATA: generated data.")
    data, source = generated_field(), "generated field"

n_days, n_sites = data.ozone.shape
reported = np.random.RandomState(0).uniform(size=(n_days, n_sites)).argsort(axis=1) < n_sites // 2

# One row for each day and site, sorted by day: x, y, day.
X = np.column_stack([np.tile(data.xy, (n_days, 1)), np.repeat(data.t, n_sites)])
y = data.ozone.ravel()
print(f"{n_days} days, {n_sites} sites, {reported[0].sum()} of which report on a day")

# %%
# The pipeline
# ------------
# The columns of space are scaled; time stays in days, so that the forgetting rate is one per day.
# With :class:`~sktvbo.kernels.Forgetting` a part ε of the field is new every day. A constant kernel
# makes a static model, for which an old report is as good as a new one.


def make_pipeline(temporal_kernel):
    space = ColumnTransformer([("space", StandardScaler(), [0, 1])], remainder="passthrough")
    gp = TimeVaryingGPRegressor(
        Matern(nu=1.5), temporal_kernel, normalize_y=True, optimizer=None, time_column=-1
    )
    return Pipeline([("scale", space), ("gp", gp)])


forgetting = make_pipeline(Forgetting(0.1, "fixed"))
static = make_pipeline(ConstantKernel(1.0, "fixed"))

# %%
# The search
# ----------
# ``TimeSeriesSplit`` splits the *days*; a split of rows might cut a day in two. Each fold is one
# evening: train on what had been reported in three weeks, validate on the silent sites and on the
# next day. Evenings are nine days apart, so that all weekdays take part. The search ends with July;
# both pipelines choose lengthscale and noise from the same grid, by the same folds.

WINDOW = 21
n_search = int(np.searchsorted(data.date, np.datetime64("2020-08-01")))


def rows(days, mask):
    """Rows of X of the days where the mask holds."""
    return np.concatenate([day * n_sites + np.flatnonzero(mask[day]) for day in days])


def evening(today):
    """Rows to learn from in the evening of a day, silent rows of the day, rows of the next day."""
    known = rows(range(today - WINDOW + 1, today + 1), reported)
    return known, rows([today], ~reported), rows([today + 1], np.ones_like(reported))


def folds(n_splits=20):
    days = TimeSeriesSplit(n_splits=n_splits, test_size=9, max_train_size=WINDOW)
    for past, _ in days.split(np.arange(n_search)):
        known, silent, tomorrow = evening(past[-1])
        yield known, np.concatenate([silent, tomorrow])


rates = [0.03, 0.1, 0.2, 0.4, 0.6, 0.8]
grid = {
    "gp__spatial_kernel__length_scale": [0.5, 1.0, 2.0],
    "gp__noise_variance": [0.01, 0.1, 1.0, 10.0],
}


def search(pipeline, grid, n_splits=20):
    X_search, y_search = X[: n_search * n_sites], y[: n_search * n_sites]  # nothing later
    searching = GridSearchCV(
        pipeline, grid, scoring="neg_mean_squared_error", cv=list(folds(n_splits)), refit=False
    )
    with threadpool_limits(1, user_api="blas"):  # the matrices are small: threads would wait
        return searching.fit(X_search, y_search)


of_forgetting = search(forgetting, {"gp__temporal_kernel__epsilon": rates, **grid})
of_static = search(static, grid)
for name, found in [("time-varying", of_forgetting), ("static", of_static)]:
    print(name, found.best_params_)

# %%
# Later days
# ----------
# The choices are now fixed, and every evening from August on the pipelines are fitted to the last
# three weeks' reports. The simplest predictions are means: of all reports in the three weeks, and
# of each site's own.


def predict_later(fit_predict, days):
    """Predictions of today at the silent sites, and of tomorrow; NaN where there is none."""
    today, tomorrow = np.full((2, *data.ozone.shape), np.nan)
    with threadpool_limits(1, user_api="blas"):
        for day in days:
            known, silent, following = evening(day)
            both = fit_predict(known, np.concatenate([silent, following]))
            today.flat[silent], tomorrow.flat[following] = np.split(both, [len(silent)])
    return today, tomorrow


def by_pipeline(found):
    pipeline = clone(found.estimator).set_params(**found.best_params_)
    return lambda known, asked: pipeline.fit(X[known], y[known]).predict(X[asked])


def by_mean(known, asked):
    return np.full(len(asked), y[known].mean())


def by_site_mean(known, asked):
    means = [y[known[known % n_sites == site]].mean() for site in range(n_sites)]
    return np.take(means, asked % n_sites)


def rmse(predicted):
    return float(np.sqrt(np.nanmean((predicted - data.ozone) ** 2)))


later = range(n_search, n_days - 1)
predictions = {
    "mean of all sites": predict_later(by_mean, later),
    "mean of the site": predict_later(by_site_mean, later),
    "static pipeline": predict_later(by_pipeline(of_static), later),
    "time-varying pipeline": predict_later(by_pipeline(of_forgetting), later),
}
table = {name: (rmse(today), rmse(next_)) for name, (today, next_) in predictions.items()}
print(f"{source}: RMSE, {len(later)} later days")
print(f"{'':22s} {'silent today':>13s} {'all tomorrow':>13s}")
for name, (today, tomorrow) in table.items():
    print(f"{name:22s} {today:13.2f} {tomorrow:13.2f}")

# %%
# The picture
# -----------
# Left, the validation errors: at each forgetting rate the best of the grid. A model that forgets
# too slowly averages over weeks. Right, a site on the evenings when it was silent.

scores = of_forgetting.cv_results_
of_rate = np.asarray(scores["param_gp__temporal_kernel__epsilon"], dtype=float)
best = [np.sqrt(-scores["mean_test_score"][of_rate == rate].max()) for rate in rates]

site = 10  # of the real ones Rochester, far from the many sites around New York City
shown = slice(n_search, n_search + 61)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.6, 4.2), width_ratios=[1.0, 1.9], layout="constrained"
)
figure.suptitle(f"Data: {source}")
left.plot(rates, best, "o-", color="#0072B2", label="time-varying")
left.axhline(np.sqrt(-of_static.best_score_), color="#D55E00", ls="--", label="static")
left.set(xlabel="forgetting rate ε (per day)", ylabel="validation RMSE, January to July")
left.legend()

date = data.date[shown]
right.plot(date, data.ozone[shown, site], color="0.6", label="truth")
for name, colour, marker in [("static", "#D55E00", "s"), ("time-varying", "#0072B2", "o")]:
    today = predictions[f"{name} pipeline"][0][shown, site]
    right.plot(date, today, marker, color=colour, markersize=5, label=f"{name}, when silent")
right.set(ylabel=f"value at {data.site_name[site].title()}")
right.tick_params(axis="x", rotation=30)
right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
plt.show()
