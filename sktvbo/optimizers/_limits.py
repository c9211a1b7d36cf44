"""Limits of measured outcomes, and safety: the queries and recommendations that they allow.

Without ``safety`` queries are weighed by the probability that all limits hold. With it, they are
where this probability is large enough. Before there is a model, they are near inputs that were
measured within the limits.
"""

from dataclasses import dataclass

import numpy as np

from .._values import replaced
from .._warnings import warn_caller
from ..acquisition._compiled import objective_of
from ..acquisition._objective import Score
from ..acquisition._optimize import N_CANDIDATES, optimize
from ..exceptions import LimitWarning
from ._constants import CALM, EXPAND_EVERY, NEAR, NEARER, RATE, REFUSALS
from ._feasibility import Certificate, Feasibility, steps_from
from ._models import model_on_data, outcome_model, outcome_targets
from ._outcomes import (
    beyond_limits,
    kept_outcomes,
    measurements,
    summed,
    without_violation,
)
from ._part import Optimum, Part
from ._parts import allowed_in_context, distant, drawn, gaps
from ._state import Model
from ._step_limiter import neighbourhood
from ._suggest import joint, search


@dataclass(frozen=True, eq=False)
class Limits(Part):
    """Limits of outcomes, with the outcomes of the data set and their models.

    Models are made in `_models`, like that of the objective. `_feasibility` reads models and
    excess, and `_failures` whether there are models. With a ``safety``, `_suggest` follows a
    surrogate as soon as there is one, whatever the policy does.

    Attributes
    ----------
    models : tuple of Model
        One for each of the k outcomes that are measured; none before there is a surrogate. For an
        outcome without a row the surrogate is None.
    excess : float
        Addition to the factor of standard deviations, after violations; less than `LARGEST_EXCESS`
        unless no input is certified.
    calm : int
        Certified queries since `REFUSALS` successive ones were not certified, at most `CALM`.
    refused : int
        Successive queries that were not certified, fewer than `REFUSALS`.
    """

    models: tuple = ()
    excess: float = 0.0
    calm: int = CALM
    refused: int = 0

    name = "limits"

    @classmethod
    def of(cls, config):
        return cls() if config.limits else None

    def to_plain(self):
        """Return the plain data that a journal stores: no unfinished search."""
        models = [list(model[:2]) for model in self.models]
        return vars(self) | {"models": models}

    @classmethod
    def from_plain(cls, plain):
        """Return the part of `to_plain`."""
        return cls(**plain | {"models": tuple(Model(*model) for model in plain["models"])})

    # --- observations and failures ----------------------------------------------------------------

    def told(self, run, after, answer):
        if after.surrogate is None or not answer.learns:
            return self
        new = of_extended = outcome_targets(after)
        if len(after.data) < len(answer.extended):
            of_extended = outcome_targets(replaced(after, data=answer.extended))
        models = tuple(map(outcome_model, outcome_targets(run), of_extended, new))
        part = replaced(self, models=models)
        was_measured = answer.y is not None or any(v is not None for v in answer.outcomes or ())
        if run.config.safety is None or answer.query is None or not was_measured:
            return part
        return part._recalibrated(run, after, answer)

    def _recalibrated(self, run, after, answer):
        """Return the part after an answer, with another factor of deviations.

        The factor grows with a violation at a certified query, decreases at the allowed rate, and
        is at least the model's: adaptive conformal inference (Gibbs and Candès 2021). With excess
        e, e' ≥ e + η (violated - (1 - level)) and e < `LARGEST_EXCESS` + η, so that the violations
        of T queries are at most (1 - level) T + `LARGEST_EXCESS` / η + 1, whatever the outcomes do.
        """
        level = run.config.safety
        if run.surrogate is None:
            return self
        place, t, violated = run.domain.unit_of([answer.x]), answer.t, 0.0
        if Certificate(run, level).certifies(place, t):
            values = np.array([answer.outcomes or ()], dtype=np.float64)
            distances = beyond_limits(run, values, np.array([answer.y], dtype=np.float64))[:, 0]
            feasibility = Feasibility(after.with_part(self), widens=True)
            violated = feasibility.violated(place, t, distances)
        excess = max(self.excess + RATE * (violated - (1.0 - level)), 0.0)
        return replaced(self, excess=float(excess))

    def taken_back(self, run, after, query):
        if after.data is run.data and after.failures is run.failures:
            return self
        if after.surrogate is None:
            return replaced(self, models=())
        models = []
        for old, new in zip(outcome_targets(run), outcome_targets(after)):
            same = np.array_equal(old.data.positions, new.data.positions)
            models.append(Model(*old.model[:2]) if same else model_on_data(new))
        return replaced(self, models=tuple(models))

    def continued(self, run, new, change):
        old = run.part(self.name)
        if old is None or not run.history.total:
            return self
        models = tuple(old.models[i] for i in kept_outcomes(run, new) if old.models)
        return replaced(old, models=models)

    # --- queries before there is a surrogate ------------------------------------------------------

    def towards(self, run, t, x):
        """Return None, to turn back, if a limit is violated on the way from a safe start point."""
        n = run.part("start").n_asked
        if run.config.safety is None or run.limiter is None or not _is_beyond(run):
            return x
        return None if len(without_violation(run, run.config.start_points[:n])) else x

    def sampler(self, choice, reach, draw):
        """Return a sampler of rows near an input within the limits, the most distant first.

        The rows are within reach as well, and nearer to measurements within the limits than to
        those beyond. If there are none, and after a violation with a step limit, the row is the
        step to the safest input. If all start points are beyond a limit, the rows are spread around
        the least violation.
        """
        run, t, limiter = choice.run, choice.t, choice.run.limiter
        if run.config.safety is None:
            return draw
        safest, least = _safest(run)
        space = neighbourhood(run.domain, run.domain.search_space(), safest, NEAR)
        starts = run.config.start_points
        if reach.fixed is not None and not any(_is_near(reach, x) for x in starts):
            _warn_of_request(run)
        back = safest if limiter is None else limiter.step(run, t, safest)
        # An input that violates a limit itself is not queried again.
        turns_back = limiter is not None and least == 0.0 and _is_beyond(run)
        if turns_back or _are_apart(space, reach):
            return lambda n, rng: np.tile(back, (n, 1))
        return distant(choice, space, _cautious(run, space, reach, safest, least, back))

    # --- queries that follow the surrogate, and recommendations -----------------------------------

    def narrow(self, choice, space):
        certificate = _certificate(choice)
        return space if certificate is None else space.certified(certificate, choice.t)

    def cause(self, choice):
        if choice.run.surrogate is None:
            return None
        return (_certificate(choice) or choice.once(Feasibility)).at

    def choose(self, choice, space):
        certificate = _certificate(choice)
        if certificate is None:
            return None
        return (_queried if choice.is_query else _recommended)(choice, space, certificate)

    def suggested(self, run, optima):
        """Count the certified queries, and warn when several successive ones are not certified."""
        if run.config.safety is None:
            return self
        if run.surrogate is None:
            starts, cause = run.config.start_points, "A start point was measured beyond a limit."
            is_certified, n_refusals = len(without_violation(run, starts)) == len(starts), 1
        else:
            is_certified, n_refusals = not any(each.is_fallback for each in optima), REFUSALS
            cause = (
                "No point within reach is known to satisfy all limits with probability "
                f"{run.config.safety:g}."
            )
        if not is_certified and run.domain.search_space().fixed is not None:
            _warn_of_request(run)  # other inputs may be certified
            return self
        if is_certified:
            return replaced(self, calm=min(self.calm + 1, CALM), refused=0)
        refused = self.refused + 1
        if refused < n_refusals:
            return replaced(self, refused=refused)
        if self.calm == CALM:
            warn_caller(
                f"{cause} The least risky known point is queried, or one near it; no warning "
                f"follows until {CALM} queries are safe. Tell a measurement within the limits, "
                "tell(x, y, t, outcomes=...), or begin with other start_points. See "
                "probability_feasible().",
                LimitWarning,
            )
        return replaced(self, calm=0)


