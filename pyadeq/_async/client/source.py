"""How a client gives out nouns by their names. Large modules are imported only when needed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pyadeq._core.kernel.manifest import library
from pyadeq._importing import IMPORTING
from pyadeq.errors import ConfigError
from pyadeq.keys import base_of, hint, shown
from pyadeq.models.base import Seconds, to_ms

if TYPE_CHECKING:
    from pyadeq._async.events import Events
    from pyadeq._async.kernel.nodes import Nodes

N = TypeVar("N")


class NounSource:
    """The part of a client that gives out nouns, always the same object for a name."""

    prefix: str
    slot: str | None
    _nodes: Nodes
    _retry_for: float

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], Any] = {}

    def _base(self, noun: str, name: str) -> str:
        return base_of(noun, name, self.prefix, self.slot, _facts(noun)["field"])

    def _noun(self, noun: str, kind: Callable[[Any, str, str], N], name: str) -> N:
        known: N | None = self._made.get((noun, name))
        # If two threads call it at the same time, both get the object that was stored first.
        return known or self._made.setdefault((noun, name), kind(self, name, self._base(noun, name)))

    def events(self, noun: str, name: str) -> Events:
        """Return the events of one of a noun, such as `events("queue", "default")`, always the same object.

        Named groups read them, at least once. noun: the word of the noun. name: as that noun has it; of a partition
        `<name>/<tag>`, as `names(noun, partitions=True)` lists them.
        """
        with IMPORTING:
            from pyadeq._async.events import Events
            from pyadeq._core.events.bases import stream_base

        base = stream_base(noun, name, self.prefix, self.slot)
        known: Events | None = self._made.get(("events", base))
        return known or self._made.setdefault(("events", base), Events(self, name, base))  # type: ignore[arg-type]

    def noun(self, noun: str, name: str) -> Any:
        """Return an object of any noun: `adeq.noun("lock", "default")` is `adeq.locks("default")`.

        A noun without a class of its own has the methods that every noun has, and `calls`. Events belong to another
        noun: `adeq.noun("events", "queue:default")` is `adeq.events("queue", "default")`.
        """
        if noun == "events":
            other, _, name = name.partition(":")
            return self.events(other, name)
        if own := getattr(self, _facts(noun)["method"], None):
            return own(name)
        with IMPORTING:
            from pyadeq._async.kernel.noun import Noun

        return self._noun(noun, type("Noun", (Noun,), {"noun": noun}), name)

    def names(
        self, noun: str, *, timeout: Seconds | None = None, partitions: bool = False, scan: bool = False
    ) -> AsyncIterator[str]:
        """Iterate over the names of any noun: `adeq.names("lock")` is `adeq.lock_domains()`.

        The names come from the registry of the noun, if a process keeps it complete (`update_registries`). Otherwise
        all keys are scanned.

        timeout: seconds for the scan. partitions: each partition, as `<name>/<tag>`, in place of the name that has it.
        scan: scan all keys in any case.
        """
        self._base(noun, "-")
        with IMPORTING:
            from pyadeq._async.registry.names import list_names

        return list_names(self, noun, timeout, partitions, scan)

    async def update_registries(self, *, share: float = 0.1, every: Seconds = 0) -> dict[str, int]:
        """Scan all keys once, and make the registries of names complete: add what is missing, remove what was deleted.

        `adeq serve` and `adeq maintain` do it once a minute. A scan that fails removes nothing. Returns how many names
        were `added` and `removed`.

        share: the part of the time that the server may spend on the scan, above 0 to 1. every: do nothing if a complete
        scan has ended in these last seconds, or if another program scans now.
        """
        with IMPORTING:
            from pyadeq._async.registry.scan import update_registries

        return await update_registries(self, share, to_ms("every", every) / 1000)


def _facts(noun: str) -> Mapping[str, Any]:
    nouns: Mapping[str, Mapping[str, Any]] = library().manifest["nouns"]
    if noun not in nouns:
        names = sorted(nouns)
        raise ConfigError(f"noun: {shown(noun)} is not accepted{hint(noun, names)} Allowed: {', '.join(names)}")
    return nouns[noun]
