"""Runs that go on from their journal, or from JSON, as if nothing had happened."""

import copy
import os
import pickle
import re
import runpy
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from contract.cases import (
    BOX,
    BY_NAME,
    ROUNDING,
    STEPS,
    ask_and_tell,
    in_turns,
    objective,
    same_state,
)
from contract.test_atomic import places_of, some_of, stopped_at
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gamma
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern

import sktvbo
from sktvbo import (
    GPUCB,
    SWGPUCB,
    WDBO,
    BayesianOptimizer,
    RandomSearch,
    TimeVaryingGPRegressor,
    journal,
)
from sktvbo.domain import Box, Constrained, FiniteSet, StepLimit
from sktvbo.exceptions import AskTellError, JournalError
from sktvbo.journal import Journal
from sktvbo.staleness import KeepAll, SlidingWindow

CRASH = Path(__file__).parents[2] / "benchmarks" / "robustness" / "crash.py"


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "run.db")


def test_a_resumed_run_goes_on_as_if_nothing_had_happened(few, path):
    """A run that was resumed at some steps is the one that was not."""
    expected, queries = few.after()
    opt, done = few.make(journal=path), 0
    for stop in (3, 10, STEPS):
        again = few.drive(opt, stop - done, done)
        assert_allclose(again, queries[done:stop], atol=ROUNDING, rtol=ROUNDING)
        opt.close()
        stored, opt, done = opt, few.kind.resume(path), stop
        same_state(opt, stored)
    few.drive(opt, 1, STEPS), few.drive(expected, 1, STEPS)
    same_state(opt, expected, ROUNDING)


def test_nothing_is_searched_again(path, monkeypatch):
    case = BY_NAME["WDBO"]
    opt = case.make(journal=path)
    case.drive(opt, STEPS)
    opt.close()
    with monkeypatch.context() as patch:
        patch.setattr(
            "sktvbo.gaussian_process._regressor.search",
            lambda *args, **options: pytest.fail("searched"),
        )
        again = WDBO.resume(path)
    same_state(again, opt)


