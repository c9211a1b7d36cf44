"""Climbs to better places among those that constraints allow.

Where constraints are numbers, sequential quadratic programming finds a place; otherwise, and where
it is not allowed after all, the way to it is gone as far as it is allowed. What is climbed in has
``allowed``, ``mended``, ``margins`` and ``by_answer``, as a domain has, and coordinates of which
some are ``continuous``.
"""

import numpy as np
from scipy.optimize import minimize

# A way is halved so often to find its last place; that of a random step less often.
_N_HALVINGS, _N_HALVINGS_OF_STEP = 50, 6

# Differences of functions are taken over this distance in unit form.
_STEP = 1e-7

# Where a constraint only answers yes or no, so many random steps are tried at a time, of about a
# length in unit form that begins with the one and ends with the other.
_N_TRIED, _LONGEST, _SHORTEST = 32, 0.1, 1e-5


def climbed(space, values, starts, ends, unit, until):
    """Better places than the starts, in place of ends of climbs that are not allowed.

    Parameters
    ----------
    space : domain or view
    values : callable, (m, u) -> (m,)
        What is to be large.
    starts, ends : ndarray of shape (b, u)
        The starts are allowed.
    unit : float
        Tolerances are in this.
    until : callable, () -> bool
        Whether it is time to stop.

    Returns
    -------
    ndarray of shape (b, u)
        Allowed; no worse than the starts where there was time.
    """
    ends = np.array(ends)
    for i, start in enumerate(starts):
        if until():
            break
        target = programmed(space, values, start, unit, until)
        if target is not None:
            ends[i] = target
    found = _last_allowed(space, starts, ends)
    if space.by_answer and not until():
        best = np.argmax(values(found))
        found[best] = _tried_around(space, values, found[best], until)
    return found


def programmed(space, values, start, unit, until):
    """Where sequential quadratic programming leads from a place (u,); None if it does not know."""
    free = np.flatnonzero(space.continuous)
    low, high = box(space, free)

    def place(Z):
        U = np.tile(start, (len(Z), 1))
        U[:, free] = np.clip(Z, low, high)
        return U

    def minus(Z):
        if until():
            raise _TimeIsUp
        return -values(place(Z))[:, np.newaxis] / unit

    constraints = []
    with np.errstate(invalid="ignore"):  # differences of infinities, where nothing is known
        for kind, i in ("eq", 0), ("ineq", 1):
            parts = _with_slopes(lambda Z, i=i: space.margins(place(Z))[i], low, high, start[free])
            if len(parts["fun"](start[free])):
                constraints.append({"type": kind, **parts})
        if not len(free) or not constraints:
            return None
        score = _with_slopes(minus, low, high)
        try:
            found = minimize(
                lambda z: score["fun"](z)[0],
                start[free],
                jac=lambda z: score["jac"](z)[0],
                method="SLSQP",
                bounds=list(zip(low, high)),
                constraints=constraints,
                options={"maxiter": 50, "ftol": 1e-10},
            )
        except _TimeIsUp:
            return None
    if not np.isfinite(found.x).all():
        return None
    return space.mended(place(found.x[np.newaxis]))[0]


def box(space, columns):
    """Lowest and highest values (2, c) of some coordinates of a space."""
    if space.reach is None:
        return np.outer([0.0, 1.0], np.ones(len(columns)))
    return space.reach[:, columns]


def _last_allowed(space, starts, ends, n_halvings=_N_HALVINGS):
    """On the ways from allowed starts to ends, about the last places that are allowed (b, u)."""
    found, wrong = np.array(ends), np.flatnonzero(~space.allowed(ends))
    found[wrong] = starts[wrong]
    ways = (ends - starts)[wrong]
    low, high = np.zeros(len(wrong)), np.ones(len(wrong))
    for _ in range(n_halvings if len(wrong) else 0):
        middle = 0.5 * (low + high)
        places = starts[wrong] + middle[:, np.newaxis] * ways
        allowed = space.allowed(places)
        low[allowed], high[~allowed] = middle[allowed], middle[~allowed]
        found[wrong[allowed]] = places[allowed]
    return found


def _tried_around(space, values, best, until):
    """A better allowed place (u,) than one, by random steps whose lengths follow what succeeds."""
    rng, free = np.random.RandomState(0), np.flatnonzero(space.continuous)
    low, high = box(space, free)
    value, length = values(best[np.newaxis])[0], _LONGEST
    while length > _SHORTEST and not until():
        lengths = length * np.geomspace(0.05, 2.0, _N_TRIED)
        places = np.tile(best, (_N_TRIED, 1))
        steps = lengths[:, np.newaxis] * rng.standard_normal((_N_TRIED, len(free)))
        places[:, free] = np.clip(places[:, free] + steps, low, high)
        places = places[values(places) > value]
        # Nobody is asked about places that would not be better.
        starts = np.tile(best, (len(places), 1))
        places = _last_allowed(space, starts, places, _N_HALVINGS_OF_STEP)
        found = values(places) if len(places) else np.array([-np.inf])
        if found.max() > value:
            gone = np.linalg.norm(places[np.argmax(found)] - best)
            best, value = places[np.argmax(found)], found.max()
            length = min(max(gone, 0.5 * length), _LONGEST)
        else:
            length *= 0.5
    return best


class _TimeIsUp(Exception):
    pass


def _with_slopes(function, low, high, start=None):
    """A function of rows (m, f) at one place (f,), and its derivatives (k, f) by differences.

    With a ``start`` each number is divided by its slope there.
    """
    scale = 1.0

    def fun(z):
        return function(z[np.newaxis])[0] / scale

    def jac(z):
        steps = np.where(z > 0.5 * (low + high), -_STEP, _STEP)
        found = function(np.vstack([z, z + np.diag(steps)])) / scale
        return ((found[1:] - found[0]) / steps[:, np.newaxis]).T

    if start is not None:
        slopes = np.linalg.norm(jac(start), axis=1)
        scale = np.where(np.isfinite(slopes) & (slopes > 0.0), slopes, 1.0)
    return {"fun": fun, "jac": jac}
