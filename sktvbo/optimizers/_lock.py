"""Lock of an optimizer, which makes its steps one at a time."""

import os
import threading

# Both change in a forked child, which then replaces every lock: a thread that held one at the fork
# does not exist in the child, and would never release it.
_guard = threading.Lock()
_generation = 0


class StepLock:
    """Reentrant lock of one object, replaced in copies of the object and in a forked child.

    A call returns the lock of the interpreter, to be held by ``with self._lock():``. Its own
    context manager leaves no moment at which an interrupt could prevent the release.
    """

    def __init__(self):
        self._lock = threading.RLock()
        self._created_in = _generation

    def __call__(self):
        """Return the lock to be held."""
        if self._created_in != _generation:
            with _guard:
                if self._created_in != _generation:
                    self.__init__()
        return self._lock

    def __reduce__(self):
        return StepLock, ()


def _replace_locks():
    global _guard, _generation
    _guard = threading.Lock()
    _generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_replace_locks)
