"""Archives many events, reads them back, and compares them field by field.

`python -m bench.archive` does it with a million: about 6 minutes on two cores. bench/results/archive.json
has one such run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from pyadeq import Adeq, Event, Queue
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.operate.archive import Archive, Archived
from pyadeq.ids import new_ulid

TASKS = 10_000
"""Tasks that end; the other events are of one queue that is paused and resumed."""
PAGE = 1000


def fill(adeq: Adeq, queue: Queue, events: int) -> None:
    """Make this number of events, with the registration of the group."""
    queue.configure(events_max=events + 100_000)
    ended = min(TASKS, events // 4)
    for first in range(0, ended, PAGE):
        queue.enqueue_many([{"n": n} for n in range(first, min(first + PAGE, ended))])
        for start, lease in enumerate(queue.claim(limit=PAGE)):
            if start % 3:
                queue.ack(lease, {"done": start})
            else:
                queue.fail(lease, "broken: % it = was \u20ac", retryable=False)
    left = events - int(adeq.client.xlen(f"{queue.base}:events")) - 1
    for first in range(0, left, PAGE):
        with adeq.pipeline() as pipe:
            for number in range(first, min(first + PAGE, left)):
                pipe.add((queue.calls.resume if number % 2 else queue.calls.pause)(new_ulid()))
    adeq.events("queue", queue.name).add("archive")


def stored(adeq: Adeq, queue: Queue) -> Iterator[Event]:
    """The events of a queue on the server."""
    after = "-"
    while page := adeq.client.xrange(f"{queue.base}:events", after, "+", PAGE):
        entries: Any = page
        for entry in entries:
            yield (event := Event.from_entry(*entry))
        after = f"({event.id}"


def digest_of(stream: str, events: Iterator[Event]) -> tuple[int, str]:
    """How many they are, and their digest."""
    number, digest = 0, hashlib.sha256()
    for one in events:
        number += 1
        digest.update(Archived(stream, one.id, event=one).as_line())
    return number, digest.hexdigest()


def main() -> None:
    """Run it, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--to", help="where to archive; a temporary folder by default")
    given = parser.parse_args()
    with (
        EmbeddedServer() as server,
        Adeq.from_url(server.url) as adeq,
        tempfile.TemporaryDirectory() as folder,
    ):
        queue, archive, stream = adeq.queue("jobs"), Archive(given.to or folder), "queue:jobs"
        times: dict[str, float] = {}

        def took(what: str, began: float) -> None:
            times[what] = round(time.monotonic() - began, 1)
            print(f"{what}: {times[what]:,} s", flush=True)

        began = time.monotonic()
        fill(adeq, queue, given.events)
        took("made", began)
        before = digest_of(stream, stored(adeq, queue))
        began = time.monotonic()
        (written,) = archive.write(adeq, progress=lambda _, read: print(f"{read:,} archived", flush=True))
        took("archived", began)
        began = time.monotonic()
        after = digest_of(stream, (one.event for one in archive.read() if one.event))
        took("read back", began)
        began = time.monotonic()
        found = archive.verify(adeq)
        took("compared field by field", began)
        assert found.compared is not None
        print(
            json.dumps(
                {"before": before, "after": after, **written._asdict(), "times": times, "twice": found.twice}
                | {"bad": found.bad, "compared": found.compared._asdict()},
                indent=2,
            )
        )
        assert before == after, "the archive differs"
        assert before[0] == found.compared.events == given.events
        assert found.bad == found.twice == 0


if __name__ == "__main__":
    main()
