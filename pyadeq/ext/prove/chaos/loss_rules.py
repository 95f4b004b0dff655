"""Rules about what was promised: a task that was acknowledged is there, and an answer that was given holds."""

from __future__ import annotations

from pyadeq.ext.prove.chaos.calls import TOLD_BY
from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.history import OVERDUE
from pyadeq.ext.prove.chaos.tale import CANCELLED, COMPLETED, DEAD, GONE, HELD, WAITING

TOLD_AS = {
    "ready": WAITING,
    "delayed": WAITING,
    OVERDUE: WAITING,
    "blocked": WAITING,
    "running": HELD,
    "stalled": HELD,
    "completed": COMPLETED,
    "cancelled": CANCELLED,
    "dead": DEAD,
}
GOES_SILENTLY = {COMPLETED, CANCELLED, GONE}


def acknowledged_kept(case: Case, found: Finding) -> None:
    """A task whose enqueue was answered with `created` is stored, and does not go before it has ended.

    Across a restart, a power cut or a failover: if it was confirmed at a durability that survives this.
    """
    tale = case.tale
    for made in case.calls.created:
        found.checks += 1
        if made.id not in tale.lives and not tale.cut:
            text = f"{made.op.client} was told 'created' ({made.op.durability}), and no event has it"
            found.lose(made.op, made.id, text)
    for named in case.calls.named:
        if named.id not in tale.lives and not tale.cut:
            found.lose(named.op, named.id, f"{named.op.client} was told {named.status!r}, and no event has it")
    for odd in tale.odd:
        if odd.entry.event == "task.removed" and odd.state == HELD:
            found.convict(odd.id, str(odd))
    for id, state in case.history.final.items():
        told = tale.state(id)
        if state is None and told is not None and told not in GOES_SILENTLY:
            found.convict(id, f"it is gone, and was {told} when the stream told of it last")


def answers_kept(case: Case, found: Finding) -> None:
    """How a lease or a lock ended, as a client was told, is how the server has it; and what it was given, it was given.

    Across a restart, a power cut or a failover: if it was confirmed at a durability that survives this.
    """
    tale = case.tale
    for one, lease in case.settled:
        found.checks += 1
        if lease is not None and lease.end is not None:
            continue
        what = f"{one.op.client} was told {one.status!r} ({one.op.durability})"
        if lease is None and not tale.cut:
            found.lose(one.op, one.id, f"{what}, and no claim has given out its lease of fence {one.fence}")
        elif lease is not None:
            found.lose(one.op, one.id, f"{what}, and no event has ended its lease: {TOLD_BY[one.status]} is missing")
    for given in case.calls.leased:
        found.checks += 1
        if not tale.cut and tale.lease(given.id, given.fence) is None:
            what = f"{given.op.client} was given a lease of it"
            found.lose(given.op, given.id, f"{what}, and no event has its fence {given.fence}")
    _locks(case, found)


def _locks(case: Case, found: Finding) -> None:
    locks = case.locks
    if locks.cut:
        return
    for op in case.calls.takes:
        found.checks += 1
        for resource, fence in op.answer["fences"].items():
            if (op.answer["rid"], resource, fence) not in locks.granted:
                found.lose(op, resource, f"{op.client} was given it under fence {fence}, and no event has it")
    for op in case.calls.lock_ends:
        if op.verb != "release_lock" or op.answer.get("statuses") != ["released"]:
            continue
        found.checks += 1
        request = locks.requests.get(op.asked["rid"])
        if request is None or request.ended is None:
            found.lose(op, op.asked["rid"], f"{op.client} was told 'released', and no event has it")
        elif request.ended.event != "lock.released":
            found.lose(op, op.asked["rid"], f"{op.client} was told 'released', and it ended with {request.ended.event}")


def stream_agrees(case: Case, found: Finding) -> None:
    """There is no event without its transition, and no transition without its event: the stream tells the state."""
    if not case.tale.cut:
        for odd in case.tale.unknown:
            found.convict(odd.id, f"{odd.entry.event} at {odd.entry.position}, and it was never enqueued")
    if not case.locks.cut:
        for rid, entry, _ in case.locks.unknown:
            found.convict(rid, f"{entry.event} at {entry.position}, and it was never asked for")
    if not case.drained:
        return  # somebody may have gone on between the one and the other
    for id, state in case.history.final.items():
        told = case.tale.state(id)
        if state is None or (told is None and case.tale.cut):
            continue
        found.checks += 1
        if told != TOLD_AS[state]:
            found.convict(id, f"it is {state}, and the stream tells that it is {told or 'not there'}")
