"""R-GP-UCB: forget everything now and then."""

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern

from .. import theory
from .._validation import check_int
from ..gaussian_process._kernel_families import forgetting_rate
from ..staleness import PeriodicReset
from ._base import StaticAlgorithm
from ._parameters import algorithm

# The rate of change is learnt from at most this many of the latest observations.
_N_LEARN = 200


@algorithm
class RGPUCB(StaticAlgorithm):
    """R-GP-UCB (Bogunovic et al. 2016, TVGP algorithm 1): GP-UCB within blocks.

    1. Query where μ + √β σ is largest; near the faces of a box σ counts for less, see the
       ``margin`` of `~sktvbo.acquisition.UCB`.
    2. Observe. When the block holds N observations, forget them all.
    3. Add the observation; refit a Gaussian process of space alone.

    With ``reset_period="auto"``, N is that of TVGP corollary 4.1 for the rate ε at which the
    function changes; ε is learnt by the marginal likelihood of a forgetting model of the last 200
    observations, whenever a block is full. The model is the surrogate with another temporal kernel;
    where N is not known for its spatial kernel, that of a Matérn 5/2 is taken.

    When to use it: the function changes at a known, steady rate, and steps must stay cheap. When
    not: otherwise; `TVGPUCB` forgets gradually, `ETGPUCB` when something has happened, `WDBO`
    what no longer matters.

    Parameters
    ----------
    reset_period : int or "auto", default="auto"
        N, observations in a block; for a known ε see `sktvbo.theory.reset_period`.

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

    reset_period: int | str = "auto"

    label = "R-GP-UCB"

    def _check_parameters(self):
        super()._check_parameters()
        if not self._learns:
            check_int(self.reset_period, "reset_period", self)

    def _make_policy(self):
        if self._learns:
            return LearntReset()
        return PeriodicReset(self.reset_period)

    @property
    def _learns(self):
        return isinstance(self.reset_period, str) and self.reset_period == "auto"


class LearntReset(PeriodicReset):
    """Blocks of a length that follows the rate of change, learnt from the latest observations.

    Attributes
    ----------
    epsilon_ : float
        Rate of change ε per observation (TVGP eq. 3), as last learnt.
    """

    def __init__(self):
        super().__init__(period=None)

    def check(self, surrogate=None):
        """The period is learnt, and no parameter."""

    def watch(self, run):
        """Take the latest observations told, removed ones included."""
        self.latest_ = run.latest(_N_LEARN)

    def _length(self, surrogate):
        rows, y = self.latest_
        steps = np.arange(float(len(y)))
        model = _forgetting(surrogate).fit(np.column_stack([rows[:, :-1], steps]), y)
        self.epsilon_ = forgetting_rate(model.temporal_kernel_)
        kernel = model.spatial_kernel_
        return theory.reset_period(
            self.epsilon_,
            spatial_kernel=kernel if type(kernel) in (Matern, RBF) else Matern(nu=2.5),
            n_dims=rows.shape[1] - 1,
            horizon=np.inf,
        )

    def record(self):
        """Columns of the optimizer's history."""
        return super().record() | {"epsilon": getattr(self, "epsilon_", None)}


def _forgetting(surrogate):
    """The surrogate, unfitted, with a temporal kernel that forgets at a rate to be learnt."""
    # (1 - ε)^{|i - j| / 2} is a Matérn 1/2 of lengthscale -2 / log(1 - ε); ε is in (1e-5, 0.9).
    bounds = tuple(-2.0 / np.log1p([-0.9, -1e-5]))
    model = clone(surrogate).set_params(temporal_kernel=Matern(20.0, bounds, nu=0.5))
    priors = getattr(surrogate, "hyperpriors", None)
    if priors:
        others = {k: v for k, v in priors.items() if not k.startswith("temporal_kernel")}
        model.set_params(hyperpriors=others)
    if getattr(surrogate, "optimizer", True) is None:
        # What the user holds is held here too, and ε alone is learnt.
        spatial = clone(surrogate.spatial_kernel_)
        fixed = {f"{h.name}_bounds": "fixed" for h in spatial.hyperparameters}
        model.set_params(
            spatial_kernel=spatial.set_params(**fixed),
            signal_variance_bounds="fixed",
            noise_variance_bounds="fixed",
            optimizer="fmin_l_bfgs_b",
        )
    return model
