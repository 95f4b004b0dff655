"""What `adeq webhook` and `adeq post` share: where messages may go, and the service that sends them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeAlias

import typer

from pyadeq import Adeq as AnyAdeq
from pyadeq.asyncio import Adeq
from pyadeq.errors import AdeqError, TransportError, WaitTimeout
from pyadeq.ext.cli.change.who import YOU, By
from pyadeq.ext.cli.shared.arguments import time_option
from pyadeq.ext.cli.shared.common import PLACE, Format, check_url, shown_url, unreachable
from pyadeq.ext.cli.shared.logs import LogForm, LogLevel, log_format, log_to_stderr
from pyadeq.ext.cli.shared.running import Document, Lines, with_client_of
from pyadeq.ext.cli.shared.shown import cell, fields

EndpointId = Annotated[str, typer.Argument(metavar="ENDPOINT", help="The id of the endpoint.")]
Plain: TypeAlias = Callable[[str, Any], dict[str, Any]]


def allow_option(word: str, name: str = "--allow") -> Any:
    """The option for networks. word: the middle of the variable with its default, `WEBHOOK` in ADEQ_WEBHOOK_ALLOW."""
    return typer.Option(
        name,
        metavar="NETWORK",
        envvar=f"ADEQ_{word}_ALLOW",
        help="A network that is not public where messages may go, such as 10.0.0.0/8. Repeat it.",
    )


def http_option(word: str, name: str = "--http") -> Any:
    """The option for plain HTTP."""
    return typer.Option(
        name, envvar=f"ADEQ_{word}_HTTP", help="Messages may also go by plain HTTP, which everybody can read."
    )


def ports_option(word: str, name: str = "--port") -> Any:
    """The option for ports."""
    return typer.Option(
        name, metavar="PORT", envvar=f"ADEQ_{word}_PORTS", help="A port besides 443 where messages may go. Repeat it."
    )


def add_commands(app: typer.Typer, noun: str, endpoints: Callable[[AnyAdeq], Any], plain: Plain, columns: str) -> None:
    """What one does with an endpoint of any noun. plain: an endpoint as JSON can have it."""
    words = columns.split()

    @with_client_of(codec=None)
    def ls(adeq: AnyAdeq) -> Lines:
        """List the endpoints."""
        rows = [plain(id, one) for id, one in endpoints(adeq).list().items()]
        return Lines(rows, words, lambda row: [cell(name, row[name]) for name in words], spare=words[:0:-1])

    @with_client_of(codec=None)
    def show(adeq: AnyAdeq, id: EndpointId) -> Document:
        """Show an endpoint. Exits with 1 if there is none."""
        row = plain(id, endpoints(adeq).get(id))
        return Document(row, fields(row))

    @with_client_of(codec=None)
    def rm(adeq: AnyAdeq, id: EndpointId, actor: By = YOU) -> Document:
        """Remove an endpoint. What waits is not sent any more. Exits with 1 if there is none."""
        endpoints(adeq).remove(id, actor=actor)
        return done("removed", id)

    @with_client_of(codec=None)
    def test(
        adeq: AnyAdeq,
        id: EndpointId,
        wait: Annotated[float, time_option("Wait for the answer for this time.")] = "30s",  # type: ignore[assignment]
    ) -> Document:
        """Have a test message sent, by a process that sends messages. Exits with 1 if that fails."""
        try:
            outcome = endpoints(adeq).test(id, wait=wait)
        except WaitTimeout:
            raise AdeqError(f"no process has sent it in time; is adeq {noun} run running?") from None
        row = {"endpoint": id, "status": outcome.status, "reason": outcome.reason, "error": outcome.error}
        if outcome.status == "completed":
            row["answer"] = outcome.result["status"]
        return Document(row, fields(row), failed=outcome.status != "completed")

    for command in (ls, show, rm, test):
        app.command()(command)


def done(status: str, id: str) -> Document:
    """What was done to an endpoint."""
    return Document({"endpoint": id, "status": status}, f"{status} {id}")


def run_sender(
    nouns: Sequence[str],
    serve: Callable[[Adeq], Awaitable[None]],
    url: str,
    output: Format,
    log_level: LogLevel,
    log_form: LogForm,
    **fields: Any,
) -> None:
    """Run a service until a signal. nouns: `webhook`, `post`, or both. fields: of its first line in the log."""
    check_url(url)
    log_to_stderr(log_level, log_format(log_form, output))
    logs = {noun: logging.getLogger(f"pyadeq.{noun}s") for noun in nouns}

    async def work() -> None:
        options = {**PLACE.options(), "codec": None}
        async with Adeq.from_url(url, **options, source=f"adeq {nouns[0] if len(nouns) == 1 else 'send'}") as adeq:
            for noun, log in logs.items():
                log.info("%ss are sent", noun, extra={"fields": {"url": shown_url(url), **fields}})
            try:
                await serve(adeq)
            except TransportError as error:
                raise unreachable(url, error) from error
        logs[nouns[-1]].info("stopped")

    asyncio.run(work())
