"""How many examples the properties are tried on.

In the suite they are few and always the same. ``SKTVBO_PROPERTIES=2000`` tries as many, new ones
each time, for each property, and ``--runslow`` 300; a failure prints how to repeat it.
"""

import importlib.util
import os

HYPOTHESIS = importlib.util.find_spec("hypothesis") is not None
collect_ignore_glob = [] if HYPOTHESIS else ["test_*.py"]


def pytest_report_header(config):
    return None if HYPOTHESIS else "tests/properties is left out: pip install hypothesis"


def pytest_configure(config):
    if not HYPOTHESIS:
        return
    from hypothesis import HealthCheck, settings

    common = {
        "deadline": None,
        "database": None,
        "print_blob": True,
        # Fixtures that are shared by examples hold nothing that changes.
        "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    }
    settings.register_profile("suite", max_examples=15, derandomize=True, **common)
    n = int(os.environ.get("SKTVBO_PROPERTIES", 300))
    settings.register_profile("long", max_examples=n, **common)
    long = config.getoption("--runslow") or "SKTVBO_PROPERTIES" in os.environ
    settings.load_profile("long" if long else "suite")
