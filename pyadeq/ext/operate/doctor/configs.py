"""What is wrong in a config namespace: values that are lost, flags that no program accepts, and too many names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from pyadeq import Adeq, Flag, library
from pyadeq.errors import BadArgument
from pyadeq.ext.operate.doctor.report import Finding, fail, warn

LOOKED: Final = 1000  # names, those that were written last
FLAGS: Final = 200  # of these
PAGE: Final = 50
SHOWN: Final = 3  # names that a finding has
NEARLY: Final = 0.9  # of names_max
MANY: Final = 100  # removed names that are overdue
LATE: Final = 3600.0  # seconds
FLAG: Final = "flag:"


class State(NamedTuple):
    """What a namespace has, as far as it was looked at.

    names: how many have values. most: how many may. lost: names whose values are not stored any more. older: names of
    which another version is stored than snapshots are told of. flags: those that are not accepted, and why. rev: that
    of the last write; newest: the highest version of a name. overdue: how many removed names should be deleted by now;
    0 if the clock is that of a test.
    """

    names: int
    most: int
    lost: Sequence[str] = ()
    older: Sequence[str] = ()
    flags: Sequence[tuple[str, str]] = ()
    rev: int = 0
    newest: int = 0
    overdue: int = 0


def look(adeq: Adeq, base: str) -> State:
    """Look at the names that were written last. A name that is written meanwhile is not taken for a wrong one."""
    client: Any = adeq.client
    fields = ("names_max", "removed_ms", "rev", "clock")
    names_max, removed_ms, rev, clock = map(_text, client.hmget(f"{base}:config", fields))
    defaults = {one["name"]: one["default"] for one in library().manifest["nouns"]["config"]["settings"]}
    seconds, micros = client.time()
    kept_ms = int(removed_ms or defaults["removed_ms"]) + LATE * 1000
    before_ms = seconds * 1000 + micros // 1000 - kept_ms
    rows = [(_text(name), int(score)) for name, score in client.zrange(f"{base}:changed", -LOOKED, -1, withscores=True)]
    lost, older, flags = list[str](), list[str](), list[str]()
    for start in range(0, len(rows), PAGE):
        for (name, version), stored in zip(rows[start : start + PAGE], _stored(adeq, base, rows, start), strict=True):
            if stored != version and (wrong := _recheck(adeq, base, name)):
                (lost if wrong == "lost" else older).append(name)
            elif name.startswith(FLAG) and stored is not None and len(flags) < FLAGS:
                flags.append(name)
    return State(
        client.zcard(f"{base}:changed") - client.zcard(f"{base}:removed"),
        int(names_max or defaults["names_max"]),
        lost,
        older,
        _refused(adeq, base, flags),
        int(rev or 0),
        rows[-1][1] if rows else 0,
        0 if clock == "test" else client.zcount(f"{base}:removed", "-inf", before_ms),
    )


def _stored(adeq: Adeq, base: str, rows: Sequence[tuple[str, int]], start: int) -> list[int | None]:
    """The versions of a page of names, as their records have them."""
    with adeq.client.pipeline(transaction=False) as pipe:
        for name, _ in rows[start : start + PAGE]:
            pipe.hget(f"{base}:value:{name}", "version")
        return [None if one is None else int(one) for one in pipe.execute()]


def _recheck(adeq: Adeq, base: str, name: str) -> str:
    """Look again, because the name may have been written, or forgotten, between two looks. Empty: all is well."""
    client: Any = adeq.client
    stored, version = client.hget(f"{base}:value:{name}", "version"), client.zscore(f"{base}:changed", name)
    if version is None or (stored is not None and int(stored) == int(version)):
        return ""
    if stored is None and client.zscore(f"{base}:removed", name) is not None:
        return ""  # it had no value
    return "lost" if stored is None else "older"


def _refused(adeq: Adeq, base: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """The flags that are not accepted, and why."""
    found = []
    for name in names:
        text: Any = adeq.client.hget(f"{base}:value:{name}", "value")
        if text is not None:
            try:
                Flag(name, text)
            except BadArgument as error:
                found.append((name, error.message))
    return found


def _text(value: bytes | str | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value or ""


def check(namespace: str, state: State) -> Finding | None:
    """What to do about it, if there is something."""
    title, option = f"config namespace {namespace}", f"--namespace {namespace}"
    if state.lost:
        return fail(
            f"{title}: {_named(state.lost, 'has', 'have')} lost the value",
            "A key was deleted or evicted. Reads answer that there is no value; snapshots that were loaded before "
            "still have it.",
            f"adeq config history {state.lost[0]} {option}, and set it again",
        )
    if state.older:
        return fail(
            f"{title}: {_named(state.older, 'has', 'have')} another version than snapshots are told of",
            "Keys were changed by hand, or restored from another time. Reads and snapshots show different values.",
            f"adeq config show {state.older[0]} {option}, and set it again",
        )
    if state.rev < state.newest:
        return fail(
            f"{title}: its rev {state.rev} is lower than version {state.newest} of a name",
            "The key config is from an earlier time. The next write repairs it; until then each snapshot reads all "
            "values again and again.",
            f"set a name: adeq config set NAME VALUE {option}",
        )
    if state.flags:
        name, why = state.flags[0]
        return warn(
            f"{title}: {_named([one for one, _ in state.flags], 'is', 'are')} no flag: {why}",
            "Providers cannot evaluate it, and answer with the default of the caller. A client that does not check "
            "flags has set it.",
            f"adeq config history {name} {option}, and revert it",
        )
    if state.names >= NEARLY * state.most:
        return warn(
            f"{title}: {state.names:,} names, of {state.most:,} that are allowed",
            "A write that adds more is refused.",
            f"remove some, or: adeq config configure {option} --names-max {2 * state.most}",
        )
    if state.overdue >= MANY:
        return warn(
            f"{title}: {state.overdue:,} names were removed long ago, and are still stored with their history",
            "Writes delete some of them; this namespace has had few.",
            f'in Python: adeq.config("{namespace}").sweep()',
        )
    return None


def _named(names: Sequence[str], one: str, several: str) -> str:
    text = ", ".join(sorted(names)[:SHOWN])
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return f"{text}{more} {one if len(names) == 1 else several}"
