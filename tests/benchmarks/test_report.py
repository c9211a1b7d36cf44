"""Plans, tables and pictures."""

import re

import numpy as np
import pytest
from _report import beside, draw, duration, file_name, orders, plan, tables, write_csv
from benchmarks.cases import run, task
from plotting.cases import made_run

from sktvbo import WDBO, RandomSearch, evaluation


def test_the_plan_adds_up():
    text = plan([task(), task("shekel", horizon=16.0)], replications=3, n_jobs=2)
    rows = {line.split()[0]: line.split()[1:3] for line in text.splitlines()[2:4]}
    assert [runs for runs, _ in rows.values()] == ["6", "6"]
    assert int(rows["ackley"][1]) < int(rows["shekel"][1])
    total = 6 * task().seconds() + 6 * task("shekel", horizon=16.0).seconds()
    assert f"12 runs: about {duration(total / 2)} with 2 job(s)" in text
    assert "algorithms: W-DBO, random" in text
    assert [*map(duration, (3.2, 1620.0, 9000.0))] == ["4 s", "27 min", "2.5 h"]
    assert file_name("wlan:n_nodes=6,n_users=27") == "wlan-n_nodes-6-n_users-27"


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    names = ["ackley", "shekel", "powell", "eggholder"]
    tasks = [task(name, 3.0, r=RandomSearch(), **{"W-DBO": WDBO(refit_every=10)}) for name in names]
    return run(tasks, tmp_path_factory.mktemp("store"))


def test_tables_have_every_problem_once_and_fit(comparison):
    text = tables(comparison, 60)
    headers = [line.split()[2:] for line in text.splitlines() if line.startswith("average regret")]
    assert len(headers) > 1
    assert [name for header in headers for name in header] == comparison.problems
    assert max(map(len, text.splitlines())) <= 60
    assert tables(comparison, 500) == str(comparison)


def test_published_numbers_stand_beside_ours(comparison):
    published = {("W-DBO", "ackley"): ("2.90", "0.35"), ("r", "ackley"): ("5", "")}
    published |= {("W-DBO", "shekel"): ("1.5", ""), ("r", "shekel"): ("1.0", "")}
    published |= {("W-DBO", "elsewhere"): ("7", "")}
    text = beside(comparison, published, 60)
    assert max(len(line) for line in text.splitlines()[:-1]) <= 60
    rows = [re.split(r"\s{2,}", line) for line in text.splitlines()]
    ours = {(r["algorithm"], r["problem"]): r for r in comparison.summary()}
    header, w_dbo = rows[0], next(row for row in rows if row[0] == "W-DBO")
    assert header[:3] == ["average regret", "ackley", "published"]
    mean = float(w_dbo[1].split(" ± ")[0])
    assert mean == pytest.approx(ours["W-DBO", "ackley"]["average_regret"], rel=0.05)
    assert w_dbo[2] == "2.90 ± 0.35"
    # W-DBO is the best on one problem and the worst on the other.
    last = [row for row in rows if row[0] == "W-DBO"][-1]
    mine = next(r for r in comparison.normalized() if r["algorithm"] == "W-DBO")
    assert last[-2:] == [f"{mine['normalized_regret']:.2f}", "0.50"]
    assert "7" not in "".join(w_dbo[2:])


def result(regrets, seed, resets=None):
    n = len(regrets)
    run = made_run(np.arange(n), np.ones(n, dtype=int), n_initial=0, horizon=float(n))
    run.regrets, run.seed = np.array(regrets, dtype=float), seed
    run.history = {} if resets is None else {"n_resets": np.full(n, resets)}
    return run


def test_orders_by_hand(tmp_path):
    a = [result([1, 2, 3, 4], 0, 2), result([3, 4, 5, 6], 1, 3), result([0, 0, 0, 0], 2, 1)]
    b = [result([9, 9, 9, 9], 1), result([1, 1, 1, 1], 0)]
    table = evaluation.Comparison({("A", "p"): a, ("B", "p"): b, ("C", "p"): []})
    header, of_a, of_b = orders(table, "A")
    assert header[:5] == ["Condition", "Algorithm", "Average regret", "Standard error", "Median"]
    assert header[5:] == ["Quarter 1", "Quarter 2", "Quarter 3", "Quarter 4", "Resets", "A better"]
    # A's averages are 2.5, 4.5 and 0; B's 9 and 1, of the seeds 1 and 0.
    quarters = ["1.333", "2.000", "2.667", "3.333"]
    assert of_a == ["p", "A", "2.333", "1.302", "2.500", *quarters, "2.0", ""]
    assert of_b == ["p", "B", "5.000", "4.000", "5.000", *["5.000"] * 4, "", "50%"]
    write_csv(tmp_path / "orders.csv", [header, of_b])
    lines = (tmp_path / "orders.csv").read_text(encoding="utf-8").splitlines()
    assert lines[1] == ",".join(of_b)


def test_orders_compare_versions_among_themselves():
    runs = {name: [result([value] * 4, 0)] for name, value in zip("ABCD", (3.0, 4.0, 2.0, 1.0))}
    names = dict(zip("ABCD", ("A", "B", "A, as published", "B, as published")))
    table = orders(evaluation.Comparison({(names[a], "p"): runs[a] for a in runs}), "A")
    assert [row[-1] for row in table[1:]] == ["", "100%", "", "0%"]


def test_pictures_leave_out_what_has_failed(comparison):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    waiting = evaluation.run(RandomSearch(), task().problem(0), task().clock, 8.0, n_initial=1)
    waiting.n_initial = len(waiting.times)
    without = {("BOLT", "ackley"): [], ("ABO", "ackley"): [waiting]}
    broken = evaluation.Comparison(comparison.results | without)
    assert draw(figure, broken, task())
    regrets, sizes = figure.axes
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["r", "W-DBO"]
    assert regrets.get_legend() is sizes.get_legend() is None
    assert "size" in sizes.get_ylabel()
    nothing = evaluation.Comparison({("BOLT", "ackley"): []})
    assert not draw(Figure(), nothing, task())
