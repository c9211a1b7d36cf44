"""Declared ranges of contexts that differ much from what is measured."""

import warnings

import numpy as np
import pytest

from sktvbo import WDBO, RandomSearch
from sktvbo.domain import Context, WithContext
from sktvbo.exceptions import ModelWarning


def space(*spec, box=False):
    if box:
        return WithContext([(0.0, 1.0)], [spec])
    return {"x": ("real", 0.0, 1.0), "c": Context(*spec)}


def drive(opt, n, values, start=0):
    for t in range(start, start + n):
        c = values[t % len(values)]
        context = [c] if isinstance(opt.domain, WithContext) else {"c": c}
        query = opt.suggest(t, context=context)
        opt.tell(query, -float(c))
    return opt


UNIFORM = np.random.RandomState(0).uniform(size=60)


@pytest.mark.parametrize("box", [False, True])
@pytest.mark.parametrize("high", [100.0, 0.01])
def test_a_range_that_differs_much_from_the_values_is_warned_of_once(high, box):
    opt = RandomSearch(space(0.0, high, box=box), random_state=0)
    with pytest.warns(ModelWarning, match=r"was measured from .*with_parameters") as found:
        drive(opt, 60, UNIFORM)
    assert len(found) == 1
    assert opt.n_told_ == 60


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ((0.0, 1.0), UNIFORM),
        ((0.0, 5.0), UNIFORM),
        ((0.4, 0.8), UNIFORM),
        ((0.0, 100.0), [3.0]),  # a constant has no scale
        (("log-real", 1e-3, 1.0), UNIFORM + 1e-3),
        (("cyclic", 0.0, 360.0), UNIFORM),
        ((["a", "b"],), ["a"]),
    ],
)
def test_other_ranges_are_not_warned_of(spec, values):
    opt = RandomSearch(space(*spec), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in range(60):
            c = values[t % len(values)]
            opt.tell(opt.suggest(t, context={"c": c}), 1.0)


def test_a_run_goes_on_with_another_range():
    opt = WDBO(space(0.0, 100.0), n_initial_points=5, random_state=0)
    for t in range(25):
        x = opt.ask(t, context={"c": UNIFORM[t]})
        opt.tell(x, -((x["x"] - 0.2 - 0.6 * UNIFORM[t]) ** 2))
    other = opt.with_parameters(domain=space(0.0, 1.0))
    assert other.n_told_ == 25
    np.testing.assert_array_equal(other.told_X_, opt.told_X_)
    np.testing.assert_allclose(
        other.surrogate_.X_train_[:, 1], 100.0 * opt.surrogate_.X_train_[:, 1]
    )
    for t in range(25, 45):
        x = other.ask(t, context={"c": UNIFORM[t]})
        other.tell(x, -((x["x"] - 0.2 - 0.6 * UNIFORM[t]) ** 2))
    found = [other.recommend(45, context={"c": c})["x"] for c in (0.1, 0.9)]
    assert found == pytest.approx([0.26, 0.74], abs=0.1)
    again = WDBO.from_json(other.to_json())
    assert again.recommend(45, context={"c": 0.1})["x"] == pytest.approx(found[0], abs=1e-3)


def test_categories_of_contexts_may_be_more():
    sky = {"x": ("real", 0.0, 1.0), "sky": Context(["sun", "rain"])}
    opt = WDBO(sky, n_initial_points=3, random_state=0)
    for t in range(6):
        opt.tell(opt.ask(t, context={"sky": "rain"}), 1.0 * t)
    more = opt.with_parameters(domain=sky | {"sky": Context(["snow", "rain", "sun"])})
    frame = [more.domain.decode_context(row[:-1])["sky"] for row in more.told_X_]
    assert frame == ["rain"] * 6
    assert more.ask(6, context={"sky": "snow"}).keys() == {"x"}
