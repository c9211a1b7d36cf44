"""The training of wdbo_algo's model in NumPy: its Adam on its likelihood, several times faster.

    python training.py

compares the two: the largest difference of a parameter, and the times. `arena.py --quick` uses it.
"""

from functools import partial
from unittest.mock import patch

import numpy as np
from _timing import alternate, header
from scipy.linalg import blas, lapack
from scipy.spatial.distance import pdist

LEAST_NOISE = 1e-4  # gpytorch's


def _matern(s, nu):
    """k(r) and r k'(r), each over exp(-s), at s = sqrt(2 nu) r."""
    if nu == 0.5:
        return 1.0, -s
    if nu == 1.5:
        return 1.0 + s, -(s**2)
    return 1.0 + s + s**2 / 3.0, -(s**2) * (1.0 + s) / 3.0


class Loss:
    """Minus the log likelihood over n, of places (n, d) and, as the last column of X, times.

    Its parameters are those of the model in its order: noise, mean, amplitude, l_S, l_T; all but
    the mean before softplus.
    """

    def __init__(self, X, y, nus):
        n = len(y)
        self.y, self.nus = y, nus
        self._distances = [
            np.sqrt(2.0 * nu) * pdist(part) for nu, part in zip(nus, (X[:, :-1], X[:, -1:]))
        ]
        # Of pdist's pairs, and of the diagonal, in a matrix kept by columns.
        row, column = np.triu_indices(n, 1)
        self._below, self._diagonal = row * n + column, np.arange(n) * (n + 1)
        self._covariance = np.empty((n, n), order="F")

    def value_and_gradient(self, raw):
        """At raw (5,); the gradient (5,)."""
        noise, _, amplitude, l_S, l_T = np.logaddexp(0.0, raw)
        s, t = self._distances[0] / l_S, self._distances[1] / l_T
        k_S, dk_S = _matern(s, self.nus[0])
        k_T, dk_T = _matern(t, self.nus[1])
        decay = amplitude * np.exp(-(s + t))
        entries = self._covariance.ravel(order="K")
        entries[self._below] = k_S * k_T * decay
        entries[self._diagonal] = amplitude + noise + LEAST_NOISE

        factor, failed = lapack.dpotrf(self._covariance, lower=1, clean=0)
        if failed:
            raise np.linalg.LinAlgError("The covariance is not positive definite.")
        log_det = 2.0 * np.log(np.diagonal(factor)).sum()
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        rest = self.y - raw[1]
        alpha = blas.dsymv(1.0, inverse, rest, lower=1)
        # d(2 n loss)/dK = inverse - alpha alpha', each pair once and counted twice.
        entries = inverse.ravel(order="K")
        diagonal = entries[self._diagonal].sum() - alpha @ alpha
        pairs = 2.0 * (entries[self._below] - np.outer(alpha, alpha).ravel()[self._below])

        n = len(self.y)
        value = (rest @ alpha + log_det + n * np.log(2.0 * np.pi)) / (2.0 * n)
        pairs *= decay
        gradient = np.array(
            [
                diagonal,
                -2.0 * alpha.sum(),
                diagonal + pairs @ (k_S * k_T) / amplitude,
                -pairs @ (dk_S * k_T) / l_S,
                -pairs @ (k_S * dk_T) / l_T,
            ]
        )
        slopes = 1.0 / (1.0 + np.exp(-raw))
        slopes[1] = 1.0
        return value, slopes * gradient / (2.0 * n)


def train(X, y, nus, rate=0.1, steps=150):
    """Parameters (5,) after so many steps of Adam from 0."""
    loss = Loss(X, y, nus)
    raw, first, second = np.zeros((3, 5))
    for i in range(1, steps + 1):
        gradient = loss.value_and_gradient(raw)[1]
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient**2 - second)
        raw -= rate / (1.0 - 0.9**i) * first / (np.sqrt(second / (1.0 - 0.999**i)) + 1e-8)
    return raw


def _fit(model):
    """What the model's own `fit` does."""
    import torch

    nus = [kernel.nu for kernel in model.covar_module.base_kernel.kernels]
    raw = train(model.train_x.numpy(), model.train_y.numpy(), nus)
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), raw, strict=True):
            parameter.fill_(float(value))
    model.eval()
    model.likelihood.eval()


def quick_training():
    """A context in which wdbo_algo trains its model here."""
    from wdbo_algo.model import SpaceTimeGPModel

    return patch.object(SpaceTimeGPModel, "fit", _fit)


def _quickly(learn):
    with quick_training():
        return learn()


def main():
    import gpytorch
    import torch
    from wdbo_algo.model import learn_model_space_time

    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    kernel = gpytorch.kernels.MaternKernel
    rng = np.random.default_rng(0)
    header("150 steps of Adam; theirs: wdbo_algo's")
    for n, d in ((15, 1), (40, 3), (100, 6), (250, 4)):
        X = np.column_stack([rng.random((n, d)), np.sort(rng.random(n))])
        y = np.sin(5.0 * X[:, 0] + 7.0 * X[:, -1]) + 0.05 * rng.standard_normal(n)
        data = (X, kernel, [2.5], kernel, [1.5], (y - y.mean()) / y.std())
        theirs = partial(learn_model_space_time, *data)
        ours = partial(_quickly, theirs)
        parameters = [
            torch.cat([p.detach().ravel() for p in learn().parameters()])
            for learn in (ours, theirs)
        ]
        difference = float(torch.subtract(*parameters).abs().max())
        print(f"n {n:3}, d {d}: differ by {difference:.1e}   {alternate(ours, theirs, 3)}")


if __name__ == "__main__":
    main()
