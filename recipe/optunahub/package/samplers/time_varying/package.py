"""The sampler of sktvbo, which has its own documentation and tests."""

try:
    from sktvbo.integrations.optuna import TimeVaryingSampler
except ModuleNotFoundError as exc:
    if exc.name != "sktvbo":
        raise
    raise ModuleNotFoundError(
        'This package needs sktvbo: pip install "sktvbo[optuna]".', name="sktvbo"
    ) from exc

__all__ = ["TimeVaryingSampler"]
