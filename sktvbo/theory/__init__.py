"""Theoretical quantities: a regret bound, data-set sizes, reset periods and information gains.

The lower bound on the regret, and the data-set size that minimizes an upper one, come from BOLT;
the period of R-GP-UCB's resets from TVGP; information gains are those of Srinivas et al. Space is
the unit cube [0, 1]^d, and all times share one unit, for example seconds.

References
----------
A. Bardou, P. Thiran, "Optimizing Through Change: Bounds and Recommendations for Time-Varying
Bayesian Optimization Algorithms", 2025 (BOLT).

I. Bogunovic, J. Scarlett, V. Cevher, "Time-Varying Gaussian Process Bandit Optimization", AISTATS
2016 (TVGP).

N. Srinivas, A. Krause, S. Kakade, M. Seeger, "Information-theoretic regret bounds for Gaussian
process optimization in the bandit setting", IEEE Transactions on Information Theory, 2012.
"""

from ._dataset_size import dataset_size_criterion, recommended_dataset_size
from ._information import information_gain, maximum_information_gain
from ._regret import regret_slope_lower_bound, reset_period

__all__ = [
    "dataset_size_criterion",
    "information_gain",
    "maximum_information_gain",
    "recommended_dataset_size",
    "regret_slope_lower_bound",
    "reset_period",
]
