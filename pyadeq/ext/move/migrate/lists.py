"""Lists of job ids by type, group and instance, and their older names. Each job has a hash, which stays as it is."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from string import ascii_letters, digits
from typing import Any, Final

from redis import Redis

from pyadeq import Adeq, Task
from pyadeq.errors import BadArgument
from pyadeq.ext.move.migrate.rows import read_whole
from pyadeq.ext.move.migrate.source import Left, Moving, Place, Unmovable, check_id
from pyadeq.ext.move.migrate.writer import Writer, checked

PRIORITY: Final = 5
"""The priority of a list without `:prio:<n>`."""
WAITING: Final = frozenset({"", "created", "dispatched", "pending", "waiting"})
"""The status of a job that no actor has begun. Any other status is reported, and the job is left."""
CANONICAL: Final = re.compile(
    r"^hero:q:work:type:(?P<type>.+?)(?::group:(?P<group>.+?)(?::inst:(?P<inst>.+?))?)?(?::prio:(?P<prio>\d{1,9}))?$"
)
LEGACY: Final = re.compile(r"^hero:(?:job:actor_queue|work_queue|job):(?P<actor>.+)$")
"""Old names of lists, for keys that are lists only: `hero:job:<id>` is also the name of a job's hash."""

KIND: Final = frozenset(f"{ascii_letters}{digits}._:/@+-")
"""Characters of a kind. Those that are not ASCII are allowed, too."""


def work_queue(type: str, group: str | None = None, instance: str | None = None, priority: int | None = None) -> str:
    """Return the list of a type, a group or an instance. An instance needs its group."""
    if instance is not None and group is None:
        raise BadArgument("ADEQ_ARG", "pyadeq", f"group: None is not accepted with the instance {instance!r}; name it")
    names = (("group", group), ("inst", instance), ("prio", priority))
    return "".join([f"hero:q:work:type:{type}", *(f":{name}:{one}" for name, one in names if one is not None)])


def actor_queue(suffix: str) -> str:
    """Return an older name of the list of a type."""
    return f"hero:job:actor_queue:{suffix}"


def actor_jobs(actor: str) -> str:
    """Return an older name of the list of an actor. A hash of a job may have the same name."""
    return f"hero:job:{actor}"


def actor_work_queue(actor: str) -> str:
    """Return the oldest name of the list of an actor."""
    return f"hero:work_queue:{actor}"


def job_hash(id: str) -> str:
    """Return the key of a job's hash."""
    return f"hero:job:{id}"


def reply_queue(id: str) -> str:
    """Return the list that gets the result of a job."""
    return f"hero:q:reply:{id}"


def control_queue(type: str, group: str | None = None, instance: str | None = None) -> str:
    """Return the list with control messages for a type or an instance."""
    return work_queue(type, group, instance).replace("hero:q:work:", "hero:q:ctl:", 1)


def presence(type: str, group: str, instance: str) -> str:
    """Return the key that an actor sets while it lives."""
    return f"hero:meta:actor:inst:{type}:{group}:{instance}"


def queue_stats(name: str) -> str:
    """Return the key of the figures of a queue."""
    return f"hero:meta:queue:stats:{name}"


def consumed(
    type: str,
    group: str = "default",
    instance: str = "1",
    *,
    priorities: Iterable[int] = (),
    legacy: Iterable[str] = (),
) -> list[str]:
    """Return the lists from which an instance takes, in its order: by priority, then the most specific one first.

    Lists without a priority come after that of 5, as their tasks do in pyadeq.

    legacy: lists with older names, which come last.
    """
    before = [level for level in priorities if level <= PRIORITY]
    levels: list[int | None] = [*before, None, *(level for level in priorities if level > PRIORITY)]
    names = [(group, instance), (group, None), (None, None)]
    return [*(work_queue(type, *name, level) for level in levels for name in names), *legacy]


