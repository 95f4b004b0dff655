"""Traces of tasks: spans of enqueues and runs, their links, and what they carry into handlers and processes."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode

import pyadeq
from pyadeq import Lease, Task
from pyadeq.asyncio import Adeq, Program, Queue, Tasks, Worker
from pyadeq.errors import ConfigError
from pyadeq.ext.connect.otel import Traces
from pyadeq.ext.connect.otel.names import PREVIOUS
from tests.integration.running import at_work, working
from tests.integration.worker import crunching
from tests.integration.workers import starting
from tests.waiting import eventually, wait_until

SECRET = "hunter2-wysiwyg"


class Spans:
    """The spans that have ended, by name, the oldest first."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("test")

    def all(self, word: str = "") -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name.startswith(word)]

    async def one(self, word: str) -> ReadableSpan:
        await eventually(lambda: self.all(word))
        (span,) = self.all(word)
        return span


@pytest.fixture
def spans() -> Iterator[Spans]:
    spans = Spans()
    yield spans
    spans.provider.shutdown()


@pytest.fixture
async def queue(url: str, base_name: str, spans: Spans) -> AsyncIterator[Queue]:
    async with Adeq.from_url(url, trace=Traces(tracer_provider=spans.provider)) as adeq:
        yield adeq.queue(base_name)


def traceparent(span: ReadableSpan) -> str:
    return f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-{span.context.trace_flags:02x}"


async def handle(lease: Lease) -> Any:
    match lease.kind:
        case "bad":
            raise ValueError("no page")
        case "slow":
            await asyncio.sleep(3600)
    return lease.payload


async def test_a_run_is_a_trace_of_its_own_with_a_link(queue: Queue, spans: Spans) -> None:
    with spans.tracer.start_as_current_span("request") as request:
        receipt = await queue.enqueue({"text": SECRET}, id="t1", kind="echo", priority=3, parent="p")
    async with working(queue, handle, name="w1", group="g"):
        run = await spans.one("process")
    sent = await spans.one("enqueue")
    assert (sent.name, sent.kind, sent.parent) == (
        f"enqueue {queue.name}",
        SpanKind.PRODUCER,
        request.get_span_context(),
    )
    assert dict(sent.attributes or {}) == {
        "messaging.system": "adeq",
        "messaging.operation.name": "enqueue",
        "messaging.operation.type": "send",
        "messaging.destination.name": queue.name,
        "messaging.message.id": "t1",
        "messaging.adeq.kind": "echo",
        "messaging.adeq.receipt": "created",
    }
    task = await queue.get(receipt.id)
    assert task
    assert task.trace == traceparent(sent)
    assert (run.name, run.kind, run.parent) == (f"process {queue.name}", SpanKind.CONSUMER, None)
    assert run.context.trace_id != sent.context.trace_id
    assert [link.context.span_id for link in run.links] == [sent.context.span_id]
    found = dict(run.attributes or {})
    assert isinstance(found.pop("messaging.adeq.wait_ms"), int)
    assert found == {
        "messaging.system": "adeq",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": queue.name,
        "messaging.destination.partition.id": "any",
        "messaging.message.id": "t1",
        "messaging.message.conversation_id": "p",
        "messaging.consumer.group.name": "g",
        "messaging.adeq.kind": "echo",
        "messaging.adeq.attempt": 1,
        "messaging.adeq.fence": 1,
        "messaging.adeq.priority": 3,
        "messaging.adeq.worker": "w1",
        "messaging.adeq.outcome": "completed",
    }
    assert run.status.status_code == StatusCode.UNSET
    assert SECRET not in "".join(span.to_json() for span in spans.all())


async def test_claims_settles_and_renewals_make_no_spans(url: str, base_name: str, spans: Spans) -> None:
    """Those of other libraries are suppressed, in the worker's loop and in the thread that renews."""
    seen: list[object] = []

    def clock() -> int:  # called for each call to the server
        seen.append(context.get_value("suppress_instrumentation"))
        return 0

    own: list[object] = []

    async def look(lease: Lease) -> None:
        own.append(context.get_value("suppress_instrumentation"))
        await asyncio.sleep(1.5)

    traces = Traces(tracer_provider=spans.provider)
    async with Adeq.from_url(url, trace=traces, clock=clock) as adeq:
        queue = adeq.queue(base_name)
        await queue.configure(lease=3)
        await queue.enqueue()
        seen.clear()
        async with working(queue, look):
            await spans.one("process")
        assert set(seen) == {True}
        assert own == [None]
    assert len(spans.all()) == 2


