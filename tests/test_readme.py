"""README: what it tells to paste runs, as written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# The kind and the text of each block.
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
PASTED = next(text for kind, text in BLOCKS if kind == "sh")


def check(printed):
    """The program has tracked the optimum, and forgotten something."""
    truth, found, kept = map(
        float,
        re.fullmatch(r"best at (.+), found (.+), by (.+) of 100 .+", printed.strip()).groups(),
    )
    assert abs(truth - found) < 1.0
    assert kept < 80


def test_the_first_program(tmp_path):
    program = re.search(r"<<'END'\n(.*?)^END$", PASTED, flags=re.MULTILINE | re.DOTALL)[1]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    check(done.stdout)


@pytest.mark.slow
def test_the_first_block_as_pasted(tmp_path):
    # The package index has what this checkout makes.
    wheels = tmp_path / "wheels"
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", wheels, ROOT],
        check=True,
    )
    (tmp_path / "elsewhere").mkdir()
    environment = os.environ | {"PIP_FIND_LINKS": str(wheels), "PYTHONPATH": ""}
    done = subprocess.run(
        ["bash", "-e"],
        input=PASTED,
        cwd=tmp_path / "elsewhere",
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    check(done.stdout.strip().split("\n")[-1])


def test_the_other_programs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    programs = [text for kind, text in BLOCKS if kind == "python"]
    assert len(programs) >= 3
    for program in programs:
        exec(compile(program, "README.md", "exec"), names)
    assert names["opt"].n_told_ == 1
    assert np.isfinite(names["mean"]).all()
    assert len(names["gp"].X_train_) == 58


def test_the_commands_are_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(
        re.findall(r"\bmake (\w+)", "".join(text for kind, text in BLOCKS if kind == "sh"))
    )
    assert {"demo", "test"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_what_it_links_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target
