"""The ozone example: what it claims holds on the days that its search has not seen."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from sktvbo.datasets import load_ny_ozone
from sktvbo.exceptions import MissingDataError

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "plot_ozone_forgetting.py"


@pytest.fixture
def run_example(monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    monkeypatch.setattr(pyplot, "show", lambda: None)

    def run(folder):
        monkeypatch.setenv("SKTVBO_DATA", str(folder))
        return runpy.run_path(str(EXAMPLE))

    yield run
    pyplot.close("all")


def test_time_helps_on_later_days(run_example, data_dir, capsys):
    try:
        load_ny_ozone(data_dir=data_dir)
    except MissingDataError as exc:
        pytest.skip(str(exc))
    example = run_example(data_dir)
    assert example["source"] == "New York State, 2020"
    static, varying = (example["table"][f"{name} pipeline"] for name in ("static", "time-varying"))
    assert varying[0] < 0.6 * static[0]  # silent sites today
    assert varying[1] < 0.95 * static[1]  # all sites tomorrow
    assert "time-varying pipeline" in capsys.readouterr().out

    n_sites, n_search = example["n_sites"], example["n_search"]
    silent = np.flatnonzero(~example["reported"])
    folds = list(example["folds"]())
    assert len(folds) == 20
    for known, asked in folds:
        assert max(known.max(), asked.max()) < n_search * n_sites  # before all later days
        assert not np.intersect1d(known, silent).size
        today = known.max() // n_sites
        assert set(asked // n_sites) == {today, today + 1}
        assert not np.intersect1d(known, asked).size


@pytest.mark.slow
def test_without_data_it_says_so_and_uses_a_stand_in(run_example, tmp_path, capsys):
    example = run_example(tmp_path)
    assert "MADE-UP" in example["source"]
    assert example["data"].ozone.shape == (338, 25)
    out = capsys.readouterr().out
    assert "aqs.epa.gov" in out
    assert "SKTVBO_DATA" in out
