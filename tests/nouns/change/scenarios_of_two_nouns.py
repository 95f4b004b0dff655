"""Paths of `begin`, `heartbeat` and `respond` where the lock domain or the queue of the settings is in the same slot.

All of it is in one slot, which takes the place of the base of the bench, so that the bench compares and removes it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import LARGE, approved, in_review
from tests.nouns.scenario import AnyCall, scenario

LOCKED = {"resources": ["a:1", "a:2"]}


def move_in(bench: NounBench, clock: str = "test", **settings: Any) -> None:
    bench.clear()
    bench.base = f"ade:{{{bench.domain}}}"
    bench.calls = replace(bench.calls, base=f"{bench.base}:change:d")
    bench.put("configure", clock=clock, settings=settings)


def of(bench: NounBench, noun: str, name: str, verb: str, **arguments: Any) -> Any:
    """A call of a lock domain or a queue in the slot."""
    calls = replace(bench.calls, base=f"{bench.base}:{noun}:{name}", noun=noun)
    return bench.real(calls.build(verb, **arguments))


def locked(bench: NounBench, *resources: str, owner: str = "d/c", mode: str = "exclusive", ttl: float = 20) -> None:
    items = [{"resource": one, "mode": mode} for one in resources]
    of(bench, "lock", "l", "acquire_many", rid="l", owner=owner, ttl=ttl, issued_ms=bench.now, item=items)


def begin(bench: NounBench, one: dict[str, Any], lock: str | None = "l", **fields: Any) -> AnyCall:
    bases = {"lock": f"{bench.base}:lock:{lock}"} if lock else {}
    return bench.call("begin", rid="token", agent="bot", **{"lock_rid": "l", **fields}, **one, **bases)


def heartbeat(bench: NounBench, lock: str | None = "l") -> AnyCall:
    bases = {"lock": f"{bench.base}:lock:{lock}"} if lock else {}
    return bench.call("heartbeat", id="c", token="token", **bases)


def approved_in(bench: NounBench, **content: Any) -> dict[str, Any]:
    move_in(bench, lock_domain="l")
    for name in "l", "other":
        of(bench, "lock", name, "configure", clock="test")
    return approved(bench, content=content or LOCKED)


@scenario(0)
def begin_with_all_locks_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    one = approved_in(bench)
    locked(bench, "a:1", "a:2")
    return begin(bench, one)


@scenario(1, 32)
def begin_with_as_many_locks_as_there_may_be_in_one_slot(bench: NounBench, n: int) -> AnyCall:
    one = approved_in(bench, resources=LARGE["resources"][:n])
    locked(bench, *LARGE["resources"][:n])
    return begin(bench, one)


@scenario(0)
def begin_with_locks_that_last_longer_than_the_lease_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    one = approved_in(bench)
    locked(bench, "a:1", "a:2", ttl=60)
    return begin(bench, one)


@scenario(0)
def begin_without_a_lock_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    one = approved_in(bench)
    locked(bench, "a:1")
    return begin(bench, one)


@scenario(0)
def begin_without_any_lock_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    return begin(bench, approved_in(bench))


@scenario(0)
def begin_with_the_locks_of_another_owner_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    one = approved_in(bench)
    locked(bench, "a:1", "a:2", owner="d/other")
    return begin(bench, one)


@scenario(0)
def begin_with_shared_locks_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    one = approved_in(bench)
    locked(bench, "a:1", "a:2", mode="shared")
    return begin(bench, one)


@scenario(0)
def begin_with_locks_that_are_over_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    one = approved_in(bench)
    locked(bench, "a:1", "a:2")
    bench.pass_time(20_000)
    return begin(bench, one)


@scenario(0)
def begin_with_locks_that_are_awaited_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    one = approved_in(bench)
    for rid, owner in ("m", "other"), ("l", "d/c"):
        items = [{"resource": resource} for resource in LOCKED["resources"]]
        own = {"rid": rid, "owner": owner, "wait": 60, "issued_ms": bench.now}
        of(bench, "lock", "l", "acquire_many", item=items, **own)
    return begin(bench, one)


@scenario(0)
def begin_what_needs_no_lock_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    return begin(bench, approved_in(bench, version="2"))


@scenario(0)
def begin_without_the_lock_domain_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    """The call does not name it, and it is in the slot: nothing would be verified."""
    return begin(bench, approved_in(bench), None)


@scenario(0)
def begin_where_the_locks_are_not_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"lock_domain": "l"})
    return begin(bench, approved(bench, content=LOCKED), None)


@scenario(0)
def begin_with_another_lock_domain_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    return begin(bench, approved_in(bench), "other")


@scenario(0)
def begin_with_a_lock_domain_of_another_clock_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    one = approved_in(bench)
    bench.ask("HSET", ":lock:l:config", "layout", 1, "layout_min", 1, "clock", "server")
    return begin(bench, one)


@scenario(0)
def heartbeat_with_all_locks_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    one = approved_in(bench)
    locked(bench, "a:1", "a:2")
    bench.real(begin(bench, one))
    bench.pass_time(10_000)
    return heartbeat(bench)


@scenario(0)
def heartbeat_without_a_lock_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    one = approved_in(bench)
    locked(bench, "a:1", "a:2")
    bench.real(begin(bench, one))
    of(bench, "lock", "l", "release", item=["l"])
    return heartbeat(bench)


@scenario(0)
def begin_with_a_lock_that_the_owner_has_twice_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    one = approved_in(bench)
    own = {"owner": "d/c", "issued_ms": bench.now, "item": [{"resource": "a:1"}]}
    of(bench, "lock", "l", "acquire_many", rid="first", **own)
    locked(bench, "a:1", "a:2")
    return begin(bench, one)


@scenario(0)
def heartbeat_with_a_lock_domain_of_another_clock_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    approved_in(bench)
    bench.ask("HSET", ":lock:l:config", "layout", 1, "layout_min", 1, "clock", "server")
    return heartbeat(bench)


# A task that follows a vote


def follow(bench: NounBench, queue: str = "q", clock: str = "test", exists: bool = True) -> AnyCall:
    """A vote after which a task follows, in a queue that is there already."""
    move_in(bench, clock=clock, follow_queue="q")
    if exists:
        of(bench, "queue", "q", "configure", clock="test")
    one = in_review(bench, approved_kind="tell", approved_lane="group/a", approved_priority=9)
    base = f"{bench.base}:queue:{queue}"
    return bench.call("respond", actor="bob", item=[{**one, "action": "approve"}], queue=base)


@scenario(0)
def respond_and_a_task_follows_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    return follow(bench)


@scenario(0)
def respond_and_a_task_follows_in_another_queue_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    return follow(bench, "other")


@scenario(0)
def respond_and_a_task_follows_in_a_queue_of_another_clock_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    call = follow(bench)
    bench.ask("HSET", ":queue:q:config", "clock", "server")
    return call


@scenario(0)
def respond_and_a_task_follows_in_a_queue_that_is_draining_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    call = follow(bench)
    of(bench, "queue", "q", "drain")
    return call


@scenario(0)
def respond_and_a_task_follows_in_a_queue_with_partitions_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    call = follow(bench)
    bench.ask("HSET", ":queue:q:config", "partitions", "- a")
    return call


@scenario(0)
def respond_and_a_task_that_is_there_follows_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    """Somebody else has enqueued it; or the change is new, and the queue knows tasks of one that was deleted."""
    call = follow(bench)
    seq = int(bench.ask("HGET", ":change:d:change:c", "seq")) + 2
    of(bench, "queue", "q", "enqueue", item=[{"id": f"d/c/{seq}", "payload": "x", "kind": "tell"}])
    return call


@scenario(1, 100)
def respond_and_many_tasks_follow_in_one_slot(bench: NounBench, n: int) -> AnyCall:
    move_in(bench, follow_queue="q")
    of(bench, "queue", "q", "configure", clock="test")
    steps: dict[str, Any] = {"approved_kind": "a" * 200, "changes_requested_kind": "c" * 200}
    seen = [in_review(bench, f"c{number}", "user:bob", "user:eve", **steps) for number in range(n)]
    items = [{**one, "action": "request_changes"} for one in seen]
    return bench.call("respond", actor="bob", item=items, queue=f"{bench.base}:queue:q")


@scenario(1, 100)
def respond_and_many_tasks_that_are_there_follow_in_one_slot(bench: NounBench, n: int) -> AnyCall:
    call = respond_and_many_tasks_follow_in_one_slot(bench, n)
    seq = int(bench.ask("HGET", ":change:d:change:c0", "seq")) + 2
    tasks = [{"id": f"d/c{number}/{seq}", "payload": "x", "kind": "tell"} for number in range(n)]
    of(bench, "queue", "q", "enqueue", item=tasks)
    return call


@scenario(0, clock="server")
def respond_and_a_task_follows_in_a_new_queue_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    return follow(bench, exists=False, clock="server")


@scenario(0)
def respond_and_a_task_follows_in_a_queue_that_had_partitions_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    call = follow(bench)
    bench.ask("HSET", ":queue:q:config", "epoch", 1)
    return call


def _begun_before(bench: NounBench, held: float, after: int = 0) -> AnyCall:
    """The lease of a run is over, while its locks last longer; and another applier has locks of the same owner."""
    one = approved_in(bench)
    locked(bench, "a:1", "a:2", ttl=held)
    bench.real(begin(bench, one, lease=10))
    bench.pass_time(10_000)
    items = [{"resource": name, "mode": "exclusive"} for name in LOCKED["resources"]]
    of(bench, "lock", "l", "acquire_many", rid="m", owner="d/c", ttl=60, issued_ms=bench.now, item=items)
    bench.pass_time(after)
    bases = {"lock": f"{bench.base}:lock:l"}
    return bench.call("begin", rid="other", agent="bot2", lock_rid="m", **one, **bases)


@scenario(0)
def begin_while_the_run_before_has_its_locks_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    return _begun_before(bench, 60)


@scenario(0)
def begin_when_the_run_before_has_lost_its_locks_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    return _begun_before(bench, 10)


@scenario(0)
def begin_when_the_locks_of_the_run_before_are_over_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    return _begun_before(bench, 11, 1000)


@scenario(0)
def begin_with_the_locks_of_the_run_before_in_one_slot(bench: NounBench, _: int) -> AnyCall:
    one = approved_in(bench)
    locked(bench, "a:1", "a:2", ttl=60)
    bench.real(begin(bench, one, lease=10))
    bench.pass_time(10_000)
    bases = {"lock": f"{bench.base}:lock:l"}
    return bench.call("begin", rid="other", agent="bot2", lock_rid="l", **one, **bases)
