"""TV-GP-UCB: forget gradually."""

from __future__ import annotations

from numbers import Real

from .._validation import invalid
from ..gaussian_process._kernel_families import forgetting_rate
from ..kernels import Forgetting
from ._base import Algorithm
from ._parameters import algorithm
from ._surrogates import default_surrogate, smooth_kernel


@algorithm
class TVGPUCB(Algorithm):
    """TV-GP-UCB (Bogunovic et al. 2016, TVGP algorithm 2): correlation that decays with time.

    1. Query where μ + √β σ is largest now, under the covariance k_S(x, x') (1 − ε)^(``|t − t'|`` /
       2) (eq. 7-8); near the faces of a box σ counts for less, see the ``margin`` of
       `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation to the data set.
    3. Refit, ε included unless it is given (appendix B).

    Nothing is forgotten for good, so over a box a step becomes slower and slower. On a
    `~sktvbo.domain.FiniteSet` of M points, and while the hyperparameters are held, the posterior is
    an exact Kalman filter's: a step takes O(M²) however long the run. They are held between
    searches (``refit_every``), each O(n M²) or less; with ``refit_every=None`` from the first one
    on, and always if the ``surrogate`` has no ``optimizer``. Then memory, too, is constant with a
    ``history``.

    When to use it: the function changes all the time, like a Markov process. When not: it changes
    smoothly (`WDBO` models that), or the run over a box is long.

    Parameters
    ----------
    epsilon : float in (0, 1) or "learn", default="learn"
        Rate of change ε per unit of time.

    Attributes
    ----------
    epsilon_ : float
        ε per unit of time, as given or learnt.

    References
    ----------
    I. Bogunovic, J. Scarlett, V. Cevher, "Time-Varying Gaussian Process Bandit Optimization",
    AISTATS 2016.

    Examples
    --------
    >>> from sktvbo import TVGPUCB
    >>> opt = TVGPUCB([(0.0, 10.0)], n_initial_points=5, random_state=0)
    >>> for t in range(40):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.05 * t) ** 2)
    >>> bool(abs(opt.recommend(40)[0] - 7.0) < 1.0)
    True
    """

    epsilon: float | str = "learn"

    label = "TV-GP-UCB"

    _surrogate_parameters = ("epsilon",)

    @property
    def _learns(self):
        return isinstance(self.epsilon, str) and self.epsilon == "learn"

    def _check_parameters(self):
        super()._check_parameters()
        known = isinstance(self.epsilon, Real) and 0.0 < self.epsilon < 1.0
        if not (known or self._learns):
            expected = "'learn' or a float in the range (0, 1)"
            raise invalid("epsilon", expected, self.epsilon, self)

    def _make_beta(self):
        return "dimension"

    def _make_surrogate(self, times):
        if not self._learns:
            return default_surrogate(Forgetting(self.epsilon, "fixed"))
        # The same kernel is learnt by its lengthscale, -2 / log(1 - ε): with many queries in a unit
        # of time ε is so near to 1 that floats cannot tell.
        return default_surrogate(smooth_kernel(times, nu=0.5))

    @property
    def epsilon_(self) -> float:
        return forgetting_rate(self.surrogate_.temporal_kernel_)
