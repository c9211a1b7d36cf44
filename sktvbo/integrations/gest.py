"""Generator of the gest-api standard, for Xopt, libEnsemble, optimas and Blop.

The caller runs the loop. All state is in the optimizer: a journal, or the caller's own file,
restores it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._validation import invalid, invalid_domain, invalid_observation
from .._warnings import warn_caller
from ..domain import Context, as_domain
from ..exceptions import AskTellError, InvalidObservationError, MissingExtraError
from ..journal import Journal
from ..optimizers import WDBO, BayesianOptimizer, Query

if TYPE_CHECKING:
    import pandas as pd

try:
    from gest_api import vocs as standard
    from gest_api.generator import Generator
    from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_serializer
except ImportError as exc:
    raise MissingExtraError(
        'sktvbo.integrations.gest needs gest-api of at least 0.2: pip install "sktvbo[gest]".'
    ) from exc

__all__ = ["TimeVaryingGenerator"]

# Largest difference of a result's variable from the suggested one, relative to it or to its range:
# rounding to float32, or to the digits in a caller's file.
_ROUNDING = 1e-6

# Name of the objective in the optimizer.
_OBJECTIVE = "objective"


class TimeVaryingGenerator(BaseModel, Generator):
    """Generator of the gest-api standard that tracks an optimum moving with time.

    Parameters
    ----------
    vocs : gest_api.vocs.VOCS
        One objective, to minimize or maximize. Constraints become ``outcome_constraints``, and
        contextual variables a `~sktvbo.domain.Context`. A discrete variable of numbers is an
        "ordinal", of other values a "categorical". One with an integer ``dtype`` is an "integer".
    optimizer : optimizer, default=None
        Optimizer without domain, direction and limits: those of ``vocs`` are set in a copy. An
        optimizer that has the same ones continues its run. None is ``WDBO(clock="calendar")``. The
        field of a dump of the generator restores the optimizer.
    time : str, default=None
        Field of the results with the time of the measurement: in seconds since 1970, or in the unit
        of the optimizer's ``clock`` if that is "step" or a callable. None: a result has the time of
        its suggestion by this clock, in seconds for "calendar" and "wall".
    context : callable, default=None
        ``context()`` returns the present values of the contextual variables as a dict, before a
        suggestion. None takes those of the latest result, or the middle of the ranges.

    Raises
    ------
    ValueError
        Variables, objectives or constraints that the optimizer does not support; an optimizer with
        another domain or direction, or with other limits.
    DomainError
        A ValueError: a variable without a finite domain. That of a contextual variable is its usual
        range, which scales it.

    Notes
    -----
    - A result without ``_id`` was not suggested. Without a field ``time``, it has the present time.
    - A result has failed if ``xopt_error`` is True, if optimas reports it, if the objective is
      None, NaN or infinite, or if a constraint is infinite. A constraint that is None or NaN was
      not measured.
    - As in Xopt, suggestions have no contextual variables. Results contain them.
    - With ``journal=Journal(path, resume=True)`` in the optimizer, a killed program continues when
      it is started again. Its pending suggestions may be answered.
    - A dump of Xopt contains the state of the run, or the path of its journal. To load it, register
      the name: ``xopt.generators.generators["sktvbo"] = TimeVaryingGenerator``.
    - A result with ``_id`` and other variables answers that suggestion, measured at these.
    - To remove a result, call ``optimizer.untell``. Xopt's ``remove_data`` and ``reset_data`` raise
      a ValueError.

    Examples
    --------
    >>> from gest_api.vocs import VOCS
    >>> from sktvbo import WDBO
    >>> from sktvbo.integrations.gest import TimeVaryingGenerator
    >>> vocs = VOCS(variables={"current": [-5.0, 5.0]}, objectives={"size": "MINIMIZE"})
    >>> generator = TimeVaryingGenerator(vocs, WDBO(clock="step", random_state=0))
    >>> for i in range(40):
    ...     points = generator.suggest(1)
    ...     points[0]["size"] = (points[0]["current"] - 0.05 * i) ** 2      # the optimum moves
    ...     generator.ingest(points)
    >>> bool(abs(generator.optimizer.recommend()["current"] - 2.0) < 0.5)
    True
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, frozen=True)

    name: ClassVar[str] = "sktvbo"
    returns_id: ClassVar[bool] = True

    vocs: standard.VOCS
    optimizer: Any
    time: str | None = None
    context: Callable[[], Mapping[str, float]] | None = Field(None, exclude=True)
    _known: dict[int, Query] = PrivateAttr(default_factory=dict)

    def __init__(
        self,
        vocs: standard.VOCS,
        optimizer: Any = None,
        *,
        time: str | None = None,
        context: Callable[[], Mapping[str, float]] | None = None,
    ) -> None:
        vocs = standard.VOCS.model_validate(vocs)
        problem = _problem_of(vocs)  # before a journal is opened
        optimizer = _with_problem(_restored(optimizer), problem)
        super().__init__(vocs=vocs, optimizer=optimizer, time=time, context=context)

    def _validate_vocs(self, vocs):
        _problem_of(vocs)

    def __deepcopy__(self, memo: dict | None = None) -> TimeVaryingGenerator:
        self.optimizer.close()  # a journal has one writer: the one of the two that steps next
        # A copied method would have a copy of its object, which may be a connection.
        memo = {} if memo is None else memo
        memo |= {id(call): call for call in (self.context, self.optimizer.clock)}
        return super().__deepcopy__(memo)

    @field_serializer("optimizer")
    def _dumped(self, optimizer):
        """Return the state as JSON, or the journal as a dict."""
        if optimizer.journal is None:
            return optimizer.to_json()
        return {**asdict(Journal.of(optimizer.journal).located()), "resume": True}

    # --- the standard -----------------------------------------------------------------------------

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """Return points to evaluate next.

        Parameters
        ----------
        num_points : int, default=None
            None is the same as 1.

        Returns
        -------
        points : list of dict
            Variables, but no contextual ones; constants; and the ``_id`` for `ingest`.

        Raises
        ------
        ValueError
            ``num_points`` is no integer of at least 1.
        """
        n = 1 if num_points is None else num_points
        queries = self.optimizer.suggest(self._present(), n, context=self._present_context())
        known = self._known | {query.id: query for query in queries}
        # An optimizer stores 1024 pending and 256 expired queries.
        self._known = dict(list(known.items())[-1280:])
        constants = {name: constant.value for name, constant in self.vocs.constants.items()}
        return [{**query.x, **constants, "_id": query.id} for query in queries]

    def ingest(self, results: Sequence[Mapping[str, Any]]) -> None:
        """Add results: all or, after an error, none.

        Parameters
        ----------
        results : list of dict
            With ``_id`` the variables may be left out. Fields that are not in the VOCS are ignored.

        Raises
        ------
        ValueError
            An ``_id`` that is unknown; a different result of one that has a result; a missing
            field; a value outside of the domain.
        """
        if not results:
            return
        # The attributes of a run are AttributeErrors before its first step.
        known = self._known | {query.id: query for query in getattr(self.optimizer, "pending_", ())}
        queries = [_query(result, known) for result in results]
        read = [self._read(result, query) for result, query in zip(results, queries)]
        x, y, t, context, outcomes = map(list, zip(*read))
        settings = [self._setting(result, query) for result, query in zip(results, queries)]
        failed = [math.isnan(value) for value in y]
        try:
            if len(y) == 1:
                options = {"context": context[0], "outcomes": outcomes[0], "failed": failed[0]}
                options["x"] = settings[0]
                self.optimizer.tell(x[0], None if failed[0] else y[0], t[0], **options)
            else:  # with one search of the hyperparameters
                columns = {name: [each[name] for each in outcomes] for name in outcomes[0]}
                options = {"context": None if None in context else context, "failed": failed}
                options["x"] = settings
                self.optimizer.tell_many(x, y, t, outcomes=columns, **options)
        except AskTellError as exc:
            raise InvalidObservationError(str(exc)) from exc

    def _setting(self, result, query):
        """Return the variables of a result if they differ from its suggestion; None otherwise."""
        if query is None:
            return None
        given = {name: name in result for name in query.x}
        x = {
            name: _value(result, name, self.vocs.variables[name]) if given[name] else suggested
            for name, suggested in query.x.items()
        }
        variables = self.vocs.variables
        same = [_is_close(x[name], query.x[name], variables[name]) for name in x]
        return None if all(same) else x

    def __setattr__(self, name: str, value: Any) -> None:  # type: ignore
        if name == "data":
            got = "an assignment, as by remove_data and reset_data of Xopt"
            advice = (
                "Remove results by generator.optimizer.untell(...); for another run make another "
                "generator."
            )
            raise invalid("data", "left to the optimizer", owner=self, got=got, advice=advice)
        super().__setattr__(name, value)

    def set_data(self, data: pd.DataFrame) -> None:
        """Raise a ValueError: results are removed by ``optimizer.untell``.

        Parameters
        ----------
        data : pandas.DataFrame
            The results that Xopt's ``remove_data`` or ``reset_data`` leave.
        """
        self.data = data

    def finalize(self) -> None:
        """Close the journal, if there is one; the next step reopens it."""
        self.optimizer.close()

    # --- methods for some callers -----------------------------------------------------------------

    generate = suggest  # the name in Xopt's asynchronous loop

    def add_data(self, new_data: pd.DataFrame) -> None:
        """Add the results with which an Xopt is created, unless a resumed run has them.

        Parameters
        ----------
        new_data : pandas.DataFrame
            All results so far. Their ids are those of another run, and are ignored.

        Warns
        -----
        UserWarning
            The resumed run has fewer results. `ingest` adds others.
        """
        n = sum(getattr(self.optimizer, name, 0) for name in ("n_told_", "n_failed_"))
        if not n:
            self.ingest(new_data.drop(columns="_id", errors="ignore").to_dict("records"))
        elif len(new_data) > n:
            text = f"The data, {len(new_data)} results, are left out: the resumed run has {n}."
            warn_caller(f"{text} Add others with ingest().")

    def register_failures(self, suggestions: Sequence[Mapping[str, Any]]) -> None:
        """Add failures: points of `suggest` that Blop could not evaluate.

        Parameters
        ----------
        suggestions : list of dict
        """
        self.ingest([{**point, "xopt_error": True} for point in suggestions])

    def get_best_points(self) -> list[tuple[None, dict[str, Any], dict[str, float]]]:
        """Return the optimizer's recommendation at the present time and in the present context.

        Measured points, which Blop expects here, may no longer be good.

        Returns
        -------
        points : list of (None, dict, dict)
            One point, or none before the first measured result: None in place of an id; the
            variables; objective and constraints, predicted. `RandomSearch` predicts none.
        """
        t, context = self._present(), self._present_context()
        outcomes = {name: name for name in self.vocs.constraints}
        outcomes |= dict.fromkeys(self.vocs.objectives, _OBJECTIVE)
        try:
            x, predicted = self.optimizer.recommend(t, context=context), {}
            if isinstance(self.optimizer, BayesianOptimizer):
                for name, outcome in outcomes.items():
                    predicted[name] = self.optimizer.predict(x, t, context=context, outcome=outcome)
        except AskTellError:
            return []
        return [(None, x, predicted)]

    # --- times, contexts and results --------------------------------------------------------------

    def _present(self):
        """Return the time of a suggestion; None for that of the optimizer's clock."""
        if self.time is None or self.optimizer.clock not in ("calendar", "wall"):
            return None
        return max(time.time(), self.optimizer.now())  # the clock of results may be ahead

    def _present_context(self):
        """Return the context of a suggestion; None if there is none."""
        ranges = _contexts_of(self.vocs)
        if not ranges:
            return None
        if self.context is not None:
            return self.context()
        latest = getattr(self.optimizer, "told_X_", ())
        if not len(latest):
            return {name: (low + high) / 2.0 for name, (low, high) in ranges.items()}
        return as_domain(self.optimizer.domain).decode_context(latest[-1, :-1])

    def _read(self, result, query):
        """Return query or point, value, time, context and outcomes of a result."""
        (objective,) = self.vocs.objectives
        failed = result.get("xopt_error") == 1 or result.get("_status") == 3  # of optimas
        names = [objective, *self.vocs.constraints]
        outcomes = {name: _number(result, name, optional=failed) for name in names}
        failed |= any(map(math.isinf, outcomes.values()))
        outcomes = {name: math.nan if failed else value for name, value in outcomes.items()}
        y = outcomes.pop(objective)
        context = {name: _number(result, name, optional=True) for name in _contexts_of(self.vocs)}
        if not context or any(map(math.isnan, context.values())):
            context = query and query.context
        t = _number(result, self.time, optional=failed) if self.time else math.nan
        if math.isnan(t) and query:  # ABO chooses later times, for which no caller waits
            t = query.asked if math.isfinite(query.asked) else query.t
        elif math.isnan(t):
            t = self._present() or self.optimizer.now()
        chosen = [(name, of) for name, of in self.vocs.variables.items() if not _is_context(of)]
        x = query or {name: _value(result, name, of) for name, of in chosen}
        return x, y, t, context, outcomes


