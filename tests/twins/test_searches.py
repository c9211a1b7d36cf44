"""Searches of hyperparameters: the information matrix, and how many evaluations they take."""

import numpy as np
import pytest
from gaussian_process.cases import data
from gaussian_process.test_prior_mean import choose, sample
from grids import pairs_of
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import QuadraticInjection
from sktvbo.gaussian_process._exact_posterior import Dense, _Likelihood
from sktvbo.gaussian_process._hyperparameters import SearchRecord, search
from sktvbo.gaussian_process._quasi_newton import completed
from sktvbo.kernels import Forgetting

UNKNOWN = RationalQuadratic(0.5)
KERNELS = {
    (1e-6, 10.0): (RBF([0.5, 0.7]), Forgetting(0.1)),
    "fixed": (Matern(0.5, nu=2.5), Matern(2.0, "fixed", nu=1.5)),
}


@pytest.mark.parametrize(
    ("bounds", "mean_prior_std", "robust"), pairs_of(KERNELS, (0.0, 0.7, np.inf), (False, True))
)
def test_the_information_matrix_at_the_start(bounds, mean_prior_std, robust):
    X, y = data()
    y[3] += 50.0 * robust
    options = {"noise_variance_bounds": bounds, "mean_prior_std": mean_prior_std}
    gp = TimeVaryingGPRegressor(*KERNELS[bounds], robust=robust, **options).partial_fit(X, y)
    weights = gp.outlier_weights_ if robust else np.ones(len(y))
    assert (weights[3] < 0.5) == robust
    criterion, c = Dense.criterion(gp._gp.rows), gp._gp.covariance
    criterion(c, True)

    def full(theta):
        at = c.with_theta(theta)
        K = np.tril(at.gram(gp._gp.rows.S, gp._gp.rows.t))
        return K + np.tril(K, -1).T + np.diag(at.noise_variance / weights)

    P = np.linalg.inv(full(c.theta))
    if mean_prior_std > 0.0:
        u = P.sum(axis=1)
        P -= np.outer(u, u) / (mean_prior_std**-2.0 + u.sum())
    steps = 1e-5 * np.eye(len(c.theta))
    slopes = [(full(c.theta + h) - full(c.theta - h)) @ P @ y / 2e-5 for h in steps]
    expected = 0.5 * np.array([[q @ P @ r for r in slopes] for q in slopes])
    assert_allclose(criterion.information(), expected, rtol=1e-6, atol=1e-8 * expected.max())


def test_the_information_matrix_saves_evaluations(monkeypatch):
    X, y = data()
    gp = TimeVaryingGPRegressor(RBF(0.5), Matern(3.0, nu=1.5)).partial_fit(X, y)._gp
    options = dict.fromkeys(("hyperpriors", "random_state")) | {"optimizer": None, "n_restarts": 0}
    counts, evaluated = [], _Likelihood.__call__
    monkeypatch.setattr(
        *(_Likelihood, "__call__"), lambda self, *args: counts.append(1) or evaluated(self, *args)
    )

    def searched():
        criterion = Dense.criterion(gp.rows)
        covariance, _, gain = completed(search(criterion, gp.covariance, **options))
        assert criterion(covariance, False)[0] - gp.objective == pytest.approx(gain)
        return gain

    found, n = searched(), len(counts)
    monkeypatch.setattr(_Likelihood, "information", lambda self: None)
    assert_allclose(searched(), found, rtol=1e-6)
    assert n < len(counts) - n


def test_noise_models_and_custom_kernels_have_no_information_matrix():
    for options in ({"noise_model": QuadraticInjection(0.1)}, {"spatial_kernel": UNKNOWN}):
        gp = TimeVaryingGPRegressor(temporal_kernel=Matern(2.0, nu=1.5), **options).fit(*data())
        criterion = Dense.criterion(gp._gp.rows)
        criterion(gp._gp.covariance, True)
        assert criterion.information() is None


# --- a mean that is used only if likelier ---------------------------------------------------------


def test_the_other_mean_is_searched_only_if_it_promises_more(monkeypatch):
    """The choice is nearly always the same as with all searches."""
    learn, made = TimeVaryingGPRegressor._learn_one, []

    def noted(*each, **options):
        made.append(options)
        return learn(*each, **options)

    def choices():
        gp, found = choose().fit(*sample("waves")), []
        Z, z = sample("quadratic", seed=1)
        Z[:, 3] += 500.0
        for i in range(len(Z)):
            gp = gp.without([0]).condition_on(Z[i : i + 1], z[i : i + 1]).refit()
            found.append(gp.prior_mean_ is None)
        return np.array(found)

    monkeypatch.setattr(TimeVaryingGPRegressor, "_learn_one", noted)
    found, n = choices(), len(made)
    monkeypatch.setattr(SearchRecord, "predicted_gain", lambda *each: np.inf)
    assert np.mean(choices() == found) > 0.9
    assert n < 0.8 * (len(made) - n)
