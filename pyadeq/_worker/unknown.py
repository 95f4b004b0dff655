"""Tasks that this worker does not know, as in a rolling deploy. It puts them aside for workers that know them."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable
from dataclasses import dataclass

from pyadeq._core.queue.failures import UnknownKind
from pyadeq._core.queue.steps import Wait
from pyadeq.models.queue import Lease
from pyadeq.tiers import may_show

UNKNOWN_FOR = 600.0
"""Seconds for which a task is put aside again and again. Then it is dead."""
# Seconds that a task is put aside: as long as it was unknown so far, so that it comes back about ten times.
SHORTEST, LONGEST = 2.0, 60.0
ASIDE = "put aside: the worker does not know "
MOST_TOLD = 1000  # warnings of one worker: one for each kind and set of fields

log = logging.getLogger("pyadeq.worker")


@dataclass(eq=False, slots=True)
class Aside:
    """A task to put aside. note: a text for its progress; None: it has the text already. waits: for what its run was
    suspended; then `delay` does not count.
    """

    lease: Lease
    delay: float
    note: str | None
    waits: tuple[Wait, ...] = ()


class Unknown:
    """Decides what happens to tasks of unknown kinds and versions, and counts unknown arguments.

    The moment at which a task was first unknown is stored with the task, as its progress: the text says what is
    unknown, and the server adds the time. So the limit holds across all workers, and across restarts. It begins anew
    if the task was not put aside last, but ran, was returned or failed.

    limit: seconds; 0: such tasks are dead at once.
    """

    def __init__(self, limit: float) -> None:
        self.ignored = 0
        """How many arguments were ignored."""
        self._limit = limit
        self._told: set[object] = set()

    def aside(self, lease: Lease, now: float, error: UnknownKind) -> Aside | None:
        """Return how to put a task aside; None if it was unknown for too long. now: the server's time at the claim."""
        since = self._since(lease)
        waited = 0.0 if since is None else max(0.0, now - since)
        left = self._limit - waited
        if left <= 0:
            return None
        self._tell_once(error.what, "%s is not known here: its tasks are put aside for other workers", error.what)
        delay = min(LONGEST, max(SHORTEST, waited)) * random.uniform(0.9, 1.1)
        note = f"{ASIDE}{error.what}{_attempt(lease)}" if since is None else None
        return Aside(lease, min(delay, max(left, SHORTEST)), note)

    def note_ignored(self, lease: Lease, names: Iterable[str]) -> None:
        """Count arguments that a function does not have. Their names are a part of the payload."""
        found, shows = tuple(sorted(names)), may_show(lease.tier, "content")
        self.ignored += len(found)
        shown = ", ".join(name if shows and name.isidentifier() and len(name) <= 50 else "…" for name in found[:5])
        about = (lease.kind, found if shows else len(found))
        self._tell_once(about, "kind %r: arguments are not known here, and are ignored: %s", lease.kind, shown)

    def _since(self, lease: Lease) -> float | None:
        """Return the server's time at which the task was first unknown, if it was put aside since then.

        Other workers may not have known something else of it.
        """
        record = lease.record
        answer, text = record.get("settled", b"").split(b" ")[1:2], record.get("progress_text", b"")
        is_note = text.startswith(ASIDE.encode()) and text.endswith(_attempt(lease).encode())
        if answer != [b"snoozed"] or not is_note or "progress_ms" not in record:
            return None
        return int(record["progress_ms"]) / 1000

    def _tell_once(self, about: object, message: str, *args: object) -> None:
        if about not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(about)
            log.warning(message, *args)


def _attempt(lease: Lease) -> str:
    return f"; attempt {lease.attempt}"
