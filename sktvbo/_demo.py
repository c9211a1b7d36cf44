"""Command ``sktvbo demo``: three algorithms on a moving optimum, and on real data if found."""

import time
from pathlib import Path

import numpy as np
from joblib import parallel_config

from . import GPUCB, WDBO, RandomSearch, evaluation, problems
from ._console import (
    has_tqdm,
    jobs,
    make_folder,
    new_figure,
    print_paragraph,
    save_figure,
    whole_number,
    writing,
)
from .exceptions import MissingDataError
from .papers._report import costs

# Simulated seconds from ask to answer, the same for all machines and algorithms. With 4 s, a run of
# 600 s has 146 queries after the initial ones.
RESPONSE_TIME = {"full": 4.0, "quick": 6.0}
REPLICATIONS = {"full": 10, "quick": 2}

HORIZON, PERIOD = 600.0, 300.0
REAL = "temperature"
UNITS = {REAL: "°C"}

PICTURE = "demo.png"
# A query is near the optimum within this distance; the domain has length 10.
NEAR = 1.0
# Columns and rows of the picture in text.
COLUMNS, ROWS = 75, 16


def best_place(t):
    """Return the optimum of the synthetic problem at times t."""
    return 5.0 + 3.0 * np.sin(2.0 * np.pi * t / PERIOD)


def _objective(x, t):
    return -((x[0] - best_place(t)) ** 2)


def moving_optimum():
    """Return the synthetic problem: a parabola with a moving maximum of 0."""
    return problems.from_callable(
        _objective,
        [(0.0, 10.0)],
        horizon=HORIZON,
        optimum=lambda t: ([best_place(t)], 0.0),
        noise_variance=0.3**2,
        random_state=0,
        name="moving optimum",
    )


def algorithms():
    """Return the algorithms to compare, by label."""
    return {"W-DBO": WDBO(), "GP-UCB": GPUCB(), "random search": RandomSearch()}


def simulated_clock(seconds):
    """Return a clock on which every answer takes the same time."""
    return evaluation.SimulatedClock(response_time=lambda n: seconds)


def share_near_optimum(run):
    """Return the fraction of a run's queries near the optimum, without the initial ones."""
    asked = slice(run.n_initial, None)
    return np.mean(np.abs(run.queries[asked, 0] - best_place(run.times[asked])) <= NEAR)


