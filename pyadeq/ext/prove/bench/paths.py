"""What each kind of call costs: the server's CPU, and the commands that its script sends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyadeq import Call, Failure, Lease, Task
from pyadeq.errors import AdeqError
from pyadeq.ext.prove.bench.figures import Figure
from pyadeq.ext.prove.bench.scene import HOUR, PAYLOAD, Command, Scene, fill, take
from pyadeq.ids import new_incarnation, new_ulid

UNIT = "µs of the server's CPU per call"
MOST_CALLS = 2_000  # 60 ms of the cheapest, where a server's CPU is counted in steps of 1 ms
EMPTY = "#!lua flags=no-writes\nreturn 0"
WORKER = "bench"
UNCHANGED = 500_000  # a backoff that chance makes neither shorter nor longer
Calls = Sequence[Call[Any]]


class Stage:
    """A queue and a lock domain for one path. count: of its calls; size: how many tasks or locks each of them has."""

    def __init__(self, scene: Scene, stack: ExitStack, count: int, size: int) -> None:
        self.scene, self.count, self.size = scene, count, size
        self.queue, self.locks = stack.enter_context(scene.queue()), stack.enter_context(scene.locks())

    @property
    def all(self) -> int:
        """How many tasks or locks all calls have."""
        return self.count * self.size

    def in_calls(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        """Split values into groups, one for each call."""
        return [values[start : start + self.size] for start in range(0, len(values), self.size)]

    def in_line(self, more: int = 0) -> list[Sequence[str]]:
        """The ids of waiting tasks."""
        receipts = self.queue.enqueue_many([Task(payload=PAYLOAD)] * (self.all + more))
        return self.in_calls([one.id for one in receipts])

    def leased(self) -> list[Sequence[Lease]]:
        """Enqueue tasks and claim them. Returns their leases, in groups for calls."""
        fill(self.queue, self.all)
        return self.in_calls(take(self.queue, self.all))

    def register(self) -> str:
        """The incarnation of a worker, who is alone."""
        incarnation = new_incarnation()
        self.scene.adeq.send(self.queue.calls.register(WORKER, incarnation))
        return incarnation

    def done(self, calls: Calls) -> None:
        """Make calls before a measurement, and ignore their answers."""
        self.scene.calls(calls)()


# Of a queue. Those that are given options give them to their tasks; {} in a text is a number that no other task has.


def _enqueue(at: Stage, limited: bool = False, **options: Any) -> Calls:
    if limited:
        at.queue.limits.set("user:*", concurrency=1_000_000)
    numbers = iter(range(at.all))

    def task() -> tuple[str, Task]:
        number = next(numbers)
        own: dict[str, Any] = {
            name: one.format(number) if isinstance(one, str) else one for name, one in options.items()
        }
        return new_ulid(), Task(payload=PAYLOAD, **own)

    return [at.queue.calls.enqueue([task() for _ in range(at.size)], new_ulid()) for _ in range(at.count)]


def _claim(at: Stage, limited: bool = False, empty: bool = False, **options: Any) -> Calls:
    if empty:
        at.done([at.queue.calls.configure(lease=20)])  # a queue that exists
    else:
        at.done(_enqueue(at, limited, **options))
    incarnation = at.register()
    return [at.queue.calls.claim(WORKER, incarnation, 0, n, limit=at.size) for n in range(1, at.count + 1)]


def _settle(at: Stage) -> Calls:
    """Call n claims the n-th batch, under tokens that its number makes, and call n + 1 completes it."""
    ids, incarnation, settle = at.in_line(more=at.size), at.register(), at.queue.calls.settle
    tokens = [[(id, f"{incarnation}.0.{n}/{i}") for i, id in enumerate(some, 1)] for n, some in enumerate(ids, 1)]
    at.done([settle(WORKER, incarnation, 0, 1, limit=at.size)])
    return [
        settle(WORKER, incarnation, 0, n, acks=[(lease, None) for lease in leases], limit=at.size)
        for n, leases in enumerate(tokens[:-1], 2)
    ]


def _ack(at: Stage) -> Calls:
    return [at.queue.calls.ack([(lease, None) for lease in leases]) for leases in at.leased()]


def _fail(at: Stage, retryable: bool) -> Calls:
    return [
        at.queue.calls.fail([Failure(lease, "no", retryable=retryable) for lease in leases], [UNCHANGED] * len(leases))
        for leases in at.leased()
    ]


def _heartbeat(at: Stage) -> Calls:
    return [at.queue.calls.heartbeat(leases, WORKER) for leases in at.leased()]


def _progress(at: Stage) -> Calls:
    return [
        at.queue.calls.progress([(lease, {"ppm": 500_000}) for lease in leases], new_ulid()) for leases in at.leased()
    ]


def _cancel(at: Stage) -> Calls:
    return [at.queue.calls.cancel(ids, new_ulid()) for ids in at.in_line()]


def _get(at: Stage) -> Calls:
    return [at.queue.calls.get(ids) for ids in at.in_line()]


def _stats(at: Stage) -> Calls:
    at.in_line()
    return [at.queue.calls.stats()] * at.count


# Of a lock domain. Each lock is another, and so is each owner.


def _rids(at: Stage, who: str) -> list[str]:
    return [f"{who}.{n:020}" for n in range(at.all)]


def _acquire(at: Stage, who: str = "first", mode: Any = "exclusive", each: int = 1) -> Calls:
    """Build acquires of all requests. each: how many requests name the same lock."""
    issued_ms = round(at.locks.stats().now * 1000)
    return [
        at.locks.calls.acquire(
            rid, f"lock-{n // each}", f"{who}-{n}", issued_ms=issued_ms, mode=mode, ttl=HOUR, wait=HOUR
        )
        for n, rid in enumerate(_rids(at, who))
    ]


def _queue_up(at: Stage) -> Calls:
    at.done(_acquire(at))
    return _acquire(at, "next")


def _poll(at: Stage) -> Calls:
    at.done(_queue_up(at))
    return [at.locks.calls.poll(rids) for rids in at.in_calls(_rids(at, "next"))]


def _release(at: Stage, held: Callable[[Stage], Calls]) -> Calls:
    at.done(held(at))
    return [at.locks.calls.release(rids) for rids in at.in_calls(_rids(at, "first"))]


def _renew(at: Stage) -> Calls:
    at.done(_acquire(at))
    return [at.locks.calls.renew(rids) for rids in at.in_calls(_rids(at, "first"))]


def _permit(at: Stage) -> Calls:
    """Acquire permits of resources that have a hundred each."""
    at.done([at.locks.calls.set_capacity(f"lock-{n}", 100) for n in range(-(-at.all // 100))])
    return _acquire(at, mode="permit", each=100)


@dataclass(frozen=True)
class Path:
    """One kind of call.

    prepare: makes the calls, and what they need. right: whether an answer to that many items is the one of this path.
    size: as of a Stage. most: how many calls are enough, if that is less than MOST_CALLS.
    """

    name: str
    prepare: Callable[[Any], Calls]
    right: Callable[[Any, int], bool]
    size: int = 1
    most: int | None = None


def _all(status: str) -> Callable[[Any, int], bool]:
    """Whether an answer has this status for each item."""
    return lambda told, size: [one if isinstance(one, str) else one.status for one in told] == [status] * size


def _is(status: str) -> Callable[[Any, int], bool]:
    return lambda told, size: told.status == status


def _claimed(told: Any, size: int) -> bool:
    return len(told.leases) == size


def _settled(told: Any, size: int) -> bool:
    return _all("completed")(told.acks, size) and _claimed(told.claimed, size)


def _renewed(told: Any, size: int) -> bool:
    return _all("renewed")(told.renewals, size)


PATHS = (
    Path("enqueue 1", _enqueue, _all("created")),
    Path("enqueue 100", _enqueue, _all("created"), 100),
    Path("enqueue 1, delayed", partial(_enqueue, delay=HOUR), _all("created")),
    Path("enqueue 1, with an idempotency key", partial(_enqueue, idempotency_key="key-{}"), _all("created")),
    Path("enqueue 1, with an ordering key of its own", partial(_enqueue, ordering_key="key-{}"), _all("created")),
    Path("enqueue 1, behind one of its ordering key", partial(_enqueue, ordering_key="key"), _all("created")),
    Path("enqueue 1, with a user and 3 tags", partial(_enqueue, user="ann", tags=["a", "b", "c"]), _all("created")),
    Path("enqueue 1, under a limit with room", partial(_enqueue, limited=True, user="ann"), _all("created")),
    Path("claim of nothing", partial(_claim, empty=True), lambda told, _: not told.leases),
    Path("claim 1", _claim, _claimed),
    Path("claim 100", _claim, _claimed, 100),
    Path("claim 1, under a limit with room", partial(_claim, limited=True, user="ann"), _claimed),
    Path("settle 1 and claim 1", _settle, _settled),
    Path("settle 10 and claim 10", _settle, _settled, 10),
    Path("settle 100 and claim 100", _settle, _settled, 100),
    Path("ack 1", _ack, _all("completed")),
    Path("ack 100", _ack, _all("completed"), 100),
    Path("fail 1, retried", partial(_fail, retryable=True), _all("retried")),
    Path("fail 1, dead", partial(_fail, retryable=False), _all("dead")),
    Path("heartbeat 1", _heartbeat, _renewed),
    Path("heartbeat 100", _heartbeat, _renewed, 100),
    Path("progress 1", _progress, _all("noted")),
    Path("cancel 1 in line", _cancel, _all("cancelled")),
    Path("get 1", _get, lambda told, _: told[0].state == "ready"),
    Path("stats", _stats, lambda told, _: told.ready > 0),
    Path("acquire a free lock", _acquire, _is("granted")),
    Path("acquire one that is held", _queue_up, _is("queued")),
    Path("poll one that is waited for", _poll, _all("queued")),
    Path("renew 1 lock", _renew, _all("renewed")),
    Path("renew 100 locks", _renew, _all("renewed"), 100),
    Path("release a lock", partial(_release, held=_acquire), _all("released")),
    Path("release a lock, hand it over", partial(_release, held=_queue_up), _all("released")),
    Path("acquire a permit", _permit, _is("granted")),
    Path("release a permit", partial(_release, held=_permit), _all("released")),
)


def paths(scene: Scene) -> Iterator[Figure]:
    """The calls of queues and locks."""
    return measured(scene, "paths", PATHS, Stage)


def measured(scene: Scene, subject: str, ways: Sequence[Path], stage: type[Any]) -> Iterator[Figure]:
    """Measure each path against a floor: an empty script with the same keys and arguments, sent in the same round.

    stage: makes what the paths are prepared on, as a Stage does.
    """
    empty = scene.client.script_load(EMPTY)
    pings: list[float] = []
    runs: dict[str, list[tuple[float, float, float]]] = {path.name: [] for path in ways}
    for number in range(scene.rounds):
        pings.append(_bare(scene, [("PING",)] * min(scene.tasks, MOST_CALLS)))
        for path in ways:
            scene.tell(f"{path.name}, round {number + 1} of {scene.rounds}")
            runs[path.name].append(_measured(scene, path, empty, stage))
    yield Figure(subject=subject, what="floor: PING", unit=UNIT, values=tuple(pings))
    for name, run in runs.items():
        values, floor, commands = zip(*run, strict=True)
        each = sum(commands) / len(commands)
        yield Figure(subject=subject, what=name, unit=UNIT, values=values, floor=floor, commands=each)


def _measured(scene: Scene, path: Path, empty: str, stage: type[Any]) -> tuple[float, float, float]:
    """Microseconds of a call and of an empty one, and the commands of its script."""
    with ExitStack() as stack:
        at = stage(scene, stack, min(path.most or MOST_CALLS, MOST_CALLS, max(scene.tasks // path.size, 1)), path.size)
        calls = path.prepare(at)
        floor = _bare(scene, [(verb, empty, *rest) for verb, _, *rest in (call.command() for call in calls)])
        cpu, commands, answer = scene.price(calls)
    if not path.right(answer, path.size):
        raise AdeqError(f"{path.name}: the last answer was {answer!r:.500}, so the figures would mean nothing")
    return cpu * 1e6, floor, commands


def _bare(scene: Scene, commands: Sequence[Command]) -> float:
    """Microseconds of one of some commands, sent one after the other."""
    return scene.cpu(scene.sender([[one] for one in commands])) / len(commands) * 1e6
