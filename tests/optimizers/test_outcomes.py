"""Measured limits: models of outcomes, the probability that limits hold, queries within them."""

import copy
import json
import warnings
from typing import ClassVar

import numpy as np
import pytest
from contract.cases import ARMS, BY_NAME, CASES, NAMED, Case, some
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.limited import (
    BOX,
    LIMITS,
    drive,
    heat,
    load,
    measure,
    objective,
    on_a_line,
    outcomes,
    told_of,
)
from scipy.stats import norm
from sklearn.gaussian_process.kernels import Matern
from stored import parts_of, with_fields

from sktvbo import (
    ETGPUCB,
    GPUCB,
    RGPUCB,
    WDBO,
    SparQGPUCB,
    TimeVaryingGPRegressor,
    optimize,
)
from sktvbo.domain import Context, WithContext, as_domain
from sktvbo.evaluation import RunResult, StepClock, run
from sktvbo.exceptions import AskTellError, DomainError, InvalidObservationError, LimitWarning
from sktvbo.problems import Problem


@pytest.fixture(scope="module")
def _driven():
    return drive(WDBO(BOX, outcome_constraints=LIMITS, random_state=0), 25)


@pytest.fixture
def driven(_driven):
    return copy.deepcopy(_driven)


def models(opt):
    return [model.surrogate for model in opt._run.part("limits").models]


def excess(opt):
    """Return what violations have added to the factor of deviations."""
    return parts_of(opt)["limits"]["excess"]


# --- models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("maximize", [True, False])
def test_the_model_of_an_outcome_is_that_of_an_optimizer_that_is_told_it_as_y(maximize):
    options = {"n_initial_points": 4, "maximize": maximize, "random_state": 0}
    both = GPUCB(BOX, outcome_constraints={"load": (None, 1.0)}, **options)
    alone, rng = GPUCB(BOX, **options), np.random.RandomState(0)
    for t in range(14):
        x = rng.uniform(size=2)
        both.tell(x, rng.normal(), t, y_variance=0.1, outcomes={"load": load(x, t)})
        alone.tell(x, load(x, t), t)
        if t in (2, 3, 9, 13):
            places = rng.uniform(size=(5, 2))
            found = both.predict(places, t, True, outcome="load")
            assert_allclose(found, alone.predict(places, t, True), rtol=1e-9)


@pytest.mark.parametrize(("kind", "options"), [(SparQGPUCB, {}), (GPUCB, {"max_size": 3})])
def test_the_first_model_of_an_outcome_learns_from_all_initial_points(kind, options):
    options = {"n_initial_points": 5, "random_state": 0} | options
    opt = kind(BOX, outcome_constraints={"load": (None, 1e9)}, **options)
    for t in range(5):
        x = opt.ask(float(t))
        value = 1e9 * load(x, t)
        opt.tell(x, value, outcomes={"load": value})
    X = np.array([[0.1, 0.3], [0.8, 1.5]])
    found, expected = (opt.predict(X, 5.0, True, outcome=name) for name in ("load", None))
    assert_allclose(found, expected, rtol=1e-9)


# --- partial results ------------------------------------------------------------------------------


def told_in_part(opt, stop, start=0):
    """Tell all results, one outcome, none, or those of a failure, by turns; the known outcomes."""
    known = []
    for t in range(start, stop):
        query = opt.suggest(float(t))
        values = outcomes(query.x, t)
        values = [values, values | {"load": None}, dict.fromkeys(values, np.nan), values][t % 4]
        if t % 4 == 3:
            opt.tell(query, failed=True, outcomes=values)
        else:
            opt.tell(query, objective(query.x, t), outcomes=values)
        known.append((query.x, t, [values[name] for name in LIMITS]))
    return known


def rows_of_models(opt):
    """Rows and values of the surrogates of the outcomes, in the user's units."""
    domain, found = as_domain(opt.domain), []
    for surrogate in models(opt):
        if surrogate is None:
            found.append((np.empty((0, domain.n_dims + 1)), np.empty(0)))
            continue
        X = surrogate.X_train_
        rows = np.column_stack([domain.from_unit(X[:, :-1]), X[:, -1]])
        found.append((rows, surrogate.y_train_))
    return found


MODELLED = [case for case in CASES if case.modelled]


@pytest.mark.parametrize(
    "case",
    some(MODELLED, [BY_NAME[name] for name in ("WDBO", "SparQGPUCB", "RGPUCB-period")]),
    ids=lambda case: case.name,
)
def test_every_algorithm_learns_outcomes_that_were_measured_alone(case):
    opt = case.make(outcome_constraints=LIMITS, n_initial_points=3)
    known = told_in_part(opt, 12)
    held, first = set(opt.X_[:, -1]), opt.X_[:, -1].min()
    for i, (rows, values) in enumerate(rows_of_models(opt)):
        expected = [
            (*x, t, each[i])
            for x, t, each in known
            if each[i] == each[i] is not None and (t in held or (t % 4 == 3 and t >= first))
        ]
        expected = np.reshape(expected, (-1, 4))
        assert_allclose(np.column_stack([rows, values]), expected, rtol=1e-9, atol=1e-9)
    assert opt.n_told_ + opt.n_failed_ == 12
    assert 0.0 <= opt.probability_feasible(opt.ask(15.0), 15.0) <= 1.0


