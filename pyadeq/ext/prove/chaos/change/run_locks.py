"""The rule about the locks of appliers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.change.calls import Begun
from pyadeq.ext.prove.chaos.change.rules import Told
from pyadeq.ext.prove.chaos.change.tale import Run
from pyadeq.ext.prove.chaos.lock_tale import Request


class Grant(NamedTuple):
    """A lock is granted. ms: the server's time."""

    ms: int
    owner: str
    position: str


def locked_while_applied(case: Case, found: Finding) -> None:
    """A run begins only while its applier holds all of its locks alone, if the server verifies locks.

    The lease does not outlast them: if they expire, nobody else is granted one before the run ends, or its lease. An
    applier may release its locks earlier, and an operator may take them away; the next heartbeat ends the run.
    """
    told = case.view(Told)
    final = told.records.final
    if told.cut or told.stepped or case.locks.cut or not final.get("lock_domain"):
        return
    known = {begun.fence: begun for begun in told.calls.begun.values()}
    grants = _grants(case)
    for life in told.lives:
        for run in life.runs:
            begun = known.get(run.fence)
            if begun is None or case.calls.is_exposed(begun.op):
                continue
            if (begun.id, begun.op.asked["agent"]) != (life.id, run.begun.words["by"]):
                continue  # another run has the same fence, which another rule sees
            owner, rid = f"{final['domain']}/{life.id}", begun.op.asked.get("lock_rid", "")
            request = case.locks.requests.get(rid)
            expired = request and request.ended and request.ended.event == "lock.expired"
            for resource in begun.op.answer.get("resources", ()):
                found.checks += 1
                if not _held_alone(request, owner, resource, run.begun.ms):
                    text = f"begun at {run.begun.position} by {begun.op.client}, and {rid or 'no request'} did not hold"
                    found.convict(life.id, f"{text} {resource} alone for it")
                if expired and (taken := _taken_away(grants[resource], owner, run, begun)):
                    text = f"{taken.owner} was granted {resource} at {taken.position}, before the end of the run"
                    found.convict(life.id, f"{text} that began at {run.begun.position}")


def _grants(case: Case) -> Mapping[str, Sequence[Grant]]:
    grants: defaultdict[str, list[Grant]] = defaultdict(list)
    for granted, request, parts, entry in case.locks.steps:
        if granted:
            for part in parts:
                grants[part.resource].append(Grant(entry.ms, request.owner, entry.position))
    return grants


def _held_alone(request: Request | None, owner: str, resource: str, ms: int) -> bool:
    if request is None or request.granted is None or request.owner != owner:
        return False
    alone = any(part.code == "x" and part.resource == resource for part in request.parts)
    return alone and request.granted.ms <= ms and (request.ended is None or request.ended.ms >= ms)


def _taken_away(grants: Sequence[Grant], owner: str, run: Run, begun: Begun) -> Grant | None:
    """The first grant to another owner between the begin of a run and its end, or the end of its lease."""
    until = round(begun.deadline * 1000)
    if run.ends:
        until = min(until, run.ends[0].ms)
    return next((one for one in grants if one.owner != owner and run.begun.ms < one.ms < until), None)
