"""Base class of objects with a run, whose state can be stored: pickles, JSON and journals."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from .._locks import Lock
from .._sklearn import BaseEstimator
from .._validation import plain_number
from .._values import owned, replaced
from .._warnings import step, warn_caller
from ..exceptions import AskTellError, JournalError
from ..journal import Journal
from ..journal._encoding import qualified_name
from ..journal._file import FORMAT, JournalFile
from ..journal._read import header
from ._begin import first_state
from ._report import log_events, logger
from ._serialization import (
    Recorder,
    checksum,
    decode_state,
    encode_parameters,
    encode_state,
    new_optimizer,
    read_state,
    restored_run,
    state_errors,
    version,
    with_stored_parameters,
)

if TYPE_CHECKING:
    from typing import Any, Self

    from .._typing import PathLike


class _NotBegunError(NotFittedError, AskTellError):
    """Access to an attribute of a run before its first step."""


class Durable(BaseEstimator):
    """Estimator with a run, which begins with the first step.

    ``_run`` is its state, a `RunState`: each step replaces it by another, in `_take`. A subclass
    has the parameters that `first_state` reads.
    """

    # --- the run ----------------------------------------------------------------------------------

    def __post_init__(self):
        self._lock = Lock()

    def _run_or_raise(self):
        """Return the state of the run, or raise if there is none."""
        run = self._resumed()
        if run is None:
            raise _NotBegunError(
                f"This {type(self).__name__} has not begun a run yet. Call ask() or tell() first."
            )
        return run

    def _current(self):
        """Return the state of the run, or of a new one, for the value of an attribute."""
        run = self._resumed()
        if run is not None:
            return run
        try:
            return self._new_run()
        except (ValueError, TypeError) as exc:
            # An AttributeError: hasattr() is False.
            name = type(self).__name__
            raise _NotBegunError(f"This {name} has no run, and cannot begin one. {exc}") from exc

    def _run_or_new(self):
        """Return the state of the run, or of a new one."""
        return vars(self).get("_run") or self._resumed() or self._new_run()

    @contextmanager
    def _timed_step(self):
        """Context with the state of `_run_or_new`, which times the step if its time is limited."""
        run = self._run_or_new()
        timer = run.timer
        if timer is None:
            yield run
            return
        try:
            timer.begin()
            yield run
        finally:
            timer.stop()  # unless `_take` has ended the step

    def _take(self, run, after, kind, **said):
        """Replace the present state by the next one: the only place where a run changes.

        The journal is written first; ``kind`` and ``said`` describe the step.
        """
        if vars(self).get("_run", run) is not run:
            raise AskTellError(
                f"A step of this {type(self).__name__} was made within another step, by one of "
                "its own parts. A clock, kernel, acquisition function or policy may read the "
                "optimizer, but must not call its ask() or tell()."
            )
        if run.algorithm.journal is not None:
            after = self._recorder_of(run).record(run, after, kind, said)
        self._run = after
        timer = after.timer
        if timer is not None:
            timer.end(kind)
        if logger.isEnabledFor(logging.INFO):
            log_events(run, after)

    # --- resuming, and parameters of a run --------------------------------------------------------

    def _resumed(self):
        """Return the state of the run, resumed from its journal if need be, or None."""
        journal = self.journal
        if "_run" not in vars(self) and isinstance(journal, Journal) and journal.resume:
            with self._lock:
                # Another thread may have resumed it.
                if "_run" not in vars(self) and Path(str(journal.path)).is_file():
                    self._resume(JournalFile(Journal.of(journal)))
        return vars(self).get("_run")

    @step
    def _resume(self, file):
        """Resume the run of an open journal, if it contains one."""
        try:
            stored = file.header()
            if stored is None:
                file.close()
                return
            algorithm = self._without_earlier()._new_run().algorithm
            with state_errors(file.path):
                in_force, others = with_stored_parameters(algorithm, stored, file.path)
                run = in_force._new_run()
                run = restored_run(run, read_state(file, run.history.log.limit))
            recorder = Recorder(file, run, stored, is_stored=True)
            for name in others:
                setattr(self, name, getattr(in_force, name))
            self._run, self._recorder = run, recorder
        except BaseException:
            file.close()
            raise

    def _recorder_of(self, run):
        """Return the recorder of the run's journal, opened if necessary."""
        recorder = vars(self).get("_recorder")
        if recorder is None or not recorder.is_open:
            continues = run.position.number > 0
            file = JournalFile(run.algorithm.journal, continues)
            header = None if run.position.number else run.algorithm._header()
            recorder = self._recorder = Recorder(file, run, header)
        return recorder

    def _hand_over(self, run, new, after, said):
        """Let another optimizer continue the run's journal, from a state with its parameters."""
        after = replaced(after, position=run.position)
        new._recorder = self._recorder_of(run).handed_to(after)
        header = after.algorithm._header()
        new._run = new._recorder.record(run, after, "with_parameters", header | said)
        del self._recorder

    def _header(self):
        """Return the body of a journal's first event."""
        return {
            "format": FORMAT,
            "version": version("sktvbo"),
            "optimizer": qualified_name(type(self)),
            "parameters": encode_parameters(self.get_params(deep=False)),
        }

    def _new_run(self):
        """Return the state of a run before its first step."""
        self._check_parameters()
        algorithm = self._copied()
        if self.journal is not None:
            algorithm.journal = Journal.of(self.journal).located()
        return first_state(algorithm)

    def _storable(self):
        """Return the optimizer with its parameters as a run stores them, or itself."""
        return self

    def _copied(self):
        """Return a copy that has its own parts and has made no step."""
        new = copy.copy(self._storable())
        vars(new).pop("_run", None)
        for name, value in new.get_params(deep=False).items():
            if hasattr(value, "get_params") and not isinstance(value, type):
                setattr(new, name, clone(value))
            else:  # the user may change dicts and lists later
                setattr(new, name, owned(plain_number(value)))
        return new

    # --- journals, JSON and pickles ---------------------------------------------------------------

    @classmethod
    def _family(cls):
        """Return the class whose runs `resume` and `from_json` restore, subclasses included."""
        return cls

    @classmethod
    def resume(cls, journal: PathLike | Journal) -> Self:
        """Open the run of a journal, with the parameters in the file.

        A program that has the parameters resumes its run with ``journal=Journal(path,
        resume=True)``, which also begins one.

        Parameters
        ----------
        journal : path-like or `~sktvbo.journal.Journal`

        Returns
        -------
        optimizer
            An optimizer of this class, or of the subclass that made the run:
            ``BayesianOptimizer.resume`` opens all of them. Its state is that after the last call
            that returned, with the same observations, data set, hyperparameters and random state.
            The surrogate is conditioned again: predictions are equal up to rounding. Without noise
            the difference may grow in later queries.

        Raises
        ------
        JournalError
            The journal does not exist, is in use, damaged or incomplete, belongs to another
            algorithm, or lacks a parameter that plain data cannot hold, such as a function.

        Notes
        -----
        The clock ``"wall"`` stops while there is no process; ``"calendar"`` does not.

        Examples
        --------
        >>> import os, tempfile
        >>> from sktvbo import WDBO, BayesianOptimizer
        >>> path = os.path.join(tempfile.mkdtemp(), "run.db")
        >>> opt = WDBO([(0.0, 1.0)], n_initial_points=3, random_state=0, journal=path)
        >>> for t in range(5):
        ...     opt.tell(opt.ask(t), 0.1 * t)
        >>> opt.close()                                   # or the process ends in any way
        >>> BayesianOptimizer.resume(path).n_told_
        5
        """
        where = Journal.of(journal)
        parameters, where = header(where.path), replace(where, resume=True)
        new = new_optimizer(cls, parameters, {"journal": where}, where.path)
        new._run_or_raise()
        return new

    def close(self) -> None:
        """Close the journal, so that another optimizer may `resume` it; the next step reopens it.

        The closed file is complete and may be copied. Without a journal nothing happens.

        Raises
        ------
        JournalError
            The file was deleted, renamed or replaced, or cannot be written.
        """
        with self._lock:
            recorder = vars(self).pop("_recorder", None)
            if recorder is not None:
                recorder.close()

    def to_json(self) -> str:
        """Return parameters, and the state of the run if it has begun, as JSON.

        Returns
        -------
        text : str
            Plain data with version, format and a checksum, for `from_json`.

        Raises
        ------
        JournalError
            A part cannot be stored as plain data.
        """
        run = self._resumed()
        source = self._storable() if run is None else run.algorithm
        state = None if run is None else encode_state(run)
        content = source._header() | {"state": state}
        return json.dumps(content | {"sha256": checksum(content)}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str, **parameters: Any) -> Self:
        """Restore the optimizer of `to_json`, without a journal.

        Parameters
        ----------
        text : str
        **parameters
            Parameters that plain data cannot hold, such as functions and objects of custom classes:
            the error names them. Others may be given too, with unchanged values.

        Raises
        ------
        JournalError
            The text is not from `to_json`, was changed, or lacks a parameter.
        """
        header, state = _content_of(text)
        new = new_optimizer(cls, header, parameters, "JSON")
        if state is not None:
            run = new._new_run()
            with state_errors("JSON"):
                new._run = restored_run(run, decode_state(state))
        return new

    def __sklearn_clone__(self):
        # Clones of earlier runs would have no run.
        new = BaseEstimator.__sklearn_clone__(self._without_earlier())
        if self._prior is not None:
            new.earlier = self._prior
        return new

    def _without_earlier(self):
        """Return a copy that does not read earlier runs."""
        new = copy.copy(self)
        if self._prior is not None:
            new.earlier = None
        return new

    def __getstate__(self):
        state = dict(super().__getstate__())
        state.pop("_lock", None)
        state.pop("_recorder", None)
        for name, value in state.items():
            # Mappings other than dicts may not support copies or pickles.
            if isinstance(value, Mapping) and not isinstance(value, dict):
                state[name] = owned(value)
        return state | {"_version": version("sktvbo")}

    def __setstate__(self, state):
        state, mine = dict(state), version("sktvbo")
        made_by = state.pop("_version", "an unknown version")
        if made_by != mine:
            warn_caller(
                f"This {type(self).__name__} was pickled by sktvbo {made_by} and is read by "
                f"{mine}: results may differ, or it may fail. A journal or to_json() raises an "
                "error when it cannot be read."
            )
        super().__setstate__(state)
        self._lock = Lock()


