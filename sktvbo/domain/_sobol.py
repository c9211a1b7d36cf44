"""Scrambled Sobol points as `scipy.stats.qmc` draws them, to the bit, without its engine.

Of n points only log2(n) direction numbers matter, and SciPy scrambles all of them: that takes as
long as looking at the points does, where there are few observations.
"""

from functools import lru_cache

import numpy as np
from scipy.stats import qmc

# So many bits has a coordinate, of which these are the powers of two, the first the largest.
_BITS = 30
_POWERS = 2 ** np.arange(_BITS - 1, -1, -1, dtype=np.uint32)


def plain(n, d):
    """The first n Sobol points (n, d) of the unit box."""
    return qmc.Sobol(d, scramble=False, bits=_BITS).random(n)


def scrambled(n, d, seed):
    """The first n of the Sobol points (n, d) that a seed makes.

    Linear matrix scrambling and a digital shift (Matoušek 1998): a coordinate's bits are multiplied
    by a random lower triangle of bits, and some of them are turned.
    """
    # SciPy spawns a child of the generator that it is given.
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(0,))))
    turned = rng.integers(2, size=(d, _BITS), dtype=np.uint32) @ _POWERS[::-1]
    triangles = np.tril(rng.integers(2, size=(d, _BITS, _BITS), dtype=np.uint32))
    triangles[:, range(_BITS), range(_BITS)] = 1
    k = (n - 1).bit_length()
    products = (triangles @ _POWERS)[:, np.newaxis] & _directions(d, k)[..., np.newaxis]
    directions = (np.bitwise_count(products) & 1) @ _POWERS
    # In the order of Gray's code the second half is the first, backwards, with one bit more.
    points = np.empty((2**k, d), dtype=np.uint32)
    points[0] = turned
    for j in range(k):
        half = 2**j
        points[half : 2 * half] = points[half - 1 :: -1] ^ directions[:, j]
    return points[:n] * 2.0**-_BITS


@lru_cache(maxsize=64)
def _directions(d, k):
    """The first k direction numbers of each coordinate, (d, k)."""
    points = (plain(2**k, d) * 2.0**_BITS).astype(np.uint32)
    # A point whose number is a power of two differs from 0 in two of them, the first in one.
    return np.bitwise_xor.accumulate(points[2 ** np.arange(k)].T, axis=1)
