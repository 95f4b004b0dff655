"""Fair shares: users take turns, whatever each has in line."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from pyadeq.models import Lease, Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench

NUMBERS = count(1)


@pytest.fixture
def bench(bench: Workbench) -> Workbench:
    bench.run(bench.calls.configure(fair=True))
    return bench


def enqueue(bench: Workbench, users: str, **task: Any) -> list[str]:
    """A task of each user, who is one letter, `-` for nobody; ids are the letter and a number, which rises."""
    owners: list[dict[str, Any]] = [{} if user == "-" else {"user": user} for user in users]
    items = [
        (f"{user}{next(NUMBERS):06}", Task(payload=b"x", **own | task)) for user, own in zip(users, owners, strict=True)
    ]
    bench.run(bench.calls.enqueue(items, f"enqueue/{next(NUMBERS)}"))
    return [id for id, _ in items]


def take(bench: Workbench, most: int = 1000, *lanes: str) -> list[Lease]:
    return bench.claim(most, lanes=lanes or ("any",))


def turns(bench: Workbench, most: int = 1000, *lanes: str) -> str:
    """Whose tasks start now, in order."""
    return "".join(lease.id[0] for lease in take(bench, most, *lanes))


def weigh(bench: Workbench, rid: str = "w", /, **percents: int) -> None:
    bench.run(bench.calls.set_weights(list(percents.items()), rid))


# weights


@pytest.mark.parametrize("number", [1, 130, 700])
def test_pages_hold_every_weight(bench: Workbench, number: int) -> None:
    weights = {f"u{at}": 200 for at in range(number)}
    weigh(bench, **weights)
    found: dict[str, float] = {}
    cursor, pages = "", 0
    while True:
        page, cursor = bench.run(bench.calls.weights(cursor=cursor))
        found |= page
        pages += 1
        assert pages <= number
        if not cursor:
            break
    assert found == dict.fromkeys(weights, 2.0)


# what is left of an empty lane


def test_what_comes_after_such_shares_goes_last(bench: Workbench) -> None:
    bench.run(bench.calls.configure(fair=False))
    enqueue(bench, "ab")
    bench.run(bench.calls.configure(fair=True))
    bench.run(bench.calls.configure(fair=False))
    enqueue(bench, "c")
    bench.run(bench.calls.configure(fair=True))
    enqueue(bench, "d")
    assert turns(bench) == "abcd"
    check_queue(bench)
