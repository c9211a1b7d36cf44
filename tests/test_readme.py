"""README: what it tells to paste runs, as written."""

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
COMMANDS, _ = (text for kind, text in BLOCKS if kind == "sh")
PREDICT, OPTIMIZE = (text for kind, text in BLOCKS if kind == "python")
(BIBTEX,) = (text for kind, text in BLOCKS if kind == "bibtex")


def check_prediction(printed):
    """Where nothing is near in time, the prediction is uncertain, and right within its bounds."""
    mean, std = map(float, printed.split())
    assert std < 0.5
    assert abs(mean - -0.902) < 3.0 * std  # sin(3 + 0.05 * 151)


def check_optimum(printed):
    """The program has tracked the optimum, 5 + 3 sin(5)."""
    assert abs(float(re.fullmatch(r"best input at t = 100: (.+)", printed.strip())[1]) - 2.12) < 0.5


PROGRAMS = {
    "predict": (PREDICT + "print(mean[0], std[0])\n", check_prediction),
    "optimize": (OPTIMIZE, check_optimum),
}


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
def demonstration(tmp_path_factory):
    """A fresh clone and what its first `make demo` printed."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not in a git checkout")
    folder = tmp_path_factory.mktemp("fresh") / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    assert "make demo" in COMMANDS
    return folder, paste("make demo", folder)


def test_the_programs_come_before_any_picture_and_are_short():
    assert README.index("```python") < README.index("![")
    for program in (PREDICT, OPTIMIZE):
        assert README.index(program) < README.index("![")
        assert len(program.split("\n")) - program.count("\n\n") - 1 <= 8


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs(name, tmp_path):
    program, check = PROGRAMS[name]
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    check(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("place", [".", ".."])
def test_the_programs_in_a_fresh_clone_and_beside_it(place, demonstration):
    clone = demonstration[0]
    for program, check in PROGRAMS.values():
        (clone / place / "pasted.py").write_text(program, encoding="utf-8")
        activate = "." if place == "." else "clone"
        check(paste(f". {activate}/.venv/bin/activate\npython pasted.py", clone / place))


@pytest.mark.slow
def test_the_demonstration_in_a_fresh_clone(demonstration):
    clone, printed = demonstration
    assert len(re.findall(r"^\d of 3: ", printed, re.M)) == 3
    assert "hint" not in printed
    near = {name: int(share) for name, share in re.findall(r"^  (.+?) +(\d+)% ", printed, re.M)}
    assert near["W-DBO"] > 3 * near["random search"]
    assert (clone / "sktvbo-demo" / "demo.png").is_file()


def test_the_commands_are_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"\bmake (\w+)", COMMANDS)
    assert targets == ["demo", "test"]
    for target in re.findall(r"`make (\w+)`", README) + targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_the_demonstration_installs_in_the_environment_of_the_programs():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (venv,) = re.findall(r"^VENV := (\S+)$", makefile, flags=re.MULTILINE)
    assert f"`. {venv}/bin/activate`" in README
    assert "-m venv" not in README


def test_what_it_links_to_is_there():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(targets) > 10
    for target in targets:
        assert (ROOT / target).exists(), target


def test_pages_that_it_links_keep_their_programs_on_a_code_host():
    """Which shows no directive of Sphinx: the content of one is lost there."""
    pages = re.findall(r"\]\((docs/[\w/]+\.rst)\)", README)
    assert len(pages) > 8
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert ":include-source:" not in text, page


def test_the_citation_is_that_of_the_package():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"(\w+) = \{+(.*?)\}+,?$", BIBTEX, flags=re.MULTILINE))
    assert f"\nversion: {fields['version']}\n" in citation
    assert f"\nlicense: {fields['license']}\n" in citation
    assert f"name: {fields['author']}\n" in citation
    faq = (ROOT / "docs" / "faq.rst").read_text(encoding="utf-8")
    assert textwrap.indent(BIBTEX, "   ") in faq
