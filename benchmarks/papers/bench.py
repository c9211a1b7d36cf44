"""Algorithms on problems, and the papers' comparisons: tables, pictures, and all runs.

    python benchmarks/papers/bench.py --list
    python benchmarks/papers/bench.py --preset bolt-table3 --as-published --dry-run
    python benchmarks/papers/bench.py wlan:n_nodes=6,n_users=27 --algorithms W-DBO:alpha=0.5,random

The problems are those of `sktvbo.problems` and of the papers' experiments. A preset is a paper's
table or figure; files ``PRESET.csv`` beside this one have the published numbers. Data are looked
for in the folder SKTVBO_DATA. The same command, after whatever has stopped it, goes on.
"""

import argparse
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import _report
import _tasks
from _presets import PRESETS
from _specs import make_task
from datasets import MissingDataError
from joblib import effective_n_jobs, parallel_config

from sktvbo import evaluation
from sktvbo._validation import check_int, choose
from sktvbo.evaluation._arguments import random_seeds
from sktvbo.evaluation._files import replacing, write_json
from sktvbo.exceptions import SktvboError
from sktvbo.optimizers._names import ALGORITHMS
from sktvbo.plotting import ComparisonDisplay
from sktvbo.problems import available

# Width of paragraphs and tables in characters.
_WIDTH = 100


def _parser():
    parser = argparse.ArgumentParser(
        prog="bench.py",
        description="Run algorithms on problems, and write tables, pictures and all runs to a "
        "folder. The same command, after whatever has stopped it, goes on there. The names are "
        "those of --list; options are written NAME:key=value,key=value, such as "
        "wlan:n_nodes=6,n_users=27 or W-DBO:alpha=0.5. A problem whose function is drawn is "
        "another one in each replication.",
    )
    add = parser.add_argument
    add("--list", action="store_true", help="show the algorithms, the problems and the presets")
    add("problems", nargs="*", metavar="PROBLEM", help="problems; with --preset, some of its own")
    text = "a paper's problems, algorithms and settings, and its results beside ours"
    add("--preset", choices=list(PRESETS), help=text)
    text = (
        "comma-separated (default: W-DBO,BOLT,GP-UCB,random; with --preset, all of its); "
        "SparQ-GP-UCB has the problem itself, with its noise, as expert"
    )
    add("--algorithms", metavar="A,B,...", help=text)
    text = (
        "variance of the noise, in units of the objective's (default: the preset's; without one, "
        "PROBLEM:noise=F)"
    )
    add("--noise", type=float, metavar="F", help=text)
    text = "with --preset: also the algorithms as published (sktvbo.papers.published)"
    add("--as-published", action="store_true", help=text)
    text = (
        "how fast answers come on the simulated clock: as those of W-DBO on BoTorch (papers, the "
        "default), or as ours (sktvbo); papers/4: as on a machine four times as fast"
    )
    add("--response-time", type=_response_time, metavar="R", help=text)
    text = (
        "end the runs there (default: at the problem's horizon; PROBLEM:horizon=H stretches the "
        "problem's change over H)"
    )
    add("--horizon", type=float, metavar="H", help=text)
    text = "runs of each algorithm on each problem (default: 10; with --preset, the paper's)"
    add("--replications", type=int, metavar="N", help=text)
    text = "runs in parallel, -1 for one per core (default: %(default)s)"
    add("--n-jobs", type=int, default=-1, metavar="N", help=text)
    text = (
        "the replications' seeds are drawn from it, or count from it where the preset's paper "
        "draws functions (default: %(default)s)"
    )
    add("--seed", type=int, default=0, metavar="N", help=text)
    text = "folder for the results (default: sktvbo-bench; with --preset, sktvbo-PRESET)"
    add("--output", type=Path, metavar="DIR", help=text)
    add("--no-plot", action="store_true", help="no pictures")
    add("--dry-run", action="store_true", help="show what would be run, and for about how long")
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
        Exit code: 0 for success, 1 for an error or a failed run, 130 for an interrupted one. A
        usage error exits with 2.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        return _list() if arguments.list else _run(arguments, parser)
    except SktvboError as exc:
        print(f"{parser.prog}: error: {' '.join(str(exc).split())}", file=sys.stderr)
        return 1


