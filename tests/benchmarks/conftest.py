import pytest


@pytest.fixture
def data(data_dir, monkeypatch):
    """The real data, where the loaders look for them."""
    monkeypatch.setenv("SKTVBO_DATA", str(data_dir))
