"""Data of the interactive page of the documentation: the recorded runs."""

import json
from pathlib import Path

STATIC = Path(__file__).parents[1] / "docs" / "_static"
DATA = json.loads(
    (STATIC / "runs.js").read_text(encoding="utf-8").removeprefix("window.sktvboRuns = ")[:-2]
)


def test_every_rate_and_alpha_was_recorded_and_a_larger_alpha_keeps_fewer():
    assert len(DATA["runs"]) == len(DATA["rates"]) > 3
    for runs in DATA["runs"]:
        assert len(runs) == len(DATA["alphas"]) > 3
        for run in runs:
            assert len(run["x"]) == len(run["y"]) == len(run["removed"]) == DATA["steps"]
            assert all(at == -1 or i <= at for i, at in enumerate(run["removed"]))
        n_removed = [sum(at >= 0 for at in run["removed"]) for run in runs]
        assert n_removed[-1] > n_removed[0]
