"""`adeq queue`: what is in a queue."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from pyadeq import QueueStats
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, columns, connected, iso, print_json, stdout

app = typer.Typer(help="Queues: what is in them.", no_args_is_help=True)
STATES = ("ready", "delayed", "blocked", "running", "stalled", "finished", "dead")
QUANTILES = (0.5, 0.9, 0.99)


@app.callback()
def noun() -> None:
    """Queues: what is in them."""


@app.command()
def stats(
    name: Annotated[str, typer.Argument(help="The name of the queue.")],
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show how many tasks are in each state, and the totals since the queue began."""
    with connected(url) as adeq:
        found = adeq.queue(name).stats()
    if output == Format.json:
        print_json({"queue": name, **found.model_dump(), "now_iso": iso(found.now)})
        return
    console = stdout()
    states = [(state, getattr(found, state)) for state in STATES]
    console.print(columns(["state", "tasks"], states, right=["tasks"]))
    if set(found.lanes) - {"any"}:
        console.print()
        console.print(columns(["lane", "ready"], sorted(found.lanes.items()), right=["ready"]))
    totals = [(word, count) for word, count in sorted(found.counters.items()) if ":" not in word]
    console.print()
    console.print(columns(["total", "count"], [("workers now", found.workers), *totals], right=["count"]))
    times = [(what, *quantiles(found, f"{what}_ms")) for what in ("wait", "run")]
    if any(rest for _, *rest in times):
        heads = ["seconds, at most", *(f"p{q * 100:g}" for q in QUANTILES)]
        console.print()
        console.print(columns(heads, times, right=heads[1:]))


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
