"""Lengths of the runs in the experiments of the papers, for `sktvbo.papers.published`."""

HORIZONS = {"W-DBO": {"horizon": 1.0}, "ABO": {"horizon": 1.0}, "BOLT": {"horizon": 600.0}}
HORIZONS |= {"R-GP-UCB": {"horizon": 200}}
HORIZONS |= {name: {"horizon": 500} for name in ("SW-GP-UCB", "BR-GP-UCB", "W-GP-UCB")}
