"""Paths of tasks with ordering keys, and of queues in partitions."""

from __future__ import annotations

from typing import Any

from pyadeq._core.queue.items import item
from pyadeq.models import Task
from pyadeq.models.schedule import Every
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import AnyCall, acks, fails, scenario, scenarios, sent, tasks

KEYED: dict[str, Any] = {"ordering_key": "k"}


def enqueue_by_map(bench: Workbench, n: int, epoch: int, *, moved: bool = False, **task: Any) -> AnyCall:
    items = [item(id, one) for id, one in tasks(n, **task)]
    return bench.calls.enqueue_items(items, "r", epoch=epoch, moved=moved)


# ordering keys


@scenario(1, 100)
def enqueue_with_an_ordering_key(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, **KEYED), "r")


@scenario(1)
def enqueue_behind_one_of_its_ordering_key(bench: Workbench, n: int) -> AnyCall:
    bench.lease(1, **KEYED)
    return bench.calls.enqueue(tasks(n, **KEYED), "r")


@scenario(1)
def enqueue_refused_an_ordering_key_and_after(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, **KEYED, after=bench.fill(1)), "r")


@scenario(1)
def enqueue_refused_an_ordering_key_and_gather(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, **KEYED, gather=1), "r")


@scenario(1)
def enqueue_refused_too_much_to_note(bench: Workbench, _: int) -> AnyCall:
    """8,016 tags, limits and others in one call."""
    return bench.calls.enqueue(tasks(501, tags=[f"{tag:x}" for tag in range(16)]), "r")


@scenario(1, 100)
def ack_of_an_ordering_key(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(bench.lease(n, ordering_key=lambda id: f"k-{id}"), b"result"))


@scenario(1)
def ack_of_one_that_another_of_its_ordering_key_follows(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, **KEYED)
    bench.fill(1, **KEYED)
    return bench.calls.ack(acks(leases, b"result"))


@scenario(1)
def fail_of_one_that_another_of_its_ordering_key_follows(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, **KEYED)
    bench.fill(1, **KEYED)
    return bench.calls.fail(**fails(leases, retryable=False))


@scenario(1)
def cancel_of_one_in_the_middle_of_its_ordering_key(bench: Workbench, _: int) -> AnyCall:
    ids = bench.fill(3, **KEYED)
    return bench.calls.cancel(ids[1:2], "r")


# partitions


scenarios(
    (1,),
    enqueue_of_an_epoch_that_nobody_knows_yet=lambda bench, n: enqueue_by_map(bench, n, 2),
    enqueue_moved_where_its_parent_is_not=lambda bench, n: enqueue_by_map(bench, n, 1, moved=True, parent="p"),
    enqueue_moved_without_anything_of_its_own=lambda bench, n: enqueue_by_map(bench, n, 1, moved=True),
    partition_conflict=lambda bench, n: bench.calls.partition(2, ["0-0"], "r"),
)


@scenario(1)
def enqueue_refused_of_an_epoch_that_is_over(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.partition(2, (), "e"))
    return enqueue_by_map(bench, n, 1)


@scenario(1, 100)
def enqueue_moved(bench: Workbench, n: int) -> AnyCall:
    return enqueue_by_map(bench, n, 1, moved=True, **KEYED)


@scenario(1)
def enqueue_moved_where_its_ordering_key_is(bench: Workbench, n: int) -> AnyCall:
    bench.lease(1, **KEYED)
    return enqueue_by_map(bench, n, 1, moved=True, **KEYED)


@scenario(1)
def enqueue_moved_where_its_parent_is(bench: Workbench, n: int) -> AnyCall:
    (parent,) = bench.fill(1)
    return enqueue_by_map(bench, n, 1, moved=True, parent=parent)


@scenario(1)
def enqueue_moved_where_an_earlier_one_is(bench: Workbench, n: int) -> AnyCall:
    return enqueue_by_map(bench, n, 1, moved=True, after=bench.fill(1))


@scenario(1)
def enqueue_moved_where_a_task_of_its_unique_key_is(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, unique="u")
    return enqueue_by_map(bench, n, 1, moved=True, unique="u")


@scenario(1, 16)
def partition_of_a_queue(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.partition(1, [f"{index}-0" for index in range(n)], "r")


@scenario(1)
def partition_of_a_queue_again(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.partition(1, [f"{index}-0" for index in range(n)], "r"))


@scenario(4)
def partition_of_a_queue_that_has_some(bench: Workbench, n: int) -> AnyCall:
    for epoch in (1, 2):
        bench.real(bench.calls.partition(epoch, ["0-0", "1-0"][:epoch], f"r{epoch}"))
    return bench.calls.partition(3, [f"{index}-0" for index in range(n)], "r")


@scenario(1)
def partition_and_settle(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.partition(1, ["0-0"], "r1"))
    return bench.calls.partition(2, ["0-0"], "r2", settle=True)


@scenario(0, clock="server")
def partition_of_a_queue_that_there_is_not(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.partition(1, ["0-0"], "r")


@scenario(0, clock="server")
def partition_without_any_where_nothing_is(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.partition(1, (), "r")


@scenario(0)
def partition_without_any_of_an_epoch_that_is_over(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.partition(3, (), "r1"))
    return bench.calls.partition(2, (), "r2")


# schedules


@scenario(0)
def put_schedule_refused_for_partitions_that_are_not_known(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.partition(2, (), "e"))
    return bench.calls.put_schedule("s", Every(60), Task(payload=b"x"), "r", bench.now / 1000, epoch=1)


@scenario(0)
def put_schedule_that_is_there_though_partitions_are_not_known(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.put_schedule("s", Every(60), Task(payload=b"x"), "r", bench.now / 1000))
    bench.real(bench.calls.partition(2, (), "e"))
    return bench.calls.put_schedule("s", Every(60), Task(payload=b"y"), "r2", bench.now / 1000)


@scenario(0)
def put_schedule_where_partitions_are_known(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.partition(2, (), "e"))
    return bench.calls.put_schedule("s", Every(60), Task(payload=b"x"), "r", bench.now / 1000, epoch=2)
