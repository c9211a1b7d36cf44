"""GP-UCB: keep everything, and take the function for static."""

from ._base import StaticAlgorithm
from ._parameters import algorithm


@algorithm
class GPUCB(StaticAlgorithm):
    """GP-UCB (Srinivas et al. 2012): the baseline that does not know of time.

    1. Query where μ + √β σ is largest; near the faces of a box σ counts for less, see the
       ``margin`` of `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation to the data set.
    3. Refit a Gaussian process of space alone.

    Nothing is ever forgotten.

    When to use it: the function does not change. When not: it does; old observations are believed
    as much as new ones, and the growing data set makes every step slower.

    Parameters
    ----------
    surrogate : TimeVaryingGPRegressor, default=None
        As in `BayesianOptimizer`; None is a ``Matern(nu=2.5)`` in space that is constant in time.

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

    label = "GP-UCB"
