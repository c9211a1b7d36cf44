"""Picture of the README: a forecast of data that drift, and a tracked optimum.

    python docs/record_front.py

writes docs/front.png. Left, a static and a time-varying Gaussian process on the same data; right,
the queries of W-DBO on the problem of ``make demo``.
"""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from sktvbo import WDBO, TimeVaryingGPRegressor, evaluation

DEMO = Path(__file__).parents[1] / "examples" / "optimize" / "demo.py"
SEED = 0
NOW = 100.0


def effect(x, t):
    """Return the response to an input x at times t: its peak moves, its height falls."""
    return np.exp(-0.5 * ((x - 0.25 - 0.005 * t) / 0.15) ** 2) * (1.3 - 0.005 * t)


def forecast(ax):
    """Draw two forecasts of the response at the present, by all rows so far."""
    rng = np.random.default_rng(SEED)
    x, t = rng.uniform(size=120), np.sort(rng.uniform(0.0, NOW, size=120))
    X, y = np.column_stack([x, t]), effect(x, t) + 0.05 * rng.normal(size=120)
    models = {
        "static": (TimeVaryingGPRegressor(Matern(0.3), ConstantKernel(1.0, "fixed")), "C1"),
        "time-varying": (TimeVaryingGPRegressor(Matern(0.3), Matern(50.0, nu=1.5)), "C0"),
    }
    grid = np.linspace(0.0, 1.0, 201)
    dots = ax.scatter(x, y, c=t, s=14, cmap="Greys", vmin=-0.4 * NOW, vmax=NOW)
    dots.set_label("data, the darker the later")
    for name, (model, colour) in models.items():
        now = np.column_stack([grid, np.full(201, NOW)])
        mean, std = model.fit(X, y).predict(now, return_std=True)
        ax.plot(grid, mean, color=colour, label=f"{name}, ± 2 s.d.")
        ax.fill_between(grid, mean - 2 * std, mean + 2 * std, color=colour, alpha=0.2)
    ax.plot(grid, effect(grid, NOW), "k--", linewidth=1.2, label="truth now")
    ax.set(xlabel="x", ylabel="y", xlim=(0.0, 1.0), ylim=(-0.2, 1.9))
    ax.set_title("Predict: what holds now")
    ax.legend(loc="upper left", ncols=2, fontsize=9)


def tracking(ax):
    """Draw the queries of a run over the objective."""
    demo = SimpleNamespace(**runpy.run_path(str(DEMO)))
    run = evaluation.run(
        WDBO(), demo.problem, clock=demo.clock, n_initial=demo.N_INITIAL, random_state=SEED
    )
    demo.draw_objective(ax)
    demo.draw_queries(ax, run.times, run.queries[:, 0])
    ax.set_title("Optimize: queries follow the moving optimum")
    ax.legend(loc="upper center", ncols=2, fontsize=9, framealpha=0.9)


if __name__ == "__main__":
    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    forecast(left)
    tracking(right)
    figure.savefig(Path(__file__).parent / "front.png", dpi=110)
