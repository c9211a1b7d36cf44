"""Contexts: measured, told and modelled, and never moved by a query."""

import numpy as np
import pytest
from contract.cases import BY_NAME, points_of, some
from numpy.testing import assert_array_equal
from scipy.optimize import NonlinearConstraint

from sktvbo import WDBO, SparQGPUCB
from sktvbo.domain import Context, WithContext
from sktvbo.exceptions import AskTellError, DomainError

DOMAINS = {
    "box": WithContext([(0.0, 1.0)], [(0.0, 100.0)]),
    "named": {
        "rate": ("real", 0.0, 1.0),
        "load": Context(0.0, 100.0),
        "kind": ["a", "b"],
        "sky": Context(["sun", "rain"]),
    },
}


def context_of(t, domain):
    load = 50.0 + 50.0 * np.sin(2.4 * t)
    return {"load": load, "sky": "rain" if t % 3 else "sun"} if domain == "named" else [load]


def peak(context):
    """Where the best is: nowhere without the context."""
    load = context["load"] if isinstance(context, dict) else context[0]
    return 0.2 + 0.006 * load


def value(x, context):
    first = x["rate"] if isinstance(x, dict) else x[0]
    return -((first - peak(context)) ** 2)


def drive(opt, steps, domain, start=0):
    queries = []
    for t in range(start, start + steps):
        context = context_of(t, domain)
        x = opt.ask(float(t), context=context)
        opt.tell(x, value(x, context))
        queries.append(x)
    return queries


def made(kind=WDBO, domain="box", **options):
    return kind(DOMAINS[domain], **({"random_state": 0} | options))


NAMES = [name for name in BY_NAME if "expert" not in name]
OFTEN = ("RandomSearch", "WDBO", "ABO", "ETGPUCB", "WGPUCB", "SparQGPUCB")


@pytest.mark.parametrize("name", some(NAMES, OFTEN))
def test_the_best_of_the_present_context_is_found(name):
    """It jumps to and fro from step to step, so that without the context nothing is known."""
    case = BY_NAME[name]
    options = {"n_initial_points": 8} if case.modelled else {}
    opt = case.make(**options).set_params(domain=DOMAINS["box"])
    queries = drive(opt, 20, "box")
    loads = [context_of(t, "box")[0] for t in range(20)]
    assert_array_equal(opt.told_X_, np.column_stack([queries, loads, np.arange(20.0)]))
    found = [opt.recommend(20.0, context=[load])[0] for load in (5.0, 95.0)]
    if case.modelled:
        # What forgets all but six observations knows less.
        assert found == pytest.approx([0.23, 0.77], abs=0.3)
        assert found[1] > found[0] + 0.2


def test_a_batch_is_for_one_context_or_for_one_each():
    opt = made(n_initial_points=4)
    assert [query.x.shape for query in opt.suggest(0.0, n=4, context=30.0)] == [(1,)] * 4
    assert_array_equal(opt.pending_X_[:, 1], 30.0)
    for query in opt.pending_:
        opt.tell(query, value(query.x, query.context))
    drive(opt, 8, "box", start=1)
    X = points_of(opt.suggest(9.0, n=2, context=[[10.0], [90.0]]))
    assert_array_equal(opt.pending_X_, [[X[0, 0], 10.0, 9.0], [X[1, 0], 90.0, 9.0]])
    assert X[1, 0] > X[0, 0]
    assert [query.context.tolist() for query in opt.pending_] == [[10.0], [90.0]]
    # For the policies it is one step.
    assert opt.ask(10.0, context=10.0).shape == (1,)


def test_a_query_is_told_with_the_context_of_its_asking_or_a_corrected_one():
    opt = made()
    x, other = opt.ask(0.0, context=20.0), opt.ask(0.0, context=40.0)
    opt.tell(x, 1.0)
    opt.tell(other, 2.0, context=41.5)
    query = opt.suggest(1.0, context=60.0)
    opt.tell(query, 3.0, context=66.0)
    expected = [[x[0], 20.0, 0.0], [other[0], 41.5, 0.0], [query.x[0], 66.0, 1.0]]
    assert_array_equal(opt.told_X_, expected)
    assert not opt.pending_


def test_what_was_not_asked_for_is_told_with_its_context():
    opt = made()
    opt.tell([0.5], 1.0, 0.0, context=250.0)  # beyond the usual range: a fact
    assert_array_equal(opt.X_, [[0.5, 250.0, 0.0]])


def test_an_expert_is_not_asked_in_contexts():
    opt = made(SparQGPUCB)
    for call in (lambda: opt.ask_expert(0.0), lambda: opt.tell_expert([[0.5]], [1.0], 0.0)):
        with pytest.raises(AskTellError, match="one without a context"):
            call()


def test_predictions_are_in_a_context():
    opt = made(n_initial_points=8)
    drive(opt, 25, "box")
    best = [peak([load]) for load in (10.0, 90.0)]
    mean = opt.predict([[x] for x in best], 25.0, context=[[10.0], [90.0]])
    assert mean == pytest.approx([0.0, 0.0], abs=0.03)
    assert opt.predict([best[0]], 25.0, context=90.0) == pytest.approx(-0.23, abs=0.1)
    found = [opt.recommend(t, context=c)[0] for t, c in ((25.0, [10.0]), (26.0, [90.0]))]
    assert found == pytest.approx(best, abs=0.06)


def test_frames_have_columns_of_contexts():
    pytest.importorskip("pandas")
    opt = made(domain="named")
    x = opt.ask(0.0, context={"load": 130.0, "sky": "rain"})
    opt.tell(x, 1.0)
    opt.ask(1.0, context={"load": 20.0, "sky": "sun"})
    frame = opt.to_frame()
    assert frame["load"].tolist() == [130.0, 20.0]
    assert frame["sky"].tolist() == ["rain", "sun"]
    assert frame["rate"][0] == x["rate"]
    box = made()
    box.ask(0.0, context=3.0)
    assert box.to_frame()["context0"].tolist() == [3.0]


@pytest.mark.parametrize(
    ("domain", "rule", "got"),
    [
        ("named", lambda p: p["rate"] + p["load"] < 1.0, "'rate', .*KeyError: 'load'"),
        # Read only where the first answer is no, as in the search for queries.
        ("named", lambda p: p["rate"] < 0.9 or p["load"] < 1.0, "'rate', .*KeyError: 'load'"),
        ("box", lambda x: x[0] + x[1] < 1.0, r"x of shape \(1,\)\. .* IndexError: index 1 is out"),
        ("box", NonlinearConstraint(lambda x: x[1], 0.0, 1.0), "x of shape .* IndexError"),
    ],
)
def test_a_constraint_of_x_alone_sees_no_context(domain, rule, got):
    opt = made(domain=domain, constraints=rule, n_initial_points=2)
    message = f"functions of the chosen parameters, {got}.* takes it as second argument"
    with pytest.raises(DomainError, match=message):
        drive(opt, 20, domain)
