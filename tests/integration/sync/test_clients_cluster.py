# Generated from tests/integration/aio/test_clients_cluster.py by pyadeq/_unasync.py; do not edit.
"""On a cluster each call goes to the node of its slot, wherever that is by now."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from redis import Redis, RedisCluster
from redis.exceptions import ResponseError

from pyadeq._core.kernel.durability import confirm
from pyadeq._core.kernel.manifest import library
from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import ClockError, ConfigError, TransportError
from pyadeq.keys import hash_slot, queue_base
from tests.conftest import CLUSTER
from tests.integration.servers import HOST, ThreePrimaries, ask, unused_port
from tests.waiting import DEADLINE, LONGEST_RETRY, wait_until

pytestmark = pytest.mark.skipif(CLUSTER, reason="these have servers of their own")


@pytest.fixture
def adeq(cluster: ThreePrimaries) -> Iterator[Adeq]:
    with Adeq.from_url(cluster.url, cluster=True) as adeq:
        assert adeq._retry_for == LONGEST_RETRY  # a failover takes longer than the 5 s of other clients
        yield adeq


@pytest.fixture
def names(cluster: ThreePrimaries, base_name: str) -> list[str]:
    """Three queues, one on each primary."""
    found: dict[EmbeddedServer, str] = {}
    for n in range(1000):
        name = f"{base_name}-{n}"
        found.setdefault(cluster.owner(queue_base(name)), name)
        if len(found) == len(cluster.primaries):
            return [found[node] for node in cluster.primaries]
    raise AssertionError


def config(name: str) -> str:
    return f"{queue_base(name)}:config"


def errors(node: EmbeddedServer, code: str) -> int:
    counts = ask(node, "INFO", "errorstats")
    return int(counts.get(f"errorstat_{code}", {}).get("count", 0))


def use(adeq: Adeq, name: str) -> None:
    """One task from end to end."""
    queue = adeq.queue(name)
    receipt = queue.enqueue({"for": name})
    (lease,) = queue.claim(wait=5)
    assert lease.id == receipt.id
    queue.ack(lease)
    assert (queue.stats()).finished == 1


def test_tasks_on_all_nodes_are_followed(adeq: Adeq, names: list[str]) -> None:
    for name in names:
        queue = adeq.queue(name)
        receipt = queue.enqueue(name, reply=True)
        states = []
        for update in receipt.updates(timeout=DEADLINE):
            states.append(update.state)
            if update.state == "ready":
                (lease,) = queue.claim("w1", 1)
                queue.progress(lease, 0.5)
            elif update.outcome is None:
                queue.ack(lease, "done")
        assert (states, update.result) == (["ready", "running", "completed"], "done")


class OwnCluster(RedisCluster):
    """A user's class."""


@pytest.mark.parametrize("options", [{}, {"decode_responses": True}, {"protocol": 2}, {"protocol": 3}], ids=str)
@pytest.mark.parametrize("kind", [RedisCluster, OwnCluster])
def test_every_kind_of_client_reaches_all_nodes(
    cluster: ThreePrimaries, names: list[str], kind: Any, options: dict[str, Any]
) -> None:
    with kind(**cluster.startup, **options) as client, Adeq(client) as adeq:
        for node, name in zip(cluster.primaries, names, strict=True):
            use(adeq, name)
            assert ask(node, "EXISTS", config(name)) == 1


def test_addresses_are_mapped_as_the_client_says(cluster: ThreePrimaries, names: list[str]) -> None:
    mapped = set()

    def remap(address: tuple[str, int]) -> tuple[str, int]:
        mapped.add(address[1])
        return (HOST, address[1])

    with RedisCluster(**cluster.startup, address_remap=remap) as client, Adeq(client) as adeq:
        mapped.clear()
        use(adeq, names[0])
    assert mapped == {node.port for node in cluster.nodes}


def test_a_pipeline_reaches_several_nodes(adeq: Adeq, names: list[str]) -> None:
    adeq.load_scripts()  # or the reading calls overtake the writing ones
    queues = [adeq.queue(name) for name in names]
    clock = Adeq(adeq.client, clock=lambda: 1)
    with adeq.pipeline() as pipe:
        added = [pipe.add(queues[n % 3].calls.enqueue_items([(f"t{n}", b"x", {})], "r")) for n in range(450)]
        wrong = pipe.add(clock.queue(names[1]).calls.stats())
        read = [pipe.add(queue.calls.stats()) for queue in queues]
    assert [one.value[0].id for one in added] == [f"t{n}" for n in range(450)]
    assert [one.value.ready for one in read] == [150] * 3
    with pytest.raises(ClockError):
        _ = wrong.value


def test_scripts_are_loaded_on_every_primary(cluster: ThreePrimaries, adeq: Adeq) -> None:
    sums = [library()[id].sha1 for id in library()]
    for node in cluster.nodes:
        ask(node, "SCRIPT", "FLUSH")
    assert adeq.load_scripts() == list(library())
    there = {node: all(ask(node, "SCRIPT EXISTS", *sums)) for node in cluster.primaries}
    assert all(there.values())


