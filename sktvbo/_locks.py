"""Locks of the package, which a forked child replaces.

A thread that holds a lock at a fork does not exist in the child, and would never release it. So
each lock of the package is a `Lock`: all of these are registered, and free in a child.
"""

import os
import threading
from weakref import WeakSet

_LOCKS = WeakSet()


class _Held:
    """Method of the lock of the interpreter that a `Lock` has at present.

    ``with lock:`` looks up both methods before it calls the first: no line of Python lies between
    the two, at which an interrupt could prevent the release.
    """

    def __set_name__(self, kind, name):
        self._name = name

    def __get__(self, lock, kind=None):
        return self if lock is None else getattr(lock._held, self._name)

    def __call__(self, lock, *error):
        return self.__get__(lock)(*error)


class Lock:
    """Reentrant lock, replaced in a forked child and in copies of the object that has it."""

    def __init__(self):
        self._replace()
        _LOCKS.add(self)

    def _replace(self):
        self._held = threading.RLock()

    __enter__, __exit__ = _Held(), _Held()

    def __reduce__(self):
        return Lock, ()


def _replace_all():
    for lock in list(_LOCKS):
        lock._replace()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_replace_all)
