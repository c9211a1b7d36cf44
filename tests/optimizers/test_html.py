"""HTML representation: the state of a run, in a notebook."""

import re
from html import unescape
from xml.etree import ElementTree

import pytest

from sktvbo import WDBO, RandomSearch
from sktvbo.domain import Context


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
    found = re.match(r"x = \[(.+)\], predicted (\S+) ± \S+ at t = 11$", shown["incumbent"])
    assert float(found[1]) == pytest.approx(3.0, abs=0.3)
    assert float(found[2]) == pytest.approx(0.0, abs=0.3)
    surrogate = optimizer.surrogate_
    assert f"in time {surrogate.temporal_kernel_}" in shown["hyperparameters"]
    assert shown["pending queries"].startswith("id 12: x = [")
    assert shown["pending queries"].endswith("; and 2 more")
    assert optimizer._repr_mimebundle_()["text/html"] == optimizer._repr_html_()
    assert optimizer._repr_mimebundle_()["text/plain"] == repr(optimizer)


def test_names_are_escaped():
    space = {"x": ("real", 0.0, 1.0), "kind": ["<b>", "<i>"]}
    shown = rows(told(RandomSearch(space, random_state=0), 3))
    assert re.match(r"x = 0\.\d+, kind = <[bi]> at t = ", shown["incumbent"])
    assert shown["hyperparameters"] == "no surrogate yet"
    assert shown["pending queries"] == "none"


def test_the_incumbent_of_a_context():
    domain = {"x": ("real", 0.0, 1.0), "load": Context(0.0, 1.0)}
    shown = rows(told(WDBO(domain, random_state=0), 3, context={"load": 0.5}))
    assert shown["incumbent"] == "depends on the context: recommend(t, context=...)"