# --- the problem ----------------------------------------------------------------------------------


def _is_context(variable):
    return isinstance(variable, standard.ContextualVariable)


def _contexts_of(vocs):
    """Return the usual ranges of the contextual variables, a dict."""
    return {name: of.domain for name, of in vocs.variables.items() if _is_context(of)}


def _problem_of(vocs):
    """Return a VOCS as parameters of an optimizer: domain, direction and limits."""
    kinds = [type(objective) for objective in vocs.objectives.values()]
    if kinds not in ([standard.MinimizeObjective], [standard.MaximizeObjective]):
        got = f"{', '.join(kind.__name__ for kind in kinds) or 'none'}; others may be observables"
        expected = "one, to minimize or to maximize"
        raise invalid_domain("The objective of the VOCS", expected, got=got)
    if all(map(_is_context, vocs.variables.values())):
        expected = "at least one that is not contextual"
        got = ", ".join(vocs.variables) or "none"
        raise invalid_domain("The variables of the VOCS", expected, got=got)
    domain = {name: _parameter(name, variable) for name, variable in vocs.variables.items()}
    maximize, limits = kinds == [standard.MaximizeObjective], _limits_of(vocs)
    return {"domain": domain, "maximize": maximize, "outcome_constraints": limits or None}


def _parameter(name, variable):
    if isinstance(variable, standard.DiscreteVariable):
        if all(isinstance(value, Real) for value in variable.values):
            return "ordinal", sorted(variable.values)
        return "categorical", sorted(variable.values, key=repr)
    if isinstance(variable.dtype, tuple):
        what, advice = f"The dtype of the variable {name!r}", "Give each number its own variable."
        raise invalid_domain(what, "of one number", variable.dtype, advice=advice)
    if not all(map(math.isfinite, variable.domain)):
        advice = "Its usual range is enough: ContextualVariable(domain=[low, high])."
        what = f"The domain of the variable {name!r}"
        raise invalid_domain(what, "finite", variable.domain, advice=advice)
    if _is_context(variable):
        return Context(*variable.domain)
    is_whole = variable.dtype is not None and np.issubdtype(np.dtype(variable.dtype), np.integer)
    return "integer" if is_whole else "real", *variable.domain


