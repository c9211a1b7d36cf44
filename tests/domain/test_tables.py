"""Data frames, Series and dicts of columns are matched by name, wherever they are taken."""

import pickle
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from sktvbo import GPUCB, RandomSearch, SparQGPUCB, TimeVaryingGPRegressor
from sktvbo.domain import Arms, Box, Constrained, Context, FiniteSet, ParameterSpace, WithContext
from sktvbo.exceptions import DomainError, InvalidObservationError

SPACE = {
    "rate": ("log-real", 1e-3, 1.0),
    "depth": ("integer", 1, 9),
    "loss": ["l1", "l2", None],
    "size": ("ordinal", [16, 32, 64]),
    "load": ("discrete", [1, 2, 9]),
}
POINTS = [
    {"rate": 0.5, "depth": 2, "loss": "l2", "size": 64, "load": 1},
    {"rate": 0.1, "depth": 9, "loss": None, "size": 16, "load": 9},
    {"rate": 0.3, "depth": 4, "loss": "l1", "size": 32, "load": 2},
]
# Row by row as a ParameterSpace says: positions of categories and ordinals.
ROWS = [[0.5, 2.0, 1.0, 2.0, 1.0], [0.1, 9.0, 2.0, 0.0, 9.0], [0.3, 4.0, 0.0, 1.0, 2.0]]
PERMUTED = ["load", "size", "loss", "rate", "depth"]


def columns_of(points, names):
    return {name: [point[name] for point in points] for name in names}


TABLES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "pandas objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "pandas categories": lambda columns: pd.DataFrame(columns).astype(
        {k: "category" for k in columns if k == "loss"}
    ),
    "pandas in Arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "pandas floats": lambda columns: pd.DataFrame(columns).astype(
        {k: float for k in columns if k != "loss"}
    ),
    "polars": lambda columns: pl.DataFrame(columns),
    "dask": lambda columns: pytest.importorskip("dask.dataframe").from_pandas(
        pd.DataFrame(columns), npartitions=2
    ),
    "dict": dict,
    "dict of arrays": lambda columns: {k: np.array(v, dtype=object) for k, v in columns.items()},
    "dict of Series": lambda columns: dict(pd.DataFrame(columns).items()),
}


@pytest.mark.parametrize("form", TABLES)
def test_columns_of_named_parameters(form):
    """Also those that are missing, unknown or misspelt, for any table."""
    table, space = TABLES[form](columns_of(POINTS, PERMUTED)), ParameterSpace(SPACE)
    assert_array_equal(space.validate_points(table), ROWS)
    assert_array_equal(space.to_unit(table), space.to_unit(ROWS))
    assert_array_equal(Constrained(space, lambda x: True).validate_points(table), ROWS)
    points = [point | {"extra": 1.0, "Size": 16} for point in POINTS]
    for names, message in WRONG.values():
        with pytest.raises(InvalidObservationError, match=message):
            space.validate_points(TABLES[form](columns_of(points, names)))


def test_a_table_of_arrow_is_refused_with_the_remedy():
    table = pa.table(columns_of(POINTS, PERMUTED))
    tell = lambda table: RandomSearch(SPACE).tell_many(table, np.zeros(3), np.arange(3.0))  # noqa: E731
    for call in (ParameterSpace(SPACE).validate_points, tell):
        with pytest.raises(InvalidObservationError, match=r"Arrow instead\. Give X\.to_pandas\(\)"):
            call(table)
    with pytest.raises(ValueError, match=r"Give X\.to_pandas\(\)"):
        TimeVaryingGPRegressor().fit(pa.table({"t": [datetime(2026, 3, 1)]}), [1.0])


def test_a_lazy_frame_is_refused_with_the_remedy():
    lazy = pl.DataFrame({"rate": [0.5, 0.1, 0.3]}).lazy()
    space = {"rate": SPACE["rate"]}
    opt = RandomSearch(space)
    calls = [
        ParameterSpace(space).validate_points,
        lambda lazy: opt.tell_many(lazy, np.zeros(3), np.arange(3.0)),
        lambda lazy: GPUCB(space, start_points=lazy).ask(0.0),
        lambda lazy: FiniteSet(lazy).validate_points([[0.5]]),
    ]
    for call in calls:
        with pytest.raises(InvalidObservationError, match=r"lazy frame .* Call collect\(\) first"):
            call(lazy)


