"""The example in Python and TypeScript, with what npm has."""

import pytest

from tests.embedding.projects import toolchain
from tests.examples import test_examples

pytestmark = [pytest.mark.any_engine, pytest.mark.rotates(0, 4)]


def test_it_does_what_its_page_says() -> None:
    toolchain("node", "npm")
    test_examples.run(test_examples.WITH_NODE)
