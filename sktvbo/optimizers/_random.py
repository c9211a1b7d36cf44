"""Copies of NumPy's random states: a step draws from a copy, which it discards if it fails."""

import copy

import numpy as np
from numpy.random.bit_generator import ISeedSequence


class _Unseeded(ISeedSequence):
    """Seed of zeros, for a generator whose state is set afterwards; faster than a real one."""

    def generate_state(self, n_words, dtype=np.uint32):
        return [0] * n_words


_UNSEEDED = _Unseeded()


def copied(rng):
    """Return a copy of a RandomState, six times as fast as `copy.deepcopy`."""
    state = rng.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return copy.deepcopy(rng)
    # The generator reads its 624 words one by one, which is faster from a list.
    state["state"]["key"] = state["state"]["key"].tolist()
    new = np.random.RandomState(np.random.MT19937(_UNSEEDED))
    new.set_state(state)
    return new
