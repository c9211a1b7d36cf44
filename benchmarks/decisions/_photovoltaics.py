"""Days of a string of three photovoltaic modules under clouds and moving shade; needs pvlib.

=============  ===================================================================================
Part           Model
=============  ===================================================================================
Weather        Greensboro, North Carolina: the typical year (TMY3) in pvlib's data, by the hour.
Clear sky      Ineichen. What the gaps between clouds let through of it, diffuse radiation,
               temperature and wind are interpolated between the middles of the hours.
Clouds         The share of an hour with sun is that without opaque clouds, or the share of the
               beam, if that is larger. Within the hour the beam is a smoothed threshold of an
               Ornstein-Uhlenbeck process of `CLOUD_TIME`: it goes on and off under broken clouds,
               and is constant in clear and overcast hours. Hourly means of beam and diffuse
               radiation are kept.
Modules        Three modules of 60 cells side by side, facing south at 30°. Single-diode model with
               the coefficients of the CEC; one bypass diode each. Cells warm up within minutes.
Shade          A lattice mast close by in the south-east and a tree in the south-west, `OBSTACLES`,
               take part of a cell's beam. The most shaded cell limits its module.
=============  ===================================================================================
"""

import functools
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.signal import lfilter
from scipy.special import ndtr, ndtri

from sktvbo.problems import Problem

try:
    import pvlib
except ImportError as exc:
    raise ImportError("This benchmark needs pvlib. Use: pip install pvlib") from exc

MODULE = "Canadian_Solar_Inc__CS6P_250P"
N_MODULES = 3
TILT, AZIMUTH = 30.0, 180.0
BYPASS = -0.5  # voltage of a bypassed module
CELL = 0.16  # metres
LEAST_IRRADIANCE = 50.0  # W/m2, horizontal, mean of an hour: the first and the last query
CLOUD_TIME = 5.0  # minutes
SOFTNESS = 0.3  # of the edge of a cloud, in standard deviations of the process

# Noise of a reading in units of the rated power.
NOISE = 0.002

# String voltages in units of the open-circuit voltage in standard test conditions.
BOX = [(0.3, 1.0)]
GRID = np.linspace(0.3, 1.0, 701)

# East and south of the middle of the lower edge of the array (m), height above it and radius (m),
# and the share of the beam that is taken.
OBSTACLES = (
    (2.6, 0.2, 3.4, 0.2, 0.6),  # lattice mast
    (-5.0, 3.0, 7.0, 0.6, 0.5),  # tree
)


@functools.cache
def weather():
    """Return the typical year, by the hour, and its location."""
    path = Path(pvlib.__file__).parent / "data" / "723170TYA.CSV"
    table, about = pvlib.iotools.read_tmy3(path, coerce_year=1990, map_variables=True)
    zone = f"Etc/GMT{-int(about['TZ']):+d}"
    place = pvlib.location.Location(about["latitude"], about["longitude"], zone, about["altitude"])
    return table.tz_convert(zone), place


def cloud_process(n, rng):
    """Return an Ornstein-Uhlenbeck process (n,) with mean 0 and variance 1, one value a minute."""
    memory, noise = np.exp(-1.0 / CLOUD_TIME), rng.normal(size=n)
    noise[1:] *= np.sqrt(1.0 - memory**2)
    return lfilter([1.0], [1.0, -memory], noise)


def beam_in_gaps(sunny, hour, process):
    """Return shares (n,) of the beam that have the means ``sunny`` (hours,) in each hour."""
    middles = 60.0 * np.arange(len(sunny)) + 30.0
    smooth = np.interp(np.arange(len(hour)) + 0.5, middles, sunny)
    level = process + np.hypot(1.0, SOFTNESS) * ndtri(np.clip(smooth, 1e-4, 1.0 - 1e-4))
    low, high = np.full(len(sunny), -12.0), np.full(len(sunny), 12.0)
    for _ in range(40):  # bisection: the mean of an hour increases with its level
        middle = 0.5 * (low + high)
        share = ndtr((level + middle[hour]) / SOFTNESS)
        below = np.bincount(hour, share) / 60.0 < sunny
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return share


