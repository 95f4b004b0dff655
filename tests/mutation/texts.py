"""From a mutant of a source to the generated scripts that hold it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any

from pyadeq._core.manifest import Script, library
from tests.lua.coverage import LUA, RARELY
from tests.mutation.operators import Mutant, mutants

FOLDERS = ("include", "queue", "lock")


@dataclass(frozen=True)
class Place:
    """Where a part of a source stands in the text of a script, in bytes."""

    script_id: str
    first: int  # of the part in the source
    last: int
    shift: int  # to the place in the script


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """Of all sources but the headers; what bundle.py writes itself is no source."""
    found = []
    for folder in FOLDERS:
        for path in sorted((LUA / folder).glob("*.lua")):
            found += mutants(path.relative_to(LUA).as_posix(), path.read_text())
    return tuple(found)


@cache
def original(script_id: str) -> bytes:
    return library()[script_id].text.encode()


@cache
def places(source: str) -> list[Place]:
    """Everywhere that a source stands, each of its parts by itself."""
    data = (LUA / source).read_bytes()
    found = []
    for first, part in parts(source, data):
        for script_id in library():
            at = original(script_id).find(b"\n" + part + b"\n")
            if at >= 0:
                found.append(Place(script_id, first, first + len(part), at + 1 - first))
    return found


def parts(source: str, data: bytes) -> list[tuple[int, bytes]]:
    """What bundle.py takes over as it is, each with its place in the source."""
    if source.startswith("include/"):
        return [(0, data.strip(b"\n"))]
    header = next(line for line in data.split(b"\n") if not line.startswith(b"--"))
    body = data.index(b"\n" + header + b"\n") + 1
    mark = b"\n" + RARELY.encode() + b"\n"
    rest = data.find(mark)
    ranges = [(body, len(data))] if rest < 0 else [(body, rest), (rest + len(mark), len(data))]
    found = []
    for first, last in ranges:
        part = data[first:last]
        found.append((first + len(part) - len(part.lstrip(b"\n")), part.strip(b"\n")))
    return found


def mutated(mutant: Mutant) -> dict[str, bytes]:
    """The texts of all scripts that hold the place, by id."""
    change = mutant.change
    found = {}
    for place in places(mutant.source):
        if place.first <= change.start and change.end <= place.last:
            text = original(place.script_id)
            start, end = change.start + place.shift, change.end + place.shift
            found[place.script_id] = text[:start] + change.text.encode() + text[end:]
    assert found, mutant.name
    return found


def holders(mutant: Mutant) -> list[str]:
    """The ids of the scripts that hold its place."""
    change = mutant.change
    return [one.script_id for one in places(mutant.source) if one.first <= change.start and change.end <= one.last]


def install(texts: dict[str, bytes]) -> None:
    """Let these scripts be those of this process; a Script is shared by all who have one, so it is changed itself."""
    for script_id, text in texts.items():
        script: Any = library()[script_id]
        assert isinstance(script, Script)
        object.__setattr__(script, "text", text.decode())
        object.__setattr__(script, "sha1", hashlib.sha1(text).hexdigest())
