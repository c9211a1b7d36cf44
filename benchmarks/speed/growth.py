"""Time of a step as a run grows: W-DBO, GP-UCB, and W-DBO by its authors, wdbo_algo.

    OMP_NUM_THREADS=1 python benchmarks/speed/growth.py benchmarks/results/tables/growth.csv
    python benchmarks/speed/growth.py benchmarks/results/tables/growth.csv --draw docs/steps.png

A run has 20,000 queries in three dimensions on the function of ``steps.py``, whose best input
returns after 94 steps; it ends earlier after ten minutes of processor time. The table has the
median of ``tell`` and ``ask`` in ms, and the rows of the data set, of parts of the run that grow by
a factor of √2. ``--draw`` draws a table that is there. A peer that is not installed is left out.
"""

import argparse
import csv
import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from _timing import seconds
from steps import BOX, Ours, Theirs, objective, step_of

from sktvbo import GPUCB
from sktvbo.exceptions import ModelWarning

N_INITIAL, PER_UNIT = 5, 90.0


class Static(Ours):
    """GP-UCB of this package, which keeps all observations."""

    def __init__(self, n):
        self._optimizer = GPUCB(BOX, n_initial_points=n, random_state=0)


PACKAGES = {"W-DBO": Ours, "GP-UCB": Static, "wdbo_algo": Theirs}
LABELS = {"wdbo_algo": "W-DBO by its authors"}


def run(make, n_steps, limit):
    """Yield the last step, the median milliseconds and the rows of each part of a run."""
    optimizer, rng, times, spent, edge = make(N_INITIAL), np.random.default_rng(0), [], 0.0, 14.0
    x = rng.uniform(size=len(BOX))
    for i in range(n_steps):
        t, next_t = i / PER_UNIT, (i + 1) / PER_UNIT
        y = objective(x, rng, t)
        if i < N_INITIAL:
            optimizer.tell(x, y, t)
            x = rng.uniform(size=len(BOX))
            continue
        elapsed, x = seconds(partial(step_of, optimizer, x, y, t, next_t))
        times.append(elapsed)
        spent += elapsed
        if i + 1 >= edge or i + 1 == n_steps or spent > limit:
            yield i + 1, 1e3 * np.median(times), len(optimizer.data[1])
            times, edge = [], edge * np.sqrt(2.0)
        if spent > limit:
            return


def draw(table, path):
    """Draw the medians over the steps, both on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.6), layout="constrained")
    ax = figure.subplots()
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for name in dict.fromkeys(row["package"] for row in rows):
        steps, ms = np.array(
            [(float(r["step"]), float(r["ms"])) for r in rows if r["package"] == name]
        ).T
        ax.loglog(steps, ms, marker=".", label=LABELS.get(name, f"{name} of sktvbo"))
    ax.set(xlabel="steps of the run", ylabel="one step, in ms", ylim=(1.0, None))
    ax.grid(visible=True, alpha=0.3)
    ax.legend()
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("table", type=Path, help="csv file")
    parser.add_argument("--draw", type=Path, metavar="PICTURE")
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=list(PACKAGES))
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=10.0)
    arguments = parser.parse_args()
    if arguments.draw:
        draw(arguments.table, arguments.draw)
        return
    warnings.simplefilter("ignore", ModelWarning)
    with arguments.table.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["package", "step", "ms", "rows"])
        for name in arguments.packages:
            if name == "wdbo_algo" and not find_spec("wdbo_algo"):
                continue
            for step, ms, rows in run(PACKAGES[name], arguments.steps, 60.0 * arguments.minutes):
                out.writerow([name, step, f"{ms:.4g}", rows])
                file.flush()
                print(f"{name:10} step {step:6}  {ms:9.1f} ms  {rows:6} rows", flush=True)


if __name__ == "__main__":
    main()
