"""The log of a run, of which several share one list."""

import pickle

from sktvbo.optimizers._state import Log


def test_capped_memory_does_not_grow():
    log, held = Log(limit=300), []
    for i in range(3000):
        log = log.append(i)
        held.append(len(log._items))
    assert max(held) <= 300 + 300 // 8 + 66
    assert list(log) == list(range(2700, 3000))
    assert (log.total, log.first, len(log)) == (3000, 2700, 300)
    assert log.at([2700, 2999]) == [2700, 2999]
    twin = pickle.loads(pickle.dumps(log)).append(3000)
    assert (twin.total, twin[0], twin.limit) == (3001, 2701, 300)
