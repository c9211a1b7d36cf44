"""Runs that learn from earlier ones, and the earlier runs that are refused."""

import json
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint

from sktvbo import WDBO, RandomSearch
from sktvbo.acquisition import UCB
from sktvbo.domain import Arms, Context
from sktvbo.exceptions import DomainError, JournalError, ModelWarning
from sktvbo.gaussian_process._static_part import StaticPart
from sktvbo.optimizers._earlier import static_of_another

CENTRE = np.array([0.3, 0.7])


def bowl(x, t=0.0):
    """Value at a place of the unit square; the best one moves a little around its centre."""
    return -4.0 * float(np.sum((np.asarray(x) - CENTRE - 0.05 * np.sin(0.1 * t)) ** 2))


def run(opt, n, value=bowl, start=0, noise=0.05):
    """Return regrets (n,) of steps of an optimizer."""
    rng, values = np.random.RandomState(opt.random_state), []
    for t in range(start, start + n):
        x = opt.ask(float(t))
        values.append(value(x, t))
        opt.tell(x, values[-1] + noise * rng.normal(), float(t))
    return -np.array(values)


BOX = [(0.0, 1.0), (0.0, 1.0)]


@pytest.fixture(scope="module")
def finished():
    """Two runs over the unit square."""
    optimizers = [WDBO(BOX, random_state=seed) for seed in (1, 2)]
    for opt in optimizers:
        run(opt, 50)
    return optimizers


@pytest.fixture(scope="module")
def prior(finished):
    return WDBO(BOX, earlier=finished).prior_


# --- what is learnt -------------------------------------------------------------------------------


def test_a_run_begins_at_the_typical_setting(finished, prior):
    opt = WDBO(BOX, earlier=finished, random_state=0)
    first = opt.ask(0.0)
    assert np.abs(first - CENTRE).max() < 0.15
    assert_allclose(first, prior.start_points(opt._run.domain)[0])
    # Start points that the user gives come first.
    own = WDBO(BOX, earlier=finished, start_points=[[0.9, 0.1]], random_state=0)
    assert_allclose(own.ask(0.0), [0.9, 0.1])


def test_the_first_queries_are_better(prior):
    without, informed = (
        sum(run(WDBO(BOX, earlier=earlier, random_state=seed), 24).sum() for seed in (5, 6))
        for earlier in (None, prior)
    )
    assert informed < 0.5 * without


def test_other_units_and_bounds(finished, prior):
    """Lengthscales are carried over in the user's units, a box may be shifted or wider."""
    wide = WDBO([(-1.0, 3.0), (0.5, 1.0)], earlier=finished).prior_
    name = "spatial_kernel__length_scale"
    (logs, _), (known, _) = (each.models["objective"].pooled[name] for each in (wide, prior))
    assert_allclose(np.exp(logs - known), [0.25, 2.0])
    opt = WDBO([(-1.0, 3.0), (0.5, 1.0)], earlier=finished, random_state=0)
    assert np.abs(opt.ask(0.0) - CENTRE).max() < 0.15
    assert_allclose(WDBO([(0.5, 1.0)] * 2, earlier=prior).ask(0.0)[0], 0.5)  # the nearest
    assert repr(wide).splitlines()[3:5] == repr(prior).splitlines()[3:5]  # in the user's units


def test_the_static_part_moves_with_the_box(finished, prior):
    """Its values at the same places differ by a constant."""
    box = [(-1.0, 3.0), (0.5, 1.5)]
    moved = WDBO(box, earlier=finished).prior_
    places = np.random.RandomState(0).uniform(size=(20, 2))
    values = []
    for each, bounds in ((prior, BOX), (moved, box)):
        low, high = np.transpose(bounds)
        # Hardly any prior information: only what the observations say.
        static = each.runs[0].models["objective"].static.faded(1e6)
        mean = static.mean(None, 1.0, 2)
        values.append(mean((places - low) / (high - low)))
    difference = values[1] - values[0]
    assert_allclose(difference, difference.mean(), atol=1e-3 * np.ptp(values[0]))


