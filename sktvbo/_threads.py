"""How many threads the linear algebra may use."""

from contextlib import nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController

# Below this many rows a second thread costs more in waking up than it computes, most of all when
# other processes want the same cores: see benchmarks/bench_threads.py.
_WORTH_A_THREAD = 300


@cache
def _controller():
    return ThreadpoolController()


def blas_threads(n):
    """Context in which BLAS uses one thread if the matrices have few rows."""
    if n >= _WORTH_A_THREAD:
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")
