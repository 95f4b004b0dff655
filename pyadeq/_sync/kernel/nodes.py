# Generated from pyadeq/_async/kernel/nodes.py by pyadeq/_unasync.py; do not edit.
"""The nodes that get calls: the only server, or the right node of a cluster."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from pyadeq._sync.kernel.pools import own_pool
from pyadeq._sync.kernel.wire import Wire
from pyadeq._core.kernel.refusals import Loss
from pyadeq._core.kernel.routes import Node, OneServer, Routes
from pyadeq._twins import LOOP_ENDED, Home
from pyadeq.errors import ClientClosed

Use: TypeAlias = Literal["calls", "confirmed", "blocks", "renewals"]
"""The use of a connection. Calls, blocking commands and renewals use separate connections, so renewals never wait.
`confirmed`: calls that wait for a replica, in a client whose other calls do not.
"""

log = logging.getLogger("pyadeq.client")


class Nodes:
    """The server of a client, with our own connections for each use.

    like: the client's pool.
    waits: how many seconds commands may wait at the server, in each use.
    address: the address of its server, for messages.
    """

    def __init__(self, like: Any, waits: Mapping[Use, float], address: str) -> None:
        self._address = address
        self.routes: Routes = OneServer()
        self.closed = False
        self._like = like
        self._waits = waits
        self._wires: dict[tuple[Node, Use], Wire] = {}
        self._home = Home()
        self._moves = 0

    def exchange(
        self, node: Node, commands: Sequence[bytes], *, use: Use = "calls"
    ) -> tuple[list[Any], Loss | None]:
        """Send all commands to a node at once; see `Wire.exchange`. After `close`, nothing is sent."""
        if self.closed:
            return [], Loss(ClientClosed(), sent=False, retryable=False)
        self.settle_in()
        wire = self._wires.get((node, use))
        if wire is None:
            in_turn = use in ("calls", "confirmed")
            wire = self._wires.setdefault((node, use), Wire(self.pool(node, self._waits[use]), in_turn=in_turn))
        return wire.exchange(commands)

    def address_of(self, node: Node) -> str:
        """Return the address of a node, for messages."""
        return self._address if node is None else f"{node[0]}:{node[1]}" if isinstance(node, tuple) else str(node)

    def prepare(self) -> None:
        """Find out where keys are, unless that is known."""

    def refresh(self) -> None:
        """Find out again where keys are, after an error."""

    def primaries(self) -> Sequence[Node]:
        """Return every primary."""
        return [None]

    def close(self) -> None:
        """Close our connections for good."""
        self.closed = True
        self.disconnect()

    def disconnect(self) -> None:
        """Close our connections; the next exchange connects again."""
        self.settle_in()
        wires, self._wires = self._wires, {}
        for wire in wires.values():
            wire.close()

    def settle_in(self) -> None:
        """On a new event loop, connect again. Connections of an ended loop can be neither used nor closed.

        ConfigError if the other loop still runs.
        """
        if self._home.has_moved() and self._wires:
            self._wires = {}
            self._moves += 1
            if self._moves == 1:
                log.warning(LOOP_ENDED)

    def pool(self, node: Node, longest_wait: float = 0.0) -> Any:
        """Return new connections to a node, on which commands may wait this many seconds; the caller closes them."""
        return own_pool(self._like, longest_wait)
