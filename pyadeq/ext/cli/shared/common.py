"""What all commands share: the server they talk to, and the two forms of their answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import AdeqError, ConfigError, TransportError
from pyadeq.ext.cli.shared.named import load_codec
from pyadeq.models.base import iso as iso  # noqa: PLC0414  most commands show times

if TYPE_CHECKING:
    from pyadeq import Adeq

# What needs long to import is imported where it is used: redis-py in `connected`, rich in `terminal.py`. Help,
# completion and wrong options need neither, and answers as JSON no rich.
FAILED, USAGE, UNREACHABLE = 1, 2, 3  # exit statuses
DEFAULT_URL = "redis://127.0.0.1:6379"
RETRY_FOR = 2.0  # seconds: a person may be waiting at a terminal


class Format(StrEnum):
    """How a command answers: for people, as one JSON document, or as one JSON value a line.

    Commands never see `wide`: it is a table without limits.
    """

    table = "table"
    wide = "wide"
    json = "json"
    jsonl = "jsonl"


@dataclass
class Place:
    """The place of the queues: the start of their keys, the slot that they share, if any; and whether in a cluster.

    codec: MODULE:NAME of what payloads, results and errors go through. wide: tables have all columns, and no limit.
    """

    prefix: str = "ade"
    slot: str | None = None
    cluster: bool = False
    codec: str | None = None
    wide: bool = False

    def options(self) -> dict[str, Any]:
        """Return the options of a client. The codec is imported now, and not for commands that ask no server."""
        codec = None if self.codec is None else load_codec(self.codec)
        return {"prefix": self.prefix, "slot": self.slot, "cluster": self.cluster, "codec": codec}


PLACE = Place()  # what the options before the noun say


def _shape(value: Format) -> Format:
    PLACE.wide = value == Format.wide
    return Format.table if value == Format.wide else value


Url = Annotated[
    str, typer.Option("--url", envvar="ADEQ_URL", help="The server: redis://, rediss://, unix:// or sentinel://.")
]
Output = Annotated[
    Format,
    typer.Option(
        "-o",
        "--output",
        envvar="ADEQ_OUTPUT",
        callback=_shape,
        help="A table that fits the screen, a table with all columns, one JSON document, or one JSON value per line.",
    ),
]


@contextmanager
def connected(url: str, **options: Any) -> Iterator[Adeq]:
    """A client of the server. ConfigError for an invalid URL, TransportError with advice if no server answers."""
    from redis import RedisError

    from pyadeq import Adeq

    check_url(url)
    try:
        with Adeq.from_url(url, **{**PLACE.options(), "source": "adeq", "retry_for": RETRY_FOR, **options}) as adeq:
            yield adeq
    except (TransportError, RedisError) as error:
        raise unreachable(url, error) from error


def check_url(url: str) -> None:
    """Raise ConfigError if this is not the URL of a server. The URL is not shown: it may hold a password."""
    from pyadeq import Adeq

    try:
        Adeq.from_url(url).close()
    except ConfigError as error:
        raise ConfigError(f"--{error}") from None


def unreachable(url: str, error: Exception) -> AdeqError:
    """The error that says what to do; one that the server itself gave says it already."""
    from redis.exceptions import AskError, AuthenticationError, ResponseError

    cause = error.__cause__ if isinstance(error, TransportError) else error
    said = re.sub(r"\.(?=;|$)", "", str(error))  # more is to follow
    if isinstance(cause, AuthenticationError):
        return AdeqError(f"{said}; name a user and a password in the URL: redis://USER:PASSWORD@HOST:PORT")
    if isinstance(cause, AskError):  # or MovedError, which is one
        return AdeqError("this is a node of a cluster, and another one has the key; add --cluster, or ADEQ_CLUSTER=1")
    if cause is None or isinstance(cause, ResponseError):
        return AdeqError(str(error))
    advice = f"start a server at {shown_url(url)}, or name another with --url or ADEQ_URL"
    return TransportError(f"{said}; {advice}", retryable=True, may_have_applied=True)


def shown_url(url: str) -> str:
    """A URL without what may be secret in it."""
    scheme, _, rest = re.split("[?#]", url, maxsplit=1)[0].partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


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
