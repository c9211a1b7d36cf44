"""Page of a running optimizer: one HTML file."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._validation import check_real, invalid
from ..exceptions import JournalError, MissingExtraError
from ..gaussian_process._dates import DURATIONS, NUMBERS, ZONED
from ..optimizers._durable import Durable
from ..optimizers._outcomes import OBJECTIVE
from ..optimizers._report import _hyperparameters
from ..optimizers._serialization import version
from ._page_pictures import pictures
from ._watched import recommended, watched

if TYPE_CHECKING:
    from .._typing import PathLike, PointLike
    from ..optimizers import BayesianOptimizer

# Numbers of events, pending queries and warnings that are listed, the latest.
_N_EVENTS, _N_PENDING, _N_WARNINGS = 20, 5, 20

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0


def report(
    optimizer: BayesianOptimizer | PathLike,
    path: PathLike,
    *,
    baseline: PointLike | None = None,
    units: Mapping[str, str] | None = None,
    reload: float | None = None,
) -> None:
    """Write a page that shows a run: state, queries, recommendation, pictures and events.

    The page is one HTML file, without scripts or references to other files. It replaces an earlier
    one in one step. The command ``sktvbo journal report`` makes the same page from a journal,
    repeatedly with ``--watch``.

    Parameters
    ----------
    optimizer : optimizer, or path-like
        A run that has begun, or the path of a journal, which another process may be writing. It is
        not changed, and nothing in the file is executed.
    path : path-like
        Path of the page.
    baseline : array-like of shape (d,), or a dict for named parameters, default=None
        A fixed setting, for instance the one before the run: the page has the gain over it. None:
        the first of the ``start_points``, if any.
    units : dict of str to str, default=None
        Units of parameters, context, outcomes and "objective" by name.
    reload : float, default=None
        Seconds after which a browser loads the page again; None: never.

    Raises
    ------
    JournalError
        The journal does not exist. The page of one that is damaged, or of another format, says so.
    AskTellError
        The run has not begun.
    ValueError
        The baseline is outside of the domain, or ``reload`` is not positive.
    MissingExtraError
        Jinja or matplotlib is not installed.

    Notes
    -----
    The latest 10,000 observations and 50,000 events are read. Durations of ask and tell, and
    warnings, come from the journal: they are unknown for a run without one. A journal cannot hold
    functions among the parameters. With these its page has no pictures of the model: give the
    optimizer instead.

    Examples
    --------
    >>> import os, tempfile
    >>> from sktvbo import WDBO, plotting
    >>> opt = WDBO({"power": ("real", 0.0, 5.0)}, random_state=0)
    >>> for t in range(12):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -((x["power"] - 2.0) ** 2))
    >>> page = os.path.join(tempfile.mkdtemp(), "run.html")
    >>> plotting.report(opt, page, baseline={"power": 1.0}, units={"power": "kW"})
    >>> os.path.getsize(page) > 10_000
    True
    """
    if reload is not None:
        check_real(reload, "reload", interval="(0, inf)")
    if not isinstance(optimizer, Durable) and not Path(optimizer).is_file():
        raise JournalError(f"The journal {os.fspath(optimizer)} does not exist. Give its path.")
    Page(optimizer, path, baseline, units, reload).write()


class Page:
    """Writer of a page, which draws its pictures only when the run has changed.

    Parameters
    ----------
    source, path, baseline, units, reload
        See `report`; a journal need not exist yet.
    """

    def __init__(self, source, path, baseline=None, units=None, reload=None):
        self._template = _template()
        self._source, self._path, self._reload = source, Path(path), reload
        self._baseline, self._units = baseline, _checked_units(units)
        # End of the journal at the latest page, and the result of `_computed` for it.
        self._position = self._computed = None

    def write(self):
        """Write the page, and return the damage of the journal, in words, or ""."""
        found, now = watched(self._source), time.time()
        if not found.has_journal or found.problem or found.position != self._position:
            self._computed = _computed(found, self._baseline, self._units)
            self._position = found.position
        content = _content(found, now, self._units, self._computed)
        seconds = "" if self._reload is None else f"{self._reload:g}"
        content |= {"reload": self._reload, "seconds": seconds, "version": version("sktvbo")}
        _replace(self._path, self._template.render(content))
        return found.problem


def _template():
    """Return the template of the page, which escapes the names of users."""
    try:
        import jinja2
    except ImportError as exc:
        text = 'report needs Jinja, which is not installed: pip install "sktvbo[report]".'
        raise MissingExtraError(text) from exc
    text = resources.files(__package__).joinpath("report.html").read_text(encoding="utf-8")
    options = {"undefined": jinja2.StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    return jinja2.Environment(autoescape=True, **options).from_string(text)


def _replace(path, text):
    """Write a file in one step: a reader gets the earlier one, or all of this one."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as exc:
        unfinished.unlink(missing_ok=True)
        advice = "Give another path."
        raise JournalError(f"{path} could not be written ({exc.strerror}). {advice}") from exc


