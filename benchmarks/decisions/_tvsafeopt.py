"""The two problems of TVSafeOpt (Li et al. 2024, arXiv 2409.18000), and its practical form."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

DEGREES_30 = np.pi / 6.0


class Synthetic:
    """A disc of allowed places that moves along a line, period 50, over [-2, 2]²."""

    bounds, start, n_steps = [(-2.0, 2.0)] * 2, np.array([-0.5, 0.0]), 200
    axis = np.linspace(-2.0, 2.0, 41)
    length, durations = 1.0, (25.0, 15.0)

    def objective(self, X, t):
        return -np.exp(X[:, 0] ** 2) - np.log1p(X[:, 1] ** 2) + 0.01 * t

    def outcomes(self, X, t):
        a = 0.5 * (1.0 - np.cos(2.0 * np.pi * t / 50.0))
        dx, dy = 0.5 - a * np.cos(DEGREES_30), -0.3 - a * np.sin(DEGREES_30)
        return np.array([1.0 - (X[:, 0] + dx) ** 2 - (X[:, 1] + dy) ** 2])


class Compressors:
    """Three gas compressors that share a demand, over 90 days, four queries a day.

    x is the flow of each in 200 kg/s, the reward minus the power in 10 MW. Limits: surge or least
    speed, choke or greatest speed, of each, and 0.67 of the demand, which never binds. Head,
    demand and degradation follow figure 5. The start point is beyond the surge limits in the end.
    """

    bounds, n_steps, axis = [(0.25, 1.25)] * 3, 360, np.linspace(0.5, 0.8, 25)
    length, durations = 1.0, (80.0, 80.0)
    _POWER = np.array([19.79, 5.274, 5.375, 0.6055, 0.5718, 0.3319]) * 1e6

    def __init__(self):
        rng, days = np.random.RandomState(0), np.arange(self.n_steps) / 4.0
        self._head = 1.25e5 + 1.7e4 * days / 90.0 + 8e3 * np.sin(days / 6.0)
        jumps = np.cumsum(rng.uniform(size=self.n_steps) < 1.0 / 24.0)
        self._demand = np.append(370.0, rng.uniform(255.0, 455.0, self.n_steps))[jumps] / 200.0
        ends = np.array([0.0535, 0.036, 0.0185])
        worn = ends * np.sqrt(days / 90.0)[:, np.newaxis]
        worn[days >= 1.0, 0] = np.maximum(worn[days >= 1.0, 0], 0.0195)
        worn[days < 22.0, 2] = 0.0
        self._worn = worn
        self.start = np.full(3, 370.0 / 3.0 / 200.0)

    def objective(self, X, t):
        m, head = (200.0 * X - 157.4) / 34.37, (self._head[t] - 1.016e5) / 3.210e4
        terms = [
            np.ones_like(m),
            m,
            np.full_like(m, head),
            m**2,
            m * head,
            np.full_like(m, head**2),
        ]
        power = np.tensordot(self._POWER, terms, 1) / (1.0 - self._worn[t])
        return -power.sum(axis=1) / 1e7

    def outcomes(self, X, t):
        head = self._head[t]
        h = [(head - a) / b for a, b in ((1.235e5, 3.764e4), (6.152e4, 7002.0))]
        low = max(
            np.polyval((-1.953, 16.86, 118.1), h[0]), np.polyval((-1.516, -11.12, 116.9), h[1])
        )
        h = [(head - a) / b for a, b in ((8.706e4, 5.289e4), (1.572e5, 2.044e4))]
        high = min(np.polyval((73.21, 183.7), h[0]), np.polyval((-7.260, -29.65, 204.4), h[1]))
        demand = X.sum(axis=1) - 0.67 * self._demand[t]
        return np.vstack([X.T - low / 200.0, high / 200.0 - X.T, demand])


class TVSafeOpt:
    """Practical form on a grid: certified by l ≥ 0 with √β = 2; SafeOpt with no durations.

    The next query is the least known among possible maximizers and the border of what is
    certified. For the compressors the grid is around the optima. The latest 100 rows are used.
    """

    def __init__(self, problem, forgets=True):
        axes = [problem.axis] * len(problem.bounds)
        self._grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        self._shape = [len(problem.axis)] * len(axes)
        self._length, self._durations = (
            problem.length,
            problem.durations if forgets else (np.inf,) * 2,
        )
        self._start, self._rows, self._values = problem.start, [], []

    def ask(self, t):
        if not self._rows:
            return self._start
        rows, values = np.array(self._rows[-100:]), np.array(self._values[-100:])
        X, times = rows[:, :-1], rows[:, -1]
        near = np.exp(-0.5 * cdist(X, X, "sqeuclidean") / self._length**2)
        cross = np.exp(-0.5 * cdist(self._grid, X, "sqeuclidean") / self._length**2)
        low, high = [], []
        for i, column in enumerate(values.T):
            duration = self._durations[min(i, 1)]
            K = near * np.exp(-0.5 * ((times[:, np.newaxis] - times) / duration) ** 2)
            k = cross * np.exp(-0.5 * ((t - times) / duration) ** 2)
            factor = cho_factor(K + 1e-4 * np.eye(len(K)))
            mean = k @ cho_solve(factor, column)
            std = np.sqrt(np.maximum(1.0 - np.sum(k * cho_solve(factor, k.T).T, axis=1), 0.0))
            low.append(mean - 2.0 * std)
            high.append(mean + 2.0 * std)
        low, high = np.array(low), np.array(high)
        safe = (low[1:] >= 0.0).all(axis=0)
        if not safe.any():
            return self._start
        border, cells = np.zeros(self._shape, dtype=bool), safe.reshape(self._shape)
        for axis in range(cells.ndim):
            for shift in (1, -1):
                border |= cells & ~np.roll(cells, shift, axis)
        maximizers = safe & (high[0] >= low[0][safe].max())
        chosen = np.flatnonzero(maximizers | border.ravel())
        return self._grid[chosen[np.argmax((high - low)[:, chosen].max(axis=0))]]

    def tell(self, x, t, values):
        self._rows.append([*x, t])
        self._values.append(values)
