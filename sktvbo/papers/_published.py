"""The papers' numbers, and how long their calls take."""


def _by_algorithm_and_problem(table, algorithms):
    """Published numbers by (algorithm, problem), from a table's lines."""
    published = {}
    for line in table.strip().splitlines():
        problem, *entries = line.split()
        for algorithm, entry in zip(algorithms, entries, strict=True):
            published[algorithm, problem] = entry
    return published


# The standard errors of W-DBO table 2 are in pictures only (appendix G.2). Its last row, not here,
# is the mean of the others, normalized.
WDBO_ALGORITHMS = ("GP-UCB", "R-GP-UCB", "TV-GP-UCB", "ET-GP-UCB", "ABO", "W-DBO")
WDBO_TABLE_2 = _by_algorithm_and_problem(
    """
    rastrigin           17.81   53.67   26.50   19.54   36.16   18.54
    schwefel           469.10  954.03  520.40  428.97  662.32  290.34
    styblinski-tang     18.83   45.82   15.74   22.16   58.40   13.04
    eggholder          542.53  273.60  287.01  559.61  256.92  225.68
    ackley               4.10    4.45    3.27    3.96    3.63    2.24
    rosenbrock          31.37   25.99   17.55   28.79  171.04    3.81
    shekel               2.56    2.21    2.03    2.70    2.06    1.72
    hartmann-3           1.17    0.26    0.82    1.06    0.55    0.35
    hartmann-6           1.33    1.25    0.44    1.46    0.61    0.32
    powell             1992.1  1167.6  1223.4   534.2  9888.6   428.1
    temperature-field    1.02    0.69    1.36    1.25    1.21    0.68
    wlan                 1.46    4.84    1.33    4.98   12.94    1.19
    """,
    WDBO_ALGORITHMS,
)

# The last row of BOLT table 3, not here, has three columns in another order.
BOLT_ALGORITHMS = ("GP-UCB", "ET-GP-UCB", "R-GP-UCB", "TV-GP-UCB", "ABO", "W-DBO", "BOLT")
BOLT_TABLE_3 = _by_algorithm_and_problem(
    """
    shekel      2.51±0.06  2.57±0.05  2.33±0.03  2.63±0.03  2.25±0.15   2.06±0.09  1.83±0.09
    hartmann-3  1.45±0.15  1.45±0.12  0.42±0.01  1.70±0.15  0.54±0.10   0.47±0.08  0.30±0.02
    ackley      4.27±0.50  4.39±0.45  4.28±0.20  5.31±0.34  4.76±0.53   3.42±0.46  2.92±0.35
    griewank    0.59±0.01  0.61±0.01  0.61±0.01  0.60±0.01  0.69±0.04   0.57±0.03  0.54±0.04
    eggholder    516±16.6   521±13.1    298±4.4    573±1.6  546±110.1    275±11.5    262±7.1
    schwefel     590±20.9   588±35.3  1024±10.3   543±48.7   793±61.0    615±21.7   524±30.4
    hartmann-6  1.66±0.02  1.67±0.01  1.44±0.02  1.72±0.03  1.32±0.17   0.69±0.04  0.74±0.06
    powell       3669±137   2957±212    2317±99   3022±262  3491±1011    1363±110    1235±30
    temperature-field  1.51±0.10  1.20±0.10  0.96±0.03  1.64±0.09  1.68±0.21  1.13±0.06  0.99±0.03
    wlan        20.2±1.58  21.3±1.05  10.4±0.16  35.2±3.22  17.3±1.94    8.9±0.21   8.1±0.21
    """,
    BOLT_ALGORITHMS,
)

# BOLT table 2: the variance of the noise, and how many seconds a call takes.
BOLT_TABLE_2 = {
    "shekel": (0.02, 0.50),
    "hartmann-3": (0.05, 1.00),
    "ackley": (0.05, 0.05),
    "griewank": (0.30, 0.05),
    "eggholder": (0.10, 0.05),
    "schwefel": (0.25, 0.05),
    "hartmann-6": (0.05, 0.10),
    "powell": (2.50, 1.00),
    "temperature-field": (0.16, 1.00),
    "wlan": (1.50, 0.10),
}
