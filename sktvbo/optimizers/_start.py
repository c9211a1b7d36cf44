"""Begin of a run: the start points, and initial points that are spread over the domain."""

from dataclasses import dataclass

import numpy as np

from .._values import replaced
from ._part import Part, at_moment
from ._step_limiter import StepLimiter, neighbourhood

# An initial point is the most distant of this many Sobol points.
_N_SPREAD = 16

# Initial points are within this part of each range around the first start point.
_NEAR_START = 0.2


@dataclass(frozen=True, eq=False)
class Start(Part):
    """Start points, which come first, and with ``n_initial_points="auto"`` the initial points.

    Attributes
    ----------
    n_asked : int
        Start points that were asked, or cannot be reached.
    """

    n_asked: int = 0

    name = "start"

    @classmethod
    def begun(cls, config):
        return cls()

    def demanded(self, run, t):
        """Return the row (d,) of a start point, or on the way to it, None of none; and the part."""
        points, n = run.config.start_points, self.n_asked
        while n < len(points):
            x = aim = points[n]
            if not len(allowed_in_context(run.domain, aim[np.newaxis])):
                break  # it waits for a query for which it is allowed
            for part in at_moment(run, "towards"):
                x = None if x is None else part.towards(run, t, x)
            if x is None or np.array_equal(x, aim):
                n += 1
            if x is not None:
                return x, replaced(self, n_asked=n)
        return None, self if n == self.n_asked else replaced(self, n_asked=n)

    def sampler(self, choice, draw):
        """Return a sampler of rows far from what was told, is pending, or was asked in the step.

        They are within reach, or near the first start point; the most distant one is the first.
        """
        run, space = choice.run, choice.space
        if run.surrogate is not None or run.algorithm.n_initial_points != "auto":
            return draw
        if run.part(StepLimiter.name) is None:
            points = allowed_in_context(run.domain, run.config.start_points)
            if len(points):
                space = neighbourhood(run.domain, space, points[0], _NEAR_START)
        return distant(choice, space, lambda n, rng: drawn(space, n, rng))


def allowed_in_context(domain, points):
    """Return those of some points (k, d) that may be asked in the present context."""
    space = domain.search_space()
    if domain.n_chosen < domain.n_dims:
        points = points[domain.queryable(points)]
    if space.limited:  # to what is fixed or available for this query
        points = points[space.allowed(domain.unit_of(points))]
    return points


def drawn(space, n, rng):
    """Return places (m, u) of a space, of which the most distant of others are taken."""
    return rng.permutation(space.candidates(_N_SPREAD * n, rng))[: _N_SPREAD * n]


def distant(choice, space, draw):
    """Return a sampler of rows of the places that ``draw`` returns.

    Those with most new categories come first, and among these the most distant.
    """
    taken = choice.places_of(choice.run.data.rows)

    def sample(n, rng):
        places = draw(n, rng)
        distances = gaps(places, taken, space.domain.n_unit)
        order = np.lexsort((-distances, -n_new_categories(places, taken, space.domain)))
        return space.decode(places[order[:n]])

    return sample


def n_new_categories(places, others, domain):
    """Return the number (m,) of categories of places (m, u) that none of the others has."""
    columns = np.array([column for each in domain.categories for column in each], dtype=int)
    new = columns[~(others[:, columns] > 0.0).any(axis=0)]
    return np.count_nonzero(places[:, new] > 0.0, axis=1)


def gaps(places, others, k):
    """Return distances (m,) of places from the nearest of others, in the first k coordinates."""
    # Arms have no distance: all others are equally far.
    steps = np.minimum(np.abs(places[:, np.newaxis, :k] - others[:, :k]), 1.0)
    return np.linalg.norm(steps, axis=2).min(axis=1, initial=np.inf)
