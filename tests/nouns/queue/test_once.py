"""What is to be there only once: idempotency keys, unique keys and scopes."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq.models import Task
from tests.nouns.queue.workbench import Workbench

KEYS = ["unique", "scope", "idempotency_key"]


def enqueue(bench: Workbench, *items: tuple[str, dict[str, Any]], rid: str = "r") -> list[tuple[str, str]]:
    tasks = [(id, Task(**{"payload": id.encode(), **task})) for id, task in items]
    return [(one.status, one.id) for one in bench.run(bench.calls.enqueue(tasks, rid))]


def test_an_item_of_an_id_that_a_later_item_takes_is_answered_the_same_again(bench: Workbench) -> None:
    enqueue(bench, ("a", {"unique": "k"}))
    call = [("b", {"unique": "k"}), ("b", {})]
    first = enqueue(bench, *call, rid="2")
    assert first == [("deduplicated", "a"), ("created", "b")]
    assert enqueue(bench, *call, rid="2") == first


# unique keys


def leased(bench: Workbench, id: str) -> Any:
    (lease,) = bench.claim(1)
    assert lease.id == id
    return lease


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


@pytest.mark.parametrize("first", ["before", "in the same call"])
def test_an_id_that_was_known_stays_known_though_a_later_item_has_its_key(bench: Workbench, first: str) -> None:
    known: tuple[str, dict[str, Any]] = ("a", {})
    if first == "before":
        enqueue(bench, known, rid="1")
    call = [known, ("a", {"after": ["nobody"], "unique": "k"}), ("b", {"unique": "k"})]
    answer = enqueue(bench, *call, rid="2")
    assert answer[1:] == [("exists", "a"), ("created", "b")]
    assert enqueue(bench, *call, rid="2") == answer
