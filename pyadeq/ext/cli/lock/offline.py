"""`adeq lock offline`: an owner or an agent that has gone leaves nothing behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.arguments import Domain, Yes, confirm, many
from pyadeq.ext.cli.shared.resolve import existing_domain
from pyadeq.ext.cli.shared.running import Document, with_client

if TYPE_CHECKING:
    from pyadeq import Adeq


@with_client
def offline(
    adeq: Adeq,
    owner: Annotated[str | None, typer.Option(metavar="ID", help="All requests of this owner.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="ID", help="All requests of this agent.")] = None,
    domain: Domain = "default",
    yes: Yes = False,
) -> Document:
    """Release all locks of an owner or agent that is gone, and end its waits.

    Without this command, they end with their leases. If the owner still works, it notices this when it renews or
    releases.
    """
    if (owner is None) == (agent is None):
        raise ConfigError("owner: name one with --owner, or an agent with --agent")
    who = f"owner {owner!r}" if owner else f"agent {agent!r}"
    locks = existing_domain(adeq, domain)
    confirm(f"This ends all locks and waits of {who} in domain {domain!r}.", yes, "nothing was ended")
    ended = locks.admin.offline(owner=owner, agent=agent)
    return Document(
        {"domain": domain, "owner": owner, "agent": agent, "ended": ended},
        f"{many(len(ended), 'request')} of {who} ended",
    )
