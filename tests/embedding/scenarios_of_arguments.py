"""Paths of our own, for what a client encodes or decodes and no scenario of one script has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyadeq._core.queue.items import Failure
from pyadeq.models import Backoff
from pyadeq.models.schedule import Every, Schedule
from tests.nouns.lock.workbench import LockBench
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import AnyCall, Scenario, acks, settle, tasks

LARGE = b"x" * 4_097  # a result that is dropped while memory is full
POLICY: dict[str, Any] = {
    "max_attempts": 7,
    "backoff": Backoff(base=2, multiplier=3, cap=20, jitter=0.5),
    "limits": ["gpu", "eu"],
}
SCENARIOS: list[Scenario] = []


def own(name: str, noun: str = "queue") -> Callable[[Callable[[Any], AnyCall]], Callable[[Any], AnyCall]]:
    """name: `<verb>: <path>`."""

    def add(prepare: Callable[[Any], AnyCall]) -> Callable[[Any], AnyCall]:
        title, _, _ = name.partition(":")
        verb = title.removeprefix(f"{noun} ")
        SCENARIOS.append(Scenario(name, lambda bench, _: prepare(bench), 0, noun=noun, verb=verb))
        return prepare

    return add


@own("enqueue: a payload that is not UTF-8")
def not_utf8(bench: Workbench) -> AnyCall:
    return bench.calls.enqueue(tasks(1, payload=b"\x00\xff\xfe{\r\n"), "r")


@own("enqueue: a payload that is not ASCII")
def not_ascii(bench: Workbench) -> AnyCall:
    return bench.calls.enqueue(tasks(1, payload='{"text":"Grüße, 世界 🌍"}'.encode()), "r")


@own("enqueue: kind, user and tags that are not ASCII")
def labels_not_ascii(bench: Workbench) -> AnyCall:
    return bench.calls.enqueue(tasks(1, kind="größe", user="Zoë", tags=["世界", "🌍/a"]), "r")


@own("get: kind, user and tags that are not ASCII")
def get_labels_not_ascii(bench: Workbench) -> AnyCall:
    return bench.calls.get(bench.fill(1, kind="größe", user="Zoë", tags=["世界", "🌍/a"]))


@own("list: of a tag and a user that are not ASCII")
def list_labels_not_ascii(bench: Workbench) -> AnyCall:
    bench.fill(1, user="Zoë", tags=["世界"])
    return bench.calls.list(user="Zoë", tag="世界")


@own("limits: of a user that is not ASCII")
def limits_not_ascii(bench: Workbench) -> AnyCall:
    bench.limit("user:Zoë", concurrency=1)
    return bench.calls.limits(["user:Zoë"])


@own("enqueue: with a policy of its own")
def with_a_policy(bench: Workbench) -> AnyCall:
    return bench.calls.enqueue(tasks(1, kind="k", headers={"h": 1}, **POLICY), "r")


def scheduled(bench: Workbench) -> Schedule:
    return bench.due("s", Every(3600), scope="c", coalesce="last", delay=5, jitter=60, **POLICY)


@own("fire: with a policy of its own")
def fire_with_a_policy(bench: Workbench) -> AnyCall:
    return bench.firing(scheduled(bench))


@own("trigger: with a policy of its own")
def trigger_with_a_policy(bench: Workbench) -> AnyCall:
    return bench.calls.trigger(scheduled(bench), "t", "r")


@own("settle: failures that say more")
def failures_that_say_more(bench: Workbench) -> AnyCall:
    (lease,) = bench.lease(1)
    failure = Failure(lease, "e", "r", delay=5, timeout=60, alert=True, exit_code=-9)
    return settle(bench, fails=[failure], jitters=[1])


@own("settle: all that may become of a lease, while the server is full")
def settle_all(bench: Workbench) -> AnyCall:
    bench.full(False)
    kept, dropped, retried, dead, cancelled = bench.lease(5)
    bench.real(bench.calls.cancel([cancelled.id], "c"))
    bench.worker()
    bench.full()
    return bench.calls.settle(
        "w",
        "i",
        0,
        10**6,
        acks=[*acks([kept], b"r"), *acks([dropped], LARGE), (("gone", "t"), None)],
        fails=[Failure(retried), Failure(dead, retryable=False), Failure(cancelled), Failure(("gone", "t"))],
        jitters=[0] * 4,
    )


@own("configure: how long replies are kept")
def configure_replies(bench: Workbench) -> AnyCall:
    return bench.calls.configure("r", reply_ttl=60)


@own("register: by the layout that it knows")
def register_with_a_layout(bench: Workbench) -> AnyCall:
    return bench.calls.register("w", "i", {"layout": 1})


@own("lock acquire_many: for an agent and a purpose", "lock")
def acquire_for_an_agent(bench: LockBench) -> AnyCall:
    return bench.acquire_many("q", "o", ["a", "b=shared"], agent="a", purpose="to write")


@own("limits: from a cursor on")
def limits_from_a_cursor_on(bench: Workbench) -> AnyCall:
    bench.limit("user:u", concurrency=1)
    return bench.calls.limits(cursor="0")


@own("weights: from a cursor on")
def weights_from_a_cursor_on(bench: Workbench) -> AnyCall:
    bench.real(bench.calls.set_weights([("u", 200)], "r"))
    return bench.calls.weights(cursor="0")


@own("workers: from a cursor on")
def workers_from_a_cursor_on(bench: Workbench) -> AnyCall:
    bench.worker()
    return bench.calls.workers(cursor="0")


@own("stats: of a queue at work")
def stats_of_a_queue_at_work(bench: Workbench) -> AnyCall:
    bench.furnish()
    return bench.calls.stats()
