"""Versions for bug reports."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from threadpoolctl import threadpool_info

_NEEDED = ("sktvbo", "numpy", "scipy", "scikit-learn", "joblib")
_OPTIONAL = (
    "matplotlib",
    "jinja2",
    "tqdm",
    "pandas",
    "polars",
    "optuna",
    "gest-api",
    "distributed",
)


def show_versions() -> None:
    """Print the versions of Python, of the packages and of the linear algebra, for bug reports.

    Examples
    --------
    >>> import sktvbo
    >>> sktvbo.show_versions()
    Python ...
    """
    rows = [("Python", sys.version.split()[0]), ("machine", platform.platform())]
    for name in (*_NEEDED, *_OPTIONAL):
        try:
            rows.append((name, version(name)))
        except PackageNotFoundError:
            rows.append((name, "not installed"))
    for library in threadpool_info():
        threads = f"{library['version']}, {library['num_threads']} threads"
        rows.append((library["internal_api"], threads))
    for name, text in rows:
        print(f"{name:14s}{text}")
