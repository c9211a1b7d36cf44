"""Files that are no journals, or no longer whole: each gets a message that says what to do."""

import contextlib
import copy
import hashlib
import json
import os
import re
import sqlite3
import struct

import numpy as np
import pytest
from stored import copied, digest, read

from sktvbo import WDBO, Journal, RandomSearch, SparQGPUCB, journal
from sktvbo.__main__ import main
from sktvbo.domain import StepLimit
from sktvbo.exceptions import JournalError
from sktvbo.staleness import SlidingWindow

STEPS = 6


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The bytes of a journal."""
    path = tmp_path_factory.mktemp("journal") / "run.db"
    opt = WDBO([(0.0, 1.0)], n_initial_points=3, clock="step", random_state=0, journal=path)
    for _ in range(STEPS):
        opt.tell(opt.ask(), 0.5)
    opt.close()
    return path.read_bytes()


@pytest.fixture
def path(written, tmp_path):
    found = tmp_path / "run.db"
    found.write_bytes(written)
    return found


def change(path, *statements):
    """Run statements of SQL, each with its arguments."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = 1")
        for statement, *arguments in statements:
            assert connection.execute(statement, arguments).rowcount != 0


def resumed(path, **options):
    """An optimizer that resumes the run of the journal, or begins it."""
    options = {"n_initial_points": 3, "clock": "step", "random_state": 0} | options
    return WDBO([(0.0, 1.0)], journal=Journal(path, resume=True), **options)


READERS = {
    "resume": lambda path: WDBO.resume(path),
    "resumed": lambda path: resumed(path).n_told_,
    "check": lambda path: journal.check(path),
    "events": lambda path: list(journal.events(path)),
}


# Readers of a run that must be there.
BEGINNING_NONE = ("resume", "check", "events")


def refused(path, message, readers=READERS):
    before = path.read_bytes() if path.exists() else None
    for reader in readers:
        with pytest.raises(JournalError, match=message) as caught:
            READERS[reader](path)
        assert str(path) in str(caught.value)
        assert (path.read_bytes() if path.exists() else None) == before


def test_a_file_that_is_not_there(tmp_path):
    refused(tmp_path / "none.db", r"none\.db does not exist\. Give the path", BEGINNING_NONE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"a diary, and no database at all" * 200, b"SQLite"])
def test_a_file_of_another_kind(content, tmp_path):
    path = tmp_path / "diary.txt"
    path.write_bytes(content)
    refused(path, r"not a database\)\. It is not a journal\. Give another path")


def test_a_database_of_somebody_elses(tmp_path):
    path = tmp_path / "else.db"
    change(path, ["CREATE TABLE events (number INTEGER)"])
    refused(path, r"is a database, but no journal\. Give another path")
    with pytest.raises(JournalError, match="but no journal"):
        RandomSearch([(0.0, 1.0)], journal=path).ask(0.0)


def test_an_empty_file_holds_no_run(tmp_path):
    path = tmp_path / "run.db"
    path.write_bytes(b"")
    refused(path, "holds no run yet", BEGINNING_NONE)
    RandomSearch([(0.0, 1.0)], journal=path).ask(0.0)
    assert journal.check(path)["ask"] == 1


@pytest.mark.parametrize("begun", ["empty", "header", "reads"])
def test_a_run_begins_where_a_process_was_killed_before_its_first_step(begun, path):
    if begun == "empty":
        path.write_bytes(b"")
    else:
        change(path, ["DELETE FROM events"], ["DELETE FROM parts"])
    opt = resumed(path)
    for _ in range(3 * (begun == "reads")):
        assert opt.n_told_ == 0
    opt.ask()
    opt.close()
    assert journal.check(path) == {"begin": 1, "ask": 1}
    assert len(resumed(path).pending_) == 1


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_a_truncated_journal(part, written, tmp_path):
    path = tmp_path / "run.db"
    path.write_bytes(written[: int(part * len(written))])
    readers = ["resume", "resumed", "check"] if part == 0.9 else READERS  # the events are whole
    for reader in readers:
        with pytest.raises(JournalError, match=r"(damaged|malformed).*(Restore a copy|export)"):
            READERS[reader](path)


