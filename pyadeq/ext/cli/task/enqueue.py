"""`adeq task enqueue`: one task, or those of a file."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.common import DEFAULT_URL, Format, Output, Url, connected, print_json
from pyadeq.ext.cli.shared.queue_arguments import QueueName
from pyadeq.ext.cli.shared.resolve import queue_or_new, warn_of_kind
from pyadeq.ext.cli.task.enqueue_file import enqueue_file
from pyadeq.ext.cli.task.options import flag_of, given, option, with_task_options
from pyadeq.ext.cli.task.rows_of_a_file import Upload
from pyadeq.keys import check_name

LONGEST_RID = 150  # characters: ids of tasks are made of it


class Durability(StrEnum):
    """The places that must have a task before enqueue answers."""

    memory = "memory"
    aof = "aof"
    replica = "replica"


Payload = Annotated[str | None, option("The payload, as JSON.", "JSON")]


@with_task_options(before="url")
def enqueue(
    queue: QueueName,
    payload: Payload = None,
    file: Annotated[Path | None, typer.Option(metavar="PATH", help="A file of tasks; - for stdin.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Send the payload, or each line, as it is.")] = False,
    rid: Annotated[str | None, option("A repeated command with the same rid creates nothing twice.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Where to save the progress. [default: beside the file]")
    ] = None,
    durability: Annotated[
        Durability, typer.Option(help="When a write counts as done: in memory, on disk or on replicas.")
    ] = Durability.memory,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
    **task: Any,
) -> None:
    """Enqueue a task, or every line of a file.

    Each line of the file is a JSON object with the fields of a task, for instance {"payload": {"n": 1}, "kind":
    "mail"}. With --raw, each line is a payload. Empty lines are skipped. Progress is saved in a checkpoint file beside
    the file. A run that was killed continues there when it is started again, and nothing is created twice.

    TIME is in seconds, or with a unit: 90, 500ms, 1.5h, 7d; also in a file, "delay": "5m". WHEN is an ISO 8601 time
    with a zone, or seconds since the epoch.
    """
    options = given(task)
    if rid is not None and len(check_name("--rid", rid, "id")) > LONGEST_RID:
        raise ConfigError(f"--rid: {len(rid)} characters; allowed: {LONGEST_RID} at most, because ids are made from it")
    if file is not None:
        _refuse_beside_file(payload, options)
        enqueue_file(Upload(file, raw=raw, rid=rid, checkpoint=checkpoint), queue, durability.value, url, output)
    elif checkpoint is not None:
        raise ConfigError("--checkpoint: it goes with --file; give --file, or leave it out")
    else:
        _enqueue_one(queue, read_payload(payload, raw), rid, options, durability.value, url, output)


def _enqueue_one(
    queue: str, data: Any, rid: str | None, options: dict[str, Any], durability: str, url: str, output: Format
) -> None:
    """Enqueue one task, and print its receipt. options: of the task."""
    with connected(url, durability=durability) as adeq:
        receipt = queue_or_new(adeq, queue).enqueue(data, rid=rid, **options)
        warn_of_kind(adeq, queue, options.get("kind"))
    if output != Format.table:
        print_json({"queue": queue, "status": receipt.status, "id": receipt.id}, output)
    else:
        print(f"{receipt.status} {receipt.id}")


def _refuse_beside_file(payload: str | None, options: dict[str, Any]) -> None:
    others = ["--payload"] * (payload is not None) + [flag_of(name) for name in options]
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
