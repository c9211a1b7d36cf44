"""
===============================
Three algorithms, by make demo
===============================

This program compares W-DBO, GP-UCB and random search on a parabola whose optimum moves to and fro.
It prints a table of the regrets and of the costs of a step, and draws a picture in
``sktvbo-demo/demo.png``. Each run begins with five random queries. An answer takes a simulated
time, so that the regrets do not depend on the speed of the machine. Run it with ``make demo`` or
``python demo.py [n_replications]``; it needs Matplotlib.
"""

# sphinx_gallery_thumbnail_path = 'front.png'

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from sktvbo import GPUCB, WDBO, RandomSearch, evaluation, problems
from sktvbo.plotting import RegretDisplay

HORIZON, PERIOD = 600.0, 300.0
RESPONSE_TIME = 4.0  # simulated seconds from ask to answer
N_INITIAL = 5  # first queries at random, the same of all algorithms
NEAR = 1.0  # a query is near the optimum within this distance; the domain has length 10


def best(t):
    """Return the optimum at times t; the algorithms do not know it."""
    return 5.0 + 3.0 * np.sin(2.0 * np.pi * t / PERIOD)


problem = problems.from_callable(
    lambda x, t: -((x[0] - best(t)) ** 2),
    [(0.0, 10.0)],
    horizon=HORIZON,
    optimum=lambda t: ([best(t)], 0.0),
    noise_variance=0.3**2,
    name="moving optimum",
)
clock = evaluation.SimulatedClock(response_time=lambda n: RESPONSE_TIME)


def share_near_optimum(run):
    """Return the fraction of a run's queries near the optimum, without the initial ones."""
    times, queries = run.times[run.n_initial :], run.queries[run.n_initial :, 0]
    return np.mean(np.abs(queries - best(times)) <= NEAR)


def draw_objective(ax):
    """Draw the objective over time and x, and its optimum."""
    times, places = np.linspace(0.0, HORIZON, 401), np.linspace(0.0, 10.0, 101)
    values = np.column_stack([problem.values(places[:, np.newaxis], t) for t in times])
    ax.pcolormesh(times, places, values, cmap="viridis", vmin=-16.0, vmax=0.0, rasterized=True)
    ax.plot(times, best(times), color="cyan", linewidth=3.0, label="optimum")
    ax.set(xlabel="time (s)", ylabel="x", xlim=(0.0, HORIZON), ylim=(0.0, 10.0))


def draw_queries(ax, times, places):
    """Draw queries, and return their line."""
    style = {"color": "white", "markeredgecolor": "black", "markersize": 5, "label": "query"}
    return ax.plot(times, places, "o", **style)[0]


def draw(comparison):
    """Return a picture of the queries of W-DBO and GP-UCB, and of all regrets."""
    figure = Figure(figsize=(13.0, 7.2), layout="constrained")
    axes = figure.subplot_mosaic([["W-DBO", "regret"], ["GP-UCB", "regret"]], width_ratios=(1.4, 1))
    for name in ("W-DBO", "GP-UCB"):
        runs = sorted(comparison.results[name, problem.name], key=lambda run: run.average_regret)
        run = runs[len(runs) // 2]  # of median regret
        draw_objective(axes[name])
        draw_queries(axes[name], run.times, run.queries[:, 0])
        share = share_near_optimum(run)
        axes[name].set_title(f"{name}: {share:.0%} of the queries within {NEAR:g} of the optimum")
    axes["W-DBO"].legend(loc="upper center", framealpha=0.9)
    RegretDisplay.from_comparison(comparison).plot(axes["regret"])
    return figure


if __name__ == "__main__":
    folder = Path("sktvbo-demo")
    folder.mkdir(exist_ok=True)
    algorithms = {"W-DBO": WDBO(), "GP-UCB": GPUCB(), "random search": RandomSearch()}
    n_replications = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(f"{', '.join(algorithms)}: {n_replications} runs each of {HORIZON:g} simulated seconds.")
    print("This takes about a minute on two cores.", flush=True)
    comparison = evaluation.compare(
        algorithms, [problem], n_replications, clock=clock, n_initial=N_INITIAL, n_jobs=-1
    )
    print(f"\n{comparison}\n\nQueries within {NEAR:g} of the optimum, and the cost of a step:")
    for row in comparison.summary():
        name = row["algorithm"]
        shares = [share_near_optimum(run) for run in comparison.results[name, problem.name]]
        cost = f"{row['dataset_size']:.0f} observations, {1e3 * row['response_time']:.1f} ms"
        print(f"  {name:14s}{np.mean(shares):4.0%}  {cost}")
    draw(comparison).savefig(folder / "demo.png", dpi=120)
    print(f"\nThe picture is in {folder / 'demo.png'}")
