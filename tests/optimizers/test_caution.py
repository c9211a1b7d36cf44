"""Required safety: cautious steps where no model knows a limit, beside step limits and drift."""

import warnings
from itertools import cycle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from stored import parts_of

from sktvbo import ABO, BOLT, SWGPUCB, WDBO, SparQGPUCB
from sktvbo.acquisition import ThompsonSampling
from sktvbo.domain import Arms, Context, FiniteSet, WithContext, as_domain
from sktvbo.exceptions import LimitWarning

KINDS = {
    "WDBO": (WDBO, {}),
    "SWGPUCB": (SWGPUCB, {"window": 12}),
    "ABO": (ABO, {"lookahead": 2.0, "refit_every": 20}),
    "SparQGPUCB": (SparQGPUCB, {}),
    "Thompson": (BOLT, {"acquisition": ThompsonSampling()}),
}
# A joint draw takes ten times as long.
every_kind = pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[pytest.mark.slow] * (kind == "Thompson")) for kind in KINDS],
)

# The first coordinate is what the limit is of, from 0 to 10.
GRID = [[a, b] for a in np.arange(0.0, 10.1, 0.5) for b in (0.0, 0.5, 1.0)]
NAMED = {"a": ("real", 0.0, 10.0), "n": ("integer", 0, 8), "k": ["u", "v"]}
DOMAINS = {
    "box": ([(0.0, 10.0), (0.0, 1.0)], [5.0, 0.5]),
    "named": (NAMED, {"a": 5.0, "n": 4, "k": "u"}),
    "arms": (FiniteSet(GRID), [5.0, 0.5]),
}
# Steps to the next value, in parts of the ranges: these are possible with any step limit.
NEXT = {"box": [0.0, 0.0], "named": [0.0, 0.125], "arms": [0.05, 0.5]}
every_domain = pytest.mark.parametrize("domain", DOMAINS)


def made(kind, domain, start, high, seed=0, **options):
    """Return an optimizer with a limit of the outcome "c"."""
    make, others = KINDS[kind]
    limits = {"outcome_constraints": {"c": (None, high)}, "safety": 0.95}
    return make(domain, start_points=start, **limits | {"random_state": seed} | others | options)


def first(x):
    return x["a"] if isinstance(x, dict) else x[0]


def in_unit_form(opt, x):
    space = as_domain(opt.domain)
    return space.to_unit(space.validate_point(x))


def drive(opt, c, stop, start=0, noise=0.0):
    """Ask and tell at start, start + 1, ...; the first coordinates and values of c (n,)."""
    rng, found = np.random.RandomState(0), []
    for t in range(start, stop):
        x = opt.ask(float(t))
        found.append((first(x), c(first(x), t)))
        measured = found[-1][1] + noise * rng.normal()
        opt.tell(x, found[-1][0] + noise * rng.normal(), outcomes={"c": measured})
    return np.array(found).T


