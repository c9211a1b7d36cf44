"""Time-varying Gaussian processes for scikit-learn, and optimizers that track a moving optimum."""

import logging
from importlib import import_module
from typing import TYPE_CHECKING

# Where the names of this module live: they are imported when they are asked for, so that one part
# of the package does not wait for all others.
_HOMES = {
    "loops": ("optimize",),
    "gaussian_process": ("SparseTimeVaryingGPRegressor", "TimeVaryingGPRegressor"),
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
_ROOMS = (
    "acquisition",
    "datasets",
    "domain",
    "dpp",
    "evaluation",
    "exceptions",
    "gaussian_process",
    "integrations",
    "journal",
    "kernels",
    "loops",
    "model_selection",
    "optimizers",
    "plotting",
    "problems",
    "relevancy",
    "staleness",
    "theory",
)

# What checkers and editors are told of it.
if TYPE_CHECKING:
    from .gaussian_process import SparseTimeVaryingGPRegressor as SparseTimeVaryingGPRegressor
    from .gaussian_process import TimeVaryingGPRegressor as TimeVaryingGPRegressor
    from .loops import optimize as optimize
    from .optimizers import *  # noqa: F403

    __version__: str

__all__ = [name for names in _HOMES.values() for name in names]


def __getattr__(name):
    if name == "__version__":
        return import_module("importlib.metadata").version("sktvbo")
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__, *_ROOMS, "__version__"})


# Whoever wants to see what is logged says so, as of any library.
logging.getLogger(__name__).addHandler(logging.NullHandler())
