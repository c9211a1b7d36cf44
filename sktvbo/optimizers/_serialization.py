"""State of a run as plain data, and back: for journals and for JSON.

A journal stores observations and queries as events, and the rest of the state as named parts. A
step rewrites the parts that changed: states are values, so an unchanged part is the same object.
"""

import copy
import hashlib
import json
import math
import reprlib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import metadata

import numpy as np

from .._validation import invalid, plain_number
from .._values import owned
from .._warnings import present_step, warn_caller
from ..domain import as_domain
from ..domain._change import Change, renumbered
from ..domain._step_limit import as_step_limit
from ..exceptions import JournalError
from ..gaussian_process._fitted import FittedGP
from ..journal._encoding import (
    CODE,
    NotPlainError,
    decode,
    encode,
    outline,
    qualified_name,
    types_within,
)
from ..journal._file import FORMAT, resuming
from ..journal._rows import START, Position
from ._clock import make_clock
from ._models import models_of, new_surrogate, objective
from ._outcomes import limits_of
from ._ranges import LearntRanges
from ._state import MAX_PENDING, DataSet, History, Log, Model, Observation, made_until

# Parameters that define the meaning of observations.
HELD = ("maximize", "time_unit")

# Parameters that must be those of the run when it is resumed: also those that limit queries.
_LIMITS = ("outcome_constraints", "outcome_scales", "safety", "max_step", "start_points")
_IDENTITY = ("domain", "constraints", *HELD, *_LIMITS)

# Fields of a state that are parts. The history, the data set and the query sizes are restored from
# events, the configuration from the parameters.
_FIELDS = (
    "clock",
    "rng",
    "policy",
    "policy_before",
    "static_before",
    "surrogate",
    "search",
    "time",
    "pending",
    "setting",
)


@dataclass(frozen=True)
class StoredState:
    """State of a run as a journal or JSON stores it.

    Attributes
    ----------
    parts : dict of str to plain data
    observations : dict of int to Observation
        Observations of the history and of the data set, by position.
    n_told : int
        Observations told in the whole run.
    query_sizes : tuple of (float, int)
    position : Position
        End of the journal.
    """

    parts: dict
    observations: dict
    n_told: int
    query_sizes: tuple
    position: Position = START


# --- parts ----------------------------------------------------------------------------------------


def constants_of(run):
    """Return values that a state may contain but does not store: templates, functions by name.

    The templates are policy, clock and surrogate at the beginning of a run: only differences are
    stored. The functions are those among the parameters.
    """
    algorithm = run.algorithm
    templates = {"policy": algorithm._make_policy(), "clock": make_clock(algorithm.clock)}
    if run.config.surrogate is not None:
        templates["surrogate"] = new_surrogate(objective(run), None)
    parameters = algorithm.get_params()
    return templates, {f"{name}()": f for name, f in parameters.items() if isinstance(f, CODE)}


def encode_parts(run, constants, known=None):
    """Return the parts, plain data by name, that differ from those of a known state, if any."""
    external = _external(run)
    stored = {} if known is None else _parts(known, _external(known))
    stored.pop("clock", None)  # the only part that changes in place
    templates, functions = constants
    encoded = {}
    for name, value in _parts(run, external).items():
        if name in stored and stored[name] is value:
            continue
        try:
            elsewhere = functions | (external if name in ("surrogate", "limits") else {})
            encoded[name] = encode(value, templates, elsewhere)
        except NotPlainError as exc:
            raise JournalError(
                f"The {name} of this run cannot be stored: {exc} It may contain numbers, "
                "strings, arrays, and lists and dicts of them."
            ) from exc
    return encoded


def _parts(run, external):
    parts = {name: getattr(run, name) for name in _FIELDS}
    parts |= {name: getattr(run.history, name) for name in ("untold", "n_untold")}
    parts["data"] = run.data.positions
    parts |= {name: part for name, part in run.parts.items() if part.is_stored}
    if external:
        parts["covariance"] = external["covariance"]
    return parts


