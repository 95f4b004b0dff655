"""From a mutant of a source to the generated scripts that hold it."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

from pyadeq._core.kernel.manifest import Script, library
from tests.mutation.by_hand import by_hand
from tests.mutation.operators import Mutant, mutants
from tests.nouns import sources


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """Of all sources but the headers; what bundle.py writes itself is no source."""
    found = []
    for path in sources.paths():
        text = sources.text_of(path)
        found += [*mutants(path, text), *by_hand(path, text)]
    return tuple(found)


@cache
def original(script_id: str) -> bytes:
    return library()[script_id].text.encode()


def mutated(mutant: Mutant) -> dict[str, bytes]:
    """The texts of all scripts that hold the source, by id."""
    data, change = sources.text_of(mutant.source).encode(), mutant.change
    text = (data[: change.start] + change.text.encode() + data[change.end :]).decode()
    found = {script_id: made.encode() for script_id, made in sources.rebuilt({mutant.source: text}).items()}
    assert found, mutant.name
    return found


def holders(mutant: Mutant) -> list[str]:
    """The ids of the scripts that hold its source."""
    return sources.holders(mutant.source)


def install(texts: dict[str, bytes]) -> None:
    """Let these scripts be those of this process; a Script is shared by all who have one, so it is changed itself."""
    for script_id, text in texts.items():
        script: Any = library()[script_id]
        assert isinstance(script, Script)
        object.__setattr__(script, "text", text.decode())
        object.__setattr__(script, "sha1", hashlib.sha1(text).hexdigest())
