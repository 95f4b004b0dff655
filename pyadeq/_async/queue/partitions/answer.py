"""One answer to a settle, combined from the answers of the partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyadeq._async.kernel.runner import LONGEST_BLOCK
from pyadeq._async.queue.leases import until_due
from pyadeq._core.queue.items import Failure, Held, held
from pyadeq.errors import AdeqError, DurabilityError
from pyadeq.models.queue import Claimed, Failed, Lease, Settled


class Answer:
    """The answers to acks and fails, and the claimed leases, from all partitions."""

    def __init__(self, acks: Sequence[tuple[Held, Any]], fails: Sequence[Failure]) -> None:
        self.leases: list[Lease] = []
        self.lost: AdeqError | None = None  # the error of a partition that did not answer
        self._wanted = acks, fails
        self._tokens = [held(lease)[1] for lease, _ in acks], [held(failure.lease)[1] for failure in fails]
        self._acks: list[Any] = ["lease_lost"] * len(acks)
        self._fails = [Failed(status="lease_lost") for _ in fails]
        self._unanswered: set[str] = set()
        self._claims: list[Claimed] = []
        self._due = LONGEST_BLOCK
        self._doubt: DurabilityError | None = None

    @property
    def answered(self) -> bool:
        """Whether any partition has answered."""
        return bool(self._claims)

    def wanted(self, acks: Iterable[int], fails: Iterable[int]) -> dict[str, Any]:
        """Return some of the acks and fails, as arguments of a settle."""
        all_acks, all_fails = self._wanted
        return {"acks": [all_acks[i] for i in acks], "fails": [all_fails[i] for i in fails]}

    def expect(self, seconds: float) -> None:
        """Note that more may be due in this number of seconds."""
        self._due = min(self._due, max(seconds, 0.0))

    def doubt(self, error: DurabilityError) -> Settled:
        """Return the answer of a partition whose durability was not confirmed, and note the error."""
        self._doubt = error
        settled: Settled = error.answer
        return settled

    def take(self, settled: Settled, acks: Iterable[int], fails: Iterable[int]) -> None:
        """Add the answer of a partition to these acks and fails, given by their indexes."""
        self.correct(acks, settled.acks, fails, settled.fails)
        self._claims.append(settled.claimed)
        self.leases += settled.claimed.leases
        self.expect(until_due(settled.claimed))

    def correct(
        self, acks: Iterable[int], statuses: Iterable[Any], fails: Iterable[int], failed: Iterable[Failed]
    ) -> None:
        """Replace the answers of the acks and fails at these indexes; 0 is the first."""
        for index, status in zip(acks, statuses, strict=True):
            self._acks[index] = status
        for index, one in zip(fails, failed, strict=True):
            self._fails[index] = one

    def lose(self, error: AdeqError, acks: Iterable[int], fails: Iterable[int]) -> None:
        """Note that the outcome of the acks and fails at these indexes is unknown; 0 is the first."""
        self.lost = error
        ack_tokens, fail_tokens = self._tokens
        self._unanswered.update([ack_tokens[index] for index in acks] + [fail_tokens[index] for index in fails])

    def not_there(self) -> tuple[list[int], list[int]]:
        """Return the acks and fails whose leases the asked partitions do not have."""
        return (
            [index for index, status in enumerate(self._acks) if self._is_not_there(0, index, status)],
            [index for index, one in enumerate(self._fails) if self._is_not_there(1, index, one.status)],
        )

    def _is_not_there(self, kind: int, index: int, status: str) -> bool:
        return status == "lease_lost" and self._tokens[kind][index] not in self._unanswered

    def settled(self) -> Settled:
        """Return the whole answer. If no partition answered, raise the last error; DurabilityError if one did not
        confirm.
        """
        if self.lost is not None and not self._claims:
            raise self.lost
        now = self._claims[0].now
        firings = [one.next_firing - one.now for one in self._claims if one.next_firing is not None]
        claimed = Claimed(
            "ok",
            now,
            min(one.lease for one in self._claims),
            now + self._due,
            self.leases,
            now + min(firings) if firings else None,
        )
        settled = Settled(self._acks, self._fails, claimed, frozenset(self._unanswered))
        if self._doubt is not None:
            self._doubt.answer = settled
            raise self._doubt
        return settled
