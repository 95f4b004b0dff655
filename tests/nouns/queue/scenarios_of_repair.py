"""Paths of repair: queues with tasks that a call has lost which failed half-way."""

from __future__ import annotations

from pyadeq._core.queue.items import Failure
from tests.nouns.queue.workbench import BAND, Workbench
from tests.nouns.scenario import TIES, AnyCall, acks, scenario


def lose(bench: Workbench, name: str, ids: list[str]) -> list[str]:
    """Take tasks out of a set; `lanes` does not have an empty lane."""
    bench.ask("ZREM", f":{name}", *ids)
    if not bench.ask("EXISTS", ":ready:any"):
        bench.ask("SREM", ":lanes", "any")
    return ids


@scenario(1, 100, 1000)
def repair_sound(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.repair(bench.fill(n))


@scenario(1)
def repair_sound_beside_a_lease_without_record(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:u", concurrency=1)
    leases = bench.lease(1, user="u")
    waits = bench.fill(1, user="u")
    bench.claim(1)
    ids = bench.fill(n)
    bench.ask("DEL", f":task:{leases[0].id}")
    bench.ask("HSET", f":task:{ids[0]}", "limited_by", "user:u")
    return bench.calls.repair([leases[0].id, *waits, *ids])


@scenario(1, 100)
def repair_dry(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.repair([*lose(bench, "ready:any", bench.fill(n)), "never"][:1000], dry_run=True)


@scenario(1, 100, 1000)
def repair_lost(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, priority=0)
    bench.fill(1)
    bench.fill(1, priority=9)
    return bench.calls.repair(lose(bench, "ready:any", bench.fill(n)))


@scenario(1, 100)
def repair_lost_before_others(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n)
    bench.pass_time(1)
    bench.fill(2)
    return bench.calls.repair(lose(bench, "ready:any", ids))


@scenario(1, 100)
def repair_lost_among_those_of_its_call(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(3 * n)
    bench.fill(1, priority=9)
    return bench.calls.repair(lose(bench, "ready:any", ids[n : 2 * n]))


@scenario(1)
def repair_lost_beside_damaged_records(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(4)
    bench.ask("DEL", f":task:{ids[0]}")
    bench.ask("HDEL", f":task:{ids[1]}", "rid")
    bench.ask("HDEL", f":task:{ids[2]}", "rid")
    bench.ask("HSET", f":task:{ids[3]}", "rid", "x")
    return bench.calls.repair(lose(bench, "ready:any", ids[1:2]))


@scenario(1)
def repair_dry_beside_damaged_records(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.ask("DEL", f":task:{leases[0].id}")
    bench.ask("ZREM", ":leases", leases[0].id)
    ids = bench.fill(n)
    bench.ask("HDEL", f":task:{ids[0]}", "rid")
    return bench.calls.repair([*lose(bench, "ready:any", ids), leases[0].id], dry_run=True)


@scenario(1, 100)
def repair_lost_with_all(bench: Workbench, n: int) -> AnyCall:
    ids = lose(bench, "ready:any", bench.fill(n, **TIES))
    lose(bench, "deadlines", ids)
    return bench.calls.repair(ids)


@scenario(1)
def repair_lost_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(fair=True))
    return bench.calls.repair(lose(bench, "ready:any", bench.fill(n) + bench.fill(n, user="u")))


@scenario(1)
def repair_lost_and_delayed(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n, delay=5) + bench.fill(n, delay=3600, **TIES) + bench.fill(n, run_after=bench.now / 1000 + 60)
    return bench.calls.repair(lose(bench, "delayed", ids))


@scenario(1)
def repair_lost_that_was_settled(bench: Workbench, n: int) -> AnyCall:
    retried, snoozed, released = bench.lease(3, lane="group/g", priority=3, scope=lambda id: f"s-{id}")
    bench.real(bench.calls.fail([Failure(retried, b"e", reason="limited")], [0]))
    bench.real(bench.calls.snooze([(snoozed, 60)]))
    bench.real(bench.calls.release([released]))
    ids = [retried.id, snoozed.id, released.id]
    lose(bench, "delayed", ids)
    lose(bench, "ready:group/g", ids)
    bench.ask("SREM", ":lanes", "group/g")
    return bench.calls.repair(ids)


@scenario(1)
def repair_lost_of_an_ordering_key_that_was_released(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, ordering_key="k") + bench.lease(n, ordering_key="l")
    bench.real(bench.calls.release(leases))
    ids = [lease.id for lease in leases]
    bench.ask("DEL", ":order:l")
    return bench.calls.repair(lose(bench, "ready:any", ids))


@scenario(1, 100)
def repair_lost_and_ended(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, **TIES)
    bench.real(bench.calls.ack(acks(leases, b"result")))
    ids = [lease.id for lease in leases] + bench.die(n, **TIES)
    cancelled = bench.fill(n, **TIES)
    bench.real(bench.calls.cancel(cancelled, "c"))
    ids += cancelled
    for name in ("finished", "dead"):
        lose(bench, name, ids)
    bench.ask("DEL", *[f":reply:{id}" for id in ids])
    return bench.calls.repair(ids)


@scenario(1)
def repair_lost_and_ended_with_a_reply(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, reply=True)
    large = bench.lease(n, reply=True)
    plain = bench.lease(n)
    bench.real(bench.calls.ack([*acks(leases, b"result"), *acks(large, b"x" * 5000), *acks(plain, b"result")]))
    bench.ask("DEL", *[f":reply:{lease.id}" for lease in large])
    return bench.calls.repair(lose(bench, "finished", [lease.id for lease in [*leases, *large, *plain]]))


@scenario(1)
def repair_lost_and_dropped(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, reply=True)
    bench.real(bench.calls.ack(acks(leases)))
    ids = lose(bench, "finished", [lease.id for lease in leases])
    for lease in leases:
        bench.ask("HSET", f":task:{lease.id}", "settled", f"{lease.token} result_dropped")
        bench.ask("DEL", f":reply:{lease.id}")
    return bench.calls.repair(ids)


@scenario(1)
def repair_lost_and_dropped_with_a_follower(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.fill(n, after=[lease.id for lease in leases])
    for lease in leases:
        bench.ask("HSET", f":task:{lease.id}", "settled", f"{lease.token} result_dropped")
        bench.ask("HDEL", ":running", lease.id)
    return bench.calls.repair(lose(bench, "leases", [lease.id for lease in leases]))


@scenario(1)
def repair_lost_and_dead_for_a_reason_of_ours(bench: Workbench, n: int) -> AnyCall:
    ids = lose(bench, "ready:any", bench.fill(4, reply=True))
    for id, reason in zip(ids, ("crash_loop", "damaged", "expired", "other"), strict=True):
        bench.ask("HSET", f":task:{id}", "reason", reason)
    return bench.calls.repair(ids)


@scenario(1)
def repair_lost_and_cancelled_by_its_worker(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.cancel([lease.id for lease in leases], "c"))
    bench.real(bench.calls.fail([Failure(lease, b"e") for lease in leases], [0] * n))
    ids = lose(bench, "finished", [lease.id for lease in leases])
    bench.ask("HDEL", f":task:{ids[0]}", "cancelled_ms")
    return bench.calls.repair(ids)


@scenario(1, 100)
def repair_lost_and_blocked(bench: Workbench, n: int) -> AnyCall:
    first, second = bench.fill(2)
    return bench.calls.repair(lose(bench, "blocked", bench.fill(n, after=[first, second])))


@scenario(1)
def repair_lost_and_blocked_without_record_of_another(bench: Workbench, n: int) -> AnyCall:
    first, second, third = bench.fill(3)
    ids = bench.fill(n, after=[first, second, third], after_when="ended", expires_at=bench.now / 1000 + 60)
    bench.real(bench.calls.cancel([first], "c"))
    bench.ask("DEL", f":task:{third}")
    return bench.calls.repair(lose(bench, "blocked", ids))


@scenario(1)
def repair_lost_when_what_it_waited_for_was_gone(bench: Workbench, n: int) -> AnyCall:
    (first,) = bench.fill(1)
    ids = bench.fill(n, after=[first])
    bench.real(bench.calls.purge("p"))
    bench.settle()
    return bench.calls.repair(lose(bench, "blocked", ids))


@scenario(1)
def repair_lost_after_it_had_waited(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(1)
    ids = bench.fill(n, after=[leases[0].id])
    bench.real(bench.calls.ack(acks(leases)))
    return bench.calls.repair(lose(bench, "ready:any", ids))


@scenario(1)
def repair_lost_that_gathers(bench: Workbench, n: int) -> AnyCall:
    (first,) = bench.fill(1)
    ids = bench.fill(1, gather=2) + bench.fill(1, gather=2, after=[first]) + bench.fill(1, gather=1)
    kids = bench.fill(2, parent=ids[0], priority=0) + bench.fill(1, parent=ids[2], priority=0)
    leases = bench.claim(3)
    assert {lease.id for lease in leases} == set(kids)
    lose(bench, "blocked", ids)
    bench.real(bench.calls.ack(acks([lease for lease in leases if lease.id != kids[0]])))
    bench.ask("HDEL", f":task:{ids[1]}", "awaits")
    return bench.calls.repair(ids)


@scenario(1)
def repair_lost_that_gathers_those_who_died(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n, gather=2, after_when="ended")
    bench.fill(2, parent=ids[0])
    bench.real(bench.calls.fail([Failure(lease, b"e", retryable=False) for lease in bench.claim(1)], [0]))
    return bench.calls.repair(lose(bench, "blocked", ids))


@scenario(1)
def repair_lost_of_an_ordering_key(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(3, ordering_key="k")
    lose(bench, "blocked", ids)
    lose(bench, "order:k", ids[2:])
    return bench.calls.repair(lose(bench, "ready:any", ids))


@scenario(1)
def repair_lost_from_a_line(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:u", concurrency=1)
    bench.lease(1, user="u")
    ids = bench.fill(3, user="u")
    bench.claim(10)
    lose(bench, "waiting:user:u", ids[1:2])
    lose(bench, "waiting:user:u", ids[2:])
    return bench.calls.repair([*lose(bench, "blocked", ids[:2]), ids[2]])


@scenario(1, 100)
def repair_leases(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:u", concurrency=1000)
    leases = bench.lease(n, user="u") + bench.lease(n) + bench.lease(n)
    bench.ask("ZREM", ":leases", *[lease.id for lease in leases[: 2 * n]])
    bench.ask("DEL", ":holding:user:u")
    bench.ask("HDEL", ":running", *[lease.id for lease in leases[2 * n :]])
    return bench.calls.repair([lease.id for lease in leases])


@scenario(1)
def repair_leases_that_a_limit_does_not_count(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:u", concurrency=1000)
    leases = bench.lease(2 * n, user="u")
    bench.ask("ZREM", ":holding:user:u", leases[0].id)
    return bench.calls.repair([lease.id for lease in leases])


@scenario(1)
def repair_leases_without_record(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:u", concurrency=1000)
    leases = bench.lease(n, user="u") + bench.lease(n)
    ids = [lease.id for lease in leases]
    bench.ask("ZREM", ":leases", *ids)
    bench.ask("DEL", f":task:{ids[0]}")
    bench.ask("HDEL", f":task:{ids[1]}", "created_ms")
    return bench.calls.repair(ids)


@scenario(1)
def repair_leases_that_were_settled(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    held = bench.ask("HGET", ":running", leases[0].id)
    bench.real(bench.calls.ack(acks(leases)))
    ids = lose(bench, "finished", [lease.id for lease in leases])
    bench.ask("HSET", ":running", ids[0], held)
    (released,) = bench.lease(1)
    held = bench.ask("HGET", ":running", released.id)
    bench.real(bench.calls.release([released]))
    bench.ask("HSET", ":running", released.id, held)
    return bench.calls.repair([*ids, *lose(bench, "ready:any", [released.id])])


@scenario(1)
def repair_twice(bench: Workbench, n: int) -> AnyCall:
    running, ended, settled, killed, done = bench.lease(5)
    held = [bench.ask("HGET", ":running", lease.id) for lease in (ended, settled)]
    bench.real(bench.calls.fail([Failure(ended, b"e", retryable=False), Failure(settled, b"e")], [0, 0]))
    for lease, value in zip((ended, settled), held, strict=True):
        bench.ask("ZADD", ":leases", bench.now + 5, lease.id)
        bench.ask("HSET", ":running", lease.id, value)
    bench.ask("ZADD", ":dead", bench.now, killed.id)
    bench.ask("ZADD", ":finished", bench.now, done.id)
    bench.ask("ZADD", ":ready:any", 5 * BAND + 1, running.id)
    (waits,) = bench.fill(1, lane="group/g")
    bench.ask("ZADD", ":delayed", bench.now + 5, waits, bench.now + 5, running.id)
    return bench.calls.repair([running.id, ended.id, settled.id, killed.id, done.id, waits])


@scenario(1)
def repair_twice_in_a_line(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:u", concurrency=1)
    bench.lease(1, user="u")
    ids = bench.fill(2, user="u")
    bench.claim(10)
    bench.ask("ZADD", ":ready:any", bench.ask("ZSCORE", ":blocked", ids[0]), ids[0])
    bench.ask("ZADD", ":finished", bench.now, ids[1])
    bench.ask("HSET", f":task:{ids[1]}", "cancelled_ms", bench.now)
    bench.ask("SADD", ":lanes", "any")
    return bench.calls.repair(ids)


@scenario(1)
def repair_in_the_line_of_a_limit(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:u", concurrency=1)
    bench.lease(1, user="u")
    ids = bench.fill(n, user="u")
    bench.claim(10)
    bench.ask("DEL", ":waiting:user:u", ":limit:lines")
    return bench.calls.repair(ids)


@scenario(0)
def repair_lanes(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, lane="group/g")
    bench.ask("SREM", ":lanes", "group/g")
    bench.ask("SADD", ":lanes", "group/h")
    return bench.calls.repair(lanes=["group/g", "group/h", "any"])


@scenario(0)
def repair_lanes_dry(bench: Workbench, _: int) -> AnyCall:
    bench.ask("SADD", ":lanes", "group/h")
    return bench.calls.repair(lanes=["group/h"], dry_run=True)


def damaged_line(bench: Workbench, n: int) -> None:
    bench.limit("user:u", concurrency=1)
    bench.lease(1, user="u")
    bench.fill(1, user="u")
    bench.claim(10)
    leases = bench.lease(2)
    bench.ask("ZADD", ":holding:user:u", 1, leases[0].id, 2, leases[1].id)
    bench.ask("ZREM", ":leases", leases[1].id)
    (other,) = bench.fill(1, delay=60)
    bench.ask("ZADD", ":blocked", 5 * BAND + 7, other)
    bench.ask("ZADD", ":waiting:user:u", 5 * BAND + 7, other)
    bench.ask("ZREM", ":delayed", other)
    for at in range(n):
        bench.ask("ZADD", ":holding:user:u", at, f"x{at}")
        bench.ask("ZADD", ":waiting:user:u", at, f"x{at}")
    bench.ask("ZREM", ":limit:lines", "user:u")


@scenario(1, 100)
def repair_a_line(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:u", concurrency=1)
    bench.lease(1, user="u")
    bench.fill(1, user="u")
    bench.claim(10)
    for at in range(n):
        bench.ask("ZADD", ":holding:user:u", at, f"x{at}")
        bench.ask("ZADD", ":waiting:user:u", at, f"x{at}")
    return bench.calls.repair(limit="user:u")


@scenario(1)
def repair_a_damaged_line(bench: Workbench, n: int) -> AnyCall:
    damaged_line(bench, n)
    return bench.calls.repair(limit="user:u")


@scenario(1)
def repair_a_line_dry(bench: Workbench, n: int) -> AnyCall:
    damaged_line(bench, n)
    return bench.calls.repair(limit="user:u", dry_run=True)


@scenario(1)
def repair_a_line_that_is_sound(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:u", concurrency=1)
    bench.lease(1, user="u")
    bench.fill(n, user="u")
    bench.claim(10)
    return bench.calls.repair(limit="user:u")


@scenario(1)
def repair_a_line_whose_holder_holds_others(bench: Workbench, n: int) -> AnyCall:
    for key in ("user:u", "tag:t", "key:k"):
        bench.limit(key, concurrency=5)
    bench.lease(n, user="u", tags=["t"], limits=["k"])
    return bench.calls.repair(limit="tag:t")


@scenario(0)
def repair_a_line_that_is_looked_at_for_nothing(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1)
    bench.ask("ZADD", ":limit:lines", bench.now, "user:u")
    bench.ask("HSET", ":config", "limits", "1")
    return bench.calls.repair(limit="user:u")


@scenario(0)
def repair_a_line_that_is_not_there(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1)
    return bench.calls.repair(limit="user:u")


def damaged_lease(bench: Workbench) -> str:
    """A task whose lease does not say who has it: no script writes such a one."""
    (lease,) = bench.lease(1, user="u")
    bench.ask("HSET", ":running", lease.id, f"{lease.token} 1 any limits=user:u")
    return lease.id


@scenario(0)
def get_of_a_damaged_lease(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.get([damaged_lease(bench)])


@scenario(0)
def repair_of_a_damaged_lease(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.repair([damaged_lease(bench)], dry_run=True)
