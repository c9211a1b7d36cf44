"""HTML representation: the state of a run, in a notebook."""

import re
import warnings
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pytest
from contract.cases import CASES, STEPS, fingerprint, in_turns
from optimizers.dense import FITTED

from sktvbo import WDBO, RandomSearch, TimeVaryingGPRegressor
from sktvbo.domain import Context, WithContext

BEST = "best observation in the data set"


def rows(optimizer):
    """The table of an optimizer, as a dict."""
    table = ElementTree.fromstring(optimizer._repr_html_())
    return {row[0].text: unescape(row[1].text) for row in table.iter("tr")}


def told(optimizer, n, y=lambda x: 1.0, **options):
    for t in range(n):
        x = optimizer.ask(t, **options)
        optimizer.tell(x, y(x))
    return optimizer


def test_before_a_run():
    assert rows(WDBO([(0.0, 1.0)], alpha=0.5)) == {
        "parameters": "WDBO(alpha=0.5, domain=[(0.0, 1.0)])",
        "state": "no run yet: it begins with the first ask or tell",
    }


def test_the_state_of_a_run():
    optimizer = told(WDBO([(0.0, 10.0)], random_state=0), 12, lambda x: -((x[0] - 3.0) ** 2))
    for _ in range(7):
        optimizer.ask(12.0)
    before = optimizer.to_json()
    shown = rows(optimizer)
    assert optimizer.to_json() == before
    n_kept = len(optimizer.X_)
    assert shown["observations"].startswith(f"12 told, {n_kept} in the data set, {12 - n_kept} ")
    best = np.argmax(optimizer.y_)
    (x, t), y = optimizer.X_[best], optimizer.y_[best]
    found = re.match(r"x = \[(.+)\], y = (\S+) at t = (\S+)$", shown[BEST])
    assert [float(text) for text in found.groups()] == pytest.approx([x, y, t], rel=1e-3)
    surrogate = optimizer.surrogate_
    assert f"in time {surrogate.temporal_kernel_}" in shown["hyperparameters"]
    assert shown["pending queries"].startswith("id 12: x = [")
    assert shown["pending queries"].endswith("; and 2 more")
    assert optimizer._repr_mimebundle_()["text/html"] == optimizer._repr_html_()
    assert optimizer._repr_mimebundle_()["text/plain"] == repr(optimizer)


def test_names_are_escaped():
    space = {"x": ("real", 0.0, 1.0), "kind": ["<b>", "<i>"]}
    shown = rows(told(RandomSearch(space, random_state=0), 3))
    assert re.match(r"x = 0\.\d+, kind = <[bi]>, y = 1 at t = ", shown[BEST])
    assert shown["hyperparameters"] == "no surrogate yet"
    assert shown["pending queries"] == "none"


def test_the_context_of_the_best_observation():
    domain = {"x": ("real", 0.0, 1.0), "load": Context(0.0, 1.0)}
    shown = rows(told(WDBO(domain, random_state=0), 3, context={"load": 0.5}))
    assert re.match(r"x = 0\.\d+, y = 1 at t = 0\.0, load = 0\.5$", shown[BEST])
    shown = rows(told(WDBO(WithContext([(0, 1)], [(0, 1)]), random_state=0), 3, context=[0.5]))
    assert shown[BEST].endswith("at t = 0.0, context = [0.5]")


@pytest.mark.parametrize("maximize", [True, False])
def test_the_best_observation_is_within_the_limits(maximize):
    limits = {"load": (None, 0.5), "objective": (-2.0, 2.0)}
    opt = WDBO([(0.0, 1.0)], outcome_constraints=limits, maximize=maximize)
    for i, (y, load) in enumerate([(3.0, 0.1), (-3.0, 0.1), (1.0, 0.9), (-1.0, 0.9)]):
        opt.tell([0.1 * i], y, float(i), outcomes={"load": load})
    assert rows(opt)[BEST] == "none is within the limits"
    opt.tell([0.75], 0.5, 4.0, outcomes={"load": 0.5})
    assert rows(opt)[BEST] == "x = [0.75], y = 0.5 at t = 4.0"


def forbidden(*args, **options):
    raise AssertionError("a representation only reads")


@in_turns("steps", [0, 3, STEPS])
def test_it_only_reads(few, steps, monkeypatch):
    """Of no algorithm it asks the model, searches, draws or warns."""
    opt, _ = few.after(steps)
    if steps:
        opt.tell([0.5, 0.5], t=steps, failed=True)
        opt.announce([0.5, 0.5], steps)
    before = fingerprint(opt)
    for method in ("predict", "posterior_at", "at", "condition_on", "refit"):
        monkeypatch.setattr(FITTED, method, forbidden)
    monkeypatch.setattr(TimeVaryingGPRegressor, "fit", forbidden)
    for method in ("recommend", "predict", "now"):
        monkeypatch.setattr(type(opt), method, forbidden, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = rows(opt)
    assert ("observations" in shown) == (steps > 0)
    monkeypatch.undo()
    assert fingerprint(opt) == before


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_shows_a_run_without_a_usable_observation(case):
    """Only failures, a point that the constraints exclude, a query that is pending."""
    opt = case.make(constraints=lambda x: x[0] <= 1.0)
    opt.announce([0.5, 0.5], 0.0)
    assert rows(opt)["pending queries"].startswith("id 0")
    opt.tell([0.5, 0.5], t=0.0, failed=True)
    assert BEST not in rows(opt)
    opt.tell([2.0, 1.0], 1.0, 1.0)
    assert rows(opt)[BEST] == "x = [2. 1.], y = 1 at t = 1.0"
