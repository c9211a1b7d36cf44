"""The loop of Xopt, which brings torch, in an environment of its own."""

import json
import os
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from numpy.testing import assert_allclose

import sktvbo

pytestmark = pytest.mark.slow

LOOPS = Path(__file__).with_name("xopt_loops.py")


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Python with Xopt, of SKTVBO_XOPT or a new environment, and a folder with this package."""
    folder = tmp_path_factory.mktemp("xopt")
    found = os.environ.get("SKTVBO_XOPT")
    if not found:
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        found = folder / "env" / "bin" / "python"
        install = [found, "-m", "pip", "install", "--quiet", "xopt>=3.2"]
        done = subprocess.run(install, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"Xopt cannot be installed: {done.stderr.splitlines()[-1:]}")
    packages = folder / "packages"
    packages.mkdir()
    (packages / "sktvbo").symlink_to(Path(sktvbo.__file__).parent)
    info = packages / f"sktvbo-{sktvbo.__version__}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(str(distribution("sktvbo").metadata), encoding="utf-8")
    return found, packages


@pytest.fixture
def loop(python, tmp_path):
    """Function that runs one of `xopt_loops`: its results, or the exit status of "kill"."""
    found, packages = python
    environment = os.environ | {"PYTHONPATH": str(packages), "OMP_NUM_THREADS": "1"}

    def run(name):
        done = subprocess.run(
            [found, "-W", "error:::sktvbo", LOOPS, name, tmp_path],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            timeout=300,
        )
        if name == "kill":
            return done.returncode
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_it_imports_neither_torch_nor_xopt(loop):
    assert loop("alone") == []


def test_constraints_contexts_and_failures(loop):
    found = loop("limits")
    assert (found["told"], found["failed"], found["pending"]) == (41, 1, 0)
    assert found["violations"] <= 2
    assert found["k"] == [2]
    assert found["contexts"] == found["measured"]


def test_a_dump_that_is_loaded(loop):
    found = loop("dump")
    for name in ("yaml", "journal"):
        assert found[name]["counts"] == [15, 14, 1]
        assert_allclose(found[name]["x"], found["expected"], atol=1e-6)


def test_a_run_that_was_killed(loop):
    assert loop("kill") == -9
    found = loop("restart")
    assert found["told"] == 11
    assert_allclose(found["x"], found["expected"][11:], atol=1e-6)
