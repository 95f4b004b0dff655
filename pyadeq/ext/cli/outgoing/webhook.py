"""`adeq webhook`: endpoints that get signed messages about events."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.change.who import YOU, By
from pyadeq.ext.cli.outgoing.shared import EndpointId as Id
from pyadeq.ext.cli.outgoing.shared import add_commands, allow_option, done, http_option, ports_option, run_sender
from pyadeq.ext.cli.shared.arguments import MOMENT, moment_ago, time_option
from pyadeq.ext.cli.shared.common import DEFAULT_URL, PLACE, Format, Output, Url, iso
from pyadeq.ext.cli.shared.logs import LogForm, LogLevel
from pyadeq.ext.cli.shared.running import Document, Read, with_client, with_client_of, without_client
from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.ext.outgoing.addresses import Allowed
from pyadeq.ext.outgoing.references import check_reference
from pyadeq.ext.outgoing.webhooks import new_secret
from pyadeq.ext.outgoing.webhooks._sync.webhooks import Known, Webhooks
from pyadeq.ext.outgoing.webhooks.endpoints import CONCURRENCY
from pyadeq.ext.outgoing.webhooks.signing import shown_secret

if TYPE_CHECKING:
    from pyadeq import Adeq

LONGEST = 1000
"""Characters of a secret that are read."""

app = noun(NOUNS["webhook"])


class OrderName(StrEnum):
    """The orders in which messages can be sent."""

    none = "none"
    fifo = "fifo"


class ContentName(StrEnum):
    """What is sent of tasks besides ids, times and states."""

    payload = "payload"
    result = "result"


def _given(secret: str) -> str:
    """A reference, or the text from standard input. As an argument, a text would be in the list of processes."""
    return sys.stdin.read(LONGEST).strip() if secret == "@-" else check_reference("secret", secret)


Secret = Annotated[
    str,
    typer.Option(
        metavar="WHERE",
        help="Where senders find the secret: env:NAME, or file:/path; @- reads it from stdin, and --codec seals it.",
    ),
    Read(_given),
]
Networks = Annotated[list[str] | None, allow_option("WEBHOOK")]
Http = Annotated[bool, http_option("WEBHOOK")]
Ports = Annotated[list[int] | None, ports_option("WEBHOOK")]


@app.command()
@with_client
def add(
    adeq: Adeq,
    id: Id,
    to: Annotated[str, typer.Argument(metavar="URL", help="Where messages go: https://…")],
    secret: Secret,
    event: Annotated[
        list[str], typer.Option("--event", metavar="PATTERN", help="Events, such as task.dead or change.*. Repeat it.")
    ],
    queue: Annotated[
        list[str] | None, typer.Option("--queue", metavar="PATTERN", help="Only of these queues. Repeat it. [all]")
    ] = None,
    stream: Annotated[
        list[str] | None,
        typer.Option("--stream", metavar="NOUN:PATTERN", help="Of other nouns, too: change:*, lock:db. Repeat it."),
    ] = None,
    include: Annotated[
        list[ContentName] | None, typer.Option(help="Send this of tasks, if their data tier allows it. Repeat it.")
    ] = None,
    order: Annotated[
        OrderName, typer.Option(help="fifo: one message at a time, in the order of the events.")
    ] = OrderName.none,
    concurrency: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="Messages at the same time.")
    ] = CONCURRENCY,
    starts: Annotated[
        int | None, typer.Option(min=1, max=1000, metavar="N", help="Messages in a second. [not limited]")
    ] = None,
    allow: Networks = None,
    http: Http = False,
    port: Ports = None,
    actor: By = YOU,
) -> Document:
    """Add an endpoint. It gets the events that happen from now on.

    Its host must have public addresses only. That is checked now and before each message.
    """
    streams = [*(f"queue:{one}" for one in queue or ()), *(stream or ())] or ["queue:*"]
    webhooks = Webhooks(adeq, allowed=Allowed.of(allow or (), http=http, ports=port or ()))
    made = webhooks.add(
        id,
        to,
        secret=secret,
        events=event,
        streams=streams,
        include=[one.value for one in include or ()],
        order=order.value,
        concurrency=concurrency,
        starts=starts,
        actor=actor,
    )
    return Document(_plain(id, Known(made, None)), f"added {id}: {', '.join(made.events)} of {', '.join(made.streams)}")


@app.command()
@with_client_of(codec=None)
def enable(adeq: Adeq, id: Id, actor: By = YOU) -> Document:
    """Send to an endpoint again, what happens from now on."""
    Webhooks(adeq).enable(id, actor=actor)
    return done("enabled", id)


@app.command()
@with_client_of(codec=None)
def disable(adeq: Adeq, id: Id, actor: By = YOU) -> Document:
    """Send nothing to an endpoint any more. Messages that wait die."""
    Webhooks(adeq).disable(id, actor=actor)
    return done("disabled", id)


@app.command()
@with_client
def rotate(
    adeq: Adeq,
    id: Id,
    secret: Secret,
    keep: Annotated[float, time_option("Also sign with the old secret for this time.")] = "1d",  # type: ignore[assignment]
    actor: By = YOU,
) -> Document:
    """Sign with another secret, and for a time also with the old one."""
    Webhooks(adeq).rotate(id, secret, keep=keep, actor=actor)
    return done("rotated", id)


@app.command()
@with_client_of(codec=None)
def replay(
    adeq: Adeq,
    what: Annotated[
        str, typer.Argument(metavar="MESSAGE|ENDPOINT", help="A webhook-id; with --since, the id of an endpoint.")
    ],
    since: Annotated[
        float | None,
        typer.Option(parser=moment_ago, metavar="TIME", help=f"From this time on: {MOMENT}; or 2h ago: 2h."),
    ] = None,
    until: Annotated[
        float | None, typer.Option(parser=moment_ago, metavar="TIME", help="Before this time. [default: now]")
    ] = None,
) -> Document:
    """Send one message again, or those about all events of a time. They keep their webhook-id."""
    webhooks = Webhooks(adeq)
    if since is None and until is not None:
        raise ConfigError("--until: it goes with --since")
    found = webhooks.replay(what) if since is None else webhooks.replay_range(what, since, until)
    waiting = f", {found.waiting:,} already on their way" if found.waiting else ""
    return Document({"what": what, **found._asdict()}, f"{found.sent:,} sent again{waiting}")


@app.command()
def run(
    concurrency: Annotated[
        int, typer.Option("--concurrency", "-c", min=1, metavar="N", help="Messages at a time.")
    ] = 64,
    timeout: Annotated[float, time_option("The time for one message, from the DNS to the answer.")] = "20s",  # type: ignore[assignment]
    find: Annotated[float, time_option("Time between two looks for new queues and so on.")] = "30s",  # type: ignore[assignment]
    allow: Networks = None,
    http: Http = False,
    port: Ports = None,
    log_level: Annotated[LogLevel, typer.Option(help="The lowest level of the log.")] = LogLevel.info,
    log_form: LogForm = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Forward events to the endpoints, until SIGTERM or SIGINT.

    Any number of processes may do it. Each may be killed at any time: no message is lost or enqueued twice. While the
    server is away, it waits. Proxies of the environment are ignored. Needs the extra webhooks.
    """
    from pyadeq.ext.outgoing.webhooks import serve

    allowed = Allowed.of(allow or (), http=http, ports=port or ())

    async def work(adeq: AsyncAdeq) -> None:
        codec = PLACE.options()["codec"]  # only for secrets: what it seals of tasks is not sent
        await serve(adeq, concurrency=concurrency, find=find, allowed=allowed, timeout=timeout, codec=codec)

    run_sender(["webhook"], work, url, output, log_level, log_form, concurrency=concurrency)


@app.command()
@without_client
def secret() -> Document:
    """Print a new random secret. Nothing is stored."""
    made = new_secret()
    return Document({"secret": made}, made)


def _plain(id: str, known: Known) -> dict[str, Any]:
    """An endpoint as JSON can have it, with its state in words."""
    endpoint, failing, _ = known
    state = "enabled" if endpoint.enabled else f"disabled: {endpoint.disabled_for}"
    if endpoint.enabled and failing:
        state = f"failing since {iso(failing.since)}: {failing.reason}"
    shown = endpoint.model_dump(mode="json")
    old = iso(endpoint.old_until) if endpoint.old_secret else None
    return {
        "id": id,
        "state": state,
        **shown,
        "secret": shown_secret(endpoint.secret),
        "old_secret": endpoint.old_secret and shown_secret(endpoint.old_secret),
        "since": iso(endpoint.since),
        "created": iso(endpoint.created),
        "old_until": old,
    }


add_commands(app, "webhook", Webhooks, _plain, "id url state events streams")
