"""Calls that belong together: each story is what a client does, a lost reply for instance, and what each call answers.

They are written here, and recorded with their answers in lua/conformance/stories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyadeq._core.kernel.manifest import library
from tests.embedding.printing import printed
from tests.embedding.stage import Stage
from tests.embedding.states import changes
from tests.embedding.vectors import Call, Vector, decode, encode, shown, shown_reply

START = 1_700_000_000_000  # ms

Items = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Step:
    """One call. at: ms after the start. items: those of the group `item`; groups: all, by name."""

    script: str
    args: Mapping[str, Any]
    items: Items = ()
    at: int = 0
    groups: Mapping[str, Items] | None = None

    @property
    def call(self) -> Call:
        groups = self.groups or ({"item": self.items} if self.items else {})
        call: Call = {"args": {**self.args, "now_ms": START + self.at}, "groups": {}}
        call["groups"] = {name: [dict(item) for item in items] for name, items in groups.items()}
        return call


@dataclass(frozen=True)
class Story:
    name: str
    doc: str
    steps: Sequence[Step]
    channels: Sequence[str] = ()

    @property
    def noun(self) -> str:
        return self.steps[0].script.partition(".")[0]

    @property
    def file(self) -> str:
        return f"{self.noun}.{self.name}.json"


def again(step: Step, at: int | None = None) -> Step:
    """The same call once more, as after a lost reply; a client does not change its arguments."""
    return step if at is None else Step(step.script, step.args, step.items, at, step.groups)


def _queue() -> list[Story]:
    enqueue = Step("queue.enqueue.v1", {"rid": "p1"}, [{"id": "a", "payload": "A"}, {"id": "b", "payload": "B"}])
    register = Step("queue.register.v1", {"worker": "w", "incarnation": "i"})

    def claim(n: int, at: int, worker: str = "w", incarnation: str = "i") -> Step:
        args = {"worker": worker, "incarnation": incarnation, "slot": 0, "n": n, "limit": 1}
        return Step("queue.claim.v1", args, [{"lane": "any"}], at)

    def settle(n: int, at: int, acks: Items) -> Step:
        args = {"worker": "w", "incarnation": "i", "slot": 0, "n": n, "limit": 1}
        return Step("queue.settle.v1", args, at=at, groups={"acks": acks, "lanes_wanted": [{"lane": "any"}]})

    def ack(token: str, at: int, result: str = "r") -> Step:
        return Step("queue.ack.v1", {}, [{"id": "a", "token": token, "result": result}], at)

    def progress(rid: str, at: int, ppm: int) -> Step:
        return Step("queue.progress.v1", {"rid": rid}, [{"id": "a", "token": "i.0.1/1", "ppm": ppm, "line": rid}], at)

    fail = Step("queue.fail.v1", {}, [{"id": "a", "token": "i.0.1/1", "reason": "error"}], 30)
    waits = Step("queue.outcome.v1", {}, [{"id": "a"}])
    replying = Step("queue.enqueue.v1", {"rid": "p1"}, [{"id": "a", "payload": "A", "reply": True}])
    schedule = Step(
        "queue.put_schedule.v1",
        {"name": "s", "rid": "s1", "timing": '{"every_ms":60000,"offset_ms":0}', "next_ms": START + 100},
    )

    def fire(rid: str, at: int) -> Step:
        args = {"name": "s", "rid": rid, "rev": 1, "nominal_ms": START + 100, "next_ms": START + 60_100}
        return Step("queue.fire.v1", args, at=at, groups={"item": [{"id": f"s@{START + 100}", "payload": ""}]})

    first, second, early = claim(1, 10), claim(2, 30), progress("g1", 20, 100_000)
    return [
        Story(
            "lost_enqueue",
            "The reply of an enqueue is lost. The same call answers the same; another call with these ids does not.",
            [enqueue, again(enqueue, 5), Step("queue.enqueue.v1", {"rid": "p2"}, enqueue.items, 10)],
        ),
        Story(
            "lost_claim",
            "The reply of claim n=1 is lost. The same n gets the same lease; once n=2 came, n=1 is stale.",
            [register, enqueue, first, again(first, 20), second, again(first, 40)],
        ),
        Story(
            "lost_settle",
            "The reply of a settle that completes a task and claims the next is lost. The same n answers the same.",
            [
                register,
                enqueue,
                claim(1, 10),
                settle(2, 20, [{"id": "a", "token": "i.0.1/1", "result": "r"}]),
                settle(2, 30, [{"id": "a", "token": "i.0.1/1", "result": "r"}]),
                settle(3, 40, [{"id": "b", "token": "i.0.2/1", "result": ""}]),
            ],
        ),
        Story(
            "stale_after_ack",
            "A token settles once: its ack may be sent again, and nothing else is done with it.",
            [register, enqueue, claim(1, 10), ack("i.0.1/1", 20), ack("i.0.1/1", 25), fail, ack("other", 40)],
        ),
        Story(
            "lease_taken_over",
            "A lease runs out, and another worker gets the task. The first worker's token does nothing more.",
            [
                register,
                Step("queue.register.v1", {"worker": "v", "incarnation": "j"}),
                enqueue,
                claim(1, 10),
                claim(1, 20_000, "v", "j"),
                claim(2, 22_000, "v", "j"),
                Step("queue.heartbeat.v1", {"worker": "w"}, [{"id": "a", "token": "i.0.1/1"}], 22_500),
                ack("i.0.1/1", 23_000),
                ack("j.0.1/1", 24_000, "later"),
            ],
        ),
        Story(
            "late_progress",
            "A progress call that is sent again late adds no line twice.",
            [register, enqueue, claim(1, 10), early, progress("g2", 30, 900_000), again(early, 40)],
        ),
        Story(
            "replaced_worker",
            "A worker starts again under its name. The older incarnation claims nothing more, but settles what it has.",
            [
                register,
                enqueue,
                claim(1, 10),
                Step("queue.register.v1", {"worker": "w", "incarnation": "k"}, at=20),
                claim(2, 30),
                ack("i.0.1/1", 40),
                claim(1, 50, "w", "k"),
                claim(1, 60, "unheard", "x"),
            ],
        ),
        Story(
            "wait_for_a_result",
            "A program waits for a task: outcome says `waiting`, a hint comes with the end, outcome has the result.",
            [replying, waits, register, claim(1, 10), ack("i.0.1/1", 20), Step(waits.script, {}, waits.items, 30)],
            [":channel:a"],
        ),
        Story(
            "two_schedulers",
            "Two programs fire the same time. One succeeds, and hears so again; to the other it is stale.",
            [schedule, fire("f1", 50), fire("f1", 110), fire("f1", 120), fire("f2", 130)],
        ),
    ]


def _locks() -> list[Story]:
    def acquire(
        rid: str, owner: str, at: int, wait_ms: int = 0, resource: str = "x", issued: int | None = None
    ) -> Step:
        args = {
            "rid": rid, "resource": resource, "owner": owner, "agent": f"agent-{owner}", "wait_ms": wait_ms,
            "issued_ms": START + (at if issued is None else issued),
        }  # fmt: skip
        return Step("lock.acquire.v1", args, at=at)

    def many(verb: str, rid: str, at: int) -> Step:
        return Step(f"lock.{verb}.v1", {}, [{"rid": rid}], at)

    return [
        Story(
            "lost_acquire",
            "The reply of an acquire is lost. The same rid has the same fence. After its release it never holds again.",
            [
                acquire("r1", "o1", 0),
                acquire("r1", "o1", 20, issued=0),
                acquire("r2", "o2", 30),
                many("release", "r1", 40),
                many("release", "r1", 50),
                acquire("r1", "o1", 60, issued=0),
                acquire("r3", "o2", 70),
            ],
        ),
        Story(
            "queued_hint_poll",
            "A request waits. The release of the holder hands the lock over, with a hint; poll takes it.",
            [
                acquire("r1", "o1", 0),
                acquire("r2", "o2", 10, 60_000),
                many("poll", "r2", 20),
                many("release", "r1", 30),
                many("poll", "r2", 40),
                acquire("r2", "o2", 50, 60_000, issued=10),
                many("renew", "r2", 10_000),
                many("release", "r2", 10_010),
                many("poll", "r2", 10_020),
            ],
            [":channel:r2"],
        ),
        Story(
            "cancel_comes_first",
            "A client gives up before its acquire arrives. The acquire gets nothing.",
            [many("cancel", "r1", 0), acquire("r1", "o1", 10), many("cancel", "r1", 20), acquire("r2", "o1", 30)],
        ),
        Story(
            "wait_is_over",
            "A request waits until its wait is over; then poll says that it has ended.",
            [
                acquire("r1", "o1", 0),
                acquire("r2", "o2", 10, 3_000),
                many("poll", "r2", 2_000),
                many("poll", "r2", 3_010),
                acquire("r2", "o2", 3_020, 3_000, issued=10),
            ],
            [":channel:r2"],
        ),
        Story(
            "lock_is_lost",
            "A lease runs out. Another request gets the lock, with a higher fence; the first one hears `lost`.",
            [
                acquire("r1", "o1", 0),
                acquire("r2", "o2", 31_000),
                many("renew", "r1", 31_010),
                many("release", "r1", 31_020),
            ],
        ),
        Story(
            "deadlock",
            "Two owners want what the other holds. The second is refused and releases; the first gets the lock.",
            [
                acquire("r1", "o1", 0, resource="x"),
                acquire("r2", "o2", 0, resource="y"),
                acquire("r3", "o1", 10, 60_000, resource="y"),
                acquire("r4", "o2", 20, 60_000, resource="x"),
                acquire("r4", "o2", 30, 60_000, resource="x", issued=20),
                many("release", "r2", 40),
                many("poll", "r3", 50),
            ],
            [":channel:r3", ":channel:r4"],
        ),
    ]


STORIES = [*_queue(), *_locks()]


def record(stage: Stage, story: Story) -> str:
    """The content of the story's file."""
    bench = stage.bench(story.noun)
    before = stage.hold(bench)
    steps: list[Vector] = []
    with stage.listening([bench.base + channel for channel in story.channels]) as heard:
        for step in story.steps:
            script = library()[step.script]
            argv = encode(script, step.call)
            assert decode(script, argv) == step.call
            reply = stage.send(script, argv)
            entry: Vector = {"script": script.id, "call": step.call, "argv": [shown(word) for word in argv]}
            entry |= {"error": reply} if isinstance(reply, str) else {"answer": shown_reply(reply)}
            hints = [[channel.removeprefix(bench.base), message] for channel, message in heard()]
            steps.append({**entry, "hints": hints} if hints else entry)
    after = changes(before, stage.hold(bench))
    story_ = {
        "story": story.name,
        "doc": story.doc,
        "noun": story.noun,
        "before": before,
        "steps": steps,
        "after": after,
    }
    return printed(story_)
