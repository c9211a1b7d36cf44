"""The temperature field of BOLT's table 3, interpolated in other ways: the paper does not say how.

    python benchmarks/interpolations.py
    python benchmarks/interpolations.py --day 0

Day 5 is the first Saturday of the data. The paper's day, the first one of its log, is a Saturday,
too; these data begin with the Monday after it.

Between the sensors: triangles, as in the package; the nearest sensor; thin plates; weights that
fall with the square of the distance. In time it is always linear. Average regrets, and what the
paper has printed.
"""

import argparse

import numpy as np
from joblib import parallel_config
from scipy.interpolate import NearestNDInterpolator, RBFInterpolator

from sktvbo import BOLT, GPUCB, RGPUCB, WDBO, evaluation
from sktvbo._bench._published import BOLT_TABLE_3
from sktvbo.problems._laboratory import TemperatureField

# The optimum is sought on a grid of so many places along each side.
N_GRID = 151


def nearest(places):
    return NearestNDInterpolator(places, np.eye(len(places)))


def thin_plates(places):
    return RBFInterpolator(places, np.eye(len(places)), kernel="thin_plate_spline")


def inverse_squares(places):
    def weights(X):
        squares = np.sum((X[:, np.newaxis] - places) ** 2, axis=2) + 1e-9
        return 1.0 / squares / np.sum(1.0 / squares, axis=1, keepdims=True)

    return weights


class Interpolated(TemperatureField):
    """The field, linear in the sensors' temperatures by weights of the place.

    Parameters
    ----------
    interpolate : callable, (46, 2) -> callable, (m, 2) -> (m, 46)
    """

    def __init__(self, interpolate, **options):
        self._interpolate = interpolate
        super().__init__(**options)
        self.name = interpolate.__name__.replace("_", "-")

    def _place(self, xy):
        bounds = super()._place(xy)
        self._weights = self._interpolate(self._sensors)
        side = np.linspace(0.0, 1.0, N_GRID)
        self._grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
        self._on_grid = self._weights(self._grid)
        return bounds

    def _values(self, X, t):
        times = np.broadcast_to(t, len(X))[:, np.newaxis]
        temperatures = self._temperatures(times, np.arange(len(self._sensors)))
        return np.sum(self._weights(X) * temperatures, axis=1)

    def _argmax(self, t):
        temperatures = self._temperatures(t, np.arange(len(self._sensors)))
        return self._grid[np.argmax(self._on_grid @ temperatures)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--replications", type=int, default=10)
    parser.add_argument("--day", type=int, default=5, help="of the eight, the first is 0")
    arguments = parser.parse_args()
    options = {"noise": 0.01, "day": arguments.day}
    found = [TemperatureField(**options)]
    for interpolate in (nearest, thin_plates, inverse_squares):
        found.append(Interpolated(interpolate, **options))
    algorithms = {"GP-UCB": GPUCB(), "R-GP-UCB": RGPUCB(), "W-DBO": WDBO(), "BOLT": BOLT()}
    with parallel_config("loky", inner_max_num_threads=1):
        comparison = evaluation.compare(
            algorithms,
            found,
            arguments.replications,
            clock=evaluation.SimulatedClock("papers", 1.0),
            n_jobs=-1,
        )
    print(comparison)
    published = [f"{name} {BOLT_TABLE_3[name, 'temperature-field']}" for name in algorithms]
    print("published: " + ", ".join(published))


if __name__ == "__main__":
    main()
