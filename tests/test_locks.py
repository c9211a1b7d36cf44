"""Locks: a child that is forked while other threads hold them is never locked out."""

import os
import re
import signal
import threading
import time
from contextlib import ExitStack

import pytest
from test_structure import MODULES

from sktvbo import WDBO, _locks, _values
from sktvbo.optimizers import _clock

BOX = [(0.0, 1.0)]


def test_every_lock_is_registered():
    made = re.compile(r"\b(threading|multiprocessing)\.(R?Lock|Condition|\w*Semaphore|Event)\b")
    texts = {module: path.read_text(encoding="utf-8") for module, path in MODULES.items()}
    assert [name for name, text in texts.items() if made.search(text)] == ["sktvbo._locks"]


def used():
    opt = WDBO(BOX, clock="calendar", n_initial_points=3, random_state=0)
    for y in range(5):
        opt.tell(opt.ask(), float(y))
    return opt


def step(opt):
    """A step that takes each lock of the core."""
    opt.tell(opt.ask(), 1.0)


HELD = {
    "rows": lambda opt: [_values.GROW_LOCK],
    "clock": lambda opt: [_clock._READING],
    "optimizer": lambda opt: [opt._lock],
    "all": lambda opt: list(_locks._LOCKS),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.parametrize("locks", HELD.values(), ids=HELD)
def test_a_child_is_not_locked_out(locks):
    opt = used()
    held, leave = threading.Event(), threading.Event()

    def hold():
        with ExitStack() as stack:
            for lock in locks(opt):
                stack.enter_context(lock)
            held.set()
            leave.wait(timeout=60.0)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(timeout=60.0)
        child = os.fork()
        if child == 0:
            step(opt)
            os._exit(7 if opt.n_told_ == 6 else 8)
        end, ended, status = time.monotonic() + 60.0, 0, 0
        while not ended and time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.01)
        if not ended:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 7
    finally:
        leave.set()
        thread.join()
    step(opt)  # and the parent's are its own
    assert opt.n_told_ == 6