# --- queries before there is a surrogate ----------------------------------------------------------


def _warn_of_request(run):
    """Warn that no point with the requested values is known to be within all limits."""
    warn_caller(
        "No point with the fixed and available values is known to satisfy all limits with "
        f"probability {run.config.safety:g}: the least risky one is queried. See "
        "probability_feasible().",
        LimitWarning,
    )


def _safest(run):
    """Return the safest known row (d,), and its violation.

    It is a start point, and 0, unless all were measured beyond a limit; with a step limit it is the
    nearest of them. Otherwise it is the measurement with the least violation. If the constraints
    forbid all of these in the present context, it is the nearest input that they allow.
    """
    space = run.domain.search_space()
    starts = without_violation(run, run.config.start_points)
    starts = allowed_in_context(run.domain, starts)
    if len(starts):
        if run.limiter is None or run.setting is None:
            return starts[0], 0.0
        here = run.domain.unit_of(run.setting[np.newaxis, :-1])
        return starts[np.argmin(gaps(run.domain.unit_of(starts), here, run.domain.n_unit))], 0.0
    rows, distances = measurements(run)
    least, is_partial = summed(distances), np.isnan(distances).any(axis=0)
    order = np.lexsort([least, is_partial])
    rows = np.vstack([rows[order, :-1], run.config.start_points])
    known = space.with_current_context(space.nearest(run.domain.unit_of(rows)))
    allowed = np.flatnonzero(space.allowed(known[: len(order)]))
    if len(allowed):
        return space.decode(known[allowed[:1]])[0], least[order[allowed[0]]]
    places = space.candidates(N_CANDIDATES)
    return space.decode(places[[np.argmin(gaps(places, known, space.domain.n_unit))]])[0], 0.0


