"""Tasks that wait for the ends of others."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Lease, Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import AnyCall
from tests.nouns.watched import Refused


def enqueueing(bench: Workbench, *items: tuple[str, dict[str, Any]], rid: str = "r") -> AnyCall:
    return bench.calls.enqueue([(id, Task(**{"payload": b"x", **fields})) for id, fields in items], rid)


def answers(bench: Workbench, call: AnyCall) -> list[str]:
    """To each item in a word or two, as the script says it."""
    return [b" ".join(item).decode() for item in bench.watched.call(call)[2]]


def enqueue(bench: Workbench, *items: tuple[str, dict[str, Any]], rid: str = "r") -> list[str]:
    return answers(bench, enqueueing(bench, *items, rid=rid))


def complete(bench: Workbench, *leases: Lease) -> None:
    assert bench.run(bench.calls.ack([(lease, None) for lease in leases])) == ["completed"] * len(leases)


def fail(bench: Workbench, *leases: Lease) -> None:
    failed = bench.run(bench.calls.fail([Failure(lease, retryable=False) for lease in leases], [0] * len(leases)))
    assert [one.status for one in failed] == ["dead"] * len(leases)


def awaits(bench: Workbench, id: str) -> int:
    return int(bench.record(id)["awaits"])


def unblocked(bench: Workbench) -> list[bytes]:
    return [event["id"] for event in bench.events("task.unblocked")]


def place(bench: Workbench, id: str, lane: str = "any") -> int:
    return int(bench.ask("ZSCORE", f":ready:{lane}", id))


# many


def test_a_failure_goes_down_a_chain_of_any_length(bench: Workbench) -> None:
    chain = [f"e{at:03}" for at in range(251)]
    enqueue(bench, *[(id, {"after": chain[at - 1 : at]} if at else {}) for at, id in enumerate(chain)])
    fail(bench, *bench.claim(1))
    dead = [bench.ask("ZCARD", ":dead")]
    while bench.ask("EXISTS", ":ends"):
        check_queue(bench)
        bench.sweep()
        dead.append(bench.ask("ZCARD", ":dead"))
    assert dead == [101, 200, 251]  # to look again whether somebody is left counts, too
    assert {bench.record(id)["reason"] for id in chain[1:]} == {b"after_failed"}
    assert bench.counters()["dead"] == 251
    assert bench.ask("EXISTS", ":blocked") == 0
    check_queue(bench)


# ids that are taken again


def test_the_end_of_another_task_of_that_id_is_nothing_to_those_who_wait_for_this_one(bench: Workbench) -> None:
    """The purge has noted an end of which nobody has heard yet."""
    enqueue(bench, ("a", {}), ("b", {"after": ["a"]}), rid="first")
    bench.run(bench.calls.purge())
    enqueue(bench, ("a", {}), ("b", {"after": ["a"]}), rid="second")
    check_queue(bench)
    bench.sweep()
    assert (bench.state("b"), bench.ready()) == ("blocked", ["a"])
    check_queue(bench)
    complete(bench, *bench.claim(1))
    assert bench.ready() == ["b"]


# damage


@pytest.mark.parametrize("what", ["after", "limits", "tags"])
def test_a_call_notes_8000_at_most(bench: Workbench, what: str) -> None:
    some = [f"{n}" for n in range(9)]
    items: list[tuple[str, dict[str, Any]]] = [(f"t-{n}", {what: some[:8]}) for n in range(999)]
    before = bench.dump()
    with pytest.raises(Refused, match=r"^ADEQ_ARG the tags, limits and after of a call must be at most 8000 in all"):
        enqueue(bench, *items, ("one", {"tags": some}))
    assert bench.dump() == before
    assert len(enqueue(bench, *items, ("one", {"tags": some[:8]}))) == 1000
