"""Scripts that answer the usual call before they make their functions do the same without that part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import repeat
from typing import Any

import pytest

from pyadeq import QueueCalls
from tests.lua.bench import MakeAny
from tests.lua.sources import sources
from tests.lua.test_scenarios import real_reply
from tests.lua.test_without_features import BY_CHANCE, outcome, smallest
from tests.lua.workbench import Workbench
from tests.mutation.texts import install, original
from tests.unit.lua_tree import bundle

pytestmark = pytest.mark.any_engine

# What stands above the line `-- LATE BODY` of these scripts may be left out, if its locals are declared.
DECLARED = {
    "queue.enqueue.v1": """
local row, known, keys = nil, nil, {}
for i, id in ipairs(item_id) do keys[i] = task .. id end"""
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
]
BATCHES: list[list[Own]] = [[*TASKS[:4], *TASKS[5:7], {"user": "u", "timeout_ms": 6}], [{}, *TASKS[3:]], [{}] * 21]
STATES: dict[str, State] = {
    "as it is": lambda bench: None,
    "paused": lambda bench: [bench.real(bench.calls.pause()), bench.ask("DEL", ":wake:any")],
    "draining": lambda bench: bench.real(bench.calls.drain()),
    "running again": lambda bench: [bench.real(bench.calls.pause()), bench.real(bench.calls.resume())],
    "without events": lambda bench: bench.real(bench.calls.configure(events_max=0)),
    "with few events": lambda bench: bench.real(bench.calls.configure(events_max=9)),
    "of another tier": lambda bench: bench.real(bench.calls.configure(tier="public")),
    "of the usual tier": lambda bench: bench.real(bench.calls.configure(tier="internal")),
    "with fair shares": lambda bench: bench.real(bench.calls.configure(fair=True)),
    "with tasks in a limit queue": lambda bench: [bench.limit("all", concurrency=1), bench.fill(1), bench.claim(2)],
    "partitioned": lambda bench: bench.real(bench.calls.enqueue_items([("new", b"", {})], "r", epoch=2)),
    "with its wake token taken": lambda bench: bench.ask("DEL", ":wake:any"),
    "emptied": lambda bench: bench.claim(1),
    "with a token for nothing": lambda bench: [bench.claim(1), bench.ask("LPUSH", ":wake:any", "1")],
    "of another clock": lambda bench: bench.ask("HSET", ":config", "clock", "server"),
    "of a newer layout": lambda bench: bench.ask("HSET", ":config", "layout_min", 2),
}


def test_a_plain_task_is_enqueued_before_the_functions_are_made(bench: Workbench) -> None:
    enqueue = bench.calls.enqueue_items
    bench.run(enqueue([("a", b"", {})], "r1"))
    assert not made_functions(bench)
    bench.run(enqueue([("b", b"x" * 2000, {"kind": "k", "headers": b"{}", "max_attempts": 2, "lane": "any"})], "r2"))
    assert not made_functions(bench)
    bench.run(enqueue([(f"c{n}", b"", {"kind": "k"} if n % 2 else {}) for n in range(1000)], "r3"))
    assert not made_functions(bench)
    usual = {"kind": "k", "user": "u", "priority": 1, "timeout_ms": 5, "max_attempts": 2, "headers": b"{}"}
    marked = replace(bench.calls, source="c", trace=lambda: "t")
    bench.run(marked.enqueue_items([("d", b"", {}), ("e", b"", usual | {"source": b"s"})], "r4"))
    assert not made_functions(bench)
    bench.run(enqueue([("f", b"", {}), ("g", b"", {"tags": ["t"]})], "r5"))
    assert made_functions(bench)


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
    enqueue({"new": {}, "twice": {}}, "twice", "twice", "last")
    enqueue({"first": {}, "before": {}, "second": {}}, "known")
    enqueue({"newer": {}}, "r", epoch=3)
    enqueue({"older": {}, "as-old": {}}, "r", epoch=2)
    enqueue({"moved": {}, "also": {}}, "r", epoch=3, moved=True)
    bench.remove()
    return answers
