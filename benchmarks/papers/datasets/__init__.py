"""Real data of the literature's experiments: loaders and a download.

The data are not shipped. A loader looks for its file in ``data_dir``; else in the folder named by
the environment variable ``SKTVBO_DATA``; else in ``../shared/data`` beside the repository.
`fetch_intel_temperature` downloads an original and stores its file in scikit-learn's
``data_home``. All return a Bunch, whose ``DESCR`` describes each column.
"""

from ._intel_log import fetch_intel_temperature
from ._loaders import (
    load_intel_temperature,
    load_irish_wind,
    load_la_traffic,
    load_ny_ozone,
    load_sp500,
)
from ._table import MissingDataError

__all__ = [
    "MissingDataError",
    "fetch_intel_temperature",
    "load_intel_temperature",
    "load_irish_wind",
    "load_la_traffic",
    "load_ny_ozone",
    "load_sp500",
]
