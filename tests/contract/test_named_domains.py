"""Queries that are dicts of reals, logarithmic reals, integers and categories."""

import copy

import numpy as np
import pytest
from contract.cases import NAMED, STEPS, objective, points, points_of, same_state

from sktvbo import WDBO, RandomSearch


def test_queries_are_dicts_of_the_users_own_values(few):
    opt, queries = few.after(domain="named")
    batch = points_of(opt.suggest(STEPS, n=3))
    if few.expert:
        batch = [*batch, *opt.ask_expert(STEPS)]
    for x in [*queries, *batch, opt.recommend(STEPS)]:
        assert list(x) == list(NAMED)
        assert [type(x[name]) for name in ("rate", "alpha", "depth")] == [float, float, int]
        assert 0.0 <= x["rate"] <= 1.0
        assert 1e-3 <= x["alpha"] <= 1.0
        assert 1 <= x["depth"] <= 5
        assert x["loss"] in ("l1", "l2", None)


def test_a_point_is_told_as_a_dict_or_as_a_row(few):
    first, _ = few.after(8, "named")
    second, _ = few.after(8, "named")
    few.consult(first, 8, "named"), few.consult(second, 8, "named")
    x = first.ask(8)
    shuffled = {name: x[name] for name in reversed(NAMED)}
    assert second.ask(8) == x
    first.tell(shuffled, 0.4)
    second.tell(points([x], "named")[0], 0.4)
    same_state(first, second)


def test_the_callers_dicts_are_neither_changed_nor_kept(few):
    domain = copy.deepcopy(NAMED)
    opt = few.make("named").set_params(domain=domain)
    for t in range(7):
        x = opt.ask(t)
        given = dict(x)
        opt.tell(x, objective(x, t, "named"))
        assert x == given
        x["rate"], x["depth"] = 77.0, "deep"
        domain["loss"] = ("categorical", ["another"])
    assert opt.told_X_[:, 0].max() <= 1.0
    assert opt.ask(7)["loss"] in ("l1", "l2", None)


# --- names that are words of Python, of frames, or of this package --------------------------------

WORDS = ["t", "y", "x", "time", "context", "failed", "id", "query", "self", "keys", "None", "", "é"]
VALUES = {
    "words": ["None", "nan", "True", "all", "id", "t", "y", "keys", "append", "", " "],
    "themselves and words": [None, "None", True, "True"],
    "numbers and texts": [1, "1", 2.5, "2.5"],
}


def goes_on(domain, path):
    """Queries of a run whose journal, frame and copies know them again."""
    opt = WDBO(domain, n_initial_points=4, random_state=0, journal=path)
    queries = [opt.suggest(0.0, n=2)[0].x]
    for t in range(1, 9):
        queries.append(opt.ask(float(t)))
        opt.tell(queries[-1], np.sin(t), float(t))
    frame = opt.to_frame()
    opt.close()
    again = WDBO.resume(path)
    twin = WDBO.from_json(again.to_json())
    assert twin.ask(50.0) == again.ask(50.0)
    assert np.isfinite(again.predict(queries, 9.0)).all()
    for column, value in again.recommend(9.0).items():
        assert value in [query[column] for query in queries] or isinstance(value, float)
    again.close()
    return queries, frame


@pytest.mark.parametrize("values", VALUES)
def test_categories_may_be_any_words(values, tmp_path):
    """Each by itself, and of its own type."""
    values = VALUES[values]
    queries, frame = goes_on({"k": values, "z": ("real", 0.0, 1.0)}, tmp_path / "run.db")
    for value in values:
        opt = RandomSearch({"k": values})
        opt.tell({"k": value}, 1.0, 0.0)
        (found,) = opt.to_frame()["k"]
        assert found == value or (found is None and value is None)
        assert type(RandomSearch({"k": [value]}, random_state=0).ask(0.0)["k"]) is type(value)
    told = frame["k"][: len(queries) - 1]
    assert [(type(v), v) for v in told] == [(type(q["k"]), q["k"]) for q in queries[1:]]


def test_parameters_may_be_called_like_anything(tmp_path):
    domain = dict.fromkeys(WORDS, ("real", 0.0, 1.0))
    queries, frame = goes_on(domain, tmp_path / "run.db")
    own = ["time_", "y_", "predicted_mean", "predicted_std", "residual", "outlier_weight"]
    assert list(frame.columns) == [*WORDS, *own, "removed_at", "failed_", "pending", "query_"]
    for name in WORDS:
        assert frame[name][:8].tolist() == [query[name] for query in queries[1:]]
    assert frame["time_"][:8].tolist() == list(range(1, 9))


@pytest.mark.parametrize("domain", [{"n": ("integer", 3, 3)}, {"c": ["only"], "n": [7]}])
def test_one_single_point_is_a_domain(domain, tmp_path):
    queries, _ = goes_on(domain, tmp_path / "run.db")
    assert queries == [queries[0]] * 9
