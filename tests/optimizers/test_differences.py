"""The differences from the papers in `docs/differences.rst` are those of the defaults."""

import re
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from contract.cases import ALGORITHMS
from papers.cases import HORIZONS
from sklearn.gaussian_process.kernels import Matern

from sktvbo import optimizers, papers
from sktvbo.kernels import LogNormal

BOX = [(0.0, 1.0)] * 2
OF_BOX = {"n_unit": 2, "groups": (0, 1), "steps": (0.0, 0.0)}
OF_BOX |= {"has_context": False, "is_constrained": False, "of_outcome": False, "pending": ()}
PAGE = Path(__file__).parents[2] / "docs" / "differences.rst"


def parts(optimizer):
    """Return the parts of an optimizer, and what defines them by name in ``values``."""
    found = SimpleNamespace(policy=optimizer._make_policy())
    if not isinstance(optimizer, optimizers.RandomSearch):
        for name, interval in (("surrogate", 1.0), ("slower", 2.0)):
            times = SimpleNamespace(data=interval * np.arange(101.0), interval=interval, **OF_BOX)
            made = optimizer.surrogate or optimizer._make_surrogate(times)
            setattr(found, name, made)
        found.acquisition = optimizer.acquisition or optimizer._make_acquisition()
    given = optimizer.get_params(deep=False)
    values = {f"optimizer.{name}": given[name] for name in given.keys() - vars(found).keys()}
    values["optimizer._min_to_learn"] = getattr(optimizer, "_min_to_learn", None)
    for name in vars(found).keys() - {"slower"}:
        part = getattr(found, name)
        values[name] = type(part).__name__
        for key, value in part.get_params().items():
            is_part = hasattr(value, "get_params")
            values[f"{name}.{key}"] = type(value).__name__ if is_part else value
    return SimpleNamespace(optimizer=optimizer, values=values, **vars(found))


# --- values in words ------------------------------------------------------------------------------


def number(x):
    """Return up to four digits of a number."""
    return re.sub(r"e([+-])0", lambda found: "e" + found[1].strip("+"), f"{x:.4g}")


def range_of(start, bounds):
    if isinstance(bounds, str):
        return f"{number(start)}, {bounds}"
    low, high = map(number, bounds)
    return f"{low} to {high}, start {number(start)}"


KERNELS = {
    "RBF": "squared exponential",
    "ConstantKernel": "constant",
    "Forgetting": "(1 − ε)^(age / 2), ε = {epsilon:g}, {epsilon_bounds}",
}


def kernel(of, name):
    """Return the name of a kernel, and how many lengthscales it has."""
    found = getattr(of.surrogate, name)
    if type(found).__name__ == "Sum":
        smooth, rough = (f"Matérn {2.0 * part.nu:g}/2" for part in (found.k1, found.k2.k2))
        return f"{smooth} + w {rough}"
    if isinstance(found, Matern):
        each = ", one l per parameter" * (len(getattr(found, "groups", ())) > 1)
        return f"Matérn {found.nu * 2:g}/2{each}"
    text = KERNELS[type(found).__name__].format(**found.get_params())
    return text + ", one l per coordinate" * np.ndim(getattr(found, "length_scale", 0.0))


def spatial_scale(of):
    found = of.surrogate.spatial_kernel
    return range_of(np.min(found.length_scale), found.length_scale_bounds)


def temporal_scale(of):
    found = of.surrogate.temporal_kernel
    if type(found).__name__ == "Sum":
        rough = of.surrogate.temporal_kernel.k2.k2
        (low, high), span = rough.length_scale_bounds, 100.0
        text = f"rough {low:g} intervals to {high / span:g} spans, start {rough.length_scale:g}"
        slower = of.slower.temporal_kernel
        assert np.array_equal(2.0 * np.array([low, high]), slower.k2.k2.length_scale_bounds)
        of = SimpleNamespace(
            surrogate=SimpleNamespace(temporal_kernel=found.k1),
            slower=SimpleNamespace(temporal_kernel=slower.k1),
        )
        return f"{temporal_scale(of)}; {text} intervals"
    if not hasattr(found, "length_scale_bounds"):
        return f"{number(found.length_scale)}, fixed"
    bounds, doubled = found.length_scale_bounds, of.slower.temporal_kernel.length_scale_bounds
    if np.array_equal(2.0 * np.array(bounds), doubled):
        span = 100.0
        high, start = bounds[1] / span, found.length_scale / span
        return f"{bounds[0]:g} intervals to {high:g} spans of the data, start {start:g} spans"
    return range_of(found.length_scale, bounds)