def test_every_step_is_an_event(path):
    case = BY_NAME["SparQGPUCB-expert"]
    opt = case.make(journal=path)
    case.drive(opt, 7)
    opt.cancel(opt.ask(7.0))
    found = list(journal.events(path))
    assert [event.number for event in found] == list(range(1, len(found) + 1))
    kinds = [event.kind for event in found]
    assert kinds[:4] == ["begin", "ask_expert", "ask", "tell"]
    assert kinds[-2:] == ["ask", "cancel"]
    told = [event for event in found if event.kind == "tell"]
    assert [event.told for event in told] == list(range(7))
    assert [[*e.body["x"], e.body["t"]] for e in told] == opt.told_X_.tolist()
    assert [event.body["y"] for event in told] == opt.told_y_.tolist()
    assert found[0].body["parameters"]["n_initial_points"] == {"value": 5}
    assert found[0].body["version"] == sktvbo.__version__
    searched = [event for event in found if event.kind == "search"][-1]
    assert searched.body["theta"] == opt.surrogate_.theta_.tolist()
    assert list(journal.events(path, after=3)) == found[3:]
    assert journal.check(path) == {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


# --- resume or begin ------------------------------------------------------------------------------


@in_turns("how", [lambda opt: opt, clone, lambda o: pickle.loads(pickle.dumps(o))])
def test_an_optimizer_begins_the_run_or_resumes_it(few, how, path):
    """The journal is opened by the first step, or to read an attribute; resume() does the same."""

    def make():
        return how(few.make(journal=Journal(path, resume=True)))

    opt, unused = make(), make()
    for query in opt.pending_:
        opt.cancel(query)
    assert (opt.n_told_, len(opt.told_X_)) == (0, 0)
    assert not Path(path).exists()
    few.drive(opt, 8)
    opt.ask(8.0)
    with pytest.raises(JournalError, match="in use by another process, or by another optimizer"):
        unused.n_told_  # noqa: B018
    opt.close()
    shutil.copy(path, f"{path}-copy")
    content = Path(path).read_bytes()
    again, expected = make(), few.kind.resume(f"{path}-copy")
    same_state(again, expected)
    same_state(again, opt)
    again.close()
    assert Path(path).read_bytes() == content  # nothing but a step changes it
    for each in (again, expected):
        few.drive(each, 3, 9)
    same_state(again, expected)


def resumed(path, kind=WDBO, domain=BOX, **options):
    if kind is not RandomSearch:
        options = {"n_initial_points": 3} | options
    return kind(domain, journal=Journal(path, resume=True), random_state=0, **options)


def inside(x):
    return x[0] < 1.9


OTHER = {
    "kind": (GPUCB, "algorithm: expected WDBO, got GPUCB"),
    "domain": (BOX[:1], r"domain: expected \[.*\], got \[.*\]"),
    "constraints": (inside, "constraints: expected None, got <function ins[^;]*"),
    "maximize": (False, "maximize: expected True, got False"),
    "time_unit": ("h", "time_unit: expected 's', got 'h'"),
}


def test_the_run_of_another_optimizer_is_refused_with_all_differences(path):
    opt = resumed(path)
    ask_and_tell(opt, 5)
    opt.close()
    content = Path(path).read_bytes()
    for name, (value, message) in OTHER.items():
        with pytest.raises(JournalError, match=rf"of another [^;]*{message}\. Give the same as in"):
            resumed(path, **{name: value}).ask(9.0)
    every = {name: value for name, (value, _) in OTHER.items()}
    with pytest.raises(JournalError, match="; ".join(message for _, message in OTHER.values())):
        resumed(path, **every).n_told_  # noqa: B018
    assert Path(path).read_bytes() == content
    same_state(resumed(path, domain=Box(BOX), alpha=0.25), opt)


def test_other_parameters_are_those_of_the_file_and_a_warning_names_them(path):
    opt = resumed(path, alpha=0.5, history=4)
    ask_and_tell(opt, 6)
    opt.close()
    again = resumed(path, alpha=0.25, n_initial_points=4, history=4, acquisition=score)
    with pytest.warns(UserWarning, match="acquisition: expected None, got <function") as caught:
        same_state(again, opt)
    message = str(caught.pop().message)
    assert "alpha: expected 0.5, got 0.25" in message
    assert "n_initial_points: expected 3, got 4" in message
    assert not {"history", "domain"} & set(message.split())
    assert (len(caught), again.alpha, again._run.algorithm.alpha) == (0, 0.5, 0.5)


def test_a_domain_with_a_function_is_compared_but_for_the_function(path):
    places = np.random.RandomState(0).uniform(size=(20, 2))
    for _ in range(2):
        opt = resumed(path, kind=RandomSearch, domain=Constrained(FiniteSet(places), inside))
        opt.ask(0.0)
        opt.close()
    other = Constrained(FiniteSet(places[:-1]), inside)
    with pytest.raises(JournalError, match=r"domain: expected the same as before \(functions and"):
        resumed(path, kind=RandomSearch, domain=other).ask(9.0)


def test_threads_resume_a_run_once(path):
    first = resumed(path, kind=RandomSearch)
    ask_and_tell(first, 5)
    first.close()
    opt = resumed(path, kind=RandomSearch)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: opt.n_told_, range(8))) == {5}
    opt.ask(9.0)


# --- parameters of what is allowed, and changes of them -------------------------------------------

LIMITS = {"outcome_constraints": {"load": (None, 3.0), "objective": (-9.0, None)}}
START = [[1.0, 0.0]]
EDITED = {
    "outcome_constraints": {"load": (None, 2.0), "objective": (-9.0, None)},
    "max_step": 0.2,
    "domain": [(0.0, 2.0), (-1.0, 2.0)],
}


def limited(path, kind=WDBO, **options):
    options = LIMITS | {"start_points": START, "max_step": 0.5, "n_initial_points": 4} | options
    options = options | {"random_state": 0, "journal": Journal(path, resume=True)}
    return kind(options.pop("domain", BOX), **options)


def drive_limited(opt, steps, start=0):
    for t in range(start, start + steps):
        x = opt.ask(t)
        opt.tell(x, float(np.sin(t) - x[0]), outcomes={"load": x[0] + x[1]})


