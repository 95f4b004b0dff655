"""A random history of calls, late duplicates and passing time, on the scripts and on the model side by side."""

from __future__ import annotations

import os
from itertools import count
from typing import Any, ClassVar, NamedTuple

import pytest
import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.property.driver import Driver, Scripts, load_scripts
from tests.property.model import SILENCE
from tests.property.records import LOST, Answer, Backoff, Spec

CI = os.environ.get("HYPOTHESIS_PROFILE") == "ci"
PARTS = 4  # shares of the examples, for several processes
WINDOW = 45_000  # how long after its first sending a call may be sent again
LANES = ("any", "group/g", "group/g/inst/i")
WORKERS = ("w1", "w2")

names = st.sampled_from([*"abcdef", "1", "2", "x:y/z@+-.", None, None])  # None: an id of its own
backoffs = st.builds(
    Backoff,
    st.sampled_from([0, 1, 1000]),
    st.sampled_from([1.0, 1.5, 2.0]),
    st.sampled_from([0, 1500, 60_000]),
    st.sampled_from([0.0, 0.25, 1.0]),
)
specs = st.builds(
    Spec,
    id=names,
    payload=st.sampled_from([b"", b"\x00\xff", b"p" * 1100]),
    lane=st.sampled_from(LANES),
    priority=st.sampled_from([0, 5, 5, 9]),
    delay=st.sampled_from([0, 0, 0, 1, 1000, 5000]),
    kind=st.none() | st.just("mail"),
    user=st.none() | st.just("u1"),
    tags=st.sampled_from([(), ("x",), ("x", "y")]),
    max_attempts=st.sampled_from([None, 1, 2]),
    backoff=st.none() | backoffs,
)
lane_lists = st.permutations(LANES).flatmap(lambda lanes: st.integers(1, 3).map(lambda n: lanes[:n]))
lane_lists |= st.just(["any", "group/g", "any"])
picks = st.lists(st.integers(0, 9), min_size=1, max_size=3)
few_picks = st.lists(st.integers(0, 9), max_size=2)
limits = st.sampled_from([1, 2, 3, 10])
lease_times = st.sampled_from([0, 0, 1000, 20_000])
changes = st.fixed_dictionaries(
    {},
    optional={
        "lease": st.sampled_from([1000, 10_000]),
        "max_attempts": st.integers(1, 4),
        "max_crashes": st.integers(1, 3),
        "backoff": backoffs,
    },
)
failures = st.tuples(
    st.sampled_from([True, True, False]), st.sampled_from(["error", "timeout"]), st.sampled_from(["", "é"]),
    st.sampled_from([0, 123_457, 500_000, 1_000_000]),
)  # fmt: skip
results = st.sampled_from([b"", b"[]"])


class Sent(NamedTuple):
    at: int
    verb: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    answer: Any


