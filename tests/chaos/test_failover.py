"""A replica that takes over: what its primary had confirmed is there, and locks go on under higher fences."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq.asyncio import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import DurabilityError
from pyadeq.ext.prove.chaos.history import Op
from tests.chaos.disasters import Address, Play, connecting, fail_over, failover, promotion
from tests.chaos.load import LOADED, Load, judged
from tests.conftest import CLUSTER
from tests.integration.servers import ask, replica_of, replicates, start, stopped
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CLUSTER, reason="these have servers of their own")]


@pytest.fixture
def primary(binary: Path) -> Iterator[EmbeddedServer]:
    with start(binary, {}) as primary:
        yield primary


@pytest.fixture
def replica(binary: Path, primary: EmbeddedServer) -> Iterator[EmbeddedServer]:
    with replica_of(binary, primary) as replica:
        yield replica


@pytest.fixture
def address(primary: EmbeddedServer) -> Iterator[Address]:
    # A unix socket's path must be short, which pytest's tmp_path is not.
    with tempfile.TemporaryDirectory(prefix="adeq-") as folder:
        yield Address(Path(folder), primary)


@pytest.mark.parametrize("play", [promotion, failover], ids=["by-hand", "by-a-sentinel"])
async def test_a_replica_that_takes_over_has_all_that_was_confirmed(binary: Path, play: Play) -> None:
    """And clients go on by themselves."""
    with play(binary) as scene:
        async with Load(scene.connect, ("memory", "replica")) as clients:
            await clients.go_on(LOADED)
            await asyncio.to_thread(scene.strike)
            clients.recorder.mark(scene.kind)
            await clients.go_on()
            history = await clients.end()
    assert set(judged(history).lost) <= {"memory"}
    assert {op.durability for op in history.ops if op.outcome == "ok"} == {"memory", "replica"}


async def test_what_a_primary_answers_that_nobody_follows_any_more_is_lost(
    primary: EmbeddedServer, replica: EmbeddedServer, address: Address
) -> None:
    """It is told where that is asked for, and may be sent again. Locks go on under higher fences."""
    careful = Adeq.from_url(address.url, durability="replica", durability_timeout=0.1)
    async with Adeq.from_url(address.url) as adeq, careful:
        queue, careful_queue = adeq.queue("q"), careful.queue("q")
        await careful_queue.enqueue(1, id="confirmed", rid="confirmed")
        ask(replica, "REPLICAOF", "NO", "ONE")
        await queue.enqueue(1, id="answered", rid="answered")
        with pytest.raises(DurabilityError):
            await careful_queue.enqueue(1, id="refused", rid="refused")
        lost = await adeq.locks("d").take("r", owner="before")
        await asyncio.to_thread(fail_over, primary, replica, address)
        assert [task and task.id for task in await queue.get_many(["confirmed", "answered", "refused"])] == [
            "confirmed",
            None,
            None,
        ]
        await asyncio.to_thread(wait_until, lambda: replicates(primary))
        assert (await careful_queue.enqueue(1, id="confirmed", rid="confirmed")).status == "created"
        assert (await careful_queue.enqueue(1, id="refused", rid="refused")).status == "created"
        assert (await queue.stats()).ready == 2
        assert (await adeq.locks("d").take("r", owner="after")).fence > lost.fence


async def test_what_a_replica_lags_behind_with_is_sent_again_and_done_once(
    primary: EmbeddedServer, replica: EmbeddedServer, address: Address
) -> None:
    async with Load(connecting(address.url, durability_timeout=0.1), ("replica",)) as clients:
        await clients.go_on(LOADED)
        with stopped(replica):
            await clients.until(lambda: len(unconfirmed(clients)) > 10)
        await clients.go_on()
        history = await clients.end()
    assert judged(history).lost == {}
    again = {task["id"] for op in unconfirmed(clients) for task in op.asked["tasks"]}
    assert again
    # Each was confirmed in the end, in another call of the same rid, and done once: the rules look at that.
    assert again <= {id for op in history.ops if op.durability == "replica" for _, id in op.answer.get("receipts", ())}


def unconfirmed(clients: Load) -> list[Op]:
    return [op for op in clients.recorder.ops if op.verb == "enqueue" and op.durability == "memory"]