def ignoring(function, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        return function(*args, **options)


# --- the first queries ----------------------------------------------------------------------------


@every_kind
@every_domain
@pytest.mark.parametrize("max_step", [None, 0.05])
def test_first_queries_are_near_the_start_point_within_reach_and_turn_back(kind, domain, max_step):
    longest = np.maximum(NEXT[domain], np.inf if max_step is None else max_step)
    domain, start = DOMAINS[domain]
    opt = made(kind, domain, [start], 5.3, max_step=max_step)
    before, beyond = None, 0
    for t in range(9):
        x = opt.ask(float(t))
        u, a = in_unit_form(opt, x), first(x)
        assert abs(a - 5.0) <= 1.0 + 1e-9
        if before is not None:
            assert np.all(np.abs(u - before[0])[:2] <= longest + 1e-9)
            assert before[1] <= 5.3 or a < before[1] - 0.1
        before = u, a
        beyond += a > 5.3
        opt.tell(x, a, outcomes={"c": a})
    assert 1 <= beyond <= 3


def test_first_queries_of_arms_are_the_start_arm_and_the_next_ones():
    opt = made("WDBO", Arms(8), [[5.0]], 9.0)
    x, _ = drive(opt, lambda x, t: x, 30)
    assert x[0] == 5.0
    assert set(x[1:3]) == {4.0, 6.0}
    assert set(x[:6]) == {4.0, 5.0, 6.0}
    assert len(set(x)) == 8


@pytest.mark.parametrize(("late", "load"), [(0.0, 0.5), (0.3, 0.5), (-0.3, 0.5), (0.0, 0.6)])
def test_queries_step_back_on_the_way_to_another_start_point(late, load):
    """Also if what was told has another time or context."""
    domain = {"a": ("real", 0.0, 10.0), "load": Context(0.0, 1.0)}
    opt = made("WDBO", domain, [{"a": 2.0}, {"a": 8.0}], 4.1, max_step=0.1)
    found = []
    for t in range(5):
        query = opt.suggest(float(t), context={"load": 0.5})
        found.append(query.x["a"])
        limited = {"c": query.x["a"]}
        opt.tell(query, 0.0, query.t + late, context={"load": load}, outcomes=limited)
    assert_allclose(found, [2.0, 3.0, 4.0, 5.0, 4.0])


def test_a_later_measurement_within_the_limit_ends_the_way_back():
    opt = made("WDBO", [(0.0, 10.0)], [[2.0], [8.0]], 4.1, max_step=0.1)
    x, _ = drive(opt, lambda x, t: x, 4)
    assert_allclose(x, [2.0, 3.0, 4.0, 5.0])
    opt.tell([5.0], 0.0, 3.5, outcomes={"c": 4.0})
    assert_allclose(opt.ask(4.0), [6.0])


# --- start points beyond a limit ------------------------------------------------------------------


def test_after_a_start_point_beyond_a_limit_the_next_one_is_asked():
    opt = made("WDBO", [(0.0, 1.0)], [[0.6], [0.2]], 0.5)
    x = opt.ask(0.0)
    opt.tell(x, 1.0, outcomes={"c": 0.6})
    assert opt.n_told_ == 1
    assert not opt.pending_
    with pytest.warns(LimitWarning, match=r"start point was measured .* other start_points") as got:
        x = opt.ask(1.0)
    assert [w.filename for w in got] == [__file__]
    assert_array_equal(x, [0.2])
    opt.tell_many([x], [1.0], outcomes={"c": [0.2]})
    resumed = WDBO.from_json(opt.to_json())
    with warnings.catch_warnings():
        warnings.simplefilter("error", LimitWarning)
        assert abs(opt.ask(2.0)[0] - 0.2) <= 0.1 + 1e-9
        resumed.ask(2.0)


@every_kind
@pytest.mark.parametrize("max_step", [None, 0.07])
def test_without_another_start_point_queries_go_where_the_violation_is_least(kind, max_step):
    opt = made(kind, [(0.0, 1.0)], [[0.4]], 0.33, max_step=max_step)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LimitWarning)
        a, _ = drive(opt, lambda x, t: x, 16)
    assert len(caught) == 1
    assert np.abs(np.diff(a[:6])).max() <= 0.2 + 1e-9
    assert np.sum(a > 0.33) <= 6
    # The two rows of an outcome that SparQGPUCB may hold do not show its slope.
    assert np.sum(a[-5:] > 0.34) <= (kind == "SparQGPUCB")


# --- the way back ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_where_the_safe_places_are_out_of_reach_queries_step_towards_them(kind):
    opt = made(kind, [(0.0, 1.0)], [[0.2]], 1.0, max_step=0.05, n_initial_points=3)
    # Within reach the violation is least at 0.85, farther away.
    known = np.array([*np.linspace(0.1, 0.75, 14), 0.85, 0.8])
    far = np.where(known > 0.42, 2.0, 0.0)
    far[-2] = 1.2
    for t, (x, c) in enumerate(zip(known, far)):
        opt.tell([x], x, float(t), outcomes={"c": c})
    a, _ = ignoring(drive, opt, lambda x, t: 2.0 * (x > 0.42), 25, 16)
    out = a[: np.argmax(a < 0.42)]
    assert_allclose(np.diff(np.append(0.8, out)), -0.05, atol=1e-9)
    assert len(out) == 7
    assert np.all(a[len(out) :] < 0.42)


@every_kind
def test_queries_with_a_step_limit_are_certified_or_announced(kind):
    # A high hill beyond the limit attracts: the way to it must not lead out of what is certified.
    opt = made(kind, [(0.0, 1.0), (0.0, 1.0)], [[0.2, 0.5]], 0.5, max_step=0.1)
    opt.tell([0.9, 0.5], 9.0, 0.0, outcomes={"c": 0.9})
    t, n_certified = 0.0, 0
    for _ in range(20):
        t += 1.0
        (query,) = ignoring(opt.suggest, t, n=1)
        x, t = query.x, query.t
        limits = parts_of(opt)["limits"]
        if opt.surrogate_ is not None and limits["calm"] and not limits["refused"]:
            assert opt.probability_feasible(x, t) >= 0.95 - 1e-3
            n_certified += 1
        opt.tell(query, -((x[0] - 0.9) ** 2), outcomes={"c": x[0] + 0.05 * np.sin(t / 5.0)})
    assert n_certified >= 5


