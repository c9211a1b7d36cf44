"""The state of a run as plain data, and back: for journals and for JSON.

Two states that follow one another share most of their parts, the same objects; a journal writes
those that differ. What was told, and the times of the queries, are in the events.
"""

import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata

import numpy as np

from .._validation import plain_number
from ..exceptions import JournalError
from ..gaussian_process._base import TimeVaryingGP
from ..journal._encoding import NotPlainError, decode, encode, types_within
from ..journal._file import FORMAT
from ..journal._rows import START, Place
from ._clock import make_clock
from ._observe import made_until
from ._state import MAX_PENDING, DataSet, History, Log, Observation

# Fields of a state that are stored as they are. History, data set and query sizes are restored
# from the events, the configuration from the parameters.
_STORED = (
    "clock",
    "rng",
    "policy",
    "policy_before",
    "surrogate",
    "answers",
    "expert_asked",
    "search",
    "time",
    "pending",
    "n_started",
    "failures",
    "limiter",
)


@dataclass(frozen=True)
class Stored:
    """What is stored of a run.

    Attributes
    ----------
    parts : dict of str to plain data
    told : dict of int to Observation
        By position: those that the history stores, and the data set.
    n_told : int
    query_sizes : tuple of (float, int)
    place : Place
    """

    parts: dict
    told: dict
    n_told: int
    query_sizes: tuple
    place: Place = START


def templates_of(run):
    """The parts of a run as its parameters make them, of which only what was learnt is stored."""
    algorithm = run.algorithm
    templates = {"policy": algorithm._make_policy(), "clock": make_clock(algorithm.clock)}
    if algorithm.surrogate is not None:
        templates["surrogate"] = run.new_surrogate(None)
    return templates


def parts_of(run, templates, known=None):
    """Return the parts of a run's state that differ from a known one's (None: all), plain data."""
    apart, untold, positions = _stored_apart(run), run.history.untold, run.data.positions
    values = {name: getattr(run, name) for name in _STORED} | {"untold": untold, "data": positions}
    before = {}
    if known is not None:
        before = {name: getattr(known, name) for name in _STORED if name != "clock"}
        before |= {"untold": known.history.untold, "data": known.data.positions}
    parts = {}
    for name, value in values.items():
        if name in before and before[name] is value:
            continue
        try:
            parts[name] = encode(value, templates, apart if name == "surrogate" else None)
        except NotPlainError as exc:
            raise JournalError(
                f"The {name} of this run cannot be stored: {exc} Let it hold numbers, strings, "
                "arrays, lists and dicts of them."
            ) from exc
    covariance = apart.get("covariance")
    stored = {} if known is None else _stored_apart(known)
    if covariance is not None and covariance is not stored.get("covariance"):
        parts["covariance"] = encode(covariance)
    return parts


def _stored_apart(run):
    """Return what is stored beside a regressor of this package: its rows are those of the data set.

    Its covariance changes only when hyperparameters are searched.
    """
    surrogate = run.surrogate
    if not isinstance(surrogate, TimeVaryingGP) or type(surrogate).__module__[:7] != "sktvbo.":
        return {}
    gp = surrogate._gp
    arrays = {name: getattr(gp.rows, name) for name in ("X", "y", "variance", "total")}
    return arrays | {"covariance": gp.covariance}


def restored(run, stored, types):
    """A new run as it begins, with a stored state; ``types`` may occur besides this package's."""
    templates, parts = templates_of(run), dict(stored.parts)
    told, limit = stored.told, run.history.log.limit
    positions, data = decode(parts.pop("data")).tolist(), DataSet()
    if positions:
        data = DataSet.of(positions, [told[i] for i in positions])
    apart = {}
    if "covariance" in parts:
        X, y = run.to_surrogate(data.rows, data.y)
        apart = {"X": X, "y": y, "variance": data.variance, "total": np.zeros(len(y), dtype=bool)}
        apart["covariance"] = decode(parts.pop("covariance"), types=types)
    untold = decode(parts.pop("untold"))
    values = {
        name: decode(plain, templates, types, apart if name == "surrogate" else None)
        for name, plain in parts.items()
    }
    first = 0 if limit is None else max(stored.n_told - limit, 0)
    log = Log([told[i] for i in range(first, stored.n_told)], limit, stored.n_told)
    return replace(
        run,
        **values,
        data=data,
        history=History(log, untold),
        query_sizes=stored.query_sizes,
        place=stored.place,
    )


