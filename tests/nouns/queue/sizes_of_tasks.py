"""The worst states for what becomes of tasks: each task has all that a task may have, as much of it as is legal."""

from __future__ import annotations

from typing import Any

from pyadeq._core.queue.items import Failure
from pyadeq.models import Lease, Task
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import acks
from tests.nouns.size import MANY, AnyCall, long, pages, size, state

NOW = START / 1000
LEASE = 15_000  # ms
LANES = [f"group/g{at}" for at in range(64)]
SOME = 100  # of what a call does on its way
MANY_LIMITS = 8000 // 26  # tasks of 26 limits whose leases one call should end at most
KINDS = ("all", "user:*", "tag:*", "key:*")


def heavy(at: int, **more: Any) -> tuple[str, Task]:
    """A task that shares nothing with any other, and has no dependencies unless told otherwise."""
    own: dict[str, Any] = {
        "payload": b"x",
        "kind": long("kind"),
        "priority": at % 10,
        "lane": LANES[at % 64],
        "fallback": ["group/other", "group/another", "fail"],
        "fallback_after": 600,
        "expires_at": NOW + 3600,
        "timeout": 3600,
        "user": long(f"u{at}"),
        "tags": [long(f"t{at}.{tag}") for tag in range(16)],
        "limits": [long(f"k{at}.{key}") for key in range(8)],
        "parent": long(f"p{at}"),
        "idempotency_key": long(f"i{at}"),
        "unique": long(f"q{at}"),
        "scope": long(f"s{at}"),
        "coalesce": "last",
        "tier": "restricted",
        "result_ttl": 60,
        "reply": True,
        "max_attempts": 5,
        "headers": {"h": "x" * 3000},
    }
    return long(f"h{at}"), Task(**own | more)


def heavies(number: int, first: int = 0, **more: Any) -> list[tuple[str, Task]]:
    return [heavy(at, **more) for at in range(first, first + number)]


