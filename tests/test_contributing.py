"""The contributor's page: its figure shows the calls of a real ``tell``. And the reference."""

import functools
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import sktvbo
from sktvbo import BayesianOptimizer
from sktvbo._fast import cholesky, gram
from sktvbo.staleness import SlidingWindow

ROOT = Path(sktvbo.__file__).parent
FIGURE = Path(__file__).parents[1] / "docs" / "observation.svg"

# Packages that are one room, and tools that every room has.
WHOLE = ("domain", "staleness")
TOOLS = ("_validation", "_values", "gaussian_process._dates")


def room_of(module):
    """The room of a module, which is named without the package: "optimizers._run"."""
    package = module.split(".")[0]
    return package if package in WHOLE else module


def is_left_out(frame):
    """Return True for a property, a private function, or a method such as ``__len__``."""
    owner, _, name = frame.f_code.co_qualname.rpartition(".")
    cls = frame.f_globals.get(owner)
    kinds = property | functools.cached_property
    return name.startswith("_") or isinstance(getattr(cls, name, None), kinds)


def calls_from_room_to_room(function, monkeypatch):
    """(caller's room, room called, function) of each call, repetitions in a row left out."""
    found, stack = [], ["the user"]

    def note(room, name):
        call = (stack[-1], room, name)
        if room != stack[-1] and room not in TOOLS and found[-1:] != [call]:
            found.append(call)

    def watch(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(ROOT):
            return
        if event == "call":
            room = room_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
            if not is_left_out(frame):
                note(room, frame.f_code.co_name)
            stack.append(room)
        elif event == "return":
            stack.pop()

    # The interpreter does not tell of calls of compiled functions.
    for module in (cholesky, gram):
        room = module.__name__.removeprefix("sktvbo.")
        for name, compiled in vars(module).copy().items():
            if type(compiled).__name__ == "cython_function_or_method":

                def noted(*args, _room=room, _name=name, _compiled=compiled, **options):
                    note(_room, _name)
                    return _compiled(*args, **options)

                monkeypatch.setattr(module, name, noted)
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(before)
    return found


class Smooth(BayesianOptimizer):
    """One kernel in time: calls of methods of compiled classes, such as a sum, are hidden."""

    def _make_surrogate(self, times):
        made = super()._make_surrogate(times)
        return made.set_params(temporal_kernel=made.temporal_kernel.k1, hyperpriors=None)


def running(policy=None):
    """An optimizer in the middle of a run, with a query pending."""
    opt = Smooth(
        [(0.0, 10.0)],
        policy=policy,
        n_initial_points=5,
        refit_every=10**9,
        clock="step",
        random_state=0,
    )
    for t in range(20):
        x = opt.ask(t)
        opt.tell(x, -((x[0] - 5.0 - 0.02 * t) ** 2))
    return opt, opt.ask(20)


@pytest.fixture(scope="module")
def drawn():
    """Arrows of the figure: the numbered calls of each, and the words beside it."""
    arrows = []
    for group in ElementTree.parse(FIGURE).iter("{http://www.w3.org/2000/svg}g"):
        calls = [call.split(":") for call in group.get("data-calls").split()]
        words = ", ".join(text.strip() for text in group.itertext() if text.strip())
        arrows.append((group.get("data-from"), group.get("data-to"), calls, words))
    return arrows


def test_the_figure_shows_the_calls_of_a_tell(drawn, monkeypatch):
    opt, x = running()
    entered, *measured = calls_from_room_to_room(lambda: opt.tell(x, 1.0), monkeypatch)
    assert entered == ("the user", "optimizers._base", "tell")
    numbered = {
        int(number): (origin, target, name)
        for origin, target, calls, _ in drawn
        for number, name in calls
    }
    assert [numbered[i] for i in sorted(numbered)] == measured
    assert sorted(numbered) == list(range(1, len(measured) + 1))


def test_the_words_beside_an_arrow_are_its_calls(drawn):
    for _, _, calls, words in drawn:
        assert words == ", ".join(f"{number} {name}" for number, name in calls)


def test_dropping_rows_walks_the_column_once_more(monkeypatch):
    opt, x = running(SlidingWindow(12))
    calls = calls_from_room_to_room(lambda: opt.tell(x, 1.0), monkeypatch)
    assert len(opt.X_) == 12
    names = [name for _, _, name in calls]
    second = names[names.index("after_add") :]
    assert {"without", "drop"} <= {*second}
    assert not {"cross", "noise", "cross_gram"} & set(second)


def test_the_reference_lists_every_public_name():
    pytest.importorskip("matplotlib")
    folder = FIGURE.parent
    assert runpy.run_path(str(folder / "conf.py"))["missing_names"](folder) == []
