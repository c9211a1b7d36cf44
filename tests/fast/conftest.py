"""The compiled code under test must be the build that was meant."""

import os
from pathlib import Path

import sktvbo


def pytest_report_header():
    return f"sktvbo from {Path(sktvbo.__file__).parent}"


def pytest_sessionstart(session):
    """With SKTVBO_EXPECT_BUILD=checked (``make checked``) or sanitized that build is in use."""
    expected = os.environ.get("SKTVBO_EXPECT_BUILD")
    if expected and expected not in Path(sktvbo.__file__).parts:
        raise RuntimeError(f"expected the {expected} build, got {sktvbo.__file__}")