def same_or_lost(again: list[Answer], before: list[Answer]) -> bool:
    return all(new in (old, LOST) for new, old in zip(again, before, strict=True))


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
        self.names: dict[str, list[str]] = {worker: [] for worker in WORKERS}  # incarnations
        self.ns: dict[tuple[str, int], int] = {}

    def teardown(self) -> None:
        self.queue.close()

    def send(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        answer = self.queue.do(verb, *args, **kwargs)
        self.sent.append(Sent(self.model.now, verb, args, kwargs, answer))
        if answer == ("unregistered",) or answer == ("stale",):
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
    def start(self, specs: list[Spec], changes: dict[str, Any]) -> None:
        self.send("configure", **changes)
        for worker in WORKERS:
            self.register(worker)
        self.enqueue(specs)
        self.send("claim", *self.number("w1", 0), limit=4, lanes=list(LANES))

    @invariant()
    def keys_are_the_models(self) -> None:
        self.queue.check()

    # Producers and operators

    @rule(specs=st.lists(specs, min_size=1, max_size=5))
    def enqueue(self, specs: list[Spec]) -> None:
        named = [spec if spec.id else Spec(**vars(spec) | {"id": f"own-{next(self.numbers)}"}) for spec in specs]
        self.send("enqueue", f"rid-{next(self.numbers)}", named)

    @precondition(lambda self: self.model.tasks)
    @rule(at=st.lists(st.integers(0, 30), min_size=1, max_size=2))
    def cancel(self, at: list[int]) -> None:
        self.send("cancel", self.ids(at))

    @rule(
        what=st.sampled_from(["configure", "start", "stop", "wake"]), worker=st.sampled_from(WORKERS),
        lane=st.sampled_from(LANES), older=st.booleans(), changes=changes,
    )  # fmt: skip
    def now_and_then(self, what: str, worker: str, lane: str, older: bool, changes: dict[str, Any]) -> None:
        match what:
            case "configure":
                self.send("configure", **changes)
            case "start":
                self.register(worker)  # under a new incarnation
            case "stop":
                self.send("deregister", worker, self.names[worker][-2 if older else -1 :][0])
            case "wake":  # a blocked worker takes the lane's token
                token = self.client.lpop(f"{self.queue.base}:wake:{lane}")
                assert token == (b"1" if lane in self.model.wake else None)
                self.model.wake.discard(lane)

    # Workers

    def register(self, worker: str) -> None:
        self.names[worker].append(f"i{next(self.numbers)}")
        self.send("register", worker, self.names[worker][-1])

    @precondition(lambda self: self.model.of("ready", "delayed", "running"))
    @rule(worker=st.sampled_from(WORKERS), slot=st.integers(0, 1), limit=limits, lanes=lane_lists, lease=lease_times)
    def claim(self, worker: str, slot: int, limit: int, lanes: list[str], lease: int) -> None:
        self.send("claim", *self.number(worker, slot), limit=limit, lanes=lanes, lease=lease)

    @rule(
        worker=st.sampled_from(WORKERS), slot=st.integers(0, 1), limit=st.just(0) | limits, lanes=lane_lists,
        lease=lease_times, acks=few_picks, fails=few_picks, result=results, failure=failures,
    )  # fmt: skip
    def settle(
        self, worker: str, slot: int, limit: int, lanes: list[str], lease: int, acks: list[int], fails: list[int],
        result: bytes, failure: Answer,
    ) -> None:  # fmt: skip
        self.send(
            "settle", *self.number(worker, slot), limit=limit, lanes=lanes, lease=lease,
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
    @rule(at=picks)
    def release(self, at: list[int]) -> None:
        self.send_some("release", self.leases(at))

    @precondition(has_leased)
    @rule(at=picks, worker=st.sampled_from(WORKERS), lease=lease_times)
    def heartbeat(self, at: list[int], worker: str, lease: int) -> None:
        self.send_some("heartbeat", self.leases(at), worker, lease)

    # Calls that are sent again

    @precondition(lambda self: self.sent)
    @rule()
    def send_again_at_once(self) -> None:
        """The state is that of one call."""
        due = self.model.due("running") + self.model.due("delayed")
        silent = [worker for worker in self.model.workers.values() if worker.seen <= self.model.now - SILENCE]
        before = self.state()
        self.send_again(self.sent[-1])
        if self.model.now == self.sent[-1].at and not due and not silent:
            assert self.state() == before

    def state(self) -> dict[str, Any]:
        """What a re-sent call may not change; places may be skipped."""
        found = self.queue.read()
        del found["config"][b"place"]
        return found

    @precondition(lambda self: self.sent)
    @rule(back=st.integers(1, 8))
    def send_again_late(self, back: int) -> None:
        sent = self.sent[-back:][0]
        if self.model.now - sent.at <= WINDOW and sent.verb != "configure":
            self.send_again(sent)

    def send_again(self, sent: Sent) -> None:
        """The answer is the same, or less where a later call superseded a part of it."""
        again = self.queue.do(sent.verb, *sent.args, **sent.kwargs)
        match sent.verb, sent.answer:
            case "enqueue" | "configure", _:
                assert again == sent.answer
            case "register" | "deregister", _:
                assert again in (sent.answer, "stale", "deregistered")
            case "ack" | "fail" | "release", answers:
                assert same_or_lost(again, answers)
            case "claim" | "settle", ("ok", acks, fails, _, leases) if again[0] == "ok":
                assert same_or_lost(again[1], acks)
                assert same_or_lost(again[2], fails)
                assert set(again[4]) <= set(leases)
            case "claim" | "settle", (status, *_):
                assert again[0] in (status, "stale", "unregistered")

    # Time, and readers

    @rule(by=st.sampled_from([1, 500, 5000, 5000, SILENCE]))
    def pass_time(self, by: int) -> None:
        self.model.now += by

    @precondition(lambda self: self.model.of("running", "delayed"))
    @rule(
        step=st.sampled_from([-1, 0, 1]), at=st.integers(0, 3),
        verb=st.sampled_from(["promote", "reap", "release", "heartbeat", None]), limit=limits,
    )  # fmt: skip
    def pass_time_until_due(self, step: int, at: int, verb: str | None, limit: int) -> None:
        times = sorted({task.at for task in self.model.of("running", "delayed")})
        self.model.now = max(self.model.now, times[at % len(times)] + step)
        match verb:
            case "promote" | "reap":
                self.send(verb, limit)
            case "release":
                self.send_some("release", self.leases([0]))
            case "heartbeat":
                self.send_some("heartbeat", self.leases([0, 1, 2]), "w1", 0)

    @rule(
        at=st.lists(st.integers(0, 30), min_size=1, max_size=5), lane=st.sampled_from(LANES),
        state=st.sampled_from(["ready", "delayed", "blocked", "running", "stalled", "completed", "cancelled", "dead"]),
        limit=st.sampled_from([1, 3, 100]),
    )  # fmt: skip
    def read(self, at: list[int], state: str, lane: str, limit: int) -> None:
        self.queue.compare_views(self.ids(at))
        self.queue.compare_lists(state, lane, limit)

    def ids(self, at: list[int]) -> list[str]:
        ids = ["nobody", *self.model.tasks]
        return [ids[-1 - one % len(ids)] for one in at]


@pytest.mark.parametrize("part", range(PARTS))
def test_queue(part: int, client: redis.Redis) -> None:
    QueueMachine.client, QueueMachine.scripts = client, load_scripts(client)
    run_state_machine_as_test(
        QueueMachine,
        settings=settings(max_examples=600 if CI else 120, stateful_step_count=50, deadline=None, print_blob=True),
    )
