"""The command ``sktvbo``: a demonstration, and lists of what there is."""

import argparse
import inspect
import sys
import textwrap
from functools import partial
from pathlib import Path

from joblib import parallel_config

from . import GPUCB, WDBO, RandomSearch, __version__, evaluation, optimizers, problems
from .exceptions import MissingDataError, SktvboError
from .plotting import PosteriorDisplay, RegretDisplay

# Seconds that an answer is pretended to take, whatever the machine and the algorithm. With 4 s, a
# run of 600 s has 146 queries after the initial ones.
_RESPONSE_TIME = {"full": 4.0, "quick": 6.0}
_REPLICATIONS = {"full": 10, "quick": 2}

_SYNTHETIC = "six-hump-camel-switched"
_REAL = "temperature"
_UNITS = {_REAL: "°C"}

_PICTURE = "demo.png"
# When the picture of a run is taken: late enough to have forgotten something, early enough for a
# future to predict.
_SNAPSHOT = 0.7


def _replications(text):
    return _whole_number(text, lambda n: n >= 1, "a whole number >= 1")


def _jobs(text):
    return _whole_number(text, lambda n: n != 0, "a whole number other than 0 (-1: one per core)")


def _whole_number(text, accepts, expected):
    try:
        value = int(text)
    except ValueError:
        value = None
    if value is None or not accepts(value):
        raise argparse.ArgumentTypeError(f"must be {expected}, got {text!r}")
    return value


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
        description="Run W-DBO, GP-UCB and random search on a synthetic problem and, when the "
        "data is at hand, on a real one. Thinking takes a simulated time, so the regrets do not "
        "depend on the machine.",
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
        type=_replications,
        metavar="N",
        help=f"runs of each algorithm on each problem (default: {_REPLICATIONS['full']}, "
        f"with --quick {_REPLICATIONS['quick']})",
    )
    demo.add_argument("--quick", action="store_true", help="fewer runs, and fewer queries in each")
    demo.add_argument(
        "--jobs",
        type=_jobs,
        default=-1,
        metavar="N",
        help="runs in parallel, -1 for one per core (default: %(default)s)",
    )
    demo.add_argument("--no-plot", action="store_true", help="the table only")
    demo.set_defaults(run=_demo, parser=demo)

    listing = commands.add_parser("list", help="the algorithms and the problems")
    listing.set_defaults(run=_list, parser=listing)
    return parser


def main(argv=None):
    """Run the command.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None: those of the process.

    Returns
    -------
    int
        Exit code: 0, or 1 after one of this package's errors. A usage error exits with 2.
    """
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except SktvboError as exc:
        print(f"sktvbo: error: {' '.join(str(exc).split())}", file=sys.stderr)
        return 1
    return 0


# --- demo -----------------------------------------------------------------------------------------


def _constant(seconds, n):
    return seconds


def _has_tqdm():
    try:
        import tqdm.auto  # noqa: F401
    except ImportError:
        return False
    return True


