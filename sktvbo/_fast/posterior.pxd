cpdef enum Formula:
    """Scores of inputs; each kind has one parameter."""
    BOUND = 0          # mean + parameter * std
    PROBABILITY = 1    # z = (mean - parameter) / std
    IMPROVEMENT = 2    # log(std) + log(pdf(z) + z cdf(z))


cdef void score_of(
    Formula formula, double parameter, double mean, double std, double* value, double* on_mean,
    double* on_std,
) noexcept nogil


cdef class Posterior:
    cdef readonly Py_ssize_t n_coordinates
    cdef Py_ssize_t n, d
    cdef int spatial, temporal, ld, outer_ld
    cdef bint moves, is_learnt, is_weighted, is_sparse, has_trend
    cdef double signal, time, mean, precision, share
    cdef const double[:, ::1] Z
    cdef const double[::1] times, weights, direction, excess, linear, square, rates, amplitudes
    cdef const int[::1] families
    cdef const double[:, :] lower, outer
    cdef double[::1] in_time

    cdef Py_ssize_t workspace(self, Py_ssize_t b) noexcept nogil
    cdef double level(self, const double* x) noexcept nogil
    cdef void covariances(
        self, const double* x, double* k, double* h, double* g, double* work
    ) noexcept nogil
    cdef void evaluate(
        self, const double* X, Py_ssize_t b, bint slopes, double* mean, double* std,
        double* on_mean, double* on_std, double* work,
    ) noexcept nogil
