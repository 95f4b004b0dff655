"""`adeq post`: posts to chat services about dead tasks and waiting approvals."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.ext.cli.change.who import YOU, By
from pyadeq.ext.cli.outgoing.shared import EndpointId as Id
from pyadeq.ext.cli.outgoing.shared import add_commands, allow_option, http_option, ports_option, run_sender
from pyadeq.ext.cli.shared.arguments import time_option
from pyadeq.ext.cli.shared.common import DEFAULT_URL, Format, Output, Url, iso
from pyadeq.ext.cli.shared.logs import LogForm, LogLevel
from pyadeq.ext.cli.shared.running import Document, with_client_of
from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.ext.outgoing.addresses import Allowed
from pyadeq.ext.outgoing.posts.endpoints import DEFAULT, Endpoint
from pyadeq.ext.outgoing.posts.posts import Posts

if TYPE_CHECKING:
    from pyadeq import Adeq


app = noun(NOUNS["post"])


class ServiceName(StrEnum):
    """The services to which posts can be sent."""

    zulip = "zulip"
    ntfy = "ntfy"
    slack = "slack"
    json = "json"


ActionsName = StrEnum("ActionsName", ["login", "code"])
"""What a link to retry or abandon a task asks for."""
AboutName = StrEnum("AboutName", ["dead", "asked", "waiting", "escalated", "timeout"])
"""What a post is about."""


Networks = Annotated[list[str] | None, allow_option("POST")]
Http = Annotated[bool, http_option("POST")]
Ports = Annotated[list[int] | None, ports_option("POST")]


@app.command()
@with_client_of(codec=None)
def add(
    adeq: Adeq,
    id: Id,
    service: Annotated[
        ServiceName, typer.Argument(metavar="SERVICE", help="zulip, ntfy, slack, or json for a program of your own.")
    ],
    to: Annotated[str, typer.Argument(metavar="URL", help="https://…, or where it is: env:NAME, or file:/path.")],
    secret: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Where the token or <user>:<password> is: env:NAME, or file:/path. Zulip: <email>:<API key> of a bot.",
        ),
    ] = None,
    channel: Annotated[str | None, typer.Option(help="The channel of Zulip.")] = None,
    about: Annotated[
        list[AboutName] | None, typer.Option(help=f"What posts are about. Repeat it. [{', '.join(DEFAULT)}]")
    ] = None,
    queue: Annotated[
        list[str] | None, typer.Option("--queue", metavar="PATTERN", help="Only these queues. Repeat it. [all]")
    ] = None,
    domain: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Only changes of these domains. Repeat it. [all]")
    ] = None,
    every: Annotated[float, time_option("Time between two digests of a queue, kind and reason.")] = "1m",  # type: ignore[assignment]
    board: Annotated[
        str | None, typer.Option(metavar="URL", envvar="ADEQ_BOARD_URL", help="The address of the board, for links.")
    ] = None,
    actions: Annotated[
        ActionsName, typer.Option(help="Links to retry and abandon ask for a login, or have a code that works once.")
    ] = ActionsName.login,
    payload: Annotated[
        bool, typer.Option("--payload", help="Also the beginning of payloads, if their data tier allows it.")
    ] = False,
    allow: Networks = None,
    http: Http = False,
    port: Ports = None,
    actor: By = YOU,
) -> Document:
    """Add an endpoint. It gets posts about what happens from now on.

    Its host must have public addresses only. That is checked now and before each post.
    """
    patterns = [*(f"queue:{one}" for one in queue or ()), *(f"change:{one}" for one in domain or ())]
    made = Posts(adeq, allowed=Allowed.of(allow or (), http=http, ports=port or ())).add(
        id,
        service.value,
        to,
        secret=secret,
        channel=channel,
        about=[one.value for one in about or ()] or DEFAULT,
        streams=patterns or ("queue:*", "change:*"),
        every=every,
        board=board,
        actions=actions.value,
        payload=payload,
        actor=actor,
    )
    return Document(_plain(id, made), f"added {id}: {', '.join(made.about)} of {', '.join(made.streams)}")


@app.command()
def run(
    concurrency: Annotated[int, typer.Option("--concurrency", "-c", min=1, metavar="N", help="Posts at a time.")] = 16,
    timeout: Annotated[float, time_option("The time for one post, from the DNS to the answer.")] = "20s",  # type: ignore[assignment]
    find: Annotated[float, time_option("Time between two looks for new queues and so on.")] = "30s",  # type: ignore[assignment]
    allow: Networks = None,
    http: Http = False,
    port: Ports = None,
    log_level: Annotated[LogLevel, typer.Option(help="The lowest level of the log.")] = LogLevel.info,
    log_form: LogForm = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Send posts to the endpoints, until SIGTERM or SIGINT.

    Any number of processes may do it. Each may be killed at any time: no post is lost or enqueued twice. While the
    server is away, it waits. Proxies of the environment are ignored. Needs the extra webhooks.
    """
    from pyadeq.ext.outgoing.posts import serve

    allowed = Allowed.of(allow or (), http=http, ports=port or ())

    async def work(adeq: AsyncAdeq) -> None:
        await serve(adeq, concurrency=concurrency, find=find, allowed=allowed, timeout=timeout)

    run_sender(["post"], work, url, output, log_level, log_form, concurrency=concurrency)


def _plain(id: str, endpoint: Endpoint) -> dict[str, Any]:
    """An endpoint as JSON can have it."""
    shown = endpoint.model_dump(mode="json")
    return {"id": id, **shown, "since": iso(endpoint.since), "created": iso(endpoint.created)}


add_commands(app, "post", Posts, _plain, "id service url about streams")
