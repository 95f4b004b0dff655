"""What readers are told, held against the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pyadeq import models
from tests.property.convert import ms, seconds
from tests.property.link import Link
from tests.property.model_kept import ENDS
from tests.property.records import ENDED, Answer, Task


class Views(Link):
    def compare_views(self, ids: Sequence[str]) -> None:
        self.compare_runs(ids)
        for id, view in zip(ids, self.run(self.calls.get(ids)), strict=True):
            task = self.model.tasks.get(id)
            if task is None:
                assert view is None
            else:
                shown = task.result_ends is None or task.result_ends > self.model.now
                parts = (view.data, view.error, view.result_data or None)
                assert parts == (task.payload, task.error, task.result if shown else None), view
                self._compare_view(task, view)

    def compare_runs(self, ids: Sequence[str]) -> None:
        for id in ids:
            found = [
                (one.outcome, one.delivery, one.attempt, one.worker, ms(one.started), one.ended and ms(one.ended),
                 one.reason, one.error)
                for one in self.run(self.calls.runs(id))
            ]  # fmt: skip
            task = self.model.tasks.get(id)
            expected = [] if task is None else list(task.runs)
            if task and task.last and (task.lease or task.state == "completed"):
                how, attempt = ("running", task.attempts + 1) if task.lease else ("completed", task.attempts)
                at = None if task.lease else task.at
                expected.append((how, task.deliveries, attempt, task.last.worker, task.last.started, at, None, None))
            assert found == expected, id

    def compare_outcomes(self, ids: Sequence[str]) -> None:
        for id, found in zip(ids, self.run(self.calls.outcome(ids)), strict=True):
            told = (found.reason, found.error, found.data)
            if found.status == "waiting":
                told = (found.state, found.told, None)
            assert (found.status, told) == self._outcome(id), id

    def _outcome(self, id: str) -> Answer:
        """What whoever waits for a task is told, from its reply or else from its record."""
        task, left = self.model.tasks.get(id), self.model.replies.get(id)
        if task and task.state not in ENDED:
            return "waiting", (self.model.state_of(task), task.spec.reply, None)
        if left and left.until > self.model.now and (not task or task.spec.reply):
            how, value = left.how, left.value
        elif not task:
            return "not_found", (None, None, None)
        else:
            shown = task.result_ends is None or task.result_ends > self.model.now
            how = (task.state, task.reason) if task.state == "dead" else (task.state,)
            value = (task.error or "").encode() if task.state == "dead" else (shown and task.result) or b""
        match how:
            case ("completed",):
                return "completed", (None, None, value)
            case ("dead", reason):
                return "dead", (reason, value.decode(), None)
        return how[0], (None, None, None)

    def compare_workers(self) -> None:
        live = {name: one for name, one in self.model.workers.items() if name not in self.model.silent()}
        found, cursor = self.run(self.calls.workers())
        assert cursor == ""
        assert {worker.name: (worker.incarnation, ms(worker.seen)) for worker in found} == {
            name: (worker.incarnation, worker.seen) for name, worker in live.items()
        }
        for worker in found:
            known = live[worker.name]
            shown = (worker.mode, worker.wanted, worker.heard, worker.busy)
            assert shown == (known.mode, known.wanted, known.heard, known.busy), worker

    def compare_lists(self, limit: int, **named: Any) -> None:
        expected = self.listed(**named)
        views: list[models.TaskView] = []
        cursor = ""
        for _ in range(len(self.model.tasks) + 1):
            page = self.run(self.calls.list(**named, cursor=cursor, limit=limit))
            assert len(page.tasks) <= limit
            views += page.tasks
            if not (cursor := page.cursor):
                break
        else:
            raise AssertionError(f"the pages of {named} do not end")
        assert [view.id for view in views] == [task.id for task in expected], named
        for task, view in zip(expected, views, strict=True):
            assert (view.data, view.error, view.result_data) == (None, None, None)
            self._compare_view(task, view)

    def listed(self, state: str | None = None, lane: str | None = None, kind: str | None = None,
               reason: str | None = None, **named: str | None) -> list[Task]:  # fmt: skip
        """The tasks that match, in the order of the smallest set that is named."""
        sets = [self._indexed(name, of) for name, of in named.items() if of]
        if state == "ready" and not lane and not sets:
            lane = "any"
        if state == "ready" and lane:
            sets.insert(0, self.model.line(lane))
        elif state and state != "ready":
            members = [task for task in self.model.tasks.values() if task.state in MEMBERS[state]]
            sets.insert(0, sorted(members, key=lambda task: (task.score if state == "blocked" else task.at, task.id)))
        matching = set.intersection(*({task.id for task in one} for one in sets))
        return [
            task for task in min(sets, key=len)
            if task.id in matching and state in (None, self.model.state_of(task)) and lane in (None, task.lane)
            and kind in (None, task.spec.kind) and reason in (None, task.reason)
        ]  # fmt: skip

    def _indexed(self, name: str, of: str) -> list[Task]:
        members = [task for task in self.model.tasks.values() if of in task.has(name)]
        return sorted(members, key=lambda task: (task.created, task.id))

    def compare_stats(self) -> None:
        model, stats = self.model, self.run(self.calls.stats())
        states = Counter(map(self.model.state_of, model.tasks.values()))
        assert stats.mode == model.mode
        assert (stats.ready, stats.delayed, stats.blocked) == (states["ready"], states["delayed"], states["blocked"])
        assert (stats.running, stats.stalled) == (states["running"] + states["stalled"], states["stalled"])
        ended = {name: sum(states[state] for state in of) for name, of in ENDS.items()}
        assert {"finished": stats.finished, "dead": stats.dead} == ended
        assert stats.workers == len(model.workers) - len(model.silent())
        assert stats.lanes == Counter(task.lane for task in model.of("ready"))
        assert stats.counters == +model.counts

    def _compare_view(self, task: Task, view: models.TaskView) -> None:
        spec, state, at, last = task.spec, self.model.state_of(task), task.at / 1000, task.last
        waits = spec.after or spec.gather
        expected = {
            "state": state, "kind": spec.kind, "priority": spec.priority, "lane": task.lane, "user": spec.user,
            "tags": spec.tags, "parent": spec.parent, "max_attempts": spec.max_attempts, "created": task.created / 1000,
            "idempotency_key": task.key, "unique": spec.unique, "scope": spec.scope, "fallback": task.fallback,
            "reply": spec.reply, "exit_code": task.exit_code, "progress_text": task.text,
            "progress": None if task.progress is None else task.progress / 1_000_000,
            "expires_at": seconds(task.expires or None), "timeout": seconds(task.timeout),
            "due": at if state == "delayed" else None,
            "deadline": at if state in ("running", "stalled") else None,
            "ended": at if state in ("completed", "cancelled", "dead") else None,
            "attempts": task.attempts + bool(task.lease), "crashes": task.crashes, "deliveries": task.deliveries,
            "started": last.started / 1000 if last else None, "worker": last.worker if last else None,
            "fence": self.fences[last.token] if last else None, "reason": task.reason,
            "after": spec.after, "after_any": spec.after_any if waits else None, "gather": spec.gather or None,
            "after_when": spec.after_when if waits else None,
            "awaits": task.awaits if state == "blocked" else None,
        }  # fmt: skip
        assert {name: getattr(view, name) for name in expected} == expected


MEMBERS = {
    "delayed": ["delayed"], "running": ["running"], "stalled": ["running"], "blocked": ["blocked"],
    "completed": ["completed", "cancelled"], "cancelled": ["completed", "cancelled"], "dead": ["dead"],
}  # fmt: skip
