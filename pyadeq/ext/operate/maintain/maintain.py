"""One bounded step of all periodic care. Any number of processes may do it at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyadeq import Adeq, Queue
from pyadeq.errors import AdeqError, ConfigError, TransportError
from pyadeq.ext.shared.finding import nouns_with_events

if TYPE_CHECKING:
    from pyadeq.ext.operate.archive import Archive

REMEMBERED: Final = 60.0
"""Seconds for which names are remembered, and between two scans of all keys for them."""
LIMIT: Final = 100
"""How many tasks, leases, changes and so on one step handles, for each name and kind of care."""
SWEPT: Final = 1000
"""How many ended sessions, or removed names of configs, one step deletes for each name, at most."""
DOMAINS: Final = 100
"""Lock domains with waiters that one search for deadlocks looks at."""
EVENTS: Final = 10_000
"""Events of each stream that one step archives."""

Done = tuple[dict[str, int], bool]
"""What was done, by its name, and whether there is more to do now."""


class Maintained(NamedTuple):
    """What a step has done for one name.

    care: the kind. name: such as `lock:default`. done: how many of what; what was 0 is left out.
    more: whether another step has something to do at once. error: why nothing was done.
    """

    care: str
    name: str
    done: dict[str, int]
    more: bool = False
    error: str | None = None


class Maintainer:
    """Takes care of an installation, step by step.

    archive: where events are archived; None: they are not.
    only: the kinds of care; None: all.

    Each step does a bounded part of each kind, by calls that are atomic and may be repeated. So a process may be killed
    at any time, and any number of them may work at once. If one kind fails, for instance because a right is missing,
    the others go on.
    """

    def __init__(self, adeq: Adeq, *, archive: Archive | None = None, only: Collection[str] | None = None) -> None:
        for care in only or ():
            if care not in CARES:
                raise ConfigError(f"only: {care!r} is not accepted; allowed: {', '.join(CARES)}")
        if archive is None and only is not None and "archive" in only:
            raise ConfigError("only: 'archive' needs the place of an archive")
        self._adeq = adeq
        self._archive = archive
        self._only = [care for care in CARES if only is None or care in only]
        self._names: dict[str, list[str]] = {}
        self._read_at = float("-inf")

    def step(self, names: bool = True) -> Iterator[Maintained]:
        """Do one step of each kind of care, and yield what was done for each name.

        Raises TransportError if the server does not answer. names: whether to look after the registries of names, too.
        """
        if monotonic() >= self._read_at + REMEMBERED:
            if names and "names" in self._only:
                yield self._maintained("names", "all nouns", partial(_names, self._adeq))
            self._names = {noun: sorted(self._adeq.names(noun, partitions=True)) for noun in nouns_with_events()}
            self._read_at = monotonic()
        for care in self._only:
            if care == "names":  # done above
                continue
            for name, act in self._acts(care):
                yield self._maintained(care, name, act)

    def run(
        self,
        every: float,
        stopped: threading.Event,
        say: Callable[[Maintained], object],
        unreachable: Callable[[TransportError], object],
    ) -> None:
        """Do a step each `every` seconds, until `stopped` is set.

        say: gets what was done or refused. unreachable: gets the error if the server is away; the next step asks again.
        """
        if "names" in self._only:
            threading.Thread(target=self._name, args=(stopped, say), name="pyadeq-names", daemon=True).start()
        while not stopped.is_set():
            more = False
            try:
                for one in self.step(names=False):
                    more = more or one.more
                    if one.done or one.error:
                        say(one)
                    if stopped.is_set():
                        return
            except TransportError as error:
                unreachable(error)
                more = False
            stopped.wait(0 if more else every)

    def _name(self, stopped: threading.Event, say: Callable[[Maintained], object]) -> None:
        """Look after the registries of names. A scan of many keys takes minutes, and the rest does not wait for it."""
        while not stopped.is_set():
            with suppress(TransportError):  # the other steps say that the server is away
                one = self._maintained("names", "all nouns", partial(_names, self._adeq))
                if one.done or one.error:
                    say(one)
            stopped.wait(REMEMBERED)

    def _acts(self, care: str) -> Iterator[tuple[str, Callable[[], Done]]]:
        """Yield the names that a kind of care is for, and what does it."""
        if care == "deadlocks":
            if len(self._names["lock"]) > 1:
                yield "all lock domains", partial(_deadlocks, self._adeq, self._names["lock"])
        elif care == "archive":
            if archive := self._archive:
                for stream in self._streams():
                    yield stream, partial(_archive, self._adeq, archive, stream)
        elif care == "events":
            for stream in self._streams():
                yield stream, partial(_trim, self._adeq, stream)
        else:
            noun, act = OF_NOUNS[care]
            for name in self._names[noun]:
                yield f"{noun}:{name}", partial(act, self._adeq, name)

    def _streams(self) -> list[str]:
        return [f"{noun}:{name}" for noun, names in self._names.items() for name in names]

    def _maintained(self, care: str, name: str, act: Callable[[], Done]) -> Maintained:
        try:
            done, more = act()
        except AdeqError as error:
            if isinstance(error, TransportError) and error.retryable:
                raise
            return Maintained(care, name, {}, error=str(error))
        return Maintained(care, name, {what: number for what, number in done.items() if number}, more)


def _queue(adeq: Adeq, name: str) -> Done:
    own, _, tag = name.partition("/")
    queue: Queue = adeq.partitioned(own).part(tag) if tag else adeq.queue(own)
    taken_back, expired = queue.admin.reap(LIMIT), queue.admin.expire(LIMIT)
    deleted, more = adeq.send(queue.calls.trim())
    queue.admin.snapshot()
    return {"leases": taken_back, "expired": expired, "deleted": deleted}, more or LIMIT in (taken_back, expired)


def _locks(adeq: Adeq, name: str) -> Done:
    admin = adeq.locks(name).admin
    ended = admin.reap(LIMIT)
    found = admin.detect()
    return {"ended": ended, "deadlocks": len(found.deadlocks)}, ended == LIMIT or found.more


def _deadlocks(adeq: Adeq, domains: list[str]) -> Done:
    waited_for = [name for name in domains if adeq.locks(name).stats().waiting][:DOMAINS]
    found = adeq.find_deadlocks(waited_for) if len(waited_for) > 1 else []
    return {"deadlocks": len(found)}, False


def _changes(adeq: Adeq, name: str) -> Done:
    changes = adeq.changes(name)
    swept = changes.sweep(LIMIT)
    followed = changes.deliver(LIMIT)
    done = {"due": swept.taken, "deleted": swept.removed, "delivered": followed.delivered}
    return done, bool(swept.more) or followed.delivered == LIMIT


def _sessions(adeq: Adeq, name: str) -> Done:
    realm, _, tag = name.partition("/")
    answer = adeq.send(adeq.sessions(realm).part(tag).build("sweep", limit=SWEPT))
    return {"deleted": answer.ended}, bool(answer.more)


def _configs(adeq: Adeq, name: str) -> Done:
    answer = adeq.send(adeq.config(name).calls.build("sweep", limit=SWEPT))
    return {"deleted": answer.forgotten}, bool(answer.more)


def _trim(adeq: Adeq, stream: str) -> Done:
    noun, _, name = stream.partition(":")
    events = adeq.events(noun, name)
    if not adeq.client.exists(f"{events.base}:events"):  # a trim would create settings for it
        return {}, False
    answer = adeq.send(events.calls.build("trim"))
    return {"deleted": answer.removed}, bool(answer.more)


def _archive(adeq: Adeq, archive: Archive, stream: str) -> Done:
    (done,) = archive.write(adeq, streams=[stream], limit=EVENTS)
    names = ("events", "tasks", "changes", "lost", "left_out")
    counts = {name: getattr(done, name) for name in names}
    return counts, done.events + done.left_out >= EVENTS


def _names(adeq: Adeq) -> Done:
    return adeq.update_registries(every=REMEMBERED), False


OF_NOUNS: Final[dict[str, tuple[str, Callable[[Any, str], Done]]]] = {
    "queues": ("queue", _queue),
    "locks": ("lock", _locks),
    "changes": ("change", _changes),
    "sessions": ("session", _sessions),
    "configs": ("config", _configs),
}
CARES: Final = ("names", "archive", "queues", "locks", "deadlocks", "changes", "sessions", "configs", "events")
"""All kinds, in the order of a step: events, tasks and changes are archived before they are deleted."""
