"""How far a query may be from the one before."""

from itertools import cycle

import numpy as np
import pytest
from contract.cases import ARMS, DOMAINS, NAMED, in_turns, points_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import Matern

from sktvbo import GPUCB, WDBO, RandomSearch, TimeVaryingGPRegressor
from sktvbo.domain import Context, FiniteSet, StepLimit, WithContext, as_domain

UNIT = [(0.0, 1.0)] * 2
SLACK = 1e-9


def steps_of(opt):
    """Steps between queries, in parts of the ranges; how many times a category changed."""
    space = as_domain(opt.domain)
    rows = opt.told_X_[:, :-1]
    units = space.to_unit(rows)[:, space.unit_columns]
    changes = np.diff(rows, axis=0) != 0.0
    steps = np.abs(np.diff(units, axis=0))
    return steps[:, space.kinds != "unordered"], changes[:, space.kinds == "unordered"]


@in_turns("domain", DOMAINS)
def test_no_step_is_longer(few, domain):
    limit = {"box": 0.1, "finite": 0.45, "named": {"rate": 0.1, "alpha": 0.1, "depth": 0.25}}
    opt = few.make(domain, max_step=limit[domain])
    few.drive(opt, 12, domain=domain)
    steps, changes = steps_of(opt)
    longest = [0.1, 0.1, 0.25] if domain == "named" else limit[domain]
    assert np.all(steps <= np.array(longest) + SLACK)
    assert steps.max() > 0.05
    if domain == "named":
        assert changes.any()  # categories are free


def test_per_unit_of_time():
    limit = StepLimit(0.02, per="time")
    opt = WDBO(UNIT, max_step=limit, n_initial_points=4, random_state=0)
    times = np.cumsum(np.random.RandomState(0).exponential(2.0, size=20))
    for t in times:
        x = opt.ask(t)
        opt.tell(x, float(x[0]))
    rows = opt.told_X_
    speed = np.abs(np.diff(rows[:, :2], axis=0)) / np.diff(rows[:, 2])[:, np.newaxis]
    assert speed.max() <= 0.02 + SLACK
    assert speed.max() > 0.019
    X = points_of(opt.suggest(times[-1] + 1.0, n=3))
    assert_allclose(X, np.tile(X[:1], (3, 1)), atol=1e-9)


def test_a_place_that_is_told_unasked_is_where_the_machine_is():
    opt = WDBO(UNIT, max_step=0.1, n_initial_points=3, random_state=0)
    opt.tell([0.9, 0.1], 1.0, 0.0)
    x = opt.ask(1.0)
    assert np.abs(x - [0.9, 0.1]).max() <= 0.1 + SLACK
    opt.announce([0.2, 0.2], 2.0)
    y = opt.ask(3.0)
    assert np.abs(y - 0.2).max() <= 0.1 + SLACK
    # A late one is where it has been, and the answer to a query too.
    opt.tell([0.9, 0.9], 1.0, 0.5)
    opt.tell(x, 1.0)
    z = opt.ask(4.0)
    assert np.abs(z - y).max() <= 0.1 + SLACK
    # What is cancelled was not gone to.
    opt.cancel(z)
    assert np.abs(opt.ask(5.0) - y).max() <= 0.1 + SLACK


@pytest.mark.parametrize("seed", range(3))
def test_what_was_taken_back_leaves_it_at_the_latest_other_query(seed):
    opt = RandomSearch([(0.0, 1.0)], max_step=0.1, query_timeout=4.0, random_state=seed)

    def goes_on_from(query):
        assert abs(opt.ask(20.0)[0] - query.x[0]) <= 0.1 + SLACK
        opt.cancel(opt.pending_[-1])

    late, *others = [opt.suggest(t) for t in range(8)]
    for query in others:
        opt.tell(query, 0.0)
    opt.tell(late, 0.0)
    goes_on_from(others[-1])
    goes_on_from(others[-1])  # and not from the latest answer
    opt.announce([0.99], t=2.5)
    goes_on_from(others[-1])
    failing = opt.suggest(8.0)
    opt.tell(failing, failed=True)
    goes_on_from(failing)
    goes_on_from(failing)
    *_, lost, cancelled = opt.suggest(9.0, n=4)
    opt.cancel(cancelled)
    goes_on_from(lost)
    opt.tell(opt.suggest(19.0), 0.0)
    opt.untell()
    goes_on_from(lost)  # which has expired


# --- steps of few values --------------------------------------------------------------------------

