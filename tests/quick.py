"""What `make test` leaves out of a test that is not slow as a whole; `make test-slow` and CI run all of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

from tests.rotation import is_due, number_of

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")


def examples(usual: int, most: int) -> int:
    """How many random examples to try: an eighth of the usual in `make test`, the most in the profiles ci and soak."""
    return {"quick": max(1, usual // 8), "ci": most, "soak": most}.get(PROFILE, usual)


def slow_after(quick: int, values: Iterable[Any]) -> list[Any]:
    """Parameters for a test. All after the first ones are slow, because they show the same again."""
    return [
        pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=[pytest.mark.slow] * (number >= quick))
        for number, one in enumerate(values)
    ]


def is_quick(name: str, parts: int) -> bool:
    """Whether `make test` does what takes long for this case of a large family: for one case in so many."""
    return PROFILE != "quick" or is_due(number_of(name), parts, 0)
