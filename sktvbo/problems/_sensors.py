"""Temperatures in the Intel lab: find the hottest place while the day goes on."""

import numpy as np
from scipy.spatial import Delaunay

from ..datasets import load_intel_temperature
from ..domain import FiniteSet
from ._base import Problem, register

_BINS_PER_DAY = 144


def _days(day, n_days):
    """First and last day of the option ``day``, both included."""
    pair = (day, day) if np.ndim(day) == 0 else tuple(day)
    whole = all(isinstance(i, int | np.integer) and not isinstance(i, bool) for i in pair)
    if not (len(pair) == 2 and whole and 0 <= pair[0] <= pair[1] < n_days):
        raise ValueError(
            f"day must be a whole number from 0 to {n_days - 1} or a pair (first, last) of such, "
            f"got {day!r}."
        )
    return int(pair[0]), int(pair[1])


class _Readings:
    """Temperatures of some days, linear in time between the bins' starts."""

    def __init__(self, day, data_dir):
        data = load_intel_temperature(data_dir=data_dir)
        first, last = _days(day, len(data.t) // _BINS_PER_DAY)
        self.table = data.temperature[first * _BINS_PER_DAY : (last + 1) * _BINS_PER_DAY]
        self.xy = data.xy

    def at(self, u, columns):
        """Temperatures at the fraction u of the days' span; u and columns are broadcast."""
        position = np.asarray(u) * (len(self.table) - 1)
        row = np.minimum(position.astype(np.intp), len(self.table) - 2)
        weight = position - row
        return (1.0 - weight) * self.table[row, columns] + weight * self.table[row + 1, columns]


class Temperature(Problem):
    """Activate the hottest of 46 sensors.

    The domain is the finite set of the sensors' positions in metres. The first ten-minute bin of
    the chosen days is at 0, the last one at the horizon; between bins the temperature is linear.

    Parameters
    ----------
    horizon, noise, random_state
        See `sktvbo.problems.make`.
    day : int or (int, int), default=0
        Which of the eight days, or the first and the last, both included.
    data_dir : path-like, default=None
        See `sktvbo.datasets.load_intel_temperature`.

    Notes
    -----
    Source: TVGP section 5.2, ET section 5.
    """

    needs_data = True

    def __init__(self, *, horizon=600.0, noise=0.05, random_state=None, day=0, data_dir=None):
        self._readings = _Readings(day, data_dir)
        super().__init__(
            "temperature", FiniteSet(self._readings.xy), horizon, random_state=random_state
        )
        self._set_noise(noise)

    def _values(self, X, t):
        return self._readings.at(t / self.horizon, self.domain.indices(X))


class TemperatureField(Problem):
    """Find the hottest place of the lab.

    The domain is the bounding box of the sensors, scaled to the unit square. The field is linear
    on the triangles of the Delaunay triangulation of the sensors and the box's corners, a corner
    carrying the temperature of its nearest sensor. So it is continuous, and always hottest at a
    sensor.

    Parameters
    ----------
    horizon, noise, random_state
        See `sktvbo.problems.make`.
    day : int or (int, int), default=0
        Which of the eight days, or the first and the last, both included.
    data_dir : path-like, default=None
        See `sktvbo.datasets.load_intel_temperature`.

    Notes
    -----
    W-DBO appendix G.2 interpolates the first day in space and time without saying how.
    """

    needs_data = True

    def __init__(self, *, horizon=600.0, noise=0.05, random_state=None, day=0, data_dir=None):
        self._readings = _Readings(day, data_dir)
        super().__init__("temperature-field", [(0.0, 1.0)] * 2, horizon, random_state=random_state)
        self._triangulate()
        self._set_noise(noise)

    def _triangulate(self):
        xy = self._readings.xy
        lower, upper = xy.min(axis=0), xy.max(axis=0)
        box = np.array([(x, y) for x in (lower[0], upper[0]) for y in (lower[1], upper[1])])
        to_sensor = np.linalg.norm(box[:, np.newaxis] - xy, axis=2)
        extra = to_sensor.min(axis=1) > 0.0
        nodes = np.vstack([xy, box[extra]])
        # Which sensor each node's temperature comes from.
        source = np.r_[np.arange(len(xy)), np.argmin(to_sensor[extra], axis=1)]
        # Triangulated in metres: scaling the axes would change who is near whom.
        simplices = Delaunay(nodes).simplices
        unit = (nodes - lower) / (upper - lower)
        # Rows x, y, 1 of a triangle's corners; their inverse gives the barycentric coordinates.
        corners = np.ones((len(simplices), 3, 3))
        corners[:, :, :2] = unit[simplices]
        solid = np.abs(np.linalg.det(corners)) > 1e-12
        self._sources = source[simplices[solid]]
        self._to_weights = np.linalg.inv(corners[solid])
        self._sensors = unit[: len(xy)]

    def _values(self, X, t):
        plane = self._to_weights.transpose(2, 1, 0)  # (corner, coordinate, triangle)
        weights = np.stack([X @ p[:2] + p[2] for p in plane])
        # A point belongs to the triangle in which its smallest weight is largest, so rounding on
        # an edge or on the border leaves no point without a triangle.
        triangle = np.argmax(weights.min(axis=0), axis=1)
        weights = weights[:, np.arange(len(X)), triangle].T
        u = np.broadcast_to(np.asarray(t) / self.horizon, len(X))
        temperatures = self._readings.at(u[:, np.newaxis], self._sources[triangle])
        return np.sum(weights * temperatures, axis=1)

    def _argmax(self, t):
        # A function linear on triangles is largest at a node, and a corner copies a sensor.
        temperatures = self._readings.at(t / self.horizon, np.arange(len(self._sensors)))
        return self._sensors[np.argmax(temperatures)].copy()


register("temperature", Temperature)
register("temperature-field", TemperatureField)