@pytest.mark.parametrize(
    ("parent", "children"), [("auto", {"awaited"}), ("always", {"awaited", "other"}), ("never", set())]
)
async def test_the_run_may_be_a_child(url: str, base_name: str, spans: Spans, parent: Any, children: set[str]) -> None:
    async with Adeq.from_url(url, trace=Traces(parent=parent, tracer_provider=spans.provider)) as adeq:
        queue = adeq.queue(base_name)
        await queue.enqueue(id="other", kind="echo")
        async with working(queue, handle):
            await queue.run(id="awaited", kind="echo")
            await eventually(lambda: len(spans.all("process")) == 2)
    sent = {span.context.span_id: span for span in spans.all("enqueue")}
    found = {str((span.attributes or {})["messaging.message.id"]): span for span in spans.all("process")}
    assert {id for id, span in found.items() if span.parent is not None} == children
    for span in found.values():
        if span.parent:
            assert span.context.trace_id == sent[span.parent.span_id].context.trace_id
            assert span.links == ()
        else:
            assert len(span.links) == 1


async def test_with_auto_only_the_first_run_is_a_child(queue: Queue, spans: Spans) -> None:
    await queue.enqueue(kind="bad", reply=True, max_attempts=2, backoff=pyadeq.Backoff(base=0.01))
    async with working(queue, handle):
        await eventually(lambda: len(spans.all("process")) == 2)
    first, second = spans.all("process")
    assert first.parent
    links = [link.context.span_id for link in second.links]
    assert (second.parent, links) == (None, [first.parent.span_id, first.context.span_id])


async def test_how_runs_end(queue: Queue, spans: Spans) -> None:
    tasks = Tasks()

    @tasks.task
    async def bad() -> None:
        raise ValueError("no page")

    @tasks.task
    async def slow() -> None:
        await asyncio.sleep(3600)

    late = Task(kind="slow", payload={}, timeout=0.05, max_attempts=1, id="late")
    await queue.enqueue_many([Task(kind="bad", payload={}, max_attempts=1, id="bad"), late, Task(kind="fax", id="fax")])
    await queue.enqueue_many([Task(kind="slow", payload={}, id="cancelled"), Task(kind="slow", payload={}, id="back")])
    async with working(queue, tasks, grace=0):
        await eventually(lambda: len(spans.all("process")) == 3)
        await queue.cancel("cancelled")
        await eventually(lambda: len(spans.all("process")) == 4)
    found = {}
    for span in spans.all("process"):
        about = span.attributes or {}
        assert not span.events
        found[about["messaging.message.id"]] = (
            *(span.status.status_code.name, span.status.description),
            *(about["messaging.adeq.outcome"], about.get("error.type")),
        )
    assert found == {
        "bad": ("ERROR", "ValueError: no page", "failed", "ValueError"),
        "late": ("ERROR", None, "failed", "timeout"),
        "fax": ("UNSET", None, "put_aside", None),
        "cancelled": ("UNSET", None, "cancelling", None),
        "back": ("UNSET", None, "stopping", None),
    }


async def test_the_error_of_a_restricted_task_is_not_shown(queue: Queue, spans: Spans) -> None:
    await queue.enqueue(kind="bad", tier="restricted", max_attempts=1)
    async with working(queue, handle):
        run = await spans.one("process")
    assert (run.status.status_code, run.status.description) == (StatusCode.ERROR, None)


async def test_many_are_one_span(queue: Queue, spans: Spans) -> None:
    await queue.enqueue_many([1, 2, Task(id="three")])
    await queue.enqueue_many(iter([4]))
    first, second = spans.all("enqueue")
    assert (first.attributes or {})["messaging.batch.message_count"] == 3
    traces = {task.trace async for task in queue.iterate("ready")}
    assert traces == {traceparent(first), traceparent(second)}