def enqueue(bench: Workbench, items: list[tuple[str, Task]], rid: str = "f") -> list[str]:
    parts = max(
        len(task.tags) + len(task.limits) + (len(task.after) if isinstance(task.after, list | tuple) else 0)
        for _, task in items
    )
    for number, page in enumerate(pages(items, min(500, 8000 // max(parts, 1)))):
        bench.real(bench.calls.enqueue(page, f"{rid}/{number}"))
    return [id for id, _ in items]


def plain(bench: Workbench, number: int, prefix: str = "p", **task: Any) -> list[str]:
    return enqueue(bench, [(f"{prefix}{at}", Task(payload=b"x", **task)) for at in range(number)], prefix)


def limit_all(bench: Workbench, concurrency: int = MANY, **rule: Any) -> None:
    """Rules for all kinds of limits, so that a task may have 26 of them."""
    rule = {"concurrency": concurrency, "starts": MANY, "period_ms": 60_000, **rule}
    bench.real(bench.calls.set_limits([(key, rule) for key in KINDS], f"limits/{next(bench._numbers)}"))


def everything(bench: Workbench) -> None:
    """A queue that uses all there is."""
    bench.real(bench.calls.configure(fair=True))
    limit_all(bench)
    bench.schedule("due")
    bench.real(bench.calls.cancel(plain(bench, 1, "tree"), tree=True))  # from here on it has chains


@state
def hold(bench: Workbench, number: int) -> list[Lease]:
    """So many leases of heavy tasks."""
    everything(bench)
    enqueue(bench, heavies(number))
    leases = bench.claim(1000, lanes=LANES)
    while len(leases) < number:
        leases += bench.claim(1000, lanes=LANES)
    return leases


def follow(bench: Workbench, ids: list[str], each: int = 1) -> None:
    """Tasks that wait for each of these, and heavy ones."""
    count = range(len(ids) * each)
    enqueue(bench, [(f"f{at}", Task(payload=b"x", user=f"f{at}", after=[ids[at // each]])) for at in count], "follow")


def remember_runs(bench: Workbench, ids: list[str]) -> None:
    """Each task has had 20 runs."""
    run = b"%d 1 1 0 1 w %d failed error " % (START, START) + b"e" * 1024
    bench.server.all([("RPUSH", f"{bench.base}:ended_runs:{id}", *[run] * 20) for id in ids])


@state
def holding(bench: Workbench, number: int) -> list[Lease]:
    """Leases that hold 26 limits each, others wait in the lines of all of their keys, and others for their ends."""
    everything(bench)
    ids = enqueue(bench, heavies(number))
    remember_runs(bench, ids)
    leases: list[Lease] = []
    while len(leases) < number:
        leases += bench.claim(1000, lanes=LANES)
    follow(bench, ids[:100], 3)
    limit_all(bench, 1)
    keys = [long(f"k{at}.{key}") for at in range(number) for key in range(8)]
    enqueue(bench, [(f"l{at}", Task(payload=b"x", limits=[key])) for at, key in enumerate(keys[:500])], "lines")
    while len(bench.claim(1000)) > 0:
        pass
    limit_all(bench)
    return leases


@state
def waiting(bench: Workbench, number: int) -> list[str]:
    """Heavy tasks in line."""
    everything(bench)
    return enqueue(bench, heavies(number))


# enqueue


@size(1, 333)  # with 24 tags and limits each
def enqueue_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    everything(bench)
    return bench.calls.enqueue(heavies(n), "r")


@size(1, 90)  # with 88 tags, limits and others each
def enqueue_behind_64_others_each(bench: Workbench, n: int) -> AnyCall:
    everything(bench)
    others = plain(bench, 64 * n)
    items = [heavy(at, after=others[64 * at : 64 * at + 64]) for at in range(n)]
    return bench.calls.enqueue(items, "r")


@size(1, 90)  # with 88 tags, limits and others each
def enqueue_behind_64_that_have_ended(bench: Workbench, n: int) -> AnyCall:
    everything(bench)
    others = plain(bench, 64 * n)
    for page in pages(others):
        bench.real(bench.calls.cancel(page))
    items = [heavy(at, after=others[64 * at : 64 * at + 64], after_when="ended") for at in range(n)]
    return bench.calls.enqueue(items, "r")


@size(1, 333)
def enqueue_duplicates(bench: Workbench, n: int) -> AnyCall:
    waiting(bench, n)
    others = [heavy(at, idempotency_key=long(f"j{at}")) for at in range(n)]
    return bench.calls.enqueue([(long(f"d{at}"), task) for at, (_, task) in enumerate(others)], "r")


@size(1, 333)
def enqueue_into_lines(bench: Workbench, n: int) -> AnyCall:
    everything(bench)
    limit_all(bench, 1)
    leave_no_room(bench, n)
    return bench.calls.enqueue(heavies(n), "r")


@size(1, 1000)
def enqueue_all_but_tags_and_limits(bench: Workbench, n: int) -> AnyCall:
    everything(bench)
    return bench.calls.enqueue(heavies(n, tags=["t"] * 3, limits=()), "r")


@size(1, 125)
def enqueue_behind_64_others_alone(bench: Workbench, n: int) -> AnyCall:
    others = plain(bench, 64 * n)
    return bench.calls.enqueue(
        [(f"e{at}", Task(payload=b"x", after=others[64 * at : 64 * at + 64])) for at in range(n)], "r"
    )


def leave_no_room(bench: Workbench, number: int) -> None:
    """The last limit that each heavy task comes to is held by another task, and another waits in its line."""
    keys = [long(f"k{at}.7") for at in range(number)]
    for prefix in "ab":
        enqueue(bench, [(f"{prefix}{at}", Task(payload=b"x", limits=[key])) for at, key in enumerate(keys)], prefix)
    while bench.claim(1000):
        pass


# claim


@size(10, 1000)
def claim_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    waiting(bench, 1100)
    bench.worker()
    return bench.calls.claim("w", "i", 0, 10**6, limit=n, lanes=LANES)


@size(10, 1000)
def claim_what_limits_hold_back(bench: Workbench, n: int) -> AnyCall:
    waiting(bench, 1100)
    limit_all(bench, 1)
    leave_no_room(bench, 1100)
    bench.worker()
    return bench.calls.claim("w", "i", 0, 10**6, limit=n, lanes=LANES)


@size(10, 1000)
def claim_sweeps_all_that_is_due(bench: Workbench, n: int) -> AnyCall:
    sweepable(bench)
    enqueue(bench, heavies(1100, 10_000))
    bench.worker()
    return bench.calls.claim("w", "i", 0, 10**6, limit=n, lanes=LANES)


@state
def sweepable(bench: Workbench, number: int = 150) -> None:
    """More than one call sweeps: leases, delays, deadlines, ends, lines, workers, what is kept, keys, rates, shares."""
    holding(bench, number)
    bench.real(bench.calls.configure(finished_keep=1, dead_keep=1, max_crashes=1))
    ids = enqueue(bench, heavies(number, 20_000, expires_at=NOW + 10))
    enqueue(bench, heavies(number, 21_000, delay=10))
    follow_ids = plain(bench, number, "ended")
    enqueue(bench, [(f"w{at}", Task(payload=b"x", after=[one])) for at, one in enumerate(follow_ids)], "w")
    for at in range(number):
        bench.worker(f"silent{at}")
    bench.real(bench.calls.cancel(follow_ids + ids[:10]))
    bench.pass_time(60_000)


# what ends a lease


@size(1, MANY_LIMITS, beyond=1000)
def ack_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(holding(bench, n), "x" * 1000))


@size(1, MANY_LIMITS, beyond=1000)
def fail_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    leases = holding(bench, n)
    return bench.calls.fail([Failure(lease, b"e" * 2000, exit_code=1) for lease in leases], [0] * n)


@size(1, MANY_LIMITS, beyond=1000)
def fail_for_good_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    leases = holding(bench, n)
    return bench.calls.fail([Failure(lease, b"e" * 2000, retryable=False) for lease in leases], [0] * n)


@size(1, MANY_LIMITS, beyond=1000)
def release_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.release(holding(bench, n))


@size(1, MANY_LIMITS, beyond=1000)
def snooze_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.snooze([(lease, 5) for lease in holding(bench, n)])


@size(1, MANY_LIMITS, beyond=1000)
def deregister_with_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.deregister("w", "i", leases=holding(bench, n))


@size(10, MANY_LIMITS, beyond=936)
def settle_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    leases = holding(bench, n)
    enqueue(bench, heavies(1100, 10_000))
    half = n // 2
    fails = [Failure(lease, b"e" * 2000) for lease in leases[half:]]
    ends: dict[str, Any] = {"acks": acks(leases[:half], "x" * 1000), "fails": fails, "jitters": [0] * len(fails)}
    return bench.calls.settle("w", "i", 1, 10**6, limit=n, lanes=LANES, **ends)


@size(10, MANY_LIMITS, beyond=936)
def settle_and_sweep_all_that_is_due(bench: Workbench, n: int) -> AnyCall:
    sweepable(bench)
    enqueue(bench, heavies(n, 30_000))
    leases = bench.claim(n, lanes=LANES)
    enqueue(bench, heavies(1100, 10_000))
    bench.worker()
    return bench.calls.settle("w", "i", 1, 10**6, limit=n, lanes=LANES, acks=acks(leases, "x"))


@size(10, 1000)
def heartbeat_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.heartbeat(hold(bench, n), "w", busy=n)


@size(1, 1000)
def progress_with_everything(bench: Workbench, n: int) -> AnyCall:
    note = {"ppm": 5, "text": "t" * 1000, "line": "l" * 1000, "output": "o" * 1000}
    return bench.calls.progress([(lease, note) for lease in hold(bench, n)], "r")


# what becomes of those that wait


@size(1, 1000)
def cancel_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    ids = waiting(bench, n)
    follow(bench, ids[:100], 3)
    return bench.calls.cancel(ids, "r")


@size(1, 1000)
def cancel_running_tasks(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.cancel([lease.id for lease in hold(bench, n)], "r")


@size(1, 1000)
def cancel_trees(bench: Workbench, n: int) -> AnyCall:
    """Each has children who have children; what is left stays noted."""
    roots = waiting(bench, n)
    enqueue(bench, heavies(1000, 5000, parent=roots[0]))
    chain = [heavy(10_000 + at, parent=long(f"h{10_000 + at - 1}") if at else roots[0]) for at in range(1000)]
    enqueue(bench, chain, "chain")
    return bench.calls.cancel(roots, "r", tree=True)


@size(100, 1000)
def expire_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    ids = waiting(bench, n)
    follow(bench, ids[:100], 3)
    bench.pass_time(3_600_000)
    return bench.calls.expire(n)


@size(100, 1000)
def expire_to_the_next_lane(bench: Workbench, n: int) -> AnyCall:
    waiting(bench, n)
    bench.pass_time(600_000)
    return bench.calls.expire(n)


@size(100, 1000)
def promote_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    everything(bench)
    enqueue(bench, heavies(n, delay=5))
    bench.pass_time(5_000)
    return bench.calls.promote(n)


@size(100, 1000)
def promote_the_first_of_a_thousand_that_crashed_at_once(bench: Workbench, n: int) -> AnyCall:
    bench.crash(1, 1000)
    bench.pass_time(15_000)
    bench.real(bench.calls.reap(1000))
    bench.pass_time(1_000)
    return bench.calls.promote(min(n, 999))


@size(100, 1000)
def reap_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    holding(bench, n)
    bench.pass_time(LEASE)
    return bench.calls.reap(n)


@size(100, 1000)
def reap_for_good_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    holding(bench, n)
    bench.real(bench.calls.configure(max_crashes=1))
    bench.pass_time(LEASE)
    return bench.calls.reap(n)


@size(1000)
def purge_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    ids = waiting(bench, n)
    follow(bench, ids)
    return bench.calls.purge("r", all=True, limit=n)


@state
def dead(bench: Workbench, number: int) -> list[str]:
    leases = hold(bench, number)
    bench.real(bench.calls.fail([Failure(lease, b"e", retryable=False) for lease in leases], [0] * number))
    return [lease.id for lease in leases]


@size(1, 1000)
def retry_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.retry(dead(bench, n), "r")


@size(1, 1000)
def abandon_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.abandon(dead(bench, n), "r")


@size(1, 1000)
def reveal_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.reveal(dead(bench, n), long("actor"), "r")


@size(1000)
def trim_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    ids = dead(bench, n)
    bench.real(bench.calls.retry(ids[: n // 2]))
    bench.real(bench.calls.cancel(ids[: n // 2]))
    bench.real(bench.calls.configure(finished_keep=1, dead_keep=1))
    bench.pass_time(1_500)
    return bench.calls.trim(n)


@size(1, 1000)
def repair_lost_tasks(bench: Workbench, n: int) -> AnyCall:
    """They are in no set at all."""
    ids = waiting(bench, n)
    for lane in LANES:
        bench.ask("DEL", f":ready:{lane}")
        bench.ask("SREM", ":lanes", lane)
    return bench.calls.repair(ids)
