"""Paths of the calls of workers that are answered before most functions are made, and of what is nearly so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyadeq._core.kernel.call import build_call
from tests.lua.scenario import AnyCall, acks, scenarios, settle
from tests.lua.workbench import Workbench


def second(bench: Workbench, state: Callable[[Workbench], object], limit: int = 1, **more: Any) -> AnyCall:
    """A claim of a slot that has kept house a moment ago, in a state of the queue."""
    bench.claim(1, lanes=["group/of-nobody"])
    state(bench)
    return bench.calls.claim("w", "i", 0, 10**6, limit=limit, **more)


def ending(bench: Workbench, state: Callable[[Workbench], object], n: int = 1, result: Any = None) -> AnyCall:
    """A settle of some tasks that ran for 7 ms, in a state of the queue, and of the next task."""
    leases = bench.lease(n)
    bench.pass_time(7)
    state(bench)
    return settle(bench, acks=acks(leases, result), limit=1)


def traced(bench: Workbench) -> Workbench:
    """The same queue, for calls with a source."""
    bench.calls = type(bench.calls)(bench.base, now_ms=lambda: bench.now, source="s")
    return bench


def stored(bench: Workbench) -> None:
    """Settings that are stored, as they are without."""
    bench.real(bench.calls.configure(lease=20, events_max=50_000, finished_max=1_000, timeout=0, fair=True))
    bench.real(bench.calls.configure(fair=False))
    bench.ask("HSET", ":config", "limits", 0, "fair_top", 0)
    bench.real(bench.calls.pause())
    bench.real(bench.calls.resume())


def delayed(bench: Workbench) -> None:
    bench.fill(1, delay=60)


def deadline(bench: Workbench) -> None:
    bench.fill(1, expires_at=(bench.now + 60_000) / 1000, lane="group/h")


def few(bench: Workbench) -> None:
    bench.fill(1)


def with_field(*fields: Any) -> Callable[[Workbench], object]:
    def state(bench: Workbench) -> None:
        (id,) = bench.fill(1)
        bench.ask("HSET", f":task:{id}", *fields)

    return state


def and_few(state: Callable[[Workbench], object]) -> Callable[[Workbench], object]:
    return lambda bench: [state(bench), few(bench)]


def aged(bench: Workbench) -> AnyCall:
    """A claim of a task that has waited for longer than the last bucket."""
    bench.fill(1)
    bench.pass_time(3_000_000_000)  # ms
    return second(bench, lambda _: None)


def hidden(bench: Workbench, *states: Callable[[Workbench], object]) -> AnyCall:
    """A settle of five tasks, whose leases end before that of another task."""
    leases = bench.lease(5)
    bench.pass_time(3)
    bench.lease(1)
    for state in states:
        state(bench)
    return settle(bench, acks=acks(leases), limit=1)


def with_setting(name: str, value: Any) -> Callable[[Workbench], object]:
    return lambda bench: bench.ask("HSET", ":config", name, value)


def finishing(bench: Workbench, state: Callable[[Workbench], object]) -> AnyCall:
    leases = bench.lease(1)
    state(bench)
    return bench.calls.ack(acks(leases, b"r"))


def telling(bench: Workbench) -> AnyCall:
    """An ack with a source, of a worker whose name is a word of a lease."""
    bench.fill(1)
    bench.worker("ties")
    leases = bench.real(bench.calls.claim("ties", "i", 0, 1)).leases
    return traced(bench).calls.ack(acks(leases))


def no_lane(bench: Workbench) -> AnyCall:
    """A settle that the client does not send: without lanes."""
    bench.claim(1)
    scalars = {"worker": "w", "incarnation": "i", "slot": 0, "n": 10**6, "limit": 1, "now_ms": bench.now}
    return build_call("queue.settle.v1", bench.base, scalars, {}, decode=list)


scenarios(
    claim_with_settings_as_they_are=lambda bench: second(bench, and_few(stored)),
    claim_where_fair_shares_were=lambda bench: second(bench, with_setting("fair_top", 1)),
    claim_paused_within_a_second=lambda bench: second(bench, lambda own: own.real(own.calls.pause())),
    claim_without_events_within_a_second=lambda bench: second(bench, with_setting("events_max", 0)),
    claim_beside_a_delayed_task=lambda bench: second(bench, and_few(delayed)),
    claim_beside_a_deadline=lambda bench: second(bench, and_few(deadline)),
    claim_of_a_due_task=lambda bench: second(bench, lambda own: [own.fill(1, delay=0.001), own.pass_time(5)]),
    claim_with_chains_before=lambda bench: second(bench, with_setting("chains", 1)),
    claim_with_ends_to_report=lambda bench: second(
        bench, lambda own: [with_setting("chains", 1)(own), own.ask("ZADD", ":ends", own.now, "c nothing - 0 0")]
    ),
    claim_from_two_of_two_lanes=lambda bench: second(
        bench, lambda own: [few(own), own.fill(1, lane="group/g")], lanes=["group/g", "any"]
    ),
    claim_from_one_of_two_lanes=lambda bench: second(bench, few, lanes=["group/g", "any"]),
    claim_of_101_tasks=lambda bench: second(bench, lambda own: own.fill(101), limit=101),
    claim_whose_token_was_taken=lambda bench: second(bench, lambda own: [own.fill(2), own.ask("DEL", ":wake:any")]),
    claim_for_a_lease_of_its_own_within_a_second=lambda bench: second(bench, few, lease=3),
    claim_of_a_busy_worker=lambda bench: second(bench, few, busy=2),
    claim_beside_a_schedule=lambda bench: second(bench, lambda own: [few(own), own.schedule("s")]),
    claim_of_what_has_waited_for_a_month=aged,
    claim_of_what_has_waited=lambda bench: second(bench, lambda own: [few(own), own.pass_time(7)]),
    claim_of_what_was_given_back=lambda bench: second(
        bench, with_field("ready_ms", 1, "attempts", 1, "crashes", 1, "deliveries", 2)
    ),
    claim_of_a_large_task=lambda bench: second(bench, lambda own: own.fill(1, payload=b"x" * 2000)),
    claim_of_a_task_with_ties=lambda bench: second(bench, lambda own: own.fill(1, unique="u")),
    claim_of_a_traced_task=lambda bench: second(bench, with_field("trace", "t")),
    claim_of_a_task_with_a_deadline=lambda bench: second(
        bench, lambda own: own.fill(1, expires_at=(own.now + 60_000) / 1000)
    ),
    claim_of_a_task_with_a_fallback=lambda bench: second(
        bench, lambda own: own.fill(1, fallback=["group/g"], fallback_after=60)
    ),
    claim_of_a_task_of_a_scope=lambda bench: second(bench, lambda own: own.fill(1, scope="s")),
    claim_of_an_empty_record=lambda bench: second(
        bench, lambda own: [own.ask("DEL", f":task:{id}") for id in own.fill(1)]
    ),
    claim_of_a_record_without_its_time=lambda bench: second(
        bench, lambda own: [own.ask("HDEL", f":task:{id}", "created_ms") for id in own.fill(1)]
    ),
    claim_without_a_payload_within_a_second=lambda bench: second(
        bench, lambda own: [own.ask("DEL", f":payload:{id}") for id in own.fill(1)]
    ),
    claim_of_five_megabytes=lambda bench: second(bench, lambda own: own.fill(5, payload=b"x" * 1_000_000), limit=5),
    claim_with_a_source=lambda bench: second(traced(bench), few),
    settle_with_a_source=lambda bench: ending(traced(bench), few),
    settle_beside_a_schedule=lambda bench: ending(bench, lambda own: [few(own), own.schedule("s")]),
    settle_nothing_within_a_second=lambda bench: [bench.claim(1), settle(bench, limit=1)][1],
    settle_for_no_lane=no_lane,
    settle_beside_two_lanes=lambda bench: ending(bench, lambda own: [own.ask("ZADD", ":delayed", 0, "none"), few(own)]),
    settle_five_of_six=hidden,
    settle_five_of_six_beside_a_delayed_task=lambda bench: hidden(bench, delayed),
    settle_five_of_five=lambda bench: ending(bench, few, 5),
    settle_five_that_ran_out=lambda bench: ending(bench, lambda own: own.pass_time(500), 5),
    settle_with_stored_settings=lambda bench: ending(bench, stored),
    ack_with_stored_settings=lambda bench: finishing(bench, stored),
    ack_without_events=lambda bench: finishing(bench, with_setting("events_max", 0)),
    ack_where_results_are_kept_for_a_time=lambda bench: finishing(bench, with_setting("result_ms", 60_000)),
    ack_under_a_limit_that_came_later=lambda bench: finishing(bench, lambda own: own.limit("all", concurrency=9)),
    ack_after_its_first_run=lambda bench: finishing(bench, lambda own: own.pass_time(7)),
    ack_by_a_worker_with_the_name_of_a_word=telling,
)
