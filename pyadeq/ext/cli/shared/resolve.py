"""Finds a queue or a lock domain by its name. Only commands that create one accept a name that does not exist."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from typing import Annotated, Any, TypeAlias

import typer

import pyadeq
from pyadeq import Adeq, library
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.shared.finding import find_names

# As text, and by their module: a command imports only what it uses.
AnyQueue: TypeAlias = "pyadeq.Queue | pyadeq.PartitionedQueue"
AnySchedules: TypeAlias = "pyadeq.Schedules | pyadeq.PartitionedSchedules"
LOOK = 1.0  # seconds to look for other names
NAMED = 5  # names in an error
SERVICE_NOUNS = ("config", "session")  # in which a service has records of its own
Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="NOUN=NAME", help="Only these of any noun: queue=jobs.")
]


def existing_queue(adeq: Adeq, name: str) -> AnyQueue:
    """The queue with its partitions. AdeqError, with the queues that exist, if there is none of that name."""
    base = adeq.queue(name).base
    if not adeq.client.exists(f"{base}:config", f"{base}:workers"):  # workers may come before the first task
        raise _missing(adeq, "queue", name, base, "queue", "adeq queue ls")
    return queue_or_new(adeq, name)


def queue_or_new(adeq: Adeq, name: str) -> AnyQueue:
    """The queue with its partitions, for commands that create it if it does not exist."""
    if adeq.slot is not None:
        return adeq.queue(name)
    queue = adeq.partitioned(name)
    return queue if len(queue.partitions()) > 1 else adeq.queue(name)


def warn_of_kind(adeq: Adeq, queue: str, kind: str | None) -> None:
    """Say on stderr if no worker has published the kind of a task. The task is stored all the same."""
    with suppress(AdeqError):  # the user of the server may not be allowed to read kinds
        if kind is not None and (said := adeq.kinds(queue).explain_unknown(kind)):
            print(f"adeq: {said}", file=sys.stderr)


def existing_domain(adeq: Adeq, name: str) -> pyadeq.Locks:
    """The lock domain. AdeqError, with the domains that exist, if there is none of that name."""
    locks: pyadeq.Locks = existing(adeq, "lock", name, "adeq lock domains")
    return locks


def existing(adeq: Adeq, noun: str, name: str, command: str, first: str = "") -> Any:
    """One of a noun. AdeqError, with those that exist, if there is none of that name.

    command: what lists them. first: what makes the first one, for a server without any.
    """
    found = adeq.noun(noun, name)
    if not stored_bases(adeq, found):
        field = library().manifest["nouns"][noun]["field"]
        raise _missing(adeq, f"--{field}", name, found.base, noun, command, first)
    return found


def stored_bases(adeq: Adeq, found: Any) -> list[str]:
    """The bases of one of a noun that exist: its own, or those of its partitions."""
    bases = getattr(found, "bases", (found.base,))
    with adeq.client.pipeline(transaction=False) as pipe:
        for base in bases:
            pipe.exists(f"{base}:config")
        return [base for base, exists in zip(bases, pipe.execute(), strict=True) if exists]


def refuse_own(option: str, name: str) -> None:
    """ConfigError for a name with records of a service: general commands must not change them."""
    if name.startswith("_"):
        raise ConfigError(f"{option}: {name!r} has records of a service; use its own commands, see adeq --help")


def names_by_noun(
    queues: Iterable[str] | None, domains: Iterable[str] | None, only: Iterable[str] | None
) -> dict[str, list[str]]:
    """What --queue, --domain and --only name, by the noun; nothing if none is given."""
    nouns = library().manifest["nouns"]
    found: dict[str, list[str]] = {}
    for given in [
        *(f"queue={name}" for name in queues or ()),
        *(f"lock={name}" for name in domains or ()),
        *(only or ()),
    ]:
        noun, _, name = given.partition("=")
        if noun not in nouns or not name:
            raise ConfigError(f"--only: {given!r} is not accepted; allowed: NOUN=NAME, with one of {', '.join(nouns)}")
        found.setdefault(noun, []).append(name)
    return found


def parts(queue: AnyQueue) -> list[pyadeq.Queue]:
    """The partitions of a queue, or the queue itself."""
    return (
        [queue.part(one.tag) for one in queue.partitions()] if isinstance(queue, pyadeq.PartitionedQueue) else [queue]
    )


def holder(adeq: Adeq, name: str, id: str) -> pyadeq.Queue:
    """The partition that a task is in, or the queue itself."""
    queue = existing_queue(adeq, name)
    return queue.part_of(id) or adeq.queue(name) if isinstance(queue, pyadeq.PartitionedQueue) else queue


def _missing(adeq: Adeq, what: str, name: str, base: str, noun: str, command: str, first: str = "") -> AdeqError:
    try:
        names, complete = find_names(adeq, noun, LOOK)
    except AdeqError:  # this user may not scan
        names, complete = [], True
    if close := get_close_matches(name, names, NAMED):
        others = f"did you mean {' or '.join(close)}? See"
    elif names:
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        others = f"there are: {', '.join(names[:NAMED])}{more}; see"
    else:
        others = "there are none under this prefix; see" if complete else f"none was found in {LOOK:g} s; see"
        command = first or command
    return AdeqError(
        f"{what}: there is no {name!r} on this server (its key would be {base}:config); {others} {command}"
    )
