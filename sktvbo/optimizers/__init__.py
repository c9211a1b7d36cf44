"""Ask/tell optimizers of functions that change with time."""

from ._base import BayesianOptimizer
from ._gpucb import GPUCB
from ._random_search import RandomSearch
from ._wdbo import WDBO

__all__ = ["GPUCB", "WDBO", "BayesianOptimizer", "RandomSearch"]