def variance(of, name):
    return range_of(getattr(of.surrogate, name), getattr(of.surrogate, f"{name}_bounds"))


def mean(of):
    text = f"learnt, prior N(0, {number(of.surrogate.mean_prior_std**2)})"
    if getattr(of.surrogate, "prior_mean", None) is not None:
        text += ", and a quadratic one where that is likelier"
    return text if of.surrogate.mean_prior_std else "0"


def scale(of):
    if not of.surrogate.normalize_y:
        return "as told"
    if of.values["surrogate"] == "ScaledOnceGPRegressor":
        return "standardized by the first fit; σ² in units of y²"
    return "standardized by the data set"


def search(of):
    if of.surrogate.optimizer is None:
        return "none"
    when = {1: "at each step", "auto": "when it promises a gain"}[of.optimizer.refit_every]
    fixed = of.values["surrogate"] == "FixedStartGPRegressor"
    return f"{when}, from the {'start' if fixed else 'last optimum'}"


def prior(of):
    if of.surrogate.hyperpriors is None:
        return "none"
    found = of.surrogate.hyperpriors["spatial_kernel__length_scale"]
    if type(found) is LogNormal:
        return f"log-normal, median {number(found.median)}, spread {number(found.spread)}"
    return f"Gamma({number(found.shape)}, rate {number(found.rate)})"


def roughness(of):
    found = of.surrogate.temporal_kernel
    if type(found).__name__ != "Sum":
        return "none"
    weight = found.k2.k1
    known = of.surrogate.hyperpriors["temporal_kernel__k2__k1__constant_value"]
    text = range_of(weight.constant_value, weight.constant_value_bounds)
    return f"{text}; log-normal, median {number(known.median)}, spread {number(known.spread)}"


def discount(of):
    found, slower = of.surrogate.noise_model.discount, of.slower.noise_model.discount
    unit = "interval" if np.isclose(found, slower**2) else "unit of time"
    return f"{number(found)} per {unit}"


def ages(of):
    latest = of.values["surrogate"] == "LatestPresentGPRegressor"
    return "since the " + ("latest observation" if latest else "time of the query")


_GAIN = "√β = B + R √(2 (γ + {constant:.4g} + log(1/δ))), γ "
BETAS = {
    "dimension": "0.2 min(d, 4) log(2 n)",
    "DimensionBeta": "{scale:g} d log(2 n)",
    "NextStep": "{schedule__scale:g} log({schedule__rate:g} t), t the step of the query",
    "IterationBeta": "2 log(t^(d/2 + 5/2) π² / (3 δ)) / 25, δ = {delta:g}",
    "MaximumGainBeta": _GAIN.replace("{constant:.4g}", "1")
    + "maximal, B = {norm_bound:g}, R = {noise_bound:.4g}, δ = {delta:g}",
    "InformationGainBeta": _GAIN
    + "of the data set, B = {norm_bound:g}, R = {noise_ratio:.4g} σ, δ = {delta:g}",
}


def beta(of):
    found = of.acquisition.beta
    if isinstance(found, float):
        return number(found)
    if isinstance(found, str):
        return BETAS[found]
    text = BETAS[type(found).__name__].format(**found.get_params())
    if type(found).__name__ == "DimensionBeta" and found.max_dims is not None:
        text = text.replace(" d ", f" min(d, {found.max_dims}) ")
    if type(found).__name__ == "InformationGainBeta" and found.scale != 1.0:
        text += f"; β times {found.scale:g}"
    return text + " over all steps" * getattr(found, "anytime", False)


POLICIES = {
    "KeepAll": "nothing",
    "UncappedBudget": "all but {min_size}, as the budget pays; Δt ≤ {max_step:g} l_T",
    "RelevancyBudget": "all but {min_size}, as the budget pays, and what it does not spend on "
    "these is lost; Δt ≤ {max_step:g} l_T",
    "SingleRemoval": "one beyond n*, but {min_size}; R(n) a cubic by least squares",
    "RelevancyCap": "all beyond n*, but {min_size}; R(n) a cubic with coefficients ≥ 0",
    "StableLengthScale": "nothing; l_T is settled after 3 mean changes below "
    "{tolerance:g}, for good",
    "LengthScaleTrend": "nothing; l_T is settled while its slope is below 0.1 of its mean",
    "PeriodicReset": "a block of {length}",
    "LearntReset": "a block of N for ε learnt from 200 observations",
    "SlidingWindow": "all but the latest {length}",
    "EventTriggeredReset": "all at an event",
    "NoiseThreshold": "noise above the cap",
}
LENGTHS = {
    "BlockLength": "N for ε = {epsilon:g}, T = {horizon}",
    "VariationBudget": "⌈γ_T^¼ √(T / B_T)⌉, T = {horizon}, B_T = {variation_budget:g}",
}


