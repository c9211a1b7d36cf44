"""Algorithms by name."""

from sklearn.base import clone

from .._validation import invalid
from ._abo import ABO
from ._drifting import TVGPUCB, UITVBO, WGPUCB
from ._random_search import RandomSearch
from ._relevancy import BOLT, WDBO
from ._resets import BRGPUCB, ETGPUCB, RGPUCB, SWGPUCB
from ._sparq import SparQGPUCB
from ._static import GPUCB, IGPUCB

_ALGORITHMS = {
    kind.label: kind
    for kind in (
        ABO,
        BOLT,
        BRGPUCB,
        ETGPUCB,
        GPUCB,
        IGPUCB,
        RandomSearch,
        RGPUCB,
        SparQGPUCB,
        SWGPUCB,
        TVGPUCB,
        UITVBO,
        WDBO,
        WGPUCB,
    )
}


def as_optimizer(algorithm, name="algorithm", owner=None):
    """Return a new optimizer from any of the forms in which users give an algorithm.

    Parameters
    ----------
    algorithm : optimizer or str
        A name is that in the literature, an algorithm's ``label``: "W-DBO", "ET-GP-UCB", "random".
    name : str, default="algorithm"
        How messages call the argument.
    owner : object, default=None
        Whose parameter it is, for messages.

    Returns
    -------
    BayesianOptimizer
        Without a run; a given one is cloned.

    Raises
    ------
    ValueError
        Something else.
    """
    if isinstance(algorithm, str) and algorithm in _ALGORITHMS:
        return _ALGORITHMS[algorithm]()
    if isinstance(algorithm, str | type) or not hasattr(algorithm, "get_params"):
        names = ", ".join(map(repr, _ALGORITHMS))
        raise invalid(name, f"an optimizer or one of {names}", algorithm, owner)
    return clone(algorithm)
