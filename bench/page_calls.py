"""The chapter about single calls and many callers of docs/performance.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

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
        aims=table(("", "measured", "aim", ""), _aims(report)),
    )


def _cpu(runs: Json) -> list[Sequence[str]]:
    return [(name, f"{median(values):.0f}") for name, values in runs.items()]


def _callers(report: Json) -> list[Sequence[str]]:
    found = report["callers"]
    rows: list[Sequence[str]] = []
    for pair in zip(found[::2], found[1::2], strict=True):  # without and with batch
        rates = [f"{median(one['per_second']):,.0f}" for one in pair]
        waits = [f"{median(one['p99_ms']):.1f}" for one in pair]
        cpu = [f"{median(one['cpu_us']):.0f}" for one in pair]
        rows.append((pair[0]["of"], str(pair[0]["callers"]), *rates, *waits, *cpu))
    return rows


def _aims(report: Json) -> list[Sequence[str]]:
    us, most = median(report["cpu"]["enqueue"]), report["aims"]["enqueue_us"]
    rows: list[Sequence[str]] = [
        ("µs of the client's CPU for an enqueue", f"{us:.0f}", f"at most {most:.0f}", met(us <= most))
    ]
    for of, aim in report["aims"]["per_second"].items():
        (one,) = (one for one in report["callers"] if one["of"] == of and one["callers"] > 1 and one["batch"])
        rate = median(one["per_second"])
        rows.append(
            (f"enqueued/s by {one['callers']} callers, {of}", f"{rate:,.0f}", f"at least {aim:,}", met(rate >= aim))
        )
    return rows
