"""Spans around enqueues and runs of tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any, Literal

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, TracerProvider

from pyadeq import Lease, __version__
from pyadeq.errors import ConfigError
from pyadeq.ext.connect.otel import names
from pyadeq.ext.connect.otel.carrying import BAGGAGE, PARENT, STATE, carrier_of, context_of, inside

HEADER = "_otel"
SOON = 60.0
"""Seconds from the enqueue to the run of a task whose result somebody awaits, so that both are in one trace."""
SUPPRESS = "suppress_instrumentation"
PARENTS = ("auto", "always", "never")


class Traces:
    """Makes spans of OpenTelemetry around enqueues and runs of tasks. Give it to the client of producers and workers.

        adeq = Adeq.from_url(url, trace=Traces())

    A task carries the context of the span that enqueued it. The run is a trace of its own with a link to that span,
    or a child of it.

    parent: when a run is a child. `auto`: if its result is awaited (`run`, `reply=True`), in its first run, within 60 s
    of the enqueue; `always`; `never`.
    baggage: names of baggage that tasks carry, and that handlers get. All other baggage stays where it is.
    create_spans: make a span for each task of `enqueue_many`, too. Its run has a link to it.
    tracer_provider: None: the global one.
    """

    def __init__(
        self,
        *,
        parent: Literal["auto", "always", "never"] = "auto",
        baggage: Sequence[str] = (),
        create_spans: bool = False,
        tracer_provider: TracerProvider | None = None,
    ) -> None:
        if parent not in PARENTS:
            raise ConfigError(f"parent: {parent!r} is not accepted; allowed: {', '.join(map(repr, PARENTS))}")
        if isinstance(baggage, str):
            raise ConfigError(f"baggage: {baggage!r} is not accepted; allowed: a list of names")
        self._parent = parent
        self._names = tuple(baggage)
        self._create_spans = create_spans
        self._tracer = trace.get_tracer("pyadeq", __version__, tracer_provider)

    def __call__(self) -> str | None:
        """Return the traceparent of the current span, for events and tasks."""
        return _traceparent(trace.get_current_span().get_span_context())

    @contextmanager
    def enqueue(self, queue: str, ids: Sequence[str | None], kind: str | None) -> Iterator[Sending]:
        """Open a span around an enqueue, for the client. ids: those that the caller chose."""
        about = _message(queue, "enqueue", "send")
        if kind is not None:
            about[names.KIND] = kind
        if len(ids) != 1:
            about[names.COUNT] = len(ids)
        with self._tracer.start_as_current_span(
            f"enqueue {queue}",
            kind=SpanKind.PRODUCER,
            attributes=about,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                create = partial(self._create, queue) if self._create_spans and len(ids) != 1 else None
                yield Sending(span, ids, self._names, create)
            except Exception as error:
                span.set_attribute(names.ERROR_TYPE, type(error).__qualname__)
                span.set_status(Status(StatusCode.ERROR))
                raise

    @contextmanager
    def process(self, lease: Lease, about: Mapping[str, Any]) -> Iterator[Running]:
        """Open a span around a run, for the worker."""
        carrier = {PARENT: lease.record.get("trace", b"").decode(errors="replace"), **_carried(lease)}
        created, base = context_of(carrier, self._names)
        is_child = created.is_valid and self._is_child(lease, about["claimed"])
        if is_child:
            base = trace.set_span_in_context(trace.NonRecordingSpan(created), base)
        links = [Link(created)] if created.is_valid and not is_child else []
        if before := lease.record.get("run_trace"):
            previous, _ = context_of({PARENT: before.decode(errors="replace")}, ())
            if previous.is_valid:
                links.append(Link(previous, {names.PREVIOUS: True}))
        span = self._tracer.start_span(
            f"process {about['queue']}", base, SpanKind.CONSUMER, attributes=_attributes(lease, about), links=links
        )
        here = trace.set_span_in_context(span, base)
        token = context.attach(here)
        try:
            yield Running(span, carrier_of(here, self._names))
        finally:
            context.detach(token)
            span.end()

    @contextmanager
    def wait(self, domain: str, about: Mapping[str, Any]) -> Iterator[Waiting]:
        """Open a span around a wait for locks, for the client."""
        attributes = {
            names.DOMAIN: domain,
            names.RESOURCES: about["resources"],
            names.MODES: about["modes"],
            names.LOCK_PRIORITY: about["priority"],
        }
        with self._tracer.start_as_current_span(
            f"acquire {domain}", attributes=attributes, record_exception=False
        ) as span:
            yield Waiting(span)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Suppress the spans of other libraries in the block, such as those of redis-py's instrumentation."""
        token = context.attach(context.set_value(SUPPRESS, True, Context()))
        try:
            yield
        finally:
            context.detach(token)

    def _create(self, queue: str, id: str | None, kind: str | None) -> Context:
        """Make the span of one task of many. Returns a context with it."""
        about = {**_message(queue, "create", "create"), names.TASK: id, names.KIND: kind}
        attributes = {name: value for name, value in about.items() if value is not None}
        span = self._tracer.start_span(f"create {queue}", kind=SpanKind.PRODUCER, attributes=attributes)
        span.end()
        return trace.set_span_in_context(span)

    def _is_child(self, lease: Lease, claimed: float) -> bool:
        if self._parent != "auto":
            return self._parent == "always"
        waits = claimed - int(lease.record.get("created_ms", 0)) / 1000
        return "reply" in lease.record and lease.delivery == 1 and waits <= SOON


