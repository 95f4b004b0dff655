"""`adeq lock force-release`: a lock is taken away from who holds it."""

from __future__ import annotations

from typing import Annotated

import typer

from pyadeq import LockView, RequestView
from pyadeq.errors import AdeqError
from pyadeq.ext.cli.lock.listing import lock_of, mode_of
from pyadeq.ext.cli.shared.arguments import Resource, Yes, confirm, many
from pyadeq.ext.cli.shared.noun_arguments import DEFAULT, ThisDomain
from pyadeq.ext.cli.shared.running import Document, Table, with_client
from pyadeq.ext.cli.shared.shown import ago, plain
from pyadeq.ext.shared.terminal import safe

SHOWN = 500  # holders
NAMED = 5  # of them in the question
HEADS = ("owner", "mode", "fence", "since", "agent", "also lost", "purpose")


@with_client
def force_release(
    resource: Resource,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="The reason, for the event and the owner.")],
    owner: Annotated[str | None, typer.Option(metavar="ID", help="Only from this owner, not from all.")] = None,
    domain: ThisDomain = DEFAULT,
    yes: Yes = False,
) -> Document:
    """Take a lock away from all its holders, and show them and the new fence.

    Holders notice it when they renew or release, and may continue until then. So the systems that they write to must
    refuse fences lower than the new one. The other locks of the same request are released too. Then the next waiter
    gets the lock as usual.

    Exits with 1 if no request holds it.
    """
    before = domain.get(resource, SHOWN)
    holders = [one for one in before.holders if owner in (None, one.owner)]
    if not holders and before.held <= SHOWN:
        by = f"{owner} does not hold" if owner else "no request holds"
        raise AdeqError(f"resource: {by} {resource!r} in domain {domain.name!r}; see adeq lock ls")
    owners = list(dict.fromkeys(one.owner for one in holders))
    more = f" and {len(owners) - NAMED:,} more" if len(owners) > NAMED else ""
    confirm(
        f"This takes {resource!r} away from {', '.join(owners[:NAMED]) or owner}{more}.", yes, "nothing was released"
    )
    forced = domain.admin.force_release(resource, reason, owner)
    known = {one.rid: one for one in holders}  # the others came in between, or were too many to look at
    released = [plain(known[rid]) if rid in known else {"rid": rid} for rid in forced.rids]
    rows = [_row(rid, known.get(rid), before) for rid in forced.rids]
    table = Table(HEADS, rows, right=["fence", "since"], spare=["agent", "since"])
    done = f"{resource} was taken from {many(len(forced.rids), 'holder')}; the fence is {forced.fence} now"
    gone = AdeqError(f"resource: {resource!r} is no longer held; the fence is {forced.fence} now")
    return Document(
        {"domain": domain.name, "resource": resource, "released": released, "fence": forced.fence},
        [table, done] if rows else [],
        failed=False if rows else gone,
    )


def _row(rid: str, one: RequestView | None, before: LockView) -> tuple[str, ...]:
    if one is None:
        return (rid, *[""] * (len(HEADS) - 1))
    lock = lock_of(one, before.resource)
    also = " ".join(other.resource for other in one.locks if other is not lock)
    since = ago(before.now, one.granted or one.since)
    return one.owner, mode_of(lock), str(lock.fence), since, one.agent, also, safe(one.purpose)
