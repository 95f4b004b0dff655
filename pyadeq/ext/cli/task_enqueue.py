"""`adeq task enqueue`: one task, or those of a file."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.arguments import Tier, moment, time_option
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json
from pyadeq.ext.cli.enqueue_file import Upload
from pyadeq.ext.cli.queue_arguments import QueueName
from pyadeq.ext.cli.resolve import queue_or_new, warn_of_kind
from pyadeq.ext.cli.task_enqueue_file import enqueue_file
from pyadeq.keys import check_name

LONGEST_RID = 150  # characters: ids of tasks are made of it


class Coalesce(StrEnum):
    """Whose payload is kept where a scope is taken."""

    first = "first"
    last = "last"


class AfterWhen(StrEnum):
    """How the tasks must end that one comes after."""

    completed = "completed"
    failed = "failed"
    ended = "ended"


class Durability(StrEnum):
    """Where a task is when enqueue answers."""

    memory = "memory"
    aof = "aof"
    replica = "replica"


def moment_option(help: str) -> Any:
    """An option that takes a point in time."""
    return typer.Option(parser=moment, metavar="WHEN", help=help)


def option(help: str, metavar: str = "ID") -> Any:
    """An option that takes a word."""
    return typer.Option(metavar=metavar, help=help)


def enqueue(
    queue: QueueName,
    payload: Annotated[str | None, option("The payload, as JSON.", "JSON")] = None,
    file: Annotated[Path | None, typer.Option(metavar="PATH", help="A file of tasks; - for stdin.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Send the payload, or each line, as it is.")] = False,
    rid: Annotated[str | None, option("A repeated command with the same rid creates nothing twice.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Where to save the progress. [default: beside the file]")
    ] = None,
    durability: Annotated[
        Durability, typer.Option(help="When a write counts as done: in memory, on disk or on replicas.")
    ] = Durability.memory,
    id: Annotated[str | None, option("The task's id. [default: a new one]")] = None,
    kind: Annotated[str | None, option("The kind of the task.")] = None,
    priority: Annotated[int | None, typer.Option(help="0 (first) to 9. [default: 5]")] = None,
    lane: Annotated[str | None, option("Which workers may take it: any, group/G, group/G/inst/I.", "LANE")] = None,
    fallback: Annotated[
        list[str] | None,
        option(
            "The next lane if no worker takes it: a lane; wider: all wider lanes; or fail. Repeat it for more.", "LANE"
        ),
    ] = None,
    fallback_after: Annotated[float | None, time_option("How long it waits in each lane before the next.")] = None,
    delay: Annotated[float | None, time_option("The earliest start, from now.")] = None,
    run_after: Annotated[float | None, moment_option("The earliest start.")] = None,
    expires_at: Annotated[float | None, moment_option("Dead if not started by then.")] = None,
    timeout: Annotated[float | None, time_option("How long one run may take.")] = None,
    user: Annotated[str | None, option("The user for whom the task runs.")] = None,
    tag: Annotated[list[str] | None, option("A tag; repeat it for more.")] = None,
    limit: Annotated[
        list[str] | None, option("A key that adeq limit set key:KEY limits; repeat it for more.", "KEY")
    ] = None,
    parent: Annotated[str | None, option("The id of the parent task.")] = None,
    after: Annotated[
        list[str] | None, option("A task that must end first; repeat it for more. The new task is blocked until then.")
    ] = None,
    after_any: Annotated[bool, typer.Option("--after-any", help="With --after: one of the tasks is enough.")] = False,
    after_when: Annotated[
        AfterWhen | None, typer.Option(help="With --after: how the tasks must end. [default: completed]")
    ] = None,
    gather: Annotated[
        int | None, typer.Option(help="How many children, later tasks with this one as parent, must end first.")
    ] = None,
    ordering_key: Annotated[str | None, option("Tasks with the same key run one at a time, in order.")] = None,
    idempotency_key: Annotated[str | None, option("Create no other task with this key for a day.")] = None,
    unique: Annotated[str | None, option("Create no other task with this key until it has ended.")] = None,
    scope: Annotated[str | None, option("Create no other task with this scope until it is started.")] = None,
    coalesce: Annotated[
        Coalesce | None, typer.Option(help="With --scope: which payload is kept. [default: first]")
    ] = None,
    result_ttl: Annotated[float | None, time_option("How long the result is kept.")] = None,
    reply: Annotated[bool, typer.Option("--reply", help="Notify clients that wait for the result at once.")] = False,
    max_attempts: Annotated[int | None, typer.Option(help="The most runs. [default: the queue's]")] = None,
    source: Annotated[str | None, option("The source of the task: user, system, hook or another word.", "TEXT")] = None,
    tier: Annotated[
        Tier | None, typer.Option(help="What may be shown of the task: its data tier. [default: the queue's]")
    ] = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Enqueue a task, or every line of a file.

    Each line of the file is a JSON object with the fields of a task, for instance {"payload": {"n": 1}, "kind":
    "mail"}. With --raw, each line is a payload. Empty lines are skipped. Progress is saved in a checkpoint file beside
    the file. A run that was killed continues there when it is started again, and nothing is created twice.

    TIME is in seconds, or with a unit: 90, 500ms, 1.5h, 7d; also in a file, "delay": "5m". WHEN is an ISO 8601 time
    with a zone, or seconds since the epoch.
    """
    fields = {
        "id": id,
        "kind": kind,
        "priority": priority,
        "lane": lane,
        "fallback": "wider" if fallback == ["wider"] else fallback,
        "fallback_after": fallback_after,
        "delay": delay,
        "run_after": run_after,
        "expires_at": expires_at,
        "timeout": timeout,
        "user": user,
        "tags": tag,
        "limits": limit,
        "parent": parent,
        "after": after,
        "after_any": after_any or None,
        "after_when": after_when and after_when.value,
        "gather": gather,
        "ordering_key": ordering_key,
        "idempotency_key": idempotency_key,
        "unique": unique,
        "scope": scope,
        "coalesce": coalesce and coalesce.value,
        "result_ttl": result_ttl,
        "reply": reply or None,
        "max_attempts": max_attempts,
        "source": source,
        "tier": tier and tier.value,
    }
    given: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    if rid is not None and len(check_name("--rid", rid, "id")) > LONGEST_RID:
        raise ConfigError(f"--rid: {len(rid)} characters; allowed: {LONGEST_RID} at most, because ids are made from it")
    if file is not None:
        _refuse_beside_file(payload, given)
        enqueue_file(Upload(file, raw=raw, rid=rid, checkpoint=checkpoint), queue, durability.value, url, output)
    elif checkpoint is not None:
        raise ConfigError("--checkpoint: it goes with --file; give --file, or leave it out")
    else:
        _enqueue_one(queue, read_payload(payload, raw), rid, given, durability.value, url, output)


def _enqueue_one(
    queue: str, data: Any, rid: str | None, given: dict[str, Any], durability: str, url: str, output: Format
) -> None:
    """Enqueue one task, and print its receipt. given: its options."""
    with connected(url, durability=durability) as adeq:
        receipt = queue_or_new(adeq, queue).enqueue(data, rid=rid, **given)
        warn_of_kind(adeq, queue, given.get("kind"))
    if output != Format.table:
        print_json({"queue": queue, "status": receipt.status, "id": receipt.id}, output)
    else:
        print(f"{receipt.status} {receipt.id}")


def _refuse_beside_file(payload: str | None, given: dict[str, Any]) -> None:
    others = ["--payload"] * (payload is not None) + [f"--{name.rstrip('s').replace('_', '-')}" for name in given]
    if others:
        raise ConfigError(f"--file: its lines say what the tasks are; leave out {', '.join(others)}")


def read_payload(text: str | None, raw: bool) -> Any:
    """A payload as it is given on the command line: JSON, or with raw the bytes as they are."""
    if text is None or raw:
        return None if text is None else text.encode(errors="surrogateescape")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigError(f"--payload: it is not JSON ({error}); send it as it is with --raw") from None
