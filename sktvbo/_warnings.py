"""Warnings that name the line of the user's program from which the package was called."""

import functools
import inspect
import time
import warnings
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import ParamSpec, TypeVar

_P, _R = ParamSpec("_P"), TypeVar("_R")

# What stands between a warning and the user's call: the package, what it calls, and what calls it.
_INSIDE = {
    "sktvbo",
    "concurrent",
    "contextlib",
    "copy",
    "joblib",
    "optuna",
    "pickle",
    "scipy",
    "sklearn",
}


# Warnings of the present step (message, category), which wait for its end; None outside of a step.
_waiting = ContextVar("sktvbo_waiting_warnings", default=None)

# When the present step began, by `time.perf_counter`; None outside of a step.
_begun = ContextVar("sktvbo_begin_of_step", default=None)


def step(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a method that makes a step: its warnings follow when it has been committed.

    With warnings as errors the caller gets an exception after a step that was made. A step that
    fails raises its own error, and nothing has happened that could be warned of.
    """

    @functools.wraps(method)
    def made(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        notices = []
        # Its end restores the context whatever interrupts the step.
        result = copy_context().run(_collect, notices, method, args, kwargs)
        if notices:
            _warn_all(notices)
        return result

    return made


def _collect(notices, method, args, kwargs):
    _waiting.set(notices)
    _begun.set(time.perf_counter())
    return method(*args, **kwargs)


def present_step():
    """Return the warnings (list) of the present step, which may grow, and its seconds so far.

    None and None outside of a step.
    """
    begun = _begun.get()
    return _waiting.get(), None if begun is None else time.perf_counter() - begun


def _warn_all(notices):
    """Warn of all, also where the first ones are errors."""
    (message, category), *others = notices
    try:
        warn_caller(message, category)
    finally:
        if others:
            _warn_all(others)


def warn_caller(message, category=UserWarning):
    """Warn at the innermost line outside of the package and of the libraries that it works with.

    Within a step the warning waits for its end, see `step`.

    Parameters
    ----------
    message : str
    category : type, default=UserWarning
    """
    waiting = _waiting.get()
    if waiting is not None:
        waiting.append((message, category))
        return
    frame = inspect.currentframe()
    while frame.f_back is not None and _module_of(frame).partition(".")[0] in _INSIDE:
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        _module_of(frame),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _module_of(frame):
    return frame.f_globals.get("__name__", "<string>")
