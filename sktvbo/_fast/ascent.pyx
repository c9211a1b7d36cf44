"""Climbs to local maxima in a box, in lockstep: each turn evaluates one point per climb.

Bounded quasi-Newton. A climb at x with gradient g and curvature B, an approximation of minus the
Hessian, steps towards the maximum of g' p - p' B p / 2 over the box. Coordinates at a bound out of
which g points are held, then those whose maximum lies beyond a bound, one after another. A step
along p is about halved until it gains 1e-4 of the linear prediction. B follows by BFGS with
Powell's damping, as the function need not be concave. A climb ends when g' p predicts less than a
given gain, or after five steps with little relative gain. In a race it ends after three steps, once
another climb leads by a given multiple of g' p.

`model_minimum` minimizes the quadratic model of a separate quasi-Newton search.

Coordinates should be comparable: the first step is at most 0.5 long, later ones at most 2, doubled
after each step of that length. For a covariance they are in units of its lengthscale.
"""

import numpy as np

from libc.math cimport INFINITY, M_PI, erf, exp, fabs, isfinite, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from libc.time cimport CLOCKS_PER_SEC, clock, clock_t

from scipy.linalg.cython_lapack cimport dgesv

from scipy.special.cython_special cimport log_ndtr

from .limits cimport Limits
from .posterior cimport BOUND, PROBABILITY, Formula, Posterior, score_of

# Largest lengths of the first step and of all steps.
cdef double FIRST = 0.5, LONGEST = 2.0

# A climb ends after MAX_TURNS evaluations, MAX_SHORTER reductions of a step, or MAX_LITTLE steps
# with a relative gain below LITTLE. A race is not lost before MIN_STEPS steps.
cdef enum:
    MAX_TURNS = 200
    MAX_SHORTER = 15
    MAX_LITTLE = 5
    MIN_STEPS = 3
cdef double LITTLE = 1e-10

# Sufficient part of the linear prediction for a step, and relative gain that counts as rounding.
cdef double SUFFICIENT = 1e-4, ROUNDING = 4.0 * np.finfo(np.float64).eps


