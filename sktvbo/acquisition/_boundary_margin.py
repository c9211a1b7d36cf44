"""How much of what is around a place lies in the unit box: see the margin of `UCB`."""

import numpy as np
from scipy.special import erf


class Inside:
    """How much of what is around places lies in the unit box, by which variances are multiplied.

    Parameters
    ----------
    rates : ndarray of shape (u,)
        1 / r of the coordinates that have faces, r being the margin; 0 for the others.
    """

    def __init__(self, rates):
        self.rates = rates
        self._faced = np.flatnonzero(rates)
        self._a = rates[self._faced]
        # Of a share, not yet relative to that of the centre.
        self._centre = 2.0 * erf(0.5 * self._a)

    def root(self, U):
        """Square roots of the shares (m,) at places U (m, u)."""
        low = self._a * U[:, self._faced]
        return np.sqrt(((erf(low) + erf(self._a - low)) / self._centre).prod(axis=1))

    def root_with_slopes(self, U):
        """The same, and its derivatives (m, u); written again in `sktvbo._fast.ascent`."""
        low, slopes = self._a * U[:, self._faced], np.zeros(U.shape)
        high, root = self._a - low, self.root(U)
        rise = self._a * (np.exp(-(low**2)) - np.exp(-(high**2))) / np.sqrt(np.pi)
        slopes[:, self._faced] = root[:, np.newaxis] * rise / (erf(low) + erf(high))
        return root, slopes
