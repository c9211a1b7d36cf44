"""The examples of the daily tools run, and what they say holds."""

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
    yield lambda name: runpy.run_path(str(EXAMPLES / name))
    pyplot.close("all")


def test_pictures_of_ones_own_optimizer(run_example):
    found = run_example("plot_own_optimizer.py")["found"]
    best = 10.0 ** (-3.0 + 1.5 * np.sin(60.0 / 20.0))
    assert found.x["loss"] == "l2"
    assert 0.1 * best < found.x["rate"] < 10.0 * best


def test_optuna(run_example, capsys):
    pytest.importorskip("optuna")
    run_example("plot_optuna.py")
    ours, theirs = (float(line.split()[-1]) for line in capsys.readouterr().out.splitlines())
    assert ours < 0.5 * theirs


def test_context(run_example, capsys):
    run_example("plot_context.py")
    told, not_told = (
        float(part.split()[-1].rstrip("}")) for part in capsys.readouterr().out.split(",")
    )
    assert told < 0.25 * not_told


def test_constraints(run_example, capsys):
    opt = run_example("plot_constraints.py")["opt"]
    assert capsys.readouterr().out.startswith("0 of 110 queries break")
    assert abs(opt.told_X_[-10:, 1] - 0.8).max() < 0.1  # where the disc and the line leave room


@pytest.mark.slow
def test_workers_of_dask(run_example):
    pytest.importorskip("distributed")
    found = run_example("plot_dask.py")["found"]
    assert len(found.calls) == found.optimizer.n_told_ == 60


def test_failures(run_example):
    optimizer = run_example("plot_failures.py")["optimizer"]
    assert optimizer.n_told_ + optimizer.n_failed_ == 200
    assert optimizer.n_failed_ <= 25  # half of what chance would have


def test_cautious_moves(run_example):
    example = run_example("plot_cautious.py")
    steps = [np.abs(np.diff(example[name].told_X_[:, 0])) for name in ("free", "gentle")]
    assert steps[1].max() <= 0.5 + 1e-9 < steps[0].max()
    assert steps[1].sum() < 0.5 * steps[0].sum()
    late = example["gentle"].told_X_[50:]
    assert np.median(np.abs(late[:, 0] - example["best"](late[:, 1]))) < 0.5
