"""Contexts without a declared range: it is learnt, and all else is as with a declared one."""

import copy
import pickle

import numpy as np
import pytest
from contract.cases import FEW, ROUNDING, same_state
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo import WDBO, RandomSearch
from sktvbo.domain import Constrained, Context, ParameterSpace, WithContext, as_domain
from sktvbo.exceptions import DomainError
from sktvbo.optimizers._begin import in_learnt_ranges
from sktvbo.optimizers._durable import run_of, with_run
from sktvbo.optimizers._state import Answer

# A context that spans little at first, and then more.
VALUES = 20.0 + np.random.RandomState(0).uniform(size=40) * np.where(np.arange(40) < 8, 0.1, 5.0)


def space(*spec):
    return {"x": ("real", 0.0, 1.0), "c": Context(*(spec or (None, None)))}


def best(c):
    return 0.2 + 0.12 * (c - 20.0)


def drive(opt, start, stop, scale=1.0, shift=0.0):
    for t in range(start, stop):
        x = opt.ask(t, context={"c": scale * VALUES[t] + shift})
        opt.tell(x, -((x["x"] - best(VALUES[t])) ** 2))
    return opt


def made(case, **options):
    return case.make(**options).set_params(domain=space())


def widths(opt):
    """Spread of the contexts of the data set, as the surrogate sees them."""
    return np.ptp(opt.surrogate_.X_train_[:, 1])


def test_the_unit_of_a_context_does_not_matter():
    one = drive(WDBO(space(), random_state=0), 0, 30)
    other = drive(WDBO(space(), random_state=0), 0, 30, scale=2.0**30, shift=2.0**40)
    assert_allclose(other.told_X_[:, 0], one.told_X_[:, 0], atol=1e-3)
    assert_allclose(widths(other), widths(one))


def test_a_range_that_still_fits_stays():
    domain = as_domain(space())
    rows = np.column_stack([np.zeros(50), np.linspace(0.0, 10.0, 50)])
    first = domain.learnt_from(rows)
    for factor, stays in ((1.5, True), (0.6, True), (2.5, False), (0.4, False)):
        again = first.learnt_from(rows * [1.0, factor])
        assert bool(again.upper[1] == first.upper[1]) is stays


@pytest.mark.parametrize(
    ("spec", "scale"),
    [((None, None), lambda v: v), (("log-real", None, None), lambda v: np.exp(2.0 * (v - 20.0)))],
)
def test_the_range_follows_the_contexts(spec, scale):
    opt = WDBO(space(*spec), random_state=0)
    for t, value in enumerate(VALUES):
        x = opt.ask(t, context={"c": scale(value)})
        opt.tell(x, -((x["x"] - best(value)) ** 2))
        if opt.surrogate_ is not None and len(opt.X_) < 8:
            assert 0.5 <= widths(opt) <= 3.0
    assert 0.5 <= widths(opt) <= 3.0
    found = [opt.recommend(40, context={"c": scale(c)})["x"] for c in (21.0, 24.0)]
    assert found == pytest.approx([best(21.0), best(24.0)], abs=0.06)


@pytest.mark.parametrize("few", FEW, ids=lambda case: case.name)
def test_every_algorithm_learns_it(few, tmp_path):
    if few.expert:
        pytest.skip("an expert is not asked in contexts")
    path, opt = tmp_path / "run.db", made(few)
    drive(made(few, journal=path), 0, 7).close()
    resumed = few.kind.resume(path)
    drive(opt, 0, 11), drive(resumed, 7, 11).close()
    assert_array_equal(opt.told_X_[:, 1], VALUES[:11])
    if few.modelled:
        assert widths(opt) < 3.0
    for other in (few.kind.resume(path), few.kind.from_json(opt.to_json())):
        same_state(other, opt, ROUNDING)
    for other in (pickle.loads(pickle.dumps(opt)), copy.deepcopy(opt)):
        same_state(drive(other, 11, 12), drive(copy.deepcopy(opt), 11, 12))


def test_many_are_learnt_from_at_once():
    opt = WDBO(space(), random_state=0)
    X = [{"x": x} for x in np.random.RandomState(1).uniform(size=40)]
    y = [-((x["x"] - best(c)) ** 2) for x, c in zip(X, VALUES)]
    context = [{"c": c} for c in VALUES]
    opt.tell_many(X, y, t=np.arange(40.0), context=context)
    assert 0.5 <= widths(opt) <= 3.0
    found = [opt.recommend(40, context={"c": c})["x"] for c in (21.0, 24.0)]
    assert found == pytest.approx([best(21.0), best(24.0)], abs=0.1)


def test_models_mean_the_same_in_another_range():
    """A change of the range moves no prediction: lengthscales follow."""
    limits = {"outcome_constraints": {"p": (None, 1.0)}}
    opt = WDBO(space(), **limits, random_state=0)
    for t, c in enumerate(VALUES[:20]):
        x = opt.ask(t, context={"c": c})["x"]
        opt.tell({"x": x}, -((x - best(c)) ** 2), outcomes={"p": x * c / 20.0})
    query = opt.suggest(20, context={"c": 100.0})
    answer = Answer(np.array([0.5, 100.0]), 0.0, 20.0, 0.0, (1.0,), None)
    wider = with_run(opt, in_learnt_ranges(run_of(opt), [answer] * 40))
    assert widths(wider) < 0.2 * widths(opt)
    X, at = [{"x": x} for x in (0.1, 0.5, 0.9)], {"context": {"c": 22.0}, "return_std": True}
    before, after = (each.predict(X, 20, **at) for each in (opt, wider))
    assert_allclose(after, before, rtol=1e-6)
    assert wider.pending_[0].context == query.context
    same_state(WDBO.from_json(wider.to_json()), wider, ROUNDING)


