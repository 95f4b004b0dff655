"""How long the longest legal calls of each script keep a server, in the worst legal states.

    python -m bench.worst_calls [-o json] [--repeat N] [part of a name …]

The states and calls are those of the size tests (tests/nouns/*/sizes*.py). The time is what the server spends on the
call: the CPU of its main thread, or the time that it counts for the script, whichever is less, for other work of the
machine adds to both. Each call is made on a state of its own, as often as said.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from statistics import median
from typing import Any

import redis

from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.prove.bench.figures import machine
from pyadeq.ext.prove.bench.scene import engine_of
from tests.nouns import watched
from tests.nouns.benches import BENCHES
from tests.nouns.lock import sizes as sizes_of_locks
from tests.nouns.queue import sizes_of_queues, sizes_of_tasks
from tests.nouns.size import SIZES, Size
from tests.nouns.watched import WatchedClient

__all__ = ["sizes_of_locks", "sizes_of_queues", "sizes_of_tasks"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", choices=["text", "json"], default="text")
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    parser.add_argument("names", nargs="*", help="only calls whose names have one of these parts")
    options = parser.parse_args()
    chosen = [size for size in SIZES if not options.names or any(part in size.name for part in options.names)]
    with EmbeddedServer() as server:
        client = redis.Redis.from_url(server.url)
        client.config_set("auto-aof-rewrite-percentage", 0)  # a fork makes each first write to a page dearer
        report = {
            "machine": machine(),
            "engine": engine_of(client),
            "repeat": options.repeat,
            "calls": list(measured(client, chosen, options.repeat)),
        }
    if options.output == "json":
        print(json.dumps(report, indent=1))


def measured(client: redis.Redis, sizes: list[Size], repeat: int) -> Iterator[dict[str, Any]]:
    """Each call with its times in ms; what is known already goes to the screen."""
    watched.PATIENCE = 120  # type: ignore[misc]  # seconds for a reply
    watcher = WatchedClient(client)
    for size in sizes:
        times, commands = zip(*(once(client, watcher, size) for _ in range(repeat)), strict=True)
        found = {"script": size.script_id, "what": size.name, "items": size.items, "usual": size.usual}
        found |= {"beyond": True} if size.beyond else {}
        print(f"{median(times):9.1f} ms {max(commands):8,} commands  {size.name}", file=sys.stderr)
        yield {**found, "commands": max(commands), "ms": [round(ms, 2) for ms in times]}


def once(client: redis.Redis, watcher: WatchedClient, size: Size) -> tuple[float, int]:
    """The time of one call in ms, and the commands that its script sent."""
    bench = BENCHES[size.noun](client, watcher, f"ade:{{{size.noun}:worst}}")
    call = size(bench)
    client.script_flush("SYNC")  # with the garbage of the scripts that made the state
    watcher.server("SCRIPT", "LOAD", call.script.text)
    client.config_resetstat()
    before = cpu_ms(client)
    call.decode(list(watcher.server(*call.command())))
    spent = cpu_ms(client) - before
    stats: dict[str, Any] = client.info("commandstats")
    counted = sum(stats[name]["usec"] for name in ("cmdstat_evalsha", "cmdstat_evalsha_ro") if name in stats) / 1000
    commands = sum(
        one["calls"] for name, one in stats.items() if not name.startswith(("cmdstat_evalsha", "cmdstat_info"))
    )
    bench.remove()
    return min(spent, counted), commands - 1  # without CONFIG RESETSTAT


def cpu_ms(client: redis.Redis) -> float:
    used: dict[str, Any] = client.info("cpu")
    return float(used["used_cpu_user_main_thread"] + used["used_cpu_sys_main_thread"]) * 1000


if __name__ == "__main__":
    main()
