"""Journals whose files are deleted, renamed, replaced or copied while they are in use."""

import contextlib
import os
import pickle
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest

from sktvbo import Journal, RandomSearch, journal
from sktvbo.__main__ import main
from sktvbo.exceptions import JournalError

BOX = [(0.0, 1.0)]
STEPS = 60

# Python on Windows opens files so that they cannot be deleted or renamed.
pytestmark = pytest.mark.skipif(os.name == "nt", reason="open files stay where they are")


def begun(path, steps=STEPS):
    """A run that has its journal open."""
    opt = RandomSearch(BOX, random_state=0, clock="step", journal=path)
    for _ in range(steps):
        opt.tell(opt.ask(), 1.0)
    return opt


@pytest.fixture
def path(tmp_path):
    (tmp_path / "here").mkdir()
    return tmp_path / "here" / "run.db"


def renamed(path):
    path.rename(path.with_name("other.db"))
    return lambda: path.with_name("other.db").rename(path)


def folder_renamed(path):
    path.parent.rename(path.parent.with_name("there"))
    return lambda: path.parent.with_name("there").rename(path.parent)


def log_renamed(path):
    log = path.with_name("run.db-wal")
    log.rename(path.with_name("other-wal"))
    return lambda: path.with_name("other-wal").rename(log)


def replaced(path):
    aside = path.with_name("aside.db")
    path.rename(aside)
    begun(path.with_name("new.db"), 3).close()
    path.with_name("new.db").rename(path)
    return lambda: aside.replace(path)


def deleted(path):
    path.unlink()


def all_deleted(path):
    for file in path.parent.iterdir():
        file.unlink()


def folder_deleted(path):
    shutil.rmtree(path.parent)


@pytest.mark.parametrize("change", [renamed, folder_renamed, log_renamed, replaced])
def test_a_step_sees_that_a_file_is_elsewhere_and_goes_on_when_it_is_back(change, path):
    opt = begun(path)
    opt.ask()
    calls = [opt.ask, lambda: opt.tell(opt.pending_[0], 1.0)]
    before, back = opt.to_json(), change(path)
    for call in calls:
        with pytest.raises(JournalError, match="was deleted, renamed or replaced by another file"):
            call()
    assert opt.to_json() == before
    back()
    for call in calls:
        call()
    opt.close()
    again = RandomSearch.resume(path)
    assert (again.n_told_, len(again.pending_)) == (STEPS + 1, 1)
    again.close()


@pytest.mark.parametrize("change", [deleted, all_deleted, folder_deleted])
def test_a_deleted_journal_is_missed_and_the_run_is_not_lost(change, path):
    opt = begun(path)
    change(path)
    with pytest.raises(JournalError, match="was deleted, renamed or replaced") as caught:
        opt.ask()
    assert "from_json(to_json())" in str(caught.value)
    with pytest.raises(JournalError, match="was deleted, renamed or replaced"):
        opt.close()
    opt.close()
    with pytest.raises(JournalError, match="does not exist any more"):
        opt.ask()
    assert not path.exists()
    free = RandomSearch.from_json(opt.to_json())
    assert free.n_told_ == STEPS
    free.ask()


def test_a_deleted_log_is_written_again_by_closing(path):
    opt = begun(path)
    path.with_name("run.db-wal").unlink()
    with pytest.raises(JournalError, match=r"Call close\(\), which writes all steps to .*run\.db"):
        opt.ask()
    opt.close()
    opt.ask()
    opt.close()
    assert journal.check(path) == {"begin": 1, "ask": STEPS + 1, "tell": STEPS}


def test_a_file_that_is_overwritten_is_noticed(path, tmp_path):
    begun(tmp_path / "other.db", 5).close()
    opt = begun(path)
    shutil.copyfile(tmp_path / "other.db", path)
    before = opt.to_json()
    with pytest.raises(JournalError, match="was overwritten by another program"):
        opt.ask()
    assert opt.to_json() == before


