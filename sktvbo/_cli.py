"""Command ``sktvbo``: demonstration, benchmarks, journals, and lists of algorithms and problems."""

import argparse
import inspect
import json
import sys
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np
from joblib import parallel_config

from . import GPUCB, WDBO, RandomSearch, __version__, evaluation, journal, problems
from ._console import (
    has_tqdm,
    jobs,
    make_folder,
    new_figure,
    print_paragraph,
    printing,
    save_figure,
    whole_number,
    writing,
)
from .evaluation._tables import format_table
from .exceptions import JournalError, MissingDataError, SktvboError
from .optimizers._names import ALGORITHMS
from .papers._command import add_bench
from .papers._presets import PRESETS
from .papers._report import costs
from .plotting import PosteriorDisplay, RegretDisplay

# Simulated seconds from ask to answer, the same for all machines and algorithms. With 4 s, a run of
# 600 s has 146 queries after the initial ones.
RESPONSE_TIME = {"full": 4.0, "quick": 6.0}
REPLICATIONS = {"full": 10, "quick": 2}

SYNTHETIC = "six-hump-camel-switched"
REAL = "temperature"
UNITS = {REAL: "°C"}

PICTURE = "demo.png"
# Fraction of the horizon at which the picture shows W-DBO's median run: after the changes of the
# problem, and early enough to show predictions.
SNAPSHOT = 0.85


def _parser():
    parser = argparse.ArgumentParser(
        prog="sktvbo",
        description="Time-varying Gaussian processes, and optimizers that track a moving optimum.",
    )
    parser.add_argument("--version", action="version", version=f"sktvbo {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    demo = commands.add_parser(
        "demo",
        help="three algorithms on two problems: a table and a picture, in less than a minute",
        description="Run W-DBO, GP-UCB and random search on a synthetic problem and, if its data "
        "is found, on a real one. Computing takes a simulated time, so the regrets do not depend "
        "on the machine.",
    )
    demo.add_argument(
        "--output",
        type=Path,
        default=Path("sktvbo-demo"),
        metavar="DIR",
        help="folder for the picture (default: %(default)s)",
    )
    demo.add_argument(
        "--replications",
        type=whole_number(),
        metavar="N",
        help=f"runs of each algorithm on each problem (default: {REPLICATIONS['full']}, "
        f"with --quick {REPLICATIONS['quick']})",
    )
    demo.add_argument("--quick", action="store_true", help="fewer runs, and fewer queries in each")
    demo.add_argument(
        "--jobs",
        type=jobs,
        default=-1,
        metavar="N",
        help="runs in parallel, -1 for one per core (default: %(default)s)",
    )
    demo.add_argument("--no-plot", action="store_true", help="the table only")
    demo.set_defaults(run=_demo, parser=demo)

    add_bench(commands)
    _add_journal(commands)

    listing = commands.add_parser("list", help="the algorithms, the problems and the presets")
    listing.set_defaults(run=_list, parser=listing)
    return parser


def main(argv=None):
    """Run the command.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None: the arguments of the process.

    Returns
    -------
    int
        Exit code: 0 for success, 1 for an error of this package or a failed run, 130 for an
        interrupted bench. A usage error exits with 2.
    """
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments) or 0
    except SktvboError as exc:
        print(f"sktvbo: error: {' '.join(str(exc).split())}", file=sys.stderr)
        return 1


# --- demo -----------------------------------------------------------------------------------------


def _demo(arguments):
    size = "quick" if arguments.quick else "full"
    seconds = RESPONSE_TIME[size]
    n_replications = arguments.replications or REPLICATIONS[size]
    # Fail without matplotlib or a writable folder before the runs.
    figure = None if arguments.no_plot else new_figure()
    if figure is not None:
        make_folder(arguments.output, arguments.parser)

    chosen = [problems.make(SYNTHETIC)]
    try:
        chosen.append(problems.make(REAL))
    except MissingDataError as exc:
        # Shorten the message: leave out the list of the file's arrays.
        reason = str(exc).partition(" Store it")[0]
        print_paragraph(
            f"Leaving out the real problem {REAL!r}. {reason} Set the environment variable "
            "SKTVBO_DATA to the folder that holds the file.\n"
        )
    algorithms = {"W-DBO": WDBO(), "GP-UCB": GPUCB(), "random search": RandomSearch()}
    clock = evaluation.SimulatedClock(response_time=lambda n: seconds)
    names = " and ".join(problem.name for problem in chosen)
    print_paragraph(
        f"{', '.join(algorithms)} on {names}: {n_replications} run(s) each of "
        f"{chosen[0].horizon:g} s. An answer takes {seconds:g} s of simulated time, so that the "
        "regrets do not depend on the machine."
    )
    progress = has_tqdm()
    if not progress:
        print_paragraph('For a progress bar: pip install "sktvbo[progress]"')
    # The matrices are small: several threads per job would be slower.
    with parallel_config("loky", inner_max_num_threads=1):
        comparison = evaluation.compare(
            algorithms,
            chosen,
            n_replications,
            clock=clock,
            n_jobs=arguments.jobs,
            progress=progress,
        )
    print(f"\n{comparison}\n\n{costs(comparison)}\n")
    if figure is not None:
        path = arguments.output / PICTURE
        _draw(figure, comparison, chosen[0], clock)
        with writing(arguments.output, "Free disk space, or set another folder with --output."):
            save_figure(figure, path)
        print(f"The picture is in {path}\n")
    print(
        "Next: sktvbo list                                   lists algorithms and problems\n"
        '      python -c "import sktvbo; help(sktvbo.WDBO)"  shows how to optimize your function'
    )


