"""Payloads, results and errors of one queue on their way through a codec, if it has one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

from pyadeq._core.kernel.nouncalls import NounCalls
from pyadeq._core.queue.items import MAX_ERROR_BYTES, EnqueueItem, Sealed
from pyadeq.codec import Codec
from pyadeq.errors import PayloadError
from pyadeq.models.queue import AckStatus, Claimed, Lease, Settled, TaskView
from pyadeq.models.schedule import Schedule
from pyadeq.models.steps import StepKept, TaskStep
from pyadeq.models.worker import Outcome, TaskRun

T = TypeVar("T")
V = TypeVar("V", TaskView, Outcome, Schedule, TaskRun, TaskStep)
What = Literal["payload", "result", "error"]
AckItem = tuple[str, str, bytes]


@dataclass(frozen=True)
class Sealing:
    """Encodes and decodes stored values with the codec. Without a codec, they are stored as given."""

    codec: Codec | None = field(repr=False)
    base: str

    # What goes in

    def payload(self, data: bytes) -> bytes:
        return self.codec.seal(data, self._context("payload")) if self.codec else data

    def items(self, items: Sequence[EnqueueItem]) -> Sequence[EnqueueItem]:
        return [(id, self.payload(data), pairs) for id, data, pairs in items] if self.codec else items

    def result(self, data: bytes) -> bytes:
        """Encode a result; an empty one stays empty."""
        if not self.codec or not data or isinstance(data, Sealed):
            return data
        return Sealed(self.codec.seal(data, self._context("result")))

    def step(self, data: bytes) -> bytes:
        """Encode the result of a step; an empty one stays empty."""
        return self.codec.seal(data, self._context("step")) if self.codec and data else data

    def error(self, data: bytes) -> bytes:
        """Encode the end of an error, as much as fits after encryption."""
        if not self.codec or isinstance(data, Sealed):
            return data
        text = data.decode(errors="replace").encode()  # as it will be read
        context, most = self._context("error"), min(len(text), MAX_ERROR_BYTES)
        while most > 0:
            sealed = self.codec.seal(text[-most:].decode(errors="ignore").encode(), context)
            if len(sealed) <= MAX_ERROR_BYTES:
                return Sealed(sealed)
            most = most * MAX_ERROR_BYTES // len(sealed) - 1
        return b""

    def acks(self, acks: list[AckItem]) -> list[AckItem]:
        """The result is the third."""
        return [(id, token, self.result(data)) for id, token, data in acks] if self.codec else acks

    def fails(self, fails: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """The error is the fifth, the pairs are the last."""
        if not self.codec:
            return fails
        return [(*fail[:4], self.error(fail[4]), *fail[5:-1], {**fail[-1], "sealed": True}) for fail in fails]

    def is_current(self, stored: bytes | None) -> bool:
        """Return whether a payload is stored as the first key would store it now. False if the codec cannot check."""
        tell = getattr(self.codec, "is_current", None)
        return stored is not None and tell is not None and bool(tell(stored, self._context("payload")))

    # What comes out

    def opening(self, decode: Callable[[Any], T], open: Callable[[T], T]) -> Callable[[Any], T]:
        """Return a decoder that also decrypts the encrypted fields of the reply."""
        return (lambda reply: open(decode(reply))) if self.codec else decode

    def claimed(self, claimed: Claimed) -> Claimed:
        for lease in claimed.leases:
            self._open_lease(lease)
        return claimed

    def settled(self, settled: Settled) -> Settled:
        self.claimed(settled.claimed)
        settled.acks[:] = self.acked(settled.acks)
        return settled

    def acked(self, statuses: list[AckStatus]) -> list[AckStatus]:
        """Turn `already` into `completed`: a result that is encrypted twice differs, so the server cannot compare
        results.
        """
        return ["completed" if status == "already" else status for status in statuses]

    def views(self, views: list[TaskView | None]) -> list[TaskView | None]:
        return [view and self._view(view, payload="data", result="result_data", error="error") for view in views]

    def outcomes(self, outcomes: list[Outcome]) -> list[Outcome]:
        return [self._view(outcome, result="data", error="error") for outcome in outcomes]

    def runs(self, runs: list[TaskRun]) -> list[TaskRun]:
        return [self._view(run, error="error") for run in runs]

    def steps(self, steps: Sequence[TaskStep]) -> list[TaskStep]:
        return [self._view(step, step="data") for step in steps]

    def kept(self, answers: list[StepKept]) -> list[StepKept]:
        """Open values that were stored before."""
        return [
            one.model_copy(update={"value": self._open("step", one.value)}) if one.value else one for one in answers
        ]

    def schedules(self, page: tuple[list[Schedule], str, float]) -> tuple[list[Schedule], str, float]:
        """Keep the stored payload of each schedule, too: the tasks of a schedule get it unchanged."""
        return [self._schedule(schedule) for schedule in page[0]], *page[1:]

    def _open_lease(self, lease: Lease) -> None:
        """Keep the lease even if its payload cannot be decrypted: reading it raises the reason, and the worker can fail
        the task.
        """
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
        try:
            return self.codec.open(data, self._context(what))
        except PayloadError:
            raise
        except Exception as error:  # e.g. a key server may be down: keep the lease
            raise PayloadError(f"the codec has failed: {type(error).__name__}") from error

    def _context(self, what: str) -> bytes:
        return f"{_whole(self.base)}:{what}".encode()


def _whole(base: str) -> str:
    """The base of the queue that has this partition."""
    head, slash, tail = base.partition("/")
    return head + tail[tail.index("}") :] if slash else base


class SealedCalls(NounCalls):
    """Calls of a queue that carry what goes through its codec."""

    codec: Codec | None

    @cached_property
    def sealing(self) -> Sealing:
        return Sealing(self.codec, self.base)
