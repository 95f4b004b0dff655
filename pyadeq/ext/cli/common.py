"""What all commands share: the server they talk to, and the two forms of their answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

import typer
from redis import Redis
from redis.exceptions import AuthenticationError, RedisError, ResponseError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pyadeq import Adeq
from pyadeq.errors import AdeqError, ConfigError, TransportError
from pyadeq.ext.cli.named import load_codec

FAILED, USAGE, UNREACHABLE = 1, 2, 3  # exit statuses
DEFAULT_URL = "redis://127.0.0.1:6379"
RETRY_FOR = 2.0  # seconds: somebody may be waiting at a terminal
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
NO_TERMINAL_WIDTH = 240  # columns: nothing is cut in files and pipes
CHUNK = 1000  # rows whose widths are made to fit each other


class Format(StrEnum):
    """How a command answers: for people, as one JSON document, or as one JSON value a line."""

    table = "table"
    json = "json"
    jsonl = "jsonl"


@dataclass
class Place:
    """Where the queues are: the start of their keys, the slot that they share, if any; and whether in a cluster.

    codec: MODULE:NAME of what payloads, results and errors go through.
    """

    prefix: str = "ade"
    slot: str | None = None
    cluster: bool = False
    codec: str | None = None

    def options(self) -> dict[str, Any]:
        """Those of a client. The codec is imported now, and not for commands that ask no server."""
        codec = None if self.codec is None else load_codec(self.codec)
        return {"prefix": self.prefix, "slot": self.slot, "cluster": self.cluster, "codec": codec}


PLACE = Place()  # what the options before the noun say
Url = Annotated[str, typer.Option("--url", envvar="ADEQ_URL", help="The server: redis://, rediss:// or unix://.")]
Output = Annotated[
    Format,
    typer.Option(
        "-o",
        "--output",
        envvar="ADEQ_OUTPUT",
        help="For people, as one JSON document, or as one JSON value a line (lists, and what is watched, as it comes).",
    ),
]


@contextmanager
def connected(url: str, **options: Any) -> Iterator[Adeq]:
    """A client of the server. ConfigError for what is no URL, TransportError with advice if nobody answers."""
    check_url(url)
    try:
        with Adeq.from_url(url, **{**PLACE.options(), "source": "adeq", "retry_for": RETRY_FOR, **options}) as adeq:
            yield adeq
    except (TransportError, RedisError) as error:
        raise unreachable(url, error) from error


def check_url(url: str) -> None:
    """Raise ConfigError if this is not the URL of a server. The URL is not shown: it may hold a password."""
    try:
        Redis.from_url(url).close()
    except ValueError:
        raise ConfigError(
            "--url: what was given is not accepted; allowed: redis://host:port, rediss://host:port, unix:///path"
        ) from None


def unreachable(url: str, error: Exception) -> AdeqError:
    """The error that says what to do; one that the server itself gave says it already."""
    cause = error.__cause__ if isinstance(error, TransportError) else error
    said = re.sub(r"\.(?=;|$)", "", str(error))  # more is to follow
    if isinstance(cause, AuthenticationError):
        return AdeqError(f"{said}; name a user and a password in the URL: redis://USER:PASSWORD@HOST:PORT")
    if cause is None or isinstance(cause, ResponseError):
        return AdeqError(str(error))
    advice = f"start a server at {shown_url(url)}, or name another with --url or ADEQ_URL"
    return TransportError(f"{said}; {advice}", retryable=True, may_have_applied=True)


def shown_url(url: str) -> str:
    """A URL without what may be secret in it."""
    scheme, _, rest = re.split("[?#]", url, maxsplit=1)[0].partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def iso(seconds: float) -> str:
    """A point in time, in seconds since the epoch, as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def safe(text: str) -> str:
    """Somebody's text without what a terminal would obey."""
    return CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def stdout() -> Console:
    """The terminal, or the file or pipe that stands in its place."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=NO_TERMINAL_WIDTH)
    return console


def print_json(value: Any, output: Format = Format.json) -> None:
    """Print a value as a JSON document, or as a line."""
    print(as_json(value, None if output == Format.jsonl else 2))


def as_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON. Halves of surrogate pairs, which no encoding knows, stay escaped."""
    return json.dumps(value, indent=indent, ensure_ascii=False).encode(errors="backslashreplace").decode()


def print_lines(values: Iterable[Any], output: Format) -> None:
    """Print values as one JSON array, or one a line; the array is never in memory as a whole."""
    if output == Format.jsonl:
        for value in values:
            print(as_json(value))
        return
    separator = "[\n  "
    for value in values:
        print(separator, as_json(value), sep="", end="")
        separator = ",\n  "
    print("[]" if separator[0] == "[" else "\n]")


def columns(names: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = ()) -> Table:
    """A table without lines; `right` names the columns of numbers. The last column gives way on narrow terminals."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(
            name,
            justify="right" if name in right else "left",
            no_wrap=True,
            overflow="ellipsis",
            min_width=None if name == names[-1] else len(name),
        )
    for row in rows:
        table.add_row(*map(str, row))
    return table


def print_rows(names: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print any number of rows, a thousand at a time, each cut at the terminal's width.

    By hand, for rich takes half a millisecond a row, and shortens ids.
    """
    console, rest = stdout(), iter(rows)
    widths = [len(name) for name in names]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if name in right else cell.ljust(width)
            for name, cell, width in zip(names, cells, widths, strict=True)
        ]
        text = "  ".join(padded).rstrip()
        return text if len(text) <= console.width else text[: console.width - 1] + "…"

    heads = True
    while (chunk := list(islice(rest, CHUNK))) or heads:
        widths = [
            max(width, *map(len, column)) for width, column in zip(widths, zip(names, *chunk, strict=True), strict=True)
        ]
        if heads:
            console.print(Text(line(names), style="bold"))
            heads = False
        for row in chunk:
            print(line(row))