SCATTERED = np.random.RandomState(7).uniform(size=(15, 2))
FEW_VALUES = {
    "log-integer": ({"n": ("log-integer", 1, 9)}, {}),
    "ordinal": ({"n": ("ordinal", ["a", "b", "c", "d"])}, {}),
    "discrete": ({"n": ("discrete", [1, 2, 4, 100, 101])}, {}),
    "several": ({"n": ("integer", 1, 5), "m": ("log-integer", 1, 5)}, {}),
    "mixed": ({"n": ("integer", 1, 5), "r": ("real", 0.0, 1.0), "c": ["u", "v"]}, {}),
    "line": (FiniteSet([[0.0], [1.0], [3.0], [10.0], [11.0]]), {}),
    "scattered": (FiniteSet(SCATTERED), {}),
    "context": ({"n": ("integer", 1, 5), "load": Context(0.0, 1.0)}, {}),
    "context of points": (WithContext(FiniteSet(SCATTERED), [(0.0, 1.0)]), {}),
    "odd and real": (
        {"n": ("integer", 1, 11), "r": ("real", 0.0, 1.0)},
        {"constraints": lambda p: p["n"] % 2 == 1},
    ),
}


LIMITED = cycle([(GPUCB, StepLimit(1e-3, per="time")), (WDBO, 1e-3), (RandomSearch, 1e-3)])


@pytest.mark.parametrize(
    ("name", "kind", "limit"), [(name, *limited) for name, limited in zip(FEW_VALUES, LIMITED)]
)
def test_the_next_value_is_always_within_reach(name, kind, limit):
    """From the lowest member the highest one is found, by steps from one value to the next.

    Random queries wander.
    """
    space, options = FEW_VALUES[name]
    domain = as_domain(space)
    measured = domain.decode_context(domain.sample(1, 0)[0])
    chosen = domain if measured is None else domain.chosen
    ends = chosen.sample(200, 0)
    ends = ends[[ends[:, 0].argmin(), ends[:, 0].argmax()]]
    options = options | ({} if kind is RandomSearch else {"n_initial_points": 3})
    start = chosen.decode(ends[0])
    opt = kind(space, max_step=limit, start_points=[start], random_state=0, **options)
    for t in range(60 if kind is RandomSearch else 25):
        query = opt.suggest(t, context=measured)
        row = chosen.validate_point(query.x)
        opt.tell(query, -np.linalg.norm(chosen.to_unit(row) - chosen.to_unit(ends[1])))
        if row[0] == ends[1, 0]:
            break
    wandered = kind is RandomSearch and len(np.unique(opt.told_X_[:, 0])) >= 4
    assert wandered or row[0] == ends[1, 0]
    if not isinstance(chosen, FiniteSet):
        rows = opt.told_X_[:, : chosen.n_dims]
        values = [np.unique(column) for column in rows.T]
        for column, kind, known in zip(rows.T, chosen.kinds, values):
            if kind in ("steps", "labels"):
                assert np.abs(np.diff(np.searchsorted(known, column))).max() <= 1


@pytest.mark.parametrize("domain", [{"n": ("integer", 1, 9), "m": ("integer", 0, 3)}, ARMS])
def test_what_is_held_makes_no_step(domain):
    opt = RandomSearch(domain, max_step=[0.0, 1e-3], random_state=0)
    for t in range(20):
        opt.tell(opt.ask(t), 0.0, t)
    moves = np.ptp(opt.told_X_[:, :2], axis=0)
    assert moves[0] == 0.0
    assert moves[1] == (0.0 if domain is ARMS else 3.0)
    timed = RandomSearch(domain, max_step=StepLimit(1e-3, per="time"), random_state=0)
    rows = as_domain(domain).validate_points(points_of(timed.suggest(0.0, n=4)))
    assert len({tuple(row) for row in rows}) == 1


def test_the_recommendation_is_free():
    opt = RandomSearch([(0.0, 1.0)], max_step=0.01, random_state=0)
    opt.tell([0.0], 5.0, 0.0)
    opt.tell([1.0], 1.0, 1.0)
    assert opt.recommend(2.0) == 0.0


def test_a_limit_that_is_none_changes_nothing(few):
    opt = few.make(max_step=1.0)
    few.drive(opt, 4)
    plain = few.make()
    few.drive(plain, 4)
    assert_array_equal(opt.told_X_, plain.told_X_)


LINE = np.linspace(0.0, 1.0, 41)[:, np.newaxis]


def told(domain, observations, **options):
    """A run that was told some observations (x, y), the last one where the machine is."""
    gp = TimeVaryingGPRegressor(
        Matern(0.05), Matern(1e3), noise_variance=1e-3, normalize_y=True, optimizer=None
    )
    opt = GPUCB(domain, surrogate=gp, max_step=0.1, n_initial_points=5, random_state=0, **options)
    for t, (x, y) in enumerate(observations):
        opt.tell([x], y, t)
    return opt