def told_as_plain(entry):
    """An observation as an event tells it."""
    return {
        "x": entry.row[:-1].tolist(),
        "t": float(entry.row[-1]),
        "y": entry.y,
        "variance": entry.variance,
        "now": entry.now,
        "n": entry.n,
        "removed": entry.removed.tolist(),
        "record": encode(entry.record),
        "query": entry.query,
    }


def told_of_plain(body):
    """The observation that an event tells of."""
    return Observation(
        np.array([*body["x"], body["t"]], dtype=np.float64),
        body["y"],
        body["now"],
        body["n"],
        np.array(body["removed"], dtype=np.intp),
        decode(body["record"]),
        body["variance"],
        body["query"],
    )


def events_of(run, after, kind, said):
    """What has happened between two states: (kind, position of the observation, body)."""
    body, told = said, None
    if kind == "ask":
        n_total = run.pending.n_total
        asked = [query for query in after.pending.queries if query.id >= n_total]
        with_surrogate = after.query_sizes is not run.query_sizes
        body = {
            "now": after.time.now,
            "n": after.query_sizes[-1][1] if with_surrogate else None,
            "x": [query.x.tolist() for query in asked],
            "t": [query.t for query in asked],
            "query": [query.id for query in asked],
        }
    elif kind == "tell":
        told, body = run.history.total, told_as_plain(after.history.log[-1])
    elif kind == "untell":
        position = after.history.untold[-1]
        body = {"told": position} | told_as_plain(run.history.log.at([position])[0])
    elif kind == "announce":
        body = _query_as_plain(after.pending.queries[-1])
    elif kind == "cancel":
        left = {query.id for query in after.pending.queries}
        gone = (query for query in run.pending.queries if query.id not in left)
        body = _query_as_plain(next(gone))
    events = [(kind, told, body)]
    if kind == "tell_many":
        events, position = [], run.history.total
        for entry in said["entries"]:
            if isinstance(entry, Observation):
                events.append(("tell", position, told_as_plain(entry)))
                position += 1
            else:
                *x, t = entry.tolist()
                events.append(("fail", None, {"x": x, "t": t}))
    surrogate = after.surrogate
    searched = after.search.age == 0 and surrogate is not None
    if searched and surrogate is not run.surrogate:
        theta = getattr(surrogate, "theta_", None)
        if theta is not None and getattr(surrogate, "optimizer", None) is not None:
            events.append(("search", None, {"theta": encode(theta.tolist()), "n": len(after.data)}))
    return events


def _query_as_plain(query):
    return {"x": query.x.tolist(), "t": query.t, "query": query.id}


def qualified(cls):
    """Name of a class, with its module's."""
    return f"{cls.__module__}.{cls.__qualname__}"


def of_header(cls, header, given, source):
    """An optimizer of a class that has not begun, of what a journal begins with."""
    if header["format"] != FORMAT:
        raise JournalError(
            f"{source} has format {header['format']}, and this version of sktvbo knows format "
            f"{FORMAT}. Use the version that wrote it."
        )
    if header["optimizer"] != qualified(cls):
        name = header["optimizer"].rpartition(".")[2]
        raise JournalError(f"{source} holds a run of {name}. Use {name} in place of this class.")
    return cls(**parameters_of_plain(header["parameters"], given, cls, source))


def parameters_as_plain(optimizer):
    """Parameters as plain data; what cannot be written is only named."""
    found = {}
    for name, value in optimizer.get_params(deep=False).items():
        if name == "journal":
            continue
        try:
            found[name] = {"value": encode(plain_number(value))}
        except NotPlainError:
            found[name] = {"given": qualified(type(value))}
    return found


def parameters_of_plain(plain, given, cls, source):
    """Parameters from plain data, and those that the user gives."""
    unknown = sorted(set(given) - set(plain) - {"journal"})
    if unknown:
        raise JournalError(f"{cls.__name__} has no parameter {unknown[0]!r}. Leave it out.")
    types, found = types_within(*given.values()), {}
    for name, stored in plain.items():
        if name not in given:
            try:
                found[name] = decode(stored["value"], types=types)
            except (KeyError, NotPlainError) as exc:
                what = stored.get("given", str(exc))
                raise JournalError(
                    f"{source} cannot hold the parameter {name!r} of {cls.__name__} ({what}). Give "
                    f"it as it was: {name}=..."
                ) from exc
        else:
            found[name] = given[name]
            if "value" in stored and _as_plain(given[name]) != stored["value"]:
                raise JournalError(
                    f"The parameter {name!r} of {cls.__name__} is not as it was when the run of "
                    f"{source} began. Leave it out: it is stored."
                )
    return found | {name: given[name] for name in given if name == "journal"}


