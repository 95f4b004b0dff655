"""`adeq lock offline`: an owner or an agent that has gone leaves nothing behind."""

from __future__ import annotations

from typing import Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.arguments import Domain, Yes, confirm, many
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json
from pyadeq.ext.cli.resolve import existing_domain


def offline(
    owner: Annotated[str | None, typer.Option(metavar="ID", help="All requests of this owner.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="ID", help="All requests of this agent.")] = None,
    domain: Domain = "default",
    yes: Yes = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Release all locks of an owner or agent that is gone, and end its waits.

    Without this command, they end with their leases. If the owner still works, it notices this when it renews or
    releases.
    """
    if (owner is None) == (agent is None):
        raise ConfigError("owner: name one with --owner, or an agent with --agent")
    who = f"owner {owner!r}" if owner else f"agent {agent!r}"
    with connected(url) as adeq:
        locks = existing_domain(adeq, domain)
        confirm(f"This ends all locks and waits of {who} in domain {domain!r}.", yes, "nothing was ended")
        ended = locks.offline(owner=owner, agent=agent)
    if output != Format.table:
        print_json({"domain": domain, "owner": owner, "agent": agent, "ended": ended}, output)
    else:
        print(f"{many(len(ended), 'request')} of {who} ended")