def test_a_script_is_loaded_on_the_node_that_lacks_it(
    cluster: ThreePrimaries, adeq: Adeq, names: list[str]
) -> None:
    for node in cluster.primaries:
        ask(node, "SCRIPT", "FLUSH")
    adeq.queue(names[2]).enqueue(1)
    (sum,) = [library()[id].sha1 for id in library() if id == "queue.enqueue.v1"]
    assert [ask(node, "SCRIPT EXISTS", sum)[0] for node in cluster.primaries] == [False, False, True]


def test_a_call_follows_its_slot(cluster: ThreePrimaries, adeq: Adeq, names: list[str]) -> None:
    queue = adeq.queue(names[0])
    queue.enqueue(1, id="a", rid="r")
    adeq._registering.close()  # the name is added, in the background
    source, target = cluster.move(config(names[0]))
    assert (queue.enqueue(1, id="a", rid="r")).status == "created"
    moved = errors(source, "MOVED")
    assert ask(target, "EXISTS", config(names[0])) == 1
    for _ in range(3):
        assert (queue.stats()).ready == 1
    assert errors(source, "MOVED") == moved


@pytest.mark.parametrize("writes", [True, False])
def test_a_call_waits_while_its_slot_is_on_its_way(
    cluster: ThreePrimaries, adeq: Adeq, names: list[str], writes: bool
) -> None:
    """It would find some keys of the queue here, and some there."""
    queue = adeq.queue(names[1])
    queue.enqueue(1, id="a", rid="r")
    source, target = cluster.begin_move(config(names[1]))
    refused = [errors(node, "TRYAGAIN") for node in (source, target)]

    def end() -> None:
        wait_until(lambda: [errors(node, "TRYAGAIN") for node in (source, target)] != refused)
        cluster.end_move(config(names[1]), source, target)

    with ThreadPoolExecutor() as other:
        ended = other.submit(end)
        if writes:
            assert [lease.id for lease in queue.claim()] == ["a"]
        else:
            assert [task.id for task in (queue.list("ready")).tasks] == ["a"]
        ended.result()


def test_a_call_asks_the_node_to_which_its_slot_is_on_its_way(
    cluster: ThreePrimaries, adeq: Adeq, names: list[str]
) -> None:
    """The new node refuses it, too, until the whole slot is there: it may have some keys of the queue only."""
    source, target = cluster.begin_move(config(names[2]))
    asked, refused = errors(source, "ASK"), errors(target, "TRYAGAIN")

    def end() -> None:
        wait_until(lambda: errors(target, "TRYAGAIN") > refused)
        cluster.end_move(config(names[2]), source, target)

    with ThreadPoolExecutor() as other:
        ended = other.submit(end)
        call = confirm(adeq.queue(names[2]).calls.stats(), 0)
        assert (adeq.send(call))[0] == b"confirmed"
        ended.result()
    assert errors(source, "ASK") > asked
    assert ask(target, "EXISTS", config(names[2])) == 1


@pytest.mark.parametrize("filled", [True, False])
def test_a_call_that_is_given_up_says_that_its_slot_is_moving(
    cluster: ThreePrimaries, names: list[str], filled: bool
) -> None:
    """With and without keys at the old node, which then says TRYAGAIN or ASK."""
    with Adeq.from_url(cluster.url, cluster=True, retry_for=0) as adeq:
        queue = adeq.queue(names[0])
        if filled:
            queue.enqueue(0)
        source, target = cluster.begin_move(config(names[0]))
        for call in (partial(queue.enqueue, 1), queue.stats, queue.claim):
            with pytest.raises(TransportError, match="the slot is being moved; the call was not applied") as refused:
                call()
            assert (refused.value.retryable, refused.value.may_have_applied) == (True, False)
        cluster.end_move(config(names[0]), source, target)
        assert (queue.stats()).ready == filled