def test_names_in_another_order():
    spaces = [
        {"a": ("real", 0.0, 1.0), "k": ["x", "y", "z"], "b": ("log-real", 1e-3, 1.0)},
        {"b": ("log-real", 1e-3, 1.0), "a": ("real", 0.0, 2.0), "k": ["z", "x"]},
    ]
    opt = WDBO(spaces[0], random_state=0)

    def value(x, t):
        return -((x["a"] - 0.8) ** 2) - 0.05 * (math.log10(x["b"]) + 1.0) ** 2 - (x["k"] != "z")

    run(opt, 45, value)
    new = WDBO(spaces[1], earlier=[opt], random_state=0)
    first = new.ask(0.0)
    assert abs(first["a"] - 0.8) < 0.25
    assert first["k"] == "z"
    known, moved = (
        np.exp(each.prior_.models["objective"].pooled["spatial_kernel__length_scale"][0])
        for each in (WDBO(spaces[0], earlier=[opt]), new)
    )
    assert_allclose(moved, [known[2], 0.5 * known[0], known[1]])
    # Only the category that was best is asked for at first.
    new.tell(first, value(first, 0.0), 0.0)
    run(new, 12, value, start=1)
    assert [row["k"] for row in new._run.domain.decode_all(new.told_X_[:, :-1])].count("x") <= 2


def test_arms_that_earlier_runs_rejected_wait():
    def value(x, t):
        return float(x[0] in (2.0, 5.0)) - 0.2 * x[0]

    opt = WDBO(Arms(8), random_state=0)
    run(opt, 45, value)
    without, informed = (WDBO(Arms(8), earlier=each, random_state=3) for each in (None, [opt]))
    for each in (without, informed):
        run(each, 20, value)
    assert len(np.unique(without.told_X_[:, 0])) == 8  # all members of a small space
    assert len(np.unique(informed.told_X_[:, 0])) < 6


def test_contexts_constraints_and_step_limits(finished, prior):
    limited = WDBO(BOX, earlier=prior, max_step=0.1, random_state=0)
    run(limited, 8)
    assert (np.abs(np.diff(limited.told_X_[:, :2], axis=0)) <= 0.1 + 1e-9).all()
    excluded = LinearConstraint([1.0, 1.0], ub=0.5)  # the typical setting is outside
    constrained = WDBO(BOX, earlier=prior, constraints=excluded, random_state=0)
    run(constrained, 6)
    assert (constrained.told_X_[:, :2].sum(axis=1) <= 0.5 + 1e-9).all()
    domain = {"x": ("real", 0.0, 1.0), "load": Context(0.0, 10.0)}
    opt = WDBO(domain, random_state=0)
    rng = np.random.RandomState(0)

    def steps(opt, n):
        for t in range(n):
            load = rng.uniform(0.0, 10.0)
            x = opt.ask(float(t), context={"load": load})
            opt.tell(x, -((x["x"] - 0.05 * load - 0.2) ** 2), float(t))

    steps(opt, 40)
    new = WDBO(domain, earlier=[opt], random_state=1)
    steps(new, 6)
    assert new.n_told_ == 6
    assert new.surrogate_ is not None


def test_batches_late_answers_and_budgets(prior):
    opt = WDBO(BOX, earlier=prior, random_state=0, step_budget=0.5)
    batch = opt.suggest(0.0, n=4)
    assert len(np.unique([query.x for query in batch], axis=0)) == 4
    for t, query in enumerate(reversed(batch)):
        opt.tell(query, bowl(query.x))
        opt.ask(float(t))
    assert opt.surrogate_ is not None


def test_tell_many_and_changes_of_the_domain(prior):
    X = np.random.RandomState(0).uniform(size=(25, 2))
    opt = WDBO(BOX, earlier=prior, random_state=0)
    opt.tell_many(X, [bowl(x) for x in X], np.arange(25.0))
    other = opt.with_parameters(domain=[(0.0, 2.0), (0.0, 1.0)])
    assert other.prior_.domain != opt.prior_.domain
    lengths = [each.surrogate_.spatial_kernel_.length_scale for each in (opt, other)]
    assert_allclose(lengths[1], lengths[0] * [0.5, 1.0])  # held, in the user's units
    run(other, 3, start=25)


