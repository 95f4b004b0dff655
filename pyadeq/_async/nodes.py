"""Where calls are sent: to the only server there is, or, in a cluster, to the node that the routes name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyadeq._async.pools import own_pool
from pyadeq._async.wire import Wire
from pyadeq._core.refusals import Loss
from pyadeq._core.routes import Node, OneServer, Routes


class Nodes:
    """The server of a client, with connections of our own for calls and others for blocking commands.

    like: the client's pool.
    longest_wait, longest_block: seconds that the commands of a call, and blocking ones, may wait at the server.
    """

    def __init__(self, like: Any, longest_wait: float, longest_block: float) -> None:
        self.routes: Routes = OneServer()
        self._like = like
        self._waits = {False: longest_wait, True: longest_block}
        self._wires: dict[tuple[Node, bool], Wire] = {}

    async def exchange(
        self, node: Node, commands: Sequence[bytes], *, blocking: bool = False
    ) -> tuple[list[Any], Loss | None]:
        """Send all commands to a node at once; see `Wire.exchange`."""
        wire = self._wires.get((node, blocking))
        if wire is None:
            wire = self._wires.setdefault((node, blocking), Wire(self._pool(node, self._waits[blocking])))
        return await wire.exchange(commands)

    async def prepare(self) -> None:
        """Learn where keys are, unless that is known."""

    async def refresh(self) -> None:
        """Learn anew where keys are, after something went wrong."""

    async def primaries(self) -> Sequence[Node]:
        """Every node that runs scripts which write."""
        return [None]

    async def aclose(self) -> None:
        """Close our connections."""
        wires, self._wires = self._wires, {}
        for wire in wires.values():
            await wire.aclose()

    def _pool(self, node: Node, longest_wait: float) -> Any:
        return own_pool(self._like, longest_wait)
