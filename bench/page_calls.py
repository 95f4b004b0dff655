"""The chapter about single calls and many callers of docs/performance.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.page_figures import Json, met, table

HEADS = ("", "callers", "enqueued/s", "with `batch`", "p99 ms", "with `batch`", "CPU µs", "with `batch`")
TEXT = Path(__file__).with_name("page_calls.md")


def of_calls(report: Json | None) -> str:
    """The chapter; empty until there is a report."""
    if report is None:
        return ""
    return TEXT.read_text().format(
        machine=report["machine"],
        engine=report["engine"],
        rounds=report["rounds"],
        load=f"{report['load']:.0f}",
        cpu=table(("call", "µs of the client's CPU"), _cpu(report["cpu"])),
        callers=table(HEADS, _callers(report)),
        starts=table(("", "ms", "ms of CPU"), _starts(report["starts"])),
        aims=table(("", "measured", "aim", ""), _aims(report)),
    )


def _cpu(runs: Json) -> list[Sequence[str]]:
    return [(name, f"{min(values):.0f}") for name, values in runs.items()]


def _starts(starts: Json) -> list[Sequence[str]]:
    return [(f"`{name}`", f"{min(one['ms']):.0f}", f"{min(one['cpu_ms']):.0f}") for name, one in starts.items()]


def _callers(report: Json) -> list[Sequence[str]]:
    found = report["callers"]
    rows: list[Sequence[str]] = []
    for pair in zip(found[::2], found[1::2], strict=True):  # without and with batch
        rates = [f"{max(one['per_second']):,.0f}" for one in pair]
        waits = [f"{min(one['p99_ms']):.1f}" for one in pair]
        cpu = [f"{min(one['cpu_us']):.0f}" for one in pair]
        rows.append((pair[0]["of"], str(pair[0]["callers"]), *rates, *waits, *cpu))
    return rows


def _aims(report: Json) -> list[Sequence[str]]:
    us, most = min(report["cpu"]["enqueue"]), report["aims"]["enqueue_us"]
    rows: list[Sequence[str]] = [
        ("µs of the client's CPU for an enqueue", f"{us:.0f}", f"at most {most:.0f}", met(us <= most))
    ]
    for of, aim in report["aims"]["per_second"].items():
        (one,) = (one for one in report["callers"] if one["of"] == of and one["callers"] > 1 and one["batch"])
        rate = max(one["per_second"])
        rows.append(
            (f"enqueued/s by {one['callers']} callers, {of}", f"{rate:,.0f}", f"at least {aim:,}", met(rate >= aim))
        )
    for name, aim in report["aims"]["start_ms"].items():
        ms = min(report["starts"][name]["ms"])
        rows.append((f"`{name}`, ms", f"{ms:.0f}", f"at most {aim}", met(ms <= aim)))
    return rows
