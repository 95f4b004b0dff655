"""Shell completion of what only the server knows, if it answers at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from time import monotonic
from typing import Any
from zoneinfo import available_timezones

import typer

from pyadeq import Adeq
from pyadeq.ext.cli.shared.common import DEFAULT_URL
from pyadeq.ext.cli.shared.resolve import existing_queue, parts
from pyadeq.ext.shared.finding import Found, find_names

PATIENCE = 0.5  # seconds: a person waits after pressing Tab


def names_of(noun: str) -> Callable[[typer.Context, str], list[str]]:
    """What completes names of a noun: those of the server that the command line names so far."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        return _names(context, incomplete, lambda adeq, seconds: find_names(adeq, noun, seconds))

    return complete


queue_names = names_of("queue")
domain_names = names_of("lock")


def schedule_names(context: typer.Context, incomplete: str) -> list[str]:
    """The schedules of the queue that the command line names so far."""
    queue = _queue(context)
    return _names(context, incomplete, lambda adeq, seconds: _schedules(adeq, queue, seconds))


def limit_keys(context: typer.Context, incomplete: str) -> list[str]:
    """The keys of that queue that have a limit."""
    queue = _queue(context)
    return _names(context, incomplete, lambda adeq, seconds: _limits(adeq, queue, seconds))


def change_ids(context: typer.Context, incomplete: str) -> list[str]:
    """The changes of the domain that the command line names so far, of the states in which something is to do."""
    domain = _change_domain(context)
    return _names(context, incomplete, lambda adeq, seconds: _changes(adeq, domain, seconds))


def policy_names(context: typer.Context, incomplete: str) -> list[str]:
    """The policies of that domain."""
    domain = _change_domain(context)
    return _names(context, incomplete, lambda adeq, _: _policies(adeq, domain))


def zone_names(incomplete: str) -> list[str]:
    """The time zones that this machine knows."""
    return sorted(name for name in available_timezones() if name.startswith(incomplete))


def _schedules(adeq: Adeq, queue: str, seconds: float) -> Found:
    names: list[str] = []
    until = monotonic() + seconds
    for schedule in existing_queue(adeq, queue).schedules.iterate():
        names.append(schedule.name)
        if monotonic() > until:
            return Found(sorted(names), False)
    return Found(sorted(names), True)


def _limits(adeq: Adeq, queue: str, seconds: float) -> Found:
    names: set[str] = set()
    until = monotonic() + seconds
    calls, cursor = parts(existing_queue(adeq, queue))[0].calls, ""
    while True:
        found, cursor, _ = adeq.send(calls.limits(cursor=cursor))
        names.update(limit.key for limit in found)
        if not cursor or monotonic() > until:
            return Found(sorted(names), not cursor)


def _changes(adeq: Adeq, domain: str, seconds: float) -> Found:
    names: list[str] = []
    until = monotonic() + seconds
    for state in ("reviewing", "submitted", "draft", "approved", "applying", "failed", "rejected"):
        page = adeq.send(adeq.noun("change", domain).calls.build("list", by="state", value=state, limit=100))
        names += [one.id for one in page.items]
        if monotonic() > until:
            break
    return Found(names, False)


def _policies(adeq: Adeq, domain: str) -> Found:
    found = adeq.send(adeq.noun("change", domain).calls.build("get_policies")).items
    return Found([one.name for one in found], True)


def _change_domain(context: typer.Context) -> str:
    return str(_given(context).get("domain") or os.environ.get("ADEQ_CHANGE_DOMAIN") or "default")


def _queue(context: typer.Context) -> str:
    return str(_given(context).get("queue") or os.environ.get("ADEQ_QUEUE") or "default")


def _names(context: typer.Context, incomplete: str, find: Callable[[Adeq, float], Found]) -> list[str]:
    names: list[str] = []
    # A thread, for the resolution of a host's name knows no timeout. It must not keep the process either.
    asking = threading.Thread(target=_ask, args=(_options(context), find, names), daemon=True)
    asking.start()
    asking.join(PATIENCE)
    return [name for name in list(names) if name.startswith(incomplete)]


def _given(context: typer.Context) -> dict[str, Any]:
    given: dict[str, Any] = {}
    step: Any = context
    while step is not None:
        given = {**step.params, **given}
        step = step.parent
    return given


def _options(context: typer.Context) -> dict[str, Any]:
    given = _given(context)
    return {name: given.get(name) or os.environ.get(f"ADEQ_{name.upper()}") for name in ("url", "prefix", "slot")}


def _ask(options: dict[str, Any], find: Callable[[Adeq, float], Found], names: list[str]) -> None:
    try:
        with Adeq.from_url(
            options["url"] or DEFAULT_URL,
            prefix=options["prefix"] or "ade",
            slot=options["slot"],
            socket_timeout=PATIENCE,
            socket_connect_timeout=PATIENCE,
        ) as adeq:
            names += find(adeq, PATIENCE / 2).names
    except Exception:
        return  # a completion cannot show errors
