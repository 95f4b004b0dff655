"""`adeq change domains`, `stats` and `sweep`: change domains, how many changes they have, and what is due there."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pyadeq.ext.cli.arguments import many
from pyadeq.ext.cli.change_asking import Domain, ask, existing_changes
from pyadeq.ext.cli.change_who import groups_of
from pyadeq.ext.cli.change_words import plain
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json, print_lines
from pyadeq.ext.cli.lock_listing import ago, span
from pyadeq.ext.cli.tables import print_rows
from pyadeq.ext.finding import find_names
from pyadeq.keys import check_name

DAY = 86400


def domains(
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Search for domains for at most this time.")
    ] = 10.0,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """List the change domains of the server.

    A server has no list of them, so all its keys are scanned. This takes about a second for a million keys.
    """
    with connected(url) as adeq:
        found = find_names(adeq, "change", timeout)
    if output != Format.table:
        print_lines(({"domain": name} for name in found.names), output)
    else:
        print_rows(["domain"], [[name] for name in found.names])
    if not found.complete:
        typer.echo(f"\nNot all keys were scanned within {timeout:g} s: raise --timeout", err=True)


def stats(
    user: Annotated[str | None, typer.Option(metavar="ID", help="What this user has answered, in place of it.")] = None,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show how many changes are in each state, or what a user has answered.

    `due now`: changes for which something is due, which the next call or sweep does.
    """
    with connected(url) as adeq:
        changes = existing_changes(adeq, domain)
        if user is not None:
            answer = ask(
                adeq, changes, "inbox", user=check_name("--user", user, "label"), groups=groups_of(None), limit=1
            )
            _user(domain, user, answer, output)
            return
        found = ask(adeq, changes, "stats")
    if output != Format.table:
        print_json(
            {"domain": domain, "states": plain(found.states), "due_now": found.overdue, "since": found.since}, output
        )
        return
    rows = [(name.upper(), count) for name, count in found.states.items()]
    print_rows(["what", "count"], [*rows, ("due now", found.overdue)], right=["count"])
    if found.overdue:
        typer.echo(f"\nThe first is due since {span(found.now - found.since)}: adeq change sweep", err=True)


def _user(domain: str, user: str, answer: Any, output: Format) -> None:
    """Approvals and rejections are counted by UTC day, for 31 days."""
    fields = answer.stats
    by_day = [(name[:1], int(name[2:]), count) for name, count in fields.items() if name[:2] in ("a:", "r:")]
    today = int(answer.now // DAY)
    answers, last = fields.get("answers", 0), fields.get("last")
    found: dict[str, Any] = {"domain": domain, "user": user, "pending": answer.pending, "answers": answers}
    for letter, word in (("a", "approved"), ("r", "rejected")):
        found[f"{word}_today"] = sum(count for kind, day, count in by_day if kind == letter and day == today)
        found[f"{word}_31_days"] = sum(count for kind, day, count in by_day if kind == letter and day > today - 31)
    found["mean_time"] = round(fields.get("took", 0) / answers, 3) if answers else None
    found["last"] = last
    if output != Format.table:
        print_json(found, output)
        return
    shown = {name.replace("_", " "): value for name, value in found.items() if name not in ("domain", "user")}
    shown["mean time"] = span(found["mean_time"]) if answers else ""
    shown["last"] = ago(answer.now, last) if last else "never"
    print_rows(["what", "count"], list(shown.items()), right=["count"])


def sweep(
    limit: Annotated[int, typer.Option(min=1, max=100, help="Do this much in one call.")] = 100,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Do all that is due: reminders, escalations, timeouts, ends of leases; and delete old changes that have ended.

    Each writing call does some of it, so a sweep is needed only where no calls come. It can run at any time, and in any
    number of processes.
    """
    taken = removed = 0
    with connected(url) as adeq:
        changes = existing_changes(adeq, domain)
        while True:
            done = ask(adeq, changes, "sweep", limit=limit)
            taken += done.taken
            removed += done.removed
            if not done.more:
                break
    if output != Format.table:
        print_json({"domain": domain, "taken": taken, "removed": removed}, output)
    else:
        print(f"{many(taken, 'change')} had something due; {many(removed, 'ended change')} removed")


def deliver(
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Enqueue the tasks that follow steps of changes, and are not in the queue yet.

    Clients enqueue what follows their own steps. This is for clients that failed, and for steps that were due.
    Run it regularly, for example each minute, if policies name such tasks (adeq change policy set --task). It can run
    in any number of processes: a task that comes twice is one task.
    """
    delivered = 0
    with connected(url) as adeq:
        changes = existing_changes(adeq, domain)
        while True:
            done = changes.deliver()
            delivered += done.delivered
            if not done.delivered:
                break
    if output != Format.table:
        print_json({"domain": domain, "delivered": delivered, "left": done.left}, output)
    else:
        print(f"{many(delivered, 'task')} enqueued, {done.left:,} left")
