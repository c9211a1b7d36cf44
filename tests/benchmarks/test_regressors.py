"""The comparison of regressors: its tasks look into no future, its scores are right."""

import runpy
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "regressors" / "compare.py"


@pytest.fixture(scope="module")
def compare():
    return runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize("task", ["sensors", "wind", "flow", "stream"])
def test_no_task_looks_into_the_future(task, compare, data_dir):
    if task == "flow":
        pytest.importorskip("river")
        pytest.importorskip("pandas")
    if task in ("sensors", "wind"):
        compare["TASKS"][task].__globals__["DATA"] = data_dir
        name = {"sensors": "intel_lab_temperature.npz", "wind": "irish_wind.npz"}[task]
        if not (data_dir / name).is_file():
            pytest.skip(f"{name} is missing")
    folds = list(compare["TASKS"][task]())
    assert len(folds) >= 10
    for X, y, X_new, truth in folds:
        assert len(X) == len(y) > 100
        assert len(X_new) == len(truth) > 5
        assert np.isfinite(np.concatenate([X.ravel(), y, X_new.ravel(), truth])).all()
        if task == "sensors":  # other sensors at the same time
            assert X[:, -1].max() == X_new[:, -1].min()
            assert not {tuple(x) for x in X[:, :2]} & {tuple(x) for x in X_new[:, :2]}
        else:
            assert X[:, -1].max() < X_new[:, -1].min()


def test_scores(compare, monkeypatch):
    """By hand: half of the values 2 above the interval of width 1."""
    fold = (np.zeros((4, 1)), np.zeros(4), np.zeros((2, 1)), np.array([0.5, 3.0]))
    monkeypatch.setitem(compare["TASKS"], "made", lambda: [fold, fold])
    answer = (np.zeros(2), np.zeros(2), np.ones(2))
    monkeypatch.setitem(compare["METHODS"], "made", lambda *args: answer)
    result = compare["measured"]("made", "made")
    for scores in result["scores"]:
        assert scores["RMSE"] == pytest.approx(np.sqrt((0.25 + 9.0) / 2.0))
        assert scores["coverage"] == 0.5
        assert scores["interval score"] == pytest.approx(1.0 + 2.0 / 0.1 * 2.0 / 2.0)
    assert "± 0.000" in compare["line"]("made", result)


@pytest.mark.parametrize("method", ["sktvbo", "scikit-learn", "ridge", "last value"])
def test_methods_answer_for_a_stream(method, compare):
    X, y, X_new, truth = next(compare["TASKS"]["stream"]())
    mean, low, high = compare["METHODS"][method]("stream", X[-80:], y[-80:], X_new)
    assert mean.shape == truth.shape
    assert (low < mean).all()
    assert (mean < high).all()
