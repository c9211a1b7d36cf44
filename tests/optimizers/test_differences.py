"""The differences from the papers in `docs/differences.rst` are those of the defaults."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from contract.cases import ALGORITHMS
from papers.cases import HORIZONS

from sktvbo import optimizers, papers

BOX = [(0.0, 1.0)] * 2
OF_BOX = {"n_unit": 2, "groups": (0, 1), "steps": (0.0, 0.0)}
OF_BOX |= {"has_context": False, "is_constrained": False, "of_outcome": False, "pending": ()}
PAGE = Path(__file__).parents[2] / "docs" / "differences.rst"

# Quantities of the page: the parameters that each describes.
QUANTITIES = {
    "k_S": r"spatial_kernel(__nu|__groups)?$",
    "l_S (d = 2)": r"surrogate.spatial_kernel__length_scale",
    "prior of l_S": r"hyperpriors__spatial|\.width",
    "k_T": r"temporal_kernel(__k\d)*(__nu|__epsilon.*)?$",
    "l_T": r"surrogate.temporal_kernel(__k\d)*__length_scale",
    "w": r"temporal_kernel__k2__k1__constant|hyperpriors__temporal",
    "λ": "signal_variance",
    "σ²": "noise_variance",
    "discount": r"noise_model|optimizer.discount",
    "age": "surrogate$",
    "mean": r"mean_prior_std|prior_mean",
    "y": r"normalize_y|surrogate$",
    "search": r"surrogate.optimizer|refit_every|surrogate$",
    "learns from": "_min_to_learn",
    "β": r"acquisition.beta",
    "margin": r"acquisition.margin",
    "first queries": "n_initial",
    "forgets": r"policy|horizon|reset_period|variation_budget|window",
    "largest n": r"max_size$|policy.largest",
    "clock": "clock",
}
# Numbers that the page says in words.
IN_WORDS = re.compile(r"__nu|__groups|depth|refit_every|optimizer.(variation_|horizon|width)")
# Times of which the default models are made. What follows the data is on the page in spans.
TIMES = SimpleNamespace(data=np.arange(101.0), interval=1.0, **OF_BOX)
SPAN = 100.0


def values(optimizer):
    """Return the parameters of an optimizer and of its parts, by name."""
    found = {"policy": optimizer._make_policy()}
    if not isinstance(optimizer, optimizers.RandomSearch):
        TIMES.keeps_all = optimizer._run_or_new().keeps_all
        found["surrogate"] = optimizer.surrogate or optimizer._make_surrogate(TIMES)
        found["acquisition"] = optimizer.acquisition or optimizer._make_acquisition()
    given = optimizer.get_params(deep=False)
    flat = {f"optimizer.{name}": given[name] for name in given.keys() - found.keys()}
    flat["optimizer._min_to_learn"] = getattr(optimizer, "_min_to_learn", None)
    for name, part in found.items():
        flat[name] = type(part).__name__
        parameters = part.get_params()
        priors = parameters.pop("hyperpriors", None) or {}
        parameters |= {f"hyperpriors__{key}": prior for key, prior in priors.items()}
        for key, value in parameters.items():
            is_part = hasattr(value, "get_params")
            flat[f"{name}.{key}"] = type(value).__name__ if is_part else value
    return flat


def number(x):
    """Return up to four digits of a number."""
    return re.sub(r"e([+-])0", lambda found: "e" + found[1].strip("+"), f"{x:.4g}")


def is_on(texts, value):
    """Return True if all numbers in a value of a parameter are in texts of the page."""
    if hasattr(value, "logpdf"):
        value = list(vars(value).values())
    if value is None or isinstance(value, str | bool):
        return True
    known = {found for text in texts for found in re.findall(r"[\d.e-]*\d", text)}
    return all(known & {number(x), number(x / SPAN)} for x in np.ravel(value))


def tables():
    """Return the cells of the page by algorithm and quantity: those of the paper, and here."""
    found = {}
    for section in re.split(r"\n(?=\S+\n-+\n)", PAGE.read_text(encoding="utf-8"))[1:]:
        name, _, _, rule, _, _, *lines = section.split("\n")
        starts = [column.start() for column in re.finditer("=+", rule)]
        rows, latest = found.setdefault(name, {}), None
        for line in lines[: lines.index(rule)]:
            title, *cells = (line[i:j].strip() for i, j in zip(starts, [*starts[1:], None]))
            latest = title or latest
            rows[latest] = [*map(" ".join, zip(rows.get(latest, ["", ""]), cells))]
    return found


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_page_has_the_differences_from_the_paper(name):
    published = papers.published(name, BOX, **HORIZONS.get(name, {}))
    paper, here = values(published), values(ALGORITHMS[name](BOX))
    rows, described = tables()[name], set()
    for key in paper.keys() | here.keys():
        pair = paper.get(key), here.get(key)
        if repr(pair[0]) != repr(pair[1]):
            titles = [title for title in rows if re.search(QUANTITIES[title], key)]
            assert titles, f"{key} is {pair[0]} in the paper and {pair[1]} here"
            described.update(titles)
            for texts, value in zip(zip(*map(rows.get, titles)), pair):
                assert IN_WORDS.search(key) or is_on(texts, value), f"{key} is {value}: {texts}"
    assert described == rows.keys()
    doc = ALGORITHMS[name].__doc__
    assert ":doc:`/differences`" in doc
    assert ("the values of the paper" in doc) == ("References\n" in doc)


def test_the_page_has_a_section_for_each_algorithm_and_no_other():
    assert [*tables()] == [*ALGORITHMS]
