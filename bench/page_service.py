"""The chapter about the REST service of docs/performance.md, beside our aims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.page_figures import Json, met, table

TEXT = Path(__file__).with_name("page_service.md")


def of_service(report: Json | None) -> str:
    """The chapter; empty until there is a report."""
    if report is None:
        return ""
    get, memory = report["get"], report["memory"]
    return TEXT.read_text().format(
        machine=report["machine"],
        engine=report["engine"],
        tasks=f"{report['tasks']:,}",
        load=f"{report['load']:.1f}",
        bars=table(("", "measured", "aim", ""), _bars(report["bars"])),
        rows=table(("ms", "p50", "p99", "most"), _rows(report)),
        rate=get["per_second"],
        cpu=get["cpu_us"],
        most=get["most_per_second"],
        requests=memory["requests"],
        twice=2 * memory["requests"],
        before=memory["before"],
        after=memory["after"],
    )


def _bars(bars: Json) -> Iterator[Sequence[str]]:
    for name, one in bars.items():
        yield name, f"{one['is']:,.2f}", f"{one['at']} {one['bar']:,g}", met(one["met"])


def _rows(report: Json) -> Iterator[Sequence[str]]:
    found = {
        "GET of a task": report["get"],
        "enqueue with the client": report["enqueue"]["client"],
        "enqueue by REST": report["enqueue"]["rest"],
        **{f"page of 50 by {index}": times for index, times in report["pages"].items()},
    }
    for name, times in found.items():
        yield name, *(f"{times[key]:.2f}" for key in ("p50", "p99", "most"))
