"""Copies of waiting tasks in paused queues, beside the old system: they show what a cutover would bring.

A copy is never run. A cutover moves the messages of the old server, and deletes the copies. So no copy can get
a task lost or run twice, however late it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from pyadeq import Adeq, Queue, Task, TaskView
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.move.migrate import waiting
from pyadeq.ext.move.migrate.enqueuer import PORTION, Enqueuer, origin_of, views_of
from pyadeq.ext.move.migrate.escrow import batches
from pyadeq.ext.move.migrate.reports import Mirrored
from pyadeq.ext.move.migrate.source import Left, Moving, Place, Source

PENDING: Final[Sequence[Literal["ready", "delayed", "blocked"]]] = ("ready", "delayed", "blocked")


def mirror_of(adeq: Adeq, queue: str) -> Queue:
    """Return the queue with the copies of tasks for a queue."""
    return adeq.queue(f"{queue}.mirror")


def prepare(queue: Queue) -> None:
    """Let no worker take a copy, and delete a copy that is cancelled at once."""
    queue.configure(finished_max=0)
    queue.admin.pause()


def copy_of(one: Moving, source: str) -> Task:
    """Return a copy of a task. All are in one lane, where they can be listed."""
    origin = {"from": source, "digest": one.digest}
    return one.task.model_copy(update={"lane": "any", "headers": {**(one.task.headers or {}), "migrated": origin}})


def is_copy(origin: Mapping[str, Any]) -> bool:
    """Whether a task is a copy. A moved task is none, even in a queue with the name of a mirror: it has a run."""
    return "from" in origin and "run" not in origin


class Mirror:
    """The copies of one source. at, tell: see `Migration`."""

    def __init__(
        self,
        adeq: Adeq,
        source: Source,
        enqueuer: Enqueuer,
        at: Callable[[str], object],
        tell: Callable[[int], object],
    ) -> None:
        self._adeq, self._source, self._enqueuer, self._at, self._tell = adeq, source, enqueuer, at, tell

    def check(self, queues: Iterable[str]) -> None:
        """Raise AdeqError if a queue that is to get copies has other tasks: it would be paused."""
        names = {*queues}
        for to in sorted(names):
            queue = mirror_of(self._adeq, to)
            if queue.name in names:
                raise ConfigError(
                    f"queue {queue.name!r} would get the copies of {to!r}, but tasks go to it; give it another name: "
                    "--queue OLD=NEW; nothing was changed"
                )
            if (pending := queue.stats().pending) > sum(map(is_copy, map(origin_of, self._all(queue)))):
                raise AdeqError(
                    f"queue {queue.name!r} would get the copies, but {pending:,} tasks are in it that are not all "
                    "copies; nothing was changed"
                )

    def copy(self, places: Mapping[Place, str]) -> Mirrored:
        """Make the copies that lack, and delete those whose tasks no longer wait."""
        result = Mirrored()
        for to in sorted({*places.values()}):
            queue = mirror_of(self._adeq, to)
            prepare(queue)
            self._at("paused")
            copies = self._copies(queue)
            for place in [place for place, queue_of in places.items() if queue_of == to]:
                for messages in waiting.messages(self._source.client, place):
                    self._copy(to, self._source.read(place, messages), copies, result)
                    self._at("copied")
                    self._tell(len(messages))
            ended = [id for id, digest in copies.items() if digest]
            result.ended += len(ended)
            self._cancel(queue, ended)
            self._at("ended")
        return result

    def compare(self, places: Mapping[Place, str]) -> Mirrored:
        """Report each difference."""
        result = Mirrored()
        for to in sorted({*places.values()}):
            queue = mirror_of(self._adeq, to)
            copies = self._copies(queue)
            for place in [place for place, queue_of in places.items() if queue_of == to]:
                for messages in waiting.messages(self._source.client, place):
                    self._compare(queue, self._source.read(place, messages), copies, result)
                    self._at("compared")
                    self._tell(len(messages))
            result.ended += sum(1 for digest in copies.values() if digest)
        return result

    def delete(self, queues: Iterable[str]) -> None:
        """Delete all copies of tasks for these queues. A queue with such a name may have other tasks, which stay."""
        for to in sorted({*queues}):
            try:
                queue = mirror_of(self._adeq, to)
            except ConfigError:  # the name is too long, so there never was a mirror
                continue
            if queue.stats().pending:
                self._cancel(queue, [*self._copies(queue)])

    def _copy(self, to: str, found: Sequence[Moving | Left], copies: dict[str, str], result: Mirrored) -> None:
        queue, missing = mirror_of(self._adeq, to), []
        for one in found:
            if isinstance(one, Left):
                result.differences.add(one.why, one.id)
                continue
            id = one.task.id or ""
            if copies.get(id) in (one.digest, ""):
                result.equal += copies[id] != ""
                copies[id] = ""  # seen; a second message of it is no second task
                continue
            if id in copies:
                self._cancel(queue, [id])
            copies[id] = ""
            missing.append(one)
        answers = self._enqueuer.send(queue.name, [copy_of(one, self._source.name) for one in missing])
        for one, answer in zip(missing, answers, strict=True):
            if isinstance(answer, str):
                result.differences.add(answer, one.task.id or "")
            else:
                result.copied += 1

    def _compare(self, queue: Queue, found: Sequence[Moving | Left], copies: dict[str, str], result: Mirrored) -> None:
        differing = []
        for one in found:
            if isinstance(one, Left):
                result.differences.add(one.why, one.id)
                continue
            id = one.task.id or ""
            if copies.get(id) in (one.digest, ""):
                result.equal += copies[id] != ""
            else:
                differing.append(one)
            copies[id] = ""
        # a producer may have written both while this command read one side and then the other
        views = views_of(queue, [one.task.id or "" for one in differing])
        for one, view in zip(differing, views, strict=True):
            digest = origin_of(view).get("digest") if view is not None and view.state in PENDING else None
            if digest == one.digest:
                result.equal += 1
            else:
                why = "it has no copy" if digest is None else "its copy is another task"
                result.differences.add(why, one.task.id or "")

    def _copies(self, queue: Queue) -> dict[str, str]:
        """Return the digests of this source's copies by their ids."""
        origins = ((view.id, origin_of(view)) for view in self._all(queue))
        return {
            id: str(origin["digest"])
            for id, origin in origins
            if is_copy(origin) and origin["from"] == self._source.name
        }

    def _all(self, queue: Queue) -> Iterator[TaskView]:
        ids = [view.id for state in PENDING for view in queue.iterate(state)]
        for some in batches(ids, PORTION):  # never all at once: a view has the payload
            yield from (view for view in queue.get_many(some) if view is not None)

    def _cancel(self, queue: Queue, ids: Sequence[str]) -> None:
        for some in batches(ids, PORTION):
            queue.cancel_many(some)
