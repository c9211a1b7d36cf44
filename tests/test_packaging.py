"""The source distribution: complete, and enough to build the documentation from."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# What only a checkout needs.
NOT_SHIPPED = (".ci/", ".gitignore", ".git")


def run(*command, cwd, **environment):
    """Run a command, and show what it printed when it fails."""
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def tracked():
    """The files of the checkout."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not in a git checkout")
    names = run("git", "ls-files", cwd=ROOT).split("\n")
    return [name for name in names if name and (ROOT / name).exists()]


@pytest.fixture(scope="module")
def unpacked(tracked, tmp_path_factory):
    """An unpacked source distribution, made from a copy of the tracked files."""
    folder = tmp_path_factory.mktemp("sdist")
    for name in tracked:
        (folder / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / "copy" / name)
    run(sys.executable, "setup.py", "-q", "sdist", "-d", folder, cwd=folder / "copy")
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder / "unpacked", filter="data")
    (top,) = (folder / "unpacked").iterdir()
    return top


def test_the_source_distribution_is_complete(tracked, unpacked):
    wanted = {name for name in tracked if not name.startswith(NOT_SHIPPED)}
    missing = sorted(name for name in wanted if not (unpacked / name).is_file())
    assert not missing


@pytest.mark.slow
def test_the_documentation_builds_from_it(unpacked):
    pytest.importorskip("sphinx_gallery")
    run(sys.executable, "setup.py", "-q", "build_ext", "--inplace", cwd=unpacked)
    run(
        *(sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "docs", "docs/_build/html"),
        cwd=unpacked,
        PYTHONPATH=str(unpacked),
    )
    assert (unpacked / "docs" / "_build" / "html" / "api.html").is_file()
