"""The indexes of users, tags and parents hold exactly the tasks that there are."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq.models import Task
from tests.nouns.queue.checks import check_indexes, check_queue, left_over, let_all_pass
from tests.nouns.queue.test_cancel import put
from tests.nouns.queue.workbench import START, Workbench

OWN: dict[str, Any] = {"user": "u", "tags": ["s", "t"], "parent": "p"}
INDEXES = [":by:user:u", ":by:tag:s", ":by:tag:t", ":children:p"]


def members(bench: Workbench, key: str) -> list[str]:
    return [id.decode() for id in bench.ask("ZRANGE", key, 0, -1)]


def test_a_task_is_in_each_of_its_indexes_at_its_time_of_creation(bench: Workbench) -> None:
    (id,) = bench.fill(1, **OWN)
    for key in INDEXES:
        assert bench.ask("ZRANGE", key, 0, -1, "WITHSCORES") == [id.encode(), b"%d" % START]
    check_indexes(bench)


def test_a_task_without_them_is_in_none(bench: Workbench) -> None:
    bench.fill(1)
    assert [key for key in bench.dump() if key.startswith((":by", ":children"))] == []


@pytest.mark.parametrize(("number", "times"), [(250, 16), (1000, 8)])
def test_a_tag_given_twice_is_one(bench: Workbench, number: int, times: int) -> None:
    items = [(f"t{at}", Task(payload=b"", tags=["t"] * times, user="u")) for at in range(number)]
    bench.run(bench.calls.enqueue(items, "r"))
    assert bench.ask("ZCARD", ":by:tag:t") == number
    check_queue(bench)
    while bench.run(bench.calls.purge())[1]:  # more
        pass
    assert bench.ask("EXISTS", ":by:tag:t", ":by:user:u") == 0


def test_as_many_indexes_as_a_call_can_name(bench: Workbench) -> None:
    items = [
        (f"t{at}", Task(payload=b"", tags=[f"t{at}.{n}" for n in range(16)], user=f"u{at}", parent=f"p{at}"))
        for at in range(200)
    ]
    bench.run(bench.calls.enqueue(items, "r"))
    check_queue(bench)


def test_names_that_look_like_others_are_kept_apart(bench: Workbench) -> None:
    one, two = bench.fill(1, user="a:b", tags=["t"]), bench.fill(1, user="a", tags=["b:t", "t:"])
    assert (members(bench, ":by:user:a:b"), members(bench, ":by:user:a")) == (one, two)
    assert members(bench, ":by:tag:t") == one
    check_indexes(bench)


@pytest.mark.parametrize("state", ["ready", "delayed", "running", "stalled", "completed", "cancelled", "dead"])
def test_a_task_stays_indexed_in_every_state(bench: Workbench, state: str) -> None:
    id = put(bench, state, **OWN)
    assert [members(bench, key) for key in INDEXES] == [[id]] * 4
    check_queue(bench)


@pytest.mark.parametrize("how", ["purge", "purge all", "abandon", "trim", "count"])
def test_and_leaves_with_its_record(bench: Workbench, how: str) -> None:
    (stays,) = bench.lease(1, **OWN)
    if how == "purge":
        bench.fill(3, **OWN)
        bench.run(bench.calls.purge())
    elif how == "abandon":
        bench.run(bench.calls.abandon(bench.die(3, **OWN)))
    else:
        leases = bench.lease(3, **OWN)
        if how == "count":
            bench.real(bench.calls.configure(finished_max=0))
        bench.run(bench.calls.ack([(lease, None) for lease in leases]))
        if how == "trim":
            bench.real(bench.calls.configure(finished_keep=0))
            bench.run(bench.calls.trim())
        elif how == "purge all":
            bench.run(bench.calls.purge(all=True))
    assert [members(bench, key) for key in INDEXES] == [[stays.id]] * 4
    check_queue(bench)


def test_an_enqueue_that_makes_nothing_indexes_nothing(bench: Workbench) -> None:
    bench.run(bench.calls.enqueue([("a", Task(payload=b"", unique="k"))], "r"))
    items = [("a", Task(payload=b"", **OWN)), ("b", Task(payload=b"", unique="k", **OWN))]
    bench.run(bench.calls.enqueue(items, "2"))
    assert [key for key in bench.dump() if key.startswith((":by", ":children"))] == []


def test_an_id_that_comes_again_is_indexed_by_its_new_task_only(bench: Workbench) -> None:
    bench.run(bench.calls.enqueue([("a", Task(payload=b"", **OWN))], "r"))
    bench.run(bench.calls.purge())
    bench.pass_time(10)
    bench.run(bench.calls.enqueue([("a", Task(payload=b"", user="other"))], "2"))
    assert members(bench, ":by:user:other") == ["a"]
    check_queue(bench)


def test_a_whole_life_leaves_nothing(bench: Workbench) -> None:
    for state in ("ready", "delayed", "running", "stalled", "completed", "cancelled", "dead"):
        put(bench, state, **OWN | {"tags": [state, "t"]})
    check_queue(bench)
    let_all_pass(bench)
    check_queue(bench)
    assert left_over(bench) == {}
