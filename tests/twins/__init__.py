"""NumPy and SciPy twins of the functions of ``sktvbo._fast``, from the formulas.

The tests here compare two implementations inside the package, such as the Kalman filter and the
dense solver, and name them; all others, but those of ``tests/fast``, use what is public.
"""