def test_y_that_contradicts_the_earlier_runs_has_its_own_scale(prior):
    for factor, offset in ((1000.0, 0.0), (1.0, 1e4)):
        opt = WDBO(BOX, earlier=prior, random_state=0)
        run(opt, 12, lambda x, t, a=factor, b=offset: a * bowl(x, t) + b, noise=0.05 * factor)
        y = opt.y_
        rows = opt._run.surrogate.gp.rows
        assert_allclose([rows.location, rows.scale], [y.mean(), y.std()])
    known = prior.models["objective"]
    y = known.location + known.scale * np.linspace(-1.0, 1.0, 5)
    assert known.suits(y)
    for factor in (1e-3, 100.0):
        assert not known.suits(known.location + factor * (y - known.location))
    assert known.suits(known.location + 1e-3 * (y[:4] - known.location))  # too few to tell


def test_static_parts_that_differ_between_runs_tell_little():
    part = StaticPart.empty([0], 1.0).plus(100.0 * np.eye(2), [0.0, 0.0])
    equal = [part.plus(0.0, 100.0 * np.array([1.0, w])) for w in (2.0, 2.0)]
    other = [part.plus(0.0, 100.0 * np.array([1.0, w])) for w in (-4.0, 8.0)]
    known, unknown = (static_of_another(parts, 1.0) for parts in (equal, other))
    for each in (known, unknown):
        w = np.linalg.solve(each.information, each.shift)
        assert_allclose(w, [1.0, 2.0], rtol=0.01)
    spread = np.linalg.inv(unknown.information) - np.linalg.inv(known.information)
    assert_allclose(spread, np.diag([0.0, 72.0]), atol=0.1)  # the variance of -4 and 8


def test_after_sixty_observations_only_location_and_scale_are_those_of_earlier_runs(prior):
    X = np.random.RandomState(0).uniform(size=(70, 2))
    opts = [WDBO(BOX, earlier=each, random_state=0) for each in (prior, None)]
    models = []
    for opt in opts:
        opt.tell_many(X[:30], [bowl(x) for x in X[:30]], np.arange(30.0))
        early = opt.surrogate_
        opt.tell_many(X[30:], [bowl(x) for x in X[30:]], np.arange(30.0, 70.0))
        opt.refit()
        models.append((early, opt.surrogate_))
    (informed, late), (default, same) = models
    rows, known = opts[0]._run.surrogate.gp.rows, prior.models["objective"]
    assert set(informed.hyperpriors) > set(default.hyperpriors)
    assert late.hyperpriors == same.hyperpriors
    assert type(late.prior_mean) is type(same.prior_mean)
    assert (rows.location, rows.scale) == (known.location, known.scale)


def test_a_run_may_learn_from_a_prior_and_a_run(finished, prior):
    both = WDBO(BOX, earlier=[prior, finished[0]]).prior_
    assert len(both.runs) == 3
    assert "3 earlier runs with 150 observations" in repr(both)


def test_repr_has_medians_and_spreads_in_the_units_of_users(prior):
    text = repr(prior)
    assert text.startswith("Prior of 2 earlier runs with 100 observations\nobjective: about -")
    for name in ("signal_variance", "noise_variance", "spatial_kernel__length_scale"):
        assert f"    {name}: " in text
    minimized = WDBO(BOX, maximize=False, random_state=1)
    run(minimized, 40, lambda x, t: -bowl(x, t))
    text = repr(WDBO(BOX, maximize=False, earlier=minimized).prior_)
    assert "objective: about -" not in text


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "what"),
    [
        ([(0.0, 1.0)] * 3, "x2"),
        ({"a": ("real", 0.0, 1.0), "b": ("real", 0.0, 1.0)}, "of the same kind"),
        (Arms(3), "of the same kind"),
    ],
)
def test_another_space(domain, what, prior):
    opt = WDBO(domain, earlier=[prior], random_state=0)
    with pytest.raises(DomainError, match=rf"(?s)earlier\[0\] of WDBO.*{what}"):
        opt.ask(0.0)
    assert opt.set_params(earlier=None).ask(0.0) is not None