def _draw(figure, comparison, problem, clock):
    """Draw the objective and the posterior of W-DBO's median run, and the regrets beside them."""
    runs = sorted(comparison.results["W-DBO", problem.name], key=lambda run: run.average_regret)
    seed = runs[len(runs) // 2].seed
    for step in evaluation.steps(WDBO(), problem, clock=clock, random_state=seed):
        if step.time >= SNAPSHOT * problem.horizon:
            break
    posterior = PosteriorDisplay.from_run(step.optimizer, problem)
    places, none = posterior.places[:, np.newaxis], posterior.kept[:0]
    values = np.column_stack([problem.values(places, t) for t in posterior.times])
    objective = replace(posterior, mean=values, kept=none, removed=none, value_label="objective")

    figure.set_size_inches(13.0, 7.2)
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.2, 1.0))
    upper, lower = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0])
    objective.plot(upper)
    upper.get_legend().remove()
    queries = np.vstack([posterior.kept, posterior.removed])
    style = {"color": "white", "markeredgecolor": "black", "markersize": 4.5}
    upper.plot(queries[:, 1], queries[:, 0], "o", **style)
    upper.set_title(f"{problem.name}: optimum (cyan) and queries of W-DBO (dots)")
    posterior.plot(lower)
    lower.set_title("posterior mean of W-DBO at $t_0$", pad=28)
    n_rows = len(comparison.problems)
    right = grid[:, 1].subgridspec(n_rows, 1)
    for row, name in enumerate(comparison.problems):
        display = RegretDisplay.from_comparison(comparison, name, regret_unit=UNITS.get(name))
        display.plot(figure.add_subplot(right[row]))


# --- journal --------------------------------------------------------------------------------------


def _add_journal(commands):
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
    show.set_defaults(run=_show_journal, parser=show)
    export = actions.add_parser("export", help="all events, one line of JSON each")
    export.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
    export.set_defaults(run=_export_journal, parser=export)
    check = actions.add_parser("check", help="check that the file is intact; returns 1 if not")
    check.set_defaults(run=_check_journal, parser=check)
    for action in (show, export, check):
        action.add_argument("path", help="path of the journal")


@printing()
def _show_journal(arguments):
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


def _export_journal(arguments):
    if arguments.output is None:
        with printing():
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


# --- list -----------------------------------------------------------------------------------------


@printing()
def _list(arguments):
    _print_list(
        "Algorithms (sktvbo bench --algorithms; classes of sktvbo.optimizers)",
        [
            (label, algorithm.__name__, inspect.getdoc(algorithm).splitlines()[0])
            for label, algorithm in ALGORITHMS.items()
        ],
    )
    print()
    _print_list(
        "Problems (sktvbo.problems.make)",
        [(name, _describe(name)) for name in problems.available()],
    )
    print()
    _print_list(
        "Presets (sktvbo bench --preset)",
        [
            (
                name,
                f"{preset.source}: {len(preset.algorithms)} algorithms, {len(preset.tasks)} "
                "problem(s)",
            )
            for name, preset in PRESETS.items()
        ],
    )


def _print_list(title, rows):
    print(title)
    for line in format_table(rows, left=range(len(rows[0])), rule=False):
        print(f"  {line}")


def _describe(name):
    """Return a description of a problem in one line."""
    try:
        problem = problems.make(name)
    except MissingDataError:
        return "needs data that was not found: set SKTVBO_DATA to its folder"
    except SktvboError as exc:
        return str(exc)
    n_dims = problem.domain.n_dims
    points = getattr(problem.domain, "points", None)
    where = f"{n_dims}-d box" if points is None else f"{len(points)} points in {n_dims}-d"
    return f"{where}, needs data (found)" if problem.needs_data else where
