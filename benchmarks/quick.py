"""The slow parts of wdbo_algo with the same results: its training, its bound and its criterion.

    python quick.py

compares them with theirs: the largest difference, and the times. `arena.py --quick` uses them.
"""

from contextlib import contextmanager
from functools import cache, partial
from unittest.mock import patch

import numpy as np
from _timing import alternate, header
from scipy.linalg import blas, lapack
from scipy.spatial.distance import pdist, squareform
from sklearn.gaussian_process.kernels import Matern

from sktvbo.relevancy import spatial_convolution, temporal_convolution

LEAST_NOISE = 1e-4  # gpytorch's
FEW = 50  # observations, of which their criterion takes some hundredths of a second


def _matern(s, nu):
    """k(r) and r k'(r), each over exp(-s), at s = sqrt(2 nu) r."""
    if nu == 0.5:
        return 1.0, -s
    if nu == 1.5:
        return 1.0 + s, -(s**2)
    return 1.0 + s + s**2 / 3.0, -(s**2) * (1.0 + s) / 3.0


class Loss:
    """What they train on: minus the log likelihood over n, X (n, d + 1) being places and times.

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

    def gradient(self, raw):
        """At raw (5,): (5,)."""
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
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        alpha = blas.dsymv(1.0, inverse, self.y - raw[1], lower=1)
        # d(2 n loss)/dK = inverse - alpha alpha', each pair once and counted twice.
        entries = inverse.ravel(order="K")
        diagonal = entries[self._diagonal].sum() - alpha @ alpha
        pairs = entries[self._below] - np.outer(alpha, alpha).ravel()[self._below]
        pairs *= 2.0 * decay
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
        return slopes * gradient / (2.0 * len(self.y))


def train(X, y, nus, rate=0.1, steps=150):
    """Parameters (5,) after so many steps of Adam from 0."""
    loss = Loss(X, y, nus)
    raw, first, second = np.zeros((3, 5))
    for i in range(1, steps + 1):
        gradient = loss.gradient(raw)
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


def _criterion(theirs, X, y, t, n, *others):
    """How much each observation matters, asking `theirs` while they are few.

    At first the budget is 1 exactly, and rounding decides what is removed of what matters to 1e-9.
    """
    return theirs(X, y, t, n, *others) if n <= FEW else criterion(X, y, t, n, *others)


def criterion(X, y, t, n, d, signal, noise, spatial, temporal, now, *options):
    """How much each observation matters, as wdbo_criterion has it.

    Its convolution in space, over all of R^d, is cut off at 1, the volume of the box. So C need not
    be positive definite where the lengthscale is long: what has a negative square is -1.
    """
    space, time = (Matern(kernel.lengthscale, nu=kernel.nu) for kernel in (spatial, temporal))
    K = signal * np.ones((n, n))
    for kernel, places in ((spatial, X), (temporal, t[:, None])):
        distances = np.maximum(squareform(pdist(places)), 1e-5)
        s = np.sqrt(2.0 * kernel.nu) * distances / kernel.lengthscale
        K *= _matern(s, kernel.nu)[0] * np.exp(-s)
    K[np.diag_indices(n)] += max(noise, 1e-5)
    C = np.minimum(spatial_convolution(space, X), 1.0) * temporal_convolution(time, t, now)
    inverse = np.linalg.inv(K)
    alpha, diagonal = inverse @ y, np.diagonal(inverse)
    total = alpha @ C @ alpha + (inverse * C).sum()
    lost = (inverse * (C @ inverse)).sum(axis=0) * ((alpha / diagonal) ** 2 + 1.0 / diagonal)
    with np.errstate(invalid="ignore"):
        return np.where(lost < 0.0, -1.0, np.sqrt(np.maximum(lost, 0.0)) / np.sqrt(total))


@cache
def _bound():
    """botorch's upper confidence bound of their model, without what gpytorch does around it."""
    import torch
    from botorch.acquisition import UpperConfidenceBound
    from botorch.utils.transforms import t_batch_mode_transform

    class Bound(UpperConfidenceBound):
        def __init__(self, model, beta):
            super().__init__(model, beta)
            with torch.no_grad():
                kernels = model.covar_module.base_kernel.kernels
                self._kernels = [(k.nu, k.lengthscale.item()) for k in kernels]
                self._amplitude = model.covar_module.outputscale.item()
                self._noise = model.likelihood.noise.item()
                self._mean = model.mean_module.constant.item()
                K = self._covariance(model.train_x)
                K.diagonal().add_(self._noise)
                self._factor = torch.linalg.cholesky(K)
                rest = (model.train_y - self._mean).unsqueeze(-1)
                self._alpha = torch.cholesky_solve(rest, self._factor)

        def _covariance(self, X):
            """Between X (m, d + 1) and what was observed."""
            k = self._amplitude
            parts = (slice(None, -1), slice(-1, None))
            for (nu, lengthscale), part in zip(self._kernels, parts, strict=True):
                distances = torch.cdist(
                    X[:, part],
                    self.model.train_x[:, part],
                    compute_mode="donot_use_mm_for_euclid_dist",
                )
                s = (2.0 * nu) ** 0.5 * distances / lengthscale
                k = k * _matern(s, nu)[0] * torch.exp(-s)
            return k

        @t_batch_mode_transform(expected_q=1)
        def forward(self, X):
            k = self._covariance(X.squeeze(-2))
            mean = self._mean + (k @ self._alpha).squeeze(-1)
            half = torch.linalg.solve_triangular(self._factor, k.mT, upper=False)
            variance = self._amplitude + self._noise - half.square().sum(0)
            return mean + (self.beta * variance.clamp_min(1e-12)).sqrt()

    return Bound


