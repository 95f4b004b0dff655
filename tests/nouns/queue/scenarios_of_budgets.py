"""Scenarios where a call stops at its budget of work, and leaves the rest to the next."""

from __future__ import annotations

from typing import Any

from pyadeq.models import Task
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import AnyCall, acks, scenario

NOW = START / 1000


def tagged(bench: Workbench, number: int, name: str = "t") -> list[str]:
    """Tasks with 16 tags each, all of their own."""
    return [bench.fill(1, tags=[f"{name}{at}.{tag}" for tag in range(16)])[0] for at in range(number)]


def ended(bench: Workbench) -> None:
    """More tasks have been cancelled, and others are dead, than a call removes, as they have many tags."""
    for page in (tagged(bench, 90, "f"),):
        bench.real(bench.calls.cancel(page))
    bench.fill(3, expires_at=NOW + 1)
    bench.real(bench.calls.configure(finished_keep=1, dead_keep=1))
    bench.pass_time(1_000)
    bench.real(bench.calls.expire())
    bench.pass_time(1_500)


@scenario(0)
def trim_tasks_with_many_tags(bench: Workbench, _: int) -> AnyCall:
    ended(bench)
    return bench.calls.trim()


@scenario(0)
def claim_after_tasks_with_many_tags_have_ended(bench: Workbench, _: int) -> AnyCall:
    ended(bench)
    bench.worker()
    return bench.calls.claim("w", "i", 0, 10**6, limit=1)


@scenario(0)
def purge_tasks_with_many_tags(bench: Workbench, _: int) -> AnyCall:
    tagged(bench, 110)
    return bench.calls.purge("r")


@scenario(10)
def reap_leases_that_hold_many_limits(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.set_limits([("key:*", {"concurrency": 1})], "limits"))
    for at in range(n):
        bench.fill(1, limits=[f"k{at}.{key}" for key in range(8)])
    bench.claim(n)
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(0)
def claim_what_many_limits_hold_back(bench: Workbench, _: int) -> AnyCall:
    """Each task has 8 limits. Their rates are known, and let none start."""
    rule = {"starts": 1, "period_ms": 60_000}
    bench.real(bench.calls.set_limits([("key:*", rule)], "limits"))
    for at in range(80):
        bench.fill(1, limits=[f"k{at}.{key}" for key in range(8)])
    bench.claim(80)
    for at in range(80):
        bench.fill(1, limits=[f"k{at}.{key}" for key in range(8)])
    bench.worker("v")
    return bench.calls.claim("v", "i", 0, 10**6, limit=1)


@scenario(0)
def claim_of_many_lanes_with_shares(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(fair=True))
    lanes = [f"group/g{at}" for at in range(9)]
    for lane in lanes:
        bench.fill(1, lane=lane, user="u")
    bench.worker()
    bench.pass_time(1_500)
    return bench.calls.claim("w", "i", 0, 10**6, limit=9, lanes=lanes)


@scenario(1)
def expire_tasks_of_a_scope(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, scope="s", expires_at=NOW + 1)
    bench.pass_time(1_000)
    return bench.calls.expire()


def many_follow(bench: Workbench) -> None:
    """A task has ended that 250 wait for, and another that some wait for expires, beyond those that a claim sweeps."""
    (first,) = bench.fill(1, priority=0)
    last = "last"
    items: list[tuple[str, Task]] = [(f"a{at}", Task(payload=b"x", after=[first], lane="group/h")) for at in range(250)]
    items += [(f"e{at}", Task(payload=b"x", lane="group/h", expires_at=NOW + 1)) for at in range(60)]
    items += [(last, Task(payload=b"x", expires_at=NOW + 1)), ("z", Task(payload=b"x", after=[last]))]
    bench.real(bench.calls.enqueue(items, "many"))
    (lease,) = bench.claim(1)
    bench.pass_time(1_000)
    bench.real(bench.calls.ack(acks([lease])))


def next_claim(bench: Workbench, verb: str) -> AnyCall:
    many_follow(bench)
    more: dict[str, Any] = {"limit": 1}
    call: AnyCall = getattr(bench.calls, verb)("w", "i", 0, 10**6, **more)
    return call


@scenario(0)
def claim_where_many_follow(bench: Workbench, _: int) -> AnyCall:
    return next_claim(bench, "claim")


@scenario(0)
def settle_where_many_follow(bench: Workbench, _: int) -> AnyCall:
    return next_claim(bench, "settle")
