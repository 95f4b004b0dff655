"""The chapter about requests of docs/performance.md: sessions and rates, beside our aims and other limiters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.page_figures import Json, met, table

TEXT = Path(__file__).with_name("page_requests.md")


def of_requests(rates: Json | None, sessions: Json | None) -> str:
    """The chapter; empty until both reports are there."""
    if rates is None or sessions is None:
        return ""
    return TEXT.read_text().format(
        machine=rates["machine"],
        engine=rates["engine"],
        rounds=rates["rounds"],
        sessions=table(("call", "µs", "aim", ""), _sessions(sessions)),
        rates=table(("hit", "µs, lowest", "µs, highest"), _runs(rates["runs"])),
        clients=table(("call", "µs, lowest", "µs, highest"), _runs(rates["clients"])),
        bars=table(("", "measured", "at most", ""), _bars(rates["bars"])),
    )


def _sessions(report: Json) -> list[Sequence[str]]:
    aims = report["at_most"]
    return [
        (call, f"{us:.1f}", *((f"{aims[call]:.0f}", met(us <= aims[call])) if call in aims else ("", "")))
        for call, us in report["lowest"].items()
    ]


def _runs(runs: Json) -> list[Sequence[str]]:
    return [(name, f"{min(values):.1f}", f"{max(values):.1f}") for name, values in runs.items()]


def _bars(bars: Json) -> list[Sequence[str]]:
    return [
        (name, f"{one['is']:.2f}", f"{one['at_most']:g}", met(one["is"] <= one["at_most"]))
        for name, one in bars.items()
    ]
