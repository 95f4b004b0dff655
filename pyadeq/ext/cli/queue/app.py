"""`adeq queue`: which queues there are, what is in them, and what they may do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

from pyadeq.errors import AdeqError, TransportError
from pyadeq.ext.cli.queue import control as queue_control
from pyadeq.ext.cli.queue import history as queue_history
from pyadeq.ext.cli.queue import watch as queue_watch
from pyadeq.ext.cli.shared import partitions, settings
from pyadeq.ext.cli.shared.arguments import many, not_all, search_option
from pyadeq.ext.cli.shared.common import iso
from pyadeq.ext.cli.shared.queue_arguments import ThisQueue
from pyadeq.ext.cli.shared.running import Document, Lines, Shown, Table, with_client
from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.ext.shared.finding import find_queues

if TYPE_CHECKING:
    from pyadeq import Adeq, Deferred, QueueStats

app = noun(NOUNS["queue"])
STATES = ("ready", "delayed", "blocked", "running", "stalled", "finished", "dead")
QUANTILES = (0.5, 0.9, 0.99)
BATCH = 100  # queues asked for in one pipeline


@app.command()
@with_client
def ls(adeq: Adeq, timeout: Annotated[float, search_option("queues")] = 10.0) -> Lines:
    """List the queues of the server: their mode, and how many tasks are in each state.

    A server has no list of its queues, so all its keys are scanned. This takes about a second for a million keys.
    """
    found = find_queues(adeq, timeout)
    heads = ["queue", "mode", *STATES]
    return Lines(
        [row for start in range(0, len(found.names), BATCH) for row in _rows(adeq, found.names[start:][:BATCH])],
        heads,
        lambda row: [row.get(head, "") for head in heads],
        right=STATES,
        spare=["stalled", "blocked", "delayed", "finished", "mode"],
        warning=not_all(found, timeout),
    )


def _rows(adeq: Adeq, names: list[str]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    asked: list[tuple[str, Deferred[QueueStats], Deferred[Any]]] = []
    try:
        with adeq.pipeline() as pipe:
            for name in names:
                calls = adeq.queue(name).calls
                asked.append((name, pipe.add(calls.stats()), pipe.add(calls.partition_map())))
    except TransportError as error:
        if error.retryable:
            raise
    for name, answer, known in asked:
        try:
            stats = adeq.partitioned(name).stats() if known.value.epoch else answer.value
        except AdeqError as error:  # one that cannot be read does not hide the others
            rows.append({"queue": name, "mode": "unreadable", "error": str(error)})
        else:
            rows.append({"queue": name, "mode": stats.mode, **{state: getattr(stats, state) for state in STATES}})
    return rows


@app.command()
@with_client
def show(queue: ThisQueue) -> Document:
    """Show a queue: its mode, how many tasks are in each state, and its settings."""
    stats, stored = queue.stats(), queue.settings()
    counts = {state: getattr(stats, state) for state in STATES}
    about = {"queue": queue.name, "mode": stats.mode, **counts, "workers": stats.workers}
    return Document(
        {**about, "settings": stored.model_dump()},
        [
            f"{queue.name} is {stats.mode}, {many(stats.workers, 'worker')}",
            Table(["state", "tasks"], [*counts.items()], right=["tasks"]),
            lambda: settings.print_settings("queue", stored),
        ],
    )


@app.command()
@with_client
def stats(queue: ThisQueue) -> Document:
    """Show how many tasks are in each state, how long they wait, and the totals since the queue began."""
    found = queue.inspect.overview()
    shown: list[Shown] = [Table(["state", "tasks"], [(one, getattr(found, one)) for one in STATES], right=["tasks"])]
    if found.lanes:
        waits = {lane: brief(found.now - since) for lane, since in found.oldest.items()}
        rows = [(lane, ready, waits.get(lane, "")) for lane, ready in sorted(found.lanes.items())]
        shown.append(Table(["lane", "ready", "oldest waits"], rows, right=["ready", "oldest waits"]))
    totals = [(word, n) for word, n in sorted(found.counters.items()) if ":" not in word and "_sum" not in word]
    shown.append(Table(["total", "count"], [("workers now", found.workers), *totals], right=["count"]))
    times = [(what, *mean(found, f"{what}_ms"), *quantiles(found, f"{what}_ms")) for what in ("wait", "run")]
    if any(rest for _, *rest in times):
        heads = ["seconds", "mean", *(f"p{q * 100:g} up to" for q in QUANTILES)]
        shown.append(Table(heads, times, right=heads[1:]))
    return Document(
        {"queue": queue.name, **found.model_dump(), "now_iso": iso(found.now), "waited": found.waited}, shown
    )


def brief(seconds: float) -> str:
    """How long something waits, in the largest unit that fits."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{max(seconds, 0):.1f} s"


def mean(found: QueueStats, name: str) -> list[str]:
    """The mean in seconds, if anything was counted. Totals of releases without sums count as 0 s."""
    total = sum(count for word, count in found.counters.items() if word.startswith(f"{name}:"))
    return [f"{found.counters.get(f'{name}_sum', 0) / total / 1000:.3g}"] if total else []


def quantiles(found: QueueStats, name: str) -> list[str]:
    """Upper bounds of some quantiles in seconds, from the counters of powers of two."""
    buckets = sorted(
        (int(word.partition(":")[2]), count) for word, count in found.counters.items() if word.startswith(f"{name}:")
    )
    total = sum(count for _, count in buckets)
    return [f"{_bound(buckets, math.ceil(quantile * total)) / 1000:g}" for quantile in QUANTILES if total]


def _bound(buckets: list[tuple[int, int]], rank: int) -> int:
    """The upper bound of the bucket that holds the value of this rank."""
    for bound, count in buckets:
        rank -= count
        if rank <= 0:
            return bound
    return 0


app.command()(queue_watch.watch)
app.command()(queue_history.history)
app.command()(queue_control.pause)
app.command()(queue_control.resume)
app.command()(queue_control.drain)
app.command()(queue_control.purge)
app.command()(queue_control.trim)
app.command("configure")(settings.configure_queue)
app.command()(partitions.partitions)
