import pytest

for module in ("checks", "driver", "views"):
    pytest.register_assert_rewrite(f"tests.property.{module}")
