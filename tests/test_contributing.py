"""The contributor's page: its figure names functions of the package."""

from pathlib import Path
from xml.etree import ElementTree

import sktvbo

ROOT = Path(sktvbo.__file__).parent
FIGURE = Path(__file__).parents[1] / "docs" / "observation.svg"


def test_the_figure_shows_calls_of_functions_that_are_there():
    numbers = []
    for group in ElementTree.parse(FIGURE).iter("{http://www.w3.org/2000/svg}g"):
        room = ROOT / group.get("data-to").replace(".", "/")
        paths = [*room.glob("*.py"), *room.parent.glob(f"{room.name}.py*")]
        sources = "".join(path.read_text(encoding="utf-8") for path in paths)
        calls = [call.split(":") for call in group.get("data-calls").split()]
        for number, name in calls:
            assert f"def {name}(" in sources, (group.get("data-to"), name)
            numbers.append(int(number))
        words = ", ".join(text.strip() for text in group.itertext() if text.strip())
        assert words == ", ".join(f"{number} {name}" for number, name in calls)
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
