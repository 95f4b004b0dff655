"""The chapter about moving from other queues of docs/performance.md, beside our aims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.page_figures import Json, met, table

TEXT = Path(__file__).with_name("page_migrate.md")
MOVES = ("", "tasks", "moved/s", "", "kills", "lost", "run twice", "rollback exact")
CALLS = ("", "call", "longest ms", "above {} ms", "")


def of_migrate(report: Json | None) -> str:
    """The chapter; empty until there is a report."""
    if report is None:
        return ""
    locks = report["sources"]["locks"]
    most = report["bars"]["call_ms"]
    return TEXT.read_text().format(
        machine=report["machine"],
        moves=table(MOVES, _moves(report)),
        calls=table([head.format(f"{most:g}") for head in CALLS], _calls(report, most)),
        taken=f"{locks['taken']:,}",
        broken=locks["held_twice_at_once"],
        kills=locks["kills"],
    )


def _moves(report: Json) -> Iterator[Sequence[str]]:
    for name, one in report["sources"].items():
        if "moved" in one:
            fast = met(one["moved_per_second"] >= report["bars"]["rate"])
            exact = "yes" if one["rollback_is_exact"] else "no"
            counts = (str(one[what]) for what in ("kills", "lost", "ran_twice"))
            yield name, f"{one['tasks']:,}", f"{one['moved_per_second']:,}", fast, *counts, exact


def _calls(report: Json, most: float) -> Iterator[Sequence[str]]:
    for name, one in report["sources"].items():
        for call, ms in one["worst_call_ms"].items():
            yield name, call, f"{ms:.1f}", str(one["calls_above_5_ms"][call]), met(ms <= most)
