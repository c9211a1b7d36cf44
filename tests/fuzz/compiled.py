"""Call every function of ``sktvbo._fast`` with arguments that fit, and with some that do not.

    python tests/fuzz/compiled.py --seconds 60 [--seed 0]

A call must return, or raise one of Python's own errors about its arguments. The signatures are read
from the functions, so a new one is tried without a line here. After a crash the number of the call
is in ``--log``, and ``--seed S --only N`` repeats it. ``make sanitize`` runs this on a build in
which each access to memory is checked.
"""

import argparse
import importlib
import os
import pkgutil
import re
import sys
import time

import numpy as np

from sktvbo import _fast
from sktvbo._fast.ascent import Ascents
from sktvbo._fast.gram import Family
from sktvbo._fast.gram import gram as write_gram
from sktvbo._fast.limits import Limits
from sktvbo._fast.posterior import Formula, Posterior

# Share of its calls in which a function must return, if it was called as often.
LEAST_RETURNED, LEAST_CALLED = 0.01, 100

ERRORS = (ValueError, TypeError, IndexError, BufferError, OverflowError, MemoryError)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, np.inf, -np.inf, np.nan, 5e-324]
KINDS = {"double": np.float64, "Py_ssize_t": np.intp, "int": np.intc, "float": np.float32}
ARRAY = re.compile(r"(?:const )?(\w+)\[(:(?:, ::?1?)*|::1)\]")


def functions():
    """Functions of all modules, with the types of their parameters."""
    found = []
    for module in pkgutil.iter_modules(_fast.__path__):
        room = importlib.import_module(f"sktvbo._fast.{module.name}")
        for name, function in sorted(vars(room).items()):
            if name.startswith("__") or getattr(function, "__module__", None) != room.__name__:
                continue
            signature = re.match(
                rf"{name}\((.*?)\)(?: ->.*)?$", getattr(function, "__doc__", None) or "", re.M
            )
            if signature and not isinstance(function, type):
                found.append((f"{module.name}.{name}", function, types(signature[1])))
    return found


def types(signature):
    """Types of the parameters of an embedded signature, without names and defaults."""
    parts = re.split(r", (?=(?:const )?[A-Za-z_]\w*[ \[])", signature)
    return [part.partition("=")[0].strip().rpartition(" ")[0] for part in parts if part.strip()]


class Arguments:
    """Arguments of a call; lengths are few, so that they often fit each other."""

    def __init__(self, rng):
        self.rng = rng
        self.lengths = rng.randint(0, 7, size=2)
        if rng.uniform() < 0.6:
            self.lengths[1] = self.lengths[0]
        self.odd = rng.uniform() < 0.3  # whether anything may be wrong

    def length(self):
        n = self.rng.choice(self.lengths)
        step = self.rng.choice([-1, 1, 1, 2]) if self.rng.uniform() < 0.12 else 0
        return max(int(n + step), 0)

    def number(self):
        if self.rng.uniform() < 0.2:
            return float(self.rng.choice(SPECIAL))
        return float(self.rng.normal())

    def integer(self):
        if self.odd and self.rng.uniform() < 0.2:
            return int(self.rng.choice([-(2**31), 2**31, 2**62, -(2**62)]))
        return int(self.rng.choice([self.lengths[0], self.lengths[0] - 1, self.rng.randint(-1, 9)]))

    def array(self, kind, n_dims):
        shape = tuple(self.length() for _ in range(n_dims))
        if kind in ("Py_ssize_t", "int", "intp_t"):
            A = self.rng.randint(-1 if self.odd else 0, max(*self.lengths, 1), size=shape)
        else:
            A = self.rng.normal(size=shape)
            if n_dims == 2 and shape[0] == shape[1] and self.rng.uniform() < 0.5:
                A = A @ A.T + np.eye(len(A))
            A[self.rng.uniform(size=shape) < 0.05] = self.rng.choice(SPECIAL)
        A = np.ascontiguousarray(A, dtype=KINDS.get(kind, np.float64))
        if self.odd and self.rng.uniform() < 0.1:
            A = [A.astype(np.float32), A[..., ::2], np.asfortranarray(A), None][self.rng.randint(4)]
        if A is not None and self.odd and self.rng.uniform() < 0.1:
            A.flags.writeable = False
        return A

    def of(self, kind):
        if match := ARRAY.fullmatch(kind):
            return self.array(match[1], match[2].count(",") + 1)
        if kind in ("double", "float"):
            return self.number()
        if kind in ("bool", "bint"):
            return bool(self.rng.randint(2))
        return self.integer()


# --- arguments that fit more closely than chance can make them ------------------------------------


def covariance(rng, n):
    A = rng.normal(size=(n, n))
    return A @ A.T + 0.1 * np.eye(n)


