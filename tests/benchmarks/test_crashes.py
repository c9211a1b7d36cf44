"""``bench.py --output`` killed at system calls and at random moments, and on a full disk."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import bench
import pytest
from bench import main

BENCH = ["six-hump-camel", "--algorithms", "random", "--horizon", "8"]
BENCH += ["--replications", "2", "--n-jobs", "1", "--no-plot", "--output"]

# Runs the bench in children of one process, of which each is killed at its k-th system call on a
# file of the folder: before it opens, flushes, renames or removes one.
DRIVER = """
    import os, signal, sys
    from bench import main

    first, last, step = map(int, sys.argv[1:4])
    arguments = sys.argv[4:]
    fsync = os.fsync

    def kill_at(k, folder):
        seen = [0]

        def count(path):
            seen[0] += folder in str(path)
            if seen[0] == k:
                os.kill(os.getpid(), signal.SIGKILL)

        def synced(descriptor):
            count(os.readlink(f"/proc/self/fd/{descriptor}"))
            fsync(descriptor)

        os.fsync = synced
        calls = {"open", "os.rename", "os.remove", "os.mkdir"}
        sys.addaudithook(lambda event, args: count(args[0]) if event in calls else None)

    for k in range(first, last, step):
        folder = f"killed-{k}"
        child = os.fork()
        if child == 0:
            kill_at(k, folder)
            os._exit(main([*arguments, folder]))
        status = os.waitpid(child, 0)[1]
        print("END", k, os.WTERMSIG(status) if os.WIFSIGNALED(status) else "done", flush=True)
        if not os.WIFSIGNALED(status):
            break
"""


def contents(folder):
    """What a bench has written, but for what was measured."""
    table = (folder / "table.txt").read_text().partition("mean of all runs")[0]
    settings = json.loads((folder / "settings.json").read_text())
    csv = (folder / "runs.csv").read_text().splitlines()
    return table, settings, [line.split(",")[:3] for line in csv]


def expected(tmp_path, capsys):
    assert main([*BENCH, str(tmp_path / "whole")]) == 0
    capsys.readouterr()
    return contents(tmp_path / "whole")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux")
@pytest.mark.parametrize(
    ("first", "step"), [(1, 60), pytest.param(1, 1, marks=pytest.mark.slow)], ids=["some", "all"]
)
@pytest.mark.slow
def test_a_bench_killed_at_a_system_call_goes_on(tmp_path, capsys, first, step):
    whole = expected(tmp_path, capsys)
    driver = [sys.executable, "-c", textwrap.dedent(DRIVER), str(first), "1000", str(step), *BENCH]
    path = os.pathsep.join([os.path.dirname(bench.__file__), os.environ.get("PYTHONPATH", "")])
    options = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": path}}
    out = subprocess.run(driver, check=True, capture_output=True, text=True, **options).stdout
    ends = [line.split()[1:] for line in out.splitlines() if line.startswith("END")]
    killed = [int(k) for k, end in ends if end == "9"]
    assert ends[-1][1] == "done"
    assert len(killed) > 20 / step
    for k in killed:
        folder = tmp_path / f"killed-{k}"
        for path in folder.rglob("*.json"):
            json.loads(path.read_text())  # complete, or absent
        assert main([*BENCH, str(folder)]) == 0
        assert contents(folder) == whole


@pytest.fixture
def room():
    """Let no file grow beyond some bytes: writing more is an error, as on a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_bench_on_a_full_disk_says_so_and_goes_on(tmp_path, capsys, room):
    whole = expected(tmp_path, capsys)
    folder = tmp_path / "full"
    largest = max(path.stat().st_size for path in (tmp_path / "whole").rglob("output.pkl"))
    # First there is no room for a run, then for each of them, but not for all in one file.
    for size, n_runs in ((largest // 2, 0), (largest + 100, 2)):
        room(size)
        assert main([*BENCH, str(folder)]) == 1
        assert "are kept: make room" in " ".join(capsys.readouterr().err.split())
        assert len(list(folder.rglob("output.pkl"))) == n_runs
    assert not (folder / "runs.json").exists()
    room(-1)
    assert main([*BENCH, str(folder)]) == 0
    assert contents(folder) == whole
