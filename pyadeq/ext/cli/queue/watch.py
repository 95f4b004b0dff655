"""`adeq queue watch`: a queue at work, live."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from time import monotonic, sleep
from typing import TYPE_CHECKING, Annotated, Any

from pyadeq import Adeq, Annotation, HistoryPoint, QueueStats
from pyadeq.ext.cli.queue.history import read_marks
from pyadeq.ext.cli.shared.arguments import many, time_option
from pyadeq.ext.cli.shared.common import Format, Output, iso
from pyadeq.ext.cli.shared.live import watched
from pyadeq.ext.cli.shared.queue_arguments import ThisQueue
from pyadeq.ext.cli.shared.resolve import AnyQueue
from pyadeq.ext.cli.shared.running import Document, with_client
from pyadeq.ext.cli.shared.spark import spark
from pyadeq.ext.shared.columns import columns
from pyadeq.ext.shared.terminal import stdout

if TYPE_CHECKING:
    from rich.console import RenderableType

STATES = ("ready", "delayed", "blocked", "running", "stalled", "finished", "dead")
FLOWS = ("enqueued", "claimed", "completed", "retried", "dead")
LANES = 10  # shown, the longest
PAST = 30  # minutes of the history that are shown
SHORTEST = 0.1  # seconds between two looks


@dataclass(frozen=True)
class Look:
    """A queue at one moment, and at the one before; the first time they are the same."""

    queue: str
    stats: QueueStats
    before: QueueStats
    past: list[HistoryPoint]
    marks: list[Annotation]

    def change(self, state: str) -> int:
        """How many more tasks are in a state."""
        return int(getattr(self.stats, state) - getattr(self.before, state))

    def rates(self) -> dict[str, float]:
        """What happened since the look before, in a second."""
        now, then = self.stats.counters, self.before.counters
        seconds = max(self.stats.now - self.before.now, 0.001)
        return {name: round((now.get(name, 0) - then.get(name, 0)) / seconds, 1) for name in FLOWS}

    def as_json(self) -> dict[str, Any]:
        """Return the state, the rates and the past of the queue as a JSON object, for programs."""
        stats = self.stats
        about = {"queue": self.queue, "time": stats.now, "time_iso": iso(stats.now), "mode": stats.mode}
        counts = {name: getattr(stats, name) for name in STATES}
        past = {name: [round(point.rate(name), 2) for point in self.past] for name in FLOWS}
        marks = [{"time": one.at, "text": one.text} for one in self.marks]
        found = {**about, **counts, "workers": stats.workers, "per_second": self.rates()}
        return {**found, "past": {"time": [point.at for point in self.past], **past}, "marks": marks}

    def spark(self, name: str, plain: bool) -> str:
        """The rates of the last minutes as a line."""
        return spark([point.rate(name) for point in self.past], plain)


@with_client
def watch(
    adeq: Adeq,
    queue: ThisQueue,
    interval: Annotated[float, time_option("Time between two reads.")] = "1",  # type: ignore[assignment]
    seconds: Annotated[float | None, time_option("End after this time.", "--for")] = None,
    output: Output = Format.table,
) -> Document | None:
    """Watch a queue: how many tasks are in each state, and how many change per second. Ctrl-C ends it.

    On a terminal, the picture is updated in place, with the last 30 minutes as spark lines. Elsewhere, there is a line
    for each read. With -o jsonl there is an object for each read, with -o json only the last one.
    """
    looks = look_at(queue, max(interval, SHORTEST), seconds, lambda since: read_marks(adeq, since))
    return watched(looks, output, _picture, _line, Look.as_json)


def look_at(
    queue: AnyQueue, interval: float, seconds: float | None, marks_since: Callable[[float], list[Annotation]]
) -> Iterator[Look]:
    """The queue, again and again, for that many seconds; without, for ever."""
    until = inf if seconds is None else monotonic() + seconds
    before: QueueStats | None = None
    past, marks, read = list[HistoryPoint](), list[Annotation](), -inf
    while True:
        begun = monotonic()
        stats = queue.stats()
        if begun >= read + 60:
            since = stats.now - 60 * PAST
            past, marks, read = queue.inspect.history(since)[-PAST:], marks_since(since), begun
        yield Look(queue.name, stats, before or stats, past, marks)
        before = stats
        wait = min(begun + interval, until) - monotonic()
        if monotonic() >= until:
            return
        sleep(max(wait, 0))


def _line(look: Look) -> str:
    fields = look.as_json()
    rates = [f"{name}/s={rate:g}" for name, rate in fields["per_second"].items()]
    words = [f"{name}={fields[name]}" for name in ("mode", *STATES, "workers")]
    past = [f"{name}={look.spark(name, plain=True)}" for name in ("enqueued", "completed") if look.past]
    return " ".join([fields["time_iso"], look.queue, *words, *rates, *past])


def _picture(look: Look) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    stats = look.stats
    head = Text.assemble((look.queue, "bold"), f"  {stats.mode}  {many(stats.workers, 'worker')}  {iso(stats.now)}")
    states = [(name, f"{getattr(stats, name):,}", _signed(look.change(name))) for name in STATES]
    plain = stdout().options.ascii_only
    flows = [
        (name, f"{stats.counters.get(name, 0):,}", f"{rate:,.1f}", look.spark(name, plain))
        for name, rate in look.rates().items()
    ]
    parts: list[RenderableType] = [
        head,
        Text(),
        columns(["state", "tasks", "change"], states, right=["tasks", "change"]),
    ]
    heads = ["total", "count", "per second", f"last {PAST} minutes" if look.past else ""]
    parts += [Text(), columns(heads, flows, right=["count", "per second"])]
    parts += [Text(f"{iso(one.at)}  {one.text}", style="dim") for one in look.marks[-3:]]
    if set(stats.lanes) - {"any"}:
        longest = sorted(stats.lanes.items(), key=lambda lane: -lane[1])[:LANES]
        parts += [
            Text(),
            columns(["lane", "ready"], [(lane, f"{count:,}") for lane, count in longest], right=["ready"]),
        ]
    return Group(*parts, Text("\nCtrl-C ends it", style="dim"))


def _signed(change: int) -> str:
    return f"{change:+,}" if change else ""
