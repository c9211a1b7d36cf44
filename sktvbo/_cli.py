"""Command ``sktvbo``: journals, and lists of algorithms and problems."""

import argparse
import contextlib
import inspect
import json
import math
import os
import sys
import time
from collections import deque
from pathlib import Path

from . import __version__, journal, problems
from .evaluation._tables import format_table
from .exceptions import JournalError, SktvboError
from .optimizers._names import ALGORITHMS


def _parser():
    parser = argparse.ArgumentParser(
        prog="sktvbo",
        description="Time-varying Gaussian processes, and optimizers that track a moving optimum.",
        epilog="Options of a command: sktvbo COMMAND --help.",
    )
    parser.add_argument("--version", action="version", version=f"sktvbo {__version__}")
    parser.set_defaults(run=_help, parser=parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    _add_journal(commands)

    listing = commands.add_parser("list", help="the algorithms and the problems")
    listing.set_defaults(run=_list, parser=listing)
    return parser


def _help(arguments):
    """Show the help of a command that lacks what follows it."""
    arguments.parser.print_help(sys.stderr)
    return 2


def main(argv=None):
    """Run the command.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None: the arguments of the process.

    Returns
    -------
    int
        Exit code: 0 for success, 1 for an error of this package. A usage error exits with 2.
    """
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments) or 0
    except SktvboError as exc:
        print(f"sktvbo: error: {' '.join(str(exc).split())}", file=sys.stderr)
        return 1


