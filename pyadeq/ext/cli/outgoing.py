"""What `adeq webhook` and `adeq post` share: where messages may go, and the service that sends them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import typer

from pyadeq.asyncio import Adeq
from pyadeq.errors import AdeqError, TransportError, WaitTimeout
from pyadeq.ext.cli.common import PLACE, Format, check_url, safe, shown_url, unreachable
from pyadeq.ext.cli.logs import LogForm, LogLevel, log_format, log_to_stderr
from pyadeq.ext.cli.running import Document
from pyadeq.models.worker import Outcome


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


def cell(value: Any) -> str:
    """A field of an endpoint in a table."""
    return safe(", ".join(value) if isinstance(value, list) else "" if value is None else str(value))


def endpoint(row: dict[str, Any]) -> Document:
    """An endpoint, for people the fields that it has."""
    return Document(row, {name: cell(value) for name, value in row.items() if value not in (None, [])})


def tried(noun: str, id: str, test: Callable[[], Outcome]) -> Document:
    """Have a test message sent, and say how that ended. The command fails if it failed."""
    try:
        outcome = test()
    except WaitTimeout:
        raise AdeqError(f"no process has sent it in time; is adeq {noun} run running?") from None
    row = {"endpoint": id, "status": outcome.status, "reason": outcome.reason, "error": outcome.error}
    if outcome.status == "completed":
        row["answer"] = outcome.result["status"]
    shown = {name: safe(str(value)) for name, value in row.items() if value is not None}
    return Document(row, shown, failed=outcome.status != "completed")


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
