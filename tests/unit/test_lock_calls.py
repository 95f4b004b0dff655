"""The calls of a lock domain, and how their replies are read."""

import dataclasses

import pytest

from pyadeq import CycleEdge, LockCalls, RequestState, library
from pyadeq._core.lock.refusals import lock_error
from pyadeq._core.lock.replies import circle, circle_text
from pyadeq.errors import AdeqError, BadArgument, DeadlockError, LockLost, LockUnavailable, TransportError, WaitTimeout
from pyadeq.keys import lock_base

CALLS = LockCalls(lock_base("prod"), source="me", trace=lambda: "00-1-2-03")


def test_every_script_has_its_call() -> None:
    verbs = {id.split(".")[1] for id in library() if id.startswith("lock.")}
    parts = {one.name for one in dataclasses.fields(LockCalls)}
    methods = {name for name in vars(LockCalls) if not name.startswith("_")} - parts
    assert methods == verbs - {"confirm", "migrate"}


def test_calls_say_who_and_when() -> None:
    calls = LockCalls(lock_base("prod"), now_ms=lambda: 5, source="me", trace=lambda: "00-1-2-03")
    for call in (calls.release(["r1"]), calls.acquire("r1", "db:1", "a", issued_ms=1)):
        at = [argument.name for argument in call.script.args].index("source")
        names = {argument.name: value for argument, value in zip(call.script.args, call.args, strict=False)}
        assert (call.args[at], names["trace"], names["now_ms"]) == (b"me", b"00-1-2-03", 5)
    assert all(key.startswith("ade:{lock:prod}:") for key in calls.stats().keys)


def test_how_a_request_stands() -> None:
    acquire = CALLS.acquire("r1", "db:1", "a", issued_ms=1)
    granted = acquire.decode([b"granted", 1_000, 7, 31_000])
    assert granted == RequestState(status="granted", now=1.0, deadline=31.0, fences={"db:1": 7})
    queued = acquire.decode([b"queued", 1_000, 3, 2_000, 0])
    assert queued == RequestState(status="queued", now=1.0, place=3, poll=2.0, checked=False)
    assert acquire.decode([b"rate_limited", 1_000, 250]).retry_after == 0.25
    assert acquire.decode([b"deadlock", 1_000, b"a>x>db:1 b>p2>db:2"]).cycle == (
        CycleEdge("a", "exclusive", "db:1"),
        CycleEdge("b", "permit", "db:2", 2),
    )
    polled = CALLS.poll(["r1", "r2"]).decode(
        [b"ok", 1_000, [[b"granted", 31_000, [[b"part", b"db:1", 7]]], [b"ended", b"expired"]]]
    )
    assert [(state.status, state.now) for state in polled] == [("granted", 1.0), ("ended", 1.0)]
    assert polled[0].fences == {"db:1": 7}
    assert polled[1].outcome == "expired"


def test_a_cycle_there_and_back() -> None:
    text = "a>x>db:1 b>s>db:2 c>p3>agent:1"
    assert circle_text(circle(text)[0]) == text
    assert circle("a>x+>db:1") == ((CycleEdge("a", "exclusive", "db:1"),), 0)
    assert circle("a>x>db:1 +36") == ((CycleEdge("a", "exclusive", "db:1"),), 36)
    long = [CycleEdge("o" * 200, "exclusive", "r" * 200)] * 500
    assert 29_000 < len(circle_text(long)) <= 30_000


@pytest.mark.parametrize(
    ("status", "outcome", "error", "text"),
    [
        ("busy", None, WaitTimeout, "is not free"),
        ("ended", "timed_out", WaitTimeout, "not free in time"),
        ("ended", "abandoned", WaitTimeout, "not free in time"),
        ("unknown", None, WaitTimeout, "not free in time"),
        ("ended", "lost", LockLost, "shared"),
        ("ended", "revoked", LockLost, "by force"),
        ("ended", "cancelled", LockLost, "cancelled"),
        ("ended", "released", LockLost, "released"),
        ("ended", "unavailable", LockUnavailable, "gives no more permits"),
        ("deadlock", None, DeadlockError, "deadlock"),
        ("request_expired", None, TransportError, "too long"),
    ],
)
def test_why_there_is_no_lock(status: str, outcome: str | None, error: type[AdeqError], text: str) -> None:
    state = RequestState.model_validate({"status": status, "now": 1.0, "outcome": outcome})
    refused = lock_error(state, "db:1", "a")
    assert type(refused) is error
    assert text in str(refused)


def test_a_deadlock_names_all_who_are_in_it() -> None:
    error = DeadlockError([CycleEdge("a", "exclusive", "db:1"), CycleEdge("b", "shared", "db:2")])
    assert str(error).startswith("deadlock: a waits for db:1 (exclusive), b waits for db:2 (shared); release")


def test_too_much_for_one_call() -> None:
    with pytest.raises(BadArgument, match="items"):
        CALLS.poll([f"r{number}" for number in range(101)])
