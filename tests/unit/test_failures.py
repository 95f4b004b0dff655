"""From an exception to what becomes of the task: the table of failure classes."""

import json
from concurrent.futures.process import BrokenProcessPool
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from pyadeq import Failure, Failures, Lease, ProcessDied, RateLimited, Rule, TaskFailed
from pyadeq._core.kernel.call import Answer
from pyadeq._core.queue.failures import RULES, failure_of, timed_out
from pyadeq.errors import CannotApply, ConfigError, TransportError, WaitTimeout


class OddError(Exception):
    pass


class OdderError(OddError):
    retry_after: Any = 7


class Model(BaseModel):
    n: int


def lease(**record: bytes) -> Lease:
    return Lease("t", "token", 1, 1, 1, 0.0, b"", dict(record))


def validation_error() -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Model.model_validate({})
    return caught.value


def syntax_error() -> SyntaxError:
    with pytest.raises(SyntaxError) as caught:
        compile("1 +", "x", "exec")
    return caught.value


def json_error() -> json.JSONDecodeError:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads("{")
    return caught.value


@pytest.mark.parametrize(
    ("error", "reason", "retryable"),
    [
        (ProcessDied("dead", -9), "crash", True),
        (BrokenProcessPool("dead"), "crash", True),
        (validation_error(), "bad_input", False),
        (syntax_error(), "bad_input", False),
        (json_error(), "bad_input", False),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "bad_input", False),
        (RateLimited("slowly", 3), "rate_limited", True),
        (MemoryError(), "out_of_memory", False),
        (TransportError("gone", retryable=True, may_have_applied=True), "connection_lost", True),
        (ConnectionResetError(), "connection_lost", True),
        (ValueError("no"), "ValueError", True),
        (TimeoutError(), "TimeoutError", True),
        (WaitTimeout(), "WaitTimeout", True),
        (SystemExit(3), "SystemExit", True),
        (ExceptionGroup("all", [RateLimited("a", 1), RateLimited("b", 2)]), "rate_limited", True),
        (ExceptionGroup("some", [RateLimited("a", 1), MemoryError()]), "ExceptionGroup", True),
    ],
)
def test_an_exception_is_of_a_class(error: BaseException, reason: str, retryable: bool) -> None:
    failure = failure_of(lease(), error)
    assert (failure.reason, failure.retryable, failure.error) == (reason, retryable, error)


def test_a_change_that_is_held_is_tried_again_when_its_lease_has_ended() -> None:
    held = CannotApply("c", "held", Answer("held", {"now": 100.0, "deadline": 117.5, "agent": "a"}))
    assert (failure_of(lease(), held).delay, failure_of(lease(), CannotApply("c", "state")).delay) == (17.5, None)


def test_only_what_needs_people_alerts_them() -> None:
    assert [name for name, rule in RULES.items() if rule.alert] == ["out_of_memory"]
    assert failure_of(lease(), MemoryError()).alert
    assert not failure_of(lease(), ValueError()).alert


@pytest.mark.parametrize(
    ("asked", "delay"),
    [
        (2.5, 2.5),
        ("30", 30.0),
        (timedelta(minutes=1), 60.0),
        (0, 0.0),
        (1e12, 315_360_000.0),
        (-1, None),
        (float("nan"), None),
        ("soon", None),
        (None, None),
    ],
)
def test_a_rate_limit_is_waited_for_as_long_as_it_asks(asked: Any, delay: float | None) -> None:
    assert failure_of(lease(), RateLimited("slowly", asked)).delay == delay


def test_only_a_rate_limit_asks() -> None:
    assert failure_of(lease(), OdderError()).delay is None
    assert failure_of(lease(), OdderError(), Failures().when(OdderError, "rate_limited")).delay == 7


def test_who_ran_out_of_time_gets_more() -> None:
    failure = timed_out(lease(timeout_ms=b"1500"))
    assert (failure.reason, failure.retryable, failure.timeout) == ("timeout", True, 3.0)
    assert failure.error == "the run took longer than its timeout of 1.5 s"
    assert timed_out(lease(timeout_ms=b"315360000000")).timeout == 315_360_000.0
    assert failure_of(lease(timeout_ms=b"1500"), ValueError()).timeout is None
    assert timed_out(lease(timeout_ms=b"1"), Failures().changed(timeout=Rule(longer_timeout=0.1))).timeout == 0.001


def test_a_died_process_tells_its_exit_code() -> None:
    assert failure_of(lease(), ProcessDied("dead", -9)).exit_code == -9


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TaskFailed("x"), ("error", True, None)),
        (TaskFailed("x", reason="my own word"), ("my_own_word", True, None)),
        (TaskFailed("x", reason="bad_input"), ("bad_input", False, None)),
        (TaskFailed("x", reason="bad_input", retryable=True), ("bad_input", True, None)),
        (TaskFailed("x", retryable=False), ("error", False, None)),
        (TaskFailed("x", reason="rate_limited", delay=timedelta(seconds=5)), ("rate_limited", True, 5.0)),
    ],
)
def test_a_handler_may_say_how_it_failed(error: TaskFailed, expected: tuple[str, bool, float | None]) -> None:
    failure = failure_of(lease(), error)
    assert (failure.reason, failure.retryable, failure.delay) == expected


def test_the_table_can_be_changed() -> None:
    own = Failures().changed(flaky=Rule(delay=5, alert=True), out_of_memory=Rule()).when(OddError, "flaky")
    failure = failure_of(lease(), OdderError(), own)
    assert failure == Failure(lease(), failure.error, "flaky", delay=5, alert=True)
    assert failure_of(lease(), MemoryError(), own).retryable
    assert failure_of(lease(), OddError()).reason == "OddError"
    assert not failure_of(lease(), MemoryError()).retryable


def test_the_most_special_type_counts() -> None:
    own = Failures().when(OddError, "bad_input").when((OdderError, Exception), "crash")
    assert [own.class_of(error) for error in (OddError(), OdderError(), KeyError())] == ["bad_input", "crash", "crash"]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("to", lambda: Failures().when(OddError, "flaky")),
        ("delay", lambda: Rule(delay=-1)),
        ("delay", lambda: Rule(delay=4e8)),
        ("longer_timeout", lambda: Rule(longer_timeout=0)),
        ("longer_timeout", lambda: Rule(longer_timeout=float("inf"))),
    ],
)
def test_what_cannot_work_is_refused(name: str, make: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: .* allowed: "):
        make()
