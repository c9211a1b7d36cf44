"""Time-varying problems with a known optimum, to be maximized: ``make(name)``, ``available()``."""

# Importing these modules registers their problems for `make`.
from . import _markov, _moving_peaks, _synthetic  # noqa: F401
from ._base import Problem
from ._callable import from_callable
from ._registry import available, make

__all__ = ["Problem", "available", "from_callable", "make"]
