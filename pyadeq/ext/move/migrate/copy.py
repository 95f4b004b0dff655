"""Copying a queue to another server: all its keys, with its partitions, key by key.

The values are read by commands of their types and written by the script queue.copy, which uses these, too, and not by
DUMP and RESTORE: an older server refuses the dump of a newer one. All other scripts refuse the copy until it is
complete. A key whose digest is the same on both servers is left alone, so the copy goes on where an earlier one ended,
and the last pass, which finds nothing to copy, is the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

from pyadeq import Adeq, PartitionedQueue, Queue
from pyadeq.errors import AdeqError
from pyadeq.ext.shared.installation import primaries

KEYS: Final = 500
"""How many keys are looked at in one round trip."""
PORTION: Final = 1000
"""How many entries of a key are read by one command."""
MOST_ITEMS: Final = 1000
"""How many keys and entries are written by one call, at most: all items of a call."""
MOST_BYTES: Final = 2 * 1024 * 1024
"""The bytes after which a call ends. The last entry may be longer than that."""
REAPED: Final = 100
"""How many expired leases are taken back by one call."""
PASSES: Final = 5
SKIPPED: Final = ("worker:", "workers", "wake:", "control:", "copied")
"""Workers register on the new server themselves. Others are hints for their connections. The last is of queue.copy."""


@dataclass
class Copied:
    """How a copy has ended. keys: of the queue. equal: whether the last comparison found no difference."""

    keys: int = 0
    copied: int = 0
    deleted: int = 0
    passes: int = 0
    equal: bool = False
    digest: str = ""
    tasks: dict[str, int] = field(default_factory=dict)


class Stored(NamedTuple):
    """A key as it is stored. value: None if it is read again in portions when it is copied."""

    type: str
    digest: int
    expires_ms: int
    value: list[Any] | None

    def differs(self, other: Stored) -> bool:
        """Whether it has to be copied."""
        return (self.digest, self.expires_ms) != (other.digest, other.expires_ms)


SIZES: Final = {"hash": "HLEN", "zset": "ZCARD", "list": "LLEN", "set": "SCARD", "string": "STRLEN", "stream": "XLEN"}
SMALL_TEXT: Final = 16 * 1024
NO_KEY: Final = Stored("none", 0, -1, [])


class QueueCopy:
    """The copy of a queue, on a server with the same prefix.

    progress: called with the number of keys that were compared in this pass.
    at: called between two steps with the name of the first. Tests kill the process there.
    """

    def __init__(
        self,
        source: Adeq,
        target: Adeq,
        name: str,
        progress: Callable[[int], object] = lambda keys: None,
        at: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._source, self._target, self._name = source, target, name
        self._progress, self._at = progress, at

    def run(self, queue: Queue | PartitionedQueue) -> Copied:
        """Pause the queue and copy it. Raises AdeqError if tasks run, or if the copy would overwrite something."""
        if queue.stats().mode != "paused":
            queue.admin.pause()
        self._at("paused")
        parts = [queue.part(one.tag) for one in queue.partitions()] if isinstance(queue, PartitionedQueue) else [queue]
        for part in parts:
            while part.admin.reap(REAPED):  # claims do this, and nobody claims any more
                pass
        stats = queue.stats()
        if stats.running:
            raise AdeqError(
                f"queue {self._name} is paused, but {stats.running:,} of its tasks run, and would run on both servers; "
                "wait until they or their leases have ended, or stop their workers, then repeat the command"
            )
        home = self._source.queue(self._name).base
        bases = [home, *(part.base for part in parts if part.base != home)]
        done = Copied(
            tasks={name: getattr(stats, name) for name in ("ready", "delayed", "blocked", "finished", "dead")}
        )
        self._begin(bases)
        for _ in range(PASSES):
            before, settings = done.copied + done.deleted, self._settings(bases)
            self._pass(bases, done)
            done.passes += 1
            if done.copied + done.deleted == before and self._settings(bases) == settings:
                self._end(settings)
                done.equal = True
                break
        return done

    def _settings(self, bases: Sequence[str]) -> dict[str, dict[Any, Any]]:
        return {base: dict(self._source.client.hgetall(f"{base}:config")) for base in bases}

    def _send(self, base: str, step: Literal["begin", "write", "end"], *items: Sequence[Any], **given: Any) -> None:
        """Send a call of queue.copy. Raises AdeqError if the target has another queue of this name or uses the copy."""
        calls = replace(self._target.queue(self._name).calls, base=base)
        status = self._target.send(calls.copy(step, *items, **given))
        if status == "taken":
            raise AdeqError(
                f"--to: there is a queue {self._name!r}, and no copy was begun in the last 7 days; nothing was written"
            )
        if status == "in_use":
            raise AdeqError(
                f"--to: the copy of {self._name!r} is in use, so it is not overwritten; if producers were early, "
                "enqueue their tasks into the old queue"
            )
        if status == "closed":
            raise AdeqError(f"--to: somebody has ended or deleted the copy of {self._name!r}; repeat the command")

    def _begin(self, bases: Sequence[str]) -> None:
        for base, settings in self._settings(bases).items():
            place, fence = (int(settings.get(name, 0)) for name in (b"place", b"fence"))
            self._send(base, "begin", place=place, fence=fence, clock=settings.get(b"clock", b"server").decode())
            self._at("begun")

    def _end(self, settings: dict[str, dict[Any, Any]]) -> None:
        for base, fields in settings.items():
            self._send(base, "end", (), list(fields.items()))
            self._at("ended")

    def _pass(self, bases: Sequence[str], done: Copied) -> None:
        """Compare all keys once, and copy those that differ; `_end` writes the settings."""
        done.keys, total = 0, 0
        for base in bases:
            config = f"{base}:config".encode()
            for keys in self._keys(self._source, base):
                ours, theirs = stored(self._source.client, keys), stored(self._target.client, keys)
                changed = [
                    key for key, one in ours.items() if key != config and one.digest and one.differs(theirs[key])
                ]
                self._at("compared")
                self._write(base, {key: ours[key] for key in changed})
                done.copied += len(changed)
                total += sum(_sum(key, ours[key].digest.to_bytes(32)) for key in keys)
                done.keys += len(keys)
                self._progress(done.keys)
            for keys in self._keys(self._target, base):
                there = _each(self._source.client, [("EXISTS", key) for key in keys])
                gone = [key for key, exists in zip(keys, there, strict=True) if not exists and key != config]
                self._write(base, dict.fromkeys(gone, NO_KEY))
                done.deleted += len(gone)
        done.digest = f"{total % 2**128:032x}"

    def _keys(self, adeq: Adeq, base: str) -> Iterator[list[bytes]]:
        """The keys of a base, in portions."""
        start, skipped = len(base) + 1, tuple(one.encode() for one in SKIPPED)
        for primary in primaries(adeq.client):
            found = primary.client.scan_iter(f"{base}:*", PORTION)
            kept = (key for key in found if not key[start:].startswith(skipped))
            while portion := list(islice(kept, KEYS)):
                yield portion

    def _write(self, base: str, keys: Mapping[bytes, Stored]) -> None:
        """Write keys anew. If this is broken off, their digests differ, and the next run writes them again."""
        sent: list[list[Any]] = []
        entries: list[tuple[bytes, bytes]] = []
        size = 0

        def send() -> None:
            nonlocal size
            self._send(base, "write", sent, entries)
            self._at("written")
            sent.clear()
            entries.clear()
            size = 0

        for key, one in keys.items():
            head = [key[len(base) + 1 :], one.type]
            expires, at = max(one.expires_ms, 0), 0
            if len(sent) + len(entries) + 1 > MOST_ITEMS:
                send()
            sent.append([*head, at, expires, 0])
            for portion in portions(self._source.client, key, one.type) if one.value is None else [one.value]:
                for entry in portion:
                    words = written(one.type, entry)
                    if size > MOST_BYTES or len(sent) + len(entries) + len(words) > MOST_ITEMS:
                        send()
                        sent.append([*head, at, expires, 0])
                    entries += words
                    sent[-1][-1] += len(words)
                    size += sum(len(name) + len(value) for name, value in words)
                    at += 1
        if sent:
            send()


def stored(client: Any, keys: Sequence[bytes]) -> dict[bytes, Stored]:
    """Read keys in four round trips, and those that are large in portions."""
    types = [type.decode() for type in _each(client, [("TYPE", key) for key in keys])]
    there = [(key, type) for key, type in zip(keys, types, strict=True) if type != "none"]
    sizes = _each(client, [(SIZES[type], key) for key, type in there])
    expiries = _each(client, [("PEXPIRETIME", key) for key, _ in there])
    found = dict.fromkeys(keys, NO_KEY)
    small: list[tuple[bytes, str, int]] = []
    for (key, type), size, expires in zip(there, sizes, expiries, strict=True):
        if type != "stream" and size <= (SMALL_TEXT if type == "string" else PORTION):
            small.append((key, type, expires))
        else:
            found[key] = Stored(type, _digest(type, portions(client, key, type)), expires, None)
    with client.pipeline(transaction=False) as pipe:
        for key, type, _ in small:
            read(pipe, key, type)
        for (key, type, expires), answer in zip(small, pipe.execute(), strict=True):
            if answer:  # otherwise it has just expired
                value = entries(type, answer)
                found[key] = Stored(type, _digest(type, [value]), expires, value)
    return found


def read(client: Any, key: bytes, type: str) -> Any:
    """Read a whole key, which is small."""
    match type:
        case "hash":
            return client.hgetall(key)
        case "zset":
            return client.zrange(key, 0, -1, withscores=True)
        case "list":
            return client.lrange(key, 0, -1)
        case "set":
            return client.smembers(key)
        case _:
            return client.get(key)


def portions(client: Any, key: bytes, type: str) -> Iterator[list[Any]]:
    """Read a key of any size in portions of about 1,000 entries."""
    match type:
        case "hash" | "set":
            seen: set[bytes] = set()  # a scan may return an entry twice
            cursor = -1
            while cursor:
                scan = client.hscan if type == "hash" else client.sscan
                cursor, some = scan(key, max(cursor, 0), count=PORTION)
                fresh = [one for one in entries(type, some) if one[0] not in seen]
                seen.update(one[0] for one in fresh)
                yield fresh
        case "zset" | "list":
            first = 0
            while True:
                last = first + PORTION - 1
                some = (
                    client.lrange(key, first, last)
                    if type == "list"
                    else client.zrange(key, first, last, withscores=True)
                )
                if not some:
                    return
                yield entries(type, some)
                first += PORTION
        case "stream":
            after: Any = "-"
            while some := client.xrange(key, after, count=PORTION):
                yield [(id, fields) for id, fields in some]
                after = b"(" + some[-1][0]
            if last := client.xinfo_stream(key).get("last-generated-id"):
                yield [(last, {} if after == "-" else None)]  # {}: all entries have been trimmed
        case _:
            value = client.get(key)
            yield [] if value is None else [(value,)]


def entries(type: str, answer: Any) -> list[Any]:
    """The answer to a read as entries."""
    match type:
        case "hash":
            return list(answer.items())
        case "zset":
            return [(member, score) for member, score in answer]
        case "string":
            return [(answer,)]
        case _:
            return [(one,) for one in answer]


def written(type: str, entry: Any) -> list[tuple[bytes, bytes]]:
    """An entry as queue.copy takes it: of an event, its id and all its fields."""
    match type:
        case "hash":
            return [entry]
        case "zset":
            return [(entry[0], repr(entry[1]).encode())]
        case "stream":
            id, fields = entry
            return [(id, b"%d" % len(fields or ())), *(fields or {}).items()]
        case _:
            return [(entry[0], b"")]


def _each(client: Any, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
    with client.pipeline(transaction=False) as pipe:
        for command in commands:
            pipe.execute_command(*command)
        return list(pipe.execute())


def _digest(type: str, portions: Iterable[Sequence[Any]]) -> int:
    """The digest of all entries; of a hash or a set in any order. 0 only if there are none."""
    total, place = 0, 0
    for portion in portions:
        for entry in portion:
            total += _sum(type.encode(), repr(entry).encode(), b"" if type in ("hash", "set") else b"%d" % place)
            place += 1
    return total % 2**256


def _sum(*parts: bytes) -> int:
    return int.from_bytes(sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).digest())
