cpdef enum Formula:
    """What places are compared by; the number that a kind needs is its parameter."""
    BOUND = 0          # mean + parameter * std
    PROBABILITY = 1    # z = (mean - parameter) / std
    IMPROVEMENT = 2    # log(std) + log(pdf(z) + z cdf(z))


cdef void score_of(
    Formula formula, double parameter, double mean, double std, double* value, double* on_mean,
    double* on_std,
) noexcept nogil


cdef class Posterior:
    cdef readonly Py_ssize_t n_coordinates
    cdef Py_ssize_t n, d, q, n_terms
    cdef int spatial, temporal, family, ld, outer_ld
    cdef bint moves, is_learnt, is_weighted, is_sparse, has_trend, has_offset
    cdef double signal, prior, factor, time, mean, precision
    cdef const double[:, ::1] Z, on_linear, on_square, directions, persistent
    cdef const double[::1] times, weights, direction, excess, linear, square, constants
    cdef const double[::1] offset, ratios
    cdef const double[:, :] lower, outer
    cdef double[::1] in_time

    cdef Py_ssize_t workspace(self, Py_ssize_t b) noexcept nogil
    cdef double level(self, const double* x) noexcept nogil
    cdef double feature(self, Py_ssize_t j, const double* x) noexcept nogil
    cdef void add_learnt(
        self, const double* X, Py_ssize_t b, const double* K, double* variance, double* work
    ) noexcept nogil
    cdef void covariances(
        self, const double* x, double* k, double* h, double* g, double* p, double* work
    ) noexcept nogil
    cdef void add_terms(
        self, const double* x, double* k, double* p, double* work
    ) noexcept nogil
    cdef void evaluate(
        self, const double* X, Py_ssize_t b, bint slopes, double* mean, double* std,
        double* on_mean, double* on_std, double* work,
    ) noexcept nogil
