import inspect

import pytest

from sktvbo import problems
from sktvbo.problems import Problem, _registry, make
from sktvbo.problems._laboratory import Temperature, TemperatureField
from sktvbo.problems._markov import AbruptGP, MarkovGP, SlowGP
from sktvbo.problems._registry import member
from sktvbo.problems._sensors import Ozone, Stocks, TemperatureArms, Traffic, Wind

# --- make and available ---------------------------------------------------------------------------


def test_available_names_are_sorted_and_complete():
    names = problems.available()
    assert names == sorted(names)
    assert {"ackley", "six-hump-camel-switched", "temperature-field", "wlan"} <= set(names)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"one of ackley, .*Got 'akley' .*Did you mean 'ackley'"):
        make("akley")


def test_unknown_option_lists_the_known_ones():
    with pytest.raises(TypeError, match=r"among .*noise_variance, random_state\. Got 'day'"):
        make("ackley", day=0)


# --- families of problems -------------------------------------------------------------------------

CHANGE = "n_grid=101, n_dims=1, horizon=500.0, noise_variance=0.1, random_state=None)"
DAYS = (
    "horizon=None, noise=0.0, noise_variance=None, normalize=True, random_state=None, "
    "data_dir=None)"
)
LABORATORY = (
    "(*, horizon=600.0, noise=0.05, noise_variance=None, random_state=None, day=0, data_dir=None)"
)
SIGNATURES = {
    MarkovGP: (
        "(*, epsilon=0.01, kernel=None, n_grid=50, n_dims=2, horizon=500.0, noise_variance=0.01, "
        "random_state=None)"
    ),
    AbruptGP: f"(*, change_times=(100.0, 200.0), kernel=None, {CHANGE}",
    SlowGP: f"(*, kernel=None, {CHANGE}",
    Temperature: LABORATORY,
    TemperatureField: LABORATORY,
    TemperatureArms: f"(*, train=(0, 2), test=(3, 4), {DAYS}",
    Traffic: f"(*, sensors=50, hours=(6, 11), train=(0, 4), test=5, {DAYS}",
    Ozone: f"(*, version='2020', train=None, test=None, {DAYS}",
    Wind: f"(*, train=(0, 6208), test=(6209, 6573), {DAYS}",
    Stocks: f"(*, train=(0, 435), test=(436, 1258), {DAYS}",
}


@pytest.mark.parametrize("problem", SIGNATURES, ids=lambda problem: problem.__name__)
def test_signatures_show_all_options(problem):
    assert str(inspect.signature(problem)) == SIGNATURES[problem]
    init = SIGNATURES[problem].replace("(*", "(self, /, *")
    assert str(inspect.signature(problem.__init__)) == init


class Family(Problem):
    def __init__(self, name, *, horizon=9.0, height=1.0, **own):
        super().__init__(name, [(0, 1)], horizon)
        self.height = height
        self._start(**own)


class Swing(Family):
    def _start(self, *, period=3.0):
        self.period = period


@pytest.fixture
def swing(monkeypatch):
    """A problem of a family, registered for one test."""
    monkeypatch.setattr(_registry, "_FACTORIES", {})
    return member("_start", "swing", height=2.0)(type("Swing", (Swing,), {}))


def test_a_member_has_its_own_options_before_the_familys(swing):
    assert str(inspect.signature(swing)) == "(*, period=3.0, horizon=9.0, height=2.0)"
    assert problems.available() == ["swing"]
    problem = make("swing")
    assert type(problem) is swing
    assert problem.name == "swing"
    assert (problem.period, problem.horizon, problem.height) == (3.0, 9.0, 2.0)


def test_options_of_a_member_reach_the_family_and_the_method(swing):
    problem = swing(period=5.0, horizon=7.0, height=4.0)
    assert (problem.period, problem.horizon, problem.height) == (5.0, 7.0, 4.0)


def test_the_family_itself_stays_as_it_is(swing):
    assert Family.__init__ is Swing.__init__
    assert Swing("other").height == 1.0


def test_unknown_options_of_a_member(swing):
    with pytest.raises(TypeError, match=r"must be among period, horizon, .* Got 'colour'"):
        make("swing", colour="red")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        swing(colour="red")
    with pytest.raises(TypeError, match="positional"):
        swing(5.0)