def indices(rng, high, size):
    return rng.randint(high, size=size).astype(np.intp)


def climbing(rng):
    n, d, b, moves = rng.randint(1, 20), rng.randint(0, 4), rng.randint(0, 5), rng.randint(2)
    L, u = factor(rng, n), d + moves
    data = rng.normal(size=(d, n)), rng.normal(size=n), rng.normal()
    posterior = Posterior(*families(rng), 1.0, *data, bool(moves), rng.normal(size=n), L)
    free = rng.permutation(u)[: rng.randint(u + 1)].astype(np.intp)
    ascents = Ascents(rng.uniform(size=(b, len(free))), np.ones(len(free)), 1e-9)
    places, formula = rng.uniform(size=(b, u)), Formula(rng.choice(Formula))
    units, rates = rng.uniform(0.5, 2.0, size=u), rng.choice([0.0, 1.0, 5.0], size=u)
    unit, seconds = rng.uniform(0.1, 2.0), float(rng.choice([0.0, 1.0, np.inf]))
    found = [posterior, formula, rng.uniform(), ascents, places, free, unit, units, rates, seconds]
    if rng.randint(2):
        required = rng.choice([np.nan, 1.0]), rng.choice([np.nan, 0.5])
        limits = Limits([posterior], units[np.newaxis], [-1.0], [1.0], [1.0], [0.1], *required)
        found += [limits, rng.normal(), 0.1]
    return found


def points(rng, d):
    n = rng.randint(0, 20)
    return rng.normal(size=(d, n)), rng.normal(size=n)


def families(rng):
    return [Family(rng.choice(Family)) for _ in range(2)]


def covaried(rng):
    """Points, families, and their covariance matrix."""
    given, kinds = points(rng, rng.randint(0, 4)), families(rng)
    K = np.zeros((len(given[1]),) * 2)
    write_gram(*given, *kinds, 1.0, K)
    return [*given, *kinds, K]


def contracting(rng):
    given = covaried(rng)
    P, n = given[-1] + 0.0, len(given[-1])
    return [*given, P, rng.normal(size=n), np.empty(len(given[0]) + 2)]


def multiplying(rng):
    given = covaried(rng)
    n = len(given[-1])
    return [*given, rng.normal(size=n), np.empty((len(given[0]) + 2, n))]


def crossing(rng):
    d = rng.randint(0, 4)
    one, other, kinds = points(rng, d), points(rng, d), families(rng)
    K, W = rng.normal(size=(2, len(one[1]), len(other[1])))
    return [*one, *other, *kinds, K, W, np.empty(d + 1)]


def sloping(rng):
    Z, times = points(rng, rng.randint(0, 4))
    d, n = Z.shape
    out = np.empty(n), np.empty((d + 1, n))
    return [rng.normal(size=d), rng.normal(), Z, times, *families(rng), 1.5, *out]


def factor(rng, n, more=0):
    """A Cholesky factor (n, n) in a matrix with more rows and columns."""
    L = np.zeros((n + more, n + more))
    L[:n, :n] = np.linalg.cholesky(covariance(rng, n))
    return L


def appending(rng):
    n = rng.randint(0, 9)
    return [factor(rng, n, rng.randint(1, 4)), n, rng.normal(size=n), rng.uniform(0.1, 9.0)]


def dropping(rng):
    n = rng.randint(1, 9)
    m = n - 1 + rng.randint(3)
    return [factor(rng, n, rng.randint(3)), n, rng.randint(n), np.zeros((m, m))]


def solving(rng):
    n = rng.randint(0, 90)
    B = rng.normal(size=(rng.randint(0, 9), n))
    return [factor(rng, n, rng.randint(3)), n, B, bool(rng.randint(2))]


def filtering(rng):
    s, p, u, M, k, T = rng.randint(1, 3), rng.randint(1, 5), *rng.randint(1, 5, size=4)
    start = np.append(0, np.cumsum(rng.randint(4, size=T))).astype(np.intp)
    n, N = start[-1], p * M
    A, K = rng.normal(size=(u, p, p)), np.stack([covariance(rng, M) for _ in range(s)])
    Q = np.array([[covariance(rng, p) for _ in range(s)] for _ in range(u)])
    rows = indices(rng, M, n), rng.normal(size=(n, k)), rng.uniform(size=n)
    state = rng.normal(size=(k, N)), covariance(rng, N)
    found = [indices(rng, u, T), A, Q, K, start, *rows, *state]
    return [*found, np.zeros((k, k + 1)), np.empty((T, k, N)), np.empty((T, N, N))]


