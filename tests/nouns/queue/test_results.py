"""Results: kept as long as their tasks, for a time, or not at all; and a server whose memory is full."""

from __future__ import annotations

from typing import Any

import pytest

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


# a full server


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
