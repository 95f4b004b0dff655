"""Bulks that run: changes of many tasks, chunk by chunk, by one process of the service at a time.

The state of a bulk is a value of the config namespace `_bulks`. After each chunk, its process writes the state with the
version that it has seen. So a process that was replaced cannot write, and stops. A process that finds a state unchanged
for `HOLD` seconds writes itself in as the new owner, and goes on where the state is. It measures this time by its own
clock: the clocks of two machines may differ.

A process does not begin a chunk unless its last write was lately, and gives a chunk less time than `HOLD`. The call of
a chunk has a rid that is made of its ids. So a repeated call changes nothing twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, time
from typing import Any, Final, Literal

from pydantic import BaseModel, ValidationError

from pyadeq import tiers
from pyadeq.asyncio import Adeq, ConfigValue, PartitionedQueue, Queue
from pyadeq.errors import AdeqError, ClientClosed, ConfigConflict, TransportError
from pyadeq.ext.server.gate import Access
from pyadeq.ext.server.problems import Refused
from pyadeq.ids import new_ulid
from pyadeq.models.queue import Bulk, TaskView

log = logging.getLogger("pyadeq.server")
NAMESPACE: Final = "_bulks"
HOLD: Final = 30.0
"""Seconds after which a bulk whose state does not change is taken over."""
CHUNK: Final = 500
PAGE: Final = 1000
DRY_PAGES: Final = 10
"""Pages that a dry run looks at. Each has at most 1,000 tasks of the smallest set that the filter names."""
REST: Final = 1.0
"""Seconds until a server is asked again that was away."""
MOST_RUNNING: Final = 20
"""Bulks that one process runs at a time, at most."""
KEPT: Final = 7 * 86_400.0
"""Seconds for which the state of a bulk that has ended is kept."""
MOST_REMOVED: Final = 99
TRIES: Final = 100

Verb = Literal["retry", "abandon", "cancel"]
BulkState = Literal["running", "cancelling", "done", "cancelled", "failed"]
CHANGED: Final = {"retried", "abandoned", "cancelled", "cancelling"}
"""What the call of a chunk says of a task that it has changed."""
HIDDEN: Final = "(hidden)"
"""The text in place of a condition that the reader may not know."""
OPEN: Final = frozenset({"ready", "delayed", "blocked", "running", "stalled"})


class BulkRun(BaseModel):
    """A change of many tasks that runs in the background.

    filter: which tasks. state: `cancelling` until its process has seen the wish.
    matched: tasks that were found so far; changed: those that it has changed; skipped: those that had changed before.
    resumed: how often another process had to go on. Each time, the changes of one chunk may be missing in `changed`.
    error: why it has failed.
    actor: who has begun it. created, ended: seconds since the epoch.
    """

    id: str
    queue: str
    verb: Verb
    filter: dict[str, str]
    state: BulkState = "running"
    matched: int = 0
    changed: int = 0
    skipped: int = 0
    done: bool = False
    resumed: int = 0
    error: str | None = None
    actor: str
    created: float
    ended: float | None = None


class Stored(BulkRun):
    """What is stored of it. user: of the scope that has begun it. words: conditions that do not match tasks whose tier
    hides them. part, cursor: where it is. before: only tasks that were there then. owner: the process that runs it.
    """

    user: str | None = None
    words: frozenset[str] = frozenset()
    part: str = ""
    cursor: str = ""
    before: float = 0.0
    owner: str

    def shown(self, access: Access) -> BulkRun:
        """What an answer has. Conditions that may have matched restricted tasks are not for everybody."""
        found = BulkRun(**self.model_dump(include=set(BulkRun.model_fields)))
        hidden = access.words(self.filter) - self.words
        return found.model_copy(update={"filter": self.filter | dict.fromkeys(hidden, HIDDEN)})

    def with_end(self, state: BulkState, error: str | None = None) -> Stored:
        """Return the bulk at its end."""
        return self.model_copy(update={"state": state, "done": True, "ended": time(), "error": error})


@dataclass
class Found:
    """A stored bulk, its version, and when it was written."""

    bulk: Stored
    version: int
    at: float

    @classmethod
    def of(cls, value: ConfigValue | None) -> Found | None:
        """Read the stored value; None if there is none that this version knows."""
        try:
            return value and cls(Stored.model_validate_json(value.value), value.version, value.at)
        except ValidationError:
            return None


Find = Callable[[str], Awaitable[Any]]
"""Finds a queue by its name; None if there is none."""


class Bulks:
    """The bulks of an installation, and those that this process runs."""

    def __init__(self, adeq: Adeq, find: Find, hold: float = HOLD) -> None:
        self.adeq = adeq
        self.find = find
        self.hold = hold
        self.config = adeq.config(NAMESPACE)
        self.owner = new_ulid()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}

    async def begin(self, bulk: Stored, key: str | None) -> Stored:
        """Store a bulk and run it. With a key, one that was begun before is returned."""
        if len(self._running) >= MOST_RUNNING:
            how = f"this process runs {MOST_RUNNING} bulks, which is the most"
            raise Refused(503, "BUSY", how, headers={"Retry-After": "10"}, retryable=True)
        bulk = bulk.model_copy(update={"owner": self.owner})
        stored = {id: one for id, value in (await self.config.list()).items() if (one := Found.of(value))}
        old = [id for id, one in stored.items() if one.bulk.done and one.at < bulk.created - KEPT]
        try:
            version = await self.config.set_many(
                {bulk.id: bulk.model_dump_json().encode()},
                remove=old[:MOST_REMOVED],
                expect={bulk.id: 0},
                actor=bulk.actor,
            )
        except ConfigConflict:
            known = await self.get(bulk.id)
            if key is None or known is None or (known.verb, known.filter) != (bulk.verb, bulk.filter):
                what = "Idempotency-Key: another request has this key; send another key"
                raise Refused(422, "KEY_REUSED", what) from None
            return known
        self._run(Found(bulk, version, bulk.created))
        return bulk

    async def check(self, queue: Queue | PartitionedQueue, verb: Verb, filter: Mapping[str, str]) -> None:
        """Raise what the queue says of a filter that it does not accept."""
        part, *_ = await parts_of(queue)
        await part.list(**_asked(verb, filter, "", 1))

    async def resume(self) -> None:
        """Watch the bulks that another process may have left."""
        try:
            await self.all()
        except AdeqError as error:
            log.info("the bulks cannot be read now: %s", error)

    async def get(self, id: str) -> Stored | None:
        """A bulk as it is now. If its process may be gone, this one watches it."""
        found = Found.of(await self.config.get(id))
        if found is None:
            return None
        self._watch(found)
        return found.bulk

    async def all(self) -> list[Stored]:
        """All bulks, the newest first."""
        found = [one for value in (await self.config.list()).values() if (one := Found.of(value))]
        for one in found:
            self._watch(one)
        return sorted((one.bulk for one in found), key=lambda bulk: bulk.created, reverse=True)

    async def cancel(self, id: str, actor: str) -> Stored | None:
        """Ask for the end of a bulk. None if it has ended, or is gone."""
        for _ in range(TRIES):
            found = Found.of(await self.config.get(id))
            if found is None or found.bulk.done:
                return None
            self._watch(found)
            bulk = found.bulk.model_copy(update={"state": "cancelling"})
            try:
                await self.config.set(
                    id, bulk.model_dump_json().encode(), expect=found.version, actor=actor, reason="cancel"
                )
            except ConfigConflict:  # a chunk has ended at the same moment
                continue
            return bulk
        raise Refused(503, "BUSY", f"bulk {id!r} changes too fast; repeat the request", retryable=True)

    async def count(
        self, queue: Queue | PartitionedQueue, verb: Verb, filter: Mapping[str, str], words: Collection[str]
    ) -> tuple[int, bool]:
        """How many tasks match now, and whether all were looked at."""
        matched, pages = 0, 0
        for part in await parts_of(queue):
            cursor, before = "", 0.0
            while True:
                if pages == DRY_PAGES:
                    return matched, False
                page = await part.list(**_asked(verb, filter, cursor, PAGE))
                pages += 1
                before = before or page.now
                matched += len(_fitting(verb, filter, words, page.tasks, before))
                cursor = page.cursor
                if not cursor:
                    break
        return matched, True

    # In the background

    def _run(self, found: Found) -> None:
        id = found.bulk.id
        self._running[id] = task = asyncio.create_task(Runner(self, found).run())
        task.add_done_callback(lambda _: self._running.pop(id, None))

    def _watch(self, found: Found) -> None:
        """Take a bulk over, if its state stays as it is."""
        id = found.bulk.id
        if found.bulk.done or id in self._running or id in self._watching or len(self._watching) >= MOST_RUNNING:
            return
        self._watching[id] = task = asyncio.create_task(self._take_over(found))
        task.add_done_callback(lambda _: self._watching.pop(id, None))

    async def _take_over(self, found: Found) -> None:
        try:
            await asyncio.sleep(self.hold)
            now = Found.of(await self.config.get(found.bulk.id))
            if now is None or now.version != found.version or len(self._running) >= MOST_RUNNING:
                return  # it goes on elsewhere; the next look at it watches again
            bulk = now.bulk.model_copy(update={"owner": self.owner, "resumed": now.bulk.resumed + 1})
            version = await self.config.set(
                bulk.id, bulk.model_dump_json().encode(), expect=now.version, reason="resumed"
            )
        except AdeqError as error:
            log.info("bulk %s is not taken over: %s", found.bulk.id, error)
            return
        self._run(Found(bulk, version, now.at))


class Lost(Exception):
    """Another process runs the bulk now, or it is gone."""


class Runner:
    """Runs one bulk, as long as this process is its owner."""

    def __init__(self, bulks: Bulks, found: Found) -> None:
        self._bulks = bulks
        self._bulk = found.bulk
        self._version = found.version
        self._saved_at = monotonic()
        self._is_saved = True
        self._chunk: tuple[Queue, list[str], Stored] | None = None  # what to change, and the state after it
        self._seen: set[str] = set()

    async def run(self) -> None:
        """Run it to its end, or until another process has it."""
        while True:
            try:
                if not self._is_saved or monotonic() - self._saved_at > self._bulks.hold / 4:
                    await self._save()
                if self._bulk.done:
                    return
                async with asyncio.timeout(self._bulks.hold / 2):
                    self._bulk = await self._next()
                self._is_saved = False
            except (Lost, ClientClosed):
                return
            except (TransportError, TimeoutError, OSError) as error:
                log.warning("bulk %s waits for the server: %s", self._bulk.id, error)
                await asyncio.sleep(REST)
            except Exception as error:
                log.warning("bulk %s has failed: %s", self._bulk.id, error)
                self._bulk, self._is_saved = self._bulk.with_end("failed", str(error)[:500]), False
                await asyncio.sleep(REST)

    async def _next(self) -> Stored:
        """The bulk after its next chunk. After an error, it goes on with the same chunk."""
        bulk = self._bulk
        if bulk.state == "cancelling":
            return bulk.with_end("cancelled")
        if self._chunk is None:
            queue = await self._bulks.find(bulk.queue)
            if queue is None:
                return bulk.with_end("failed", f"there is no queue {bulk.queue!r}")
            parts = {part.base: part for part in await parts_of(queue)}
            if bulk.part and bulk.part not in parts:
                return bulk.with_end("failed", "the queue has other partitions now; begin another bulk")
            self._chunk = await self._look(parts)
        part, ids, after = self._chunk
        changed = 0
        if ids:
            statuses = await self._change(part, ids)
            changed = sum(status in CHANGED for status in statuses)
        self._chunk = None
        counts = {"changed": bulk.changed + changed, "skipped": bulk.skipped + len(ids) - changed}
        return after.model_copy(update=counts)

    async def _look(self, parts: Mapping[str, Queue]) -> tuple[Queue, list[str], Stored]:
        bulk, bases = self._bulk, list(parts)
        base = bulk.part or bases[0]
        page = await parts[base].list(**_asked(bulk.verb, bulk.filter, bulk.cursor, CHUNK))
        before = bulk.before or page.now
        ids = _fitting(bulk.verb, bulk.filter, bulk.words, page.tasks, before)
        if bulk.filter.get("state") in ("running", "stalled"):  # such a task moves in the list when it is renewed
            ids = [id for id in ids if id not in self._seen]
            self._seen.update(ids)
        to = {"part": base, "cursor": page.cursor, "before": before, "matched": bulk.matched + len(ids)}
        following = bases.index(base) + 1
        if page.cursor:
            after = bulk.model_copy(update=to)
        elif following < len(bases):
            after = bulk.model_copy(update={**to, "part": bases[following]})
        else:
            after = bulk.model_copy(update=to).with_end("done")
        return parts[base], ids, after

    async def _change(self, part: Queue, ids: Sequence[str]) -> list[str]:
        text = "\n".join([self._bulk.id, part.base, *ids])
        rid = f"bulk-{hashlib.sha256(text.encode()).hexdigest()[:40]}"
        call: Any = getattr(part.calls, self._bulk.verb)(ids, rid)
        return [getattr(answer, "status", answer) for answer in await self._bulks.adeq.send(call)]

    async def _save(self) -> None:
        """Store the state. Raises Lost if this process is not the owner any more."""
        while True:
            text = self._bulk.model_dump_json().encode()
            try:
                self._version = await self._bulks.config.set(self._bulk.id, text, expect=self._version)
                self._saved_at, self._is_saved = monotonic(), True
                return
            except ConfigConflict:  # somebody wants its end, or the answer to our own write was lost
                now = Found.of(await self._bulks.config.get(self._bulk.id))
                if now is None or now.bulk.owner != self._bulks.owner:
                    raise Lost from None
                if not self._bulk.done:
                    self._bulk = self._bulk.model_copy(update={"state": now.bulk.state})
                self._version = now.version


async def change_dead(
    adeq: Adeq,
    queue: Queue | PartitionedQueue,
    verb: Literal["retry", "abandon"],
    filter: Mapping[str, str],
    words: Collection[str],
    *,
    dry_run: bool,
) -> Bulk:
    """Retry or abandon all dead tasks that match and died before now, as a bulk does, and wait for the end."""
    matched = done = 0
    for part in await parts_of(queue):
        cursor, before = "", 0.0
        while True:
            page = await part.list(**_asked(verb, filter, cursor, PAGE))
            before = before or page.now
            ids = _fitting(verb, filter, words, page.tasks, before)
            matched += len(ids)
            if ids and not dry_run:
                answers = await adeq.send(getattr(part.calls, verb)(ids, new_ulid()))
                done += sum(getattr(answer, "status", answer) in CHANGED for answer in answers)
            cursor = page.cursor
            if not cursor:
                break
    return Bulk(matched=matched, done=done)


async def parts_of(queue: Queue | PartitionedQueue) -> Sequence[Queue]:
    """The partitions of a queue, or the queue itself."""
    return [queue] if isinstance(queue, Queue) else [queue.part(one.tag) for one in await queue.partitions()]


def _asked(verb: Verb, filter: Mapping[str, str], cursor: str, limit: int) -> dict[str, Any]:
    """The arguments for a page of tasks."""
    return {"state": None if verb == "cancel" else "dead", **filter, "cursor": cursor, "limit": limit}


def _fitting(
    verb: Verb, filter: Mapping[str, str], words: Collection[str], tasks: Sequence[TaskView], before: float
) -> list[str]:
    """The ids of tasks that were there before: otherwise a task that fails again would be retried forever.

    words: conditions that do not match tasks whose tier hides them.
    """
    tasks = [task for task in tasks if tiers.may_match(task, words)]
    if verb != "cancel":
        return [task.id for task in tasks if task.ended is not None and task.ended <= before]
    open = [task for task in tasks if "state" in filter or task.state in OPEN]
    return [task.id for task in open if task.created is None or task.created <= before]
