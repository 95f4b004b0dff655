"""A random history of calls, late duplicates and passing time, on the scripts and on the model side by side."""

from __future__ import annotations

from itertools import count
from typing import Any, ClassVar, NamedTuple

import pytest
import redis
from hypothesis import seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.property.driver import Driver
from tests.property.link import Scripts, load_scripts
from tests.property.model import BY_ID
from tests.property.records import ENDED, LOST, Answer, Spec
from tests.property.strategies import (
    LANES,
    WORKERS,
    changes,
    failures,
    few_picks,
    filters,
    lane_lists,
    lease_times,
    limits,
    modes,
    notes,
    numbers_of_tasks,
    picks,
    results,
    snoozes,
    specs,
)
from tests.quick import PROFILE, examples, slow_after

SOAK = PROFILE == "soak"
PARTS = 4  # shares of the examples, for several processes
WINDOW = 45_000  # how long after its first sending a call may be sent again
DAY = 86_400_000
STAY = {"config", "counters", "events", "history:minutes", "history:hours"}
OPERATE = ("configure", "configure", "configure", "pause", "pause", "drain", "purge", "purge all", "purge lane")


class Sent(NamedTuple):
    at: int
    verb: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    answer: Any


def same_or_lost(again: list[Answer], before: list[Answer]) -> bool:
    """What was lost may read as cancelled, where another settlement under the same token came between and ended so.

    And whether the result of an ack is another than the one that is kept is known for as long as that is there.
    """
    pairs = list(zip(again, before, strict=True))
    acks = {("completed",), ("already",)}
    return all(new in (old, LOST) or (old, new) == (LOST, ("cancelled",)) or {old, new} == acks for new, old in pairs)


def has_leased(machine: QueueMachine) -> bool:
    return bool(machine.given)