class ListQueues:
    """The waiting jobs in all lists. A type is a queue of pyadeq, a group or an instance of it a lane.

    The payload is {"job_id": …, "job": the hash}. Producers push to the left and actors take from there, so the newest
    job is taken first, and its task comes first.
    """

    name = "lists"

    def __init__(self, client: Redis) -> None:
        self.client = client

    def places(self, queues: Sequence[str]) -> list[Place]:
        """Return the lists of these types and actors, those with older names last.

        Without queues: of all types, and of the actors with the name of a type. The jobs of another actor may be those
        of any type, so it has to be named: a job that was pushed to both would run twice in two queues.
        """
        found = self._found()
        named = {*queues} or _types(found)
        wanted = [place for place in found if place.queue in named]
        return sorted(wanted, key=lambda place: (_is_legacy(place), place.priority, -place.key.count(":"), place.key))

    def read(self, place: Place, messages: Sequence[bytes]) -> list[Moving | Left]:
        """Return what each message is, with the hash of its job."""
        ids = [message.decode(errors="replace") for message in messages]
        hashes = read_whole(self.client, [*map(job_hash, ids)])
        return [self._read(place, id, row) for id, row in zip(ids, hashes, strict=True)]

    def others(self) -> dict[str, int]:
        """Return the number of control messages, and of jobs of actors that have to be named."""
        found = self._found()
        types = _types(found)
        unnamed = [place.key for place in found if place.queue not in types]
        return {
            "in lists of actors that are no type (name each with --queue)": self._count(unnamed),
            "in control queues": self._count(self._lists("hero:q:ctl:*")),
        }

    def _found(self) -> list[Place]:
        return [place for place in map(place_of, self._lists("hero:*")) if place]

    def _count(self, keys: Iterable[str]) -> int:
        return sum(int(self.client.llen(key)) for key in keys)

    def _lists(self, pattern: str) -> Iterator[str]:
        for key in self.client.scan_iter(match=pattern, count=1000, _type="list"):
            yield key.decode(errors="replace")

    def _read(self, place: Place, id: str, row: dict[bytes, bytes]) -> Moving | Left:
        digest = hashlib.sha1(id.encode(), usedforsecurity=False).hexdigest()
        try:
            if not row:
                raise Unmovable("its hash no longer exists")
            check_id(id)
            job = {name.decode(): value.decode() for name, value in row.items()}
            if (status := job.get("status", "")).lower() not in WAITING:
                raise Unmovable(f"its status is {status[:60]}")
            named = CANONICAL.match(place.key)
            group, instance = (named["group"], named["inst"]) if named else (None, None)
            lane = f"group/{group}/inst/{instance}" if instance else f"group/{group}" if group else "any"
            payload: dict[str, Any] = {"job_id": id, "job": job}
            return Moving(
                Task(payload=payload, id=id, kind=_kind(place), priority=place.priority or 0, lane=lane), digest
            )
        except Unmovable as error:
            return Left(id, str(error), digest)
        except BadArgument as error:
            return Left(id, error.message, digest)
        except UnicodeDecodeError:
            return Left(id, "its hash is not text", digest)


class ListWriter:
    """Dispatches jobs in the old layout, in pyadeq, or in both, as the phase of the migration says: see `Writer`."""

    def __init__(self, adeq: Adeq, client: Redis, *, queues: dict[str, str] | None = None) -> None:
        self._source = ListQueues(client)
        self._writer = Writer(adeq, self._source, queues=queues)

    def push(
        self,
        id: str,
        type: str,
        *,
        group: str | None = None,
        instance: str | None = None,
        priority: int | None = None,
        legacy: Iterable[str] = (),
    ) -> None:
        """Dispatch a job whose hash exists, to the most specific list.

        legacy: lists with older names that also get it, until a cutover; at most 4.

        Raises AdeqError, and writes nothing, if the hash has a status that no actor would run.

        After a cutover, a job that waits or runs in pyadeq is not enqueued again, as an actor skips the second message
        of a job. If it has ended there, AdeqError is raised: an old actor would run it again, and pyadeq does not.
        """
        places = [place_of(key) for key in (work_queue(type, group, instance, priority), *legacy)]
        found = [place for place in places if place]
        if len(found) < len(places) or len(places) > 5:
            raise BadArgument("ADEQ_ARG", "pyadeq", f"legacy: {legacy!r} is not accepted; allowed: up to 4 older names")
        (one,) = self._source.read(found[0], [id.encode()])
        self._writer.write(found, id.encode(), checked(one))


def place_of(key: str) -> Place | None:
    """Return the place of a list, None if it has other content than jobs."""
    if named := CANONICAL.match(key):
        return Place(key, named["type"], PRIORITY if named["prio"] is None else min(int(named["prio"]), 9), "left")
    if named := LEGACY.match(key):
        return Place(key, named["actor"], PRIORITY, "left")
    return None


def _types(places: Iterable[Place]) -> set[str]:
    return {place.queue for place in places if not _is_legacy(place)}


def _kind(place: Place) -> str:
    """Return the type as the kind of a task, with `_` in place of other characters than those of a kind."""
    text = "".join(one if one in KIND or (one > "\x7f" and one.isprintable()) else "_" for one in place.queue)
    return text.encode()[:200].decode(errors="ignore")


def _is_legacy(place: Place) -> bool:
    return CANONICAL.match(place.key) is None