def test_other_names_and_kinds():
    opt = WDBO({"a": ("real", 0.0, 1.0), "b": ("real", 0.1, 1.0)}, random_state=0)
    run(opt, 32, lambda x, t: -x["a"])
    for space, what in (
        ({"a": ("real", 0.0, 1.0), "c": ("real", 0.1, 1.0)}, "same parameters"),
        ({"a": ("real", 0.0, 1.0), "b": ("log-real", 0.1, 1.0)}, "kind of 'b'"),
    ):
        message = (
            rf"the domain of this run must be one with .*{what}.* as before .*\. Got .* instead\.$"
        )
        with pytest.raises(DomainError, match=message):
            WDBO(space, earlier=[opt]).ask(0.0)


def test_other_meanings_of_observations(finished, prior):
    with pytest.raises(ValueError, match=r"earlier\[0\].*maximize=False"):
        WDBO(BOX, maximize=False, earlier=finished).ask(0.0)
    with pytest.raises(ValueError, match="time_unit='min'"):
        WDBO(BOX, time_unit="min", earlier=prior).ask(0.0)


@pytest.mark.parametrize("given", [math.nan, 3, None, {}, WDBO, [[]], b"run.db", "", "{}", "{nan"])
def test_what_is_no_run(given):
    opt = WDBO(BOX, earlier=[given])
    with pytest.raises((ValueError, JournalError), match=r"earlier\[0\]|to_json|journal"):
        opt.ask(0.0)


def test_files_that_are_no_journals(tmp_path, prior):
    text, empty = tmp_path / "notes.txt", tmp_path / "empty.db"
    text.write_text("no journal, but a text of some length" * 50)
    empty.touch()
    for path in (text, empty, tmp_path / "missing.db"):
        with pytest.raises(JournalError, match=path.name):
            WDBO(BOX, earlier=[path]).ask(0.0)
    for wrong in ('{"prior": 3}', '{"prior": {"#": "object", "type": "os.system", "state": {}}}'):
        with pytest.raises(JournalError, match="JSON"):
            WDBO(BOX, earlier=[wrong]).ask(0.0)
    content = json.loads(prior.to_json())
    text = json.dumps(content).replace(_first_model(content)["logs"]["data"], "AAAAAAAA+H8=", 1)
    with pytest.raises(JournalError, match="JSON"):
        WDBO(BOX, earlier=[text]).ask(0.0)

    _first_model(content)["scale"] = math.inf
    with pytest.raises(JournalError, match="JSON"):
        WDBO(BOX, earlier=[json.dumps(content)]).ask(0.0)


def _first_model(content):
    run = content["prior"]["state"]["runs"]["items"][0]["state"]
    return run["models"]["objective"]["state"]


def test_a_run_whose_setting_is_gone_is_left_out():
    opt = WDBO({"a": ("real", 0.0, 1.0), "k": ["x", "y", "z"]}, random_state=0)
    run(opt, 40, lambda x, t: -((x["a"] - 0.3) ** 2) - (x["k"] != "z"))
    new = WDBO({"a": ("real", 0.0, 1.0), "k": ["x", "y"]}, earlier=[opt], random_state=0)
    with pytest.warns(ModelWarning, match=r"earlier\[0\]: a run whose typical setting is not"):
        assert new.prior_ is None


def test_runs_that_learnt_little_are_left_out(prior):
    short, failed = WDBO(BOX, random_state=0), WDBO(BOX, random_state=0)
    run(short, 20)
    for t in range(35):
        failed.tell(failed.ask(float(t)), t=float(t), failed=True)
    random = RandomSearch(BOX, random_state=0)
    run(random, 35)
    for each, why in ((short, "20 obs"), (failed, "0 obs"), (random, "no model"), (WDBO(BOX), "0")):
        opt = WDBO(BOX, earlier=[each], random_state=0)
        with pytest.warns(ModelWarning, match=rf"earlier\[0\] has {why}.*left out"):
            assert opt.prior_ is None
    with pytest.warns(ModelWarning, match=r"earlier\[1\]"):
        assert len(WDBO(BOX, earlier=[prior, short]).prior_.runs) == 2
    assert WDBO(BOX, earlier=[]).prior_ is None  # the first day