cdef double _dot(const double* a, const double* b, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


cdef bint _factor(double* A, Py_ssize_t n) noexcept nogil:
    """Compute the lower Cholesky factor of A (n, n), in place; False if A is not definite."""
    cdef Py_ssize_t i, j
    cdef double pivot
    for j in range(n):
        for i in range(j, n):
            pivot = A[i * n + j] - _dot(A + i * n, A + j * n, j)
            if i > j:
                A[i * n + j] = pivot / A[j * n + j]
            elif pivot > 0.0:
                A[j * n + j] = sqrt(pivot)
            else:
                return False
    return True


cdef void _solve(const double* L, Py_ssize_t n, double* b) noexcept nogil:
    """Replace b (n,) by (L L')^-1 b."""
    cdef Py_ssize_t i, j
    for i in range(n):
        b[i] = (b[i] - _dot(L + i * n, b, i)) / L[i * n + i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= L[j * n + i] * b[j]
        b[i] /= L[i * n + i]


cdef class Ascents:
    """Simultaneous climbs from several starts.

    Parameters
    ----------
    places : ndarray of shape (b, f)
        Starts within the box.
    upper : ndarray of shape (f,)
        Upper bounds of the box.
    gain : float
        A climb ends when its predicted gain is at most this.
    lower : ndarray of shape (f,), default=None
        Lower bounds of the box; None is 0.
    lead : float, default=inf
        A climb ends when another leads by more than this multiple of its predicted gain.

    Attributes
    ----------
    places : ndarray of shape (b, f)
        Best points so far.
    values : ndarray of shape (b,)
        Their values; minus infinity before the first evaluation.
    active : ndarray of shape (a,)
        Indices of the running climbs.
    trials : ndarray of shape (a, f)
        Points at which these need a value and a gradient.
    """

    cdef Py_ssize_t b, f, a
    cdef double gain, lead
    cdef double[::1] _lower, _upper, _values, _slope, _length, _reach, _first
    cdef double[:, ::1] _places, _trials, _gradients, _steps, _work
    cdef double[:, :, ::1] _curvatures
    cdef Py_ssize_t[::1] _active, _turns, _shorter, _updates, _little

    def __init__(self, places, upper, double gain, lower=None, double lead=np.inf):
        self._places = np.array(places, dtype=np.float64, order="C", ndmin=2)
        self._upper = np.array(upper, dtype=np.float64)
        self._lower = np.zeros(len(upper)) if lower is None else np.array(lower, dtype=np.float64)
        self.b, self.f, self.gain = self._places.shape[0], self._places.shape[1], gain
        self.lead = lead
        if self._upper.shape[0] != self.f or self._lower.shape[0] != self.f:
            raise ValueError("upper, and lower, must hold one number for each coordinate of places")
        self.a = self.b
        self._active = np.arange(self.b)
        self._trials = np.array(self._places)
        self._values, self._first = np.full((2, self.b), -np.inf)
        # Slope along the step, fraction of the step at the trial, and largest length of a step.
        self._slope, self._length = np.zeros(self.b), np.ones(self.b)
        self._reach = np.full(self.b, LONGEST)
        self._gradients, self._steps = np.zeros((2, self.b, self.f))
        self._curvatures = np.zeros((self.b, self.f, self.f))
        # Evaluations, reductions of this step, updates of the curvature, steps with little gain.
        counts = np.zeros((4, self.b), dtype=np.intp)
        self._turns, self._shorter, self._updates, self._little = counts
        self._work = np.empty((self.f + 3, self.f))

    @property
    def places(self):
        return np.array(self._places)

    @property
    def values(self):
        return np.array(self._values)

    @property
    def active(self):
        return np.array(self._active[: self.a])

    @property
    def trials(self):
        return np.asarray(self._trials)[self.active]

    def advance(self, found, slopes):
        """Process the values (a,) and gradients (a, f) at the trials, and choose the next trials."""
        cdef const double[::1] values = np.ascontiguousarray(found, dtype=np.float64)
        cdef const double[:, ::1] gradients = np.ascontiguousarray(slopes, dtype=np.float64)
        if (values.shape[0] != self.a or gradients.shape[0] != self.a
                or gradients.shape[1] != self.f):
            raise ValueError("values (a,) and gradients (a, f) are those of the trials")
        cdef Py_ssize_t a = self.a, j
        with nogil:
            self.a = 0
            for j in range(a):
                if self._advance(self._active[j], values[j], &gradients[j, 0] if self.f else NULL):
                    self._active[self.a] = self._active[j]
                    self.a += 1
            self._leave_behind()

    cdef void _leave_behind(self) noexcept nogil:
        """End the climbs that another one leads by too much."""
        cdef Py_ssize_t a = self.a, i, j
        cdef double best = self._values[0] if self.b else 0.0
        for i in range(1, self.b):
            best = max(best, self._values[i])
        self.a = 0
        for j in range(a):
            i = self._active[j]
            if self._updates[i] < MIN_STEPS or not best - self._values[i] > self.lead * self._slope[i]:
                self._active[self.a] = i
                self.a += 1

    cdef bint _advance(self, Py_ssize_t i, double value, const double* gradient) noexcept nogil:
        """Process the value and gradient at the trial of climb i; False if it ends."""
        cdef Py_ssize_t f = self.f, m
        cdef double before = self._values[i], promised, part
        cdef bint usable = value == value
        if f == 0:
            self._values[i] = value
            return False
        for m in range(f):
            usable = usable and isfinite(gradient[m])
        self._turns[i] += 1
        if self._turns[i] == 1:
            self._values[i] = self._first[i] = value
            if not (usable and isfinite(value)):
                return False
            memcpy(&self._gradients[i, 0], gradient, f * sizeof(double))
            return self._step(i)
        promised = self._length[i] * self._slope[i]
        if usable and value >= before + SUFFICIENT * promised:
            self._follow(i, gradient)
            memcpy(&self._places[i, 0], &self._trials[i, 0], f * sizeof(double))
            memcpy(&self._gradients[i, 0], gradient, f * sizeof(double))
            self._values[i] = value
            self._reach[i] = LONGEST if self._shorter[i] else 2.0 * self._reach[i]
            self._shorter[i] = 0
            if value - before > LITTLE * max(1.0, value - self._first[i]):
                self._little[i] = 0
            else:
                self._little[i] += 1
            if self._little[i] == MAX_LITTLE or self._turns[i] == MAX_TURNS:
                return False
            return value - before > ROUNDING * fabs(value) and self._step(i)
        self._shorter[i] += 1
        if self._shorter[i] > MAX_SHORTER or self._turns[i] == MAX_TURNS:
            return False
        # The maximum of the parabola through both values with the slope at the first.
        part = 0.5 * promised / (promised - (value - before))
        if not part >= 0.1:
            part = 0.1
        self._length[i] *= part if part < 0.5 else 0.5
        self._try(i)
        return True

    cdef void _try(self, Py_ssize_t i) noexcept nogil:
        """Set the trial of climb i at this fraction of its step."""
        cdef Py_ssize_t m
        cdef double x
        for m in range(self.f):
            x = self._places[i, m] + self._length[i] * self._steps[i, m]
            self._trials[i, m] = min(max(x, self._lower[m]), self._upper[m])

    cdef bint _step(self, Py_ssize_t i) noexcept nogil:
        """Choose the step of climb i; False if its predicted gain is too small."""
        cdef Py_ssize_t f = self.f, m
        cdef double norm = 0.0, total
        cdef double* g = &self._gradients[i, 0]
        cdef double* p = &self._steps[i, 0]
        cdef double* B = &self._curvatures[i, 0, 0]
        if self._updates[i] == 0:
            total = max(sqrt(_dot(g, g, f)) / FIRST, 1e-3)
            self._set_curvature(i, total)
        if not self._towards_the_maximum(i):
            # B is unusable after rounding, or the direction after clipping: B is reset.
            self._set_curvature(i, max(sqrt(_dot(g, g, f)) / FIRST, 1e-3))
            self._updates[i] = 0
            if not self._towards_the_maximum(i):
                return False
        norm = sqrt(_dot(p, p, f))
        if norm <= self._reach[i]:
            self._length[i], self._reach[i] = 1.0, LONGEST
        else:
            self._length[i] = self._reach[i] / norm
        self._slope[i] = _dot(g, p, f)
        if not self._slope[i] > max(self.gain, ROUNDING * fabs(self._values[i])):
            return False
        self._try(i)
        return True

    cdef void _set_curvature(self, Py_ssize_t i, double value) noexcept nogil:
        cdef Py_ssize_t m, k
        for m in range(self.f):
            for k in range(self.f):
                self._curvatures[i, m, k] = value if m == k else 0.0

    cdef bint _towards_the_maximum(self, Py_ssize_t i) noexcept nogil:
        """Compute the step p to the maximum of g' p - p' B p / 2 over the box; False if downhill."""
        cdef Py_ssize_t f = self.f, m, k, r, c, n, beyond = 1
        cdef double* g = &self._gradients[i, 0]
        cdef double* p = &self._steps[i, 0]
        cdef double* x = &self._places[i, 0]
        cdef double* L = &self._work[0, 0]
        cdef double* rest = &self._work[f, 0]
        cdef double* held = &self._work[f + 1, 0]
        for m in range(f):
            p[m] = 0.0
            held[m] = (
                (x[m] <= self._lower[m] and g[m] <= 0.0)
                or (x[m] >= self._upper[m] and g[m] >= 0.0)
            )
        while beyond:
            n = r = 0
            for m in range(f):
                if held[m]:
                    continue
                c = 0
                rest[r] = g[m]
                for k in range(f):
                    if held[k]:
                        rest[r] -= self._curvatures[i, m, k] * p[k]
                    else:
                        c += 1
                r += 1
            n = r
            r = 0
            for m in range(f):
                if held[m]:
                    continue
                c = 0
                for k in range(f):
                    if not held[k]:
                        L[r * n + c] = self._curvatures[i, m, k]
                        c += 1
                r += 1
            if not _factor(L, n):
                return False
            _solve(L, n, rest)
            beyond = r = 0
            for m in range(f):
                if held[m]:
                    continue
                p[m] = rest[r]
                r += 1
            for m in range(f):
                if held[m]:
                    continue
                if x[m] + p[m] < self._lower[m]:
                    p[m] = self._lower[m] - x[m]
                elif x[m] + p[m] > self._upper[m]:
                    p[m] = self._upper[m] - x[m]
                else:
                    continue
                held[m] = beyond = 1
        return _dot(g, p, f) >= 0.0

    cdef void _follow(self, Py_ssize_t i, const double* gradient) noexcept nogil:
        """Update the curvature of climb i by the step to its trial with this gradient."""
        cdef Py_ssize_t f = self.f, m, k
        cdef double* s = &self._work[0, 0]
        cdef double* y = &self._work[1, 0]
        cdef double* Bs = &self._work[2, 0]
        cdef double sy, sBs, part
        for m in range(f):
            s[m] = self._trials[i, m] - self._places[i, m]
            y[m] = self._gradients[i, m] - gradient[m]
        sy = _dot(s, y, f)
        if self._updates[i] == 0 and sy > 0.0:
            self._set_curvature(i, _dot(y, y, f) / sy)
        for m in range(f):
            Bs[m] = _dot(&self._curvatures[i, m, 0], s, f)
        sBs = _dot(s, Bs, f)
        if not sBs > 0.0:
            return
        if sy < 0.2 * sBs:
            part = 0.8 * sBs / (sBs - sy)
            for m in range(f):
                y[m] = part * y[m] + (1.0 - part) * Bs[m]
            sy = _dot(s, y, f)
        for m in range(f):
            for k in range(f):
                self._curvatures[i, m, k] += y[m] * y[k] / sy - Bs[m] * Bs[k] / sBs
        self._updates[i] += 1


cdef double _inside(
    const double* x, const double* units, const double* rates, Py_ssize_t u, double* rise
) noexcept nogil:
    """Return the factor of `sktvbo.acquisition._objective.BoundaryMargin`, and write the slopes
    of its logarithm to ``rise``."""
    cdef Py_ssize_t i
    cdef double a, low, high, share, product = 1.0
    for i in range(u):
        rise[i] = 0.0
        a = rates[i]
        if a == 0.0:
            continue
        low = a * x[i] / units[i]
        high = a - low
        share = erf(low) + erf(high)
        rise[i] = a * (exp(-low * low) - exp(-high * high)) / (sqrt(M_PI) * share * units[i])
        product *= share / (2.0 * erf(0.5 * a))
    return sqrt(product)


cdef void _weigh(
    Formula formula, bint decides, double floor, double loss, double log_weight, double* value,
    double* share, double* on_log,
) noexcept nogil:
    """Weigh a score as `sktvbo.acquisition._objective.Score` does.

    ``share`` and ``on_log`` are the derivatives in the score and in the log weight."""
    cdef double log_p, weight
    share[0] = on_log[0] = 1.0
    if decides:
        share[0], value[0] = 0.0, log_weight
    elif formula != BOUND:
        if formula == PROBABILITY:
            log_p = log_ndtr(value[0])
            share[0] = exp(-0.5 * value[0] * value[0] - log_p) / sqrt(2.0 * M_PI)
            value[0] = log_p
        on_log[0] = max(-floor, 1.0)
        value[0] += on_log[0] * log_weight
    else:
        weight, on_log[0] = exp(log_weight), 0.0
        if value[0] > floor:
            share[0], on_log[0] = weight, weight * (value[0] - floor)
            value[0] = floor + on_log[0]
        if weight < 0.5:
            value[0] -= loss * (1.0 - 2.0 * weight)
            on_log[0] += 2.0 * loss * weight


def climb(
    Posterior posterior, Formula formula, double parameter, Ascents ascents, const double[:, ::1] X,
    const Py_ssize_t[::1] free_columns, double unit, const double[::1] units,
    const double[::1] rates, double seconds=INFINITY, Limits limits=None, double floor=0.0,
    double loss=0.0,
):
    """Run `Ascents` to the maxima of a score in some of the coordinates.

    Parameters
    ----------
    posterior : Posterior
    formula : Formula
    parameter : float
    ascents : Ascents
        Climbs of the scores divided by ``unit``.
    X : ndarray of shape (b, n_coordinates)
        Starts.
    free_columns : ndarray of shape (f,)
        Coordinates that vary.
    unit : float
    units : ndarray of shape (n_coordinates,)
        Units of the coordinates relative to the unit box.
    rates : ndarray of shape (n_coordinates,)
        Of `sktvbo.acquisition._objective.BoundaryMargin`, a factor on standard deviations.
    seconds : float, default=inf
        Processor time after which the climbs stop where they are.
    limits : Limits, default=None
        Weights of the scores.
    floor : float, default=0
        Score of the formula BOUND where the limits do not hold; of others the largest logarithm of
        an improvement where they probably hold.
    loss : float, default=0
        With the formula BOUND, see `sktvbo.acquisition._objective.expected`.
    """
    cdef clock_t begin = clock() if seconds < INFINITY else 0
    cdef Py_ssize_t b = X.shape[0], u = X.shape[1], f = free_columns.shape[0], i, j, k, m, a
    if u != posterior.n_coordinates or ascents.b != b or ascents.f != f:
        raise ValueError("climb: X (b, n_coordinates) and the ascents (b, f) do not fit")
    if limits is not None and limits.n_coordinates != u:
        raise ValueError("climb: the limits have other coordinates")
    if units.shape[0] != u or rates.shape[0] != u:
        raise ValueError("climb: units and rates must have a number for each coordinate")
    for m in range(f):
        if not 0 <= free_columns[m] < u:
            raise ValueError("free_columns must be coordinates")
    if b == 0 or f == 0:
        return
    found, slopes = np.empty((2, b)), np.empty((2, b, u))
    trials, rises = np.empty((b, u)), np.empty(u)
    gradient_of, places, log_weights = np.empty(f), np.empty((b, u)), np.zeros(b)
    weight_slopes = np.zeros((b, u))
    cdef double[:, ::1] moments = found, T = trials, P = places, W = weight_slopes
    cdef double[:, :, ::1] S = slopes
    cdef double[::1] gradient = gradient_of, rise = rises, weights = log_weights
    cdef double value, on_mean, on_std, root, share = 1.0, on_log = 0.0
    cdef double* work = <double*> malloc(posterior.workspace(b) * sizeof(double))
    if work == NULL:
        raise MemoryError("no memory for the covariances of the places")
    try:
        while ascents.a > 0:
            with nogil:
                a = ascents.a
                for j in range(a):
                    i = ascents._active[j]
                    memcpy(&T[j, 0], &X[i, 0], u * sizeof(double))
                    for m in range(f):
                        T[j, free_columns[m]] = ascents._trials[i, m]
                posterior.evaluate(&T[0, 0], a, True, &moments[0, 0], &moments[1, 0], &S[0, 0, 0],
                                   &S[1, 0, 0], work)
            if limits is not None:
                for j in range(a):
                    for m in range(u):
                        P[j, m] = T[j, m] / units[m]
                limits.weigh(&P[0, 0], a, &weights[0], &W[0, 0])
            with nogil:
                ascents.a = 0
                for j in range(a):
                    i = ascents._active[j]
                    root = _inside(&T[j, 0], &units[0], &rates[0], u, &rise[0])
                    score_of(formula, parameter, moments[0, j], root * moments[1, j], &value,
                             &on_mean, &on_std)
                    if limits is not None:
                        _weigh(formula, limits.decides, floor, loss, weights[j], &value, &share,
                               &on_log)
                    for m in range(f):
                        k = free_columns[m]
                        gradient[m] = (share * (on_mean * S[0, j, k] + on_std * root
                                                * (S[1, j, k] + rise[k] * moments[1, j]))
                                       + on_log * W[j, k] / units[k]) / unit
                    if ascents._advance(i, value / unit, &gradient[0]):
                        ascents._active[ascents.a] = i
                        ascents.a += 1
                ascents._leave_behind()
            if seconds < INFINITY and clock() - begin >= seconds * CLOCKS_PER_SEC:
                break
    finally:
        free(work)


def model_minimum(
    const double[:, ::1] H, const double[:] slope, const double[:] low, const double[:] high,
):
    """Return the step (p,) in a box around 0 that minimizes s' H s / 2 + g' s, by an active set.

    The model decreases at each turn. The step moves towards the minimum over the free variables,
    and a variable that meets a side of the box is held there. At that minimum, the held variable
    with the largest inward slope becomes free.
    """
    cdef Py_ssize_t p = slope.shape[0], i, j, n, r, first, turn
    if H.shape[0] != p or H.shape[1] != p or low.shape[0] != p or high.shape[0] != p:
        raise ValueError("H (p, p), slope, low and high (p,) do not fit each other")
    found, system, right = np.zeros(p), np.empty((p, p)), np.empty(p)
    cdef double[::1] step = found, b = right
    cdef double[:, ::1] A = system
    cdef int n_, one = 1, info, p_ = <int> p
    cdef double room, side, pull, most, against, largest = 0.0
    cdef Py_ssize_t* free_ones = <Py_ssize_t*> malloc((p + 1) * sizeof(Py_ssize_t))
    cdef int* work = <int*> malloc((2 * p + 1) * sizeof(int))
    if free_ones == NULL or work == NULL:
        free(free_ones)
        free(work)
        raise MemoryError("no memory for the sides of the box")
    cdef int* held = work + p
    for i in range(p):
        held[i] = 0
        largest = max(largest, fabs(slope[i]))
    try:
        for turn in range(10 * p):
            n = 0
            for i in range(p):
                pull = slope[i] + _dot(&H[i, 0], &step[0], p)
                if (step[i] <= low[i] and pull > 0.0) or (step[i] >= high[i] and pull < 0.0):
                    held[i] = 1
                if not held[i]:
                    free_ones[n] = i
                    b[n] = -pull
                    n += 1
            if n > 0:
                for r in range(n):
                    for j in range(n):
                        A[r, j] = H[free_ones[r], free_ones[j]]
                n_ = <int> n
                rest = right[:n].copy()
                dgesv(&n_, &one, &A[0, 0], &p_, work, &b[0], &n_, &info)
                if info != 0:  # singular up to rounding: the shortest solution
                    which = [free_ones[r] for r in range(n)]
                    right[:n] = np.linalg.lstsq(np.asarray(H)[np.ix_(which, which)], rest)[0]
                first, room = -1, 1.0
                for r in range(n):
                    i = free_ones[r]
                    if b[r] != 0.0:
                        side = (high[i] if b[r] > 0.0 else low[i]) - step[i]
                        # A side beyond the minimum does not matter.
                        if side / b[r] < room:
                            first, room = i, side / b[r]
                for r in range(n):
                    i = free_ones[r]
                    step[i] = min(max(step[i] + room * b[r], low[i]), high[i])
                    if i == first:
                        step[i], held[i] = high[i] if b[r] > 0.0 else low[i], 1
                if first >= 0:
                    continue
            most, first = 0.0, -1
            for i in range(p):
                if held[i] and low[i] != high[i]:
                    against = slope[i] + _dot(&H[i, 0], &step[0], p)
                    if step[i] <= low[i]:
                        against = -against
                    if against > most:
                        most, first = against, i
            if not most > 1e-12 * largest:
                break
            held[first] = 0
    finally:
        free(free_ones)
        free(work)
    return found
