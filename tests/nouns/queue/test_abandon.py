from __future__ import annotations

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import AbandonStatus, Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.test_cancel import put
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import TIES


def abandon(bench: Workbench, *ids: str, rid: str | None = None) -> list[AbandonStatus]:
    return bench.run(bench.calls.abandon(list(ids), rid))


def test_an_abandoned_task_is_gone_but_for_a_stub(bench: Workbench) -> None:
    (id,) = bench.die(1, **TIES)
    assert abandon(bench, id) == ["abandoned"]
    assert bench.view(id) is None
    assert [key for key in bench.dump() if id in key] == [f":reply:{id}", f":task:{id}"]
    assert bench.record(id)["gone"] == b"abandoned"
    check_queue(bench)


def test_the_stub_goes_by_itself_after_a_minute(bench: Workbench) -> None:
    (id,) = bench.die(1)
    abandon(bench, id)
    assert 55_000 < bench.ask("PTTL", f":task:{id}") <= 60_000


@pytest.mark.parametrize("state", ["ready", "delayed", "blocked", "running", "stalled", "completed", "cancelled"])
def test_only_the_dead_are_abandoned(bench: Workbench, state: str) -> None:
    id = put(bench, state)
    before = bench.dump()
    assert abandon(bench, id) == ["not_dead"]
    assert bench.dump() == before


def test_an_unknown_task_is_not_found(bench: Workbench) -> None:
    before = bench.dump()
    assert abandon(bench, "unknown") == ["not_found"]
    assert bench.dump() == before


def test_the_tasks_of_a_call_are_told_together_and_counted(bench: Workbench) -> None:
    one, two = bench.die(2)
    assert abandon(bench, one, "unknown", two, one) == ["abandoned", "not_found", "abandoned", "not_found"]
    (event,) = bench.events("task.removed")
    assert (event["id"], event["payload"]) == (f"{one} {two}".encode(), b"reason=abandoned")
    assert bench.counters()["abandoned"] == 2


def test_a_replay_answers_the_same_and_does_nothing(bench: Workbench) -> None:
    ids = [*bench.die(2), "unknown", *bench.fill(1)]
    first = abandon(bench, *ids, rid="r")
    assert first == ["abandoned", "abandoned", "not_found", "not_dead"]
    before = bench.dump()
    assert abandon(bench, *ids, rid="r") == first
    assert bench.dump() == before
    assert abandon(bench, *ids) == ["not_found", "not_found", "not_found", "not_dead"]


def test_a_late_one_does_not_delete_what_was_not_dead_then(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    assert abandon(bench, lease.id, rid="r") == ["not_dead"]
    bench.real(bench.calls.fail([Failure(lease, retryable=False)], [0]))
    assert abandon(bench, lease.id, rid="r") == ["not_dead"]
    bench.pass_time(60_000)
    assert abandon(bench, lease.id, rid="r") == ["abandoned"]


@pytest.mark.parametrize("how", ["purged", "trimmed"])
def test_a_task_that_was_deleted_in_another_way_is_not_found(bench: Workbench, how: str) -> None:
    (id,) = bench.die(1)
    if how == "purged":
        bench.real(bench.calls.purge(all=True))
    else:
        bench.real(bench.calls.configure(dead_max=0))
        bench.real(bench.calls.trim())
    assert abandon(bench, id) == ["not_found"]


def test_the_id_is_free_again_and_a_replay_leaves_its_new_task_alone(bench: Workbench) -> None:
    (id,) = bench.die(1)
    abandon(bench, id, rid="r")
    bench.real(bench.calls.enqueue([(id, Task(payload=b"y"))], "new"))
    assert bench.ask("PTTL", f":task:{id}") == -1
    bench.real(bench.calls.fail([Failure(lease, retryable=False) for lease in bench.claim(1)], [0]))
    assert abandon(bench, id, rid="r") == ["abandoned"]
    assert bench.state(id) == "dead"
    check_queue(bench)
