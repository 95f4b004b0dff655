"""Rules about the leases of a task: one at a time, ended once, by its own token, and each above the one before."""

from __future__ import annotations

from collections import defaultdict
from math import inf

from pyadeq.ext.prove.chaos.calls import TOLD_BY, Leased, Settlement
from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.tale import ENDED, HELD, Lease

NOT_BY_A_LEASE = {"task.enqueued", "task.claimed", "task.removed"}


def settles_once(case: Case, found: Finding) -> None:
    """A task ends once: what is completed, cancelled, dead or deleted is not leased again, and does not end again.

    A dead one may be given a new start by hand, and an id that is free again may be used again.
    """
    for lives in case.tale.lives.values():
        found.checks += len(lives)
    for odd in case.tale.odd:
        if odd.state in ENDED and odd.entry.event != "task.enqueued":
            found.convict(odd.id, str(odd))


def leases_apart(case: Case, found: Finding) -> None:
    """Leases of one task never overlap: one begins when the one before was ended, or taken back past its deadline."""
    _by_stream(case, found)
    holds: defaultdict[str, list[tuple[float, float, Settlement]]] = defaultdict(list)
    given = {(one.id, one.token): one.op for one in case.calls.leased}
    for one in case.calls.settled:
        claim = given.get((one.id, one.token))
        if claim is not None and claim is not one.op and claim.ended is not None and not case.calls.is_exposed(claim):
            holds[one.id].append((claim.ended, case.calls.first_asked[one.id, one.token], one))
    for id, spans in holds.items():
        spans.sort(key=lambda span: span[:2])
        latest, holder = -inf, None
        for since, until, one in spans:
            if holder is not None and since < latest and holder.token != one.token:
                found.convict(
                    id, f"{one.op.client} and {holder.op.client} held it at the same time, and both settled it"
                )
            if until > latest:
                latest, holder = until, one


def _by_stream(case: Case, found: Finding) -> None:
    found.checks += sum(map(len, case.tale.leases.values()))
    for odd in case.tale.odd:
        if odd.entry.event == "task.claimed" and odd.state == HELD:
            found.convict(odd.id, str(odd))
    if case.stepped:
        return  # a heartbeat may have given it an earlier deadline
    usual_ms = case.history.settings.get("lease", inf) * 1000
    stretched = case.calls.stretched
    for id, leases in case.tale.leases.items():
        for lease in leases:
            end = lease.end
            if end is None or end.event != "task.stalled" or end.ms >= lease.deadline_ms:
                continue
            # A heartbeat may have given it less time than its claim did.
            if lease.deadline_ms - lease.claim.ms > usual_ms or (stretched and _is_stretched(case, lease)):
                continue
            found.convict(id, f"taken back at {end.ms} by {end.position}, before its deadline {lease.deadline_ms}")


def _is_stretched(case: Case, lease: Lease) -> bool:
    return any(
        id == lease.id and (fence is None or lease.fence <= fence <= lease.last) for id, fence in case.calls.stretched
    )


def stale_tokens(case: Case, found: Finding) -> None:
    """Only the token of the current lease ends it. Any other changes nothing, and hears `lease_lost`."""
    for odd in case.tale.odd:
        if odd.state not in ENDED and odd.entry.event not in NOT_BY_A_LEASE:
            found.convict(odd.id, str(odd))
    calls = case.calls
    for one, lease in case.settled:
        found.checks += 1
        if calls.is_another(one.id, one.fence, one.token):
            found.convict(one.id, f"{one.op.client} was told {one.status!r} under a token that is not the lease's")
            continue
        if lease is None or lease.end is None or lease.end.event == TOLD_BY[one.status]:
            continue  # whether it is there is another rule's business
        found.lose(
            one.op,
            one.id,
            f"{one.op.client} was told {one.status!r} under fence {one.fence}, and that lease had ended with "
            f"{lease.end.event} at {lease.end.position}",
        )
    _renewals(case, found)


def _renewals(case: Case, found: Finding) -> None:
    """A lease is not prolonged once somebody has seen a later one of its task."""
    calls = case.calls
    if not calls.renewals:
        return
    later: defaultdict[str, list[Leased]] = defaultdict(list)
    for given in calls.leased:
        later[given.id].append(given)
    for one in calls.renewals:
        found.checks += 1
        for given in later[one.id]:
            if one.fence is not None and given.fence > one.fence and calls.came_before(given.op, one.op):
                text = f"{one.op.client} prolonged the lease of fence {one.fence} after {given.op.client}"
                found.convict(one.id, f"{text} had one of fence {given.fence}")
                break


def task_fences_rise(case: Case, found: Finding) -> None:
    """A later lease has a higher fence: each claim's are above those of all claims before it."""
    highest = -1
    for claim in case.tale.claims:
        found.checks += 1
        first = int(claim.words["fence"])
        if first <= highest:
            found.convict(claim.ids[0], f"claimed at {claim.position} under fence {first}, not above {highest}")
        highest = max(highest, first + len(claim.ids) - 1)
    latest: dict[str, Leased] = {}
    calls = case.calls
    for given in sorted(calls.leased, key=lambda one: (one.op.began, one.fence)):
        before = latest.get(given.id)
        if before is None or before.fence < given.fence:
            latest[given.id] = given
        elif before.token != given.token and calls.came_before(before.op, given.op):
            text = f"{given.op.client} had a lease of fence {given.fence} after {before.op.client}"
            found.convict(given.id, f"{text} had one of fence {before.fence}")
