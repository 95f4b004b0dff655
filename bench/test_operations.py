"""Each operation alone, as a program waits for it: the round trip, and Python's part on either side.

    make bench, or python -m pytest bench/test_operations.py

Operations stand in groups, each beside the bare commands that nothing can be faster than; the figures in brackets are
how many times that they take. A round is one operation, on state that no other round has used. Private server, unix
socket, append-only file flushed every second, 200-byte payloads.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Protocol, TypeVar

import pytest
import redis
from pytest_benchmark.fixture import BenchmarkFixture

from pyadeq import Adeq, Backoff, EmbeddedServer, Every, Lease, Locks, Queue, Task
from pyadeq.ids import new_ulid

T = TypeVar("T")
PAYLOAD = b"x" * 200
TASKS = [Task(payload=PAYLOAD)] * 100
ONE, HUNDRED, LOCK, MESSAGE = "1: one task", "2: a hundred tasks", "3: a lock", "4: a message"
ROUNDS = {ONE: 1000, HUNDRED: 200, LOCK: 1000, MESSAGE: 1000}
WARM_UP = 20
LEASE = 3600.0
WORKER = "bench"
DELETE_MINE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"

one, hundred, lock, message = (pytest.mark.benchmark(group=name) for name in ROUNDS)
numbers = count(1)


class Measure(Protocol):
    """Times work in many rounds, each with what prepare made for it; answers the last round's answer."""

    def __call__(self, work: Callable[..., T], prepare: Callable[[], Any] | None = None) -> T: ...


@pytest.fixture(scope="module")
def adeq() -> Iterator[Adeq]:
    with EmbeddedServer() as server, Adeq.from_url(server.url) as adeq:
        yield adeq


@pytest.fixture
def client(adeq: Adeq) -> Any:
    adeq.client.flushall()
    return adeq.client


@pytest.fixture
def queue(adeq: Adeq, client: redis.Redis) -> Queue:
    queue = adeq.queue(f"bench-{next(numbers)}")
    queue.workers.register(WORKER)
    return queue


@pytest.fixture
def locks(adeq: Adeq, client: redis.Redis) -> Locks:
    return adeq.locks(f"bench-{next(numbers)}")


@pytest.fixture
def measure(benchmark: BenchmarkFixture) -> Measure:
    def measure(work: Callable[..., T], prepare: Callable[[], Any] | None = None) -> T:
        def setup() -> Any:
            return None if prepare is None else ((prepare(),), {})

        rounds = ROUNDS[str(benchmark.group)]
        answer: T = benchmark.pedantic(work, setup=setup, rounds=rounds, warmup_rounds=WARM_UP)  # type: ignore[no-untyped-call]
        return answer

    return measure


def lease(queue: Queue) -> Lease:
    """Of a new task."""
    queue.enqueue(PAYLOAD)
    (lease,) = queue.claim(WORKER, 1, lease=LEASE)
    return lease


# Floors


@pytest.mark.parametrize("group", ROUNDS)
def test_floor_ping(group: str, benchmark: BenchmarkFixture, measure: Measure, client: Any) -> None:
    benchmark.group = group
    assert measure(client.ping)


@pytest.mark.parametrize("group", [ONE, MESSAGE])
def test_floor_xadd(group: str, benchmark: BenchmarkFixture, measure: Measure, client: Any) -> None:
    benchmark.group = group
    assert measure(lambda: client.xadd("floor", {"payload": PAYLOAD}))


@hundred
def test_floor_xadd_100_in_a_pipeline(measure: Measure, client: Any) -> None:
    def add() -> list[Any]:
        with client.pipeline(transaction=False) as pipeline:
            for _ in range(100):
                pipeline.xadd("floor", {"payload": PAYLOAD})
            answers: list[Any] = pipeline.execute()
            return answers

    assert len(measure(add)) == 100


@lock
def test_floor_set_nx_and_delete(measure: Measure, client: Any) -> None:
    delete = client.register_script(DELETE_MINE)

    def pair() -> int:
        token = new_ulid()
        client.set("floor", token, nx=True, px=30_000)
        deleted: int = delete(keys=["floor"], args=[token])
        return deleted

    assert measure(pair) == 1


# One task


@one
def test_enqueue(measure: Measure, queue: Queue) -> None:
    assert measure(lambda: queue.enqueue(PAYLOAD)).status == "created"


@one
def test_claim(measure: Measure, queue: Queue) -> None:
    assert len(measure(lambda _: queue.claim(WORKER, 1, lease=LEASE), lambda: queue.enqueue(PAYLOAD))) == 1


@one
def test_ack(measure: Measure, queue: Queue) -> None:
    measure(queue.ack, lambda: lease(queue))
    assert queue.stats().running == 0


