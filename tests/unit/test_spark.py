"""Spark lines of the command line."""

import pytest

from pyadeq.ext.cli.shared.spark import BLOCKS, PLAIN, spark


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([], ""),
        ([0, 0], "▁▁"),
        ([0, 1, 2, 3, 4, 5, 6, 7], BLOCKS),
        ([0, 0.01, 100], "▁▂█"),
        ([5], "█"),
    ],
)
def test_a_line_has_a_block_for_each_value(values: list[float], line: str) -> None:
    assert spark(values) == line
    assert spark(values, plain=True) == line.translate(str.maketrans(BLOCKS, PLAIN))
    assert spark(values, plain=True).isascii()
