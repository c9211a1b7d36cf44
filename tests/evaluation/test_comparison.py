"""Tables, statistics and text of comparisons."""

import csv
import json
import math
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import wilcoxon

from sktvbo.evaluation import Comparison, Failure, RunResult
from sktvbo.exceptions import MissingExtraError


def made_up(regrets, problem="p", seed=None):
    n = len(regrets)
    return RunResult(
        problem=problem,
        horizon=float(n),
        n_initial=1,
        times=np.arange(n, dtype=float),
        queries=np.zeros((n, 1)),
        observations=np.zeros(n),
        regrets=np.array(regrets, dtype=float),
        response_times=np.r_[99.0, np.full(n - 1, 0.1)],
        dataset_sizes=np.arange(1, n + 1),
        removed_counts=np.zeros(n, dtype=int),
        seed=seed,
    )


def constant(*averages, problem="p", seeds=None):
    """Return runs with these average regrets."""
    seeds = range(len(averages)) if seeds is None else seeds
    return [made_up([9, a, a], problem, seed=seed) for a, seed in zip(averages, seeds, strict=True)]


def of_means(table):
    """Return a comparison with these average regrets, by problem (rows) and algorithm (columns)."""
    return Comparison(
        {
            (f"a{j}", f"p{i}"): constant(mean, problem=f"p{i}")
            for i, row in enumerate(table)
            for j, mean in enumerate(row)
        }
    )


def failure(seed=7, message="no more", problem="p", time=3.5):
    return Failure("A", problem, seed, time, "ValueError", message, "Traceback ...")


@pytest.fixture
def table():
    return Comparison(
        {
            ("A", "p"): [made_up([9, 1, 3]), made_up([9, 3, 5])],
            ("A", "q"): [made_up([9, 500, 520], "q"), made_up([9, 510, 530], "q")],
            ("longer", "p"): [made_up([9, 5, 7]), made_up([9, 5, 7])],
            ("longer", "q"): [made_up([9, 10, 10], "q"), made_up([9, 11, 11], "q")],
        }
    )


@pytest.fixture
def incomplete():
    """A has failed once on p and always on q, where B has no query after the initial one."""
    return Comparison(
        {
            ("A", "p"): constant(1.0, 2.0),
            ("A", "q"): [],
            ("B", "p"): constant(5.0, 9.0, 7.0),
            ("B", "q"): [made_up([9], "q", seed=0)],
        },
        [failure(), failure(0, problem="q", time=None)],
    )


# --- tables ---------------------------------------------------------------------------------------


def test_summary(table):
    assert table.summary()[0] == {
        "algorithm": "A",
        "problem": "p",
        "average_regret": 3.0,
        "standard_error": pytest.approx(math.sqrt(2.0) / math.sqrt(2.0)),
        "median_regret": 3.0,
        "time_average_regret": 3.0,
        "response_time": pytest.approx(0.1),
        "dataset_size": 2.5,
        "n_replications": 2,
        "n_failures": 0,
    }


def test_medians_and_single_replications():
    (row,) = Comparison({("A", "p"): constant(1.0, 2.0, 90.0)}).summary()
    assert (row["median_regret"], row["average_regret"]) == (2.0, 31.0)
    single = Comparison({("A", "p"): constant(2.0)})
    assert math.isnan(single.summary()[0]["standard_error"])
    assert "nan" not in str(single)


def test_failures_are_counted_and_other_runs_summarized(incomplete):
    rows = {(row["algorithm"], row["problem"]): row for row in incomplete.summary()}
    assert [row["n_failures"] for row in rows.values()] == [1, 1, 0, 0]
    assert [row["n_replications"] for row in rows.values()] == [2, 0, 3, 1]
    assert rows["A", "p"]["average_regret"] == 1.5
    for key in (("A", "q"), ("B", "q")):
        assert math.isnan(rows[key]["average_regret"])
        assert math.isnan(rows[key]["median_regret"])


