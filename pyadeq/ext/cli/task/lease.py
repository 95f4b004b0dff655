"""`adeq task claim`, and what ends or renews its lease: for scripts that run tasks themselves."""

from __future__ import annotations

import json
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.shared.arguments import MOST_CONTENT, STDIN, content_of_file, time_option
from pyadeq.ext.cli.shared.common import DEFAULT_URL, PLACE, Format, Output, Url, connected, iso
from pyadeq.ext.cli.shared.ending import ended_in_order
from pyadeq.ext.cli.shared.queue_arguments import QueueName
from pyadeq.ext.cli.shared.resolve import existing_queue, parts, queue_or_new
from pyadeq.ext.cli.shared.running import Document, Read, with_client
from pyadeq.ext.cli.task import tickets
from pyadeq.ext.cli.task.tickets import TicketFile
from pyadeq.ids import default_worker_name
from pyadeq.models.queue import shown_payload

if TYPE_CHECKING:
    from pyadeq import Adeq, Lease

FIELDS = ("queue", "id", "token")
Held = Annotated[Any, tickets.OPTION, Read(lambda path: tickets.read(path, *FIELDS), Path)]
ABOUT = ("kind", "user", "parent", "timeout")
MOST_RESULT = 1024 * 1024  # bytes that queue.ack.v1 accepts; a codec may make more of them fit
LOOK = 1.0  # seconds for which a signal that ends `claim` may be put off


def claim(
    queue: QueueName,
    wait: Annotated[float, time_option("How long to wait for a task; 0: not at all.")] = "0",  # type: ignore[assignment]
    lane: Annotated[
        list[str] | None, typer.Option(metavar="LANE", help="A lane to take it from; repeat it. [default: any]")
    ] = None,
    lease: Annotated[float, time_option("How long the lease lasts; 0: the queue's setting.")] = "0",  # type: ignore[assignment]
    ticket: Annotated[
        Path | None, typer.Option("--ticket", metavar="PATH", help="Write the ticket to this file, mode 0600.")
    ] = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Lease one task, and print its ticket: the payload, and what `ack`, `fail`, `release` and `heartbeat` need.

    End the task before its lease ends, or renew the lease: otherwise another worker gets the task. adeq worker run
    --exec does all this by itself. Exits with 1 if there is no task.
    """
    worker = default_worker_name()
    until = monotonic() + wait
    with ended_in_order(at_once=False) as ending, connected(url) as adeq:
        found = queue_or_new(adeq, queue)
        while True:  # until the time is up
            left = max(until - monotonic(), 0)
            leases = found.claim(worker, 1, min(left, LOOK), lanes=lane or ["any"], lease=lease)
            if leases or ending.asked or left <= LOOK:
                break
        given = False
        try:
            for part in parts(found):
                part.workers.deregister(worker)  # nobody has to wait for it: its lease stays
            if leases and not ending.asked:
                ending.at_once = True  # the reader of a pipe may be slow
                tickets.give(_ticket(queue, leases[0]), ticket, output)
                given = True
        finally:
            ending.at_once = False
            if leases and not given:
                found.release(leases[0])
    if ending.asked and not given:
        ending.leave()
    if not leases:
        raise AdeqError(f"queue: {queue!r} has no task that can start now")


def _ticket(queue: str, lease: Lease) -> dict[str, Any]:
    about = {name: value for name in ABOUT if (value := getattr(lease, name)) is not None}
    made = {
        "queue": queue,
        "id": lease.id,
        "token": lease.token,
        "fence": lease.fence,
        "attempt": lease.attempt,
        "until": iso(lease.deadline),
        **about,
        **({"tags": list(lease.tags)} if lease.tags else {}),
    }
    return made | shown_payload(lease)


@with_client
def ack(
    adeq: Adeq,
    ticket: TicketFile = STDIN,
    result: Annotated[str | None, typer.Option(metavar="JSON", help="The result, as JSON.")] = None,
    result_file: Annotated[
        Path | None, typer.Option(metavar="PATH", help="A file with the result, kept as it is; - for standard input.")
    ] = None,
) -> Document:
    """Complete a task that `claim` has leased. Exits with 1 if its lease is over: another worker may have it."""
    if result is not None and result_file is not None:
        raise ConfigError("--result, --result-file: give one of them")
    if result_file == STDIN == ticket:
        raise ConfigError("--result-file: the ticket comes from standard input; give --ticket PATH")
    held = tickets.read(ticket, *FIELDS)
    if result_file is None:
        data = _json(result)
    else:
        data = content_of_file("--result-file", result_file, MOST_CONTENT if PLACE.codec else MOST_RESULT)
    status: str = existing_queue(adeq, held["queue"]).ack(_held(held), data)
    return _answer(held, "completed" if status == "already" else status)


@with_client
def fail(
    adeq: Adeq,
    ticket: Held = STDIN,
    error: Annotated[str, typer.Option(metavar="TEXT", help="What went wrong.")] = "",
    reason: Annotated[str, typer.Option(metavar="NAME", help="The same in one word.")] = "error",
    no_retry: Annotated[
        bool, typer.Option("--no-retry", help="The task is dead, whatever attempts it has left.")
    ] = False,
    delay: Annotated[float | None, time_option("How long until the retry. [default: the backoff]")] = None,
) -> Document:
    """End a failed attempt of a task that `claim` has leased. It is retried after a delay, or is dead."""
    found = existing_queue(adeq, ticket["queue"])
    failed = found.fail(_held(ticket), error, reason=reason, retryable=not no_retry, delay=delay)
    return _answer(ticket, failed.status, failed.due)


@with_client
def release(adeq: Adeq, ticket: Held = STDIN) -> Document:
    """Return a task that `claim` has leased to its old place. No attempt is spent."""
    return _answer(ticket, existing_queue(adeq, ticket["queue"]).release(_held(ticket)))


@with_client
def heartbeat(
    adeq: Adeq,
    ticket: Held = STDIN,
    extend: Annotated[float, time_option("How long the lease lasts from now; 0: the queue's setting.")] = "0",  # type: ignore[assignment]
) -> Document:
    """Renew the lease of a task that `claim` has leased. Exits with 1 if the task must stop.

    It must stop if its lease is over, if it was cancelled, or if it has run longer than its timeout.
    """
    renewal = existing_queue(adeq, ticket["queue"]).heartbeat(_held(ticket), extend)
    if renewal.status != "renewed":
        why = {"cancelling": "it was cancelled", "timed_out": "it has run longer than its timeout"}
        raise AdeqError(f"task {ticket['id']!r} must stop: {why.get(renewal.status, renewal.status)}")
    return _answer(ticket, "renewed", renewal.deadline)


def _held(ticket: dict[str, Any]) -> tuple[str, str]:
    return ticket["id"], ticket["token"]


def _answer(ticket: dict[str, Any], status: str, at: float | None = None) -> Document:
    """at: when it is retried, or until when its lease lasts."""
    name = "until" if status == "renewed" else "due"
    when = {} if at is None else {name: iso(at)}
    return Document(
        {"queue": ticket["queue"], "id": ticket["id"], "status": status, **when},
        " ".join([ticket["id"], status, *(f"{name} {time}" for name, time in when.items())]),
    )


def _json(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise ConfigError(f"--result: it is not JSON ({error}); send it as it is with --result-file") from None


VERBS = (claim, ack, fail, release, heartbeat)
