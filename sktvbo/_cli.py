"""The command ``sktvbo``: a demonstration, benchmarks, and lists of what there is."""

import argparse
import inspect
import math
import sys
import textwrap
from functools import partial
from pathlib import Path

from joblib import effective_n_jobs, parallel_config

from . import GPUCB, WDBO, RandomSearch, __version__, _bench, evaluation, optimizers, problems
from .evaluation._store import write_json
from .exceptions import MissingDataError, SktvboError
from .plotting import ComparisonDisplay, PosteriorDisplay, RegretDisplay

# Seconds that an answer is pretended to take, whatever the machine and the algorithm. With 4 s, a
# run of 600 s has 146 queries after the initial ones.
_RESPONSE_TIME = {"full": 4.0, "quick": 6.0}
_REPLICATIONS = {"full": 10, "quick": 2}

_SYNTHETIC = "six-hump-camel-switched"
_REAL = "temperature"
_UNITS = {_REAL: "°C"}

_PICTURE = "demo.png"
_WIDTH = 100  # of text
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


def _seed(text):
    return _whole_number(text, lambda n: 0 <= n < 2**32, "a whole number from 0 to 2**32 - 1")


def _seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number >= 0, got {text!r}")
    return value


def _response_time(text):
    try:
        evaluation.response_time(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc
    return text


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

    _add_bench(commands)

    listing = commands.add_parser("list", help="the algorithms, the problems and the presets")
    listing.set_defaults(run=_list, parser=listing)
    return parser


def _add_bench(commands):
    bench = commands.add_parser(
        "bench",
        help="algorithms of your choice on problems of your choice, or a paper's comparison",
        description="Run algorithms on problems, and write tables, pictures and all runs to a "
        "folder. The same command, after whatever has stopped it, goes on there. The names are "
        "those of `sktvbo list`; options are written NAME:key=value,key=value, such as "
        "wlan:n_nodes=6,n_users=27 or W-DBO:alpha=0.5. A problem whose function is drawn is "
        "another one in each replication.",
    )
    bench.add_argument(
        "problems",
        nargs="*",
        metavar="PROBLEM",
        help="problems to run on; with --preset, some of its problems",
    )
    bench.add_argument(
        "--preset",
        choices=list(_bench.PRESETS),
        help="a paper's problems, algorithms and settings, and its results beside ours",
    )
    bench.add_argument(
        "--algorithms",
        metavar="A,B,...",
        help="comma-separated (default: W-DBO,BOLT,GP-UCB,random; with --preset, all of its); "
        "SparQ-GP-UCB has the problem itself, with its noise, as expert",
    )
    bench.add_argument(
        "--clock",
        choices=["simulated", "step", "wall"],
        help="how time passes: by a simulated response time, by steps of 1, or really (default: "
        "simulated)",
    )
    bench.add_argument(
        "--response-time",
        type=_response_time,
        metavar="R",
        help="how fast answers come on the simulated clock: as those of W-DBO on BoTorch (papers, "
        "the default), or as ours (sktvbo); papers/4: as on a machine four times as fast",
    )
    bench.add_argument(
        "--call-duration",
        type=_seconds,
        metavar="C",
        help="seconds that a query takes on the simulated clock (default: 0)",
    )
    bench.add_argument(
        "--horizon",
        type=_seconds,
        metavar="H",
        help="end the runs there (default: at the problem's horizon; PROBLEM:horizon=H stretches "
        "the problem's change over H)",
    )
    bench.add_argument(
        "--replications",
        type=_replications,
        metavar="N",
        help="runs of each algorithm on each problem (default: 10; with --preset, the paper's)",
    )
    bench.add_argument(
        "--n-jobs",
        type=_jobs,
        default=-1,
        metavar="N",
        help="runs in parallel, -1 for one per core (default: %(default)s)",
    )
    bench.add_argument(
        "--seed",
        type=_seed,
        default=0,
        metavar="N",
        help="the replications' seeds are drawn from it (default: %(default)s)",
    )
    bench.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder for the results (default: sktvbo-bench; with --preset, sktvbo-PRESET)",
    )
    bench.add_argument("--no-plot", action="store_true", help="no pictures")
    bench.add_argument(
        "--dry-run", action="store_true", help="say what would be run, and for about how long"
    )
    bench.set_defaults(run=_run_bench, parser=bench)


def main(argv=None):
    """Run the command.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None: those of the process.

    Returns
    -------
    int
        Exit code: 0, 1 after one of this package's errors or when a run has failed, 130 when a
        bench was interrupted. A usage error exits with 2.
    """
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments) or 0
    except SktvboError as exc:
        print(f"sktvbo: error: {' '.join(str(exc).split())}", file=sys.stderr)
        return 1


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
        _make_folder(arguments.output, arguments.parser)

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


def _make_folder(folder, parser):
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        parser.error(f"argument --output: the folder cannot be made: {exc}")


def _print(text):
    """Print a paragraph at once: the work that follows takes a while."""
    paragraph = textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
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


def _new_figure(size=(13.0, 5.6)):
    """Empty figure of a size in inches, or None and a hint when matplotlib is not there."""
    try:
        import matplotlib  # noqa: F401
        from matplotlib.figure import Figure
    except ImportError:
        _print('For a picture: pip install "sktvbo[plot]"')
        return None
    # Not through pyplot: there may be no screen.
    return Figure(figsize=size, layout="constrained")


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


# --- bench ----------------------------------------------------------------------------------------


