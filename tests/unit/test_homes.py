"""Each key, field and word of the approval schema has a home in pyadeq, and what a home names exists."""

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_gen"))

import homes  # noqa: E402

CHAPTERS = homes.chapters()
LINES = [line for chapter in CHAPTERS for line in chapter.lines]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.title)
def test_each_line_has_a_home_that_exists(chapter: homes.Chapter) -> None:
    for line in chapter.lines:
        named = [match[1] for match in homes.REFERENCE.finditer(line.home)]
        assert named, f"{line.name}: its home names nothing of pyadeq"
        homes.shown(line.home)  # raises ValueError if one does not exist
        assert "{" not in homes.REFERENCE.sub("", line.home), f"{line.name}: a reference that is not one"


def test_no_line_is_lost() -> None:
    assert len(LINES) == homes.load()["lines"]
    keys = [line.name for line in LINES if not line.is_part]
    assert sorted(set(keys)) == sorted(keys)


@pytest.mark.parametrize(
    "reference",
    [
        "key change.nothing", "key nothing.change", "field change.change.nothing", "field change.nothing.state",
        "setting change.nothing", "wait change.nothing", "event change.nothing", "script change.nothing",
        "arg change.put.nothing", "answer change.put.nothing", "status change.put.nothing",
        "value change.state.nothing", "hint nothing", "command change nothing", "command change",
        "command nothing", "python Nothing",
        "python Grant.nothing", "page nothing.md", "nothing change.put",
    ],
)  # fmt: skip
def test_what_does_not_exist_is_refused(reference: str) -> None:
    kind, name = reference.split(" ", 1)
    with pytest.raises(ValueError, match="there is no such thing"):
        homes.refer(kind, name)


def test_the_page_has_all_tables() -> None:
    page = (DOCS / "guides/from-approval-schema.md").read_text(encoding="utf-8")
    assert "{{ homes }}" in page
    tables = homes.homes()
    assert [line.name for line in LINES if f"`{line.name}`" not in tables] == []
