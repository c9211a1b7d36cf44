cpdef enum Family:
    """Correlation function of one factor (space or time) of a separable kernel."""
    CONSTANT = 0
    RBF = 1
    MATERN12 = 2
    MATERN32 = 3
    MATERN52 = 4
