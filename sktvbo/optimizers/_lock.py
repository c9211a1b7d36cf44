"""One step at a time: the lock of an optimizer."""

import os
import threading

# Renewed in a child process, as is, by way of the generation, every lock: a thread that held one
# when the process forked does not exist in the child, and would never release it.
_guard = threading.Lock()
_generation = 0


class StepLock:
    """A lock of one object, which is not copied with it and does not outlive a fork.

    Called, it gives the lock to be held: ``with self._lock():``. That is the interpreter's own, so
    that no interrupt falls between taking it and being about to release it. The thread that holds
    it may take it again.
    """

    def __init__(self):
        self._lock = threading.RLock()
        self._made_in = _generation

    def __call__(self):
        """The lock to be held."""
        if self._made_in != _generation:
            with _guard:
                if self._made_in != _generation:
                    self.__init__()
        return self._lock

    def __reduce__(self):
        return StepLock, ()


def _forked():
    global _guard, _generation
    _guard = threading.Lock()
    _generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
