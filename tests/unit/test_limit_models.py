"""Limits and weights: what is sent for them, what the answers say, and what is refused before anything is sent."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from pyadeq import BadArgument, Limit, LimitUse, Task
from pyadeq._core.kernel.sending import decoded
from pyadeq._core.queue.calls import QueueCalls
from pyadeq._core.queue.items import envelope
from pyadeq._core.queue.limits import limit_pairs, rule_digest, weight_pct
from pyadeq.models import TaskView

CALLS = QueueCalls("ade:{queue:a}")


def answers(*items: list[Any], cursor: bytes = b"", rules: tuple[bytes, ...] = ()) -> list[Any]:
    return [b"ok", 5000, cursor, list(rules), list(items)]


# Limits


@pytest.mark.parametrize(
    ("concurrency", "starts", "period", "burst", "pairs"),
    [
        (2, None, 1.0, None, {"concurrency": 2}),
        (None, 5, 1.0, None, {"starts": 5, "period_ms": 1000}),
        (None, 5, timedelta(minutes=1), 2, {"starts": 5, "period_ms": 60_000, "burst": 2}),
        (3, 100, 0.0012, None, {"concurrency": 3, "starts": 100, "period_ms": 1}),
    ],
)
def test_what_is_sent_for_a_limit(concurrency: Any, starts: Any, period: Any, burst: Any, pairs: Any) -> None:
    given = limit_pairs(concurrency, starts, period, burst, "queue")
    assert {name: value for name, value in given.items() if value is not None} == {**pairs, "policy": "queue"}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((None, None, 1.0, None, "queue"), "concurrency or starts: one of them at least; `remove` takes a limit away"),
        ((None, None, 1.0, 5, "reject"), "concurrency or starts"),
        ((2, None, 1.0, 5, "queue"), "burst: 5 is not accepted without starts"),
        ((None, 101, 0.001, None, "queue"), "starts: 101 is not accepted; allowed: 100 for each ms of the period"),
        ((None, 5, "soon", None, "queue"), "period must be seconds or a timedelta, got 'soon'"),
        ((None, 5, None, None, "queue"), "period must be seconds or a timedelta, got None"),
    ],
)
def test_a_limit_of_nothing_is_refused(given: Any, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        limit_pairs(*given)


@pytest.mark.parametrize(
    ("rule", "limit"),
    [
        (b"2 queue 0 1", {"concurrency": 2}),
        (b"0 reject 200.000000 3", {"rate": 5.0, "burst": 3, "policy": "reject"}),
        (b"7 cancel_oldest 0.001000 1", {"concurrency": 7, "rate": 1e6, "burst": 1, "policy": "cancel_oldest"}),
        (b"0 cancel_newest 2678400000.000000 1", {"rate": 1 / 2_678_400, "burst": 1, "policy": "cancel_newest"}),
    ],
)
def test_what_is_read_of_a_limit(rule: bytes, limit: dict[str, Any]) -> None:
    call = CALLS.limits()
    found, cursor, uses = decoded(call, answers(cursor=b"17", rules=(b"user:*", rule)))
    digest = rule_digest(rule.decode())
    assert (found, cursor, uses) == ([Limit(key="user:*", digest=digest, **limit)], "17", [])


def test_what_is_read_of_a_key() -> None:
    keys = ["user:a", "user:b", "all"]
    call = CALLS.limits(keys)
    items = [
        [b"limited", b"user:a", b"2 queue 0 1", 2, 9, 5000],
        [b"limited", b"user:*", b"0 queue 250.000000 1", 0, 3, 5250],
        [b"unlimited", 0, 1],
    ]
    _, cursor, uses = decoded(call, answers(*items))
    assert cursor == ""
    digests = [rule_digest(rule) for rule in ("2 queue 0 1", "0 queue 250.000000 1")]
    assert [use.digest for use in uses] == [digests[0], "none", "none"]
    assert uses == [
        LimitUse(key="user:a", running=2, waiting=9, limit=Limit(key="user:a", concurrency=2, digest=digests[0])),
        LimitUse(
            key="user:b",
            running=0,
            waiting=3,
            limit=Limit(key="user:*", rate=4.0, burst=1, digest=digests[1]),
            next_start=5.25,
        ),
        LimitUse(key="all", running=0, waiting=1),
    ]


def test_what_is_answered_to_a_change() -> None:
    call = CALLS.set_limits([("all", {"concurrency": 1}), ("user:a", {}), ("user:b", {})], "r")
    assert decoded(call, [b"ok", 1, [[b"set"], [b"removed"], [b"unchanged"]]]) == ["set", "removed", "unchanged"]


@pytest.mark.parametrize("key", ["all", "user:*", "tag:*", "key:*", "user:a:b", f"key:{'k' * 200}", "tag:@x/y+z-_."])
def test_keys_of_limits(key: str) -> None:
    CALLS.set_limits([(key, {"concurrency": 1})], "r")
    CALLS.limits([key])


@pytest.mark.parametrize(
    "key", ["", "All", "all:*", "*", "user", "user:", "user:a b", "user:a,b", "user:**", "users:a", f"tag:{'t' * 201}"]
)
def test_what_is_no_key_of_a_limit(key: str) -> None:
    for call in (lambda: CALLS.set_limits([(key, {})], "r"), lambda: CALLS.limits([key])):
        with pytest.raises(BadArgument, match=r"key: .* is not accepted; allowed: all, or user:"):
            call()


def test_models_are_frozen_and_strict_about_names() -> None:
    limit = Limit(key="all", concurrency=1)
    assert (limit.rate, limit.burst, limit.policy) == (None, None, "queue")
    with pytest.raises(ValidationError, match="frozen"):
        limit.concurrency = 2
    with pytest.raises(ValidationError, match="weight"):
        Limit(key="all", weight=1)  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="policy"):
        Limit(key="all", policy="wait")  # type: ignore[arg-type]
    assert Limit.model_validate_json(limit.model_dump_json()) == limit
    use = LimitUse(key="all", running=1, waiting=0, limit=limit, next_start=1.5)
    assert LimitUse.model_validate_json(use.model_dump_json()) == use


# Tasks


def test_the_keys_of_a_task() -> None:
    assert envelope(Task(limits=["a", "b:c"]))["limits"] == ["a", "b:c"]
    assert "limits" not in envelope(Task(limits=[]))
    view = TaskView.model_validate({"id": "t", "state": "ready"})
    assert (view.limits, view.limited_by) == ((), None)


@pytest.mark.parametrize("limits", ["a", b"a", {"a": 1}, 5])
def test_the_keys_of_a_task_are_a_list(limits: Any) -> None:
    with pytest.raises(BadArgument, match="limits must be a list"):
        envelope(Task.model_construct(limits=limits))


# Weights


@pytest.mark.parametrize(
    ("weight", "percent"), [(0.01, 1), (0.015, 2), (0.5, 50), (1, 0), (1.0, 0), (1.004, 0), (2, 200), (100, 10_000)]
)
def test_a_weight_is_sent_in_percent(weight: float, percent: int) -> None:
    assert weight_pct(weight) == percent


@pytest.mark.parametrize("weight", [0, -1, 0.0099, 100.1, float("nan"), float("inf"), "1", None, [1]])
def test_what_is_no_weight(weight: Any) -> None:
    with pytest.raises(BadArgument, match=r"weight: .* is not accepted; allowed: 0\.01 to 100"):
        weight_pct(weight)


def test_weights_are_read_a_page_at_a_time() -> None:
    call = CALLS.weights(cursor="3")
    assert decoded(call, [b"ok", 1, b"9", [b"ann", b"250", b"bob", b"1"]]) == ({"ann": 2.5, "bob": 0.01}, "9")
