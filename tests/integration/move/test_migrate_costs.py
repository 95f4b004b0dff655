"""The scripts of migrations send no more commands than their COST says, also at their largest calls."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from redis import Redis

import pyadeq.ext.move.migrate as package
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.move.migrate.escrow import source_of

pytestmark = pytest.mark.any_engine

FOLDER: Final = Path(package.__file__).parent / "lua"
COST: Final = re.compile(r"^-- COST +(.*(?:\n-- {5,}.*)*)", re.MULTILINE)
MOST: Final = 200
"""Messages of one call."""
HASHES: Final = 100
"""Hashes that one call reads, or messages that it notes."""
PASSED: Final = 99
"""Entries of a stream that one call passes, and still takes others: ends.lua."""
WIDE: Final[dict[Any, Any]] = {f"f{number}": "" for number in range(501)}
"""An entry with too many fields to be taken."""
ABOUT, MESSAGES, STATES = "about", "messages", "states"
GUARD: Final = "workers:active"
"""The hash of workers: a script reads more of it than of a key of another type."""
PLACES: Final = {"wait": "bull:work:wait", "prioritized": "bull:work:prioritized", "delayed": "bull:work:delayed"}
"""Of BullMQ. Places of other kinds are called `place`."""
GUARDED: Final = ("times", "ms")
SETS: Final = (*GUARDED, "prioritized", "delayed")
LATER: Final = (int(time.time()) + 100_000) * 1000
FULL: Final = 1 << 28
"""Bytes that no call reaches."""


@dataclass(frozen=True)
class Case:
    """A call. about: which part of COST is about it, "": the first one; None: only `at most`. passed: entries."""

    script: str
    kind: str = ""
    about: str | None = None
    passed: int = 0


CASES: Final = (
    *(Case(script) for script in ("drop", "forget", "mark", "note", "rows", "sent", "written")),
    *(Case("lock", kind) for kind in ("exclusive", "shared", "renew")),
    *(Case("write", kind) for kind in ("left", "ms", "cutover")),
    *(Case("take", kind, "") for kind in ("right", "left")),
    *(Case("take", kind, "for a sorted set") for kind in ("times", "ms")),
    *(Case("take", kind, "for BullMQ") for kind in PLACES),
    Case("take", "stream", "for a stream", PASSED),
    *(Case("give", kind, "") for kind in ("right", "times", "stream")),
    *(Case("give", kind, "for BullMQ") for kind in PLACES),
    *(Case("recall", kind, "") for kind in ("right", "times", "gone")),
    *(Case("recall", kind, "for BullMQ") for kind in PLACES),
    Case("recall", "stream", "for a stream", PASSED),
)


@pytest.fixture
def old(old_server: EmbeddedServer) -> Iterator[Redis]:
    with Redis.from_url(old_server.url, decode_responses=True) as client:
        client.flushall()
        client.hset(ABOUT, "fence", "1")
        yield client


def cost_of(script: str) -> str:
    """What the header of a script says, on one line; "" if it says nothing."""
    found = COST.search(source_of(script))
    return re.sub(r"\s*\n-- +", " ", found[1]) if found else ""


def most_of(script: str) -> int:
    """The largest number of commands of a call."""
    cost = cost_of(script)
    if stated := re.search(r"at most ([\d,]+)", cost) or re.fullmatch(r"([\d,]+) commands", cost):
        return int(stated[1].replace(",", ""))
    return each_of(cost, HASHES)


def each_of(part: str, n: int) -> int:
    """What a part of a header says: of `6 + 7n for BullMQ` and 200 messages, 1,406."""
    linear = re.match(r"(?:(\d+) \+ )?(\d*)n", part)
    assert linear, part
    return int(linear[1] or 0) + int(linear[2] or 1) * n


def commands(old: Redis, source: str, keys: list[str], *arguments: object) -> tuple[int, Any]:
    """How many commands a script sends, and its answer."""
    old.config_resetstat()
    found = old.eval(source, len(keys), *keys, *map(str, arguments))
    stats: Any = old.info("commandstats")
    outer = ("cmdstat_eval", "cmdstat_config|resetstat", "cmdstat_info")
    return sum(one["calls"] for name, one in stats.items() if name not in outer), found


def place_of(kind: str) -> str:
    return PLACES.get(kind, "place")


def fill(old: Redis, kind: str, passed: int) -> None:
    """Put messages into a place, with all that a script may find there."""
    place, names = place_of(kind), [f"job{number:03}" for number in range(MOST)]
    with old.pipeline(transaction=False) as pipe:
        if kind in PLACES:  # each job has a key against duplicates, with a time to live
            for name in names:
                options = json.dumps({"de": {"id": name, "ttl": 3_600_000}})
                job: dict[Any, Any] = {"deid": name, "opts": options, "timestamp": int(time.time() * 1000)}
                pipe.hset(f"bull:work:{name}", mapping=job)
                pipe.set(f"bull:work:de:{name}", name)
        if kind in SETS:
            pipe.zadd(place, {name: LATER + number for number, name in enumerate(names)})
            pipe.hset(GUARD, "w1", "{}")
        elif kind == "stream":
            for fields in (*[WIDE] * passed, *({"f": name} for name in names)):
                pipe.xadd(place, fields)
            pipe.xgroup_create(place, "ade-workers", "0")
        else:
            pipe.rpush(place, *names)
        pipe.execute()


def moved(old: Redis, case: Case) -> tuple[int, Any]:
    """Take messages, give them back, and recall them: as far as a case says, which is about the last call."""
    kind = "right" if case.kind == "gone" else case.kind
    place = place_of(kind)
    fill(old, kind, case.passed if case.script == "take" else 0)
    numbers = range(MOST)
    keys = [ABOUT, MESSAGES, STATES, place]
    taken = commands(
        old, source_of("fence", "ends", "take"), [*keys, GUARD if kind in GUARDED else place], 1, kind, 0, MOST, FULL
    )
    assert len(taken[1]) == 1 + MOST
    if case.script == "take":
        return taken
    old.set(STATES, "h" * MOST)
    order = numbers if kind in ("stream", *SETS) else numbers[::-1]
    given = commands(old, source_of("fence", "ends", "give"), keys, 1, kind, "k", FULL, *order)
    assert given[1] == MOST
    if case.script == "give":
        return given
    if case.kind == "gone":  # workers have taken all but the last one
        old.ltrim(place, 0, 0)
    if case.passed:  # they come before what is recalled
        entries: Any = old.xrange(place)
        old.delete(place)
        with old.pipeline(transaction=False) as pipe:
            for fields in (*[WIDE] * case.passed, *(fields for _, fields in entries)):
                pipe.xadd(place, fields)
            pipe.execute()
    recalled = commands(old, source_of("fence", "ends", "recall"), keys, 1, kind, "t", FULL, *numbers)
    assert recalled[1] == MOST
    return recalled


def written(old: Redis, kind: str) -> tuple[int, Any]:
    """Write a task with a record to five places."""
    old.hset(ABOUT, mapping={"phase": kind if kind == "cutover" else "mirror", "run": "run"})
    kind = "left" if kind == "cutover" else kind
    places = [f"place{number}" for number in range(5)]
    keys = [ABOUT, MESSAGES, STATES, places[0], "reply", "places", "record", *places[1:]]
    fields = [f"f{number}" for number in range(200)]
    message = "1 member" if kind == "ms" else "message"
    return commands(old, source_of("ends", "write"), keys, message, "entry", "key", *[kind] * 5, *fields)


def locked(old: Redis, kind: str) -> tuple[int, Any]:
    """Take or renew a lock that another one has as well, if it is shared."""

    def call(verb: str, agent: str, mode: str) -> tuple[int, Any]:
        about = (verb, agent, mode, "exclusive_holder", 1000, "now", "until", "purpose", agent)
        return commands(old, source_of("lock"), ["lock:resource:a:b"], *about)

    if kind == "exclusive":
        return call("take", "a", "exclusive")
    call("take", "b", "shared")
    taken = call("take", "a", "shared")
    return taken if kind == "shared" else call("renew", "a", "shared")


def other(old: Redis, script: str) -> tuple[int, Any]:
    """Call one of the short scripts."""
    if script == "drop":
        return commands(old, source_of("fence", script), [ABOUT, MESSAGES, STATES], 1, "taken_ms:a", "passed:a")
    if script == "mark":
        old.set(STATES, "t" * MOST)
        return commands(old, source_of("fence", script), [ABOUT, STATES], 1, 0, "m" * MOST)
    if script == "sent":
        return commands(old, source_of("fence", script), [ABOUT, MESSAGES], 1, *range(2 * HASHES))
    if script == "forget":
        old.set(STATES, "k" * HASHES)
        return commands(old, source_of("fence", script), [ABOUT, MESSAGES, STATES], 1, *range(HASHES))
    if script == "note":
        return commands(old, source_of("fence", script), [ABOUT], 1, "a", "b", "c", "d")
    if script == "written":
        old.hset(ABOUT, "run", "run")
        old.set(STATES, "w")
        return commands(old, source_of(script), [ABOUT, STATES], 0, "m", "run")
    assert script == "rows"
    keys = [f"key{number}" for number in range(HASHES)]
    return commands(old, source_of(script), [*keys, *(f"other-{key}" for key in keys)], FULL, 1, "a")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.script} {case.kind}".strip())
def test_a_script_sends_no_more_commands_than_its_header_says(case: Case, old: Redis) -> None:
    if case.script in ("take", "give", "recall"):
        found, _ = moved(old, case)
    elif case.script == "write":
        found, _ = written(old, case.kind)
    elif case.script == "lock":
        found, _ = locked(old, case.kind)
    else:
        found, _ = other(old, case.script)
    assert found <= most_of(case.script)
    if case.about is not None:
        parts = re.split("[,;] ", cost_of(case.script))
        part = next(one for one in parts if one.endswith(case.about))
        assert found <= each_of(part, MOST) + 2 * case.passed, part


def test_each_script_with_a_cost_has_a_call_here() -> None:
    scripts = {path.stem for path in FOLDER.glob("*.lua")}
    assert {one for one in scripts if cost_of(one)} == {case.script for case in CASES}
    assert scripts - {case.script for case in CASES} == {"ends", "fence"}  # parts of the others