@contextmanager
def quickly():
    """A context in which wdbo_algo is quick."""
    import wdbo_algo.optimizer
    import wdbo_criterion
    from wdbo_algo.model import SpaceTimeGPModel

    relevancies = partial(_criterion, wdbo_criterion.wasserstein_criterion)
    with (
        patch.object(SpaceTimeGPModel, "fit", _fit),
        patch.object(wdbo_algo.optimizer, "UpperConfidenceBound", _bound()),
        patch.object(wdbo_criterion, "wasserstein_criterion", relevancies),
    ):
        yield


def _quickly(call):
    with quickly():
        return call()


def _with_gradient(kind, model, places):
    """Bound and its gradient at places (m, 1, d + 1), together (m, d + 2)."""
    import torch

    X = places.clone().requires_grad_(True)
    bound = kind(model, beta=0.5)(X)
    bound.sum().backward()
    return torch.column_stack([bound.detach(), X.grad.squeeze(1)])


def _largest_difference(a, b):
    return float(abs(a - b).max())


def main():
    import gpytorch
    import torch
    import wdbo_criterion
    from botorch.acquisition import UpperConfidenceBound
    from wdbo_algo.model import learn_model_space_time

    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    kernel = gpytorch.kernels.MaternKernel
    for n, d in ((15, 1), (40, 3), (100, 6), (250, 4)):
        X, t = rng.random((n, d)), np.sort(rng.random(n))
        y = np.sin(5.0 * X[:, 0] + 7.0 * t) + 0.05 * rng.standard_normal(n)
        y = (y - y.mean()) / y.std()

        header(f"{n} observations, d = {d}; theirs: wdbo_algo")
        data = (np.column_stack([X, t]), kernel, [2.5], kernel, [1.5], y)
        theirs = partial(learn_model_space_time, *data)
        ours = partial(_quickly, theirs)
        models = ours(), theirs()
        parameters = [torch.cat([p.detach().ravel() for p in m.parameters()]) for m in models]
        print(f"training   {alternate(ours, theirs, 3)}")
        print(f"  parameters differ by {_largest_difference(*parameters):.0e}")

        places = torch.as_tensor(rng.random((20, 1, d + 1)))
        kinds = _bound(), UpperConfidenceBound
        ours, theirs = (partial(_with_gradient, kind, models[1], places) for kind in kinds)
        print(f"bound      {alternate(ours, theirs, 3)}")
        print(f"  with its gradient, differ by {_largest_difference(ours(), theirs()):.0e}")

        for lengthscale in (0.3, 1.0):
            spatial = wdbo_criterion.MaternKernel(lengthscale, 2.5)
            temporal = wdbo_criterion.MaternKernel(0.3, 1.5)
            arguments = (X, y, t, n, d, 1.0, 0.01, spatial, temporal, 1.0, 0, 1)
            ours = partial(criterion, *arguments)
            theirs = partial(wdbo_criterion.wasserstein_criterion, *arguments)
            difference = _largest_difference(ours(), np.ravel(theirs()))
            print(f"criterion  {alternate(ours, theirs, 1)}")
            print(f"  l_S {lengthscale}, up to {theirs().max():.2g}: differ by {difference:.0e}")


if __name__ == "__main__":
    main()
