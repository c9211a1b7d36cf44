"""The command of the papers' experiments: output, files and errors."""

import json
import re

import numpy as np
import pytest
from _specs import ALGORITHMS
from bench import main

from sktvbo import RandomSearch
from sktvbo.evaluation import Comparison

# Options of a bench with about twenty queries per run.
SMALL = ["--horizon", "3", "--replications", "2", "--n-jobs", "1"]


@pytest.fixture
def matplotlib_without_display():
    pytest.importorskip("matplotlib").use("Agg")


@pytest.fixture
def without_data(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("SKTVBO_DATA", str(tmp_path / "empty"))


class FailsLate(RandomSearch):
    """Random search that fails in the middle of a run."""

    def tell(self, x, y, t=None):
        if t > 2.0:
            raise ValueError("out of order")
        super().tell(x, y, t)


def bench(*arguments):
    return main([*map(str, arguments)])


def test_list_names_everything(without_data, capsys):
    assert bench("--list") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Algorithms: ABO, BOLT," in out
    assert "stocks, styblinski-tang, temperature," in out
    assert "bolt-table3 BOLT (Bardou & Thiran) table 3 (7, 10)" in out


def test_bench_writes_its_output(matplotlib_without_display, tmp_path, capsys):
    folder = tmp_path / "a" / "b"
    problem = "griewank:noise=0.01,horizon=30"
    algorithms = "wdbo,random:max_step=0.5,random"
    assert bench("ackley", problem, *SMALL, "--algorithms", algorithms, "--output", folder) == 0
    out = capsys.readouterr().out
    assert f"[2/2] {problem}: 6 runs" in out
    header = next(line for line in out.splitlines() if line.startswith("average regret"))
    assert header.split() == ["average", "regret", "ackley", problem]
    for name in ("W-DBO", "random:max_step=0.5", "random"):
        row = next(line for line in out.splitlines() if line.startswith(f"{name} "))
        assert row.count("±") == 2
    assert (folder / "table.txt").read_text(encoding="utf-8").strip() in out
    pictures = {path.name for path in folder.glob("*.png")}
    assert pictures == {"ackley.png", "griewank-noise-0.01-horizon-30.png", "comparison.png"}
    runs = Comparison.from_json(folder / "runs.json")
    assert runs.problems == ["ackley", problem]
    assert len((folder / "runs.csv").read_text(encoding="utf-8").splitlines()) == 1 + 12
    assert len(list((folder / "store").rglob("output.pkl"))) == 12
    settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    assert settings["replications"] == 2
    assert settings["tasks"][1]["options"]["options"] == {"noise": 0.01, "horizon": 30}
    assert settings["tasks"][0]["algorithms"]["random:max_step=0.5"]["max_step"] == 0.5
    assert settings["tasks"][0]["clock"]["response_time"]["name"] == "papers"


def test_the_seed_of_bench(tmp_path, capsys):
    command = ["ackley", *SMALL, "--algorithms", "random", "--no-plot", "--output", tmp_path]
    tables = []
    for seed in ("0", "0", "1"):
        assert bench(*command, "--seed", seed) == 0
        tables.append(capsys.readouterr().out.partition("mean of all runs")[0])
    first, same, other = (table[table.index("average regret") :] for table in tables)
    assert first == same != other
    assert not list(tmp_path.glob("*.png"))


def test_bench_reports_failures_at_the_end(
    matplotlib_without_display, tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(ALGORITHMS, "BOLT", FailsLate)
    options = [*SMALL, "--algorithms", "random,BOLT", "--output", tmp_path]
    assert bench("ackley", *options) == 1
    captured = capsys.readouterr()
    assert captured.out.count("BOLT on ackley, seed") == 2
    assert "out of order" in captured.out
    assert "2 of 4 runs failed" in captured.err
    assert len(list((tmp_path / "store").rglob("output.pkl"))) == 2
    assert "ValueError: out of order" in (tmp_path / "runs.csv").read_text(encoding="utf-8")
    assert (tmp_path / "ackley.png").exists()
    monkeypatch.setitem(ALGORITHMS, "BOLT", RandomSearch)
    assert bench("ackley", *options, "--no-plot") == 0
    assert len(list((tmp_path / "store").rglob("output.pkl"))) == 4


def test_bench_shows_published_numbers_and_algorithms_as_published_beside_its_own(tmp_path, capsys):
    options = ["--algorithms", "BOLT,gp-ucb", "--no-plot", "--output", tmp_path]
    assert bench("--preset", "bolt-table3", "ackley", "--as-published", *SMALL, *options) == 0
    out = capsys.readouterr().out
    assert "1 % of the signal variance" in " ".join(out.split())
    assert "These runs end at 3" in out
    table = out[out.rindex("average regret") :].splitlines()
    headers = re.split(r"\s{2,}", table[0])[1:]
    versions = ["as published", "published"]
    assert headers == ["ackley", *versions, "normalized", *versions]
    found = Comparison.from_json(tmp_path / "runs.json")
    for name, printed in (("BOLT", ["2.92 ± 0.35", "0.00"]), ("GP-UCB", ["4.27 ± 0.50", "1.00"])):
        runs = [found.results[version, "ackley"] for version in (name, f"{name}, as published")]
        assert [[run.seed for run in own] for own in runs] == [[run.seed for run in runs[0]]] * 2
        means = [np.mean([run.average_regret for run in own]) for own in runs]
        cells = next(re.split(r"\s{2,}", line) for line in table if line.startswith(name))
        assert [cells[3], cells[-1]] == printed
        assert [float(cell.split()[0]) for cell in cells[1:3]] == pytest.approx(means, rel=0.05)
        assert means[0] != means[1]


def test_bench_writes_the_orders_of_a_preset(tmp_path, capsys):
    options = ["--horizon", "6", "--replications", "2", "--n-jobs", "1", "--no-plot"]
    options += ["--algorithms", "delta=0.1,delta=0.5", "--output", tmp_path]
    assert bench("--preset", "et-table2", "eps=0.01", *options) == 0
    assert "orders.csv has medians" in capsys.readouterr().out
    header, first, second = (tmp_path / "orders.csv").read_text(encoding="utf-8").splitlines()
    assert header.endswith("Resets,delta=0.1 better")
    assert first.startswith("eps=0.01,delta=0.1,")
    assert second.startswith("eps=0.01,delta=0.5,")
    runs = Comparison.from_json(tmp_path / "runs.json")
    assert [run.seed for run in runs.results["delta=0.5", "eps=0.01"]] == [0, 1]


def test_presets_leave_out_problems_without_data(without_data, tmp_path, capsys):
    assert bench("--preset", "et-fig3", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "Leaving out 'temperature-days-7-8'" in out
    assert "100 runs" in out
    assert bench("--preset", "et-fig3", "temperature-days-7-8", "--dry-run") == 1
    assert bench("--preset", "sparq-fig2", "--dry-run") == 1
    assert capsys.readouterr().err.count("was not found") == 2


def test_a_dry_run_writes_no_files(without_data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert bench("--preset", "wdbo-table2", "ackley", "powell", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "120 runs: about" in out
    assert "W-DBO (Bardou et al. 2024) table 2" in out
    assert bench("ackley", "--replications", "3", "--dry-run") == 0
    assert "12 runs" in capsys.readouterr().out
    command = ["--preset", "bolt-table3", "powell", "--dry-run", "--response-time", "sktvbo"]
    assert bench(*command) == 0
    assert "SimulatedClock(response_time('sktvbo'), call_duration=1.0)" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_bench_can_be_interrupted(tmp_path, monkeypatch, capsys):
    class Interrupted(RandomSearch):
        def tell(self, x, y, t=None):
            raise KeyboardInterrupt

    monkeypatch.setitem(ALGORITHMS, "random", Interrupted)
    options = [*SMALL, "--algorithms", "random", "--no-plot", "--output", tmp_path]
    assert bench("ackley", *options) == 130
    assert "the same command goes on" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "name at least one PROBLEM, or a --preset"),
        ("akley", r"Got 'akley' instead\. Did you mean 'ackley'\?"),
        ("ackley:dims=3", "problem 'ackley' must be among horizon, noise"),
        ("ackley:random_state=1", "without random_state"),
        ("ackley --algorithms W-DBA", r"Got 'W-DBA' instead\. Did you mean 'W-DBO'\?"),
        ("ackley --algorithms W-DBO:beta=3", r"'W-DBO' must be among alpha, .*\. Got 'beta'"),
        ("ackley --algorithms SW-GP-UCB:window=0", "'window' parameter of SWGPUCB must .* Got 0"),
        ("ackley --horizon 900", r"horizon must be .* range \(0, 600"),
        ("ackley --seed -1", r"--seed must be .* range \[0, 4294967295\]. Got -1"),
        ("ackley --replications 0", r"--replications must be an int in .* Got 0"),
        ("ackley --n-jobs 0", "n_jobs == 0"),
        ("ackley --response-time theirs", "one of papers, sktvbo, .*'theirs'"),
        ("--preset et-fig3 cart-pole --horizon 9", r"n_initial must be at most .*\. Got 15"),
        ("ackley --noise 0.1", r"--noise: needs --preset; .* PROBLEM:noise=F"),
        ("ackley --as-published", "--as-published: needs --preset"),
        ("--preset tvgp-fig2 --noise 0.1", r"options of the problem 'markov-gp' .*\. Got 'noise'"),
        ("--preset wdbo-table3", "invalid choice: 'wdbo-table3'"),
        ("--preset wdbo-table2 --algorithms BOLT", "must be one of GP-UCB, .*'BOLT'"),
        ("--preset et-fig3 cart-pole --response-time papers", "the preset counts steps"),
    ],
)
def test_usage_errors_of_bench(command, message, tmp_path, capsys):
    with pytest.raises(SystemExit) as exit_info:
        bench(*command.split(), "--output", tmp_path / "out")
    assert exit_info.value.code == 2
    assert re.search(message, " ".join(capsys.readouterr().err.split()))
    assert not (tmp_path / "out").exists()
