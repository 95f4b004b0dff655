"""What is waited for after a write, and what the replies mean."""

from typing import Any

import pytest

from pyadeq._core.kernel.call import build_call
from pyadeq._core.kernel.durability import Durability, check, confirm
from pyadeq._core.kernel.manifest import library
from pyadeq._core.kernel.packing import pack
from pyadeq._core.kernel.refusals import Loss, Refusal
from pyadeq._core.kernel.sending import Deferred, Parcel, Sending
from pyadeq._core.queue.calls import QueueCalls
from pyadeq.errors import ConfigError, DurabilityError, TransportError
from pyadeq.models import Task

BASE = "ade:{queue:a}"
CALLS = QueueCalls(BASE, lambda: 0)
AOF = Durability.checked("aof", 1, 0.5)
REPLICA = Durability.checked("replica", 2, 0.5)
NOSCRIPT = Refusal("NOSCRIPT", "No matching script.")
CREATED = [b"ok", 1, [[b"created"]]]
CONFIRMED = [b"confirmed", 1]
LOADED = library()["queue.confirm.v1"].sha1.encode()


@pytest.mark.parametrize("noun", library().manifest["nouns"])
def test_the_confirming_write_is_in_the_base_of_its_call(noun: str) -> None:
    call = build_call(f"{noun}.confirm.v1", f"ade:{{{noun}:a}}", {"now_ms": 0}, decode=lambda reply: reply)
    assert confirm(call, 0).keys == call.keys


def enqueue(base: str = BASE) -> Any:
    return QueueCalls(base, lambda: 0).enqueue([("a", Task(payload=1))], "r")


@pytest.fixture
def sending() -> Sending:
    return Sending([enqueue(), CALLS.stats()], durability=REPLICA)


def parcel(sending: Sending) -> Parcel:
    (one,) = sending.parcels()
    return one


def error(sending: Sending) -> Exception:
    (one,) = [outcome for outcome in sending.outcomes if isinstance(outcome, Exception)]
    return one


def test_a_confirming_write_and_a_wait_stand_behind_the_calls(sending: Sending) -> None:
    confirming = pack(*confirm(enqueue(), 0).command())
    assert parcel(sending).commands[2:] == [confirming, pack("WAIT", 2, 500)]


def test_each_base_has_its_confirming_write() -> None:
    sending = Sending([enqueue(), enqueue(), enqueue("ade:{queue:b}")], durability=AOF)
    assert parcel(sending).commands[5:] == [pack("WAITAOF", 1, 0, 500)]


def test_what_only_reads_is_not_confirmed() -> None:
    sending = Sending([CALLS.stats()], durability=AOF)
    assert len(parcel(sending).commands) == 1


def test_confirmed_is_the_answer(sending: Sending) -> None:
    assert sending.take(parcel(sending), [CREATED, [b"stats"], CONFIRMED, 2], None, 0)
    assert sending.outcomes == [CREATED, [b"stats"]]


def test_unconfirmed_is_an_error_with_the_answer(sending: Sending) -> None:
    assert sending.take(parcel(sending), [CREATED, [b"stats"], CONFIRMED, 1], None, 0)
    assert sending.outcomes[1] == [b"stats"]
    unconfirmed = error(sending)
    assert isinstance(unconfirmed, DurabilityError)
    assert str(unconfirmed) == "queue.enqueue.v1: it was applied, but 1 of 2 replicas have it after 0.5 s"
    deferred = Deferred(enqueue())
    deferred.settle(unconfirmed)
    with pytest.raises(DurabilityError):
        _ = deferred.value


def test_a_refusal_of_the_call_needs_no_confirmation(sending: Sending) -> None:
    refused = [Refusal("ADEQ_ARG", "no"), [b"stats"], CONFIRMED, 0]
    assert sending.take(parcel(sending), refused, None, 0)
    assert not isinstance(error(sending), DurabilityError)


def test_an_answer_without_its_confirmation_is_sent_again(sending: Sending) -> None:
    assert not sending.take(parcel(sending), [CREATED, [b"stats"]], Loss(OSError("reset"), sent=True), 0)
    assert len(parcel(sending).commands) == 3
    sending.plan()
    assert not sending.take(parcel(sending), [], Loss(OSError("refused"), sent=False), 0)
    sending.give_up(0)
    lost = error(sending)
    assert isinstance(lost, TransportError)
    assert lost.may_have_applied