def _external(run):
    """Return the attributes that are stored apart from a regressor of this package.

    Its rows are those of the data set, as are those of an outcome that was measured in all of
    them. Its covariance is a separate part, because it changes only when the hyperparameters are
    searched.
    """
    surrogate = run.surrogate
    if not (isinstance(surrogate, FittedGP) and type(surrogate.model).__module__[:7] == "sktvbo."):
        return {}
    gp = surrogate.gp
    arrays = {name: getattr(gp.rows, name) for name in ("X", "y", "variance", "total")}
    models = enumerate(models_of(run))
    known = [(i, m.surrogate.gp.rows.X) for i, m in models if m.surrogate is not None]
    places = {f"X{i}": X for i, X in known if np.array_equal(X, gp.rows.X)}
    return arrays | places | {"covariance": gp.covariance}


def _restored_external(run, data, covariance):
    """Return the attributes that `_external` left out, from a data set."""
    X, y = run.to_surrogate(data.rows, data.y)
    arrays = {"X": X, "y": y, "variance": data.variance, "total": np.zeros(len(y), dtype=bool)}
    places = {f"X{i}": X for i in range(len(run.config.limits))}
    return arrays | places | {"covariance": covariance}


def restored_run(run, stored):
    """Return a run, before its first step, in a stored state."""
    types, (templates, functions) = types_within(run.algorithm), constants_of(run)
    parts, observations, log = dict(stored.parts), stored.observations, run.history.log
    positions, data, external = decode(parts.pop("data")).tolist(), run.data, {}
    if LearntRanges.name in parts:
        run = decode(parts[LearntRanges.name], types=types).applied(run)
    if positions:
        data = DataSet.of(positions, [observations[i] for i in positions])
    if "covariance" in parts:
        covariance = decode(parts.pop("covariance"), types=types, external=functions)
        external = _restored_external(run, data, covariance)
    taken_back = {name: decode(parts.pop(name)) for name in ("untold", "n_untold")}
    values = {
        name: decode(plain, templates, types, functions | external) for name, plain in parts.items()
    }
    objective = Model(values.pop("surrogate"), values.pop("search"))
    # A capability that the stored run did not have is in its initial state.
    parts = {name: values.pop(name, part) for name, part in run.parts.items()}
    latest = [
        observations[i] for i in range(_first_stored(stored.n_told, log.limit), stored.n_told)
    ]
    return replace(
        run,
        **values,
        objective=objective,
        parts=parts,
        data=data,
        history=History(Log(latest, log.limit, stored.n_told), **taken_back),
        query_sizes=stored.query_sizes,
        position=stored.position,
    )


def _first_stored(n_told, limit):
    """Return the position of the first observation of a history of at most ``limit``."""
    return 0 if limit is None else max(n_told - limit, 0)


# --- events ---------------------------------------------------------------------------------------


def encode_observation(entry):
    """Return an observation as the body of its event."""
    body = {
        "x": entry.row[:-1].tolist(),
        "t": float(entry.row[-1]),
        "y": entry.y,
        "variance": entry.variance,
        "now": entry.now,
        "n": entry.n,
        "removed": entry.removed.tolist(),
        "record": encode(entry.record),
        "query": entry.query,
        "predicted": None if entry.predicted is None else encode(list(entry.predicted)),
    }
    if entry.removed_weights:
        body["removed_weights"] = encode(list(entry.removed_weights))
    if entry.outcomes is not None:
        body["outcomes"] = list(entry.outcomes)
    if entry.asked is not None:
        body["asked"] = entry.asked.tolist()
    return body


def decode_observation(body):
    """Return the observation of an event."""
    predicted, outcomes = decode(body["predicted"]), body.get("outcomes")
    asked = body.get("asked")
    return Observation(
        row=np.array([*body["x"], body["t"]], dtype=np.float64),
        y=body["y"],
        now=body["now"],
        n=body["n"],
        removed=np.array(body["removed"], dtype=np.intp),
        record=decode(body["record"]),
        variance=body["variance"],
        query=body["query"],
        predicted=None if predicted is None else tuple(predicted),
        removed_weights=tuple(decode(body.get("removed_weights", []))),
        outcomes=None if outcomes is None else tuple(outcomes),
        asked=None if asked is None else np.array(asked, dtype=np.float64),
    )


