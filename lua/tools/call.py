"""The fields of `ctx` that the functions of a call pass to each other: `<noun>/call.toml` and `kernel/call.toml`.

An entry has `by`, the folders of include/ and the scripts that write the field; `doc`; and perhaps `start`, what `open`
puts there, in Lua, and `where`, a setting: `open` does so only where that is stored, and puts false there otherwise.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from scan import Token

FILE = "call.toml"
OPENED = ("exists", "now", "now_text", "settings")  # what `open` gives to each script


class CallError(Exception):
    """`<file>:1: <what is wrong>`, one a line."""


@dataclass(frozen=True)
class CallField:
    path: str
    by: tuple[str, ...]
    start: str
    where: str


def read_call(root: Path, word: str) -> dict[str, CallField]:
    """The fields of a noun, by name, with those of the kernel. Raises CallError."""
    own = _read(root, f"{word}/{FILE}")
    return {**_read(root, f"kernel/{FILE}"), **own} if word != "kernel" else own


def _read(root: Path, path: str) -> dict[str, CallField]:
    if not (root / path).is_file():
        return {}
    try:
        entries = tomllib.loads((root / path).read_text())
    except tomllib.TOMLDecodeError as error:
        raise CallError(f"{path}:1: {error}") from None
    wrong = [f"{path}:1: {name}" for name, entry in entries.items() if not _is_entry(entry)]
    if wrong:
        raise CallError("\n".join(f"{one}: must have by and doc, and may have start and where" for one in wrong))
    return {
        name: CallField(path, tuple(entry["by"]), entry.get("start", ""), entry.get("where", ""))
        for name, entry in entries.items()
    }


def _is_entry(entry: Any) -> bool:
    allowed = {"by", "doc", "start", "where"}
    return isinstance(entry, Mapping) and {"by", "doc"} <= entry.keys() <= allowed and bool(entry["doc"])


def fields_of(every: list[Token]) -> Iterator[tuple[str, Token]]:
    """Each `ctx.<name>` of a source: the name, and its token."""
    for at in range(len(every) - 2):
        if every[at].text == "ctx" and every[at + 1].text == "." and (at == 0 or every[at - 1].text != "."):
            yield every[at + 2].text, every[at + 2]


def check_fields(
    path: str, fields: Mapping[str, CallField], every: list[Token], written: Mapping[str, int]
) -> Iterator[str]:
    """What a source does with fields of `ctx` against what is declared. written: those that it assigns, by line."""
    place = PurePath(path)
    who = place.name.partition(".")[0] if place.parent.name == place.parts[0] else place.parent.name
    for name, token in fields_of(every):
        if name not in fields and name not in OPENED:
            yield f"{path}:{token.line}: ctx.{name} is not declared: see {FILE} of the noun"
    for name, line in written.items():
        if name in fields and who not in fields[name].by:
            yield f"{path}:{line}: {who} writes ctx.{name}, but by in {fields[name].path} does not name it"
        elif name not in fields and name in OPENED:
            yield f"{path}:{line}: ctx.{name} is for reading"
