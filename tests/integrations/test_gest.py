"""Generator of the gest-api standard: problems, results, times, contexts, restored runs, loops."""

import copy
import importlib
import json
import math
import pickle
import sys
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sktvbo.optimizers
from sktvbo import ABO, WDBO, Journal, RandomSearch
from sktvbo.domain import Context
from sktvbo.exceptions import JournalError, MissingExtraError

pytest.importorskip("gest_api")

from gest_api.generator import Generator
from gest_api.vocs import VOCS, ContextualVariable, ContinuousVariable

from sktvbo.integrations.gest import TimeVaryingGenerator


def problem(**fields):
    """A VOCS with one variable and one objective, unless fields are given."""
    return VOCS(**{"variables": {"x": [-1.0, 1.0]}, "objectives": {"f": "MINIMIZE"}} | fields)


def new(optimizer=None, vocs=None, **options):
    """A generator that counts results in place of seconds."""
    optimizer = WDBO(clock="step", random_state=0) if optimizer is None else optimizer
    return TimeVaryingGenerator(problem() if vocs is None else vocs, optimizer, **options)


def bowl(point, center=0.3):
    return (point["x"] - center) ** 2


def run(generator, n, size=1):
    """Make n steps of some points each; return all points."""
    points = []
    for _ in range(n):
        batch = generator.suggest(size)
        for point in batch:
            point["f"] = bowl(point)
        generator.ingest(batch)
        points += batch
    return points


def snapshot(generator):
    return generator.optimizer.to_json()


# --- the standard ---------------------------------------------------------------------------------


def test_it_is_a_generator_of_the_standard():
    generator = new(vocs=problem(constants={"charge": 0.25}, observables=["note"]))
    assert isinstance(generator, Generator)
    assert generator.returns_id
    points = generator.suggest(3)
    assert [set(point) for point in points] == [{"x", "charge", "_id"}] * 3
    assert [point["charge"] for point in points] == [0.25] * 3
    assert [point["_id"] for point in generator.suggest()] == [3]
    assert type(generator.suggest()[0]["_id"]) is int
    generator.finalize()
    with pytest.raises(ValueError, match="The objective of the VOCS"):
        generator._validate_vocs(problem(objectives={}))


@pytest.mark.parametrize("n", [0, -1, 1.5, "2"])
def test_an_invalid_number_of_points(n):
    with pytest.raises(ValueError, match="must be an int"):
        new().suggest(n)


@pytest.mark.parametrize("size", [1, 3])
def test_its_points_are_those_of_the_optimizer(size):
    points = run(new(), 7, size)
    opt = WDBO({"x": ("real", -1.0, 1.0)}, maximize=False, clock="step", random_state=0)
    asked = []
    for _ in range(7):
        queries = opt.suggest(n=size)
        asked += [query.x["x"] for query in queries]
        y = [bowl(query.x) for query in queries]
        if size == 1:
            opt.tell(queries[0], y[0])
        else:
            opt.tell_many(queries, y)
    assert [point["x"] for point in points] == asked


def test_a_moving_maximum():
    generator = new(vocs=problem(objectives={"f": "MAXIMIZE"}))
    for i in range(30):
        (point,) = generator.suggest(1)
        generator.ingest([point | {"f": -bowl(point, 0.02 * i)}])
    assert abs(generator.optimizer.recommend()["x"] - 0.6) < 0.2


@pytest.mark.parametrize("name", sorted(set(sktvbo.optimizers.__all__) - {"Prior", "Query"}))
def test_any_optimizer(name):
    options = {} if name in ("BayesianOptimizer", "RandomSearch") else {"n_initial_points": 2}
    generator = new(getattr(sktvbo.optimizers, name)(clock="step", random_state=0, **options))
    run(generator, 4)
    assert generator.optimizer.n_told_ == 4
    assert generator.get_best_points()[0][1].keys() == {"x"}


def test_results_of_an_optimizer_that_chooses_later_times_have_the_present_one():
    generator = new(ABO(clock="step", n_initial_points=3, random_state=0))
    run(generator, 16)
    assert generator.optimizer.next_time_ > 20.0
    assert generator.optimizer.told_X_[:, -1].tolist() == list(range(16))


def test_without_gest_api_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "gest_api", None)
    monkeypatch.delitem(sys.modules, "sktvbo.integrations.gest")
    with pytest.raises(MissingExtraError, match=r"sktvbo\[gest\]"):
        importlib.import_module("sktvbo.integrations.gest")