@contextlib.contextmanager
def _printing():
    """Context that ends quietly when the reader of the standard output stops, as ``| head``."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes the buffer at exit.
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


# --- journal --------------------------------------------------------------------------------------


def _add_journal(commands):
    """Add the command to the parsers of ``sktvbo``."""
    parser = commands.add_parser(
        "journal",
        help="show, export or check the journal of an optimizer, or make a page of it",
        description="Read the journal of an optimizer (journal='run.db'), also while it is being "
        "written. No code in the file is executed.",
    )
    parser.set_defaults(run=_help, parser=parser)
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    show = actions.add_parser("show", help="the optimizer and the latest events")
    show.add_argument("-n", type=int, default=10, metavar="N", help="number of events (10)")
    show.set_defaults(run=_show_journal, parser=show)
    export = actions.add_parser("export", help="all events, one line of JSON each")
    export.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
    export.set_defaults(run=_export_journal, parser=export)
    check = actions.add_parser("check", help="check that the file is intact; returns 1 if not")
    check.set_defaults(run=_check_journal, parser=check)
    _add_report(actions)
    for action in (show, export, check, actions.choices["report"]):
        action.add_argument("path", help="path of the journal")


@_printing()
def _show_journal(arguments):
    if arguments.n < 1:
        arguments.parser.error(f"argument -n: must be at least 1. Got {arguments.n}")
    counts, latest, first = {}, deque(maxlen=arguments.n), None
    for event in journal.events(arguments.path):
        first = first or event
        counts[event.kind] = counts.get(event.kind, 0) + 1
        latest.append(event)
    name = first.body["optimizer"].rpartition(".")[2]
    print(f"{name}, begun {_date(first.at)} with sktvbo {first.body['version']}")
    print(", ".join(f"{count} {kind}" for kind, count in counts.items() if kind != "begin"))
    for event in latest:
        print(f"{event.number:8d}  {_date(event.at)}  {event.kind:12s}{_event_line(event)}")


def _event_line(event):
    """Return the data of an event as one line."""
    body = event.body
    if event.kind == "begin":
        return ""
    if event.kind == "with_parameters":
        return "  " + ", ".join(body["changed"])
    if event.kind == "search":
        return "theta = " + " ".join(f"{value:.4g}" for value in body["theta"])
    if event.kind == "tell":
        x = " ".join(f"{value:.6g}" for value in body["x"])
        removed = f", {len(body['removed'])} removed" if body["removed"] else ""
        return f"t = {body['t']:g}  x = {x}  y = {body['y']:.6g}  ({body['n']} kept{removed})"
    x = [body["x"]] if event.kind in ("announce", "cancel", "fail", "untell") else body["x"]
    points = "; ".join(" ".join(f"{value:.6g}" for value in row) for row in x)
    times = body["t"] if isinstance(body["t"], list) else [body["t"]]
    if not times:  # in a copy of a run, a query that was answered
        return f"now = {body['now']:g}"
    return f"t = {times[0]:g}  x = {points}"


def _date(seconds):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _export_journal(arguments):
    if arguments.output is None:
        with _printing():
            _write_events(arguments.path, sys.stdout)
        return
    try:
        with open(arguments.output, "w", encoding="utf-8") as file:
            _write_events(arguments.path, file)
    except OSError as exc:
        raise JournalError(
            f"{arguments.output} could not be written ({exc.strerror}). Give another file."
        ) from exc


def _write_events(path, file):
    for event in journal.events(path):
        print(json.dumps(vars(event), allow_nan=False), file=file)


def _check_journal(arguments):
    counts = journal.check(arguments.path)
    print(f"{arguments.path} is intact: {sum(counts.values())} events")


def _add_report(actions):
    """Add the action that makes a page."""
    report = actions.add_parser(
        "report",
        help="make a page with state, pictures and events; returns 1 if the journal has a problem",
        description="Make one HTML file of a run: its state, query and recommendation, gain, "
        "limits, warnings, times, plots and the latest events. The program that writes the journal "
        "is not delayed.",
    )
    report.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: PATH.html")
    report.add_argument(
        "--watch",
        type=_positive,
        metavar="SECONDS",
        help="rewrite it at this interval, until Ctrl-C; browsers reload it by themselves",
    )
    report.add_argument(
        "--baseline",
        type=_json,
        metavar="JSON",
        help="a fixed setting to compare with, such as '{\"power\": 3.0}' or '[3.0]'",
    )
    report.add_argument(
        "--units",
        type=_json,
        metavar="JSON",
        help='units by name, such as \'{"power": "kW", "objective": "%%"}\'',
    )
    report.set_defaults(run=_report_journal, parser=report)


def _positive(text):
    value = float(text)
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds. Got {text}")
    return value


def _json(text):
    try:
        return json.loads(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"must be JSON ({exc}). Got {text}") from None


def _report_journal(arguments):
    from .plotting._report import Page

    path, output = arguments.path, arguments.output or Path(f"{arguments.path}.html")
    if arguments.watch is None and not Path(path).is_file():
        raise JournalError(f"The journal {path} does not exist. Give the path of a journal.")
    try:
        page = Page(path, output, arguments.baseline, arguments.units, arguments.watch)
        problem = page.write()
    except SktvboError:
        raise
    except ValueError as exc:  # of an argument
        arguments.parser.error(str(exc))
    if arguments.watch is None:
        if problem:
            raise JournalError(f"{problem} The page {output} says so.")
        return
    print(f"{output} is made every {arguments.watch:g} s. Ctrl-C ends it.", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(arguments.watch)
            page.write()


# --- list -----------------------------------------------------------------------------------------


@_printing()
def _list(arguments):
    _print_list(
        "Algorithms (classes of sktvbo.optimizers)",
        [
            (label, algorithm.__name__, inspect.getdoc(algorithm).splitlines()[0])
            for label, algorithm in ALGORITHMS.items()
        ],
    )
    print()
    _print_list(
        "Problems (sktvbo.problems.make)",
        [(name, _description(problems.make(name).domain)) for name in problems.available()],
    )


def _print_list(title, rows):
    print(title)
    for line in format_table(rows, left=range(len(rows[0])), rule=False):
        print(f"  {line}")


def _description(domain):
    """Return a description of a domain in one line."""
    points, n = getattr(domain, "points", None), domain.n_dims
    return f"{n}-d box" if points is None else f"{len(points)} points in {n}-d"
