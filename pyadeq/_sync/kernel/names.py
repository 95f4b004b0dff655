# Generated from pyadeq/_async/kernel/names.py by pyadeq/_unasync.py; do not edit.
"""The names of queues, lock domains and so on. A server has no list of them, so its keys are scanned."""

from __future__ import annotations

import random
from collections.abc import Iterator
from time import monotonic
from typing import Final

from pyadeq._sync.kernel.nodes import Nodes
from pyadeq._core.kernel.packing import pack
from pyadeq._core.kernel.refusals import Loss, Refusal, is_passing, loss_error, refusal_error
from pyadeq._core.kernel.routes import Node
from pyadeq._core.kernel.sending import backoff
from pyadeq._twins import sleep
from pyadeq.errors import WaitTimeout
from pyadeq.keys import PATTERNS
from pyadeq.models.base import Seconds, to_ms

SCAN_COUNT: Final = 1000
"""Keys that the server looks at in one command, which takes it less than a millisecond."""


def find_names(
    nodes: Nodes, base: str, retry_for: float, timeout: Seconds | None, partitions: bool = False
) -> Iterator[str]:
    """Yield each existing name once. base: the base with `-` in place of the name.

    partitions: yield each partition, as `<name>/<tag>`, in place of the name that has it.
    """
    head, tail = f"{base}:config".rsplit("-", 1)
    scan = Scan(nodes, f"{head}*{tail}")
    until = None if timeout is None else monotonic() + to_ms("timeout", timeout) / 1000
    names = set[str]()
    failures, answered = 0, monotonic()
    while not scan.done:
        problem, keys = scan.page()
        if problem is None:
            failures, answered = 0, monotonic()
        elif not _is_passing(problem) or monotonic() - answered > retry_for:
            raise _error(problem)
        else:
            failures += 1
            sleep(backoff(failures, random.random()))
            scan.recover()
        for key in keys:
            found = key.decode(errors="replace")[len(head) : -len(tail)]
            name, slash, part = found.partition("/")
            # Other keys that do not match a name belong to other programs.
            if not PATTERNS["name"].fullmatch(name) or (slash and not PATTERNS["name"].fullmatch(part)):
                continue
            if partitions:
                name = found
            if name not in names:
                names.add(name)
                yield name
        if until is not None and monotonic() > until and not scan.done:
            raise WaitTimeout(
                f"timeout: {timeout} s were not enough to scan all keys; {len(names):,} names were found; "
                "give it more time"
            )


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