def _stored_observations(run):
    """Return the observations of a run's data set and history by position, in order."""
    log, data = run.history.log, run.data
    nothing, stored = np.empty(0, dtype=np.intp), {}
    columns = data.positions, data.y, data.variance, data.outcomes
    for i, y, variance, outcomes, row in zip(*(each.tolist() for each in columns), data.rows):
        if i < log.first:  # the history no longer stores its other fields
            known = tuple(None if math.isnan(value) else value for value in outcomes) or None
            entry = Observation(row, y, float(row[-1]), 0, nothing, {}, variance, outcomes=known)
            stored[i] = entry
    return stored | dict(enumerate(log, log.first))


def _encode_query(query):
    return {"x": query.x.tolist(), "t": query.t, "query": query.id}


def events_between(run, after, kind, details):
    """Return the events (kind, position of the observation or None, body) of a step.

    Parameters
    ----------
    run, after : RunState
        Before and after the step.
    kind : str
        Of the step: that of its event, "tell_many", or "copy", with all observations.
    details : dict
        Body of an event that the two states do not determine; of "tell_many", the ``entries``.
    """
    position, body = None, details
    if kind == "copy":
        observations = _stored_observations(after).items()
        events = [("tell", i, encode_observation(entry)) for i, entry in observations]
        asked = {"x": [], "t": [], "query": []}
        events += [("ask", None, {"now": now, "n": n} | asked) for now, n in after.query_sizes]
    elif kind == "tell_many":
        events = _events_of_entries(details["entries"], run.history.total)
    else:
        if kind == "ask":
            body = _encode_asked(run, after)
        elif kind == "tell":
            position, body = run.history.total, encode_observation(after.history.log[-1])
        elif kind == "untell" and not details:  # else it is a failure
            untold = after.history.untold[-1]
            body = {"told": untold} | encode_observation(run.history.log.take([untold])[0])
        elif kind == "fail":
            body = _encode_failure(after.failures)
        elif kind == "announce":
            body = _encode_query(after.pending.queries[-1])
        elif kind == "cancel":
            left = {query.id for query in after.pending.unanswered}
            body = _encode_query(next(q for q in run.pending.unanswered if q.id not in left))
        events = [(kind, position, body)]
    return events + search_events(run, after)


def _encode_asked(run, after):
    asked = [query for query in after.pending.queries if query.id >= run.pending.n_total]
    with_surrogate = after.query_sizes is not run.query_sizes
    return {
        "now": after.time.now,
        "n": after.query_sizes[-1][1] if with_surrogate else None,
        "x": [query.x.tolist() for query in asked],
        "t": [query.t for query in asked],
        "query": [query.id for query in asked],
    }


def _events_of_entries(entries, position):
    """Return the events of observations and failures told together, see `observe_many`."""
    events = []
    for entry in entries:
        if isinstance(entry, Observation):
            events.append(("tell", position, encode_observation(entry)))
            position += 1
        else:
            events.append(("fail", None, _encode_failure(entry)))
    return events


def _encode_failure(failures):
    """Return the latest of the failures as the body of its event."""
    (*x, t), outcomes = failures.rows[-1].tolist(), failures.outcomes_at(-1)
    is_known = outcomes is not None and any(value is not None for value in outcomes)
    return {"x": x, "t": t} | ({"outcomes": list(outcomes)} if is_known else {})


def search_events(run, after):
    """Return an event in a list if the step has searched the hyperparameters."""
    surrogate = after.surrogate
    if surrogate is None or surrogate is run.surrogate or after.search.age:
        return []
    # A custom surrogate need not have these.
    theta = getattr(surrogate, "theta_", None)
    if theta is None or getattr(surrogate, "optimizer", None) is None:
        return []
    return [("search", None, {"theta": encode(theta.tolist()), "n": len(after.data)})]


