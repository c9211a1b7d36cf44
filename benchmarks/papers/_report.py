"""Plan of the runs, and their tables and pictures."""

import csv
import math
import re
from pathlib import Path

import numpy as np
from _tasks import AS_PUBLISHED

from sktvbo import evaluation
from sktvbo.evaluation._files import replacing
from sktvbo.evaluation._statistics import mean_and_error, normalized
from sktvbo.evaluation._tables import format_regret, format_table, regret_columns
from sktvbo.plotting import DatasetSizeDisplay, RegretDisplay

# The table of orders shows the mean regret in this many parts of a run.
_N_PARTS = 4


def plan(tasks, replications, n_jobs):
    """Return the planned runs and their duration as text."""
    rows = [("problem", "runs", "queries", "clock")]
    n_runs, total = 0, 0.0
    for task in tasks:
        runs = replications * len(task.optimizers)
        n_queries = sum(1 for _ in task.sizes())
        rows.append((task.name, str(runs), str(n_queries), repr(task.clock)))
        n_runs += runs
        total += runs * task.seconds()
    lines = format_table(rows, left=(0, 3))
    names = dict.fromkeys(name for task in tasks for name in task.optimizers)
    lines += [
        "queries: those after the initial ones, in a run without removals",
        f"algorithms: {', '.join(names)}",
        f"{n_runs} runs: about {duration(total / n_jobs)} with {n_jobs} job(s), less with removals",
    ]
    return "\n".join(lines)


def duration(seconds):
    """Seconds as rounded text."""
    if seconds < 90.0:
        return f"{math.ceil(seconds)} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"


def tables(comparison, width):
    """The comparison's tables, each with as many problems as fit the width."""
    algorithms, columns, _ = regret_columns(comparison)
    names = list(columns)
    groups = _fitting(algorithms, [[column] for column in columns.values()], width)
    return "\n\n".join(str(_part(comparison, [names[i] for i in group])) for group in groups)


def _part(comparison, names):
    """The comparison on some of its problems."""
    return evaluation.Comparison(
        {key: runs for key, runs in comparison.results.items() if key[1] in names},
        [failure for failure in comparison.failures if failure.problem in names],
    )


def costs(comparison):
    """Table of what a step of each algorithm costs, over all problems."""
    summary = comparison.summary()
    rows = [("mean of all runs", "step time", "data-set size")]
    for algorithm in comparison.algorithms:
        rows_of = [row for row in summary if row["algorithm"] == algorithm]
        names = "response_time", "dataset_size"
        step, size = (sum(row[name] for row in rows_of) / len(rows_of) for name in names)
        rows.append((algorithm, f"{1e3 * step:.1f} ms", f"{size:.0f}"))
    return "\n".join(format_table(rows))


def published_numbers(preset):
    """Return a preset's published numbers by (algorithm, problem), or none if there are none.

    A number is a pair of strings, the average regret and its standard error, the latter empty if it
    is not published.
    """
    path = Path(__file__).with_name(f"{preset}.csv")
    if not path.exists():
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        return {
            (row["algorithm"], row["problem"]): (row["average_regret"], row["standard_error"])
            for row in csv.DictReader(file)
        }


def beside(comparison, published, width):
    """Return tables of average regrets: this package's versions, as published, published numbers.

    Parameters
    ----------
    comparison : Comparison
    published : dict of (str, str) to (str, str)
        See `published_numbers`.
    width : int
    """
    rows = {(r["algorithm"], r["problem"]): r for r in comparison.summary()}
    own = {key: row for key, row in rows.items() if not key[0].endswith(AS_PUBLISHED)}
    originals = {(a, p): rows.get((a + AS_PUBLISHED, p)) for a, p in own}
    printed = {key: published[key] for key in own if key in published}
    versions = [("", *_texts_and_means(own)), ("as published", *_texts_and_means(originals))]
    texts = {key: " ± ".join(filter(None, entry)) for key, entry in printed.items()}
    versions.append(("published", texts, {key: float(mean) for key, (mean, _) in printed.items()}))
    versions = [version for version in versions if version[1]]
    labels = list(dict.fromkeys(a for a, _ in own))
    groups = [
        [
            (title or problem, *(texts.get((a, problem), "") for a in labels))
            for title, texts, _ in versions
        ]
        for problem in comparison.problems
    ]
    groups.append(
        [
            _normalized_column(title or "normalized", normalized(means), labels)
            for title, _, means in versions
        ]
    )
    first = ("average regret", *labels)
    lines = []
    for group in _fitting(first, groups, width):
        columns = [column for i in group for column in groups[i]]
        lines += [*format_table(list(zip(first, *columns))), ""]
    lines.append("normalized: best 0, worst 1 of these algorithms; mean over these problems")
    return "\n".join(lines)


