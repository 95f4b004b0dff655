"""What is sent next, and what each reply means for it: the part of sending that needs no server."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.manifest import Library, Script
from pyadeq._core.kernel.packing import pack
from pyadeq._core.kernel.refusals import Loss, Refusal
from pyadeq._core.kernel.routes import Node, SlotMap
from pyadeq._core.kernel.sending import BATCH_CALLS, MOST_REDIRECTS, Deferred, Parcel, Sending, backoff
from pyadeq.errors import AdeqError, ConflictError, TransportError
from pyadeq.keys import hash_slot

NOSCRIPT = Refusal("NOSCRIPT", "No matching script.")
MEBIBYTE = 1024 * 1024


@pytest.fixture
def scripts(tmp_path: Path) -> list[Script]:
    entries = []
    (tmp_path / "dist").mkdir()
    for name in ("queue.a.v1", "queue.b.v1"):
        text = f"#!lua\nreturn {{'{name}'}}\n"
        (tmp_path / f"dist/{name}.lua").write_text(text)
        entry: dict[str, Any] = {
            "id": name,
            "doc": "",
            "file": f"dist/{name}.lua",
            "read_only": False,
            "role": "work",
            "replay": "token",
            "commands": [],
            "shapes": {},
        }
        entry |= {part: [] for part in ("keys", "data", "args", "groups", "returns", "errors", "events")}
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


class Server:
    """Exchanges parcels at times that rise, and keeps what was sent."""

    def __init__(self, sending: Sending) -> None:
        self.sending = sending
        self.time = 0.0
        self.parcel = Parcel(None, [])

    def next(self) -> list[bytes]:
        """What goes out next; nothing if all is done."""
        parcels = self.sending.parcels()
        if not parcels:
            return []
        (self.parcel,) = parcels
        return self.parcel.commands

    def answer(self, replies: list[Any], loss: Loss | None = None) -> bool:
        self.time += 1
        return self.sending.take(self.parcel, replies, loss, self.time)


def test_calls_go_out_a_hundred_at_a_time(scripts: list[Script]) -> None:
    server = Server(Sending(calls(scripts[0], *range(250))))
    sizes = []
    while commands := server.next():
        sizes.append(len(commands))
        assert server.answer([[index] for index in range(len(commands))])
    assert sizes == [BATCH_CALLS, BATCH_CALLS, 50]
    assert server.sending.outcomes == [[index % 100] for index in range(250)]


def test_calls_go_out_four_mebibytes_at_a_time_but_at_least_one(scripts: list[Script]) -> None:
    server = Server(Sending(calls(scripts[0], *[bytes(size * MEBIBYTE) for size in (1, 2, 2, 5, 1)])))
    sizes = []
    while commands := server.next():
        sizes.append(len(commands))
        server.answer([[b"ok"]] * len(commands))
    assert sizes == [2, 1, 1, 1]


def test_missing_scripts_are_loaded_and_only_their_calls_sent_again(scripts: list[Script]) -> None:
    a, b = scripts
    (a1, a2), (b1, b2) = calls(a, 1, 2), calls(b, 1, 2)
    server = Server(Sending([a1, b1, a2, b2]))
    server.next()
    assert server.answer([[1], NOSCRIPT, [2], NOSCRIPT])
    assert server.next() == [load(b), packed(b1), packed(b2)]
    assert server.answer([b.sha1.encode(), [3], [4]])
    assert server.next() == []
    assert server.sending.outcomes == [[1], [3], [2], [4]]


def test_a_script_that_is_gone_as_soon_as_it_was_loaded_is_an_obstacle(scripts: list[Script]) -> None:
    a = scripts[0]
    server = Server(Sending(calls(a, 1)))
    server.next()
    assert server.answer([NOSCRIPT])
    server.next()
    assert not server.answer([a.sha1.encode(), NOSCRIPT])
    server.sending.give_up(server.time)
    assert server.next() == []
    (error,) = server.sending.outcomes
    assert isinstance(error, TransportError)
    assert (error.retryable, error.may_have_applied) == (True, False)


def test_a_script_that_cannot_be_loaded_ends_its_calls(scripts: list[Script]) -> None:
    a, b = scripts
    server = Server(Sending(calls(a, 1) + calls(b, 1)))
    server.next()
    server.answer([NOSCRIPT, NOSCRIPT])
    server.next()
    assert server.answer([Refusal("NOPERM", "no"), b"another sum", NOSCRIPT, NOSCRIPT])
    assert server.next() == []
    first, second = server.sending.outcomes
    assert isinstance(first, TransportError)
    assert "SCRIPT LOAD queue.a.v1" in str(first)
    assert isinstance(second, AdeqError)
    assert "install pyadeq again" in str(second)


def test_after_a_loss_what_was_not_answered_goes_out_again(scripts: list[Script]) -> None:
    three = calls(scripts[0], 1, 2, 3)
    server = Server(Sending(three))
    server.next()
    assert not server.answer([[1]], Loss(OSError("reset"), sent=True))
    assert server.sending.left
    assert server.next() == [packed(three[1]), packed(three[2])]
    assert server.answer([[2], Refusal("ADEQ_CONFLICT", "no")])
    assert not server.sending.left
    assert server.sending.outcomes[:2] == [[1], [2]]
    assert isinstance(server.sending.outcomes[2], ConflictError)


def test_a_loss_while_loading_loads_again(scripts: list[Script]) -> None:
    a = scripts[0]
    server = Server(Sending.loads(scripts, [None]))
    assert server.next() == [load(script) for script in scripts]
    assert not server.answer([a.sha1.encode()], Loss(OSError("reset"), sent=True))
    assert server.next() == [load(scripts[1])]
    assert not server.answer([Refusal("BUSY", "wait")])
    server.sending.give_up(1.0)
    first, second = server.sending.outcomes
    assert not isinstance(first, AdeqError)
    assert "SCRIPT LOAD queue.b.v1" in str(second)


def test_scripts_are_loaded_on_every_node(scripts: list[Script]) -> None:
    sending = Sending.loads(scripts, [("a", 1), ("b", 2)])
    parcels = sending.parcels()
    assert [parcel.node for parcel in parcels] == [("a", 1), ("b", 2)]
    sums: list[Any] = [script.sha1.encode() for script in scripts]
    assert sending.take(parcels[0], sums, None, 0)
    assert not sending.take(parcels[1], [], Loss(OSError("reset"), sent=False), 0)
    sending.plan()
    assert [parcel.node for parcel in sending.parcels()] == [("b", 2)]


@pytest.mark.parametrize("first_sent", [False, True])
def test_giving_up_tells_what_may_have_been_applied(scripts: list[Script], first_sent: bool) -> None:
    server = Server(Sending(calls(scripts[0], *range(BATCH_CALLS + 1))))
    server.next()
    server.answer([[0]], Loss(OSError("reset"), sent=first_sent))
    server.next()
    server.answer([], Loss(OSError("refused"), sent=False))
    server.sending.give_up(1.0)
    outcomes = server.sending.outcomes
    assert outcomes[0] == [0]
    told = [error.may_have_applied for error in outcomes[1:] if isinstance(error, TransportError)]
    # The last one was never in a batch.
    assert told == [first_sent] * (BATCH_CALLS - 1) + [False]


def test_a_refusal_that_passes_is_waited_for(scripts: list[Script]) -> None:
    one = calls(scripts[0], 1)
    server = Server(Sending(one))
    server.next()
    assert not server.answer([Refusal("READONLY", "replica")])
    assert server.next() == [packed(one[0])]
    assert server.answer([[b"ok"]])
    assert server.sending.outcomes == [[b"ok"]]


def test_giving_up_counts_from_the_first_failure_in_a_row(scripts: list[Script]) -> None:
    server = Server(Sending(calls(scripts[0], *range(BATCH_CALLS + 1))))
    loss = Loss(OSError("reset"), sent=False)
    server.next()
    assert not server.answer([], loss)  # at 1
    server.next()
    assert server.answer([[b"ok"]] * BATCH_CALLS)
    for _ in range(2):
        server.next()
        assert not server.answer([], loss)  # at 3 and 4
        server.sending.give_up(2.9)
        assert server.sending.left
    server.sending.give_up(3.0)
    assert not server.sending.left


def test_a_wrong_password_is_hopeless(scripts: list[Script]) -> None:
    server = Server(Sending(calls(scripts[0], 1)))
    server.next()
    assert not server.answer([], Loss(OSError("wrong password"), sent=False, retryable=False))
    server.sending.give_up(-1e9)
    assert not server.sending.left


# Several nodes

A, B = ("a", 1), ("b", 2)


def slots() -> SlotMap:
    """Keys that begin with {a} are on A, and the others on B."""
    slot = hash_slot("{a}")
    ranges = [[0, slot - 1, [b"b", 2, b"id"]], [slot, slot, [b"a", 1, b"id"]], [slot + 1, 16383, [b"b", 2, b"id"]]]
    routes = SlotMap([A], lambda host, port: (host, port))
    assert routes.learn(ranges, A)
    return routes


def keyed(script: Script, *keys: str) -> list[Call[Any]]:
    return [Call(script, (key,), (), lambda reply: reply) for key in keys]


def sent_to(sending: Sending) -> dict[Node, list[bytes]]:
    return {parcel.node: parcel.commands for parcel in sending.parcels()}


def test_each_call_goes_to_the_node_of_its_keys(scripts: list[Script]) -> None:
    four = keyed(scripts[0], "{a}1", "{b}1", "{a}2", "{b}2")
    sending = Sending(four, slots())
    at_a, at_b = sending.parcels()
    assert (at_a.node, at_a.commands) == (A, [packed(four[0]), packed(four[2])])
    assert (at_b.node, at_b.commands) == (B, [packed(four[1]), packed(four[3])])
    assert sending.take(at_a, [[1], NOSCRIPT], None, 0)
    assert sending.take(at_b, [[3], [4]], None, 0)
    assert sent_to(sending) == {A: [load(scripts[0]), packed(four[2])]}


def test_a_node_that_is_given_up_does_not_end_the_calls_of_others(scripts: list[Script]) -> None:
    sending = Sending(keyed(scripts[0], "{a}", "{b}"), slots())
    at_a, at_b = sending.parcels()
    assert not sending.take(at_a, [], Loss(OSError("reset"), sent=True), 0)
    assert not sending.take(at_b, [], Loss(OSError("reset"), sent=True), 5)
    sending.give_up(0)
    ((node, _),) = sent_to(sending).items()
    assert node == B


def test_a_moved_call_goes_to_its_new_node_and_so_do_later_ones(scripts: list[Script]) -> None:
    routes = slots()
    (call,) = keyed(scripts[0], "{a}")
    sending = Sending([call], routes)
    (parcel,) = sending.parcels()
    assert sending.take(parcel, [Refusal("MOVED", f"{hash_slot('{a}')} c:3")], None, 0)
    assert sent_to(sending) == {("c", 3): [packed(call)]}
    assert routes.node_of("{a}") == ("c", 3)


def test_a_call_is_asked_for_once(scripts: list[Script]) -> None:
    routes = slots()
    (call,) = keyed(scripts[0], "{a}")
    sending = Sending([call], routes)
    (parcel,) = sending.parcels()
    assert sending.take(parcel, [Refusal("ASK", f"{hash_slot('{a}')} c:3")], None, 0)
    (parcel,) = sending.parcels()
    assert (parcel.node, parcel.commands) == (("c", 3), [pack("ASKING"), packed(call)])
    assert not sending.take(parcel, [b"OK", Refusal("TRYAGAIN", "later")], None, 0)
    sending.plan()
    assert sent_to(sending) == {A: [packed(call)]}
    assert routes.node_of("{a}") == A


def test_a_call_is_not_sent_to_and_fro_for_ever(scripts: list[Script]) -> None:
    sending = Sending(keyed(scripts[0], "{a}"), slots())
    for turn in range(MOST_REDIRECTS + 1):
        (parcel,) = sending.parcels()
        well = sending.take(parcel, [Refusal("MOVED", f"1 node:{turn % 2}")], None, 0)
        assert well is (turn < MOST_REDIRECTS)


@pytest.mark.parametrize("code", ["ASK", "MOVED"])
def test_a_call_that_nodes_send_to_each_other_is_given_up_in_time(scripts: list[Script], code: str) -> None:
    """A says that B has the slot, B says that A has it, and the map says A again after each pause."""
    (call,) = keyed(scripts[0], "{a}")
    slot, sending = hash_slot("{a}"), Sending([call], slots())
    time = 0.0
    while parcels := sending.parcels():
        time += 0.1
        assert time < 10, "it goes on for ever"
        (parcel,) = parcels
        told = Refusal(code, f"{slot} {B[0]}:{B[1]}") if parcel.node == A else Refusal("MOVED", f"{slot} {A[0]}:{A[1]}")
        if not sending.take(parcel, [b"OK"] * (len(parcel.commands) - 1) + [told], None, time):
            sending.give_up(time - 5)
            sending.plan()
    (error,) = sending.outcomes
    assert isinstance(error, TransportError)
    assert "from one to another" in str(error)
    assert (error.retryable, error.may_have_applied) == (True, False)


def test_without_a_cluster_a_moved_call_ends(scripts: list[Script]) -> None:
    server = Server(Sending(calls(scripts[0], 1)))
    server.next()
    assert server.answer([Refusal("MOVED", "1 node:1")])
    (error,) = server.sending.outcomes
    assert isinstance(error, TransportError)
    assert "cluster=True" in str(error)


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


def test_numbers_are_packed_as_their_text() -> None:
    assert pack("EVALSHA", 0, -1, 9_007_199_254_740_993, b"5") == pack("EVALSHA", "0", "-1", "9007199254740993", "5")