def test_functions_of_earlier_runs_are_not_needed(tmp_path):
    path = tmp_path / "run.db"
    options = {"constraints": lambda x: x[0] < 0.9, "clock": lambda: 0.0, "acquisition": UCB(2.0)}
    opt = WDBO(BOX, random_state=0, journal=path, **options)
    run(opt, 32)
    opt.close()
    assert len(WDBO(BOX, earlier=[path, opt.to_json()]).prior_.runs) == 2


def test_a_journal_that_another_process_writes(tmp_path):
    path = tmp_path / "run.db"
    program = (
        "import sys; from sktvbo import WDBO\n"
        f"opt = WDBO({BOX}, random_state=0, journal={str(path)!r})\n"
        "for t in range(32): opt.tell(opt.ask(float(t)), -0.1 * t)\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "opt.tell(opt.ask(40.0), 1.0); print(opt.n_told_, flush=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "ready\n"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert "32 observations" in repr(WDBO(BOX, earlier=[path]).prior_)
        other.stdin.write("\n")
        other.stdin.close()
        assert other.stdout.readline() == "33\n"


# --- safety ---------------------------------------------------------------------------------------


def _limited(seed, harmless, n, **options):
    """Return how often the limit of an outcome is violated, and the optimizer."""
    opt = WDBO(
        BOX,
        outcome_constraints={"heat": (None, 1.0)},
        safety=0.95,
        start_points=[[0.1, 0.1]],
        random_state=seed,
        **options,
    )
    rng, n_violated = np.random.RandomState(seed), 0
    for t in range(n):
        x = opt.ask(float(t))
        heat = 0.0 if harmless else 6.0 * float(x.mean()) ** 2
        n_violated += heat > 1.0
        noise = 0.02 * rng.normal(size=2)
        opt.tell(x, x.sum() + noise[0], float(t), outcomes={"heat": heat + noise[1]})
    return n_violated, opt


def _of_limits(**limits):
    return {"outcome_constraints": limits, "safety": 0.95, "start_points": [[0.1, 0.1]]}


@pytest.mark.parametrize("limits", [{"heat": (None, 1.0)}, {"objective": (0.1, None)}])
def test_earlier_runs_certify_no_place(limits):
    """The same observations give the same certificate, whatever earlier runs have seen."""
    harmless = _limited(0, True, 40)[1]
    opts = [WDBO(BOX, **_of_limits(**limits), earlier=each) for each in (harmless, None)]
    names = list(limits)
    rng = np.random.RandomState(1)
    X = rng.uniform(0.0, 0.5, size=(14, 2))
    values = np.array([6.0 * x.mean() ** 2 for x in X]) + 0.02 * rng.normal(size=14)
    told = {} if "objective" in names else {"outcomes": {"heat": values}}
    for opt in opts:
        opt.tell_many(X, X.sum(axis=1), np.arange(14.0), **told)
    places = rng.uniform(size=(200, 2))
    informed, without = (opt.probability_feasible(places, 14.0) for opt in opts)
    assert opts[0].prior_ is not None
    assert_allclose(informed, without, atol=1e-9)
    assert 0.0 < np.mean(informed > 0.95) < 1.0


@pytest.mark.slow
def test_a_harmless_earlier_run_leads_to_no_more_violations():
    """The outcome never varied in the earlier run, and is steep in the new one."""
    harmless = _limited(0, True, 40)[1]
    without, informed = (
        sum(_limited(seed, False, 40, earlier=each)[0] for seed in range(4))
        for each in (None, harmless)
    )
    assert informed <= max(2 * without, 4)  # of 160
