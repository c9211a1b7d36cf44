"""Rivals of `many.py`: local searches, and TPE. All maximize.

A local search is a generator (d, seed) of places (d,) of the unit box that is sent the value at
each one.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.stats import qmc

from sktvbo.domain import as_domain

sys.path.append(str(Path(__file__).parents[1] / "papers"))

from _rivals import Optuna


class Search:
    """A generator behind ``ask`` and ``tell``."""

    def __init__(self, make, d, seed):
        self.places = make(d, seed)
        self.x = next(self.places)

    def ask(self, t):
        return self.x

    def tell(self, x, y, t):
        self.x = self.places.send(y)


def coordinate_search(d, seed):
    """Try both sides of each coordinate in turn; grow its step at a success, or else shrink it.

    The present place is measured before each coordinate, as its value drifts.
    """
    x, steps = np.full(d, 0.5), np.full(d, 0.1)
    while True:
        for i in range(d):
            y = yield x
            for sign in (1.0, -1.0):
                trial = np.clip(x + sign * steps[i] * np.eye(d)[i], 0.0, 1.0)
                if (yield trial) > y:
                    x, steps[i] = trial, min(1.5 * steps[i], 0.3)
                    break
            else:
                steps[i] = max(0.6 * steps[i], 0.01)


def rcds(d, seed, step=0.05, n_points=6):
    """Robust conjugate direction search (Huang, Corbett, Safranek, Wu, NIM A 726, 2013).

    Powell's method with a line search for noise: the maximum is bracketed by points that are worse
    by three standard deviations of the noise, and is that of a parabola fitted to six points of the
    bracket. The noise is measured by five queries at the first place. The present place is measured
    before each line search, as its value drifts.
    """
    x, directions, first = np.full(d, 0.5), np.eye(d), []
    for _ in range(5):
        first.append((yield x))
    noise = np.std(first, ddof=1)

    def line(x, v):
        moves = np.abs(v) > 1e-12
        ends = np.sort([-x[moves] / v[moves], (1.0 - x[moves]) / v[moves]], axis=0)
        low, high = ends[0].max(), ends[1].min()
        found = {0.0: (yield x)}
        for sign, end in ((1.0, high), (-1.0, -low)):
            a, length = 0.0, step
            while a < end and found[sign * a] > max(found.values()) - 3.0 * noise:
                a = min(a + length, end)
                length *= 1.618
                found[sign * a] = yield x + sign * a * v
        for a in np.linspace(min(found), max(found), n_points):
            if np.min(np.abs(a - np.array(list(found)))) > 0.3 * np.ptp(list(found)) / n_points:
                found[a] = yield x + a * v
        places, values = np.array(list(found)), np.array(list(found.values()))
        a = places[np.argmax(values)]
        if len(found) >= 3:
            grid = np.linspace(places.min(), places.max(), 101)
            fit = np.polyval(np.polyfit(places, values, 2), grid)
            a = grid[np.argmax(fit)]
            return x + a * v, fit.max(), found[0.0]
        return x + a * v, values.max(), found[0.0]

    while True:
        start, gains, y_start = x, [], None
        for v in directions:
            x, y, y0 = yield from line(x, v)
            y_start = y0 if y_start is None else y_start
            gains.append(max(y - y0, 0.0))
        way, best = x - start, int(np.argmax(gains))
        length = np.linalg.norm(way)
        if length < 1e-6:
            continue
        far = yield np.clip(2.0 * x - start, 0.0, 1.0)
        bend, gain = 2.0 * (2.0 * y - y_start - far), gains[best]
        # Powell's criterion, for a maximum.
        if far > y_start and bend * (y - y_start - gain) ** 2 < gain * (far - y_start) ** 2:
            x, _, _ = yield from line(x, way / length)
            if np.max(np.abs(directions @ way)) < 0.9 * length:
                directions = np.vstack([np.delete(directions, best, axis=0), way / length])


def cma_es(d, seed):
    """The package cmaes, from the middle of the box."""
    from cmaes import CMA

    bounds = np.tile([0.0, 1.0], (d, 1))
    strategy = CMA(np.full(d, 0.5), 0.2, bounds=bounds, seed=seed)
    while True:
        told = []
        for _ in range(strategy.population_size):
            x = strategy.ask()
            told.append((x, -(yield x)))
        strategy.tell(told)


def _fitted(X, y, last=None):
    """Return BoTorch's default model, whose fit starts at the last one's optimum."""
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from gpytorch.mlls import ExactMarginalLogLikelihood

    X, y = torch.tensor(np.array(X)), torch.tensor(np.array(y))[:, None]
    model = SingleTaskGP(X, y, outcome_transform=Standardize(1))
    if last is not None:
        learnt = {name: value.detach().clone() for name, value in last.named_parameters()}
        model.load_state_dict(learnt, strict=False)
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    fit_gpytorch_mll(mll, optimizer_kwargs={"options": {"maxiter": 50}})
    return model


def _sobol(d, n, seed):
    return qmc.Sobol(d, seed=seed).random(n)


def turbo(d, seed):
    """TuRBO-1 (Eriksson et al. 2019) as in BoTorch's tutorial, with one query at a time.

    Thompson sampling in a box around the best observation; its length doubles after 3 successes and
    halves after d failures in a row. Below 2^-7 it restarts.
    """
    import torch
    from botorch.generation import MaxPosteriorSampling

    torch.manual_seed(seed)
    rng = np.random.RandomState(seed)
    while True:
        X, y, model = [], [], None
        length, n_good, n_bad = 0.8, 0, 0
        for x in _sobol(d, 2 * d, rng.randint(2**31)):
            y.append((yield x))
            X.append(x)
        while length >= 0.5**7:
            model = _fitted(X, y, model)
            scales = model.covar_module.lengthscale.detach().numpy().ravel()
            scales = scales / np.exp(np.mean(np.log(scales)))
            best = X[int(np.argmax(y))]
            low = np.clip(best - scales * length / 2.0, 0.0, 1.0)
            high = np.clip(best + scales * length / 2.0, 0.0, 1.0)
            n = min(2000, max(1000, 100 * d))
            places = low + (high - low) * _sobol(d, n, rng.randint(2**31))
            mask = rng.rand(n, d) <= min(20.0 / d, 1.0)
            mask[np.arange(n), rng.randint(d, size=n)] |= ~mask.any(axis=1)
            places = torch.tensor(np.where(mask, places, best))
            with torch.no_grad():
                x = MaxPosteriorSampling(model, replacement=False)(places, 1)[0].numpy()
            value = yield x
            success = value > max(y) + 1e-3 * abs(max(y))
            X.append(x)
            y.append(value)
            n_good, n_bad = (n_good + 1, 0) if success else (0, n_bad + 1)
            if n_good == 3:
                length, n_good = min(2.0 * length, 1.6), 0
            elif n_bad == max(4, d):
                length, n_bad = length / 2.0, 0


def _search(make):
    return lambda d, seed: Search(make, d, seed)


def _tpe(d, seed):
    return Optuna(as_domain([(0.0, 1.0)] * d), random_state=seed)


RIVALS = {
    "CMA-ES": _search(cma_es),
    "TPE": _tpe,
    "coordinate search": _search(coordinate_search),
    "RCDS": _search(rcds),
    "TuRBO": _search(turbo),
}
