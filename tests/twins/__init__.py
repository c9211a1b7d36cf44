"""Plain NumPy and SciPy twins of the functions of ``sktvbo._fast``, written from the formulas."""