def on_a_low_hill(domain, **options):
    """At 0.2, on a hill that is known well, with a higher one at 0.8."""
    low = [(x, 1.0 - 20.0 * (x - 0.2) ** 2) for x in LINE[7:17, 0]]
    return told(domain, [(0.8, 4.0), (0.825, 3.9), (0.775, 3.9), *low, (0.2, 1.0)], **options)


@pytest.mark.parametrize("domain", [[(0.0, 1.0)], FiniteSet(LINE)], ids=["box", "finite"])
def test_it_leaves_a_hill_for_a_higher_one_beyond_its_reach(domain):
    opt = on_a_low_hill(domain)
    X = points_of(opt.suggest(21.0, n=5))
    assert_allclose(X[:, 0], [0.3, 0.4, 0.5, 0.6, 0.7], atol=1e-9)
    for x in X:
        opt.tell(x, -1.0)
    assert abs(opt.ask(22.0)[0] - 0.8) < 0.05


def test_it_stays_where_more_may_be_hoped_for():
    """There the mean and one deviation exceed the mean of the better place beyond reach."""
    beside = [(0.65, 0.0), (0.1, 0.0), (0.5, 1.0)]
    for top, expected in ((1.4, 0.455), (1.45, 0.6)):
        x = told([(0.0, 1.0)], [(0.9, top), (0.88, top - 0.1), *beside]).ask(5.0)
        assert_allclose(x, expected, atol=1e-3)


def test_it_does_not_go_through_what_is_forbidden_or_fails():
    opt = on_a_low_hill([(0.0, 1.0)], constraints=[lambda x: abs(x[0] - 0.3) - 0.05])
    assert opt.ask(21.0)[0] < 0.25
    opt = on_a_low_hill([(0.0, 1.0)])
    opt.tell([0.3], t=21.0, failed=True)
    opt.announce([0.2], 22.0)
    assert abs(opt.ask(23.0)[0] - 0.3) > 0.01


def test_it_does_not_wait_next_to_a_better_place_that_no_step_can_reach():
    opt = GPUCB(UNIT, max_step=[0.2, 0.0], start_points=[[0.1, 0.1]], random_state=0)
    for t in range(20):
        x = opt.ask(float(t))
        opt.tell(x, -abs(x[0] - 0.8))
        if t == 8:
            opt.tell([0.3, 0.9], 5.0, -1.0)  # late: the run is not there
    assert abs(opt.told_X_[-8:, 0] - 0.3).min() < 0.01
    assert np.ptp(opt.told_X_[-4:, 0]) > 0.05


# --- what goes on, and what goes wrong ------------------------------------------------------------


def test_a_dict_names_parameters():
    parts = StepLimit({"alpha": 0.5}).shares(as_domain(NAMED))
    assert_array_equal(parts, [np.inf, 0.5, np.inf, np.inf])


HUNDRED = {"degrees": ("real", 0.0, 100.0), "n": ("log-integer", 1, 64)}


@pytest.mark.parametrize(
    ("domain", "limit", "match"),
    [
        ([(0.0, 100.0)], 5, r"at most 1: .* Got 5 instead. 5 of a range of 100 is 0.05"),
        ([(0.0, 100.0)], StepLimit(5), r"'share' parameter .* at most 1: .* range of 100 is 0.05"),
        (HUNDRED, {"n": 5}, "A tenth of the range is 0.1"),
        ([(0.0, 1.0), (-10.0, 10.0)], [0.5, 5.0], "5 of a range of 20 is 0.25"),
    ],
)
def test_a_step_is_a_part_of_the_range(domain, limit, match):
    with pytest.raises(ValueError, match=match):
        WDBO(domain, max_step=limit).ask(0.0)
    free = np.inf if len(as_domain(domain).columns) == 1 else [np.inf, 1.0]
    WDBO(domain, max_step=free).ask(0.0)
    WDBO(domain, max_step=StepLimit(5.0, per="time")).ask(0.0)


def test_in_a_smaller_domain_a_run_is_at_the_nearest_point():
    opt = RandomSearch([(0.0, 1.0)], max_step=0.1, random_state=0)
    opt.tell(opt.ask(0.0), 0.0)
    opt.tell([0.9], 0.0, 1.0)
    x = opt.with_parameters(domain=[(0.0, 0.5)]).ask(2.0)
    assert 0.45 - SLACK <= x[0] < 0.5
