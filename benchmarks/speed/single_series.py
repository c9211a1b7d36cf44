"""One long series by the Kalman filter, beside celerite2 and GPy if they can be imported.

    python benchmarks/speed/single_series.py [n]

Matérn 3/2, irregular times, fixed hyperparameters; ours is exact, celerite2's an approximation.
CPU seconds of this process, the least of 15, in turn.
"""

import sys
from functools import partial
from importlib.util import find_spec

import numpy as np
from _timing import seconds
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor


def quickest(calls, repeats=15):
    """Print the least time of each call of {name: call}, and return their results."""
    taken = {name: [] for name in calls}
    for _ in range(repeats):
        results = {}
        for name, call in calls.items():
            duration, results[name] = seconds(call)
            taken[name].append(duration)
    for name, durations in taken.items():
        print(f"{name:42s} {min(durations):9.4f}", flush=True)
    return results


def main(n=100_000):
    rng = np.random.RandomState(0)
    t = np.cumsum(rng.uniform(0.5, 1.5, size=n))
    y, X = np.sin(t / 30.0) + 0.1 * rng.normal(size=n), t[:, np.newaxis]
    new = np.sort(rng.uniform(t[0], t[-1], size=1000))
    gp = TimeVaryingGPRegressor(
        temporal_kernel=Matern(10.0, nu=1.5), noise_variance=0.01, optimizer=None, solver="kalman"
    ).fit(X, y)
    calls = {
        "ours: fit": partial(gp.fit, X, y),
        "ours: likelihood": lambda: gp.log_marginal_likelihood(gp.theta_),
        "ours: likelihood and gradient": lambda: gp.log_marginal_likelihood(gp.theta_, True),
        "ours: means of the rows": partial(gp.predict, X),
        "ours: means, deviations of the rows": partial(gp.predict, X, return_std=True),
        "ours: means of 1,000 times": partial(gp.predict, new[:, np.newaxis]),
        "ours: means, deviations of 1,000 times": partial(
            gp.predict, new[:, np.newaxis], return_std=True
        ),
    }
    if find_spec("celerite2"):
        import celerite2

        # Its Matérn 3/2 is a limit, reached as eps goes to 0; the default is 0.01.
        theirs = {}
        for eps in (1e-2, 1e-4):
            term = celerite2.terms.Matern32Term(sigma=1.0, rho=10.0, eps=eps)
            theirs[eps] = celerite2.GaussianProcess(term)

        def likelihood(eps):
            theirs[eps].compute(t, diag=np.full(n, 0.01))
            return theirs[eps].log_likelihood(y)

        for eps in theirs:
            calls[f"celerite2: likelihood, eps {eps}"] = partial(likelihood, eps)
        calls["celerite2: means of the rows"] = partial(theirs[1e-4].predict, y)
        calls["celerite2: means of 1,000 times"] = partial(theirs[1e-4].predict, y, new)
    print(f"{n} rows, seconds")
    results = quickest(calls)
    for name, value in results.items():
        if name.split(", eps")[0].endswith("likelihood"):
            print(f"{name:42s} log p(y) {value:.6f}")
    if find_spec("celerite2"):
        call = partial(theirs[1e-4].predict, y[:10_000], new[:100], return_var=True)
        theirs[1e-4].compute(t[:10_000], diag=np.full(10_000, 0.01))
        quickest({"celerite2: variances of 100 times, 10,000 rows": call}, repeats=1)
    if find_spec("GPy"):
        import GPy

        X, y = X[:2000], y[:2000]
        kernel = GPy.kern.src.sde_matern.sde_Matern32(1, variance=1.0, lengthscale=10.0)
        gp.fit(X, y)
        calls = {
            "GPy: likelihood and gradient, 2,000 rows": partial(
                GPy.models.StateSpace, X, y[:, np.newaxis], kernel, noise_var=0.01
            ),
            "ours: likelihood and gradient, 2,000 rows": lambda: gp.log_marginal_likelihood(
                gp.theta_, eval_gradient=True
            ),
        }
        results = quickest(calls, repeats=1)
        print("log p(y):", float(np.sum(results[next(iter(calls))].log_likelihood())), end=", ")
        print("ours", gp.log_marginal_likelihood_value_)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
