"""
============================
The eleventh sensor from ten
============================

Ten sensors have reported for a day. An eleventh has just been installed, and its next readings are
wanted: from four rows nothing can be learnt of the noise, and little of how fast the values change.
The ten sensors know both. :func:`~sktvbo.gaussian_process.hyperpriors_from` makes priors of their
hyperparameters.
"""

# %%
# The data are generated. With the temperatures of the Intel lab in the folder ``SKTVBO_DATA`` the
# same program runs on these: a reading every ten minutes.

import os
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import hyperpriors_from

rng = np.random.RandomState(0)
hours = np.arange(288) / 6.0
path = Path(os.environ.get("SKTVBO_DATA", ".")) / "intel_lab_temperature.npz"
if path.is_file():
    values = np.load(path)["temperature_c"][: len(hours)].astype(float)
    values = values[:, rng.permutation(values.shape[1])]
else:
    K = Matern(3.0, nu=1.5)(hours[:, np.newaxis]) + 1e-9 * np.eye(len(hours))
    values = 20.0 + 2.0 * np.linalg.cholesky(K) @ rng.normal(size=(len(hours), 30))
    values += 0.3 * rng.normal(size=values.shape)

t = hours[:, np.newaxis]
model = TimeVaryingGPRegressor(
    temporal_kernel=Matern(3.0, (0.1, 1e3), nu=1.5),
    mean_prior_std=np.inf,
    noise_variance_bounds=(1e-5, 1e2),
)
ten = [clone(model).fit(t[:144], y) for y in values[:144, :10].T]
priors = hyperpriors_from(ten)
for name, prior in priors.items():
    low, middle, high = prior.ppf([0.16, 0.5, 0.84])
    print(f"{name:32}{middle:8.3g}, mostly {low:.2g} to {high:.2g}")

# %%
# Each of the other sensors in turn is the eleventh one, on the second day. The forecast is for the
# next hour; the error is in degrees, and the density counts how surprising the readings were.

warnings.simplefilter("ignore", ConvergenceWarning)  # alone, few rows end at a bound
ROWS, AHEAD = (3, 4, 6, 8, 12), 6
models = {"alone": model, "from ten": clone(model).set_params(hyperpriors=priors)}
scores = {name: np.zeros((len(ROWS), 2)) for name in models}
starts = [(10 + k % 20, rng.randint(150, 260)) for k in range(40)]
for i, first in starts:
    for k, n in enumerate(ROWS):
        known, ahead = slice(first, first + n), slice(first + n, first + n + AHEAD)
        for name, each in models.items():
            fit = clone(each).fit(t[known], values[known, i])
            mean, std = fit.predict(t[ahead], return_std=True)
            density = norm(mean, np.hypot(std, fit.noise_std_)).logpdf(values[ahead, i])
            error = (mean - values[ahead, i]) ** 2
            scores[name][k] += [error.mean() / len(starts), density.mean() / len(starts)]
for name, score in scores.items():
    print(f"{name:10}error from {ROWS[1]} rows {np.sqrt(score[1, 0]):.2f}")

_, (left, middle, right) = plt.subplots(1, 3, figsize=(11.0, 3.6), layout="constrained")
first, n, i = 160, 4, 10
grid = np.linspace(hours[first], hours[first + n + AHEAD], 100)[:, np.newaxis]
for color, (name, each) in zip(("C1", "C0"), models.items()):
    fit = clone(each).fit(t[first : first + n], values[first : first + n, i])
    mean, std = fit.predict(grid, return_std=True)
    left.plot(grid[:, 0], mean, color, label=name)
    left.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color=color, alpha=0.2)
    middle.plot(ROWS, np.sqrt(scores[name][:, 0]), "o-", color=color, label=name)
    right.plot(ROWS, scores[name][:, 1], "o-", color=color, label=name)
shown = slice(first, first + n + AHEAD)
left.plot(hours[shown], values[shown, i], "k.", label="readings")
left.axvline(hours[first + n] - 1 / 12, color="0.7", linestyle=":")
left.set(xlabel="time (hours)", ylabel="°C")
middle.set(xlabel="rows of the eleventh sensor", ylabel="error of the next hour (°C)")
right.set(xlabel="rows of the eleventh sensor", ylabel="log density", ylim=(-6.0, None))
left.legend(fontsize="small")
middle.legend()
plt.show()