def smoothing(rng):
    *given, _, means, covariances = filtering(rng)
    (k, N), T, M, n = given[8].shape, len(given[0]), given[3].shape[1], len(given[5])
    covariances[:] = given[9]
    means[:] = given[8]
    q, w = rng.randint(6), rng.randint(3)
    first = np.append(0, np.sort(rng.randint(q + 1, size=T))).astype(np.intp)
    W = rng.normal(size=(w, rng.randint(1, N + 1)))
    queries = first, indices(rng, M + w, q), W, np.empty((q, k + 1))
    slopes = *(np.zeros(X.shape) for X in given[1:4]), np.zeros(n)
    options = [slopes if rng.randint(2) else None, queries if rng.randint(2) else None]
    return [*given, means, covariances, np.zeros((k, N)), np.zeros((N, N)), *options]


def swapping(rng):
    k, more, n_rows = rng.randint(1, 9), rng.randint(1, 9), rng.randint(1, 5)
    n, items = n_rows * rng.randint(1, 9), rng.permutation(k + more).astype(np.intp)
    proposals = indices(rng, k, n), indices(rng, more, n), rng.uniform(size=n)
    trace = np.zeros((n_rows, k), dtype=np.intp)
    K = covariance(rng, k + more)
    return [K, items[:k].copy(), items[k:].copy(), *proposals, 1e-12, rng.randint(1, 9), trace]


def eliminating(rng):
    N, k = rng.randint(1, 9), rng.randint(1, 9)
    L, residual = rng.normal(size=(k, N)), rng.uniform(0.1, 2.0, size=N)
    return [rng.normal(size=N), L, residual, rng.randint(k), rng.randint(N)]


FITTING = {
    "ascent.climb": climbing,
    "cholesky.append": appending,
    "cholesky.drop": dropping,
    "gram.contract_cross_gradient": crossing,
    "gram.contract_gradient": contracting,
    "gram.cross_with_gradient": sloping,
    "gram.slope_products": multiplying,
    "kalman.filter": filtering,
    "kalman.smooth": smoothing,
    "kdpp.eliminate": eliminating,
    "kdpp.swap_chain": swapping,
    "tiles.solve_lower": solving,
}


def damaged(values, rng):
    """Arguments that fit, or one of them no longer, or several."""
    values = list(values)
    for i in range(len(values)):
        if rng.uniform() > 0.5 / len(values):
            continue
        if isinstance(values[i], tuple):
            values[i] = tuple(damaged(values[i], rng))
        elif isinstance(values[i], np.ndarray):
            values[i] = damaged_array(values[i].copy(), rng)
        elif isinstance(values[i], float):
            values[i] = float(rng.choice(SPECIAL))
        else:
            values[i] = [None, 2**62, -1, 0][rng.randint(4)]
    return values


def damaged_array(A, rng):
    """Another number in it, a row less or more, other strides, or none at all."""
    whole = A.dtype.kind == "i"
    way = rng.randint(6)
    if way < 2 and A.size:
        A.flat[rng.randint(A.size)] = rng.randint(-3, 30) if whole else rng.choice(SPECIAL)
    elif way < 4:
        axis = rng.randint(A.ndim)
        width = [(0, int(i == axis)) for i in range(A.ndim)]
        A = np.pad(A, width) if way == 2 else np.delete(A, slice(0, 1), axis)
        A = np.ascontiguousarray(A)
    elif way == 4:
        A = A[::2]
    return None if way == 5 else A


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--only", type=int, help="repeat this call")
    parser.add_argument("--log", default=os.devnull, help="file for the number of the last call")
    arguments = parser.parse_args(argv)
    print(f"seed {arguments.seed}, {_fast.__path__[0]}", flush=True)
    known, end = functions(), time.monotonic() + arguments.seconds
    names = [name for name, *_ in known]
    called, returned = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    log, n = os.open(arguments.log, os.O_WRONLY | os.O_CREAT), 0
    np.seterr(all="ignore")
    while time.monotonic() < end:
        n = n + 1 if arguments.only is None else arguments.only
        os.pwrite(log, b"%d\n" % n, 0)
        rng = np.random.RandomState([arguments.seed % 2**32, n])
        name, function, kinds = known[rng.randint(len(known))]
        if name in FITTING:
            values = damaged(FITTING[name](rng), rng)
        else:
            values = list(map(Arguments(rng).of, kinds))
        called[name] += 1
        try:
            function(*values)
            returned[name] += 1
        except ERRORS:
            pass
        if arguments.only is not None:
            break
    counts = (f"{name} {returned[name]} of {called[name]}" for name in names)
    print(f"{n} calls; returned: {', '.join(counts)}")
    # What hardly ever returned was hardly ever tried.
    tried = [name for name in names if called[name] >= LEAST_CALLED]
    refused = [name for name in tried if returned[name] < LEAST_RETURNED * called[name]]
    if refused:
        print(f"returned in too few calls: {', '.join(refused)}", file=sys.stderr)
    return int(bool(refused))


if __name__ == "__main__":
    sys.exit(main())