async def test_a_duplicate_names_the_task_that_exists(queue: Queue, spans: Spans) -> None:
    await queue.enqueue(id="first", unique="k")
    await queue.enqueue(id="second", unique="k")
    second = spans.all("enqueue")[1]
    assert second.status.status_code == StatusCode.UNSET
    assert (second.attributes or {}).items() >= {
        "messaging.adeq.receipt": "deduplicated",
        "messaging.adeq.existing_task": "first",
    }.items()
    with pytest.raises(pyadeq.BadArgument):
        await queue.enqueue(priority=99)
    refused = spans.all("enqueue")[2]
    assert (refused.status.status_code, (refused.attributes or {})["error.type"]) == (StatusCode.ERROR, "BadArgument")


async def test_partitions_and_sync_clients_do_the_same(url: str, base_name: str, spans: Spans) -> None:
    traces = Traces(tracer_provider=spans.provider)
    with pyadeq.Adeq.from_url(url, trace=traces) as sync:
        sync.queue(base_name).enqueue(kind="echo", id="sync")
    async with Adeq.from_url(url, trace=traces) as adeq:
        queue = adeq.partitioned(base_name)
        await queue.repartition(2)
        await queue.enqueue(kind="echo")
        async with at_work(Worker(queue, handle)):
            await eventually(lambda: len(spans.all("process")) == 2)
    linked = {link.context.span_id for span in spans.all("process") for link in span.links}
    assert linked == {span.context.span_id for span in spans.all("enqueue")}


class Inside:
    """What handlers of each kind see of their span."""

    def __init__(self) -> None:
        self.tasks = Tasks()
        self.tasks.include(crunching.tasks)
        self.tasks.task(name="async")(self.here)
        self.tasks.task(name="thread")(self.there)

    async def here(self) -> list[str]:
        return self.there()

    def there(self) -> list[str]:
        span = trace.get_current_span().get_span_context()
        return [f"{span.trace_id:032x}", f"{span.span_id:016x}", *map(str, baggage.get_all().values())]


@pytest.mark.parametrize("kind", ["async", "thread", "traced"])
async def test_handlers_are_in_the_span(url: str, base_name: str, spans: Spans, kind: str) -> None:
    """Baggage crosses only if both sides allow its name."""
    context.attach(baggage.set_baggage("tenant", "acme", baggage.set_baggage("password", SECRET)))
    sender = Traces(baggage=["tenant", "absent"], tracer_provider=spans.provider)
    async with Adeq.from_url(url, trace=sender) as adeq:
        queue = adeq.queue(base_name)
        await queue.enqueue(kind=kind, id="known", payload={})
        await queue.enqueue_many([Task(kind=kind, id="many", payload={}, headers={"by": "ann"})])
        views = [await queue.get(id) for id in ("known", "many")]
        assert [view and view.headers for view in views] == [
            {"_otel": {"baggage": "tenant=acme"}},
            {"by": "ann", "_otel": {"baggage": "tenant=acme"}},
        ]
        async with working(queue, Inside().tasks):
            known = await queue.result("known")
    async with Adeq.from_url(url, trace=Traces(tracer_provider=spans.provider)) as adeq:
        queue = adeq.queue(base_name)
        await queue.enqueue(kind=kind, id="strange", payload={}, headers={"_otel": {"baggage": "tenant=acme"}})
        async with working(queue, Inside().tasks):
            strange = await queue.result("strange")
    runs = {str((span.attributes or {})["messaging.message.id"]): span for span in spans.all("process")}
    for id, found, bag in (("known", known, ["acme"]), ("strange", strange, [])):
        assert found == [f"{runs[id].context.trace_id:032x}", f"{runs[id].context.span_id:016x}", *bag]


async def test_a_program_gets_the_span_of_its_run(url: str, base_name: str, spans: Spans) -> None:
    context.attach(baggage.set_baggage("tenant", "acme"))
    async with Adeq.from_url(url, trace=Traces(baggage=["tenant"], tracer_provider=spans.provider)) as adeq:
        queue = adeq.queue(base_name)
        receipt = await queue.enqueue()
        async with working(queue, Program(["sh", "-c", "echo $TRACEPARENT $BAGGAGE"])):
            result = await receipt.result()
    assert result.strip() == f"{traceparent(await spans.one('process'))} tenant=acme"


async def test_too_much_baggage_is_left_out(url: str, base_name: str, spans: Spans) -> None:
    context.attach(baggage.set_baggage("tenant", "x" * 2000))
    async with Adeq.from_url(url, trace=Traces(baggage=["tenant"], tracer_provider=spans.provider)) as adeq:
        await adeq.queue(base_name).enqueue(id="t")
        task = await adeq.queue(base_name).get("t")
    assert task
    assert (task.headers, task.trace) == (None, traceparent(await spans.one("enqueue")))


