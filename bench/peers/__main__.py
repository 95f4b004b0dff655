"""pyadeq beside its peers: one worker process of each, no-op handlers, 100 at a time, the peer's defaults.

    python -m bench.peers [--peers pyadeq arq] [--rounds 5] [--tasks 50000] [--samples 200]
                          [--measure throughput latency recovery] [--engine PATH] [-o json]

What the peers need is installed into build/peers, once. Each measurement has a server of its own, with the same
settings for all, reached over TCP on the loopback. In each round every peer has its turn, each round begins with
another one.

Throughput: the tasks are put in line before the worker starts. The server is asked every 10 ms how many are completed
and acknowledged; the rate is that from a tenth of them to all, or to what is done 20 s later. A handler returns two
letters, so that who keeps results has one to keep.
Latency: an idle worker, one task at a time, 50 to 250 ms apart; from just before it is enqueued to the beginning of its
handler, by the clock that all processes of a machine share. The samples of all rounds count together.
Recovery: a worker that runs a task is killed while another is idle; the seconds until that one begins the task. Once,
at the end, for 150 s at most; no bar.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from bench.peers import measures
from bench.peers.contract import CONCURRENCY
from bench.peers.environments import NAMES, NODE, OURS, Peer, prepare
from pyadeq import EmbeddedServer

P = ParamSpec("P")
T = TypeVar("T")
MEASURES = ("throughput", "latency", "recovery")
LONGEST = 20.0
PYTHON = [name for name in NAMES if name not in (OURS, NODE)]
# what: where the figure is, which is best, beside whom, and how many times the best one ours is, at least or at most
BARS: dict[str, tuple[str, str, Callable[..., str], list[str], float]] = {
    "tasks/s beside Node": ("per_second", "median", max, [NODE], 1.2),
    "tasks/s beside Python": ("per_second", "median", max, PYTHON, 4.0),
    "start p50": ("start_ms", "p50", min, [NODE, *PYTHON], 1.2),
    "start p99": ("start_ms", "p99", min, [NODE, *PYTHON], 1.5),
}


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", nargs="+", choices=NAMES, default=list(NAMES), metavar="PEER", help=", ".join(NAMES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=50_000, help="for throughput, in each round")
    parser.add_argument("--samples", type=int, default=200, help="for latency, of all rounds together")
    parser.add_argument(
        "--measure", nargs="+", choices=MEASURES, default=list(MEASURES), metavar="WHAT", help=", ".join(MEASURES)
    )
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    report = measure([prepare(name) for name in arguments.peers], arguments)
    print(json.dumps(report, indent=2) if arguments.output == "json" else table(report))


def measure(peers: list[Peer], arguments: argparse.Namespace) -> dict[str, Any]:
    """All rounds, and what they come to."""
    wanted, binary, load = arguments.measure, arguments.engine, os.getloadavg()[0]
    found: dict[str, Found] = {peer.name: Found() for peer in peers}
    for number in range(arguments.rounds):
        turn = number % len(peers)
        for peer in peers[turn:] + peers[:turn]:
            one = found[peer.name]
            say(f"round {number + 1} of {arguments.rounds}: {peer.name}")
            if "throughput" in wanted and (
                rate := one.attempt(measures.throughput, peer, arguments.tasks, LONGEST, binary)
            ):
                say(f"  {rate:,.0f} tasks/s")
                one.rates.append(rate)
            if "latency" in wanted:
                share = len(range(number, arguments.samples, arguments.rounds))
                one.waits += one.attempt(measures.latency, peer, share, binary) or []
    if "recovery" in wanted:
        for peer in peers:
            say(f"recovery: {peer.name}")
            if seconds := found[peer.name].attempt(measures.recovery, peer, binary):
                say(f"  {seconds:.1f} s" if seconds < math.inf else f"  not within {measures.RECOVERY:g} s")
                found[peer.name].recovery = seconds
    results = [
        {"peer": peer.name, "versions": peer.versions, "mode": peer.mode, **found[peer.name].told()} for peer in peers
    ]
    return {
        "server": f"{engine(binary)}, appendonly yes, appendfsync {measures.APPENDFSYNC}, TCP on the loopback",
        "machine": f"{platform.platform()}, {os.cpu_count()} CPUs, load {load:.1f} before",
        "tasks": arguments.tasks,
        "concurrency": CONCURRENCY,
        "rounds": arguments.rounds,
        "results": results,
        "compared": compared(results),
    }


class Found:
    """What was found of one peer. A measurement that failed is said, and the others go on."""

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.waits: list[float] = []
        self.recovery: float | None = None
        self.failures: list[str] = []

    def attempt(self, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return act(*args, **kwargs)
        except measures.Failed as failed:
            say(str(failed))
            self.failures.append(str(failed))
            return None

    def told(self) -> dict[str, Any]:
        """All of it; what was not measured is left out."""
        told: dict[str, Any] = {"failures": self.failures}
        if self.rates:
            told["per_second"] = {"median": statistics.median(self.rates), "rounds": self.rates}
        if len(self.waits) > 1:
            told["start_ms"] = {"p50": self._wait(50), "p99": self._wait(99), "samples": len(self.waits)}
        if self.recovery is not None:
            told["recovery_s"] = None if self.recovery == math.inf else self.recovery
        return told

    def _wait(self, percent: int) -> float:
        return statistics.quantiles(self.waits, n=100, method="inclusive")[percent - 1] * 1000


def compared(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ours by the best of theirs, for each bar that this run has the figures for."""
    answer = []
    for what, (figure, point, better, names, bar) in BARS.items():
        told = {one["peer"]: one[figure][point] for one in results if figure in one}
        ours = told.pop(OURS, None)
        theirs = {name: value for name, value in told.items() if name in names}
        if ours is not None and theirs:
            best = better(theirs, key=theirs.__getitem__)
            ratio = ours / theirs[best]
            met = ratio >= bar if better is max else ratio <= bar
            answer.append({"what": what, "beside": best, "ratio": ratio, "bar": bar, "met": met})
    return answer


