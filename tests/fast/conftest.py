"""The compiled code under test must be the build that was meant."""

import os
from pathlib import Path

import sktvbo


def pytest_report_header():
    return f"sktvbo from {Path(sktvbo.__file__).parent}"


def pytest_sessionstart(session):
    """With SKTVBO_EXPECT_CHECKED=1 (``make checked``) the bounds-checked build has to be in use."""
    if os.environ.get("SKTVBO_EXPECT_CHECKED") == "1":
        parts = Path(sktvbo.__file__).parts
        if "checked" not in parts:
            raise RuntimeError(f"expected the bounds-checked build, got {sktvbo.__file__}")