def test_failures_do_not_move_it():
    opt = drive(WDBO(space(), random_state=0), 0, 20)
    before = widths(opt)
    for _ in range(30):
        opt.tell(opt.suggest(20, context={"c": 1000.0}), failed=True)
    opt.tell_many([opt.suggest(21, context={"c": 1000.0})] * 1, failed=True)
    assert widths(opt) == before


def test_pending_queries_and_outcomes_are_in_the_new_range():
    opt = WDBO(space(), outcome_constraints={"p": (None, 1.0)}, random_state=0)
    for t, value in enumerate(VALUES[:20]):
        waiting = opt.suggest(t, context={"c": value})
        query = opt.suggest(t, context={"c": value})
        opt.tell(query, query.x["x"], outcomes={"p": query.x["x"] * value / 20.0})
        if t % 2:
            opt.cancel(waiting)
    assert_array_equal(opt.pending_X_[:, 1], VALUES[:20:2])
    mean = opt.predict([{"x": 0.5}], 20, context={"c": 22.0}, outcome="p")
    assert mean == pytest.approx([0.55], abs=0.05)


def test_other_parameters_keep_it():
    opt = drive(WDBO(space(), random_state=0), 0, 20)
    X, context = [{"x": x} for x in (0.1, 0.5, 0.9)], {"c": 22.0}
    before = opt.predict(X, 20, context=context)
    for changes in ({"alpha": 0.3}, {"domain": space() | {"x": ("real", 0.0, 1.0)}}):
        other = opt.with_parameters(**changes)
        assert_allclose(other.predict(X, 20, context=context), before, rtol=1e-6)
        assert widths(other) == widths(opt)
        same_state(WDBO.from_json(other.to_json()), other, ROUNDING)
        drive(other, 20, 22)
    declared = opt.with_parameters(domain=space(20.0, 25.0))
    assert widths(declared) == pytest.approx(np.ptp(opt.X_[:, 1]) / 5.0)
    assert_allclose(declared.predict(X, 20, context=context), before, rtol=1e-3, atol=1e-3)
    learnt = declared.with_parameters(domain=space())
    assert widths(learnt) == widths(declared)
    assert opt.domain == space()


@pytest.mark.parametrize("values", [[3.0], [0.0], [7.5, 7.5 * (1.0 + 1e-15)]])
def test_a_context_that_does_not_vary_has_no_range(values):
    opt = WDBO(space(), random_state=0)
    for t in range(12):
        x = opt.ask(t, context={"c": values[t % len(values)]})
        opt.tell(x, -((x["x"] - 0.3) ** 2))
    assert widths(opt) <= 1e-12
    assert opt.recommend(12, context={"c": values[0]})["x"] == pytest.approx(0.3, abs=0.1)


def test_single_outliers_do_not_move_it():
    opt, values = RandomSearch(space(), random_state=0), np.append(VALUES[8:], 1e9)
    for t, value in enumerate(values):
        opt.tell(opt.suggest(t, context={"c": value}), 0.0)
    same_state(RandomSearch.from_json(opt.to_json()), opt)
    domain = as_domain(space()).learnt_from(np.column_stack([np.zeros(len(values)), values]))
    assert np.ptp(domain.to_unit([[0.0, 20.0], [0.0, 25.0]])[:, 1]) < 2.0


def test_constraints_may_read_it():
    limit = {"constraints": [lambda x, c: x["x"] <= 0.04 * c["c"] - 0.5], "random_state": 0}
    opt = drive(WDBO(space(), **limit), 0, 14)
    assert (opt.told_X_[:, 0] <= 0.04 * opt.told_X_[:, 1] - 0.5 + 1e-9).all()
    assert widths(opt) < 3.0
    same_state(WDBO.from_json(opt.to_json(), constraints=limit["constraints"]), opt, ROUNDING)


def test_domains_with_learnt_ranges_are_equal_whatever_they_are():
    domain = as_domain(space())
    other = domain.learnt_from(np.column_stack([np.zeros(40), VALUES]))
    assert other.to_unit([0.0, 25.0])[1] < domain.to_unit([0.0, 25.0])[1]
    assert other == domain != as_domain(space(0.0, 1.0))
    assert eval(repr(domain), {"WithContext": WithContext, "ParameterSpace": ParameterSpace}) == (
        domain
    )
    for again in (pickle.loads(pickle.dumps(other)), copy.deepcopy(other)):
        assert_array_equal(again.to_unit([0.0, 25.0]), other.to_unit([0.0, 25.0]))


@pytest.mark.parametrize(
    "make",
    [
        lambda spec: as_domain(spec),
        lambda spec: as_domain(ParameterSpace(spec)),
        lambda spec: WithContext(spec, [(0.0, 1.0)]),
        lambda spec: Constrained(spec, lambda x: True),
    ],
)
def test_only_contexts_have_no_range(make):
    with pytest.raises(DomainError, match=r"range of 'x' must be two numbers.*None"):
        make({"x": ("real", None, None)})


@pytest.mark.parametrize(
    "spec", [(None, 1.0), (0.0, None), ("integer", None, None), ("cyclic", None, None), (None,)]
)
def test_other_gaps_are_errors(spec):
    with pytest.raises(DomainError):
        as_domain(space(*spec))
