"""README: short, and what it tells to paste runs, as written."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# The kind and the text of each block.
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
INSTALL, COMMANDS = (text for kind, text in BLOCKS if kind == "sh")
(PROGRAM,) = (text for kind, text in BLOCKS if kind == "python")
(BIBTEX,) = (text for kind, text in BLOCKS if kind == "bibtex")


def check(printed):
    """The program has tracked the optimum."""
    truth, found = map(
        float, re.fullmatch(r"optimum (.+), recommended (.+)", printed.strip()).groups()
    )
    assert abs(truth - found) < 0.5


def paste(text, folder, **environment):
    """Return the output of a shell in which the text is pasted, in a folder."""
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        ["bash", "-e"],
        input=text,
        cwd=folder,
        env=without | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A fresh clone, with the environment of the README in it."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not in a git checkout")
    folder = tmp_path_factory.mktemp("fresh") / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    paste(INSTALL, folder)
    return folder


def test_it_is_short():
    prose = re.sub(r"```.*?```|^\|.*$", "", README, flags=re.DOTALL | re.MULTILINE)
    assert len([word for word in README.split() if re.search(r"\w", word)]) <= 600
    numbers = re.findall(r"\d[\d.]*", re.sub(r"\]\([^)]*\)", "]", prose))
    assert len(numbers) <= 15
    rows = re.findall(r"^\| (?!\|)(?!---)(.*)$", README, flags=re.MULTILINE)
    assert len(rows) == 6


def test_the_program(tmp_path):
    assert len(PROGRAM.splitlines()) == 12
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    check(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("place", [".", ".."])
def test_the_program_in_a_fresh_clone_and_beside_it(place, clone):
    (clone / place / "track.py").write_text(PROGRAM, encoding="utf-8")
    check(paste(f"{clone}/.venv-tracking/bin/python track.py", clone / place))


@pytest.mark.slow
def test_the_demonstration_in_a_fresh_clone(clone):
    assert "make demo" in COMMANDS
    printed = paste("make demo", clone)
    near = {name: int(share) for name, share in re.findall(r"^  (.+?) +(\d+)% ", printed, re.M)}
    assert near["W-DBO"] > 3 * near["random search"]
    assert (clone / "sktvbo-demo" / "demo.png").is_file()


def test_the_commands_are_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"\bmake (\w+)", COMMANDS)
    assert targets == ["demo", "test"]
    for target in re.findall(r"`make (\w+)`", README) + targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_what_it_links_to_is_there():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(targets) > 10
    for target in targets:
        assert (ROOT / target).exists(), target


def test_the_citation_is_that_of_the_package():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"(\w+) = \{+(.*?)\}+,?$", BIBTEX, flags=re.MULTILINE))
    assert f"\nversion: {fields['version']}\n" in citation
    assert f"\nlicense: {fields['license']}\n" in citation
    assert f"name: {fields['author']}\n" in citation
    faq = (ROOT / "docs" / "faq.rst").read_text(encoding="utf-8")
    assert textwrap.indent(BIBTEX, "   ") in faq