# --- contents of the page -------------------------------------------------------------------------


def _computed(found, baseline, units):
    """Return the slow parts: pictures, notes, the gain, and the recommendation."""
    run, shown = found.run, None
    if run is not None:
        _check_units(run, units)
        start = run.config.start_points
        if baseline is None and len(start):
            baseline = run.domain.decode(start[0])
        if baseline is not None:  # an error if it is outside
            shown = _setting(run, run.domain.place(baseline), units)[0]
    made, notes, beside = pictures(found, baseline, units)
    return {
        "pictures": made,
        "notes": notes,
        "baseline": shown,
        "beside": beside,
        "recommended": recommended(found),
    }


def _checked_units(units):
    """Return units as a dict of texts by name."""
    units = {} if units is None else units
    is_dict = isinstance(units, Mapping)
    if not (is_dict and all(isinstance(text, str) for pair in units.items() for text in pair)):
        raise invalid("units", "None or a dict of texts by name", units)
    return dict(units)


def _check_units(run, units):
    """Raise a ValueError for units of names that a run does not have."""
    known = [*run.domain.columns, *(limit.name for limit in run.config.limits), OBJECTIVE]
    if unknown := units.keys() - set(known):
        expected = f"a dict with some of {', '.join(dict.fromkeys(known))}"
        raise invalid("units", expected, got=str(sorted(unknown)))


def _content(found, now, units, computed):
    """Return the values of the template."""
    run, (word, said, since) = found.run, found.state(now)
    label = found.optimizer and (found.optimizer.label or type(found.optimizer).__name__)
    name = label or _name_of(found.events) or "a run"
    changes = [event.number for event in found.events if event.kind == "with_parameters"]
    events = found.events[-_N_EVENTS:][::-1]
    content = {
        "title": name,
        "journal": os.path.basename(found.name),
        "word": word,
        "said": said,
        "since": "" if since is None else f"{_date(since)}, {_duration(now - since)} ago",
        "made": _date(now),
        "zone": time.strftime("UTC%z", time.localtime(now)),
        "problem": found.problem,
        "unknown": found.unknown,
        "pictures": computed["pictures"],
        "notes": computed["notes"],
        "facts": _facts(found, units, computed),
        "asked": [],
        "recommended": None,
        "parameters": "" if found.optimizer is None else repr(found.optimizer),
        "model": "" if run is None else _hyperparameters(run.surrogate),
        "warnings": [(_date(at), *rest) for at, *rest in found.warnings[-_N_WARNINGS:][::-1]],
        "n_warnings": len(found.warnings),
        "has_journal": found.has_journal,
        "events": [_event(run, event, units, max(changes, default=0)) for event in events],
    }
    if run is not None:
        content["asked"] = _asked(found, now, units)
        content["n_asked"] = len(run.pending_now)
        content["recommended"] = _recommendation(run, units, computed["recommended"])
    return content


def _name_of(events):
    """Return the name of the class of an optimizer from its journal, or None."""
    names = [event.body["optimizer"] for event in events if "optimizer" in event.body]
    return names[-1].rpartition(".")[2] if names else None


def _facts(found, units, computed):
    """Return facts as (label, value, remark)."""
    run, counts = found.run, found.counts
    if run is None:
        taken_back = "some were taken back" if counts.get("untell") else ""
        told = ("observations", f"{counts.get('tell', 0)}", taken_back)
        return [told, ("failures", f"{counts.get('fail', 0)}", "")] if counts else []
    return [*_facts_of_run(found, units, computed), *_facts_of_events(found)]


def _facts_of_run(found, units, computed):
    """Yield the facts of a run."""
    run, n_told = found.run, found.run.history.n_told
    latest = f"latest at {_time(run, run.time.passed)}" if n_told else ""
    yield "observations", f"{n_told}", latest
    yield "kept in the model", f"{len(run.data)}", f"of {n_told}" if n_told else ""
    beside = computed["beside"]
    if beside is not None:
        each, error = beside.gain / len(beside.y), 2.0 * beside.gain_std / len(beside.y)
        unit = _unit(OBJECTIVE, units)
        remark = f"{_number(beside.gain)}{unit} in all; the baseline is {computed['baseline']}"
        yield "gain over the baseline", f"{_with_error(each, error)}{unit}", remark
    elif computed["baseline"] is None:
        yield "gain", "—", "no baseline is given"
    within = found.within
    if within is not None:
        remark = f"of {len(within)} observations"
        if not within.all():
            latest = run.shown[int(np.flatnonzero(~within)[-1])]
            remark += f"; the latest outside at {_time(run, latest.row[-1])}"
        yield "within the limits", f"{np.mean(within):.1%}", remark
    yield "failures", f"{run.failures.total}", ""
    yield "late answers", f"{found.n_late}", "older than the one before" if found.n_late else ""
    yield "lost answers", f"{found.n_lost}", "queries that expired" if found.n_lost else ""


