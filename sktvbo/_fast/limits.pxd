cdef class Limits:
    cdef readonly Py_ssize_t n_coordinates
    cdef list posteriors
    cdef readonly bint decides
    cdef double z, optimism
    cdef const double[:, ::1] units
    cdef const double[::1] low, high, widths, least

    cdef weigh(self, const double* places, Py_ssize_t b, double* log_weight, double* slopes)
