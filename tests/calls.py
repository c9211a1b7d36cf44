"""Functions that worker processes call: importing them takes little time."""

import os
import signal
import time

import numpy as np


def moving(x, t):
    return -((x[0] - 3.0 - 0.05 * t) ** 2)


def sometimes(x, t):
    if x[0] > 5.0:
        raise ZeroDivisionError("planted")
    return 1.0


class Killed:
    """Function whose process is killed during some calls, and which notes what it returned.

    Parameters
    ----------
    folder : path
    n_kills : int
        Calls that are killed, at random, each with a probability of one half.
    delay : float, default=0.0
        Seconds from the start of a call to the kill.
    """

    def __init__(self, folder, n_kills, delay=0.0):
        self.folder, self.n_kills, self.delay = folder, n_kills, delay

    def __call__(self, x, t):
        y = moving(x, t)
        kills = len(list(self.folder.glob("killed*")))
        if kills < self.n_kills and np.random.RandomState().uniform() < 0.5:
            time.sleep(self.delay)
            (self.folder / f"killed {os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        (self.folder / f"done {x[0]!r} {t!r}").write_text(repr(float(y)))
        return y


def deadly(x, t):
    if x[0] > 7.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return moving(x, t)