# --- problems -------------------------------------------------------------------------------------


def test_variables_become_named_parameters():
    vocs = problem(
        variables={
            "x": [-1.0, 1.0],
            "turns": ContinuousVariable(domain=[0, 8], dtype="int"),
            "gain": {9, 1, 2.5},
            "optics": {"wide", "narrow"},
            "air": ContextualVariable(domain=[10.0, 30.0]),
        }
    )
    assert new(vocs=vocs).optimizer.domain == {
        "x": ("real", -1.0, 1.0),
        "turns": ("integer", 0.0, 8.0),
        "gain": ("ordinal", [1, 2.5, 9]),
        "optics": ("categorical", ["narrow", "wide"]),
        "air": Context(10.0, 30.0),
    }


def test_constraints_become_limits():
    constraints = {"a": ["LESS_THAN", 1.0], "b": ["GREATER_THAN", 2], "c": ["BOUNDS", 3, 4]}
    limits = {"a": (None, 1.0), "b": (2.0, None), "c": (3.0, 4.0), "objective": (None, 9.0)}
    for name in ("f", "objective"):
        fields = {"objectives": {name: "MINIMIZE"}}
        fields["constraints"] = constraints | {name: ["LESS_THAN", 9]}
        assert new(vocs=problem(**fields)).optimizer.outcome_constraints == limits


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"objectives": {}}, "The objective of the VOCS must be one.*none"),
        ({"objectives": {"f": "EXPLORE"}}, "must be one, to minimize.*ExploreObjective"),
        ({"objectives": {"f": "MINIMIZE", "g": "MINIMIZE"}}, "MinimizeObjective, Min"),
        ({"variables": {"x": [0, 1], "air": "CONTEXTUAL"}}, "'air' must be finite.*usual range"),
        ({"variables": {"x": [0.0, math.inf]}}, "'x' must be finite"),
        (
            {"variables": {"x": ContinuousVariable(domain=[0, 1], dtype=(float, 3))}},
            "'x' must be of one number",
        ),
        ({"constraints": {"removed_at": ["LESS_THAN", 1]}}, "outcome_constraints"),
        ({"constraints": {"objective": ["LESS_THAN", 1]}}, "other than that of.*Got 'objective'"),
    ],
)
def test_problems_that_are_refused(fields, match):
    with pytest.raises(ValueError, match=match):
        new(vocs=problem(**fields)).suggest()


@pytest.mark.parametrize(
    ("optimizer", "match"),
    [
        (WDBO({"x": ("real", 0.0, 1.0)}, maximize=False), "'domain'.*left out.*-1.0"),
        (WDBO({"x": ("real", -1.0, 1.0)}), "'maximize'.*left out.*False.*Got True"),
        (WDBO(outcome_constraints={"c": (None, 1.0)}), "'outcome_constraints'.*None.*Got {'c'"),
    ],
)
def test_optimizers_of_another_problem(optimizer, match):
    with pytest.raises(ValueError, match=match):
        new(optimizer)
    with pytest.raises(ValueError, match="outcome_constraints"):
        new(RandomSearch(), problem(constraints={"c": ["LESS_THAN", 1.0]}))


def test_the_given_optimizer_is_left_as_it_was():
    optimizer = WDBO(random_state=0)
    run(new(optimizer), 2)
    assert optimizer.domain is None
    assert optimizer.maximize


# --- results --------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", [7, -2, 0.5, "0", "zero"])
def test_an_unknown_id(id):
    generator = new()
    run(generator, 2)
    before = snapshot(generator)
    with pytest.raises(ValueError, match=r"'_id' of a result must be one of suggest\(\)"):
        generator.ingest([{"x": 0.1, "f": 1.0, "_id": id}])
    assert snapshot(generator) == before


@pytest.mark.parametrize("id", [None, math.nan, -1, np.float64("nan")])
def test_results_that_were_not_suggested(id):
    generator = new()
    generator.ingest([{"x": 0.5, "f": 1.0, "_id": id}, {"x": -0.5, "f": 2.0, "_id": id}])
    assert generator.optimizer.told_X_[:, 0].tolist() == [0.5, -0.5]
    generator.ingest([{"x": 0.25, "f": 0.0}])
    assert generator.optimizer.n_told_ == 3


