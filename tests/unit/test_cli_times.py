"""Times as tables of locks tell them."""

import pytest

from pyadeq.ext.cli.lock_listing import ahead, span


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
