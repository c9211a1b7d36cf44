"""Text tables."""

import math


def format_table(rows, left=(0,), rule=True):
    """Return the lines of a table.

    Parameters
    ----------
    rows : list of sequences of str
        Rows of cells, the header first.
    left : tuple of int, default=(0,)
        Indices of left-aligned columns; the others are right-aligned.
    rule : bool, default=True
        Draw a line below the header, as wide as the table.

    Returns
    -------
    list of str
        Lines without trailing spaces.

    Examples
    --------
    >>> from sktvbo.evaluation._tables import format_table
    >>> print(*format_table([("room", "n"), ("loft", "12")]), sep="\\n")
    room   n
    --------
    loft  12
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]
    if rule:
        lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return lines


def regret_columns(comparison):
    """Return the columns of a comparison's table of average regrets, as text.

    Returns
    -------
    algorithms : list of str
        First column.
    columns : dict of str to list of str
        Other columns by problem, each with its header first.
    overlapping : bool
        True if the table has a ``+`` mark.
    """
    rows = comparison.summary()
    known = [row for row in rows if not math.isnan(row["average_regret"])]
    # In order from worst to best: the dict keeps the last row of a problem.
    known.sort(key=lambda row: -row["average_regret"])
    best = {row["problem"]: row for row in known}
    cells, marks = {}, set()
    for row in rows:
        mark = _mark(row, best.get(row["problem"]))
        marks.add(mark)
        failed = ("!" if row["n_failures"] else " ") if comparison.failures else ""
        cells[row["algorithm"], row["problem"]] = format_regret(row) + mark + failed
    algorithms = comparison.algorithms
    columns = {p: [p, *(cells.get((a, p), "") for a in algorithms)] for p in comparison.problems}
    return ["average regret", *algorithms], columns, "+" in marks


def format_regret(row):
    """Return mean and standard error of a row of `Comparison.summary`, as text."""
    mean, error = row["average_regret"], row["standard_error"]
    if math.isnan(mean):
        return "unknown" if row["n_replications"] else "failed"
    if math.isnan(error):
        return f"{mean:.4g}"
    # The error has two digits, and the mean as many decimals.
    places = min(max(1 - math.floor(math.log10(error)), 0), 6) if error > 0.0 else 3
    return f"{mean:.{places}f} ± {error:.{places}f}"


def _mark(row, best):
    """Return ``*`` for the best, ``+`` for an overlapping interval, or a space."""
    if best is None or math.isnan(row["average_regret"]):
        return " "
    if row["average_regret"] == best["average_regret"]:
        return "*"
    low = row["average_regret"] - row["standard_error"]
    return "+" if low <= best["average_regret"] + best["standard_error"] else " "