def _demo(arguments):
    size = "quick" if arguments.quick else "full"
    seconds = _RESPONSE_TIME[size]
    n_replications = arguments.replications or _REPLICATIONS[size]
    # Before the work, not after it.
    figure = None if arguments.no_plot else _new_figure()
    if figure is not None:
        try:
            arguments.output.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            arguments.parser.error(f"argument --output: the folder cannot be made: {exc}")

    chosen = [problems.make(_SYNTHETIC)]
    try:
        chosen.append(problems.make(_REAL))
    except MissingDataError as exc:
        # Without the inventory of the file's arrays.
        reason = str(exc).partition(" Store it")[0]
        _print(
            f"Leaving out the real problem {_REAL!r}. {reason} Set the environment variable "
            "SKTVBO_DATA to the folder that holds the file.\n"
        )
    algorithms = {"W-DBO": WDBO(), "GP-UCB": GPUCB(), "random search": RandomSearch()}
    clock = evaluation.SimulatedClock(response_time=partial(_constant, seconds))
    names = " and ".join(problem.name for problem in chosen)
    _print(
        f"{', '.join(algorithms)} on {names}: {n_replications} run(s) each of "
        f"{chosen[0].horizon:g} s. Thinking takes {seconds:g} s of simulated time, so that the "
        "regrets do not depend on the machine."
    )
    progress = _has_tqdm()
    if not progress:
        _print('For a progress bar: pip install "sktvbo[progress]"')
    # The matrices are small: threads of the linear algebra, on top of the jobs, only cost.
    with parallel_config("loky", inner_max_num_threads=1):
        comparison = evaluation.compare(
            algorithms,
            chosen,
            n_replications,
            clock=clock,
            n_jobs=arguments.jobs,
            progress=progress,
        )
    print(f"\n{comparison}\n\n{_costs(comparison)}\n")
    if figure is not None:
        path = arguments.output / _PICTURE
        _draw(figure, comparison, chosen[0], clock)
        figure.savefig(path, dpi=120)
        print(f"The picture is in {path}\n")
    print(
        "Next: sktvbo list                                   which algorithms and problems exist\n"
        '      python -c "import sktvbo; help(sktvbo.WDBO)"  how to optimize something of yours'
    )


def _print(text):
    """Print a paragraph at once: the work that follows takes a while."""
    paragraph = textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)
    print(paragraph + "\n" * text.endswith("\n"), flush=True)


def _costs(comparison):
    """Table of what a step of each algorithm costs, over all problems."""
    rows = comparison.summary()
    width = max(map(len, ["mean of all runs", *comparison.algorithms]))
    lines = [f"{'mean of all runs'.ljust(width)}  step time  data-set size"]
    lines.append("-" * len(lines[0]))
    for algorithm in comparison.algorithms:
        own = [row for row in rows if row["algorithm"] == algorithm]
        step, size = (sum(r[k] for r in own) / len(own) for k in ("response_time", "dataset_size"))
        lines.append(f"{algorithm.ljust(width)}  {1e3 * step:6.1f} ms  {size:13.0f}")
    return "\n".join(lines)


def _new_figure():
    """Empty figure, or None and a hint when matplotlib is not there."""
    try:
        import matplotlib  # noqa: F401
        from matplotlib.figure import Figure
    except ImportError:
        _print('For a picture: pip install "sktvbo[plot]"')
        return None
    # Not through pyplot: there may be no screen.
    return Figure(figsize=(13.0, 5.6), layout="constrained")


def _draw(figure, comparison, problem, clock):
    """A run of W-DBO on the left, the regrets on each problem on the right."""
    snapshot = evaluation.run(WDBO(), problem, clock=clock, horizon=_SNAPSHOT * problem.horizon)
    figure.get_layout_engine().set(w_pad=0.1)
    n_rows = len(comparison.problems)
    grid = figure.add_gridspec(n_rows, 2, width_ratios=(1.45, 1.0))
    left = figure.add_subplot(grid[:, 0])
    PosteriorDisplay.from_run(snapshot.optimizer, problem).plot(left)
    left.set_title(f"W-DBO on {problem.name}, seen at $t_0$", pad=28)
    for row, name in enumerate(comparison.problems):
        display = RegretDisplay.from_comparison(comparison, name, regret_unit=_UNITS.get(name))
        display.plot(figure.add_subplot(grid[row, 1]))


# --- list -----------------------------------------------------------------------------------------


def _list(arguments):
    print("Algorithms (sktvbo.optimizers)")
    found = {name: getattr(optimizers, name) for name in optimizers.__all__}
    width = max(map(len, found))
    for name, algorithm in sorted(found.items()):
        print(f"  {name.ljust(width)}  {inspect.getdoc(algorithm).splitlines()[0]}")
    print("\nProblems (sktvbo.problems.make)")
    names = problems.available()
    width = max(map(len, names))
    for name in names:
        print(f"  {name.ljust(width)}  {_describe(name)}")


def _describe(name):
    """A problem in one line."""
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
