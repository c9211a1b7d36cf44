"""Models of every kind, for the tests of posteriors as optimizers use them."""

from functools import partial

import numpy as np
from gaussian_process.cases import START, make
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
)

from sktvbo.gaussian_process import (
    GeometricInjection,
    QuadraticInjection,
    QuadraticMean,
    SparseTimeVaryingGPRegressor,
    WeightedTimeVaryingGPRegressor,
)
from sktvbo.kernels import Forgetting, Wiener

make = partial(make, noise_variance=0.05)

# The first five use compiled covariances, the others the kernels' own.
MODELS = {
    "matern": make(Matern(0.4, nu=2.5), Matern(3.0, nu=1.5), mean_prior_std=1.5),
    "ard-rbf": make(RBF([0.4, 0.9]), RBF(4.0), normalize_y=True),
    "forgetting-injection": make(
        Matern(0.4, nu=1.5), Forgetting(0.1), noise_model=QuadraticInjection(0.3)
    ),
    "static": make(RBF(0.5), ConstantKernel(1.0, "fixed"), normalize_y=True),
    "prior-mean": make(
        Matern(0.4, nu=2.5), Matern(3.0, nu=1.5), prior_mean=QuadraticMean(0.8), normalize_y=True
    ),
    "season": make(
        Matern(0.4, nu=2.5),
        Matern(3.0, nu=2.5) + ConstantKernel(0.5) * Matern(9.0) * ExpSineSquared(0.8, 2.0),
        normalize_y=True,
    ),
    "wiener": make(RBF(0.4), Wiener(0.2, start=START), normalize_y=True),
    "rational-space": make(RationalQuadratic(0.4), Matern(3.0, nu=2.5)),
    "rational-time": make(Matern(0.4, nu=2.5), RationalQuadratic(3.0), normalize_y=True),
    "not-stationary-space": make(DotProduct(0.5), Wiener(0.1, start=START - 3.0)),
    "time-first": make(RBF([0.4, 0.9]), RBF(4.0), time_column=0),
    "weighted": make(
        RBF(0.4),
        Wiener(0.2, start=START),
        WeightedTimeVaryingGPRegressor,
        noise_model=GeometricInjection(0.9),
        mean_prior_std=np.inf,
        normalize_y=True,
    ),
    "sparse": make(
        Matern(0.4, nu=2.5),
        Matern(3.0, nu=1.5),
        SparseTimeVaryingGPRegressor,
        n_inducing=12,
        mean_prior_std=np.inf,
        random_state=0,
    ),
    "sparse-wiener": make(
        RBF(0.4), Wiener(0.2, start=START), SparseTimeVaryingGPRegressor, n_inducing=12,
        random_state=0,
    ),
}  # fmt: skip


def rows(gp, S, t):
    """Return X of the model for places (m, d) and times (m,)."""
    t = np.broadcast_to(t, len(S))
    return np.column_stack([t, S] if gp.time_column == 0 else [S, t])
