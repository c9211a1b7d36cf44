"""The choice of a query, or of a recommendation, by a surrogate: the search that parts narrow."""

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from scipy.spatial.distance import cdist

from ..acquisition import AcquisitionState
from ..acquisition._compiled import objective_of
from ..acquisition._objective import Score
from ..acquisition._optimize import N_CANDIDATES, maximize_joint, optimize, untaken
from ._chance import Chance
from ._constants import HOPELESS, N_DRAWN, N_FLOOR
from ._part import Found, at_moment


@dataclass(eq=False)
class Choice:
    """The choice of one query, or of a recommendation.

    Attributes
    ----------
    run : RunState
    surrogate : Surrogate or None
        At time t, conditioned on pending queries as well; None for an initial query.
    acquisition : callable or None
    t : float
        Present time.
    rng : RandomState
    latest : float
        Latest time of the query.
    queries : tuple of (x, time)
        Those before it in the same step, which follow the surrogate as well.
    n_left : int
        Queries of the step that are left.
    is_query : bool
        False for a recommendation.
    known : dict
        Results of `once`, of all queries of the step.
    """

    run: object
    surrogate: object
    acquisition: object
    t: float
    rng: np.random.RandomState
    latest: float
    queries: tuple = ()
    n_left: int = 1
    is_query: bool = True
    known: dict = field(default_factory=dict)

    def once(self, make, *arguments):
        """Return ``make(run, *arguments)``, which is computed once in a step."""
        if make not in self.known:
            self.known[make] = make(self.run, *arguments)
        return self.known[make]

    @property
    def number(self):
        """Id of the query."""
        return self.run.pending.n_total + len(self.queries)

    @property
    def taken(self):
        """Places (list) of the queries before it."""
        return [self.run.domain.to_unit(x) for x, _ in self.queries]

    def places_of(self, rows):
        """Return the places (m, u) of rows (d + 1,), failures, pending queries and those taken."""
        found = [row[:-1] for row in (*rows, *self.run.failures.rows)]
        found += [query.x for query in self.run.pending_now] + [x for x, _ in self.queries]
        return self.run.domain.unit_of(np.reshape(found, (-1, self.run.domain.n_dims)))

    # --- what the parts allow ---------------------------------------------------------------------

    @cached_property
    def space(self):
        """Search space that all parts allow."""
        space = self.run.domain.search_space()
        for part in at_moment(self.run, "narrow"):
            space = part.narrow(self, space)
        return space

    @cached_property
    def causes(self):
        """Causes that a query is not allowed, a dict by the name of the part, see `Part.cause`."""
        found = {part.name: part.cause(self) for part in at_moment(self.run, "cause")}
        return {name: cause for name, cause in found.items() if cause is not None}

    def chance(self, t, latest=None, moving=None, causes=None):
        """Return the `Chance` that a query is allowed at a time or in a window, None for 1."""
        causes = self.causes if causes is None else causes
        latest = t if latest is None else latest
        factors = [at(t, latest, moving) for at in causes.values()]
        return Chance(factors) if factors else None

    def fails(self, U, causes=None):
        """Return which places (m, u) are known to violate a limit or to fail at its time (m,)."""
        chance = self.chance(self.t, causes=causes)
        return np.zeros(len(U), dtype=bool) if chance is None else chance.log(U) < np.log(HOPELESS)

    @cached_property
    def effort(self):
        """Limits of the effort of a search, a dict of arguments of `optimize`."""
        found = {}
        for part in at_moment(self.run, "effort"):
            found |= part.effort(self)
        return found

    # --- initial queries --------------------------------------------------------------------------

    def sampler(self):
        """Return a sampler (n, rng) of rows (n, d) in the space."""
        if not self.space.limited and self.space.avoided is None:
            return self.run.domain.sample
        space, domain = self.space, self.run.domain

        def sample(n, rng):
            # On the way to a place that is drawn anywhere: a walk of short steps gets nowhere.
            aims = domain.to_unit(domain.sample(N_DRAWN, rng))
            if space.members is not None:
                k = space.domain.n_unit
                nearest = np.argmin(cdist(aims[:, :k], space.members), axis=1)
                places = space.with_current_context(space.members[nearest])
            else:
                places = domain.to_unit(space.decode(np.clip(aims, space.lower, space.upper)))
                places = places[space.allowed(places)]
            if not len(places):
                places = space.candidates(N_DRAWN, rng)
            return space.decode(places[rng.randint(len(places), size=n)])

        return sample

    # --- queries that follow the surrogate --------------------------------------------------------

    def finder(self):
        """Return the function () -> `Found` of the query: a part's, or the search."""
        for part in at_moment(self.run, "finder"):
            find = part.finder(self)
            if find is not None:
                return find
        return partial(self.search, self.space, self.causes, self.taken)

    def search(self, space, causes, taken=(), latest=None):
        """Return the `Found` in a space where the acquisition function is largest.

        Parameters
        ----------
        space : SearchSpace
        causes : dict
            Scores are weighed by these causes, see `causes`.
        taken : list of ndarray
            Places that are left out, as in `optimize`, unless all others are known to fail.
        latest : float, default=None
            Latest time of the query; None is that of the choice.
        """
        surrogate, t, effort = self.surrogate, self.t, self.effort
        if len(taken) and self._fails_elsewhere(space, causes, taken):
            taken = ()
        # The latest queries are near a tracked optimum, and any row may be the best place known.
        # Pending queries are left out: where nothing is uncertain, a search from one would end
        # there again.
        anchors = self.run.model.X_train_[-3 if self.is_query else 0 :, :-1]
        if self.acquisition.joint:
            draw = partial(self._posterior(t).sample, rng=self.rng)
            chance = self.chance(t, causes=causes)
            if chance is not None:
                draw = chance.weigh_draw(draw)
            n = effort.get("n_candidates", N_CANDIDATES)
            return Found(maximize_joint(draw, space, self.rng, anchors, n, taken), t)
        latest = self.latest if latest is None else latest
        score, posterior, space = self.scored(space, causes, latest)
        objective, more = objective_of(score, posterior), {"n_starts": space.effort[0]} | effort
        row = optimize(objective, space, self.rng, anchors, taken=taken, **more)
        if row is not None and space.window is not None:
            return Found(row[:-1], float(row[-1]))
        return Found(row, t, None if _has_level(surrogate) else objective.posterior)

    def _fails_elsewhere(self, space, causes, taken):
        """Return True if the members of a small space that are not taken are known to fail."""
        if not causes or space.size > N_CANDIDATES:
            return False
        places = untaken(space.candidates(N_CANDIDATES), space, taken)
        return bool(self.fails(places, causes).all())

    def scored(self, space, causes, latest):
        """Return score, posterior and search space of a query up to a latest time."""
        run, surrogate, t = self.run, self.surrogate, self.t
        posterior = self._posterior(t)
        moving = space.continuous[: run.domain.n_unit]
        chance = self.chance(t, moving=moving, causes=causes)
        state = AcquisitionState(
            len(run.data),
            run.history.n_told,
            run.domain.n_dims,
            surrogate,
            posterior,
            n_pending=len(surrogate.X_train_) - len(run.model.X_train_),
            space=space,
            succeeds=None if chance is None else chance.succeeds,
        )
        if latest > t:
            space = space.during(t, latest)
            chance = self.chance(t, latest, moving, causes)
            posterior = surrogate.posterior_between(t, latest, run.domain.continuous)
        score = Score.over(self.acquisition, state, space, t)
        if chance is not None:
            places = run.domain.search_space().candidates(N_FLOOR)
            if not chance.is_sure:
                places = np.vstack([run.surrogate.X_train_[:, :-1], places])
            score = chance.weigh(score, state.posterior, space, places)
        return score, posterior, space

    def _posterior(self, t):
        """Return the posterior for a choice among places: without the level that all share."""
        without = {"level": False} if _has_level(self.surrogate) else {}
        return self.surrogate.posterior_at(t, self.run.domain.continuous, **without)


def _has_level(surrogate):
    return getattr(surrogate, "level_kernel", None) is not None