def add_demo(commands):
    """Add the command to a parser's subparsers."""
    demo = commands.add_parser(
        "demo",
        help="three algorithms on a moving optimum: a table and a picture",
        description="Run W-DBO, GP-UCB and random search on a moving optimum and, if its data are "
        "found, on a real problem. Computing takes a simulated time, so the regrets do not depend "
        "on the speed of the machine.",
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
    demo.add_argument("--no-plot", action="store_true", help="a picture in text, no file")
    demo.set_defaults(run=run_demo, parser=demo)


def run_demo(arguments):
    """Run the command."""
    begin = time.perf_counter()
    size = "quick" if arguments.quick else "full"
    seconds = RESPONSE_TIME[size]
    n_replications = arguments.replications or REPLICATIONS[size]
    # Fail without matplotlib or a writable folder before the runs.
    figure = None if arguments.no_plot else new_figure((13.0, 7.2))
    if figure is not None:
        make_folder(arguments.output, arguments.parser)

    chosen, missing = [moving_optimum()], None
    try:
        chosen.append(problems.make(REAL))
    except MissingDataError as exc:
        # Shorten the message: leave out the list of the file's arrays.
        missing = str(exc).partition(" Store it")[0]
    contestants = algorithms()
    names = " and ".join(problem.name for problem in chosen)
    print_paragraph(
        f"{', '.join(contestants)} on {names}: {n_replications} run(s) each of "
        f"{chosen[0].horizon:g} s. An answer takes {seconds:g} s of simulated time, so that the "
        "regrets do not depend on the speed of the machine."
    )
    progress = has_tqdm()
    if not progress:
        print_paragraph('For a progress bar: pip install "sktvbo[progress]"')
    # The matrices are small: several threads per job would be slower.
    with parallel_config("loky", inner_max_num_threads=1):
        comparison = evaluation.compare(
            contestants,
            chosen,
            n_replications,
            clock=simulated_clock(seconds),
            n_jobs=arguments.jobs,
            progress=progress,
        )
    print(f"\n{comparison}\n\n{costs(comparison)}\n")
    print(
        f"Queries of '{chosen[0].name}' within {NEAR:g} of the optimum, in a domain of length 10:"
    )
    for name in comparison.algorithms:
        runs = comparison.results[name, chosen[0].name]
        print(f"  {name:14s}{np.mean([share_near_optimum(run) for run in runs]):4.0%}")
    if figure is None:
        print(f"\n{text_picture(median_run(comparison))}\n")
    else:
        path = arguments.output / PICTURE
        draw(figure, comparison, chosen[0])
        with writing(arguments.output, "Free disk space, or set another folder with --output."):
            save_figure(figure, path)
        print(f"\nThe picture is in {path}\n")
    if missing is not None:
        print_paragraph(
            f"The real problem {REAL!r} was left out. {missing} Set the environment variable "
            "SKTVBO_DATA to the folder that holds the file.\n"
        )
    print(
        f"It took {time.perf_counter() - begin:.0f} s.\n"
        "Next: sktvbo list                                   lists algorithms and problems\n"
        '      python -c "import sktvbo; help(sktvbo.WDBO)"  shows how to optimize your function'
    )


def median_run(comparison, name="W-DBO"):
    """Return an algorithm's run with the median regret on the synthetic problem."""
    runs = comparison.results[name, comparison.problems[0]]
    return sorted(runs, key=lambda run: run.average_regret)[len(runs) // 2]


def text_picture(run):
    """Return a picture of a run in text: time to the right, x upwards."""
    cells = np.full((ROWS, COLUMNS), " ")
    columns = np.arange(COLUMNS)
    marks = [
        ("-", columns, best_place((columns + 0.5) * HORIZON / COLUMNS)),
        ("o", (run.times * COLUMNS / HORIZON).astype(int), run.queries[:, 0]),
    ]
    for mark, column, x in marks:
        row = ROWS - 1 - np.minimum((x * ROWS / 10.0).astype(int), ROWS - 1)
        cells[row, np.minimum(column, COLUMNS - 1)] = mark
    rows = "\n".join(f"  |{''.join(row)}|" for row in cells)
    return f"Queries of W-DBO (o) and the optimum (-), x over time:\n{rows}"


def draw(figure, comparison, problem):
    """Draw the queries of W-DBO's and GP-UCB's median runs, and the regrets beside them."""
    from .plotting import RegretDisplay

    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.4, 1.0))
    for row, name in enumerate(("W-DBO", "GP-UCB")):
        ax = figure.add_subplot(grid[row, 0])
        run = median_run(comparison, name)
        draw_objective(ax, problem)
        draw_queries(ax, run.times, run.queries[:, 0])
        share = share_near_optimum(run)
        ax.set_title(f"{name}: {share:.0%} of the queries within {NEAR:g} of the optimum")
        if row == 0:
            ax.legend(loc="upper center", framealpha=0.9)
    right = grid[:, 1].subgridspec(len(comparison.problems), 1)
    for row, name in enumerate(comparison.problems):
        display = RegretDisplay.from_comparison(comparison, name, regret_unit=UNITS.get(name))
        display.plot(figure.add_subplot(right[row]))


def draw_objective(ax, problem):
    """Draw the objective over time and place, and its optimum."""
    times, places = np.linspace(0.0, HORIZON, 401), np.linspace(0.0, 10.0, 101)
    values = np.column_stack([problem.values(places[:, np.newaxis], t) for t in times])
    ax.pcolormesh(times, places, values, cmap="viridis", vmin=-16.0, vmax=0.0, rasterized=True)
    ax.plot(times, best_place(times), color="cyan", linewidth=3.0, label="optimum")
    ax.set(xlabel="time (s)", ylabel="x", xlim=(0.0, HORIZON), ylim=(0.0, 10.0))


def draw_queries(ax, times, places):
    """Draw queries, and return their line."""
    style = {"color": "white", "markeredgecolor": "black", "markersize": 5}
    (line,) = ax.plot(times, places, "o", label="query", **style)
    return line
