"""Contents and sources of the data files."""

from ._table import Table


def _places(m):
    """Shapes of the coordinates of m sites; see `_table.places`."""
    return {"xy_km": (m, 2), "lat_deg": (m,), "lon_deg": (m,)}


def _ozone(n, m):
    """Shapes of the arrays common to both ozone files, n days and m sites."""
    return {"ozone_ppb": (n, m), "date": (n,), **_places(m), "imputed": (n, m)}


INTEL = Table(
    file="intel_lab_temperature.npz",
    shapes={
        "temperature_c": (1152, 46),
        "t_s": (1152,),
        "xy_m": (46, 2),
        "sensor_id": (46,),
        "fill_code": (1152, 46),
    },
    original='MIT CSAIL "Intel Lab Data", db.csail.mit.edu/labdata/labdata.html',
    rule="fetch_intel_temperature() downloads it and makes this file of it.",
    descr="intel_temperature.rst",
)

OZONE = {
    "2020": Table(
        file="ny_state_ozone_2020.npz",
        shapes={**_ozone(338, 25), "site_id": (25,), "site_name": (25,)},
        kinds={"date": "U", "imputed": "b", "site_name": "U"},
        original=(
            "US EPA AirData, daily maximum 8-hour ozone, "
            "aqs.epa.gov/aqsweb/airdata/download_files.html"
        ),
        rule="Fill the gaps linearly in time.",
        descr="ny_ozone_2020.rst",
    ),
    "summer2006": Table(
        file="ny_ozone_summer2006.npz",
        shapes={**_ozone(62, 28), "site_index": (28,)},
        kinds={"date": "U", "imputed": "b"},
        original="the data set NYdata of the R package spTimer, cran.r-project.org",
        rule="Fill the gaps linearly in time.",
        descr="ny_ozone_summer2006.rst",
    ),
}

TRAFFIC = Table(
    file="metr_la_speed_week1.npz",
    shapes={
        "speed_mph": (2016, 207),
        "t_s": (2016,),
        **_places(207),
        "sensor_id": (207,),
        "suspected_filled": (2016, 207),
    },
    kinds={"suspected_filled": "b"},
    original=(
        "METR-LA, with the detectors' positions in github.com/liyaguang/DCRNN, "
        "data/sensor_graph/graph_sensor_locations.csv"
    ),
    rule="Take the 7 days from 2012-03-01 and fill the gaps linearly in time.",
    descr="la_traffic.rst",
)

WIND = Table(
    file="irish_wind.npz",
    shapes={
        "wind_knots": (6574, 12),
        "date": (6574,),
        **_places(12),
        "station": (12,),
        "station_name": (12,),
    },
    kinds={"date": "U", "station": "U", "station_name": "U"},
    original="the data set wind of the R package gstat, cran.r-project.org",
    descr="irish_wind.rst",
)

STOCKS = Table(
    file="sp500_subset_close.npz",
    shapes={
        "close_usd": (1259, 94),
        "date": (1259,),
        "ticker": (94,),
        "idx48": (48,),
        "last823_start": (),
    },
    kinds={"date": "U", "ticker": "U"},
    original='"S&P 500 stock data" of C. Nugent, kaggle.com/datasets/camnugent/sandp500',
    rule=(
        "Of the first 100 tickers keep the 94 without a missing day; idx48 are the columns of "
        "the 48 with the largest median of close times volume over the first 252 days."
    ),
    descr="sp500.rst",
)
