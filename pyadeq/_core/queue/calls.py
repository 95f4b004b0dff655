"""The calls of a queue, each returning a Call.

The calls that are made for each task are built and read by position, not by name, which costs several microseconds:
enqueue, claim, settle, ack, fail, heartbeat, progress and outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Unpack

from pyadeq._core.kernel.call import Call, Reply, build_call, template
from pyadeq._core.kernel.nouncalls import models, status, statuses
from pyadeq._core.kernel.options import checked_list, checked_options
from pyadeq._core.kernel.settings import setting_pairs
from pyadeq._core.queue import replies
from pyadeq._core.queue.history import Snapshot
from pyadeq._core.queue.items import (
    EnqueueItem,
    Failure,
    Held,
    ack_items,
    backoff_pairs,
    checked_lanes,
    fail_items,
    held,
    item,
)
from pyadeq._core.queue.limits import LimitCalls, WeightCalls
from pyadeq._core.queue.partition_calls import PartitionCalls
from pyadeq._core.queue.schedules import ScheduleCalls
from pyadeq._core.queue.steps import StepValue, Wait, read_steps
from pyadeq.codec import Codec
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import (
    AbandonStatus,
    AckStatus,
    CancelStatus,
    Claimed,
    DeadGroup,
    Failed,
    Page,
    QueueOverview,
    QueueStats,
    Receipt,
    ReleaseStatus,
    Repair,
    Retried,
    RevealStatus,
    RunNow,
    Settled,
    Snoozed,
    State,
    Task,
    TaskFilter,
    TaskView,
)
from pyadeq.models.queue_settings import Settings, SettingsChange
from pyadeq.models.steps import StepKept, Suspended, TaskStep
from pyadeq.models.worker import (
    Heartbeat,
    LogLine,
    Outcome,
    ProgressStatus,
    SteerStatus,
    TaskRun,
    WorkerInfo,
    WorkerMode,
)


@dataclass(frozen=True)
class QueueCalls(ScheduleCalls, LimitCalls, WeightCalls, PartitionCalls):
    """Builds the calls of one queue.

    With an optional rid, a repeated call does not take effect twice.

    codec: seals payloads, results and errors, if given.
    """

    noun: str = field(default="queue", kw_only=True)
    codec: Codec | None = field(default=None, repr=False)

    def _scalars(self, **scalars: Any) -> dict[str, Any]:
        return {"now_ms": self.now_ms(), "source": self.source or None, "trace": self.trace() or None, **scalars}

    def enqueue(self, tasks: Sequence[tuple[str, Task]], rid: str) -> Call[list[Receipt]]:
        """Build an enqueue of 1 to 1,000 tasks, each with its id, in order."""
        return self.enqueue_items([item(id, task) for id, task in tasks], rid)

    def enqueue_items(
        self, items: Sequence[EnqueueItem], rid: str, *, epoch: int = 0, moved: bool = False
    ) -> Call[list[Receipt]]:
        """Build an enqueue of 1 to 1,000 tasks that `item` has encoded, in order.

        epoch: of the map of partitions that was used.
        moved: the tasks belong to another partition by that map. A task is created here only if its key or family has
        an unfinished task here. Otherwise its receipt says `moved`.
        """
        alike = template("queue.enqueue.v1", self.base, **self._scalars(epoch=epoch, moved=moved))
        return alike.call(
            rid,
            {"item": self.sealing.items(items)},
            lambda reply: replies.receipts(reply, [id for id, _, _ in items]),
        )

    def claim(
        self,
        worker: str,
        incarnation: str,
        slot: int,
        n: int,
        *,
        limit: int = 10,
        lanes: Sequence[str] = ("any",),
        lane_first: bool = False,
        lease: Seconds = 0,
        busy: int | None = None,
        window: Seconds = 0,
        alone_kinds: Sequence[str] = (),
    ) -> Call[Claimed]:
        """lease: seconds; 0: the queue's setting. An answer has fewer tasks than limit if its bytes exceed 4 MiB.

        lane_first: order by lane, then by priority.
        busy: how many other tasks the worker holds, if it counts them.
        window: how long the first task waits for others, in seconds, at most 60.
        alone_kinds: at most 16 kinds; a task of such a kind is leased alone.
        """
        scalars = self._scalars(
            worker=worker, incarnation=incarnation, slot=slot, n=n, limit=limit, lease_ms=to_ms("lease", lease)
        )
        scalars |= {"lane_first": lane_first, "busy": busy, "window_ms": to_ms("window", window)}
        if alone_kinds:
            scalars["alone_kinds"] = checked_list("alone_kinds", alone_kinds)
        return build_call(
            "queue.claim.v1",
            self.base,
            scalars,
            {"item": [(lane,) for lane in checked_lanes(lanes)]},
            decode=self.sealing.opening(replies.claimed, self.sealing.claimed),
        )

    def settle(
        self,
        worker: str,
        incarnation: str,
        slot: int,
        n: int,
        *,
        acks: Sequence[tuple[Held, Any]] = (),
        fails: Sequence[Failure] = (),
        jitters: Sequence[int] = (),
        limit: int = 0,
        lanes: Sequence[str] = ("any",),
        lane_first: bool = False,
        lease: Seconds = 0,
        busy: int | None = None,
    ) -> Call[Settled]:
        """Build one call of acks, fails and a claim of up to limit tasks. jitters: 0 to 1,000,000 for each fail, the
        random part of its backoff.
        """
        scalars = self._scalars(
            worker=worker, incarnation=incarnation, slot=slot, n=n, limit=limit, lease_ms=to_ms("lease", lease)
        )
        scalars |= {"lane_first": lane_first, "busy": busy}
        groups = {
            "acks": self.sealing.acks(ack_items(acks)),
            "fails": self.sealing.fails(fail_items(fails, jitters)),
            "lanes_wanted": [(lane,) for lane in checked_lanes(lanes)],
        }
        decode = self.sealing.opening(replies.settled, self.sealing.settled)
        return build_call("queue.settle.v1", self.base, scalars, groups, decode=decode)

    def ack(self, acks: Sequence[tuple[Held, Any]]) -> Call[list[AckStatus]]:
        """acks: leases with their results; None keeps no result."""
        items = self.sealing.acks(ack_items(acks))
        decode: Callable[[Reply], list[AckStatus]] = self.sealing.opening(replies.statuses, self.sealing.acked)
        return build_call("queue.ack.v1", self.base, self._scalars(), {"item": items}, decode=decode)

    def fail(self, fails: Sequence[Failure], jitters: Sequence[int]) -> Call[list[Failed]]:
        """jitters: 0 to 1,000,000 for each fail; 500,000 is the backoff as it is."""
        items = self.sealing.fails(fail_items(fails, jitters))
        return build_call("queue.fail.v1", self.base, self._scalars(), {"item": items}, decode=replies.failed)

    def heartbeat(
        self, leases: Sequence[Held], worker: str = "", lease: Seconds = 0, busy: int | None = None
    ) -> Call[Heartbeat]:
        """Leases may be empty if a worker is named: then it only shows that it is alive, and reads its requests."""
        return build_call(
            "queue.heartbeat.v1",
            self.base,
            {"now_ms": self.now_ms(), "worker": worker or None, "lease_ms": to_ms("lease", lease), "busy": busy},
            {"item": [held(one) for one in leases]},
            decode=replies.heartbeat,
        )

    def progress(self, notes: Sequence[tuple[Held, Mapping[str, Any]]], rid: str) -> Call[list[ProgressStatus]]:
        """notes: leases, each with any of ppm (0 to 1,000,000), text, line and output (1,000 bytes at most)."""
        items = [(*held(lease), note) for lease, note in notes]
        return build_call(
            "queue.progress.v1", self.base, self._scalars(rid=rid), {"item": items}, decode=replies.statuses
        )

    def outcome(self, ids: Sequence[str]) -> Call[list[Outcome]]:
        """The answer may be shorter than ids: it stops before 4 MiB. Ask again for the rest."""
        items = [(id,) for id in ids]
        decode = self.sealing.opening(replies.outcomes, self.sealing.outcomes)
        return build_call("queue.outcome.v1", self.base, {"now_ms": self.now_ms()}, {"item": items}, decode=decode)

    # The others, by the names of the manifest. A verb without a function here is called by `ask`, or by `build`.

    def log(self, id: str) -> Call[list[LogLine]]:
        return self.ask("log", models(LogLine, "lines"), id=id)

    def reveal(self, ids: Sequence[str], actor: str, rid: str | None = None) -> Call[list[RevealStatus]]:
        return self.ask("reveal", statuses, item=ids, rid=rid, actor=actor)

    def runs(self, id: str) -> Call[list[TaskRun]]:
        return self.ask("runs", self.sealing.opening(models(TaskRun, "runs"), self.sealing.runs), id=id)

    def release(self, leases: Sequence[Held]) -> Call[list[ReleaseStatus]]:
        return self.ask("release", statuses, item=[held(one) for one in leases])

    def snooze(self, leases: Sequence[tuple[Held, Seconds]]) -> Call[list[Snoozed]]:
        """leases: each with the delay of its task, in seconds."""
        items = [(*held(one), to_ms("delay", delay)) for one, delay in leases]
        return self.ask("snooze", models(Snoozed), item=items)

    def step(self, steps: Sequence[StepValue]) -> Call[list[StepKept]]:
        """Store the results of 1 to 100 steps."""
        items = [(*held(one.lease), one.name, one.number, one.kind, self.sealing.step(one.value)) for one in steps]
        return self.ask("step", self.sealing.opening(models(StepKept), self.sealing.kept), item=items)

    def suspend(self, waits: Sequence[tuple[Held, Wait]]) -> Call[list[Suspended]]:
        return self.ask("suspend", models(Suspended), item=[wait.item(lease) for lease, wait in waits])

    def steps(self, id: str) -> Call[list[TaskStep]]:
        return self.ask("steps", self.sealing.opening(read_steps, self.sealing.steps), id=id)

    def promote(self, limit: int = 100) -> Call[int]:
        return self.ask("promote", lambda answer: int(answer["promoted"]), limit=limit)

    def reap(self, limit: int = 100) -> Call[int]:
        return self.ask("reap", lambda answer: int(answer["reaped"]), limit=limit)

    def expire(self, limit: int = 100) -> Call[int]:
        return self.ask("expire", lambda answer: int(answer["expired"]), limit=limit)

    def trim(self, limit: int = 1000) -> Call[tuple[int, bool]]:
        """Returns how many tasks were deleted, and whether there may be more."""
        return self.ask("trim", lambda answer: (answer["removed"], bool(answer["more"])), limit=limit)

    def repair(
        self,
        ids: Sequence[str] = (),
        *,
        lanes: Sequence[str] = (),
        limit: str | None = None,
        start: int = 0,
        dry_run: bool = False,
    ) -> Call[Repair]:
        """limit: the key of a limit, whose sets are checked from the rank `start` on."""
        line = [] if limit is None else [(limit, start)]
        decode = partial(replies.repair, ids)
        return self.ask("repair", decode, task=ids, lane=lanes, line=line, dry_run=dry_run)

    def copy(
        self,
        step: Literal["begin", "write", "end"],
        keys: Sequence[Sequence[Any]] = (),
        entries: Sequence[Sequence[Any]] = (),
        *,
        place: int = 0,
        fence: int = 0,
        clock: str = "server",
    ) -> Call[str]:
        """Build one part of the copy of a queue of another server: see lua/queue/copy.v1.lua."""
        return self.ask("copy", status, key=keys, entry=entries, step=step, place=place, fence=fence, clock=clock)

    def purge(
        self, rid: str | None = None, *, all: bool = False, lane: str | None = None, limit: int = 1000
    ) -> Call[tuple[int, bool]]:
        """Returns how many tasks were deleted, and whether there may be more. lane: only its ready tasks."""
        what = "all" if all else "waiting"
        return self.ask(
            "purge",
            lambda answer: (answer["purged"], bool(answer["more"])),
            **{"rid": rid, "what": what, "lane": lane, "limit": limit},
        )

    def pause(self, rid: str | None = None) -> Call[str]:
        return self.ask("pause", status, rid=rid)

    def resume(self, rid: str | None = None) -> Call[str]:
        return self.ask("resume", status, rid=rid)

    def drain(self, rid: str | None = None) -> Call[str]:
        return self.ask("drain", status, rid=rid)

    def retry(self, ids: Sequence[str], rid: str | None = None) -> Call[list[Retried]]:
        return self.ask("retry", models(Retried), item=ids, rid=rid)

    def abandon(self, ids: Sequence[str], rid: str | None = None) -> Call[list[AbandonStatus]]:
        return self.ask("abandon", statuses, item=ids, rid=rid)

    def cancel(self, ids: Sequence[str], rid: str | None = None, *, tree: bool = False) -> Call[list[CancelStatus]]:
        """Build a cancel of tasks. tree: also their children, and the children of these."""
        return self.ask("cancel", statuses, item=ids, rid=rid, tree=tree)

    def run_now(self, ids: Sequence[str], rid: str | None = None) -> Call[list[RunNow]]:
        return self.ask("run_now", models(RunNow), item=ids, rid=rid)

    def get(self, ids: Sequence[str]) -> Call[list[TaskView | None]]:
        """The answer may be shorter than ids: it stops before 4 MiB. Ask again for the rest."""
        return self.ask("get", self.sealing.opening(replies.views, self.sealing.views), item=ids)

    def length(self, lanes: Sequence[str]) -> Call[list[int]]:
        """Returns how many tasks are ready in each of some lanes."""
        return self.ask("length", lambda answer: [one["count"] for one in answer["items"]], item=checked_lanes(lanes))

    def stats(self) -> Call[QueueStats]:
        return self.call("stats", replies.stats)

    def overview(self) -> Call[QueueOverview]:
        return self.call("overview", replies.overview)

    def snapshot(self) -> Call[bool]:
        """Return whether a snapshot was taken: there is none yet in this minute."""
        return self.call("snapshot", lambda answer: bool(answer["taken"]))

    def history(self, series: str, *, since_ms: int = 0, limit: int = 1000) -> Call[list[Snapshot]]:
        return self.call("history", replies.snapshots, series=series, since_ms=since_ms, limit=limit)

    def count_dead(self, *, cursor: str = "", limit: int = 1000) -> Call[tuple[list[DeadGroup], int, str]]:
        """Return the groups of a part of the dead tasks, how many tasks they have, and the cursor of the next part."""
        return self.ask("count_dead", replies.dead_groups, cursor=cursor, limit=limit)

    def settings(self) -> Call[Settings]:
        return self.call("settings", replies.settings)

    def register(self, worker: str, incarnation: str, about: Mapping[str, Any] | None = None) -> Call[str]:
        """about: hostname, pid, version, layout, capacity, group, instance, capabilities, lanes.

        Returns `registered`, or `stale` for a replaced incarnation.
        """
        return self.ask("register", status, worker=worker, incarnation=incarnation, about=[about] if about else [])

    def deregister(
        self, worker: str, incarnation: str, reason: str = "stopped", leases: Sequence[Held] = ()
    ) -> Call[str]:
        """leases: at most 1,000, are returned. Returns `deregistered`, `unregistered` or `stale`."""
        items = [held(one) for one in leases]
        return self.ask("deregister", status, worker=worker, incarnation=incarnation, reason=reason, item=items)

    def workers(
        self,
        *,
        name: str | None = None,
        group: str | None = None,
        capability: str | None = None,
        cursor: str = "",
        limit: int = 100,
    ) -> Call[tuple[list[WorkerInfo], str]]:
        """Returns live workers, and the cursor for the next page, empty on the last page."""
        named = {"name": name, "group": group, "capability": capability}
        return self.ask("workers", replies.workers, cursor=cursor, limit=limit, **named)

    def steer(
        self,
        workers: Sequence[str],
        mode: WorkerMode | None = None,
        capacity: int | None = None,
        rid: str | None = None,
    ) -> Call[list[SteerStatus]]:
        """Build a call that steers workers. Values that are None stay unchanged."""
        return self.ask("steer", statuses, item=workers, rid=rid, mode=mode, capacity=capacity)

    def configure(
        self,
        rid: str | None = None,
        *,
        clock: str | None = None,
        expect: str | None = None,
        **settings: Unpack[SettingsChange],
    ) -> Call[Settings]:
        """Settings that are not given stay unchanged. clock: `server` or `test`, when the queue is created."""
        checked_options(settings, SettingsChange.__annotations__, besides=("clock", "expect"))
        pairs = setting_pairs("queue", settings, backoff=backoff_pairs)
        if expect is not None:
            pairs["expect"] = expect
        return self.call("configure", replies.settings, {"settings": [(pairs,)] if pairs else []}, rid=rid, clock=clock)

    def list(
        self, state: State | None = None, *, cursor: str = "", limit: int = 100, **filter: Unpack[TaskFilter]
    ) -> Call[Page]:
        """Build a call for one page of tasks. At least one of state, user, tag and parent is required."""
        return self.call("list", replies.page, state=state, cursor=cursor, limit=limit, **filter)
