"""The page of a run: what it says, whom it disturbs, and how it looks in a browser."""

import datetime as dt
import importlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from contract.cases import CASES, fingerprint

from sktvbo import WDBO, BayesianOptimizer, RandomSearch, journal, plotting
from sktvbo.__main__ import main
from sktvbo.domain import Arms, Context
from sktvbo.exceptions import (
    AmbiguousQueryWarning,
    AskTellError,
    DomainError,
    JournalError,
    MissingExtraError,
    StepBudgetWarning,
)
from sktvbo.journal._rows import Event
from sktvbo.plotting import BaselineDisplay, _page_pictures, _report
from sktvbo.plotting._watched import Watched

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


class Parsed(HTMLParser):
    """Tags, attributes and texts of a page."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.attributes, self.texts, self.open = [], [], [], []
        self.feed(path.read_text(encoding="utf-8"))
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def pictures(self):
        return [
            value for tag, name, value in self.attributes if (tag, name) == ("figure", "aria-label")
        ]


EVIL, SCRIPT, HEAT = "a$b$c", "<script>alert(1)</script>", "heat & <i>"
SPACE = {SCRIPT: ("real", 0.0, 10.0), EVIL: ["<b>x</b>", "y&z"], "load": Context(0.0, 100.0)}
START = dt.datetime(2026, 3, 1, 8, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """A run with dates, a context, a limit, a failure, a late and a lost answer, and its path."""
    path = str(tmp_path_factory.mktemp("rich") / "run.db")
    options = {"maximize": False, "random_state": 0, "time_unit": "h", "query_timeout": 5.0}
    limits = {HEAT: (None, 60.0)}
    start = [{SCRIPT: 1.0, EVIL: "y&z"}]
    opt = WDBO(SPACE, journal=path, outcome_constraints=limits, start_points=start, **options)
    for i in range(24):
        load, t = 50.0 + 40.0 * np.sin(i / 3.0), START + i * HOUR
        query = opt.suggest(t, context={"load": load})
        x = query.x[SCRIPT]
        y = 0.1 * load + (x - 4.0) ** 2
        if i == 9:
            opt.tell(query, failed=True)
        elif i != 11:  # the answer to this query is lost
            opt.tell(query, y, outcomes={HEAT: 100.0 if i == 13 else 10.0 * x})
        if i == 15:  # an answer that is late
            late = {"context": {"load": 50.0}, "outcomes": {HEAT: 1.0}}
            opt.tell({SCRIPT: 2.0, EVIL: "y&z"}, 9.0, START + 10.5 * HOUR, **late)
    opt.suggest(START + 24 * HOUR, context={"load": 30.0})
    return path, opt


@pytest.fixture(scope="module")
def page(rich, tmp_path_factory):
    """The page of the journal, while the optimizer has it open."""
    path = tmp_path_factory.mktemp("page") / "run.html"
    units = {"load": "kW", HEAT: "°C", "objective": "€"}
    plotting.report(rich[0], path, units=units, reload=7)
    return path


@pytest.fixture
def undrawn(monkeypatch):
    """Pages with the displays, which are computed, and without their drawings."""
    monkeypatch.setattr(_page_pictures, "_svg", lambda display: "<svg></svg>")


# --- what it says ---------------------------------------------------------------------------------


def facts_of(page):
    """Return the facts of a page: values and remarks by label."""
    text = page.read_text(encoding="utf-8")
    form = r'<div class="fact"><span class="small">(.*?)</span><b>(.*?)</b><small>(.*?)</small>'
    return {label: (value, remark) for label, value, remark in re.findall(form, text)}


def test_the_facts_are_those_of_the_run(rich, page):
    facts, (_, opt) = facts_of(page), rich
    assert facts["observations"] == ("23", "latest at 2026-03-02 07:00:00 UTC")
    assert facts["kept in the model"] == (str(len(opt.X_)), "of 23")
    assert facts["failures"][0] == "1"
    assert facts["late answers"][0] == "1"
    assert facts["lost answers"][0] == "1"
    frame = opt.to_frame()
    outside = frame[frame[HEAT] > 60.0]
    latest = outside["time"].iloc[-1].tz_localize(None)
    remark = f"of 23 observations; the latest outside at {latest:%Y-%m-%d %H:%M:%S} UTC"
    assert facts["within the limits"] == (f"{1.0 - len(outside) / 23:.1%}", remark)
    beside = BaselineDisplay.from_optimizer(opt, {SCRIPT: 1.0, EVIL: "y&z"})
    value, remark = facts["gain over the baseline"]
    assert float(value.split()[0]) == pytest.approx(
        beside.gain / 23, abs=0.1 * abs(beside.gain / 23)
    )
    assert value.endswith(" €")
    assert remark.startswith(f"{beside.gain:.4g} € in all; the baseline is ")
    for name in ("time of ask", "time of tell", "time to an answer"):
        value, remark = facts[name]
        assert re.fullmatch(r"[\d.e+-]+ (ms|s)", value)
        assert remark.startswith("median; 95 % below ")


def test_what_is_asked_and_recommended(rich, page):
    parsed, (_, opt) = Parsed(page), rich
    (query,) = [q for q in opt.pending_ if q.id == 24]
    asked = f"{SCRIPT} = {query.x[SCRIPT]:.4g}, {EVIL} = {query.x[EVIL]} query 24, "
    assert f"{asked}for t = 2026-03-02 08:00:00 UTC, with load = 30 kW" in parsed.text
    frame = opt.to_frame()
    load = frame["load"][22]
    best = opt.recommend(START + 24 * HOUR, context={"load": load})
    assert f"Recommended now {SCRIPT} = {best[SCRIPT]:.4g}, {EVIL} = {best[EVIL]}" in parsed.text
    chance = opt.probability_feasible(best, START + 24 * HOUR, context={"load": load})
    assert f"for t = 2026-03-02 08:00:00 UTC, with load = {load:.4g} kW" in parsed.text
    assert f"within the limits with probability {chance:.0%}" in parsed.text
    assert "The latest 20 events" in parsed.text
    rows = parsed.tags.count("tr")
    assert rows == 20 + 1  # of events, with their head
    assert "waiting" in parsed.text


def test_names_are_escaped_and_nothing_is_executed_or_loaded(page):
    parsed, text = Parsed(page), page.read_text(encoding="utf-8")
    assert "script" not in parsed.tags
    assert "<script" not in text
    assert not {"b>x", "<i>"} & set(re.findall(r"b>x|<i>", text))
    assert f"{SCRIPT}, over time" in parsed.pictures
    assert "<!--" not in text
    assert parsed.text.count(EVIL) > 5
    names = {name for _, name, _ in parsed.attributes}
    assert not [name for name in names if name.startswith("on")]
    policy = [value for tag, name, value in parsed.attributes if "default-src" in (value or "")]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    links = [value for _, name, value in parsed.attributes if name in ("src", "href", "xlink:href")]
    assert all(value.startswith(("#", "data:")) for value in links)
    assert ("meta", "content", "7") in parsed.attributes
    assert "prefers-color-scheme: dark" in text


def test_the_pictures(page):
    names = Parsed(page).pictures
    expected = [f"{name}, {when}" for when in ("over time", "now") for name in SPACE]
    assert names == [
        "The objective beside the baseline",
        *expected,
        f"{HEAT}, and its limits",
        "Observations that the model keeps",
        "Times: until an answer, and of ask and tell",
    ]
    text = page.read_text(encoding="utf-8")
    # All ink is that of the page, which is dark in the dark.
    assert not re.search(r"(fill|stroke): #(000000|ffffff)", text)
    assert "var(--ink)" in text


@pytest.mark.usefixtures("undrawn")
def test_a_page_of_an_optimizer_in_memory(tmp_path, rich):
    path, opt = tmp_path / "run.html", BayesianOptimizer.from_json(rich[1].to_json())
    before = fingerprint(opt)
    plotting.report(opt, path, baseline={SCRIPT: 2.0, EVIL: "y&z"})
    assert fingerprint(opt) == before
    parsed, facts = Parsed(path), facts_of(path)
    assert "The run is in memory: 1 queries have no answer yet" in parsed.text
    assert "time of ask" not in facts
    assert "Only a journal has them." in parsed.text
    assert (
        "the baseline is &lt;script&gt;alert(1)&lt;/script&gt; = 2"
        in facts["gain over the baseline"][1]
    )
    with pytest.raises(ValueError, match="units must be a dict with some of"):
        plotting.report(opt, path, units={"power": "kW"})
    with pytest.raises(DomainError, match="must be in"):
        plotting.report(opt, path, baseline={SCRIPT: 20.0, EVIL: "y&z"})
    with pytest.raises(ValueError, match="reload must be"):
        plotting.report(opt, path, reload=0.0)
    with pytest.raises(AskTellError, match="has not begun"):
        plotting.report(WDBO([(0.0, 1.0)]), path)
    assert path.read_text(encoding="utf-8").count("<h1>") == 1


@pytest.mark.parametrize("given", ["baseline", "start_points"])
@pytest.mark.usefixtures("undrawn")
def test_a_baseline_beside_a_context_of_categories(tmp_path, given):
    path, x = tmp_path / "run.html", {"power": 1.0}
    start = {"start_points": [x]} if given == "start_points" else {}
    space = {"power": ("real", 0.0, 5.0), "sky": Context(["sun", "rain"])}
    opt = WDBO(space, random_state=0, **start)
    for t in range(8):
        asked = opt.ask(t, context={"sky": ["sun", "rain"][t % 2]})
        opt.tell(asked, -asked["power"])
    plotting.report(opt, path, **({} if start else {"baseline": x}))
    assert facts_of(path)["gain over the baseline"][1].endswith("the baseline is power = 1")


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.usefixtures("undrawn")
def test_few_observations(tmp_path, n):
    path, run = tmp_path / "run.html", str(tmp_path / "run.db")
    opt = WDBO({"kind": ["a", "b"], "flag": [True, False]}, journal=run, random_state=0)
    opt.suggest(0)
    for t in range(n):
        opt.tell(opt.ask(t), float(t))
    plotting.report(run, path)
    facts, parsed = facts_of(path), Parsed(path)
    assert facts["observations"][0] == str(n)
    assert facts["gain"] == ("—", "no baseline is given")
    assert ("Recommended now" in parsed.text) == (n > 0)
    if n == 1:
        assert "There is no model yet" in parsed.text
        assert parsed.pictures[:3] == ["The objective", "kind, over time", "flag, over time"]
    if n == 5:
        assert "flag, now" in parsed.pictures


def test_ten_thousand_observations_of_a_run_without_a_model(tmp_path):
    run, path, rng = str(tmp_path / "run.db"), tmp_path / "run.html", np.random.default_rng(0)
    opt = RandomSearch([(0.0, 1.0)], journal=run, random_state=0)
    X = rng.uniform(size=(10_000, 1))
    opt.tell_many(X, X[:, 0], np.arange(10_000.0))
    plotting.report(run, path)
    assert facts_of(path)["observations"] == ("10000", "latest at 9999")
    assert path.stat().st_size < 500_000  # the dots are an image


def test_observations_of_one_time_and_none_that_are_shown(tmp_path):
    path = tmp_path / "run.html"
    opt = WDBO([(0.0, 1.0)], n_initial_points=4, random_state=0)
    opt.tell_many([[0.1], [0.4], [0.7], [0.9]], [0.0, 1.0, 2.0, 1.0], 3.0)
    plotting.report(opt, path)
    assert "All observations have the same time" in Parsed(path).text
    assert "x0, now" in Parsed(path).pictures
    opt = opt.with_parameters(history=0)
    plotting.report(opt, path)
    assert "The observations are not shown: history=0." in Parsed(path).text


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["box", "finite", "named"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_algorithm_has_a_page(tmp_path, case, domain):
    run, page = str(tmp_path / "run.db"), tmp_path / "page.html"
    opt = case.make(domain, journal=run)
    case.drive(opt, 10, domain=domain)
    opt.suggest(11.0)
    for source in (run, opt):
        plotting.report(source, page)
        assert facts_of(page)["observations"][0] == "10"
        assert "The model is not known" not in Parsed(page).text


# --- journals -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("undrawn")
def test_a_writer_is_not_disturbed(tmp_path, rich):
    path, opt = rich
    before = opt.n_told_
    plotting.report(path, tmp_path / "run.html")
    n = len(list(journal.events(path)))
    with pytest.raises(JournalError, match="in use"):  # the page has not taken its lock
        BayesianOptimizer.resume(path)
    query = opt.suggest(START + 30 * HOUR, context={"load": 20.0})
    opt.tell(query, 3.0, outcomes={HEAT: 1.0})
    assert opt.n_told_ == before + 1
    assert len(list(journal.events(path))) >= n + 2
    opt.untell(query)


def test_what_is_read_is_the_state_of_the_writer(tmp_path, rich):
    found = _report.watched(rich[0]).optimizer
    assert found.journal is None
    np.testing.assert_array_equal(found.told_X_, rich[1].told_X_)
    np.testing.assert_array_equal(found.X_, rich[1].X_)
    t, here = START + 25 * HOUR, {"load": 40.0}
    for x in (found.recommend(t, context=here), {SCRIPT: 3.0, EVIL: "y&z"}):
        np.testing.assert_allclose(
            found.predict(x, t, context=here), rich[1].predict(x, t, context=here), rtol=1e-6
        )


def small(path, n=14, **options):
    """Return an optimizer with a closed journal of some observations."""
    opt = WDBO([(0.0, 1.0)], journal=str(path), n_initial_points=20, random_state=0, **options)
    for t in range(n):
        opt.tell(opt.ask(t), float(t))
    opt.close()
    return opt


def changed(path, statement):
    """Change a database."""
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


BROKEN = {
    "damaged": ("UPDATE events SET at = 0.0 WHERE number = 21", "is damaged at event 21", 9),
    "state": ("UPDATE parts SET body = '1' WHERE name = 'rng'", "'rng' of its state is wrong", 14),
    "old": ("PRAGMA user_version = 5", "has format 5, and this version of sktvbo reads", None),
    "foreign": ("PRAGMA application_id = 7", "is a database, but no journal", None),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.usefixtures("undrawn")
def test_a_journal_with_a_problem_has_a_page_that_says_so(tmp_path, name, capsys):
    statement, message, n_told = BROKEN[name]
    path, page = tmp_path / "run.db", tmp_path / "page.html"
    small(path)
    changed(path, statement)
    assert main(["journal", "report", str(path), "-o", str(page)]) == 1
    assert message in capsys.readouterr().err
    parsed = Parsed(page)
    assert message in parsed.text
    assert ("unreadable" in parsed.text) == (n_told is None)
    if n_told is not None:
        assert "damaged" in parsed.text
        assert "The objective, as told" in parsed.pictures
        shown = [text for text in parsed.texts if text.startswith("t = ") and "→" in text]
        assert shown[0].startswith(f"t = {n_told - 1}: ")


@pytest.mark.usefixtures("undrawn")
def test_journals_that_are_missing_or_copied_without_their_log(tmp_path, capsys):
    page = tmp_path / "page.html"
    with pytest.raises(JournalError, match="does not exist"):
        plotting.report(tmp_path / "none.db", page)
    assert main(["journal", "report", str(tmp_path / "none.db"), "-o", str(page)]) == 1
    assert "does not exist" in capsys.readouterr().err
    assert not page.exists()
    opt = RandomSearch([(0.0, 1.0)], journal=str(tmp_path / "run.db"), random_state=0)
    # Enough for SQLite to write to the database itself.
    opt.tell_many(np.full((4000, 1), 0.5), np.zeros(4000), np.arange(4000.0))
    opt.ask(5000.0)
    shutil.copy(tmp_path / "run.db", tmp_path / "copy.db")
    plotting.report(tmp_path / "copy.db", page)
    assert "is not complete: its latest steps were in" in Parsed(page).text
    assert (
        main(["journal", "report", str(tmp_path / "run.db"), "-o", str(tmp_path / "no" / "p")]) == 1
    )
    assert "could not be written" in capsys.readouterr().err


@pytest.mark.usefixtures("undrawn")
def test_a_process_that_was_killed(tmp_path):
    path, page = str(tmp_path / "run.db"), tmp_path / "page.html"
    program = (
        "import os, sys; from sktvbo import RandomSearch\n"
        "opt = RandomSearch([(0.0, 1.0)], journal=sys.argv[1], random_state=0)\n"
        "for t in range(5): opt.tell(opt.ask(t), 1.0)\n"
        "opt.ask(5); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, path], check=False)
    plotting.report(path, page)
    assert facts_of(page)["observations"][0] == "5"
    assert "The run waits for the answer to a query" in Parsed(page).text


@pytest.mark.usefixtures("undrawn")
def test_a_function_that_the_file_cannot_hold(tmp_path):
    path, page = str(tmp_path / "run.db"), tmp_path / "page.html"
    opt = WDBO([(0.0, 1.0)], constraints=lambda x: x[0] < 0.8, journal=path, n_initial_points=4)
    for t in range(6):
        opt.tell(opt.ask(t), 1.0 + t)
    plotting.report(path, page)
    parsed = Parsed(page)
    assert "cannot hold the parameter 'constraints'" in parsed.text
    assert facts_of(page)["observations"][0] == "6"
    plotting.report(opt, page)
    assert "x0, now" in Parsed(page).pictures
    # A clock is needed by no picture.
    clocked = small(tmp_path / "clock.db", clock=lambda: 3.0)
    found = _report.watched(tmp_path / "clock.db").optimizer
    assert found.n_told_ == clocked.n_told_


@pytest.mark.usefixtures("undrawn")
def test_warnings_are_in_the_journal_and_on_the_page(tmp_path):
    path, page = str(tmp_path / "run.db"), tmp_path / "page.html"
    opt = RandomSearch(Arms(1), journal=path, random_state=0)
    for t in range(2):
        opt.suggest(t)
    with pytest.warns(AmbiguousQueryWarning) as caught:
        opt.tell(0, 1.0)
    (told,) = [event for event in journal.events(path) if event.kind == "tell"]
    assert told.body["warnings"] == [["AmbiguousQueryWarning", str(caught[0].message)]]
    plotting.report(path, page)
    assert str(caught[0].message) in Parsed(page).text


def test_a_warning_after_the_step_is_in_the_event_of_the_next(tmp_path):
    path = str(tmp_path / "run.db")
    options = {"step_budget": 1e-9, "n_initial_points": 2, "random_state": 0}
    opt = WDBO([(0.0, 1.0)], journal=path, **options)

    def steps():
        for t in range(8):
            opt.tell(opt.ask(t), float(t))

    with pytest.warns(StepBudgetWarning) as caught:
        steps()
    noted = [event.body["warnings"] for event in journal.events(path) if "warnings" in event.body]
    budget = [text for some in noted for kind, text in some if kind == "StepBudgetWarning"]
    assert budget == [str(w.message) for w in caught if w.category is StepBudgetWarning]


# --- its state ------------------------------------------------------------------------------------


def events_every(seconds, n=40, last="tell"):
    """Return events of a run, with one every some seconds, and the time of the last one."""
    bodies = {"ask": {"query": [0], "x": [[0.5]], "t": [0.0]}}
    bodies["tell"] = {"query": 0, "x": [0.5], "t": 0.0, "y": 1.0, "removed": []}
    kinds = ["ask", "tell"] * (n // 2)
    kinds[-1] = last
    events = [Event(i + 1, kind, i * seconds, None, bodies[kind]) for i, kind in enumerate(kinds)]
    return events, (n - 1) * seconds


@pytest.mark.parametrize(
    ("last", "later", "options", "word"),
    [
        ("tell", 1.0, {}, "running"),
        ("tell", 700.0, {}, "stalled"),
        ("ask", 500.0, {}, "waiting"),
        ("ask", 700.0, {}, "stalled"),
        ("tell", 700.0, {"is_closed": True}, "closed"),
        ("tell", 1.0, {"problem": "It is damaged."}, "damaged"),
    ],
)
def test_states(last, later, options, word):
    events, end = events_every(60.0, last=last)
    found = Watched("run.db", events=events, **options)
    assert found.state(end + later)[0] == word
    assert found.state(end + later)[2] == end


def test_a_fast_run_is_not_stalled_at_once():
    events, end = events_every(0.001)
    assert Watched("run.db", events=events).state(end + 9.0)[0] == "running"
    assert Watched("run.db", events=events[:10]).state(end + 1e6)[0] == "running"


# --- writing --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("undrawn")
def test_a_page_is_replaced_in_one_step(tmp_path, monkeypatch):
    path, page = tmp_path / "run.db", tmp_path / "page.html"
    small(path, 3)
    page.write_text("before")
    monkeypatch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(JournalError, match=r"page\.html could not be written \(full\)"):
        plotting.report(path, page)
    assert page.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir() if "page" in each.name] == ["page.html"]


@pytest.mark.usefixtures("undrawn")
def test_pictures_are_drawn_again_when_the_run_has_changed(tmp_path, monkeypatch):
    path, page, drawn = tmp_path / "run.db", tmp_path / "page.html", []
    opt = RandomSearch([(0.0, 1.0)], journal=str(path), random_state=0)
    opt.tell(opt.ask(0), 1.0)
    known = _page_pictures.pictures
    monkeypatch.setattr(_report, "pictures", lambda *args: drawn.append(1) or known(*args))
    watching = _report.Page(path, page, reload=5.0)
    assert [watching.write() for _ in range(3)] == [""] * 3
    assert len(drawn) == 1
    opt.tell(opt.ask(1), 1.0)
    watching.write()
    assert len(drawn) == 2
    assert facts_of(page)["observations"][0] == "2"


@pytest.mark.usefixtures("undrawn")
def test_watching_a_run(tmp_path, monkeypatch, capsys):
    path, page, naps = tmp_path / "run.db", tmp_path / "page.html", []

    def sleep(seconds):
        naps.append(seconds)
        if len(naps) == 1:
            small(path, 2)
            assert "does not exist" in Parsed(page).text  # it may begin later
        elif len(naps) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", sleep)
    assert main(["journal", "report", str(path), "-o", str(page), "--watch", "2.5"]) == 0
    assert naps == [2.5] * 3
    assert capsys.readouterr().out == f"{page} is made every 2.5 s. Ctrl-C ends it.\n"
    assert ("meta", "content", "2.5") in Parsed(page).attributes
    assert facts_of(page)["observations"][0] == "2"


@pytest.mark.usefixtures("undrawn")
def test_arguments_of_the_command(tmp_path, capsys):
    path = tmp_path / "run.db"
    small(path, 3)
    options = ["--baseline", "[0.2]", "--units", '{"x0": "kW"}']
    assert main(["journal", "report", str(path), *options]) == 0
    assert "x0 = " in Parsed(tmp_path / "run.db.html").text
    wrong = [
        (["--watch", "0"], "positive number of seconds"),
        (["--units", "{kW}"], "must be JSON"),
    ]
    for arguments, message in wrong:
        with pytest.raises(SystemExit) as exit_info:
            main(["journal", "report", str(path), *arguments])
        assert exit_info.value.code == 2
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["journal", "report", "--help"])
    told = capsys.readouterr().out
    assert all(
        name in told for name in ("--watch SECONDS", "--baseline JSON", "--units JSON", "-o")
    )


def test_units_are_texts_by_name(tmp_path, capsys):
    small(tmp_path / "run.db", 3)
    for units in ('["kW"]', '{"x0": 1}'):
        with pytest.raises(SystemExit):
            main(["journal", "report", str(tmp_path / "run.db"), "--units", units])
        assert "units must be None or a dict of texts by name" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["journal", "report", str(tmp_path / "run.db"), "--units", '{"power": "kW"}'])
    assert "units must be a dict with some of x0, objective" in capsys.readouterr().err
    assert main(["journal", "report", str(tmp_path / "run.db"), "--baseline", "[7.0]"]) == 1
    assert "must be in" in capsys.readouterr().err


def test_a_missing_template_engine_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r'pip install "sktvbo\[report\]"'):
        plotting.report(RandomSearch([(0.0, 1.0)]), tmp_path / "page.html")


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_the_documentation(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs"))
    recipe = importlib.import_module("record_report")
    monkeypatch.setattr(recipe, "N_STEPS", 12)
    recipe.write(tmp_path / "page.html")
    parsed = Parsed(tmp_path / "page.html")
    assert "The run waits for the answer to a query" in parsed.text
    assert "service.db" in parsed.text
    assert "latency, and its limits" in parsed.pictures
    assert str(tmp_path) not in parsed.text


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    """A browser, where Playwright and Chromium are installed."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        installed = shutil.which("chromium") or shutil.which("chromium-browser")
        path = playwright.chromium.executable_path
        if not (os.path.exists(path) or installed):
            pytest.skip("Chromium is not installed")
        found = None if os.path.exists(path) else installed
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_in_a_browser(browser, page, width, scheme):
    tab, said = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme), []
    tab.on("dialog", lambda dialog: said.append(dialog.message))
    tab.on("console", lambda message: said.append(message.text))
    tab.on("request", lambda request: said.append(request.url))
    tab.goto(page.as_uri())
    assert [each for each in said if not each.startswith((page.as_uri(), "data:"))] == []
    # Nothing is wider than the window, and each picture has its room.
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    every = "[...document.querySelectorAll('{}')].map(each => each.getBoundingClientRect())"
    boxes = tab.evaluate(every.format("figure"))
    assert len(boxes) == 10
    assert all(box["width"] <= width and box["height"] > 150.0 for box in boxes)
    shown = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(map(int, re.findall(r"\d+", shown)[:3])) > 380
    assert light == (scheme == "light")
    # Text of the pictures is legible: of the ink of the page, and of 8 pixels or more.
    heights = [box["height"] for box in tab.evaluate(every.format("figure svg text"))]
    assert min(filter(None, heights)) >= 8.0
    ink = tab.evaluate("getComputedStyle(document.querySelector('figure svg text')).fill")
    assert (sum(map(int, re.findall(r"\d+", ink)[:3])) > 380) == (scheme == "dark")
    tab.close()


@pytest.mark.usefixtures("undrawn")
def test_a_page_loads_itself_again(browser, tmp_path):
    path, page = tmp_path / "run.db", tmp_path / "page.html"
    opt = RandomSearch([(0.0, 1.0)], journal=str(path), random_state=0)
    opt.tell(opt.ask(0), 1.0)
    watching = _report.Page(path, page, reload=1.0)
    watching.write()
    tab = browser.new_page()
    tab.goto(page.as_uri())
    opt.tell(opt.ask(1), 1.0)
    watching.write()
    told = tab.locator(".fact", has_text="observations").locator("b")
    told.filter(has_text=re.compile("^2$")).wait_for(timeout=20_000)
    tab.close()