DAMAGED = "is damaged at event {}: its checksum is wrong\\. Restore a copy"
NO_TEXT = "could not be (read|opened) .*It is damaged. Restore a copy"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("PRAGMA user_version=99", "has format 99, and this .* reads format 7. Use the"),
        (
            "UPDATE events SET body = replace(body, '0.5', '0.6') WHERE told = 2",
            DAMAGED.format(7),
        ),
        ("UPDATE events SET told = 77 WHERE told = 3", DAMAGED.format(10)),
        ("UPDATE events SET at = at + 1 WHERE number = 2", DAMAGED.format(2)),
        ("UPDATE events SET sum = '0' WHERE number = 1", DAMAGED.format(1)),
        ("DELETE FROM events WHERE number = 4", DAMAGED.format(4)),
        ("UPDATE events SET body = CAST(body AS BLOB) WHERE number = 5", DAMAGED.format(5)),
        ("UPDATE events SET body = CAST(x'22FF22' AS TEXT) WHERE number = 1", NO_TEXT),
        # SQLite's message about this is no text either.
        (
            "UPDATE sqlite_master SET sql = CAST(x'43FF' AS TEXT), name = CAST(x'FF' AS TEXT) "
            "WHERE name = 'events'",
            NO_TEXT,
        ),
    ],
)
def test_a_journal_that_was_changed_is_refused(statement, message, path):
    change(path, [statement])
    refused(path, message)


def lead_elsewhere(path, index):
    """Let the index of the observations be another one, on these events."""
    root = "SELECT rootpage FROM sqlite_master WHERE name = 'other'"
    change(
        path,
        [f"CREATE INDEX other ON events {index}"],
        [f"UPDATE sqlite_master SET rootpage = ({root}) WHERE name = 'events_told'"],
        ["DELETE FROM sqlite_master WHERE name = 'other'"],
    )


@pytest.mark.parametrize("where", ["", "WHERE number < 7"], ids=["others", "none"])
def test_an_index_that_leads_to_other_events(where, path):
    lead_elsewhere(path, f"(number) {where}")
    refused(path, "(?s)is damaged.*Restore a copy", ["resume", "check"])


def test_an_index_that_lacks_an_observation(path):
    lead_elsewhere(path, "(told) WHERE told <> 3")
    refused(path, "its index lacks observations, or has wrong ones. Restore a copy", ["resume"])


@pytest.mark.parametrize("part", ["rng", "policy", "surrogate", "data", "untold", "pending"])
def test_a_part_of_the_state_that_was_changed_is_named(part, path):
    change(path, ["UPDATE parts SET body = replace(body, '\"', ' \"') WHERE name = ?", part])
    refused(path, f"the checksum of the '{part}' of its state is wrong", ["resume", "check"])


def test_a_state_that_makes_no_sense_is_refused(path):
    text = '{"#":"object","type":"os.system","state":{}}'
    row = (text, hashlib.sha256(f"policy\n{text}".encode()).hexdigest()[:32], "policy")
    change(path, ["UPDATE parts SET body = ?, sum = ? WHERE name = ?", *row])
    refused(path, r"state in .* cannot be read .*os\.system is unknown", ["resume"])


def test_a_folder_that_is_not_there(tmp_path):
    opt = RandomSearch([(0.0, 1.0)], journal=tmp_path / "nowhere" / "run.db")
    with pytest.raises(JournalError, match=r"unable to open .* Make the folder, or"):
        opt.ask(0.0)
    (tmp_path / "nowhere").mkdir()
    opt.ask(0.0)


def test_a_disk_that_cannot_be_written(path, monkeypatch):
    opt = WDBO.resume(path)
    opt._recorder._file._connection.execute("PRAGMA query_only=ON")
    before = opt.n_told_
    with pytest.raises(JournalError, match=r"readonly.* Change its permissions"):
        opt.tell([0.5], 1.0, 99.0)
    assert opt.n_told_ == before
    opt._recorder._file._connection.execute("PRAGMA query_only=OFF")
    opt.tell([0.5], 1.0, 99.0)
    assert journal.check(path)["tell"] == STEPS + 1


def test_a_journal_that_somebody_else_has_written_to(path):
    opt = WDBO.resume(path)
    change(path, ["DELETE FROM events WHERE number = (SELECT max(number) FROM events)"])
    with pytest.raises(JournalError, match=r"another program has written to it\. Resume it with"):
        opt.ask()


