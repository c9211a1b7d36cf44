"""The inverse covariance of the observations, updated as rows come and go."""

from dataclasses import dataclass

import numpy as np

from .._fast import cholesky as _cholesky
from .._values import replaced
from ._cholesky import matvec
from ._relevancy_forms import BOUND, RelevancyForms

# Compare the inverse with the factor after this many updates.
_PERIOD = 16

# Matrices are allocated for a multiple of this many rows.
_GRAIN = 64


@dataclass(frozen=True, eq=False)
class InverseCache:
    """Inverse covariance of y, the mean's prior included, and the forms of the relevancies.

    Attributes
    ----------
    P : ndarray of shape (n, n)
    forms : RelevancyForms or None
        None until they are used.
    n_updates : int
        Rows appended or dropped since P was computed from the factor.
    """

    P: np.ndarray
    forms: RelevancyForms | None = None
    n_updates: int = 0

    def append(self, s, t, u, variance):
        """Append a row at a place s (1, d) and time; u is P k, the variance given the others."""
        P = _square(len(self.P) + 1)
        _cholesky.grow_inverse(self.P, u, variance, P)
        forms = None if self.forms is None else self.forms.append(s, t, self.P, u, variance)
        return replaced(self, P=P, forms=forms, n_updates=self.n_updates + 1)

    def drop(self, i):
        """Drop row i."""
        P = _square(len(self.P) - 1)
        _cholesky.shrink_inverse(self.P, i, P)
        forms = None if self.forms is None else self.forms.drop(i, self.P)
        return replaced(self, P=P, forms=forms, n_updates=self.n_updates + 1)

    def is_accurate(self, solver, mean):
        """Return True unless round-off shows in a comparison with the factor; O(n²).

        It is compared every few updates.
        """
        if self.n_updates % _PERIOD:
            return True
        z = np.ones(len(self.P))
        z[::2] = -1.0
        expected = mean.removed_from(solver.solve(z), z)
        if not np.abs(matvec(self.P, z) - expected).max() <= BOUND * np.abs(expected).max():
            return False
        return self.forms is None or self.forms.is_accurate(self.P)


def _square(n):
    """Return an empty array (n, n), in memory for a multiple of ``_GRAIN`` rows.

    The allocator reuses blocks of equal size. A block larger than all before comes from the system
    page by page, which takes longer than filling it.
    """
    capacity = n + -n % _GRAIN
    return np.empty(capacity * capacity)[: n * n].reshape(n, n)
