"""The reference of the Python API can be made: each class and function that its pages name."""

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_gen"))

import python_api  # noqa: E402

from pyadeq import _names  # noqa: E402

WIDTH = 88  # columns of code that a page shows without a scroll bar
CODE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
ONE_LINE = ('  "message": "Attempts', 'data: {"id":')  # JSON

PAGES = [(DOCS / f"reference/{page}.md").read_text(encoding="utf-8") for page in ("python", "models")]
NAMES = [name for page in PAGES for name in re.findall(r"^{{ python (\S+) }}$", page, re.MULTILINE)]
NAMES += [f"pyadeq.{name}" for found in _names.MODELS.values() for name in found.split()]


def wide(text: str) -> list[str]:
    """Lines of code that a page cannot show without a scroll bar."""
    lines = [line for code in CODE.findall(text) for line in code.splitlines()]
    return [line for line in lines if len(line.expandtabs(4)) > WIDTH and not line.startswith(ONE_LINE)]


def test_code_in_pages_is_not_too_wide() -> None:
    root = DOCS.parent
    pages = [*DOCS.rglob("*.md"), root / "README.md", root / "lua/README.md", *root.glob("examples/**/*.md")]
    found = [(f"{page.relative_to(root)}", line) for page in pages for line in wide(page.read_text(encoding="utf-8"))]
    assert found == []


def test_templates_say_where_the_built_page_is() -> None:
    pages = {page.relative_to(DOCS): page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")}
    templates = [page for page, text in pages.items() if re.search(r"^{{ \w+.* }}$", text, re.MULTILINE)]
    assert len(templates) > 10
    assert [page for page in templates if f": `site/{page.with_suffix('.html')}`.\n" not in pages[page]] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_of_a_name(name: str) -> None:
    text = python_api.python(name)
    assert text.startswith(f"## {name.rpartition('.')[2]} {{")
    assert wide(text) == []


def test_methods_are_described_as_they_are_called() -> None:
    text = python_api.python("pyadeq.Queue")
    assert "### iterate" in text
    assert "AbstractContextManager" not in text
    assert "AbstractContextManager" not in python_api.python("pyadeq.PartitionedQueue")
    assert "owner: str," in python_api.python("pyadeq.Adeq")


def test_the_models_of_a_module_are_described_in_their_order() -> None:
    heads = re.findall(r"^## (\w+) ", python_api.models("limit partition"), re.MULTILINE)
    assert heads == ["Limit", "LimitUse", "Partition"]
    page = PAGES[1]
    parts = [part for line in re.findall(r"^{{ models (.+) }}$", page, re.MULTILINE) for part in line.split()]
    assert sorted(parts) == sorted(_names.MODELS)
