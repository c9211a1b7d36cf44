"""Moving problems, stopped."""

from sktvbo.problems import Problem


class Still(Problem):
    """A problem stopped in the middle of its time."""

    def __init__(self, moving):
        super().__init__(
            f"{moving.name}, still", moving.domain, moving.horizon, moving.noise_variance
        )
        self.moving = moving

    def _values(self, X, t):
        return self.moving._values(X, self.horizon / 2.0)

    def _find_optimum(self, t):
        if not hasattr(self, "_optimum"):
            self._optimum = self.moving.optimum(self.horizon / 2.0)
        return self._optimum