def test_an_outcome_of_failures_teaches_as_one_of_observations():
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(12, 2))
    full, part = (
        GPUCB(BOX, outcome_constraints=LIMITS, refit_every=None, random_state=0) for _ in range(2)
    )
    for t, x in enumerate(X):
        values = outcomes(x, t)
        full.tell(x, 1.0 + x[0], float(t), outcomes=values)
        y = {"y": 1.0 + x[0]} if t < 6 else {"failed": True}
        part.tell(x, t=float(t), outcomes=values, **y)
    places = rng.uniform(size=(5, 2))
    for name in LIMITS:
        found, expected = (opt.predict(places, 12.0, True, outcome=name) for opt in (part, full))
        assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert len(part.X_) == 6


@pytest.mark.parametrize(("kind", "history"), [(GPUCB, None), (WDBO, 3)])
def test_many_partial_results_are_learnt_from_as_one_by_one(kind, history):
    options = {"outcome_constraints": LIMITS, "refit_every": None, "history": history}
    one, many = (kind(BOX, random_state=0, **options) for _ in range(2))
    for opt in (one, many):
        told_in_part(opt, 8)
    rng = np.random.RandomState(0)
    X, t = rng.uniform(size=(9, 2)), np.arange(8.0, 17.0)
    gone = t % 4 == 3
    y = np.where(gone, np.nan, X[:, 0])
    frame = {name: [outcomes(x, s)[name] for x, s in zip(X, t)] for name in LIMITS}
    frame["load"] = [None if s % 4 == 1 else value for s, value in zip(t, frame["load"])]
    many.tell_many(X, y, t, outcomes=frame, failed=gone)
    for i, x in enumerate(X):
        values = {name: column[i] for name, column in frame.items()}
        one.tell(x, None if gone[i] else y[i], t[i], outcomes=values, failed=bool(gone[i]))
    for (rows, values), (others, expected) in zip(rows_of_models(many), rows_of_models(one)):
        assert_allclose(rows, others)
        assert_allclose(values, expected)
    assert_array_equal(many.failed_X_, one.failed_X_)


def test_an_outcome_that_was_never_measured_holds_with_probability_one_half():
    limits = LIMITS | {"cost": (None, 1.0)}
    options = {"reset_period": 5, "n_initial_points": 3, "random_state": 0}
    opt = RGPUCB(BOX, outcome_constraints=limits, **options)
    for t in range(4):
        x = [0.1 * t, 0.2 * t]
        opt.tell(x, 1.0, float(t), outcomes=outcomes(x, t) | {"cost": None})
    with pytest.raises(AskTellError, match=r"measured before predict.* Got 'cost', not measured"):
        opt.predict([0.3, 0.3], 4.0, outcome="cost")
    assert opt.refit()
    p = opt.probability_feasible(opt.recommend(4.0), 4.0)
    assert p <= 0.5
    for other in (RGPUCB.from_json(opt.to_json()), opt.with_parameters(domain=[(0, 1), (0, 3)])):
        x = other.recommend(4.0)
        assert other.probability_feasible(x, 4.0) == pytest.approx(p, abs=0.01)
    opt.tell([0.5, 0.5], 1.0, 5.0, outcomes=outcomes([0.5, 0.5], 5.0) | {"cost": 0.7})
    assert opt.predict([0.5, 0.5], 5.0, outcome="cost") == pytest.approx(0.7)
    opt.tell([0.4, 0.4], 1.0, 30.0, outcomes=dict.fromkeys(limits))  # a reset
    assert len(opt.X_) == 1
    assert opt.probability_feasible([0.3, 0.3], 30.0) == pytest.approx(0.125)
    opt.untell()
    assert opt.predict([0.5, 0.5], 5.0, outcome="cost") == pytest.approx(0.7, abs=0.01)


def test_an_answer_with_other_partial_results_is_another_answer():
    opt = GPUCB(BOX, outcome_constraints=LIMITS, random_state=0)
    queries = opt.suggest(0.0, n=2)
    part = {"load": 0.5, "heat": None}
    for _ in range(2):
        opt.tell(queries[0], failed=True, outcomes=part)
        opt.tell(queries[1], 1.0, outcomes={"load": 0.5, "heat": np.nan})
    assert (opt.n_told_, opt.n_failed_) == (1, 1)
    with pytest.raises(AskTellError, match=r"outcomes=\(0.5, None\). Got outcomes=\(None, None\)"):
        opt.tell(queries[0], failed=True)
    with pytest.raises(AskTellError, match=r"outcomes=\(0.5, None\). Got outcomes=\(0.5, 0.1\)"):
        opt.tell(queries[1], 1.0, outcomes=part | {"heat": 0.1})


def test_a_failure_without_outcomes_neither_widens_nor_narrows(held):
    held = with_fields(held, "limits", excess=0.2)
    x, other = held.ask(30.0), copy.deepcopy(held)
    held.tell(x, failed=True)
    other.tell(x, failed=True, outcomes=outcomes(x, 30.0))
    assert excess(held) == 0.2 > excess(other)


def test_a_start_point_that_violated_without_y_is_not_asked_again(held):
    held.tell([0.2, 0.5], t=1e6, failed=True, outcomes={"load": 2.0, "heat": None})
    assert (held.ask(1e6) != [0.2, 0.5]).any()


