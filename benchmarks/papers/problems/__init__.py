"""Problems of the papers' experiments: with this import `make` knows them, too."""

from sktvbo import evaluation
from sktvbo.problems import make

# Importing these modules registers their problems.
from . import _cart_pole, _laboratory, _moving_bump, _sensors, _wlan  # noqa: F401

__all__ = ["Fresh", "make"]


class Fresh(evaluation.Fresh):
    """`sktvbo.evaluation.Fresh` that another process can make as well: its class imports these."""
