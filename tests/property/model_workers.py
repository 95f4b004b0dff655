"""Workers: who is there, under which incarnation, and since when nobody heard of them."""

from __future__ import annotations

from tests.property.model_state import State
from tests.property.records import Worker

SILENCE = 30_000  # a worker that was not heard of for so long is gone


class Workers(State):
    def register(self, worker: str, incarnation: str) -> str:
        known = self.workers.get(worker)
        if (worker, incarnation) in self.ended:
            return "stale"
        if known and known.incarnation == incarnation:
            known.seen = self.now
        else:
            if known:
                self.ended.add((worker, known.incarnation))
            self.workers[worker] = Worker(incarnation, self.now)
            self.events.append(("worker.registered", worker, self.now))
        return "registered"

    def deregister(self, worker: str, incarnation: str) -> str:
        if worker not in self.workers:
            return "deregistered" if (worker, incarnation) in self.ended else "unregistered"
        if self.workers[worker].incarnation != incarnation:
            return "stale"
        self._forget(worker, "worker.deregistered")
        return "deregistered"

    def silent(self) -> list[str]:
        return [name for name, worker in self.workers.items() if worker.seen <= self.now - SILENCE]

    def _forget_silent(self) -> None:
        for name in self.silent():
            self._forget(name, "worker.lost")
            self.counts["workers_lost"] += 1

    def _forget(self, name: str, event: str) -> None:
        self.ended.add((name, self.workers.pop(name).incarnation))
        self.events.append((event, name, self.now))
