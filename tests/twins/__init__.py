"""NumPy and SciPy twins of the functions of ``sktvbo._fast``, from the formulas."""
