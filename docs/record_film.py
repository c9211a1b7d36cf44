"""Film of the documentation: W-DBO follows a moving optimum.

    python docs/record_film.py

writes docs/tracking.gif, of less than 1 MB. Left, the queries over time; right, the objective and
the posterior at the present.
"""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from sktvbo import WDBO, evaluation

# The problem and its picture are those of ``make demo``.
DEMO = Path(__file__).parents[1] / "examples" / "optimize" / "demo.py"
demo = SimpleNamespace(**runpy.run_path(str(DEMO)))

PLACES = np.linspace(0.0, 10.0, 101)
# A run of median regret among those of seeds 0 to 9.
SEED = 0
# Frames per second of the film, and queries from one frame to the next.
FPS, STRIDE = 8, 2
# Queries in the first frame, so that a still picture of it shows some.
FIRST = 40
# Milliseconds of the last frame.
LAST = 3000
COLOURS = 128


def record():
    """Return times, places and observations of the queries, and the posteriors (mean, std)."""
    queries, posteriors = [], []
    run = {"clock": demo.clock, "n_initial": demo.N_INITIAL, "random_state": SEED}
    for step in evaluation.steps(WDBO(), demo.problem, **run):
        queries.append((step.time, step.x[0], step.y))
        surrogate = step.surrogate
        if surrogate is not None:
            surrogate = surrogate.at(step.time).posterior_at(step.time)(
                PLACES[:, np.newaxis] / 10.0
            )
        posteriors.append(surrogate)
    return np.array(queries).T, posteriors


def film(path):
    """Write the film."""
    (times, places, observations), posteriors = record()
    figure = Figure(figsize=(8.0, 3.6), layout="constrained", dpi=90)
    canvas = FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=(2.0, 1.0))
    demo.draw_objective(left)
    left.set_title("optimum (cyan) and queries of W-DBO")
    dots = demo.draw_queries(left, [], [])
    present = left.axvline(0.0, color="white", linewidth=1.0)

    def draw(i):
        t = times[i]
        dots.set_data(times[: i + 1], places[: i + 1])
        present.set_xdata([t, t])
        right.clear()
        right.plot(PLACES, demo.problem.values(PLACES[:, np.newaxis], t), "k--", label="objective")
        if posteriors[i] is not None:
            mean, std = posteriors[i]
            right.plot(PLACES, mean, color="C0", label="prediction ± 2 s.d.")
            right.fill_between(PLACES, mean - 2 * std, mean + 2 * std, color="C0", alpha=0.25)
        right.axvline(demo.best(t), color="darkturquoise", linewidth=3.0)
        right.plot(places[i], observations[i], "o", color="white", markeredgecolor="black")
        right.set(xlim=(0.0, 10.0), ylim=(-40.0, 12.0), xlabel="x", yticks=[])
        right.set_title(f"at {t:.0f} s")
        right.legend(loc="lower center", fontsize=8)

    frames = []
    for i in range(FIRST, len(times), STRIDE):
        draw(i)
        canvas.draw()
        frames.append(Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB"))
    # One palette without dithering: what does not move costs nothing.
    palette = frames[-1].quantize(COLOURS)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    milliseconds = [1000 // FPS] * (len(frames) - 1) + [LAST]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=milliseconds, loop=0)


if __name__ == "__main__":
    path = Path(__file__).parent / "tracking.gif"
    film(path)
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