@pytest.mark.parametrize(("free", "carries"), [(0, False), (34, True), (33, False)])
async def test_headers_that_would_be_too_long_stay_as_they_are(
    url: str, base_name: str, spans: Spans, free: int, carries: bool
) -> None:
    context.attach(baggage.set_baggage("tenant", "acme"))
    headers = {"x": "y" * (4096 - len('{"x":""}') - free)}
    async with Adeq.from_url(url, trace=Traces(baggage=["tenant"], tracer_provider=spans.provider)) as adeq:
        queue = adeq.queue(base_name)
        await queue.enqueue(id="t", headers=headers)
        await queue.enqueue_many([Task(id="u", headers=headers)])
        tasks = await queue.get_many(["t", "u"])
    for task in tasks:
        assert task
        assert task.headers == (headers | {"_otel": {"baggage": "tenant=acme"}} if carries else headers)


HOSTILE = ["no trace", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "00-" + "g" * 32 + "-" + "1" * 16 + "-01", "\u202e"]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("carried", [None, 3, {"baggage": 3, "tracestate": ["x"]}, {"baggage": "=;,\u202e" * 50}])
async def test_strange_traces_and_headers_do_no_harm(
    url: str, base_name: str, queue: Queue, spans: Spans, text: str, carried: Any
) -> None:
    async with Adeq.from_url(url, trace=lambda: text) as adeq:
        await adeq.queue(base_name).enqueue(kind="echo", id="t", headers={"_otel": carried})
    async with working(queue, handle):
        run = await spans.one("process")
    assert (run.parent, run.links) == (None, ())


async def test_what_is_not_sampled_stays_so(url: str, base_name: str) -> None:
    traces = Traces(tracer_provider=TracerProvider(sampler=ALWAYS_OFF), parent="always")
    async with Adeq.from_url(url, trace=traces) as adeq:
        queue = adeq.queue(base_name)
        await queue.enqueue(kind="async", id="t", payload={})
        async with working(queue, Inside().tasks):
            found = await queue.result("t")
        task = await queue.get("t")
    assert task
    assert task.trace
    _, trace_id, _, flags = task.trace.split("-")
    assert (trace_id, int(flags, 16) & 1) == (found[0], 0), "the trace goes on"


async def test_the_log_names_the_span(queue: Queue, spans: Spans, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pyadeq.task")
    await queue.enqueue(kind="echo")
    async with working(queue, handle):
        await eventually(lambda: caplog.records)
    assert vars(caplog.records[0])["trace"] == traceparent(await spans.one("process"))


async def test_a_worker_without_traces_runs_the_same_tasks(
    url: str, base_name: str, queue: Queue, spans: Spans
) -> None:
    await queue.enqueue(kind="echo", id="t", payload={"n": 1})
    async with Adeq.from_url(url) as adeq, working(adeq.queue(base_name), handle):
        assert await queue.result("t") == {"n": 1}
    assert not spans.all("process")


TRACED = """
import opentelemetry.trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=open("spans", "w"))))
opentelemetry.trace.set_tracer_provider(provider)


async def handle(lease):
    return opentelemetry.trace.format_span_id(opentelemetry.trace.get_current_span().get_span_context().span_id)
"""


@pytest.mark.slow
def test_a_worker_of_the_command_line_makes_spans(tmp_path: Path, url: str, base_name: str) -> None:
    (tmp_path / "traced.py").write_text(TRACED)
    with starting(tmp_path, url, base_name) as start, pyadeq.Adeq.from_url(url) as adeq:
        start("traced:handle", "--traces")
        span_id = adeq.queue(base_name).run()
        wait_until(lambda: f"0x{span_id}" in (tmp_path / "spans").read_text())
        refused = start("jobs:queue", "--traces")
        assert refused.ended() == 2
        assert "--traces: jobs:queue has a client; write Adeq.from_url" in refused.log


def test_options_are_checked() -> None:
    with pytest.raises(ConfigError, match="parent: 'sometimes' is not accepted; allowed: 'auto', 'always', 'never'"):
        Traces(parent="sometimes")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="baggage: 'tenant' is not accepted; allowed: a list of names"):
        Traces(baggage="tenant")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    for name in [name for name in sys.modules if name.startswith("pyadeq.ext.connect.otel")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ConfigError, match=r"pip install 'pyadeq\[otel\]'"):
        import pyadeq.ext.connect.otel  # noqa: F401


