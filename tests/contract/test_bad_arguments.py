"""Every argument of every call is validated, whatever the others are and whatever the algorithm."""

import itertools
import warnings

import numpy as np
import pytest
from contract.cases import BY_NAME, fingerprint, some

from sktvbo.domain import Context, WithContext
from sktvbo.exceptions import AskTellError, DomainError, InvalidObservationError, SktvboError

NAN, INF = np.nan, np.inf
BOX = [(0.0, 2.0), (-1.0, 1.0)]
# Domain, a point and a context.
DOMAINS = {
    "box": (BOX, [0.5, 0.5], {}),
    "context": (WithContext(BOX, [(0.0, 1.0)]), [0.5, 0.5], {"context": [0.5]}),
    "named": (
        {
            "a": ("real", 0.0, 1.0),
            "k": ["u", "v"],
            "n": ("integer", 1, 5),
            "load": Context(0.0, 1.0),
        },
        {"a": 0.5, "k": "u", "n": 3},
        {"context": {"load": 0.5}},
    ),
}

# Bad values by argument, in every call that has it.
BAD = {
    "x": [[0.5], [NAN, 0.5], [7.0, 0.5], "here", {"b": 0.5}],
    "X": [[[0.5]], [[NAN, 0.5]], [[7.0, 0.5]], "here", None, {"b": [0.5]}],
    "y": [NAN, INF, "much", [1.0, 2.0, 3.0], 1e101, 1j, np.str_("3"), b"3", [[3], 3]],
    "t": [NAN, INF, "noon", [1.0, 2.0, 3.0]],
    "context": [[NAN], [0.1, 0.2, 0.3], "hot", {"heat": 1.0}, INF],
    "y_variance": [-5.0, NAN, INF, "small", [1.0, 2.0, 3.0]],
    "outcomes": [{"b": 1.0}, {"c": INF}, {"c": "high"}, [1.0], "c", 3.0, {"c": 1.0, "b": 1.0}],
    "failed": ["yes", None, 1, [True, False, True]],
    "n": [0, -1, 1.5, "two", True],
    "id": ["last", 1.5, -1, True],
    "return_std": ["yes", None, 1],
    "include_noise": ["yes", None, 1],
    "outcome": ["b", 3],
    "deadline": [0.0, -1.0, NAN, "soon"],
}


def calls(opt, x, beside, limits):
    """Valid calls: the name of a method, and its arguments.

    Results are of observations and of failures, with and without all that may be left out.
    """
    failure, query = {"failed": True}, opt.pending_[0]
    results = [{"y": 1.0, "failed": False}, failure]
    if limits:
        results = [each | {"outcomes": {"c": 0.5}} for each in results] + [failure]
    noise = [{}, {"y_variance": 0.1}]
    places = [(x, {"t": 30.0} | beside), (query, {}), (query, {"t": 30.0} | beside)]
    for (place, when), known, variance in itertools.product(places, results, noise):
        yield "tell", {"x": place} | when | known | variance
        many = {k: {"c": [0.5]} if k == "outcomes" else [v] for k, v in (known | variance).items()}
        yield "tell_many", {"X": [place]} | when | many
    yield "tell_many", {"X": [], "y": [], "t": 1.0, "y_variance": 0.1} | beside
    present = {"t": 30.0} | beside
    for method in ("ask", "suggest", "recommend"):
        yield method, present
    yield "suggest", present | {"n": 2}
    yield "announce", {"x": x} | present
    yield "cancel", {"x": x}
    for place in (x, query):
        yield "untell", {"x": place, "t": 0.0, "id": opt.pending_[0].id}
    yield "probability_feasible", {"X": [x]} | present
    for more in ({}, {"return_std": True, "include_noise": True, "outcome": "objective"}):
        yield "predict", {"X": [x]} | present | more
    yield "refit", {"deadline": 1.0}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", some(BY_NAME, ("RandomSearch", "WDBO")))
def test_each_is_validated_whatever_the_others_are(name, domain):
    case, (space, x, beside) = BY_NAME[name], DOMAINS[domain]
    limits, told = {}, {}
    if case.modelled:
        limits = {"outcome_constraints": {"c": (None, 9.0)}, "n_initial_points": 3}
        told = {"outcomes": {"c": 0.1}}
    opt = case.make(**limits).set_params(domain=space)
    for t in range(4):
        opt.tell(opt.suggest(float(t), **beside), 0.1 * t, **told)
    opt.suggest(4.0, n=2, **beside)
    before, n_calls = fingerprint(opt), 0
    for method, arguments in calls(opt, x, beside, limits):
        if not hasattr(opt, method):  # of a model, which RandomSearch lacks
            continue
        for wrong, bad in [(key, bad) for key in arguments for bad in BAD.get(key, ())]:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # nothing is said of a call that is refused
                with pytest.raises((ValueError, SktvboError)) as caught:
                    getattr(opt, method)(**arguments | {wrong: bad})
            message = str(caught.value)
            assert "must be" in message or "no matching" in message or "needs" in message
            n_calls += 1
    assert fingerprint(opt) == before
    assert n_calls > 200