def test_a_missing_confirming_script_is_loaded_and_all_sent_again(sending: Sending) -> None:
    assert sending.take(parcel(sending), [CREATED, [b"stats"], NOSCRIPT, 2], None, 0)
    again = parcel(sending)
    assert len(again.commands) == 4
    assert sending.take(again, [LOADED, CREATED, CONFIRMED, 2], None, 0)
    assert sending.outcomes == [CREATED, [b"stats"]]


def test_a_confirming_script_that_cannot_be_loaded_leaves_it_unconfirmed(sending: Sending) -> None:
    assert sending.take(parcel(sending), [CREATED, [b"stats"], NOSCRIPT, 2], None, 0)
    assert sending.take(parcel(sending), [Refusal("NOPERM", "no"), CREATED, NOSCRIPT, 2], None, 0)
    assert isinstance(error(sending), DurabilityError)
    assert "SCRIPT LOAD queue.confirm.v1" in str(error(sending))


@pytest.mark.parametrize("refused", [Refusal("BUSY", "wait"), Refusal("READONLY", "replica")])
def test_a_confirming_write_that_is_refused_for_now_is_waited_for(sending: Sending, refused: Refusal) -> None:
    assert not sending.take(parcel(sending), [CREATED, [b"stats"], refused, 2], None, 0)
    assert sending.left


@pytest.mark.parametrize(
    ("reply", "again"), [(Refusal("UNBLOCKED", "instance state changed"), True), (Refusal("ERR", "no"), False)]
)
def test_a_wait_that_is_refused(sending: Sending, reply: Refusal, again: bool) -> None:
    assert sending.take(parcel(sending), [CREATED, [b"stats"], CONFIRMED, reply], None, 0) is not again
    assert sending.left is again
    if not again:
        assert isinstance(error(sending), DurabilityError)


def test_one_confirming_write_is_enough_for_all() -> None:
    sending = Sending([enqueue(), enqueue("ade:{queue:b}")], durability=AOF)
    layout = Refusal("ADEQ_LAYOUT", "too new")
    assert sending.take(parcel(sending), [CREATED, layout, CONFIRMED, layout, [1, 0]], None, 0)
    assert sending.outcomes[0] == CREATED


def test_the_replies_to_waiting() -> None:
    assert [AOF.lack([1, 0]), AOF.lack([2, 1]), REPLICA.lack(2), REPLICA.lack(3)] == [""] * 4
    assert AOF.lack([0, 3]) == "it did not reach the primary's disk in 0.5 s"
    assert not Durability()


NO = Refusal("NOPERM", "no")
YES = [[b"waitaof", 4]]
FILE = b"loading:0\r\naof_enabled:1\r\n"
VALKEY = b"# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\n"
REDIS_7 = b"# Server\r\nredis_version:7.4.1\r\n"
REDIS_8 = b"# Server\r\nredis_version:8.0.0\r\n"
EVERYSEC = [b"appendfsync", b"everysec"]


@pytest.mark.parametrize(
    "server", [[VALKEY, [b"appendfsync", b"always"]], [VALKEY, {b"appendfsync": b"no"}], [REDIS_8, EVERYSEC]]
)
def test_a_server_that_can_confirm_passes(server: list[Any]) -> None:
    check(YES, FILE, *server)


@pytest.mark.parametrize("server", [[NO, EVERYSEC], [VALKEY, NO], [VALKEY, []], [b"", EVERYSEC]])
def test_a_server_that_does_not_let_itself_be_asked_is_taken_at_its_word(server: list[Any]) -> None:
    check(NO, NO, *server)


@pytest.mark.parametrize("command", [[None], []])
def test_a_server_without_waitaof_is_refused(command: Any) -> None:
    with pytest.raises(ConfigError, match="no WAITAOF"):
        check(command, FILE, REDIS_8, EVERYSEC)


def test_a_server_without_its_file_is_refused() -> None:
    with pytest.raises(ConfigError, match="append-only file is off"):
        check(YES, b"aof_enabled:0", REDIS_8, EVERYSEC)


@pytest.mark.parametrize("version", [VALKEY, REDIS_7])
@pytest.mark.parametrize("appendfsync", [EVERYSEC, {b"appendfsync": b"everysec"}])
def test_a_server_that_confirms_before_its_disk_does_is_refused(version: bytes, appendfsync: Any) -> None:
    with pytest.raises(ConfigError, match=r"13793.*set appendfsync always"):
        check(YES, FILE, version, appendfsync)