def test_clients_and_workers_do_not_import_it() -> None:
    code = "import sys, pyadeq.asyncio as a; a.Worker, a.Adeq; assert 'opentelemetry' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def linked(span: ReadableSpan) -> dict[Any, int]:
    """The spans of earlier tasks that a span has links to, by task."""
    links = [link for link in span.links if link.attributes]
    return {link.attributes["messaging.message.id"]: link.context.span_id for link in links if link.attributes}


@pytest.mark.parametrize("partitions", [1, 2])
async def test_a_task_has_links_to_those_that_it_came_after(
    url: str, base_name: str, spans: Spans, partitions: int
) -> None:
    async with Adeq.from_url(url, trace=Traces(tracer_provider=spans.provider)) as adeq:
        queue = adeq.partitioned(base_name)
        if partitions > 1:
            await queue.repartition(partitions)
        one = await queue.enqueue(kind="echo")
        last = await queue.enqueue(kind="echo", after=one)
        async with Adeq.from_url(url) as other:  # a task without a trace gets no link
            untraced = await other.partitioned(base_name).enqueue(kind="echo")
        alone = await queue.enqueue(kind="echo", after=untraced)
        async with at_work(Worker(queue, handle)):
            await eventually(lambda: len(spans.all("process")) == 4)
    sent = {(span.attributes or {})["messaging.message.id"]: span.context.span_id for span in spans.all("enqueue")}
    runs = {(span.attributes or {})["messaging.message.id"]: span for span in spans.all("process")}
    assert linked(runs[last.id]) == {one.id: sent[one.id]}
    assert [len(runs[id].links) for id in (one.id, last.id, untraced.id, alone.id)] == [1, 2, 0, 1]


async def test_a_task_that_gathers_has_links_to_its_children(queue: Queue, spans: Spans) -> None:
    await queue.enqueue(id="all", kind="echo", gather=2)
    await queue.enqueue(id="c1", kind="echo", parent="all")
    await queue.enqueue(id="c2", kind="echo", parent="all")
    async with working(queue, handle):
        await eventually(lambda: len(spans.all("process")) == 3)
    assert linked(spans.all("process")[-1]).keys() == {"c1", "c2"}


async def test_a_wait_for_a_lock_is_a_span(url: str, base_name: str, spans: Spans) -> None:
    """A lock that is free makes none."""
    async with Adeq.from_url(url, trace=Traces(tracer_provider=spans.provider)) as adeq:
        locks = adeq.locks(base_name)
        first = await locks.take("a", owner="ann")
        assert not spans.all()
        waiting = asyncio.create_task(locks.take("a", owner="bob", mode="shared", priority=3))
        await eventually(lambda: has_waiter(locks))
        await first.release()
        second = await waiting
        got = await spans.one("acquire")
        assert (got.name, got.kind) == (f"acquire {base_name}", SpanKind.INTERNAL)
        found = dict(got.attributes or {})
        assert isinstance(found.pop("adeq.lock.wait_ms"), int)
        assert found == {
            "adeq.lock.domain": base_name,
            "adeq.lock.resources": ("a",),
            "adeq.lock.modes": ("shared",),
            "adeq.lock.priority": 3,
            "adeq.lock.outcome": "granted",
            "adeq.lock.fences": (second.fence,),
        }
        await second.release()


async def test_a_wait_that_ends_in_vain_says_so(url: str, base_name: str, spans: Spans) -> None:
    async with Adeq.from_url(url, trace=Traces(tracer_provider=spans.provider)) as adeq:
        locks = adeq.locks(base_name)
        held = await locks.take("a", owner="ann")
        with pytest.raises(pyadeq.WaitTimeout):
            await locks.take("a", owner="bob", wait=0.05)
        waits = await spans.one("acquire")
        assert (waits.attributes or {})["adeq.lock.outcome"] == "timed_out"
        await held.release()


