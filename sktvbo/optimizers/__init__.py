"""Ask/tell optimizers of functions that change with time."""

from ._abo import ABO
from ._base import BayesianOptimizer
from ._bolt import BOLT
from ._brgpucb import BRGPUCB
from ._etgpucb import ETGPUCB
from ._gpucb import GPUCB
from ._igpucb import IGPUCB
from ._queries import Query
from ._random_search import RandomSearch
from ._rgpucb import RGPUCB
from ._sparqgpucb import SparQGPUCB
from ._swgpucb import SWGPUCB
from ._tvgpucb import TVGPUCB
from ._uitvbo import UITVBO
from ._wdbo import WDBO
from ._wgpucb import WGPUCB

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
    "Query",
    "RandomSearch",
    "SparQGPUCB",
]
