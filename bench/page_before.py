"""The chapter of docs/performance.md about what a service pays: before and after, and beside other queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.page_figures import LIFE, Json, figure, met, table
from bench.peers.environments import OURS

TEXT = Path(__file__).with_name("page_before.md")
CALLS = ("", "way of calling", "callers", "enqueued/s", "server µs", "client µs", "p99 ms")
STEADY = ("", "what deletes ended tasks", "server µs", "server commands", "bytes left", "keys left")
KEPT = ("kept", "version", "before it is full", "full, by number", "full, by age", "× before", "")
SINGLE, MANY = ("threads", 1), ("asyncio, batch=True", 50)


def of_before(report: Json | None) -> str:
    """The chapter; empty until there is a report."""
    if report is None:
        return ""
    peers, retention = report["peers"], report["retention"]
    return TEXT.read_text().format(
        machine=peers["machine"],
        engine=peers["server"],
        commit=report["commit"][:8],
        rounds=report["rounds"],
        calls_each=f"{peers['calls']:,}",
        rows=table(("", "before", "now", "aim", ""), rows(report)),
        calls=table(CALLS, of_calls(peers)),
        steady=table(STEADY, of_steady(peers)),
        kept=table(KEPT, of_retention(retention)),
    )


def rows(report: Json) -> list[Sequence[str]]:
    """Each figure before and after, where a step measured it."""
    found: list[Sequence[str]] = []
    for step, what, form, aim, value in FIGURES:
        if step not in report:
            continue
        before, now = (value(report, version) for version in ("before", "now"))
        goal = aim(report) if callable(aim) else aim
        least = goal is not None and goal < 0  # at least so much
        word = "" if goal is None else f"at {'least' if least else 'most'} {abs(goal):{form}}"
        done = "" if goal is None else met(now >= -goal if least else now <= goal)
        found.append((what, f"{before:{form}}", f"{now:{form}}", word, done))
    return found


Value = Callable[[Json, str], float]


def called(field: str, way: tuple[str, int]) -> Value:
    """Of tasks that callers enqueued by single calls."""

    def value(report: Json, version: str) -> float:
        peer = ours(report, version)
        one = next(one for one in peer["calls"] if (one["way"], one["callers"]) == way)
        return float(one[field]["median"])

    return value


def waited(point: str) -> Value:
    return lambda report, version: float(ours(report, version, "latency")["start_ms"][point])


def best_wait(point: str, times: float, *names: str) -> Callable[[Json], float]:
    """The aim by the fastest of other queues, or of these."""

    def aim(report: Json) -> float:
        others = [
            one["start_ms"][point]
            for one in report["latency"]["results"]
            if not one["peer"].startswith(OURS) and (not names or one["peer"] in names) and "start_ms" in one
        ]
        return times * float(min(others))

    return aim


def ours(report: Json, version: str, step: str = "peers") -> Any:
    name = OURS if version == "now" else f"{OURS} at {report['commit']}"
    return next(one for one in report[step]["results"] if one["peer"] == name)


def cost(batch: int) -> Value:
    return lambda report, version: float(min(figure(report["bench"][version], "cost", LIFE, batch=batch)["values"]))


def memory(state: str) -> Value:
    return lambda report, version: float(figure(report["bench"][version], "memory", state)["median"])


def idle(report: Json, version: str) -> float:
    return float(figure(report["bench"][version], "idle", "one worker without work", concurrency=100)["median"])


def client_us(report: Json, version: str) -> float:
    return float(min(report["client_calls"][version]["cpu"]["enqueue"]))


def steady_us(report: Json, version: str) -> float:
    return float(ours(report, version)["steady"]["us"])


def callers(of: str) -> Value:
    """Tasks a second of 50 callers, with `batch` if the version has it."""

    def value(report: Json, version: str) -> float:
        some = [one for one in report["client_calls"][version]["callers"] if one["of"] == of and one["callers"] > 1]
        return float(max(*max(some, key=lambda one: bool(one["batch"]))["per_second"], 0.0))

    return value


def start(name: str, field: str) -> Value:
    return lambda report, version: float(min(report["client_calls"][version]["starts"][name][field]))


# the step that measures it, what, its form, the aim (below 0: at least), and the figure of a version
FIGURES: Sequence[tuple[str, str, str, float | Callable[[Json], float] | None, Value]] = (
    ("peers", "enqueue one by one, server µs", ".0f", 42, called("server_us", SINGLE)),
    ("peers", "enqueue one by one, tasks/s", ",.0f", -8000, called("per_second", SINGLE)),
    ("client_calls", "enqueue one by one, client µs", ".0f", 75, client_us),
    ("client_calls", "50 callers, asyncio, `batch=True`, tasks/s", ",.0f", -30_000, callers("asyncio")),
    ("client_calls", "50 callers, threads, `batch=True`, tasks/s", ",.0f", -20_000, callers("threads")),
    ("peers", "steady state with a worker, server µs", ".1f", None, steady_us),
    ("bench", "enqueue, claim, settle, one by one, server µs", ".0f", None, cost(1)),
    ("bench", "the same in tens, server µs", ".1f", None, cost(10)),
    ("bench", "the same in hundreds, server µs", ".1f", None, cost(100)),
    ("bench", "a waiting task, bytes", ".0f", 500, memory("ready")),
    ("bench", "a completed task, bytes", ".0f", 530, memory("completed")),
    ("latency", "start of a task, idle worker, p50 ms", ".2f", best_wait("p50", 1.1, "huey"), waited("p50")),
    ("latency", "start of a task, idle worker, p99 ms", ".2f", best_wait("p99", 1.0), waited("p99")),
    ("bench", "an idle worker, commands/s with those in scripts", ".1f", 1.2, idle),
    ("client_calls", "`import pyadeq`, ms", ".0f", 150, start("import pyadeq", "ms")),
    ("client_calls", "`adeq queue ls`, ms", ".0f", 250, start("adeq queue ls", "ms")),
    ("client_calls", "`adeq queue ls`, ms of CPU", ".0f", None, start("adeq queue ls", "cpu_ms")),
)


def of_calls(peers: Json) -> Iterator[Sequence[str]]:
    """One by one first, then many callers, each with the fastest first."""
    found = [(one["peer"], calls) for one in peers["results"] for calls in one.get("calls", [])]
    found.sort(key=lambda row: (row[1]["callers"], -row[1]["per_second"]["median"]))
    fields = (("per_second", ",.0f"), ("server_us", ".0f"), ("client_us", ".0f"), ("p99_ms", ".2f"))
    for name, calls in found:
        cells = (f"{calls[field]['median']:{form}}" for field, form in fields)
        yield named(name), calls["way"], str(calls["callers"]), *cells


def of_steady(peers: Json) -> Iterator[Sequence[str]]:
    """The cheapest first."""
    found = [one for one in peers["results"] if "steady" in one]
    found.sort(key=lambda one: one["steady"]["us"])
    fields = (("us", ".0f"), ("commands", ".0f"), ("bytes", ".0f"), ("keys", ".1f"))
    for one in found:
        cells = (f"{one['steady'][field]:{form}}" for field, form in fields)
        yield named(one["peer"]), one["kept"], *cells


def of_retention(retention: Json) -> Iterator[Sequence[str]]:
    """Both versions, and how many times the version before costs until its retention is full."""
    versions = retention["versions"]
    base = {one["kept"]: median(one["filling"]["us"]) for one in versions.get("before", versions["now"])["runs"]}
    for at, kept in enumerate(base):
        for name, version in versions.items():
            one = version["runs"][at]
            us = [median(one[kind]["us"]) for kind in ("filling", "number", "age")]
            ratio = max(us[1:]) / base[kept]
            judged = met(ratio <= retention["aim"]) if name == "now" else ""
            yield f"{kept:,}", name, *(f"{one:.1f}" for one in us), f"{ratio:.2f}", judged


def named(peer: str) -> str:
    return f"**{peer}**" if peer == OURS else peer
