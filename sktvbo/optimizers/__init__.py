"""Ask/tell optimizers of functions that change with time."""

from ._base import BayesianOptimizer
from ._drifting import ABO, TVGPUCB, UITVBO, WGPUCB
from ._earlier import Prior
from ._relevancy import BOLT, WDBO
from ._resets import BRGPUCB, ETGPUCB, RGPUCB, SWGPUCB
from ._sparq import SparQGPUCB
from ._state import Query
from ._static import GPUCB, IGPUCB, RandomSearch

__all__ = [
    "ABO",
    "BOLT",
    "BRGPUCB",
    "ETGPUCB",
    "GPUCB",
    "IGPUCB",
    "RGPUCB",
    "SWGPUCB",
    "TVGPUCB",
    "UITVBO",
    "WDBO",
    "WGPUCB",
    "BayesianOptimizer",
    "Prior",
    "Query",
    "RandomSearch",
    "SparQGPUCB",
]