# --- outcomes that were not seen to vary ----------------------------------------------------------


@every_kind
@every_domain
def test_where_an_outcome_is_constant_so_far_certified_queries_are_near_known_places(kind, domain):
    domain, start = DOMAINS[domain]
    opt = made(kind, domain, [start], 1.0, n_initial_points=4)
    t, known = 0.0, []
    for _ in range(10):
        (query,) = ignoring(opt.suggest, t, n=1)
        t = query.t + 1.0
        u = in_unit_form(opt, query.x)[:2]
        if opt.surrogate_ is not None:
            gaps = np.abs(np.array(known) - u)
            steps = [0.05, 0.125 if opt.domain is NAMED else 0.05]
            if isinstance(domain, FiniteSet):
                steps = [0.05, 0.5]
            assert (gaps <= np.array(steps) + 1e-6).all(axis=1).any()
        known.append(u)
        opt.tell(query, first(query.x), outcomes={"c": 0.0})
    assert max(u[0] for u in known) > 0.55


@pytest.mark.parametrize("noise", [0.0, 0.005])
@pytest.mark.parametrize(("slope", "most"), [(2.0, 0.15), (4.0, 0.25)])
def test_an_outcome_that_is_flat_and_then_steep(slope, most, noise):
    opt = made("WDBO", [(0.0, 1.0)], [[0.1]], 0.1)
    a, c = ignoring(drive, opt, lambda x, t: max(0.0, slope * (x - 0.3)), 18, noise=noise)
    assert c.max() <= most
    assert np.sum(c > 0.1) <= 3
    assert a[-1] > 0.3


# --- nothing is certified any more ----------------------------------------------------------------


def moving(x, t):
    """All known places are beyond the limit from t = 30 on."""
    return x + (0.3 if t < 30 else 0.75)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["WDBO", "ABO", "Thompson"])
@pytest.mark.parametrize("seed", range(8))
def test_regions_that_moved_away_are_found_again(kind, seed):
    opt = made(kind, [(0.0, 1.0)], [[0.5]], 1.0, seed)
    drive(opt, moving, 30, noise=0.01)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LimitWarning)
        a, c = drive(opt, moving, 90, 30, noise=0.01)
    beyond = c > 1.0
    assert beyond.sum() <= 9
    assert not beyond[-10:].any()
    assert 1 <= len(caught) <= 3
    assert "Tell a measurement within the limits" in str(caught[0].message)
    # What was just measured far beyond the limit is not asked again.
    assert np.abs(np.diff(a))[beyond[:-1]].min() > 0.01


