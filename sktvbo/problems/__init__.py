"""Time-varying problems with a known optimum, to be maximized: ``make(name)``, ``available()``."""

# Importing these modules enters their problems in the register that `make` reads.
from . import _markov, _moving_bump, _sensors, _synthetic  # noqa: F401
from ._base import Problem, available, from_callable, make

__all__ = ["Problem", "available", "from_callable", "make"]