def table(report: dict[str, Any]) -> str:
    """The figures as lines of text."""
    about = f"{report['tasks']:,} tasks, {report['concurrency']} at a time, {report['rounds']} rounds"
    heads = ("tasks/s", "lowest", "highest", "p50 ms", "p99 ms", "recovery s")
    lines = [
        report["server"],
        f"{report['machine']}; {about}",
        "",
        f"{'':14}" + "".join(f"{head:>12}" for head in heads),
    ]
    for one in report["results"]:
        rates, waits = one.get("per_second"), one.get("start_ms")
        cells = (
            [f"{rates['median']:,.0f}", *(f"{pick(rates['rounds']):,.0f}" for pick in (min, max))]
            if rates
            else [""] * 3
        )
        cells += [f"{waits['p50']:.2f}", f"{waits['p99']:.2f}"] if waits else [""] * 2
        if "recovery_s" in one:
            cells.append(f"> {measures.RECOVERY:g}" if one["recovery_s"] is None else f"{one['recovery_s']:.1f}")
        failed = f"   {len(one['failures'])} failed" if one["failures"] else ""
        lines.append(f"{one['peer']:14}" + "".join(f"{cell:>12}" for cell in cells) + failed)
    lines.append("")
    for one in report["compared"]:
        side = "at least" if one["what"].startswith("tasks") else "at most"
        word = "met" if one["met"] else "missed"
        ratio = f"{one['ratio']:.2f} times {one['beside']}"
        lines.append(f"{one['what']:24}{ratio:28}{side} {one['bar']:g}: {word}")
    lines.append("")
    for one in report["results"]:
        versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
        lines.append(f"{one['peer']:14}{one['mode']} ({versions})")
    return "\n".join(lines)


def engine(binary: Path | None) -> str:
    with EmbeddedServer(binary=binary) as server:
        return server.engine


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
