"""What is stored of nouns without checks of their own: its layout, its settings, and whether all keys are declared.

What is looked at for one noun only is in a file of its own, such as changes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, Final, NamedTuple

from redis.exceptions import ResponseError

from pyadeq import Adeq, library
from pyadeq.ext.operate.doctor import changes, configs
from pyadeq.ext.operate.doctor.report import Finding, fail, ok, unknown, warn
from pyadeq.ext.shared.finding import find_names
from pyadeq.ext.shared.layouts import newest_layouts
from pyadeq.ext.shared.plurals import plural
from pyadeq.keys import base_of, part_base

EVENTS: Final = "events"  # in the bases of the others
CHECKED: Final = ("queue", "lock", EVENTS)  # with checks of their own
MOST: Final = 1000  # of a noun
PAGE: Final = 1000  # keys
WRONG: Final = 5  # keys that are named
MORE: Final[Mapping[str, tuple[Callable[[Adeq, str], Any], Callable[[str, Any], Finding | None]]]] = {
    "change": (changes.look, changes.check),
    "config": (configs.look, configs.check),
}


class Stored(NamedTuple):
    """One of a noun, or a partition of one, `<name>/<tag>`.

    layout: the oldest in which something is stored. layout_min: the oldest scripts that may touch it.
    wrong: keys that no script knows, or of another type than it needs. exists: whether its settings are there.
    more: what is only looked at for this noun.
    """

    name: str
    layout: int
    layout_min: int
    wrong: Sequence[str] = ()
    exists: bool = True
    more: Any = None


def others() -> dict[str, dict[str, Any]]:
    """The facts of the nouns that are checked here."""
    return {word: noun for word, noun in library().manifest["nouns"].items() if word not in CHECKED}


def look(adeq: Adeq, noun: str, seconds: float) -> list[Stored]:
    """Find the objects of a noun, for this many seconds at most."""
    until = monotonic() + seconds
    names = find_names(adeq, noun, seconds, partitions=True, scan=True).names[:MOST]
    wrong = _wrong(adeq, noun, until)
    found = []
    for name in sorted({*names, *wrong}):
        base = base_at(adeq, noun, name)
        try:
            stored = adeq.client.hmget(f"{base}:config", ["layout", "rewritten", "layout_min"])
            layout, rewritten, least = stored
            oldest = min(int(layout or 1), int(rewritten or layout or 1))
            exists = any(stored) or bool(adeq.client.exists(f"{base}:config"))
            more = MORE[noun][0](adeq, base) if noun in MORE and exists else None
        except ResponseError as error:  # one that is damaged hides no other
            if not is_damage(error):
                raise
            found.append(Stored(name, newest_layouts()[noun], 1, wrong.get(name, ())))
            continue
        found.append(Stored(name, oldest, int(least or 1), wrong.get(name, ()), exists, more))
    return found


def damaged(adeq: Adeq, seconds: float, queues: Sequence[str] = ()) -> dict[str, list[str]]:
    """The keys of another type than scripts need, by `<noun> <name>`: of the keys that each name has once.

    queues: only of these; of all nouns without.
    """
    until = monotonic() + seconds
    found: dict[str, list[str]] = {}
    for noun in ["queue"] if queues else sorted(set(library().manifest["nouns"]) - {EVENTS}):
        wanted = sorted((start, type) for start, suffix, type in _keys(noun) if not suffix)
        for name in find_names(adeq, noun, max(until - monotonic(), 0), partitions=True, scan=True).names[:MOST]:
            if queues and name.partition("/")[0] not in queues:
                continue
            base = base_at(adeq, noun, name)
            with adeq.client.pipeline(transaction=False) as pipe:
                for start, _ in wanted:
                    pipe.type(f"{base}:{start}")
                types = map(_text, pipe.execute())
            wrong = [
                f"{start} is a {kind}, not a {type}"
                for (start, type), kind in zip(wanted, types, strict=True)
                if kind not in ("none", type)
            ]
            if wrong:
                found[f"{noun} {name}"] = wrong
    return found


def check_damaged(found: Mapping[str, Sequence[str]]) -> Finding:
    """Has each key the type that scripts need?"""
    named = [f"{name}: {', '.join(wrong[:WRONG])}" for name, wrong in found.items()]
    more = f"; and {len(named) - WRONG} more" if len(named) > WRONG else ""
    return fail(
        f"{'; '.join(named[:WRONG])}{more}",
        "Another program wrote these keys. Calls about these names fail, and the other checks leave them out.",
        "find the program, delete the wrong keys, and restore them from a backup",
    )


def is_damage(error: ResponseError) -> bool:
    """Whether a key has another type than it should: not a question of rights."""
    return str(error).startswith("WRONGTYPE")


def check(noun: Mapping[str, Any], stored: Sequence[Stored] | None, layout: int, may: str = "") -> Finding:
    """Is the stored data of a form that these scripts know? layout: that of this release. may: what a user may do."""
    if stored is None:
        why = "These scripts refuse data of a newer layout."
        return unknown("SCAN or HMGET is not allowed", why, "adeq scripts acl observer")
    title = noun["title"]
    for one in stored:
        if one.layout_min > layout:
            return fail(
                f"{title} {one.name}: layout {one.layout_min} is needed, this release has {layout}",
                "These scripts must not change that data, and refuse to.",
                "pip install --upgrade pyadeq",
            )
        if not one.exists:
            return fail(
                f"{title} {one.name}: there is data, but no key config",
                "Its settings and counters are lost. The next call begins with the defaults, and with fence 1.",
                "restore the key config from a backup",
            )
    for one in stored:
        if one.layout < layout:
            return warn(
                f"{title} {one.name}: layout {one.layout}, this release has {layout}",
                "This release reads both, and writes the old one until a migration.",
                "adeq scripts migrate, when every client has this release",
            )
        if one.wrong:
            return warn(
                f"{title} {one.name}: {', '.join(one.wrong[:WRONG])}",
                "No script of this release writes such a key; a key of another type makes calls fail.",
            )
    for one in stored:
        if one.more is not None and (finding := MORE[noun["word"]][1](one.name, one.more)):
            return finding
    count = len({one.name.partition("/")[0] for one in stored})
    found = f"{count:,} {title if count == 1 else plural(title)}" if stored else f"no {title}"
    return ok(f"{found}; {may}" if may else found)


def base_at(adeq: Adeq, noun: str, name: str) -> str:
    """The base of a name, or of a partition, `<name>/<tag>`."""
    name, _, tag = name.partition("/")
    base = base_of(noun, name, adeq.prefix, adeq.slot)
    return part_base(base, tag) if tag else base


def _wrong(adeq: Adeq, noun: str, until: float) -> dict[str, list[str]]:
    """The wrong keys of each name that has keys, as far as there is time to look."""
    head, tail = base_at(adeq, noun, "-").rsplit("-", 1)
    keys = _keys(noun)
    found: dict[str, list[str]] = {}
    for page in _pages(adeq, f"{head}*{tail}:*", until):
        named = [(key, *_text(key).removeprefix(head).partition(f"{tail}:")[::2]) for key in page]
        with adeq.client.pipeline(transaction=False) as pipe:
            for key in page:
                pipe.type(key)
            types = pipe.execute()
        for (_, name, rest), kind in zip(named, map(_text, types), strict=True):
            if kind == "none":  # deleted meanwhile
                continue
            wrong = found.setdefault(name, [])
            wanted = next((type for start, suffix, type in keys if _fits(rest, start, suffix)), None)
            if wanted is None:
                wrong.append(f"{rest} is unknown")
            elif kind != wanted:
                wrong.append(f"{rest} is a {kind}, not a {wanted}")
    return found


def _pages(adeq: Adeq, pattern: str, until: float) -> Iterator[list[bytes | str]]:
    """Keys, a page at a time, until the time is over."""
    cursor: int = 0
    while True:
        cursor, keys = adeq.client.scan(cursor, pattern, PAGE)
        if keys:
            yield keys
        if not cursor or monotonic() > until:
            return


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _keys(noun: str) -> set[tuple[str, bool, str]]:
    """How each key begins, whether more follows, and its type."""
    scripts = [library()[id] for id in library() if id.startswith((f"{noun}.", f"{EVENTS}."))]
    keys = [key for script in scripts for key in script.data if key.type != "channel"]
    return {(key.template.removeprefix("{base}:"), bool(key.suffix), key.type) for key in keys}


def _fits(name: str, start: str, suffix: bool) -> bool:
    return name.startswith(start) and len(name) > len(start) if suffix else name == start
