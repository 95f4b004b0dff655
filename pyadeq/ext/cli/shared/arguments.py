"""Arguments that several commands have, and how they are read."""

from __future__ import annotations

import inspect
import re
import sys
import time
import typing
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.shared.complete import domain_names
from pyadeq.ext.cli.shared.running import Options
from pyadeq.ext.shared.finding import Found
from pyadeq.ext.shared.plurals import plural
from pyadeq.models.queue import TaskFilter

UNITS = {"": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
DURATION = "seconds, or a number with ms, s, m, h or d: 90, 1.5h, 7d"
STDIN = Path("-")
MOST_CONTENT = 16 * 1024 * 1024  # bytes: what one call may have together
MOMENT = "an ISO 8601 time with a zone, 2030-01-31T09:00:00Z, or seconds since the epoch"

Tier = StrEnum("Tier", ["public", "internal", "confidential", "restricted"])
"""What may be shown of a task, see `pyadeq.tiers`."""


class StateName(StrEnum):
    """The states of a task."""

    ready = "ready"
    delayed = "delayed"
    blocked = "blocked"
    running = "running"
    stalled = "stalled"
    completed = "completed"
    cancelled = "cancelled"
    dead = "dead"


def duration(text: str) -> float:
    """`90`, `1.5h` or `7d` in seconds."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d+)?)\s*([a-z]*)", text.strip())
    if not match or match[2] not in UNITS:
        raise typer.BadParameter(f"{text!r} is not accepted; allowed: {DURATION}")
    return float(match[1]) * UNITS[match[2]]


def moment(text: str) -> float:
    """A point in time as seconds since the epoch."""
    try:
        return float(text) if re.fullmatch(r"\d{1,15}(\.\d+)?", text) else _epoch(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not accepted; allowed: {MOMENT}") from None


def moment_ahead(text: str) -> float:
    """A point in time as seconds since the epoch; also as a span of time from now with its unit, such as `14d`."""
    return time.time() + duration(text) if re.fullmatch(r"[\d.]+ *[a-z]+", text) else moment(text)


def moment_ago(text: str) -> float:
    """A point in time as seconds since the epoch; also as a span of time before now with its unit, such as `2h`."""
    return time.time() - duration(text) if re.fullmatch(r"[\d.]+ *[a-z]+", text) else moment(text)


def _epoch(text: str) -> float:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError
    return time.timestamp()


def content_of_file(option: str, path: Path, most: int = MOST_CONTENT) -> bytes:
    """What is in a file, or in standard input for `-`. ConfigError if it has more bytes; they are not read."""
    where = "standard input" if path == STDIN else f"{str(path)!r}"
    if path == STDIN and sys.stdin is None:
        raise ConfigError(f"{option}: {where} is closed; name a file")
    try:
        with nullcontext(sys.stdin.buffer) if path == STDIN else path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise ConfigError(f"{option}: {where} cannot be read: {error.strerror}") from None
    if len(data) > most:
        raise ConfigError(f"{option}: {where} has more than {most:,} bytes, which is the most that is accepted")
    return data


def confirm(question: str, yes: bool, no: str = "nothing was deleted") -> None:
    """Ask before something is destroyed. ConfigError if there is no terminal, AdeqError for a no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(f"{question} There is no terminal to ask: add --yes")
    if not typer.confirm(f"{question} Go on?", err=True):
        raise AdeqError(no)


def many(count: int, thing: str) -> str:
    """`1 task`, `2,000 tasks`."""
    return f"{count:,} {thing if count == 1 else plural(thing)}"


def time_option(help: str, *names: str) -> Any:
    """An option that takes a span of time."""
    return typer.Option(*names, parser=duration, metavar="TIME", help=help)


def search_option(things: str) -> Any:
    """The option of a command that looks at all keys of a server."""
    return typer.Option(min=0.1, metavar="SECONDS", help=f"Search for {things} for at most this time.")


def not_all(found: Found, timeout: float) -> str:
    """What to say if the time was over before all keys were seen, or nothing."""
    return "" if found.complete else f"Not all keys were scanned within {timeout:g} s: raise --timeout"


Domain = Annotated[
    str, typer.Option("--domain", "-d", metavar="NAME", help="The lock domain.", autocompletion=domain_names)
]
Resource = Annotated[str, typer.Argument(metavar="RESOURCE", help="The resource.")]
TaskId = Annotated[str, typer.Argument(metavar="ID", help="The task.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def most(
    limit: Annotated[int, typer.Option(min=1, max=10**9, help="List at most this many.")] = 100,
    all: Annotated[bool, typer.Option("--all", help="No limit.")] = False,
) -> int | None:
    """How many things a list has at most; None: all."""
    return None if all else limit


Most = Annotated[int | None, Options(most)]


def with_filter(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes the conditions of a `TaskFilter` as options, in place of **filter."""
    own = [one for one in inspect.signature(command, eval_str=True).parameters.values() if one.name != "filter"]
    kinds = typing.get_type_hints(TaskFilter)
    conditions = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[kind, typer.Option(metavar=name.upper(), help=f"Only tasks with this {name}.")],
            default=None,
        )
        for name, kind in kinds.items()
    ]
    at = next(at for at, one in enumerate(own) if one.name in ("limit", "all"))
    made = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in [*own[:at], *conditions, *own[at:]]]
    command.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    return command