def _limits_of(vocs):
    """Return the constraints as limits of outcomes, a dict."""
    limits = {}
    for name, constraint in vocs.constraints.items():
        if name == _OBJECTIVE and name not in vocs.objectives:
            expected = "other than that of the optimizer's objective"
            raise invalid_domain("The name of a constraint", expected, name)
        if isinstance(constraint, standard.BoundsConstraint):
            pair = tuple(constraint.range)
        elif isinstance(constraint, standard.LessThanConstraint):
            pair = None, constraint.value
        else:
            pair = constraint.value, None
        limits[_OBJECTIVE if name in vocs.objectives else name] = pair
    return limits


def _restored(optimizer):
    """Return an optimizer as given, or restored from the field of a dump."""
    if optimizer is None:
        return WDBO(clock="calendar")
    if isinstance(optimizer, str):
        return BayesianOptimizer.from_json(optimizer)
    if isinstance(optimizer, Mapping):
        return BayesianOptimizer.resume(Journal(**optimizer))
    return optimizer


def _with_problem(optimizer, problem):
    """Return an optimizer with the domain, direction and limits of a problem."""
    parameters = optimizer.get_params(deep=False)
    is_new = parameters["domain"] is None
    for name, value in problem.items():
        got = parameters.get(name)
        if got != value and not (is_new and (got is None or name == "maximize")):
            expected = f"left out, or that of the VOCS, {value!r}"
            raise invalid(f"The {name!r} of an optimizer", expected, got)
    # A clone would copy the clock, and the object whose method it may be.
    changes = {name: value for name, value in problem.items() if value is not None}
    return type(optimizer)(**parameters).set_params(**changes) if is_new else optimizer


