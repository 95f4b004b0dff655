"""A server whose memory is full takes no new work, finishes what it has, and recovers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq import Adeq, Queue, Task, TransportError
from pyadeq.embedded import EmbeddedServer
from tests.audit import audit

MEGABYTE = 1024 * 1024


@pytest.fixture
def server(binary: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(binary=binary) as server:
        yield server


def fill(queue: Queue, taken: list[str]) -> None:
    """Put tasks in until the server takes no more."""
    tasks = (Task(payload=b"x" * 2_000, unique=f"key-{n}", user="ann", id=f"t{n}") for n in range(100_000))
    taken += (receipt.id for receipt in queue.enqueue_stream(tasks))


def test_a_full_server_works_off_what_it_has(server: EmbeddedServer) -> None:
    with Adeq.from_url(server.url, retry_for=0.5) as adeq:
        queue = adeq.queue("q")
        adeq.load_scripts()
        used = int(adeq.client.info("memory")["used_memory"])
        adeq.client.config_set("maxmemory", used + 8 * MEGABYTE)
        ids: list[str] = []
        with pytest.raises(TransportError, match="OOM") as refused:
            fill(queue, ids)
        assert refused.value.retryable
        taken = len(ids)
        assert taken > 500
        # A large call may be refused where a small one still fits: make sure that nothing does.
        adeq.client.config_set("maxmemory", used + 4 * MEGABYTE)
        with pytest.raises(TransportError, match="OOM"):
            queue.enqueue(b"x")

        # Every transition of the tasks that are there goes on, and so do reads.
        first, second, third, fourth = queue.claim("w", 4)
        queue.heartbeat(first)
        assert queue.ack_many([(first, b"y" * 4_096), (second, b"y" * 4_097)]) == ["completed", "result_dropped"]
        assert queue.ack_many([(second, b"y" * 4_097)]) == ["result_dropped"]
        assert queue.fail(third, "broken", retryable=False).status == "dead"
        assert queue.snooze(fourth, 3600).status == "snoozed"
        assert queue.cancel("t9") == "cancelled"
        assert [(task.result_data or b"")[:1] for task in queue.get_many([first.id, second.id]) if task] == [b"y", b""]
        with pytest.raises(TransportError, match="OOM"):
            queue.dead.retry(third.id)  # that would be new work
        while leases := queue.claim("w", 200):
            queue.leases.settle("w", acks=[(lease, None) for lease in leases])
        stats = queue.stats()
        assert (stats.ready, stats.delayed, stats.dead, stats.finished) == (0, 1, 1, taken - 2)
        assert audit(adeq.client, queue.base) == []

        # What has ended may go, and then there is room.
        assert queue.admin.purge(all=True) == taken
        adeq.client.config_set("maxmemory", used + 8 * MEGABYTE)
        assert queue.enqueue(b"x").status == "created"
        (lease,) = queue.claim("w")
        queue.ack(lease, b"y" * 5_000)
        task = queue.get(lease.id)
        assert task is not None
        assert task.result_data == b"y" * 5_000
