"""Sensors and other arms: find the one with the largest reading as time passes.

The arms have no coordinates but an empirical covariance from earlier days, as in TVGP and ET.
"""

from functools import partial

import numpy as np
from datasets import (
    load_intel_temperature,
    load_irish_wind,
    load_la_traffic,
    load_ny_ozone,
    load_sp500,
)
from sklearn.covariance import ledoit_wolf
from sklearn.gaussian_process.kernels import ConstantKernel

from sktvbo._validation import invalid
from sktvbo.domain import Arms
from sktvbo.gaussian_process import TimeVaryingGPRegressor
from sktvbo.kernels import Empirical
from sktvbo.problems._base import Problem
from sktvbo.problems._registry import member

from ._laboratory import BINS_PER_DAY
from ._readings import between_rows, check_days, rows_of_days

_arms = partial(member, "_read")


class SensorArms(Problem):
    """Activate the arm with the largest reading; a subclass provides the readings.

    A subclass defines ``_read(data_dir)``, which may have further keyword-only options. It returns
    the readings (n_days * rows_per_day, m), the labels of the arms (m,), and rows_per_day.

    Parameters
    ----------
    name : str
    train, test : int or (int, int), default=None
        A day, counted from 0, or the first and the last, both included. None: the first and the
        second half of the days.
    horizon : float, default=None
        None: time counts rows of the test days. A number stretches these days over [0, horizon].
        Readings are interpolated linearly between rows; the last row lasts until the end.
    noise : float, default=0.0
        Variance of the noise that `observe` adds, as a fraction of the readings' variance in the
        test days.
    noise_variance : float, default=None
        The variance itself, in the unit of the normalized readings, instead of ``noise``.
    normalize : bool, default=True
        Shift and scale all readings by the same amounts, such that those of the training days have
        mean 0 and variance 1. The best arm is the same.
    random_state : int, RandomState, Generator or None, default=None
        Random state of the noise.
    data_dir : path-like, default=None
        See the loaders in `datasets`.
    **own
        Further options of ``_read``.

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
    ET normalizes "all data" with the training days; TVGP does not mention it. Normalizing each arm
    separately would be another problem: to find the arm furthest above its average. The prior mean
    of the surrogate is 0 for all arms, as in the papers, without their average readings.
    """

    def __init__(
        self,
        name,
        *,
        train=None,
        test=None,
        horizon=None,
        noise=0.0,
        noise_variance=None,
        normalize=True,
        random_state=None,
        data_dir=None,
        **own,
    ):
        table, self.labels, self._rows_per_day = self._read(data_dir, **own)
        training, testing = self._split(table, train, test)
        self.location, self.scale = 0.0, 1.0
        if normalize:
            self.location, self.scale = float(training.mean()), float(training.std())
        self.training = (training - self.location) / self.scale
        self._table = (testing - self.location) / self.scale
        horizon = len(testing) if horizon is None else horizon
        super().__init__(name, Arms(table.shape[1]), horizon, random_state=random_state)
        self._set_noise(noise, noise_variance)

    def _split(self, table, train, test):
        """Return the rows of the training days and of the test days."""
        n_days = len(table) // self._rows_per_day
        train = (0, n_days // 2 - 1) if train is None else train
        test = (n_days // 2, n_days - 1) if test is None else test
        train = check_days(train, "train", self, n_days)
        test = check_days(test, "test", self, n_days)
        if train[0] <= test[1] and test[0] <= train[1]:
            raise invalid("test", f"outside of the days of train, {train}", test, self)
        training = rows_of_days(table, train, self._rows_per_day)
        if len(training) < 2:
            raise invalid("train", "days with at least two rows", train, self)
        return training, rows_of_days(table, test, self._rows_per_day)

    @property
    def empirical_mean(self):
        return self.training.mean(axis=0)

    def empirical_kernel(self):
        """Return the kernel of the arms: their covariance in the training days.

        Returns
        -------
        Empirical
            The sample covariance. With no more training rows than arms it is singular, and the
            estimate of Ledoit and Wolf (2004) replaces it.
        """
        n, m = self.training.shape
        if n > m:
            return Empirical(np.cov(self.training, rowvar=False).reshape(m, m))
        return Empirical(ledoit_wolf(self.training)[0])

    def forgetting_rate(self):
        """Return the rate at which the arms forget, per row of the data: ε = 1 − ρ².

        Returns
        -------
        float in [0, 1]
            ρ is the correlation of successive readings of an arm on the same day, or on successive
            days with one row a day, about the arm's mean, over all arms and training days.
            ``Forgetting(epsilon)`` has the correlation √(1 − ε) over one step (TVGP eq. 4). ε is 1
            for a negative ρ.
        """
        n_rows, m = self.training.shape
        per_day = n_rows if self._rows_per_day == 1 else self._rows_per_day
        days = (self.training - self.empirical_mean).reshape(-1, per_day, m)
        now, later = days[:, :-1], days[:, 1:]
        rho = np.sum(now * later) / np.sqrt(np.sum(now**2) * np.sum(later**2))
        return float(1.0 - max(rho, 0.0) ** 2)

    def surrogate(self, temporal_kernel=None, noise_variance=None):
        """Return an unfitted surrogate with the empirical kernel and fixed hyperparameters.

        Parameters
        ----------
        temporal_kernel : Kernel, default=None
            For example ``Forgetting(0.03, "fixed")``, per unit of the problem's time. None:
            constant in time, for GP-UCB and the algorithms that reset.
        noise_variance : float, default=None
            None: 5 % of the arms' mean variance in the training days (TVGP section 5.2), plus the
            problem's noise variance.

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
        """Return values at time t; t and columns are broadcast."""
        n = len(self._table)
        if n == 1:
            return self._table[0, columns]
        return between_rows(self._table, np.minimum(t * (n / self.horizon), n - 1), columns)

    def _values(self, X, t):
        return self._at(np.asarray(t), self.domain.indices(X))

    def _argmax(self, t):
        return self.domain.points[np.argmax(self._at(np.asarray(t), np.arange(self.domain.size)))]


@_arms("temperature-arms", train=(0, 2), test=(3, 4))
class TemperatureArms(SensorArms):
    """Activate the hottest of 46 sensors, given their covariance in earlier days.

    A row is ten minutes, and there are eight days; for the parameters see `SensorArms`.

    Notes
    -----
    TVGP section 5.2: three days to train and two to test, ε = 0.03, resets every 15 steps, a noise
    variance of 5 % of the signal's, β = 0.8 log(0.4 t). ET section 5 and table 5: the same ε,
    resets and β, noise variance 0.01, and other pairs of test days after all earlier days, such as
    ``train=(0, 5), test=(6, 7)``. Theirs may be other days of the same log.

    Examples
    --------
    TV-GP-UCB as in TVGP, but for β:

    >>> from problems import make
    >>> from sktvbo import TVGPUCB, evaluation
    >>> from sktvbo.kernels import Forgetting
    >>> problem = make("temperature-arms")  # doctest: +SKIP
    >>> surrogate = problem.surrogate(Forgetting(0.03, "fixed"))  # doctest: +SKIP
    >>> optimizer = TVGPUCB(surrogate=surrogate, n_initial_points=1)  # doctest: +SKIP
    >>> result = evaluation.run(optimizer, problem, n_initial=1)  # doctest: +SKIP
    >>> degrees = problem.scale * result.average_regret  # doctest: +SKIP
    """

    def _read(self, data_dir):
        data = load_intel_temperature(data_dir=data_dir)
        return data.temperature, data.sensor_id, BINS_PER_DAY


@_arms("traffic", train=(0, 4), test=5)
class Traffic(SensorArms):
    """Find the least congested point of a motorway, with the highest speed.

    A row is five minutes, and there are seven days. With several test days the clock jumps from
    the end of one to the beginning of the next.

    Parameters
    ----------
    sensors : int or sequence of int, default=50
        Columns of the data, or a number of columns out of 207, drawn with a fixed seed.
    hours : (int, int), default=(6, 11)
        Hours of the day that are used.
    train, test, horizon, noise, noise_variance, normalize, random_state, data_dir
        See `SensorArms`.

    Notes
    -----
    TVGP section 5.2: ε = 0.04, a noise variance of 5.0 or 5 % of the signal's, β = 0.2 log(0.4 t),
    50 sensors. The paper has 357 sensors of another motorway, a month with two thirds for training,
    and 84 rows a day. Here are five days for training, two for testing, and 60 rows a day.
    """

    def _read(self, data_dir, *, sensors=50, hours=(6, 11)):
        data = load_la_traffic(data_dir=data_dir)
        columns = self._columns(sensors, data.speed.shape[1])
        first, last = self._hours(hours)
        hour = data.t % 86400.0 / 3600.0
        table = data.speed[(first <= hour) & (hour < last)][:, columns]
        return table, data.sensor_id[columns], len(table) // 7

    def _columns(self, sensors, n_columns):
        """Return the columns of the option ``sensors``."""
        if isinstance(sensors, int | np.integer) and 1 <= sensors <= n_columns:
            return np.sort(np.random.RandomState(0).permutation(n_columns)[:sensors])
        columns = np.asarray(sensors)
        if columns.ndim == 1 and columns.size and columns.dtype.kind in "iu":
            inside = 0 <= columns.min() <= columns.max() < n_columns
            if inside and len(np.unique(columns)) == len(columns):
                return columns
        columns = f"distinct columns from 0 to {n_columns - 1}"
        raise invalid(
            "sensors", f"an int in the range [1, {n_columns}] or {columns}", sensors, self
        )

    def _hours(self, hours):
        """Return first and last hour of the option ``hours``."""
        pair = np.asarray(hours)
        if pair.shape == (2,) and pair.dtype.kind in "iu" and 0 <= pair[0] < pair[1] <= 24:
            return pair
        raise invalid("hours", "two ints 0 <= first < last <= 24", hours, self)


@_arms("ozone")
class Ozone(SensorArms):
    """Find the site with the highest ozone; a step is a day.

    Parameters
    ----------
    version : {"2020", "summer2006"}, default="2020"
        25 sites and 338 days, or 28 sites and 62 days.
    train, test, horizon, noise, noise_variance, normalize, random_state, data_dir
        See `SensorArms`; a row is a day.

    Notes
    -----
    SparQ section 4.2 has 28 sites of New York City and two years, with a step a day, and learns its
    kernel's hyperparameters from the data. Its data set is not public.
    """

    def _read(self, data_dir, *, version="2020"):
        data = load_ny_ozone(version=version, data_dir=data_dir)
        return data.ozone, data.site_id, 1


@_arms("wind", train=(0, 6208), test=(6209, 6573))
class Wind(SensorArms):
    """Find the windiest of 12 Irish stations; a step is a day.

    The default tests 1978, after the 17 years before; for the parameters see `SensorArms`.
    """

    def _read(self, data_dir):
        data = load_irish_wind(data_dir=data_dir)
        return data.wind, data.station, 1


@_arms("stocks", train=(0, 435), test=(436, 1258))
class Stocks(SensorArms):
    """Find the most expensive of 48 stocks; a step is a trading day.

    The default tests the last 823 days; for the parameters see `SensorArms`.

    Notes
    -----
    ET appendix A and table 8, after Deng et al. (2022): 48 stocks, 823 steps, prices normalized to
    mean 0 and variance 1, noise variance 0.01. Theirs are other stocks. Of these, three are the
    most expensive at some time, and one most of the time.
    """

    def _read(self, data_dir):
        data = load_sp500(data_dir=data_dir)
        return data.close[:, data.largest], data.ticker[data.largest], 1
