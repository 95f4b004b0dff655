"""The state of an enqueue into partitions: which call goes to which partition next, and which tasks are answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

from pyadeq._core.queue.items import MAX_ITEMS, EnqueueItem, by_bytes, size_of
from pyadeq._core.queue.partitions import Home, PartitionMap, in_portions, tagged
from pyadeq.errors import DurabilityError, PartitionsChanged, UnknownTask
from pyadeq.models.queue import Receipt

PORTION = 100
"""The smallest portion of tasks without keys for one partition. In smaller ones, calls would cost more than tasks."""


@dataclass(slots=True)
class Parcel:
    """A task on its way.

    id: given by the caller; or derived from the caller's rid; or generated.
    named: the id ends with the tag of its partition.
    """

    index: int
    id: str
    origin: Literal["given", "derived", "own"]
    payload: bytes
    pairs: Mapping[str, Any]
    home: Home = ()
    asked: int = 0
    anywhere: bool = False
    named: bool = False

    @property
    def tag(self) -> str:
        """The partition that is asked next."""
        return self.home[self.asked]

    @property
    def moved(self) -> bool:
        """Whether the task is sent with `moved`: it is created there only if its key or family is still there."""
        return self.asked < len(self.home) - 1

    def item(self) -> EnqueueItem:
        """The task as the enqueue script takes it: its id, its payload and its name/value pairs."""
        return tagged(self.id, self.tag) if self.named else self.id, self.payload, dict(self.pairs)

    def address(self, known: PartitionMap) -> None:
        """Compute the homes of the task by this map; a task without keys has none yet. BadArgument if its keys
        conflict.
        """
        home = known.home_of(self.id if self.origin == "given" else None, self.pairs)
        self.named = self.origin != "given" and (home is not None or self.origin == "own")
        if home is None and self.origin == "derived":
            home = known.home(self.id)
        self.home, self.asked, self.anywhere = home or (), 0, home is None


@dataclass(frozen=True)
class Shipment:
    """What goes to a partition in one call."""

    tag: str
    moved: bool
    parcels: Sequence[Parcel]

    @property
    def name(self) -> str:
        """A name that is unique among the calls for the same tasks and epoch."""
        return f"{self.moved:d}.{self.parcels[0].index}"


class Delivery:
    """Tasks that are put in together. turn: where to begin with those that belong anywhere."""

    def __init__(self, parcels: Sequence[Parcel], turn: int) -> None:
        self._receipts: list[Receipt | None] = [None] * len(parcels)
        self._left = list(parcels)
        self._turn = turn
        self._late: UnknownTask | DurabilityError | None = None
        self.refusal: PartitionsChanged | None = None

    @property
    def done(self) -> bool:
        """Whether all are answered."""
        return not self._left

    def address(self, known: PartitionMap) -> None:
        """Say where each belongs by this map, to be asked from the earliest home on. BadArgument if that is nowhere."""
        free: list[Parcel] = []
        for parcel in self._left:
            if not parcel.anywhere:
                parcel.address(known)
                if parcel.anywhere:
                    free.append(parcel)
        for portion in in_portions(free, len(known.tags), PORTION):
            self._turn += 1
            for parcel in portion:
                parcel.home = (known.tags[self._turn % len(known.tags)],)

    def shipments(self) -> list[Shipment]:
        """Return the calls that can be sent now: at most one per partition, to keep the order of tasks."""
        by_tag: dict[str, list[Parcel]] = {}
        for parcel in self._left:
            by_tag.setdefault(parcel.tag, []).append(parcel)
        return [Shipment(tag, some[0].moved, _one_call(some)) for tag, some in by_tag.items()]

    def take(self, shipment: Shipment, answer: Sequence[Receipt] | Exception) -> bool:
        """Take what was answered to a call. False where the map was too old for it, or there was no answer."""
        if isinstance(answer, UnknownTask | DurabilityError):
            self._late = self._late or answer
            answer = answer.receipts if isinstance(answer, UnknownTask) else answer.answer
        if isinstance(answer, PartitionsChanged):
            self.refusal = answer
            return False
        if isinstance(answer, Exception):
            raise answer
        settled = set()
        for parcel, receipt in zip(shipment.parcels, answer, strict=True):
            if receipt and str(receipt.status) == "moved":
                parcel.asked += 1
                continue
            settled.add(parcel.index)
            if receipt and receipt.status == "exists" and parcel.origin != "given":
                # created before the map changed: no other task has such an id
                self._receipts[parcel.index] = Receipt("created", receipt.id)
            else:
                self._receipts[parcel.index] = receipt
        self._left = [parcel for parcel in self._left if parcel.index not in settled]
        return True

    def receipts(self) -> list[Receipt]:
        """The answers, in order. UnknownTask or DurabilityError, with all of them, if one was so answered."""
        if isinstance(self._late, UnknownTask):
            self._late.receipts = self._receipts
            raise self._late
        if self._late is not None:
            self._late.answer = self._receipts
            raise self._late
        return [receipt for receipt in self._receipts if receipt]


def _one_call(parcels: Sequence[Parcel]) -> list[Parcel]:
    """Return the first tasks, as many as fit into one call: either all with `moved` or none, and not too many bytes."""
    alike = takewhile(lambda parcel: parcel.moved == parcels[0].moved, parcels[:MAX_ITEMS])
    return next(by_bytes(alike, lambda parcel: size_of(parcel.payload, parcel.pairs)))
