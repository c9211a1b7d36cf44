"""Relevancy of observations to predictions of the future (W-DBO section 4)."""

from .gaussian_process._relevancy import (
    RelevancySweep,
    spatial_convolution,
    temporal_convolution,
    wasserstein_relevancy,
)

__all__ = ["RelevancySweep", "spatial_convolution", "temporal_convolution", "wasserstein_relevancy"]
