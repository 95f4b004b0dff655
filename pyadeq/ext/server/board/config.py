"""Configs: the namespaces, the values and flags of one, and one value with its history."""

from __future__ import annotations

import asyncio
import json
from difflib import unified_diff
from typing import Annotated, Final, NamedTuple

from fastapi import Query, Request, Response

from pyadeq.asyncio import ConfigValue, ConfigVersion, Flag
from pyadeq.errors import BadArgument
from pyadeq.ext.server.board.flag_words import rule_in_words
from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.board.page import may, pages, render
from pyadeq.ext.server.board.words import as_json, editable
from pyadeq.ext.server.gate import Access, Gate, access
from pyadeq.ext.shared.change_text import lines_of
from pyadeq.models.base import flaw

PREFIX: Final = "flag:"
PAGE: Final = 200
"""Names of one page."""
READ_FOR: Final = 2.0
SHORT: Final = 120
"""Characters of a value in a list."""
VERSIONS: Final = 30
"""The newest versions of a name that its page shows."""
MOST_COMPARED: Final = 2000
"""Lines of a version that is compared. The time grows with their square."""
MOST_DIFF: Final = 200
"""Lines of the difference between two versions, at most."""
Observed = Annotated[Access, access("config", "config.observe")]

router = pages()


class FlagRow(NamedTuple):
    """A flag in words. switched: its JSON with the other state. problem: why it is no flag."""

    name: str
    value: ConfigValue
    enabled: bool = False
    default: str = ""
    variants: dict[str, str] | None = None
    rule: list[tuple[int, str]] | None = None
    switched: str = ""
    problem: str = ""


class Past(NamedTuple):
    """A version of a name, and the lines in which it differs from the one before."""

    version: ConfigVersion
    diff: list[str]


@router.get("/configs")
async def namespaces(request: Request, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """The namespaces that somebody may see."""
    gate: Gate = request.app.state.gate
    looks: Looks = request.app.state.looks
    who = await gate.principal(request)
    names = [name for name in await looks.names("config") if q in name and may(who, "config.observe", name)]
    return await render(request, "configs.html", names=names, q=q)


@router.get("/configs/{namespace:adeq_segment}")
async def values(
    request: Request,
    access: Observed,
    q: Annotated[str, Query(max_length=200)] = "",
    after: Annotated[str, Query(max_length=500)] = "",
) -> Response:
    """The values and flags of a namespace, by name. q: a text in the name. after: the last name of the page before."""
    looks: Looks = request.app.state.looks
    stored: dict[str, ConfigValue] = await looks.shared(("configs", access.name), READ_FOR, access.found.list)
    found = sorted(name for name in stored if q in name)
    rest = [name for name in found if name > after] if after else found
    shown = rest[:PAGE]
    return await render(
        request,
        "config_values.html",
        namespace=access.name,
        q=q,
        total=len(found),
        next=shown[-1] if len(rest) > PAGE else "",
        flags=[_flag(stored[name]) for name in shown if name.startswith(PREFIX)],
        values=[(stored[name], _short(stored[name].value)) for name in shown if not name.startswith(PREFIX)],
    )


@router.get("/configs/{namespace:adeq_segment}/{name:adeq_segment}")
async def value(request: Request, access: Observed, name: str) -> Response:
    """One value: what it is, who has set it, and what it was before. A name without a value has the form to set it."""
    found: ConfigValue | None = await access.found.get(name)
    versions: list[ConfigVersion] = []
    async for one in access.found.history(name):
        versions.append(one)
        if len(versions) > VERSIONS:
            break
    past = await asyncio.to_thread(_past, versions)
    return await render(
        request,
        "config_value.html",
        namespace=access.name,
        name=name,
        found=found,
        is_text=found is None or _is_text(found.value),
        text=as_json("\n".join(lines_of(found.value))) if found else "",
        edit=editable(found.value) if found else "",
        flag=_flag(found) if found and name.startswith(PREFIX) else None,
        past=past,
        more=len(versions) > VERSIONS,
    )


def _flag(value: ConfigValue) -> FlagRow:
    name = value.name.removeprefix(PREFIX)
    try:
        flag = Flag(name, value.value)
    except BadArgument as error:
        return FlagRow(name, value, problem=str(error))
    if why := flaw(value.value):
        return FlagRow(name, value, problem=why)
    return FlagRow(
        name,
        value,
        flag.enabled,
        flag.default_variant or "",
        {name: _cut(json.dumps(one, ensure_ascii=False)) for name, one in flag.variants.items()},
        rule_in_words(flag.data["targeting"]) if flag.data.get("targeting") else [],
        json.dumps({**flag.data, "state": "DISABLED" if flag.enabled else "ENABLED"}, ensure_ascii=False),
    )


def _past(versions: list[ConfigVersion]) -> list[Past]:
    """The versions with their differences. It may take a second, so it is not for the event loop."""
    before = [*versions[1:], None]
    return [Past(one, _diff(older, one)) for one, older in zip(versions, before, strict=False)][:VERSIONS]


def _diff(before: ConfigVersion | None, after: ConfigVersion) -> list[str]:
    if before is None:
        return []
    old, new = (lines_of(one.value or b"") for one in (before, after))
    if max(len(old), len(new)) > MOST_COMPARED:
        return [f"not shown: it has more than {MOST_COMPARED:,} lines"]
    lines = ["…" if line.startswith("@@") else line for line in unified_diff(old, new, lineterm="", n=1)][3:]
    return lines if len(lines) <= MOST_DIFF else [*lines[:MOST_DIFF], f"… {len(lines) - MOST_DIFF:,} more lines"]


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _short(value: bytes) -> str:
    return _cut(value.decode()) if _is_text(value) else f"({len(value):,} bytes that are not text)"


def _cut(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[:SHORT]}… ({len(text):,} characters)"
