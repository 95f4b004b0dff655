"""What the demo found out: as a model, and as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pyadeq.ext.prove.demo.proof import Check
from pyadeq.ext.shared.columns import columns


class Times(BaseModel):
    """Percentiles of durations, in seconds; the smallest value that is not below that share of them."""

    p50: float
    p90: float
    p99: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Times:
        """Exact percentiles, by nearest rank; zeros of nothing."""
        ordered = sorted(seconds) or [0.0]
        p50, p90, p99 = (ordered[math.ceil(len(ordered) * share) - 1] for share in (0.5, 0.9, 0.99))
        return cls(p50=p50, p90=p90, p99=p99)


class Setup(BaseModel):
    """What the demo ran on, and with which settings (seconds)."""

    engine: str
    python: str
    workers: int
    concurrency: int
    lease: float
    backoff_base: float
    backoff_cap: float
    max_attempts: int


class Killed(BaseModel):
    """The worker that was killed. taken_back_after: seconds from the kill until its last lease was taken back."""

    worker: str
    pid: int
    done: int
    held: int
    taken_back_after: float | None


class Report(BaseModel):
    """All of it. ok: every line of the proof holds. seconds: first task enqueued to last task settled. starts: how
    often the handler was started, as it noted itself, and `started_again` for which tasks more than once. accepted: how
    many results the server took.
    """

    ok: bool
    setup: Setup
    started: float
    started_iso: str
    tasks: int
    files: int
    delayed: int
    seconds: float
    tasks_per_second: float
    wait: dict[str, Times]
    run: Times
    starts: int
    started_again: list[str]
    accepted: int
    retries: int
    taken_back: int
    dead: int
    killed: Killed | None
    totals: dict[str, int]
    proof: list[Check]
    data_dir: str | None = None


def print_report(console: Console, report: Report) -> None:
    """Print the numbers and the proof."""
    times = [("run", report.run), *((f"wait, {who}", waits) for who, waits in report.wait.items())]
    rows = [(what, *(f"{value * 1000:,.0f}" for value in (one.p50, one.p90, one.p99))) for what, one in times]
    heads = ["milliseconds", "p50", "p90", "p99"]
    console.print()
    console.print(columns(heads, rows, right=heads[1:]))
    console.print()
    console.print("Counted", style="bold")
    lines = [
        f"{report.tasks:,} tasks in {report.seconds:.1f} s, {int(report.killed is not None)} worker killed",
        f"{report.starts:,} starts of the handler; again for {', '.join(report.started_again) or 'no task'}",
        f"{report.accepted:,} results accepted for {report.files:,} files, and {report.dead} task dead",
    ]
    console.print("\n".join(f"  {line}" for line in lines), highlight=False, markup=False, soft_wrap=True)
    print_proof(console, report.proof)


def print_proof(console: Console, checks: Sequence[Check]) -> None:
    """Print a line for each check."""
    console.print()
    console.print("Proof", style="bold")
    yes, no = ("✓", "✗") if "utf" in console.encoding else ("ok", "FAILED")
    proof = Table.grid(padding=(0, 1))
    for check in checks:
        mark = Text(f"  {yes}", style="green") if check.holds else Text(f"  {no}", style="bold red")
        proof.add_row(mark, Text(check.claim + (f" ({check.detail})" if check.detail else "")))
    console.print(proof)
