# Generated from pyadeq/_async/kernel/names.py by pyadeq/_unasync.py; do not edit.
"""The names of queues, lock domains and so on, found by a scan of all keys."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Final

from pyadeq._sync.kernel.nodes import Nodes, Use
from pyadeq._core.kernel.packing import pack
from pyadeq._core.kernel.refusals import Loss, Refusal, is_passing, loss_error, refusal_error
from pyadeq._core.kernel.routes import Node
from pyadeq._core.kernel.sending import backoff
from pyadeq._twins import sleep
from pyadeq.errors import WaitTimeout
from pyadeq.keys import name_of_key
from pyadeq.models.base import Seconds, to_ms

SCAN_COUNT: Final = 1000
"""Keys that the server looks at in one command, which takes it less than a millisecond."""
LONGEST_PAUSE: Final = 0.2
"""Seconds between two pages of a scan that spares the server."""


def scan_names(
    nodes: Nodes, noun: str, prefix: str, slot: str | None, retry_for: float, share: float = 1.0
) -> Iterator[tuple[str, str]]:
    """Scan all keys, and yield each existing noun and name, some twice. A partition is `<name>/<tag>`. After each page,
    yield ("", ""), so that the caller can stop.

    noun: `*` means all. share: the part of the time that the server may spend on it.
    """
    head = f"{prefix}:{{" if slot is None else f"{prefix}:{{{slot}}}:"
    scan = Scan(nodes, f"{head}{noun}:*{'}' if slot is None else ''}:config")
    failures, answered = 0, monotonic()
    while not scan.done:
        began = monotonic()
        problem, keys = scan.page()
        if problem is None:
            failures, answered = 0, monotonic()
            if share < 1:
                sleep(min((answered - began) * (1 / share - 1), LONGEST_PAUSE))
        elif not _is_passing(problem) or monotonic() - answered > retry_for:
            raise _error(problem)
        else:
            failures += 1
            sleep(backoff(failures, random.random()))
            scan.recover()
        for key in keys:
            # Other keys that match the pattern belong to other programs.
            if found := name_of_key(key.decode(errors="replace"), prefix, slot):
                yield found
        if not scan.done:
            yield "", ""


def find_names(
    scan: Iterator[tuple[str, str]], timeout: Seconds | None, partitions: bool = False
) -> Iterator[str]:
    """Yield each name of a scan once.

    partitions: yield each partition, as `<name>/<tag>`, in place of the name that has it.
    """
    until = None if timeout is None else monotonic() + to_ms("timeout", timeout) / 1000
    names = set[str]()
    for _, found in scan:
        if not found and until is not None and monotonic() > until:
            raise WaitTimeout(
                f"timeout: {timeout} s were not enough to scan all keys; {len(names):,} names were found; "
                "give it more time"
            )
        name = found if partitions else found.partition("/")[0]
        if name and name not in names:
            names.add(name)
            yield name


def missing_keys(nodes: Nodes, keys: Sequence[str], use: Use = "calls") -> set[str]:
    """Return those of some keys of which their servers say that they do not exist."""
    at: dict[Node, list[str]] = {}
    for key in keys:
        at.setdefault(nodes.routes.node_of(key), []).append(key)
    missing = set[str]()
    for node, some in at.items():
        for start in range(0, len(some), SCAN_COUNT):
            asked = some[start : start + SCAN_COUNT]
            replies, _ = nodes.exchange(node, [pack("EXISTS", key) for key in asked], use=use)
            missing.update(key for key, reply in zip(asked, replies, strict=False) if reply == 0)
    return missing


class Scan:
    """SCAN of every primary, page by page.

    After a failure it continues, and then scans everything once more: a new server does not know the old server's
    cursor.
    """

    def __init__(self, nodes: Nodes, pattern: str) -> None:
        self._nodes = nodes
        self._pattern = pattern
        self._left: list[Node] | None = None
        self._cursor = b"0"
        self._failed = self._repeated = False

    @property
    def done(self) -> bool:
        """Whether all keys of all nodes were scanned."""
        return self._left == []

    def page(self) -> tuple[Loss | Refusal | None, list[bytes]]:
        """Return the next matching keys, or why the node did not answer."""
        if self._left is None:
            self._left = list(self._nodes.primaries())
        command = pack("SCAN", self._cursor, "MATCH", self._pattern, "COUNT", SCAN_COUNT)
        replies, loss = self._nodes.exchange(self._left[0], [command])
        if loss is not None or isinstance(replies[0], Refusal):
            return loss or replies[0], []
        self._cursor, keys = replies[0]
        if self._cursor == b"0":
            self._left.pop(0)
        if self.done and self._failed and not self._repeated:
            self._left, self._repeated = None, True
        return None, keys

    def recover(self) -> None:
        """Find the current nodes after a failure."""
        self._failed = True
        self._nodes.refresh()
        if self._left and self._left[0] not in self._nodes.primaries():
            self._left, self._cursor = None, b"0"


def _is_passing(problem: Loss | Refusal) -> bool:
    return problem.retryable if isinstance(problem, Loss) else is_passing(problem)


def _error(problem: Loss | Refusal) -> Exception:
    if isinstance(problem, Loss):
        return loss_error("SCAN", problem, False)
    return refusal_error("SCAN", problem, False)
