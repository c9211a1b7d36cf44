"""Interactive page of the documentation: it shows the recorded runs."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[1] / "docs" / "_static"
DATA = json.loads(
    (STATIC / "runs.js").read_text(encoding="utf-8").removeprefix("window.sktvboRuns = ")[:-2]
)
N_STEPS = DATA["steps"]
SCRIPTS = ("runs.js", "play.js")


def kept(run, step):
    """Return the size of the data set after a step."""
    return sum(not 0 <= at <= step for at in run["removed"][: step + 1])


def test_every_rate_and_alpha_was_recorded():
    assert len(DATA["runs"]) == len(DATA["rates"]) > 3
    for runs in DATA["runs"]:
        assert len(runs) == len(DATA["alphas"]) > 3
        for run in runs:
            assert len(run["x"]) == len(run["y"]) == len(run["removed"]) == N_STEPS
            assert all(at == -1 or i <= at for i, at in enumerate(run["removed"]))


def test_a_larger_alpha_keeps_fewer():
    for runs in DATA["runs"]:
        assert kept(runs[-1], N_STEPS - 1) < kept(runs[0], N_STEPS - 1)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Function that returns the text of the page for a step and positions of the two sliders."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium to render the page")
    folder = tmp_path_factory.mktemp("page")
    scripts = "".join(f'<script src="{(STATIC / name).as_uri()}"></script>' for name in SCRIPTS)
    page = folder / "page.html"
    page.write_text(f'<meta charset="utf-8"><div id="play"></div>{scripts}', encoding="utf-8")

    def say(step, rate, alpha):
        done = subprocess.run(
            [
                *(browser, "--headless", "--no-sandbox", "--disable-gpu"),
                *(f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=1000"),
                *("--dump-dom", f"{page.as_uri()}?step={step}&rate={rate}&alpha={alpha}"),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return re.search(r'id="play-status"[^>]*>([^<]*)<', done.stdout)[1]

    return say


@pytest.mark.parametrize(("step", "rate", "alpha"), [(9, 0, 0), (N_STEPS - 1, 2, 3)])
def test_the_page_shows_the_size_of_the_data_set(shown, step, rate, alpha):
    n = kept(DATA["runs"][rate][alpha], step)
    text = shown(step, rate, alpha)
    assert text.startswith(
        f"step {step + 1}: {n} of {step + 1} observations kept, average regret 0."
    )