def minutes(date, rng):
    """Return the weather of a day (a frame with 1440 rows) with DNI, DHI and GHI by the minute."""
    table, place = weather()
    start = pd.Timestamp(date, tz=table.index.tz)
    times = pd.date_range(start, periods=1440, freq="min") + pd.Timedelta("30s")
    hour = np.arange(1440) // 60
    rows = table.loc[start + pd.Timedelta("1h") : start + pd.Timedelta("24h")]  # ends of hours
    clear, sun = place.get_clearsky(times), place.get_solarposition(times)

    def smooth(values):
        return np.interp(np.arange(1440) + 0.5, 60.0 * np.arange(24) + 30.0, values)

    def ratio(name):
        mean = np.bincount(hour, clear[name]) / 60.0
        bright = np.flatnonzero(mean > 20.0)
        return np.interp(np.arange(24), bright, rows[name].to_numpy()[bright] / mean[bright])

    def with_means(values, name):
        means = np.bincount(hour, values) / 60.0
        wanted = rows[name].to_numpy()
        return values * np.divide(wanted, means, out=np.zeros(24), where=means > 0.0)[hour]

    beam = ratio("dni")
    sunny = np.clip(np.maximum(1.0 - rows["OpqCld (tenths)"].to_numpy() / 10.0, beam), 0.0, 1.0)
    sunny[beam <= 0.0] = 0.0
    through = np.divide(beam, sunny, out=np.zeros(24), where=sunny > 0.0)
    share = beam_in_gaps(sunny, hour, cloud_process(1440, rng))
    dni = with_means(clear["dni"] * share * smooth(through), "dni")
    dhi = with_means(clear["dhi"] * smooth(ratio("dhi")), "dhi")
    ghi = dni * np.cos(np.radians(sun["apparent_zenith"])).clip(lower=0.0) + dhi
    values = {"dni": dni, "dhi": dhi, "ghi": ghi}
    values |= {name: smooth(rows[name]) for name in ("temp_air", "wind_speed")}
    return pd.DataFrame(values, index=times).assign(
        zenith=sun["apparent_zenith"], azimuth=sun["azimuth"]
    )


def unshaded(zenith, azimuth):
    """Return the share of the beam (n, modules) that the most shaded cell of a module gets."""
    tilt, width = np.radians(TILT), 6.5 * CELL
    columns = width * (np.arange(N_MODULES) - 1.0)[:, np.newaxis] + CELL * (np.arange(6) - 2.5)
    along = CELL * (np.arange(10) + 0.5)[:, np.newaxis]
    x, y, z = columns.ravel(), -along * np.cos(tilt), along * np.sin(tilt)
    east, south = np.sin(np.radians(azimuth)), -np.cos(np.radians(azimuth))
    slope = np.tan(np.radians(90.0 - zenith))[:, np.newaxis, np.newaxis]
    east, south = east[:, np.newaxis, np.newaxis], south[:, np.newaxis, np.newaxis]
    left = np.ones((len(zenith), N_MODULES))
    for ahead_east, ahead_south, height, radius, opacity in OBSTACLES:
        to_east, to_south = ahead_east - x, ahead_south - y
        distance = to_east * east + to_south * south
        aside = np.abs(to_east * south - to_south * east)
        covered = np.clip(0.5 + (radius - aside) / CELL, 0.0, 1.0) * (distance > 0.0)
        covered = covered * np.clip(0.5 + (height - z - distance * slope) / CELL, 0.0, 1.0)
        covered = covered.max(axis=1).reshape(len(zenith), N_MODULES, 6).max(axis=2)
        left *= 1.0 - opacity * covered
    return left


@functools.cache
def module():
    """Return the coefficients of the module."""
    return pvlib.pvsystem.retrieve_sam("CECMod")[MODULE]


