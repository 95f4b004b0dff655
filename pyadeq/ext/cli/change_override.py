"""`adeq change override`: a change is approved in an emergency, without its reviewers."""

from __future__ import annotations

from typing import Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.arguments import Yes, confirm
from pyadeq.ext.cli.change_asking import ChangeId, Domain, ask, existing_changes, read_revision
from pyadeq.ext.cli.change_refusals import refusal
from pyadeq.ext.cli.change_respond import Digest, Rev, check_rev
from pyadeq.ext.cli.change_who import Actor, Kind, Principal, who
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json


def override(
    id: ChangeId,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Why; for the log, for ever.")],
    rev: Rev = None,
    digest: Digest = None,
    proof: Annotated[str | None, typer.Option(metavar="TEXT", help="What is known of your login, for the log.")] = None,
    yes: Yes = False,
    actor: Actor = None,
    principal: Principal = None,
    kind: Kind = None,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Approve a change in an emergency, without its reviewers. The change keeps a mark for ever."""
    seen = check_rev(id, rev)
    if not message:
        raise ConfigError("--message: it is empty; say why its reviewers are passed over")
    by = who(actor, principal, kind)
    with connected(url) as adeq:
        changes = existing_changes(adeq, domain)
        change = read_revision(adeq, changes, id, seen, digest)
        confirm(f"This approves {id!r} without its reviewers.", yes, "nothing was approved")
        named = {"id": id, "rev": seen, "digest": change["digest"]}
        answer = ask(adeq, changes, "override", **named, reason=message, proof=proof, **by)
    if answer.status != "approved":
        raise refusal(changes, id, answer, by["actor"], seen)
    if output != Format.table:
        print_json({"domain": domain, **named, "state": answer.status, "actor": by["actor"]}, output)
    else:
        print(f"{id} revision {seen} is APPROVED by override of {by['actor']}")
