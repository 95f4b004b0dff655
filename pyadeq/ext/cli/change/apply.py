"""`adeq change begin`, `heartbeat` and `finish`: an approved change is applied under a lease."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq import ChangeRef
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.change.asking import ChangeId, Digest, Domain, ThisDomain, existing_changes, read_revision
from pyadeq.ext.cli.change.put import FILES, content_of
from pyadeq.ext.cli.change.refusals import refusal
from pyadeq.ext.cli.change.who import YOU, By
from pyadeq.ext.cli.change.words import text_of, with_iso
from pyadeq.ext.cli.shared.arguments import time_option
from pyadeq.ext.cli.shared.noun_arguments import DEFAULT
from pyadeq.ext.cli.shared.running import Document, Read, with_client
from pyadeq.ext.cli.shared.shown import ahead, decoded, span
from pyadeq.ext.cli.shared.tables import print_fields
from pyadeq.ext.shared.terminal import safe, stdout
from pyadeq.keys import check_name

if TYPE_CHECKING:
    from pyadeq import Adeq

STOP = {
    "cancelling": "the change was cancelled: stop, then adeq change finish with --result cancelled",
    "timed_out": "the run takes longer than it may: stop, then adeq change finish with --result timeout",
}

Token = Annotated[
    str,
    typer.Argument(metavar="TOKEN", help="The token that begin has printed."),
    Read(lambda token: check_name("token", token, "id")),
]

ResultName = StrEnum("ResultName", ["success", "failure", "timeout", "cancelled", "released"])
"""How a run has ended."""


@with_client
def begin(
    adeq: Adeq,
    id: ChangeId,
    rev: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The revision. [default: the approved one]")
    ] = None,
    digest: Digest = None,
    lease: Annotated[float | None, time_option("How long without a heartbeat. [default: as the setting says]")] = None,
    lock_rid: Annotated[
        str | None, typer.Option(metavar="RID", help="The request that holds locks on all its resources for DOMAIN/ID.")
    ] = None,
    agent: By = YOU,
    domain: ThisDomain = DEFAULT,
) -> Document:
    """Begin to apply an approved change, and show its token and its content.

    Nobody else can begin it while the lease lasts. Send adeq change heartbeat before its end, again and again, and adeq
    change finish when the work is done. If the lease runs out, another may begin.
    """
    change = read_revision(adeq, domain, id, rev, digest)
    ref = ChangeRef(id, change["rev"], change["digest"])
    answer = domain.begin(ref, agent=agent, lease=lease or 0.0, lock_rid=lock_rid)
    if answer.status != "begun":
        raise refusal(domain, id, answer, agent, change["rev"])
    content = {**decoded(answer.content), "parameters": decoded(answer.parameters)}
    lease_of = {name: answer.fields[name] for name in ("token", "fence", "deadline", "run")}
    return Document(
        {"domain": domain.name, **ref._asdict(), "agent": agent, **with_iso(lease_of), "content": content},
        lambda: _print(change["rev"], answer),
    )


def _print(rev: int, answer: Any) -> None:
    print_fields(
        [
            ("token", answer.token),
            ("fence", answer.fence),
            ("lease", ahead(answer.now, answer.deadline)),
            ("run", f"at most {span(answer.run)}"),
            ("revision", rev),
            ("type", " ".join(filter(None, [answer.content["type"], text_of(answer.content["version"])]))),
            ("resources", " ".join(answer.content["resources"])),
        ]
    )
    for text in (answer.content["description"], answer.parameters):
        if text:
            stdout().print(f"\n{safe(text_of(text).strip())}", soft_wrap=True, markup=False)


@with_client
def heartbeat(id: ChangeId, token: Token, domain: ThisDomain = DEFAULT) -> Document:
    """Renew the lease of a run.

    Exits with 1 if the work must stop: the lease is lost, the change was cancelled, or the run takes too long.
    """
    answer = domain.heartbeat(id, token)
    if answer.status in ("lost", "lock_lost"):
        raise refusal(domain, id, answer)
    return Document(
        {"domain": domain.name, "id": id, "status": answer.status, **with_iso({"deadline": answer.deadline})},
        f"{id}: {STOP.get(answer.status, 'renewed')}; the lease ends {ahead(answer.now, answer.deadline)}",
        failed=answer.status != "renewed",
    )


@with_client
def finish(
    adeq: Adeq,
    id: ChangeId,
    token: Token,
    result: Annotated[ResultName, typer.Option(case_sensitive=False, help="How the run has ended.")],
    retry: Annotated[
        bool, typer.Option("--retry", help="After a failure or a timeout, another run may follow.")
    ] = False,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help=f"What the run has written; the last 16 KiB are kept. {FILES}")
    ] = None,
    text_key: Annotated[str | None, typer.Option(metavar="TEXT", help="Where all that it has written is kept.")] = None,
    error: Annotated[str | None, typer.Option(metavar="TEXT", help="What went wrong, at most 1 KiB.")] = None,
    error_details: Annotated[
        str | None, typer.Option(metavar="TEXT", help=f"More about it, at most 4 KiB. {FILES}")
    ] = None,
    domain: Domain = "default",
) -> Document:
    """End a run. A success completes the change, a failure or a timeout fails it, and released gives it back.

    A token whose lease is over still counts while nobody has begun again.
    """
    if retry and result not in (ResultName.failure, ResultName.timeout):
        raise ConfigError(f"--retry: it goes with --result failure or timeout, not with {result.value}")
    written, details = content_of("--text", text), content_of("--error-details", error_details)
    changes = existing_changes(adeq, domain)
    answer = changes.finish(
        id,
        token,
        result.value,
        retry=retry,
        output=written or b"",
        output_key=text_key or "",
        error=error or "",
        error_details=text_of(details),
    )
    if answer.status == "lost":
        raise refusal(changes, id, answer)
    tried = f"; {answer.attempts} of its attempts failed" if answer.attempts else ""
    return Document(
        {"domain": domain, "id": id, "state": answer.status, "attempts": answer.attempts},
        f"{id} is {answer.status.upper()}{tried}",
    )
