"""What the client and the worker ask of tracing, if there is any. `pyadeq.ext.connect.otel.Traces` provides it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from pyadeq.models.base import encode

if TYPE_CHECKING:  # a client that uses no queue does not load its models
    from pyadeq.models.queue import Lease

Inside = tuple[Callable[[Mapping[str, str]], AbstractContextManager[object]], dict[str, str]]
"""A function and its argument that continue a span in another process. Pickle can send both."""


class Sending(Protocol):
    """A span around a call that enqueues tasks."""

    carries: bool
    """Whether tasks get a header `_otel`."""

    def carry(self, id: str | None, kind: str | None) -> dict[str, str]:
        """Return what goes into the header `_otel` of a task."""

    def receipts(self, receipts: Sequence[Any]) -> None:
        """Note the answer."""


class Running(Protocol):
    """A span around one run of a task. carrier: traceparent and the rest, by the names of W3C."""

    carrier: dict[str, str]
    inside: Inside

    @property
    def recording(self) -> bool:
        """Whether it is sampled, so that links are worth their cost."""

    def link(self, earlier: Sequence[tuple[str, str]]) -> None:
        """Add links to tasks whose results the run needs: their ids and traces."""

    def end(self, outcome: str) -> None:
        """Note how the run ended, if it did not fail."""

    def fail(self, reason: str, text: str | None) -> None:
        """Note a failure. text: its error, if it may be shown."""


class Waiting(Protocol):
    """A span around a wait for locks."""

    def end(self, outcome: str, fences: Mapping[str, int], cycle: Sequence[str]) -> None:
        """Note how the wait ended. cycle: the owners and resources of a deadlock."""


class Tracing(Protocol):
    """A `trace` of a client that makes spans, too."""

    def __call__(self) -> str | None:
        """Return the traceparent of the current work."""

    def enqueue(self, queue: str, ids: Sequence[str | None], kind: str | None) -> AbstractContextManager[Sending]:
        """Begin a span around an enqueue. ids: those that the caller chose."""

    def process(self, lease: Lease, about: Mapping[str, Any]) -> AbstractContextManager[Running]:
        """Begin a span around a run. about: `queue`, `worker`, `group` and `claimed`, the server's time."""

    def wait(self, domain: str, about: Mapping[str, Any]) -> AbstractContextManager[Waiting]:
        """Begin a span around a wait for locks. about: `resources`, `modes` and `priority`."""

    def quiet(self) -> AbstractContextManager[object]:
        """Suppress the spans of other libraries around calls that a worker makes for itself."""


_given: ContextVar[str | None] = ContextVar("_given", default=None)


@contextmanager
def traced(traceparent: str | None) -> Iterator[None]:
    """Give the calls in a with block this W3C traceparent: tasks and events carry it.

    It is for programs without OpenTelemetry that have a traceparent, for example from the header of a request. A client
    whose `trace` makes spans keeps to its spans. None changes nothing.
    """
    before = _given.set(traceparent or _given.get())
    try:
        yield
    finally:
        _given.reset(before)


def given_trace() -> str | None:
    """Return the traceparent of the innermost block of `traced`."""
    return _given.get()


HEADER = "_otel"
MOST_HEADERS = 4096  # bytes that a task may have


def tracing_of(trace: object) -> Tracing | None:
    """Return the `trace` of a client, if it makes spans."""
    return trace if hasattr(trace, "process") else None  # type: ignore[return-value]


def with_carry(headers: Any, carry: dict[str, str]) -> Any:
    """Return the headers of a task with what a span adds. Headers that are not a dict stay as they are, and so do those
    that would be too long with it.
    """
    if not carry or not isinstance(headers, dict | None):
        return headers
    carrying = {**(headers or {}), HEADER: carry}
    return carrying if len(encode(carrying, "headers")) <= MOST_HEADERS else headers
