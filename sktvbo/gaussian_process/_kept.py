"""What a dense posterior keeps from step to step besides its factor, and how it is watched."""

from dataclasses import dataclass

import numpy as np

from .._fast import cholesky as _cholesky
from .._values import replaced
from ._cholesky import matvec
from ._relevancy_forms import BOUND, Forms

# After so many updates what is kept is compared with what the factor says.
_PERIOD = 16

# Matrices take the memory of a multiple of so many rows.
_GRAIN = 64


@dataclass(frozen=True, eq=False)
class Kept:
    """The inverse covariance of y, the mean's prior included, and the forms of the relevancies.

    Attributes
    ----------
    P : ndarray of shape (n, n)
    forms : Forms or None
        None until they are asked for.
    n_updates : int
        Rows that have come or gone since P was computed from the factor.
    """

    P: np.ndarray
    forms: Forms | None = None
    n_updates: int = 0

    def grown(self, s, t, u, variance):
        """With a row at a place s (1, d) and time; u is P k, ``variance`` that given the others."""
        P = _square(len(self.P) + 1)
        _cholesky.grow_inverse(self.P, u, variance, P)
        forms = None if self.forms is None else self.forms.grown(s, t, self.P, u, variance)
        return replaced(self, P=P, forms=forms, n_updates=self.n_updates + 1)

    def without(self, i):
        """Without row i."""
        P = _square(len(self.P) - 1)
        _cholesky.shrink_inverse(self.P, i, P)
        forms = None if self.forms is None else self.forms.without(i, self.P)
        return replaced(self, P=P, forms=forms, n_updates=self.n_updates + 1)

    def is_right(self, solver, mean):
        """Whether there is little rounding in it, in comparison with the factor; O(n²).

        It is looked at every few updates.
        """
        if self.n_updates % _PERIOD:
            return True
        z = np.ones(len(self.P))
        z[::2] = -1.0
        right = mean.removed_from(solver.solve(z), z)
        if not np.abs(matvec(self.P, z) - right).max() <= BOUND * np.abs(right).max():
            return False
        return self.forms is None or self.forms.is_right(self.P)


def _square(n):
    """An empty array (n, n), in memory for a multiple of so many rows.

    Sizes that repeat the allocator has at hand. What is larger than all before, it asks the system
    for, page by page, and that takes longer than to fill it.
    """
    capacity = n + -n % _GRAIN
    return np.empty(capacity * capacity)[: n * n].reshape(n, n)