def _is_beyond(run):
    """Return True if the latest measurement at the present setting violates a limit.

    Its time and context may differ from those of the query.
    """
    if run.setting is None:
        return False
    (rows, distances), k = measurements(run), run.domain.n_chosen
    here = (rows[:, :k] == run.setting[:k]).all(axis=1)
    return (summed(distances)[here] > 0.0)[-1:].any()


def _is_near(space, row):
    """Return True if a row (d,) is near a search space, whatever its categories are."""
    domain = space.domain
    here = domain.unit_of(row[np.newaxis, : domain.n_dims])[0]
    ordered = domain.unit_mask(domain.kinds != "unordered")
    places = space.listed()
    if places is None:
        places = np.clip(here, space.lower[: len(here)], space.upper[: len(here)])[np.newaxis]
    moves = np.abs(places - here)[:, ordered]
    return bool((moves <= NEAR).all(axis=1).any())


def _are_apart(space, other):
    """Return True if the limits of two search spaces do not overlap."""
    k = space.domain.n_unit
    low, high = np.maximum(space.lower, other.lower), np.minimum(space.upper, other.upper)
    return other.limited and bool((low[:k] > high[:k]).any())


def _cautious(run, space, reach, safest, least, back):
    """Return a sampler of inputs (m, u) of a space within reach, and the next integers.

    If the ``least`` violation is 0, they are nearer to measurements within the limits than to those
    beyond. If there are none, the input is that of the row ``back``.
    """
    domain, k = run.domain, space.domain.n_unit
    part = space.within(reach.lower, reach.upper, reach.beyond) if reach.limited else space
    here = domain.unit_of(safest[np.newaxis])
    steps, (rows, distances) = steps_from(domain, here[0]), measurements(run)
    measured, beyond = domain.unit_of(rows[:, :-1]), summed(distances) > least
    within = np.vstack([here, measured[~beyond & ~np.isnan(distances).any(axis=0)]])

    def draw(n, rng):
        places = drawn(part, n, rng)
        places = np.vstack([places[space.allowed(places)], steps])
        if reach.limited:
            places = places[reach.allowed(places)]
        if least == 0.0:
            places = places[gaps(places, within, k) <= NEARER * gaps(places, measured[beyond], k)]
        return places if len(places) else domain.unit_of(back[np.newaxis])

    return draw