# --- parameters -----------------------------------------------------------------------------------


def encode_parameters(parameters):
    """Return parameters as plain data, without the journal.

    Each is {"value": plain data}, or {"outline": plain data with gaps} if it cannot be encoded.
    """
    encoded = {}
    for name, value in parameters.items():
        if name != "journal":
            try:
                encoded[name] = {"value": encode(owned(plain_number(value)))}
            except NotPlainError:
                encoded[name] = {"outline": outline(value)}
    return encoded


def decode_parameters(plain, parameters, cls, source):
    """Return the parameters of `encode_parameters`, with those that the user gives again.

    Parameters
    ----------
    plain : dict
    parameters : dict of str to object
        Those that cannot be encoded, and any others, which must be equal.
    cls : type
        Of the optimizer, for messages.
    source : str
        Path of the journal, or "JSON", for messages.
    """
    for name, value in encode_parameters(parameters).items():
        if name not in plain:
            raise JournalError(f"{cls.__name__} has no parameter {name!r}. Leave it out.")
        if "value" in plain[name] and value != plain[name]:
            raise invalid(
                name,
                f"the value with which the run of {source} began",
                parameters[name],
                cls,
                advice="Leave it out: it is stored.",
                error=JournalError,
            )
    types, decoded = types_within(*parameters.values()), {}
    for name, stored in plain.items():
        if name not in parameters:
            try:
                decoded[name] = _decoded(stored, types)
            except NotPlainError as exc:
                raise JournalError(
                    f"{source} cannot hold the parameter {name!r} of {cls.__name__} ({exc}). "
                    f"Give the same value again, {name}=..., to from_json(), or to the constructor "
                    "with journal=Journal(path, resume=True)."
                ) from exc
    return parameters | decoded


def _decoded(stored, types):
    """Return a parameter of `encode_parameters`; a NotPlainError states why it is not stored."""
    if "value" not in stored:
        raise NotPlainError("functions and objects of custom classes are not stored")
    return decode(stored["value"], types=types)


def new_optimizer(cls, header, parameters, source):
    """Return an optimizer with the parameters of a journal's header; see `decode_parameters`.

    Its class is the one of the family of ``cls`` that the header names.
    """
    if header["format"] != FORMAT:
        raise JournalError(
            f"{source} has format {header['format']}, and this version of sktvbo reads format "
            f"{FORMAT}. Use the version that wrote it."
        )
    name, kinds = header["optimizer"], [cls._family()]
    for kind in kinds:
        if qualified_name(kind) == name:
            return kind(**decode_parameters(header["parameters"], parameters, kind, source))
        kinds += kind.__subclasses__()
    raise JournalError(
        f"{source} holds a run of {name.rpartition('.')[2]}. Use that class, of the module "
        f"{name.rpartition('.')[0]}, instead of {cls.__name__}."
    )


def with_stored_parameters(optimizer, header, source):
    """Return a copy of an optimizer with the stored parameters of a run that it resumes.

    Parameters that are not stored remain the optimizer's. Also return the names of those that are
    replaced. Warn about them, and raise an error if the algorithm, or the meaning of a parameter of
    `_IDENTITY`, differs.
    """
    new, parameters = copy.copy(optimizer), optimizer.get_params(deep=False)
    encoded, types = encode_parameters(parameters), types_within(*parameters.values())
    names = [name.rpartition(".")[2] for name in (header["optimizer"], qualified_name(type(new)))]
    stored, refused, replaced = header["parameters"], {}, {}
    if header["optimizer"] != qualified_name(type(new)):
        refused["algorithm"] = "algorithm: expected {}, got {}".format(*names)
        stored = {name: stored[name] for name in _IDENTITY if name in stored}
    for name, plain in stored.items():
        if plain == encoded.get(name):
            continue
        got = reprlib.repr(parameters.get(name))
        try:
            value = _decoded(plain, types)
        except NotPlainError as exc:
            refused[name] = f"{name}: expected the same as before ({exc}), got {got}"
            continue
        text = f"{name}: expected {reprlib.repr(value)}, got {got}"
        if name in _IDENTITY and not _means_the_same(name, value, parameters):
            refused[name] = text
            continue
        setattr(new, name, value)
        replaced[name] = "" if name in (*_IDENTITY, "earlier") else text
    if refused:
        raise JournalError(
            f"The journal {source} holds the run of another optimizer. "
            f"{'; '.join(refused.values())}. Give the same as in that run, or begin another run "
            f"with another path.{_remedy(refused, header, source)}"
        )
    if any(replaced.values()):
        warn_caller(
            f"The run in {source} keeps its parameters. "
            f"{'; '.join(filter(None, replaced.values()))}. For others, use the optimizer that "
            "with_parameters() returns.",
        )
    return new, list(replaced)