def test_a_row_of_a_frame_with_other_columns():
    pd = pytest.importorskip("pandas")
    generator = new(vocs=problem(variables={"x": [-1.0, 1.0], "k": {1, 2, 3}}))
    first, second = generator.suggest(2)
    frame = pd.DataFrame([first, second, {"x": 0.5, "k": 2.0}])
    frame["f"], frame["xopt_error"], frame["xopt_runtime"] = 1.0, False, 0.1
    rows = frame.to_dict("records")
    assert type(rows[0]["_id"]) is type(rows[0]["k"]) is float
    generator.ingest(rows)
    assert generator.optimizer.pending_ == []
    told = generator.optimizer.to_frame()
    assert sorted(told["query"].dropna()) == [0, 1]
    assert told["k"].tolist()[-1] in (1, 2, 3)


def test_a_result_needs_no_variables_with_its_id():
    generator = new()
    first, second = generator.suggest(2)
    generator.ingest([{"_id": second["_id"], "f": 2.0}, {"_id": first["_id"], "f": 1.0}])
    told = dict(zip(generator.optimizer.told_X_[:, 0], generator.optimizer.told_y_))
    assert told == {first["x"]: 1.0, second["x"]: 2.0}


def test_a_result_at_another_place_answers_its_id_there():
    generator = new()
    first, second = generator.suggest(2)
    generator.ingest([{"x": first["x"] + 1e-3, "_id": first["_id"], "f": 1.0}])
    assert generator.optimizer.told_X_[0, 0] == first["x"] + 1e-3
    assert [query.id for query in generator.optimizer.pending_] == [second["_id"]]
    with pytest.raises(ValueError, match=r"must be in \[.*with_parameters\(domain=...\)"):
        generator.ingest([{"x": 9.0, "_id": second["_id"], "f": 1.0}])
    generator.ingest([{"x": np.float32(second["x"]), "_id": second["_id"], "f": 1.0}])
    assert generator.optimizer.told_X_[1, 0] == second["x"]
    points = generator.suggest(2)
    moved = [{**point, "x": 0.5 * point["x"], "f": 1.0} for point in points]
    generator.ingest([moved[0], points[1] | {"f": 2.0}])
    assert generator.optimizer.told_X_[2:, 0].tolist() == [moved[0]["x"], points[1]["x"]]
    assert generator.optimizer.pending_ == []
    generator = new(WDBO(clock="step", start_points=[{"x": 0.0}], random_state=0))
    generator.ingest([generator.suggest()[0] | {"x": 1e-8, "f": 1.0}])
    assert generator.optimizer.told_X_[0, 0] == 0.0


def test_discrete_values_of_an_id_may_be_others_of_the_list():
    generator = new(vocs=problem(variables={"k": {1, 2, 3}, "optics": {"wide", "narrow"}}))
    (point,) = generator.suggest()
    for name, value in (("optics", "tele"), ("k", None), ("k", 7)):
        with pytest.raises(ValueError, match=f"{name!r}.* must be one of"):
            generator.ingest([point | {"f": 1.0, name: value}])
    generator.ingest([point | {"f": 1.0, "k": float(point["k"] % 3 + 1)}])
    assert generator.optimizer.pending_ == []
    assert generator.optimizer.told_X_[0, 0] == point["k"] % 3


def test_numbers_of_a_file_may_have_fewer_digits():
    listed = set(np.linspace(0.0, 1.0, 7).tolist())
    generator = new(vocs=problem(variables={"k": listed, "x": [0.0, 1.0]}))
    points = generator.suggest(4)
    generator.ingest([point | {"f": 1.0, "k": round(point["k"], 4)} for point in points])
    assert set(generator.optimizer.told_X_[:, 0]) <= set(range(7))
    generator.ingest([{"k": 0.3333, "x": 0.5, "f": 1.0}])
    assert generator.optimizer.told_X_[-1, 0] == 2.0


def test_a_problem_without_variables_is_refused_at_the_beginning():
    for variables in ({}, {"c": ContextualVariable(domain=[0.0, 1.0])}):
        with pytest.raises(ValueError, match="The variables of the VOCS must be at least one"):
            new(vocs=problem(variables=variables))


def test_the_same_result_twice_is_one_and_a_different_one_is_refused():
    generator = new()
    (point,) = run(generator, 1)
    before = snapshot(generator)
    generator.ingest([point])
    assert snapshot(generator) == before
    with pytest.raises(ValueError, match="told already"):
        generator.ingest([point | {"f": 5.0}])
    assert snapshot(generator) == before


