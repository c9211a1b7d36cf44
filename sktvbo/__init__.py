"""Time-varying Gaussian processes for scikit-learn, and optimizers that track a moving optimum."""

import logging
from importlib import import_module
from typing import TYPE_CHECKING

from . import _fast as _fast  # an ImportError that says what to do where it is not compiled

# Where the names of this module live: they are imported when they are asked for, so that one part
# of the package does not wait for all others.
_HOMES = {
    "_optimize": ("Call", "Optimization", "optimize"),
    "gaussian_process": ("SparseTimeVaryingGPRegressor", "TimeVaryingGPRegressor"),
    "_versions": ("show_versions",),
    "journal": ("Journal",),
    "optimizers": (
        "ABO",
        "BOLT",
        "BRGPUCB",
        "BayesianOptimizer",
        "ETGPUCB",
        "GPUCB",
        "IGPUCB",
        "RGPUCB",
        "RandomSearch",
        "SWGPUCB",
        "SparQGPUCB",
        "TVGPUCB",
        "UITVBO",
        "WDBO",
        "WGPUCB",
    ),
}
_SUBMODULES = (
    "acquisition",
    "domain",
    "dpp",
    "evaluation",
    "exceptions",
    "gaussian_process",
    "integrations",
    "journal",
    "kernels",
    "model_selection",
    "optimizers",
    "papers",
    "plotting",
    "problems",
    "relevancy",
    "staleness",
    "theory",
)

# Imports for type checkers and editors.
if TYPE_CHECKING:
    from ._optimize import Call as Call
    from ._optimize import Optimization as Optimization
    from ._optimize import optimize as optimize
    from ._versions import show_versions as show_versions
    from .gaussian_process import SparseTimeVaryingGPRegressor as SparseTimeVaryingGPRegressor
    from .gaussian_process import TimeVaryingGPRegressor as TimeVaryingGPRegressor
    from .journal import Journal as Journal
    from .optimizers import ABO as ABO
    from .optimizers import BOLT as BOLT
    from .optimizers import BRGPUCB as BRGPUCB
    from .optimizers import ETGPUCB as ETGPUCB
    from .optimizers import GPUCB as GPUCB
    from .optimizers import IGPUCB as IGPUCB
    from .optimizers import RGPUCB as RGPUCB
    from .optimizers import SWGPUCB as SWGPUCB
    from .optimizers import TVGPUCB as TVGPUCB
    from .optimizers import UITVBO as UITVBO
    from .optimizers import WDBO as WDBO
    from .optimizers import WGPUCB as WGPUCB
    from .optimizers import BayesianOptimizer as BayesianOptimizer
    from .optimizers import RandomSearch as RandomSearch
    from .optimizers import SparQGPUCB as SparQGPUCB

    __version__: str

__all__ = [name for names in _HOMES.values() for name in names]


def __getattr__(name):
    if name == "__version__":
        return import_module("importlib.metadata").version("sktvbo")
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__, *_SUBMODULES, "__version__"})


# Logging is off unless the application configures it.
logging.getLogger(__name__).addHandler(logging.NullHandler())
