"""One exception class for each code, and the right one for everything else that a server says."""

import inspect
import pickle
import tomllib
from pathlib import Path

import pytest

from pyadeq import errors
from pyadeq._core.kernel.manifest import library
from pyadeq._core.kernel.refusals import Loss, Refusal, is_passing, loss_error, refusal_error
from pyadeq.errors import SCRIPT_ERRORS, AdeqError, BadArgument, ScriptError, TransportError

LUA = Path(__file__).parents[2] / "lua"


def test_every_code_has_exactly_one_class() -> None:
    declared = tomllib.loads((LUA / "errors.toml").read_text())["script"]
    assert SCRIPT_ERRORS.keys() == declared.keys() == library().manifest["errors"].keys()
    assert len(set(SCRIPT_ERRORS.values())) == len(SCRIPT_ERRORS)
    kinds = ScriptError.__subclasses__()
    assert set(SCRIPT_ERRORS.values()) == {*kinds, *(of for kind in kinds for of in kind.__subclasses__())}


def test_every_error_is_in_the_tree_of_the_docstring() -> None:
    kinds = dict(inspect.getmembers(errors, inspect.isclass))
    del kinds["CycleEdge"]  # a part of DeadlockError
    for name, kind in kinds.items():
        assert issubclass(kind, AdeqError)
        assert f" {name} " in f" {errors.__doc__} ".replace("\n", " "), name


def test_some_errors_are_also_what_python_calls_them() -> None:
    assert issubclass(BadArgument, ValueError)


@pytest.mark.parametrize("code", SCRIPT_ERRORS)
def test_a_code_becomes_its_class_whatever_follows(code: str) -> None:
    text = "id must be an id, got '!' script: 6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:9."
    error = refusal_error("queue.ack.v1", Refusal(code, text), maybe_applied=False)
    assert type(error) is SCRIPT_ERRORS[code]
    assert isinstance(error, ScriptError)
    assert (error.code, error.script, error.message) == (code, "queue.ack.v1", text)
    assert str(error) == f"queue.ack.v1: {text} ({code})"


def test_a_refusal_tells_of_an_earlier_try() -> None:
    first, later = (refusal_error("queue.ack.v1", Refusal("ADEQ_EPOCH", "why"), maybe) for maybe in (False, True))
    assert isinstance(first, ScriptError)
    assert isinstance(later, ScriptError)
    assert (first.may_have_applied, later.may_have_applied) == (False, True)
    assert str(later) == f"{first}; an earlier try, whose answer was lost, may have been applied"
    assert pickle.loads(pickle.dumps(later)).may_have_applied


def test_an_unknown_code_of_ours_is_a_script_error() -> None:
    assert type(refusal_error("queue.ack.v1", Refusal("ADEQ_NEW", "text"), False)) is ScriptError


@pytest.mark.parametrize(
    ("code", "passing", "retryable", "may_have_applied"),
    [
        ("LOADING", True, True, False),
        ("BUSY", True, True, False),
        ("READONLY", True, True, False),
        ("MASTERDOWN", True, True, False),
        ("CLUSTERDOWN", True, True, False),
        ("TRYAGAIN", True, True, False),
        ("NOSCRIPT", True, True, False),
        ("OOM", False, True, False),
        ("MISCONF", False, True, False),
        ("NOREPLICAS", False, True, False),
        ("MOVED", False, False, False),
        ("CROSSSLOT", False, False, False),
        ("NOPERM", False, False, False),
        ("WRONGTYPE", False, False, True),
        ("ERR", False, False, True),
    ],
)
def test_what_the_server_refuses(code: str, passing: bool, retryable: bool, may_have_applied: bool) -> None:
    refusal = Refusal(code, "why")
    assert is_passing(refusal) is passing
    error = refusal_error("queue.ack.v1", refusal, maybe_applied=False)
    assert isinstance(error, TransportError)
    assert (error.retryable, error.may_have_applied) == (retryable, may_have_applied)
    assert f"{code} why" in str(error)
    sent_before = refusal_error("queue.ack.v1", refusal, maybe_applied=True)
    assert isinstance(sent_before, TransportError)
    assert sent_before.may_have_applied


def test_a_loss_keeps_its_cause() -> None:
    cause = OSError("reset")
    error = loss_error("queue.ack.v1", Loss(cause, sent=True), maybe_applied=True)
    assert error.__cause__ is cause
    assert (error.retryable, error.may_have_applied) == (True, True)
