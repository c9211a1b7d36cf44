"""Sensors and other arms: find the one that reads most while time goes on.

"temperature" and "temperature-field" know where the sensors of the Intel lab are. The others know
of no places: their arms have an empirical covariance, of earlier days, as in TVGP and ET.
"""

import numpy as np
from scipy.spatial import Delaunay
from sklearn.covariance import ledoit_wolf
from sklearn.gaussian_process.kernels import ConstantKernel

from ..datasets import (
    load_intel_temperature,
    load_irish_wind,
    load_la_traffic,
    load_ny_ozone,
    load_sp500,
)
from ..domain import Arms, FiniteSet
from ..gaussian_process import TimeVaryingGPRegressor
from ..kernels import Empirical
from ._base import Problem, register

_BINS_PER_DAY = 144


def _days(day, n_days, what="day"):
    """First and last day of an option, both included."""
    pair = (day, day) if np.ndim(day) == 0 else tuple(day)
    whole = all(isinstance(i, int | np.integer) and not isinstance(i, bool) for i in pair)
    if not (len(pair) == 2 and whole and 0 <= pair[0] <= pair[1] < n_days):
        raise ValueError(
            f"{what} must be a whole number from 0 to {n_days - 1} or a pair (first, last) of "
            f"such, got {day!r}."
        )
    return int(pair[0]), int(pair[1])


def _linear(table, position, columns):
    """Readings at a row position, which may be fractional; position and columns are broadcast."""
    row = np.minimum(np.asarray(position).astype(np.intp), len(table) - 2)
    weight = position - row
    return (1.0 - weight) * table[row, columns] + weight * table[row + 1, columns]