@pytest.mark.parametrize("name", EDITED)
def test_an_edited_limit_is_refused_until_the_run_is_changed_once(name, path):
    """By every program: that with the new value before the change, that with the old one after."""
    opt, edited = limited(path), {name: EDITED[name]}
    drive_limited(opt, 6)
    opt.close()
    content, twin = Path(path).read_bytes(), BayesianOptimizer.from_json(opt.to_json())
    for step in (lambda o: o.ask(9.0), lambda o: o.n_told_, lambda o: o.to_json()):
        with pytest.raises(JournalError, match=rf" {name}: expected .*, got ") as error:
            step(limited(path, **edited))
    assert Path(path).read_bytes() == content
    remedy = re.search(r"change the run once: (.*\.close\(\))", str(error.value))[1]
    names = {"BayesianOptimizer": BayesianOptimizer, "edited": edited}
    eval(remedy.replace(f"{name}=...", "**edited"), names)
    with pytest.raises(JournalError, match=rf" {name}: expected .*, got "):
        limited(path).ask(9.0)
    again, twin = limited(path, **edited), twin.with_parameters(**edited)
    same_state(again, twin, 1e-6)
    for each in (again, twin):
        drive_limited(each, 4, 6)
    same_state(again, twin, ROUNDING)
    again.close()
    assert journal.check(path)["with_parameters"] == 1
    same_state(BayesianOptimizer.resume(path), again)


def test_other_spellings_of_the_same_limits_are_accepted(path):
    opt = limited(path, max_step=0.5)
    drive_limited(opt, 3)
    opt.close()
    same = {
        "start_points": np.array(START),
        "max_step": StepLimit([0.5, 0.5]),
        "outcome_constraints": {"objective": [-9, None], "load": (None, np.float64(3.0))},
        "domain": Box(BOX),
    }
    again = limited(path, **same)
    same_state(again, opt)
    assert again.max_step == 0.5
    again.close()
    with pytest.raises(JournalError, match="max_step"):
        limited(path, max_step=StepLimit(0.5, per="time")).n_told_  # noqa: B018


CHANGES = {
    4: {"domain": {"o": ("ordinal", ["lowest", "low", "middle", "high"]), "c": ["v", "w"]}},
    8: {"outcome_constraints": {"load": (None, 3.0)}, "history": 300},
    11: {"max_step": 0.4, "constraints": [], "clock": "step"},
}


def test_changes_in_a_journal_convert_the_observations_before(path):
    """A run of ordinals and two outcomes, whose parameters change on the way."""
    options = {
        "domain": {"o": ("ordinal", ["low", "high"]), "c": ["u", "v"]},
        "outcome_constraints": {"heat": (None, 9.0), "load": (None, 5.0)},
        "n_initial_points": 3,
        "random_state": 0,
    }
    runs = [WDBO(**options, journal=path), WDBO(**options)]
    for t in range(14):
        known = {"heat": float(t), "load": 0.1 * t}
        for opt in runs:
            query = opt.suggest(float(t))
            result = {"failed": True} if t % 5 == 4 else {"y": np.sin(t)}
            opt.tell(
                query, **result, outcomes={name: known[name] for name in opt.outcome_constraints}
            )
        if t in CHANGES:
            runs = [opt.with_parameters(**CHANGES[t]) for opt in runs]
    opt, free = runs
    same_state(opt, free, 1e-9)
    opt.close()
    again = BayesianOptimizer.resume(path)
    same_state(again, opt, 1e-9)
    testing = pytest.importorskip("pandas.testing")
    testing.assert_frame_equal(again.to_frame(), free.to_frame())
    assert again.ask(20.0) == free.ask(20.0)
    for each in (again, free):
        each.untell(t=0.0)
    again.close()
    same_state(BayesianOptimizer.resume(path), free, 1e-9)
    same_state(BayesianOptimizer.from_json(again.to_json()), free, 1e-9)


@pytest.mark.parametrize(("where", "in_force"), [("_replace", 0.5), ("_present_stamp", 0.25)])
def test_a_change_that_is_stopped_is_undone_and_that_of_a_killed_process_whole(
    where, in_force, path, monkeypatch
):
    """``in_force`` is what a file has whose process is killed there, before or after the commit."""
    opt = limited(path)
    drive_limited(opt, 5)
    before = [opt._recorder._file._present_stamp()] * (where == "_present_stamp")

    def stop(*arguments):
        if before:  # it is compared before the step, and read again after the commit
            return before.pop()
        for name in ("", "-wal"):
            shutil.copy(path + name, f"{path}-killed{name}")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(opt._recorder._file), where, stop)
        with pytest.raises(KeyboardInterrupt):
            opt.with_parameters(max_step=0.25)
    killed = limited(f"{path}-killed", max_step=in_force)
    assert killed.n_told_ == 5
    drive_limited(opt, 1, 5)
    opt.close()
    assert journal.check(path) == {"begin": 1, "ask": 6, "tell": 6, "search": 3}
    same_state(limited(path), opt)


