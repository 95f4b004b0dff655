"""`adeq lock run`, and `acquire`, `renew` and `release` for scripts that hold a lock over several commands."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import AdeqError, ConfigError, DeadlockError, LockUnavailable, RateLimited, WaitTimeout
from pyadeq.ext.cli.shared.arguments import STDIN, Domain, Resource, time_option
from pyadeq.ext.cli.shared.common import DEFAULT_URL, Format, Output, Url, connected, iso
from pyadeq.ext.cli.shared.ending import ended_in_order
from pyadeq.ext.cli.shared.running import Document, Read, with_client
from pyadeq.ext.cli.task import tickets
from pyadeq.ext.cli.worker.child import run_command
from pyadeq.ids import default_worker_name
from pyadeq.models.lock import LockMode

if TYPE_CHECKING:
    from pyadeq import Adeq, Grant

Wait = Annotated[float, time_option("How long to wait for the lock; 0: not at all.")]
Ttl = Annotated[float, time_option("How long a lease lasts; 0: the domain's setting.")]
Owner = Annotated[
    str | None, typer.Option(metavar="ID", help="Who holds it, for lists. [default: host, pid and a random word]")
]
Purpose = Annotated[str, typer.Option(metavar="TEXT", help="What it is for, for lists.")]
Shared = Annotated[bool, typer.Option("--shared", help="Hold it together with others who share it.")]
Permits = Annotated[
    int, typer.Option(min=0, metavar="N", help="Take N permits of a resource with a capacity.", show_default=False)
]
Held = Annotated[Any, tickets.OPTION, Read(lambda path: tickets.read(path, "domain", "resource", "request"), Path)]


def run(
    resource: Resource,
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The command, after `--`.")],
    domain: Domain = "default",
    shared: Shared = False,
    permits: Permits = 0,
    wait: Wait = "1m",  # type: ignore[assignment]
    ttl: Ttl = "0",  # type: ignore[assignment]
    owner: Owner = None,
    purpose: Purpose = "",
    kill_after: Annotated[float, time_option("If the lock is lost: time from SIGTERM to SIGKILL.")] = "5",  # type: ignore[assignment]
    conflict_exit_code: Annotated[
        int, typer.Option("--conflict-exit-code", "-E", min=0, max=255, help="The exit status if the lock is not free.")
    ] = 1,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Run a command while holding a lock: adeq lock run deploy -- make install.

    The lock is renewed while the command runs, and released when it ends. The exit status is that of the command. If
    the lock is lost, the command is ended, and on Linux also the programs that it has started. It finds the fence in
    ADEQ_LOCK_FENCE: systems that it writes to can refuse lower ones.
    """
    lost = threading.Event()
    with ended_in_order() as ending, connected(url) as adeq:
        wanted = _wanted(shared, permits, ttl, owner, purpose)
        try:
            with adeq.locks(domain).acquire(resource, wait=wait, on_lost=lambda _: lost.set(), **wanted) as grant:
                status = run_command(command, _environment(domain, grant), lost, kill_after)
                ending.at_once = False  # the command has ended: only the release is left
        except (WaitTimeout, DeadlockError, LockUnavailable, RateLimited) as error:
            typer.echo(f"adeq: {error}", err=True)
            status = conflict_exit_code
    raise typer.Exit(status)


def _environment(domain: str, grant: Grant) -> dict[str, str]:
    told = {"DOMAIN": domain, "RESOURCE": grant.resource, "FENCE": str(grant.fence), "OWNER": grant.owner}
    return {**os.environ, **{f"ADEQ_LOCK_{name}": value for name, value in told.items()}}


def acquire(
    resource: Resource,
    domain: Domain = "default",
    shared: Shared = False,
    permits: Permits = 0,
    wait: Wait = "1m",  # type: ignore[assignment]
    ttl: Ttl = "0",  # type: ignore[assignment]
    owner: Owner = None,
    purpose: Purpose = "",
    ticket: Annotated[
        Path | None, typer.Option("--ticket", metavar="PATH", help="Write the ticket to this file, mode 0600.")
    ] = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Acquire a lock, and print a ticket for `renew` and `release`. It ends with its lease if neither comes.

    adeq lock run does all three, and is better where one command is enough. Exits with 1 if the lock is not free.
    """
    with ended_in_order(), connected(url) as adeq:
        grant = adeq.locks(domain).take(resource, wait=wait, **_wanted(shared, permits, ttl, owner, purpose))
        made = {
            "domain": domain,
            "resource": resource,
            "request": grant.rid,
            "fence": grant.fence,
            "until": iso(grant.deadline),
        }
        try:
            tickets.give(made, ticket, output)
        except BaseException:
            grant.release()
            raise


@with_client
def renew(adeq: Adeq, ticket: Held = STDIN) -> Document:
    """Extend the lease of a lock that `acquire` has given. Exits with 1 if the lock is lost: stop the work then."""
    (renewal,) = adeq.locks(ticket["domain"]).admin.renew([ticket["request"]])
    resource = ticket["resource"]
    if renewal.status != "renewed" or renewal.deadline is None:
        raise AdeqError(f"the lock of {resource} is lost; stop the work that it protects")
    until = iso(renewal.deadline)
    return Document({"resource": resource, "status": "renewed", "until": until}, f"{resource} is held until {until}")


@with_client
def release(adeq: Adeq, ticket: Held = STDIN) -> Document:
    """Give a lock back that `acquire` has given. Exits with 1 if it was lost before.

    To take a lock away from others, see adeq lock force-release.
    """
    (status,) = adeq.locks(ticket["domain"]).admin.release([ticket["request"]])
    if status != "released":
        raise AdeqError(f"the lock of {ticket['resource']} was not held any more")
    return Document({"resource": ticket["resource"], "status": status}, f"{ticket['resource']} is released")


def _wanted(shared: bool, permits: int, ttl: float, owner: str | None, purpose: str) -> dict[str, Any]:
    if shared and permits:
        raise ConfigError("--shared: a lock is shared, or has permits, not both; leave one out")
    mode: LockMode = "permit" if permits else "shared" if shared else "exclusive"
    about = {"ttl": ttl, "owner": owner or default_worker_name(), "purpose": purpose}
    return {"mode": mode, "permits": permits or 1, **about}
