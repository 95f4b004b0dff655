"""Payloads, results and errors of one queue on their way through a codec, if it has one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

from pyadeq._core.queue_items import MAX_ERROR_BYTES, EnqueueItem
from pyadeq.codec import Codec
from pyadeq.errors import PayloadError
from pyadeq.models import Claimed, Lease, Settled, TaskView
from pyadeq.schedule_models import Schedule
from pyadeq.worker_models import Outcome

T = TypeVar("T")
V = TypeVar("V", TaskView, Outcome, Schedule)
What = Literal["payload", "result", "error"]
AckItem = tuple[str, str, bytes]


@dataclass(frozen=True)
class Sealing:
    """What is stored without a codec is what was given, so nothing here is in the way then."""

    codec: Codec | None
    base: str

    # What goes in

    def payload(self, data: bytes) -> bytes:
        return self.codec.seal(data, self._context("payload")) if self.codec else data

    def items(self, items: Iterable[EnqueueItem]) -> list[EnqueueItem]:
        return [(id, self.payload(data), pairs) for id, data, pairs in items]

    def acks(self, acks: list[AckItem]) -> list[AckItem]:
        """No result stays none."""
        if not self.codec:
            return acks
        context = self._context("result")
        return [(id, token, self.codec.seal(data, context) if data else data) for id, token, data in acks]

    def fails(self, fails: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """The error is the fifth. Its end is kept, as much as fits when it is sealed."""
        return [(*fail[:4], self._error(fail[4]), *fail[5:]) for fail in fails] if self.codec else fails

    def _error(self, data: bytes) -> bytes:
        assert self.codec
        text = data.decode(errors="replace").encode()  # as it will be read
        context, most = self._context("error"), min(len(text), MAX_ERROR_BYTES)
        while most > 0:
            end = text[-most:].decode(errors="ignore").encode()
            sealed = self.codec.seal(end, context)
            if len(sealed) <= MAX_ERROR_BYTES:
                return sealed
            most = most * MAX_ERROR_BYTES // len(sealed) - 1
        return b""

    # What comes out

    def opening(self, decode: Callable[[Any], T], open: Callable[[T], T]) -> Callable[[Any], T]:
        """A reply read, and what is sealed in it opened."""
        return (lambda reply: open(decode(reply))) if self.codec else decode

    def claimed(self, claimed: Claimed) -> Claimed:
        for lease in claimed.leases:
            self._open_lease(lease)
        return claimed

    def settled(self, settled: Settled) -> Settled:
        self.claimed(settled.claimed)
        return settled

    def views(self, views: list[TaskView | None]) -> list[TaskView | None]:
        return [view and self._view(view, payload="data", result="result_data", error="error") for view in views]

    def outcomes(self, outcomes: list[Outcome]) -> list[Outcome]:
        return [self._view(outcome, result="data", error="error") for outcome in outcomes]

    def schedules(self, page: tuple[list[Schedule], str, float]) -> tuple[list[Schedule], str, float]:
        """With what is stored, too: it is what the task of a schedule gets."""
        return [self._schedule(schedule) for schedule in page[0]], *page[1:]

    def _open_lease(self, lease: Lease) -> None:
        """A lease is there even if its payload cannot be read: whoever reads it hears why, and can fail the task."""
        try:
            lease.__dict__["data"] = self._open("payload", lease.data)
        except PayloadError as error:
            del lease.__dict__["data"]
            lease.__dict__["unreadable"] = str(error)

    def _view(self, view: V, **fields: str) -> V:
        changes: dict[str, Any] = {}
        unreadable: dict[str, str] = {}
        for what, name in fields.items():
            stored = getattr(view, name)
            if not stored:
                continue
            try:
                changes[name] = self._read_error(stored) if what == "error" else self._open(what, stored)
            except PayloadError as error:
                changes[name], unreadable[what] = None, str(error)
        return view.model_copy(update={**changes, "unreadable": unreadable}) if changes else view

    def _schedule(self, schedule: Schedule) -> Schedule:
        if schedule.data is None:
            return schedule
        view = self._view(schedule, payload="data")
        return view.model_copy(update={"sealed": schedule.data})

    def _read_error(self, text: str) -> str:
        return self._open("error", text.encode(errors="replace")).decode(errors="replace")

    def _open(self, what: str, data: bytes) -> bytes:
        assert self.codec
        return self.codec.open(data, self._context(what))

    def _context(self, what: str) -> bytes:
        return f"{self.base}:{what}".encode()


class SealedCalls:
    """Calls of a queue that carry what goes through its codec."""

    base: str
    codec: Codec | None

    @cached_property
    def sealing(self) -> Sealing:
        return Sealing(self.codec, self.base)
