"""IGP-UCB's own width, written out densely."""

import numpy as np
import pytest
from optimizers.dense import GRID, check_query, dense, drive, information_gain, standardized, value

from sktvbo import IGPUCB


@pytest.mark.parametrize(("norm_bound", "delta"), [(1.0, 0.1), (2.5, 0.01)])
def test_igp_width_follows_the_information_gained(norm_bound, delta, asked):
    opt = IGPUCB(
        [(0.0, 1.0)], norm_bound=norm_bound, delta=delta, n_initial_points=6, random_state=0
    )
    drive(opt, range(20))
    for t in range(20, 23):
        x = opt.ask(float(t))
        gp, X = opt.surrogate_, opt.X_[:, :1]
        y, location, scale = standardized(opt)
        K = gp.signal_variance_ * gp.spatial_kernel_(X)
        k = gp.signal_variance_ * gp.spatial_kernel_(GRID, X)
        mean, variance = dense(K, gp.noise_variance_, k, gp.signal_variance_, y)
        gain = information_gain(K, gp.noise_variance_)
        width = norm_bound + np.sqrt(2.0 * (gain + 1.0 + np.log(1.0 / delta)))
        check_query(asked, x, location + scale * mean, scale * np.sqrt(variance), width)
        opt.tell(x, value(x, t))


@pytest.mark.parametrize("delta", [0.0, 1.0, None])
def test_bad_delta(delta):
    opt = IGPUCB([(0.0, 1.0)], delta=delta, n_initial_points=3, random_state=0)
    with pytest.raises(ValueError, match=r"'delta' parameter .* in the range \(0, 1\)"):
        drive(opt, range(5))
