"""Names, lists and options as a user writes them."""

import pytest

from sktvbo import optimizers
from sktvbo.optimizers._names import ALGORITHMS, as_optimizer, label_of
from sktvbo.papers._specs import configured, make_optimizer, parse, split_list


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("ackley", "ackley", {}),
        ("wlan:n_nodes=6,n_users=27", "wlan", {"n_nodes": 6, "n_users": 27}),
        ("ackley:horizon=60.5, noise=1e-2", "ackley", {"horizon": 60.5, "noise": 0.01}),
        (
            "temperature-arms:train=(0,2),test=(3,4)",
            "temperature-arms",
            {"train": (0, 2), "test": (3, 4)},
        ),
        ("ozone:version=summer2006", "ozone", {"version": "summer2006"}),
        ("ozone:normalize=False", "ozone", {"normalize": False}),
    ],
)
def test_specifications_are_parsed(text, name, options):
    assert parse(text) == (name, options)


@pytest.mark.parametrize("text", ["wlan:", "wlan:n_nodes", "wlan:=6", "wlan:n_nodes=", "a:,b=1"])
def test_specifications_without_a_value_are_refused(text):
    with pytest.raises(ValueError, match=r"NAME:key=value,key=value. Got"):
        parse(text)


def test_commas_before_options_do_not_split_a_list():
    text = "W-DBO:alpha=0.5,refit_every=2, BOLT,SW-GP-UCB:window=50"
    assert split_list(text) == [
        "W-DBO:alpha=0.5,refit_every=2",
        "BOLT",
        "SW-GP-UCB:window=50",
    ]


def test_all_algorithms_are_there():
    made = {type(make_optimizer(name)).__name__ for name in ALGORITHMS}
    assert made == set(optimizers.__all__) - {"BayesianOptimizer", "Query"}
    assert {"W-DBO", "SparQ-GP-UCB", "random"} < set(ALGORITHMS)


def test_names_of_classes_are_known_too():
    for label, kind in ALGORITHMS.items():
        assert label_of(label) == label_of(kind.__name__) == label
        assert type(as_optimizer(kind.__name__)) is kind


def test_common_parameters_are_for_those_that_have_them_and_own_ones_come_first():
    common = {"n_initial_points": 3, "alpha": 0.5}
    found = configured(("W-DBO", "GP-UCB", "random"), common, {"W-DBO": {"alpha": 2.0}})
    assert list(found) == ["W-DBO", "GP-UCB", "random"]
    assert found["W-DBO"].get_params()["alpha"] == 2.0
    assert found["W-DBO"].n_initial_points == found["GP-UCB"].n_initial_points == 3
    assert "alpha" not in found["GP-UCB"].get_params()
    with pytest.raises(ValueError, match="alpha"):
        configured(("GP-UCB",), {}, {"GP-UCB": {"alpha": 2.0}})
