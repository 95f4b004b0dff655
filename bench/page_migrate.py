"""The chapter about moving from other queues of docs/performance.md, beside our aims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.page_figures import Json, met, table

TEXT = Path(__file__).with_name("page_migrate.md")
MOVES = ("", "tasks", "moved/s", "", "kills", "lost", "run twice", "not recorded once", "rollback exact")
CALLS = ("", "script calls", "timed", "longest, CPU ms", "above {} ms", "longest, clock ms", "above {} ms", "")


def of_migrate(report: Json | None) -> str:
    """The chapter; empty until there is a report."""
    if report is None:
        return ""
    locks = report["sources"]["locks"]
    most = report["bars"]["call_ms"]
    return TEXT.read_text().format(
        machine=report["machine"],
        server=", ".join({one["server"]: 0 for one in report["sources"].values() if "server" in one}),
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
            counts = (str(one[what]) for what in ("kills", "lost", "ran_twice", "not_recorded_once"))
            yield name, f"{one['tasks']:,}", f"{one['moved_per_second']:,}", fast, *counts, exact


def _calls(report: Json, most: float) -> Iterator[Sequence[str]]:
    for name, one in report["sources"].items():
        for call, found in one["calls"].items():
            cpu: tuple[str, ...] = ("", "", "")
            if found["timed"]:
                cpu = (f"{found['timed']:,}", f"{found['longest_cpu_ms']:.1f}", str(found["above_5_ms_cpu"]))
            short = met(not found["above_5_ms"] or (found["timed"] > 0 and not found["above_5_ms_cpu"]))
            clock = f"{found['longest_ms']:.1f}" if found["longest_ms"] else "< 2"
            yield name, call, *cpu, clock, str(found["above_5_ms"]), short