def test_rows_are_runs(incomplete):
    rows = incomplete.rows()
    assert len(rows) == 8
    assert {tuple(row) for row in rows} == {tuple(rows[0])}
    assert rows[1] == {
        "algorithm": "A",
        "problem": "p",
        "seed": 1,
        "average_regret": 2.0,
        "time_average_regret": 2.0,
        "n_queries": 2,
        "response_time": pytest.approx(0.1),
        "dataset_size": 2.5,
        "final_dataset_size": 3,
        "n_removed": 0,
        "failure": None,
    }
    assert rows[-2]["failure"] == "ValueError: no more"
    assert rows[-2]["seed"] == 7
    assert math.isnan(rows[-2]["average_regret"])
    assert rows[-3]["n_queries"] == 0


def test_frame(incomplete, monkeypatch):
    pytest.importorskip("pandas")
    frame = incomplete.to_frame()
    assert list(frame.columns) == list(incomplete.rows()[0])
    assert_allclose(frame["average_regret"], [1, 2, 5, 9, 7, *[math.nan] * 3])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"sktvbo\[frames\]"):
        incomplete.to_frame()


def test_csv(incomplete, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    path = tmp_path / "runs.csv"
    incomplete.to_csv(path)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["average_regret"] for row in rows] == ["1.0", "2.0", "5.0", "9.0", "7.0", *[""] * 3]
    assert list(rows[0]) == list(incomplete.rows()[0])
    assert rows[-1]["failure"] == "ValueError: no more"


