"""The rule that nobody is overtaken in the line of a lock, where the stream and the calls tell enough."""

from __future__ import annotations

from collections import Counter, defaultdict

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.lock_rules import compatible
from pyadeq.ext.prove.chaos.lock_tale import Part, parse_parts


def locks_in_turn(case: Case, found: Finding) -> None:
    """A later request is not granted a lock before an earlier waiter that cannot share it.

    Said of requests for one lock each, exclusive or shared, all of one priority; of owners who had nothing when they
    asked, so that no deadlock can have made them go ahead; and of none that a later search has given another place.
    """
    calls = case.calls
    if case.locks.cut or not calls.owners or calls.prioritised:
        return
    holds: Counter[str] = Counter()  # by owner
    lines: defaultdict[str, dict[str, tuple[str, Part]]] = defaultdict(dict)  # by resource: rid -> owner, part
    held: dict[str, str] = {}
    settled: set[str] = set()  # those that wait at the place of their coming
    for entry in case.history.lock_entries:
        rid, event, owner = entry.ids[0], entry.event, entry.words["owner"]
        parts = parse_parts(entry.words["locks"])
        simple = len(parts) == 1 and parts[0].code in ("x", "s") and owner in calls.owners
        part = parts[0]
        line = lines[part.resource]
        if event == "lock.queued":
            settled.discard(rid)
            if "reason" in entry.words:
                line.pop(rid, None)
            elif simple:
                line[rid] = owner, part
                if not holds[owner]:
                    settled.add(rid)
        elif event == "lock.promoted" or (event == "lock.acquired" and rid not in held):
            if simple and (rid in settled or (rid not in line and event == "lock.acquired" and not holds[owner])):
                found.checks += 1
                if before := _overtaken(line, rid, owner, part):
                    text = f"{owner} was granted it at {entry.position}, and {before} waited for it before"
                    found.convict(part.resource, text)
            line.pop(rid, None)
            held[rid] = owner
            holds[owner] += 1
        elif event != "lock.acquired":
            line.pop(rid, None)
            if held.pop(rid, None) is not None:
                holds[owner] -= 1


def _overtaken(line: dict[str, tuple[str, Part]], rid: str, owner: str, part: Part) -> str | None:
    """Return the first waiter before a request that cannot share the lock with it, as text: its owner and rid."""
    for other, (waits, wanted) in line.items():
        if other == rid:
            return None
        if waits != owner and not compatible(part.code, wanted.code):
            return f"{waits} ({other})"
    return None
