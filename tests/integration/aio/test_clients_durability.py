"""What is answered with `durability` is where it should be, also when the call was sent twice."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq._async.kernel import scripts
from pyadeq._core.kernel.manifest import library
from pyadeq.asyncio import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import ConfigError, DurabilityError, TransportError
from pyadeq.keys import queue_base
from tests.conftest import CLUSTER
from tests.integration.conftest import Proxy
from tests.integration.servers import ThreePrimaries, ask, replica_of, start, stopped
from tests.waiting import DEADLINE, wait_until

pytestmark = pytest.mark.skipif(CLUSTER, reason="these have servers of their own")
AOF: dict[str, Any] = {"durability": "aof", "durability_timeout": 30}
REPLICA: dict[str, Any] = {"durability": "replica", "durability_timeout": 30}
SHORT: dict[str, Any] = {"durability_timeout": 0.1}


@pytest.fixture(scope="module")
def primary(binary: Path) -> Iterator[EmbeddedServer]:
    with start(binary, {}) as primary:
        yield primary


@pytest.fixture(scope="module")
def replica(binary: Path, primary: EmbeddedServer) -> Iterator[EmbeddedServer]:
    with replica_of(binary, primary) as replica:
        yield replica


@pytest.fixture
def disk(primary: EmbeddedServer) -> Iterator[EmbeddedServer]:
    """The primary, if it can tell what is on its disk; it writes at once."""
    if not can_tell(primary):
        pytest.skip("this server has no WAITAOF")
    ask(primary, "CONFIG", "SET", "appendfsync", "always")
    yield primary
    ask(primary, "CONFIG", "SET", "appendfsync", "everysec")


@pytest.fixture
def lossy(primary: EmbeddedServer) -> Iterator[Proxy]:
    folder = Path(tempfile.mkdtemp(prefix="adeq-"))
    proxy = Proxy(folder, primary.socket_path)
    yield proxy
    proxy.close()
    shutil.rmtree(folder)


def can_tell(server: EmbeddedServer) -> bool:
    try:
        return bool(ask(server, "WAITAOF", 0, 0, 1))
    except redis.ResponseError:
        return False


def calls_of(server: EmbeddedServer, *commands: str) -> list[int]:
    counts = ask(server, "INFO", "commandstats")
    return [int(counts.get(f"cmdstat_{command}", {}).get("calls", 0)) for command in commands]


def config(name: str) -> str:
    return f"{queue_base(name)}:config"


async def test_by_default_nothing_is_waited_for(primary: EmbeddedServer, base_name: str) -> None:
    before = calls_of(primary, "wait", "waitaof")
    async with Adeq.from_url(primary.url) as adeq:
        await adeq.queue(base_name).enqueue(1)
    assert calls_of(primary, "wait", "waitaof") == before


async def written(adeq: Adeq, name: str) -> list[str]:
    """Write a change, a value of a service, a value of an application, and a task. Returns what was not confirmed."""
    unconfirmed = []
    for what, write in (
        ("change", lambda: adeq.changes(name).put("c1", type="deploy", description="d", actor="ann")),
        ("service", lambda: adeq.config(f"_{name}").set("a", b"1")),
        ("application", lambda: adeq.config(name).set("a", b"1")),
        ("task", lambda: adeq.queue(name).enqueue(1, id="a")),
    ):
        try:
            await write()
        except DurabilityError:
            unconfirmed.append(what)
    return unconfirmed


async def test_by_default_changes_and_tokens_are_on_a_replica(
    primary: EmbeddedServer, replica: EmbeddedServer, base_name: str
) -> None:
    async with Adeq.from_url(primary.url, **SHORT) as adeq, Adeq.from_url(primary.url, durability="memory") as careless:
        await adeq.load_scripts()
        with stopped(replica):
            assert await written(adeq, f"{base_name}-1") == ["change", "service"]
            assert await written(careless, f"{base_name}-2") == []
    async with Adeq.from_url(primary.url, **REPLICA | {"durability": None}) as adeq:
        await adeq.config("_tokens").set(base_name, b"1")
        assert ask(replica, "EXISTS", f"{adeq.config('_tokens').base}:value:{base_name}") == 1
        before = calls_of(primary, "wait")
        assert await written(adeq, base_name) == []
        assert calls_of(primary, "wait") == [before[0] + 2]
        assert [*adeq._scripts._followed] == [None], "the replicas are asked for once, and that is remembered"


async def test_in_a_pipeline_only_what_waits_is_unconfirmed(
    primary: EmbeddedServer, replica: EmbeddedServer, base_name: str
) -> None:
    async with Adeq.from_url(primary.url, **SHORT) as adeq:
        await adeq.load_scripts()
        pipe = adeq.pipeline()
        task = pipe.add(adeq.queue(base_name).calls.enqueue_items([("a", b"x", {})], "r"))
        value = pipe.add(adeq.config(f"_{base_name}").calls.build("set", item=[{"name": "a", "value": b"1"}]))
        with stopped(replica), pytest.raises(DurabilityError):
            await pipe.execute()
        assert task.value[0].status == "created"
        with pytest.raises(DurabilityError):
            _ = value.value


async def test_without_a_replica_nothing_is_waited_for(binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with start(binary, {}) as alone:
        async with Adeq.from_url(alone.url, **SHORT) as adeq:
            await adeq.load_scripts()
            assert await written(adeq, "a") == []
            assert calls_of(alone, "wait") == [0]
            monkeypatch.setattr(scripts, "REMEMBERED", 0.0)
            adeq._scripts._followed.clear()
            with replica_of(binary, alone) as replica:
                (before,) = calls_of(alone, "wait")
                await adeq.config("_b").set("a", b"1")
                assert calls_of(alone, "wait") == [before + 1], "a replica that came later is found"
                with stopped(replica):
                    assert await written(adeq, "c") == ["change", "service"]
            wait_until(lambda: ask(alone, "INFO", "replication")["connected_slaves"] == 0)
            assert await written(adeq, "d") == []


async def test_an_approval_survives_a_failover(binary: Path) -> None:
    with start(binary, {}) as primary, replica_of(binary, primary) as replica:
        async with Adeq.from_url(primary.url, durability_timeout=30) as adeq:
            for n in range(20):
                await adeq.config("_tokens").set(f"t{n}", b"1")
            primary.kill()
        ask(replica, "REPLICAOF", "NO", "ONE")
        async with Adeq.from_url(replica.url) as adeq:
            assert len(await adeq.config("_tokens").list()) == 20
            assert await adeq.config("_tokens").set("after", b"1"), "there is no other replica, so it does not wait"


async def test_a_user_who_may_not_ask_for_replicas_waits_for_none(
    primary: EmbeddedServer, replica: EmbeddedServer, base_name: str
) -> None:
    ask(primary, "ACL", "SETUSER", "blind", "on", ">secret", "~*", "&*", "+@all", "-info")
    async with Adeq.from_url(primary.url, username="blind", password="secret", **SHORT) as adeq:
        await adeq.load_scripts()
        with stopped(replica):
            assert await written(adeq, base_name) == []


async def the_name_is_added(adeq: Adeq) -> None:
    """The name of the queue is in the registry: a client adds it in the background, by a write of its own."""
    assert await adeq._registering._idle.wait(DEADLINE)


async def test_every_write_is_on_the_disk(disk: EmbeddedServer, base_name: str) -> None:
    async with Adeq.from_url(disk.url, **AOF) as adeq:
        queue = adeq.queue(base_name)
        await adeq.load_scripts()
        await queue.workers.register("w")
        await the_name_is_added(adeq)
        (before,) = calls_of(disk, "waitaof")
        await queue.enqueue(1)
        await queue.workers.register("w")
        (lease,) = await queue.claim("w", wait=5)
        await queue.ack(lease)
        assert calls_of(disk, "waitaof") == [before + 4]
        assert (await queue.stats()).finished == 1
        assert (await queue.get(lease.id)) is not None
        assert calls_of(disk, "waitaof") == [before + 4]


async def test_every_write_is_on_the_replica(primary: EmbeddedServer, replica: EmbeddedServer, base_name: str) -> None:
    async with Adeq.from_url(primary.url, **REPLICA) as adeq:
        await adeq.queue(base_name).enqueue(1, id="a")
        assert ask(replica, "EXISTS", f"{queue_base(base_name)}:task:a") == 1


async def test_a_disk_that_stands_still_is_told(disk: EmbeddedServer, base_name: str) -> None:
    ask(disk, "CONFIG", "SET", "appendfsync", "no")
    async with Adeq.from_url(disk.url, **AOF | SHORT) as adeq:
        with pytest.raises(DurabilityError, match=r"did not reach the primary's disk in 0\.1 s") as unconfirmed:
            await adeq.queue(base_name).enqueue(1, id="a", rid="r")
        assert unconfirmed.value.retryable
        assert unconfirmed.value.answer[0].status == "created"
        ask(disk, "CONFIG", "SET", "appendfsync", "always")
    async with Adeq.from_url(disk.url, **AOF) as adeq:
        assert (await adeq.queue(base_name).enqueue(1, id="a", rid="r")).status == "created"
        assert (await adeq.queue(base_name).stats()).ready == 1


async def test_a_replica_that_stands_still_is_told(
    primary: EmbeddedServer, replica: EmbeddedServer, base_name: str
) -> None:
    async with Adeq.from_url(primary.url, **REPLICA | SHORT) as adeq, Adeq.from_url(primary.url, **REPLICA) as patient:
        queue, patient_queue = adeq.queue(base_name), patient.queue(base_name)
        with stopped(replica):
            with pytest.raises(DurabilityError, match=r"0 of 1 replicas have it after 0\.1 s"):
                await queue.enqueue(1, id="a", rid="r")
            assert await queue.workers.register("v") == "v"  # made again where it is lost
            with pytest.raises(DurabilityError) as failed:
                await queue.cancel("a")
        assert failed.value.answer == ["cancelled"]
        assert (await patient_queue.enqueue(1, id="a", rid="r")).status == "created"
        assert await patient_queue.cancel("a") == "cancelled"


async def test_more_replicas_than_there_are_never_confirm(
    primary: EmbeddedServer, replica: EmbeddedServer, base_name: str
) -> None:
    async with Adeq.from_url(primary.url, **REPLICA | SHORT, replicas=2) as adeq:
        with pytest.raises(DurabilityError, match="1 of 2 replicas"):
            await adeq.queue(base_name).enqueue(1)


async def test_a_call_whose_reply_was_lost_is_confirmed_again(
    lossy: Proxy, primary: EmbeddedServer, replica: EmbeddedServer, base_name: str
) -> None:
    async with Adeq.from_url(lossy.url, **REPLICA | SHORT) as adeq:
        await adeq.load_scripts()
        with stopped(replica):
            lossy.lose = 1
            # The first send ran; the second one, on another connection, found nothing left to write.
            with pytest.raises(DurabilityError) as unconfirmed:
                await adeq.queue(base_name).enqueue(1, id="a", rid="r")
            assert (lossy.lost, unconfirmed.value.answer[0].status) == (1, "created")
            with redis.Redis.from_url(primary.url) as other:
                # Without a write of its own that connection would have been told that all is well, since 7.2.
                assert other.wait(1, 100) == int(can_tell(primary))
    async with Adeq.from_url(primary.url, **REPLICA) as adeq:
        assert (await adeq.queue(base_name).enqueue(1, id="a", rid="r")).status == "created"


async def test_a_connection_that_is_lost_while_it_waits_sends_again(
    lossy: Proxy, primary: EmbeddedServer, replica: EmbeddedServer, base_name: str
) -> None:
    async with Adeq.from_url(lossy.url, **REPLICA, retry_for=0) as adeq:
        await adeq.queue(base_name).stats()
        await adeq.load_scripts()
        lossy.lose = 1
        with pytest.raises(TransportError, match="may have been applied"):
            await adeq.queue(base_name).enqueue(1, id="a", rid="r")
        assert (await adeq.queue(base_name).enqueue(1, id="a", rid="r")).status == "created"


async def test_a_pipeline_confirms_once_for_each_base(
    primary: EmbeddedServer, replica: EmbeddedServer, base_name: str
) -> None:
    async with Adeq.from_url(primary.url, **REPLICA) as adeq:
        await adeq.load_scripts()
        queues = [adeq.queue(f"{base_name}-{n}") for n in range(3)]
        for queue in queues:
            await queue.configure()
        await the_name_is_added(adeq)
        before = calls_of(primary, "wait", "evalsha")
        async with adeq.pipeline() as pipe:
            added = [pipe.add(queues[n % 3].calls.enqueue_items([(f"t{n}", b"x", {})], "r")) for n in range(90)]
            read = [pipe.add(queue.calls.stats()) for queue in queues]
        assert calls_of(primary, "wait", "evalsha") == [before[0] + 1, before[1] + 93]
    assert [one.value[0].status for one in added] == ["created"] * 90
    assert [one.value.ready for one in read] == [30] * 3


async def test_a_pipeline_tells_what_is_not_confirmed(
    primary: EmbeddedServer, replica: EmbeddedServer, base_name: str
) -> None:
    async with Adeq.from_url(primary.url, **REPLICA | SHORT) as adeq:
        await adeq.load_scripts()  # or the reading call overtakes the writing one
        queue = adeq.queue(base_name)
        pipe = adeq.pipeline()
        added = pipe.add(queue.calls.enqueue_items([("a", b"x", {})], "r"))
        read = pipe.add(queue.calls.stats())
        with stopped(replica), pytest.raises(DurabilityError):
            await pipe.execute()
        assert read.value.ready == 1
        with pytest.raises(DurabilityError) as unconfirmed:
            _ = added.value
        assert unconfirmed.value.answer[0].status == "created"


async def test_a_server_that_lacks_only_the_confirming_script(
    primary: EmbeddedServer, replica: EmbeddedServer, base_name: str
) -> None:
    ask(primary, "SCRIPT", "FLUSH")
    ask(primary, "SCRIPT", "LOAD", library()["queue.enqueue.v1"].text)
    async with Adeq.from_url(primary.url, **REPLICA) as adeq:
        assert (await adeq.queue(base_name).enqueue(1)).status == "created"
    assert ask(primary, "HEXISTS", config(base_name), "confirmed_ms")


async def test_a_queue_with_a_clock_of_its_own(
    primary: EmbeddedServer, replica: EmbeddedServer, base_name: str
) -> None:
    async with Adeq.from_url(primary.url, **REPLICA, clock=lambda: 1000) as adeq:
        await adeq.queue(base_name).configure(clock="test")
        await adeq.queue(base_name).enqueue(1)
    assert ask(primary, "HGET", config(base_name), "confirmed_ms") == "1000"


async def test_a_disk_that_is_not_written_is_refused_before_anything_runs(disk: EmbeddedServer, base_name: str) -> None:
    ask(disk, "CONFIG", "SET", "appendonly", "no")
    try:
        async with Adeq.from_url(disk.url, **AOF) as adeq:
            with pytest.raises(ConfigError, match="append-only file is off"):
                await adeq.queue(base_name).enqueue(1)
            assert not ask(disk, "EXISTS", config(base_name))
            assert (await adeq.queue(base_name).stats()).ready == 0
    finally:
        ask(disk, "CONFIG", "SET", "appendonly", "yes")
        wait_until(lambda: ask(disk, "INFO", "persistence")["aof_rewrite_in_progress"] == 0)


async def test_a_server_that_confirms_before_its_disk_does_is_refused(disk: EmbeddedServer, base_name: str) -> None:
    ask(disk, "CONFIG", "SET", "appendfsync", "everysec")
    if not confirms_early(disk):
        pytest.skip("this server confirms when its disk does")
    ask(disk, "ACL", "SETUSER", "uninformed", "on", ">secret", "~*", "+@all", "-config")
    async with Adeq.from_url(disk.url, **AOF) as adeq:
        with pytest.raises(ConfigError, match="set appendfsync always"):
            await adeq.queue(base_name).enqueue(1)
        assert not ask(disk, "EXISTS", config(base_name))
        ask(disk, "CONFIG", "SET", "appendfsync", "always")
        assert (await adeq.queue(base_name).enqueue(1)).status == "created"
    ask(disk, "CONFIG", "SET", "appendfsync", "everysec")
    async with Adeq.from_url(disk.url, username="uninformed", password="secret", **AOF) as adeq:
        assert (await adeq.queue(base_name).enqueue(1)).status == "created"


def confirms_early(server: EmbeddedServer) -> bool:
    return "valkey" in server.engine or int(server.engine.split()[1].split(".")[0]) < 8


async def test_another_server_behind_the_same_address_is_asked_again(
    disk: EmbeddedServer, lossy: Proxy, base_name: str
) -> None:
    async with Adeq.from_url(lossy.url, **AOF) as adeq:
        await adeq.queue(base_name).enqueue(1)
        await the_name_is_added(adeq)
        ask(disk, "CONFIG", "SET", "appendonly", "no")
        try:
            lossy.lose = 1
            with pytest.raises(ConfigError, match="append-only file is off"):
                await adeq.queue(base_name).enqueue(2)
        finally:
            ask(disk, "CONFIG", "SET", "appendonly", "yes")
            wait_until(lambda: ask(disk, "INFO", "persistence")["aof_rewrite_in_progress"] == 0)


async def test_where_the_question_is_lost_nothing_runs(disk: EmbeddedServer, lossy: Proxy, base_name: str) -> None:
    async with Adeq.from_url(lossy.url, retry_for=0, **AOF) as adeq:
        lossy.lose = 1
        with pytest.raises(TransportError) as lost:
            await adeq.queue(base_name).enqueue(1)
        assert not lost.value.may_have_applied
        assert not ask(disk, "EXISTS", config(base_name))
        assert (await adeq.queue(base_name).enqueue(1)).status == "created"


async def test_a_disk_that_is_given_up_later_is_told(disk: EmbeddedServer, base_name: str) -> None:
    async with Adeq.from_url(disk.url, **AOF) as adeq:
        await adeq.queue(base_name).enqueue(1)
        ask(disk, "CONFIG", "SET", "appendonly", "no")
        try:
            with pytest.raises(DurabilityError, match="refused to wait"):
                await adeq.queue(base_name).enqueue(2)
        finally:
            ask(disk, "CONFIG", "SET", "appendonly", "yes")
            wait_until(lambda: ask(disk, "INFO", "persistence")["aof_rewrite_in_progress"] == 0)


async def test_a_server_that_cannot_tell_is_refused(primary: EmbeddedServer, base_name: str) -> None:
    if can_tell(primary):
        pytest.skip("this server has WAITAOF")
    async with Adeq.from_url(primary.url, **AOF) as adeq:
        with pytest.raises(ConfigError, match="has no WAITAOF"):
            await adeq.queue(base_name).enqueue(1)
        assert not ask(primary, "EXISTS", config(base_name))


async def test_a_user_who_may_not_ask_is_taken_at_their_word(disk: EmbeddedServer, base_name: str) -> None:
    ask(disk, "ACL", "SETUSER", "modest", "on", ">secret", "~*", "+@all", "-info", "-command")
    async with Adeq.from_url(disk.url, username="modest", password="secret", **AOF) as adeq:
        assert (await adeq.queue(base_name).enqueue(1)).status == "created"


@pytest.mark.parametrize("protocol", [2, 3])
async def test_with_either_protocol(disk: EmbeddedServer, base_name: str, protocol: int) -> None:
    async with Adeq.from_url(disk.url, protocol=protocol, **AOF) as adeq:
        assert (await adeq.queue(base_name).enqueue(1)).status == "created"
    ask(disk, "CONFIG", "SET", "appendfsync", "no")
    async with Adeq.from_url(disk.url, protocol=protocol, **AOF | SHORT) as adeq:
        with pytest.raises(DurabilityError):
            await adeq.queue(base_name).enqueue(1)


@pytest.mark.slow
async def test_on_a_cluster_each_primary_has_its_own(cluster: ThreePrimaries, base_name: str) -> None:
    async with Adeq.from_url(cluster.url, cluster=True, **REPLICA | {"durability_timeout": 1}) as adeq:
        names = [f"{base_name}-{n}" for n in range(20)]
        replicated = [cluster.owner(config(name)) is cluster.nodes[0] for name in names]
        pipe = adeq.pipeline()
        added = [pipe.add(adeq.queue(name).calls.enqueue_items([("a", b"x", {})], "r")) for name in names]
        with pytest.raises(DurabilityError):
            await pipe.execute()
        assert 0 < sum(replicated) < 20
        for one, confirmed in zip(added, replicated, strict=True):
            if confirmed:
                assert one.value[0].status == "created"
            else:
                with pytest.raises(DurabilityError):
                    _ = one.value


@pytest.mark.parametrize(
    "wrong",
    [
        {"durability": "disk"},
        {"replicas": 0},
        {"replicas": True},
        {"durability_timeout": 0},
        {"durability_timeout": 46},
    ],
    ids=str,
)
async def test_what_cannot_work_is_refused(primary: EmbeddedServer, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"^{next(iter(wrong))}: .* allowed: "):
        Adeq.from_url(primary.url, **wrong)


async def test_what_many_calls_answered_is_all_told(primary: EmbeddedServer, base_name: str) -> None:
    """No replica is there: none of the calls is confirmed, and all of them are made."""
    options: dict[str, Any] = {"durability": "replica", "replicas": 9, **SHORT}
    async with Adeq.from_url(primary.url, **options) as adeq:
        queue = adeq.queue(base_name)
        with pytest.raises(DurabilityError) as unconfirmed:
            await queue.enqueue_many(range(2_500))
    assert len(unconfirmed.value.answer) == 2_500
    async with Adeq.from_url(primary.url) as adeq:
        assert (await adeq.queue(base_name).stats()).ready == 2_500
