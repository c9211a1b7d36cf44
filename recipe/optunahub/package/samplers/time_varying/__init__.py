from .package import TimeVaryingSampler

__all__ = ["TimeVaryingSampler"]
