"""Algorithms by their names in the literature."""

from sklearn.base import BaseEstimator, clone

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
    """Return a new optimizer, given an optimizer or the name of an algorithm.

    Parameters
    ----------
    algorithm : optimizer or str
        The name is the ``label`` of an algorithm: "W-DBO", "ET-GP-UCB", "random".
    name : str, default="algorithm"
        Name of the argument, for messages.
    owner : object, default=None
        Object whose parameter it is, for messages.

    Returns
    -------
    BayesianOptimizer
        Without a run: a clone of the given optimizer.

    Raises
    ------
    ValueError
        The argument is neither.
    """
    if isinstance(algorithm, str) and algorithm in _ALGORITHMS:
        return _ALGORITHMS[algorithm]()
    if not isinstance(algorithm, BaseEstimator):
        names = ", ".join(map(repr, _ALGORITHMS))
        raise invalid(name, f"an optimizer or one of {names}", algorithm, owner)
    return clone(algorithm)
