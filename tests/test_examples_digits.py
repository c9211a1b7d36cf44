"""The example that tunes a classifier on a stream: its parts, and the claims of its text."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
EXAMPLE = EXAMPLES / "predict" / "plot_tune_drifting_stream.py"


@pytest.fixture(scope="module")
def example():
    """The small version."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    yield runpy.run_path(str(EXAMPLE))
    pyplot.close("all")


def test_a_model_sees_the_latest_rows_of_the_past_only(example, rng):
    stream = X, y = example["make_stream"](3, 0)
    morning = (example["PAST_DAYS"] + 1) * example["PER_DAY"]
    today = slice(morning, morning + example["PER_DAY"])
    neighbours = example["KNeighborsClassifier"](4).fit(
        X[morning - 100 : morning], y[morning - 100 : morning]
    )
    params = {"n_rows": 100.4, "estimator__n_neighbors": 4}
    assert example["accuracy"](params, stream, 1) == neighbours.score(X[today], y[today])


def test_hindsight_finds_what_was_planted(example):
    fixed = np.zeros((2, 3, 60))
    fixed[:, 0] = 0.2
    fixed[:, 1, :30], fixed[:, 2, 30:] = 0.9, 0.8
    fixed[1, 2, :20] = 0.95  # luck of one stream
    fixed[0, 0, 40] = 1.0  # luck of one day
    best, once, oracle = example["hindsight"](fixed)
    assert best == fixed.mean(axis=(0, 2)).argmax() == 2
    assert_array_equal(once, [1, 2])
    assert_array_equal(oracle[[0, 20, 29, 31, 40, 59]], [1, 1, 1, 2, 2, 2])


def test_the_text_is_true_of_the_whole_comparison(example):
    accuracies, _, (_, oracle, asked) = example["study"](150, 6, 2)
    mean = {name: by_day.mean() for name, by_day in accuracies.items()}
    assert mean["oracle"] > mean["best fixed"] + 0.03
    assert mean["tuned once"] < mean["best fixed"] - 0.02
    for name in ("W-DBO", "TV-GP-UCB", "ET-GP-UCB", "GP-UCB"):
        assert mean["random search"] + 0.01 < mean[name] < mean["best fixed"]
    # The picture: rows in the calm and in the busy season, accuracy after the beginning.
    rows = np.log([[params["n_rows"] for params in run] for run in asked["W-DBO"]]).mean(axis=0)
    calm, busy = np.r_[20:45, 125:150], np.r_[65:90]
    assert rows[busy].mean() < rows[calm].mean()
    assert rows[calm].mean() < np.log([oracle[day]["n_rows"] for day in calm]).mean()
    ahead = (accuracies["W-DBO"] - accuracies["best fixed"]).mean(axis=0)
    assert ahead[:10].mean() < ahead[20:].mean() < 0.01
    assert ahead[20:].mean() > -0.05
