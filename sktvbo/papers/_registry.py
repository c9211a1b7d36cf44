"""The algorithms of all papers by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..optimizers._names import label_of
from . import (
    _bardou2024,
    _bogunovic2016,
    _bolt,
    _brunzema2022,
    _brunzema_et,
    _deng2022,
    _nyikosa2018,
    _sparq,
    _zhou2021,
)

if TYPE_CHECKING:
    from ..domain._context import DomainLike

_MODULES = (
    _bogunovic2016,
    _zhou2021,
    _deng2022,
    _brunzema2022,
    _brunzema_et,
    _nyikosa2018,
    _bardou2024,
    _bolt,
    _sparq,
)
_ALGORITHMS = {name: entry for module in _MODULES for name, entry in module.ALGORITHMS.items()}


class Available(NamedTuple):
    """Algorithm of `published`.

    Attributes
    ----------
    name : str
    paper : str
        Authors of the paper whose algorithm, or experiment with it, is followed.
    year : int
    """

    name: str
    paper: str
    year: int


def available() -> list[Available]:
    """Return name, paper and year of the algorithms of `published`.

    Returns
    -------
    list of (name, paper, year)

    Examples
    --------
    >>> from sktvbo import papers
    >>> papers.available()[2]
    Available(name='TV-GP-UCB', paper='Bogunovic, Scarlett & Cevher', year=2016)
    """
    return [Available(name, *paper) for name, (_, *paper) in _ALGORITHMS.items()]


def published(name: str, domain: DomainLike | None = None, **parameters: Any) -> Any:
    """Return an optimizer with an algorithm as in its paper, with the settings of its experiments.

    The classes of `sktvbo.optimizers` with the same names differ from the papers: they learn the
    hyperparameters with other bounds and a constant mean, explore less near the faces of a box, and
    forget at other times.

    Parameters
    ----------
    name : str
        Name of the literature, or of the class: "W-DBO" or "WDBO". See `available`.
    domain : Box, FiniteSet, list of (low, high) pairs, scipy.optimize.Bounds, or dict, default=None
        See `~sktvbo.optimizers.BayesianOptimizer`.
    **parameters : object
        Quantities that the paper assumes known, instead of those of its experiments (see Notes),
        and parameters of `~sktvbo.optimizers.BayesianOptimizer`.

    Returns
    -------
    BayesianOptimizer
        An instance of the class of the same name, if that class can be set as in the paper.

    Raises
    ------
    ValueError
        Unknown name; the message has the closest one.
        No ``horizon`` (see Notes).
    TypeError
        A parameter that the algorithm does not have.

    Notes
    -----
    Known quantities: ``noise_variance`` and ``spatial_kernel`` on the domain scaled to the unit
    box (GP-UCB, R-, TV-, ET- and SparQ-GP-UCB; a kernel also for IGP-, SW-, BR- and W-GP-UCB), with
    ``c1`` and ``c2`` of β = c1 log(c2 t) (the first four); ``epsilon`` (R- and TV-GP-UCB);
    ``horizon`` (R-, IGP-, SW-, BR- and W-GP-UCB, ABO, W-DBO, BOLT); ``block_length`` (R-GP-UCB);
    ``norm_bound``, ``noise_bound``, ``delta`` and ``variation_budget`` (IGP-, SW-, BR- and
    W-GP-UCB); ``window``, ``reset_period``, ``discount``; ``drift_variance``, ``noise_variance``
    and ``width`` (UI-TVBO); ``delta`` (ET-GP-UCB, ABO, SparQ-GP-UCB); ``lookahead`` (ABO);
    ``alpha`` (W-DBO); ``temporal_nu`` (W-DBO, BOLT).

    Algorithms that count steps have ``clock="step"``; times that you pass are counted in steps.
    ``horizon`` is the length of the run. It has no default, because it is a property of your run
    and not of an experiment. Every search of W-DBO and BOLT starts from a temporal lengthscale of
    0.69 ``horizon``, that of ABO from ``horizon``, in your unit. R-, SW-, BR- and W-GP-UCB derive
    ``block_length``, ``window``, ``reset_period`` and ``discount`` from it, in steps, and need
    either.

    To resume a run from a journal, pass ``journal=Journal(path, resume=True)`` as usual.

    Examples
    --------
    >>> from sktvbo import papers
    >>> opt = papers.published("TV-GP-UCB", [(0.0, 1.0)], epsilon=0.03, random_state=0)
    >>> for t in range(10):
    ...     x = opt.ask()
    ...     opt.tell(x, -(x[0] - 0.5 - 0.01 * t) ** 2)
    >>> opt.epsilon_
    0.03
    """
    make, *_ = _ALGORITHMS[label_of(str(name))]
    return make(domain, **parameters)
