"""W-GP-UCB: weights that fade."""

from .._validation import check_real
from ..acquisition import InformationGainBeta
from ..gaussian_process import GeometricInjection, WeightedGPRegressor
from ._base import Algorithm
from ._parameters import algorithm
from ._surrogates import static_surrogate


@algorithm
class WGPUCB(Algorithm):
    """W-GP-UCB (Deng et al. 2022): weighted regression, with weights that fade.

    1. Query where μ + √β s is largest: μ from the observations weighted by discount^age, s from its
       two matrices (`~sktvbo.gaussian_process.WeightedGPRegressor`); near the faces of a box s
       counts for less, see the ``margin`` of `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation to the data set.
    3. Refit a Gaussian process of space alone, of which the noise variance is σ² discount^(−age).

    When to use it: the function drifts steadily, at a known pace. When not: `TVGPUCB` learns the
    pace, and its variance grows where nothing new was seen.

    Parameters
    ----------
    discount : float in (0, 1], default=0.99
        Weight that is left after a unit of time. The regret bound has 1 − discount = γ_T^{−1/4}
        √(B_T / T).

    Notes
    -----
    The published confidence bound does not hold at all times at once; β spends its δ over the steps
    (`~sktvbo.acquisition.InformationGainBeta`, ``anytime=True``). Its constants are from
    secondary sources.

    References
    ----------
    Y. Deng, X. Zhou, B. Kim, A. Tewari, A. Gupta, N. Shroff, "Weighted Gaussian Process Bandits for
    Non-stationary Environments", AISTATS 2022.

    Examples
    --------
    >>> from sktvbo import WGPUCB
    >>> opt = WGPUCB([(0.0, 10.0)], discount=0.9, n_initial_points=5, random_state=0)
    >>> for t in range(40):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.02 * t) ** 2)
    >>> bool(abs(opt.recommend(40)[0] - 5.8) < 1.0)
    True
    """

    discount: float = 0.99

    label = "W-GP-UCB"

    _surrogate_parameters = ("discount",)

    def _check_parameters(self):
        super()._check_parameters()
        check_real(self.discount, "discount", self, interval="(0, 1]")

    def _make_beta(self):
        return InformationGainBeta(anytime=True)

    def _make_surrogate(self, times):
        return static_surrogate(
            kind=WeightedGPRegressor, noise_model=GeometricInjection(self.discount)
        )
