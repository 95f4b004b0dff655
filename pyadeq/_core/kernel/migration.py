"""The calls that convert the stored data of a queue or a lock domain to the layout of this release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from pyadeq._core.kernel.call import Answer, Call, Reply, build_call
from pyadeq._core.kernel.manifest import library
from pyadeq.models.base import Migration


class Migrating(Protocol):
    """The calls of a queue or of a lock domain."""

    @property
    def base(self) -> str:
        """What its keys begin with."""

    @property
    def now_ms(self) -> Callable[[], int]:
        """The time, where a test sets it."""

    def migrate(self, done: bool = False) -> Call[Layout]:
        """Write in the layout of this release from now on, and refuse older releases. done: all data is converted."""


class Layout(NamedTuple):
    """The current layout, and the lowest layout of any stored data; 0 and 0 if nothing is stored."""

    written: int
    rewritten: int


class Step(NamedTuple):
    """What one call of a rewrite script did. cursor: where the next one goes on; empty after the last."""

    rewritten: int
    cursor: str


def newest_layout(noun: str) -> int:
    """The newest layout of a noun's data that this release knows."""
    return int(library().manifest["nouns"][noun]["layout"])


def rewriter(noun: str) -> str | None:
    """The script that brings what is stored already into the new form, a bounded part with each call.

    A release has one unless its layout is the first, or its stored data needs no conversion.
    """
    ids = [id for id in library() if id.startswith(f"{noun}.rewrite.v")]
    return max(ids, key=lambda id: int(id.rpartition("v")[2]), default=None)


def rewrite(script_id: str, calls: Migrating, cursor: str) -> Call[Step]:
    """Build one call of the rewrite script, from a cursor on."""
    return build_call(script_id, calls.base, {"cursor": cursor, "now_ms": calls.now_ms()}, decode=_step)


def together(done: Sequence[Migration]) -> Migration:
    """What the migrations of several partitions have done. Partitions in which nothing is stored do not count."""
    stored = [one for one in done if one.layout] or done
    return Migration(
        before=min(one.before for one in stored),
        layout=min(one.layout for one in stored),
        rewritten=sum(one.rewritten for one in done),
    )


def layout(answer: Answer) -> Layout:
    return Layout(answer["layout"], answer["rewritten"])


def _step(reply: Reply) -> Step:
    return Step(int(reply[2]), reply[3].decode() if reply[0] == b"more" else "")
