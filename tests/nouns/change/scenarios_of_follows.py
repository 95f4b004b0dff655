"""Paths of `outbox`, and of the tasks that follow steps."""

from __future__ import annotations

from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import DAY, applying, approved, in_review, move
from tests.nouns.scenario import AnyCall, scenario


@scenario(0)
def set_policies_with_tasks_that_follow(bench: NounBench, _: int) -> AnyCall:
    own = {"approved_kind": "tell", "approved_lane": "group/a", "approved_priority": 9, "rejected_kind": "tell"}
    own |= {"changes_requested_kind": "tell", "completed_kind": "tell", "failed_kind": "tell", "cancelled_kind": "tell"}
    return bench.call("set_policies", item=[{"name": "p", "required": 1, **own}])


@scenario(0)
def set_policies_with_the_lane_of_no_task(bench: NounBench, _: int) -> AnyCall:
    return bench.call("set_policies", item=[{"name": "p", "required": 1, "failed_lane": "group/a"}])


@scenario(0)
def set_policies_with_the_priority_of_no_task(bench: NounBench, _: int) -> AnyCall:
    return bench.call("set_policies", item=[{"name": "p", "required": 1, "approved_priority": 1}])


TASKS: dict[str, Any] = {f"{step}_kind": f"kind-{step}" for step in ("approved", "rejected", "completed", "cancelled")}


@scenario(0)
def respond_and_a_task_follows(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, **TASKS)
    return bench.call("respond", actor="bob", item=[{**one, "action": "approve"}])


@scenario(0)
def respond_and_no_task_follows(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, **TASKS)
    return bench.call("respond", actor="bob", item=[{**one, "action": "request_changes"}])


@scenario(0)
def respond_and_a_task_follows_of_a_queue_elsewhere(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"follow_queue": "q"})
    one = in_review(bench, changes_requested_kind="tell")
    return bench.call("respond", actor="bob", item=[{**one, "action": "request_changes"}])


@scenario(0)
def finish_and_a_task_follows(bench: NounBench, _: int) -> AnyCall:
    applying(bench, **TASKS)
    return bench.call("finish", id="c", token="token", result="success")


@scenario(0)
def move_to_cancelled_and_a_task_follows(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, **TASKS)
    return bench.call("move", id="c", to="cancel", actor="ann")


def followed(bench: NounBench, n: int = 1) -> None:
    for number in range(n):
        approved(bench, f"c{number}", **TASKS)


@scenario(1, 100)
def outbox_of_some(bench: NounBench, n: int) -> AnyCall:
    bench.put("configure", settings={"follow_queue": "q"})
    followed(bench, n)
    return bench.call("outbox")


@scenario(0)
def outbox_that_is_empty(bench: NounBench, _: int) -> AnyCall:
    return bench.call("outbox")


@scenario(0)
def outbox_that_is_hidden(bench: NounBench, _: int) -> AnyCall:
    followed(bench)
    bench.put("outbox")
    bench.pass_time(29_999)
    return bench.call("outbox")


@scenario(0)
def outbox_that_is_hidden_no_longer(bench: NounBench, _: int) -> AnyCall:
    followed(bench)
    bench.put("outbox")
    bench.pass_time(30_000)
    return bench.call("outbox")


@scenario(0)
def outbox_of_fewer_than_there_are(bench: NounBench, _: int) -> AnyCall:
    followed(bench, 3)
    return bench.call("outbox", limit=2)


@scenario(0)
def outbox_without_a_record_is_damaged(bench: NounBench, _: int) -> AnyCall:
    followed(bench)
    bench.ask("DEL", ":follows")
    return bench.call("outbox")


@scenario(1, 100)
def outbox_after_delivery(bench: NounBench, n: int) -> AnyCall:
    followed(bench, n)
    found = bench.put("outbox").items
    bench.put("outbox", item=[{"id": found[0].id, "seq": found[0].seq}])
    return bench.call("outbox", item=[{"id": one.id, "seq": one.seq} for one in found])


@scenario(0)
def sweep_what_has_a_task_that_is_not_delivered(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, **TASKS)
    move(bench, {"id": "c"}, "cancel")
    bench.pass_time(90 * DAY)
    return bench.call("sweep")


@scenario(0)
def sweep_what_has_a_task_that_was_delivered(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, **TASKS)
    move(bench, {"id": "c"}, "cancel")
    bench.put("outbox", item=[{"id": one.id, "seq": one.seq} for one in bench.put("outbox").items])
    bench.pass_time(90 * DAY)
    return bench.call("sweep")


@scenario(0)
def respond_where_no_queue_is_set_any_more(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"follow_queue": "none"})
    one = in_review(bench, **TASKS)
    return bench.call("respond", actor="bob", item=[{**one, "action": "approve"}])


@scenario(0)
def outbox_where_no_queue_is_set_any_more(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"follow_queue": "none"})
    return bench.call("outbox")


@scenario(1, 100)
def outbox_with_ids_of_their_own(bench: NounBench, n: int) -> AnyCall:
    followed(bench, n)
    return bench.call("outbox", random="r")


@scenario(1, 100)
def outbox_after_delivery_under_ids_of_their_own(bench: NounBench, n: int) -> AnyCall:
    followed(bench, n)
    found = bench.put("outbox", random="r").items
    return bench.call("outbox", item=[{"id": one.id, "seq": one.seq} for one in found])


@scenario(0)
def outbox_of_one_that_was_handed_out_before(bench: NounBench, _: int) -> AnyCall:
    followed(bench)
    bench.put("outbox", random="r")
    bench.pass_time(30_000)
    return bench.call("outbox", random="s")


@scenario(0)
def outbox_after_the_delivery_of_many_of_one_change(bench: NounBench, _: int) -> AnyCall:
    followed(bench)
    (one,) = bench.put("outbox", random="r").items
    bench.ask("HSET", f":change:{one.id}", "follow_ids", ",".join(f"{n}/a" for n in range(20)))
    return bench.call("outbox", item=[{"id": one.id, "seq": one.seq}])
