"""Places of cancelled queries are left alone at their time."""

import pickle

import numpy as np
import pytest

from sktvbo import GPUCB, TVGPUCB, WDBO, RandomSearch
from sktvbo.domain import Arms, FiniteSet, as_domain

BOX = [(0.0, 10.0)]
MIXED = {"x": ("real", 0.0, 1.0), "n": ("integer", 1, 8), "kind": ["u", "v"]}
GRID = FiniteSet([[i, j] for i in range(3) for j in range(3)])


def unit_of(opt, x):
    domain = as_domain(opt.domain)
    return domain.to_unit(domain.validate_point(x))


def told(opt, n):
    """The optimizer after n observations, at times 0, 1, ...."""
    for t in range(n):
        x = opt.ask(float(t))
        opt.tell(x, -float(np.sum((unit_of(opt, x) - 0.5) ** 2)))
    return opt


def cancelled(opt, t, n):
    """Places (n, u) of queries that were cancelled one after the other."""
    places = []
    for _ in range(n):
        x = opt.ask(t)
        opt.cancel(x)
        places.append(unit_of(opt, x))
    return np.array(places)


def least_gap(places):
    """Least distance of two places, the largest of the differences of their coordinates."""
    gaps = np.abs(places[:, np.newaxis] - places).max(axis=2)
    return gaps[np.triu_indices(len(places), 1)].min()


@pytest.mark.parametrize("n_told", [1, 8])
@pytest.mark.parametrize(
    ("algorithm", "space", "options"),
    [
        (WDBO, BOX, {}),
        (TVGPUCB, [(0.0, 1.0)] * 3, {}),
        (GPUCB, BOX, {"acquisition": "ts"}),
        (GPUCB, BOX, {"n_initial_points": 3}),
        (WDBO, MIXED, {"constraints": lambda x: x["n"] < 7 or x["kind"] == "u"}),
        (WDBO, [(0.0, 1.0)] * 2, {"max_step": 0.2}),
        (TVGPUCB, GRID, {}),
        (RandomSearch, BOX, {}),
        (RandomSearch, Arms(5), {}),
        (WDBO, BOX, {"outcome_constraints": {"objective": (-0.2, None)}}),
    ],
)
def test_a_cancelled_place_is_left_alone_at_its_time(algorithm, space, options, n_told):
    opt = told(algorithm(space, random_state=0, **options), n_told)
    assert least_gap(cancelled(opt, float(n_told), 5)) >= 0.05 - 1e-9


def test_where_no_other_place_is_left_near_ones_are_asked():
    places = cancelled(told(WDBO(BOX, random_state=0), 8), 8.0, 40)
    assert least_gap(places[:10]) > 0.02
    assert len(np.unique(places)) == 40
    arms = cancelled(told(WDBO(Arms(4), random_state=0), 8), 8.0, 6)
    assert len(np.unique(arms[:4])) == 4


def test_a_cancelled_place_is_free_at_another_time_or_when_it_is_told():
    opt = told(GPUCB(BOX, random_state=0), 8)
    place = opt.ask(8.0)
    opt.cancel(place)
    later, measured = pickle.loads(pickle.dumps(opt)), pickle.loads(pickle.dumps(opt))
    assert abs(opt.ask(8.3) - place) >= 0.5 - 1e-9  # within the interval of observations
    assert abs(later.ask(9.0) - place) < 1e-3
    measured.tell(place, 0.0, 8.0)
    assert abs(measured.ask(8.0) - place) < 0.5


def test_a_resumed_run_leaves_the_place_alone(tmp_path):
    opt = told(WDBO(BOX, random_state=0, journal=tmp_path / "run.db"), 8)
    (place,) = cancelled(opt, 8.0, 1)
    again = WDBO.from_json(opt.to_json())
    expected = opt.ask(8.0)
    assert abs(unit_of(opt, expected) - place) >= 0.05 - 1e-9
    np.testing.assert_array_equal(again.ask(8.0), expected)
    wider = again.with_parameters(domain=[(0.0, 20.0)])
    assert abs(wider.ask(8.0) - 10.0 * place) >= 1.0 - 1e-9
