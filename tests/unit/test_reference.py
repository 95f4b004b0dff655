"""The reference of the Python API can be made: each class and function that its pages name."""

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_gen"))

import python_api  # noqa: E402

PAGES = [(DOCS / f"reference/{page}.md").read_text(encoding="utf-8") for page in ("python", "models")]
NAMES = [name for page in PAGES for name in re.findall(r"^{{ python (\S+) }}$", page, re.MULTILINE)]


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_of_a_name(name: str) -> None:
    assert python_api.python(name).startswith(f"## {name.rpartition('.')[2]} {{")


def test_a_short_name_is_described_as_the_method_that_it_is() -> None:
    text = python_api.python("pyadeq.Queue")
    assert "retry_dead(" in text
    assert "The same as `dead.retry_all`." in text
    assert "### iterate" in text
    assert "AbstractContextManager" not in text
    assert "AbstractContextManager" not in python_api.python("pyadeq.PartitionedQueue")
    assert "owner: str," in python_api.python("pyadeq.Adeq")
