"""Results: kept as long as their tasks, for a time, or not at all; and a server whose memory is full."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from pyadeq._core.queue.items import Failure
from pyadeq.models import Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench


def ack(bench: Workbench, result: bytes = b"result", **task: Any) -> str:
    (lease,) = bench.lease(1, **task)
    assert bench.run(bench.calls.ack([(lease, result)])) == ["completed"]
    return lease.id


def shown(bench: Workbench, id: str) -> bytes | None:
    (view,) = bench.run(bench.calls.get([id]))
    return view.result_data if view else None


SECONDS = [(None, None), (None, 60), (60, None), (60, 5), (5, 60), (0, None), (None, 0), (60, 0), (0, 60)]


@pytest.mark.parametrize(("queues", "own"), SECONDS)
def test_a_result_is_kept_as_the_task_or_else_the_queue_says(
    bench: Workbench, queues: float | None, own: float | None
) -> None:
    if queues is not None:
        bench.real(bench.calls.configure(result_ttl=queues))
    id = ack(bench, result_ttl=own)
    seconds = queues if own is None else own
    assert shown(bench, id) == (b"" if seconds == 0 else b"result")
    assert bench.ask("EXISTS", f":result:{id}") == (seconds != 0)
    assert bench.ask("PTTL", f":result:{id}") <= (max(2000 * seconds, 60_000) if seconds else -1)
    if seconds:
        bench.pass_time(round(seconds * 1000) - 1)
        assert shown(bench, id) == b"result"
        bench.pass_time(1)
        assert shown(bench, id) == b""
    bench.pass_time(86_400_000)
    assert shown(bench, id) == (b"result" if seconds is None else b"")
    assert bench.state(id) == "completed"


def test_the_server_deletes_what_is_no_longer_shown(bench: Workbench) -> None:
    id = ack(bench, result_ttl=30)
    assert 55_000 < bench.ask("PTTL", f":result:{id}") <= 60_000


@pytest.mark.parametrize("own", [None, 60])
def test_a_result_goes_with_its_task(bench: Workbench, own: float | None) -> None:
    id = ack(bench, result_ttl=own)
    bench.real(bench.calls.configure(finished_max=0))
    bench.run(bench.calls.trim())
    assert bench.ask("EXISTS", f":result:{id}") == 0


def test_an_empty_result_is_none(bench: Workbench) -> None:
    id = ack(bench, b"", result_ttl=60)
    assert bench.ask("EXISTS", f":result:{id}") == 0
    assert "result_until_ms" not in bench.record(id)


def test_each_result_of_a_call_is_kept_in_its_own_way(bench: Workbench) -> None:
    leases = bench.lease(1) + bench.lease(1, result_ttl=0) + bench.lease(1, result_ttl=60)
    bench.run(bench.calls.settle("w", "i", 0, 99, acks=[(lease, lease.id.encode()) for lease in leases]))
    assert [shown(bench, lease.id) for lease in leases] == [leases[0].id.encode(), b"", leases[2].id.encode()]


# payloads


@pytest.mark.parametrize("seconds", [None, 0, 60])
def test_a_completed_task_keeps_its_payload_as_the_queue_says(bench: Workbench, seconds: float | None) -> None:
    if seconds is not None:
        bench.real(bench.calls.configure(payload_ttl=seconds))
    leases = bench.lease(3)
    bench.run(bench.calls.settle("w", "i", 0, 99, acks=[(lease, b"done") for lease in leases[:2]]))
    bench.run(bench.calls.fail([Failure(leases[2], retryable=False)], [0]))
    for lease in leases[:2]:
        ttl = bench.ask("PTTL", f":payload:{lease.id}")
        assert 55_000 < ttl <= 60_000 if seconds else ttl == (-1 if seconds is None else -2)
        (view,) = bench.run(bench.calls.get([lease.id]))
        assert view
        assert (view.state, view.data, view.result_data) == ("completed", b"" if seconds == 0 else lease.data, b"done")
    assert bench.ask("PTTL", f":payload:{leases[2].id}") == -1  # a dead one may be retried


def test_an_ack_is_repeated_though_the_payload_is_gone(bench: Workbench) -> None:
    bench.real(bench.calls.configure(payload_ttl=0))
    (lease,) = bench.lease(1)
    call = bench.calls.ack([(lease, b"done")])
    assert bench.run(call) == bench.run(call) == ["completed"]
    assert [one.kind for one in bench.run(bench.calls.repair([lease.id])).tasks] == [None]


# a full server


@pytest.fixture
def full(bench: Workbench) -> Workbench:
    """A queue with five leases of w and five tasks in line, on a server that is full."""
    bench.fill(10)
    bench.claim(5)
    bench.full()
    return bench


def leases(bench: Workbench) -> list[tuple[str, str]]:
    """Ids and tokens."""
    flat = bench.ask("HGETALL", ":running")
    found = {id.decode(): entry.decode().split()[0] for id, entry in zip(flat[::2], flat[1::2], strict=True)}
    return sorted(found.items())


def test_a_full_server_takes_no_new_work(full: Workbench) -> None:
    before = full.dump()
    calls = [
        full.calls.enqueue([("new", Task(payload=b"x"))], "r"),
        full.calls.configure(lease=10),
        full.calls.retry(["x"], "r"),
    ]
    for call in calls:
        with pytest.raises(redis.exceptions.OutOfMemoryError):
            full.real(call)
    assert full.dump() == before


@pytest.mark.parametrize(("size", "kept"), [(0, True), (4096, True), (4097, False), (2**20, False)])
@pytest.mark.parametrize("own", [None, 60])
def test_a_large_result_is_dropped_and_the_outcome_is_kept(
    bench: Workbench, size: int, kept: bool, own: float | None
) -> None:
    (lease,) = bench.lease(1, result_ttl=own)
    bench.full()
    call = bench.calls.ack([(lease, b"x" * size)])
    status = "completed" if kept else "result_dropped"
    assert bench.run(call) == [status]
    assert bench.state(lease.id) == "completed"
    assert bench.ask("STRLEN", f":result:{lease.id}") == size * kept
    assert "result_until_ms" not in bench.record(lease.id) or kept
    assert bench.run(call) == [status]
    bench.full(False)
    assert bench.run(call) == [status]
    check_queue(bench)


@pytest.mark.parametrize(("size", "told"), [(4096, b"completed"), (4097, b"result_dropped")])
def test_who_waits_for_a_result_is_told_that_it_was_dropped(bench: Workbench, size: int, told: bytes) -> None:
    (lease,) = bench.lease(1, reply=True)
    bench.full()
    bench.run(bench.calls.ack([(lease, b"x" * size)]))
    how, _, value = bench.ask("GET", f":reply:{lease.id}").partition(b"\n")
    assert (how.split()[1], len(value)) == (told, 4096 if told == b"completed" else 0)


def test_a_result_that_would_not_be_kept_anyway_is_not_dropped(bench: Workbench) -> None:
    (lease,) = bench.lease(1, result_ttl=0)
    bench.full()
    assert bench.run(bench.calls.ack([(lease, b"x" * 5000)])) == ["completed"]


def test_settle_drops_large_results_too_and_goes_on(full: Workbench) -> None:
    one, two, three, *_ = leases(full)
    settled = full.run(
        full.calls.settle(
            "w", "i", 0, 99, acks=[(one, b"x" * 5000), (two, b"small")], fails=[Failure(three)], jitters=[0], limit=2
        )
    )
    assert settled.acks == ["result_dropped", "completed"]
    assert len(settled.claimed.leases) == 2
    check_queue(full)


def test_a_full_server_is_drained_by_all_that_ends_tasks_and_then_recovers(full: Workbench) -> None:
    one, two, three, four, five = leases(full)
    assert full.real(full.calls.register("v", "j")) == "registered"
    assert full.real(full.calls.heartbeat([one], worker="w")).renewals[0].status == "renewed"
    assert full.real(full.calls.ack([(one, b"small")])) == ["completed"]
    assert full.real(full.calls.fail([Failure(two)], [0]))[0].status == "retried"
    assert full.real(full.calls.release([three])) == ["released"]
    assert full.real(full.calls.snooze([(four, 1)]))[0].status == "snoozed"
    assert full.real(full.calls.cancel([five[0]])) == ["cancelling"]
    full.pass_time(20_000)
    assert full.real(full.calls.reap()) == 1
    assert full.real(full.calls.promote()) == 2
    assert full.real(full.calls.expire()) == 0
    for verb in ("pause", "drain", "resume"):
        assert full.real(getattr(full.calls, verb)()) == "ok"
    assert full.real(full.calls.stats()).ready == 8
    assert len(full.real(full.calls.claim("v", "j", 0, 1)).leases) == 8
    assert full.real(full.calls.purge(all=True)) == (2, False)
    assert full.real(full.calls.trim()) == (0, False)
    assert full.real(full.calls.abandon(["x"])) == ["not_found"]
    assert full.real(full.calls.deregister("v", "j")) == "deregistered"
    check_queue(full)
    full.full(False)
    assert full.fill(1)


def test_whether_the_server_is_full_is_not_told_to_everybody(bench: Workbench) -> None:
    """As below, with the script under watch."""
    (lease,) = bench.lease(1)
    bench.server("ACL", "SETUSER", "plain", "on", "nopass", "~*", "&*", "+@all", "-info")
    bench.server("AUTH", "plain", "")
    try:
        assert bench.run(bench.calls.ack([(lease, b"x" * 5000)])) == ["completed"]
    finally:
        bench.server("AUTH", "default", "")
        bench.server("ACL", "DELUSER", "plain")
    assert shown(bench, lease.id) == b"x" * 5000


def test_who_may_not_ask_how_full_the_server_is_has_results_kept(bench: Workbench, client: redis.Redis) -> None:
    (lease,) = bench.lease(1)
    user = bench.base.encode().hex()
    call = bench.calls.ack([(lease, b"x" * 5000)])
    bench.real(bench.calls.ack([((lease.id, "other"), None)]))
    bench.server("ACL", "SETUSER", user, "on", "nopass", "~*", "&*", "+@all", "-info")
    with client.client() as connection:  # type: ignore[no-untyped-call]
        try:
            connection.execute_command("AUTH", user, "x")
            reply: Any = connection.execute_command(*call.command())
            assert call.decode(reply) == ["completed"]
        finally:
            bench.server("ACL", "DELUSER", user)
            client.connection_pool.disconnect()
    assert shown(bench, lease.id) == b"x" * 5000
