"""Names of queues, lock domains and so on, as many as are found in a given time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pyadeq import Adeq, library
from pyadeq.errors import WaitTimeout


class Found(NamedTuple):
    """Names in order. complete: False if the time was over before all keys were scanned."""

    names: list[str]
    complete: bool


def find_names(adeq: Adeq, noun: str, seconds: float, partitions: bool = False, scan: bool = False) -> Found:
    """Find the names of a noun under the client's prefix and slot. partitions, scan: as in `Adeq.names`."""
    return _found(adeq.names(noun, timeout=seconds, partitions=partitions, scan=scan))


def find_queues(adeq: Adeq, seconds: float, scan: bool = False) -> Found:
    """The queues under the client's prefix and slot."""
    return find_names(adeq, "queue", seconds, scan=scan)


def find_domains(adeq: Adeq, seconds: float, scan: bool = False) -> Found:
    """The lock domains under the client's prefix and slot."""
    return find_names(adeq, "lock", seconds, scan=scan)


def nouns_with_events() -> list[str]:
    """The words of the nouns that have event streams."""
    return sorted(word for word, noun in library().manifest["nouns"].items() if noun["events"] and word != "events")


def _found(rest: Iterator[str]) -> Found:
    names: list[str] = []
    try:
        names.extend(rest)
    except WaitTimeout:
        return Found(sorted(names), False)
    return Found(sorted(names), True)
