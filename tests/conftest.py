"""Options and fixtures of the whole suite."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (what has threads must be loaded before they can be limited)
import sklearn.cluster  # noqa: F401
from threadpoolctl import threadpool_limits


def pytest_addoption(parser):
    parser.addoption("--runslow", action="store_true", help="also run the tests marked slow")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--runslow"):
        return
    slow = [item for item in items if "slow" in item.keywords]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if "slow" not in item.keywords]


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    # The matrices are small: on a busy machine threads cost up to 25 times what they save.
    with threadpool_limits(1), pytest.MonkeyPatch.context() as patch:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # of processes that tests start
            patch.setenv(name, "1")
        yield


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture(scope="session")
def data_dir():
    """The folder with the real data."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SKTVBO_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}: point SKTVBO_DATA at them")
    return folder