@pytest.mark.parametrize("form", ["pandas in Arrow", "polars", "dask", "dict"])
def test_every_call_takes_tables(form):
    table = TABLES[form](columns_of(POINTS, PERMUTED))
    options = {"n_initial_points": 3, "random_state": 0}
    opt, twin = (GPUCB(SPACE, start_points=points, **options) for points in (table, POINTS))
    found = [[query.x for query in each.suggest(0.0, n=3)] for each in (opt, twin)]
    assert found == [POINTS, POINTS]
    opt.tell_many(table, [1.0, 2.0, 3.0], [0.0, 0.0, 1.0])
    twin.tell_many(POINTS, [1.0, 2.0, 3.0], [0.0, 0.0, 1.0])
    assert_array_equal(opt.told_X_, twin.told_X_)
    assert_array_equal(opt.predict(table, 2.0), twin.predict(POINTS, 2.0))
    expert = SparQGPUCB(SPACE, **options)
    expert.tell_many(table, [1.0, 2.0, 3.0], 0.0)
    expert.tell_expert(table, [1.0, 2.0, 3.0], 1.0)
    assert_array_equal(expert.expert_X_[:, :-1], twin.told_X_[:, :-1])


FRAME = pd.DataFrame(columns_of(POINTS, PERMUTED))
SINGLE = {
    "Series": FRAME.iloc,
    "dict": POINTS,
    "polars": pl.DataFrame(columns_of(POINTS, PERMUTED)).rows(named=True),
}


@pytest.mark.parametrize("form", SINGLE)
def test_single_points(form):
    opt, points = GPUCB(SPACE, n_initial_points=3, random_state=0), SINGLE[form]
    for i in range(3):
        opt.announce(points[i], i)
        opt.tell(points[i], float(i))
    assert_array_equal(opt.told_X_[:, :-1], ROWS)
    assert opt.predict(points[1], 3.0) == opt.predict(POINTS[1], 3.0)
    opt.untell(points[1])
    assert_array_equal(opt.told_X_[:, :-1], ROWS[::2])
    opt.announce(points[0], 4.0)
    opt.cancel(points[0])
    assert ParameterSpace(SPACE).contains(points[0])


def test_lists_of_series():
    listed = [row for _, row in FRAME.iterrows()]
    assert_array_equal(ParameterSpace(SPACE).validate_points(listed), ROWS)
    box, xy = Box([(0.0, 1.0), (0.0, 100.0)]), pd.DataFrame({"x1": [10.0, 20.0], "x0": [0.1, 0.2]})
    assert_array_equal(box.validate_points([row for _, row in xy.iterrows()]), xy[["x0", "x1"]])
    with pytest.raises(InvalidObservationError, match=r"X\[0\] must .* lacks 'x0'"):
        box.validate_points([row for _, row in xy.rename(columns={"x0": "a"}).iterrows()])
    # In a row of numbers the choices have become floats.
    space, row = ParameterSpace({"size": SPACE["size"]}), pd.Series({"size": 32.0})
    assert_array_equal(space.validate_point(row), [1.0])
    space = ParameterSpace({"day": ("categorical", [datetime(2026, 1, 1), datetime(2026, 1, 2)])})
    days = pd.DataFrame({"day": [datetime(2026, 1, 2)]})  # of Timestamps
    assert_array_equal(space.validate_points(days), [[1.0]])
    assert space.validate_points(days[:0]).shape == (0, 1)


WRONG = {
    "missing": (["rate", "depth", "loss", "load"], "lacks 'size' instead"),
    "unknown": ([*PERMUTED, "extra"], "has the unknown 'extra' instead"),
    "misspelt": (
        ["rate", "depth", "loss", "load", "Size"],
        "lacks 'size' and has the unknown 'Size'",
    ),
}


@pytest.mark.parametrize("form", ["pandas", "dict"])
def test_wrong_names_change_nothing(form):
    names, message = WRONG["missing"]
    table = TABLES[form](columns_of(POINTS, names))
    opt = GPUCB(SPACE, n_initial_points=2, random_state=0)
    opt.tell_many(POINTS, [0.0, 1.0, 2.0], 0.0)
    before = opt.to_json()
    for call in (
        lambda: opt.tell_many(table, [0.0, 1.0, 2.0], 1.0),
        lambda: opt.predict(table, 1.0),
        lambda: GPUCB(SPACE, start_points=table).ask(0.0),
    ):
        with pytest.raises(InvalidObservationError, match=message):
            call()
    row = FRAME[names].iloc[0]
    for call in (opt.tell, opt.predict, opt.announce):
        with pytest.raises(InvalidObservationError, match=message):
            call(row, 1.0)
    assert opt.to_json() == before


