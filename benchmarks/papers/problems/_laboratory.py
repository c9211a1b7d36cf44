"""Temperatures in the Intel lab, at the known positions of its sensors."""

from functools import partial

import numpy as np
from datasets import load_intel_temperature
from scipy.spatial import Delaunay

from sktvbo.domain import FiniteSet
from sktvbo.problems._base import Problem
from sktvbo.problems._registry import member

from ._readings import between_rows, check_days, rows_of_days

BINS_PER_DAY = 144

_laboratory = partial(member, "_place")


class Laboratory(Problem):
    """Find the hottest point; a subclass defines the domain.

    A subclass defines ``_place(xy)``, which takes the sensors' positions (46, 2) and returns the
    domain. The first ten-minute bin of the chosen days is at time 0, the last one at the horizon.
    Temperatures are interpolated linearly between the starts of the bins.

    Parameters
    ----------
    horizon, noise, noise_variance, random_state
        See `sktvbo.problems.make`.
    day : int or (int, int), default=0
        One of the eight days, or the first and the last, both included.
    data_dir : path-like, default=None
        See `datasets.load_intel_temperature`.
    """

    def __init__(
        self,
        name,
        *,
        horizon=600.0,
        noise=0.05,
        noise_variance=None,
        random_state=None,
        day=0,
        data_dir=None,
    ):
        data = load_intel_temperature(data_dir=data_dir)
        days = check_days(day, "day", self, len(data.t) // BINS_PER_DAY)
        self._table = rows_of_days(data.temperature, days, BINS_PER_DAY)
        super().__init__(name, self._place(data.xy), horizon, random_state=random_state)
        self._set_noise(noise, noise_variance)

    def _temperatures(self, t, sensors):
        """Return temperatures of some sensors at the times t; t and sensors are broadcast."""
        position = np.asarray(t) / self.horizon * (len(self._table) - 1)
        return between_rows(self._table, position, sensors)


@_laboratory("temperature")
class Temperature(Laboratory):
    """Activate the hottest of 46 sensors.

    The domain is the finite set of the sensors' positions in metres. For the parameters see
    `Laboratory`.

    Notes
    -----
    Source: TVGP section 5.2, ET section 5.
    """

    def _place(self, xy):
        return FiniteSet(xy)

    def _values(self, X, t):
        return self._temperatures(t, self.domain.indices(X))


@_laboratory("temperature-field")
class TemperatureField(Laboratory):
    """Find the hottest point of the lab.

    The domain is the bounding box of the sensors, scaled to the unit square. The field is linear
    on the triangles of the Delaunay triangulation of the sensors and the box's corners. A corner
    has the temperature of its nearest sensor. The field is continuous, and its maximum is at a
    sensor. For the parameters see `Laboratory`.

    Notes
    -----
    W-DBO appendix G.2 interpolates the first day of the log in space and time, by an unspecified
    method. That day is a Saturday; these data begin with the Monday after it, and their day 5 is a
    Saturday.
    """

    def _place(self, xy):
        lower, upper = xy.min(axis=0), xy.max(axis=0)
        box = np.array([(x, y) for x in (lower[0], upper[0]) for y in (lower[1], upper[1])])
        to_sensor = np.linalg.norm(box[:, np.newaxis] - xy, axis=2)
        extra = to_sensor.min(axis=1) > 0.0
        nodes = np.vstack([xy, box[extra]])
        # Each node's temperature comes from the sensor of this index.
        source = np.r_[np.arange(len(xy)), np.argmin(to_sensor[extra], axis=1)]
        # The triangulation is in metres, as scaled axes would change the neighbours.
        simplices = Delaunay(nodes).simplices
        unit = (nodes - lower) / (upper - lower)
        # The inverse of a triangle's corners, as rows x, y, 1, gives the barycentric coordinates.
        corners = np.ones((len(simplices), 3, 3))
        corners[:, :, :2] = unit[simplices]
        solid = np.abs(np.linalg.det(corners)) > 1e-12
        self._sources = source[simplices[solid]]
        self._to_weights = np.linalg.inv(corners[solid])
        self._sensors = unit[: len(xy)]
        return [(0.0, 1.0)] * 2

    def _values(self, X, t):
        plane = self._to_weights.transpose(2, 1, 0)  # (corner, coordinate, triangle)
        weights = np.stack([X @ p[:2] + p[2] for p in plane])
        # A point belongs to the triangle with the largest minimum weight, so rounding on an edge
        # or on the border leaves no point without a triangle.
        triangle = np.argmax(weights.min(axis=0), axis=1)
        weights = weights[:, np.arange(len(X)), triangle].T
        times = np.broadcast_to(t, len(X))
        temperatures = self._temperatures(times[:, np.newaxis], self._sources[triangle])
        return np.sum(weights * temperatures, axis=1)

    def _argmax(self, t):
        # A function linear on triangles is largest at a node, and corners copy sensors.
        temperatures = self._temperatures(t, np.arange(len(self._sensors)))
        return self._sensors[np.argmax(temperatures)].copy()