def _means_the_same(name, value, parameters):
    """Return True if a stored value of a parameter means the same as that among ``parameters``."""
    if name == "outcome_constraints":
        return sorted(limits_of(value, name)) == sorted(limits_of(parameters[name], name))
    if (
        name not in ("domain", "max_step", "start_points")
        or value is None
        or parameters[name] is None
    ):
        return False
    domain = as_domain(parameters["domain"])
    try:
        if name == "domain":
            # A domain that was changed also has the values that are not queried any more.
            return Change.between(as_domain(value), domain).domain == as_domain(value)
        if name == "start_points":
            return np.array_equal(*(domain.places(each) for each in (value, parameters[name])))
        old, new = (as_step_limit(each, domain, name) for each in (value, parameters[name]))
        return old.per == new.per and np.array_equal(old.shares(domain), new.shares(domain))
    except ValueError:  # the stored value belongs to another domain
        return False


def _remedy(refused, header, source):
    """Return the advice for parameters that were refused and may be changed, a sentence or none."""
    if not set(refused).isdisjoint(("algorithm", *HELD)):
        return ""
    values = ", ".join(f"{name}=..." for name in refused)
    run, where = f"BayesianOptimizer.resume({source!r})", ""
    if any("value" not in plain for plain in header["parameters"].values()):
        run, where = "opt", ", where opt has the parameters and the journal of the run"
    return (
        f" To go on with other values, change the run once: {run}.with_parameters({values}).close()"
        f"{where}. The journal records it, and is resumed with these values from then on."
    )


@contextmanager
def state_errors(source):
    """Raise a JournalError instead of the errors of decoding a state."""
    try:
        yield
    except JournalError:
        raise
    except (NotPlainError, KeyError, TypeError, ValueError, AttributeError, IndexError) as exc:
        raise JournalError(
            f"The state in {source} cannot be read ({type(exc).__name__}: {exc}). Restore a copy, "
            "or use the version of sktvbo that wrote it, with the same parts."
        ) from exc


# --- states in a journal, and in JSON -------------------------------------------------------------


