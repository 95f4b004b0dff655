# Generated from pyadeq/_async/kernel/cluster.py by pyadeq/_unasync.py; do not edit.
"""The nodes of a cluster: each call goes to the primary of its slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from redis import ConnectionPool, RedisCluster

from pyadeq._sync.kernel.nodes import Nodes, Use
from pyadeq._sync.kernel.pools import address, settings
from pyadeq._core.kernel.packing import pack
from pyadeq._core.kernel.refusals import Refusal
from pyadeq._core.kernel.routes import Address, Node, SlotMap
from pyadeq._twins import cluster_connections

_SLOTS = pack("CLUSTER", "SLOTS")


class ClusterNodes(Nodes):
    """The nodes of the client's cluster, each with our own connections, made with the client's settings.

    The slot map is also our own, so that our own time limits apply when a node is searched again.
    """

    def __init__(self, client: RedisCluster, waits: Mapping[Use, float]) -> None:
        super().__init__(None, waits, address(client))
        manager: Any = client.nodes_manager
        start = [(str(node.host), int(node.port)) for node in manager.startup_nodes.values()]
        self.routes = self._map = SlotMap(start, manager.remap_host_port)
        self._connection_class, self._options = cluster_connections(client)
        self._count = count(1)
        self._asked: dict[Address, int] = {}

    def prepare(self) -> None:
        if not self._map.primaries:
            self._ask()

    def refresh(self) -> None:
        self._ask()

    def primaries(self) -> Sequence[Node]:
        """Return every node that has slots, from a new slot map."""
        for _ in self._map.known:
            if self._ask():
                break
        return self._map.primaries or self._map.known[:1]

    def _ask(self) -> bool:
        """Ask one node for the slot map, a different node each time, because a node that is cut off has an old map.
        False without an answer.
        """
        node = min(self._map.known, key=lambda node: self._asked.get(node, 0))
        self._asked[node] = next(self._count)
        replies, _ = self.exchange(node, [_SLOTS])
        return bool(replies) and not isinstance(replies[0], Refusal) and self._map.learn(replies[0], node)

    def pool(self, node: Node, longest_wait: float = 0.0) -> Any:
        assert isinstance(node, tuple)
        options = {**self._options, "host": node[0], "port": node[1]}
        return ConnectionPool(connection_class=self._connection_class, **settings(options, longest_wait))