# --- queries that follow the surrogate, and recommendations ---------------------------------------


def _certificate(choice):
    """Return the `Certificate` of a query or recommendation, None for a query without a safety.

    Without a safety, the limits hold at a recommendation with probability ½.
    """
    safety = choice.run.config.safety
    if choice.surrogate is None or (safety is None and choice.is_query):
        return None
    return choice.once(Certificate, safety or 0.5)


def _free(choice):
    """Return the causes of a choice, by name, with limits that are not required to hold."""
    return choice.causes | {Limits.name: choice.once(Feasibility).at}


def _queried(choice, space, certificate):
    """Return the `Optimum` that is certified, or the least risky one if there is none."""
    run, t, limiter = choice.run, choice.t, choice.run.limiter
    if choice.number % EXPAND_EVERY == 0:
        aim = search(choice, space.reachable, _free(choice)).x
        optimum = Optimum(certificate.towards(space.reachable, t, aim, choice.taken), t)
    else:
        optimum = search(choice, space, choice.causes, choice.taken, choice.latest)
    if optimum.x is not None:
        return optimum
    if limiter is None:
        x = certificate.least_risky(space.reachable, t, choice.taken)
        return Optimum(x, t, is_fallback=True)
    # Step to the nearest certified input, if any, or otherwise to the least risky one.
    whole = run.domain.search_space()
    aim = certificate.towards(whole, t, run.setting[:-1])
    if aim is None:
        aim = certificate.least_risky(whole, t)
    return Optimum(limiter.step(run, t, aim), t, is_fallback=True)


def _recommended(choice, space, certificate):
    """Return the best `Optimum` within the limits, or that of the least expected excess.

    If no input is within the limits, or little is known about the limits there, it is the latter,
    and a warning states the probability.
    """
    run, t, unit_of = choice.run, choice.t, choice.run.domain.unit_of
    optimum, feasibility = search(choice, space, choice.causes), choice.once(Feasibility)
    reason = f"No point is known to satisfy all limits with probability {certificate.level:g}"
    if optimum.x is not None:
        if feasibility.is_known(unit_of(optimum.x[np.newaxis]), t)[0]:
            return optimum
        reason = "Little is known about the limits"
    row = _of_least_excess(choice, feasibility)
    probability = np.exp(feasibility.at(t).log(unit_of(row[np.newaxis]))[0])
    # The numbers make each text different: Python shows equal warnings only once.
    warn_caller(
        f"{reason} at t={run.shown_time(t)}. The point of least expected violation is "
        f"recommended: all limits hold there with probability {probability:.2g}. See "
        "probability_feasible().",
        LimitWarning,
    )
    return Optimum(row, t)


def _of_least_excess(choice, feasibility):
    """Return the row (d,) of the least expected excess over the limits.

    It is one of the known rows if little is known about the limits elsewhere.
    """
    run, t, moving = choice.run, choice.t, choice.run.domain.continuous
    space = run.domain.search_space()
    chance = joint(_free(choice), t, moving=moving).least_excess(0.0)
    score = Score(choice.acquisition, None).weighed(chance, 0.0)
    known = space.with_current_context(space.nearest(run.query_surrogate.X_train_[:, :-1]))
    known = known[space.allowed(known)]
    objective = objective_of(score, choice.surrogate.posterior_at(t, moving))
    row = optimize(objective, space, choice.rng, known)
    if len(known) and not feasibility.is_known(run.domain.unit_of(row[np.newaxis]), t)[0]:
        row = space.decode(known[[np.argmax(chance.log_weight(known))]])[0]
    return row
