# Generated from pyadeq/_async/queue/shares.py by pyadeq/_unasync.py; do not edit.
"""Fair shares of a queue: users take turns, each according to its weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyadeq._core.queue.limits import weight_pct
from pyadeq.ids import new_ulid

if TYPE_CHECKING:
    from pyadeq._sync.kernel.runner import Runner
    from pyadeq._core.queue.calls import QueueCalls


class Shares:
    """The weights of a queue's users. They apply if the queue has fair shares: `queue.configure(fair=True)`."""

    def __init__(self, runner: Runner, calls: QueueCalls) -> None:
        self._runner = runner
        self._calls = calls

    def set(self, user: str, weight: float) -> None:
        """Give a user a weight. With 2, it starts two tasks for each task of a user with 1, while both have tasks
        waiting.

        The weight applies to tasks that are enqueued from now on.

        weight: 0.01 to 100; the default of every user is 1.
        """
        self._runner.send(self._calls.set_weights([(user, weight_pct(weight))], new_ulid()))

    def get(self, user: str) -> float:
        """Return the weight of a user."""
        weights, _ = self._runner.send(self._calls.weights([user]))
        return weights[user]

    def list(self) -> dict[str, float]:
        """Return the users with a weight other than the default 1, by name."""
        weights: dict[str, float] = {}
        cursor = ""
        while True:
            found, cursor = self._runner.send(self._calls.weights(cursor=cursor))
            weights |= found
            if not cursor:
                return dict(sorted(weights.items()))
