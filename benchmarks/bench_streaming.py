"""Streaming: an appended or dropped row costs O(n²), so four times as much for twice the rows."""

import numpy as np
from _timing import report, seconds
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor


def main():
    rng = np.random.default_rng(0)
    calls = {}
    sizes = 1000, 2000
    for n in sizes:
        X = np.column_stack([rng.uniform(size=(n + 60, 2)), np.arange(n + 60.0)])
        y = np.sin(5.0 * X[:, 0] + X[:, 2] / 100.0)
        gp = TimeVaryingGPRegressor(Matern(0.3, nu=2.5), Matern(100.0, nu=1.5), optimizer=None)
        gp.fit(X[:n], y[:n])
        append, drop = [], []
        for i in range(n, n + 60):
            append.append(seconds(lambda: gp.partial_fit(X[[i]], y[[i]]))[0])  # noqa: B023
            drop.append(seconds(lambda: gp.forget([rng.integers(n)]))[0])  # noqa: B023
        calls[n] = append, drop
    print("\nOne row, ours: n = 1,000, theirs: ours at n = 2,000; the ratio should be below 5")
    for name, small, large in zip(("partial_fit", "forget"), *(calls[n] for n in sizes)):
        print(f"{name:>12}   {report(small, large)}")


if __name__ == "__main__":
    main()
