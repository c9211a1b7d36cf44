"""SafeOpt and TVSafeOpt from their papers, over a finite set of places.

SafeOpt: Berkenkamp, Krause & Schoellig, arXiv 1602.04450. TVSafeOpt: Li et al., arXiv 2409.18000,
in its practical form: the safe set is where all lower bounds are within the limits now, and a place
expands it if its upper bound would make another place safe at the next time. √β = 2, as in
SafeOpt's code. The kernel is squared exponential, its hyperparameters are held. The next query is
the most uncertain place, in units of each function's standard deviation, among those that may be
best and those that expand. Where nothing is safe, it is the start point. Of 2,000 places 500 are
near the start point: in four dimensions nothing else would be certified.
"""

import numpy as np
from outcomes import N_STEPS, NOISE
from scipy.linalg import solve_triangular
from scipy.stats import qmc
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

N_PLACES, N_NEAR, N_LEARN, BLOCK = 1500, 500, 300, 100


class Rival:
    """Optimizer over the unit box with upper limits of outcomes; it stores its observations."""

    def __init__(self, box, *, start_points, outcome_constraints, random_state):
        self.start, self.seed = np.asarray(start_points[0]), random_state
        self.highs = {name: high for name, (_, high) in outcome_constraints.items()}
        self.X, self.values = np.empty((0, len(box) + 1)), np.empty((0, 1 + len(self.highs)))
        self.sobol = qmc.Sobol(len(box), seed=random_state)

    def ask(self, t):
        self.t = t
        return self.suggest(t) if len(self.X) else self.start

    def tell(self, x, y, outcomes):
        self.X = np.vstack([self.X, np.append(x, self.t)])
        margins = [high - outcomes[name] for name, high in self.highs.items()]
        self.values = np.vstack([self.values, [y, *margins]])


def learnt(problem):
    """Return the mean of y and, by function, its signal variance and lengthscales (d + 1,)."""
    rng, d = np.random.RandomState(0), problem.n_dims
    X = rng.uniform(size=(N_LEARN, d + 1)) * np.append(np.ones(d), N_STEPS)
    functions = [problem.objective, *(f for f, _ in problem.outcomes.values())]
    values = [[f(row[np.newaxis, :-1], row[-1])[0] for f in functions] for row in X]
    values = np.array(values) + NOISE * rng.standard_normal((len(functions), N_LEARN)).T
    highs = [high for _, high in problem.outcomes.values()]
    return fitted(X, np.column_stack([values[:, 0], highs - values[:, 1:]]))


def fitted(X, values):
    """Return the same, learnt from observations of y and distances to limits."""
    mean, kernels = values[:, 0].mean(), []
    for i, y in enumerate(values.T):
        lengths = np.append(np.full(X.shape[1] - 1, 0.5), 30.0)
        kernel = ConstantKernel(1.0) * RBF(lengths, (0.05, 500.0))
        options = {"alpha": NOISE**2, "n_restarts_optimizer": 1, "random_state": 0}
        gp = GaussianProcessRegressor(kernel, **options)
        theta = np.exp(gp.fit(X, y - mean if i == 0 else y).kernel_.theta)
        kernels.append((theta[0], theta[1:]))
    return mean, kernels


class TVSafeOpt(Rival):
    """Practical form of TVSafeOpt; SafeOpt with ``moves=False``.

    Without hyperparameters it learns them from its observations, at every tenth query; the first
    3 (d + 1) queries are within a tenth of each range around the start point.
    """

    def __init__(self, box, *, learnt=None, moves=True, ucb=False, **options):
        super().__init__(box, **options)
        self.learns, self.moves, self.ucb = learnt is None, moves, ucb
        if learnt is not None:
            self.mean, self.kernels = learnt
        near = np.random.RandomState(self.seed).normal(self.start, 0.1, (N_NEAR, len(box)))
        places = [self.start[np.newaxis], self.sobol.random(N_PLACES), near]
        self.places = np.clip(np.vstack(places), 0.0, 1.0)

    def covariance(self, kernel, A, B):
        variance, lengths = kernel
        A, B = (C / lengths * np.append(np.ones(len(lengths) - 1), self.moves) for C in (A, B))
        squares = (A**2).sum(axis=1)[:, np.newaxis] + (B**2).sum(axis=1) - 2.0 * A @ B.T
        return variance * np.exp(-0.5 * np.maximum(squares, 0.0))

    def posterior(self, i, t):
        """Return means, standard deviations (m,) of function i at all places, and V (n, m)."""
        kernel, at = self.kernels[i], np.column_stack([self.places, np.full(len(self.places), t)])
        noise = NOISE**2 * np.eye(len(self.X))
        L = np.linalg.cholesky(self.covariance(kernel, self.X, self.X) + noise)
        V = solve_triangular(L, self.covariance(kernel, self.X, at), lower=True)
        residual = self.values[:, i] - (self.mean if i == 0 else 0.0)
        mean = V.T @ solve_triangular(L, residual, lower=True)
        return mean, np.sqrt(np.maximum(kernel[0] - (V**2).sum(axis=0), 1e-12)), V

    def suggest(self, t):
        n, d = len(self.X), self.X.shape[1] - 1
        if self.learns and n < 3 * (d + 1):
            rng = np.random.RandomState(1000 * self.seed + n)
            return np.clip(self.start + rng.uniform(-0.1, 0.1, d), 0.0, 1.0)
        if self.learns and (n == 3 * (d + 1) or n % 10 == 0):
            self.mean, self.kernels = fitted(self.X, self.values)
        now = [self.posterior(i, t) for i in range(len(self.kernels))]
        mean, std = np.array([p[0] for p in now]), np.array([p[1] for p in now])
        safe = np.all(mean[1:] - 2.0 * std[1:] >= 0.0, axis=0)
        if not safe.any():
            return self.start
        upper, lower = mean[0] + 2.0 * std[0], mean[0] - 2.0 * std[0]
        if self.ucb:
            return self.places[np.argmax(np.where(safe, upper, -np.inf))]
        width = np.max(std / np.sqrt([[variance] for variance, _ in self.kernels]), axis=0)
        maximizer = safe & (upper >= lower[safe].max())
        best = np.argmax(np.where(maximizer, width, -np.inf))
        wider = np.flatnonzero(safe & ~maximizer & (width > width[best]))
        wider = wider[np.argsort(-width[wider])]
        later = [self.posterior(i, t + 1.0) for i in range(1, len(self.kernels))]
        for start in range(0, len(wider), BLOCK):
            block = wider[start : start + BLOCK]
            expands = self.expands(block, safe, now, later, t)
            if expands.any():
                return self.places[block[np.argmax(expands)]]
        return self.places[best]

    def expands(self, block, safe, now, later, t):
        """Return a mask of places at which an upper bound makes another place safe at t + 1."""
        outside, found = ~safe, True
        at = np.column_stack([self.places[block], np.full(len(block), t)])
        to = np.column_stack([self.places[outside], np.full(outside.sum(), t + 1.0)])
        for kernel, (_, std, V), (mean_later, std_later, W) in zip(
            self.kernels[1:], now[1:], later
        ):
            joint = self.covariance(kernel, at, to) - V[:, block].T @ W[:, outside]
            spread = std[block, np.newaxis] ** 2 + NOISE**2
            mean = mean_later[outside] + joint / spread * 2.0 * std[block, np.newaxis]
            variance = std_later[outside] ** 2 - joint**2 / spread
            found &= mean - 2.0 * np.sqrt(np.maximum(variance, 0.0)) >= 0.0
        return found.any(axis=1)
