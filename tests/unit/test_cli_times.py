"""Times as tables of locks and JSON tell them."""

import pytest

from pyadeq.ext.cli.shared.shown import ahead, span
from pyadeq.models.base import iso


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0s"),
        (9.94, "9.9s"),
        (9.96, "10s"),
        (59.4, "59s"),
        (59.6, "1m00s"),
        (185, "3m05s"),
        (3599.6, "1h00m"),
        (7800, "2h10m"),
        (86_399.6, "1d00h"),
        (367_200, "4d06h"),
    ],
)
def test_spans_of_time(seconds: float, text: str) -> None:
    assert span(seconds) == text
    assert ahead(100, 100 + seconds) == f"in {text}"
    assert ahead(100 + seconds, 100) == f"{text} over"


def test_a_time_after_the_year_9999_is_its_end() -> None:
    assert iso(0.001) == "1970-01-01T00:00:00.001Z"
    assert iso(253_402_300_799) == iso(2**53) == "9999-12-31T23:59:59.000Z"
