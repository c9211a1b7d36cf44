"""The examples of learners that tune themselves: their small versions."""

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
    assert "best in hindsight" in capsys.readouterr().out


@pytest.mark.slow
def test_the_tuner_is_about_as_good_as_the_best_window(run_example):
    example = run_example("plot_online_tuner.py", run_name="__main__")
    means = {window: losses.mean() for window, losses in example["fixed"].items()}
    assert example["tuned"].mean() < 1.03 * means[example["best"]]
    assert example["tuned"].mean() < 0.95 * np.median(list(means.values()))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_population_of_networks(run_example):
    example = run_example("plot_population_training.py")
    assert len(example["tuned"]) == 4
    assert example["tuned"][-1] < 0.8 * example["tuned"][0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_population_ends_below_all_fixed_rates(run_example):
    example = run_example("plot_population_training.py", run_name="__main__")
    assert example["tuned"][-1] < min(losses[-1] for losses in example["fixed"].values())
