"""Routes from keys to the nodes of a server or cluster, as far as that needs no I/O."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol

from pyadeq._core.kernel.refusals import Refusal
from pyadeq.keys import SLOTS, hash_slot

Node = Hashable
"""The address of a cluster's node, or None for the only server."""
Address = tuple[str, int]


class Routes(Protocol):
    """The routes of a client: they choose the node of each call."""

    def node_of(self, key: str) -> Node: ...

    def follow(self, refusal: Refusal, told_by: Node) -> Node:
        """Return the node that MOVED or ASK names; a node of MOVED is remembered. None for other errors."""
        ...


class OneServer:
    """Every key is on the one server there is."""

    def node_of(self, key: str) -> None:
        return None

    def follow(self, refusal: Refusal, told_by: Node) -> None:
        return None


class SlotMap:
    """The primary of each slot of a cluster, as far as its nodes have told.

    start: the nodes that are known from the beginning.
    remap: converts the addresses that the nodes announce, for clients that cannot reach the nodes there.
    """

    def __init__(self, start: Iterable[Address], remap: Callable[[str, int], Address]) -> None:
        self._start = list(start)
        self._remap = remap
        self._owners: list[Address | None] = [None] * SLOTS
        self._others: list[Address] = []
        self.primaries: list[Address] = []
        """Every node that has slots, once a node has told."""

    @property
    def known(self) -> list[Address]:
        """Every node that may know the map: primaries, replicas, and those from the beginning."""
        return list(dict.fromkeys([*self.primaries, *self._others, *self._start]))

    def node_of(self, key: str) -> Address:
        # For an unknown slot, ask any node: it redirects to the right one.
        return self._owners[hash_slot(key)] or self.known[0]

    def follow(self, refusal: Refusal, told_by: Node) -> Address | None:
        if refusal.code not in ("MOVED", "ASK"):
            return None
        try:
            slot, address = refusal.text.split()[:2]
            host, _, port = address.rpartition(":")
            told = int(slot), int(port)
        except ValueError:
            return None
        node = self._remap(_host(host, told_by), told[1])
        if refusal.code == "MOVED":
            self._owners[told[0]] = node
        return node

    def learn(self, ranges: Any, told_by: Address) -> bool:
        """Take the reply to CLUSTER SLOTS; False if there is no map in it."""
        owners: list[Address | None] = [None] * SLOTS
        others: list[Address] = []
        for first, last, *nodes in ranges:
            primary, *replicas = (self._remap(_host(node[0], told_by), node[1]) for node in nodes)
            owners[first : last + 1] = [primary] * (last + 1 - first)
            others += replicas
        if not any(owners):
            return False
        self._owners, self._others = owners, others
        self.primaries = list(dict.fromkeys(owner for owner in owners if owner))
        return True


def _host(told: Any, told_by: Node) -> str:
    """Return the host of a node in a reply. If the reply leaves it out, it is the node that replied."""
    host = told.decode() if isinstance(told, bytes) else told
    if host and host != "?":
        return str(host)
    assert isinstance(told_by, tuple)
    return str(told_by[0])
