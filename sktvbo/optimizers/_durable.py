"""What an optimizer needs to outlive its process: journals, JSON and pickles."""

from __future__ import annotations

import hashlib
import json
import warnings
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from ..exceptions import JournalError, VersionWarning
from ..journal import Journal
from ..journal._encoding import types_within
from ..journal._file import FORMAT, JournalFile
from ._lock import StepLock
from ._state import (
    Recorder,
    explained_state,
    of_header,
    of_plain,
    parameters_as_plain,
    qualified,
    read,
    restored,
    to_plain,
)

if TYPE_CHECKING:
    from typing import Any, Self

    from .._typing import PathLike


@cache
def version(package):
    """Version of a package that is installed."""
    return metadata.version(package)


def _digest(content):
    """Checksum of plain data, whatever their layout as text."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Durable:
    """Part of a `BayesianOptimizer`: ``_run``, the state of its run, written down and read."""

    def __getstate__(self):
        state = dict(super().__getstate__())
        state.pop("_lock", None)
        state.pop("_recorder", None)
        return state | {"_version": version("sktvbo")}

    def __setstate__(self, state):
        state, mine = dict(state), version("sktvbo")
        made_by = state.pop("_version", "an unknown version")
        if made_by != mine:
            warnings.warn(
                f"This {type(self).__name__} was pickled by sktvbo {made_by}, and is read by "
                f"{mine}: it may go on otherwise, or fail. A journal, or to_json(), says when it "
                "cannot be read.",
                VersionWarning,
                stacklevel=2,
            )
        super().__setstate__(state)
        self._lock = StepLock()

    @classmethod
    def resume(cls, journal: PathLike | Journal, **parameters: Any) -> Self:
        """Go on with a run where its journal ends.

        Parameters
        ----------
        journal : path-like or `~sktvbo.journal.Journal`
        **parameters
            Those that plain data cannot hold, such as functions and objects of one's own classes:
            the error names them. Others may be given too, if they are as they were.

        Returns
        -------
        optimizer
            As it was after the last call that returned, random state included: it goes on as if
            nothing had happened. Hyperparameters are not searched again.

        Raises
        ------
        JournalError
            The journal does not exist, is in use, damaged, not complete, another algorithm's, or
            lacks a parameter; says what to do.

        Notes
        -----
        A clock ``"wall"`` stands still while there is no process; ``"calendar"`` goes on.

        Examples
        --------
        >>> import os, tempfile
        >>> from sktvbo import WDBO
        >>> path = os.path.join(tempfile.mkdtemp(), "run.db")
        >>> opt = WDBO([(0.0, 1.0)], n_initial_points=3, random_state=0, journal=path)
        >>> for t in range(5):
        ...     opt.tell(opt.ask(t), 0.1 * t)
        >>> opt.close()                                   # or the process ends, in any way
        >>> WDBO.resume(path).n_told_
        5
        """
        where = Journal.of(journal)
        if not Path(where.path).is_file():
            advice = f"Begin a run with {cls.__name__}(..., journal=path)."
            raise JournalError(f"The journal {where.path} does not exist. {advice}")
        file = JournalFile(where)
        try:
            header = file.header()
            new = of_header(cls, header, parameters | {"journal": journal}, where.path)
            run = new._new_run()
            with explained_state(where.path):
                stored = read(file, run.told.limit)
            new._restore(run, stored, where.path)
            new._recorder = Recorder(file, new._run, header, written=True)
        except BaseException:
            file.close()
            raise
        return new

    def close(self) -> None:
        """Let the journal go, so that another optimizer may `resume` it; the next step reopens it.

        Its file is complete then, and may be copied alone. Without a journal this does nothing.

        Raises
        ------
        JournalError
            The file was deleted, renamed or replaced, or cannot be written.
        """
        with self._lock():
            recorder = vars(self).pop("_recorder", None)
            if recorder is not None:
                recorder.close()

    def to_json(self) -> str:
        """All of the optimizer as JSON: parameters, and the state of the run if it has begun.

        Returns
        -------
        text : str
            Of plain data, with version, format and a checksum; for `from_json`.

        Raises
        ------
        JournalError
            A part holds what plain data cannot.
        """
        run = vars(self).get("_run")
        source = self if run is None else run.algorithm
        state = None if run is None else to_plain(run)
        content = source._header() | {"state": state}
        return json.dumps(content | {"sha256": _digest(content)}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str, **parameters: Any) -> Self:
        """The optimizer of `to_json`, without a journal; it goes on as the other would.

        Parameters
        ----------
        text : str
        **parameters
            As in `resume`.

        Raises
        ------
        JournalError
            The text is another's, has been changed, or lacks a parameter.
        """
        try:
            content = json.loads(text)
            header = {name: content[name] for name in ("format", "optimizer", "parameters")}
            state, digest = content["state"], content.pop("sha256")
        except (ValueError, KeyError, TypeError, RecursionError) as exc:
            found = f"{type(exc).__name__}: {exc}"
            raise JournalError(f"The text must be that of to_json(). Got {found} instead.") from exc
        if header["format"] == FORMAT and digest != _digest(content):
            raise JournalError(
                "The text must be that of to_json(), as it was written. Got one whose checksum is "
                "another instead: something in it has changed. Restore a copy."
            )
        new = of_header(cls, header, parameters, "JSON")
        if state is not None:
            run = new._new_run()
            with explained_state("JSON"):
                stored = of_plain(state)
            new._restore(run, stored, "JSON")
        return new

    def _header(self):
        """What a journal begins with."""
        return {
            "format": FORMAT,
            "version": version("sktvbo"),
            "optimizer": qualified(type(self)),
            "parameters": parameters_as_plain(self),
        }

    def _restore(self, run, stored, source):
        with explained_state(source):
            self._run = restored(run, stored, types_within(*self.get_params(deep=False).values()))

    def _recorder_of(self, run):
        """What writes the run's journal, opened if need be."""
        recorder = vars(self).get("_recorder")
        if recorder is None or not recorder.is_open:
            begun = run.place.number > 0
            file = JournalFile(Journal.of(run.algorithm.journal), begun)
            header = None if run.place.number else run.algorithm._header()
            recorder = self._recorder = Recorder(file, run, header)
        return recorder
