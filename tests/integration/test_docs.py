"""The examples in docs/ run as they stand there, each page in order on a server of its own."""

import re
from pathlib import Path

import pytest

import pyadeq.asyncio
from pyadeq import LockSettings, Settings, _names, library
from pyadeq.models.settings import SETTINGS
from tests.integration.examples import IN_FRAMEWORKS, IN_MIGRATE, ROOT, RUN, SHOWN, blocks, executed, matches, run_page
from tests.nouns.found import NOUNS

pytestmark = pytest.mark.any_engine

DOCS = ROOT / "docs"
PAGES = {
    str(path.relative_to(DOCS)): blocks(path) for path in sorted(DOCS.rglob("*.md")) if path.parent.name != "decisions"
}
PAGES["README.md"] = blocks(ROOT / "README.md")  # which is the first page of the documentation, too
MOST_NOT_RUN = 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [name for name, found in PAGES.items() if executed(found) and name not in IN_FRAMEWORKS + IN_MIGRATE]
)
def test_the_examples_of_a_page_run(page: str, binary: Path) -> None:
    run_page(PAGES[page], binary)


def test_every_block_says_what_it_is() -> None:
    found = [block for page in PAGES.values() for block in page]
    assert [block.place for block in found if block.language not in RUN | SHOWN] == []
    assert [block.place for block in found if block.word not in (None, "notest")] == []


def test_few_examples_are_only_shown() -> None:
    shown = [block.place for page in PAGES.values() for block in page if block.word == "notest"]
    assert len(shown) <= MOST_NOT_RUN, shown


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join((DOCS / f"reference/{page}.md").read_text(encoding="utf-8") for page in ("python", "models"))
    described = set(re.findall(r"^{{ python pyadeq\.(?:asyncio\.)?(\w+) }}$", text, re.MULTILINE))
    described |= {name for found in _names.MODELS.values() for name in found.split()}
    for module in (pyadeq, pyadeq.asyncio):
        names = {name for name in module.__all__ if not name.startswith("_")}
        errors = {name for name in names if name in vars(pyadeq.errors)}
        assert names - errors - described == set()


def test_every_setting_is_explained() -> None:
    text = (DOCS / "reference/settings.md").read_text(encoding="utf-8")
    of_queue, of_domain = text.split("## Settings of a lock domain")
    for noun, model, page in (("queue", Settings, of_queue), ("lock", LockSettings, of_domain)):
        assert f"{{{{ configure {noun} }}}}" in page  # a table of all that can be changed
        rest = model.model_fields.keys() - {setting.name.partition(".")[0] for setting in SETTINGS[noun]}
        assert [name for name in rest if f"`{name}`" not in page] == []


def test_every_event_is_explained() -> None:
    text = (DOCS / "reference/events.md").read_text(encoding="utf-8")
    nouns = {id.partition(".")[0] for id in library() if library()[id].events} - {*NOUNS}
    assert "{{ others event_names }}" in text
    assert [noun for noun in sorted(nouns) if f"{{{{ event_names {noun} }}}}" not in text] == []  # from the manifest


@pytest.mark.parametrize(
    ("said", "printed", "same"),
    [
        ("a\nb", "a \nb\n", True),
        ("a …", "a b c", True),
        ("a …", "a b\nc", False),
        ("a\n…\nz", "a\nb\nc\nz", True),
        ("a\n…", "a\nb\nc", True),
        ("…\nz", "z", True),
        ("a (b)", "a b", False),
        ("a …\n    c\n    d", "a b c\n    d", True),
    ],
)
def test_output_is_compared_as_the_pages_write_it(said: str, printed: str, same: bool) -> None:
    assert matches(said, printed) is same