def test_json_round_trip(incomplete, tmp_path):
    incomplete.results["A", "p"][0].history = {
        "bound": np.array([math.nan, math.inf, 2.5]),
        "n_resets": np.array([0, 1, 1]),
    }
    path = tmp_path / "comparison.json"
    incomplete.to_json(path)

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    json.loads(path.read_text(), parse_constant=refuse)
    again = Comparison.from_json(path)
    assert list(again.results) == list(incomplete.results)
    assert again.failures == incomplete.failures
    assert str(again) == str(incomplete)
    np.testing.assert_equal(again.rows(), incomplete.rows())
    history = again.results["A", "p"][0].history
    np.testing.assert_equal(history, incomplete.results["A", "p"][0].history)
    assert history["n_resets"].dtype.kind == "i"
    assert [entry.name for entry in tmp_path.iterdir()] == ["comparison.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "other 1"}'])
def test_a_file_of_another_kind_is_refused(text, tmp_path):
    path = tmp_path / "comparison.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"comparison.json must be a file of Comparison.to_json"):
        Comparison.from_json(path)


# --- text -----------------------------------------------------------------------------------------


def test_text_table(table):
    assert str(table).splitlines() == [
        "average regret               p              q",
        "---------------------------------------------",
        "A                   3.0 ± 1.0*   515.0 ± 5.0",
        "longer          6.000 ± 0.000   10.50 ± 0.50*",
        "* best of its column; mean ± standard error",
    ]


def test_overlapping_intervals_are_marked():
    # Means 2, 4 and 5, errors 1, 1 and 1: [1, 3] touches [3, 5], but not [4, 6].
    runs = {"A": constant(1.0, 3.0), "B": constant(3.0, 5.0), "C": constant(4.0, 6.0)}
    close = Comparison({(name, "p"): each for name, each in runs.items()})
    assert str(close).splitlines()[2:] == [
        "A               2.0 ± 1.0*",
        "B               4.0 ± 1.0+",
        "C               5.0 ± 1.0",
        "* best of its column; mean ± standard error",
        "+ its mean ± standard error overlaps the best's",
    ]


def test_text_table_shows_failures(incomplete):
    assert str(incomplete).splitlines() == [
        "average regret              p          q",
        "----------------------------------------",
        "A               1.50 ± 0.50*!   failed !",
        "B                 7.0 ± 1.2    unknown",
        "* best of its column; mean ± standard error",
        "! 2 run(s) failed:",
        "  A on p, seed 7, at t=3.5: ValueError: no more",
        "  A on q, seed 0: ValueError: no more",
    ]


def test_many_failures_are_cut_short():
    many = Comparison({("A", "p"): []}, [failure(seed, "long " * 99) for seed in range(9)])
    lines = str(many).splitlines()
    assert lines[-1] == "  and 4 more, see .failures"
    assert len(lines) == 11
    assert max(map(len, lines)) < 260


# --- statistics -----------------------------------------------------------------------------------


def test_normalized_by_hand():
    first, second, third = of_means([[1.0, 2.0, 5.0], [10.0, 0.0, 10.0]]).normalized()
    assert first["by_problem"] == {"p0": 0.0, "p1": 1.0}
    assert second["by_problem"] == {"p0": 0.25, "p1": 0.0}
    assert second["normalized_regret"] == 0.125
    assert second["standard_error"] == pytest.approx(0.125)
    assert third["normalized_regret"] == 1.0
    assert third["standard_error"] == 0.0


def test_normalized_regrets_that_are_equal_or_unknown(incomplete):
    assert [row["normalized_regret"] for row in of_means([[2.0, 2.0]]).normalized()] == [0.0, 0.0]
    a, b = incomplete.normalized()
    assert (a["normalized_regret"], b["normalized_regret"]) == (0.0, 1.0)
    assert (a["n_problems"], b["n_problems"]) == (1, 1)
    assert math.isnan(a["by_problem"]["q"])


def test_paired_by_hand():
    # A and B have different orders, and one seed is missing in each.
    differences, order = [0.5, 1.0, 0.25, -0.1, 2.0, 0.7], [5, 99, 0, 3, 1, 4, 2]
    b = np.arange(1.0, 8.0)
    a = dict(enumerate(b[:6] + differences)) | {99: 1000.0}
    runs = constant(*(a[seed] for seed in order), seeds=order)
    table = Comparison({("A", "p"): runs, ("B", "p"): constant(*b)})
    (row,) = table.paired("B")
    assert row == {
        "problem": "p",
        "algorithm": "A",
        "reference": "B",
        "difference": pytest.approx(np.mean(differences)),
        "standard_error": pytest.approx(np.std(differences, ddof=1) / math.sqrt(6)),
        "p_value": pytest.approx(wilcoxon(differences).pvalue),
        "p_holm": row["p_value"],
        "n_pairs": 6,
    }
    (mirrored,) = table.paired("A")
    assert mirrored["difference"] == pytest.approx(-row["difference"])
    assert mirrored["p_value"] == row["p_value"]
    with pytest.raises(ValueError, match=r"reference must be 'A' or 'B'. Got 'C'"):
        table.paired("C")


def test_holm_by_hand():
    # Against R: seven above, p = 2 / 128; one below with the smallest rank, p = 4 / 128; none.
    above, zero = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.0] * 7
    averages = {"same": zero, "some": [-1.0, *above[1:]], "R": zero, "all": above, "none": []}
    table = Comparison({(name, "p"): constant(*each) for name, each in averages.items()})
    with pytest.warns(UserWarning, match="'none' on 'p'"):
        rows = table.paired("R")
    assert [row["algorithm"] for row in rows] == ["same", "some", "all", "none"]
    assert [row["p_value"] for row in rows[:3]] == [1.0, 4 / 128, 2 / 128]
    # Times 1, 2 and 3; "none" was not tested and does not count.
    assert [row["p_holm"] for row in rows[:3]] == [1.0, 8 / 128, 6 / 128]
    assert math.isnan(rows[3]["p_holm"])
    assert rows[3]["n_pairs"] == 0


def test_runs_without_seeds_are_paired_by_position(table):
    rows = table.paired("longer")
    assert [row["n_pairs"] for row in rows] == [2, 2]
    assert rows[0]["difference"] == -3.0


def test_runs_that_cannot_be_paired():
    failed = [Failure("R", p, 0, None, "OSError", "no disk", "") for p in "ppq"]
    runs = {("R", "p"): [], ("A", "p"): constant(1.0), ("A", "q"): constant(2.0)}
    message = r"reference must be .* a finished run. Got 'R', with 3 failed run\(s\) instead. See"
    with pytest.raises(ValueError, match=message):
        Comparison(runs | {("R", "q"): []}, failed).paired("R")
    table = Comparison(runs | {("R", "q"): constant(3.0)}, failed[:2])
    with pytest.warns(
        UserWarning, match="'R' and the other have finished: 'A' on 'p'. The"
    ) as told:
        unknown, known = table.paired("R")
    assert told[0].filename == __file__
    assert math.isnan(unknown["difference"])
    assert known["difference"] == -1.0
