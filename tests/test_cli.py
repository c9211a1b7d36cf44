"""The command line: what it prints, what it writes, and how it fails."""

import re
import subprocess
import sys

import pytest

import sktvbo
from sktvbo import _cli, problems
from sktvbo._cli import main
from sktvbo.exceptions import SktvboError
from sktvbo.optimizers import __all__ as algorithms


@pytest.fixture
def small(monkeypatch):
    """A demo of a few queries a run."""
    monkeypatch.setattr(_cli, "_RESPONSE_TIME", {"full": 20.0, "quick": 40.0})
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")


@pytest.fixture
def without_data(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("SKTVBO_DATA", str(tmp_path / "empty"))


def test_demo_with_data(small, data_dir, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SKTVBO_DATA", str(data_dir))
    folder = tmp_path / "a" / "b"
    assert main(["demo", "--output", str(folder), "--replications", "2", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    header = next(line for line in out.splitlines() if line.startswith("average regret"))
    assert header.split() == ["average", "regret", "six-hump-camel-switched", "temperature"]
    for name in ("W-DBO", "GP-UCB", "random search"):
        regret, cost = [line for line in out.splitlines() if line.startswith(name)][-2:]
        assert regret.count("±") == 2
        assert " ms " in cost
    assert "2 run(s) each of 600 s" in out.replace("\n", " ")
    assert "20 s of simulated time" in out.replace("\n", " ")
    assert f"The picture is in {folder / 'demo.png'}" in out
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert len(out.rstrip().splitlines()[-2:]) == 2
    assert out.rstrip().splitlines()[-2].startswith("Next: sktvbo list")


def test_demo_without_data(small, without_data, tmp_path, capsys):
    assert main(["demo", "--quick", "--output", str(tmp_path), "--jobs", "1"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "intel_lab_temperature.npz was not found" in out
    assert "SKTVBO_DATA" in out
    assert "2 run(s)" in out
    assert "temperature " not in out.partition("average regret")[2]
    assert (tmp_path / "demo.png").exists()


def test_demo_does_not_depend_on_the_machine(small, without_data, capsys):
    def table(*options):
        assert main(["demo", "--quick", "--no-plot", *options]) == 0
        return capsys.readouterr().out.partition("mean of all runs")[0]

    assert table("--jobs", "1") == table("--jobs", "2")


def test_demo_without_a_picture_writes_nothing(small, without_data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--quick", "--no-plot", "--replications", "1", "--jobs", "1"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_demo_without_the_extras(small, without_data, tmp_path, monkeypatch, capsys):
    for module in ("matplotlib", "tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, module, None)
    folder = tmp_path / "none"
    options = ["--quick", "--replications", "1", "--jobs", "1", "--output", str(folder)]
    assert main(["demo", *options]) == 0
    out = capsys.readouterr().out
    assert 'pip install "sktvbo[plot]"' in out
    assert 'pip install "sktvbo[progress]"' in out
    assert "average regret" in out
    assert not folder.exists()


def test_list_names_everything(without_data, capsys):
    assert main(["list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    for name in algorithms:
        docstring = getattr(sktvbo.optimizers, name).__doc__
        assert docstring.splitlines()[0] in lines[name]
    for name in problems.available():
        assert name in lines
    assert "needs data that was not found" in lines["temperature"]
    assert "data" not in lines["ackley"]


def test_list_finds_the_data(data_dir, monkeypatch, capsys):
    monkeypatch.setenv("SKTVBO_DATA", str(data_dir))
    main(["list"])
    assert "46 points in 2-d, needs data (found)" in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(["--version"])
    assert exit_info.value.code == 0
    assert capsys.readouterr().out.strip() == f"sktvbo {sktvbo.__version__}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "arguments are required: COMMAND"),
        (["dmeo"], "invalid choice: 'dmeo'"),
        (["demo", "--replications", "0"], "a whole number >= 1, got '0'"),
        (["demo", "--replications", "many"], "a whole number >= 1, got 'many'"),
        (["demo", "--jobs", "0"], "other than 0 .*got '0'"),
        (["demo", "--fast"], "unrecognized arguments: --fast"),
    ],
)
def test_usage_errors(arguments, message, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    assert exit_info.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("usage:")
    assert re.search(message, err)


def test_an_output_that_is_a_file_is_a_usage_error(tmp_path, capsys):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as exit_info:
        main(["demo", "--output", str(tmp_path / "file")])
    assert exit_info.value.code == 2
    assert "the folder cannot be made" in capsys.readouterr().err


def test_the_packages_errors_are_one_line(monkeypatch, capsys):
    def fail(name, **options):
        raise SktvboError("The data file is damaged:\nreplace it.")

    monkeypatch.setattr(problems, "make", fail)
    assert main(["demo", "--no-plot"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "sktvbo: error: The data file is damaged: replace it.\n"
    assert captured.out == ""


def test_a_damaged_data_file_is_one_line_too(tmp_path, monkeypatch, capsys):
    (tmp_path / "intel_lab_temperature.npz").write_bytes(b"nothing")
    monkeypatch.setenv("SKTVBO_DATA", str(tmp_path))
    assert main(["demo", "--no-plot"]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "is damaged" in err


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "sktvbo", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"sktvbo {sktvbo.__version__}"
