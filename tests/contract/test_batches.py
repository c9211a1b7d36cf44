"""Several queries at once: batches, pending points, workers, and queries made elsewhere."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from contract.cases import (
    BOX,
    BY_NAME,
    DOMAINS,
    FEW,
    JUMP,
    STEPS,
    ask_and_tell,
    in_turns,
    points,
    points_of,
    some,
    timed,
)
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo import GPUCB
from sktvbo import optimizers as opts
from sktvbo.acquisition import UCB, DimensionBeta
from sktvbo.domain import Box
from sktvbo.exceptions import AskTellError

# A posterior mean takes no notice of what is pending: its observation is the mean itself.
EXPLORING = [case for case in BY_NAME.values() if case.name != "mean"]


BY_DIMENSION = (opts.ABO, opts.BOLT, opts.ETGPUCB, opts.GPUCB, opts.RGPUCB, opts.TVGPUCB)
BY_DIMENSION += (opts.BRGPUCB, opts.SWGPUCB, opts.UITVBO, opts.WDBO, opts.WGPUCB)


@cache
def bold(name):
    """A case whose bound is as wide as the authors of W-DBO have it, so that queries spread."""
    case = BY_NAME[name]
    if case.kind not in BY_DIMENSION:
        return case
    options = case.options | {"acquisition": UCB(DimensionBeta(0.2))}
    return replace(case, options=options, started={})


@pytest.fixture(params=some(EXPLORING, FEW), ids=lambda case: case.name)
def exploring(request):
    return bold(request.param.name)


def unit_distances(X):
    U = Box(BOX).to_unit(X)
    return np.linalg.norm(U[:, np.newaxis] - U, axis=-1)[np.triu_indices(len(U), 1)]


@in_turns("domain", DOMAINS)
def test_a_batch_of_one_is_the_query(few, domain):
    one, _ = few.after(domain=domain)
    many, _ = few.after(domain=domain)
    x, t = timed(one.suggest(20.0))
    (query,) = many.suggest(20.0, n=np.int64(1))
    assert_array_equal(points([x], domain), points([query.x], domain))
    assert query.t == t


def test_points_of_a_batch_are_distinct(exploring):
    """Each query is a hallucinated observation to the next, equal to the posterior mean.

    So the mean stays, and the standard deviation falls most at that very place. Inside of the box
    a maximum has no slope, √β ∇σ = −∇μ; the hallucination multiplies ∇σ there by
    √(σ_n² / (σ² + σ_n²)), and only where both slopes were 0 it stays a maximum: at a lone peak of
    a surrogate that takes all the rest for noise, as after the jump. Before the jump the maximum
    moves. A Thompson sample is another each time.
    """
    steps = STEPS if exploring.name == "thompson" else JUMP
    often = {"refit_every": "auto"} if exploring.modelled else {}
    opt = exploring.make(**often)
    exploring.drive(opt, steps)
    assert opt.surrogate_ is not None or not exploring.modelled
    exploring.consult(opt, steps)
    X = points_of(opt.suggest(steps, n=4))
    assert unit_distances(X).min() > 1e-3


@pytest.mark.parametrize("maximize", [True, False])
def test_a_pending_query_is_hallucinated_with_the_posterior_mean(maximize):
    seen = {}

    class Noted(UCB):
        def beta_value(self, state):
            seen[state.n_pending] = state.surrogate
            return super().beta_value(state)

    opt = GPUCB(BOX, acquisition=Noted(), n_initial_points=4, random_state=0, maximize=maximize)
    ask_and_tell(opt, 6, lambda x, t: float(t % 3 + 1))
    seen.clear()
    opt.suggest(6, n=3)
    assert {n: len(surrogate.y_train_) for n, surrogate in seen.items()} == {0: 6, 1: 7, 2: 8}
    last = seen[2]
    assert_allclose(last.y_train_[6:], seen[0].predict(last.X_train_[6:]), rtol=1e-6)
    seen.clear()
    opt.ask(6)
    assert set(seen) == {3}


def test_a_batch_may_exceed_the_arms():
    opt, _ = BY_NAME["WDBO"].after(domain="finite")
    assert points_of(opt.suggest(20.0, n=20)).shape == (20, 2)


def test_a_thousand_forgotten_queries_do_no_harm():
    opt = GPUCB(BOX, n_initial_points=3, random_state=0)
    with pytest.warns(UserWarning, match="1100 queries were asked for and not told"):
        queries = opt.suggest(0.0, n=1100)
    for t in range(4):
        opt.tell([1.0, 0.1 * t], 0.5, t)
    with pytest.warns(UserWarning, match=r"1025 queries.* latest 1024 .* cancel\(x\) it"):
        assert Box(BOX).contains(opt.ask(4.0))
    assert [query.id for query in queries] == list(range(1100))
    assert [query.id for query in opt.pending_] == list(range(77, 1101))
    # A point that rounds that of a query which is still pending is taken for it.
    near = 0.01 * np.ptp(BOX, axis=1)
    pending = np.array([query.x for query in opt.pending_])
    far = [q.x for q in queries[:77] if (np.abs(q.x - pending) > near).any(axis=1).all()]
    assert len(far) > 30
    for gone in (*queries[:77], *far):
        with pytest.raises(AskTellError, match=r"still pending|cancelled, expired"):
            opt.cancel(gone)
    opt.tell(queries[0].x, 1.0, 0.0)  # with its time it is an observation of its own
    for query in queries[77:]:
        opt.cancel(query.x)


# --- queries of somebody else ---------------------------------------------------------------------


@pytest.mark.parametrize("domain", DOMAINS)
def test_an_announced_query_is_as_one_that_was_asked_for(domain):
    case = BY_NAME["GPUCB"]
    asking, told = case.after(domain=domain)[0], case.after(domain=domain)[0]
    x = asking.ask(STEPS)
    told.ask(STEPS)  # draws as much
    told.cancel(x)
    told.announce(x, STEPS)
    a, b = (points([opt.ask(STEPS)], domain) for opt in (asking, told))
    assert_array_equal(a, b)


def test_it_is_told_at_its_time_and_moves_no_time():
    opt, _ = BY_NAME["GPUCB"].after()
    opt.announce([0.5, 0.5], 11.5)
    opt.announce([0.7, 0.5], 12.5)
    opt.tell([0.5, 0.5], 1.0)
    assert opt.told_X_[-1].tolist() == [0.5, 0.5, 11.5]
    assert opt.ask(STEPS - 1.0).shape == (2,)


def test_where_nothing_is_in_doubt_a_search_does_not_end_at_a_pending_query():
    opt = GPUCB([(0.0, 10.0)], n_initial_points=5, random_state=1)
    for x in np.linspace(0.0, 10.0, 40):
        opt.tell([x], -((x - 3.4) ** 2), 0.0)
    queries = [opt.ask(0.0)[0] for _ in range(4)]
    assert_allclose(queries, 3.4, atol=0.01)
    assert len(set(queries)) == 4