# --- the probability ------------------------------------------------------------------------------


@pytest.mark.parametrize("maximize", [True, False])
def test_the_probability_is_that_of_independent_gaussians(maximize):
    limits = LIMITS | {"objective": (-0.5, None)}
    opt = GPUCB(BOX, outcome_constraints=limits, maximize=maximize, random_state=0)
    drive(opt, 12)
    rng, expected = np.random.RandomState(1), 1.0
    X, t = rng.uniform(size=(9, 2)), rng.uniform(12.0, 40.0, size=9)
    for name, (low, high) in limits.items():
        mean, std = opt.predict(X, t, True, outcome=name)
        below = 0.0 if low is None else norm.cdf((low - mean) / std)
        expected *= (1.0 if high is None else norm.cdf((high - mean) / std)) - below
    assert_allclose(opt.probability_feasible(X, t), expected, rtol=1e-9, atol=1e-15)
    assert opt.probability_feasible(X[0], t[0]) == opt.probability_feasible(X, t)[0]


# --- queries --------------------------------------------------------------------------------------


def test_queries_and_recommendations_are_within_the_limits(driven):
    free = WDBO(BOX, random_state=0)
    for t in range(25):
        x = free.ask(float(t))
        free.tell(x, objective(x, t))
    violated = {
        opt: sum(load(x, t) > 0.8 or heat(x, t) > 1.0 for *x, t in opt.told_X_[6:])
        for opt in (free, driven)
    }
    assert violated[driven] <= 3 < 10 < violated[free]
    for t in (25.0, 40.0):
        x = driven.recommend(t)
        assert driven.probability_feasible(x, t) >= 0.5 - 1e-9
        assert load(x, t) < 0.85
        assert objective(x, t) > -0.25


def custom(mean, std, state):
    """Custom acquisition function: a confidence bound."""
    return mean + std, 1.0, 1.0


CUSTOM = Case("custom", WDBO, {"acquisition": custom})


@pytest.mark.filterwarnings("ignore::sktvbo.exceptions.LimitWarning")
@pytest.mark.parametrize(
    "case",
    # Without its expert SparQ-GP-UCB knows the last rows alone.
    some(
        [case for case in (*MODELLED, CUSTOM) if case.kind is not SparQGPUCB],
        [CUSTOM, *(BY_NAME[name] for name in ("WDBO", "ABO", "improvement"))],
    ),
    ids=lambda case: case.name,
)
def test_where_no_limit_can_hold_queries_go_to_the_least_violation(case):
    opt = on_a_line({"c": (None, 0.0)}, case.kind, **copy.deepcopy(case.options))
    queries = measure(opt, 32, lambda x, t: 0.1 + (x - 0.2) ** 2)
    assert np.median(np.abs(queries[-12:] - 0.2)) < 0.05
    assert abs(opt.recommend(31.5)[0] - 0.2) < 0.05 or len(opt.X_) < 5  # after a reset


def test_places_within_the_limits_are_found_beyond_a_local_minimum_of_the_violation():
    """In most of some draws of the outcome; the least violation known at first is elsewhere."""
    found = []
    for seed in range(10):
        rng = np.random.RandomState(seed)
        frequency, phase = rng.normal(size=100) / 0.12, rng.uniform(0.0, 2.0 * np.pi, 100)
        heights = rng.normal(size=100)

        def c(x, frequency=frequency, phase=phase, heights=heights):
            return np.cos(np.outer(x, frequency) + phase) @ heights

        limit = np.quantile(c(np.linspace(0.0, 1.0, 2001)), 0.06)
        opt = on_a_line({"c": (None, limit)}, GPUCB)
        x = measure(opt, 25, lambda x, t, c=c: c(x)[0], lambda x: -x)
        found.append(np.mean(c(x[-10:]) <= limit) > 0.5)
    assert np.mean(found) > 0.5


