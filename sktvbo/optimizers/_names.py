"""Algorithms by their names in the literature."""

from sklearn.base import BaseEstimator, clone

from .._validation import choose, invalid
from ._drifting import ABO, TVGPUCB, UITVBO, WGPUCB
from ._relevancy import BOLT, WDBO
from ._resets import BRGPUCB, ETGPUCB, RGPUCB, SWGPUCB
from ._sparq import SparQGPUCB
from ._static import GPUCB, IGPUCB, RandomSearch

ALGORITHMS = {
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


def label_of(text, name="An algorithm", owner=None):
    """Return the label of an algorithm, given its label or the name of its class.

    Case, hyphens and other signs do not count: "W-DBO", "wdbo", "WDBO".
    """
    label = choose(text, (*ALGORITHMS, RandomSearch.__name__), name, owner)
    return label if label in ALGORITHMS else RandomSearch.label


def as_optimizer(algorithm, name="algorithm", owner=None):
    """Return a new optimizer, given an optimizer or the name of an algorithm.

    Parameters
    ----------
    algorithm : optimizer or str
        See `label_of`.
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
        The argument is neither; the message states the closest name.
    """
    if isinstance(algorithm, str):
        return ALGORITHMS[label_of(algorithm, name, owner)]()
    if not isinstance(algorithm, BaseEstimator):
        names = ", ".join(map(repr, ALGORITHMS))
        raise invalid(name, f"an optimizer or one of {names}", algorithm, owner)
    return clone(algorithm)
