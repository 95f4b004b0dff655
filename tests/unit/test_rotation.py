"""With DAY set, CI leaves long tests to other days. Within some days each of them runs."""

from __future__ import annotations

from itertools import product

import pytest

from tests.mutation.by_hand import BY_HAND, by_hand
from tests.mutation.operators import mutants
from tests.nouns import sources
from tests.rotation import SLOW, is_due, is_test_due, number_of

TODAY = 20_000


class Item:
    """As much of a test as the rotation looks at."""

    def __init__(self, nodeid: str, *marks: pytest.Mark) -> None:
        self.nodeid = nodeid
        self._marks = {mark.name: mark for mark in marks}

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self._marks.get(name)


def days_of(item: object, days: int) -> list[int]:
    """The days, from today on, on which a test runs."""
    return [day for day in range(days) if is_test_due(item, TODAY + day)]  # type: ignore[arg-type]


def test_without_a_day_everything_runs() -> None:
    assert all(is_due(part, parts, None) for part, parts in product(range(9), range(1, 9)))


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 20])
def test_each_part_runs_once_in_as_many_days_as_there_are_parts(parts: int) -> None:
    for part in range(2 * parts):
        assert sum(is_due(part, parts, TODAY + day) for day in range(parts)) == 1


def test_within_three_days_each_slow_test_runs_once_and_a_quick_one_always() -> None:
    slow = [Item(f"tests/test_x.py::test[{n}]", pytest.mark.slow.mark) for n in range(300)]
    assert all(len(days_of(item, SLOW)) == 1 for item in slow)
    assert all(80 < sum(days_of(item, SLOW) == [day] for item in slow) < 120 for day in range(SLOW))
    assert days_of(Item("tests/test_x.py::test"), SLOW) == [0, 1, 2]


def test_within_four_days_each_language_runs() -> None:
    languages = [Item("tests/embedding/test_x.py::test", pytest.mark.rotates(part, 4).mark) for part in range(4)]
    assert sorted(day for item in languages for day in days_of(item, 4)) == [0, 1, 2, 3]


@pytest.mark.slow
def test_within_twenty_days_each_mutant_runs() -> None:
    some = [one for path in sources.paths()[:20] for one in mutants(path, sources.text_of(path))]
    assert len(some) > 200
    names = [one.name for day in range(20) for one in some if is_due(one.lot, 20, TODAY + day)]
    assert sorted(names) == sorted(one.name for one in some)
    assert some[0].lot == number_of(some[0].name)


def test_each_mutant_by_hand_has_its_source() -> None:
    for source, texts in BY_HAND.items():
        assert len([*by_hand(source, sources.text_of(source))]) == len(texts)
