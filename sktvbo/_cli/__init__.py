"""Command ``sktvbo``."""
