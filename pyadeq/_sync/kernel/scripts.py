# Generated from pyadeq/_async/kernel/scripts.py by pyadeq/_unasync.py; do not edit.
"""Sends calls until each has an outcome: loads missing scripts, and sends calls without a reply again."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Any, Final, NamedTuple

from redis.exceptions import BusyLoadingError

from pyadeq._sync.kernel.nodes import Nodes, Use
from pyadeq._sync.kernel.registering import Registering
from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.durability import CHECK, REPLICATION, Durability, check, has_replicas, is_loading
from pyadeq._core.kernel.manifest import Script
from pyadeq._core.kernel.packing import pack
from pyadeq._core.kernel.refusals import Loss, Refusal, is_passing
from pyadeq._core.kernel.routes import Node
from pyadeq._core.kernel.sending import Outcome, Parcel, Sending, backoff
from pyadeq._core.kernel.server_info import eviction_warning, read_server
from pyadeq._twins import sleep
from pyadeq.errors import AdeqError, DurabilityError

_INFO_SERVER, _INFO_MEMORY = pack("INFO", "server"), pack("INFO", "memory")

REMEMBERED: Final = 10.0
"""Seconds for which a client remembers whether replicas follow a server."""
MEMORY: Final = Durability()

log = logging.getLogger("pyadeq.client")
_looked_at: set[str] = set()  # the servers whose settings this process knows


class Tried(NamedTuple):
    """One exchange of one call, and what came of it."""

    node: Node
    replies: list[Any]
    loss: Loss | None
    began: float

    @property
    def is_answer(self) -> bool:
        return self.loss is None and not isinstance(self.replies[0], Refusal)


class Scripts:
    """The scripts of one server or cluster."""

    def __init__(
        self,
        nodes: Nodes,
        retry_for: float,
        durability: Durability,
        now_ms: Callable[[], int],
        registering: Registering,
    ) -> None:
        """registering: gets the first key of a call, after the first successful write to its base."""
        self._nodes = nodes
        self._retry_for = retry_for
        self._durability = durability
        self.confirms = bool(durability) and not durability.by_noun
        self._now_ms = now_ms
        self._checked: set[Node] = set()
        self._followed: dict[Node, tuple[float, bool]] = {}
        """Whether replicas follow a node, and until when that is remembered."""
        self._looked_at: set[Node] = set()
        self._note_first = registering.note
        self._written = registering.written

    def send(
        self, calls: Sequence[Call[Any]], retry_for: float | None = None, use: Use = "calls"
    ) -> list[Outcome]:
        """Send calls in order. Return for each its raw reply or the error that ended it."""
        self._nodes.prepare()
        first: Tried | None = None
        durability = self._durability_of(calls) if self._durability.by_noun else self._durability
        if len(calls) == 1 and not durability:
            first = self._try_one(calls[0], use)
            if first is not None and first.is_answer:
                self._note(calls, first.replies)
                return first.replies
        if durability.by_noun:
            use = "confirmed"
        sending = Sending(calls, self._nodes.routes, durability, self._now_ms())
        self._finish(sending, self._retry_for if retry_for is None else retry_for, use, first)
        if any(isinstance(outcome, DurabilityError) for outcome in sending.outcomes):
            self._followed.clear()
        self._note(calls, sending.outcomes)
        return sending.outcomes

    def _note(self, calls: Sequence[Call[Any]], outcomes: Sequence[Outcome]) -> None:
        for call, outcome in zip(calls, outcomes, strict=True):
            key = call.keys[0] if call.keys else ""
            if key not in self._written and not (call.script.read_only or isinstance(outcome, Exception)):
                self._note_first(key)

    def _durability_of(self, calls: Sequence[Call[Any]]) -> Durability:
        """What these calls wait for, if the client names no durability: see WAITING."""
        covered = [call for call in calls if self._durability.covers(call)]
        for node in {self._nodes.routes.node_of(call.keys[0]) for call in covered}:
            if not self._is_followed(node):
                return MEMORY
        return self._durability if covered else MEMORY

    def _is_followed(self, node: Node) -> bool:
        """Whether enough replicas follow a node. If it does not answer, what was known before holds."""
        until, followed = self._followed.get(node, (0.0, False))
        if monotonic() < until:
            return followed
        replies, loss = self._nodes.exchange(node, [pack(*REPLICATION)])
        if loss is None:
            followed = has_replicas(replies[0], self._durability.replicas)
        self._followed[node] = (monotonic() + REMEMBERED if loss is None else 0.0, followed)
        return followed

    def _try_one(self, call: Call[Any], use: Use) -> Tried | None:
        """Send one call once. Most calls end here, without the work that only several calls or failures need.

        None: the node is new, so nothing was sent.
        """
        node = self._nodes.routes.node_of(call.keys[0] if call.keys else "")
        if node not in self._looked_at:
            return None
        began = monotonic()
        replies, loss = self._nodes.exchange(node, [call.packed()], use=use)
        return Tried(node, replies, loss, began)

    def load(self, scripts: Iterable[Script]) -> None:
        """Send SCRIPT LOAD for these scripts to every primary, even if it has them."""
        sending = Sending.loads(scripts, self._nodes.primaries())
        self._finish(sending, self._retry_for)
        for outcome in sending.outcomes:
            if isinstance(outcome, AdeqError):
                raise outcome

    def _finish(self, sending: Sending, retry_for: float, use: Use = "calls", tried: Tried | None = None) -> None:
        """Continue at each node for `retry_for` seconds after the last successful exchange with it.

        tried: what the first exchange was answered, if it was made already.
        """
        failures = 0
        while parcels := sending.parcels():
            unchecked = self._check(parcels) if self._durability.mode == "aof" else {}
            well = True
            for parcel in parcels:
                began = monotonic()
                replies: list[Any] = []
                loss = unchecked.get(parcel.node)
                if tried is not None and tried.node == parcel.node:
                    replies, loss, began = tried.replies, tried.loss, tried.began
                elif loss is None:
                    replies, loss = self._exchange(parcel, use)
                tried = None
                if loss is not None:
                    # After a failure, another server may have this address.
                    self._checked.discard(parcel.node)
                    self._followed[parcel.node] = (0.0, self._followed.get(parcel.node, (0.0, False))[1])
                well &= sending.take(parcel, replies, loss, began)
            for node in sending.too_old:
                replies, _ = self._nodes.exchange(node, [_INFO_SERVER])
                sending.name_too_old(node, read_server(replies[0]) if replies else None)
            sending.too_old.clear()
            if well:
                failures = 0
                continue
            failures += 1
            pause = backoff(failures, random.random())
            sending.give_up(monotonic() + pause - retry_for)
            if sending.left:
                sleep(pause)
                self._nodes.refresh()
                sending.plan()

    def _exchange(self, parcel: Parcel, use: Use) -> tuple[list[Any], Loss | None]:
        """Exchange. The first time, also ask the server whether it deletes keys when its memory is full."""
        if parcel.node in self._looked_at:
            return self._nodes.exchange(parcel.node, parcel.commands, use=use)
        self._looked_at.add(parcel.node)
        address = self._nodes.address_of(parcel.node)
        if address in _looked_at:
            return self._nodes.exchange(parcel.node, parcel.commands, use=use)
        replies, loss = self._nodes.exchange(parcel.node, [*parcel.commands, _INFO_MEMORY], use=use)
        if len(replies) > len(parcel.commands):
            _looked_at.add(address)
            if warning := eviction_warning(address, replies.pop()):
                log.warning(warning)
        return replies, loss

    def _check(self, parcels: Sequence[Parcel]) -> dict[Node, Loss]:
        """Before anything runs on a node, raise ConfigError if it cannot provide the `durability`.

        Returns the nodes that could not be asked, with the reason: nothing may be sent to them now.
        """
        unchecked = {}
        for parcel in parcels:
            if parcel.durable and parcel.node not in self._checked:
                replies, loss = self._nodes.exchange(parcel.node, [pack(*command) for command in CHECK])
                if loss is None and is_loading(replies[1]):
                    loss = Loss(BusyLoadingError("the server is loading its data"), sent=False)
                if loss is not None:
                    unchecked[parcel.node] = loss._replace(sent=False)
                    continue
                check(*replies)
                if not any(isinstance(reply, Refusal) and is_passing(reply) for reply in replies):
                    self._checked.add(parcel.node)
        return unchecked
