"""Messages on the old server that were taken out of their lists. It keeps them until `cleanup`.

Each list of messages (a place) has a hash of messages by their number and a string of their states, one letter each.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from redis import Redis
from redis.exceptions import ResponseError

from pyadeq.errors import AdeqError
from pyadeq.ext.move.migrate.source import Place
from pyadeq.ext.move.migrate.waiting import first_waiting
from pyadeq.ids import new_ulid

T = TypeVar("T")
MOST: Final = 100
"""Messages that one script call handles, at most."""
BYTES: Final = 256 * 1024
"""If the messages of a call have more, no further one is added: a call must not block the server."""

MARGIN_MS: Final = 60_000
"""Milliseconds by which clocks may differ, or for which a call may last."""
PASSED: Final = 2
"""What `take` answers if it has only passed entries that stay where they are."""

OVERTAKEN: Final = "another command of this migration has begun since; this one wrote nothing more"
OLDER: Final = "the old server has lost data since this command began; repeat it"


class State(StrEnum):
    """The state of a message in the escrow."""

    taken = "t"
    """The message is only in the escrow. The next command moves it."""
    written = "w"
    """A producer has put it here, and enqueues it. If the producer was killed, the next command enqueues it."""
    moved = "m"
    """The task of the message is in pyadeq."""
    again = "d"
    """The old system had delivered it again. Its task is in pyadeq by an earlier message."""
    held = "h"
    """The message cannot be moved. It goes back to its list at the end of the command."""
    kept = "k"
    """The message cannot be moved and is in its list. The escrow has only its digest."""
    gone = "g"
    """An old worker has taken the kept message. Or a producer has put it here, and pyadeq has refused it."""
    unsure = "u"
    """The task may have been moved and have ended, longer ago than pyadeq remembers. Or a server has lost it."""
    rollback = "r"
    """The task had not begun when the rollback came to it. It is cancelled, or is about to be."""
    back = "b"
    """The rollback has put it back into its list."""
    done = "o"
    """The rollback has left it in pyadeq, because its task had begun there. Or it was unsure and counts as done."""


IN_ESCROW: Final = frozenset({State.taken, State.written, State.held, State.rollback, State.unsure})
"""States of messages that are only in the escrow: a cleanup would lose them."""
IN_PROGRESS: Final = IN_ESCROW - {State.unsure}


class Written(NamedTuple):
    """What `Escrow.write` did. phase, run: of the migration. number: of the message in the escrow, or -1."""

    phase: str
    run: str
    number: int


class Escrow:
    """The messages of one source. name: of the source. Keys begin with `adeq:migrate:{<name>}`."""

    def __init__(self, client: Redis, name: str) -> None:
        self._client = client
        self.base = f"adeq:migrate:{{{name}}}"
        self._about = f"{self.base}:about"
        self._places = f"{self.base}:places"
        self._fence = b""

    def about(self) -> dict[str, str]:
        """Return what is known of the migration: {} if there is none."""
        found: Any = self._client.hgetall(self._about)
        return {name.decode(): value.decode() for name, value in found.items()}

    def places(self) -> dict[Place, str]:
        """Return the places from which messages were taken, each with its queue in pyadeq."""
        found: Any = self._client.hgetall(self._places)
        rows = sorted((key.decode(), json.loads(value)) for key, value in found.items())
        return {Place(key, **row["place"]): row["to"] for key, row in rows}

    def begin(self, to: str) -> dict[str, str]:
        """Begin a command: all that were begun before can write nothing more. Returns what is known of the migration.

        to: where tasks go. Raises AdeqError if a migration to another place has begun.
        """
        self._client.hsetnx(self._about, "to", to)
        if (known := self.about())["to"] != to:
            raise AdeqError(
                f"this migration moves tasks to {known['to']}, not to {to}; name the same --url and --prefix, or end "
                "it there with rollback and cleanup"
            )
        if self._client.hsetnx(self._about, "run", new_ulid().lower()[-10:]):
            self._client.hset(self._about, "begun_ms", self._now_ms())
        self._fence = new_ulid().encode()  # a number would begin anew after a cleanup, and come twice
        self._client.hset(self._about, "fence", self._fence)
        return self.about()

    def begin_run(self) -> dict[str, str]:
        """Begin a new run after a rollback: tasks are moved anew."""
        self.note(run=new_ulid().lower()[-10:], phase="")
        self.note(begun_ms=str(self._now_ms()), idempotency="inf")
        return self.about()

    def note(self, **fields: str) -> None:
        """Remember one or two facts about the migration."""
        self._call("note", [], *(one for pair in fields.items() for one in pair))

    def add_place(self, place: Place, queue: str) -> None:
        """Remember a place. Raises AdeqError if its tasks go to another queue already."""
        self._client.hsetnx(self._places, place.key, _entry(place, queue))
        entry: Any = self._client.hget(self._places, place.key)
        if (known := json.loads(entry)["to"]) != queue:
            raise _goes_elsewhere(place, known, queue)

    def states(self, place: Place, first: int = 0, last: int = -1) -> str:
        """Return the state of each message of a place, one letter each. first, last: only of these."""
        found: Any = self._client.getrange(self._key(place, "states"), first, last)
        if len(found) <= last - first:
            raise AdeqError(OLDER if self.is_last() else OVERTAKEN)
        return str(found.decode())

    def read(self, place: Place, numbers: Sequence[int]) -> list[bytes]:
        """Return messages by their numbers, at most MOST."""
        return [one or b"" for one in self._fields(place, [str(one) for one in numbers])]

    def take(self, place: Place, known: int) -> tuple[list[bytes], bool]:
        """Take messages out of their list; [] if none is left. known: how many messages of it the caller knows.

        The second value says whether this call has taken them: False if they were in the escrow already.
        """
        keys = [*self._keys(place), place.guard or place.key]
        while True:
            fresh, *found = self._call("take", keys, place.kind, known, MOST, BYTES)
            if fresh != PASSED:
                return found, bool(fresh)

    def write(
        self,
        places: Sequence[Place],
        to: str,
        message: bytes,
        key: str,
        call_id: str,
        record: str,
        fields: Mapping[str, Any],
    ) -> Written:
        """Write a message as the producers of the old system do, or into the escrow after a cutover.

        places: all get the message; the escrow is that of the first one. key: as in `sent`. call_id: of repeated calls.
        record: the key of a hash that gets these fields.

        Raises AdeqError if the tasks of the first place go to another queue already.
        """
        first, *others = places
        keys = [self._about, *self._keys(first), f"{self.base}:wrote:{call_id}", self._places, record or first.key]
        values = [one for pair in fields.items() for one in pair]
        arguments = [message, _entry(first, to), key, *(place.kind for place in places), *values]
        script = self._client.register_script(source_of("ends", "write"))
        try:
            phase, run, number = script([*keys, *(place.key for place in others)], arguments)
        except ResponseError as error:
            if str(error).startswith("OTHER "):
                raise _goes_elsewhere(first, self.places()[first], to) from None
            raise
        return Written(phase.decode(), run.decode(), number)

    def mark_written(self, place: Place, number: int, state: State, run: str) -> bytes:
        """Note that a producer has enqueued its message, or that pyadeq has refused it. Returns the state before.

        If that is not `written`, a command of the migration has come first, and nothing is changed. b"" if another run
        has begun since.
        """
        before: Any = self._client.register_script(source_of("written"))(
            [self._about, self._key(place, "states")], [number, state.value, run]
        )
        return bytes(before)

    def sent(self, place: Place, keys: Mapping[int, str]) -> None:
        """Note the keys of tasks, by the numbers of their messages, before they are enqueued. At most MOST."""
        self._call("sent", self._keys(place)[:1], *(one for pair in keys.items() for one in pair))

    def keys_of(self, place: Place, numbers: Sequence[int]) -> dict[int, str]:
        """Return the keys of those of these messages whose tasks were enqueued, or were about to be. At most MOST."""
        found = self._fields(place, [f"{one} key" for one in numbers])
        return {number: key.decode() for number, key in zip(numbers, found, strict=True) if key is not None}

    def written_ms(self, place: Place, numbers: Sequence[int]) -> list[int]:
        """Return when producers have written these messages, by the clock of the old server. At most MOST."""
        return [int(one or 0) for one in self._fields(place, [f"{number} ms" for number in numbers])]

    def mark(self, place: Place, states: Mapping[int, State]) -> None:
        """Write the states of messages. The states between them stay the same: no other command writes any."""
        first, last = min(states), max(states)
        if len(states) <= last - first:
            now = self.states(place, first, last)
            states = {n: states.get(n, State(now[n - first])) for n in range(first, last + 1)}
        self._mark(place, first, "".join(states[number] for number in range(first, last + 1)))

    def _mark(self, place: Place, first: int, states: str) -> None:
        self._call("mark", [self._key(place, "states")], first, states)

    def give_back(self, place: Place, numbers: Sequence[int], state: State) -> None:
        """Put messages that are held, or in a rollback, back where workers take them. numbers: rising."""
        keys = self._keys(place)
        order = [*numbers] if place.kind == "stream" else [*reversed(numbers)]
        while order:
            done = self._call("give", keys, place.kind, state.value, BYTES, *order[:MOST])
            order = order[done:]

    def kept(self, place: Place) -> dict[str, int]:
        """Return the digests of messages that are in their list again, each with its number. {}: of a sorted set."""
        found: dict[str, int] = {}
        for numbers in batches(self._kept(place) if place.lists or place.kind == "stream" else []):
            found |= {one.decode(): number for number, one in zip(numbers, self.read(place, numbers), strict=True)}
        return found

    def forget(self, place: Place, numbers: Sequence[int]) -> None:
        """Note that kept messages have been taken again, by another number. At most MOST."""
        self._call("forget", self._keys(place)[:2], *numbers)

    def recall(self, place: Place, state: State) -> None:
        """Take the kept messages of a place out of its list again, as far as they are the next ones there."""
        kept = self._kept(place)
        keys = [*self._keys(place), place.guard or place.key]
        while kept:
            done = self._call("recall", keys, place.kind, state.value, BYTES, *kept[:MOST])
            kept = kept[done:] if done >= 0 else self._kept_from_top(place)

    def _kept(self, place: Place) -> list[int]:
        return [number for number, state in enumerate(self.states(place)) if state == State.kept]

    def _kept_from_top(self, place: Place) -> list[int]:
        """Return the kept messages from the first one of the list on; [] if that is none of them.

        Workers have taken those before it, and all of them if the list is empty. They are marked so.
        """
        if not (kept := self._kept(place)):
            return []  # the call has taken them, and was sent again because its reply was lost
        top = first_waiting(self._client, place)
        if top is None:
            states = self.states(place)[kept[0] : kept[-1] + 1]
            self._mark(place, kept[0], states.replace(State.kept, State.gone))
            return []
        digest = hashlib.sha1(top, usedforsecurity=False).hexdigest().encode()
        for done, numbers in enumerate(batches(kept)):
            if digest in (found := self.read(place, numbers)):
                at = done * MOST + found.index(digest)
                if at:
                    states = self.states(place)[: kept[at]].replace(State.kept, State.gone)
                    self._mark(place, 0, states)
                return kept[at:]
        return []

    def taken_ms(self, place: Place) -> int:
        """Return when messages of a place were last taken, by the clock of the old server. 0: never."""
        found: Any = self._client.hget(self._about, f"taken_ms:{place.key}")
        return int(found or 0)

    def is_last(self) -> bool:
        """Whether no other command has begun since."""
        return self._client.hget(self._about, "fence") == self._fence

    def note_idempotency(self, seconds: float) -> None:
        """Note the time for which pyadeq remembers keys, if it is the shortest of this run."""
        known = self.about().get("idempotency")
        if known is None or float(known) > seconds:
            self.note(idempotency=str(seconds))

    def has_forgotten(self, seconds: float) -> bool:
        """Whether keys of this run may have expired. seconds: how long pyadeq remembers keys now."""
        about = self.about()
        return self.has_passed(int(about.get("begun_ms") or 0), min(seconds, float(about.get("idempotency") or 0)))

    def has_passed(self, since_ms: int, seconds: float) -> bool:
        """Whether this time has passed since then, less a margin, by the clock of the old server."""
        return self._now_ms() - since_ms > seconds * 1000 - MARGIN_MS

    def _now_ms(self) -> int:
        now: Any = self._client.time()
        return int(now[0]) * 1000

    def delete(self, *, keep_phase: bool = False) -> None:
        """Delete everything, the list of what there is last. keep_phase: producers still need to know it."""
        for place in self.places():
            self._call("drop", self._keys(place)[:2], f"taken_ms:{place.key}", f"passed:{place.key}")
        self._call("drop", [self._places])
        if not keep_phase:
            self._call("drop", [self._about])

    def _fields(self, place: Place, names: Sequence[str]) -> list[bytes | None]:
        if not names:
            return []
        found: Any = self._client.hmget(self._key(place, "messages"), list(names))
        return list(found)

    def _keys(self, place: Place) -> list[str]:
        return [self._key(place, "messages"), self._key(place, "states"), place.key]

    def _key(self, place: Place, what: str) -> str:
        return f"{self.base}:{place.key}:{what}"

    def _call(self, script: str, keys: Sequence[str], *arguments: Any) -> Any:
        try:
            found = self._client.register_script(source_of("fence", "ends", script))
            return found([self._about, *keys], [self._fence, *arguments])
        except ResponseError as error:
            if "OVERTAKEN" in str(error):
                raise AdeqError(OVERTAKEN) from None
            if "OLDER" in str(error):
                raise AdeqError(OLDER) from None
            raise


def _entry(place: Place, queue: str) -> str:
    about = {name: value for name, value in place._asdict().items() if name != "key"}
    return json.dumps({"to": queue, "place": about})


def _goes_elsewhere(place: Place, known: str, queue: str) -> AdeqError:
    return AdeqError(f"queue {place.queue!r}: its tasks go to {known!r} already, not to {queue!r}")


@cache
def source_of(*names: str) -> str:
    """Return the text of a script that is put together from these files of `lua`."""
    folder = Path(__file__).parent / "lua"
    return "".join((folder / f"{one}.lua").read_text(encoding="utf-8") for one in names)


def numbers_of(states: str, *wanted: State) -> list[int]:
    """Return the numbers of the messages in these states."""
    return [number for number, state in enumerate(states) if state in wanted]


def batches(items: Sequence[T], most: int = MOST) -> Iterator[list[T]]:
    """Yield items in parts that one call may handle."""
    rest = iter(items)
    while some := list(islice(rest, min(most, MOST))):
        yield some