def _as_plain(value):
    try:
        return encode(plain_number(value))
    except NotPlainError:
        return None


@contextmanager
def explained_state(source):
    """Say of what cannot be read that it is the state."""
    try:
        yield
    except JournalError:
        raise
    except (NotPlainError, KeyError, TypeError, ValueError, AttributeError, IndexError) as exc:
        raise JournalError(
            f"The state in {source} cannot be read ({type(exc).__name__}: {exc}). Restore a copy, "
            "or use the version of sktvbo that wrote it, with the same parts."
        ) from exc


class Recorder:
    """Writes the steps of one optimizer to a journal.

    Parameters
    ----------
    file : JournalFile
    run : Run
        Where its journal must end.
    header : plain data
        Of the first event.
    written : bool, default=False
        Whether the run is what the file holds for sure.
    """

    def __init__(self, file, run, header, written=False):
        self._file = file
        self._header = header
        self._templates = templates_of(run)
        self._written = run if written else None
        try:
            self._check(run)
        except BaseException:
            self._file.close()
            raise

    def _check(self, run):
        end = self._file.end
        if end == run.place:
            return
        path = self._file.path
        if not run.place.number:
            raise JournalError(
                f"The journal {path} holds a run already, of {end.number} events. Go on with it by "
                f"{type(run.algorithm).__name__}.resume({path!r}), or give another path."
            )
        raise JournalError(
            f"The journal {path} ends with another event than this run, which is a copy of it as "
            f"it once was. Go on with {type(run.algorithm).__name__}.resume({path!r}), or begin "
            "another run; from_json(to_json()) makes a copy without a journal."
        )

    @property
    def is_open(self):
        return self._file.is_open

    def close(self):
        self._file.close()

    def record(self, run, after, kind, said):
        """The next state, when it is in the journal; ``run`` is the present one."""
        # As long as it is not certain what the file holds, nothing is known: what an interrupted
        # call may have written is taken back by the next one.
        known, self._written = self._written, None
        known = known if known is run else None
        parts = parts_of(after, self._templates, known)
        events = events_of(run, after, kind, said)
        if not run.place.number:
            events.insert(0, ("begin", None, self._header))
        place = self._file.append(run.place, events, parts, rewrite=known is None)
        self._written = after = replace(after, place=place)
        return after


def read(file, history):
    """The `Stored` state of a journal's file, for a run that remembers so much."""
    n_told, limit = file.n_told, history
    parts = file.parts()
    positions = decode(parts["data"])
    first = 0 if limit is None else max(n_told - limit, 0)
    told = {i: told_of_plain(body) for i, body in file.told(positions[positions < first], first)}
    queries = ()
    # Of some of them the times were taken back: as many more are read.
    for body in file.latest("ask", 2 * MAX_PENDING):
        if body["n"] is not None:
            time = float(body["now"])
            queries = (*made_until(time, queries), (time, body["n"]))[-MAX_PENDING:]
    return Stored(parts, told, n_told, queries, file.end)


def to_plain(run):
    """All of a run's state as plain data."""
    templates = templates_of(run)
    log, data = run.history.log, run.data
    entries = dict(zip(range(log.first, log.total), log))
    # The data set may hold older observations than the history stores.
    kept = zip(data.positions.tolist(), data.rows, data.y.tolist(), data.variance.tolist())
    old = [[i, *row.tolist(), y, v] for i, row, y, v in kept if i < log.first]
    return {
        "parts": parts_of(run, templates),
        "told": [[i, told_as_plain(entry)] for i, entry in entries.items()],
        "kept": old,
        "n_told": log.total,
        "queries": [list(query) for query in run.query_sizes],
    }


def of_plain(plain):
    """The `Stored` state of `to_plain`."""
    told = {i: told_of_plain(body) for i, body in plain["told"]}
    for i, *row, y, variance in plain["kept"]:
        told[i] = Observation(np.array(row), y, np.nan, 0, np.empty(0, dtype=np.intp), {}, variance)
    queries = tuple((float(t), n) for t, n in plain["queries"])
    return Stored(plain["parts"], told, plain["n_told"], queries)


@cache
def version(package):
    """Version of a package that is installed."""
    return metadata.version(package)


def checksum(content):
    """Checksum of plain data, whatever their layout as text."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
