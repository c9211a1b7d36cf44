"""Sparse regression: one evaluation of the bound with gradient, against a matrix product.

Time and memory should be linear in the rows n. The yardstick is the product (m x n)(n x m) of two
matrices, of which the bound needs several.
"""

import tracemalloc

import numpy as np
from _timing import seconds
from sklearn.gaussian_process.kernels import Matern

from sktvbo.gaussian_process import SparseTimeVaryingGPRegressor


def median(function, repeats=5):
    return np.median([seconds(function)[0] for _ in range(repeats)])


def main():
    m, d = 100, 3
    rng = np.random.default_rng(0)
    print(f"\nOne evaluation of the bound with gradient, m = {m}, d = {d}, Matern 5/2 x Matern 3/2")
    for n in (10_000, 20_000, 40_000, 80_000, 160_000):
        X = np.column_stack([rng.uniform(size=(n, d)), np.linspace(0.0, 10.0, n)])
        y = np.sin(5.0 * X[:, 0] + X[:, 3]) + 0.1 * rng.normal(size=n)
        A, B = rng.uniform(size=(2, n, m))
        elapsed = None

        # A search evaluates the bound like this: the memory is allocated once.
        def search(objective, theta, bounds):
            nonlocal elapsed
            objective(theta)
            elapsed = median(lambda: objective(theta))
            return theta, 0.0

        gp = SparseTimeVaryingGPRegressor(
            Matern(0.5, nu=2.5), Matern(3.0, nu=1.5), inducing=X[:: n // m][:m], optimizer=search
        ).fit(X, y)
        product = median(lambda A=A, B=B: A.T @ B)
        tracemalloc.start()
        gp.elbo(gp.theta_, eval_gradient=True)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"n = {n:7,d}   {1e3 * elapsed:8.1f} ms   {1e6 * elapsed / n:6.2f} us a row   "
            f"{peak / n / m / 8:4.1f} n x m arrays   product {1e3 * product:7.2f} ms   "
            f"ratio {elapsed / product:5.1f}"
        )


if __name__ == "__main__":
    main()
