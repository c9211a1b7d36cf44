"""Command ``sktvbo journal``: show, export and check the journal of an optimizer."""

import json
import sys
import time
from collections import deque
from pathlib import Path

from .. import journal
from .._console import printing, whole_number
from ..exceptions import JournalError


def add_journal(commands):
    """Add the command to the parsers of ``sktvbo``."""
    parser = commands.add_parser(
        "journal",
        help="show, export or check the journal of an optimizer",
        description="Read the journal of an optimizer (journal='run.db'), also while it is being "
        "written. Reading executes no code of the file.",
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="the optimizer and the latest events")
    show.add_argument("-n", type=whole_number(), default=10, metavar="N", help="of events (10)")
    show.set_defaults(run=_show, parser=show)
    export = actions.add_parser("export", help="all events, one line of JSON each")
    export.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
    export.set_defaults(run=_export, parser=export)
    check = actions.add_parser("check", help="check that the file is intact; returns 1 if not")
    check.set_defaults(run=_check, parser=check)
    for action in (show, export, check):
        action.add_argument("path", help="path of the journal")


@printing()
def _show(arguments):
    counts, latest, first = {}, deque(maxlen=arguments.n), None
    for event in journal.events(arguments.path):
        first = first or event
        counts[event.kind] = counts.get(event.kind, 0) + 1
        latest.append(event)
    name = first.body["optimizer"].rpartition(".")[2]
    print(f"{name}, begun {_date(first.at)} with sktvbo {first.body['version']}")
    print(", ".join(f"{count} {kind}" for kind, count in counts.items() if kind != "begin"))
    for event in latest:
        print(f"{event.number:8d}  {_date(event.at)}  {event.kind:12s}{_line(event)}")


def _line(event):
    """Return the data of an event as one line."""
    body = event.body
    if event.kind == "begin":
        return ""
    if event.kind == "search":
        return "theta = " + " ".join(f"{value:.4g}" for value in body["theta"])
    if event.kind == "tell":
        x = " ".join(f"{value:.6g}" for value in body["x"])
        removed = f", {len(body['removed'])} removed" if body["removed"] else ""
        return f"t = {body['t']:g}  x = {x}  y = {body['y']:.6g}  ({body['n']} kept{removed})"
    x = [body["x"]] if event.kind in ("announce", "cancel", "fail", "untell") else body["x"]
    points = "; ".join(" ".join(f"{value:.6g}" for value in row) for row in x)
    t = body["t"][0] if isinstance(body["t"], list) else body["t"]
    return f"t = {t:g}  x = {points}"


def _date(seconds):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _export(arguments):
    if arguments.output is None:
        with printing():
            _write(arguments.path, sys.stdout)
        return
    try:
        with open(arguments.output, "w", encoding="utf-8") as file:
            _write(arguments.path, file)
    except OSError as exc:
        raise JournalError(
            f"{arguments.output} could not be written ({exc.strerror}). Give another file."
        ) from exc


def _write(path, file):
    for event in journal.events(path):
        print(json.dumps(vars(event), allow_nan=False), file=file)


def _check(arguments):
    counts = journal.check(arguments.path)
    print(f"{arguments.path} is intact: {sum(counts.values())} events")
