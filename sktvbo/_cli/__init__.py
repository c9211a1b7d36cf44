"""The command ``sktvbo``."""
