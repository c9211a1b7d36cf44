"""Warnings that name the line of the user's program from which the package was called."""

import inspect
import warnings

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


def warn_caller(message, category=UserWarning):
    """Warn at the innermost line outside of the package and of the libraries that it works with.

    Parameters
    ----------
    message : str
    category : type, default=UserWarning
    """
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
