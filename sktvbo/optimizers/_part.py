"""Protocol of the parts of a run: each part is one capability."""

from typing import NamedTuple

import numpy as np


class Optimum(NamedTuple):
    """A query that follows the surrogate, or a recommendation.

    Attributes
    ----------
    x : ndarray of shape (d,), or None
        A row; None if no input is allowed.
    t : float
        Time of the query.
    posterior : callable or None
        Posterior of f at the present time, (m, u) -> mean (m,), std (m,), if it is known.
    is_fallback : bool
        True if no input was allowed, and this is the next best one.
    """

    x: np.ndarray
    t: float
    posterior: object = None
    is_fallback: bool = False


class Part:
    """A capability of a run.

    A part is a value with the state of its capability. `sktvbo.optimizers._begin` lists all kinds;
    a run has those that its parameters use. Each method below is called at one moment of a run, and
    by default changes nothing: a part overrides the moments that it needs, and each moment has
    parts that do. Functions of a single part are called by name; its docstring states the callers,
    and all that other code reads of the part.

    Moments of a query are a fold over the parts, in their order. A query must be in the
    intersection of the spaces that they allow, and the probability that it is allowed is a product.

    Attributes
    ----------
    name : str
        See `RunState.part`. In a journal the part is stored under this name.
    is_stored : bool
        False: a resumed run has the part in its initial state.
    """

    name = None
    is_stored = True

    @classmethod
    def of(cls, config):
        """Return the part at the beginning of a run; None if its parameters do not use it.

        Parameters
        ----------
        config : RunConfig
        """
        raise NotImplementedError

    # --- queries before there is a surrogate ------------------------------------------------------

    def towards(self, run, t, x):
        """Return the row to query on the way to a start point x (d,); None if none is allowed."""
        return x

    def sampler(self, choice, space, draw):
        """Return a sampler (n, rng) of rows (n, d) of initial queries.

        Parameters
        ----------
        choice : Choice
            Without a surrogate.
        space : SearchSpace
            The space that all parts allow.
        draw : callable
            The sampler of the parts before this one.
        """
        return draw

    # --- queries ----------------------------------------------------------------------------------

    def narrow(self, choice, space):
        """Return the part of a `SearchSpace` in which a query or a recommendation may lie.

        Parameters
        ----------
        choice : Choice
            Its surrogate is None for an initial query.
        space : SearchSpace
            The space that the parts before this one allow.
        """
        return space

    def cause(self, choice):
        """Return the probability that a query is allowed, None for 1.

        It is a function (t, latest, moving) that returns the `Probability` at time t, or in the
        window up to a later time; ``moving`` is that of `posterior_at`.
        """
        return None

    def choose(self, choice, space):
        """Return an `Optimum` that replaces the search in a space; None to search."""
        return None

    # --- after a step -----------------------------------------------------------------------------

    def suggested(self, run, optima):
        """Return the part at the end of an ``ask``.

        Parameters
        ----------
        run : RunState
            Before the queries are pending.
        optima : list of Optimum
            Queries that follow the surrogate.
        """
        return self

    def told(self, run, after, answer):
        """Return the part after an observation or a failure.

        Parameters
        ----------
        run, after : RunState
            Before and after it; in ``after`` the parts before this one are up to date.
        answer : Answer
        """
        return self

    def taken_back(self, run, after, query):
        """Return the part after an observation, or a pending query, was taken back.

        Parameters
        ----------
        run, after : RunState
        query : Query
            Query, or observation, that was taken back, with a row for x.
        """
        return self

    def continued(self, run, new, change):
        """Return the part of a new run that continues another one.

        Parameters
        ----------
        run, new : RunState
            The other run, and the new one with this part before its first step.
        change : Change
            From the domain of ``run`` to that of ``new``.
        """
        return self
