"""Tasks of Celery, RQ, BullMQ 5 and BullMQ 6 move while both sides are at work: is one lost or run twice, how fast?

    make bench-migrate
    .venv-migrate/bin/python -m bench.migrate [celery rq bullmq-5 bullmq-6] [--tasks 100000] [--kills 50] [-o json]

For each source, with real packages:

1. The tasks are made and moved without kills: tasks a second, and the worst script calls on both servers, from their
   slow logs. Then a rollback: the digest of the old lists must be the same as before.
2. Old and new workers begin, more tasks are made, and moves and rollbacks are killed, each step in turn. In the end
   each task must have run once. `struck` says how often each step was killed.

The times are by the clock, so measure on a quiet machine. All four take about 10 minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any, Final

from redis import Redis

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.bench.figures import machine
from pyadeq.ext.migrate import Migration
from tests.migrate.moving import New, move_under_fire
from tests.migrate.sides import QUEUE, SIDES, Side

RATE: Final = 5_000
"""Tasks a second."""
LONGEST: Final = 5.0
"""Milliseconds of a script call."""
SLOW_US: Final = 500
"""Shorter calls are not in the slow log."""
MORE: Final = 200
"""Tasks that are made for each kill."""
PAUSE: Final = "0.01"
"""Seconds that a task takes in an old worker."""


@contextmanager
def slow_calls(*clients: Any) -> Iterator[list[list[float]]]:
    """Give the milliseconds of the slow script calls of each server, the slowest first."""
    found: list[list[float]] = []
    for client in clients:
        client.config_set("slowlog-log-slower-than", SLOW_US)
        client.config_set("slowlog-max-len", 100_000)
        client.slowlog_reset()
    yield found
    for client in clients:
        rows: Any = client.slowlog_get(100_000)
        calls = [row["duration"] / 1000 for row in rows if row["command"].upper().startswith(b"EVALSHA")]
        found.append(sorted(calls, reverse=True))


def measure(side: Side, tasks: int, kills: int) -> dict[str, Any]:
    """Return the figures of one source."""
    with (
        EmbeddedServer() as old,
        EmbeddedServer() as server,
        Adeq.from_url(server.url) as adeq,
        Redis.from_url(old.url) as client,
    ):
        tell(side, f"making {tasks:,} tasks")
        side.produce(old, range(tasks))
        migration = Migration(adeq, side.source(client), to="here")
        before = migration.plan()
        waiting = sum(place.moves + place.left for place in before.places)
        tell(side, "moving")
        with slow_calls(client, adeq.client) as moving:
            moved = migration.move()
        rate = round(moved.moved / moved.seconds)
        tell(side, f"moved {moved.moved:,}, {rate:,}/s; putting back")
        with slow_calls(client, adeq.client) as back:
            result = migration.rollback()
        tell(side, "put back; both sides begin")
        new = New(server.url, adeq.queue(QUEUE))
        judged = move_under_fire(side, old, new, tasks, MORE, kills, lambda text: tell(side, text))
    tell(side, f"{judged.kills.total()} kills, {len(judged.lost)} lost, {len(judged.twice)} run twice")
    calls = {
        "move, old server": moving[0],
        "move, pyadeq": moving[1],
        "rollback, old server": back[0],
        "rollback, pyadeq": back[1],
    }
    return {
        "waiting": waiting,
        "moved": moved.moved,
        "left": moved.left.counts.total(),
        "moved_per_second": rate,
        "worst_call_ms": {name: ([*found, 0.0])[0] for name, found in calls.items()},
        "calls_above_5_ms": {name: sum(one > LONGEST for one in found) for name, found in calls.items()},
        "rollback_is_exact": result.digest == before.digest and not result.stayed.counts,
        "kills": judged.kills.total(),
        "struck": dict(judged.kills),
        "tasks": judged.made,
        "ran_in_old": len(judged.in_old),
        "ran_in_pyadeq": len(judged.in_new),
        "lost": len(judged.lost),
        "ran_twice": len(judged.twice),
    }


def tell(side: Side, text: str) -> None:
    """Print what is being done."""
    print(f"{side.name}: {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Measure, and print all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", nargs="*", help="all, if none is named")
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("-o", "--output", choices=["text", "json"], default="text")
    given = parser.parse_args()
    os.environ.setdefault("ADEQ_MIGRATE_PAUSE", PAUSE)
    found = {name: measure(SIDES[name], given.tasks, given.kills) for name in given.sources or SIDES}
    if given.output == "json":
        about = {"date": date.today().isoformat(), "machine": machine(), "bars": {"rate": RATE, "call_ms": LONGEST}}
        print(json.dumps({**about, "sources": found}, indent=2))
        return
    for name, figures in found.items():
        print(name)
        for what, value in figures.items():
            print(f"  {what}: {value}")


if __name__ == "__main__":
    main()