def _list():
    _say(f"Algorithms: {', '.join(ALGORITHMS)}.\n")
    _say(f"Problems: {', '.join(available())}.\n")
    print("Presets (algorithms, problems):")
    for name, preset in PRESETS.items():
        print(f"{name:12s} {preset.source} ({len(preset.algorithms)}, {len(preset.tasks)})")
    return 0


def _response_time(text):
    try:
        evaluation.response_time(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc
    return text


# --- the tasks ------------------------------------------------------------------------------------


def _usable(arguments, preset, parser):
    """The tasks, or a usage error."""
    try:
        check_int(arguments.seed, "--seed", low=0, high=2**32 - 1)
        if arguments.replications is not None:
            check_int(arguments.replications, "--replications")
        effective_n_jobs(arguments.n_jobs)  # refuses 0
        if preset is None:
            return _own_tasks(arguments)
        return _preset_tasks(arguments, preset)
    except SktvboError:
        raise
    except (ValueError, TypeError) as exc:
        parser.error(str(exc))


def _own_tasks(arguments):
    if not arguments.problems:
        raise ValueError("name at least one PROBLEM, or a --preset; --list has their names")
    if arguments.noise is not None:
        raise ValueError("argument --noise: needs --preset; without one, write PROBLEM:noise=F")
    if arguments.as_published:
        raise ValueError("argument --as-published: needs --preset")
    clock = evaluation.SimulatedClock(arguments.response_time or "papers")
    algorithms = arguments.algorithms or "W-DBO,BOLT,GP-UCB,random"
    return [
        make_task(problem, algorithms, clock, arguments.horizon)
        for problem in dict.fromkeys(arguments.problems)
    ]


def _preset_tasks(arguments, preset):
    algorithms = arguments.algorithms
    if algorithms is not None:
        # The preset has set the options, so that commas only separate.
        names = algorithms.split(",")
        algorithms = [choose(a, preset.algorithms, "An algorithm") for a in names]
    chosen = [choose(p, preset.tasks, "A problem") for p in arguments.problems]
    tasks, missing = [], None
    for name in dict.fromkeys(chosen or preset.tasks):
        try:
            task = preset.task(name, algorithms, arguments.horizon, arguments.as_published)
        except MissingDataError as exc:
            if chosen:
                raise
            missing = exc
            _say(f"Leaving out {name!r}: its data was not found. Set SKTVBO_DATA to its folder.")
            continue
        if arguments.response_time is not None:
            _set_response_time(task, arguments.response_time)
        if arguments.noise is not None:
            task = task.with_noise(arguments.noise)
        if task.optimizers:
            tasks.append(task)
    if arguments.as_published and not any(task.as_published for task in tasks):
        raise ValueError("argument --as-published: these algorithms are not published as such")
    if not tasks:
        raise missing or ValueError("the preset has none of these algorithms on these problems")
    return tasks


def _set_response_time(task, name):
    if not isinstance(task.clock, evaluation.SimulatedClock):
        raise ValueError("argument --response-time: the preset counts steps")
    task.clock = evaluation.SimulatedClock(name, task.clock.call_duration)


# --- the runs -------------------------------------------------------------------------------------


def _run(arguments, parser):
    preset = PRESETS.get(arguments.preset)
    tasks = _usable(arguments, preset, parser)
    replications = arguments.replications or (10 if preset is None else preset.replications)
    if preset is not None:
        _say(f"{arguments.preset}: {preset.source}")
    if arguments.dry_run:
        print(_report.plan(tasks, replications, effective_n_jobs(arguments.n_jobs)))
        return 0
    folder = arguments.output or Path(f"sktvbo-{arguments.preset or 'bench'}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        parser.error(f"argument --output: the folder cannot be created: {exc}")
    plotting = not arguments.no_plot and find_spec("matplotlib") is not None
    if not (arguments.no_plot or plotting):
        _say('For pictures: pip install "sktvbo[plot]"')
    seeds = (random_seeds if preset is None else preset.seeds)(arguments.seed, replications)
    try:
        with parallel_config("loky", inner_max_num_threads=1):
            comparison = _tasks.run(
                tasks,
                seeds,
                n_jobs=arguments.n_jobs,
                store=folder / "store",
                progress=find_spec("tqdm") is not None,
                report=_say,
            )
    except KeyboardInterrupt:
        _say(
            f"\nInterrupted. The finished runs are in {folder / 'store'}: the same command goes on."
        )
        return 130
    except OSError as exc:
        raise _unwritten(folder, exc) from exc
    text = _text(comparison, arguments, preset)
    print(f"\n{text}\n")
    try:
        _write(folder, comparison, text, preset)
        write_json(folder / "settings.json", _tasks.settings(tasks, replications, arguments.seed))
        if plotting:
            _draw(folder, comparison, tasks)
    except OSError as exc:
        raise _unwritten(folder, exc) from exc
    print(f"The results are in {folder}")
    if not comparison.failures:
        return 0
    n_runs = replications * sum(len(task.optimizers) for task in tasks)
    print(
        f"{parser.prog}: error: {len(comparison.failures)} of {n_runs} runs failed, see "
        f"{folder / 'runs.csv'}. The others are kept: the same command tries these again.",
        file=sys.stderr,
    )
    return 1


def _write(folder, comparison, text, preset):
    with replacing(folder / "table.txt") as part:
        part.write_text(text + "\n", encoding="utf-8")
    comparison.to_csv(folder / "runs.csv")
    comparison.to_json(folder / "runs.json")
    if preset is not None and preset.rival is not None:
        _report.write_csv(folder / "orders.csv", _report.orders(comparison, preset.rival))


def _unwritten(folder, exc):
    """Return the error of a folder that cannot be written."""
    advice = "The finished runs are kept: make room, and the same command goes on."
    return SktvboError(f"{folder} cannot be written: {exc.strerror or exc}. {advice}")


def _text(comparison, arguments, preset):
    """Return the tables and notes."""
    parts = [_report.tables(comparison, _WIDTH), _report.costs(comparison)]
    if preset is not None:
        notes = [*preset.notes]
        numbers = _report.published_numbers(arguments.preset)
        if numbers or arguments.as_published:
            parts.append(_report.beside(comparison, numbers, _WIDTH))
        if preset.rival is not None:
            notes.append("orders.csv has medians, quarters of the runs, resets, and who is better.")
        if arguments.horizon is not None:
            notes.append(f"These runs end at {arguments.horizon:g}, the paper's do not.")
        parts.append("\n".join(textwrap.fill(note, _WIDTH) for note in notes))
    return "\n\n".join(parts)


def _draw(folder, comparison, tasks):
    # pyplot may need a display.
    from matplotlib.figure import Figure

    for task in tasks:
        figure = Figure(figsize=(13.0, 4.6), layout="constrained")
        if _report.draw(figure, comparison, task):
            _save(figure, folder / f"{_report.file_name(task.name)}.png")
    if len(comparison.algorithms) > 1:
        size = 1.6 + 0.9 * len(comparison.algorithms), 4.4
        figure = Figure(figsize=size, layout="constrained")
        ComparisonDisplay.from_comparison(comparison).plot(figure.add_subplot())
        _save(figure, folder / "comparison.png")


def _save(figure, path):
    with replacing(path) as part:
        figure.savefig(part, dpi=120, format="png")


def _say(text):
    """Print a paragraph without buffering, before a long computation."""
    paragraph = textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    print(paragraph + "\n" * text.endswith("\n"), flush=True)


if __name__ == "__main__":
    sys.exit(main())
