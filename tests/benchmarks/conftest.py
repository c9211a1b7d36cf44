import pytest
from datasets._files import INTEL, OZONE, TRAFFIC


@pytest.fixture
def data(data_dir, monkeypatch):
    """The real data, where the loaders look for them."""
    missing = [t.file for t in (INTEL, OZONE["2020"], TRAFFIC) if not (data_dir / t.file).is_file()]
    if missing:
        pytest.skip(f"not in {data_dir}: {', '.join(missing)}")
    monkeypatch.setenv("SKTVBO_DATA", str(data_dir))
