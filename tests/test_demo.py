"""Demonstration of ``make demo``: W-DBO tracks, and the table and the picture are there."""

import re
import runpy
from pathlib import Path

import pytest

from sktvbo import WDBO, RandomSearch, evaluation

ROOT = Path(__file__).parents[1]
DEMO = str(ROOT / "examples" / "optimize" / "demo.py")


@pytest.fixture(scope="module")
def demo():
    pytest.importorskip("matplotlib")
    return runpy.run_path(DEMO)


def test_the_queries_follow_the_optimum(demo):
    near, chance = (
        demo["share_near_optimum"](
            evaluation.run(
                algorithm,
                demo["problem"],
                clock=demo["clock"],
                n_initial=demo["N_INITIAL"],
                random_state=0,
            )
        )
        for algorithm in (WDBO(), RandomSearch())
    )
    assert 0.1 < chance < 0.3
    assert near > 3.0 * chance


def test_the_film_is_small():
    Image = pytest.importorskip("PIL.Image")
    path = ROOT / "docs" / "tracking.gif"
    assert path.stat().st_size < 1e6
    with Image.open(path) as film:
        assert film.n_frames > 50


def test_a_table_and_a_picture(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["demo.py", "1"])
    runpy.run_path(DEMO, run_name="__main__")
    out = capsys.readouterr().out
    for name in ("W-DBO", "GP-UCB", "random search"):
        regret, near = [line for line in out.splitlines() if line.lstrip().startswith(name)][-2:]
        assert re.search(r" \d+\.\d+\*?$", regret)
        assert re.search(r" \d+%  \d+ observations, [\d.]+ ms$", near)
    assert (tmp_path / "sktvbo-demo" / "demo.png").read_bytes().startswith(b"\x89PNG")
