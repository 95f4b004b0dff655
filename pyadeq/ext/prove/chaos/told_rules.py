"""Rules about what a client must have been told: of what its call has done, and that it was its call that did it."""

from __future__ import annotations

from collections import defaultdict
from math import inf

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.history import Entry, Op


def leases_told(case: Case, found: Finding) -> None:
    """A worker is told of the leases that its claims are given, in whatever way its calls are repeated.

    A call without an answer may have been given one claim that nobody heard of; so may one that took half a lease.
    """
    calls = case.calls
    if calls.marked:
        return
    ops: defaultdict[str, list[Op]] = defaultdict(list)
    for op in calls.claims:
        ops[op.asked["worker"]].append(op)
    told = {(given.id, given.fence): given.op for given in calls.leased}
    claims: defaultdict[str, list[tuple[Entry, Op | None]]] = defaultdict(list)
    for entry in case.tale.claims:
        worker = entry.words["worker"]
        if worker in ops:
            found.checks += 1
            claims[worker].append((entry, _teller(case, entry, told)))
    for worker, given in claims.items():
        unknown = [op for op in ops[worker] if op.outcome == "unknown" or op.ended is None]
        before: Op | None = None
        untold = 0
        for at, (entry, teller) in enumerate(given):
            if teller is not None:
                before = teller
                continue
            after = next((later for _, later in given[at:] if later), None)
            if any(_came_late(op, entry, before, after) for op in ops[worker]):
                continue
            untold += 1
            until = inf if after is None or after.ended is None else after.ended
            if untold > sum(op.began <= until for op in unknown):
                found.convict(entry.ids[0], f"{worker} was given a lease of it at {entry.position}, and never told")


def _teller(case: Case, entry: Entry, told: dict[tuple[str, int], Op]) -> Op | None:
    """The call that was told of a claim, or of what was left of it when it asked again."""
    op = told.get((entry.ids[0], int(entry.words["fence"])))
    if op is not None or len(entry.ids) == 1:
        return op
    for id in entry.ids[1:]:
        for lease in case.tale.leases[id]:
            if lease.claim is entry:
                fences = [fence for other, fence in told if other == id and lease.fence <= fence <= lease.last]
                if fences:
                    return told[id, fences[0]]
    return None


def _came_late(op: Op, entry: Entry, before: Op | None, after: Op | None) -> bool:
    """Whether a call between two others was answered when the lease may have been over."""
    if op.ended is None or (before is not None and op.ended < before.began):
        return False
    if after is not None and after.ended is not None and op.began > after.ended:
        return False
    half = (int(entry.words["deadline_ms"]) - entry.ms) / 2000
    return op.outcome == "ok" and op.ended - op.began >= half


def creators_told(case: Case, found: Finding) -> None:
    """The creator of a task is told `created`, and not that the task was there already.

    Said of what a client has made whose calls are all known: its name is the source that the event tells.
    """
    calls = case.calls
    if calls.marked:
        return
    asked: defaultdict[str, list[Op]] = defaultdict(list)
    for named in calls.named:
        if named.status == "exists":
            asked[named.id].append(named.op)
    if not asked:
        return
    created = {made.id for made in calls.created}
    for id, ops in asked.items():
        lives = case.tale.lives.get(id, ())
        if len(lives) != 1 or lives[0].born is None or not lives[0].born.source:
            continue
        found.checks += 1
        maker = lives[0].born.source
        if id not in created and id not in calls.unsure and any(op.client == maker for op in ops):
            found.convict(id, f"{maker} has made it at {lives[0].born.position}, and was told 'exists'")