def test_what_will_be_resumed_is_in_json_and_is_not_set(path):
    opt = limited(path)
    drive_limited(opt, 6)
    opt.close()
    same_state(WDBO.from_json(limited(path).to_json()), opt, 1e-9)
    for changes in ({"max_step": 0.1}, {"history": 3}, {"query_timeout": 4.0}):
        with pytest.raises(AskTellError, match=rf"got {next(iter(changes))}\. with_parameters"):
            limited(path).set_params(**changes)
    assert limited(path).set_params(max_step=0.5).n_told_ == 6
    template = limited(path, domain=None)
    assert template.set_params(domain=BOX).n_told_ == 6  # without a domain it has no run yet


# --- custom parts ---------------------------------------------------------------------------------


class Mine(RBF):
    """A kernel that no other module knows of, with a function."""

    def __init__(self, length_scale=1.0, length_scale_bounds=(1e-5, 1e5), function=None):
        super().__init__(length_scale, length_scale_bounds)
        self.function = function


class Counting(SlidingWindow):
    """A policy whose constructor makes a state, and which makes more of it later."""

    seen_ = ()

    def __init__(self, window):
        super().__init__(window)
        self.state = {"n": 0}

    def after_add(self, surrogate, now):
        self.state = {"n": self.state["n"] + 1}
        self.seen_ = (*self.seen_, now)[-3:]
        return super().after_add(surrogate, now)


def score(mean, std, state):
    return mean + std, 1.0 + 0.0 * mean, 1.0 + 0.0 * std


def own_parts():
    return {
        "surrogate": TimeVaryingGPRegressor(
            Mine(0.4, function=diagonal),
            normalize_y=True,
            hyperpriors={"spatial_kernel__length_scale": gamma(3, scale=0.1)},
        ),
        "acquisition": score,
        "policy": Counting(9),
        "constraints": diagonal,
        "clock": own_clock,
    }


def diagonal(x):
    return x[0] <= 1.7


def own_clock():
    return 5.0


def test_parts_of_ones_own_are_given_again(path):
    options = {"n_initial_points": 4, "random_state": 0}
    full = BayesianOptimizer(BOX, **options, **own_parts())
    opt = BayesianOptimizer(BOX, **options, **own_parts(), journal=path)
    for t in range(12):
        for each in (full, opt):
            x = each.ask(t)
            each.tell(x, objective(x, t))
        if t == 8:
            opt.close()
            with pytest.raises(JournalError, match=r"cannot hold the parameter 'acquisition' of B"):
                BayesianOptimizer.resume(path)
            options["journal"] = Journal(path, resume=True)
            parts = own_parts() | {"constraints": None}
            with pytest.raises(JournalError, match=r"constraints: .* are not stored\), got None"):
                BayesianOptimizer(BOX, **options, **parts).ask(9)
            opt = BayesianOptimizer(BOX, **options, **own_parts())
            assert opt.policy_.state == full.policy_.state
    same_state(opt, full)
    assert opt.policy_.seen_ == full.policy_.seen_
    twin = BayesianOptimizer.from_json(opt.to_json(), **own_parts())
    assert_array_equal(twin.ask(12), full.ask(12))


def test_a_state_that_cannot_be_stored_is_refused_at_once(path):
    class Hoarding(KeepAll):
        def after_add(self, surrogate, now):
            self.kept_ = lambda: now
            return []

    opt = BayesianOptimizer(
        BOX, policy=Hoarding(), n_initial_points=2, random_state=0, journal=path
    )
    opt.tell(opt.ask(0.0), 1.0)
    x = opt.ask(1.0)
    for _ in range(2):
        with pytest.raises(JournalError, match="The policy of this run cannot be stored"):
            opt.tell(x, 2.0)
        assert opt.n_told_ == 1
        assert journal.check(path)["tell"] == 1


