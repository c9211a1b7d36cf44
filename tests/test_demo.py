"""Command ``sktvbo demo``: it tracks, and runs on any machine."""

import re
import sys
from pathlib import Path

import pytest

from sktvbo import WDBO, RandomSearch, _demo, evaluation
from sktvbo._cli import main

FILM = Path(__file__).parents[1] / "docs" / "tracking.gif"


@pytest.fixture
def small(monkeypatch):
    """Demo with a few queries per run."""
    monkeypatch.setattr(_demo, "RESPONSE_TIME", {"full": 20.0, "quick": 40.0})
    pytest.importorskip("matplotlib").use("Agg")


@pytest.fixture
def without_data(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("SKTVBO_DATA", str(tmp_path / "empty"))


@pytest.mark.parametrize("seed", range(5))
def test_the_queries_follow_the_optimum(seed):
    clock = _demo.simulated_clock(_demo.RESPONSE_TIME["full"])
    near, chance = (
        _demo.share_near_optimum(
            evaluation.run(algorithm, _demo.moving_optimum(), clock=clock, random_state=seed)
        )
        for algorithm in (WDBO(), RandomSearch())
    )
    assert 0.1 < chance < 0.3
    assert near > 3.0 * chance


def test_the_film_is_small():
    Image = pytest.importorskip("PIL.Image")
    assert (FILM).stat().st_size < 1e6
    with Image.open(FILM) as film:
        assert film.n_frames > 50


def test_demo_with_data(small, data_dir, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SKTVBO_DATA", str(data_dir))
    folder = tmp_path / "a" / "b"
    assert main(["demo", "--output", str(folder), "--replications", "2", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    header = next(line for line in out.splitlines() if line.startswith("average regret"))
    assert header.split() == ["average", "regret", "moving", "optimum", "temperature"]
    for name in ("W-DBO", "GP-UCB", "random search"):
        regret, cost = [line for line in out.splitlines() if line.startswith(name)][-2:]
        assert regret.count("±") == 2
        assert " ms " in cost
    assert re.search(r"W-DBO +\d+%", out)
    assert re.search(r"It took \d+ s\.", out)
    assert "2 run(s) each of 600 s" in out.replace("\n", " ")
    assert "20 s of simulated time" in out.replace("\n", " ")
    assert f"The picture is in {folder / 'demo.png'}" in out
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert len(out.rstrip().splitlines()[-2:]) == 2
    assert out.rstrip().splitlines()[-2].startswith("Next: sktvbo list")


def test_demo_without_data(small, without_data, tmp_path, capsys):
    assert main(["demo", "--quick", "--output", str(tmp_path), "--jobs", "1"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("W-DBO, GP-UCB, random search on moving optimum: 2 run(s)")
    assert "intel_lab_temperature.npz was not found" in out
    assert "SKTVBO_DATA" in out
    assert "2 run(s)" in out
    assert "temperature " not in out.partition("average regret")[2]
    assert (tmp_path / "demo.png").exists()


@pytest.mark.slow
def test_demo_does_not_depend_on_the_machine(small, without_data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def table(*options):
        assert main(["demo", "--quick", "--no-plot", *options]) == 0
        return capsys.readouterr().out.partition("mean of all runs")[0]

    assert table("--jobs", "1") == table("--jobs", "2")
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]  # --no-plot writes no file


def test_demo_without_the_extras(small, without_data, tmp_path, monkeypatch, capsys):
    for module in ("matplotlib", "tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, module, None)
    folder = tmp_path / "none"
    options = ["--quick", "--replications", "1", "--jobs", "1", "--output", str(folder)]
    assert main(["demo", *options]) == 0
    out = capsys.readouterr().out
    assert 'pip install "sktvbo[plot]"' in out
    assert 'pip install "sktvbo[progress]"' in out
    assert "average regret" in out
    assert "Queries of W-DBO (o)" in out
    assert not folder.exists()


def test_the_picture_in_text():
    clock = _demo.simulated_clock(20.0)
    run = evaluation.run(RandomSearch(), _demo.moving_optimum(), clock=clock, random_state=0)
    title, *rows = _demo.text_picture(run).splitlines()
    assert "(o)" in title
    assert len(rows) == _demo.ROWS
    assert {len(row) for row in rows} == {_demo.COLUMNS + 4}
    highest = next(i for i, row in enumerate(rows) if "-" in row)
    assert highest == _demo.ROWS - 1 - int(7.99 * _demo.ROWS / 10.0)
    last = int(run.times[-1] * _demo.COLUMNS / _demo.HORIZON)
    column = [row[3 + last] for row in rows]
    assert column.index("o") == _demo.ROWS - 1 - int(run.queries[-1, 0] * _demo.ROWS / 10.0)
