import pytest


@pytest.fixture(autouse=True)
def _quiet():
    optuna = pytest.importorskip("optuna")
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)
