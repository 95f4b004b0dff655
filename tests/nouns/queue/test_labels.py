"""Kinds, users and tags may have non-ASCII characters: whatever reads them back finds them."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq.errors import BadArgument
from pyadeq.models import Task
from pyadeq.models.schedule import Every
from tests.nouns.queue.checks import check_queue, left_over, let_all_pass
from tests.nouns.queue.workbench import Workbench

OWN: dict[str, Any] = {"kind": "größe", "user": "Zoë", "tags": ["世界", "🌍/a", "ascii"]}


@pytest.fixture
def bench(bench: Workbench) -> Workbench:
    bench.worker()
    return bench


def listed(bench: Workbench, **filter: Any) -> list[str]:
    return [task.id for task in bench.run(bench.calls.list(**filter)).tasks]


def test_lists_filter_by_labels(bench: Workbench) -> None:
    (id,) = bench.fill(1, **OWN)
    bench.fill(1, kind="große", user="Zoé", tags=["世"])
    for filter in ({"user": "Zoë"}, {"tag": "世界"}, {"tag": "🌍/a"}, {"state": "ready", "kind": "größe"}):
        assert listed(bench, **filter) == [id]
    assert listed(bench, user="Zoe") == listed(bench, tag="界", state="ready") == []
    (task,) = bench.run(bench.calls.get([id]))
    assert task
    assert (task.kind, task.user, list(task.tags)) == (OWN["kind"], OWN["user"], OWN["tags"])


@pytest.mark.parametrize("key", ["user:Zoë", "user:*", "tag:世界", "tag:🌍/a"])
def test_limits_of_labels(bench: Workbench, key: str) -> None:
    bench.limit(key, concurrency=1)
    first, second = bench.fill(2, **OWN)
    (other,) = bench.fill(1, user="Zoé", tags=["世"])
    leases = bench.claim(3)
    assert [lease.id for lease in leases] == [first, other]
    (task,) = bench.run(bench.calls.get([second]))
    assert task
    assert task.state == "blocked"
    assert task.limited_by == (key if key != "user:*" else "user:Zoë")
    check_queue(bench)
    bench.real(bench.calls.ack([(leases[0], None)]))
    (lease,) = bench.claim(3)
    assert (lease.id, lease.kind) == (second, "größe")
    check_queue(bench)


def test_users_with_labels_take_turns(bench: Workbench) -> None:
    bench.real(bench.calls.configure(fair=True))
    bench.run(bench.calls.set_weights([("Zoë", 200)], "r"))
    assert bench.run(bench.calls.weights(["Zoë", "日本"])) == ({"Zoë": 2.0, "日本": 1.0}, "")
    first = bench.fill(3, user="Zoë")
    second = bench.fill(3, user="日本")
    assert [lease.id for lease in bench.claim(6)][:3] == [first[0], second[0], first[1]]
    check_queue(bench)


def test_a_schedule_and_its_tasks_have_labels(bench: Workbench) -> None:
    bench.run(bench.firing(bench.due("s", Every(60), **OWN)))
    (id,) = listed(bench, user="Zoë")
    assert listed(bench, tag="世界") == listed(bench, state="ready", kind="größe") == [id]
    check_queue(bench)


def test_nothing_of_a_label_is_left(bench: Workbench) -> None:
    bench.fill(2, **OWN)
    (lease,) = bench.claim(1)
    bench.real(bench.calls.ack([(lease, None)]))
    bench.run(bench.calls.purge("r", all=True))
    let_all_pass(bench)
    assert left_over(bench) == {}


@pytest.mark.parametrize("wrong", ["a b", "a,b", "é|", "{é}", "é*", "\x85", "é" * 101, "\ud800", ""])
@pytest.mark.parametrize("field", ["kind", "user", "tags"])
def test_what_is_no_label_is_refused(bench: Workbench, field: str, wrong: str) -> None:
    own: Any = {field: [wrong] if field == "tags" else wrong}
    with pytest.raises(BadArgument, match=f"{field}.*1 to 200 bytes of UTF-8"):
        bench.calls.enqueue([("a", Task(**own))], "r")
    assert bench.run(bench.calls.enqueue([("a", Task(**OWN | {"user": "é" * 100}))], "r"))[0].status == "created"


def test_equivalent_characters_are_different_labels(bench: Workbench) -> None:
    """Nothing is normalised."""
    (composed,) = bench.fill(1, user="\u00e9")
    (decomposed,) = bench.fill(1, user="e\u0301")
    assert (listed(bench, user="\u00e9"), listed(bench, user="e\u0301")) == ([composed], [decomposed])


def test_a_kind_that_is_leased_alone_may_be_a_label(bench: Workbench) -> None:
    line = bench.fill(2, kind="größe")
    for n, id in enumerate(line, 1):
        call = bench.calls.claim("w", "i", 7, n, alone_kinds=["größe"])
        assert [lease.id for lease in bench.run(call).leases] == [id]