class QueueMachine(RuleBasedStateMachine):
    client: ClassVar[redis.Redis]
    scripts: ClassVar[Scripts]
    bases = count()

    def __init__(self) -> None:
        super().__init__()
        self.queue = Driver(self.client, f"ade:{{queue:machine-{next(self.bases)}}}", self.scripts)
        self.model = self.queue.model
        self.numbers = count(1)
        self.given: list[tuple[str, str]] = []  # ids and tokens of all leases, the newest last
        self.sent: list[Sent] = []
        self.at_once = False  # whether nothing has happened since the last of them
        self.names: dict[str, list[str]] = {worker: [] for worker in WORKERS}  # incarnations
        self.ns: dict[tuple[str, int], int] = {}

    def teardown(self) -> None:
        try:
            if self.queue.agrees:
                self.wind_up()
        finally:
            self.queue.close()

    def wind_up(self) -> None:
        """When all is said and done, nothing is left that does not go by itself."""
        do = self.queue.do
        do("drain", "last-1")
        self.model.now += 2 * self.model.settings["presence"]
        do("reap", 1000)
        do("purge", "last-2", all=True)
        do("register", "last", "i")
        do("claim", "last", "i", 0, 1, limit=1, lanes=["any"])  # what the purge has noted
        do("deregister", "last", "i")
        self.model.now += DAY
        do("trim", 1000)
        self.queue.check()
        assert {name for name, key in self.queue.read().items() if key.ttl < 0} == STAY

    def send(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        answer = self.queue.do(verb, *args, **kwargs)
        self.sent.append(Sent(self.model.now, verb, args, kwargs, answer))
        self.at_once = True
        if answer in (("unregistered",), ("stale",)):
            self.register(args[0])
        elif verb in ("claim", "settle"):
            self.given += [(id, token) for id, token, *_ in answer[4]]
        return answer

    def send_some(self, verb: str, items: list[Any], *args: Any) -> None:
        if items:
            self.send(verb, items, *args)

    def leases(self, at: list[int]) -> list[tuple[str, str]]:
        """Ids and tokens of leases that are held and, at 8 and 9, of one that is not."""
        held = [(task.id, task.lease.token) for task in self.model.of("running") if task.lease]
        lost = [one for one in self.given[-4:] if one not in held]
        lost += [(held[0][0] if held else "a", "bogus")]
        return [lost[one % len(lost)] if one >= 8 else held[one % len(held)] for one in at if held or one >= 8]

    def number(self, worker: str, slot: int) -> tuple[str, str, int, int]:
        incarnation = self.names[worker][-1]
        n = self.ns[incarnation, slot] = self.ns.get((incarnation, slot), 0) + 1
        return worker, incarnation, slot, n

    @initialize(specs=st.lists(specs, min_size=3, max_size=8), changes=changes)
    def start(self, specs: list[Any], changes: dict[str, Any]) -> None:
        self.send("configure", self.rid(), **changes)
        for worker in WORKERS:
            self.register(worker)
        self.enqueue(specs)
        self.send("claim", *self.number("w1", 0), limit=4, lanes=list(LANES))

    @invariant()
    def keys_are_the_models(self) -> None:
        self.queue.agrees = False
        self.queue.check()
        self.queue.agrees = True

    # Producers and operators

    @rule(specs=st.lists(specs, min_size=1, max_size=5))
    def enqueue(self, specs: list[Any]) -> None:
        drawn: list[Spec] = []
        for id, payload, traits, links in specs:
            told = {"payload": payload} | traits | self.linked(links, [spec.id for spec in drawn])
            told |= {name: self.model.now + traits[name] for name in ("run_after", "expires") if name in traits}
            if "after" in told or "gather" in told:
                told.pop("order", None)
            drawn.append(Spec(id or f"own-{next(self.numbers)}", **told))
        self.send("enqueue", self.rid(), drawn)

    def rid(self) -> str:
        return f"rid-{next(self.numbers)}"

    def linked(self, links: dict[str, Any], before: list[str]) -> dict[str, Any]:
        """What the tasks are that this one has to do with; `before`: those of the same call."""
        model = self.model
        others = [task.id for state in ("blocked", "ready", "running") for task in model.of(state)] + before
        others = ["nobody", *(task.id for task in model.of(*ENDED)), *others]
        told = dict(links)
        if "after" in links:
            told["after"] = tuple(others[max(-1 - at, -len(others))] for at in links["after"])
        if "parent" in links:
            gathering = [task.id for task in model.of("blocked") if task.spec.gather] or others
            told["parent"] = gathering[-1 - links["parent"] % len(gathering)]
        return told

    @precondition(lambda self: self.model.tasks)
    @rule(at=st.lists(st.integers(0, 30), min_size=1, max_size=2), tree=st.booleans())
    def cancel(self, at: list[int], tree: bool) -> None:
        parents = [task.spec.parent for task in self.model.tasks.values() if task.spec.parent and tree]
        ids = [parents[one % len(parents)] for one in at] if parents else self.ids(at)
        self.send("cancel", ids, self.rid(), tree=tree)

    @precondition(lambda self: self.model.of("dead", "delayed"))
    @rule(
        verb=st.sampled_from([verb for verb, state in BY_ID.items() if state]),
        at=st.lists(st.integers(0, 5), min_size=1, max_size=2),
    )
    def look_after_those_that_failed_or_wait(self, verb: str, at: list[int]) -> None:
        some = [task.id for task in self.model.of(BY_ID[verb])]
        ids = [some[one % len(some)] if one and some else self.ids([one])[0] for one in at]
        self.send(verb, ids, self.rid())

    @rule(
        what=st.sampled_from([*OPERATE, "start", "start", "stop", "steer", "hear", "wake", "wake"]),
        worker=st.sampled_from(WORKERS), lane=st.sampled_from(LANES), older=st.booleans(), changes=changes,
        page=st.sampled_from([1000, 1, 2]), mode=modes, busy=numbers_of_tasks, at=few_picks,
    )  # fmt: skip
    def now_and_then(
        self, what: str, worker: str, lane: str, older: bool, changes: dict[str, Any], page: int,
        mode: str | None, busy: int | None, at: list[int],
    ) -> None:  # fmt: skip
        match what:
            case "configure":
                self.send("configure", self.rid(), **changes)
            case "start":
                self.register(worker)  # under a new incarnation
            case "stop":
                self.send("deregister", worker, self.names[worker][-2 if older else -1 :][0], self.leases(at))
            case "steer":
                self.send("steer", [worker, "nobody"] if older else [worker], mode, busy, self.rid())
            case "wake":  # a blocked worker takes the lane's token
                token = self.client.lpop(f"{self.queue.base}:wake:{lane}")
                assert token == (b"1" if lane in self.model.wake else None)
                self.model.wake.discard(lane)
                self.at_once = False
            case "hear":  # and so the one that has it ask
                token = self.client.lpop(f"{self.queue.base}:control:{worker}")
                assert token == (b"1" if worker in self.model.control else None)
                self.model.control.discard(worker)
                self.at_once = False
            case "pause" | "drain":
                self.send(what, self.rid())
            case "purge" | "purge all":
                self.send("purge", self.rid(), all=what == "purge all", page=page)
            case "purge lane":
                self.send("purge", self.rid(), all=False, page=page, lane=lane)

    @precondition(lambda self: self.model.mode != "running")
    @rule()
    def resume(self) -> None:
        self.send("resume", self.rid())

    # Workers

    def register(self, worker: str) -> None:
        self.names[worker].append(f"i{next(self.numbers)}")
        self.send("register", worker, self.names[worker][-1])

    @precondition(lambda self: self.model.of("ready", "delayed", "running"))
    @rule(worker=st.sampled_from(WORKERS), slot=st.integers(0, 1), limit=limits, lanes=lane_lists, lease=lease_times)
    def claim(self, worker: str, slot: int, limit: int, lanes: list[str], lease: int) -> None:
        own = {"limit": limit, "lanes": lanes, "lease": lease, "lane_first": limit == 3}
        own["alone_kinds"] = ["mail"] if limit > 1 and lease else []
        self.send("claim", *self.number(worker, slot), **own)

    @rule(
        worker=st.sampled_from(WORKERS), slot=st.integers(0, 1), limit=st.just(0) | limits, lanes=lane_lists,
        lease=lease_times, acks=few_picks, fails=few_picks, result=results, failure=failures, busy=numbers_of_tasks,
    )  # fmt: skip
    def settle(
        self, worker: str, slot: int, limit: int, lanes: list[str], lease: int, acks: list[int], fails: list[int],
        result: bytes, failure: Answer, busy: int | None,
    ) -> None:  # fmt: skip
        self.send(
            "settle", *self.number(worker, slot), limit=limit, lanes=lanes, lease=lease, busy=busy,
            acks=[(*one, result) for one in self.leases(acks)], fails=[(*one, *failure) for one in self.leases(fails)],
        )  # fmt: skip

    @precondition(has_leased)
    @rule(at=picks, result=results)
    def ack(self, at: list[int], result: bytes) -> None:
        self.send_some("ack", [(*one, result) for one in self.leases(at)])

    @precondition(has_leased)
    @rule(at=picks, failure=failures)
    def fail(self, at: list[int], failure: Answer) -> None:
        self.send_some("fail", [(*one, *failure) for one in self.leases(at)])

    @precondition(has_leased)
    @rule(at=picks, delay=st.none() | snoozes)
    def release(self, at: list[int], delay: int | None) -> None:
        """At once, or for later."""
        if delay is None:
            self.send_some("release", self.leases(at))
        else:
            self.send_some("snooze", [(*one, delay) for one in self.leases(at)])

    @precondition(has_leased)
    @rule(at=few_picks, worker=st.sampled_from(WORKERS), lease=lease_times, busy=numbers_of_tasks, note=notes)
    def heartbeat(self, at: list[int], worker: str, lease: int, busy: int | None, note: dict[str, Any]) -> None:
        """With a number of tasks, or else with their progress."""
        leases = self.leases(at)
        if busy is not None or not leases:
            self.send("heartbeat", leases, worker, lease, busy)
        else:
            self.send("progress", self.rid(), [(*one, note) for one in [*leases, leases[0]]])

    # Calls that are sent again

    @precondition(lambda self: self.at_once and self.model.now == self.sent[-1].at)
    @rule()
    def send_again_at_once(self) -> None:
        """The state is that of one call."""
        sent, sweeping, before = self.sent[-1], self.model.unswept(), self.state()
        again, self.at_once = self.send_again(sent), False
        # An item that came after nobody finds what a later one of its call has made.
        unknown = sent.verb == "enqueue" and any(status == "unknown" for status, *_ in sent.answer)
        if not sweeping and not unknown:
            assert self.state() == before
            match sent.verb:
                case "claim" | "settle":
                    assert again[4:] == sent.answer[4:]
                case "promote" | "reap" | "expire" | "trim" | "ack" | "fail" | "release" | "snooze":
                    pass  # a count, or what send_again has looked at
                case _:
                    assert again == sent.answer

    def state(self) -> dict[str, Any]:
        """What a re-sent call may not change; places may be skipped."""
        found = {name: key.value for name, key in self.queue.read().items()}
        del found["config"]["place"]
        return found

    @precondition(lambda self: self.sent)
    @rule(back=st.integers(1, 8))
    def send_again_late(self, back: int) -> None:
        sent = self.sent[-back:][0]
        if self.model.now - sent.at <= WINDOW:
            self.send_again(sent)
            self.at_once = False

    def send_again(self, sent: Sent) -> Any:
        """The answer is the same, or less where a later call superseded a part of it."""
        again = self.queue.do(sent.verb, *sent.args, **sent.kwargs)
        match sent.verb, sent.answer:
            case verb, _ if verb in BY_ID or verb in ("pause", "resume", "drain", "steer"):
                assert again == sent.answer
            case "progress" | "purge", _:
                assert again == sent.answer
            case "register" | "deregister", _:
                assert again in (sent.answer, "stale", "deregistered")
            case "enqueue", list(answers) if again != "ADEQ_DRAINING":
                for new, old in zip(again, answers, strict=True):
                    assert new == old or old[0] in ("exists", "unknown")
            case "ack" | "fail" | "release" | "snooze", answers:
                assert same_or_lost(again, answers)
            case "claim" | "settle", ("ok", acks, fails, _, leases) if again[0] == "ok":
                assert same_or_lost(again[1], acks)
                assert same_or_lost(again[2], fails)
                assert set(again[4]) <= set(leases)
            case "claim" | "settle", (status, *_):
                assert again[0] in (status, "stale", "unregistered")
        return again

    # Time, and readers

    @rule(by=st.sampled_from([1, 500, 5000, 5000, 30_000]))
    def pass_time(self, by: int) -> None:
        self.model.now += by

    @precondition(lambda self: self.moments())
    @rule(
        step=st.sampled_from([-1, 0, 1]), at=st.integers(0, 5), limit=limits,
        verb=st.sampled_from(["promote", "reap", "expire", "trim", "release", "heartbeat", "progress", None]),
    )  # fmt: skip
    def pass_time_until_due(self, step: int, at: int, verb: str | None, limit: int) -> None:
        times = self.moments()
        self.model.now = max(self.model.now, times[at % len(times)] + step)
        match verb:
            case "promote" | "reap" | "expire" | "trim":
                self.send(verb, limit)
            case "release":
                self.send_some("release", self.leases([0]))
            case "heartbeat":
                self.send_some("heartbeat", self.leases([0, 1, 2]), "w1", 0)
            case "progress":
                self.send("progress", self.rid(), [(*one, {"line": "late"}) for one in self.leases([0, 8])])

    def moments(self) -> list[int]:
        """When something will happen, or would be lost."""
        model = self.model
        times = {task.at for task in model.of("running", "delayed")} | {*model.deadlines().values()}
        times |= {until for _, until in model.timed.values()}
        times |= {task.result_ends for task in model.of("completed") if task.result_ends}
        times |= {task.at + model.settings["finished_keep"] for task in model.of("completed", "cancelled")}
        times |= {task.at + model.settings["dead_keep"] for task in model.of("dead")}
        for task in model.of("running"):
            if task.lease and (timeout := task.timeout or model.settings["timeout"]):
                end = task.lease.started + timeout
                times |= {end, end + model.settings["timeout_grace"]}
        times |= {left.until for left in model.replies.values()}
        return sorted(time for time in times if model.now <= time <= model.now + 2 * WINDOW)

    @rule(at=st.lists(st.integers(0, 30), min_size=1, max_size=5), named=filters, limit=st.sampled_from([1, 3, 100]))
    def read(self, at: list[int], named: dict[str, str], limit: int) -> None:
        self.queue.compare_views(self.ids(at))
        self.queue.compare_outcomes([*self.ids(at), *self.model.replies])
        self.queue.compare_workers()
        if named.keys() & {"state", "user", "tag", "parent"}:
            self.queue.compare_lists(limit, **named)

    def ids(self, at: list[int]) -> list[str]:
        ids = ["nobody", *self.model.stubs, *self.model.tasks]
        return [ids[-1 - one % len(ids)] for one in at]


@pytest.mark.parametrize("part", slow_after(1, range(PARTS)))
def test_queue(part: int, client: redis.Redis) -> None:
    QueueMachine.client, QueueMachine.scripts = client, load_scripts(client)
    run_state_machine_as_test(
        QueueMachine if SOAK else seed(part)(QueueMachine),
        settings=settings(max_examples=examples(100, 300), stateful_step_count=50, deadline=None, print_blob=True),
    )