def test_frames_without_names_are_refused_for_named_parameters():
    space = {"a": ("real", 0.0, 1.0), "b": ("real", 0.0, 1.0)}
    opt = RandomSearch(space)
    for X in (pd.DataFrame([[0.1, 0.2]]), pd.DataFrame([[0.1, 0.2]], columns=["b", "c"])):
        with pytest.raises(InvalidObservationError, match="lacks 'a'"):
            opt.tell_many(X, [1.0], 0.0)
        with pytest.raises(InvalidObservationError, match="lacks 'a'"):
            opt.tell(X.iloc[0], 1.0, 0.0)
    with pytest.raises(InvalidObservationError, match=r"one point. Got a table.*iloc\[0\]"):
        opt.tell(pd.DataFrame({"a": [0.1], "b": [0.2]}), 1.0, 0.0)
    twice = pd.DataFrame([[0.1, 0.2, 0.3]], columns=["a", "b", "b"])
    short = {"a": [0.1, 0.2], "b": [0.1]}
    for X, message in ((twice, "unique column names"), (short, "columns of one length")):
        with pytest.raises(InvalidObservationError, match=message):
            opt.tell_many(X, [1.0], 0.0)


# --- domains without names ------------------------------------------------------------------------

XY = pd.DataFrame({"x1": [10.0, 20.0], "x0": [0.1, 0.2]})


def test_boxes_have_the_names_of_their_frames():
    box = Box([(0.0, 1.0), (0.0, 100.0)])
    expected = [[0.1, 10.0], [0.2, 20.0]]
    for table in (XY, pl.DataFrame(XY.to_dict("list")), XY.to_dict("list")):
        assert_array_equal(box.validate_points(table), expected)
    assert_array_equal(box.validate_point(XY.iloc[1]), expected[1])
    numbered = XY[["x0", "x1"]].set_axis([5, 7], axis=1)  # no names
    assert_array_equal(box.validate_points(numbered), expected)
    assert_array_equal(box.validate_point(numbered.iloc[1]), expected[1])
    for names in (["temperature", "rate"], ["x0", "x2"]):
        with pytest.raises(
            InvalidObservationError, match="a table of the columns 'x0', 'x1' and no"
        ):
            box.validate_points(XY.set_axis(names, axis=1))
    with pytest.raises(InvalidObservationError, match=r"X\['x1'\] must be real numbers"):
        box.validate_points(XY.assign(x1=["a", "b"]))


def test_a_finite_set_has_the_names_of_its_points():
    sensors = pd.DataFrame({"lat": [1.0, 2.0, 3.0], "lon": [30.0, 10.0, 20.0]})
    sites = FiniteSet(sensors)
    assert sites.columns == ("lat", "lon")
    assert_array_equal(sites.validate_points(sensors[["lon", "lat"]]), sensors)
    assert_array_equal(sites.indices(sensors[["lon", "lat"]].iloc[::-1]), [2, 1, 0])
    assert sites.index(sensors.iloc[1][["lon", "lat"]]) == 1
    with pytest.raises(InvalidObservationError, match="unknown 'x'"):
        sites.validate_points(sensors.rename(columns={"lon": "x"}))
    opt = RandomSearch(sites, random_state=0)
    opt.tell_many(sensors[["lon", "lat"]], [1.0, 2.0, 3.0], 0.0)
    assert list(opt.to_frame())[:2] == ["lat", "lon"]
    for copy in (pickle.loads(pickle.dumps(sites)), eval(repr(sites))):
        assert copy == sites
        assert copy.columns == sites.columns
    assert sites != FiniteSet(sensors.to_numpy())
    again = RandomSearch.from_json(opt.to_json())
    assert again.domain.columns == ("lat", "lon")


# --- contexts -------------------------------------------------------------------------------------

LOADS = {"power": ("real", 0.0, 1.0), "load": Context(0.0, 100.0), "day": Context(["yes", "no"])}


