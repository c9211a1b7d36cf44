"""Bounded runs: the default data sets, and the warning where nothing bounds them."""

import warnings

import numpy as np
import pytest

from sktvbo import ABO, BOLT, GPUCB, IGPUCB, TVGPUCB, UITVBO, WDBO, WGPUCB, BayesianOptimizer
from sktvbo.domain import Context, FiniteSet
from sktvbo.exceptions import ModelWarning
from sktvbo.optimizers import _observe
from sktvbo.papers import published

BOX = [(0.0, 1.0)]
N = 330


def still(kind, domain=BOX, n=N, **options):
    """Return an optimizer that was told a function that never changes, in three calls."""
    opt = kind(domain, n_initial_points=10, refit_every=None, random_state=0, **options)
    x = np.random.RandomState(0).uniform(size=(n, 1))
    y = np.sin(5.0 * x[:, 0]) + 0.05 * np.random.RandomState(1).normal(size=n)
    for part in np.array_split(np.arange(n), [40, n - 3]):
        opt.tell_many(x[part], y[part], t=part.astype(float))
    return opt


@pytest.mark.parametrize(("kind", "options"), [(WDBO, {"alpha": 0.0}), (BOLT, {})])
def test_what_never_becomes_irrelevant_leaves_at_most_300_rows(kind, options):
    opt = still(kind, **options)
    assert len(opt.X_) == 300
    assert opt.n_removed_ == N - 300
    assert len(still(kind, max_size=None, **options).X_) == N


@pytest.mark.parametrize("name", ["W-DBO", "BOLT"])
def test_published_ones_have_no_limit(name):
    opt = published(name, BOX, horizon=600.0)
    opt.tell([0.5], 1.0, t=0.0)
    assert vars(opt)["_run"].config.size_limit is None
    assert getattr(opt.policy_, "largest", None) is None
    assert opt.max_size in (None, "recommended")


@pytest.mark.parametrize("interval", [1e-3, 1.0, 3600.0])
def test_the_rough_part_is_at_most_some_tens_of_intervals_long(interval):
    """Whatever the span of the data: a longer one would never change."""
    opt = WDBO(BOX, n_initial_points=5, refit_every=None, random_state=0)
    x = np.random.RandomState(0).uniform(size=(200, 1))
    opt.tell_many(x, np.sin(5.0 * x[:, 0]), t=interval * np.arange(200.0))
    low, high = opt.surrogate_.temporal_kernel_.k2.k2.length_scale_bounds
    assert low == pytest.approx(0.5 * interval)
    assert 10.0 * interval <= high <= 100.0 * interval


REAL, INTEGER, KIND = ("real", 0.0, 1.0), ("integer", 1, 4), ["a", "b"]
REALS = {"x": REAL, "y": REAL}


@pytest.mark.parametrize(
    ("kind", "domain", "options", "has_static_part"),
    [
        (WDBO, REALS, {"max_size": 50}, True),
        (WDBO, {"x": REAL, "n": INTEGER}, {}, False),
        (WDBO, {"x": REAL, "kind": KIND}, {}, False),
        (WDBO, REALS, {"max_size": 50, "constraints": lambda x: x["x"] < 0.9}, True),
        (WDBO, REALS, {"max_size": 50, "outcome_constraints": {"load": (None, 9.0)}}, True),
        (BOLT, REALS, {"max_size": 50}, True),
        (ABO, REALS, {}, False),
        (ABO, REALS, {"max_size": 50}, True),
        (BayesianOptimizer, REALS, {}, False),
        (BayesianOptimizer, REALS, {"max_size": 50}, True),
    ],
)
def test_what_never_changes_is_in_the_mean_or_in_the_rough_part(
    kind, domain, options, has_static_part
):
    """In the mean where observations are removed, and leave information about all coordinates."""
    opt = kind(domain, random_state=0, **options)
    for t in range(60):
        told = {"outcomes": {"load": float(t % 5)}} if "outcome_constraints" in options else {}
        opt.tell(opt.ask(t), float(t % 7), **told)
    surrogate = opt.surrogate_
    high = surrogate.temporal_kernel_.k2.k2.length_scale_bounds[1]
    assert high == pytest.approx(30.0 if has_static_part else 590.0, rel=0.7)
    if has_static_part:
        assert opt.n_removed_ > 0
        assert opt._run.surrogate.gp.rows.static.columns.tolist() == [0, 1]
    is_limited = options.keys() & {"constraints", "outcome_constraints"}
    assert surrogate.prior_mean.depth == (0.0 if is_limited else 0.5)


@pytest.mark.parametrize("limits", [None, {"objective": (-9.0, None)}])
@pytest.mark.parametrize("options", [{"seasonal_periods": 7.0}, {"context": Context(0.0, 1.0)}])
def test_beside_contexts_and_with_seasons_it_is_in_the_mean_of_what_is_chosen(options, limits):
    context = options.get("context")
    domain = REALS if context is None else REALS | {"load": context}
    known = {"max_size": 20, "outcome_constraints": limits, "random_state": 0}
    opt = WDBO(domain, **known | {k: v for k, v in options.items() if k != "context"})
    for t in range(30):
        given = {} if context is None else {"context": {"load": (t % 5) / 4.0}}
        opt.tell(opt.suggest(t, **given), float(t % 7))
    assert opt._run.surrogate.gp.rows.static.columns.tolist() == [0, 1]
    assert opt.surrogate_.prior_mean.depth == (0.5 if limits is None else 0.0)


@pytest.mark.parametrize(
    ("domain", "least_noise"),
    [
        (REALS, 1e-5),
        ({"x": REAL, "n": INTEGER}, 1e-5),
        ({"x": REAL, "kind": KIND}, 1e-5),
        ({"n": INTEGER}, 1e-4),
        ({"kind": KIND}, 1e-4),
    ],
)
def test_the_least_noise_is_larger_without_reals(domain, least_noise):
    opt = WDBO(domain, outcome_constraints={"load": (None, 9.0)}, random_state=0)
    for t in range(12):
        opt.tell(opt.ask(t), float(t % 7), outcomes={"load": float(t % 5)})
    (outcome,) = opt._run.part("limits").models
    for model in (opt.surrogate_, outcome.surrogate.model):
        assert model.noise_variance_bounds == (least_noise, 1.0)


KEPT = [GPUCB, IGPUCB, TVGPUCB, UITVBO, WGPUCB, ABO, BayesianOptimizer]


@pytest.mark.parametrize("kind", KEPT)
@pytest.mark.parametrize("max_size", [None, 15])
def test_a_data_set_without_a_limit_gives_one_warning(kind, max_size, monkeypatch):
    monkeypatch.setattr(_observe, "_MANY", 20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opt = still(kind, n=48, max_size=max_size)
    texts = [str(each.message) for each in caught if each.category is ModelWarning]
    assert len(opt.X_) == (max_size or 48)
    assert len(texts) == (max_size is None)
    assert all("max_size" in text and kind.__name__ in text for text in texts)


@pytest.mark.parametrize(
    ("domain", "options"),
    [(FiniteSet([[0.0], [0.5], [1.0]]), {}), (BOX, {"step_budget": 10.0})],
)
def test_what_bounds_a_step_in_another_way_gives_no_warning(domain, options, monkeypatch):
    monkeypatch.setattr(_observe, "_MANY", 70)
    opt = TVGPUCB(domain, n_initial_points=5, refit_every=None, random_state=0, **options)
    x = np.tile([[0.0], [0.5], [1.0]], (30, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        for i in range(90):
            opt.tell(x[i], float(np.sin(i)), t=float(i))
    assert len(opt.X_) == 90
