"""Text tables."""

import pytest

from sktvbo.evaluation._tables import fitting, format_table

ROWS = [("name", "n", "note"), ("a", "12", "x"), ("longer", "3", "yy ")]


def test_columns_are_aligned_and_ruled():
    assert format_table(ROWS, left=(0, 2)) == [
        "name     n  note",
        "----------------",
        "a       12  x",
        "longer   3  yy",
    ]
    assert format_table(ROWS, left=(), rule=False) == [
        "  name   n  note",
        "     a  12     x",
        "longer   3   yy",
    ]


def test_a_header_alone_is_a_table():
    assert format_table([("a", "bc")]) == ["a  bc", "-----"]


def test_rows_of_different_lengths_are_an_error():
    with pytest.raises(ValueError, match="shorter"):
        format_table([("a", "b", "c"), ("d",)])


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (100, [[0, 1, 2]]),
        (17, [[0, 1, 2]]),
        (16, [[0, 1], [2]]),
        (10, [[0], [1], [2]]),
        (1, [[0], [1], [2]]),
    ],
)
def test_blocks_are_distributed_over_tables_of_a_width(width, expected):
    # The first column has 4 characters; with separators the blocks have 4, 5 and 2 + 2.
    first = ["name", "a"]
    blocks = [[["ab", "c"]], [["d", "efg"]], [["", ""], ["", ""]]]
    assert list(fitting(first, blocks, width)) == expected
    for table in fitting(first, blocks, width):
        columns = [column for i in table for column in blocks[i]]
        lines = format_table(list(zip(first, *columns)))
        assert len(lines[1]) <= width or len(table) == 1


def test_no_blocks_need_no_table():
    assert list(fitting(["name"], [], 10)) == []
