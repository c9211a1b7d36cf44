"""Every model, fitted once, as in the tests of the regressors."""

from gaussian_process.conftest import fitted

__all__ = ["fitted"]