def test_a_journal_beside_which_there_is_no_room_is_read(path, monkeypatch):
    reader = journal.check.__globals__
    connect = reader["connect"]

    def no_room(path, mode):
        if mode == "ro":
            raise sqlite3.OperationalError("unable to open database file")
        return connect(path, mode)

    monkeypatch.setitem(reader, "connect", no_room)
    assert journal.check(path)["tell"] == STEPS
    path.with_name("run.db-wal").write_bytes(b"steps")
    refused(path, r"its latest steps are in .*run\.db-wal\. Copy both files to", ["check"])


def test_a_journal_that_was_hardly_begun_holds_no_run(tmp_path):
    """A process was killed as it made the file: SQLite's own notes say to take its page back."""
    path = tmp_path / "run.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    # Magic number, no records, a nonce, no pages at first, sizes of sectors and pages.
    notes = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", 0, 1, 0, 512, 4096)
    path.with_name("run.db-journal").write_bytes(notes.ljust(512, b"\0"))
    assert path.stat().st_size == 4096
    refused(path, "holds no run yet", BEGINNING_NONE)


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        "[]",
        "{}",
        '{"format": 4}',
        "[" * 100_000,
        '{"format": 7, "optimizer": "x", "parameters": {}, "state": null, "sha256": "0"}',
        '{"format": 4, "optimizer": "x", "parameters": {}, "state": null, "sha256": "0"}',
        '{"format": 4, "optimizer": "x", "parameters": {}, "state": null}',
    ],
)
def test_texts_that_are_no_states(text):
    with pytest.raises(JournalError):
        WDBO.from_json(text)


def test_a_state_whose_arrays_are_garbled():
    opt = WDBO([(0.0, 1.0)], n_initial_points=3, random_state=0)
    for t in range(5):
        opt.tell(opt.ask(t), 0.5)
    content = json.loads(opt.to_json())
    del content["sha256"]
    for name in content["state"]["parts"]:
        for nonsense in ({"#": "array", "dtype": "<f8", "shape": [3], "data": "AAA="}, {"#": 1}):
            garbled = copy.deepcopy(content)
            garbled["state"]["parts"][name] = nonsense
            with pytest.raises(JournalError, match="Got one with a wrong checksum"):
                WDBO.from_json(json.dumps(garbled | {"sha256": digest(content)}))
            with pytest.raises(JournalError, match="The state in JSON cannot be read"):
                WDBO.from_json(json.dumps(garbled | {"sha256": digest(garbled)}))


def test_a_resumed_run_is_where_it_was():
    opt = RandomSearch([(0.0, 1.0)] * 2, max_step=StepLimit(0.1, per="time"), random_state=0)
    for t in range(4):
        opt.tell(opt.suggest(float(t)), 0.0, t + 0.9)  # measured later, where it was at t
    resumed = RandomSearch.from_json(opt.to_json())
    x, resumed = opt.ask(4.0), resumed.ask(4.0)
    np.testing.assert_array_equal(x, resumed)
    assert 0.05 < np.abs(x - opt.told_X_[-1, :2]).max() <= 0.1 + 1e-9


def test_the_layout_of_the_text_does_not_matter():
    opt = WDBO([(0.0, 1.0)], n_initial_points=3, random_state=0)
    opt.tell(opt.ask(0.0), np.pi)
    content = json.loads(opt.to_json())
    twin = WDBO.from_json(json.dumps(dict(reversed(content.items())), indent=2))
    assert twin.ask(1.0) == opt.ask(1.0)


# --- plain data -----------------------------------------------------------------------------------


PLAIN = [None, True, 3, 0.1, -0.0, np.inf, "text", [1, [2.5]], (1, "a", (None,)), slice(1, None, 2)]
DICTS = [{"a": 1, "b": (2,)}, {1: "x", "#": 2}]
SCALARS = [np.float64(1 / 3), np.float32(1 / 3), np.int64(7), np.bool_(True)]
ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.array([], dtype=np.intp),
    np.array([[True, False]]),
    np.asfortranarray(np.arange(6).reshape(2, 3)),
]


@pytest.mark.parametrize("value", [*PLAIN, *DICTS, *SCALARS, *ARRAYS], ids=repr)
def test_values_come_back_to_the_bit(value):
    (found,) = copied((value,))
    assert type(found) is type(value)
    if isinstance(value, np.ndarray):
        assert (found.dtype, found.shape) == (value.dtype, value.shape)
        assert found.tobytes() == value.tobytes()
        assert found.flags.writeable
    else:
        assert repr(found) == repr(value)


