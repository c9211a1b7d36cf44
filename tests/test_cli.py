"""Command line: output, files and errors."""

import os
import re
import subprocess
import sys

import pytest

import sktvbo
from sktvbo import RandomSearch, journal, problems
from sktvbo.__main__ import main
from sktvbo.exceptions import SktvboError
from sktvbo.problems import _registry


@pytest.fixture
def own_problems(monkeypatch):
    """Only the package's problems, whatever other tests have registered."""
    known = _registry._FACTORIES
    own = {name: known[name] for name in known if not known[name].__module__.startswith("problems")}
    monkeypatch.setattr(_registry, "_FACTORIES", own)


def test_list_names_everything(own_problems, capsys):
    assert main(["list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    for name in set(sktvbo.optimizers.__all__) - {"BayesianOptimizer", "Prior", "Query"}:
        algorithm = getattr(sktvbo.optimizers, name)
        assert lines[algorithm.label].split()[1] == name
        assert algorithm.__doc__.splitlines()[0] in lines[algorithm.label]
    assert "BayesianOptimizer" not in lines
    for name in problems.available():
        assert name in lines
    assert lines["ackley"].endswith(" 3-d box")
    assert lines["gp-slow"].endswith(" 101 points in 1-d")


def test_version(capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(["--version"])
    assert exit_info.value.code == 0
    assert capsys.readouterr().out.strip() == f"sktvbo {sktvbo.__version__}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bnech"], "invalid choice: 'bnech'"),
        (["list", "--fast"], "unrecognized arguments: --fast"),
        (["journal", "show", "run.db", "-n", "0"], "argument -n: must be at least 1. Got 0"),
    ],
)
def test_usage_errors(arguments, message, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    assert exit_info.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("usage:")
    assert re.search(message, err)


@pytest.mark.parametrize(
    ("arguments", "known"), [([], ["journal", "list"]), (["journal"], ["show", "export"])]
)
def test_without_a_command_there_is_help(arguments, known, capsys):
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("usage:")
    for name in known:
        assert re.search(rf"^ +{name} +[a-z]", err, flags=re.M)


def test_errors_of_the_package_are_one_line(monkeypatch, capsys):
    def fail(path):
        raise SktvboError("The data file is damaged:\nreplace it.")

    monkeypatch.setattr(journal, "check", fail)
    assert main(["journal", "check", "run.db"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "sktvbo: error: The data file is damaged: replace it.\n"
    assert captured.out == ""


def test_a_closed_output_is_no_error(tmp_path):
    path = str(tmp_path / "run.db")
    RandomSearch([(0.0, 1.0)], journal=path).ask(0.0)
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "sktvbo", "journal", "export", path]
    done = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, text=True)
    os.close(writes)
    assert (done.returncode, done.stderr) == (0, "")
