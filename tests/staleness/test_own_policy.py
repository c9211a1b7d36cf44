"""A policy from outside of the package, which knows the parameters by name."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import LinearConstraint

from sktvbo import BayesianOptimizer
from sktvbo.domain import (
    Arms,
    Box,
    Constrained,
    Context,
    FiniteSet,
    ParameterSpace,
    as_domain,
)
from sktvbo.staleness import RunSoFar, StaleDataPolicy


class LatestOfEach(StaleDataPolicy):
    """The latest k observations of each value of a parameter."""

    def __init__(self, name="kind", k=3):
        self.name = name
        self.k = k

    def watch(self, run):
        self.columns_ = run.columns[self.name]

    def after_add(self, surrogate, now):
        X = surrogate.X_train_
        group = np.unique(X[:, self.columns_], axis=0, return_inverse=True)[1].ravel()
        newest = np.lexsort((-X[:, -1], group))
        rank = np.arange(len(X)) - np.searchsorted(group[newest], group[newest])
        return newest[rank >= self.k]


KIND = ("categorical", ["a", "b", "c"])
POINTS = {"size": [1.0, 2.0, 3.0, 1.0, 2.0], "kind": [0.0, 0.0, 1.0, 1.0, 2.0]}
MIXED = {"x": ("real", 0.0, 1.0), "kind": KIND, "n": ("integer", 1, 9)}
DOMAINS = {
    "box and category": ({"x": ("real", 0.0, 10.0), "y": ("real", 0.0, 1.0), "kind": KIND}, "kind"),
    "category first": ({"kind": KIND, "x": ("real", 0.0, 1.0)}, "kind"),
    "integers": (MIXED, "n"),
    "finite": (FiniteSet(POINTS), "kind"),
    "unnamed": (FiniteSet(np.column_stack(list(POINTS.values()))), "x1"),
    "arms": (Arms(4), "x0"),
    "constrained": (Constrained(MIXED, LinearConstraint([1.0, 0.0, 0.0], 0.0, 0.7)), "kind"),
    "context": ({"x": ("real", 0.0, 1.0), "load": Context(*KIND)}, "load"),
}
every_domain = pytest.mark.parametrize(("domain", "name"), DOMAINS.values(), ids=list(DOMAINS))


def latest_of_each(opt, name, k=3):
    """Return the positions, among all told, of the latest k of each value."""
    column, told = as_domain(opt.domain).columns.index(name), opt.told_X_
    newest, left = np.argsort(-told[:, -1], kind="stable"), []
    for i in newest:
        left.append(i) if (told[left, column] == told[i, column]).sum() < k else None
    return sorted(left)


def told(opt, name, times, rng):
    for t in times:
        context = {"load": rng.choice(KIND[1])} if name == "load" else None
        opt.tell(opt.ask(t, context), rng.normal())
    return opt


@every_domain
def test_each_value_has_its_latest_observations(domain, name):
    options = {"refit_every": None, "n_initial_points": 4, "random_state": 0}
    opt = BayesianOptimizer(domain, policy=LatestOfEach(name), **options)
    rng = np.random.RandomState(0)
    told(opt, name, range(24), rng)
    assert_array_equal(opt.X_, opt.told_X_[latest_of_each(opt, name)])
    assert opt.n_removed_ > 4
    restored = BayesianOptimizer.from_json(opt.to_json(), policy=LatestOfEach(name))
    told(restored, name, range(24, 30), rng)
    assert_array_equal(restored.X_, restored.told_X_[latest_of_each(restored, name)])


def test_batches_late_answers_and_other_categories():
    space = DOMAINS["category first"][0]
    opt = BayesianOptimizer(space, policy=LatestOfEach(), n_initial_points=4, random_state=0)
    rng = np.random.RandomState(1)
    points = [{"kind": rng.choice(KIND[1]), "x": x} for x in rng.uniform(size=20)]
    opt.tell_many(points, rng.normal(size=20), np.arange(20.0))
    assert_array_equal(opt.X_, opt.told_X_[latest_of_each(opt, "kind")])
    before = opt.X_
    opt.tell({"kind": "a", "x": 0.5}, 0.0, t=0.5)  # three of this kind are newer
    assert_array_equal(opt.X_, before)
    wider = opt.with_parameters(domain=space | {"kind": ("categorical", ["d", "a", "b", "c"])})
    for t in range(20, 26):
        wider.tell({"kind": "d", "x": t / 30}, 0.0, t=t)
    _, counts = np.unique(wider.X_[:, 0], return_counts=True)
    assert counts.tolist() == [3, 3, 3, 3]


@every_domain
def test_columns_are_those_of_the_training_rows(domain, name):
    opt = BayesianOptimizer(domain, n_initial_points=4, random_state=0)
    rng = np.random.RandomState(2)
    told(opt, name, range(6), rng)
    space = as_domain(domain)
    columns = RunSoFar(0, (), None, domain=space).columns
    X, units = opt.surrogate_.X_train_, space.unit_of(opt.X_[:, :-1])
    assert [i for some in columns.values() for i in some] == list(range(X.shape[1] - 1))
    assert list(columns) == list(space.columns)
    assert_array_equal(X[:, columns[name]], units[:, columns[name]])
    for i, key in enumerate(columns):  # a column changes with its parameter alone
        others = np.delete(opt.X_[:, :-1], i, axis=1)
        same = (others == others[0]).all(axis=1)
        rest = [c for k, some in columns.items() if k != key for c in some]
        assert (X[same][:, rest] == X[0, rest]).all()


def test_without_a_domain_there_are_no_columns():
    assert RunSoFar(1, (), None).columns == {}
    assert RunSoFar(1, (), None, domain=Box([(0.0, 1.0)] * 2)).columns == {"x0": [0], "x1": [1]}
    space = ParameterSpace(MIXED)
    assert RunSoFar(1, (), None, domain=space).columns == {"x": [0], "kind": [1, 2, 3], "n": [4]}