def test_a_late_result_of_a_suggestion_that_expired():
    generator = new(WDBO(clock="step", query_timeout=3.0, random_state=0))
    (late,) = generator.suggest()
    run(generator, 6)
    assert late["_id"] not in [query.id for query in generator.optimizer.pending_]
    generator.ingest([late | {"f": 4.0}])
    assert generator.optimizer.told_X_[-1].tolist() == [late["x"], 0.0]


@pytest.mark.parametrize(
    "result",
    [
        {"xopt_error": True, "xopt_error_str": "trip"},
        {"xopt_error": np.True_, "f": 1.0},
        {"xopt_error": True, "f": 1.0},
        {"_status": 3},
        {"f": None},
        {"f": math.nan},
        {"f": -math.inf},
        {"f": 1.0, "c": math.inf},
    ],
)
def test_failed_results(result):
    generator = new(vocs=problem(constraints={"c": ["LESS_THAN", 1.0]}))
    (point,) = generator.suggest()
    generator.ingest([point | {"c": None} | result])
    assert generator.optimizer.n_failed_ == 1
    assert generator.optimizer.failed_X_[:, 0].tolist() == [point["x"]]
    generator.ingest([{"x": 0.5, "c": None} | result, {"x": 0.6, "f": 1.0, "c": 0.0}])
    assert (generator.optimizer.n_failed_, generator.optimizer.n_told_) == (2, 1)


@pytest.mark.parametrize(
    ("result", "match"),
    [
        ({}, r"A result must be a dict with 'f'\. Got \['x', '_id'\]"),
        ({"f": 1.0}, "a dict with 'c'"),
        ({"f": "low", "c": 0.0}, "'f' of a result must be a number. Got 'low'"),
        ({"f": [1.0, 2.0], "c": 0.0}, "must be a number"),
    ],
)
def test_missing_and_invalid_fields_of_results(result, match):
    generator = new(vocs=problem(constraints={"c": ["LESS_THAN", 1.0]}))
    (point,) = generator.suggest()
    with pytest.raises(ValueError, match=match):
        generator.ingest([point | result])
    assert len(generator.optimizer.pending_) == 1


@pytest.mark.parametrize("point", [{"x": 3.0}, {}, {"x": 0.0, "k": 9}, {"x": None, "k": 1}])
def test_an_error_leaves_out_all_results(point):
    generator = new(vocs=problem(variables={"x": [-1.0, 1.0], "k": {1, 2}}))
    run(generator, 2)
    good, before = generator.suggest()[0], snapshot(generator)
    with pytest.raises(ValueError, match=r"x|k"):
        generator.ingest([good | {"f": 1.0}, {"k": 1, "f": 1.0} | point])
    assert snapshot(generator) == before
    generator.ingest([])
    assert snapshot(generator) == before


def test_a_constraint_that_was_not_measured():
    generator = new(vocs=problem(constraints={"c": ["LESS_THAN", 0.0]}))
    first, second = generator.suggest(2)
    generator.ingest([first | {"f": 1.0, "c": math.nan}, second | {"f": 1.0, "c": 0.5}])
    assert generator.optimizer.n_told_ == 2
    column = generator.optimizer.to_frame()["c"]
    assert column.isna().tolist() == [True, False]


# --- times ----------------------------------------------------------------------------------------


def test_a_result_has_the_time_of_its_suggestion():
    now = [5.0]
    generator = new(WDBO(clock=lambda: now[0], random_state=0))
    (point,) = generator.suggest()
    now[0] = 8.0
    generator.ingest([point | {"f": 1.0, "time": 7.0}])
    generator.ingest([{"x": 0.0, "f": 1.0}])
    generator.optimizer.announce({"x": 0.5}, 9.0)
    generator.ingest([{"_id": generator.optimizer.pending_[0].id, "f": 1.0}])
    assert generator.optimizer.told_X_[:, -1].tolist() == [5.0, 8.0, 9.0]


def test_without_an_optimizer_time_goes_on_while_there_is_no_process():
    assert new(None).optimizer.clock == "step"
    assert TimeVaryingGenerator(problem()).optimizer.clock == "calendar"