def _facts_of_events(found):
    """Yield the facts of a journal; none without one."""
    if not found.has_journal:
        return
    yield "searches", f"{found.counts.get('search', 0)}", "of the hyperparameters"
    yield "time of ask", *_quantiles(found.ask_seconds)
    yield "time of tell", *_quantiles(found.tell_seconds)
    yield "time to an answer", *_quantiles(found.answers[:, 1])


def _quantiles(seconds):
    """Return the median of seconds, and a remark with their 95th percentile."""
    if not len(seconds):
        return "—", "not known"
    middle, high = np.quantile(seconds, [0.5, 0.95])
    return _duration(middle), f"median; 95 % below {_duration(high)}"


def _asked(found, now, units):
    """Return the latest pending queries as (id, setting, context, time, age)."""
    run, at = found.run, {}
    for event in found.events:
        if event.kind == "ask":
            at.update(dict.fromkeys(event.body["query"], event.at))
    return [
        (
            query.id,
            *_setting(run, query.x, units),
            _time(run, query.t),
            _duration(now - at[query.id]) if query.id in at else "",
        )
        for query in run.pending_now[-_N_PENDING:][::-1]
    ]


def _recommendation(run, units, known):
    """Return setting, prediction and probability of the limits as texts; None if unknown."""
    row, mean, std, chance = known
    if row is None:
        return None
    predicted = "" if mean is None else _with_error(mean, 2.0 * std) + _unit(OBJECTIVE, units)
    setting, context = _setting(run, row, units)
    return {
        "setting": setting,
        "context": context,
        "time": _time(run, run.time.now),
        "predicted": predicted,
        "chance": "" if chance is None else f"{chance:.0%}",
    }


def _event(run, event, units, latest_change):
    """Return number, date, kind and text of an event.

    ``latest_change`` is the number of the latest change of parameters.
    """
    body, text = event.body, ""
    if event.kind == "with_parameters":
        text = "changed: " + ", ".join(body["changed"])
    elif event.kind == "search":
        text = f"hyperparameters, from {body['n']} observations"
    elif event.kind != "begin":
        # An earlier domain may have had other positions of categories.
        is_known = run is not None and event.number >= latest_change
        several = body["x"] if event.kind in ("ask", "ask_expert", "tell_expert") else [body["x"]]
        parts = [_setting(run, x, units) if is_known else map(_number, x) for x in several]
        times = body["t"] if isinstance(body["t"], list) else [body["t"]]
        text = "; ".join(", ".join(filter(None, part)) for part in parts)
        if times:
            shown = f"{times[0]:.6g}" if run is None else _time(run, times[0])
            text = f"t = {shown}: {text}"
        if event.kind == "tell":
            text += f" → {_number(body['y'])}"
            if body["removed"]:
                text += f", {len(body['removed'])} removed"
    return event.number, _date(event.at), event.kind.replace("_", " "), text


# --- texts ----------------------------------------------------------------------------------------


def _number(value):
    return f"{value:.4g}"


def _with_error(value, error):
    """Return a value and its error, both up to the second digit of the error."""
    if not 0.0 < error < np.inf:
        return f"{_number(value)} ± {_number(error)}"
    digits = 1 - int(np.floor(np.log10(error)))
    if not -2 <= digits <= 8:
        return f"{_number(value)} ± {error:.2g}"
    return f"{round(value, digits):.{max(digits, 0)}f} ± {error:.{max(digits, 0)}f}"


def _setting(run, row, units):
    """Return the parameters and the context of a row (d,) as two texts, by name."""
    columns = run.domain.described(np.asarray(row, dtype=np.float64)[np.newaxis])
    shown = [_with_unit(name, values[0], units) for name, values in columns.items()]
    k = run.domain.n_chosen
    return ", ".join(shown[:k]), ", ".join(shown[k:])


def _with_unit(name, value, units):
    shown = _number(value) if isinstance(value, float | np.floating) else str(value)
    return f"{name} = {shown}{_unit(name, units)}"


def _unit(name, units):
    """Return the unit of a name after a space, or ""."""
    return f" {units[name]}" if name in units else ""


def _time(run, t):
    """Return a time of the run as text."""
    if not np.isfinite(t):
        return "no time yet"
    if run.time.kind in (None, NUMBERS, DURATIONS):
        return f"{t:.6g}"
    date = str(np.datetime64(run.shown_time(t), "s")).replace("T", " ")
    return f"{date} UTC" if run.time.kind == ZONED else date


def _date(seconds):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _duration(seconds):
    """Return seconds as text in a suitable unit."""
    for unit, size in (("d", _DAY), ("h", _HOUR), ("min", _MINUTE), ("s", 1.0)):
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1000.0 * seconds:.3g} ms"
