"""The guides of frameworks, as other pages in tests/integration/test_docs.py."""

from pathlib import Path

import pytest

from tests.integration.examples import IN_FRAMEWORKS, ROOT, blocks, run_page


@pytest.mark.parametrize("page", [page for page in IN_FRAMEWORKS if page != "guides/django.md"])  # in django/
def test_the_examples_of_a_guide_run(page: str, binary: Path) -> None:
    run_page(blocks(ROOT / "docs" / page), binary)
