"""The settings of a queue: `adeq queue configure`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from pydantic import ValidationError

from pyadeq import Backoff, Settings
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.arguments import Tier, time_option
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json
from pyadeq.ext.cli.queue_arguments import QueueName
from pyadeq.ext.cli.resolve import existing_queue, queue_or_new
from pyadeq.ext.cli.tables import print_fields
from pyadeq.keys import shown


def configure(
    name: QueueName,
    lease: Annotated[float | None, time_option("How long a lease lasts without a renewal.")] = None,
    max_attempts: Annotated[int | None, typer.Option(help="The most runs of a task.")] = None,
    max_crashes: Annotated[int | None, typer.Option(help="How many leases may expire before a task is dead.")] = None,
    backoff_base: Annotated[float | None, time_option("The delay before the first retry.")] = None,
    backoff_multiplier: Annotated[float | None, typer.Option(help="The factor from one delay to the next.")] = None,
    backoff_cap: Annotated[float | None, time_option("The longest delay before a retry.")] = None,
    backoff_jitter: Annotated[float | None, typer.Option(help="The random part of a delay, 0 to 1.")] = None,
    events_max: Annotated[int | None, typer.Option(help="About how many events are kept; 0: none are written.")] = None,
    events_keep: Annotated[float | None, time_option("About how long events are kept.")] = None,
    events_error_max: Annotated[
        int | None, typer.Option(help="How many bytes of the error the event of a dead task shows; 0: none.")
    ] = None,
    presence: Annotated[float | None, time_option("Time after which a silent worker counts as gone.")] = None,
    finished_keep: Annotated[float | None, time_option("How long finished tasks are kept.")] = None,
    finished_max: Annotated[int | None, typer.Option(help="The most finished tasks that are kept.")] = None,
    dead_keep: Annotated[float | None, time_option("How long dead tasks are kept.")] = None,
    dead_max: Annotated[int | None, typer.Option(help="The most dead tasks that are kept.")] = None,
    result_ttl: Annotated[float | None, time_option("How long results are kept.")] = None,
    payload_ttl: Annotated[float | None, time_option("How long the payloads of completed tasks are kept.")] = None,
    reply_ttl: Annotated[float | None, time_option("How long the reply of a task with --reply is kept.")] = None,
    idempotency: Annotated[float | None, time_option("How long an idempotency key applies.")] = None,
    timeout: Annotated[
        float | None, time_option("How long a run may take, for tasks without a timeout of their own; 0: no limit.")
    ] = None,
    timeout_grace: Annotated[
        float | None, time_option("How long a lease is still renewed after the task has timed out.")
    ] = None,
    fair: Annotated[
        bool | None, typer.Option("--fair/--no-fair", help="Users take turns. For weights, see adeq share.")
    ] = None,
    tier: Annotated[Tier | None, typer.Option(help="The data tier of new tasks that name none.")] = None,
    expect: Annotated[
        str | None, typer.Option(metavar="DIGEST", help="Change nothing if the settings have another digest by now.")
    ] = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show the settings of a queue; with options, change those, and create the queue if it does not exist.

    TIME is in seconds, or with a unit: 90, 500ms, 1.5h, 7d.
    """
    changes = {
        "lease": lease,
        "max_attempts": max_attempts,
        "max_crashes": max_crashes,
        "events_max": events_max,
        "events_keep": events_keep,
        "events_error_max": events_error_max,
        "presence": presence,
        "finished_keep": finished_keep,
        "finished_max": finished_max,
        "dead_keep": dead_keep,
        "dead_max": dead_max,
        "result_ttl": result_ttl,
        "payload_ttl": payload_ttl,
        "reply_ttl": reply_ttl,
        "idempotency": idempotency,
        "timeout": timeout,
        "timeout_grace": timeout_grace,
        "fair": fair,
        "tier": tier and tier.value,
    }
    backoff = {"base": backoff_base, "multiplier": backoff_multiplier, "cap": backoff_cap, "jitter": backoff_jitter}
    given, of_backoff = _given(changes), _given(backoff)
    changed = bool(given or of_backoff)
    with connected(url) as adeq:
        queue = queue_or_new(adeq, name) if changed else existing_queue(adeq, name)
        if of_backoff:
            stored = queue.settings()
            given["backoff"], expect = _backoff({**stored.backoff.model_dump(), **of_backoff}), expect or stored.digest
        settings = queue.configure(expect=expect, **given) if changed else queue.settings()
    if output != Format.table:
        print_json({"queue": name, "settings": settings.model_dump()}, output)
    else:
        print_settings(settings)


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def print_settings(settings: Settings) -> None:
    """Print the settings of a queue, times in seconds."""
    fields = settings.model_dump(exclude={"mode", "layout", "backoff"})
    fields |= {f"backoff_{name}": value for name, value in settings.backoff.model_dump().items()}
    rows = [(name.replace("_", "-"), _shown(value)) for name, value in fields.items()]
    print_fields(rows, ("setting", "value"))


def _shown(value: float | str | bool | None) -> str:
    if value is None:
        return "as long as the task"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:,g}" if value % 1 else f"{value:,.0f}"


def _backoff(fields: dict[str, float]) -> Backoff:
    try:
        return Backoff.model_validate(fields)
    except ValidationError as error:
        problem = error.errors()[0]
        raise ConfigError(
            f"--backoff-{problem['loc'][0]}: {shown(problem['input'])} is not accepted: {problem['msg']}"
        ) from None
