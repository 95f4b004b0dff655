"""What the event stream of a queue with limits says: how many tasks of a key ran at a time, and when they started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from tests.chaos.task_stream import Event

ENDS = {"completed", "released", "snoozed", "retried", "dead", "cancelled", "stalled"}


def most_at_a_time(events: Iterable[Event], keys: Callable[[str], Iterable[str]]) -> Counter[str]:
    """The most tasks of each key that were held at a time. Raises AssertionError where leases or fences overlap.

    keys: those of a task, by its id.
    """
    held: set[str] = set()
    running: Counter[str] = Counter()
    most: Counter[str] = Counter()
    last = 0
    for event in events:
        if event.name == "claimed":
            fence = int(event.words["fence"])
            assert fence > last, f"its fence does not come after {last}: {event}"
            assert not held & set(event.ids), f"held already: {event}"
            last = fence + len(event.ids) - 1
            held.update(event.ids)
            running.update(key for id in event.ids for key in keys(id))
            most |= running
        elif event.name in ENDS:
            ended = held & set(event.ids)
            held -= ended
            running.subtract(key for id in ended for key in keys(id))
    return most


def check_rate(starts: list[int], interval_ms: float, burst: int) -> None:
    """Raises AssertionError where more started in some time than a rate allows."""
    for first, began in enumerate(starts):
        for count, at in enumerate(starts[first:], start=1):
            # Times are in whole milliseconds: what may start within half of one starts now.
            assert count <= burst + (at - began + 0.5) / interval_ms + 0.01, f"{count} in {at - began} ms"


def stamps_of(events: Iterable[Event], name: str) -> list[tuple[str, int]]:
    """The ids of an event and when it was, in its order."""
    return [(id, event.ms) for event in events if event.name == name for id in event.ids]