def _content_of(text):
    """Return header and state of the text of `Durable.to_json`."""
    try:
        content = json.loads(text)
        header = {name: content[name] for name in ("format", "optimizer", "parameters")}
        state, digest = content["state"], content.pop("sha256")
    except (ValueError, KeyError, TypeError, RecursionError) as exc:
        got = f"{type(exc).__name__}: {exc}"
        raise JournalError(f"The text must be that of to_json(). Got {got} instead.") from exc
    if header["format"] == FORMAT and digest != checksum(content):
        raise JournalError(
            "The text must be that of to_json(). Got one with a wrong checksum instead: it was "
            "changed. Restore a copy."
        )
    return header, state


# Stand-ins for parameters that may be functions, which a file cannot hold.
_STAND_INS = {"clock": "step", "constraints": None, "acquisition": None}


def read_optimizer(cls, content, limit, not_needed=("clock",)):
    """Return an optimizer with the last state of a journal, which stays unchanged.

    It is of the family of ``cls``, and shows at most ``limit`` observations.

    Parameters
    ----------
    cls : type
    content : JournalContent
    limit : int
    not_needed : tuple of str, default=("clock",)
        Parameters that may be missing, if they are functions: see `_STAND_INS`.
    """
    new, lost = _read(cls, content.in_force(), not_needed, content.path)
    new.history = limit if new.history is None else min(new.history, limit)
    run = new._new_run()
    with state_errors(content.path):
        return _with_state(new, run, read_state(content, run.history.log.limit), lost)