# --- what is said ---------------------------------------------------------------------------------

WRONG = InvalidObservationError


def tell(x=(0.5, 0.5), y=1.0, t=30.0, **options):
    return lambda opt: opt.tell(x, y, t, **options)


def tell_many(y=(1.0, 2.0), t=30.0, **options):
    return lambda opt: opt.tell_many([[0.5, 0.5]] * 2, y, t, **options)


# By domain: a call, its error and its message.
SAID = {
    "box": [
        (tell([0.5, np.nan]), WRONG, "must be finite"),
        (tell([0.5, 3.0]), DomainError, r"x\[1\] must be in"),
        (tell([0.5]), WRONG, "shape"),
        (tell({"a": 1.0}), WRONG, "has the unknown"),
        (tell(np.ma.array([0.5, 0.5], mask=[True, False])), WRONG, "x must be real numbers"),
        (tell(y=np.nan), WRONG, r"y must be finite\. Got nan instead"),
        (tell(y=-1e101), WRONG, "at most 1e.100"),
        (tell(y=None), WRONG, r"y must be one real number\. Got None instead"),
        (tell(y=np.ma.masked), WRONG, "y must be one real number"),
        (tell(t=1e101), WRONG, "t must be at most"),
        (tell(failed=True), ValueError, r"y must be left out, or NaN, with failed=True\. Got 1\.0"),
        (tell([0.123, 0.5], t=None), AskTellError, "still pending"),
        (tell_many([0.0, 1e101]), WRONG, r"1e\+100 in .* 1e\+101"),
        (tell_many([1.0]), WRONG, "y must"),
        (tell_many(failed=[False, True]), WRONG, "y must be NaN where failed=True"),
        (tell_many([np.nan, np.nan], failed=[1, 1]), ValueError, "failed must be"),
        (tell_many(y_variance=[-1.0, 1.0]), ValueError, "y_variance must be"),
        (lambda o: o.ask(np.inf), WRONG, "t must be finite"),
        (lambda o: o.suggest(99.0, n=1.5), ValueError, "n must be an int in"),
        (lambda o: o.recommend([0.0, 1.0]), WRONG, "t must be one real number"),
        (tell(context=1.0), WRONG, "None for a domain without a context"),
    ],
    "context": [
        (lambda o: o.ask(9.0), WRONG, "context must be given"),
        (lambda o: o.suggest(9.0, n=2, context=[[1.0]] * 3), ValueError, "one for each of 2"),
        (tell(), AskTellError, r"context must be given .* Got None .* context=\.\.\."),
        (lambda o: o.announce([0.5, 0.5], 9.0), AskTellError, "context must be given"),
    ],
    "named": [(tell({"a": 0.5}, context={"load": 0.5}), WRONG, "lacks")],
    "a run": [
        (lambda o: o.tell(o.told_X_[-1, :2], 1.0), AskTellError, "still pending"),
        (lambda o: o.ask(-1.0), WRONG, r"t must be at least \d+\.0, the latest .* Got -?\d"),
    ],
    "predictions": [
        (lambda o: o.predict([[9.0, 0.0]], 30.0), DomainError, "must be in"),
        (lambda o: o.predict([[1.0, 0.0]], [0.0, 1.0]), WRONG, "t must be an array of shape"),
    ],
}


@pytest.mark.parametrize("domain", SAID)
@pytest.mark.parametrize("name", ["RandomSearch", "WDBO"])
def test_a_bad_call_says_why_and_changes_nothing(name, domain):
    if domain == "predictions" and name == "RandomSearch":
        return
    space, _, beside = DOMAINS.get(domain, DOMAINS["box"])
    opt = BY_NAME[name].make().set_params(domain=space)
    if domain == "box":
        for bad, error, message in SAID["box"]:
            with pytest.raises(error, match=message):
                bad(opt)
            assert "_run" not in vars(opt)  # it begins no run
    for t in range(7):
        opt.tell(opt.suggest(float(t), **beside), 0.1 * t)
    before = fingerprint(opt)
    for bad, error, message in SAID[domain]:
        with pytest.raises(error, match=message):
            bad(opt)
        assert fingerprint(opt) == before, message


def test_an_id_is_that_of_its_query():
    opt = BY_NAME["GPUCB"].make()
    queries = opt.suggest(0.0, n=2)
    for query in queries:
        opt.tell(query, 1.0)
    with pytest.raises(ValueError, match=r"id must be left out, or 0, with this query\. Got 1"):
        opt.untell(queries[0], id=1)
    with pytest.raises(ValueError, match="t must be finite"):
        opt.untell(queries[0], t=np.nan)
    opt.untell(queries[0], id=0)
    assert opt.n_told_ == 1
