"""Optimizers that go on with other parameters, and with another domain."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from contract.cases import ARMS, BOX, BY_NAME, NAMED, ROUNDING, STEPS, in_turns, same_state, some
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import LinearConstraint
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern
from stored import parts_of

from sktvbo import GPUCB, WDBO, BayesianOptimizer, RandomSearch, TimeVaryingGPRegressor
from sktvbo.domain import Arms, Box, Constrained, Context, FiniteSet, ParameterSpace, WithContext
from sktvbo.exceptions import AskTellError, DomainError, JournalError
from sktvbo.gaussian_process._hyperparameters import log_posterior
from sktvbo.journal._encoding import outline
from sktvbo.kernels import Empirical
from sktvbo.staleness import SlidingWindow

SAME = {"box": BOX, "finite": FiniteSet(ARMS.points), "named": NAMED}
NARROW = {
    "box": [(0.5, 1.0), (-1.0, 0.0)],
    "finite": FiniteSet(ARMS.points[::2]),
    "named": {
        "rate": ("real", 0.2, 0.6),
        "alpha": ("log-real", 1e-2, 10.0),
        "depth": ("integer", 3, 7),
        "loss": ["l2", "huber"],
    },
}


def matern(length_scale=0.3, **options):
    return TimeVaryingGPRegressor(
        Matern(length_scale), Matern(20.0), noise_variance=0.01, optimizer=None, **options
    )


def started(domain, steps=12, value=lambda x: float(np.sin(np.sum(x))), **options):
    options = {"surrogate": matern(), "n_initial_points": 4} | options
    opt = BayesianOptimizer(domain, random_state=0, **options)
    for t in range(steps):
        x = opt.ask(t)
        opt.tell(x, value(x), t)
    return opt


def value_of_dict(x):
    return float(sum(v for v in x.values() if isinstance(v, float)))


# Another value of parameters that have their own effect; a dict has those that go together.
OTHERS = {
    "domain": [(0.0, 3.0), (-1.0, 0.5)],
    "surrogate": matern(),
    "policy": SlidingWindow(5),
    "n_initial_points": 4,
    "clock": "step",
    "constraints": LinearConstraint([1.0, 0.0], 0.0, 1.9),
    "random_state": 5,
    "history": 4,
    "max_step": 0.2,
    "start_points": [[1.0, 0.0]],
    "query_timeout": 50.0,
    "max_size": 9,
    "seasonal_periods": 7.0,
    "robust": True,
    "outcome_constraints": {"objective": (-9.0, None)},
    "safety": {
        "safety": 0.6,
        "start_points": [[1.0, 0.0]],
        "outcome_constraints": {"objective": (-9.0, None)},
    },
    "alpha": 0.5,
    "window": 5,
}

# What would have no effect, and is refused, by the name of the case.
REFUSED = {"surrogate": {"SparQGPUCB-expert", "SparQGPUCB", "WGPUCB", "TVGPUCB-fixed"}}
HELD = {"maximize", "time_unit", "journal"}


def others_of(case, opt):
    """Return the changes that an optimizer takes, one by one; what is not in the table stays."""
    refused = {name for name, cases in REFUSED.items() if case.name in cases}
    return {
        key: OTHERS[key] if key == "safety" else {key: OTHERS.get(key, value)}
        for key, value in opt.get_params(deep=False).items()
        if key not in HELD | refused
    }


# --- every algorithm ------------------------------------------------------------------------------


@in_turns("domain", SAME)
def test_in_the_same_domain_nothing_changes(few, domain):
    opt, _ = few.after(domain=domain)
    same = opt.with_parameters(domain=SAME[domain])
    same_state(opt, same)
    assert type(same) is type(opt)
    few.consult(opt, STEPS, domain), few.consult(same, STEPS, domain)
    x, again = opt.suggest(STEPS), same.suggest(STEPS)
    assert (str(x.x), x.t, x.id) == (str(again.x), again.t, again.id)
    if few.modelled:
        places = [query.x for query in same.pending_]
        found, expected = (o.predict(places, STEPS, return_std=True) for o in (same, opt))
        assert_allclose(found, expected, atol=1e-8)


@in_turns("domain", SAME)
def test_queries_lie_inside_and_observations_remain(few, domain):
    opt, _ = few.after(domain=domain)
    before = opt.to_json()
    new = opt.with_parameters(domain=NARROW[domain])
    inside = [new.domain.contains(x) for x in few.after(domain=domain)[1]]
    assert not all(inside)
    assert len(new.X_) == len(opt.X_)
    assert (new.n_told_, new.n_removed_) == (opt.n_told_, opt.n_removed_)
    assert_array_equal(new.told_y_, opt.told_y_)
    assert new.to_frame().loc[:, "time":].equals(opt.to_frame().loc[:, "time":])
    for t in range(STEPS, STEPS + 4):
        x = new.ask(t)
        assert new.domain.contains(x)
        new.tell(x, float(t % 3))
        assert new.domain.contains(new.recommend(t))
        if few.expert:
            assert all(new.domain.contains(q) for q in new.ask_expert(t))
    assert new.n_told_ == opt.n_told_ + 4
    again = type(new).from_json(new.to_json())
    same_state(new, again, 1e-6)
    rows = [o.domain.validate_point(o.ask(STEPS + 4)) for o in (again, new)]
    assert_allclose(*rows, atol=ROUNDING)
    assert opt.to_json() == before


def test_every_parameter_may_change(few):
    opt, _ = few.after(8)
    opt.tell([0.2, 0.3], t=8.0, failed=True)
    opt.announce([0.1, -0.2], 8.0)
    before = opt.to_json()
    for name, changes in others_of(few, opt).items():
        new = opt.with_parameters(**changes)
        assert type(new) is type(opt)
        shown = new.get_params() | {"domain": OTHERS["domain"]}
        assert all(str(shown[key]) == str(value) for key, value in changes.items())
        assert new.domain == (Box(OTHERS["domain"]) if name == "domain" else opt.domain)
        assert_array_equal(new.told_y_, opt.told_y_[-4:] if name == "history" else opt.told_y_)
        assert (new.n_told_, new.n_failed_) == (opt.n_told_, opt.n_failed_)
        assert [query.id for query in new.pending_] == [query.id for query in opt.pending_]
        assert new.suggest(9.0).id == opt.pending_[-1].id + 1
    assert opt.to_json() == before


def test_a_journal_holds_the_run_with_its_new_parameters(few, tmp_path):
    opt = few.make(journal=tmp_path / "old.db")
    few.drive(opt, 8)
    changes = {"max_step": 0.2, "clock": "step", "history": 4, "query_timeout": 50.0}
    if few.modelled:
        changes |= {"max_size": 9, "outcome_constraints": {"objective": (-9.0, None)}}
    new = opt.with_parameters(**changes, journal=tmp_path / "new.db")
    few.drive(new, 2, 8)
    opt.close(), new.close()
    with pytest.raises(JournalError, match="holds a run already"):
        opt.with_parameters(max_step=0.2, journal=opt.journal)
    again, old = (BayesianOptimizer.resume(tmp_path / name) for name in ("new.db", "old.db"))
    same_state(new, again, 1e-6)
    same_state(opt, old, 1e-6)
    shown = again.get_params(deep=False)
    assert {name: shown[name] for name in changes} == changes
    assert_allclose(again.ask(10.0), new.from_json(new.to_json()).ask(10.0), atol=ROUNDING)


def test_a_refused_parameter_changes_nothing(tmp_path):
    opt, _ = BY_NAME["WDBO"].after(6)
    before = opt.to_json()
    limits = {"latency": (None, 1.0)}
    for changes, match in [
        ({"maximize": False}, r"'maximize' parameter of \w+ must be as before \(True\)"),
        ({"time_unit": "h"}, r"'time_unit' parameter of \w+ must be as before \('s'\)"),
        ({"max_step": -1.0}, "'max_step' parameter"),
        ({"speed": 1.0}, "Invalid parameter 'speed'"),
        ({"start_points": [[9.0, 9.0]]}, "start_points"),
        ({"constraints": "x < 1"}, "constraint"),
        ({"outcome_constraints": limits}, "measured outcomes: 'objective'. Got a limit of 'lat"),
        ({"safety": 0.9}, "'outcome_constraints' parameter of .* given with safety=0.9. .* the li"),
    ]:
        with pytest.raises(ValueError, match=match):
            opt.with_parameters(**changes, journal=tmp_path / "new.db")
    assert not list(tmp_path.iterdir())
    assert opt.to_json() == before


# --- parameters other than the domain -------------------------------------------------------------


def limited(high=1.0, steps=12, **options):
    """Return a run whose latency and load grow with x."""
    limits = {"load": (None, 10.0), "latency": (None, high)}
    opt = started([(0.0, 1.0)], 0, outcome_constraints=limits, maximize=False, **options)
    for t in range(steps):
        told(opt, t)
    return opt


def told(opt, t):
    x = opt.ask(t)
    known = {"load": 3.0 * x[0], "latency": 2.0 * x[0]}
    names = opt.outcome_constraints or ()
    opt.tell(x, -x[0], t, outcomes={name: known[name] for name in names} or None)
    return x[0]


def test_a_limit_becomes_stricter_and_outcomes_are_left_out():
    opt = limited()
    same = opt.with_parameters(outcome_constraints={"load": (None, 10.0), "latency": (None, 1.0)})
    assert same.ask(12.0) == limited().ask(12.0)
    new = opt.with_parameters(outcome_constraints={"latency": (None, 0.5)})
    assert [round(o.probability_feasible([0.4], 12.0)) for o in (opt, new)] == [1, 0]
    assert_allclose(new.predict([0.4], 12, outcome="latency"), 0.8, atol=0.05)
    assert_array_equal(new.to_frame()["latency"], opt.to_frame()["latency"])
    assert "load" not in new.to_frame()
    assert max(told(new, t) for t in range(12, 18)) < 0.3
    assert abs(new.recommend(18)[0] - 0.25) < 0.02
    same_state(new, BayesianOptimizer.from_json(new.to_json()), 1e-6)
    free = new.with_parameters(outcome_constraints=None)
    assert max(told(free, t) for t in range(18, 24)) > 0.9
    with pytest.raises(ValueError, match=r"'objective'. Got a limit of 'load'.* tell_many"):
        new.with_parameters(outcome_constraints={"load": (None, 1.0)})
    # Nothing was told yet.
    new = limited(steps=0).with_parameters(outcome_constraints={"other": (None, 1.0)})
    new.tell([0.1], 1.0, 0.0, outcomes={"other": 2.0})


@pytest.mark.parametrize("change", [{"seasonal_periods": None}, {"robust": True}])
def test_other_models_are_those_of_outcomes_as_well(change):
    limits = {"load": (None, 2.0)}
    opt = WDBO([(0.0, 1.0)], seasonal_periods=4.0, outcome_constraints=limits, random_state=0)
    for t in range(12):
        x = opt.ask(t)
        opt.tell(x, x[0], outcomes={"load": x[0]})
    new = opt.with_parameters(**change)
    parts = parts_of(new)
    for model in (parts["surrogate"], parts["limits"]["models"]):
        text = json.dumps(model)
        assert ("ExpSineSquared" in text) == (new.seasonal_periods is not None)
        assert ('"robust": true' in text) == new.robust
    new.refit()


def test_safety_begins_at_the_start_points_that_are_given():
    opt = limited(steps=20)
    new = opt.with_parameters(safety=0.9, start_points=[[0.1]])
    assert told(new, 20) == 0.1
    assert max(told(new, t) for t in range(21, 30)) < 0.55


def test_start_points_that_are_given_are_asked_next():
    opt = started([(0.0, 1.0)], start_points=[[0.5], [0.6], [0.7]], steps=2)
    new = opt.with_parameters(start_points=[[0.2], [0.8]])
    assert [new.ask(3.0)[0] for _ in range(2)] == [0.2, 0.8]
    assert opt.with_parameters(refit_every=2).ask(3.0)[0] == 0.7


def test_another_surrogate_is_fitted_to_the_observations():
    options = {"n_initial_points": 5, "random_state": 0}
    opt = BayesianOptimizer([(0.0, 1.0)], **options)
    for t in range(14):
        x = opt.ask(t)
        opt.tell(x, float(np.sin(6.0 * x[0])))
    for changes in (
        {"robust": True},
        {"seasonal_periods": 4.0},
        {"surrogate": matern()},
        {"max_size": 20},  # where observations may be removed, the rough part is short
    ):
        new = opt.with_parameters(**changes)
        fresh = BayesianOptimizer([(0.0, 1.0)], **options, **changes)
        fresh.tell_many(opt.told_X_[:, :1], opt.told_y_, opt.told_X_[:, 1])
        assert_allclose(new.surrogate_.theta_, fresh.surrogate_.theta_, atol=1e-6)
        assert hasattr(new.surrogate_, "outlier_weights_") == ("robust" in changes)
    held = opt.with_parameters(acquisition="mean", n_initial_points=8)
    assert held._run.surrogate is opt._run.surrogate
    limited, _ = BY_NAME["WDBO"].after()
    assert limited.with_parameters(max_size=12)._run.surrogate is limited._run.surrogate
    with pytest.raises(ValueError, match=r"periods if times are numbers. Got 'auto'"):
        opt.with_parameters(seasonal_periods="auto")


def test_a_policy_with_other_parameters_starts_again():
    opt, _ = BY_NAME["WDBO"].after()
    same = opt.with_parameters(max_step=0.5)._run.policy
    assert same is opt._run.policy
    new = opt.with_parameters(alpha=0.25)
    assert (new.policy_.alpha, new.policy_.budget_) == (0.25, None)
    assert new._run.surrogate is opt._run.surrogate
    named, _ = BY_NAME["improvement"].after()
    assert named.with_parameters(policy__alpha=0.5, acquisition__xi=0.3).policy_.alpha == 0.5
    assert named.policy_.alpha == named.policy.alpha == 2.0


def test_random_states_clocks_and_timeouts():
    opt = RandomSearch([(0.0, 1.0)], random_state=0)
    opt.tell([0.5], 1.0, t=100.0)
    fresh = RandomSearch([(0.0, 1.0)], random_state=7)
    assert opt.with_parameters(random_state=7).ask(101)[0] == fresh.ask(0)[0]
    assert opt.with_parameters(clock=lambda: 170.0).now() == 170.0
    assert opt.with_parameters(clock="calendar").now() >= 100.0
    query = opt.suggest(101.0)
    new = opt.with_parameters(query_timeout=5.0)
    assert [len(o.pending_) for o in (new, opt)] == [1, 1]
    new.ask(107.0)
    assert [q.id for q in new.pending_] == [query.id + 1]
    new.tell(query, 1.0)


def test_a_longer_history_cannot_bring_back_what_was_dropped():
    opt = RandomSearch([(0.0, 1.0)], random_state=0, history=3)
    X = np.linspace(0.0, 1.0, 300)[:, np.newaxis]
    opt.tell_many(X, X[:, 0], np.arange(300.0))
    assert len(opt.with_parameters(history=200).told_y_) == 200
    for history in (None, 257):
        with pytest.raises(ValueError, match="'history' parameter of RandomSearch must be at most"):
            opt.with_parameters(history=history)


# --- hyperparameters ------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["fmin_l_bfgs_b", None])
def test_lengthscales_of_columns_and_logarithms(optimizer):
    space = {"a": ("log-real", 1e-3, 1.0), "b": ("real", 0.0, 4.0)}
    gp = TimeVaryingGPRegressor(Matern([0.3, 0.6]), Matern(20.0), optimizer=optimizer)
    opt = started(space, surrogate=gp, value=value_of_dict, refit_every=None)
    new = opt.with_parameters(domain={"b": ("real", 1.0, 3.0), "a": ("log-real", 1e-6, 1.0)})
    assert new.domain.names == ("a", "b")
    before = opt.surrogate_.spatial_kernel_.length_scale
    assert_allclose(new.surrogate_.spatial_kernel_.length_scale, before * np.array([0.5, 2.0]))
    assert_allclose(new.surrogate_.temporal_kernel_.theta, opt.surrogate_.temporal_kernel_.theta)
    places = [{"a": 0.01, "b": 2.0}, {"a": 1.0, "b": 3.0}]
    assert_allclose(new.predict(places, 12), opt.predict(places, 12), atol=1e-6)
    assert_allclose(new.to_frame()["b"], opt.to_frame()["b"])


def test_one_lengthscale_is_multiplied_by_the_geometric_mean():
    new = started([(0.0, 1.0), (0.0, 1.0)]).with_parameters(domain=[(0.0, 1.0), (0.0, 4.0)])
    assert_allclose(new.surrogate_.spatial_kernel_.length_scale, 0.15)
    space = {"a": ("real", 0.0, 1.0), "c": ["u", "v", "w"]}
    opt = started(space, value=value_of_dict)
    new = opt.with_parameters(domain=space | {"a": ("real", 0.0, 4.0)})
    assert_allclose(new.surrogate_.spatial_kernel_.length_scale, 0.15)


@pytest.mark.parametrize("rules", [[LinearConstraint([1.0], 0.0, 0.9)], None])
def test_a_domain_with_constraints_is_converted(rules):
    opt = RandomSearch(Constrained([(0.0, 1.0)], LinearConstraint([1.0], 0.0, 0.5)), random_state=0)
    opt.tell(opt.ask(0.0), 1.0)
    domain = Box([(0.0, 2.0)]) if rules is None else Constrained([(0.0, 2.0)], rules)
    new = opt.with_parameters(domain=domain)
    assert new.domain == domain
    assert domain.contains(new.ask(1.0))
    assert new.told_y_.tolist() == [1.0]


# --- arms, members, categories --------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Matern(2.0), Empirical(0.5 + 0.5 * np.eye(5))])
def test_arms(kernel):
    best = lambda x: -abs(x[0] - 1.0)  # noqa: E731
    gp = TimeVaryingGPRegressor(kernel, Matern(50.0), optimizer=None)
    opt = started(Arms(3), value=best, surrogate=gp)
    new = opt.with_parameters(domain=Arms([0, 2, 3, 4]))
    assert_allclose(new.predict([[0], [2]], 12), opt.predict([[0], [2]], 12), atol=1e-10)
    asked = set()
    for t in range(12, 30):
        x = new.ask(t)
        asked.add(x[0])
        new.tell(x, 1.0 - abs(x[0] - 4.0))
    assert 4.0 in asked <= {0.0, 2.0, 3.0, 4.0}
    assert new.recommend(30) == [4.0]
    assert 1.0 in new.X_[:, 0]
    if isinstance(kernel, Empirical):
        with pytest.raises(ValueError, match="whole numbers from 0 to 4"):
            opt.with_parameters(domain=Arms(6))


def test_a_kalman_filter_tracks_the_new_members():
    gp = TimeVaryingGPRegressor(Matern(0.5), Matern(20.0), solver="kalman", optimizer=None)
    points = np.arange(6.0)[:, np.newaxis]
    opt = started(FiniteSet(points), surrogate=gp, clock="step")
    new = opt.with_parameters(domain=FiniteSet([*points[1:], [9.0], [7.0]]))
    dense = started(FiniteSet(points), surrogate=gp.set_params(solver="dense"))
    dense = dense.with_parameters(domain=new.domain)
    assert_allclose(new.predict(new.domain.points, 12), dense.predict(new.domain.points, 12))
    for o in (new, dense):
        o.tell([9.0], 2.0, t=12)
    assert_allclose(new.predict(new.domain.points, 13), dense.predict(new.domain.points, 13))


def test_categories_and_ordinals():
    space = {"c": ["u", "v", "w"], "o": ("ordinal", ["low", "middle", "high"])}
    worth = lambda x: 1.0 * (x["c"] == "v") + 0.5 * (x["o"] == "middle")  # noqa: E731
    opt = started(space, value=worth)
    values = ["lowest", "low", "middle", "high", "top"]
    asked = [value for value in values if value != "middle"]
    new = opt.with_parameters(domain={"c": ["x", "w", "u"], "o": ("ordinal", asked)})
    frame = new.to_frame()
    assert frame[["c", "o"]].equals(opt.to_frame()[["c", "o"]])
    assert new.domain.parameters == {
        "c": ("categorical", ["u", "v", "w", "x"], ["u", "w", "x"]),
        "o": ("ordinal", values, asked),
    }
    assert eval(repr(new.domain)) == new.domain
    for t in range(12, 40):
        x = new.ask(t)
        assert x["c"] in {"u", "w", "x"}
        assert x["o"] in asked
        new.tell(x, 2.0 * (x["c"] == "x") + (x["o"] == "top"))
    assert new.recommend(40)["c"] == "x"
    with pytest.raises(DomainError, match=r"x\['c'\] must be the position of a category that may"):
        new.tell({"c": "v", "o": "low"}, 1.0, t=40)
    back = new.with_parameters(domain={"c": ["v"], "o": ("ordinal", ["middle"])})
    assert back.ask(40) == {"c": "v", "o": "middle"}
    assert back.told_y_.tolist() == new.told_y_.tolist()
    back.untell(frame.loc[frame["c"] == "v", ["c", "o"]].iloc[0].to_dict())
    assert back.n_told_ == new.n_told_ - 1


# --- the rest of a run ----------------------------------------------------------------------------


OUTSIDE = {
    "box": [[0.1, 0.5], [1.5, 0.5], [0.2, 0.9], [1.9, -0.5]],
    "finite": ARMS.points[1::2],
    "named": [
        {"rate": rate, "alpha": 2e-3, "depth": 1, "loss": loss}
        for rate, loss in [(0.1, "l1"), (0.9, "l1"), (0.3, None), (0.4, "l2")]
    ],
}


@in_turns("domain", SAME)
def test_a_query_without_an_answer_may_be_answered_outside_of_the_new_domain(few, domain):
    opt, _ = few.after(7, domain)
    opt = opt.with_parameters(query_timeout=5.0)
    late, gone, asked, by_x = (
        opt.announce(x, t) or opt.pending_[-1] for x, t in zip(OUTSIDE[domain], (7, 7, 14, 14))
    )
    opt.ask(14.0)  # the first two have expired
    new = opt.with_parameters(domain=NARROW[domain])
    assert not any(new.domain.contains(query.x) for query in (late, gone, asked, by_x))
    assert not {asked.id, by_x.id}.intersection(query.id for query in new.pending_)
    new.cancel(gone)
    new.tell(by_x.x, 0.5)  # without its handle
    new.tell_many([late, asked], [0.3, 0.4])
    new.tell(late, 0.3)  # told the same again: nothing changes
    frame = new.to_frame().set_index("query")
    for query in (late, asked, by_x):
        point = new.domain.described(new.domain.as_row(query.x)[np.newaxis])
        row = frame.loc[query.id]
        assert row["time"] == query.t
        assert all(row[name] == column[0] for name, column in point.items())
    assert new.n_told_ == opt.n_told_ + 3
    with pytest.raises(AskTellError, match="still pending"):
        new.tell(gone, 0.3)
    assert new.domain.contains(new.ask(14.0))


def test_queries_follow_when_values_of_an_ordinal_are_inserted(few):
    space = {"o": ("ordinal", ["low", "high"]), "a": ("real", 0.0, 1.0)}
    opt = few.make(query_timeout=1.0).set_params(domain=space)
    known = {"o": "high", "a": 0.5}
    opt.announce(known, 0.0)
    opt.tell({"o": "low", "a": 0.1}, 1.0, t=2.0)  # the announced one has expired
    opt.announce(known | {"a": 0.7}, 2.0)
    old, pending = opt._run.pending.unanswered
    new = opt.with_parameters(
        domain=space | {"o": ("ordinal", ["lowest", "low", "middle", "high"])}
    )
    for each, query in ((old, known), (pending, known | {"a": 0.7})):
        new.tell(replace(each, x=query), 2.0)
    assert new.to_frame()["o"].tolist() == ["low", "high", "high"]
    assert_array_equal(new.X_, new.told_X_[np.isnan(new.removed_at_)])


def test_parameters_of_a_run_are_not_set(few):
    opt, _ = few.after(3)
    before, given = opt.to_json(), opt.get_params()
    assert opt.set_params(**given) is opt
    assert opt.set_params(domain=[*BOX], random_state=np.int64(0)) is opt
    others = {name: value for each in others_of(few, opt).values() for name, value in each.items()}
    del others["random_state"]
    others |= {"maximize": False, "journal": "new.db"}
    for name, value in others.items():
        if value is not given[name]:
            with pytest.raises(AskTellError, match=rf"{name}\. with_parameters\({name}=\.\.\.\)"):
                opt.set_params(random_state=0, **{name: value})
    assert opt.get_params() == given
    assert opt.to_json() == before
    assert clone(opt).set_params(max_step=0.2).max_step == 0.2


def test_start_points_outside_are_left_out():
    opt = GPUCB([(0.0, 4.0)], start_points=[[1.0], [3.0], [2.0], [3.5]], random_state=0)
    assert opt.ask(0)[0] == 1.0
    new = opt.with_parameters(domain=[(1.5, 3.2)])
    assert [new.ask(1)[0], new.ask(1)[0]] == [3.0, 2.0]
    assert_array_equal(new.start_points, [[3.0], [2.0]])
    assert opt.with_parameters(domain=[(5.0, 6.0)]).start_points is None
    named = GPUCB({"a": ("real", 0.0, 4.0)}, start_points=[{"a": 1.0}, {"a": 3.0}])
    assert named.with_parameters(domain={"a": ("real", 2.0, 4.0)}).start_points == [{"a": 3.0}]


# --- bad input ------------------------------------------------------------------------------------

ONE = {"a": ("real", 0.0, 1.0)}
ORDINAL = {"o": ("ordinal", [1, 2, 3])}


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ([(0, 1)], [(0, 1), (0, 1)], r"same parameters as before .*'x0',.* Got \('x0', 'x1'\)"),
        ([(0, 1)], Arms(2), r"of the same kind as before \(Box.* Got Arms\(2\) .* new optimizer"),
        (Arms(2), FiniteSet([[0.0], [1.0]]), "of the same kind"),
        (ONE, {"b": ("real", 0.0, 1.0)}, "same parameters"),
        (ONE, ONE | {"b": ("real", 0.0, 1.0)}, "same parameters"),
        (ONE, {"a": ("log-real", 0.1, 1.0)}, r"same kind of 'a' .*'real', 0.0, 1.0.*'log-real'"),
        (ORDINAL, {"o": ("ordinal", [2, 1, 3])}, "same order of the values of 'o'"),
        (ONE, ONE | {"c": Context(0.0, 1.0)}, r"same context as before \(None\)"),
        (ONE | {"c": Context(0.0, 1.0)}, ONE, "same context"),
        (WithContext([(0, 1)], [(0, 1)]), WithContext([(0, 1)], [(0, 2)] * 2), "same parameters"),
        (ONE | {"c": Context(0.0, 1.0)}, ONE | {"d": Context(0.0, 1.0)}, "same parameters"),
        (FiniteSet({"a": [0], "b": [1]}), FiniteSet({"b": [0], "a": [1]}), "same parameters"),
        ([(0, 1)], None, "domain"),
    ],
)
def test_what_cannot_be_converted_is_refused(old, new, match):
    opt = RandomSearch(old, random_state=0)
    with pytest.raises(DomainError, match=match):
        opt.with_parameters(domain=new)


def test_a_lengthscale_for_each_category_is_refused():
    opt = started({"c": ["u", "v"]}, value=lambda x: 0.0, surrogate=matern([0.3, 0.4]))
    opt.with_parameters(domain={"c": ["v"]})
    with pytest.raises(ValueError, match=r"length_scale.* one, or one per column \(3\)"):
        opt.with_parameters(domain={"c": ["u", "v", "w"]})


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        (("categorical", ["a", "b"], ["c"]), "queried part of .*'p'.* some of its values.*'c'"),
        (("categorical", ["a", "b"], []), "list of at least one value"),
        (("ordinal", ["a", "b"], ["a", "a"]), "distinct"),
        (("ordinal", ["a", "b"], ["a"], ["b"]), "list of at least one value"),
    ],
)
def test_the_queried_part_is_checked(spec, match):
    with pytest.raises(DomainError, match=match):
        ParameterSpace({"p": spec})


# --- sequences of changes -------------------------------------------------------------------------

# Changes of a run over a box, each of which the others may precede or follow.
CHANGES = {
    "wider": {"domain": [(0.0, 3.0), (-2.0, 1.0)]},
    "other": {"domain": [(-1.0, 2.0), (-1.0, 1.5)]},
    "constraints": {"constraints": LinearConstraint([1.0, 1.0], -np.inf, 1.5)},
    "none": {"constraints": None},
    "seasons": {"seasonal_periods": 7.0},
    "robust": {"robust": True},
    "limit": {"outcome_constraints": {"objective": (-9.0, None)}},
    "step": {"max_step": 0.3},
    "policy": {"max_size": 12},
}


def assert_like_a_fresh_run(opt):
    """Assert that a run has the parts and the model of a new run with its parameters."""
    fresh = clone(opt)
    fresh.tell_many(opt.told_X_[:, :-1], opt.told_y_, opt.told_X_[:, -1])
    run, other = opt._run, fresh._run
    assert run.parts.keys() == other.parts.keys()
    assert_array_equal(run.domain.upper, other.domain.upper)
    assert run.config.limits == other.config.limits
    excludes = opt.constraints is not None or bool(run.config.limits)
    assert run.excludes_places is other.excludes_places is excludes
    opt.refit(), fresh.refit()
    models = [each._run.surrogate for each in (opt, fresh)]
    names = [set(model.gp.covariance.names) for model in models]
    assert names[0] == names[1]
    for name in ("solver", "robust", "sites", "hyperpriors"):
        one, two = (getattr(model.model, name) for model in models)
        assert outline(one) == outline(two), name
    assert [model.model.prior_mean is None for model in models] in ([True] * 2, [False] * 2)
    if np.array_equal(run.data.positions, other.data.positions):  # of the same observations
        one, two = (log_posterior(model.gp, model.model.hyperpriors) for model in models)
        assert one > two - 1.0
    x = opt.ask(opt.told_X_[-1, -1] + 1.0)
    assert opt._run.domain.contains(x)
    opt.tell(x, 0.0)


PAIRS = [(kind, pair) for pair in itertools.permutations(CHANGES, 2) for kind in (WDBO, GPUCB)]


@pytest.mark.parametrize("pair", some(PAIRS, PAIRS[::4]), ids=str)
def test_after_two_changes_a_run_is_a_fresh_run_that_is_told_the_same(pair):
    kind, names = pair
    options = [CHANGES[name] for name in names]
    if kind is GPUCB:
        options = [change for change in options if "seasonal_periods" not in change]
    opt = kind(BOX, n_initial_points=5, random_state=1)
    for t in range(14):
        x = opt.ask(t)
        opt.tell(x, -float(np.sum((x - [1.0, 0.0]) ** 2)))
    for change in options:
        opt = opt.with_parameters(**change)
    assert_like_a_fresh_run(opt)


@pytest.mark.parametrize("seed", [*range(3), *some(range(3, 12), ())])
def test_after_many_changes_a_run_is_a_fresh_run_that_is_told_the_same(seed):
    rng = np.random.default_rng(seed)
    opt = WDBO(BOX, n_initial_points=5, random_state=seed)
    for t in range(24):
        x = opt.ask(t)
        opt.tell(x, -float(np.sum((x - [1.0, 0.0]) ** 2)))
        if t % 4 == 3:
            opt = opt.with_parameters(**CHANGES[rng.choice(list(CHANGES))])
    assert_like_a_fresh_run(opt)
