"""Several calls of one script sent as one, and the outcome of each of them.

The script has a rid and one group of items, which do not depend on each other. Each call has one item. The last field
of the reply is a list with an entry for each item.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeVar

from pyadeq._core.kernel.call import MAX_ITEMS, Call, Reply
from pyadeq._core.kernel.sending import Outcome
from pyadeq.errors import AdeqError, DurabilityError

MAX_SIZE: Final = 8 * 1024 * 1024


class Sized(Protocol):
    """A call, and its size: bytes, with a share for whatever else of a call is limited."""

    call: Call[Any]
    size: int


S = TypeVar("S", bound=Sized)


def batches(waiting: Sequence[S]) -> list[list[S]]:
    """Divide calls into batches that can each be sent as one call, in order."""
    found: list[list[S]] = []
    latest: dict[Any, tuple[list[S] | None, int]] = {}
    for one in waiting:
        kind = _kind_of(one.call)
        batch, size = latest.get(kind, (None, 0))
        if batch is None or size + one.size > MAX_SIZE or len(batch) == MAX_ITEMS:
            batch, size = [], 0
            found.append(batch)
        batch.append(one)
        latest[kind] = batch, size + one.size
    return found


def joined(calls: Sequence[Call[Any]], rid: str) -> Call[Reply]:
    """Return one call with the items of all."""
    first = calls[0]
    head = len(first.script.args)
    args = [*first.args[:head], len(calls)]
    args[first.script.rid_at] = rid
    for call in calls:
        args += call.args[head + 1 :]
    return Call(first.script, first.keys, tuple(args), lambda reply: reply)


def parts(outcome: Outcome, count: int) -> list[Outcome]:
    """Return the outcome of each call. Errors are copies, because each caller may change its own."""
    if isinstance(outcome, AdeqError):
        copies = [_copy(outcome) for _ in range(count)]
        if isinstance(outcome, DurabilityError):
            for one, reply in zip(copies, parts(outcome.answer, count), strict=True):
                one.answer = reply  # type: ignore[attr-defined]
        return list(copies)
    *head, entries = outcome
    return [[*head, [entry]] for entry in entries]


def _copy(error: AdeqError) -> AdeqError:
    kind = type(error)
    made = kind.__new__(kind, *error.args)
    made.__dict__.update(error.__dict__)
    made.__cause__ = error.__cause__
    return made


def _kind_of(call: Call[Any]) -> Any:
    """Return what joined calls have in common: the script, the keys, and arguments other than the rid."""
    at = call.script.rid_at
    return call.script, call.keys, call.args[:at], call.args[at + 1 : len(call.script.args)]
