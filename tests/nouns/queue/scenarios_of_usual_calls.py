"""Paths of the calls of workers that are answered before most functions are made, and of what is nearly so."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pyadeq._core.kernel.call import build_call
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import AnyCall, acks, scenarios, sent, settle

State = Callable[[Workbench], object]


def second(bench: Workbench, state: State, limit: int = 1, **more: Any) -> AnyCall:
    """A claim of a slot that has kept house a moment ago, in a state of the queue."""
    bench.claim(1, lanes=["group/of-nobody"])
    state(bench)
    return bench.calls.claim("w", "i", 0, 10**6, limit=limit, **more)


def ending(bench: Workbench, state: State, n: int = 1, lease: float = 0) -> AnyCall:
    """A settle of some tasks, in a state of the queue, and of the next task. lease: of these, in seconds."""
    bench.fill(n)
    leases = bench.claim(n, lease=lease)
    bench.pass_time(int(lease * 1000))
    state(bench)
    return bench.calls.settle("w", "i", 0, 10**6, acks=acks(leases, b"r"), limit=1)


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


def with_field(*fields: Any) -> State:
    def state(bench: Workbench) -> None:
        (id,) = bench.fill(1)
        bench.ask("HSET", f":task:{id}", *fields)

    return state


def steps(*states: State) -> State:
    def state(bench: Workbench) -> None:
        for step in states:
            step(bench)

    return state


def and_few(state: State) -> State:
    return steps(state, few)


def aged(bench: Workbench) -> AnyCall:
    """A claim of a task that has waited for longer than the last bucket."""
    bench.fill(1)
    bench.pass_time(3_000_000_000)  # ms
    return second(bench, lambda _: None)


def hidden(bench: Workbench, *states: State) -> AnyCall:
    """A settle of five tasks, whose leases end before that of another task."""
    leases = bench.lease(5)
    bench.pass_time(3)
    bench.lease(1)
    for state in states:
        state(bench)
    return settle(bench, acks=acks(leases), limit=1)


def with_setting(name: str, value: Any) -> State:
    return lambda bench: bench.ask("HSET", ":config", name, value)


def finishing(bench: Workbench, state: State) -> AnyCall:
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


def again_unheard(bench: Workbench) -> AnyCall:
    """A repeated claim of a worker that has not heard a request; its slot has kept house a moment ago."""
    call = second(bench, few)
    bench.real(bench.calls.steer(["w"], "quiet", rid="s"))
    return sent(bench, call)


def refused(bench: Workbench) -> None:
    bench.ask("HSET", ":config", "layout_min", 99)


def with_step(bench: Workbench, value: str) -> None:
    (id,) = bench.fill(1)
    bench.ask("HSET", f":steps:{id}", "s", f"1 step {bench.now} 1\n{value}")
    bench.ask("HSET", f":task:{id}", "durable", f"1 {len(value) + 33}")


def without_a_layout(bench: Workbench) -> None:
    bench.ask("HDEL", ":config", "layout_min")


# Each is the state of a claim, and of a settle.
STATES: dict[str, State] = {
    "with_settings_as_they_are": and_few(stored),
    "where_fair_shares_were": with_setting("fair_top", 1),
    "with_fair_shares_within_a_second": and_few(with_setting("fair", 1)),
    "with_a_limit_within_a_second": and_few(lambda bench: bench.limit("all", concurrency=9)),
    "with_a_default_timeout_within_a_second": and_few(with_setting("timeout_ms", 5)),
    "paused_within_a_second": lambda bench: bench.real(bench.calls.pause()),
    "without_events_within_a_second": with_setting("events_max", 0),
    "of_a_newer_layout_within_a_second": refused,
    "without_a_layout_within_a_second": without_a_layout,
    "on_another_clock_within_a_second": with_setting("clock", "server"),
    "beside_a_delayed_task": and_few(delayed),
    "beside_a_deadline": and_few(deadline),
    "beside_a_due_task": steps(lambda bench: bench.fill(1, delay=0.001), lambda bench: bench.pass_time(5)),
    "with_chains_before": with_setting("chains", 1),
    "with_ends_to_report": lambda bench: [
        with_setting("chains", 1)(bench),
        bench.ask("ZADD", ":ends", bench.now, "c nothing - 0 0"),
    ],
    "beside_another_lease": lambda bench: [bench.fill(2), bench.claim(1)],
    "whose_token_was_taken": lambda bench: [bench.fill(2), bench.ask("DEL", ":wake:any")],
    "beside_a_schedule": and_few(lambda bench: bench.schedule("s")),
    "of_what_has_waited": steps(few, lambda bench: bench.pass_time(7)),
    "of_what_was_given_back": with_field("ready_ms", 1, "attempts", 1, "crashes", 1, "deliveries", 2),
    "of_a_large_task": lambda bench: bench.fill(1, payload=b"x" * 2000),
    "of_a_task_with_ties": lambda bench: bench.fill(1, unique="u"),
    "of_a_traced_task": with_field("trace", "t"),
    "of_a_task_with_a_step": lambda bench: with_step(bench, "x"),
    "of_a_task_with_a_large_step": lambda bench: with_step(bench, "x" * 70_000),
    "of_a_task_with_a_deadline": lambda bench: bench.fill(1, expires_at=(bench.now + 60_000) / 1000),
    "of_a_task_with_a_fallback": lambda bench: bench.fill(1, fallback=["group/g"], fallback_after=60),
    "of_a_task_of_a_scope": lambda bench: bench.fill(1, scope="s"),
    "without_a_record_within_a_second": lambda bench: [bench.ask("DEL", f":task:{id}") for id in bench.fill(1)],
    "without_the_time_of_a_record": lambda bench: [
        bench.ask("HDEL", f":task:{id}", "created_ms") for id in bench.fill(1)
    ],
    "without_payload_within_a_second": lambda bench: [bench.ask("DEL", f":payload:{id}") for id in bench.fill(1)],
}
for name, state in STATES.items():
    scenarios(
        (), "queue", **{f"claim_{name}": partial(second, state=state), f"settle_{name}": partial(ending, state=state)}
    )

# Each is the state of an ack.
ENDS: dict[str, State] = {
    "with_settings_as_they_are": stored,
    "without_events": with_setting("events_max", 0),
    "of_a_newer_layout": refused,
    "without_a_layout": without_a_layout,
    "where_results_are_kept_for_a_time": with_setting("result_ms", 60_000),
    "where_payloads_are_kept_for_a_time": with_setting("payload_ms", 60_000),
    "under_a_limit_that_came_later": lambda bench: bench.limit("all", concurrency=9),
    "after_its_first_run": lambda bench: bench.pass_time(7),
}
for name, state in ENDS.items():
    scenarios(
        (),
        "queue",
        **{f"ack_{name}": partial(finishing, state=state), f"settle_an_ack_{name}": partial(ending, state=state)},
    )

scenarios(
    claim_from_two_of_two_lanes=lambda bench: second(
        bench, steps(few, lambda own: own.fill(1, lane="group/g")), lanes=["group/g", "any"]
    ),
    claim_from_one_of_two_lanes=lambda bench: second(bench, few, lanes=["group/g", "any"]),
    claim_of_101_tasks=lambda bench: second(bench, lambda own: own.fill(101), limit=101),
    claim_for_a_lease_of_its_own_within_a_second=lambda bench: second(bench, few, lease=3),
    claim_of_a_busy_worker=lambda bench: second(bench, few, busy=2),
    claim_again_unheard_within_a_second=again_unheard,
    claim_of_what_has_waited_for_a_month=aged,
    claim_of_five_megabytes=lambda bench: second(bench, lambda own: own.fill(5, payload=b"x" * 1_000_000), limit=5),
    claim_with_a_source=lambda bench: second(traced(bench), few),
    settle_with_a_source=lambda bench: ending(traced(bench), few),
    settle_nothing_within_a_second=lambda bench: [bench.claim(1), settle(bench, limit=1)][1],
    settle_for_no_lane=no_lane,
    settle_beside_a_schedule_after_a_second=lambda bench: ending(
        bench, steps(few, lambda own: own.schedule("s"), lambda own: own.pass_time(1000))
    ),
    settle_five_of_six=hidden,
    settle_five_of_six_beside_a_delayed_task=lambda bench: hidden(bench, delayed),
    settle_five_of_five=lambda bench: ending(bench, few, 5),
    settle_five_leases_that_ran_out=lambda bench: ending(bench, few, 5, lease=0.5),
    ack_by_a_worker_with_the_name_of_a_word=telling,
)