def test_parameters_of_json_that_differ_are_refused():
    opt = WDBO(BOX, alpha=0.5, random_state=0)
    opt.ask(0.0)
    text = opt.to_json()
    with pytest.raises(JournalError, match="'alpha' parameter of WDBO must be the value"):
        WDBO.from_json(text, alpha=0.25)
    with pytest.raises(JournalError, match="WDBO has no parameter 'speed'"):
        WDBO.from_json(text, speed=1.0)
    assert WDBO.from_json(text, alpha=0.5, domain=BOX).alpha == 0.5


def test_a_journal_is_opened_without_knowing_its_class(path):
    opt = WDBO(BOX, alpha=0.5, random_state=0, journal=path)
    opt.ask(0.0)
    opt.close()
    with pytest.raises(JournalError, match=r"holds a run of WDBO\. Use that class, of the module"):
        GPUCB.resume(path)
    again = BayesianOptimizer.resume(path)
    assert (type(again), again.alpha) == (WDBO, 0.5)
    same_state(again, opt)


# --- clocks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("clock", "then"), [("wall", 60.0), ("calendar", 1042.0)])
def test_a_clock_goes_on_from_the_latest_time_given(clock, then, path, monkeypatch):
    """And a calendar also while there is no process."""
    now = [50.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    opt = RandomSearch(BOX, clock=clock, random_state=0, journal=path)
    for t in range(5):
        opt.tell(opt.ask(10.0 * t), 0.0)
    assert opt.suggest().t == opt.now() == 40.0
    now[0] = 52.0
    assert opt.suggest().t == 42.0
    opt.tell([0.0, 0.0], 0.0, t=60.0)
    opt.close()
    now[0] = 1052.0
    again = RandomSearch.resume(path)
    assert again.suggest().t == then
    now[0] = 1053.0
    assert again.suggest().t == then + 1.0


def test_a_clock_that_jumps_back_is_clipped_with_a_warning(path, monkeypatch):
    now = [50.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    opt = RandomSearch(BOX, clock="calendar", random_state=0, journal=path)
    opt.ask()
    now[0] = 60.0
    assert opt.suggest().t == 10.0
    now[0] = 40.0
    with pytest.warns(UserWarning, match=r"back by 20 s\. .* stands still at 10 s") as found:
        assert opt.suggest().t == 10.0
    assert [warning.filename for warning in found] == [__file__]
    now[0] = 45.0  # one warning for each jump
    assert opt.suggest().t == 10.0
    opt.close()
    again = RandomSearch.resume(path)
    now[0] = 44.0
    with pytest.warns(UserWarning, match="jumped back by 1 s"):
        assert again.suggest().t == 10.0
    now[0] = 61.0
    assert again.suggest().t == 11.0


# --- who else is there ----------------------------------------------------------------------------


def test_a_run_is_not_begun_where_there_is_one(path):
    opt = RandomSearch(BOX, random_state=0, journal=path)
    opt.ask(0.0)
    with pytest.raises(JournalError, match=r"in use by another process, or by another optimizer"):
        RandomSearch(BOX, journal=path).ask(0.0)
    with pytest.raises(JournalError, match="in use by another process"):
        RandomSearch.resume(path)
    opt.close()
    with pytest.raises(JournalError, match=r"holds a run already, of 2 events\. Resume it with j"):
        RandomSearch(BOX, journal=path).ask(0.0)
    opt.ask(1.0)  # it takes its journal up again
    assert journal.check(path)["ask"] == 2


def test_copies_do_not_write_to_the_originals_journal(path):
    opt = RandomSearch(BOX, random_state=0, journal=path)
    opt.ask(0.0)
    twin = copy.deepcopy(opt)
    with pytest.raises(JournalError, match="in use"):
        twin.ask(1.0)
    opt.ask(1.0)
    opt.close()
    with pytest.raises(JournalError, match=r"a copy of an earlier state\. Resume it with journal"):
        twin.ask(1.0)
    pickled = pickle.loads(pickle.dumps(opt))
    pickled.ask(2.0)  # where the original has left off
    assert journal.check(path)["ask"] == 3
    free = RandomSearch.from_json(pickled.to_json())
    assert free.journal is None
    assert free.ask(3.0).shape == (2,)
    assert journal.check(path)["ask"] == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_child_leaves_its_parents_journal_alone(path):
    opt = RandomSearch(BOX, random_state=0, journal=path)
    opt.ask(0.0)
    child = os.fork()
    if child == 0:
        try:
            opt.ask(1.0)
        except JournalError as exc:
            os._exit(7 if "in use" in str(exc) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    opt.ask(2.0)
    assert journal.check(path)["ask"] == 2


# --- interrupts, kills, full disks ----------------------------------------------------------------


@pytest.mark.parametrize("call", ["tell", "ask"])
def test_stopped_at_any_line_run_and_journal_agree(call, path, tmp_path, request):
    case = BY_NAME["SWGPUCB"]
    steps = {"tell": lambda o: o.tell([0.5, 0.2], 0.3, 12.0), "ask": lambda o: o.ask(12.0)}
    step, options = steps[call], {"refit_every": 10**9}
    begun = case.make(**options)
    case.drive(begun, 12)
    after = copy.deepcopy(begun)
    step(after)
    first = case.make(**options, journal=path)
    case.drive(first, 12)
    first.close()

    def another(name):
        """An optimizer in the middle of a run with a journal of its own."""
        own = str(tmp_path / f"{name}.db")
        shutil.copy(path, own)
        opt = SWGPUCB.resume(own)
        opt.recommend(12.0)  # what is made when it is first needed is there
        return opt, own

    one, _ = another("one")
    count, found = places_of(lambda: step(one)), set()
    for place in some_of(count, request):
        opt, own = another(place)
        stopped_at(lambda: step(opt), place)  # noqa: B023
        happened = len(opt.pending_) + opt.n_told_ > 12
        found.add(happened)
        if not happened:
            step(opt)
        same_state(opt, after)
        opt.tell([0.1, 0.1], 0.2, 13.0)
        opt.close()
        again = SWGPUCB.resume(own)
        same_state(again, opt)
        assert journal.check(own)["tell"] == opt.n_told_
    assert False in found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.parametrize(
    ("kills", "steps"), [(8, 12), pytest.param(300, 40, marks=pytest.mark.slow)]
)
def test_killed_at_random_moments(kills, steps):
    crash = runpy.run_path(str(CRASH))["crash"]
    killed, finished = crash(kills, steps, seed=1, longest=0.2, say=str)
    assert killed >= kills
    assert finished >= 1


def test_durations_are_stored(path):
    kernel = Matern(timedelta(hours=3), (timedelta(hours=1), timedelta(days=30)), nu=1.5)
    surrogate = TimeVaryingGPRegressor(None, kernel)
    options = {"query_timeout": timedelta(hours=2), "surrogate": surrogate, "random_state": 0}
    plain, stored = (
        WDBO([(0.0, 1.0)], time_unit="h", journal=journal, **options) for journal in (None, path)
    )
    for opt in (plain, stored):
        ask_and_tell(opt, 8, lambda x, t: t % 3)
        opt.ask(8.0)
    stored.close()
    resumed = BayesianOptimizer.resume(path)
    assert_allclose(resumed.ask(10.5), plain.ask(10.5))
    assert [query.t for query in resumed.pending_] == [10.5]


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from sktvbo import RandomSearch, journal
from sktvbo.exceptions import JournalError
path = sys.argv[1]
opt = RandomSearch([(0.0, 1.0)], clock="step", random_state=0, journal=path)
opt.ask()
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (45_000, hard))
try:
    while True:
        opt.tell(opt.ask(), 1.0)
except JournalError as exc:
    print(exc)
told, pending = opt.n_told_, len(opt.pending_X_)
try:
    opt.ask(99999.0)
except JournalError as exc:
    print(exc)
assert (opt.n_told_, len(opt.pending_X_)) == (told, pending)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
opt.ask(99999.0)
opt.close()
again = RandomSearch.resume(path)
assert (again.n_told_, len(again.pending_X_)) == (told, pending + 1)
assert again.told_X_.tolist() == opt.told_X_.tolist()
journal.check(path)
print("whole")
"""


def test_a_full_disk_loses_nothing(path):
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Make room, and call again: nothing of this call has happened." in done.stdout
    assert done.stdout.endswith("whole\n")
