"""The events of a lock domain or a change domain, as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from math import inf
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from pyadeq import Adeq
from pyadeq.ext.cli.shared.common import Format, as_json
from pyadeq.ext.cli.shared.running import Lines
from pyadeq.ext.shared.terminal import stdout

if TYPE_CHECKING:
    from rich.text import Text

MOST = 1000  # events in one answer


def follow(adeq: Adeq, stream: str, interval: float, seconds: float | None) -> Iterator[dict[str, str]]:
    """What comes after the newest event of now, for that many seconds; without, for ever."""
    client: Any = adeq.client
    until = inf if seconds is None else monotonic() + seconds
    newest = client.xrevrange(stream, count=1)
    last = newest[0][0] if newest else b"0"
    while True:
        over = monotonic() >= until
        found = client.xrange(stream, b"(" + last, "+", count=MOST)
        for id, fields in found:
            last = id
            yield {name.decode(): value.decode(errors="replace") for name, value in fields.items()}
        if over:
            return
        if len(found) < MOST:
            sleep(max(min(interval, until - monotonic()), 0))


def printed(events: Iterable[Any], output: Format, line: Callable[[Any], Text]) -> Lines | None:
    """Print events as they come, until Ctrl-C; with -o json, all of them are the answer, at the end."""
    console, kept = stdout(), []
    with suppress(KeyboardInterrupt):
        for event in events:
            if output == Format.json:
                kept.append(event)
            elif output == Format.jsonl:
                print(as_json(event), flush=True)
            else:
                console.print(line(event), soft_wrap=True)
    return Lines(kept, ()) if output == Format.json else None
