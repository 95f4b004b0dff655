"""What is sent next, and what each reply means for it: the part of sending that needs no server."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pyadeq._core.call import Call
from pyadeq._core.manifest import Library, Script
from pyadeq._core.refusals import Loss, Refusal
from pyadeq._core.sending import BATCH_CALLS, Deferred, Sending, backoff, pack
from pyadeq.errors import AdeqError, ConflictError, TransportError

NOSCRIPT = Refusal("NOSCRIPT", "No matching script.")
MEBIBYTE = 1024 * 1024


@pytest.fixture
def scripts(tmp_path: Path) -> list[Script]:
    entries = []
    (tmp_path / "dist").mkdir()
    for name in ("queue.a.v1", "queue.b.v1"):
        text = f"#!lua\nreturn {{'{name}'}}\n"
        (tmp_path / f"dist/{name}.lua").write_text(text)
        entry: dict[str, Any] = {"id": name, "doc": "", "file": f"dist/{name}.lua", "read_only": False, "shapes": {}}
        entry |= {part: [] for part in ("keys", "args", "groups", "returns", "errors", "events")}
        entries.append(entry | {"sha1": hashlib.sha1(text.encode()).hexdigest()})
    (tmp_path / "manifest.json").write_text(json.dumps({"contract": 1, "scripts": entries}))
    library = Library(tmp_path)
    return [library[name] for name in library]


def calls(script: Script, *args: Any) -> list[Call[Any]]:
    return [Call(script, (), (arg,), lambda reply: reply) for arg in args]


def packed(call: Call[Any]) -> bytes:
    return pack(*call.command())


def load(script: Script) -> bytes:
    return pack("SCRIPT", "LOAD", script.text)


def test_calls_go_out_a_hundred_at_a_time(scripts: list[Script]) -> None:
    sending = Sending(calls(scripts[0], *range(250)))
    sizes = []
    while commands := sending.commands():
        sizes.append(len(commands))
        assert sending.take([[index] for index in range(len(commands))], None)
    assert sizes == [BATCH_CALLS, BATCH_CALLS, 50]
    assert sending.outcomes == [[index % 100] for index in range(250)]


def test_calls_go_out_four_mebibytes_at_a_time_but_at_least_one(scripts: list[Script]) -> None:
    sending = Sending(calls(scripts[0], *[bytes(size * MEBIBYTE) for size in (1, 2, 2, 5, 1)]))
    sizes = []
    while commands := sending.commands():
        sizes.append(len(commands))
        sending.take([[b"ok"]] * len(commands), None)
    assert sizes == [2, 1, 1, 1]


def test_missing_scripts_are_loaded_and_only_their_calls_sent_again(scripts: list[Script]) -> None:
    a, b = scripts
    (a1, a2), (b1, b2) = calls(a, 1, 2), calls(b, 1, 2)
    sending = Sending([a1, b1, a2, b2])
    sending.commands()
    assert sending.take([[1], NOSCRIPT, [2], NOSCRIPT], None)
    assert sending.commands() == [load(b), packed(b1), packed(b2)]
    assert sending.take([b.sha1.encode(), [3], [4]], None)
    assert sending.commands() == []
    assert sending.outcomes == [[1], [3], [2], [4]]


def test_a_script_that_is_gone_as_soon_as_it_was_loaded_is_an_obstacle(scripts: list[Script]) -> None:
    a = scripts[0]
    sending = Sending(calls(a, 1))
    sending.commands()
    assert sending.take([NOSCRIPT], None)
    sending.commands()
    assert not sending.take([a.sha1.encode(), NOSCRIPT], None)
    sending.give_up()
    assert sending.commands() == []
    (error,) = sending.outcomes
    assert isinstance(error, TransportError)
    assert (error.retryable, error.may_have_applied) == (True, False)


def test_a_script_that_cannot_be_loaded_ends_its_calls(scripts: list[Script]) -> None:
    a, b = scripts
    sending = Sending(calls(a, 1) + calls(b, 1))
    sending.commands()
    sending.take([NOSCRIPT, NOSCRIPT], None)
    sending.commands()
    assert sending.take([Refusal("NOPERM", "no"), b"another sum", NOSCRIPT, NOSCRIPT], None)
    assert sending.commands() == []
    first, second = sending.outcomes
    assert isinstance(first, TransportError)
    assert "SCRIPT LOAD queue.a.v1" in str(first)
    assert isinstance(second, AdeqError)
    assert "install pyadeq again" in str(second)


def test_after_a_loss_what_was_not_answered_goes_out_again(scripts: list[Script]) -> None:
    three = calls(scripts[0], 1, 2, 3)
    sending = Sending(three)
    sending.commands()
    assert not sending.take([[1]], Loss(OSError("reset"), sent=True))
    assert not sending.hopeless
    assert sending.commands() == [packed(three[1]), packed(three[2])]
    assert sending.take([[2], Refusal("ADEQ_CONFLICT", "no")], None)
    assert sending.outcomes[:2] == [[1], [2]]
    assert isinstance(sending.outcomes[2], ConflictError)


def test_a_loss_while_loading_loads_again(scripts: list[Script]) -> None:
    a = scripts[0]
    sending = Sending((), load=scripts)
    assert sending.commands() == [load(script) for script in scripts]
    assert not sending.take([a.sha1.encode()], Loss(OSError("reset"), sent=True))
    assert sending.commands() == [load(scripts[1])]
    assert not sending.take([Refusal("BUSY", "wait")], None)
    sending.give_up()
    assert list(sending.load_errors) == ["queue.b.v1"]


@pytest.mark.parametrize("first_sent", [False, True])
def test_giving_up_tells_what_may_have_been_applied(scripts: list[Script], first_sent: bool) -> None:
    sending = Sending(calls(scripts[0], *range(BATCH_CALLS + 1)))
    sending.commands()
    sending.take([[0]], Loss(OSError("reset"), sent=first_sent))
    sending.commands()
    sending.take([], Loss(OSError("refused"), sent=False))
    sending.give_up()
    assert sending.outcomes[0] == [0]
    told = [error.may_have_applied for error in sending.outcomes[1:] if isinstance(error, TransportError)]
    # The last one was never in a batch.
    assert told == [first_sent] * (BATCH_CALLS - 1) + [False]


def test_a_refusal_that_passes_is_waited_for(scripts: list[Script]) -> None:
    one = calls(scripts[0], 1)
    sending = Sending(one)
    sending.commands()
    assert not sending.take([Refusal("READONLY", "replica")], None)
    assert sending.commands() == [packed(one[0])]
    assert sending.take([[b"ok"]], None)
    assert sending.outcomes == [[b"ok"]]


def test_a_wrong_password_is_hopeless(scripts: list[Script]) -> None:
    sending = Sending(calls(scripts[0], 1))
    sending.commands()
    assert not sending.take([], Loss(OSError("wrong password"), sent=False, retryable=False))
    assert sending.hopeless


def test_pauses_grow_to_a_second() -> None:
    pauses = [backoff(failures, 1.0) for failures in range(1, 2000)]
    assert pauses == sorted(pauses)
    assert pauses[0] < 0.1
    assert pauses[-1] == 1.0
    assert backoff(5, 0.0) == 0.0


def test_a_deferred_has_a_value_or_an_error(scripts: list[Script]) -> None:
    def refuse(reply: Any) -> Any:
        raise AdeqError("declined")

    good = Deferred(calls(scripts[0], 1)[0])
    with pytest.raises(AdeqError, match="no value yet"):
        _ = good.value
    good.settle([b"ok"])
    assert good.value == [b"ok"]
    bad: Deferred[Any] = Deferred(Call(scripts[0], (), (), refuse))
    bad.settle([b"ok"])
    with pytest.raises(AdeqError, match="declined"):
        _ = bad.value