class Recorder:
    """Writer of an optimizer's steps to a journal.

    Parameters
    ----------
    file : JournalFile
    run : RunState
        Its position must be the end of the file.
    header : plain data
        Body of the first event.
    is_stored : bool, default=False
        True if the file already contains the state of ``run``.
    """

    def __init__(self, file, run, header, is_stored=False):
        self._file = file
        self._header = header
        # Warnings of the latest step, and how many of them are in the file.
        self._warnings, self._n_warnings = [], 0
        self._constants = constants_of(run)
        # The state in the file; None while that is uncertain.
        self._stored = run if is_stored else None
        try:
            self._check_end(run)
        except BaseException:
            self._file.close()
            raise

    def _check_end(self, run):
        end, path = self._file.end, self._file.path
        if end == run.position:
            return
        if not run.position.number:
            raise JournalError(
                f"The journal {path} holds a run already, of {end.number} events. Resume it with "
                f"{resuming(path)}, or give another path."
            )
        raise JournalError(
            f"The journal {path} ends with another event than this run, which is a copy of an "
            f"earlier state. Resume it with {resuming(path)} in another optimizer, or begin "
            "another run; from_json(to_json()) makes a copy without a journal."
        )

    def handed_to(self, run):
        """Return the recorder of a run that continues with other parameters in the same file."""
        self._stored = None  # if its first step is interrupted, the next one of this run deletes it
        return Recorder(self._file, run, self._header)

    @property
    def is_open(self):
        return self._file.is_open

    def close(self):
        self._file.close()

    def record(self, run, after, kind, details):
        """Write the step from a state to the next one, and return the latter with its position."""
        # If this call is interrupted, the next one deletes what it may have written.
        known, self._stored = self._stored if self._stored is run else None, None
        parts = encode_parts(after, self._constants, known)
        events = self._noted(events_between(run, after, kind, details), kind)
        if not run.position.number:
            events.insert(0, ("begin", None, self._header))
        position = self._file.append(run.position, events, parts, rewrite=known is None)
        self._stored = after = replace(after, position=position)
        return after

    def _noted(self, events, kind):
        """Return the events of a step, the last one with notes since the step before.

        Notes are the seconds of the step, unless it has many observations, and warnings (category,
        text).
        """
        warnings, seconds = present_step()
        new, noted = self._warnings[self._n_warnings :], {}
        if warnings is not None:
            new = new + warnings if warnings is not self._warnings else new
            self._warnings, self._n_warnings = warnings, len(warnings)
        if seconds is not None and kind in ("ask", "tell", "fail"):
            noted["seconds"] = round(seconds, 6)
        if new:
            noted["warnings"] = [[category.__name__, text] for text, category in new]
        if not (events and noted):
            return events
        *others, (name, told, body) = events
        return [*others, (name, told, body | noted)]


def read_state(file, limit):
    """Return the `StoredState` of a journal's file, for a history of at most ``limit``."""
    n_told, parts = file.n_told, file.parts()
    first, positions = _first_stored(n_told, limit), decode(parts["data"])
    observations = _converted(
        file.told(positions[positions < first], first), file.latest("with_parameters")
    )
    sizes = ()
    # Some times may have been taken back: read more than the latest ones.
    for event in file.latest("ask", 2 * MAX_PENDING):
        if event.body["n"] is not None:
            time = float(event.body["now"])
            sizes = (*made_until(time, sizes), (time, event.body["n"]))[-MAX_PENDING:]
    return StoredState(parts, observations, n_told, sizes, file.end)


def change_event(change, columns, changes):
    """Return the part of the body of a change of parameters that restores earlier observations.

    Parameters
    ----------
    change : Change
        Of the domain.
    columns : list of int
        Positions of the outcomes that remain.
    changes : dict of str to object
        Parameters that were given.
    """
    positions = {str(i): new.tolist() for i, new in change.positions.items()}
    return {"changed": sorted(changes), "positions": positions, "outcomes": columns}


def _converted(events, changes):
    """Return observations by position, of their events and those of later changes."""
    entries = {}
    for event in events:
        entry = decode_observation(event.body)
        for change in changes:
            if change.number > event.number:
                positions = {int(i): np.array(p) for i, p in change.body["positions"].items()}
                rows = partial(renumbered, positions=positions)
                entry = entry.converted(rows, change.body["outcomes"])
        entries[event.told] = entry
    return entries


def encode_state(run):
    """Return the whole state of a run as plain data, for JSON."""
    observations = _stored_observations(run).items()
    return {
        "parts": encode_parts(run, constants_of(run)),
        "told": [[i, encode_observation(entry)] for i, entry in observations],
        "n_told": run.history.log.total,
        "queries": [list(query) for query in run.query_sizes],
    }


def decode_state(plain):
    """Return the `StoredState` of `encode_state`."""
    sizes = tuple((float(t), n) for t, n in plain["queries"])
    observations = {i: decode_observation(body) for i, body in plain["told"]}
    return StoredState(plain["parts"], observations, plain["n_told"], sizes)


@cache
def version(package):
    """Return the version of an installed package."""
    return metadata.version(package)


def checksum(content):
    """Return the checksum of plain data, which does not depend on their layout as text."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
