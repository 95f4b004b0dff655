"""pyadeq beside its peers: one worker process of each, no-op handlers, 100 at a time, the peer's defaults.

    python -m bench.peers [--peers pyadeq arq] [--rounds 5] [--tasks 50000] [--samples 200] [--calls 5000]
                          [--measure throughput calls steady latency recovery server] [--before COMMIT]
                          [--engine PATH] [-o json]

What the peers need is installed into build/peers, once. Each measurement has a server of its own, with the same
settings for all, reached over TCP on the loopback. In each round every peer has its turn, each round begins with
another one.

Throughput: the tasks, each with a payload of 200 bytes, are put in line before the worker starts, by one process that
says how long that took. The server is asked every 10 ms how many are completed and acknowledged; the rate is that from
a tenth of them to all, or to what is done 20 s later. A handler returns two letters, so that who keeps results has one
to keep. By its own accounts, what the server did for each task: to enqueue it, and for the worker from its start, by
the tasks that are done in the end.
Calls: one process enqueues tasks by calls of one task each: one after the other, and by 50 callers at a time, threads
or tasks of asyncio, as the peer offers it. No worker runs, and all tasks must wait in the end. The rate, the CPU of
the server and of the client for a task, and the 99th percentile of the time of a call.
Steady: each peer deletes ended tasks, by its own means: those beyond a number, or after 2 s. The queue is filled with
more than that. Then as many tasks as are kept are enqueued in bulk and completed, and as many are deleted, until no
part of them is left. What the server did for each task, and how much more it holds afterwards, divided by the tasks:
no keys, and few bytes, if the state is steady. Once, at the end.
Latency: an idle worker, one task at a time, 50 to 250 ms apart; from just before it is enqueued to the beginning of its
handler, by the clock that all processes of a machine share. The samples of all rounds count together.
Recovery: a worker that runs a task is killed while another is idle; the seconds until that one begins the task. Once,
at the end, for 150 s at most; no bar.
Server: ours alone, by calls that are packed beforehand, in batches of 100 and 10, with events on and off: the CPU of
the server's main thread for enqueue, claim and settle of a task. In each round; beside what BullMQ on Node took in its
throughput.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from bench.peers import measures
from bench.peers.contract import CONCURRENCY
from bench.peers.environments import NAMES, NODE, OURS, Peer, earlier, prepare
from pyadeq import EmbeddedServer

P = ParamSpec("P")
T = TypeVar("T")
MEASURES = ("throughput", "calls", "steady", "latency", "recovery", "server")
CALLERS = (1, 50)
LONGEST = 20.0
LIVES = 20_000  # tasks of each measurement of `server`
PYTHON = [name for name in NAMES if name not in (OURS, NODE)]


class Bar(NamedTuple):
    """How many times the best of some peers ours is: at least if the best is the most, at most if it is the least."""

    what: str
    figure: tuple[str, str]
    best: Callable[..., str]
    beside: Sequence[str]
    times: float


BARS = (
    Bar("tasks/s beside Node", ("per_second", "median"), max, [NODE], 1.5),
    Bar("tasks/s beside Python", ("per_second", "median"), max, PYTHON, 5.0),
    Bar("enqueue/s", ("enqueue_per_second", "median"), max, [NODE, *PYTHON], 1.0),
    Bar("start p50", ("start_ms", "p50"), min, [NODE, *PYTHON], 1.2),
    Bar("start p99", ("start_ms", "p99"), min, [NODE, *PYTHON], 1.5),
)
# the batch and whether there are events: how many times the server's CPU for a task of BullMQ on Node, at most
LIFE_BARS = {(100, True): 0.35, (10, True): 0.55, (100, False): 0.3, (10, False): 0.5}


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", nargs="+", choices=NAMES, default=list(NAMES), metavar="PEER", help=", ".join(NAMES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=50_000, help="for throughput, in each round")
    parser.add_argument("--calls", type=int, default=5000, help="tasks for calls, and those kept for steady")
    parser.add_argument("--before", metavar="COMMIT", help="measure ours as it was at a commit, too")
    parser.add_argument("--samples", type=int, default=200, help="for latency, of all rounds together")
    parser.add_argument(
        "--measure", nargs="+", choices=MEASURES, default=list(MEASURES), metavar="WHAT", help=", ".join(MEASURES)
    )
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    peers = [prepare(name) for name in arguments.peers]
    report = measure(peers + ([earlier(arguments.before)] if arguments.before else []), arguments)
    print(json.dumps(report, indent=2) if arguments.output == "json" else table(report))


def measure(peers: list[Peer], arguments: argparse.Namespace) -> dict[str, Any]:
    """All rounds, and what they come to."""
    wanted, binary, load = arguments.measure, arguments.engine, os.getloadavg()[0]
    found: dict[str, Found] = {peer.name: Found() for peer in peers}
    lives: dict[tuple[int, bool], list[float]] = {kind: [] for kind in LIFE_BARS}
    for number in range(arguments.rounds):
        turn = number % len(peers)
        for peer in peers[turn:] + peers[:turn]:
            one = found[peer.name]
            say(f"round {number + 1} of {arguments.rounds}: {peer.name}")
            if "throughput" in wanted and (
                flow := one.attempt(measures.throughput, peer, arguments.tasks, LONGEST, binary)
            ):
                say(f"  {flow.per_second:,.0f} tasks/s, {flow.enqueue_per_second:,.0f} enqueued/s")
                one.flows.append(flow)
            if "calls" in wanted:
                for way, callers in ((way, callers) for callers in CALLERS for way in peer.ways):
                    if calls := one.attempt(measures.calls, peer, arguments.calls, callers, way, binary):
                        rate = f"{calls.per_second:,.0f} enqueued/s, {calls.server_us:.0f} µs of the server"
                        say(f"  {callers} × {way}: {rate}, {calls.client_us:.0f} of the client")
                        one.calls.setdefault((way, callers), []).append(calls)
            if "latency" in wanted:
                share = len(range(number, arguments.samples, arguments.rounds))
                one.waits += one.attempt(measures.latency, peer, share, binary) or []
            if "server" in wanted and peer.name == OURS:
                for (batch, events), runs in lives.items():
                    if us := one.attempt(measures.life, peer, LIVES, batch, events, binary):
                        say(f"  {us:.2f} µs of the server, {named(batch, events)}")
                        runs.append(us)
    if "steady" in wanted:
        for peer in peers:
            say(f"steady: {peer.name}")
            if steady := found[peer.name].attempt(measures.steady, peer, arguments.calls, binary):
                say(f"  {steady.us:.1f} µs of the server; {steady.bytes:.0f} bytes and {steady.keys:.2f} keys left")
                found[peer.name].steady = steady
    if "recovery" in wanted:
        for peer in peers:
            say(f"recovery: {peer.name}")
            if seconds := found[peer.name].attempt(measures.recovery, peer, binary):
                say(f"  {seconds:.1f} s" if seconds < math.inf else f"  not within {measures.RECOVERY:g} s")
                found[peer.name].recovery = seconds
    results = [
        {
            "peer": peer.name,
            "versions": peer.versions,
            "mode": peer.mode,
            "kept": peer.kept,
            **found[peer.name].told(),
        }
        for peer in peers
    ]
    batches = [{"batch": batch, "events": events, **spread(us)} for (batch, events), us in lives.items() if us]
    return {
        "server": f"{engine(binary)}, appendonly yes, appendfsync {measures.APPENDFSYNC}, TCP on the loopback",
        "machine": f"{platform.platform()}, {os.cpu_count()} CPUs, load {load:.1f} before",
        "tasks": arguments.tasks,
        "calls": arguments.calls,
        "concurrency": CONCURRENCY,
        "rounds": arguments.rounds,
        "results": results,
        "batches": batches,
        "compared": compared(results) + compared_batches(results, batches),
    }


class Found:
    """What was found of one peer. A measurement that failed is said, and the others go on."""

    def __init__(self) -> None:
        self.flows: list[measures.Flow] = []
        self.calls: dict[tuple[str, int], list[measures.Calls]] = {}
        self.steady: measures.Steady | None = None
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
        if self.flows:
            told["per_second"] = spread([flow.per_second for flow in self.flows])
            told["enqueue_per_second"] = spread([flow.enqueue_per_second for flow in self.flows])
            told["server"] = self._server()
        if self.calls:
            told["calls"] = [
                {"way": way, "callers": callers, **spreads(runs)} for (way, callers), runs in self.calls.items()
            ]
        if self.steady:
            told["steady"] = self.steady._asdict()
        if len(self.waits) > 1:
            told["start_ms"] = {"p50": self._wait(50), "p99": self._wait(99), "samples": len(self.waits)}
        if self.recovery is not None:
            told["recovery_s"] = None if self.recovery == math.inf else self.recovery
        return told

    def _server(self) -> dict[str, Any]:
        phases = {
            "enqueue": [flow.enqueue for flow in self.flows],
            "work": [flow.work for flow in self.flows],
            "whole": [measures.Usage(*map(sum, zip(flow.enqueue, flow.work, strict=True))) for flow in self.flows],
        }
        return {phase: spreads(uses) for phase, uses in phases.items()}

    def _wait(self, percent: int) -> float:
        return statistics.quantiles(self.waits, n=100, method="inclusive")[percent - 1] * 1000


def compared(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ours by the best of theirs, for each bar that this run has the figures for."""
    answer = []
    for bar in BARS:
        figure, point = bar.figure
        told = {one["peer"]: one[figure][point] for one in results if figure in one}
        ours = told.pop(OURS, None)
        theirs = {name: value for name, value in told.items() if name in bar.beside}
        if ours is not None and theirs:
            best = bar.best(theirs, key=theirs.__getitem__)
            answer.append(judged(bar.what, best, ours / theirs[best], bar.times, least=bar.best is max))
    return answer


