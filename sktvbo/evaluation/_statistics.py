"""Means, standard errors, significance tests and normalized regrets."""

import math

import numpy as np
from scipy.stats import wilcoxon


def mean_and_error(values):
    """Return mean and standard error; NaN for no value, and the error also for a single value."""
    mean = float(np.mean(values)) if len(values) else math.nan
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return mean, error


def normalized(means):
    """Return regrets scaled per problem: the best is 0 and the worst 1 (W-DBO figure 3).

    Parameters
    ----------
    means : dict of (str, str) to float
        Mean regret by algorithm and problem; NaN is unknown and remains NaN.

    Returns
    -------
    list of dict
        Per algorithm: ``algorithm``, ``normalized_regret`` (mean over the problems),
        ``standard_error``, ``n_problems``, ``by_problem``.
    """
    scaled = {algorithm: {} for algorithm, _ in means}
    for problem in dict.fromkeys(problem for _, problem in means):
        column = {a: mean for (a, p), mean in means.items() if p == problem}
        known = [value for value in column.values() if not math.isnan(value)]
        low, width = (min(known), max(known) - min(known)) if known else (0.0, 0.0)
        for algorithm, value in column.items():
            # If all regrets are equal, all are the best.
            scaled[algorithm][problem] = (value - low) / (width or 1.0)
    table = []
    for algorithm, by_problem in scaled.items():
        known = [value for value in by_problem.values() if not math.isnan(value)]
        mean, error = mean_and_error(known)
        table.append(
            {
                "algorithm": algorithm,
                "normalized_regret": mean,
                "standard_error": error,
                "n_problems": len(known),
                "by_problem": by_problem,
            }
        )
    return table


def signed_rank(differences):
    """Return the two-sided p-value; 1 if all differences are zero, NaN without differences."""
    if not len(differences):
        return math.nan
    return float(wilcoxon(differences).pvalue) if np.any(differences) else 1.0


def holm(p_values):
    """Return p-values after Holm's step-down correction; NaN is unknown and does not count."""
    adjusted = np.full(len(p_values), math.nan)
    order = [i for i in np.argsort(p_values) if not math.isnan(p_values[i])]
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted.tolist()
