"""Calls that are joined, and divided into batches."""

from dataclasses import dataclass
from typing import Any

import pytest

from pyadeq import QueueCalls, Task
from pyadeq._core.kernel.call import MAX_ITEMS, Call
from pyadeq._core.kernel.joined import MAX_SIZE, batches, joined, parts
from pyadeq._core.queue.items import item, item_of
from pyadeq.errors import BadArgument, DurabilityError, QueueDraining, TransportError

CALLS = QueueCalls("ade:{queue:a}")
TASKS = [Task(payload=f"p{number}", user="ann" if number % 2 else None, tags=["x"]) for number in range(4)]


@dataclass
class Waiting:
    call: Call[Any]
    size: int = 10


def enqueue(number: int, base: str = "ade:{queue:a}", trace: str | None = None) -> Call[Any]:
    calls = QueueCalls(base, trace=lambda: trace)
    return calls.enqueue([(f"t{number}", TASKS[number])], f"r{number}")


def test_a_joined_call_is_the_call_of_all_items() -> None:
    call = joined([enqueue(number) for number in range(4)], "rid")
    same = CALLS.enqueue([(f"t{number}", TASKS[number]) for number in range(4)], "rid")
    assert (call.command(), call.packed()) == (same.command(), same.packed())


def test_only_calls_that_differ_in_rids_are_joined() -> None:
    base, trace = "ade:{queue:b}", "00-a-b-01"
    calls = [enqueue(0), enqueue(0, base), enqueue(1), enqueue(0, trace=trace), enqueue(2), enqueue(1, base)]
    found = batches([Waiting(call) for call in calls])
    assert [[one.call for one in batch] for batch in found] == [
        [calls[0], calls[2], calls[4]],
        [calls[1], calls[5]],
        [calls[3]],
    ]


def test_a_batch_is_within_the_limits_of_a_call() -> None:
    many = [Waiting(enqueue(0), 0)] * (MAX_ITEMS + 1)
    assert [len(batch) for batch in batches(many)] == [MAX_ITEMS, 1]
    large = [Waiting(enqueue(0), MAX_SIZE // 2)] * 3 + [Waiting(enqueue(0), MAX_SIZE * 2)]
    assert [len(batch) for batch in batches(large)] == [2, 1, 1]


def test_each_call_gets_its_part() -> None:
    assert parts([b"ok", 7, [[b"created"], [b"exists"]]], 2) == [
        [b"ok", 7, [[b"created"]]],
        [b"ok", 7, [[b"exists"]]],
    ]


def test_each_call_gets_an_error_of_its_own() -> None:
    draining = QueueDraining("ADEQ_DRAINING", "queue.enqueue.v1", "no")
    lost = TransportError("lost", retryable=True, may_have_applied=True)
    lost.__cause__ = OSError()
    for error in (draining, lost):
        copies = parts(error, 2)
        assert len({id(one) for one in [error, *copies]}) == 3
        assert [(type(one), str(one), vars(one)) for one in copies] == [(type(error), str(error), vars(error))] * 2
    assert [getattr(one, "__cause__", None) for one in parts(lost, 2)] == [lost.__cause__] * 2
    unconfirmed = parts(DurabilityError("on no disk", [b"ok", 7, [[b"created"], [b"exists"]]]), 2)
    assert [one.answer for one in unconfirmed if isinstance(one, DurabilityError)] == [
        [b"ok", 7, [[b"created"]]],
        [b"ok", 7, [[b"exists"]]],
    ]


def test_a_task_without_further_options_is_encoded_as_any_other() -> None:
    for kind, user in ((None, None), ("mail", None), (None, "ann"), ("mail", "ann")):
        assert item_of("t", {"n": 1}, {"kind": kind, "user": user}) == item(
            "t", Task(payload={"n": 1}, kind=kind, user=user)
        )


@pytest.mark.parametrize(("source", "rid", "named"), [(["ann"], "r", "source"), ("ann", "no spaces", "rid")])
def test_what_calls_have_in_common_is_checked_as_the_rest(source: Any, rid: str, named: str) -> None:
    with pytest.raises(BadArgument, match=f"{named}: "):
        QueueCalls("ade:{queue:a}", source=source).enqueue([("t", TASKS[0])], rid)