def string_power(irradiance, temperature):
    """Return the power in W (n, len(GRID)) at irradiances (n, modules) and temperatures (n,)."""
    names = ("alpha_sc", "a_ref", "I_L_ref", "I_o_ref", "R_sh_ref", "R_s", "Adjust")
    parameters = pvlib.pvsystem.calcparams_cec(
        irradiance, temperature[:, np.newaxis], *(float(module()[name]) for name in names)
    )
    parameters = [np.broadcast_to(p, irradiance.shape)[..., np.newaxis] for p in parameters]
    highest = 1.15 * float(module()["V_oc_ref"])
    diode = np.append(np.linspace(-1.0, 0.6 * highest, 40), np.linspace(0.61, 1.0, 100) * highest)
    current, voltage, _ = pvlib.singlediode.bishop88(diode, *parameters)
    power = np.empty((len(irradiance), len(GRID)))
    volts = GRID * N_MODULES * float(module()["V_oc_ref"])
    for i, (of_modules, at) in enumerate(zip(current, voltage)):
        shared = np.sort(of_modules[of_modules > -0.1])
        total = sum(
            np.maximum(np.interp(shared, own[::-1], v[::-1]), BYPASS)
            for own, v in zip(of_modules, at)
        )
        power[i] = volts * np.interp(volts, total[::-1], shared[::-1], right=0.0)
    return np.maximum(power, 0.0)


class Day(Problem):
    """Power in W of the string at a voltage, in units of the reference; time is in minutes.

    Parameters
    ----------
    date : str
        Month and day, such as "07-22".
    seed : int
        Seed of the clouds.

    Attributes
    ----------
    weather : DataFrame of horizon rows
        With ``cell``, the temperature of the cells in °C.
    irradiance : ndarray of shape (horizon, modules)
        What the modules get, in W/m2.
    power : ndarray of shape (horizon, len(GRID))
    """

    def __init__(self, date, seed):
        day = minutes(f"1990-{date}", np.random.default_rng([int(date.replace("-", "")), seed]))
        plane = pvlib.irradiance.get_total_irradiance(
            TILT, AZIMUTH, day["zenith"], day["azimuth"], day["dni"], day["ghi"], day["dhi"]
        )
        left = unshaded(day["zenith"].to_numpy(), day["azimuth"].to_numpy())
        direct, diffuse = plane["poa_direct"].to_numpy(), plane["poa_diffuse"].to_numpy()
        irradiance = direct[:, np.newaxis] * left + diffuse[:, np.newaxis]
        mean = pd.Series(irradiance.mean(axis=1), index=day.index)
        steady = pvlib.temperature.faiman(mean, day["temp_air"], day["wind_speed"])
        day["cell"] = pvlib.temperature.prilliman(steady, day["wind_speed"])
        around = day["ghi"].rolling(61, center=True, min_periods=1).mean()
        lit = np.flatnonzero(around > LEAST_IRRADIANCE)
        day, self.irradiance = day[lit[0] : lit[-1] + 1], irradiance[lit[0] : lit[-1] + 1]
        self.weather, self.power = day, string_power(self.irradiance, day["cell"].to_numpy())
        noise = NOISE * N_MODULES * float(module()["STC"])
        super().__init__(date, BOX, float(len(day)), noise**2)

    def _values(self, X, t):
        minute = np.minimum(np.broadcast_to(t, len(X)).astype(int), len(self.power) - 1)
        place = (X[:, 0] - GRID[0]) / (GRID[1] - GRID[0])
        left = np.clip(place.astype(int), 0, len(GRID) - 2)
        share = place - left
        return (1.0 - share) * self.power[minute, left] + share * self.power[minute, left + 1]

    def _argmax(self, t):
        minute = min(int(t), len(self.power) - 1)
        return GRID[[self.power[minute].argmax()]]

    def energy(self):
        """Return the sum of the largest powers of all minutes."""
        return self.power.max(axis=1).sum()


@functools.lru_cache(maxsize=64)
def day(date, seed):
    """Return a `Day`, which this process computes once."""
    return Day(date, seed)
