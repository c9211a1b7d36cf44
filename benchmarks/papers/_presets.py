"""All presets, by name."""

import _continuous
import _drawn
import _sensors

PRESETS = {**_continuous.PRESETS, **_sensors.PRESETS, **_drawn.PRESETS}
