"""Exploring queries: where nothing was asked lately, whatever the surrogate believes."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..acquisition._optimize import N_CANDIDATES
from ._part import Found, Part

# Number of the latest observations near which nothing is explored, and the prior correlation of a
# place with a near one: that of a Matérn kernel at a distance of one lengthscale is about this.
_N_LATEST, _NEAR = 60, 0.5


@dataclass(frozen=True, eq=False)
class Exploration(Part):
    """A share of the queries, in turn, at a random place that is far from the latest ones.

    A surrogate that has seen nothing change for long believes that places far from the optimum are
    still worse. Only a query there shows what has become better. The most uncertain places would be
    at the faces of the domain, near which there is less to be found. If all places are near the
    latest 60 observations, failures or pending queries, or the others probably violate a limit or
    fail, the query is as usual.

    Attributes
    ----------
    share : float
    """

    share: float

    name, is_stored = "exploration", False

    @classmethod
    def begun(cls, config):
        share = config.algorithm.exploration
        return cls(share) if share else None

    def finder(self, choice):
        n = choice.number
        if not choice.is_query or int(self.share * (n + 1)) == int(self.share * n):
            return None
        places = _far_places(choice)
        if not len(places):
            return None
        x = choice.space.decode(places[[choice.rng.randint(len(places))]])[0]
        return partial(Found, x, choice.t)


def _far_places(choice):
    """Return candidates (m, u) far from the latest queries that probably succeed."""
    n = choice.effort.get("n_candidates", N_CANDIDATES)
    places = choice.space.candidates(n, choice.rng)
    latest = choice.run.history.latest(_N_LATEST)
    known = choice.places_of([entry.row for entry in latest])
    if len(places):
        kernel = choice.surrogate.spatial_kernel_
        near = kernel(places, known) > _NEAR * kernel.diag(places)[:, np.newaxis]
        places = places[~near.any(axis=1)]
    chance = choice.chance(choice.t)
    return places if chance is None or not len(places) else places[chance.succeeds(places)]
