"""Factors that reduce standard deviations near the faces of the unit box: see `UCB`'s margin."""

import numpy as np
from scipy.special import erf


class BoundaryMargin:
    """Factors of standard deviations: roots of the shares of neighbourhoods within the unit box.

    Parameters
    ----------
    rates : ndarray of shape (u,)
        1 / r for coordinates with faces, r being the margin; 0 for the others.
    """

    def __init__(self, rates):
        self.rates = rates
        self._faced = np.flatnonzero(rates)
        self._a = rates[self._faced, np.newaxis]
        # Share of a neighbourhood of the centre, relative to which the others are.
        self._centre = 2.0 * erf(0.5 * self._a)

    def factor(self, U):
        """Return factors (m,) at places U (m, u)."""
        low = self._a * U.T[self._faced]
        return np.sqrt(((erf(low) + erf(self._a - low)) / self._centre).prod(axis=0))

    def factor_with_gradient(self, U):
        """Return factors (m,) and their gradients (m, u); `sktvbo._fast.ascent` repeats this."""
        low, slopes = self._a * U.T[self._faced], np.zeros(U.shape)
        high, factor = self._a - low, self.factor(U)
        rise = self._a * (np.exp(-(low**2)) - np.exp(-(high**2))) / np.sqrt(np.pi)
        slopes[:, self._faced] = (factor * rise / (erf(low) + erf(high))).T
        return factor, slopes
