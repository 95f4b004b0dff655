from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Task
from pyadeq.models.queue import Tier
from pyadeq.tiers import TIERS
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench


def put(bench: Workbench, id: str, **task: Any) -> None:
    bench.run(bench.calls.enqueue([(id, Task(payload=b"x", **task))], f"of {id}".replace(" ", "-")))


def tier(bench: Workbench, id: str) -> bytes | None:
    return bench.record(id).get("tier")


def test_a_task_has_its_own_tier_or_that_of_the_queue_at_its_enqueue(bench: Workbench) -> None:
    put(bench, "before")
    bench.run(bench.calls.configure(tier="confidential"))
    put(bench, "default")
    put(bench, "own", tier="internal")
    bench.run(bench.calls.configure(tier="internal"))
    assert [tier(bench, id) for id in ("before", "default", "own")] == [None, b"confidential", b"internal"]
    check_queue(bench)


def test_each_record_of_a_call_has_the_tier_once(bench: Workbench) -> None:
    bench.run(bench.calls.configure(tier="restricted"))
    client: Any = bench.client
    with client.monitor() as monitor:
        bench.run(bench.calls.enqueue([(f"t{number}", Task(payload=b"x")) for number in range(20)], "of-many"))
        client.echo("the end")
        said: list[str] = []
        while not said or said[-1] != "ECHO the end":
            said.append(monitor.next_command()["command"])
    written = [command for command in said if command.startswith("HSET") and ":task:t" in command]
    assert [command.count("restricted") for command in written] == [1] * 20


@pytest.mark.parametrize("first", TIERS)
@pytest.mark.parametrize("second", TIERS)
def test_a_payload_that_takes_the_place_of_another_keeps_the_stricter_tier(
    bench: Workbench, first: Tier, second: Tier
) -> None:
    put(bench, "a", scope="s", tier=first)
    put(bench, "b", scope="s", tier=second, coalesce="last")
    assert tier(bench, "a") == max(first, second, key=TIERS.index).encode()


def test_the_tier_of_the_queue_counts_where_a_payload_takes_the_place_of_another(bench: Workbench) -> None:
    put(bench, "a", scope="s")
    bench.run(bench.calls.configure(tier="restricted"))
    put(bench, "b", scope="s", coalesce="last")
    assert tier(bench, "a") == b"restricted"


@pytest.mark.parametrize("name", TIERS)
def test_the_event_of_a_dead_task_has_its_error_unless_it_is_restricted(bench: Workbench, name: str) -> None:
    (lease,) = bench.lease(1, tier=name)
    bench.run(bench.calls.fail([Failure(lease, b"secret", retryable=False)], [0]))
    (event,) = bench.events("task.dead")
    assert (b"secret" in event["payload"]) == (name != "restricted")
    assert bench.record(lease.id)["error"] == b"secret"


def test_a_reveal_is_an_event_that_names_who_looks(bench: Workbench) -> None:
    one, two = bench.fill(2)
    call = bench.calls.reveal([one, "unknown", two], "ann", "r")
    for _ in range(2):
        assert bench.run(call) == ["revealed", "not_found", "revealed"]
    (event,) = bench.events("task.revealed")
    assert (event["id"], event["payload"]) == (f"{one} {two}".encode(), b"actor=ann")


def test_nothing_is_said_of_tasks_that_there_are_not(bench: Workbench) -> None:
    assert bench.run(bench.calls.reveal(["unknown"], "ann", "r")) == ["not_found"]
    assert bench.events("task.revealed") == []
