"""
=============================
Kriging on the Earth, in time
=============================

Stations all over the Earth report now and then. Kriging in space and time gives a map of the
present. Locations are latitude and longitude in degrees. The range is in kilometres along the
Earth, so that neither the poles nor the date line is an edge of the map.
"""

# %%
# A synthetic field
# -----------------
# The field is not measured but generated. It consists of free waves of the atmosphere, which are
# spherical harmonics that move west by 2 Ω / (n (n + 1)) (Rossby and Haurwitz), with random
# amplitudes and phases, in units of the field's standard deviation. Each of 90 stations, uniform
# over the Earth, reports every fourth time on average, with noise.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import sph_harm_y
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.kernels import ChordalMatern

rng = np.random.RandomState(1)
WAVES = [(m, n) for n in range(2, 7) for m in range(1, n + 1)]
amplitudes = np.sqrt(8.0 * np.pi / len(WAVES)) * rng.normal(size=len(WAVES))
phases = rng.uniform(0.0, 2.0 * np.pi, len(WAVES))


def truth(X):
    """Values (n,) at latitudes, longitudes and hours (n, 3)."""
    colatitude, longitude = np.deg2rad(90.0 - X[:, 0]), np.deg2rad(X[:, 1])
    value = np.zeros(len(X))
    for (m, n), amplitude, phase in zip(WAVES, amplitudes, phases):
        turned = 2.0 * (2.0 * np.pi / 24.0) / (n * (n + 1)) * X[:, 2]
        harmonic = sph_harm_y(n, m, colatitude, longitude + turned)
        value += amplitude * np.real(harmonic * np.exp(1j * phase))
    return value


n_stations, n_times = (90, 24) if __name__ == "__main__" else (60, 12)
now = 3.0 * (n_times - 1)
latitude = np.rad2deg(np.arcsin(rng.uniform(-1.0, 1.0, n_stations)))
stations = np.column_stack([latitude, rng.uniform(-180.0, 180.0, n_stations)])
reports = [(i, 3.0 * j) for j in range(n_times) for i in range(n_stations) if rng.uniform() < 0.25]
X = np.array([[*stations[i], t] for i, t in reports])
y = truth(X) + 0.1 * rng.normal(size=len(X))

# %%
# Three maps of the present
# -------------------------
# The first model treats degrees as coordinates of a plane. The second is kriging on the sphere from
# the latest report of each station: its kernel in time is constant. The third is kriging in space
# and time. Sill, range and nugget are learnt.

plane = TimeVaryingGPRegressor(
    Matern(30.0, (1.0, 500.0), nu=2.5), Matern(24.0, (3.0, 500.0), nu=2.5), mean_prior_std=np.inf
)
at_once = TimeVaryingGPRegressor(
    ChordalMatern(2000.0, nu=2.5), ConstantKernel(1.0, "fixed"), mean_prior_std=np.inf
)
in_time = TimeVaryingGPRegressor(
    ChordalMatern(2000.0, nu=2.5), Matern(24.0, (3.0, 500.0), nu=2.5), mean_prior_std=np.inf
)
latest = list({tuple(row[:2]): i for i, row in enumerate(X)}.values())

lon, lat = np.meshgrid(np.linspace(-180.0, 180.0, 91), np.linspace(-90.0, 90.0, 46))
places = np.column_stack([lat.ravel(), lon.ravel(), np.full(lat.size, now)])
true, area = truth(places), np.cos(np.deg2rad(places[:, 0]))


def rmse(mean):
    return float(np.sqrt(np.average((mean - true) ** 2, weights=area)))


maps = {
    "degrees as a plane, and time": plane.fit(X, y).predict(places),
    "sphere, latest reports": at_once.fit(X[latest], y[latest]).predict(places),
    "sphere and time": in_time.fit(X, y).predict(places),
}
errors = {name: rmse(mean) for name, mean in maps.items()}
for name, error in errors.items():
    print(f"{name:30s} {error:.2f}")
print(f"range {in_time.spatial_kernel_.length_scale:.0f} km", end=", ")
print(f"{in_time.temporal_kernel_.length_scale:.0f} h; nugget {in_time.noise_variance_:.3f}")

# %%
# The picture
# -----------
# The left and the right edge of a map are the same line on the Earth, and its upper edge is one
# point, the North Pole.

_, std = in_time.predict(places, return_std=True)
panels = {"truth": true, **maps}
figure, axes = plt.subplots(
    2, 2, figsize=(10.6, 6.2), subplot_kw={"projection": "mollweide"}, layout="constrained"
)
levels = np.linspace(-3.0, 3.0, 13)
for ax, (name, values) in zip(axes.flat, panels.items()):
    shown = np.deg2rad(lon), np.deg2rad(lat), values.reshape(lon.shape)
    colours = ax.contourf(*shown, levels=levels, cmap="RdBu_r", extend="both")
    title = name if name == "truth" else f"{name}: RMSE {errors[name]:.2f}"
    ax.set_title(title)
    ax.grid(alpha=0.3)
    ax.tick_params(labelbottom=False, labelleft=False)
    ax.plot(*np.deg2rad(stations[:, ::-1].T), "k.", markersize=3)
figure.colorbar(colours, ax=axes, shrink=0.6, label="field (standard deviations)")
plt.show()

# %%
# Kriging variance
# ----------------
# ``predict(X, return_std=True)`` is the standard deviation of the field. It is larger where no
# station has reported lately.

far = std > np.quantile(std, 0.9)
error = np.abs(maps["sphere and time"] - true)
print(f"RMS error, where std is largest: {np.sqrt(np.mean(error[far] ** 2)):.2f}", end=", ")
print(f"elsewhere: {np.sqrt(np.mean(error[~far] ** 2)):.2f}")
