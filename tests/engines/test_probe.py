"""The page of engines says what the engine under test does."""

import itertools
from pathlib import Path

import pytest

from tests.conftest import CLUSTER
from tests.engines.engine import Engine, identify
from tests.engines.probe import EVERYWHERE, look_at, title

PAGE = Path(__file__).parents[2] / "docs/reference/engines.md"


def columns() -> dict[str, dict[str, str]]:
    """The cells of the page's tables whose first column has no heading: by heading, then by label."""
    found: dict[str, dict[str, str]] = {}
    for is_table, rows in itertools.groupby(PAGE.read_text().splitlines(), lambda line: line.startswith("|")):
        if is_table:
            (corner, *header), _, *lines = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
            for label, *cells in [] if corner else lines:
                for heading, cell in zip(header, cells, strict=True):
                    found.setdefault(heading, {})[label] = cell
    return found


@pytest.mark.skipif(CLUSTER, reason="the servers that it looks at are its own, in both modes")
def test_the_page_says_what_this_engine_does(binary: Path) -> None:
    engine = identify(binary, "the test")
    assert isinstance(engine, Engine)
    said = columns()
    if title(engine) not in said:
        pytest.skip(f"the page has no column for {title(engine)}")
    assert look_at(engine) == {**said[title(engine)], **said[EVERYWHERE]}