def policy(of):
    known = vars(of.policy)
    length = known.get("period", known.get("window"))
    if hasattr(length, "get_params"):
        length = LENGTHS[type(length).__name__].format(**length.get_params())
    text = POLICIES[of.values["policy"]].format(**known | {"length": length})
    if "block" in text:
        source = "prior" if known.get("from_prior") else "block before"
        text += f"; the first query of a block is from the {source}"
    return text


def first_queries(of):
    if of.optimizer.n_initial_points == "auto":
        return f"{of.optimizer._n_spread} spread out"
    return f"{of.optimizer.n_initial_points} at random"


# Row of the table: parameters that it describes, and their values in words.
ROWS = {
    "k_S": (r"spatial_kernel(__nu|__groups)?$", lambda of: kernel(of, "spatial_kernel")),
    "l_S (d = 2)": ("spatial_kernel__length_scale", spatial_scale),
    "prior of l_S": (r"hyperpriors|\.width", prior),
    "k_T": (
        r"temporal_kernel(__k\d)*(__nu|__epsilon.*)?$",
        lambda of: kernel(of, "temporal_kernel"),
    ),
    "l_T": (r"temporal_kernel(__k\d)*__length_scale", temporal_scale),
    "w": (r"temporal_kernel__k2__k1__constant|hyperpriors", roughness),
    "λ": ("signal_variance", lambda of: variance(of, "signal_variance")),
    "σ²": ("noise_variance", lambda of: variance(of, "noise_variance")),
    "discount": ("noise_model|optimizer.discount", discount),
    "age": ("surrogate$", ages),
    "mean": (r"mean_prior_std|prior_mean", mean),
    "y": ("normalize_y|surrogate$", scale),
    "search": (r"surrogate.optimizer|refit_every|surrogate$", search),
    "learns from": ("_min_to_learn", lambda of: f"{of.optimizer._min_to_learn} or more"),
    "β": ("acquisition.beta", beta),
    "margin": ("acquisition.margin", lambda of: number(of.acquisition.margin)),
    "first queries": ("n_initial", first_queries),
    "forgets": ("policy|horizon|reset_period|variation_budget|window", policy),
    "clock": ("clock", lambda of: f'"{of.optimizer.clock}"'),
}


def differences(name):
    """Return the rows (title, paper, here) in which an algorithm and its paper differ."""
    paper, here = (
        parts(papers.published(name, BOX, **HORIZONS.get(name, {}))),
        parts(ALGORITHMS[name](BOX)),
    )
    unsaid = {
        key
        for key in paper.values.keys() | here.values.keys()
        if repr(paper.values.get(key)) != repr(here.values.get(key))
    }
    rows = []
    for title, (pattern, text) in ROWS.items():
        said = {key for key in unsaid if re.search(pattern, key)}
        if said and text(paper) != text(here):
            rows.append((title, text(paper), text(here)))
    patterns = "|".join(ROWS[title][0] for title, *_ in rows)
    assert not [key for key in unsaid if not re.search(patterns, key)]
    return rows


def table(rows):
    """Return the lines of a simple table of reStructuredText."""
    lines = []
    for row in [("Quantity", "Paper", "Here"), *rows]:
        cells = [textwrap.wrap(cell, 37) for cell in row]
        height = max(map(len, cells))
        lines += zip(*(cell + [""] * (height - len(cell)) for cell in cells))
    widths = [max(map(len, column)) for column in zip(*lines)]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def section(name):
    """Return the section of the page about an algorithm."""
    return f"{name}\n{'-' * len(name)}\n\n{table(differences(name))}\n"


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_page_has_the_differences_from_the_paper(name):
    expected, page = section(name), PAGE.read_text(encoding="utf-8")
    assert f"\n\n{expected}\n" in page + "\n", f"expected:\n{expected}"
    assert ":doc:`/differences`" in ALGORITHMS[name].__doc__


def test_the_page_has_a_section_for_each_algorithm_and_no_other():
    found = re.findall(r"^(\S+)\n-+\n", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert found == [*ALGORITHMS]
