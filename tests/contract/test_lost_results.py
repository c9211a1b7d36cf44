"""Results that are lost: x alone answers the latest query there, and time and context choose."""

import warnings

import numpy as np
import pytest
from contract.cases import fingerprint
from numpy.testing import assert_array_equal

from sktvbo import RandomSearch
from sktvbo.domain import Arms, FiniteSet, WithContext
from sktvbo.exceptions import AmbiguousQueryWarning

# Where none is expected, the warning is an error.
pytestmark = pytest.mark.filterwarnings("error::sktvbo.exceptions.AmbiguousQueryWarning")
ambiguous = pytest.warns(AmbiguousQueryWarning, match="Several queries at this x are pending")
PLACES = {
    "arms": (Arms(1), [0]),
    "set": (FiniteSet([[0.5, 1.0]]), [0.5, 1.0]),
    "names": ({"loss": ["l1"], "n": ("integer", 3, 3)}, {"loss": "l1", "n": 3}),
    "box": ([(0.0, 1.0)], [0.25]),
    "context": (WithContext(Arms(1), [(0.0, 1.0)]), [0]),
}


def asked(domain, x, times, contexts=None, **options):
    """An optimizer of which x was asked for at some times."""
    opt = RandomSearch(domain, random_state=0, **options)
    if contexts is None and isinstance(domain, WithContext):
        contexts = [[0.1 * t] for t in times]
    for t, context in zip(times, contexts or [None] * len(times)):
        opt.announce(x, t, context=context)
    return opt


def times_of(opt):
    return opt.told_X_[:, -1].tolist()


def pending(opt):
    return [query.t for query in opt.pending_]


@pytest.mark.parametrize("domain", [Arms(4), FiniteSet([[0.0], [0.3], [1.0]]), {"a": ["b", "c"]}])
def test_a_loop_that_loses_results_stores_the_times_and_contexts_of_the_others(domain):
    domain = WithContext(domain, [(0.0, 100.0)])
    opt = RandomSearch(domain, query_timeout=None, random_state=0)
    rng, sent = np.random.RandomState(0), []
    for t in range(80):
        x = opt.ask(t, context=[t / 2])
        if rng.uniform() < 0.2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AmbiguousQueryWarning)
            opt.tell(x, np.sin(t))
        sent.append([t / 2, t])
    assert 50 < len(sent) < 70
    assert_array_equal(opt.told_X_[:, -2:], sent)
    assert len(opt.pending_) == 80 - len(sent)


@pytest.mark.parametrize("place", PLACES)
def test_x_alone_is_the_latest_query_there_and_a_warning_says_so(place):
    domain, x = PLACES[place]
    opt = asked(domain, x, [1.0, 2.0, 3.0])
    with ambiguous:
        opt.tell(x, 1.0)
    with ambiguous:
        opt.tell(x, failed=True)
    assert times_of(opt) == [3.0]
    assert opt.failed_X_[:, -1].tolist() == [2.0]
    assert pending(opt) == [1.0]
    if place == "context":
        assert_array_equal(opt.told_X_[:, 1], [0.1 * 3.0])
    opt.tell(x, 1.0)
    assert times_of(opt) == [3.0, 1.0]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("t", "answered"),
    [(5.0, 5.0), (7.5, None), (9.1, 9.1), (30.0, None), (1.0, None)],
)
def test_a_time_chooses_the_query_of_this_time_or_none(place, t, answered):
    domain, x = PLACES[place]
    opt = asked(domain, x, [5.0, 9.1, 20.0])
    context = [0.1 * t] if place == "context" and answered is None else None
    opt.tell(x, 1.0, t, context=context)
    assert times_of(opt) == [t]
    assert pending(opt) == [time for time in [5.0, 9.1, 20.0] if time != answered]
    if place == "context":
        assert_array_equal(opt.told_X_[0, 1], 0.1 * t)


def test_a_batch_of_equal_queries_is_not_ambiguous():
    opt = RandomSearch(Arms(1), random_state=0)
    opt.suggest(1.0, n=3)
    for _ in range(3):
        opt.tell([0], 1.0)
    assert times_of(opt) == [1.0] * 3


def test_as_an_error_the_warning_leaves_the_optimizer_as_it_was():
    opt = asked(Arms(1), [0], [1.0, 2.0])
    before = fingerprint(opt)
    for call in (
        lambda: opt.tell([0], 1.0),
        lambda: opt.tell_many([[0]], [1.0]),
        lambda: opt.cancel([0]),
    ):
        with pytest.raises(AmbiguousQueryWarning):
            call()
    assert fingerprint(opt) == before


# --- many at once ---------------------------------------------------------------------------------


@pytest.mark.parametrize("place", PLACES)
def test_many_equal_places_are_the_latest_queries_in_their_order(place):
    domain, x = PLACES[place]
    opt = asked(domain, x, [1.0, 2.0, 3.0, 4.0])
    with ambiguous:
        opt.tell_many([x, x], [30.0, 40.0])
    assert dict(zip(times_of(opt), opt.told_y_)) == {3.0: 30.0, 4.0: 40.0}
    opt.tell_many([x, x], [10.0, 20.0])
    assert dict(zip(times_of(opt)[2:], opt.told_y_[2:])) == {1.0: 10.0, 2.0: 20.0}
    assert opt.pending_ == []


def test_many_with_times_contexts_and_handles_answer_these():
    domain = WithContext(Arms(1), [(0.0, 1.0)])
    opt = asked(domain, [0], [1.0, 2.0, 3.0, 4.0])
    last = opt.pending_[-1]
    # The second is late; at 2.0 and 1.0 queries were asked for.
    places, late = (
        [last, [0], opt.pending_[2], [0]],
        {"context": [[c] for c in 0.1 * np.array([4, 2, 3, 1])]},
    )
    opt.tell_many(places, [4.0, 2.0, 3.0, 1.0], [4.0, 2.0, 3.5, 1.0], **late)
    assert_array_equal(opt.told_X_[:, 1], 0.1 * np.array([1.0, 2.0, 3.0, 4.0]))
    assert_array_equal(opt.told_X_[:, 2], [1.0, 2.0, 3.5, 4.0])
    opt = asked(domain, [0], [1.0, 2.0, 3.0], [[0.1], [0.2], [0.3]])
    opt.tell_many([[0], opt.pending_[-1]], [2.0, 3.0], context=[[0.2], [0.9]])
    assert_array_equal(opt.told_X_, [[0, 0.2, 2], [0, 0.9, 3]])
    assert pending(opt) == [1.0]
