"""`adeq task show`, `adeq dead show`: one task. `adeq task steps`: what its runs have stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from pyadeq.ext.cli.shared.arguments import TaskId
from pyadeq.ext.cli.shared.common import as_json, iso
from pyadeq.ext.cli.shared.queue_arguments import ThisQueue
from pyadeq.ext.cli.shared.running import Document, Table, with_client
from pyadeq.ext.cli.shared.shown import plain
from pyadeq.ext.cli.shared.tables import print_rows
from pyadeq.ext.cli.task.listing import not_found, print_task, time_of, whole
from pyadeq.ext.cli.task.reveal import Actor, Reveal, as_asked
from pyadeq.ext.shared.terminal import safe, stdout
from pyadeq.tiers import may_show, shown_steps

if TYPE_CHECKING:
    from pyadeq import PartitionedQueue, Queue, TaskRun, TaskStep, TaskView


@with_client
def show(queue: ThisQueue, id: TaskId, reveal: Reveal = False, actor: Actor = None) -> Document:
    """Show everything about a task that its data tier allows: payload, result, error, runs, and its log."""
    task = _existing(queue, id)
    task = as_asked(queue, task, reveal, actor)
    runs = queue.inspect.runs(id)
    if not (reveal or may_show(task.tier, "error")):
        runs = [run.model_copy(update={"error": None}) for run in runs]
    log = queue.inspect.log(id) if reveal or may_show(task.tier, "content") else []
    lines = [{"at": line.at, "at_iso": iso(line.at), "text": line.text} for line in log]
    return Document(
        {**whole(task), "runs": [_as_json(run) for run in runs], "log": lines}, lambda: _print(task, runs, lines)
    )


@with_client
def steps(queue: ThisQueue, id: TaskId, reveal: Reveal = False, actor: Actor = None) -> Document:
    """Show the stored steps of a durable task, in the order in which they were stored, as its data tier allows."""
    task = as_asked(queue, _existing(queue, id), reveal, actor)
    found = queue.inspect.steps(id)
    found = found if reveal else shown_steps(task.tier, found)
    rows = [(one.full_name, one.kind, iso(one.at), str(one.fence), _value(one)) for one in found]
    heads = ("step", "kind", "stored", "fence", "value")
    waits = f"waits for {task.waits_for}, until {iso(task.due)}" if task.waits_for and task.due else ""
    table = Table(heads, rows, right=("fence",), spare=("fence", "stored"))
    return Document(
        {"task": id, "waits_for": task.waits_for, "items": [plain(one) for one in found]}, table, note=waits
    )


def _existing(queue: Queue | PartitionedQueue, id: str) -> TaskView:
    task = queue.get(id)
    if task is None:
        raise not_found(queue.name, id)
    return task


def _value(step: TaskStep) -> str:
    if step.kind == "sleep":
        return f"until {iso(step.due)}" if step.due else ""
    return "" if step.result is None else safe(as_json(step.result))


def _print(task: TaskView, runs: Sequence[TaskRun], log: Sequence[dict[str, Any]]) -> None:
    console = stdout()
    print_task(console, task)
    if runs:
        console.print(Text("\nruns", style="bold"))
        _draw(runs)
    if log:
        console.print(Text("\nlog", style="bold"))
    for line in log:
        console.print(Text(f"{line['at_iso']} {safe(line['text'])}"), soft_wrap=True)


def _draw(runs: Sequence[TaskRun]) -> None:
    """Print a time line: a line for each run."""
    if runs[0].delivery > 1:
        print(f"(older runs are no longer known: {runs[0].delivery - 1:,})")
    rows = [(str(one.delivery), iso(one.started), _took(one), safe(one.worker), one.outcome, _why(one)) for one in runs]
    print_rows(("run", "started", "took", "worker", "outcome", "why"), rows, right=("took",), spare=("worker", "took"))


def _took(run: TaskRun) -> str:
    return "" if run.seconds is None else f"{run.seconds:,.3f} s"


def _why(run: TaskRun) -> str:
    """The reason, and the last line of the error: a traceback ends with its exception."""
    reason, line = run.reason or "", safe(((run.error or "").strip().splitlines() or [""])[-1])
    return line if line.startswith(reason) else f"{reason}: {line}".removesuffix(": ")


def _as_json(run: TaskRun) -> dict[str, Any]:
    return {**run.model_dump(), "started_iso": iso(run.started), "ended_iso": time_of(run.ended) or None}
