"""`adeq change assess`: the risk of a revision, its preview, or both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.change_asking import ChangeId, Digest, Domain, Rev, ask, check_rev, existing_changes, read_revision
from pyadeq.ext.cli.change_put import FILES, content_of
from pyadeq.ext.cli.change_refusals import refusal
from pyadeq.ext.cli.change_who import YOU, Acting
from pyadeq.ext.cli.running import Document, with_client

if TYPE_CHECKING:
    from pyadeq import Adeq


@with_client
def assess(
    adeq: Adeq,
    id: ChangeId,
    rev: Rev = None,
    score: Annotated[int | None, typer.Option(min=0, max=100, metavar="N", help="The risk, 0 to 100.")] = None,
    factors: Annotated[str | None, typer.Option(metavar="TEXT", help=f"What the risk is made of. {FILES}")] = None,
    auto_approvable: Annotated[
        bool, typer.Option("--auto-approvable", help="Its policy may approve it without people, if the risk is low.")
    ] = False,
    by: Annotated[str | None, typer.Option(metavar="TEXT", help="What has assessed it, and its version.")] = None,
    preview: Annotated[str | None, typer.Option(metavar="TEXT", help=f"What the change would do. {FILES}")] = None,
    digest: Digest = None,
    person: Acting = YOU,
    domain: Domain = "default",
) -> Document:
    """Store the risk of a revision, its preview, or both. Those who have written a change cannot assess it.

    A SUBMITTED change that has all that its policy needs goes on to its review. A preview is kept for 7 days.
    """
    seen = check_rev(id, rev)
    if score is None and preview is None:
        raise ConfigError("--score: give a risk from 0 to 100, or a --preview, or both")
    changes = existing_changes(adeq, domain)
    change = read_revision(adeq, changes, id, seen, digest)
    answer = ask(
        adeq,
        changes,
        "assess",
        id=id,
        rev=seen,
        digest=change["digest"],
        score=score,
        factors=content_of("--factors", factors),
        auto_approvable=auto_approvable,
        assessed_by=by,
        preview=content_of("--preview", preview),
        **person,
    )
    if answer.status != "ok":
        raise refusal(changes, id, answer, person["actor"], seen)
    risk = f"the risk is {score}, {answer.level.upper()}" if score is not None else "the preview is stored"
    return Document(
        {"domain": domain, "id": id, "rev": seen, "state": answer.state, "level": answer.level},
        f"{id} revision {seen}: {risk}; the change is {answer.state.upper()}",
    )