def test_a_region_that_moves_away_and_back_is_found_and_warned_of_once_each_time():
    opt = made("WDBO", [(0.0, 1.0)], [[0.5]], 1.0)
    warned, beyond, calm = [], [], []
    for t in range(50):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LimitWarning)
            x = opt.ask(float(t))
        warned += [t] * len(caught)
        c = x[0] + (0.3 if (t // 15) % 2 == 0 else 0.75)
        beyond += [t] if c > 1.0 else []
        opt.tell(x, x[0], outcomes={"c": c})
        calm.append(parts_of(opt)["limits"]["calm"])
    first, second = warned
    assert 15 < first <= 17
    assert 45 < second <= 47
    assert set(beyond) <= {15, 16, 17, 45, 46, 47}
    assert calm[40] == 10 > calm[-1]
    assert parts_of(WDBO.from_json(opt.to_json()))["limits"]["calm"] == calm[-1]


# --- beside contexts, failures and partial results ------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_violations_in_other_contexts_are_violations(seed):
    """The outcome moves beyond the limit at all known places at t = 20."""
    domain, found = WithContext([(0.0, 1.0)], [(0.0, 1.0)]), []
    opt = made("WDBO", domain, [[0.5]], 1.0, seed)
    for t in range(45):
        x = ignoring(opt.ask, float(t), context=[0.5 + 0.5 * np.sin(2.4 * t)])
        found.append(x[0] + (0.3 if t < 20 else 0.75))
        opt.tell(x, x[0], outcomes={"c": found[-1]})
    assert np.sum(np.array(found[20:]) > 1.0) <= 6


def test_a_failure_beyond_a_limit_turns_a_run_back_as_an_observation_does():
    told = []
    for as_failure in (False, True):
        opt = made("WDBO", [(0.0, 1.0)], [[0.45]], 0.5, max_step=0.05, n_initial_points=15)
        told.append(0)
        for t in range(15):
            x = opt.ask(float(t))
            told[-1] += x[0] > 0.5
            y = {"failed": True} if as_failure and x[0] > 0.5 else {"y": x[0]}
            opt.tell(x, **y, outcomes={"c": x[0]})
    assert told[1] <= told[0] + 1 <= 5


def test_a_start_point_beyond_a_limit_in_another_context_is_beyond_it():
    opt = made("WDBO", WithContext([(0.0, 1.0)], [(0.0, 1.0)]), [[0.9]], 1.0)
    opt.tell(opt.ask(0.0, context=[0.2]), 1.0, outcomes={"c": 2.7})
    with pytest.warns(LimitWarning, match="A start point was measured beyond a limit"):
        opt.ask(1.0, context=[0.7])


@pytest.mark.parametrize("other", [{}, {"d": 0.0}])
def test_a_place_at_which_an_outcome_was_not_measured_is_not_known(other):
    limits = dict.fromkeys(["c", *other], (None, 1.0))
    opt = made("WDBO", [(0.0, 1.0)], [[0.1]], 1.0, outcome_constraints=limits)
    for t in range(8):
        opt.tell(opt.ask(float(t)), 1.0, outcomes={"c": 0.0} | other)
    opt.tell([0.95], 5.0, 8.0, outcomes={"c": None} | other)
    for t in range(9, 12):
        x = opt.ask(float(t))
        assert x[0] < 0.6
        opt.tell(x, 1.0, outcomes={"c": 0.0} | other)


@pytest.mark.parametrize("limit", [1.0, -1.0])
def test_queries_of_a_batch_are_at_different_places(limit):
    """Also where no place is within the limit."""
    opt = made("WDBO", {"k": ("integer", 0, 9)}, [{"k": 3}], limit, safety=0.9)
    for t in range(12):
        x = ignoring(opt.ask, float(t))
        opt.tell(x, x["k"], outcomes={"c": 0.05 * x["k"]})
    batch = [query.x["k"] for query in opt.suggest(12.0, n=4)]
    assert len(set(batch)) == 4


def test_a_start_point_beyond_the_limit_is_not_asked_again_within_a_step_limit():
    for seed in range(2):
        opt = made("WDBO", [(0.0, 1.0)] * 2, [[0.5, 0.5]], 0.1, seed, max_step=0.1)
        beyond = []
        for t in range(20):
            x = ignoring(opt.ask, float(t))
            over = 0.16 + 0.6 * (x[1] - 0.5) - 0.5 * (x[0] - 0.5)
            beyond.append(over > 0.1)
            assert t == 0 or not np.array_equal(x, [0.5, 0.5])
            opt.tell(x, -(x[0] ** 2), outcomes={"c": over})
        assert not any(beyond[12:])


STEPS = {
    "integers": ({"n": ("integer", 0, 10)}, lambda x: x["n"]),
    "log-integers": ({"n": ("log-integer", 1, 64)}, lambda x: 1.7 * np.log2(x["n"])),
    "ordinals": ({"n": ("ordinal", [0, 2, 4, 6, 8, 10])}, lambda x: x["n"]),
    "two": ({"n": ("integer", 0, 10), "m": ("integer", 0, 5)}, lambda x: x["n"] + 0.2 * x["m"]),
    "category": ({"n": ("integer", 0, 10), "kind": ["a", "b"]}, lambda x: x["n"]),
}


@pytest.mark.parametrize(
    ("name", "limits"),
    [*zip(STEPS, cycle([{"g": (None, 8.5)}, {"g": (None, 8.5), "h": (-8.5, None)}]))],
)
def test_the_best_integer_within_the_limits_is_reached(name, limits):
    """Without a jump beyond them, for which each integer would have to be on its own."""
    (space, measured), rng, found = STEPS[name], np.random.RandomState(0), []
    start = {key: spec[1] if spec[0] != "ordinal" else 0 for key, spec in space.items()}
    start |= {"kind": "a"} if name == "category" else {}
    opt = WDBO(space, outcome_constraints=limits, safety=0.95, start_points=[start], random_state=0)
    for t in range(30):
        x = opt.ask(t)
        found.append(measured(x))
        g = measured(x) + 0.02 * rng.standard_normal()
        opt.tell(x, found[-1], outcomes={"g": g, "h": -g} if len(limits) > 1 else {"g": g})
    assert max(found) <= 8.5
    # Two limits hold with the required probability together.
    assert np.median(found[-5:]) > (7.5 if len(limits) == 1 else 5.5)
