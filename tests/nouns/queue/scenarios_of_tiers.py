"""Paths of data tiers: an own tier, the queue's, the stricter of two, the error of a restricted task, a reveal."""

from __future__ import annotations

from pyadeq._core.queue.items import Failure
from pyadeq.models import Task
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import AnyCall, scenario, scenarios, sent


@scenario(1, 100)
def enqueue_in_a_queue_with_a_tier(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(tier="restricted"))
    return bench.calls.enqueue([(f"t{at}", Task(payload=b"x")) for at in range(n)], "r")


@scenario(1)
def enqueue_with_its_own_tier_in_a_queue_with_one(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(tier="restricted"))
    return bench.calls.enqueue([("a", Task(payload=b"x", tier="internal"))], "r")


@scenario(1)
def enqueue_a_stricter_payload_for_a_scope(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, scope="s", tier="public")
    return bench.calls.enqueue([("b", Task(payload=b"2", scope="s", coalesce="last"))], "r")


@scenario(1)
def enqueue_a_less_strict_payload_for_a_scope(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, scope="s", tier="restricted")
    return bench.calls.enqueue([("b", Task(payload=b"2", scope="s", coalesce="last", tier="confidential"))], "r")


scenarios(
    (1, 100),
    fail_for_good_a_restricted_task=lambda bench, n: bench.calls.fail(
        [Failure(lease, b"e", retryable=False) for lease in bench.lease(n, tier="restricted")], [0] * n
    ),
    reveal_tasks=lambda bench, n: bench.calls.reveal(bench.fill(n), "ann", "r"),
    reveal_again=lambda bench, n: sent(bench, bench.calls.reveal(bench.fill(n), "ann", "r")),
    reveal_unknown=lambda bench, n: bench.calls.reveal([f"unknown{at}" for at in range(n)], "ann", "r"),
)
