"""Loaders of the data files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import Bunch

from sktvbo._validation import check_choice

from ._files import INTEL, OZONE, STOCKS, TRAFFIC, WIND
from ._table import damaged, data_frame, dates, floats, places, seconds

if TYPE_CHECKING:
    from typing import Literal

    from sktvbo._typing import PathLike


def load_intel_temperature(*, data_dir: PathLike | None = None, as_frame: bool = False) -> Bunch:
    """Load the Intel Berkeley lab temperatures: 46 sensors, 10-minute means, 8 days.

    Parameters
    ----------
    data_dir : path-like, default=None
        Folder of ``intel_lab_temperature.npz``. None: the folder named by
        ``SKTVBO_DATA``, see `datasets`.
    as_frame : bool, default=False
        Also return a pandas data frame.

    Returns
    -------
    Bunch
        ``temperature`` of shape (1152, 46), ``t``, ``xy``, ``sensor_id``, ``fill_code``, ``frame``,
        and ``DESCR``, which describes them.

    Raises
    ------
    MissingDataError, InvalidObservationError, MissingExtraError
        The file is missing; it is damaged; ``as_frame=True`` without pandas.

    Notes
    -----
    Source: MIT CSAIL "Intel Lab Data", the data of TVGP section 5.2, W-DBO appendix G.2 and
    ET section 5. `fetch_intel_temperature` makes such a file of the original log.

    Examples
    --------
    >>> from datasets import load_intel_temperature
    >>> data = load_intel_temperature()  # doctest: +SKIP
    >>> data.temperature.shape  # doctest: +SKIP
    (1152, 46)
    """
    path, arrays = INTEL.load(data_dir)
    t = seconds(path, arrays["t_s"], 600)
    temperature = floats(arrays["temperature_c"])
    return Bunch(
        temperature=temperature,
        t=t,
        xy=floats(arrays["xy_m"]),
        sensor_id=arrays["sensor_id"],
        fill_code=arrays["fill_code"],
        frame=data_frame(temperature, t, arrays["sensor_id"]) if as_frame else None,
        DESCR=INTEL.describe(),
    )


def load_ny_ozone(
    *,
    version: Literal["2020", "summer2006"] = "2020",
    data_dir: PathLike | None = None,
    as_frame: bool = False,
) -> Bunch:
    """Load the daily ozone of New York State.

    Parameters
    ----------
    version : {"2020", "summer2006"}, default="2020"
        25 sites and 338 days of 2020, or 28 sites and the 62 days of July and August 2006.
    data_dir : path-like, default=None
        Folder of ``ny_state_ozone_2020.npz`` or ``ny_ozone_summer2006.npz``. None: the
        folder named by ``SKTVBO_DATA``, see `datasets`.
    as_frame : bool, default=False
        Also return a pandas data frame.

    Returns
    -------
    Bunch
        ``ozone`` of shape (338, 25), or (62, 28) for 2006, ``date``, ``t``, ``xy``, ``lat_deg``,
        ``lon_deg``, ``site_id``, ``site_name``, ``imputed``, ``frame``, and ``DESCR``, which
        describes them.

    Raises
    ------
    MissingDataError, InvalidObservationError, MissingExtraError
        The file is missing; it is damaged; ``as_frame=True`` without pandas.
    ValueError
        An unknown version.

    Notes
    -----
    Source: US EPA AirData, daily maximum 8-hour ozone. SparQ section 4.2 has 28 sites and two years
    of New York City, a set that is not public.

    Examples
    --------
    >>> from datasets import load_ny_ozone
    >>> data = load_ny_ozone()  # doctest: +SKIP
    >>> data.ozone.shape  # doctest: +SKIP
    (338, 25)
    """
    table = OZONE[check_choice(version, tuple(OZONE), "version")]
    path, arrays = table.load(data_dir)
    date, t = dates(path, arrays["date"])
    ozone = floats(arrays["ozone_ppb"])
    where = places(arrays)
    frame = None
    if as_frame:
        n_days, n_sites = ozone.shape
        columns = {
            "date": np.repeat(date.astype("datetime64[s]"), n_sites),
            "day": np.repeat(t, n_sites),
            "x_km": np.tile(where["xy"][:, 0], n_days),
            "y_km": np.tile(where["xy"][:, 1], n_days),
            "ozone_ppb": ozone.ravel(),
        }
        frame = data_frame(columns)
    return Bunch(
        ozone=ozone,
        date=date,
        t=t,
        site_id=arrays["site_id" if version == "2020" else "site_index"],
        site_name=arrays.get("site_name"),
        imputed=arrays["imputed"],
        frame=frame,
        DESCR=table.describe(),
        **where,
    )


def load_la_traffic(*, data_dir: PathLike | None = None, as_frame: bool = False) -> Bunch:
    """Load the speed of the traffic in Los Angeles: 207 detectors, 5-minute means, 7 days.

    Parameters
    ----------
    data_dir : path-like, default=None
        Folder of ``metr_la_speed_week1.npz``. None: the folder named by
        ``SKTVBO_DATA``, see `datasets`.
    as_frame : bool, default=False
        Also return a pandas data frame.

    Returns
    -------
    Bunch
        ``speed`` of shape (2016, 207), ``t``, ``xy``, ``lat_deg``, ``lon_deg``, ``sensor_id``,
        ``suspected_filled``, ``frame``, and ``DESCR``, which describes them.

    Raises
    ------
    MissingDataError, InvalidObservationError, MissingExtraError
        The file is missing; it is damaged; ``as_frame=True`` without pandas.

    Notes
    -----
    Source: METR-LA. It replaces the data of TVGP section 5.2, the I-880 in California.

    Examples
    --------
    >>> from datasets import load_la_traffic
    >>> data = load_la_traffic()  # doctest: +SKIP
    >>> data.speed.shape  # doctest: +SKIP
    (2016, 207)
    """
    path, arrays = TRAFFIC.load(data_dir)
    t = seconds(path, arrays["t_s"], 300)
    speed = floats(arrays["speed_mph"])
    return Bunch(
        speed=speed,
        t=t,
        sensor_id=arrays["sensor_id"],
        suspected_filled=arrays["suspected_filled"],
        frame=data_frame(speed, t, arrays["sensor_id"]) if as_frame else None,
        DESCR=TRAFFIC.describe(),
        **places(arrays),
    )


def load_irish_wind(*, data_dir: PathLike | None = None, as_frame: bool = False) -> Bunch:
    """Load the wind of Ireland: 12 stations, daily means, 18 years.

    Parameters
    ----------
    data_dir : path-like, default=None
        Folder of ``irish_wind.npz``. None: the folder named by
        ``SKTVBO_DATA``, see `datasets`.
    as_frame : bool, default=False
        Also return a pandas data frame.

    Returns
    -------
    Bunch
        ``wind`` of shape (6574, 12), ``date``, ``t``, ``xy``, ``lat_deg``, ``lon_deg``,
        ``station``, ``station_name``, ``frame``, and ``DESCR``, which describes them.

    Raises
    ------
    MissingDataError, InvalidObservationError, MissingExtraError
        The file is missing; it is damaged; ``as_frame=True`` without pandas.

    Notes
    -----
    Source: Haslett and Raftery, Applied Statistics, 1989.

    Examples
    --------
    >>> from datasets import load_irish_wind
    >>> data = load_irish_wind()  # doctest: +SKIP
    >>> data.wind.shape  # doctest: +SKIP
    (6574, 12)
    """
    path, arrays = WIND.load(data_dir)
    date, t = dates(path, arrays["date"])
    wind = floats(arrays["wind_knots"])
    return Bunch(
        wind=wind,
        date=date,
        t=t,
        station=arrays["station"],
        station_name=arrays["station_name"],
        frame=data_frame(wind, date, arrays["station"]) if as_frame else None,
        DESCR=WIND.describe(),
        **places(arrays),
    )


def load_sp500(*, data_dir: PathLike | None = None, as_frame: bool = False) -> Bunch:
    """Load the closing prices of 94 US stocks, 1259 trading days.

    Parameters
    ----------
    data_dir : path-like, default=None
        Folder of ``sp500_subset_close.npz``. None: the folder named by
        ``SKTVBO_DATA``, see `datasets`.
    as_frame : bool, default=False
        Also return a pandas data frame.

    Returns
    -------
    Bunch
        ``close`` of shape (1259, 94), ``date``, ``t``, ``ticker``, ``largest``, ``last823``,
        ``frame``, and ``DESCR``, which describes them.

    Raises
    ------
    MissingDataError, InvalidObservationError, MissingExtraError
        The file is missing; it is damaged; ``as_frame=True`` without pandas.

    Notes
    -----
    It replaces the 48 stocks and 823 days of Deng et al. (2022), in ET appendix A.

    Examples
    --------
    >>> from datasets import load_sp500
    >>> data = load_sp500()  # doctest: +SKIP
    >>> data.close.shape  # doctest: +SKIP
    (1259, 94)
    """
    path, arrays = STOCKS.load(data_dir)
    date, t = dates(path, arrays["date"], daily=False)
    close = floats(arrays["close_usd"])
    n_days, n_stocks = close.shape
    largest, last823 = arrays["idx48"].astype(np.intp), int(arrays["last823_start"])
    if len(np.unique(largest)) < len(largest) or not 0 <= largest.min() <= largest.max() < n_stocks:
        raise damaged(path, f"idx48 must be distinct columns from 0 to {n_stocks - 1}")
    if last823 != n_days - 823:
        raise damaged(path, f"last823_start must be {n_days - 823}. Got {last823} instead")
    return Bunch(
        close=close,
        date=date,
        t=t,
        ticker=arrays["ticker"],
        largest=largest,
        last823=last823,
        frame=data_frame(close, date, arrays["ticker"]) if as_frame else None,
        DESCR=STOCKS.describe(),
    )