def read_json(cls, text, not_needed):
    """Return the optimizer of `Durable.to_json`, as `read_optimizer`."""
    header, state = _content_of(text)
    new, lost = _read(cls, header, not_needed, "JSON")
    if state is None:
        return new
    run = new._new_run()
    with state_errors("JSON"):
        return _with_state(new, run, decode_state(state), lost)


def _read(cls, header, not_needed, source):
    """Return a stored optimizer before its run, and the names of the parameters that are lost."""
    stored = header["parameters"]
    lost = [name for name in not_needed if "value" not in stored.get(name, {"value": None})]
    return new_optimizer(cls, header, {name: _STAND_INS[name] for name in lost}, source), lost


def _with_state(new, run, state, lost):
    """Return an optimizer in a stored state."""
    if "clock" in lost:
        del state.parts["clock"]
    return with_run(new, restored_run(run, state))


def with_new_run(optimizer):
    """Return a copy of an optimizer that begins a run."""
    return with_run(optimizer, optimizer._new_run())


def run_of(optimizer):
    """Return the state of an optimizer's run."""
    return optimizer._run


def snapshot(optimizer):
    """Return a copy of an optimizer in its present state, unaffected by other threads."""
    return with_run(optimizer, optimizer._run_or_raise())


def with_run(optimizer, run):
    """Return a copy of an optimizer with another state of its run."""
    other = copy.copy(optimizer)
    other._run = run
    return other