# --- copies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 5, STEPS, 200])
def test_a_copy_without_the_latest_steps_is_refused_by_all(steps, path, tmp_path, capsys):
    opt = begun(path, steps)
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    for _ in range(2):  # readers leave an empty log behind
        for call in (
            lambda: RandomSearch.resume(copy),
            lambda: RandomSearch(BOX, journal=copy).ask(0.0),
            lambda: journal.check(copy),
            lambda: list(journal.events(copy)),
        ):
            with pytest.raises(JournalError, match=r"not complete: its latest steps .*Copy both"):
                call()
    # What there is can be saved, and accepted.
    assert main(["journal", "export", str(copy)]) == 1
    n = len(capsys.readouterr().out.splitlines())
    assert n < 2 * steps + 1
    statement = "PRAGMA user_version=7"
    with pytest.raises(JournalError, match=statement):
        journal.check(copy)
    with contextlib.closing(sqlite3.connect(copy)) as connection:
        connection.execute(statement)
    if n:
        assert sum(journal.check(copy).values()) == n
        accepted = RandomSearch.resume(copy)
        assert accepted.n_told_ < steps
        accepted.close()
    opt.close()


def test_a_copy_is_complete_with_its_log_or_after_closing(path, tmp_path):
    opt, copy = begun(path), tmp_path / "copy.db"
    shutil.copy(path, copy)
    shutil.copy(f"{path}-wal", f"{copy}-wal")
    again = RandomSearch.resume(copy)
    assert again.n_told_ == STEPS
    again.close()
    opt.close()
    shutil.copy(path, copy)
    assert journal.check(copy)["tell"] == STEPS


def test_a_copy_that_was_made_beside_a_reader_is_refused(path, tmp_path):
    """What reads the file as it was keeps the note of what is missing from it."""
    begun(path, 3).close()
    reader = journal.events(path)
    next(reader)
    opt = RandomSearch.resume(path)
    opt.ask()
    reader.close()
    opt.ask()
    shutil.copy(path, tmp_path / "copy.db")
    with pytest.raises(JournalError, match="not complete"):
        RandomSearch.resume(tmp_path / "copy.db")
    opt.close()


def test_a_log_without_its_journal_is_not_written_over(path, tmp_path):
    opt = begun(path, 3)
    lone = tmp_path / "run.db"
    shutil.copy(f"{path}-wal", f"{lone}-wal")
    with pytest.raises(JournalError, match=r"does not exist, but its latest steps are in .*-wal"):
        RandomSearch(BOX, journal=lone).ask(0.0)
    shutil.copy(path, lone)
    again = RandomSearch.resume(lone)
    assert again.n_told_ == 3
    again.close()
    opt.close()


ENDS = {
    "cycle": "opt.me = opt",
    "thread": """
import threading
started = threading.Event()
def hold(opt):
    started.set()
    threading.Event().wait()
threading.Thread(target=hold, args=(opt,), daemon=True).start()
started.wait()
""",
    "kill": "os.kill(os.getpid(), signal.SIGKILL)",
}
RUN = """
import os, signal, sys
from sktvbo import RandomSearch
opt = RandomSearch([(0.0, 1.0)], clock="step", random_state=0, journal=sys.argv[1])
for _ in range(30):
    opt.tell(opt.ask(), 1.0)
"""


@pytest.mark.parametrize(
    "end", ["kill", *(pytest.param(e, marks=pytest.mark.slow) for e in [*ENDS][:2])]
)
def test_a_process_leaves_a_complete_file_or_one_that_says_that_it_is_not(end, path, tmp_path):
    done = subprocess.run([sys.executable, "-c", RUN + ENDS[end], path])
    assert done.returncode == (-signal.SIGKILL if end == "kill" else 0)
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    if end == "kill":
        with pytest.raises(JournalError, match="not complete"):
            RandomSearch.resume(copy)
    else:
        assert journal.check(copy)["tell"] == 30
    opt = RandomSearch.resume(path)
    assert opt.n_told_ == 30
    opt.close()
    assert not path.with_name("run.db-wal").exists()


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["run.db", Journal("run.db", resume=True)])
def test_a_relative_path_is_that_of_the_beginning(given, path, monkeypatch, tmp_path):
    monkeypatch.chdir(path.parent)
    opt = begun(given, 3)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        opt.ask()
        opt.close()
        opt.ask()  # opens the file again
        opt.close()
        opt = pickle.loads(pickle.dumps(opt))
    assert journal.check(path)["ask"] == 7
    assert not (tmp_path / "run.db").exists()


def test_two_names_of_a_journal_are_one_journal(path, tmp_path):
    opt = begun(path, 3)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with pytest.raises(JournalError, match="in use by another process"):
        RandomSearch.resume(link)
    assert journal.check(link)["tell"] == 3
    opt.close()
    again = RandomSearch.resume(link)
    assert again.n_told_ == 3
    again.close()
