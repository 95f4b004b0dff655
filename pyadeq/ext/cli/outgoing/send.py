"""`adeq send`: `adeq webhook run` and `adeq post run` in one process."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from pyadeq.asyncio import Adeq
from pyadeq.errors import TransportError
from pyadeq.ext.cli.outgoing.shared import allow_option, http_option, ports_option, run_sender
from pyadeq.ext.cli.shared.arguments import time_option
from pyadeq.ext.cli.shared.common import DEFAULT_URL, PLACE, Format, Output, Url
from pyadeq.ext.cli.shared.logs import LogForm, LogLevel
from pyadeq.ext.outgoing.addresses import Allowed


def send(
    find: Annotated[float, time_option("Time between two looks for new queues and so on.")] = "30s",  # type: ignore[assignment]
    webhook_allow: Annotated[list[str] | None, allow_option("WEBHOOK", "--webhook-allow")] = None,
    webhook_http: Annotated[bool, http_option("WEBHOOK", "--webhook-http")] = False,
    webhook_port: Annotated[list[int] | None, ports_option("WEBHOOK", "--webhook-port")] = None,
    post_allow: Annotated[list[str] | None, allow_option("POST", "--post-allow")] = None,
    post_http: Annotated[bool, http_option("POST", "--post-http")] = False,
    post_port: Annotated[list[int] | None, ports_option("POST", "--post-port")] = None,
    log_level: Annotated[LogLevel, typer.Option(help="The lowest level of the log.")] = LogLevel.info,
    log_form: LogForm = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Send webhooks and posts, until SIGTERM or SIGINT.

    The same as adeq webhook run and adeq post run, in one process. Any number of processes may do it, and each may be
    killed at any time. Needs the extra webhooks.
    """
    from pyadeq.ext.outgoing.posts import serve as send_posts
    from pyadeq.ext.outgoing.webhooks import serve as send_webhooks

    webhooks = Allowed.of(webhook_allow or (), http=webhook_http, ports=webhook_port or ())
    posts = Allowed.of(post_allow or (), http=post_http, ports=post_port or ())

    async def work(adeq: Adeq) -> None:
        codec = PLACE.options()["codec"]  # only for secrets of webhooks
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(send_webhooks(adeq, find=find, allowed=webhooks, codec=codec))
                group.create_task(send_posts(adeq, find=find, allowed=posts))
        except* TransportError as errors:
            raise errors.exceptions[0] from None

    run_sender(("webhook", "post"), work, url, output, log_level, log_form)
