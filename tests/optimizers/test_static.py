"""IGP-UCB's own width, written out densely."""

import numpy as np
import pytest
from optimizers.dense import check_query, drive, information_gain, make, posterior, value

from sktvbo import IGPUCB


@pytest.mark.parametrize(("norm_bound", "delta"), [(1.0, 0.1), (2.5, 0.01)])
def test_igp_width_is_scaled_and_follows_the_information_gained(norm_bound, delta, asked):
    opt = drive(make(IGPUCB, norm_bound=norm_bound, delta=delta), range(20))
    for t in range(20, 23):
        x, gp = opt.ask(float(t)), opt.surrogate_
        K = gp.signal_variance_ * gp.spatial_kernel_(opt.X_[:, :1])
        gain = information_gain(K, gp.noise_variance_)
        width = norm_bound + np.sqrt(2.0 * (gain + 1.0 + np.log(1.0 / delta)))
        width *= np.sqrt(0.02)
        check_query(asked, x, *posterior(opt, t, lambda *times: 1.0), width)
        opt.tell(x, value(x, t))
