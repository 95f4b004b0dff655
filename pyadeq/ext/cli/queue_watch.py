"""`adeq queue watch`: a queue at work, live."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from time import monotonic, sleep
from typing import Annotated, Any

from rich.console import Group, RenderableType
from rich.text import Text

from pyadeq import QueueStats
from pyadeq.ext.cli.arguments import QueueName, many, time_option
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, iso, print_json
from pyadeq.ext.cli.live import Live
from pyadeq.ext.cli.resolve import AnyQueue, existing_queue
from pyadeq.ext.cli.tables import columns

STATES = ("ready", "delayed", "blocked", "running", "stalled", "finished", "dead")
FLOWS = ("enqueued", "claimed", "completed", "retried", "dead")
LANES = 10  # shown, the longest
SHORTEST = 0.1  # seconds between two looks


@dataclass(frozen=True)
class Look:
    """A queue at one moment, and at the one before; the first time they are the same."""

    queue: str
    stats: QueueStats
    before: QueueStats

    def change(self, state: str) -> int:
        """How many more tasks are in a state."""
        return int(getattr(self.stats, state) - getattr(self.before, state))

    def rates(self) -> dict[str, float]:
        """What happened since the look before, in a second."""
        now, then = self.stats.counters, self.before.counters
        seconds = max(self.stats.now - self.before.now, 0.001)
        return {name: round((now.get(name, 0) - then.get(name, 0)) / seconds, 1) for name in FLOWS}

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        stats = self.stats
        about = {"queue": self.queue, "time": stats.now, "time_iso": iso(stats.now), "mode": stats.mode}
        counts = {name: getattr(stats, name) for name in STATES}
        return {**about, **counts, "workers": stats.workers, "per_second": self.rates()}


def watch(
    name: QueueName,
    interval: Annotated[float, time_option("Time between two reads.")] = "1",  # type: ignore[assignment]
    seconds: Annotated[float | None, time_option("End after this time.", "--for")] = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Watch a queue: how many tasks are in each state, and how many change per second. Ctrl-C ends it.

    On a terminal, the picture is updated in place. Elsewhere, there is a line for each read. With -o jsonl there is an
    object for each read, with -o json only the last one.
    """
    last = None
    with connected(url) as adeq, Live() as live, suppress(KeyboardInterrupt):
        for last in look_at(existing_queue(adeq, name), max(interval, SHORTEST), seconds):
            if output == Format.table:
                live.show(_picture(last), _line(last))
            elif output == Format.jsonl:
                print(json.dumps(last.as_json()), flush=True)
    if output == Format.json and last:
        print_json(last.as_json())


def look_at(queue: AnyQueue, interval: float, seconds: float | None) -> Iterator[Look]:
    """The queue, again and again, for that many seconds; without, for ever."""
    until = inf if seconds is None else monotonic() + seconds
    before: QueueStats | None = None
    while True:
        begun = monotonic()
        stats = queue.stats()
        yield Look(queue.name, stats, before or stats)
        before = stats
        wait = min(begun + interval, until) - monotonic()
        if monotonic() >= until:
            return
        sleep(max(wait, 0))


def _line(look: Look) -> str:
    fields = look.as_json()
    rates = [f"{name}/s={rate:g}" for name, rate in fields.pop("per_second").items()]
    words = [f"{name}={fields[name]}" for name in ("mode", *STATES, "workers")]
    return " ".join([fields["time_iso"], look.queue, *words, *rates])


def _picture(look: Look) -> RenderableType:
    stats = look.stats
    head = Text.assemble((look.queue, "bold"), f"  {stats.mode}  {many(stats.workers, 'worker')}  {iso(stats.now)}")
    states = [(name, f"{getattr(stats, name):,}", _signed(look.change(name))) for name in STATES]
    flows = [(name, f"{stats.counters.get(name, 0):,}", f"{rate:,.1f}") for name, rate in look.rates().items()]
    parts: list[RenderableType] = [
        head,
        Text(),
        columns(["state", "tasks", "change"], states, right=["tasks", "change"]),
    ]
    parts += [Text(), columns(["total", "count", "per second"], flows, right=["count", "per second"])]
    if set(stats.lanes) - {"any"}:
        longest = sorted(stats.lanes.items(), key=lambda lane: -lane[1])[:LANES]
        parts += [
            Text(),
            columns(["lane", "ready"], [(lane, f"{count:,}") for lane, count in longest], right=["ready"]),
        ]
    return Group(*parts, Text("\nCtrl-C ends it", style="dim"))


def _signed(change: int) -> str:
    return f"{change:+,}" if change else ""