class Sending:
    """A span around an enqueue.

    create: makes the span of a single task; None: the tasks share that of the call.
    """

    def __init__(
        self,
        span: Span,
        ids: Sequence[str | None],
        allowed: Sequence[str],
        create: Callable[[str | None, str | None], Context] | None,
    ) -> None:
        self._span = span
        self._is_single = len(ids) == 1
        self._allowed = allowed
        self._create = create
        self._shared = carrier_of(None, allowed)
        self._shared.pop(PARENT, None)  # it is the `trace` of the call
        self.carries = create is not None or bool(self._shared)

    def carry(self, id: str | None, kind: str | None) -> dict[str, str]:
        """Return what a task has in the header `_otel`."""
        return self._shared if self._create is None else carrier_of(self._create(id, kind), self._allowed)

    def receipts(self, receipts: Sequence[Any]) -> None:
        """Note the answer."""
        if self._is_single and len(receipts) == 1:
            (receipt,) = receipts
            self._span.set_attribute(names.TASK, receipt.id)
            self._span.set_attribute(names.RECEIPT, receipt.status)
            if receipt.status == "deduplicated":
                self._span.set_attribute(names.EXISTING, receipt.id)


class Running:
    """A span around a run."""

    def __init__(self, span: Span, carrier: dict[str, str]) -> None:
        self._span = span
        self.carrier = carrier
        self.inside = inside, carrier

    @property
    def recording(self) -> bool:
        """Whether it is sampled."""
        return self._span.is_recording()

    def link(self, earlier: Sequence[tuple[str, str]]) -> None:
        """Add links to tasks whose results the run needs: their ids and traces."""
        for id, text in earlier:
            created, _ = context_of({PARENT: text}, ())
            if created.is_valid:
                self._span.add_link(created, {names.TASK: id})

    def end(self, outcome: str) -> None:
        """Note how the run ended, if it did not fail."""
        self._span.set_attribute(names.OUTCOME, outcome)

    def fail(self, reason: str, text: str | None) -> None:
        """Note a failure. text: its error, if it may be shown."""
        self._span.set_attribute(names.OUTCOME, "failed")
        self._span.set_attribute(names.ERROR_TYPE, reason)
        self._span.set_status(Status(StatusCode.ERROR, text))


class Waiting:
    """A span around a wait for locks."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._since = monotonic()

    def end(self, outcome: str, fences: Mapping[str, int], cycle: Sequence[str]) -> None:
        """Note how the wait ended. cycle: the owners and resources of a deadlock."""
        self._span.set_attribute(names.OUTCOME_OF_LOCK, outcome)
        self._span.set_attribute(names.WAITED, round((monotonic() - self._since) * 1000))
        if cycle:
            self._span.add_event(names.DEADLOCK, {names.CYCLE: list(cycle)})
        if fences:
            self._span.set_attribute(names.FENCES, [fences[name] for name in sorted(fences)])


def _message(queue: str, operation: str, type: str) -> dict[str, Any]:
    return {
        names.SYSTEM: "adeq",
        names.OPERATION: operation,
        names.OPERATION_TYPE: type,
        names.QUEUE: queue,
    }


def _attributes(lease: Lease, about: Mapping[str, Any]) -> dict[str, Any]:
    record = lease.record
    ready_ms = int(record.get("ready_ms") or record.get("created_ms") or 0)
    found = {
        **_message(about["queue"], "process", "process"),
        names.LANE: record.get("lane", b"any").decode(errors="replace"),
        names.TASK: lease.id,
        names.CONVERSATION: lease.parent or lease.id,
        names.GROUP: about["group"],
        names.KIND: lease.kind,
        names.ATTEMPT: lease.attempt,
        names.FENCE: lease.fence,
        names.PRIORITY: int(record.get("priority", 5)),
        names.WAIT: max(0, round(about["claimed"] * 1000) - ready_ms),
        names.WORKER: about["worker"],
    }
    return {name: value for name, value in found.items() if value is not None}


def _carried(lease: Lease) -> dict[str, str]:
    if HEADER.encode() not in lease.record.get("headers", b""):
        return {}
    headers = lease.headers
    carried = headers.get(HEADER) if isinstance(headers, dict) else None
    if not isinstance(carried, dict):
        return {}
    return {name: carried[name] for name in (PARENT, STATE, BAGGAGE) if isinstance(carried.get(name), str)}


def _traceparent(span: SpanContext) -> str | None:
    if not span.is_valid:
        return None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"
