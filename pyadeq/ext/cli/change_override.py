"""`adeq change override`: a change is approved in an emergency, without its reviewers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.arguments import Yes, confirm
from pyadeq.ext.cli.change_asking import ChangeId, Domain, ask, existing_changes, read_revision
from pyadeq.ext.cli.change_refusals import refusal
from pyadeq.ext.cli.change_respond import Digest, Proof, Rev, check_rev
from pyadeq.ext.cli.change_who import YOU, Acting
from pyadeq.ext.cli.running import Document, with_client

if TYPE_CHECKING:
    from pyadeq import Adeq


@with_client
def override(
    adeq: Adeq,
    id: ChangeId,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Why; for the log, for ever.")],
    rev: Rev = None,
    digest: Digest = None,
    proof: Proof = None,
    yes: Yes = False,
    by: Acting = YOU,
    domain: Domain = "default",
) -> Document:
    """Approve a change in an emergency, without its reviewers. The change keeps a mark for ever."""
    seen = check_rev(id, rev)
    if not message:
        raise ConfigError("--message: it is empty; say why its reviewers are passed over")
    changes = existing_changes(adeq, domain)
    change = read_revision(adeq, changes, id, seen, digest)
    confirm(f"This approves {id!r} without its reviewers.", yes, "nothing was approved")
    named = {"id": id, "rev": seen, "digest": change["digest"]}
    answer = ask(adeq, changes, "override", **named, reason=message, proof=proof, **by)
    if answer.status != "approved":
        raise refusal(changes, id, answer, by["actor"], seen)
    return Document(
        {"domain": domain, **named, "state": answer.status, "actor": by["actor"]},
        f"{id} revision {seen} is APPROVED by override of {by['actor']}",
    )
