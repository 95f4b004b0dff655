"""Scripts that answer the usual call before they make their functions do the same without that part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, repeat
from typing import Any

import pytest

from pyadeq import QueueCalls
from tests.mutation.texts import install, original
from tests.nouns.queue.test_without_features import BY_CHANCE, outcome, smallest
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import AnyCall
from tests.nouns.script_bench import MakeAny
from tests.nouns.sources import sources
from tests.nouns.test_scenarios import real_reply
from tests.unit.lua_tree import bundle

pytestmark = pytest.mark.any_engine

# What stands above the line `-- LATE BODY` of these scripts may be left out, if its locals are declared.
DECLARED = {
    "queue.ack.v1": "local row, held",
    "queue.claim.v1": "local row, known",
    "queue.enqueue.v1": """
local row, known, keys, stamps = nil, nil, {}, {}
for i, id in ipairs(item_id) do keys[i], stamps[i] = task .. id, rid .. '/' .. i end""",
    "queue.settle.v1": "local row, held, known",
}
Own = dict[str, Any]
State = Callable[[Workbench], object]
TASKS: list[Own] = [
    {},
    {"kind": "k"},
    {"max_attempts": 3, "headers": b"{}", "priority": 5},
    {"priority": 2, "source": b"own"},
    {"lane": "group/g"},
    {"user": "u"},
    {"kind": "k", "timeout_ms": 5, "user": "v"},
    {"tags": ["t"]},
    {"idempotency_key": "key"},
    {"result_ms": 60_000, "backoff_base_ms": 5, "backoff_multiplier_pct": 150, "backoff_cap_ms": 9, "jitter_pct": 0},
]
KEYED: list[Own] = [{"idempotency_key": f"n{n}", "user": "u"} for n in range(21)]
BATCHES: list[list[Own]] = [
    [*TASKS[:4], *TASKS[5:7], {"user": "u", "timeout_ms": 6}, TASKS[9]],
    [{}, *TASKS[3:]],
    [{}] * 21,
    [{}, *KEYED],
]
STATES: dict[str, State] = {
    "as it is": lambda bench: None,
    "paused": lambda bench: [bench.real(bench.calls.pause()), bench.ask("DEL", ":wake:any")],
    "draining": lambda bench: bench.real(bench.calls.drain()),
    "running again": lambda bench: [bench.real(bench.calls.pause()), bench.real(bench.calls.resume())],
    "without events": lambda bench: bench.real(bench.calls.configure(events_max=0)),
    "with few events": lambda bench: bench.real(bench.calls.configure(events_max=9)),
    "of another tier": lambda bench: bench.real(bench.calls.configure(tier="public")),
    "that keeps keys for a time": lambda bench: bench.real(bench.calls.configure(idempotency=100)),
    "of the usual tier": lambda bench: bench.real(bench.calls.configure(tier="internal")),
    "with fair shares": lambda bench: bench.real(bench.calls.configure(fair=True)),
    "with tasks in a limit queue": lambda bench: [bench.limit("all", concurrency=1), bench.fill(1), bench.claim(2)],
    "partitioned": lambda bench: bench.real(bench.calls.enqueue_items([("new", b"", {})], "r", epoch=2)),
    "with its wake token taken": lambda bench: bench.ask("DEL", ":wake:any"),
    "emptied": lambda bench: bench.claim(1),
    "with a token for nothing": lambda bench: [bench.claim(1), bench.ask("LPUSH", ":wake:any", "1")],
    "of another clock": lambda bench: bench.ask("HSET", ":config", "clock", "server"),
    "of a newer layout": lambda bench: bench.ask("HSET", ":config", "layout_min", 99),
}
# What a worker finds, and what happens to the queue after its first claim.
WAITING: list[Own] = [
    {},
    {},
    {"kind": "k", "headers": b"{}"},
    {"user": "u", "tags": ["a", "b"]},
    {"priority": 2},
    {"lane": "group/g"},
    {"lane": "group/g", "unique": "one"},
    {"reply": True},
    {"timeout_ms": 5000},
    {"max_attempts": 1},
    {"ordering_key": "key"},
    {"ordering_key": "key"},
    {"result_ms": 60_000},
    {"source": b"s"},
    {},
    {},
]
LATER: dict[str, State] = {
    "with a default timeout": lambda bench: bench.real(bench.calls.configure(timeout=10)),
    "that keeps results for a time": lambda bench: bench.real(bench.calls.configure(result_ttl=60)),
    "that keeps payloads for a time": lambda bench: bench.real(bench.calls.configure(payload_ttl=60)),
    "that keeps three ended tasks": lambda bench: bench.real(bench.calls.configure(finished_max=3)),
    "with longer leases": lambda bench: bench.real(bench.calls.configure(lease=60)),
    "with a schedule": lambda bench: bench.schedule("s"),
    "with a paused schedule": lambda bench: [bench.schedule("s"), bench.real(bench.calls.pause_schedule("s", "r"))],
    "with a delayed task": lambda bench: bench.fill(1, delay=60),
    "with a delayed task that is due soon": lambda bench: bench.fill(1, delay=0.01),
    "with a task that expires": lambda bench: bench.fill(1, expires_at=(bench.now + 60_000) / 1000, priority=0),
    "with a task that expires soon": lambda bench: bench.fill(1, expires_at=(bench.now + 10) / 1000),
    "with a task that has a fallback": lambda bench: bench.fill(
        1, lane="group/h", fallback=["any"], fallback_after=60, priority=0
    ),
    "with a task of a scope": lambda bench: bench.fill(1, scope="s", priority=0),
    "with a traced task": lambda bench: traced(bench, 1),
    "with two traced tasks": lambda bench: traced(bench, 2),
    "with a task that others wait for": lambda bench: bench.fill(1, after=bench.fill(1, priority=0)),
    "with ends to report": lambda bench: [
        bench.ask("HSET", ":config", "chains", "1"),
        bench.ask("ZADD", ":ends", bench.now, "c nothing - 0 0"),
    ],
    "with a chained task before": lambda bench: bench.ask("HSET", ":config", "chains", "1"),
    "without a payload": lambda bench: bench.ask("DEL", ":payload:w1", ":payload:w2"),
    "without a record": lambda bench: bench.ask("DEL", ":task:w2"),
    "with a large payload": lambda bench: bench.fill(1, payload=b"x" * 2000, priority=0),
    "with payloads above the size of a reply": lambda bench: bench.fill(5, payload=b"x" * 1_000_000, priority=0),
    "whose worker is asked to stop": lambda bench: bench.real(bench.calls.steer(["w"], "stop", rid="r")),
    "whose task is cancelled while it runs": lambda bench: bench.real(bench.calls.cancel(["w4", "w0"], "r")),
    "with a new incarnation": lambda bench: bench.worker(incarnation="other"),
    "without its worker": lambda bench: bench.ask("DEL", ":worker:w"),
    "with a clock that was set back": lambda bench: bench.pass_time(-5),
    "with a clock that was set back far": lambda bench: bench.pass_time(-2000),
    "after a second": lambda bench: bench.pass_time(1000),
    "with leases that ran out": lambda bench: bench.pass_time(15_000),
}


def test_a_plain_task_is_enqueued_before_the_functions_are_made(bench: Workbench) -> None:
    enqueue = bench.calls.enqueue_items
    bench.run(enqueue([("a", b"", {})], "r1"))
    assert not made_functions(bench)
    bench.run(enqueue([("b", b"x" * 2000, {"kind": "k", "headers": b"{}", "max_attempts": 2, "lane": "any"})], "r2"))
    assert not made_functions(bench)
    bench.run(enqueue([(f"c{n}", b"", {"kind": "k"} if n % 2 else {}) for n in range(1000)], "r3"))
    assert not made_functions(bench)
    usual = {"kind": "k", "user": "u", "priority": 1, "timeout_ms": 5, "max_attempts": 2, "headers": b"{}"} | TASKS[9]
    marked = replace(bench.calls, source="c", trace=lambda: "t")
    keyed = usual | {"source": b"s", "idempotency_key": "e"}
    bench.run(marked.enqueue_items([("d", b"", {}), ("e", b"", keyed)], "r4"))
    assert not made_functions(bench)
    bench.run(enqueue([("f", b"", {}), ("g", b"", {"tags": ["t"]})], "r5"))
    assert made_functions(bench)


def test_plain_tasks_are_claimed_and_completed_before_the_functions_are_made(bench: Workbench) -> None:
    claim, settle = bench.calls.claim, bench.calls.settle
    bench.fill(9)
    bench.worker()
    bench.run(claim("w", "i", 0, 1, limit=1))
    assert made_functions(bench), "the slot did its housekeeping"
    (first,) = bench.run(claim("w", "i", 0, 2, limit=1)).leases
    assert not made_functions(bench)
    second, third = bench.run(settle("w", "i", 0, 3, acks=[(first, b"r")], limit=2)).claimed.leases
    assert not made_functions(bench)
    bench.run(bench.calls.ack([(second, None)]))
    assert not made_functions(bench)
    bench.run(settle("w", "i", 0, 4, acks=[(third, None)], limit=100, lanes=["group/g", "any"]))
    assert not made_functions(bench)
    bench.run(settle("w", "i", 0, 5, limit=1))
    assert not made_functions(bench)
    bench.run(settle("w", "i", 0, 6, acks=[(third, None)], limit=1))
    assert made_functions(bench)


@pytest.mark.parametrize("state", STATES | LATER)
def test_each_state_is_the_same_for_a_worker_without_that_part(state: str, make_any: MakeAny) -> None:
    whole = worked(make_any("queue"), (STATES | LATER)[state])
    with without_the_usual_calls():
        for shown, other in zip(whole, worked(make_any("queue"), (STATES | LATER)[state]), strict=True):
            assert other == shown


@pytest.mark.parametrize("state", STATES)
def test_each_state_of_a_queue_is_the_same_without_that_part(state: str, make_any: MakeAny) -> None:
    whole = played(make_any("queue"), STATES[state])
    with without_the_usual_calls():
        assert played(make_any("queue"), STATES[state]) == whole


@pytest.mark.slow
def test_all_scenarios_are_the_same_without_that_part(make_any: MakeAny) -> None:
    every = [one for one in smallest() if one.name not in BY_CHANCE]
    assert len(every) > 300
    found = [outcome(one, make_any) for one in every]
    with without_the_usual_calls():
        differing = [one.name for one, whole in zip(every, found, strict=True) if outcome(one, make_any) != whole]
    assert not differing, "\n".join(differing)


def made_functions(bench: Workbench) -> bool:
    """Whether the call that was just watched went on behind the line `-- LATE BODY`."""
    run = bench.watched.last
    return max(run.lines) > run.script.text.splitlines().index("local arg_rare")


@contextmanager
def without_the_usual_calls() -> Iterator[None]:
    scripts = [one for one in sources().scripts if one.id in DECLARED]
    before = {one.id: original(one.id) for one in scripts}
    install({one.id: bundle.assemble(replace(one, body=DECLARED[one.id])).encode() for one in scripts})
    try:
        yield
    finally:
        install(before)


def played(bench: Workbench, state: State) -> list[Any]:
    """The answers to calls of one and of several tasks, before and in a state, some made again; the data after each."""
    answers: list[Any] = []

    def enqueue(tasks: dict[str, Own], rid: str, *more: str, calls: QueueCalls = bench.calls, **of_call: Any) -> None:
        items = [(id, b"x" * 600 * (n % 4), tasks.get(id, {})) for n, id in enumerate([*tasks, *more], len(answers))]
        call = calls.enqueue_items(items, rid, **of_call)
        answers.extend([real_reply(bench, call), bench.dump(stamps=False)])

    def named(name: str, batch: list[Own]) -> dict[str, Own]:
        return {f"{name}.{n}": own for n, own in enumerate(batch)}

    enqueue({"before": {}}, "r")
    state(bench)
    for n, batch in enumerate([*([own] for own in TASKS), *BATCHES]):
        for rid in (f"r{n}", f"r{n}", "other"):
            enqueue(named(f"t{n}", batch), rid)
            bench.pass_time(7)
    for source, trace in (("s", ""), ("", "t"), ("s", "t")):
        calls = replace(bench.calls, source=source, trace=repeat(trace or None).__next__)
        enqueue(named(f"of-{source}{trace}", BATCHES[0]), f"{source}{trace}", calls=calls)
    for rid in ("first", "first", "again"):  # other tasks have these keys, or had them, and then do again
        enqueue({f"{rid}.1": KEYED[3], f"{rid}.2": {}, f"{rid}.3": {"idempotency_key": "new"}}, rid)
        enqueue({f"{rid}.4": {"idempotency_key": "both"}, f"{rid}.5": {"idempotency_key": "both"}}, f"{rid}.both")
        enqueue({f"{rid}.6": KEYED[4] if rid == "first" else {"idempotency_key": "rid"}}, "by-rid")
        bench.pass_time(7)
    bench.pass_time(86_400_000)
    enqueue({"later": {"idempotency_key": "later"}}, "later")  # which deletes some of the keys that have expired
    enqueue({f"later.{n}": {"idempotency_key": f"later.{n}"} for n in range(3)}, "more")
    enqueue({"late.1": KEYED[3], "late.2": {"idempotency_key": "both"}}, "late")
    enqueue({"new": {}, "twice": {}}, "twice", "twice", "last")
    enqueue({"first": {}, "before": {}, "second": {}}, "known")
    enqueue({"newer": {}}, "r", epoch=3)
    enqueue({"older": {}, "as-old": {}}, "r", epoch=2)
    enqueue({"moved": {}, "also": {}}, "r", epoch=3, moved=True)
    bench.remove()
    return answers


def traced(bench: Workbench, number: int) -> None:
    calls = replace(bench.calls, trace=lambda: f"00-{number:032}-{number:016}-01")
    for n in range(number):
        bench.real(calls.enqueue_items([(f"traced{n}", b"", {"priority": 0})], "r"))


def worked(bench: Workbench, state: State) -> list[Any]:
    """The answers to a worker and the data after each call: most calls are made twice."""
    answers: list[Any] = []
    held: list[tuple[str, str]] = []
    numbers = count(1)

    def send(call: AnyCall, again: bool = True) -> None:
        for _ in range(1 + again):
            answer = real_reply(bench, call)
            answers.extend([answer, bench.dump(stamps=False)])
            bench.pass_time(7)
            if isinstance(answer, list) and len(answer) > 6:
                held.extend((one[1].decode(), one[2].decode()) for one in answer[-1])

    def claim(limit: int, **more: Any) -> None:
        send(bench.calls.claim("w", "i", 0, next(numbers), limit=limit, **more))

    def settle(ends: int, limit: int, result: Any = None, **more: Any) -> None:
        acks = [(held.pop(0), result) for _ in range(min(ends, len(held)))]
        send(bench.calls.settle("w", "i", 0, next(numbers), acks=acks, limit=limit, **more))

    for n, own in enumerate(WAITING):
        bench.real(bench.calls.enqueue_items([(f"w{n}", b"p" * n, own)], f"r{n}"))
        bench.pass_time(3)
    bench.worker()
    claim(1)
    state(bench)
    claim(1, busy=2)
    settle(1, 1)
    settle(2, 2, b"r", busy=1)
    settle(1, 1, lanes=["group/g", "any"])
    settle(1, 1, b"r" * 5000)
    settle(0, 0)
    send(bench.calls.ack([(("w1", "none"), None)]))
    send(bench.calls.ack([(one, b"of ack") for one in held[:2] or [("w1", "i.0.2/1")]]))
    settle(2, 1)
    settle(1, 1, lease=3, lanes=["group/g", "any"], lane_first=True)
    bench.pass_time(1000)
    settle(3, 5)
    settle(5, 100)
    settle(100, 100)
    settle(100, 100)
    claim(3)
    bench.pass_time(20_000)
    claim(100)
    settle(100, 100)
    bench.remove()
    return answers
