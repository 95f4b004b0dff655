"""The sizes of the nouns in tests/nouns: their scenarios, of which the largest are to be as large as is legal."""

from __future__ import annotations

from tests.nouns import scenarios_of_nouns
from tests.nouns.found import NOUNS
from tests.nouns.scenario import SCENARIOS
from tests.nouns.scenarios import is_damaged
from tests.nouns.size import SIZES, Size

__all__ = ["scenarios_of_nouns"]

SIZES += [
    Size(one.name, one.prepare, one.items, one.noun, one.verb, usual=one.items <= 1)
    for one in SCENARIOS
    if one.noun in NOUNS and one.clock == "test" and not is_damaged(one)
]
