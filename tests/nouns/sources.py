"""The sources of the scripts: where the lines of a script come from, and what it becomes when one is changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from tests.unit.lua_tree import LUA, bundle, header, noun, scan

# What bundle.py adds to the lines of a source.
_RARE = "arg_rare()."
_SETTINGS = f"ctx.{noun.SETTINGS}"
_KEYS = re.compile(r"^(local function \w+\([^)]*\)) local [\w, ]+ = KEYS\[.*\]$")


@cache
def sources() -> bundle.Sources:
    return bundle.load(LUA)


@cache
def paths() -> list[str]:
    """Of every source, below lua/: the includes, with the dispatchers of seams.py, and then the scripts."""
    scripts = dict.fromkeys(one.path for one in sources().scripts)  # several nouns have those of the kernel
    return [*sorted({one.path for one in sources().includes}), *scripts]


def text_of(path: str) -> str:
    """The text of a source."""
    written = (one.text for one in sources().includes if one.generated and one.path == path)
    return next(written, None) or (LUA / path).read_text()


@cache
def holders(source: str) -> list[str]:
    """The ids of the scripts that a source is in: that script itself, or all that use the include."""
    return [one.id for one in sources().scripts if source in (one.path, *(part.path for part in one.includes))]


def rebuilt(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts of the scripts that some sources are in, with other texts of these: by id."""
    found = {}
    for script in sources().scripts:
        if not texts.keys() & {script.path, *(part.path for part in script.includes)}:
            continue
        changed = replace(
            script, includes=[replace(part, text=texts.get(part.path, part.text)) for part in script.includes]
        )
        if script.path in texts:
            _, body, rest = header.divided(texts[script.path].splitlines())
            changed = replace(changed, body=body.strip("\n"), rest=rest.strip("\n"))
        found[script.id] = bundle.assemble(changed)
    return found


def origins(script_id: str, text: str) -> dict[int, tuple[str, int]]:
    """From a line of a generated script to its source, a path below lua/, and the line there.

    What bundle.py writes itself has none, so neither have the lines of `open` that it fills in.
    """
    found: dict[int, tuple[str, int]] = {}
    (script,) = (one for one in sources().scripts if one.id == script_id)
    source, constants = script.path, script.constants
    generated = [as_written(line) for line in text.splitlines()]
    texts = {part.path: bundle.text_of(part) for part in script.includes}
    texts[source] = scan.substitute(text_of(source), {}, script.uses.values())
    for name, own in texts.items():
        written = own.strip("\n").splitlines()
        lines = as_written(noun.with_constants("\n".join(written), constants)).splitlines()
        parts = {0: lines}
        if name == source:
            body, _, _ = header.divided(lines)
            rest = lines.index(header.LATE_BODY) if header.LATE_BODY in lines else len(lines)
            parts = {body: lines[body:rest], rest + 1: lines[rest + 1 :]}
        for skip, part in parts.items():
            starts = (at for at, line in enumerate(generated) if part and line == part[0])
            at = next((at for at in starts if generated[at : at + len(part)] == part), None)
            if at is not None:
                found |= {
                    at + offset + 1: (name, skip + offset + 1)
                    for offset in range(len(part))
                    if "CTX_FIELDS" not in written[skip + offset]
                }
    return found


def as_written(text: str) -> str:
    """A line of a generated script, or a part of one, as its source has it."""
    return _KEYS.sub(r"\1", text.replace(_RARE, "").replace(_SETTINGS, "ctx.settings."))
