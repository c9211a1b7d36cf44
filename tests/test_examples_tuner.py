"""The example of a learner that tunes itself, in its small version and in full."""

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def run_example(monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    yield lambda name, **options: runpy.run_path(str(EXAMPLES / name), **options)
    pyplot.close("all")


def test_a_window_that_follows_the_seasons(run_example, capsys):
    example = run_example("plot_online_tuner.py")
    assert len(example["tuned"]) == 29
    for losses in (example["tuned"], *example["fixed"].values()):
        assert 1.0 < losses.mean() < 9.0
    assert example["tuner"].prequential_loss_ == pytest.approx(example["tuned"].mean())
    assert "the best" in capsys.readouterr().out


@pytest.mark.slow
def test_the_tuner_is_better_than_the_best_window(run_example):
    example = run_example("plot_online_tuner.py", run_name="__main__")
    means = {window: losses.mean() for window, losses in example["fixed"].items()}
    assert example["tuned"].mean() < means[example["best"]]
    assert example["tuned"].mean() < 0.95 * np.median(list(means.values()))