def test_a_slot_that_moves_in_one_step(cluster: ThreePrimaries, adeq: Adeq, names: list[str]) -> None:
    queue = adeq.queue(names[0])
    queue.enqueue(0)
    source, slot = cluster.owner(queue.base), hash_slot(queue.base)
    target = next(node for node in cluster.primaries if node is not source)
    try:
        ask(source, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", cluster.ids[target])
    except ResponseError:
        pytest.skip("only Valkey from 9.0 on has CLUSTER MIGRATESLOTS")
    refused = [errors(node, "TRYAGAIN") for node in (source, target)]
    sent = 0
    while cluster.owner(queue.base) is source:
        sent += 1
        queue.enqueue(sent)
    assert (queue.stats()).ready == 1 + sent
    assert [errors(node, "TRYAGAIN") for node in (source, target)] == refused


def test_a_call_waits_for_its_slot_to_be_served(cluster: ThreePrimaries, adeq: Adeq, names: list[str]) -> None:
    adeq.queue(names[0]).enqueue(1, id="a", rid="r")
    node, slot = cluster.owner(config(names[0])), hash_slot(config(names[0]))
    ask(node, "CLUSTER", "DELSLOTS", slot)
    refused = errors(node, "CLUSTERDOWN")

    def serve() -> None:
        wait_until(lambda: errors(node, "CLUSTERDOWN") > refused)
        ask(node, "CLUSTER", "ADDSLOTS", slot)

    with ThreadPoolExecutor() as other:
        served = other.submit(serve)
        assert (adeq.queue(names[0]).enqueue(1, id="a", rid="r")).status == "created"
        served.result()


def test_a_block_is_at_the_node_of_its_queue(cluster: ThreePrimaries, adeq: Adeq, names: list[str]) -> None:
    for node, name in zip(cluster.primaries, names, strict=True):
        key = f"{queue_base(name)}:wake:any"
        assert not adeq.block([key], 0.01)
        ask(node, "RPUSH", key, "1")
        assert adeq.block([f"{queue_base(name)}:wake:group/g", key], 5)
    _, target = cluster.move(key)
    ask(target, "RPUSH", key, "1")
    assert not adeq.block([key], 0.01)
    assert adeq.block([key], 5)
    ask(target, "SET", key, "no list")
    with pytest.raises(TransportError, match="WRONGTYPE"):
        adeq.block([key], 5)


def test_a_primary_that_is_gone_is_replaced(binary: Any, base_name: str) -> None:
    with ThreePrimaries(binary) as cluster:
        with Adeq.from_url(cluster.url, cluster=True, retry_for=LONGEST_RETRY) as adeq:
            names = [f"{base_name}-{n}" for n in range(40)]
            lost = [name for name in names if cluster.owner(config(name)) is cluster.nodes[0]]
            queues = [adeq.queue(name) for name in names]
            for queue in queues:
                queue.enqueue(1, id="a", rid="r")
            wait_until(
                lambda: all(ask(cluster.replica, "CLUSTER COUNTKEYSINSLOT", hash_slot(config(name))) for name in lost)
            )
            cluster.nodes[0].kill()
            with adeq.pipeline() as pipe:
                again = [pipe.add(queue.calls.enqueue_items([("a", b"1", {})], "r")) for queue in queues]
            assert {one.value[0].status for one in again} == {"created"}
            assert lost
            # Each node hears of it in its own time.
            wait_until(lambda: {cluster.owner(config(name)) for name in lost} == {cluster.replica})
            # One whose node is known to be gone does not keep the others from being used.
            use(adeq, f"{base_name}-new")


def test_each_node_fails_by_itself(binary: Any, base_name: str) -> None:
    with ThreePrimaries(binary) as cluster:
        with Adeq.from_url(cluster.url, cluster=True, retry_for=0.1) as adeq:
            names = [f"{base_name}-{n}" for n in range(20)]
            gone = [cluster.owner(config(name)) is cluster.nodes[2] for name in names]
            assert 0 < sum(gone) < 20
            adeq.load_scripts()
            cluster.nodes[2].kill()
            pipe = adeq.pipeline()
            read = [pipe.add(adeq.queue(name).calls.stats()) for name in names]
            with pytest.raises(TransportError):
                pipe.execute()
            for one, lost in zip(read, gone, strict=True):
                if lost:
                    with pytest.raises(TransportError):
                        _ = one.value
                else:
                    assert one.value.ready == 0


def test_without_a_cluster_there_is_an_error(base_name: str) -> None:
    with pytest.raises(TransportError) as lost:
        with Adeq.from_url(f"redis://{HOST}:{unused_port()}", cluster=True, retry_for=0.1) as adeq:
            adeq.queue(base_name).stats()
    assert (lost.value.retryable, lost.value.may_have_applied) == (True, False)


def test_a_client_of_one_server_is_told_what_a_cluster_needs(cluster: ThreePrimaries, names: list[str]) -> None:
    with Redis(host=HOST, port=cluster.primaries[0].port or 0) as client, Adeq(client) as adeq:
        adeq.queue(names[0]).enqueue(1)
        with pytest.raises(TransportError, match="cluster=True") as moved:
            adeq.queue(names[1]).enqueue(1)
        assert not moved.value.retryable


def test_a_cluster_has_no_single_blocking_client(adeq: Adeq) -> None:
    with pytest.raises(ConfigError, match=r"block\(\)"):
        adeq.blocking_client()


def test_names_come_from_all_primaries(cluster: ThreePrimaries, names: list[str], base_name: str) -> None:
    with Adeq.from_url(cluster.url, cluster=True, prefix=base_name, retry_for=LONGEST_RETRY) as adeq:
        for name in names:
            adeq.queue(name).configure()
            adeq.locks(name).configure()
        adeq.partitioned("many").repartition(5)
        assert sorted([name for name in adeq.queues()]) == sorted([*names, "many"])
        assert sorted([name for name in adeq.lock_domains()]) == sorted(names)
        source, target = cluster.begin_move(queue_base(names[0], base_name))
        cluster.end_move(queue_base(names[0], base_name), source, target)
        assert sorted([name for name in adeq.queues()]) == sorted([*names, "many"])
