"""Copying a queue to another server: all its keys, with its partitions, key by key.

The values are read and written by commands of their types, and not by DUMP and RESTORE: an older server refuses the
dump of a newer one. A key whose digest is the same on both servers is left alone, so the copy goes on where an earlier
one ended, and the last pass, which finds nothing to copy, is the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from typing import Any, Final, NamedTuple

from pyadeq import Adeq, PartitionedQueue, Queue
from pyadeq.errors import AdeqError
from pyadeq.ext.installation import primaries

KEYS: Final = 500
"""How many keys are looked at in one round trip."""
PORTION: Final = 1000
"""How many entries of a key are read or written by one command."""
REAPED: Final = 100
"""How many expired leases are taken back by one call."""
PASSES: Final = 5
MARK_SECONDS: Final = 7 * 86_400
SKIPPED: Final = ("worker:", "workers", "wake:", "control:")
"""Workers register on the new server themselves. The others are hints for their connections."""


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
        self._mark = f"{target.prefix}:copy:{name}"

    def run(self, queue: Queue | PartitionedQueue) -> Copied:
        """Pause the queue and copy it. Raises AdeqError if tasks run, or if the copy would overwrite something."""
        if queue.stats().mode != "paused":
            queue.pause()
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
        for _ in range(PASSES):
            self._check(bases)
            before = done.copied + done.deleted
            self._pass(bases, done)
            done.passes += 1
            if done.copied + done.deleted == before:
                done.equal = True
                break
        return done

    def _check(self, bases: Sequence[str]) -> None:
        """The target has nothing of this name, or a copy that nobody has used."""
        configs = {base: self._config(self._target, base) for base in bases}
        if any(configs.values()) and not self._target.client.exists(self._mark):
            raise AdeqError(
                f"--to: there is a queue {self._name!r}, and no copy was begun in the last 7 days; nothing was written"
            )
        for base, theirs in configs.items():
            ours = self._config(self._source, base)
            used = any(int(theirs.get(name, 0)) > int(ours.get(name, 0)) for name in (b"place", b"fence"))
            if theirs and (used or theirs.get(b"mode") != b"paused"):
                raise AdeqError(
                    f"--to: the copy of {self._name!r} is in use, so it is not overwritten; if producers were early, "
                    "run `adeq doctor --repair` there, and enqueue their tasks into the old queue"
                )
        self._target.client.set(self._mark, b"1", ex=MARK_SECONDS)
        self._at("noted")
        for base, theirs in configs.items():
            # Before all else, so that no program of the new server gets a task. And not in the middle: a producer that
            # is too early is seen by its place.
            if (ours := self._config(self._source, base)) and ours != theirs:
                self._target.client.hset(f"{base}:config", mapping=ours)
                self._at("settings written")
                if gone := theirs.keys() - ours.keys():
                    self._target.client.hdel(f"{base}:config", *gone)

    def _config(self, adeq: Adeq, base: str) -> dict[Any, Any]:
        found: dict[Any, Any] = adeq.client.hgetall(f"{base}:config")
        return found

    def _pass(self, bases: Sequence[str], done: Copied) -> None:
        """Compare all keys once, and copy those that differ."""
        done.keys, total = 0, 0
        configs = {f"{base}:config".encode() for base in bases}  # `_check` writes these
        for keys in self._keys(self._source, bases):
            ours, theirs = stored(self._source.client, keys), stored(self._target.client, keys)
            changed = [one for one in keys if ours[one].digest and ours[one].differs(theirs[one])]
            self._at("compared")
            self._write({key: ours[key] for key in changed if key not in configs})
            done.copied += len(changed)
            total += sum(_sum(key, ours[key].digest.to_bytes(32)) for key in keys)
            done.keys += len(keys)
            self._progress(done.keys)
        self._check(bases)
        for keys in self._keys(self._target, bases):
            with self._source.client.pipeline(transaction=False) as pipe:
                for key in keys:
                    pipe.exists(key)
                gone = [key for key, exists in zip(keys, pipe.execute(), strict=True) if not exists]
            for key in gone:
                self._target.client.unlink(key)
                self._at("key deleted")
            done.deleted += len(gone)
        done.digest = f"{total % 2**128:032x}"

    def _keys(self, adeq: Adeq, bases: Sequence[str]) -> Iterator[list[bytes]]:
        """The keys of all bases, in portions."""
        for base in bases:
            start = len(base) + 1
            for primary in primaries(adeq.client):
                found = primary.client.scan_iter(f"{base}:*", PORTION)
                kept = (key for key in found if not key[start:].startswith(tuple(one.encode() for one in SKIPPED)))
                while portion := list(islice(kept, KEYS)):
                    yield portion

    def _write(self, keys: dict[bytes, Stored]) -> None:
        """Write keys anew. If this is broken off, their digests differ, and the next run writes them again."""
        with self._target.client.pipeline(transaction=False) as pipe:
            for key, one in keys.items():
                if one.value is not None:
                    pipe.unlink(key)
                    write(pipe, key, one.type, one.value)
                    expire(pipe, key, one)
            pipe.execute()
        self._at("small keys written")
        for key, one in keys.items():
            if one.value is None:
                self._target.client.unlink(key)
                self._at("large key deleted")
                for portion in portions(self._source.client, key, one.type):
                    with self._target.client.pipeline(transaction=False) as pipe:
                        write(pipe, key, one.type, portion)
                        expire(pipe, key, one)
                        pipe.execute()
                    self._at("portion written")


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


def write(client: Any, key: bytes, type: str, portion: Sequence[Any]) -> None:
    """Add entries to a key. client: or a pipeline."""
    if not portion:
        return
    match type:
        case "hash":
            client.hset(key, mapping=dict(portion))
        case "zset":
            client.zadd(key, dict(portion))
        case "list":
            client.rpush(key, *(one for (one,) in portion))
        case "set":
            client.sadd(key, *(one for (one,) in portion))
        case "stream":
            for id, fields in portion:
                if fields is None:
                    client.execute_command("XSETID", key, id)
                else:
                    client.xadd(key, fields or {b"-": b"-"}, id=id)
                if fields == {}:
                    client.xdel(key, id)
        case _:
            client.set(key, portion[0][0])


def expire(client: Any, key: bytes, one: Stored) -> None:
    """Let the key live as long as the other."""
    if one.expires_ms > 0:
        client.pexpireat(key, one.expires_ms)


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
