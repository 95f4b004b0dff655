# Generated from pyadeq/_async/registry/scan.py by pyadeq/_unasync.py; do not edit.
"""One scan of all keys for the names of all nouns, which makes their registries complete."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import Any, Final

from pyadeq._sync.kernel.names import missing_keys, scan_names
from pyadeq._sync.kernel.registering import UNLISTED
from pyadeq._sync.registry import Registry
from pyadeq._sync.registry.source import Source
from pyadeq._core.kernel.manifest import library
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ids import new_ulid
from pyadeq.keys import base_of, part_base, shown

RENEWED: Final = 20.0
"""Seconds after which a scan says again that it goes on."""


def update_registries(source: Source, share: float, every: float) -> dict[str, int]:
    """See `Adeq.update_registries`."""
    if not 0 < share <= 1:
        raise ConfigError(f"share: {shown(share)} is not accepted; allowed: above 0 to 1")
    nouns = [noun for noun in library().manifest["nouns"] if noun not in UNLISTED]
    pages = {noun: _registry(source, noun).page(limit=1) for noun in nouns}
    first, by = _registry(source, nouns[0]), new_ulid()
    if every and all(page.scanned > page.now - every for page in pages.values()):
        return {"added": 0, "removed": 0}
    if not first.begin_scan(by) and every:
        return {"added": 0, "removed": 0}
    found: dict[str, set[str]] = {noun: set() for noun in nouns}
    leased = monotonic()
    try:
        for noun, name in scan_names(source._nodes, "*", source.prefix, source.slot, source._retry_for, share):
            if noun in found:
                found[noun].add(name)
            if monotonic() > leased + RENEWED:
                leased = monotonic()
                first.begin_scan(by)
    except AdeqError:
        for noun, names in found.items():
            _update(source, noun, names, 0.0)
        raise
    changed = Counter[str]()
    for noun, names in reversed(found.items()):  # the one with the mark of this scan is the last one
        changed += _update(source, noun, names, pages[noun].now)
    return {"added": changed["added"], "removed": changed["removed"]}


def _update(source: Source, noun: str, found: set[str], scan: float) -> Counter[str]:
    """scan: when the scan began, if it was complete. Then the server is asked for names that it has not found."""
    registry = _registry(source, noun)
    known = {name for name in registry.list()}
    added = registry.add(sorted(found - known), scan=scan)
    unseen = {_key(source, noun, name): name for name in sorted(known - found)} if scan else {}
    missing = missing_keys(source._nodes, list(unseen))
    removed = registry.remove([name for key, name in unseen.items() if key in missing])
    return Counter(added=added, removed=removed)


def _key(source: Source, noun: str, name: str) -> str:
    """The key of a name's settings, which every base has."""
    own, slash, tag = name.partition("/")
    base = base_of(noun, own, source.prefix, source.slot)
    return f"{part_base(base, tag) if slash else base}:config"


def _registry(source: Source, noun: str) -> Registry:
    registry: Any = source.noun("registry", noun)
    return registry  # type: ignore[no-any-return]
