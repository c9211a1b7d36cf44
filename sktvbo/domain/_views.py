"""Parts of a domain, as whoever searches it sees them: nothing but what `_maximizer` asks for.

A view has ``candidates``, ``continuous``, ``reach``, ``neighbours``, ``allowed``, ``size`` and
``from_unit``, which mean what they mean for a domain.
"""

import math

import numpy as np
from sklearn.utils import check_random_state

from .._validation import invalid
from ..exceptions import DomainError

# A member that far outside of the bounds, in unit form, is outside by rounding alone.
_SLACK = 1e-12

# Of a domain of finitely many members, at most this many are looked through for those within.
_MAX_MEMBERS = 4096


class Within:
    """The members of a domain within bounds of its unit form; some coordinates may be fixed.

    Where no member is found within the bounds, the nearest to their middle is all there is.

    Parameters
    ----------
    domain : domain
    low, high : array-like of shape (u,)
        Lowest and highest unit coordinates, low <= high, of which those of reals must be in [0, 1];
        a coordinate where both are equal is fixed. The columns of a category that may be any are
        from 0 to 1.
    """

    def __init__(self, domain, low, high):
        low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
        if not low.shape == high.shape == domain.continuous.shape or not np.all(low <= high):
            expected = f"{len(domain.continuous)} numbers each, low <= high"
            got = f"{low.tolist()} and {high.tolist()}"
            raise invalid("The bounds of a search", expected, got=got, error=DomainError)
        self.domain = domain
        self.reach = np.array([low, high])
        self.continuous = domain.continuous & (low < high)
        self.by_answer = domain.by_answer
        self._members = None
        if math.isfinite(domain.size):
            members = domain.candidates(min(domain.size, _MAX_MEMBERS))
            if len(members) >= domain.size:
                self._members = self._inside_or_nearest(members, members)
        self.size = domain.size
        if self._members is not None:
            self.size = len(self._members)
        elif not self.continuous.any() and domain.continuous.all():
            self.size = 1

    def allowed(self, U):
        """Which places (m, u) may be returned (m,)."""
        low, high = self.reach
        within = np.all((low - _SLACK <= U) & (high + _SLACK >= U), axis=1)
        return within & self.domain.allowed(U)

    def present(self, U):
        return self.domain.present(U)

    def mended(self, U):
        return self.domain.mended(U)

    def margins(self, U):
        return self.domain.margins(U)

    def from_unit(self, U):
        """Rows (n, d) or (d,) of the unit form."""
        return self.domain.from_unit(U)

    def candidates(self, n, rng=None):
        """Places to begin with (m, u): the domain's, drawn together into the bounds."""
        if self._members is not None:
            return self._members
        low, high = self.reach
        places = low + self.domain.candidates(n, rng) * (high - low)
        members = self.domain.to_unit(self.domain.from_unit(places))
        # Reals stay where they are: their rows may be on another scale, with other roundings.
        places = np.where(self.domain.continuous, np.clip(places, low, high), members)
        return self._inside_or_nearest(places, members)

    def sample(self, n, rng=None):
        """Rows (n, d) drawn uniformly from the part, in unit form; few members may recur."""
        rng = check_random_state(rng)
        if self._members is not None:
            return self.from_unit(self._members[rng.choice(len(self._members), size=n)])
        low, high = self.reach
        return self.from_unit(low + rng.uniform(size=(n, len(low))) * (high - low))

    def neighbours(self, u):
        """The domain's neighbours (k, u) of a place (u,) that are within the bounds."""
        found = self.domain.neighbours(u)
        return found[self.allowed(found)]

    def _inside_or_nearest(self, places, members):
        inside = places[self.allowed(places)]
        if len(inside):
            return inside
        gaps = np.linalg.norm(members - self.reach.mean(axis=0), axis=1)
        return members[[np.argmin(gaps)]]
