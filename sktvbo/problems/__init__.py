"""Time-varying problems with a known optimum, to be maximized: ``make(name)``, ``available()``."""

# Importing these modules enters their problems in the register that `make` reads.
from . import (  # noqa: F401
    _cart_pole,
    _markov,
    _moving_bump,
    _moving_peaks,
    _sensors,
    _synthetic,
    _wlan,
)
from ._base import Problem, available, from_callable, make

__all__ = ["Problem", "available", "from_callable", "make"]
