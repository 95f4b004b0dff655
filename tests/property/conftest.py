import pytest

from tests.small_server import server, url

__all__ = ["server", "url"]  # in the place of those of all tests

for module in ("checks", "driver", "views"):
    pytest.register_assert_rewrite(f"tests.property.{module}")