def test_nan_comes_back():
    assert np.isnan(copied(float("nan")))


@pytest.mark.parametrize("value", [len, lambda: 1, os, int, object(), np.array([None]), {1, 2}])
def test_code_is_not_plain(value):
    with pytest.raises(JournalError, match="cannot hold the parameter 'exploration'"):
        copied(value)


@pytest.mark.parametrize(
    "plain",
    [
        {"#": "object", "type": "subprocess.Popen", "state": {"args": "ls"}},
        {"#": "object", "type": "builtins.eval", "state": {}},
        {"#": "object", "type": "sktvbo.os.system", "state": {}},
        {"#": "object", "type": "sktvbo.journal._encoding.decode", "state": {}},
        {"#": "object", "type": "sktvbo.journal._file.sqlite3.Connection", "state": {}},
        {"#": "made", "type": "sktvbo.staleness._base.KeepAll", "of": {}},
        {"#": "enum", "type": "sktvbo.staleness._base.KeepAll", "value": 1},
        {"#": "domain", "type": "sktvbo.staleness._base.KeepAll", "argument": 1},
        {"#": "array", "dtype": "O", "shape": [1], "data": "AAAAAAAAAAA="},
        {"#": "__class__"},
        {"#": "like", "name": "nobody", "state": {}},
        {"#": "apart"},
    ],
)
def test_nothing_that_is_read_is_executed(plain):
    with pytest.raises(JournalError, match="'exploration'"):
        read(plain)


def test_what_holds_itself_is_not_plain():
    policy = SlidingWindow()
    policy.window = policy
    with pytest.raises(JournalError, match="cannot hold"):
        copied(policy)


# --- the command ----------------------------------------------------------------------------------


def test_show(path, capsys):
    assert main(["journal", "show", str(path), "-n", "3"]) == 0
    first, counts, *rows = capsys.readouterr().out.splitlines()
    assert re.match(r"WDBO, begun 20\d\d-\d\d-\d\d .* with sktvbo \d", first)
    assert counts.startswith(f"{STEPS} ask, {STEPS} tell, ")
    assert len(rows) == 3
    assert re.search(r"ask +t = 5  x = 0\.\d+$", rows[0])
    assert re.search(r"tell +t = 5  x = 0\.\d+  y = 0\.5  \(6 kept\)", rows[1])
    assert re.search(r"search +theta = ", rows[2])


def test_show_of_all_kinds(tmp_path, capsys):
    path = tmp_path / "run.db"
    opt = SparQGPUCB([(0.0, 1.0)], n_initial_points=2, n_queries=2, random_state=0, journal=path)
    for t in range(3):
        opt.tell(opt.ask(t), 0.5)
    opt.tell_expert(opt.ask_expert(3.0), [0.1, 0.2])
    opt.cancel(opt.ask(3.0))
    x = opt.ask(3.0)
    opt.tell(x, failed=True)
    *_, event = journal.events(path)
    assert event.body.pop("seconds") > 0.0
    assert (event.kind, event.body) == ("fail", {"x": x.tolist(), "t": 3.0})
    opt.with_parameters(max_step=0.5, history=300).close()
    assert main(["journal", "show", str(path), "-n", "100"]) == 0
    out = capsys.readouterr().out
    for kind in ("begin", "ask_expert", "tell_expert", "cancel", "fail"):
        assert f" {kind} " in out
    assert out.splitlines()[-1].endswith("with_parameters  history, max_step")


def test_export(path, tmp_path, capsys):
    assert main(["journal", "export", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == [vars(e) for e in journal.events(path)]
    output = tmp_path / "events.jsonl"
    assert main(["journal", "export", str(path), "--output", str(output)]) == 0
    assert output.read_text(encoding="utf-8").splitlines() == lines
    assert main(["journal", "export", str(path), "--output", str(tmp_path / "no" / "x")]) == 1
    assert "Give another file" in capsys.readouterr().err


def test_check(path, capsys):
    assert main(["journal", "check", str(path)]) == 0
    assert capsys.readouterr().out.strip().endswith("events")
    change(path, ["UPDATE events SET body = '{}' WHERE told = 2"])
    for action in ("check", "show", "export"):
        assert main(["journal", action, str(path)]) == 1
        assert "is damaged at event 7" in capsys.readouterr().err
    assert main(["journal", "check", "none.db"]) == 1
    assert "does not exist" in capsys.readouterr().err