def _texts_and_means(rows):
    rows = {key: row for key, row in rows.items() if row is not None}
    texts = {key: format_regret(row) for key, row in rows.items()}
    return texts, {key: row["average_regret"] for key, row in rows.items()}


def _normalized_column(header, rows, algorithms):
    found = {row["algorithm"]: f"{row['normalized_regret']:.2f}" for row in rows}
    return (header, *(found.get(algorithm, "") for algorithm in algorithms))


def orders(comparison, rival):
    """Rows of the table that shows who is better, when, and in what share of the seeds.

    Regrets are those of all queries, the initial ones included.

    Parameters
    ----------
    comparison : Comparison
    rival : str
        The algorithm that the others are compared with, seed by seed. Those as published are
        compared with it as published.

    Returns
    -------
    list of list of str
        The header first; then, by problem and algorithm: mean, standard error and median of the
        average regret, its mean in each quarter of the run, the mean number of resets, and the
        share of the seeds in which the rival has less regret.
    """
    header = ["Condition", "Algorithm", "Average regret", "Standard error", "Median"]
    header += [f"Quarter {i + 1}" for i in range(_N_PARTS)]
    rows = [[*header, "Resets", f"{rival} better"]]
    for problem in comparison.problems:
        for algorithm in comparison.algorithms:
            theirs = rival + AS_PUBLISHED if algorithm.endswith(AS_PUBLISHED) else rival
            base = _averages(comparison, theirs, problem)
            averages = _averages(comparison, algorithm, problem)
            if not averages:
                continue
            runs = comparison.results[algorithm, problem]
            parts = [[p.mean() for p in np.array_split(r.regrets, _N_PARTS)] for r in runs]
            values = list(averages.values())
            numbers = (*mean_and_error(values), np.median(values), *np.mean(parts, axis=0))
            resets = [r.history["n_resets"][-1] for r in runs if "n_resets" in r.history]
            wins = [base[seed] < averages[seed] for seed in averages if seed in base]
            rows.append(
                [
                    problem,
                    algorithm,
                    *("" if math.isnan(number) else f"{number:.3f}" for number in numbers),
                    f"{np.mean(resets):.1f}" if resets else "",
                    f"{np.mean(wins):.0%}" if wins and algorithm != theirs else "",
                ]
            )
    return rows


def _averages(comparison, algorithm, problem):
    """Average regret of each run, by its seed."""
    runs = comparison.results.get((algorithm, problem), ())
    return {run.seed: run.regrets.mean() for run in runs}


def write_csv(path, rows):
    """Write rows of text, the header first."""
    with replacing(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def draw(figure, comparison, task):
    """Draw the regrets and the data-set sizes on a task's problem, of the runs that there are.

    Returns
    -------
    bool
        Whether there are any.
    """
    runs = {
        (algorithm, problem): [run for run in runs if len(run.times) > run.n_initial]
        for (algorithm, problem), runs in comparison.results.items()
        if problem == task.name
    }
    known = evaluation.Comparison({key: some for key, some in runs.items() if some})
    if not known.results:
        return False
    left, right = figure.subplots(1, 2)
    for display, ax in ((RegretDisplay, left), (DatasetSizeDisplay, right)):
        display.from_comparison(known, time_unit=task.time_unit).plot(ax)
        ax.get_legend().remove()
    # Both axes have one legend, at a place without curves.
    figure.legend(*left.get_legend_handles_labels(), loc="outside right upper")
    return True


def file_name(name):
    """Name of a problem, options included, as the name of a file."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")


def _fitting(first, blocks, width):
    """Distribute blocks of columns over tables of a width, all with the same first column.

    Parameters
    ----------
    first : sequence of str
        Cells of the first column, which all tables have.
    blocks : list of list of sequences of str
        Columns of each block, which stay together.
    width : int

    Yields
    ------
    list of int
        Indices of the blocks of a table: all that fit, but at least one.
    """
    start = used = max(map(len, first))
    table = []
    for i, block in enumerate(blocks):
        needed = sum(2 + max(map(len, column)) for column in block)
        if table and used + needed > width:
            yield table
            table, used = [], start
        table.append(i)
        used += needed
    if table:
        yield table
