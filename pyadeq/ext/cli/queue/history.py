"""`adeq queue history`: what happened in a queue, step by step."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Annotated, Any

from pyadeq import Adeq, Annotation, HistoryPoint
from pyadeq.errors import AdeqError
from pyadeq.ext.cli.shared.arguments import time_option
from pyadeq.ext.cli.shared.common import iso
from pyadeq.ext.cli.shared.queue_arguments import ThisQueue
from pyadeq.ext.cli.shared.running import Lines, with_client

RATES = ("enqueued", "completed", "retried", "dead")


@with_client
def history(
    adeq: Adeq,
    queue: ThisQueue,
    since: Annotated[float, time_option("How far back.")] = "1h",  # type: ignore[assignment]
    step: Annotated[float, time_option("Sum up this time; at least a minute.")] = "1m",  # type: ignore[assignment]
) -> Lines:
    """Show how often tasks were enqueued, completed and so on in each step, per second, and all annotations.

    Workers take a snapshot of the counters each minute, and adeq metrics does so for queues without workers. Minutes
    are kept for a day, hours for 30 days: with a step of an hour or more, hours are shown.
    """
    begin = time.time() - since
    found: list[HistoryPoint | Annotation] = [*queue.inspect.history(begin, step), *read_marks(adeq, begin)]
    heads = ["time", *(f"{rate}/s" for rate in RATES), "ready", "running", "mean wait", "mark"]
    return Lines(
        sorted(found, key=lambda one: one.at),
        heads,
        _row,
        _as_json,
        right=heads[1:-1],
        spare=["running", "mean wait", "retried/s"],
    )


def read_marks(adeq: Adeq, since: float) -> list[Annotation]:
    """The marks since a time; none if the user may not read them."""
    with suppress(AdeqError):
        return adeq.annotations(since)
    return []


def _as_json(one: HistoryPoint | Annotation) -> dict[str, Any]:
    if isinstance(one, Annotation):
        return {"time": one.at, "time_iso": iso(one.at), "mark": one.text, "actor": one.actor}
    per_second = {rate: round(one.rate(rate), 4) for rate in RATES}
    return {"time": one.at, "time_iso": iso(one.at), **one.model_dump(exclude={"at"}), "per_second": per_second}


def _row(one: HistoryPoint | Annotation) -> tuple[str, ...]:
    if isinstance(one, Annotation):
        return (iso(one.at), *[""] * (len(RATES) + 3), one.text)
    wait = f"{one.waited / one.claimed:.3g} s" if one.claimed else ""
    rates = [f"{one.rate(rate):.2f}" for rate in RATES]
    return (iso(one.at), *rates, "" if one.ready is None else str(one.ready), str(one.running), wait, "")
