"""R-GP-UCB: forget everything now and then."""

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from .. import theory
from ..staleness import PeriodicReset
from ._base import BayesianOptimizer, default_surrogate, static_surrogate

# Latest observations from which the rate of change is learnt.
_N_LEARN = 200


class RGPUCB(BayesianOptimizer):
    """R-GP-UCB (Bogunovic et al. 2016, TVGP algorithm 1): GP-UCB within blocks.

    1. Query where μ + √β σ is largest.
    2. Observe. When the block holds N observations, forget them all.
    3. Add the observation; refit a Gaussian process of space alone.

    With ``reset_period="auto"``, N is that of TVGP corollary 4.1 for the rate ε at which the
    function changes; ε is learnt by the marginal likelihood of a forgetting model of the last 200
    observations, whenever a block is full.

    When to use it: the function changes at a known, steady rate, and steps must stay cheap. When
    not: otherwise; ``TVGPUCB`` forgets gradually, ``ETGPUCB`` when something has happened, ``WDBO``
    what no longer matters.

    Parameters
    ----------
    reset_period : int or "auto", default="auto"
        N, observations in a block; for a known ε see :func:`sktvbo.theory.reset_period`.
    domain, surrogate, acquisition, n_initial_points, refit_every, maximize, clock, random_state
        See :class:`BayesianOptimizer`.

    Attributes
    ----------
    policy_ : PeriodicReset
        With the block's length, and with "auto" ``epsilon_``, ε per observation.

    Notes
    -----
    A block's first query is made with what the last block knew, where the paper draws it from the
    prior.

    References
    ----------
    I. Bogunovic, J. Scarlett, V. Cevher, "Time-Varying Gaussian Process Bandit Optimization",
    AISTATS 2016.

    Examples
    --------
    >>> from sktvbo import RGPUCB
    >>> opt = RGPUCB([(0.0, 10.0)], reset_period=20, n_initial_points=5, random_state=0)
    >>> for t in range(50):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.02 * t) ** 2)
    >>> len(opt.X_), opt.policy_.n_resets_
    (10, 2)
    """

    label = "R-GP-UCB"

    def __init__(
        self,
        domain=None,
        *,
        reset_period="auto",
        surrogate=None,
        acquisition=None,
        n_initial_points=15,
        refit_every=1,
        maximize=True,
        clock="wall",
        random_state=None,
    ):
        super().__init__(
            domain,
            surrogate=surrogate,
            acquisition=acquisition,
            n_initial_points=n_initial_points,
            refit_every=refit_every,
            maximize=maximize,
            clock=clock,
            random_state=random_state,
        )
        self.reset_period = reset_period

    def _make_policy(self):
        if isinstance(self.reset_period, str) and self.reset_period == "auto":
            return LearntReset()
        return PeriodicReset(self.reset_period)

    def _make_surrogate(self, times, recent):
        return static_surrogate()


class LearntReset(PeriodicReset):
    """Blocks of a length that follows the rate of change, learnt from the latest observations.

    Attributes
    ----------
    epsilon_ : float
        Rate of change ε per observation (TVGP eq. 3), as last learnt.
    """

    def __init__(self):
        super().__init__(period=None)

    def before_add(self, surrogate, x, t, y):
        """All rows when a block is full; see ``PeriodicReset``."""
        if not hasattr(self, "seen_"):
            self.seen_ = surrogate.X_train_[:, :-1], surrogate.y_train_
        X, values = self.seen_
        drop = super().before_add(surrogate, x, t, y)
        self.seen_ = np.vstack([X, x])[-_N_LEARN:], np.append(values, y)[-_N_LEARN:]
        return drop

    def _length(self, surrogate):
        X, y = self.seen_
        steps = np.arange(float(len(y)))
        # (1 - ε)^{|i - j| / 2} is a Matérn 1/2 of lengthscale -2 / log(1 - ε); ε is in (1e-5, 0.9).
        bounds = tuple(-2.0 / np.log1p([-0.9, -1e-5]))
        model = default_surrogate(Matern(20.0, bounds, nu=0.5))
        model.fit(np.column_stack([X, steps]), y)
        self.epsilon_ = float(-np.expm1(-2.0 / model.temporal_kernel_.length_scale))
        return theory.reset_period(
            self.epsilon_,
            spatial_kernel=model.spatial_kernel_,
            n_dims=X.shape[1],
            horizon=np.inf,
        )

    def record(self):
        """Columns of the optimizer's history."""
        return super().record() | {"epsilon": getattr(self, "epsilon_", None)}