@pytest.mark.parametrize("domain", [BOX, ARMS, NAMED], ids=["box", "finite", "named"])
def test_far_from_all_data_a_known_point_is_recommended(domain):
    space = as_domain(domain)
    opt = WDBO(domain, outcome_constraints={"c": (None, 0.7)}, random_state=1)
    for t in range(20):
        x = opt.ask(float(t))
        u = space.to_unit(space.validate_point(x))
        opt.tell(x, u[0], outcomes={"c": u[0] + 0.2 * np.sin(t / 3.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", LimitWarning)
        opt.recommend(19.5)
    for t in (500.0, 1000.0):
        with pytest.warns(LimitWarning, match=rf" at t={t:g}\.") as caught:
            x = opt.recommend(t)
        assert caught[0].filename == __file__
        row = space.validate_point(x)
        assert np.isclose(opt.X_[:, :-1], row, rtol=1e-12).all(axis=1).any()
        assert f"probability {opt.probability_feasible(x, t):.2g}." in str(caught[0].message)


@pytest.mark.parametrize("seed", [2, 4])
def test_limits_that_surely_hold_are_no_reason_to_warn(seed):
    opt, rng = on_a_line({"c": (None, 9.0)}), np.random.RandomState(seed)
    measure(opt, 12, lambda x, t: rng.normal(), lambda x: -((x - 0.4) ** 2))  # noise alone
    with warnings.catch_warnings():
        warnings.simplefilter("error", LimitWarning)
        for t in (12.0, 20.0):
            assert abs(opt.recommend(t)[0] - 0.4) < 0.05


# --- persistence and undoing ----------------------------------------------------------------------


def test_untell_takes_outcomes_back(driven):
    before = copy.deepcopy(driven)
    driven.tell([0.9, 0.1], 5.0, 25.0, outcomes={"load": 7.0, "heat": 7.0})
    driven.untell()
    for found, expected in zip(rows_of_models(driven), rows_of_models(before)):
        assert_array_equal(np.column_stack(found), np.column_stack(expected))
    places = np.array([[0.3, 0.2], [0.9, 1.4]])
    driven.tell([0.9, 0.1], 5.0, 25.0, outcomes=outcomes([0.9, 0.1], 25.0))
    assert (driven.predict(places, 25.0, outcome="heat") < 2.0).all()
    for _ in range(driven.n_told_):
        driven.untell()
    assert driven.surrogate_ is None
    assert models(driven) == []


def test_another_domain_without_a_start_point_is_an_error(held):
    with pytest.raises(DomainError, match=r"'start_points' .* inside of the new domain.*\[\[0.2"):
        held.with_parameters(domain=[(0.5, 1.0), (0.0, 2.0)])
    other = held.with_parameters(domain=[(0.1, 1.0), (0.0, 2.0)])
    assert_array_equal(other.start_points, [[0.2, 0.5]])


def test_a_run_keeps_the_limits_that_it_began_with():
    limits = {"load": (None, 0.8)}
    opt = on_a_line(limits, GPUCB)
    opt.ask(0.0)
    limits["load"] = (None, 9.0)
    for t in range(6):
        opt.tell([0.2 * t], 1.0, float(t), outcomes={"load": 1.0 + 0.1 * t})
    for each in (opt, GPUCB.from_json(opt.to_json())):
        assert each.probability_feasible([0.5], 6.0) < 0.5


def test_the_frame_has_the_outcomes(driven):
    driven.tell([0.5, 0.5], t=25.0, failed=True)
    driven.ask(26.0)
    frame = driven.to_frame()
    assert list(LIMITS) == [name for name in frame.columns if name in LIMITS]
    told = frame[~frame.failed & ~frame.pending]
    assert_allclose(told.load, [load(x, t) for *x, t in driven.told_X_])
    assert frame[frame.failed | frame.pending].load.isna().all()
    for given in (frame.drop(columns="heat"), frame.iloc[0].drop("heat")):
        with pytest.raises(InvalidObservationError, match="values named 'load', 'heat'"):
            driven.tell([0.5, 0.5], 1.0, 30.0, outcomes=given)


@pytest.mark.parametrize("name", ["y", "time", "time_", "failed", "query", "speed", "load"])
def test_outcomes_have_names_of_their_own(name):
    domain = {"speed": ("real", 0.0, 1.0), "load": Context(0.0, 1.0)}
    opt = GPUCB(domain, outcome_constraints={"cost": (None, 1.0), name: (None, 9.0)})
    match = f"'outcome_constraints' parameter of GPUCB must be named unlike .* Got '{name}'"
    with pytest.raises(ValueError, match=match):
        opt.ask(0.0, context={"load": 0.5})
    with pytest.raises(ValueError, match=r"Got 'x0' instead\. Choose another name"):
        GPUCB([(0.0, 1.0)], outcome_constraints={"x0": (None, 9.0)}).ask(0.0)


HOURS = np.datetime64("2026-06-01T08:00") + np.arange(10) * np.timedelta64(1, "h")
TOLD_AGAIN = {
    "box in context": (WithContext(BOX, [(0.0, 1.0)]), [0.5], range(10)),
    "named": ({"y": ("real", 0.0, 1.0), "time": ["a", None]}, None, range(10)),
    "dated": (
        {"x": ("real", 0.0, 1.0), "hour": Context(0.0, 24.0), "sky": Context(["sun", "rain"])},
        {"hour": 3.0, "sky": "rain"},
        HOURS,
    ),
}


@pytest.mark.parametrize("kind", TOLD_AGAIN)
def test_a_frame_can_be_told_again(kind):
    domain, context, times = TOLD_AGAIN[kind]
    made = [GPUCB(domain, outcome_constraints=LIMITS, random_state=0) for _ in range(3)]
    first, many, single = made
    for t in times[:9]:
        query = first.suggest(t, context=context)
        values = {"load": 0.1 * query.id, "heat": None if query.id % 3 else 0.1}
        y = {"failed": True} if query.id % 4 == 3 else {"y": 1.0}
        first.tell(query, outcomes=values, **y)
    first.ask(times[9], context=context)
    frame = first.to_frame()
    frame = frame[~frame.pending]
    y, time = ("y_", "time_") if kind == "named" else ("y", "time")
    many.tell_many(frame, frame[y], frame[time], outcomes=frame, failed=frame.failed)
    for _, row in frame.sort_values(time).iterrows():
        single.announce(row, row[time])
        single.tell(row, row[y], row[time], outcomes=row, failed=row.failed)
    for other in (many, single):
        again = other.to_frame()
        assert_array_equal(other.told_X_, first.told_X_)
        assert_array_equal(other.failed_X_, first.failed_X_)
        for name in (y, "load", "heat", "failed"):
            assert_array_equal(again[name], frame[name])
    # Hyperparameters of nine rows may differ: optima with and without noise are as likely.
    for (rows, values), (others, expected) in zip(rows_of_models(many), rows_of_models(first)):
        assert_allclose(rows, others)
        assert_allclose(values, expected)
    single.untell(row if not row.failed else frame.iloc[0])
    assert single.n_told_ == first.n_told_ - 1


def test_outcomes_in_a_table_of_points_are_ignored(driven):
    frame, other = driven.to_frame(), GPUCB(BOX, outcome_constraints=LIMITS, random_state=0)
    other.tell_many(frame, frame.y, frame.time, outcomes=frame[list(LIMITS)])
    assert_array_equal(other.told_X_, driven.told_X_)
    X = frame[["x0", "x1"]]
    for method in (driven.predict, driven.probability_feasible):
        assert_array_equal(method(frame, 26.0), method(X, 26.0))


def test_slices_of_all_searches_come_to_an_end():
    rng, limits = np.random.RandomState(0), dict.fromkeys("abc", (None, 9.0))
    opt = WDBO(BOX, outcome_constraints=limits, refit_every=None, random_state=0)
    for t in range(30):
        x = rng.uniform(size=2)
        opt.tell(
            x, x[0], float(t), outcomes={"a": x[1], "b": rng.normal(), "c": np.sin(9.0 * x[0])}
        )
    expected = copy.deepcopy(opt)
    expected.refit()
    slices, before = 1, [surrogate.theta_ for surrogate in models(opt)]
    while not opt.refit(deadline=1e-9):
        slices += 1
        assert slices < 500
    assert slices > 5
    for found, other, theta in zip(models(opt), models(expected), before):
        assert_allclose(found.theta_, other.theta_)
        assert (found.theta_ != theta).any()


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "match"),
    [
        ({"load": (1.0, 1.0)}, r"low < high. Got 'load'"),
        ({"load": (None, None)}, r"one None for no limit. Got 'load'"),
        ({"load": (-np.inf, 1.0)}, r"one None for no limit. Got 'load': \(-inf, 1.0\)"),
        ({"load": 1.0}, r"pairs .* Got 'load'"),
        ({"load": (0.0, np.nan)}, r"'load'.*finite"),
        ({"load": (0.0, "high")}, r"'load'.*one real number"),
    ],
)
def test_limits_that_make_no_sense(limits, match):
    with pytest.raises(ValueError, match=match):
        WDBO(BOX, outcome_constraints=limits).ask(0.0)


@pytest.mark.parametrize(
    ("outcomes", "match"),
    [
        (None, "outcomes must be values named 'load', 'heat'"),
        ({"load": 1.0}, "Got 'load' instead"),
        ({"load": 1.0, "heat": 1.0, "cost": 1.0}, "and no others"),
        ({"load": 1.0, "heat": np.inf}, r"outcomes\['heat'\] must be finite"),
        ({"load": "low", "heat": 1.0}, r"outcomes\['load'\] must be one real"),
        ([1.0, 2.0], "outcomes must be values named"),
    ],
)
def test_outcomes_that_make_no_sense_change_nothing(driven, outcomes, match):
    before = driven.to_json()
    for told in ({"y": 1.0}, {"failed": True}):
        if outcomes is not None or "y" in told:
            with pytest.raises(InvalidObservationError, match=match):
                driven.tell([0.5, 0.5], t=30.0, outcomes=outcomes, **told)
    assert driven.to_json() == before


@pytest.mark.parametrize("limits", [None, {"objective": (None, 2.0)}])
def test_no_outcomes_are_told_where_none_are_measured(limits):
    opt = GPUCB(BOX, outcome_constraints=limits, random_state=0)
    opt.tell([0.5, 0.5], 1.0, 0.0, outcomes={})
    opt.tell_many([[0.5, 0.5]], [1.0], 1.0, outcomes={})
    assert opt.n_told_ == 2
    with pytest.raises(InvalidObservationError, match="left out without outcome_constraints that"):
        opt.tell([0.5, 0.5], 1.0, 2.0, outcomes={"load": 1.0})
    with pytest.raises(ValueError, match="one of 'objective'"):
        opt.predict([0.5, 0.5], 0.0, outcome="load")


def test_outcomes_of_many_that_all_failed_or_are_none(driven):
    nothing = {name: [np.nan] * 2 for name in LIMITS}
    driven.tell_many([[0.5, 0.5]] * 2, t=[30.0, 31.0], outcomes=nothing, failed=True)
    assert driven.n_failed_ == 2
    driven.tell_many([], [], [], outcomes={name: [] for name in LIMITS})
    assert (driven.n_told_, driven.n_failed_) == (25, 2)
    expected = r"outcomes\['load'\] must be an array of shape \(2,\)"
    for wrong, match in (
        ({"load": [1.0], "heat": [1.0, 2.0]}, expected),
        ({"load": 1.0, "heat": [1.0, 2.0]}, expected),
        ({"load": [1.0, np.inf], "heat": [1.0, 2.0]}, r"outcomes\['load'\] must be finite"),
        ({"load": [1.0, "low"], "heat": [1.0, 2.0]}, r"outcomes\['load'\] must be real"),
        ({"load": [1.0, 1e300], "heat": [1.0, 2.0]}, r"outcomes\['load'\]"),
        ([{"load": 1.0, "heat": 1.0}] * 2, "Got .{'load': 1.0"),
    ):
        with pytest.raises(InvalidObservationError, match=match):
            driven.tell_many([[0.5, 0.5]] * 2, [1.0, 2.0], [32.0, 33.0], outcomes=wrong)


def test_an_unknown_outcome_cannot_be_predicted(driven):
    with pytest.raises(ValueError, match=r"one of 'load', 'heat', 'objective'\. Got 'cost'"):
        driven.predict([0.5, 0.5], 30.0, outcome="cost")


def test_without_limits_everything_is_feasible():
    opt = WDBO(BOX, random_state=0)
    opt.tell([0.5, 0.5], 1.0, 0.0)
    assert opt.probability_feasible([0.1, 0.1], 5.0) == 1.0
    assert "limits" not in parts_of(opt)


# --- required safety ------------------------------------------------------------------------------


def cautious(safety=0.95, **options):
    options = {"start_points": [[0.2, 0.5]], "random_state": 0} | options
    return WDBO(BOX, outcome_constraints=LIMITS, safety=safety, **options)


@pytest.fixture(scope="module")
def _cautious():
    return drive(cautious(), 30)


@pytest.fixture
def held(_cautious):
    return copy.deepcopy(_cautious)


def test_queries_are_certified_and_reach_the_optimum():
    """A query that is not certified is the start point: one step in one of twenty runs."""
    opt, level, uncertified = cautious(), 0.95, 0
    for t in range(55):
        x = opt.ask(float(t))
        if opt.surrogate_ is None:
            assert np.abs((x - [0.2, 0.5]) / [1.0, 2.0]).max() <= 0.1 + 1e-9
        elif t > 30 and opt.probability_feasible(x, float(t)) < level - 1e-3:
            assert_array_equal(x, [0.2, 0.5])
            uncertified += 1
        assert load(x, t) < 0.8
        assert heat(x, t) < 1.0
        opt.tell(x, objective(x, t), outcomes=outcomes(x, t))
    assert uncertified <= 1
    assert load(x, 54.0) > 0.7
    assert opt.probability_feasible(opt.recommend(55.0), 55.0) >= level


def test_when_nothing_is_certified_a_start_point_is_asked(held):
    with warnings.catch_warnings():
        warnings.simplefilter("error", LimitWarning)
        x = held.ask(1e6)  # a lone one is no warning
    assert_array_equal(x, [0.2, 0.5])
    held.tell(x, 0.0, outcomes={"load": 2.0, "heat": 0.0})
    with pytest.warns(LimitWarning, match="least risky known point is queried") as caught:
        assert (held.ask(1e6 + 1.0) != [0.2, 0.5]).any()
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("ignore::sktvbo.exceptions.LimitWarning")
@pytest.mark.parametrize("told", [{"y": 0.0}, {"failed": True}])
def test_violations_of_certified_queries_widen_the_deviations_and_these_narrow_again(held, told):
    before, x = excess(held), held.ask(30.0)
    held.tell(x, **told, outcomes=outcomes(x, 30.0) | {"load": 3.0})
    widened = excess(held)
    assert widened > before + 0.2
    held.tell([0.9, 1.9], 0.0, 30.0, outcomes={"load": 3.0, "heat": 3.0})  # not asked for
    assert excess(held) == widened
    drive(held, 50, 31)
    assert 0.0 <= excess(held) < widened
    assert excess(WDBO.from_json(held.to_json())) == excess(held)


def test_robust_surrogates_of_outcomes_ignore_outliers():
    limits = {"load": (None, 0.8)}
    errors = []
    for robust in (True, False):
        opt = GPUCB(BOX, outcome_constraints=limits, robust=robust, random_state=0)
        rng = np.random.RandomState(0)
        for t in range(25):
            x = rng.uniform(size=2)
            told = 20.0 if t == 20 else load(x, t) + 0.01 * rng.normal()
            opt.tell(x, objective(x, t), t, outcomes={"load": told})
        X = rng.uniform(size=(20, 2))
        errors.append(np.abs(opt.predict(X, 25.0, outcome="load") - load(X.T, 25.0)).mean())
    assert errors[0] < 0.1 < 0.5 < errors[1]


def test_the_objective_may_have_a_floor():
    limits = {"objective": (-0.6, None)}
    options = {"safety": 0.9, "start_points": [[0.7, 1.0]], "random_state": 0}
    opt = WDBO(BOX, outcome_constraints=limits, **options)
    for t in range(30):
        x = opt.ask(float(t))
        assert objective(x, t) > -0.6
        opt.tell(x, objective(x, t))
    with pytest.raises(ValueError, match="start_points"):
        WDBO(BOX, outcome_constraints=limits, safety=0.9).ask(0.0)
    with pytest.raises(ValueError, match="outcome_constraints"):
        WDBO(BOX, **options).ask(0.0)


# --- loops ----------------------------------------------------------------------------------------


def looped(function, n_calls, **options):
    return optimize(function, BOX, n_calls=n_calls, clock=StepClock(), **options)


def test_a_function_may_return_outcomes_to_optimize():
    def function(x, t):
        if t == 5.0:
            raise OSError("no answer")
        return objective(x, t), outcomes(x, t)

    options = {"outcome_constraints": LIMITS, "random_state": 0}
    found = looped(function, 20, catch=OSError, **options)
    assert found.calls[5].outcomes is None
    assert found.calls[6].outcomes == outcomes(found.calls[6].x, 6.0)
    assert found.optimizer.n_told_ == 19
    assert found.optimizer.probability_feasible(found.x, 20.0) >= 0.5 - 1e-9
    with pytest.raises(InvalidObservationError, match="left out without outcome_constraints"):
        looped(lambda x, t: (1.0, {"load": 2.0}), 2)


def test_a_call_whose_outcome_is_no_finite_number_may_be_a_failure():
    found = looped(
        *(lambda x, t: (1.0, {"load": np.inf if t == 1.0 else 0.5}), 3),
        catch=InvalidObservationError,
        outcome_constraints={"load": (None, 0.8)},
    )
    assert [call.error is None for call in found.calls] == [True, False, True]
    assert found.optimizer.n_failed_ == 1


@pytest.mark.parametrize("catch", [(), InvalidObservationError])
def test_a_function_may_return_a_part_of_its_results_to_optimize(catch):
    def function(x, t):
        results = [(1.0, None), (None, 0.6), (2.0, 0.5), (np.nan if catch else None, 0.7)]
        y, value = results[int(t)]
        return y, {"load": value}

    found = looped(function, 4, catch=catch, outcome_constraints={"load": (None, 0.8)})
    assert_array_equal([call.y for call in found.calls], [1.0, np.nan, 2.0, np.nan])
    assert [call.error is None for call in found.calls] == [True, True, True, not catch]
    assert_array_equal(found.optimizer.to_frame().load, [np.nan, 0.5, 0.6, 0.7])
    assert_allclose(found.x, found.calls[2].x, atol=0.01)  # the best one within the limit
    with pytest.raises(InvalidObservationError, match="y must be"):
        looped(lambda x, t: None, 1)


class Plant(Problem):
    """A problem with a moving limit."""

    outcome_constraints: ClassVar = {"load": (None, 0.8)}
    outcome_noise_variances: ClassVar = {"load": 1e-4}

    def _values(self, X, t):
        return X[:, 0]

    def _outcomes(self, X, t):
        return {"load": X[:, 0] + 0.2 * np.sin(t / 9.0)}


def test_a_run_reports_violations():
    problem = Plant("plant", [(0.0, 1.0)], horizon=12.0)
    x_star, f_star = problem.optimum(11.0)
    assert_allclose(f_star, 0.8 - 0.2 * np.sin(11.0 / 9.0), atol=1e-3)
    assert not problem.violates(x_star, 11.0)
    assert abs(problem.observe_outcomes(0.5, 0.0)["load"] - 0.5) < 0.1
    limited, free = (
        run(WDBO(n_initial_points=5, outcome_constraints=limits), problem, n_initial=5)
        for limits in (Plant.outcome_constraints, None)
    )
    loads = limited.queries[:, 0] + 0.2 * np.sin(limited.times / 9.0)
    assert_array_equal(limited.violations, loads > 0.8)
    assert limited.violations[5:].mean() < 0.3 < 0.5 < free.violations[5:].mean()
    again = RunResult.from_dict(json.loads(json.dumps(limited.to_dict())))
    assert_array_equal(again.violations, limited.violations)
    assert RunResult.from_dict(limited.to_dict() | {"violations": None}).violations is None
    with pytest.raises(ValueError, match="different lengths"):
        RunResult.from_dict(limited.to_dict() | {"violations": [True]})


@pytest.mark.parametrize(("name", "safety"), [("ei", None), ("pi", 0.9)])
def test_improvements_are_over_the_best_place_within_the_limits(name, safety):
    start = {} if safety is None else {"safety": safety, "start_points": [[0.1]]}
    opt = on_a_line({"c": (None, 0.5)}, acquisition=name, **start)
    # The objective is the larger, the farther beyond the limit.
    x = measure(opt, 40, lambda x, t: x + 0.1 * np.sin(t / 8.0))
    beyond = np.maximum(x + 0.1 * np.sin(np.arange(40) / 8.0) - 0.5, 0.0)
    assert beyond[10:].mean() < 0.05
    assert x[10:].mean() > 0.4


@pytest.mark.parametrize(("limit", "is_on_the_way"), [(9.0, True), (1.0, False)])
def test_a_step_to_a_better_place_beyond_reach_does_not_violate_a_limit(limit, is_on_the_way):
    """From a hill at 0.2; a higher one is at 0.8, and the outcome is 2 from 0.25 on."""
    held = {"noise_variance": 1e-3, "normalize_y": True, "optimizer": None}
    surrogate = TimeVaryingGPRegressor(Matern(0.05), Matern(1e3), **held)
    options = {"surrogate": surrogate, "max_step": 0.1, "n_initial_points": 5}
    opt = on_a_line({"c": (None, limit)}, GPUCB, **options)
    x = np.array([0.8, 0.825, 0.775, *np.linspace(0.15, 0.4, 11), 0.2])
    y = np.where(x > 0.5, 4.0 - 100.0 * (x - 0.8) ** 2, 1.0 - 20.0 * (x - 0.2) ** 2)
    outcomes = {"c": np.where((x > 0.24) & (x < 0.5), 2.0, 0.0)}
    opt.tell_many(x[:, np.newaxis], y, np.arange(15.0), outcomes=outcomes)
    opt.announce([0.2], 15.0)
    assert (opt.ask(16.0)[0] > 0.29) == is_on_the_way


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**30])
def test_queries_beside_constant_outcomes_do_not_depend_on_the_unit(unit):
    queries = []
    for u in (1.0, unit):
        opt, x = told_of((None, 0.6 * u), np.full(10, 0.5 * u)), []
        for t in range(10, 13):  # later ones have equally good places
            x.append(opt.ask(float(t))[0])
            opt.tell([x[-1]], np.sin(5.0 * x[-1]), outcomes={"load": 0.5 * u})
        queries.append(x)
    assert_allclose(*queries, atol=1e-3)
    assert 0.34 < max(queries[0]) < 0.36  # a step from what is known


