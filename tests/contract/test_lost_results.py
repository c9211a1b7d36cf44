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
    "set": (FiniteSet([[0.5, 1.0]]), [0.5, 1.0]),
    "names": ({"loss": ["l1"], "n": ("integer", 3, 3)}, {"loss": "l1", "n": 3}),
    "box": ([(0.0, 1.0)], [0.25]),
    "context": (WithContext(Arms(1), [(0.0, 1.0)]), [0]),
}


def asked(domain, x, times):
    """An optimizer of which x was asked for at some times, in contexts if there are any."""
    opt = RandomSearch(domain, random_state=0)
    for t in times:
        opt.announce(x, t, context=[0.1 * t] if isinstance(domain, WithContext) else None)
    return opt


def times_of(opt):
    return opt.told_X_[:, -1].tolist()


def pending(opt):
    return [query.t for query in opt.pending_]


def test_a_loop_that_loses_results_stores_the_times_and_contexts_of_the_others():
    domain = WithContext(FiniteSet([[0.0], [0.3], [1.0]]), [(0.0, 100.0)])
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
def test_a_time_chooses_the_query_of_this_time_or_none(place):
    domain, x = PLACES[place]
    opt, left = asked(domain, x, [5.0, 9.1, 20.0]), [5.0, 9.1, 20.0]
    for t in (5.0, 7.5, 9.1, 30.0, 1.0):
        beside = place == "context" and t not in left
        opt.tell(x, 1.0, t, context=[0.1 * t] if beside else None)
        left = [time for time in left if time != t]
        assert times_of(opt)[-1] == t
        assert pending(opt) == left
    if place == "context":
        assert_array_equal(opt.told_X_[:, 1], 0.1 * opt.told_X_[:, 2])


def test_a_batch_of_equal_queries_is_not_ambiguous():
    opt = RandomSearch(Arms(1), random_state=0)
    opt.suggest(1.0, n=3)
    for _ in range(3):
        opt.tell([0], 1.0)
    assert times_of(opt) == [1.0] * 3


@pytest.mark.parametrize(
    "call",
    [
        lambda opt: opt.tell([0], 1.0),
        lambda opt: opt.tell_many([[0]], [1.0]),
        lambda opt: opt.cancel([0]),
    ],
)
def test_as_an_error_the_warning_comes_after_the_step(call):
    opt, warned = (asked(Arms(1), [0], [1.0, 2.0]) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(AmbiguousQueryWarning):
            call(opt)
    with pytest.warns(AmbiguousQueryWarning):
        call(warned)
    assert fingerprint(opt) == fingerprint(warned)


# --- many at once ---------------------------------------------------------------------------------


def test_many_equal_places_are_the_latest_queries_in_their_order():
    opt = asked(Arms(1), [0], [1.0, 2.0, 3.0, 4.0])
    with ambiguous:
        opt.tell_many([[0], [0]], [30.0, 40.0])
    opt.tell_many([[0], [0]], [10.0, 20.0])
    assert dict(zip(times_of(opt), opt.told_y_)) == {3.0: 30.0, 4.0: 40.0, 1.0: 10.0, 2.0: 20.0}


def test_many_with_times_contexts_and_handles_answer_these():
    opt = asked(WithContext(Arms(1), [(0.0, 1.0)]), [0], [1.0, 2.0, 3.0, 4.0])
    # The second is late; at 2.0 and 1.0 queries were asked for.
    places, contexts = [opt.pending_[3], [0], opt.pending_[2], [0]], [[0.4], [0.2], [0.3], [0.1]]
    opt.tell_many(places, [4.0, 2.0, 3.0, 1.0], [4.0, 2.0, 3.5, 1.0], context=contexts)
    assert_array_equal(opt.told_X_[:, 1:], [[0.1, 1.0], [0.2, 2.0], [0.3, 3.5], [0.4, 4.0]])
    opt = asked(WithContext(Arms(1), [(0.0, 1.0)]), [0], [1.0, 2.0, 3.0])
    opt.tell_many([[0], opt.pending_[-1]], [2.0, 3.0], context=[[0.2], [0.9]])
    assert_array_equal(opt.told_X_, [[0, 0.2, 2], [0, 0.9, 3]])
    assert pending(opt) == [1.0]