@pytest.mark.parametrize("form", ["pandas", "polars", "dask", "dict"])
def test_tables_of_contexts(form):
    contexts = TABLES[form]({"day": ["no", "yes"], "load": [30.0, 120.0]})
    listed = [{"load": 30.0, "day": "no"}, {"load": 120.0, "day": "yes"}]
    points = TABLES[form]({"power": [0.2, 0.4]})
    both = TABLES[form]({"day": ["no", "yes"], "power": [0.2, 0.4], "load": [30.0, 120.0]})
    expected = RandomSearch(LOADS, random_state=0)
    expected.tell_many([{"power": 0.2}, {"power": 0.4}], [1.0, 2.0], 0.0, context=listed)
    row = pd.Series({"day": "no", "load": 30.0})
    assert RandomSearch(LOADS, random_state=0).suggest(0.0, context=row).context == listed[0]
    for X, context in ((points, contexts), (both, None), (both, contexts), (points, both)):
        opt = RandomSearch(LOADS, random_state=0)
        opt.tell_many(X, [1.0, 2.0], 0.0, context=context)
        assert_array_equal(opt.told_X_, expected.told_X_)
    queries = opt.suggest(1.0, n=2, context=contexts)
    assert [query.context for query in queries] == listed
    for wrong in ({"day": ["no", "yes"], "lod": [1.0, 2.0]}, {"day": ["no", "yes"]}):
        with pytest.raises(
            InvalidObservationError,
            match="context must be a dict of 'load', a finite number; 'day'",
        ):
            opt.suggest(1.0, n=2, context=TABLES[form](wrong))


@pytest.mark.parametrize("value", [datetime(2026, 1, 1), np.datetime64("2026"), pd.Timestamp(0)])
def test_a_date_is_no_number(value):
    message = r"context\['load'\] must be real numbers.* in place of dates"
    with pytest.raises(InvalidObservationError, match=message):
        RandomSearch(LOADS).ask(0.0, context={"load": value, "day": "no"})
    with pytest.raises(DomainError, match=r"parameters\['a'\] must be .* in place of dates"):
        RandomSearch({"a": ("real", value, value)}).ask(0.0)


# --- the frame of a run ---------------------------------------------------------------------------

DOMAINS = {
    "box": [(0.0, 1.0), (0.0, 100.0)],
    "finite": FiniteSet([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]),
    "arms": Arms(3),
    "named": SPACE,
    "mixed choices": {"p": [1, None, True, "a", 2.5], "time": ("ordinal", [1, 2.5])},
    "contexts": LOADS,
    "box with contexts": WithContext([(0.0, 1.0)], [(0.0, 1.0), (0.0, 1.0)]),
}


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_frame_of_a_run_is_taken_as_it_is(domain):
    context = {"contexts": {"load": 3.0, "day": "no"}, "box with contexts": [0.2, 0.9]}.get(domain)
    opt = GPUCB(DOMAINS[domain], n_initial_points=4, random_state=0)
    for t in range(8):
        opt.tell(opt.ask(t, context=context), float(t % 3))
    frame = opt.to_frame()
    time = "time_" if domain == "mixed choices" else "time"
    mixed = frame[frame.columns[::-1]]
    tables = [mixed]
    if domain != "mixed choices":
        tables.append(pl.DataFrame(mixed.to_dict("list"), strict=False))
    single = [opt.predict(mixed.iloc[i], float(i)) for i in range(8)]
    for X in tables:
        twin = GPUCB(DOMAINS[domain], n_initial_points=4, random_state=0)
        twin.tell_many(X, X["y"], X[time])
        assert_array_equal(twin.told_X_, opt.told_X_)
        np.testing.assert_allclose(opt.predict(X, X[time]), single, rtol=1e-9)
    GPUCB(DOMAINS[domain], start_points=mixed).ask(0.0, context=context)
    opt.tell(mixed.iloc[3], 1.0, 9.0)


# --- rows that are wrong --------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["pandas", "list"])
def test_a_row_outside_is_named(form):
    points = [*POINTS[:2], POINTS[2] | {"rate": 2.0}]
    X = points if form == "list" else TABLES[form](columns_of(points, PERMUTED))
    for call in (
        lambda opt: opt.tell_many(X, [1.0, 2.0, 3.0], 0.0),
        lambda opt: opt.predict(X, 0.0),
        lambda opt: GPUCB(SPACE, start_points=X).ask(0.0),
    ):
        with pytest.raises(DomainError, match=r"(X|points)\[2, 'rate'\] must be in \[0.001, 1.0\]"):
            call(GPUCB(SPACE))
    for bad in ("a", np.nan):
        points[2]["rate"] = bad
        with pytest.raises(InvalidObservationError, match=r"X\[2, 'rate'\]"):
            GPUCB(SPACE).tell_many(points, [1.0, 2.0, 3.0], 0.0)
    with pytest.raises(DomainError, match=r"X\[1\] must be one of the 2 points"):
        RandomSearch(FiniteSet([[0.5], [0.0]])).tell_many([[0.5], [0.1]], [1.0, 2.0], 0.0)