async def test_a_deadlock_is_an_event_of_the_wait(url: str, base_name: str, spans: Spans) -> None:
    async with Adeq.from_url(url, trace=Traces(tracer_provider=spans.provider)) as adeq:
        locks = adeq.locks(base_name)
        ann, bob = await locks.take("a", owner="ann"), await locks.take("b", owner="bob")
        waiting = asyncio.create_task(locks.take("b", owner="ann"))
        await eventually(lambda: has_waiter(locks))
        with pytest.raises(pyadeq.DeadlockError):
            await locks.take("a", owner="bob")
        waits = await spans.one("acquire")
        assert (waits.attributes or {})["adeq.lock.outcome"] == "deadlock"
        (event,) = waits.events
        cycle: Any = (event.attributes or {})["adeq.lock.cycle"]
        assert (event.name, sorted(cycle)) == ("deadlock", ["ann waits for b", "bob waits for a"])
        await bob.release()
        await (await waiting).release()
        await ann.release()


async def test_a_retry_has_a_link_to_the_run_that_failed(queue: Queue, spans: Spans) -> None:
    turns = iter(["fail", "time out", "fail", "complete"])

    async def handle(lease: Lease) -> None:
        match next(turns):
            case "fail":
                raise ValueError("not yet")
            case "time out":
                await asyncio.sleep(3600)

    await queue.enqueue(id="t", timeout=0.2, max_attempts=9, backoff=pyadeq.Backoff(base=0.01))
    async with working(queue, handle):
        await eventually(lambda: len(spans.all("process")) == 4)
    (sent,), runs = spans.all("enqueue"), spans.all("process")
    assert [run.parent for run in runs] == [None] * 4
    assert {run.links[0].context.span_id for run in runs} == {sent.context.span_id}
    previous = [[link for link in run.links if (link.attributes or {}).get(PREVIOUS)] for run in runs]
    ids = [[link.context.span_id for link in links] for links in previous]
    expected = [[run.context.span_id] for run in runs]
    assert ids == [[], *expected[:3]]
    assert previous[1][0].context.trace_id == runs[0].context.trace_id


async def test_a_run_that_is_not_sampled_is_not_kept(url: str, base_name: str, spans: Spans) -> None:
    traces = Traces(tracer_provider=TracerProvider(sampler=ALWAYS_OFF))
    async with Adeq.from_url(url, trace=traces) as adeq:
        queue = adeq.queue(base_name)
        await queue.enqueue(kind="bad", id="t", max_attempts=1)
        async with working(queue, handle):
            assert (await queue.inspect.ended("t")).status == "dead"
        await queue.dead.retry("t")
        (lease,) = await queue.claim()
        assert "run_trace" not in lease.record


@pytest.mark.parametrize("partitions", [1, 2])
async def test_each_task_of_many_may_have_a_span(url: str, base_name: str, spans: Spans, partitions: int) -> None:
    traces = Traces(create_spans=True, baggage=["tenant"], tracer_provider=spans.provider)
    context.attach(baggage.set_baggage("tenant", "acme"))
    async with Adeq.from_url(url, trace=traces) as adeq:
        queue = adeq.partitioned(base_name)
        if partitions > 1:
            await queue.repartition(partitions)
        await queue.enqueue_many([Task(kind="echo", id="one", headers={"h": 1}), Task(kind="echo", id="two")])
        await queue.enqueue_many(Task(kind="echo", id=id) for id in ("three", "four"))
        await queue.enqueue(kind="echo", id="five")
        async with at_work(Worker(queue, handle)):
            await eventually(lambda: len(spans.all("process")) == 5)
        task = await queue.get("one")
        assert task
        assert task.headers["h"] == 1
        assert task.headers["_otel"]["baggage"] == "tenant=acme"
    calls = spans.all("enqueue")
    made = {(span.attributes or {})["messaging.message.id"]: span for span in spans.all("create")}
    assert made.keys() == {"one", "two", "three", "four"}
    assert {span.kind for span in made.values()} == {SpanKind.PRODUCER}
    parents = [span.parent and span.parent.span_id for span in (made["one"], made["three"])]
    assert parents == [call.context.span_id for call in calls[:2]]
    runs = {(span.attributes or {})["messaging.message.id"]: span for span in spans.all("process")}
    found = {id: run.links[0].context.span_id for id, run in runs.items()}
    assert found == {**{id: span.context.span_id for id, span in made.items()}, "five": calls[2].context.span_id}


async def has_waiter(locks: Any) -> bool:
    return bool((await locks.stats()).waiting)