# --- values ---------------------------------------------------------------------------------------


def _number(result, name, *, optional=False):
    """Return a field of a result as a float; NaN if it is None, or missing and optional."""
    if name not in result and not optional:
        advice = "Give None for a value that was not measured."
        raise invalid_observation("A result", f"a dict with {name!r}", list(result), advice=advice)
    value = result.get(name)
    try:
        return math.nan if value is None else float(value)
    except (TypeError, ValueError) as exc:
        raise invalid_observation(f"{name!r} of a result", "a number", value) from exc


def _value(result, name, variable):
    """Return a variable of a result that was not suggested."""
    if not isinstance(variable, standard.DiscreteVariable):
        return _number(result, name)
    value = result.get(name)  # 3.0 for 3, from a frame
    return next((member for member in variable.values if member == value), value)


def _query(result, known):
    """Return the query of a result; None if it was not suggested."""
    id = result.get("_id")
    if id is None or id != id or id == -1:  # libEnsemble writes -1 for none
        return None
    if id not in known:
        advice = "Leave it out of a result that was not suggested."
        raise invalid_observation("The '_id' of a result", "one of suggest()", id, advice=advice)
    return known[id]


def _is_close(value, suggested, variable):
    if isinstance(variable, standard.DiscreteVariable):
        return value == suggested or (
            isinstance(value, Real) and math.isclose(value, suggested, rel_tol=_ROUNDING)
        )
    low, high = variable.domain
    return math.isclose(value, suggested, rel_tol=_ROUNDING, abs_tol=_ROUNDING * (high - low))