@pytest.mark.parametrize("value", [0.6, 0.7])
def test_constant_outcomes_at_the_limit_or_beyond_it_are_not_certified(value):
    opt = told_of((None, 0.6), np.full(10, value))
    assert_array_equal(opt.ask(10.0), [0.2])  # the start point, which was not measured
    opt.ask(11.0)
    with pytest.warns(LimitWarning, match="No point within reach"):
        opt.ask(12.0)


# --- violations that no model expects -------------------------------------------------------------

# Excess from which on no place is certified.
LARGEST = 4.4


@pytest.mark.parametrize(("value", "is_certified"), [(4.39, True), (LARGEST, False)])
def test_nothing_is_certified_from_the_largest_excess_on(value, is_certified):
    opt = told_of((None, 100.0), np.linspace(0.0, 0.2, 10))
    opt.tell(opt.ask(10.0), np.sin(1.0), outcomes={"load": 0.1})
    opt = with_fields(opt, "limits", excess=value)
    x = opt.ask(11.0)
    assert (x != [0.2]) == is_certified  # the start point
    opt.tell(x, np.sin(5.0 * x[0]), outcomes={"load": 0.1})
    assert excess(opt) == pytest.approx(value - 0.5 * 0.1)


@pytest.mark.filterwarnings("ignore::sktvbo.exceptions.LimitWarning")
@pytest.mark.parametrize(
    ("kind", "level", "n"),
    [
        (WDBO, 0.8, 60),
        pytest.param(WDBO, 0.95, 300, marks=pytest.mark.slow),
        pytest.param(ETGPUCB, 0.8, 300, marks=pytest.mark.slow),
    ],
)
def test_certified_queries_violate_at_most_as_often_as_allowed_whatever_the_outcome_does(
    kind, level, n
):
    # An adversary: half of the queries but the start point are measured far beyond the limit.
    rng, n_violations = np.random.RandomState(0), 0
    opt = on_a_line({"c": (None, 1.0)}, kind, safety=level, start_points=[[0.1]])
    for t in range(n):
        x = opt.ask(t)
        moved = abs(x[0] - 0.1) > 1e-9
        beyond = moved and rng.uniform() < 0.5
        if beyond and opt.surrogate_ is not None:
            n_violations += parts_of(opt)["limits"]["refused"] == 0
        opt.tell(x, x[0], outcomes={"c": 1.5 if beyond else 0.5})
        assert not beyond or excess(opt) < LARGEST + 0.5
    assert 5 <= n_violations <= (1.0 - level) * n + LARGEST / 0.5 + 1.0


