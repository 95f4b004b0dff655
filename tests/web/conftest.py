"""A service as users start it, on a private server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import serving

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `adeq serve --no-auth`."""
    with serving(tmp_path_factory.mktemp("service") / "log", "--no-auth") as at:
        yield at
