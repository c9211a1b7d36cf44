"""The real data that the literature's experiments use: loaders and a download.

The data are not shipped. A loader looks for its file in ``data_dir``; else in the folder that the
environment variable ``SKTVBO_DATA`` names; else in ``../shared/data`` beside the repository.
`fetch_intel_temperature` downloads the original and keeps what it makes of it in scikit-learn's
``data_home``. All return a Bunch, whose ``DESCR`` says what each column is.
"""

from ._intel_log import fetch_intel_temperature
from ._loaders import (
    load_intel_temperature,
    load_irish_wind,
    load_la_traffic,
    load_ny_ozone,
    load_sp500,
)

__all__ = [
    "fetch_intel_temperature",
    "load_intel_temperature",
    "load_irish_wind",
    "load_la_traffic",
    "load_ny_ozone",
    "load_sp500",
]
