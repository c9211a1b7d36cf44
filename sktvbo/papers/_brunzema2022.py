"""UI-TVBO.

P. Brunzema, A. von Rohr, S. Trimpe, "On Controller Tuning with Time-Varying Bayesian
Optimization", CDC 2022, from the authors' code (brunzema/uitvbo) on LQR problems: T = 300, 30
initial points, σ_w² = 0.03. The convex variant is left out.
"""

import copy

from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from .._validation import check_real
from ..acquisition import UCB
from ..gaussian_process import TimeVaryingGPRegressor
from ..optimizers import UITVBO
from ..optimizers._ask_tell import algorithm
from ._parts import GammaPrior

ERRATA = (
    "The paper's text was not available: all is from the authors' code.",
    "The code draws its initial points from a smaller box, and replaces costs above 100 by "
    "μ + 3σ. Here the points are from all of the domain, and failures are told.",
)

# In units of a lengthscale: prior Gamma(6, 10/3), whose mean is the start; bounds.
_SHAPE, _RATE, _BOUNDS = 6.0, 10.0 / 3.0, (0.5, 6.0)


class ScaledOnceGPRegressor(TimeVaryingGPRegressor):
    """Regressor that standardizes y by the rows of the first fit; its noise is in units of y²."""

    def fit(self, X, y, y_variance=None):
        """Learn location and scale of y, and the hyperparameters."""
        fresh = clone(self)
        fresh._advises = self._advises
        return self._replace_state(super(ScaledOnceGPRegressor, fresh).fit(X, y, y_variance))

    def _make_rows(self, X, y, variance, total, like=None, standardize=None, **known):
        rows = super()._make_rows(X, y, variance, total, like, standardize, **known)
        if like is not None:
            return rows
        # Location and scale of the first fit, in a state that its copies share.
        once = vars(self).setdefault("_once", {"location": rows.location, "scale": rows.scale})
        return rows._copy({"standardize": False, **once})

    def _standardize(self, restandardize):
        return False

    def _initial_covariance(self, rows, follow_data):
        scaled = copy.copy(self)
        scaled.noise_variance = self.noise_variance / rows.scale**2
        return super(ScaledOnceGPRegressor, scaled)._initial_covariance(rows, follow_data)


@algorithm
class PublishedUITVBO(UITVBO):
    """UI-TVBO as published, with one lengthscale for each coordinate.

    Parameters
    ----------
    noise_variance : float, default=2.5e-5
        Noise variance, 0.005², in units of y².
    width : float, default=8.0
        Side of the domain in the units of the prior of the lengthscales. The authors divide the
        gains by 3 and 1/4; their domain is then about 8 wide.

    Examples
    --------
    >>> from sktvbo import papers
    >>> papers.published("UI-TVBO", [(0.0, 1.0)]).width
    8.0
    """

    noise_variance: float = 0.005**2
    width: float = 8.0

    _surrogate_parameters = ("drift_variance", "noise_variance", "width")

    def _check_parameters(self):
        super()._check_parameters()
        check_real(self.noise_variance, "noise_variance", self, interval="(0, inf)")
        check_real(self.width, "width", self, interval="(0, inf)")

    def _make_surrogate(self, times):
        low, high = (bound / self.width for bound in _BOUNDS)
        return ScaledOnceGPRegressor(
            RBF([_SHAPE / _RATE / self.width] * times.n_unit, (low, high)),
            # 1 + σ_w² (min(t, t') − t_start), as in `UITVBO`.
            super()._make_surrogate(times).temporal_kernel,
            signal_variance_bounds="fixed",
            noise_variance=self.noise_variance,
            noise_variance_bounds="fixed",
            hyperpriors={"spatial_kernel__length_scale": GammaPrior(_SHAPE, _RATE * self.width)},
            normalize_y=True,
        )


def ui_tvbo(domain, *, drift_variance=0.03, n_initial_points=30, **parameters):
    """Return UI-TVBO."""
    own = {
        "drift_variance": drift_variance,
        "acquisition": UCB(2.0),
        "n_initial_points": n_initial_points,
        "refit_every": 1,
        "clock": "step",
    }
    return PublishedUITVBO(domain, **own | parameters)


ALGORITHMS = {"UI-TVBO": (ui_tvbo, "Brunzema, von Rohr & Trimpe", 2022)}
