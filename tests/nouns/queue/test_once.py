"""What is to be there only once: idempotency keys, unique keys and scopes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import START, Workbench

DAY = 86_400_000
KEYS = ["unique", "scope", "idempotency_key"]


def enqueue(bench: Workbench, *items: tuple[str, dict[str, Any]], rid: str = "r") -> list[tuple[str, str]]:
    tasks = [(id, Task(**{"payload": id.encode(), **task})) for id, task in items]
    return [(one.status, one.id) for one in bench.run(bench.calls.enqueue(tasks, rid))]


def payload(bench: Workbench, id: str) -> bytes | None:
    data: bytes | None = bench.ask("GET", f":payload:{id}")
    return data


def holder(bench: Workbench, field: str) -> str | None:
    value = bench.ask("HGET", ":once", field)
    return None if value is None else value.decode().split()[0]


@pytest.mark.parametrize("key", KEYS)
def test_the_first_task_stands_for_all_of_its_key(bench: Workbench, key: str) -> None:
    own = {key: "k"}
    assert enqueue(bench, ("a", own)) == [("created", "a")]
    before = bench.dump()
    assert enqueue(bench, ("b", own), ("c", {key: "other"}), rid="2") == [("deduplicated", "a"), ("created", "c")]
    assert bench.ready() == ["a", "c"]
    assert [payload(bench, id) for id in ("a", "b")] == [b"a", None]
    assert bench.record("a") == before[":task:a"][1]
    assert bench.counters()["enqueued"] == 2
    check_queue(bench)


@pytest.mark.parametrize("key", KEYS)
def test_of_several_in_one_call_the_first_is_made(bench: Workbench, key: str) -> None:
    own = {key: "k"}
    call = [("a", own), ("b", own), ("a", own), ("c", own)]
    expected = [("created", "a"), ("deduplicated", "a"), ("exists", "a"), ("deduplicated", "a")]
    assert enqueue(bench, *call) == expected
    assert enqueue(bench, *call) == expected
    assert bench.ready() == ["a"]
    check_queue(bench)


def test_the_kinds_of_keys_do_not_touch_each_other(bench: Workbench) -> None:
    for key in KEYS:
        assert enqueue(bench, (key, {key: "k"}), rid=key) == [("created", key)]
    check_queue(bench)


def test_an_id_that_is_taken_comes_before_its_keys(bench: Workbench) -> None:
    enqueue(bench, ("a", {"unique": "k"}), ("b", {}))
    assert enqueue(bench, ("b", {"unique": "k"}), rid="2") == [("exists", "b")]


def test_the_idempotency_key_comes_before_the_scope_and_the_unique_key_last(bench: Workbench) -> None:
    enqueue(bench, ("a", {"idempotency_key": "k"}), ("b", {"scope": "k"}), ("c", {"unique": "k"}))
    assert enqueue(bench, ("d", dict.fromkeys(KEYS, "k")), rid="2") == [("deduplicated", "a")]
    assert enqueue(bench, ("d", {"unique": "k", "scope": "k"}), rid="3") == [("deduplicated", "b")]


@pytest.mark.parametrize("key", ["unique", "scope"])
def test_a_task_that_is_not_made_lends_its_idempotency_key_to_the_other_and_no_more(bench: Workbench, key: str) -> None:
    enqueue(bench, ("a", {key: "k"}))
    own = {"unique": "u", "scope": "s", "idempotency_key": "i", "user": "u"} | {key: "k"}
    enqueue(bench, ("b", own), rid="2")
    assert [holder(bench, field) for field in ("unique:u", "scope:s", "key:i")] == [None, None, "a"]
    check_queue(bench)
    bench.real(bench.calls.ack([(leased(bench, "a"), None)]))
    bench.pass_time(DAY - 1)
    assert enqueue(bench, ("c", own), rid="3") == [("deduplicated", "a")]
    bench.pass_time(1)
    assert enqueue(bench, ("c", own), rid="4") == [("created", "c")]


def test_an_item_of_an_id_that_a_later_item_takes_is_answered_the_same_again(bench: Workbench) -> None:
    enqueue(bench, ("a", {"unique": "k"}))
    call = [("b", {"unique": "k"}), ("b", {})]
    first = enqueue(bench, *call, rid="2")
    assert first == [("deduplicated", "a"), ("created", "b")]
    assert enqueue(bench, *call, rid="2") == first


# idempotency keys


@pytest.mark.parametrize(("ms", "again"), [(0, False), (DAY - 1, False), (DAY, True)])
def test_an_idempotency_key_stands_for_a_day(bench: Workbench, ms: int, again: bool) -> None:
    enqueue(bench, ("a", {"idempotency_key": "k"}))
    bench.pass_time(ms)
    assert enqueue(bench, ("b", {"idempotency_key": "k"}), rid="2") == [
        ("created", "b") if again else ("deduplicated", "a")
    ]
    check_queue(bench)


def test_its_time_is_a_setting(bench: Workbench) -> None:
    bench.real(bench.calls.configure(idempotency=10))
    enqueue(bench, ("a", {"idempotency_key": "k"}))
    bench.pass_time(9_999)
    assert enqueue(bench, ("b", {"idempotency_key": "k"}), rid="2") == [("deduplicated", "a")]
    bench.pass_time(1)
    assert enqueue(bench, ("b", {"idempotency_key": "k"}), rid="3") == [("created", "b")]


@pytest.mark.parametrize("how", ["ack", "dead", "cancel", "trim"])
def test_it_stands_though_its_task_has_ended_or_gone(bench: Workbench, how: str) -> None:
    enqueue(bench, ("a", {"idempotency_key": "k"}))
    if how == "cancel":
        bench.real(bench.calls.cancel(["a"]))
    elif how == "dead":
        bench.real(bench.calls.fail([Failure(lease, retryable=False) for lease in bench.claim(1)], [0]))
    else:
        bench.real(bench.calls.configure(finished_max=0 if how == "trim" else 10))
        bench.real(bench.calls.ack([(lease, None) for lease in bench.claim(1)]))
    assert (bench.view("a") is None) is (how == "trim")
    assert enqueue(bench, ("b", {"idempotency_key": "k"}), rid="2") == [("deduplicated", "a")]


def test_enqueues_that_hold_keys_sweep_old_ones_a_few_at_a_time(bench: Workbench) -> None:
    enqueue(bench, *[(f"t{at}", {"idempotency_key": f"k{at}"}) for at in range(50)])
    bench.pass_time(DAY)
    sizes = [50]
    for at in range(10):
        enqueue(bench, (f"new{at}", {"idempotency_key": f"new{at}"}), rid=f"{at}")
        sizes.append(bench.ask("HLEN", ":once"))
    assert sizes[-1] == 10
    assert all(before + 1 - after <= 20 for before, after in pairwise(sizes))
    check_queue(bench)


# unique keys


def leased(bench: Workbench, id: str) -> Any:
    (lease,) = bench.claim(1)
    assert lease.id == id
    return lease


def end_cancel_while(bench: Workbench, way: Callable[[Any], Any]) -> None:
    lease = leased(bench, "a")
    bench.run(bench.calls.cancel(["a"]))
    assert holder(bench, "unique:k") == "a"
    way(lease)


def late(bench: Workbench) -> Any:
    bench.pass_time(15_000)
    return bench.run(bench.calls.reap())


def crash_loop(bench: Workbench) -> None:
    bench.real(bench.calls.configure(max_crashes=1))
    leased(bench, "a")
    late(bench)


def expire(bench: Workbench) -> None:
    bench.pass_time(3_600_000)
    bench.run(bench.calls.expire())


ENDS: dict[str, Callable[[Workbench], Any]] = {
    "ack": lambda b: b.run(b.calls.ack([(leased(b, "a"), None)])),
    "fail for good": lambda b: b.run(b.calls.fail([Failure(leased(b, "a"), retryable=False)], [0])),
    "settle acks": lambda b: b.run(b.calls.settle("w", "i", 0, 99, acks=[(leased(b, "a"), None)])),
    "settle fails": lambda b: b.run(
        b.calls.settle("w", "i", 0, 99, fails=[Failure(leased(b, "a"), retryable=False)], jitters=[0])
    ),
    "cancel waiting": lambda b: b.run(b.calls.cancel(["a"])),
    "cancel running, ack": lambda b: end_cancel_while(b, lambda lease: b.run(b.calls.ack([(lease, None)]))),
    "cancel running, fail": lambda b: end_cancel_while(b, lambda lease: b.run(b.calls.fail([Failure(lease)], [0]))),
    "cancel running, release": lambda b: end_cancel_while(b, lambda lease: b.run(b.calls.release([lease]))),
    "cancel running, snooze": lambda b: end_cancel_while(b, lambda lease: b.run(b.calls.snooze([(lease, 1)]))),
    "cancel running, reap": lambda b: end_cancel_while(b, lambda lease: late(b)),
    "crash loop": crash_loop,
    "expire": expire,
    "purge": lambda b: b.run(b.calls.purge()),
}


@pytest.mark.parametrize("how", ENDS)
def test_a_unique_key_is_free_again_when_its_task_ends(bench: Workbench, how: str) -> None:
    enqueue(bench, ("a", {"unique": "k", "scope": "s", "expires_at": START / 1000 + 3600}))
    assert holder(bench, "unique:k") == "a"
    ENDS[how](bench)
    assert (holder(bench, "unique:k"), holder(bench, "scope:s")) == (None, None)
    assert enqueue(bench, ("b", {"unique": "k"}), rid="2") == [("created", "b")]
    check_queue(bench)


def back(bench: Workbench, how: str) -> None:
    lease = leased(bench, "a")
    match how:
        case "retried":
            bench.run(bench.calls.fail([Failure(lease)], [0]))
        case "released":
            bench.run(bench.calls.release([lease]))
        case "snoozed":
            bench.run(bench.calls.snooze([(lease, 5)]))
        case "crashed":
            late(bench)
        case "crashed twice":
            late(bench)
            leased(bench, "a")
            late(bench)
        case "cancelling":
            bench.run(bench.calls.cancel(["a"]))


@pytest.mark.parametrize("how", ["running", "retried", "released", "snoozed", "crashed", "crashed twice", "cancelling"])
def test_and_only_then(bench: Workbench, how: str) -> None:
    enqueue(bench, ("a", {"unique": "k"}))
    back(bench, how)
    assert enqueue(bench, ("b", {"unique": "k"}), rid="2") == [("deduplicated", "a")]
    check_queue(bench)


def test_an_old_task_does_not_free_the_key_of_a_newer_one(bench: Workbench) -> None:
    enqueue(bench, ("a", {"unique": "k"}))
    lease = leased(bench, "a")
    bench.ask("HSET", ":once", "unique:k", "b")  # as after an eviction of a's record and its return
    bench.run(bench.calls.ack([(lease, None)]))
    assert holder(bench, "unique:k") == "b"


@pytest.mark.parametrize("key", ["unique", "scope"])
def test_the_key_of_an_evicted_task_holds_nothing_up(bench: Workbench, key: str) -> None:
    enqueue(bench, ("a", {key: "k"}))
    bench.ask("DEL", ":task:a", ":payload:a")
    assert enqueue(bench, ("b", {key: "k"}), rid="2") == [("created", "b")]
    assert holder(bench, f"{key}:k") == "b"


# scopes


@pytest.mark.parametrize("coalesce", ["first", "last"])
def test_a_newcomer_joins_a_waiting_task_or_takes_its_payload_place(bench: Workbench, coalesce: str) -> None:
    own = {"scope": "s", "coalesce": coalesce}
    enqueue(bench, ("a", {"scope": "s"}))
    assert enqueue(bench, ("b", own | {"payload": b"x" * 2000}), rid="2") == [("deduplicated", "a")]
    assert payload(bench, "a") == (b"a" if coalesce == "first" else b"x" * 2000)
    assert bench.record("a").get("size") == (None if coalesce == "first" else b"2000")
    assert enqueue(bench, ("c", own), rid="3") == [("deduplicated", "a")]
    assert leased(bench, "a").data == (b"a" if coalesce == "first" else b"c")
    check_queue(bench)


def test_the_last_of_several_in_one_call_counts(bench: Workbench) -> None:
    last = {"scope": "s", "coalesce": "last"}
    call = [("a", last), ("b", last), ("c", last), ("d", {"scope": "s"})]
    assert [id for _, id in enqueue(bench, *call)] == ["a"] * 4
    assert payload(bench, "a") == b"c"
    enqueue(bench, *call)
    assert payload(bench, "a") == b"c"


def test_a_replay_does_not_bring_an_old_payload_back(bench: Workbench) -> None:
    last = {"scope": "s", "coalesce": "last"}
    enqueue(bench, ("a", last))
    enqueue(bench, ("b", last), rid="2")
    enqueue(bench, ("c", last), rid="3")
    assert enqueue(bench, ("b", last), rid="2") == [("deduplicated", "a")]
    assert payload(bench, "a") == b"c"


@pytest.mark.parametrize("how", ["running", "retried", "released", "snoozed", "crashed"])
def test_a_scope_ends_with_the_first_lease(bench: Workbench, how: str) -> None:
    enqueue(bench, ("a", {"scope": "s"}))
    back(bench, how)
    assert enqueue(bench, ("b", {"scope": "s"}), rid="2") == [("created", "b")]
    check_queue(bench)
    bench.pass_time(60_000)
    bench.claim(10)
    assert holder(bench, "scope:s") is None
    check_queue(bench)


def test_a_delayed_task_holds_its_scope(bench: Workbench) -> None:
    enqueue(bench, ("a", {"scope": "s", "delay": 5}))
    bench.pass_time(5_000)
    bench.run(bench.calls.promote())
    assert enqueue(bench, ("b", {"scope": "s"}), rid="2") == [("deduplicated", "a")]


# sent again


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("ended", ["no", "ack", "purge"])
@pytest.mark.parametrize("others", [["c"], []])
def test_a_replay_answers_the_same_though_the_other_task_has_ended(
    bench: Workbench, key: str, ended: str, others: list[str]
) -> None:
    enqueue(bench, ("a", {key: "k"}))
    call: list[tuple[str, dict[str, Any]]] = [("b", {key: "k"}), *((id, {}) for id in others)]
    first = enqueue(bench, *call, rid="2")
    assert first == [("deduplicated", "a"), *(("created", id) for id in others)]
    bench.pass_time(59_000)
    if ended == "ack":
        bench.real(bench.calls.ack([(leased(bench, "a"), None)]))
    elif ended == "purge":
        bench.real(bench.calls.purge())
    assert enqueue(bench, *call, rid="2") == first
    assert bench.view("b") is None


def test_after_the_window_the_answer_is_forgotten(bench: Workbench) -> None:
    enqueue(bench, ("a", {"unique": "k"}))
    enqueue(bench, ("b", {"unique": "k"}), rid="2")
    bench.real(bench.calls.ack([(leased(bench, "a"), None)]))
    bench.pass_time(60_000)
    assert enqueue(bench, ("b", {"unique": "k"}), rid="2") == [("created", "b")]
    bench.real(bench.calls.trim())
    assert holder(bench, "rid:2/1") is None


def test_a_task_that_gets_its_own_key_again_notes_no_other(bench: Workbench) -> None:
    own = {"unique": "k", "idempotency_key": "i"}
    enqueue(bench, ("a", own))
    bench.pass_time(DAY)
    assert enqueue(bench, ("b", own), rid="2") == [("deduplicated", "a")]
    assert holder(bench, "key:i") == "a"
    assert "keys" not in bench.record("a")


def test_a_replay_does_not_prolong_what_is_remembered(bench: Workbench) -> None:
    enqueue(bench, ("a", {"unique": "k"}))
    own = {"unique": "k", "idempotency_key": "i"}
    enqueue(bench, ("b", own), rid="2")
    before = bench.dump()[":once"]
    bench.pass_time(59_999)
    assert enqueue(bench, ("b", own), rid="2") == [("deduplicated", "a")]
    assert bench.dump()[":once"] == before


@pytest.mark.parametrize("first", ["before", "in the same call"])
def test_an_id_that_was_known_stays_known_though_a_later_item_has_its_key(bench: Workbench, first: str) -> None:
    known: tuple[str, dict[str, Any]] = ("a", {})
    if first == "before":
        enqueue(bench, known, rid="1")
    call = [known, ("a", {"after": ["nobody"], "unique": "k"}), ("b", {"unique": "k"})]
    answer = enqueue(bench, *call, rid="2")
    assert answer[1:] == [("exists", "a"), ("created", "b")]
    assert enqueue(bench, *call, rid="2") == answer


def test_an_answer_is_of_its_rid_and_index(bench: Workbench) -> None:
    enqueue(bench, ("a", {"unique": "k"}))
    enqueue(bench, ("b", {"unique": "k"}), rid="2")
    bench.real(bench.calls.cancel(["a"]))
    assert enqueue(bench, ("x", {}), ("b", {"unique": "k"}), rid="2") == [("created", "x"), ("created", "b")]