def _run_bench(arguments):
    preset = _bench.PRESETS.get(arguments.preset)
    tasks = _usable(arguments, preset)
    replications = arguments.replications or (10 if preset is None else preset.replications)
    if preset is not None:
        _print(f"{arguments.preset}: {preset.source}")
    if arguments.dry_run:
        print(_bench.plan(tasks, replications, effective_n_jobs(arguments.n_jobs)))
        return 0
    if arguments.clock == "wall" and effective_n_jobs(arguments.n_jobs) > 1:
        _print("Runs in parallel share the machine: for times that count, add --n-jobs 1.")
    folder = arguments.output or Path(f"sktvbo-{arguments.preset or 'bench'}")
    _make_folder(folder, arguments.parser)
    plotting = not arguments.no_plot and _new_figure() is not None
    try:
        with parallel_config("loky", inner_max_num_threads=1):
            comparison = _bench.run(
                tasks,
                replications,
                seed=arguments.seed,
                n_jobs=arguments.n_jobs,
                store=folder / "store",
                progress=_has_tqdm(),
                report=_print,
            )
    except KeyboardInterrupt:
        _print(
            f"\nInterrupted. The finished runs are in {folder / 'store'}: the same command goes on."
        )
        return 130

    parts = [_bench.tables(comparison, _WIDTH), _costs(comparison)]
    if preset is not None:
        if preset.published:
            parts.append(_bench.beside(comparison, preset.published, _WIDTH))
        notes = [*preset.notes]
        if arguments.horizon is not None:
            notes.append(f"These runs end at {arguments.horizon:g}, the paper's do not.")
        parts.append("\n".join(textwrap.fill(note, _WIDTH) for note in notes))
    text = "\n\n".join(parts)
    print(f"\n{text}\n")
    (folder / "table.txt").write_text(text + "\n", encoding="utf-8")
    comparison.to_csv(folder / "runs.csv")
    comparison.to_json(folder / "runs.json")
    write_json(folder / "settings.json", _bench.settings(tasks, replications, arguments.seed))
    if plotting:
        _draw_bench(folder, comparison, tasks)
    print(f"The results are in {folder}")
    if comparison.failures:
        n_runs = replications * sum(len(task.optimizers) for task in tasks)
        print(
            f"sktvbo: error: {len(comparison.failures)} of {n_runs} runs failed, see "
            f"{folder / 'runs.csv'}. The others are kept: the same command tries these again.",
            file=sys.stderr,
        )
        return 1
    return 0


def _usable(arguments, preset):
    """The tasks, or a usage error."""
    try:
        if preset is None:
            return _own_tasks(arguments)
        return _preset_tasks(arguments, preset)
    except SktvboError:
        raise
    except (ValueError, TypeError) as exc:
        arguments.parser.error(str(exc))


def _own_tasks(arguments):
    if not arguments.problems:
        raise ValueError("name at least one PROBLEM, or a --preset; `sktvbo list` has their names")
    clock = _clock(arguments)
    algorithms = arguments.algorithms or "W-DBO,BOLT,GP-UCB,random"
    return [
        _bench.make_task(problem, algorithms, clock, arguments.horizon)
        for problem in dict.fromkeys(arguments.problems)
    ]


def _clock(arguments):
    if arguments.clock in (None, "simulated"):
        name = arguments.response_time or "papers"
        return evaluation.SimulatedClock(name, arguments.call_duration or 0.0)
    for option in ("response_time", "call_duration"):
        if getattr(arguments, option) is not None:
            raise ValueError(f"argument --{option.replace('_', '-')}: needs --clock simulated")
    return evaluation.StepClock() if arguments.clock == "step" else evaluation.WallClock()


def _preset_tasks(arguments, preset):
    for option in ("clock", "call_duration"):
        if getattr(arguments, option) is not None:
            raise ValueError(f"argument --{option.replace('_', '-')}: the preset has its own")
    algorithms = arguments.algorithms
    if algorithms is not None:
        names = _bench.split_list(algorithms)
        algorithms = [_bench.choose(a, preset.algorithms, "An algorithm") for a in names]
    chosen = [_bench.choose(p, preset.tasks, "A problem") for p in arguments.problems]
    tasks, missing = [], None
    for name in dict.fromkeys(chosen or preset.tasks):
        try:
            task = _bench.preset_task(preset, name, algorithms, arguments.horizon)
        except MissingDataError as exc:
            if chosen:
                raise
            missing = exc
            _print(f"Leaving out {name!r}: its data was not found. Set SKTVBO_DATA to its folder.")
            continue
        if arguments.response_time is not None:
            if not isinstance(task.clock, evaluation.SimulatedClock):
                raise ValueError("argument --response-time: the preset counts steps")
            task.clock = evaluation.SimulatedClock(
                arguments.response_time, task.clock.call_duration
            )
        if task.optimizers:
            tasks.append(task)
    if not tasks:
        raise missing or ValueError("the preset has none of these algorithms on these problems")
    return tasks


def _draw_bench(folder, comparison, tasks):
    for task in tasks:
        figure = _new_figure((13.0, 4.6))
        if _bench.draw(figure, comparison, task):
            figure.savefig(folder / f"{_bench.file_name(task.name)}.png", dpi=120)
    if len(comparison.algorithms) > 1:
        figure = _new_figure((1.6 + 0.9 * len(comparison.algorithms), 4.4))
        ComparisonDisplay.from_comparison(comparison).plot(figure.add_subplot())
        figure.savefig(folder / "comparison.png", dpi=120)


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
    print("\nPresets (sktvbo bench --preset)")
    width = max(map(len, _bench.PRESETS))
    for name, preset in _bench.PRESETS.items():
        size = f"{len(preset.algorithms)} algorithms, {len(preset.tasks)} problem(s)"
        print(f"  {name.ljust(width)}  {preset.source}: {size}")


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
