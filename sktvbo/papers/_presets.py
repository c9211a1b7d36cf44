"""All presets, by name."""

from . import _continuous, _drawn, _sensors

PRESETS = {**_continuous.PRESETS, **_sensors.PRESETS, **_drawn.PRESETS}
