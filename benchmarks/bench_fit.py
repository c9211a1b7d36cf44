"""A fit of the hyperparameters at n = 400 against scikit-learn's, same kernel, same start."""

import warnings

import numpy as np
from _timing import alternate, header
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from sktvbo import TimeVaryingGPRegressor
from sktvbo.kernels import Separable


def main():
    header("Maximum-likelihood fit, n = 400, d = 3; theirs: scikit-learn")
    # scikit-learn says when an optimum is at a bound; so it is for both.
    warnings.simplefilter("ignore", ConvergenceWarning)
    rng = np.random.default_rng(0)
    n = 400
    X = np.column_stack([rng.uniform(size=(n, 3)), np.arange(n)])
    y = np.sin(5.0 * X[:, 0] + X[:, 3] / 50.0) + 0.1 * rng.normal(size=n)
    for spatial in (Matern(0.4, nu=2.5), Matern([0.4] * 3, nu=1.5), RBF(0.4)):
        temporal = Matern(20.0, nu=1.5)
        kernel = ConstantKernel(1.0, (1e-3, 1e3)) * Separable(spatial, temporal)
        kernel += WhiteKernel(0.01, (1e-6, 1e1))
        theirs = GaussianProcessRegressor(kernel, alpha=0.0)
        ours = TimeVaryingGPRegressor(spatial, temporal, noise_variance=0.01)
        line = alternate(lambda: ours.fit(X, y), lambda: theirs.fit(X, y), 7)  # noqa: B023
        value = ours.log_marginal_likelihood_value_
        difference = value - theirs.log_marginal_likelihood_value_
        print(f"{spatial!s:>42}   {line}   likelihood {value:.3f}, ours - theirs {difference:.0e}")


if __name__ == "__main__":
    main()
