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
from typing import Any, Final

from redis import Redis
from redis.exceptions import ResponseError

from pyadeq.errors import AdeqError
from pyadeq.ext.migrate.source import Place
from pyadeq.ids import new_ulid

MOST: Final = 200
"""Messages that one script call handles."""
BYTES: Final = 256 * 1024
"""If the messages of a call have more, no further one is added: a call must not block the server."""


class State(StrEnum):
    """Of a message in the escrow."""

    taken = "t"
    """It is only here. The next command moves it."""
    moved = "m"
    """Its task is in pyadeq."""
    again = "d"
    """The old system had delivered it again. Its task is in pyadeq by an earlier message."""
    held = "h"
    """It cannot be moved. It goes back to its list at the end of the command."""
    kept = "k"
    """It cannot be moved and is in its list. Here is only its digest."""
    gone = "g"
    """It was kept, and an old worker has taken it since."""
    unsure = "u"
    """Its task may have been moved and have ended, longer ago than pyadeq remembers."""
    rollback = "r"
    """Its task had not begun when the rollback came to it. It is cancelled, or is about to be."""
    back = "b"
    """The rollback has put it back into its list."""
    done = "o"
    """The rollback has left it in pyadeq, because its task had begun there."""


IN_ESCROW: Final = frozenset({State.taken, State.held, State.rollback, State.unsure})
"""States of messages that are only in the escrow: a cleanup would lose them."""


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
        self._client.hsetnx(self._about, "run", new_ulid().lower()[-10:])
        self._fence = str(self._client.hincrby(self._about, "fence", 1)).encode()
        return self.about()

    def begin_run(self) -> dict[str, str]:
        """After a rollback: tasks are moved anew."""
        self.note(run=new_ulid().lower()[-10:], phase="")
        return self.about()

    def note(self, **fields: str) -> None:
        """Remember facts about the migration."""
        self._client.hset(self._about, mapping=fields)  # type: ignore[arg-type]

    def add_place(self, place: Place, queue: str) -> None:
        """Remember a place. Raises AdeqError if its tasks go to another queue already."""
        about = {name: value for name, value in place._asdict().items() if name != "key"}
        self._client.hsetnx(self._places, place.key, json.dumps({"to": queue, "place": about}))
        known = {one.key: new for one, new in self.places().items()}[place.key]
        if known != queue:
            raise AdeqError(f"queue {place.queue!r}: its tasks go to {known!r} already, not to {queue!r}")

    def states(self, place: Place) -> str:
        """Return the state of each message of a place, one letter each."""
        found: Any = self._client.get(self._key(place, "states"))
        return (found or b"").decode()

    def read(self, place: Place, numbers: Sequence[int]) -> list[bytes]:
        """Return messages by their numbers, at most MOST."""
        found: Any = self._client.hmget(self._key(place, "messages"), [str(one) for one in numbers])
        return [one or b"" for one in found]

    def take(self, place: Place, known: int) -> list[bytes]:
        """Take messages out of their list; [] if none is left. known: how many messages of it the caller knows."""
        keys = [*self._keys(place), place.guard or place.key]
        found: list[bytes] = self._call("take", keys, place.kind, known, MOST, BYTES)
        return found

    def mark(self, place: Place, states: Mapping[int, State]) -> None:
        """Write the states of messages. The states between them stay the same: no other command writes any."""
        first, last = min(states), max(states)
        if len(states) <= last - first:
            now = self.states(place)
            states = {number: states.get(number, State(now[number])) for number in range(first, last + 1)}
        self._mark(place, first, "".join(states[number] for number in range(first, last + 1)))

    def _mark(self, place: Place, first: int, states: str) -> None:
        self._call("mark", [self._key(place, "states")], first, states)

    def give_back(self, place: Place, numbers: Sequence[int], state: State) -> None:
        """Put messages that are held, or in a rollback, back where workers take them. numbers: rising."""
        keys = self._keys(place)
        falling = [*reversed(numbers)]
        while falling:
            done = self._call("give", keys, place.kind, state.value, BYTES, *falling[:MOST])
            falling = falling[done:]

    def recall(self, place: Place, state: State) -> None:
        """Take the kept messages of a place out of its list again, as far as they are the next ones there."""
        kept = self._kept(place)
        keys = self._keys(place)
        while kept:
            done = self._call("recall", keys, place.kind, state.value, BYTES, *kept[:MOST])
            kept = kept[done:] if done >= 0 else self._kept_from_top(place)

    def _kept(self, place: Place) -> list[int]:
        return [number for number, state in enumerate(self.states(place)) if state == State.kept]

    def _kept_from_top(self, place: Place) -> list[int]:
        """Return the kept messages from the first one of the list on; [] if that is none of them.

        Workers have taken those before it, which are marked so.
        """
        top: Any = self._client.lindex(place.key, -1 if place.kind == "right" else 0)
        if top is None:
            return []
        digest = hashlib.sha1(top, usedforsecurity=False).hexdigest().encode()
        kept = self._kept(place)
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

    def delete(self) -> None:
        """Delete everything, the list of what there is last."""
        for place in self.places():
            self._client.unlink(self._key(place, "messages"), self._key(place, "states"))
        self._client.unlink(self._places, self._about)

    def _keys(self, place: Place) -> list[str]:
        return [self._key(place, "messages"), self._key(place, "states"), place.key]

    def _key(self, place: Place, what: str) -> str:
        return f"{self.base}:{place.key}:{what}"

    def _call(self, script: str, keys: Sequence[str], *arguments: Any) -> Any:
        try:
            return self._client.register_script(_source(script))([self._about, *keys], [self._fence, *arguments])
        except ResponseError as error:
            if "OVERTAKEN" in str(error):
                raise AdeqError(
                    "another command of this migration has begun since; this one wrote nothing more"
                ) from None
            raise


@cache
def _source(name: str) -> str:
    folder = Path(__file__).parent / "lua"
    return "".join((folder / f"{one}.lua").read_text(encoding="utf-8") for one in ("fence", "ends", name))


def numbers_of(states: str, *wanted: State) -> list[int]:
    """Return the numbers of the messages in these states."""
    return [number for number, state in enumerate(states) if state in wanted]


def batches(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Yield numbers in parts that one call may handle."""
    rest = iter(numbers)
    while some := list(islice(rest, MOST)):
        yield some