@pytest.mark.parametrize("clock", ["calendar", "wall"])
def test_times_in_seconds_since_1970(clock, monkeypatch):
    """As Xopt's time-dependent generator reads them, from a computer whose clock is ahead."""
    now = [1.7e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    generator = new(WDBO(clock=clock, n_initial_points=4, random_state=0), time="time")
    generator.ingest([{"x": 0.5, "xopt_error": True}])
    suggested = []
    for _ in range(6):
        (point,) = generator.suggest()
        suggested += [query.t - 1.7e9 for query in generator.optimizer.pending_]
        now[0] += 10.0
        generator.ingest([point | {"f": bowl(point), "time": now[0] + 2.0}])
    assert_allclose(suggested, [0.0, 12.0, 22.0, 32.0, 42.0, 52.0], atol=0.5)
    times = generator.optimizer.told_X_[:, -1] - 1.7e9
    assert times.tolist() == [12.0, 22.0, 32.0, 42.0, 52.0, 62.0]
    generator.ingest([{"x": 0.5, "xopt_error": True}])
    generator.ingest([generator.suggest()[0] | {"xopt_error": True}])
    assert_allclose(generator.optimizer.failed_X_[:, -1] - 1.7e9, [0.0, 62.0, 62.0], atol=0.5)
    now[0] += 60.0
    ((_, x, predicted),) = generator.get_best_points()
    t = max(now[0], generator.optimizer.now())
    assert predicted == {"f": generator.optimizer.predict(x, t)}


def test_times_in_the_unit_of_a_clock():
    turn = [0.0]
    generator = new(WDBO(clock=lambda: turn[0], random_state=0), time="turn")
    for turn[0] in (100.0, 200.0):
        generator.ingest([generator.suggest()[0] | {"f": 1.0, "turn": turn[0] + 50.0}])
    assert generator.optimizer.told_X_[:, -1].tolist() == [150.0, 250.0]
    turn[0] = 300.0
    generator.suggest()
    assert generator.optimizer.next_time_ == 300.0


def test_a_result_without_the_time_is_refused():
    generator = new(time="time")
    with pytest.raises(ValueError, match="a dict with 'time'"):
        generator.ingest([generator.suggest()[0] | {"f": 1.0}])


# --- contexts -------------------------------------------------------------------------------------

LAB = problem(
    variables={"x": [-1.0, 1.0], "air": ContextualVariable(domain=[10, 30])},
    objectives={"f": "MINIMIZE"},
)


def contexts(generator):
    return [query.context["air"] for query in generator.optimizer.pending_]


def test_contexts_are_those_of_the_latest_result():
    generator = new(vocs=LAB)
    (point,) = generator.suggest()
    assert point.keys() == {"x", "_id"}
    assert contexts(generator) == [20.0]
    generator.ingest([point | {"f": 1.0, "air": 35.5}])
    assert generator.optimizer.told_X_[0, :2].tolist() == [point["x"], 35.5]
    (point,) = generator.suggest()
    assert contexts(generator) == [35.5]
    generator.ingest([point | {"xopt_error": True}])
    assert generator.optimizer.failed_X_[0, 1] == 35.5
    generator.ingest([{"x": 0.1, "air": 12.0, "f": 1.0}, {"x": 0.2, "air": 13.0, "f": 1.0}])
    generator.suggest(2)
    assert contexts(generator) == [13.0, 13.0]


def test_a_result_with_some_contexts_has_those_of_its_suggestion():
    ranges = {name: ContextualVariable(domain=[10, 30]) for name in ("air", "sea")}
    generator = new(vocs=problem(variables={"x": [-1.0, 1.0]} | ranges))
    (point,) = generator.suggest()
    generator.ingest([point | {"f": 1.0, "air": 12.0}])
    assert generator.optimizer.told_X_[0, 1:3].tolist() == [20.0, 20.0]


def test_contexts_that_are_measured_before_a_suggestion():
    air = iter([11.0, 12.0])
    generator = new(vocs=LAB, context=lambda: {"air": next(air)})
    generator.suggest()
    generator.suggest()
    assert contexts(generator) == [11.0, 12.0]
    assert TimeVaryingGenerator.model_validate(generator.model_dump()).context is None


@pytest.mark.parametrize("n", [1, 2])
def test_a_result_that_was_not_suggested_needs_its_context(n):
    generator = new(vocs=LAB)
    with pytest.raises(ValueError, match="context"):
        generator.ingest([{"x": 0.1, "f": 1.0, "air": None}] * n)


def test_the_best_point_in_a_context():
    generator = new(vocs=LAB)
    rng = np.random.RandomState(0)
    for _ in range(40):
        points = generator.suggest()
        air = rng.uniform(10.0, 30.0)
        generator.ingest([p | {"f": bowl(p, (air - 20) / 20), "air": air} for p in points])
    ((id, x, predicted),) = generator.get_best_points()
    assert id is None
    assert abs(x["x"] - (air - 20) / 20) < 0.15
    assert abs(predicted["f"]) < 0.05


# --- what some callers use ------------------------------------------------------------------------


def test_the_best_point():
    generator = new(vocs=problem(constraints={"c": ["LESS_THAN", 0.0]}))
    assert generator.get_best_points() == []
    (point,) = generator.suggest()
    generator.ingest([point | {"f": 7.0 + bowl(point), "c": None}])
    assert generator.get_best_points() == []
    for _ in range(40):
        points = generator.suggest()
        generator.ingest([p | {"f": 7.0 + bowl(p), "c": p["x"] - 0.8} for p in points])
    x = generator.optimizer.recommend()
    means = [generator.optimizer.predict(x, outcome=name) for name in ("objective", "c")]
    assert generator.get_best_points() == [(None, x, dict(zip("fc", means)))]
    assert_allclose(means, [7.0 + bowl(x), x["x"] - 0.8], atol=0.01)
    random = new(RandomSearch(clock="step", random_state=0))
    points = run(random, 5)
    best = min(points, key=lambda point: point["f"])
    assert random.get_best_points() == [(None, {"x": best["x"]}, {})]


def test_failures_that_are_registered():
    generator = new()
    points = generator.suggest(2)
    generator.register_failures(points)
    assert generator.optimizer.n_failed_ == 2
    assert generator.optimizer.pending_ == []
    with pytest.raises(ValueError, match="'_id'"):
        generator.register_failures([{"_id": 9}])


def test_the_name_of_an_asynchronous_loop():
    assert new().generate(2) == new().suggest(2)


def test_data_with_which_a_caller_begins():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(run(new(), 6))
    frame["xopt_error"] = [True] + [False] * 5
    generator, other = new(), new()
    generator.add_data(frame)
    assert (generator.optimizer.n_told_, generator.optimizer.n_failed_) == (5, 1)
    before = snapshot(generator)
    other.add_data(frame.drop(columns="_id"))
    assert snapshot(other) == before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        generator.add_data(frame)
        generator.add_data(frame[:2])
    with pytest.warns(UserWarning, match="7 results, are left out: the resumed run has 6"):
        generator.add_data(pd.concat([frame, frame[:1]]))
    assert snapshot(generator) == before


# --- restored runs --------------------------------------------------------------------------------


def test_copies_read_the_same_clock_and_the_same_context():
    class Laboratory:
        turn, air = 0.0, 20.0

        def clock(self):
            return self.turn

        def context(self):
            return {"air": self.air}

    lab = Laboratory()
    generator = new(WDBO(clock=lab.clock, random_state=0), LAB, context=lab.context)
    for _ in range(2):
        generator = copy.deepcopy(generator)
        lab.turn, lab.air = lab.turn + 5.0, lab.air + 1.0
        generator.suggest()
    assert [(query.t, query.context["air"]) for query in generator.optimizer.pending_] == [
        (5.0, 21.0),
        (10.0, 22.0),
    ]


def test_a_journal_restores_pending_suggestions(tmp_path):
    def begun():
        journal = Journal(tmp_path / "run.db", resume=True)
        return new(WDBO(clock="step", random_state=0, journal=journal), LAB)

    first, expected = begun(), new(vocs=LAB)
    for generator in (first, expected):
        for air in (15.0, 16.0, 17.0, 18.0, 19.0, 20.0):
            points = generator.suggest()
            generator.ingest([p | {"f": bowl(p), "air": air} for p in points])
        (point,) = generator.suggest()
    first.optimizer.close()
    second = begun()
    for generator in (second, expected):
        assert contexts(generator) == [20.0]
        generator.ingest([point | {"f": 0.5, "air": 21.0}])
    assert_allclose(second.suggest()[0]["x"], expected.suggest()[0]["x"], atol=1e-6)
    assert contexts(second) == [21.0]


def test_copies_and_dumps_have_runs_of_their_own():
    vocs = problem(
        variables={"x": [-1.0, 1.0], "k": {3, 1, 2}, "air": ContextualVariable(domain=[10, 30])},
        constraints={"c": ["BOUNDS", -0.5, 0.9]},
    )
    generator = new(vocs=vocs, time="turn")
    for i in range(8):
        told = {"air": 20.0 + i, "turn": i}
        points = generator.suggest()
        generator.ingest([p | {"f": bowl(p), "c": p["x"]} | told for p in points])
    (pending,) = generator.suggest()
    text = json.dumps(generator.model_dump(mode="json"), sort_keys=True)
    copies = [
        copy.deepcopy(generator),
        pickle.loads(pickle.dumps(generator)),
        TimeVaryingGenerator.model_validate(json.loads(text)),
    ]
    result = pending | {"f": 1.0, "c": 0.0, "air": 20.0, "turn": 9.0}
    for each in copies:
        each.ingest([result])
        assert each.optimizer.n_told_ == 9
    assert generator.optimizer.n_told_ == 8
    generator.ingest([result])
    expected = generator.suggest(2)
    for each in copies:
        assert each.time == "turn"
        assert each.suggest(2) == expected


def test_a_dump_names_the_journal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generator = new(WDBO(clock="step", random_state=0, journal=Journal("run.db", "full")))
    with pytest.raises(JournalError, match="does not exist"):
        TimeVaryingGenerator.model_validate(generator.model_dump())
    run(generator, 3)
    text = generator.model_dump_json()
    run(generator, 2)
    generator.finalize()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    other = TimeVaryingGenerator.model_validate(json.loads(text))
    assert other.optimizer.n_told_ == 5
    assert other.optimizer.journal == Journal(str(tmp_path / "run.db"), "full", resume=True)
    run(other, 1)


def test_fields_cannot_be_set():
    generator = new()
    with pytest.raises(ValueError, match="vocs"):
        generator.vocs = None
    for remove in (lambda: setattr(generator, "data", None), lambda: generator.set_data(None)):
        with pytest.raises(ValueError, match=r"remove_data and reset_data.*optimizer\.untell"):
            remove()


# --- libEnsemble ----------------------------------------------------------------------------------


def simulate(H, persis_info, sim_specs, _):
    out = np.zeros(len(H), dtype=sim_specs["out"])
    out["f"], out["c"] = (H["x"] - 0.3) ** 2 + (H["k"] - 2) ** 2, H["x"]
    return out, persis_info


def test_the_loop_of_libensemble(tmp_path, monkeypatch):
    pytest.importorskip("libensemble")
    from libensemble import Ensemble
    from libensemble.alloc_funcs.start_only_persistent import only_persistent_gens
    from libensemble.specs import AllocSpecs, ExitCriteria, GenSpecs, LibeSpecs, SimSpecs

    monkeypatch.chdir(tmp_path)
    vocs = problem(
        variables={"x": [-1.0, 1.0], "k": {1, 2, 3}},
        constraints={"c": ["LESS_THAN", 0.9]},
        constants={"charge": 0.5},
    )
    generator = new(WDBO(clock="step", random_state=0, journal="run.db"), vocs)
    generator.ingest([{"x": 0.1, "k": 1, "charge": 0.5, "f": 1.04, "c": 0.1}])
    options = LibeSpecs(comms="threads", nworkers=2, gen_on_manager=True, disable_log_files=True)
    ensemble = Ensemble(
        libE_specs=options,
        sim_specs=SimSpecs(sim_f=simulate, vocs=vocs),
        alloc_specs=AllocSpecs(alloc_f=only_persistent_gens),
        gen_specs=GenSpecs(generator=generator, batch_size=2, initial_batch_size=4, vocs=vocs),
        exit_criteria=ExitCriteria(sim_max=20),
    )
    history, _, flag = ensemble.run()
    assert flag == 0
    ended = history[history["sim_ended"]]
    assert ended["_id"].tolist() == list(range(20))
    assert set(ended["charge"]) == {0.5}
    # libEnsemble ends without giving the last batch back.
    resumed = WDBO.resume("run.db")
    assert resumed.n_told_ == 19
    assert set(resumed.told_X_[1:, 0]) <= set(ended["x"])
    assert abs(resumed.recommend()["x"] - 0.3) < 0.1
    assert resumed.recommend()["k"] == 2
