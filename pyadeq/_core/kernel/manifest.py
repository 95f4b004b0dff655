"""The manifest as objects: what every script takes and answers. Read once, at first use."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from pyadeq.errors import ConfigError

T = TypeVar("T")
CONTRACT: Final = 1


@dataclass(frozen=True, slots=True)
class Key:
    """A key that a call sends, or that its script uses. With a suffix type it is a prefix: an id, lane or name follows.

    noun: the noun that the key belongs to, if not the script's own. The template then begins with `{<noun>}`, not with
    `{base}`.
    """

    name: str
    type: str
    template: str
    suffix: str | None
    noun: str | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """A scalar, a field of a group, or a pair. It may be left out if it has a default."""

    name: str
    type: str
    min: int
    max: int
    words: tuple[str, ...]
    default: str | int | bool | None


@dataclass(frozen=True, slots=True)
class Group:
    """A repeated block: per item its fields in order, then its pairs."""

    name: str
    min: int
    max: int
    fields: tuple[Argument, ...]
    pairs: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a reply. A `list` has the shape of its entries, a `text` its words if they are few, `pairs` the table
    of their names.
    """

    name: str
    type: str
    shape: str | None
    words: tuple[str, ...] = ()
    table: str | None = None


Statuses = Mapping[str, tuple[Field, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Script:
    """One script. Its text is read together with the manifest, because the package may be replaced while the program
    runs.

    role, replay: as in the manifest.
    commands: those that it calls. uses: the other nouns whose data it reads and writes.
    """

    id: str
    doc: str
    sha1: str
    read_only: bool
    role: str
    replay: str
    commands: tuple[str, ...]
    keys: tuple[Key, ...]  # what a call sends
    data: tuple[Key, ...]  # what the script may read or write
    args: tuple[Argument, ...]
    groups: tuple[Group, ...]
    returns: Statuses
    shapes: Mapping[str, Statuses]
    errors: tuple[str, ...]
    events: tuple[str, ...]
    text: str = field(repr=False)
    uses: tuple[str, ...] = ()

    @property
    def rid_at(self) -> int:
        """The place of the rid among the arguments."""
        return next(at for at, argument in enumerate(self.args) if argument.name == "rid")


class _Once(Generic[T]):
    """`functools.cached_property` without the lock of Python 3.11: a forked child could wait forever for this lock.

    Two threads may compute the value at once, with the same outcome.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute

    def __get__(self, of: Any, owner: type) -> T:
        value = of.__dict__[self._compute.__name__] = self._compute(of)
        return value


class Library:
    """The scripts of a folder that holds manifest.json and dist/; from id to Script, in order."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @_Once
    def manifest(self) -> dict[str, Any]:
        try:
            manifest: dict[str, Any] = json.loads(self.root.joinpath("manifest.json").read_bytes())
        except FileNotFoundError:
            raise ConfigError(
                f"{self.root}: there is no manifest.json; run `make gen`, or install pyadeq again"
            ) from None
        if manifest["contract"] != CONTRACT:
            raise ConfigError(f"manifest: contract {manifest['contract']} is not supported; allowed: {CONTRACT}")
        return manifest

    @_Once
    def _scripts(self) -> dict[str, Script]:
        return {entry["id"]: _script(self.root, entry) for entry in self.manifest["scripts"]}

    def __getitem__(self, script_id: str) -> Script:
        try:
            return self._scripts[script_id]
        except KeyError:
            raise ConfigError(f"script: {script_id!r} is unknown; allowed: {', '.join(self._scripts)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._scripts)

    def __len__(self) -> int:
        return len(self._scripts)


@cache
def library() -> Library:
    """The scripts that came with this pyadeq: from the wheel, or from lua/ of the checkout."""
    here = Path(__file__)
    packaged = here.parents[2] / "_lua"
    return Library(packaged if packaged.is_dir() else here.parents[3] / "lua")


def _script(root: Path, entry: dict[str, Any]) -> Script:
    return Script(
        id=entry["id"],
        doc=entry["doc"],
        sha1=entry["sha1"],
        read_only=entry["read_only"],
        role=entry["role"],
        replay=entry["replay"],
        commands=tuple(entry["commands"]),
        keys=tuple(map(_key, entry["keys"])),
        data=tuple(map(_key, entry["data"])),
        args=tuple(map(_argument, entry["args"])),
        groups=tuple(
            Group(
                one["name"],
                one["min"],
                one["max"],
                tuple(map(_argument, one["fields"])),
                tuple(map(_argument, one["pairs"])),
            )
            for one in entry["groups"]
        ),
        returns=_statuses(entry["returns"]),
        shapes={shape: _statuses(statuses) for shape, statuses in entry["shapes"].items()},
        errors=tuple(entry["errors"]),
        events=tuple(entry["events"]),
        text=root.joinpath(entry["file"]).read_bytes().decode(),
        uses=tuple(entry.get("uses", ())),
    )


def _key(entry: dict[str, Any]) -> Key:
    return Key(entry["name"], entry["type"], entry["template"], entry.get("suffix"), entry.get("noun"))


def _argument(entry: dict[str, Any]) -> Argument:
    return Argument(
        entry["name"],
        entry["type"],
        entry.get("min", 0),
        entry.get("max", 0),
        tuple(entry.get("values", ())),
        entry.get("default"),
    )


def _field(entry: dict[str, Any]) -> Field:
    return Field(entry["name"], entry["type"], entry.get("of"), tuple(entry.get("values", ())), entry.get("table"))


def _statuses(entries: list[dict[str, Any]]) -> Statuses:
    return {entry["status"]: tuple(map(_field, entry["fields"])) for entry in entries}
