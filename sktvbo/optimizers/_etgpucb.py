"""ET-GP-UCB: forget everything when something has happened."""

from .._validation import check_real
from ..staleness import EventTriggeredReset
from ._base import StaticAlgorithm
from ._parameters import algorithm


@algorithm
class ETGPUCB(StaticAlgorithm):
    """ET-GP-UCB (Brunzema et al., ET algorithm 1): GP-UCB that starts afresh when contradicted.

    1. Query where μ + √β σ is largest; near the faces of a box σ counts for less, see the
       ``margin`` of `~sktvbo.acquisition.UCB`.
    2. Observe y. If ``|y − μ| > √ρ σ + w̄``, which a static function hardly ever does (lemma 3),
       forget everything.
    3. Add the observation; refit a Gaussian process of space alone.

    When to use it: the function changes abruptly now and then, and it is not known how often. When
    not: it drifts slowly, so that no single observation is conspicuous.

    Parameters
    ----------
    delta : float in (0, 1), default=0.1
        δ_B, probability of a reset though the function is static.

    Attributes
    ----------
    policy_ : EventTriggeredReset
        With the number of resets, and the last deviation and its bound.

    References
    ----------
    P. Brunzema, A. von Rohr, F. Solowjow, S. Trimpe, "Event-Triggered Time-Varying Bayesian
    Optimization".

    Examples
    --------
    >>> from sktvbo import ETGPUCB
    >>> opt = ETGPUCB([(0.0, 10.0)], n_initial_points=5, random_state=0)
    >>> for t in range(40):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - (2.0 if t < 25 else 8.0)) ** 2)
    >>> opt.policy_.n_resets_, bool(abs(opt.recommend(40)[0] - 8.0) < 0.5)
    (1, True)
    """

    delta: float = 0.1

    label = "ET-GP-UCB"

    def _check_parameters(self):
        super()._check_parameters()
        check_real(self.delta, "delta", self, interval="(0, 1)")

    def _make_policy(self):
        return EventTriggeredReset(self.delta)
