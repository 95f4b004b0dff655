"""`adeq change domains`, `stats` and `sweep`: change domains, how many changes they have, and what is due there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.ext.cli.change.asking import ThisDomain, ask
from pyadeq.ext.cli.change.who import groups_of
from pyadeq.ext.cli.shared.arguments import many
from pyadeq.ext.cli.shared.noun_arguments import DEFAULT
from pyadeq.ext.cli.shared.running import Document, Read, Table, with_client
from pyadeq.ext.cli.shared.shown import ago, decoded, span
from pyadeq.keys import check_name

if TYPE_CHECKING:
    from pyadeq import Adeq

DAY = 86400


@with_client
def stats(
    adeq: Adeq,
    user: Annotated[
        str | None,
        typer.Option(metavar="ID", help="What this user has answered, in place of it."),
        Read(lambda user: user if user is None else check_name("--user", user, "label")),
    ] = None,
    domain: ThisDomain = DEFAULT,
) -> Document:
    """Show how many changes are in each state, or what a user has answered.

    `due now`: changes for which something is due, which the next call or sweep does.
    """
    if user is not None:
        return _user(domain, user, ask(adeq, domain, "inbox", user=user, groups=groups_of(None), limit=1))
    found = ask(adeq, domain, "stats")
    rows = [(name.upper(), count) for name, count in found.states.items()]
    return Document(
        {"domain": domain.name, "states": decoded(found.states), "due_now": found.overdue, "since": found.since},
        Table(["what", "count"], [*rows, ("due now", found.overdue)], right=["count"]),
        note=f"The first is due since {span(found.now - found.since)}: adeq change sweep" if found.overdue else "",
    )


def _user(changes: Any, user: str, answer: Any) -> Document:
    """Approvals and rejections are counted by UTC day, for 31 days."""
    fields = answer.stats
    by_day = [(name[:1], int(name[2:]), count) for name, count in fields.items() if name[:2] in ("a:", "r:")]
    today = int(answer.now // DAY)
    answers, last = fields.get("answers", 0), fields.get("last")
    found: dict[str, Any] = {"domain": changes.name, "user": user, "pending": answer.pending, "answers": answers}
    for letter, word in (("a", "approved"), ("r", "rejected")):
        found[f"{word}_today"] = sum(count for kind, day, count in by_day if kind == letter and day == today)
        found[f"{word}_31_days"] = sum(count for kind, day, count in by_day if kind == letter and day > today - 31)
    found["mean_time"] = round(fields.get("took", 0) / answers, 3) if answers else None
    found["last"] = last
    shown = {name.replace("_", " "): value for name, value in found.items() if name not in ("domain", "user")}
    shown["mean time"] = span(found["mean_time"]) if answers else ""
    shown["last"] = ago(answer.now, last) if last else "never"
    return Document(found, Table(["what", "count"], shown.items(), right=["count"]))


@with_client
def sweep(
    adeq: Adeq,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Do this much in one call.")] = 100,
    domain: ThisDomain = DEFAULT,
) -> Document:
    """Do all that is due: reminders, escalations, timeouts, ends of leases; and delete old changes that have ended.

    Each writing call does some of it, so a sweep is needed only where no calls come. It can run at any time, and in any
    number of processes.
    """
    taken = removed = 0
    while True:
        done = ask(adeq, domain, "sweep", limit=limit)
        taken += done.taken
        removed += done.removed
        if not done.more:
            break
    return Document(
        {"domain": domain.name, "taken": taken, "removed": removed},
        f"{many(taken, 'change')} had something due; {many(removed, 'ended change')} removed",
    )


@with_client
def deliver(domain: ThisDomain = DEFAULT) -> Document:
    """Enqueue the tasks that follow steps of changes, and are not in the queue yet.

    Clients enqueue what follows their own steps. This is for clients that failed, and for steps that were due.
    Run it regularly, for example each minute, if policies name such tasks (adeq change policy set --task). It can run
    in any number of processes: a task that comes twice is one task.
    """
    delivered = 0
    while True:
        done = domain.deliver()
        delivered += done.delivered
        if not done.delivered:
            break
    return Document(
        {"domain": domain.name, "delivered": delivered, "left": done.left},
        f"{many(delivered, 'task')} enqueued, {done.left:,} left",
    )
