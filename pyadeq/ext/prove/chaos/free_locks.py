"""The rule that nobody waits for a free lock."""

from __future__ import annotations

from collections import Counter, defaultdict

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.lock_tale import Part, parse_parts

AT_ONCE = 64
"""Grants that one call makes, at most. It leaves the rest to the next call."""
Waiting = dict[str, tuple[Part, ...]]


def free_locks(case: Case, found: Finding) -> None:
    """Nobody waits for a free lock: who frees one hands it over in the same step.

    Of those who wait for some locks, and for none that anybody has, one is the first in line, whoever that is. It must
    have been granted them by the time of the next event. Nothing is said of permits, which depend on a capacity.
    """
    if case.locks.cut:
        return
    waiting: Waiting = {}
    holds: Counter[str] = Counter()
    held: dict[str, tuple[Part, ...]] = {}
    freed_ms: int | None = None
    for entry in case.history.lock_entries:
        if freed_ms is not None and entry.ms > freed_ms:
            freed_ms = None
            if 0 < len(waiting) <= AT_ONCE:
                found.checks += 1
                for rid in _stranded(waiting, holds):
                    owner = case.locks.requests[rid].owner
                    names = ", ".join(part.resource for part in waiting[rid])
                    found.convict(names, f"{owner} waits for it at {entry.position}, and nobody has it ({rid})")
                    del waiting[rid]  # said once
        rid, event = entry.ids[0], entry.event
        if event == "lock.queued":
            waiting[rid] = parse_parts(entry.words["locks"])
        elif event in ("lock.promoted", "lock.acquired"):
            waiting.pop(rid, None)
            if rid not in held:
                held[rid] = parse_parts(entry.words["locks"])
                holds.update(part.resource for part in held[rid])
        else:
            waiting.pop(rid, None)
            holds.subtract(part.resource for part in held.pop(rid, ()))
            freed_ms = entry.ms


def _stranded(waiting: Waiting, holds: Counter[str]) -> list[str]:
    """One of each group that wait for the same locks, if nobody has any of these."""
    free = {rid for rid, parts in waiting.items() if all(_is_free(part, holds) for part in parts)}
    if not free:
        return []
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for rid, parts in waiting.items():
        for part in parts:
            lines[part.resource].append(rid)
    found: list[str] = []
    seen: set[str] = set()
    for rid in free:
        if rid in seen:
            continue
        group, todo = {rid}, [rid]
        while todo:
            for part in waiting[todo.pop()]:
                new = set(lines[part.resource]) - group
                group |= new
                todo += new
        seen |= group
        if group <= free:
            found.append(min(group))
    return found


def _is_free(part: Part, holds: Counter[str]) -> bool:
    return part.code[0] != "p" and holds[part.resource] <= 0
