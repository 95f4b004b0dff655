# Generated from pyadeq/_async/client/nouns.py by pyadeq/_unasync.py; do not edit.
# Generated from lua/manifest.json by pyadeq/_nouns.py; do not edit.
"""The methods of a client that return its nouns: one for each noun, and one that lists their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyadeq._sync.client.source import NounSource
from pyadeq._importing import IMPORTING
from pyadeq.models.base import Seconds

if TYPE_CHECKING:
    from pyadeq._sync.change import Changes
    from pyadeq._sync.config import Config
    from pyadeq._sync.kind import Kinds
    from pyadeq._sync.lock import Locks
    from pyadeq._sync.queue import Queue
    from pyadeq._sync.rate import Rates
    from pyadeq._sync.registry import Registry
    from pyadeq._sync.session import Sessions


class Nouns(NounSource):
    """The methods of a client that give out nouns, by their names."""

    def changes(self, domain: str) -> Changes:
        """Return the change domain of this name, always the same object. The first write creates it."""
        with IMPORTING:
            from pyadeq._sync.change import Changes

        return self._noun("change", Changes, domain)

    def change_domains(self, *, timeout: Seconds | None = None) -> Iterator[str]:
        """Iterate over the names of the change domains under the client's prefix and slot: each once, in any order.

        They come from a registry, if `adeq serve` or `adeq maintain` keeps it complete; see `names`. Otherwise this
        scans all keys, in a cluster those of every primary: about a second for a million keys.

        timeout: seconds for the scan; after them, WaitTimeout is raised if keys are left.
        """
        return self.names("change", timeout=timeout)

    def config(self, namespace: str) -> Config:
        """Return the config namespace of this name, always the same object. The first write creates it."""
        with IMPORTING:
            from pyadeq._sync.config import Config

        return self._noun("config", Config, namespace)

    def config_namespaces(self, *, timeout: Seconds | None = None) -> Iterator[str]:
        """Iterate over the names of the config namespaces under the client's prefix and slot: each once, in any order.

        They come from a registry, if `adeq serve` or `adeq maintain` keeps it complete; see `names`. Otherwise this
        scans all keys, in a cluster those of every primary: about a second for a million keys.

        timeout: seconds for the scan; after them, WaitTimeout is raised if keys are left.
        """
        return self.names("config", timeout=timeout)

    def kinds(self, catalog: str) -> Kinds:
        """Return the catalog of this name, always the same object. The first write creates it."""
        with IMPORTING:
            from pyadeq._sync.kind import Kinds

        return self._noun("kind", Kinds, catalog)

    def catalogs(self, *, timeout: Seconds | None = None) -> Iterator[str]:
        """Iterate over the names of the catalogs under the client's prefix and slot: each once, in any order.

        They come from a registry, if `adeq serve` or `adeq maintain` keeps it complete; see `names`. Otherwise this
        scans all keys, in a cluster those of every primary: about a second for a million keys.

        timeout: seconds for the scan; after them, WaitTimeout is raised if keys are left.
        """
        return self.names("kind", timeout=timeout)

    def locks(self, domain: str) -> Locks:
        """Return the lock domain of this name, always the same object. The first write creates it."""
        with IMPORTING:
            from pyadeq._sync.lock import Locks

        return self._noun("lock", Locks, domain)

    def lock_domains(self, *, timeout: Seconds | None = None) -> Iterator[str]:
        """Iterate over the names of the lock domains under the client's prefix and slot: each once, in any order.

        They come from a registry, if `adeq serve` or `adeq maintain` keeps it complete; see `names`. Otherwise this
        scans all keys, in a cluster those of every primary: about a second for a million keys.

        timeout: seconds for the scan; after them, WaitTimeout is raised if keys are left.
        """
        return self.names("lock", timeout=timeout)

    def queue(self, name: str) -> Queue:
        """Return the queue of this name, always the same object. The first write creates it."""
        with IMPORTING:
            from pyadeq._sync.queue import Queue

        return self._noun("queue", Queue, name)

    def queues(self, *, timeout: Seconds | None = None) -> Iterator[str]:
        """Iterate over the names of the queues under the client's prefix and slot: each once, in any order.

        They come from a registry, if `adeq serve` or `adeq maintain` keeps it complete; see `names`. Otherwise this
        scans all keys, in a cluster those of every primary: about a second for a million keys.

        timeout: seconds for the scan; after them, WaitTimeout is raised if keys are left.
        """
        return self.names("queue", timeout=timeout)

    def rates(self, namespace: str) -> Rates:
        """Return the rate namespace of this name, always the same object. The first write creates it."""
        with IMPORTING:
            from pyadeq._sync.rate import Rates

        return self._noun("rate", Rates, namespace)

    def rate_namespaces(self, *, timeout: Seconds | None = None) -> Iterator[str]:
        """Iterate over the names of the rate namespaces under the client's prefix and slot: each once, in any order.

        They come from a registry, if `adeq serve` or `adeq maintain` keeps it complete; see `names`. Otherwise this
        scans all keys, in a cluster those of every primary: about a second for a million keys.

        timeout: seconds for the scan; after them, WaitTimeout is raised if keys are left.
        """
        return self.names("rate", timeout=timeout)

    def registry(self, name: str) -> Registry:
        """Return the registry of this name, always the same object. The first write creates it."""
        with IMPORTING:
            from pyadeq._sync.registry import Registry

        return self._noun("registry", Registry, name)

    def registries(self, *, timeout: Seconds | None = None) -> Iterator[str]:
        """Iterate over the names of the registries under the client's prefix and slot: each once, in any order.

        They come from a registry, if `adeq serve` or `adeq maintain` keeps it complete; see `names`. Otherwise this
        scans all keys, in a cluster those of every primary: about a second for a million keys.

        timeout: seconds for the scan; after them, WaitTimeout is raised if keys are left.
        """
        return self.names("registry", timeout=timeout)

    def sessions(self, realm: str) -> Sessions:
        """Return the session realm of this name, always the same object. The first write creates it."""
        with IMPORTING:
            from pyadeq._sync.session import Sessions

        return self._noun("session", Sessions, realm)

    def session_realms(self, *, timeout: Seconds | None = None) -> Iterator[str]:
        """Iterate over the names of the session realms under the client's prefix and slot: each once, in any order.

        They come from a registry, if `adeq serve` or `adeq maintain` keeps it complete; see `names`. Otherwise this
        scans all keys, in a cluster those of every primary: about a second for a million keys.

        timeout: seconds for the scan; after them, WaitTimeout is raised if keys are left.
        """
        return self.names("session", timeout=timeout)
