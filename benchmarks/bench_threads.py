"""One fit with one and with all threads of the linear algebra: where a second thread pays."""

import numpy as np
from _timing import header, report, seconds
from sklearn.gaussian_process.kernels import Matern
from threadpoolctl import threadpool_limits

from sktvbo import TimeVaryingGPRegressor


def main():
    header(
        "Maximum-likelihood fit, d = 3; ours: one BLAS thread, theirs: as many as there are cores"
    )
    for n in (50, 100, 200, 300, 400, 800):
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.uniform(size=(n, 3)), np.arange(n)])
        y = np.sin(5.0 * X[:, 0] + X[:, 3] / 50.0) + 0.1 * rng.normal(size=n)
        gp = TimeVaryingGPRegressor(Matern(0.4, nu=2.5), Matern(20.0, nu=1.5))
        one, many = [], []
        for _ in range(7):
            with threadpool_limits(1):
                one.append(seconds(lambda: gp.fit(X, y))[0])  # noqa: B023
            many.append(seconds(lambda: gp.fit(X, y))[0])  # noqa: B023
        print(f"n = {n:3d}   {report(one, many)}")


if __name__ == "__main__":
    main()
