"""What a chaos run found out: as a model, and as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from pydantic import BaseModel
from rich.console import Console
from rich.text import Text

from pyadeq import library
from pyadeq.ext.prove.chaos.case import Verdict
from pyadeq.ext.prove.chaos.history import History
from pyadeq.ext.prove.chaos.parts import PARTS
from pyadeq.ext.shared.columns import columns
from pyadeq.ext.shared.terminal import safe

SHOWN = 10  # violations in the table
NAMES = {
    "kill_client": "client killed",
    "freeze_client": "client frozen for longer than a lease",
    "clock_off": "client with a wrong clock",
    "restart": "server started anew",
    "failover": "failover",
    "clock_back": "server's clock stepped back",
}


class Found(BaseModel):
    """A broken rule, as Violation has it."""

    rule: str
    subject: str
    text: str


class Report(BaseModel):
    """One run, or several together.

    faults: what was injected, and what befell the server, by kind. tasks: those made, by the state in the end (`gone`:
    there is none). nouns: what was done with each other noun, by kind. calls: by outcome. granted: locks. checks: by
    rule. lost: what was not confirmed and is gone, by the durability of the call and by its verb. problems: what kept
    the run from being complete. history: the file that has it all.
    """

    ok: bool
    seconds: float = 0.0
    seed: int | None = None
    server: str | None = None
    clients: int = 0
    faults: dict[str, int] = {}
    tasks: dict[str, int] = {}
    granted: int = 0
    nouns: dict[str, dict[str, int]] = {}
    calls: dict[str, int] = {}
    checks: dict[str, int] = {}
    lost: dict[str, dict[str, int]] = {}
    violations: list[Found] = []
    problems: list[str] = []
    history: str | None = None


def report_on(history: History, verdict: Verdict, *, faults: Mapping[str, int] | None = None) -> Report:
    """The report of a history that was judged. faults: what happened; if it is not known, what the history tells."""
    counted = Counter[str](mark.kind for mark in history.marks) if faults is None else faults
    times = [op.began for op in history.ops]
    problems = list(dict.fromkeys([*history.problems, *verdict.problems]))
    return Report(
        ok=verdict.ok and not problems,
        seconds=round(max(times) - min(times), 1) if times else 0.0,
        clients=len({op.client for op in history.ops}),
        faults=dict(counted),
        tasks=dict(Counter(state or "gone" for state in history.final.values())),
        granted=sum(op.verb == "take" and op.outcome == "ok" for op in history.ops),
        nouns={word: dict(part.counts(history)) for word, part in PARTS.items()},
        calls=dict(Counter(op.outcome for op in history.ops)),
        checks=verdict.checks,
        lost=verdict.lost,
        violations=[Found(rule=one.rule, subject=one.subject, text=one.text) for one in verdict.violations],
        problems=problems,
    )


def together(reports: Iterable[Report]) -> Report:
    """Return one report of several runs."""
    whole = Report(ok=True)
    for one in reports:
        whole.ok &= one.ok
        whole.seconds += one.seconds
        whole.clients += one.clients
        whole.granted += one.granted
        for name in ("faults", "tasks", "calls", "checks"):
            setattr(whole, name, dict(Counter(getattr(whole, name)) + Counter(getattr(one, name))))
        for word, counts in one.nouns.items():
            whole.nouns[word] = dict(Counter(whole.nouns.get(word, {})) + Counter(counts))
        for durability, verbs in one.lost.items():
            whole.lost[durability] = dict(Counter(whole.lost.get(durability, {})) + Counter(verbs))
        whole.violations += one.violations
        whole.problems += one.problems
        whole.history = whole.history or one.history
    whole.checks |= {rule: 0 for one in reports for rule in one.checks if rule not in whole.checks}
    return whole


def print_report(console: Console, report: Report) -> None:
    """Print it for people."""
    for name, text in _lines(report):
        console.print(Text(f"{name:<9}", style="bold").append(text, style="not bold"))
    console.print()
    broken = Counter(one.rule for one in report.violations)
    rows = [(rule, f"{count:,}", broken[rule]) for rule, count in report.checks.items()]
    console.print(columns(("RULE", "CHECKED", "BROKEN"), rows, right=("CHECKED", "BROKEN")))
    for found in report.violations[:SHOWN]:
        console.print()
        console.print(Text(f"{found.rule}: {safe(found.subject)}", style="bold red"))
        console.print(Text(safe(found.text)))
    if len(report.violations) > SHOWN:
        console.print(f"\n… and {len(report.violations) - SHOWN} more")
    for problem in report.problems:
        console.print(Text(safe(f"\n{problem}"), style="yellow"))
    console.print(Text(f"\n{_sentence(report)}", style="green" if report.ok else "bold red"))


def _lines(report: Report) -> Iterable[tuple[str, str]]:
    if report.server:
        yield "Server", report.server
    faults = [f"{count} × {NAMES.get(kind, kind)}" for kind, count in report.faults.items() if count]
    yield "Faults", ", ".join(faults) or "none"
    yield (
        "Clients",
        f"{report.clients} processes, {report.seconds:.0f} s"
        + ("" if report.seed is None else f", seed {report.seed}"),
    )
    yield "Tasks", f"{sum(report.tasks.values()):,}: {_counted(report.tasks)}"
    yield "Locks", f"{report.granted:,} granted"
    for word, counts in report.nouns.items():
        if counts:
            name = library().manifest["nouns"][word]["plural"].capitalize()
            yield name, f"{sum(counts.values()):,}: {_counted(counts)}"
    outcomes = {"ok": "done", "refused": "refused", "unknown": "without an answer"}
    calls = [f"{report.calls.get(outcome, 0):,} {word}" for outcome, word in outcomes.items()]
    yield "Calls", f"{sum(report.calls.values()):,}: {', '.join(calls)}"
    yield "Lost", _lost(report.lost)
    if report.history:
        yield "History", report.history


def _counted(states: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))


def _lost(lost: Mapping[str, Mapping[str, int]]) -> str:
    words = [
        f"{sum(verbs.values())} answers of durability {durability} ({', '.join(f'{n} {v}' for v, n in verbs.items())})"
        for durability, verbs in lost.items()
    ]
    return "; ".join(words) or "nothing"


def _sentence(report: Report) -> str:
    if report.ok:
        return f"{sum(report.checks.values()):,} checks, no violation."
    if report.violations:
        return f"{sum(report.checks.values()):,} checks, {len(report.violations)} violations."
    return "No violation, but the run is not complete."
