"""The chapter about changes of docs/performance.md: their calls, their growth and their bytes, beside our aims."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from bench.page_figures import COUNTED, Json, count, met, of, table

AIMS = {  # µs of the server's CPU per call
    "put a change with 2 resources and 3 tags": 130,
    "submit with 5 reviewers": 250,
    "vote that does not decide": 100,
    "vote that decides among 3 reviewers": 160,
    "vote that decides, with its task": 230,
    "vote on 100 changes": 10_000,
    "vote on 100 changes, decide each of 32 requests": 100_000,
    "begin to apply, with 2 locks": 90,
    "inbox, 50 of 10,000": 1_000,
}
GROWTH = 1.3  # how many times more a call may cost beside the most ended changes than beside the fewest
TEXT = Path(__file__).with_name("page_changes.md")


def of_changes(found: Json | None, on_redis: Json | None) -> str:
    """The chapter; empty until both reports are there."""
    if found is None or on_redis is None:
        return ""
    calls, redis_calls = _calls(found), {one["what"]: one for one in _calls(on_redis)}
    instructions = tomllib.loads(COUNTED.read_text())["changes"]
    rows = (
        (
            one["what"],
            f"{min(one['values']):,.0f}",
            f"{min(redis_calls[one['what']]['values']):,.0f}",
            str(instructions.get(one["what"], "")),
            count(one["commands"]),
            *_aim(one),
        )
        for one in calls
    )
    heads = (
        "call",
        f"µs on {found['engine']}",
        f"µs on {on_redis['engine']}",
        "thousands of instructions",
        "commands",
        "aim",
        "",
    )
    growth, kept = _growth(on_redis)
    sizes = ((one["what"], f"{one['median']:,.0f}") for one in of(found, "changes") if one["unit"] == "bytes")
    return TEXT.read_text().format(
        calls=table(heads, rows),
        redis=on_redis["engine"],
        most=GROWTH,
        growth=table(("call", *(f"{one:,} kept" for one in kept), "ratio", ""), growth),
        memory=table(("", "bytes"), sizes),
    )


def _calls(report: Json) -> list[Json]:
    return [one for one in of(report, "changes") if not one["by"] and one["unit"] != "bytes"]


def _aim(one: Json) -> tuple[str, str]:
    aim = AIMS.get(one["what"])
    return ("", "") if aim is None else (f"{aim:,}", met(min(one["values"]) <= aim))


def _growth(report: Json) -> tuple[list[Sequence[str]], list[int]]:
    """A row for each call, and the numbers of ended changes."""
    lowest: dict[str, dict[int, float]] = {}
    for one in of(report, "changes"):
        if "kept" in one["by"]:
            lowest.setdefault(one["what"].partition(",")[0], {})[one["by"]["kept"]] = min(one["values"])
    kept = sorted({number for some in lowest.values() for number in some})
    rows: list[Sequence[str]] = []
    for call, some in lowest.items():
        ratio = some[kept[-1]] / some[kept[0]]
        rows.append((call, *(f"{some[one]:.0f}" for one in kept), f"{ratio:.2f}", met(ratio <= GROWTH)))
    return rows, kept
