"""`adeq limit`: how many tasks of a key may run at a time, and how many may start in a time."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq import LimitUse
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.limit.words import MOST, Rate, at_a_time, policy_of, rate, rate_words, rule_words
from pyadeq.ext.cli.shared.common import iso
from pyadeq.ext.cli.shared.complete import limit_keys
from pyadeq.ext.cli.shared.queue_arguments import DEFAULT_QUEUE, InQueue, QueueOption
from pyadeq.ext.cli.shared.resolve import parts, queue_or_new
from pyadeq.ext.cli.shared.running import Document, Lines, Read, Table, each, with_client
from pyadeq.ext.cli.shared.shown import ahead
from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.keys import check_name

if TYPE_CHECKING:
    from pyadeq import Adeq

app = noun(NOUNS["limit"])
COLUMNS = ("key", "concurrency", "rate", "policy")
FULL = "when one ends"
OF_USE = ("key", "running", "waiting", "next", "concurrency", "rate", "policy")
AT_ONCE = 200  # keys in one call


def distinct(keys: Sequence[str]) -> list[str]:
    """The keys in order, each once. ConfigError for what can be none."""
    return [check_name("key", key, "limit") for key in dict.fromkeys(keys)]


KEY = "user:ID, tag:ID, key:ID, or all. With * as the ID: each ID without a limit of its own."
Key = Annotated[str, typer.Argument(metavar="KEY", help=KEY, autocompletion=limit_keys)]
Keys = Annotated[list[str], typer.Argument(metavar="KEY...", help=KEY, autocompletion=limit_keys), Read(distinct)]

Policy = StrEnum(
    "Policy", {"queue": "queue", "reject": "reject", "cancel_newest": "cancel-newest", "cancel_oldest": "cancel-oldest"}
)
"""What happens to a task that may not start yet."""


@app.command()
@with_client
def ls(queue: InQueue = DEFAULT_QUEUE) -> Lines:
    """List the limits of a queue."""
    return Lines(
        queue.limits.list(),
        COLUMNS,
        lambda limit: (limit.key, at_a_time(limit), rate_words(limit), policy_of(limit)),
        right=["concurrency"],
        none=f"queue {queue.name!r} has no limits; adeq limit set creates one",
    )


@app.command()
@with_client
def show(adeq: Adeq, keys: Keys, queue: InQueue = DEFAULT_QUEUE) -> Document:
    """Show the state of keys: how many of their tasks run and wait, when the next may start, and which limit applies.

    Tasks that were already running when the limit was set are not counted. Cancelled tasks may still count as waiting.
    """
    uses: list[tuple[LimitUse, ...]] = []  # of each key those of all partitions
    for start in range(0, len(keys), AT_ONCE):
        some = keys[start:][:AT_ONCE]
        by_part = [adeq.send(part.calls.limits(some))[2] for part in parts(queue)]
        uses += zip(*by_part, strict=True)
    now = queue.stats().now
    return Document(
        {"queue": queue.name, "keys": [_as_dict(LimitUse.in_all(of_part)) for of_part in uses]},
        Table(OF_USE, (_row(of_part, now) for of_part in uses), ["running", "waiting", "concurrency"], ["policy"]),
    )


def _as_dict(use: LimitUse) -> dict[str, object]:
    return {**use.model_dump(), **({"next_start_iso": iso(use.next_start)} if use.next_start is not None else {})}


def _row(of_part: Sequence[LimitUse], now: float) -> tuple[str, ...]:
    use = LimitUse.in_all(of_part)
    limit = use.limit
    rule = (at_a_time(limit), rate_words(limit), policy_of(limit)) if limit else ("", "", "no limit")
    if use.key.endswith(":*"):  # each is counted by itself
        return (use.key, "", "", "", *rule)
    return (use.key, f"{use.running:,}", f"{use.waiting:,}", _next_in_any(of_part, now), *rule)


def _next_in_any(of_part: Sequence[LimitUse], now: float) -> str:
    """When the next task may start in any of the partitions where some wait, for people: each has its own limit."""
    times = {_next(use, now): use.next_start or 0.0 for use in [use for use in of_part if use.waiting] or of_part}
    soon = [word for word in times if word != FULL]
    return min(soon, key=lambda word: (word != "now", times[word]), default=FULL)


def _next(use: LimitUse, now: float) -> str:
    """When the next task may start, for people."""
    limit = use.limit
    full = limit and limit.concurrency is not None and use.running >= limit.concurrency
    if limit and full and limit.policy != "cancel_oldest":  # which makes room
        return FULL
    return "now" if use.next_start is None or use.next_start <= now else ahead(now, use.next_start)


@app.command("set")
@with_client
def set_(
    adeq: Adeq,
    key: Key,
    concurrency: Annotated[
        int | None, typer.Option(min=1, max=MOST, metavar="N", help="How many tasks may run at a time.")
    ] = None,
    starts: Annotated[
        Rate | None,
        typer.Option(
            "--rate", parser=rate, metavar="N/TIME", help="How many tasks may start per period, evenly: 10/1m, 5/s."
        ),
    ] = None,
    burst: Annotated[
        int | None,
        typer.Option(min=1, max=MOST, metavar="N", help="How many tasks may start at once. [default: N of --rate]"),
    ] = None,
    policy: Annotated[
        Policy,
        typer.Option(
            help="A task that may not start yet waits, is dead, is cancelled, or the oldest running task is cancelled."
        ),
    ] = Policy.queue,
    expect: Annotated[
        str | None,
        typer.Option(metavar="DIGEST", help="Change nothing if the key has another limit by now; none: if it has one."),
    ] = None,
    queue: QueueOption = DEFAULT_QUEUE,
) -> Document:
    """Limit the tasks of a key, and create the queue if it does not exist. The limit applies within 5 seconds.

    The command sets the whole limit: what it does not name is not limited. The answer is `set`, or `unchanged` if
    nothing changed. Running tasks do not count for a new limit, and continue.

    KEY is user:ID, tag:ID, key:ID (for tasks with --limit ID) or all. user:* applies to each user without a limit of
    their own. tag:* and key:* do the same for tags and keys. Quote them, because shells expand *. TIME is in
    seconds, or with a unit: 90, 500ms, 1.5h, 7d.
    """
    check_name("key", key, "limit")
    _check(concurrency, starts, burst, policy)
    given: dict[str, Any] = {"concurrency": concurrency, "burst": burst, "policy": policy.name, "expect": expect}
    if starts is not None:
        given |= {"starts": starts.starts, "period": starts.period}
    limits = queue_or_new(adeq, queue).limits
    status = limits.set(key, **given)
    limit = limits.get(key).limit
    return Document(
        {"queue": queue, "status": status, **(limit.model_dump() if limit else {}), "key": key},
        f"{status} {key}" + (f": {rule_words(limit)}" if limit else ""),
    )


def _check(concurrency: int | None, starts: Rate | None, burst: int | None, policy: Policy) -> None:
    if concurrency is None and starts is None:
        raise ConfigError("limited how? Give --concurrency 4, or --rate 10/1m, or both; adeq limit rm removes a limit")
    if burst is not None and starts is None:
        raise ConfigError("--burst: it goes with --rate; leave it out, or give --rate")
    if policy == Policy.cancel_oldest and concurrency is None:
        raise ConfigError(
            "--policy: cancel-oldest makes room among the running tasks; give --concurrency, or another policy"
        )


@app.command()
@with_client
def rm(keys: Keys, queue: InQueue = DEFAULT_QUEUE) -> Document:
    """Remove limits. Tasks that waited for them start within 5 seconds. Exits with 1 if a key has no own limit."""
    statuses = [queue.limits.remove(key) for key in keys]
    rows = [
        {"key": key, "status": "removed" if status == "removed" else "not_found"}
        for key, status in zip(keys, statuses, strict=True)
    ]
    return each({"queue": queue.name, "limits": rows}, "removed")
