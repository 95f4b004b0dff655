# Generated from pyadeq/_async/registry/names.py by pyadeq/_unasync.py; do not edit.
"""The names of a noun, as quickly as they can be known: from its registry, or by a scan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyadeq._sync.kernel.names import find_names, scan_names
from pyadeq._sync.registry import NamesPage
from pyadeq._sync.registry.source import Source
from pyadeq.errors import AdeqError
from pyadeq.models.base import Seconds


def list_names(
    source: Source, noun: str, timeout: Seconds | None, partitions: bool, scan: bool
) -> Iterator[str]:
    """Yield each name once."""
    page = None if scan else _first_page(source, noun)
    if page is None:
        scanned = scan_names(source._nodes, noun, source.prefix, source.slot, source._retry_for)
        for name in find_names(scanned, timeout, partitions):
            yield name
        return
    names = set[str]()
    while True:
        for one in page.names:
            name = one if partitions else one.partition("/")[0]
            if name not in names:
                names.add(name)
                yield name
        if not page.cursor:
            return
        page = source.noun("registry", noun).page(page.cursor)


def _first_page(source: Source, noun: str) -> NamesPage | None:
    """None if the registry may lack names, or cannot be read now, for instance because an access rule forbids it."""
    registry: Any = source.noun("registry", noun)
    try:
        page: NamesPage = registry.page(retry_for=0)
    except AdeqError:
        return None
    return page if page.is_fresh else None