@pytest.mark.parametrize("name", ["c", "objective"])
def test_violations_of_what_was_told_are_counted(name):
    limits = {"c": (None, 9.0), name: (None, 1.0)}
    opt = on_a_line(limits, safety=0.9, start_points=[[0.5]])
    noise = 0.3 * np.random.RandomState(0).standard_normal((30, 2))
    opt.tell_many(np.full((30, 1), 0.5), noise[:, 0], np.arange(30), outcomes={"c": noise[:, 1]})
    # The model takes 1.9 for noise.
    x, told = opt.ask(30), {"c": 0.0, "objective": 0.0} | {name: 1.9}
    opt.tell(x, told["objective"], outcomes={"c": told["c"]})
    assert excess(opt) == pytest.approx(0.5 * 0.9)


@pytest.mark.parametrize("maximize", [pytest.param(True, marks=pytest.mark.slow), False])
def test_et_gp_ucb_forgets_when_an_outcome_jumps_and_the_objective_does_not(maximize):
    opt = on_a_line({"c": (None, 1.0)}, ETGPUCB, safety=0.9, maximize=maximize)
    for t in range(31):
        x = opt.ask(t)
        y = (x[0] - 0.6) ** 2
        opt.tell(x, -y if maximize else y, outcomes={"c": x[0] - (0.0 if t < 30 else 2.0)})
        assert opt.policy_.n_resets_ == (t == 30)
    assert len(opt.X_) == 1
    assert opt.policy_.steps_ == 0
