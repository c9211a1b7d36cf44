"""State-space form of temporal kernels, against the kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
)

from sktvbo.gaussian_process.kalman._state_space import state_space
from sktvbo.kernels import Forgetting, Wiener

KERNELS = {
    "Forgetting": Forgetting(0.07),
    "Matern 1/2": Matern(2.3, nu=0.5),
    "Matern 3/2": Matern(2.3, nu=1.5),
    "Matern 5/2": Matern(2.3, nu=2.5),
    "Wiener": Wiener(0.2, start=-1.0),
    "constant": ConstantKernel(1.0, "fixed"),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
TIMES = np.array([0.0, 0.0, 1e-7, 0.3, 1.0, 5.0, 5.5, 40.0, 4000.0])


def implied(process, times):
    """Return the covariance of f at increasing times under the process."""
    n, p = len(times), process.order
    A, Q = process.transitions(np.diff(times, prepend=times[0]))
    P, K = process.prior(times[0])[0], np.empty((n, n))
    for i in range(n):
        if i:
            P = A[i] @ P @ A[i].T + Q[i, 0]
        cross = P.copy()
        for j in range(i, n):
            cross = A[j] @ cross if j > i else cross
            K[i, j] = K[j, i] = cross[0, 0]
    assert P.shape == (p, p)
    return K


@every_kernel
def test_the_process_has_the_covariance_of_its_kernel(kernel):
    K = implied(state_space(kernel), TIMES)
    assert_allclose(K, kernel(TIMES[:, np.newaxis]), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_the_transition_is_the_matrix_exponential_and_the_noise_balances_it(nu):
    process = state_space(Matern(0.7, nu=nu))
    A, Q = process.transitions([0.4])
    F = np.eye(process.order, k=1)
    # (s + 1)^p without its leading coefficient, ascending.
    F[-1] = -np.poly(-np.ones(process.order))[:0:-1]
    assert_allclose(A[0], expm(F * process.rate * 0.4), rtol=1e-12, atol=1e-13)
    P = process.prior(0.0)[0]
    lost = F @ P + P @ F.T  # minus the noise, which drives the last component alone
    assert_allclose(lost.ravel()[:-1], 0.0, atol=1e-14)
    assert lost[-1, -1] < 0.0
    assert_allclose(Q[0, 0], P - A[0] @ P @ A[0].T, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(("nu", "power"), [(0.5, 1), (1.5, 3), (2.5, 5)])
def test_the_noise_of_a_tiny_gap_has_all_its_digits(nu, power):
    """Var f grows as x^{2p−1}: its ratio over a decade shows cancellation."""
    Q = state_space(Matern(1.0, nu=nu)).transitions([1e-9, 1e-8])[1][:, 0, 0, 0]
    assert_allclose(Q[1] / Q[0], 10.0**power, rtol=1e-6)


@every_kernel
def test_slopes_are_those_of_differences_in_theta(kernel):
    gaps, h = np.array([0.0, 0.2, 3.0]), 1e-6
    process, t = state_space(kernel), 2.0
    theta = kernel.theta
    slopes = [*process.slopes(gaps), process.prior_slopes(t)]
    assert len(slopes[0]) == len(slopes[1]) == len(slopes[2]) == len(theta)
    for i, step in enumerate(h * np.eye(len(theta))):
        up, down = (state_space(kernel.clone_with_theta(theta + s)) for s in (step, -step))
        pairs = zip([*up.transitions(gaps), up.prior(t)], [*down.transitions(gaps), down.prior(t)])
        for (above, below), slope in zip(pairs, slopes):
            assert_allclose(slope[i], (above - below) / (2.0 * h), rtol=1e-7, atol=1e-9)


# A season as sharp as the last one has too long a series.
OTHERS = [RBF(), Matern(nu=2.0), RationalQuadratic(), Matern() + Wiener(), RBF() + RBF()]


@pytest.mark.parametrize("kernel", [*OTHERS, Matern(3.0) * ExpSineSquared(0.09, 1.0)])
def test_other_kernels_have_no_state_space_form(kernel):
    assert state_space(kernel) is None