@one
def test_settle_and_claim(measure: Measure, queue: Queue) -> None:
    def prepare() -> Lease:
        held = lease(queue)
        queue.enqueue(PAYLOAD)
        return held

    def settle(held: Lease) -> Lease:
        (next_one,) = queue.leases.settle(WORKER, acks=[(held, None)], claim=1, lease=LEASE).claimed.leases
        return next_one

    assert measure(settle, prepare).attempt == 1


@one
def test_fail_and_retry(measure: Measure, queue: Queue) -> None:
    queue.configure(backoff=Backoff(base=LEASE, cap=LEASE))
    assert measure(lambda held: queue.fail(held, "no"), lambda: lease(queue)).status == "retried"


@one
def test_heartbeat(measure: Measure, queue: Queue) -> None:
    held = lease(queue)
    assert measure(lambda: queue.heartbeat(held, extend=LEASE)).status == "renewed"


@one
def test_progress(measure: Measure, queue: Queue) -> None:
    held = lease(queue)
    assert measure(lambda: queue.progress(held, next(numbers) % 100 / 100)) == "noted"


@one
def test_cancel(measure: Measure, queue: Queue) -> None:
    assert measure(lambda receipt: queue.cancel(receipt.id), lambda: queue.enqueue(PAYLOAD)) == "cancelled"


@one
def test_get(measure: Measure, queue: Queue) -> None:
    id = queue.enqueue(PAYLOAD).id
    view = measure(lambda: queue.get(id))
    assert view
    assert view.state == "ready"


@one
def test_stats(measure: Measure, queue: Queue) -> None:
    queue.enqueue(PAYLOAD)
    assert measure(queue.stats).ready == 1


@one
def test_put_a_schedule(measure: Measure, queue: Queue) -> None:
    schedules = queue.schedules
    put = measure(lambda _: schedules.set("often", Every(LEASE), PAYLOAD), lambda: schedules.remove("often"))
    assert put.status == "created"


# A hundred tasks


@hundred
def test_enqueue_100(measure: Measure, queue: Queue) -> None:
    assert len(measure(lambda: queue.enqueue_many(TASKS))) == 100


@hundred
def test_claim_100(measure: Measure, queue: Queue) -> None:
    assert len(measure(lambda _: queue.claim(WORKER, 100, lease=LEASE), lambda: queue.enqueue_many(TASKS))) == 100


@hundred
def test_settle_and_claim_100(measure: Measure, queue: Queue) -> None:
    queue.enqueue_many(TASKS)
    held = queue.claim(WORKER, 100, lease=LEASE)

    def settle(_: object) -> int:
        nonlocal held
        settled = queue.leases.settle(WORKER, acks=[(one, None) for one in held], claim=100, lease=LEASE)
        held = settled.claimed.leases
        return settled.acks.count("completed")

    assert measure(settle, lambda: queue.enqueue_many(TASKS)) == 100


@hundred
def test_heartbeat_100(measure: Measure, queue: Queue) -> None:
    queue.enqueue_many(TASKS)
    held = queue.claim(WORKER, 100, lease=LEASE)
    assert len(measure(lambda: queue.leases.heartbeat_many(held, extend=LEASE, worker=WORKER))) == 100


# A lock


@lock
def test_acquire_and_release(measure: Measure, locks: Locks) -> None:
    def pair() -> None:
        with locks.acquire("mine", owner="me"):
            pass

    measure(pair)
    assert locks.stats().held == 0


@lock
def test_acquire_and_release_a_permit(measure: Measure, locks: Locks) -> None:
    locks.capacities.set("pool", 10)

    def pair() -> None:
        with locks.acquire("pool", mode="permit", owner="me"):
            pass

    measure(pair)
    assert locks.stats().held == 0


@lock
def test_renew(measure: Measure, locks: Locks) -> None:
    with locks.acquire("mine", owner="me") as grant:
        assert measure(lambda: locks.admin.renew([grant.rid]))[0].status == "renewed"


# A message


@message
def test_send(measure: Measure, queue: Queue) -> None:
    box = queue.mailbox("talk", window=0)
    assert measure(lambda: box.enqueue(PAYLOAD)).status == "created"


@message
def test_take_and_end(measure: Measure, queue: Queue) -> None:
    box = queue.mailbox("talk", window=0)

    def take(_: object) -> int:
        batch = box.try_dequeue()
        assert batch
        with batch:
            return batch.merged_count

    assert measure(take, lambda: box.enqueue(PAYLOAD)) == 1


@message
def test_steer_a_worker(measure: Measure, queue: Queue) -> None:
    assert measure(lambda: queue.workers.control([WORKER], capacity=1 + next(numbers) % 100)) == [WORKER]