def compared_batches(results: list[dict[str, Any]], batches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The server's CPU for a task of ours, in batches, by that for one of BullMQ on Node, bulk add and drain."""
    theirs = [one["server"]["whole"]["us"]["median"] for one in results if one["peer"] == NODE and "server" in one]
    answer = []
    for one in batches if theirs else []:
        kind = (one["batch"], one["events"])
        answer.append(judged(named(*kind), NODE, one["median"] / theirs[0], LIFE_BARS[kind], least=False))
    return answer


def judged(what: str, beside: str, ratio: float, bar: float, least: bool) -> dict[str, Any]:
    met = ratio >= bar if least else ratio <= bar
    return {"what": what, "beside": beside, "ratio": ratio, "at": "least" if least else "most", "bar": bar, "met": met}


def named(batch: int, events: bool) -> str:
    return f"batches of {batch}, events {'on' if events else 'off'}"


def spread(values: list[float]) -> dict[str, Any]:
    return {"median": statistics.median(values), "rounds": values}


def spreads(runs: Sequence[Any]) -> dict[str, Any]:
    """Of each field of the rounds."""
    return {field: spread([getattr(one, field) for one in runs]) for field in runs[0]._fields}


def table(report: dict[str, Any]) -> str:
    """The figures as lines of text."""
    about = f"{report['tasks']:,} tasks, {report['concurrency']} at a time, {report['rounds']} rounds"
    heads = ("tasks/s", "lowest", "highest", "enqueue/s", "server µs", "p50 ms", "p99 ms", "recovery s")
    flows = [one for one in report["results"] if one.keys() & {"per_second", "start_ms", "recovery_s"}]
    lines = [report["server"], f"{report['machine']}; {about}", ""]
    lines += [f"{'':14}" + "".join(f"{head:>12}" for head in heads)] if flows else []
    for one in flows:
        cells, waits = flow_cells(one), one.get("start_ms")
        cells += [f"{waits['p50']:.2f}", f"{waits['p99']:.2f}"] if waits else [""] * 2
        if "recovery_s" in one:
            cells.append(f"> {measures.RECOVERY:g}" if one["recovery_s"] is None else f"{one['recovery_s']:.1f}")
        failed = f"   {len(one['failures'])} failed" if one["failures"] else ""
        lines.append(f"{one['peer']:14}" + "".join(f"{cell:>12}" for cell in cells) + failed)
    lines += ["", *calls_table(report["results"]), *steady_table(report["results"]), ""]
    for one in report["batches"]:
        lowest, highest = (pick(one["rounds"]) for pick in (min, max))
        us = f"{one['median']:.2f} ({lowest:.2f} to {highest:.2f}) µs of the server for a task"
        lines.append(f"{named(one['batch'], one['events']):28}{us}")
    if report["batches"]:
        told = {(one["batch"], one["events"]) for one in report["batches"]}
        lines += [f"{named(*kind):28}not measured" for kind in LIFE_BARS if kind not in told]
    lines.append("")
    for one in report["compared"]:
        word = "met" if one["met"] else "missed"
        ratio = f"{one['ratio']:.2f} times {one['beside']}"
        lines.append(f"{one['what']:28}{ratio:28}at {one['at']} {one['bar']:g}: {word}")
    lines.append("")
    for one in report["results"]:
        versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
        lines.append(f"{one['peer']:14}{one['mode']} ({versions})")
    return "\n".join(lines)


def calls_table(results: list[dict[str, Any]]) -> list[str]:
    """Enqueueing by single calls; nothing if that was not measured."""
    rows = [(one["peer"], calls) for one in results for calls in one.get("calls", [])]
    heads = ("callers", "enqueue/s", "server µs", "client µs", "p99 ms")
    fields = (("per_second", ",.0f"), ("server_us", ".1f"), ("client_us", ".1f"), ("p99_ms", ".2f"))
    lines = [f"{'':20}{'':22}" + "".join(f"{head:>12}" for head in heads)] if rows else []
    for name, calls in sorted(rows, key=lambda row: row[1]["callers"]):
        cells = "".join(f"{calls[field]['median']:>12{form}}" for field, form in fields)
        lines.append(f"{name:20}{calls['way']:22}{calls['callers']:>12}{cells}")
    return lines


def steady_table(results: list[dict[str, Any]]) -> list[str]:
    """A task's life with as many deleted as end; nothing if that was not measured."""
    rows = [one for one in results if "steady" in one]
    heads = ("server µs", "commands", "bytes left", "keys left")
    lines = ["", f"{'steady state':20}" + "".join(f"{head:>12}" for head in heads)] if rows else []
    for one in rows:
        us, commands, size, keys = one["steady"].values()
        lines.append(f"{one['peer']:20}{us:>12.1f}{commands:>12.1f}{size:>12.0f}{keys:>12.2f}   {one['kept']}")
    return lines


def flow_cells(result: dict[str, Any]) -> list[str]:
    if "per_second" not in result:
        return [""] * 5
    rates, whole = result["per_second"], result["server"]["whole"]["us"]
    return [
        f"{rates['median']:,.0f}",
        *(f"{pick(rates['rounds']):,.0f}" for pick in (min, max)),
        f"{result['enqueue_per_second']['median']:,.0f}",
        f"{whole['median']:.1f}",
    ]


def engine(binary: Path | None) -> str:
    with EmbeddedServer(binary=binary) as server:
        return server.engine


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
