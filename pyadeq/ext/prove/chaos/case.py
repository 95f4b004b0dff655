"""A history in the form for the rules, and their findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from pyadeq.ext.prove.chaos.calls import Calls, Settlement
from pyadeq.ext.prove.chaos.history import History, Op
from pyadeq.ext.prove.chaos.lock_tale import LockTale
from pyadeq.ext.prove.chaos.tale import Lease, Tale

T = TypeVar("T")


class Violation(NamedTuple):
    """A broken rule. subject: the task, key or lock."""

    rule: str
    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.subject}: {self.text}"


@dataclass
class Verdict:
    """The result of the rules.

    checks: by rule, how often it was checked.
    lost: unconfirmed data that is gone, by the durability of the call and by its verb.
    problems: what could not be checked, and why.
    """

    violations: list[Violation] = field(default_factory=list)
    checks: dict[str, int] = field(default_factory=dict)
    lost: dict[str, dict[str, int]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether no rule was broken."""
        return not self.violations


class Case:
    """A history, told and sorted once for all rules.

    drained: the work was to be over in the end. stepped: the server's clock has gone back.
    """

    def __init__(self, history: History, *, drained: bool) -> None:
        self.history = history
        self.drained = drained
        self.tale = Tale(history.entries, cut=_cut(history.trimmed))
        self.locks = LockTale(history.lock_entries, cut=_cut(history.lock_trimmed))
        self.calls = Calls(history.ops, history.marks)
        self.stepped = self.tale.stepped or "clock_back" in self.calls.marked
        self.lost: Counter[tuple[str, str]] = Counter()
        self._views: dict[Callable[[Case], Any], Any] = {}

    def view(self, kind: Callable[[Case], T]) -> T:
        """What the rules of a noun share: made once, from this case."""
        if kind not in self._views:
            self._views[kind] = kind(self)
        found: T = self._views[kind]
        return found

    @cached_property
    def settled(self) -> list[tuple[Settlement, Lease | None]]:
        """The leases that clients have ended, as they saw it and as the stream tells of them."""
        lease = self.tale.lease
        return [(one, lease(one.id, one.fence)) for one in self.calls.settled if one.fence is not None]

    @cached_property
    def removals(self) -> set[str]:
        """The tasks of which some life was deleted."""
        return {id for id, lives in self.tale.lives.items() if any(life.purged for life in lives)}


class Finding:
    """What one rule finds. checks: to be raised by what it has looked at."""

    def __init__(self, rule: str, case: Case) -> None:
        self.rule = rule
        self.checks = 0
        self.violations: list[Violation] = []
        self._case = case

    def convict(self, subject: str, text: str) -> None:
        """The rule was broken."""
        self.violations.append(Violation(self.rule, subject, text))

    def lose(self, op: Op, subject: str, text: str) -> None:
        """What an answer promised is not there: counted if it was exposed to a loss that it need not survive."""
        if self._case.calls.is_exposed(op):
            self._case.lost[op.durability, op.verb] += 1
        else:
            self.convict(subject, text)


def _cut(trimmed: int | None) -> bool | None:
    return None if trimmed is None else trimmed > 0


Rule = Callable[[Case, Finding], None]
