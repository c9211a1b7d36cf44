"""Regression with outliers: ``robust=True`` beside other packages.

    python benchmarks/decisions/robust_regression.py
    python benchmarks/decisions/robust_regression.py --readings equal --methods robust pursuit

A function of unit standard deviation is observed with Gaussian noise of standard deviation 0.1, at
uniform places or at equidistant times. One reading in ten is an outlier. A seed draws a function,
places and outliers; all methods have the same ones. Space and time are in [0, 1] and [0, n). At 500
new places and times the error of the mean (RMSE) and the coverage of the 90 % intervals are those
of the noise-free function. Tables have means over the seeds with their standard errors.

=============  =====================================================================================
Readings       Outliers
=============  =====================================================================================
clean          None
symmetric      5 to 100 noise standard deviations, log-uniform, up or down
one-sided      as symmetric, only up
equal          one-sided, 60 to 80 noise standard deviations
=============  =====================================================================================

Methods are this package's two, scikit-learn's process, a Student-t process (GPy, Laplace's
approximation, 4 degrees of freedom), all with Matérn 5/2, and BoTorch's relevance pursuit with its
default kernel, RBF, at most 100 steps for each fit. Other packages have a lengthscale for each
column, of which time is one.
"""

import argparse
import time
import warnings

import numpy as np
from robust import Bowl, Drift
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from sktvbo import TimeVaryingGPRegressor

NOISE, SHARE, N_TEST = 0.1, 0.1, 500
READINGS = ("clean", "symmetric", "one-sided", "equal")

# Spatial dimensions, readings, whether it moves, and the function.
DATA = {
    "series": (0, 100, True, lambda n, rng: Drift(0, 1.0, 0.1 * n, 0.0, rng)),
    "still-2d": (2, 100, False, lambda n, rng: Drift(2, 0.3, 1e9, 0.0, rng)),
    "still-3d": (3, 100, False, lambda n, rng: Drift(3, 0.6, 1e9, 0.0, rng)),
    "draw-1d": (1, 100, True, lambda n, rng: Drift(1, 0.4, 0.3 * n, 0.0, rng)),
    "bowl-2d": (2, 100, True, lambda n, rng: Bowl(2, float(n), 0.0, rng)),
}


def data(name, readings, seed):
    """Return X (n, d + 1) with time last, y (n,), and X and f of the test; f has unit variance."""
    n_dims, n, moves, draw = DATA[name]
    rng = np.random.RandomState(seed)
    function = draw(n, rng)
    X = np.column_stack([rng.uniform(size=(n, n_dims)), np.arange(n) * float(moves)])
    times = rng.uniform(0.0, n - 1.0, N_TEST) * moves
    X_test = np.column_stack([rng.uniform(size=(N_TEST, n_dims)), times])
    f, f_test = (
        np.array([function(row[np.newaxis, :-1], row[-1])[0] for row in A]) for A in (X, X_test)
    )
    sizes = 10.0 ** rng.uniform(np.log10(5.0), 2.0, n)
    if readings == "equal":
        sizes = rng.uniform(60.0, 80.0, n)
    signs = rng.choice([-1.0, 1.0], n) if readings == "symmetric" else np.ones(n)
    bad = rng.permutation(n) < (0 if readings == "clean" else SHARE * n)
    y = f / f_test.std() + NOISE * (rng.normal(size=n) + np.where(bad, signs * sizes, 0.0))
    return X, y, X_test, f_test / f_test.std()


def ours(X, y, X_test, robust):
    """Return mean and standard deviation (m,) of f by this package."""
    still = {} if np.ptp(X[:, -1]) else {"temporal_kernel": ConstantKernel(1.0, "fixed")}
    gp = TimeVaryingGPRegressor(normalize_y=True, robust=robust, **still).fit(X, y)
    return gp.predict(X_test, return_std=True)


def units(X, X_test):
    """Return both without a constant time, or with the times of X in [0, 1]."""
    span = np.ptp(X[:, -1])
    scales = np.append(np.ones(X.shape[1] - 1), span or 1.0)
    return [(A / scales)[:, : None if span else -1] for A in (X, X_test)]


def scikit_learn(X, y, X_test):
    X, X_test = units(X, X_test)
    kernel = ConstantKernel(1.0) * Matern(np.full(X.shape[1], 0.3), nu=2.5) + WhiteKernel(0.01)
    gp = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=2, random_state=0)
    mean, std = gp.fit(X, y).predict(X_test, return_std=True)
    noise = gp.kernel_.k2.noise_level * y.var()
    return mean, np.sqrt(np.maximum(std**2 - noise, 0.0))


def student(X, y, X_test, degrees=4.0):
    import GPy

    X, X_test = units(X, X_test)
    middle, scale = np.median(y), y.std()
    np.random.seed(0)
    gp = GPy.core.GP(
        X,
        (y[:, np.newaxis] - middle) / scale,
        GPy.kern.Matern52(X.shape[1], lengthscale=0.3, ARD=True),
        GPy.likelihoods.StudentT(deg_free=degrees, sigma2=0.01),
        inference_method=GPy.inference.latent_function_inference.Laplace(),
    )
    gp[".*deg_free"].constrain_fixed(degrees)
    gp.optimize()
    mean, variance = gp.predict_noiseless(X_test)
    return middle + scale * mean[:, 0], scale * np.sqrt(variance[:, 0])


def pursuit(X, y, X_test):
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models.robust_relevance_pursuit_model import RobustRelevancePursuitSingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_default_dtype(torch.float64)
    X, X_test = (torch.tensor(A) for A in units(X, X_test))
    gp = RobustRelevancePursuitSingleTaskGP(X, torch.tensor(y[:, np.newaxis]))
    at_most = {"options": {"maxiter": 100}}
    fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp), optimizer_kwargs=at_most)
    with torch.no_grad():
        posterior = gp.posterior(X_test)
    return posterior.mean[:, 0].numpy(), posterior.variance[:, 0].sqrt().numpy()


METHODS = {
    "robust": lambda *data: ours(*data, robust=True),
    "plain": lambda *data: ours(*data, robust=False),
    "scikit-learn": scikit_learn,
    "student": student,
    "pursuit": pursuit,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--readings", nargs="+", choices=READINGS, default=READINGS)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'readings':12}{'data':10}{'method':14}{'RMSE':>16}{'coverage, %':>16}{'s':>8}")
    for readings in arguments.readings:
        for name in arguments.data:
            sets = [data(name, readings, seed) for seed in range(arguments.seeds)]
            for method in arguments.methods:
                start, found = time.perf_counter(), []
                for X, y, X_test, f in sets:
                    mean, std = METHODS[method](X, y, X_test)
                    inside = np.abs(f - mean) <= 1.645 * std
                    found.append([np.sqrt(np.mean((f - mean) ** 2)), 100.0 * inside.mean()])
                seconds = (time.perf_counter() - start) / len(sets)
                error = np.std(found, axis=0, ddof=1) / np.sqrt(len(sets))
                (rmse, coverage), (of_rmse, of_coverage) = np.mean(found, axis=0), error
                line = f"{readings:12}{name:10}{method:14}{rmse:8.3f} ± {of_rmse:.3f}"
                print(f"{line}{coverage:9.1f} ± {of_coverage:4.1f}{seconds:8.2f}", flush=True)


if __name__ == "__main__":
    main()
