"""Algorithms that do not model time: random search and static Gaussian processes."""

from __future__ import annotations

import numpy as np

from .._validation import check_real, invalid
from ..acquisition import InformationGainBeta
from ..exceptions import AskTellError
from ._ask_tell import AskTell, absent, algorithm
from ._base import BayesianOptimizer
from ._default_models import static_surrogate


@algorithm
class RandomSearch(AskTell):
    """Uniform queries, independent of the observations: the baseline of all algorithms.

    1. Draw a point of the domain uniformly.
    2. Observe.

    When to use it: as a baseline. When not: otherwise.

    Notes
    -----
    It is a baseline in the experiments of Bogunovic, Scarlett & Cevher (2016), where time is
    counted in steps. `sktvbo.papers.published` has this ``clock``, see :doc:`/differences`.

    It has no model, and therefore no ``predict`` and no ``refit``. `recommend` returns the query of
    the best observation that satisfies the constraints. With a ``history`` the data set is the
    stored observations, at least 256, and the best one.

    Examples
    --------
    >>> from sktvbo import RandomSearch
    >>> opt = RandomSearch([(0.0, 1.0)], random_state=0)
    >>> x = opt.ask(0.0)
    >>> opt.tell(x, 1.0)
    >>> bool(opt.recommend(1.0) == x)
    True
    """

    label = "random"

    def _before_surrogate(self, run, data):
        limit = run.history.log.limit
        if limit is None or len(data) <= limit + 1:
            return data
        return data.drop([int(_best(run, data) == 0)])

    def _recommended(self, run, here, t):
        best = _best(here, here.data)
        if best is None:
            raise invalid(
                "The number of observations before recommend()",
                "at least 1 that matches 'fixed' and 'available' and satisfies the constraints",
                got=str(len(here.data) and "none that does"),
                error=AskTellError,
            )
        return here.data.rows[best, :-1]


def _best(run, data):
    """Return the index of the best observation that may be queried, None if there is none."""
    if not len(data):
        return None
    rows = data.rows[:, :-1]
    allowed = run.domain.queryable(rows)
    allowed[allowed] = run.domain.search_space().allowed(run.domain.unit_of(rows[allowed]))
    return int(np.argmax(np.where(allowed, run.sign * data.y, -np.inf))) if allowed.any() else None


# Factor of β in practice: with 1, queries are almost uniform.
_SCALE = 0.02


@algorithm
class GPUCB(BayesianOptimizer):
    """GP-UCB (Srinivas et al. 2012): the static baseline.

    1. Query where μ + √β σ is largest. UCB discounts σ near the faces of a box: see the ``margin``
       of `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation to the data set.
    3. Refit a Gaussian process of space alone.

    No observation is forgotten.

    When to use it: the function is static. When not: it changes. Old observations then weigh as
    much as new ones, and the growing data set makes every step slower.

    Notes
    -----
    The page :doc:`/differences` compares these defaults with the values of the paper.

    References
    ----------
    N. Srinivas, A. Krause, S. Kakade, M. Seeger, "Information-Theoretic Regret Bounds for Gaussian
    Process Optimization in the Bandit Setting", IEEE Transactions on Information Theory, 2012.

    Examples
    --------
    >>> from sktvbo import GPUCB
    >>> opt = GPUCB([(0.0, 1.0)], n_initial_points=4, clock="step", random_state=0)
    >>> for _ in range(12):
    ...     x = opt.ask()
    ...     opt.tell(x, -((x[0] - 0.3) ** 2))
    >>> bool(abs(opt.recommend()[0] - 0.3) < 0.05)
    True
    """

    policy: None = absent()
    # Without a kernel in time there are no seasons to learn.
    seasonal_periods: None = absent()

    label = "GP-UCB"

    _make_surrogate = staticmethod(static_surrogate)


@algorithm
class IGPUCB(BayesianOptimizer):
    """IGP-UCB (Chowdhury & Gopalan 2017): GP-UCB with β from the information gain.

    1. Query where μ + √β σ is largest, with β = 0.02 (B + R √(2 (γ + 1 + log(1/δ))))² and γ the
       information gain of the data set. UCB discounts σ near the faces of a box: see the ``margin``
       of `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation to the data set.
    3. Refit a Gaussian process of space alone.

    No observation is forgotten.

    When to use it: the function is static, with a known norm rather than a known distribution. When
    not: it changes.

    Parameters
    ----------
    norm_bound : float, default=1.0
        B, see `~sktvbo.acquisition.InformationGainBeta`.
    delta : float in (0, 1), default=0.1
        Probability that the confidence bound fails.

    Notes
    -----
    The page :doc:`/differences` compares these defaults with the values of the paper.

    The factor 0.02 of β is for practice. For the regret bound give
    ``acquisition=UCB(InformationGainBeta(norm_bound, delta=delta))``.

    References
    ----------
    S. R. Chowdhury, A. Gopalan, "On Kernelized Multi-armed Bandits", ICML 2017.

    Examples
    --------
    >>> from sktvbo import IGPUCB
    >>> opt = IGPUCB([(0.0, 10.0)], n_initial_points=5, random_state=0)
    >>> for t in range(25):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.0 * t) ** 2)
    >>> bool(abs(opt.recommend(25)[0] - 5.0) < 0.5)
    True
    """

    norm_bound: float = 1.0
    delta: float = 0.1
    policy: None = absent()
    # Without a kernel in time there are no seasons to learn.
    seasonal_periods: None = absent()

    label = "IGP-UCB"

    _acquisition_parameters = ("norm_bound", "delta")

    _make_surrogate = staticmethod(static_surrogate)

    def _check_parameters(self):
        super()._check_parameters()
        check_real(self.norm_bound, "norm_bound", self, interval="[0, inf)")
        check_real(self.delta, "delta", self, interval="(0, 1)")

    def _make_beta(self):
        return InformationGainBeta(self.norm_bound, delta=self.delta, scale=_SCALE)
