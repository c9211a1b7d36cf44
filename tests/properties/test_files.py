"""What is written is read back, and what was not written is refused."""

import contextlib
import functools
import io
import json
import tempfile
from pathlib import Path

import bench
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import strategies as some

from sktvbo import WDBO, journal
from sktvbo.__main__ import main as sktvbo_main
from sktvbo.exceptions import JournalError


@contextlib.contextmanager
def new_path():
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder, "file")


WORDS = ["list", "--list", "journal", "ackley", "W-DBO", "random", "nan", "-1", "0", "1e999"]
WORDS += ["--dry-run", "--horizon", "--seed", "--replications", "--algorithms", "--preset"]


@given(st.lists(st.sampled_from(WORDS) | some.texts, max_size=5))
@pytest.mark.parametrize(("main", "more"), [(sktvbo_main, []), (bench.main, ["--dry-run"])])
def test_any_command_ends_with_a_code(main, more, words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([*words, *more])  # nothing is run
        except SystemExit as exc:
            code = exc.code
    assert code in (0, 1, 2)
    assert bool(err.getvalue()) == (code != 0)
    assert "Traceback" not in err.getvalue()


# --- journals, and optimizers as text -------------------------------------------------------------


@functools.cache
def written():
    """The bytes of a journal, and the text of the optimizer that has written it."""
    with new_path() as path:
        opt = WDBO([(0.0, 1.0)], n_initial_points=3, clock="step", random_state=0, journal=path)
        for _ in range(5):
            opt.tell(opt.ask(), 0.5)
        opt.tell(opt.ask(), failed=True)
        opt.close()
        return path.read_bytes(), opt.to_json()


changes = st.lists(
    st.tuples(st.sampled_from(["flip", "cut", "insert"]), some.seeds, st.binary(max_size=8)),
    min_size=1,
    max_size=3,
)


def changed(content, changes):
    """Bytes with some of them changed, left out, or added."""
    for how, where, more in changes:
        i = where % max(len(content), 1)
        if how == "cut":
            content = content[:i] + content[i + 1 + len(more) ** 3 :]
        else:
            content = content[:i] + more + content[i + (len(more) if how == "flip" else 0) :]
    return content


@given(changes)
def test_a_journal_with_any_change_is_what_it_was_or_refused(changes):
    whole, text = written()
    with new_path() as path:
        path.write_bytes(changed(whole, changes))
        with contextlib.suppress(JournalError):
            journal.check(path)
        with contextlib.suppress(JournalError):
            list(journal.events(path))
        try:
            opt = WDBO.resume(path)
        except JournalError:
            return
        opt.close()
        assert json.loads(opt.to_json())["state"] == json.loads(text)["state"]


@given(st.binary(max_size=200))
def test_a_journal_of_any_bytes_is_refused(content):
    with new_path() as path:
        path.write_bytes(content)
        for reader in (WDBO.resume, journal.check, lambda path: list(journal.events(path))):
            with pytest.raises(JournalError):
                reader(path)


def parts_of(content, path=()):
    """Paths to all parts of plain data."""
    yield path
    if isinstance(content, dict | list):
        for key in content if isinstance(content, dict) else range(len(content)):
            yield from parts_of(content[key], (*path, key))


@given(st.data())
def test_an_optimizer_with_a_part_of_its_text_replaced_is_refused(data):
    content = json.loads(written()[1])
    where = data.draw(st.sampled_from(list(parts_of(content))[1:]))
    *outer, last = where
    part = content
    for key in outer:
        part = part[key]
    before, part[last] = part[last], data.draw(some.json_values)
    same = json.dumps(part[last], sort_keys=True) == json.dumps(before, sort_keys=True)
    if not same:
        with pytest.raises(JournalError):
            WDBO.from_json(json.dumps(content))


@given(some.texts | st.builds(json.dumps, some.json_values))
def test_any_text_is_no_optimizer(text):
    with pytest.raises(JournalError):
        WDBO.from_json(text)
