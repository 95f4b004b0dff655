"""What a noun adds to a chaos run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pyadeq import Adeq
from pyadeq import asyncio as aio
from pyadeq.ext.prove.chaos.case import Rule
from pyadeq.ext.prove.chaos.history import AioClient, History, Records
from pyadeq.ext.prove.chaos.workload import Client, Scene

Play = Callable[[Client], Awaitable[None]]
Read = Callable[[aio.Adeq, AioClient, str, History], Awaitable[Records]]


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a noun adds. Each package beside this file has one, with the name PART; `parts.py` finds it.

    rules: what the judge checks.
    play: all that its clients do, in one process. roles: the same in several processes; cast: how many of each there
    are in a large run.
    bases: the beginnings of its keys. set_up: makes what the clients need.
    left: what has not come to its end, and how much of it. It may do what is due.
    read: what is stored at the end; None: the rules need nothing of it.
    counts: for the report: what was done, by kind.
    """

    rules: tuple[Rule, ...]
    play: Play
    roles: Mapping[str, Play]
    cast: Mapping[str, int]
    bases: Callable[[Adeq, str], Iterable[str]]
    set_up: Callable[[Adeq, Scene], None] = lambda adeq, scene: None
    left: Callable[[Adeq, Scene], Mapping[str, int]] = lambda adeq, scene: {}
    read: Read | None = None
    counts: Callable[[History], Mapping[str, int]] = field(default=lambda history: {})


def by_status(verb: str) -> Callable[[History], Mapping[str, int]]:
    """Return what counts the calls of a verb by the status of their answers."""
    return lambda history: Counter(op.answer["status"] for op in history.ops if op.verb == verb and op.outcome == "ok")
