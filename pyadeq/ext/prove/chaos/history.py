"""The history of a queue, a lock domain and other nouns: the calls and answers of clients, and the server's records.

Times of clients are seconds of the recorder's clock. Times of the server are milliseconds of its own clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import redis
import redis.asyncio

from pyadeq import asyncio as aio

Outcome = Literal["ok", "refused", "unknown"]
MarkKind = Literal["restart", "power_cut", "failover", "clock_back"]
Client = redis.Redis | redis.RedisCluster
AioClient = redis.asyncio.Redis | redis.asyncio.RedisCluster
PAGE = 1000
OVERDUE = "overdue"


@dataclass(slots=True)
class Op:
    """A call of a client, and how it ended.

    asked, answer: as the verb's method of the Recorder says.
    ended: None while there is no answer.
    outcome: `ok`: the server did it; `refused`: the server or the client refused, and nothing was changed; `unknown`:
    no answer came, and it may have been done.
    durability: where the answer was confirmed.
    """

    client: str
    verb: str
    asked: dict[str, Any]
    began: float
    ended: float | None = None
    outcome: Outcome = "unknown"
    answer: dict[str, Any] = field(default_factory=dict)
    durability: str = "memory"

    @property
    def may_be_done(self) -> bool:
        """Whether the server may have done it, or may do it later.

        A server that is full or read-only refuses a call. But the network may deliver the call twice, and the second
        one later. What the client or the script refuses is not done.
        """
        return self.outcome != "refused" or "error" not in self.answer


@dataclass(frozen=True, slots=True)
class Mark:
    """An event after which the server may know less than before, or reads another time.

    at: when it was over, and the server answered again; it may have affected everything that began before.
    since: when it began at the earliest; what was answered before was answered by a server that had lost nothing yet.
    None: not known.
    """

    at: float
    kind: MarkKind
    note: str = ""
    since: float | None = None


class Recorded(Protocol):
    """What clients recorded."""

    @property
    def ops(self) -> list[Op]:
        """The calls of the clients."""

    @property
    def marks(self) -> list[Mark]:
        """The events of the server."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of an event stream.

    position: its id there.
    ms: the server's time.
    words: of its payload, by name.
    """

    position: str
    event: str
    ms: int
    ids: tuple[str, ...]
    words: dict[str, str]
    source: str = ""


@dataclass(slots=True)
class Records:
    """The records of the server about one object of a noun, such as a change domain.

    entries: its stream, from the beginning, or as far as it is kept. trimmed: how many entries are gone.
    final: what is stored at the end, in the form that the rules of the noun read.
    """

    entries: list[Entry] = field(default_factory=list)
    trimmed: int = 0
    final: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class History:
    """A whole history, to be judged.

    entries, lock_entries: the streams of the queue and of the lock domain, from their beginnings, or as far as they are
    kept.
    trimmed, lock_trimmed: how many entries are gone; None if unknown.
    final: the final state of tasks by id; None if the task is gone, `overdue` if it is delayed and its time is over.
    settings: of the queue, those that rules depend on.
    nouns: the records of other nouns, by the word of the noun.
    problems: why the history is not complete.
    """

    ops: list[Op] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    lock_entries: list[Entry] = field(default_factory=list)
    final: dict[str, str | None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    trimmed: int | None = None
    lock_trimmed: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    nouns: dict[str, Records] = field(default_factory=dict)

    @classmethod
    def unread(cls, recorded: Recorded, problem: str) -> History:
        """What clients recorded, where the server could not be read in the end: no rule is convicted for that."""
        return cls(recorded.ops, recorded.marks, problems=[problem], trimmed=1, lock_trimmed=1)

    def save(self, path: Path | str) -> None:
        """Write it as JSON lines, each with its kind."""
        with Path(path).open("w") as file:
            for line in self._lines():
                file.write(json.dumps(line, separators=(",", ":"), default=str) + "\n")

    def _lines(self) -> Iterator[dict[str, Any]]:
        yield {
            "kind": "history",
            "problems": self.problems,
            "trimmed": self.trimmed,
            "lock_trimmed": self.lock_trimmed,
            "settings": self.settings,
        }
        for kind, rows in (
            ("op", self.ops),
            ("mark", self.marks),
            ("entry", self.entries),
            ("lock_entry", self.lock_entries),
        ):
            for row in cast(list[Any], rows):
                yield {"kind": kind, "of": asdict(row)}
        for id, state in self.final.items():
            yield {"kind": "final", "of": [id, state]}
        for word, records in self.nouns.items():
            yield {"kind": "noun", "of": [word, {"trimmed": records.trimmed, "final": records.final}]}
            for entry in records.entries:
                yield {"kind": "noun_entry", "of": [word, asdict(entry)]}

    @classmethod
    def load(cls, path: Path | str) -> History:
        """Read what `save` wrote. ValueError if it is something else."""
        history = cls()
        with Path(path).open() as file:
            for text in file:
                history._add(json.loads(text))
        return history

    def _add(self, line: dict[str, Any]) -> None:
        match line["kind"]:
            case "history":
                for name in ("problems", "trimmed", "lock_trimmed", "settings"):
                    setattr(self, name, line[name])
            case "op":
                self.ops.append(Op(**line["of"]))
            case "mark":
                self.marks.append(Mark(**line["of"]))
            case "entry":
                self.entries.append(_entry(line["of"]))
            case "lock_entry":
                self.lock_entries.append(_entry(line["of"]))
            case "final":
                id, state = line["of"]
                self.final[id] = state
            case "noun":
                word, row = line["of"]
                self.nouns[word] = Records(**row)
            case "noun_entry":
                word, row = line["of"]
                self.nouns[word].entries.append(_entry(row))
            case kind:
                raise ValueError(f"{kind!r} is no line of a history")


def _entry(row: dict[str, Any]) -> Entry:
    return Entry(**{**row, "ids": tuple(row["ids"])})


# What the server wrote down


def read_entries(client: Client, base: str) -> list[Entry]:
    """Read the event stream of a queue or lock domain, from its beginning."""
    entries: list[Entry] = []
    start = "-"
    while page := cast(list[Any], client.xrange(f"{base}:events", start, count=PAGE)):
        entries += map(parse_entry, page)
        start = f"({entries[-1].position}"
    return entries


async def aio_read_entries(client: AioClient, base: str) -> list[Entry]:
    """Read the event stream as `read_entries` does, as a coroutine."""
    entries: list[Entry] = []
    start = "-"
    while page := await client.xrange(f"{base}:events", start, count=PAGE):
        entries += map(parse_entry, page)
        start = f"({entries[-1].position}"
    return entries


def parse_entry(row: Any) -> Entry:
    """An entry as XRANGE answers it."""
    position, fields = row
    found = {_text(name): _text(value) for name, value in fields.items()}
    return Entry(
        _text(position),
        found["event"],
        int(found["timestamp"]),
        tuple(found["id"].split(" ")),
        _words(found.get("payload", "")),
        found.get("source", ""),
    )


def _words(payload: str) -> dict[str, str]:
    """The `name=value` pairs of a payload; what has no name belongs to the value before it."""
    words: dict[str, str] = {}
    last = ""
    for word in payload.split(" "):
        name, equals, value = word.partition("=")
        if last == "cycle" or (last and not equals):
            words[last] += f" {word}"
        elif equals:
            last = name
            words[name] = value
    return words


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")


async def gather(
    recorded: Recorded,
    client: AioClient,
    queue: aio.Queue | None = None,
    locks: aio.Locks | None = None,
) -> History:
    """Collect what clients recorded, and the present records of the server.

    recorded: a Recorder, or the result of `load_recorded`.
    client: of the server that has the streams.
    """
    ops = sorted(recorded.ops, key=lambda op: op.began)
    history = History(ops, sorted(recorded.marks, key=lambda mark: mark.at))
    if queue is not None:
        history.entries = await aio_read_entries(client, queue.base)
        history.trimmed = await count_trimmed(client, queue.base, history, "queue")
        settings = await queue.configure()
        history.settings = {"fair": settings.fair, "idempotency": settings.idempotency, "lease": settings.lease}
        history.final = await read_final(queue, _mentioned(history))
    if locks is not None:
        history.lock_entries = await aio_read_entries(client, locks.base)
        history.lock_trimmed = await count_trimmed(client, locks.base, history, "lock domain")
    return history


async def read_final(queue: aio.Queue, ids: Iterable[str]) -> dict[str, str | None]:
    """Return the states of these tasks now, in the form of `History.final`."""
    asked = list(ids)
    views = await queue.get_many(asked) if asked else []
    now = (await queue.stats()).now
    final: dict[str, str | None] = {}
    for id, view in zip(asked, views, strict=True):
        late = view is not None and view.state == "delayed" and view.due is not None and view.due <= now
        final[id] = None if view is None else OVERDUE if late else view.state
    return final


def _mentioned(history: History) -> list[str]:
    """All tasks that the stream or an answer names."""
    ids: dict[str, None] = {}
    for entry in history.entries:
        if entry.event == "task.enqueued":
            ids |= dict.fromkeys(entry.ids)
    for op in history.ops:
        ids |= {id: None for status, id in op.answer.get("receipts", ()) if status == "created"}
    return list(ids)


async def count_trimmed(client: AioClient, base: str, history: History, what: str) -> int:
    """How many entries of a stream are gone; what that means for the history is noted there."""
    if not await client.exists(f"{base}:events"):
        return 0
    about = await client.xinfo_stream(f"{base}:events")
    gone = int(about["entries-added"]) - int(about["length"])
    if gone:
        history.problems.append(
            f"the stream of the {what} begins late: {gone} entries were trimmed; set events_max to a higher number"
        )
    return gone