class _Readings:
    """Temperatures of some days, linear in time between the bins' starts."""

    def __init__(self, day, data_dir):
        data = load_intel_temperature(data_dir=data_dir)
        first, last = _days(day, len(data.t) // _BINS_PER_DAY)
        self.table = data.temperature[first * _BINS_PER_DAY : (last + 1) * _BINS_PER_DAY]
        self.xy = data.xy

    def at(self, u, columns):
        """Temperatures at the fraction u of the days' span; u and columns are broadcast."""
        return _linear(self.table, np.asarray(u) * (len(self.table) - 1), columns)


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


class SensorArms(Problem):
    """Activate the arm that reads most; a subclass says whose readings.

    Parameters
    ----------
    name : str
    table : ndarray of shape (n_days * rows_per_day, m)
        Readings of the arms.
    labels : ndarray of shape (m,)
        What the data call the arms.
    train, test : int or (int, int)
        A day, counted from 0, or the first and the last, both included.
    rows_per_day : int, default=1
    horizon : float, default=None
        None: time counts rows of the test days. A number stretches these days over [0, horizon].
        Between rows the readings are linear; the last row lasts until the end.
    noise : float, default=0.0
        Variance of the noise that `observe` adds to the readings, as a fraction of their variance
        in the test days.
    normalize : bool, default=True
        Shift and scale all readings alike, such that those of the training days have mean 0 and
        variance 1. This changes neither which arm is best nor, but for its unit, the regret.
    random_state : int, RandomState or None, default=None
        Of the noise.

    Attributes
    ----------
    labels : ndarray of shape (m,)
    location, scale : float
        A reading is ``location + scale * value``.
    training : ndarray of shape (n_train, m)
        Values in the training days.
    empirical_mean : ndarray of shape (m,)
        Mean of each arm in the training days.

    Notes
    -----
    ET normalizes "all data" with the training days; TVGP does not speak of it. Normalizing each arm
    by itself would be another problem, to find the arm that is furthest above its own average.
    The prior mean of the surrogate is 0 for all arms: as in the papers, that an arm usually reads
    more than others is not told to it.
    """

    needs_data = True

    def __init__(
        self,
        name,
        table,
        labels,
        *,
        train,
        test,
        rows_per_day=1,
        horizon=None,
        noise=0.0,
        normalize=True,
        random_state=None,
    ):
        n_days = len(table) // rows_per_day
        train, test = _days(train, n_days, "train"), _days(test, n_days, "test")
        if train[0] <= test[1] and test[0] <= train[1]:
            raise ValueError(f"train and test must have no day in common, got {train} and {test}.")
        training, testing = (
            table[first * rows_per_day : (last + 1) * rows_per_day] for first, last in (train, test)
        )
        if len(training) < 2:
            raise ValueError(f"train must hold at least two rows of the data, got {train}.")
        self.labels = labels
        self.location, self.scale = 0.0, 1.0
        if normalize:
            self.location, self.scale = float(training.mean()), float(training.std())
        self.training = (training - self.location) / self.scale
        self._rows_per_day = rows_per_day
        self._table = (testing - self.location) / self.scale
        horizon = len(testing) if horizon is None else horizon
        super().__init__(name, Arms(table.shape[1]), horizon, random_state=random_state)
        self._set_noise(noise)

    @property
    def empirical_mean(self):
        return self.training.mean(axis=0)

    def empirical_kernel(self):
        """Kernel of the arms: their covariance in the training days.

        Returns
        -------
        Empirical
            The sample covariance; with no more training rows than arms, where that is singular,
            the estimate of Ledoit and Wolf (2004), which is not.
        """
        n, m = self.training.shape
        if n > m:
            return Empirical(np.cov(self.training, rowvar=False).reshape(m, m))
        return Empirical(ledoit_wolf(self.training)[0])

    def forgetting_rate(self):
        """Rate at which the arms forget, per row of the data: ε = 1 − ρ².

        Returns
        -------
        float in [0, 1]
            ρ is the correlation of a reading with the arm's next one on the same day, about the
            arm's mean, over all arms and training days; with one row a day, with the next day's.
            ``Forgetting(epsilon)`` has the correlation √(1 − ε) over one step (TVGP eq. 4). Where
            they correlate negatively ε is 1.
        """
        n_rows, m = self.training.shape
        per_day = n_rows if self._rows_per_day == 1 else self._rows_per_day
        days = (self.training - self.empirical_mean).reshape(-1, per_day, m)
        now, later = days[:, :-1], days[:, 1:]
        rho = np.sum(now * later) / np.sqrt(np.sum(now**2) * np.sum(later**2))
        return float(1.0 - max(rho, 0.0) ** 2)

    def surrogate(self, temporal_kernel=None, noise_variance=None):
        """Unfitted surrogate with the empirical kernel and no hyperparameters to learn.

        Parameters
        ----------
        temporal_kernel : Kernel, default=None
            Such as ``Forgetting(0.03, "fixed")``, per unit of the problem's time. None: constant in
            time, for GP-UCB and the algorithms that reset.
        noise_variance : float, default=None
            None: 5 % of the arms' mean variance in the training days (TVGP section 5.2), plus what
            the problem adds.

        Returns
        -------
        TimeVaryingGPRegressor
        """
        kernel = self.empirical_kernel()
        if noise_variance is None:
            noise_variance = 0.05 * float(np.diag(kernel.covariance).mean()) + self.noise_variance
        return TimeVaryingGPRegressor(
            kernel,
            ConstantKernel(1.0, "fixed") if temporal_kernel is None else temporal_kernel,
            signal_variance_bounds="fixed",
            noise_variance=noise_variance,
            noise_variance_bounds="fixed",
            optimizer=None,
        )

    def _at(self, t, columns):
        """Values at time t; t and columns are broadcast."""
        n = len(self._table)
        if n == 1:
            return self._table[0, columns]
        return _linear(self._table, np.minimum(t * (n / self.horizon), n - 1), columns)

    def _values(self, X, t):
        return self._at(np.asarray(t), self.domain.indices(X))

    def _argmax(self, t):
        return self.domain.points[np.argmax(self._at(np.asarray(t), np.arange(self.domain.size)))]


class TemperatureArms(SensorArms):
    """Activate the hottest of 46 sensors, given how they varied in earlier days.

    Parameters
    ----------
    train, test : int or (int, int), default=(0, 2), (3, 4)
        Days out of eight, counted from 0.
    horizon, noise, normalize, random_state
        See `SensorArms`; a row is ten minutes.
    data_dir : path-like, default=None
        See `sktvbo.datasets.load_intel_temperature`.

    Notes
    -----
    TVGP section 5.2: three days to train and two to test, ε = 0.03, resets every 15 steps, a noise
    variance of 5 % of the signal's, β = 0.8 log(0.4 t). ET section 5 and table 5: the same ε,
    resets and β, noise variance 0.01, and other pairs of test days after all earlier days, such as
    ``train=(0, 5), test=(6, 7)``. Theirs may be other days of the same log.

    Examples
    --------
    TV-GP-UCB as in TVGP, but for β:

    >>> from sktvbo import TVGPUCB, evaluation, problems
    >>> from sktvbo.kernels import Forgetting
    >>> problem = problems.make("temperature-arms")  # doctest: +SKIP
    >>> surrogate = problem.surrogate(Forgetting(0.03, "fixed"))  # doctest: +SKIP
    >>> optimizer = TVGPUCB(surrogate=surrogate, n_initial_points=1)  # doctest: +SKIP
    >>> result = evaluation.run(optimizer, problem, n_initial=1)  # doctest: +SKIP
    >>> degrees = problem.scale * result.average_regret  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        train=(0, 2),
        test=(3, 4),
        horizon=None,
        noise=0.0,
        normalize=True,
        random_state=None,
        data_dir=None,
    ):
        data = load_intel_temperature(data_dir=data_dir)
        super().__init__(
            "temperature-arms",
            data.temperature,
            data.sensor_id,
            train=train,
            test=test,
            rows_per_day=_BINS_PER_DAY,
            horizon=horizon,
            noise=noise,
            normalize=normalize,
            random_state=random_state,
        )


class Traffic(SensorArms):
    """Find where a motorway is least congested, which is where the speed is highest.

    Parameters
    ----------
    sensors : int or sequence of int, default=50
        Columns of the data; a number means so many of the 207, drawn once and for all.
    hours : (int, int), default=(6, 11)
        The days are cut to these hours.
    train, test : int or (int, int), default=(0, 4), 5
        Days out of seven, counted from 0. With several test days the clock jumps from the end of
        one to the beginning of the next.
    horizon, noise, normalize, random_state
        See `SensorArms`; a row is five minutes.
    data_dir : path-like, default=None
        See `sktvbo.datasets.load_la_traffic`.

    Notes
    -----
    TVGP section 5.2: ε = 0.04, a noise variance of 5.0 or 5 % of the signal's, β = 0.2 log(0.4 t),
    50 sensors. There, 357 sensors of another motorway, a month, two thirds of it to train, and 84
    rows a day; here, five days to train, two to test, and 60 rows a day.
    """

    def __init__(
        self,
        *,
        sensors=50,
        hours=(6, 11),
        train=(0, 4),
        test=5,
        horizon=None,
        noise=0.0,
        normalize=True,
        random_state=None,
        data_dir=None,
    ):
        data = load_la_traffic(data_dir=data_dir)
        columns = _columns(sensors, data.speed.shape[1])
        first, last = _hours(hours)
        hour = data.t % 86400.0 / 3600.0
        table = data.speed[(first <= hour) & (hour < last)][:, columns]
        super().__init__(
            "traffic",
            table,
            data.sensor_id[columns],
            train=train,
            test=test,
            rows_per_day=len(table) // 7,
            horizon=horizon,
            noise=noise,
            normalize=normalize,
            random_state=random_state,
        )


def _columns(sensors, n_columns):
    """Columns of the option ``sensors``."""
    if isinstance(sensors, int | np.integer) and 1 <= sensors <= n_columns:
        return np.sort(np.random.RandomState(0).permutation(n_columns)[:sensors])
    columns = np.asarray(sensors)
    if columns.ndim == 1 and columns.size and columns.dtype.kind in "iu":
        inside = 0 <= columns.min() <= columns.max() < n_columns
        if inside and len(np.unique(columns)) == len(columns):
            return columns
    raise ValueError(
        f"sensors must be a number from 1 to {n_columns}, or distinct columns from 0 to "
        f"{n_columns - 1}, got {sensors!r}."
    )


def _hours(hours):
    """First and last hour of the option ``hours``."""
    pair = np.asarray(hours)
    if pair.shape == (2,) and pair.dtype.kind in "iu" and 0 <= pair[0] < pair[1] <= 24:
        return pair
    raise ValueError(f"hours must be two ints 0 <= first < last <= 24, got {hours!r}.")


class Ozone(SensorArms):
    """Find the site with the highest ozone, a day a step.

    Parameters
    ----------
    version : {"2020", "summer2006"}, default="2020"
        25 sites and 338 days, or 28 sites and 62 days.
    train, test : int or (int, int), default=None
        Days, counted from 0. None: the first half, and the second.
    horizon, noise, normalize, random_state
        See `SensorArms`; a row is a day.
    data_dir : path-like, default=None
        See `sktvbo.datasets.load_ny_ozone`.

    Notes
    -----
    SparQ section 4.2 has 28 sites of New York City and two years, a day a step, and learns its
    kernel's hyperparameters from the data; its set is not public.
    """

    def __init__(
        self,
        *,
        version="2020",
        train=None,
        test=None,
        horizon=None,
        noise=0.0,
        normalize=True,
        random_state=None,
        data_dir=None,
    ):
        data = load_ny_ozone(version=version, data_dir=data_dir)
        n_days = len(data.ozone)
        super().__init__(
            "ozone",
            data.ozone,
            data.site_id,
            train=(0, n_days // 2 - 1) if train is None else train,
            test=(n_days // 2, n_days - 1) if test is None else test,
            horizon=horizon,
            noise=noise,
            normalize=normalize,
            random_state=random_state,
        )


class Wind(SensorArms):
    """Find the windiest of 12 Irish stations, a day a step.

    Parameters
    ----------
    train, test : int or (int, int), default=(0, 6208), (6209, 6573)
        Days, counted from 0. The default tests 1978, after the 17 years before.
    horizon, noise, normalize, random_state
        See `SensorArms`; a row is a day.
    data_dir : path-like, default=None
        See `sktvbo.datasets.load_irish_wind`.
    """

    def __init__(
        self,
        *,
        train=(0, 6208),
        test=(6209, 6573),
        horizon=None,
        noise=0.0,
        normalize=True,
        random_state=None,
        data_dir=None,
    ):
        data = load_irish_wind(data_dir=data_dir)
        super().__init__(
            "wind",
            data.wind,
            data.station,
            train=train,
            test=test,
            horizon=horizon,
            noise=noise,
            normalize=normalize,
            random_state=random_state,
        )


class Stocks(SensorArms):
    """Find the dearest of 48 stocks, a trading day a step.

    Parameters
    ----------
    train, test : int or (int, int), default=(0, 435), (436, 1258)
        Trading days, counted from 0. The default tests the last 823.
    horizon, noise, normalize, random_state
        See `SensorArms`; a row is a trading day.
    data_dir : path-like, default=None
        See `sktvbo.datasets.load_sp500`.

    Notes
    -----
    ET appendix A and table 8, after Deng et al. (2022): 48 stocks, 823 steps, prices normalized to
    mean 0 and variance 1, noise variance 0.01. Theirs are other stocks. Of these here, three are
    the dearest at one time or another, and one most of the time.
    """

    def __init__(
        self,
        *,
        train=(0, 435),
        test=(436, 1258),
        horizon=None,
        noise=0.0,
        normalize=True,
        random_state=None,
        data_dir=None,
    ):
        data = load_sp500(data_dir=data_dir)
        super().__init__(
            "stocks",
            data.close[:, data.largest],
            data.ticker[data.largest],
            train=train,
            test=test,
            horizon=horizon,
            noise=noise,
            normalize=normalize,
            random_state=random_state,
        )


register("temperature", Temperature)
register("temperature-field", TemperatureField)
register("temperature-arms", TemperatureArms)
register("traffic", Traffic)
register("ozone", Ozone)
register("wind", Wind)
register("stocks", Stocks)
