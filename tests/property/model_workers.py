"""Workers: who is there, under which incarnation, and since when nobody heard of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tests.property.model_once import Once
from tests.property.records import Answer, Worker


class Workers(Once):
    def register(self, worker: str, incarnation: str) -> str:
        known = self.workers.get(worker)
        if (worker, incarnation) in self.ended:
            return "stale"
        if known and known.incarnation == incarnation:
            known.seen = self.now
        else:
            if known:
                self.ended.add((worker, known.incarnation))
                self.control.add(worker)
                self._bequeath(worker, known)
            self.workers[worker] = replace(self.unheard.pop(worker, Worker()), incarnation=incarnation, seen=self.now)
            self.events.append(("worker.registered", worker, self.now))
        return "registered"

    def _deregister(self, worker: str, incarnation: str) -> str:
        if worker not in self.workers:
            return "deregistered" if (worker, incarnation) in self.ended else "unregistered"
        if self.workers[worker].incarnation != incarnation:
            return "stale"
        self._forget(worker, "worker.deregistered")
        return "deregistered"

    def steer(self, names: Iterable[str], mode: str | None, capacity: int | None, rid: str) -> list[Answer]:
        if word := self._done("steer", rid):
            return [(status,) for status in word.split(",")]
        answers: list[Answer] = []
        for name in names:
            if name not in self.workers or name in self.silent():
                answers.append(("not_found",))
                continue
            worker = self.workers[name]
            worker.mode, worker.wanted, worker.heard = mode or worker.mode, capacity or worker.wanted, False
            self.control.add(name)
            self.events.append(("worker.steered", name, self.now))
            answers.append(("asked",))
        self._note_done("steer", rid, ",".join(status for (status,) in answers))
        return answers

    def _heard(self, name: str, busy: int | None) -> tuple[str, int]:
        """A worker's sign of life, and what is wanted of it."""
        if name not in self.workers:
            return "run", 0
        worker = self.workers[name]
        worker.seen, worker.heard, worker.busy = self.now, True, worker.busy if busy is None else busy
        return worker.mode, worker.wanted or 0

    def silent(self) -> list[str]:
        return [name for name, worker in self.workers.items() if worker.seen <= self.now - self.settings["presence"]]

    def _forget_silent(self) -> None:
        for name in self.silent():
            self._bequeath(name, self.workers[name])
            self._forget(name, "worker.lost")
            self.counts["workers_lost"] += 1

    def _bequeath(self, name: str, worker: Worker) -> None:
        """What a killed worker has not heard is for its successor; to start anew is done by then."""
        if not worker.heard:
            mode = "run" if worker.mode == "restart" else worker.mode
            self.unheard[name] = Worker(mode=mode, wanted=worker.wanted, heard=False)

    def _forget(self, name: str, event: str) -> None:
        self.ended.add((name, self.workers.pop(name).incarnation))
        self.events.append((event, name, self.now))
