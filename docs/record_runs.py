"""The runs of the page to play with: W-DBO on a moving function, for each rate and each α.

    python docs/record_runs.py

writes docs/_static/runs.js, in a minute: of each step the query, what was removed, and what was
believed of all places, a byte a number.
"""

import base64
import json
from pathlib import Path

import numpy as np

from sktvbo import WDBO

RATES = [0.0, 0.02, 0.05, 0.1, 0.2]  # radians a step
ALPHAS = [0.02, 0.1, 0.25, 1.0, 4.0]
N_STEPS, N_PLACES, NOISE = 150, 61, 0.05
# Means from LOW to HIGH, and standard deviations from 0 to WIDEST, are written as bytes.
LOW, HIGH, WIDEST = -0.5, 1.5, 1.0
PLACES = np.linspace(0.0, 1.0, N_PLACES)


def function(x, t, rate):
    """A hill that walks to and fro, and a lower one that stays."""
    top = 0.5 + 0.35 * np.sin(rate * t)
    return np.exp(-0.5 * ((x - top) / 0.12) ** 2) + 0.4 * np.exp(-0.5 * ((x - 0.9) / 0.06) ** 2)


def in_bytes(values, low, high):
    """Numbers as base64 of a byte each."""
    scaled = np.clip((np.asarray(values) - low) / (high - low), 0.0, 1.0)
    return base64.b64encode(np.round(255.0 * scaled).astype(np.uint8).tobytes()).decode()


def record(rate, alpha):
    """One run: queries, observations, the step at which each was removed, beliefs."""
    noise = NOISE * np.random.RandomState(0).normal(size=N_STEPS)
    optimizer = WDBO([(0.0, 1.0)], alpha=alpha, n_initial_points=10, random_state=0)
    means, stds = [], []
    for t in range(N_STEPS):
        x = optimizer.ask(t)
        optimizer.tell(x, function(x[0], t, rate) + noise[t])
        if optimizer.surrogate_ is None:
            mean, std = np.zeros(N_PLACES), np.full(N_PLACES, WIDEST)
        else:
            mean, std = optimizer.surrogate_.posterior_at(t)(PLACES[:, np.newaxis])
        means.append(mean)
        stds.append(std)
    removed = [int(t) if np.isfinite(t) else -1 for t in optimizer.removed_at_]
    return {
        "x": optimizer.told_X_[:, 0].round(3).tolist(),
        "y": optimizer.told_y_.round(3).tolist(),
        "removed": removed,
        "mean": in_bytes(means, LOW, HIGH),
        "std": in_bytes(stds, 0.0, WIDEST),
    }


def main():
    """Write the file."""
    runs = [[record(rate, alpha) for alpha in ALPHAS] for rate in RATES]
    about = {"rates": RATES, "alphas": ALPHAS, "steps": N_STEPS, "places": N_PLACES}
    about |= {"low": LOW, "high": HIGH, "widest": WIDEST, "runs": runs}
    path = Path(__file__).parent / "_static" / "runs.js"
    path.write_text(f"window.sktvboRuns = {json.dumps(about)};\n", encoding="utf-8")


if __name__ == "__main__":
    main()
