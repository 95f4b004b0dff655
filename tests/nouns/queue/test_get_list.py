"""What get and list show of a task in each state."""

from __future__ import annotations

import pytest

from pyadeq._core.kernel.call import Answer, parse_reply
from pyadeq._core.queue.items import Failure
from pyadeq.models import Page, State, TaskView
from tests.nouns.queue.test_cancel import put
from tests.nouns.queue.test_claim import size
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.watched import Refused
from tests.quick import slow_after

STATES: list[State] = ["ready", "delayed", "blocked", "running", "stalled", "completed", "cancelled", "dead"]
MIB = 2**20


def get(bench: Workbench, id: str) -> TaskView:
    (view,) = bench.run(bench.calls.get([id]))
    assert view is not None
    return view


def listed(bench: Workbench, state: State, lane: str = "any", cursor: str = "", limit: int = 100) -> Page:
    return bench.run(bench.calls.list(state, lane=lane, cursor=cursor, limit=limit))


def ids(page: Page) -> list[str]:
    return [task.id for task in page.tasks]


@pytest.mark.parametrize("state", STATES)
def test_a_task_is_got_and_listed_in_its_state_and_in_no_other(bench: Workbench, state: State) -> None:
    id = put(bench, state)
    assert get(bench, id).state == state
    assert {other: ids(listed(bench, other)) for other in STATES} == {
        other: [id] if other == state else [] for other in STATES
    }


def test_an_unknown_task_is_nothing(bench: Workbench) -> None:
    known = put(bench, "ready")
    one, two, three = bench.run(bench.calls.get(["unknown", known, known]))
    assert (one, two) == (None, three)


def test_a_waiting_task_shows_what_was_enqueued(bench: Workbench) -> None:
    (id,) = bench.fill(
        1, payload={"a": 1}, kind="mail", priority=3, user="u", tags=["s", "t"], max_attempts=7, headers={"h": 1}
    )
    view = get(bench, id)
    shown = view.kind, view.priority, view.lane, view.user, view.tags, view.max_attempts, view.headers, view.payload
    assert shown == ("mail", 3, "any", "u", ("s", "t"), 7, {"h": 1}, {"a": 1})
    assert (view.place, view.created, view.attempts, view.crashes, view.deliveries) == (1, START / 1000, 0, 0, 0)
    assert (view.due, view.deadline, view.ended, view.started, view.worker, view.fence) == (None,) * 6


def test_a_delayed_task_shows_when_it_is_due(bench: Workbench) -> None:
    view = get(bench, put(bench, "delayed"))
    assert (view.due, view.place, view.deadline, view.ended) == ((START + 600_000) / 1000, None, None, None)


def test_a_running_task_shows_its_lease(bench: Workbench) -> None:
    bench.crash(1)
    view = get(bench, "t000001")
    assert (view.worker, view.fence, view.started) == ("w", 2, bench.now / 1000)
    assert (view.deadline, view.deliveries, view.crashes) == ((bench.now + 15_000) / 1000, 2, 1)
    assert (view.due, view.ended, view.place) == (None, None, None)


def test_a_running_task_shows_the_token_of_its_lease_to_those_who_read_the_reply(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    token = lease.token.encode()
    call = bench.calls.get([lease.id])
    assert f"{bench.watched.call(call)}".count(f"b'token', {token!r}") == 1
    bench.real(bench.calls.ack([(lease, b"")]))
    assert "b'token'" not in f"{bench.watched.call(call)}"


def test_a_running_task_that_crashed_before_shows_how_often(bench: Workbench) -> None:
    (lease,) = bench.crash(2)
    bench.real(bench.calls.release([lease]))
    (lease,) = bench.claim(1)
    assert get(bench, lease.id).crashes == 2


def test_a_blocked_task_is_listed_by_its_place_and_not_by_a_time(bench: Workbench) -> None:
    put(bench, "blocked")
    (task,) = listed(bench, "blocked").tasks
    assert (task.place, task.due) == (1, None)


def test_a_completed_task_shows_its_result_and_its_run(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(70)
    bench.real(bench.calls.ack([(lease, {"ok": True})]))
    view = get(bench, lease.id)
    assert (view.result, view.ended, view.started) == ({"ok": True}, (START + 70) / 1000, START / 1000)
    assert (view.worker, view.fence, view.attempts, view.deliveries) == ("w", 1, 1, 1)


def test_a_failed_task_shows_why(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.real(bench.calls.fail([Failure(lease, "went wrong", "broken", retryable=False)], [0]))
    view = get(bench, lease.id)
    assert (view.state, view.reason, view.error, view.attempts) == ("dead", "broken", "went wrong", 1)
    assert view.ended == START / 1000


@pytest.mark.parametrize("how", ["ack", "fail", "cancel", "release"])
def test_a_task_whose_record_went_while_it_ran_does_not_spoil_a_list(bench: Workbench, how: str) -> None:
    gone, other = bench.lease(2)
    bench.ask("DEL", f":task:{gone.id}", f":payload:{gone.id}")
    state: State = "completed"
    match how:
        case "ack":
            bench.run(bench.calls.ack([(gone, None), (other, None)]))
        case "fail":
            bench.run(bench.calls.fail([Failure(gone, retryable=False), Failure(other, retryable=False)], [0, 0]))
            state = "dead"
        case "cancel":
            bench.run(bench.calls.cancel([gone.id, other.id]))
            bench.run(bench.calls.release([gone, other]))
            state = "cancelled"
        case "release":
            bench.run(bench.calls.release([gone, other]))
            state = "ready"
    assert other.id in ids(listed(bench, state))
    bench.run(bench.calls.get([gone.id, other.id]))


def test_lists_leave_out_what_is_large(bench: Workbench) -> None:
    one, two = bench.lease(2, headers={"h": 1}, kind="mail")
    bench.real(bench.calls.ack([(one, b"result")]))
    bench.real(bench.calls.fail([Failure(two, b"error", retryable=False)], [0]))
    for task in listed(bench, "completed").tasks + listed(bench, "dead").tasks:
        assert (task.payload, task.result, task.error, task.kind) == (None, None, None, "mail")


@pytest.mark.parametrize("large", slow_after(2, ["payload", "headers", "result", "tags", "error"]))
def test_get_stops_before_4_MiB_and_says_how_many_are_missing(bench: Workbench, large: str) -> None:
    if large in ("payload", "result"):
        asked = [id for _ in range(6) for id in bench.fill(1, payload=b"x" * MIB if large == "payload" else b"")]
    else:
        field = {"headers": {"h": "x" * 4000}, "tags": ["t" * 200] * 16}.get(large)
        own = {} if field is None else {large: field}
        asked = [id for _ in range(10) for id in bench.fill(100, payload=b"x" * 1024, **own)]
    if large == "result":
        for lease in bench.claim(6):
            bench.real(bench.calls.ack([(lease, b"x" * MIB)]))
    if large == "error":
        for lease in bench.claim(1000):
            bench.real(bench.calls.fail([Failure(lease, b"x" * 8192)], [0]))
    call = bench.calls.get(asked)
    answer = parse_reply(call.script, bench.watched.call(call))
    assert 3 * MIB <= size(answer) <= 4 * MIB + 1000 * 8
    assert len(answer["items"]) + answer["missed"] == len(asked)
    assert [item["id"] for item in answer["items"]] == asked[: len(answer["items"])]


def test_get_shows_one_task_however_large_it_is(bench: Workbench) -> None:
    bench.fill(1, payload=b"x" * MIB)
    (lease,) = bench.claim(1)
    bench.real(bench.calls.ack([(lease, b"x" * MIB)]))
    assert len(get(bench, lease.id).result_data or b"") == MIB


def test_a_list_of_a_thousand_large_tasks_stays_below_4_MiB(bench: Workbench) -> None:
    for _ in range(10):
        bench.fill(100, headers={"h": "x" * 4000}, tags=["t" * 200] * 16)
    call = bench.calls.list("ready", limit=1000)
    answer: Answer = parse_reply(call.script, bench.watched.call(call))
    assert size(answer) < 4 * MIB
    assert answer["cursor"] != ""


# pages


@pytest.mark.parametrize("state", ["ready", "delayed", "running", "completed", "dead"])
@pytest.mark.parametrize("limit", [1, 3, 5, 7])
def test_pages_show_every_task_once_in_the_order_of_the_set(bench: Workbench, state: State, limit: int) -> None:
    made = [put(bench, state) for _ in range(7)]
    found, cursor, pages = [], "", 0
    while not pages or cursor:
        page = listed(bench, state, cursor=cursor, limit=limit)
        assert len(page.tasks) <= limit
        found += ids(page)
        cursor = page.cursor
        pages += 1
    assert found == made
    assert pages <= 7 // limit + 1


def test_no_task_is_skipped_when_those_before_the_cursor_go(bench: Workbench) -> None:
    line = bench.fill(6)
    page = listed(bench, "ready", limit=3)
    bench.real(bench.calls.cancel(line[1:3]))
    assert ids(listed(bench, "ready", cursor=page.cursor)) == line[3:]


def test_a_cursor_whose_task_was_put_elsewhere_in_the_set_goes_on_from_its_old_score(bench: Workbench) -> None:
    leases = bench.lease(4)
    for at, lease in enumerate(leases):
        bench.real(bench.calls.heartbeat([lease], lease=20 + at))
    page = listed(bench, "running", limit=2)
    bench.real(bench.calls.heartbeat([leases[1]], lease=60))
    assert ids(listed(bench, "running", cursor=page.cursor)) == [leases[2].id, leases[3].id, leases[1].id]


def test_a_page_of_one_state_may_hold_fewer_for_the_other_state_of_its_set(bench: Workbench) -> None:
    made = [put(bench, state) for state in ("completed", "cancelled", "cancelled", "completed", "cancelled")]
    found, cursor = [], ""
    for _ in range(10):
        page = listed(bench, "cancelled", cursor=cursor, limit=2)
        found.append(ids(page))
        cursor = page.cursor
        if not cursor:
            break
    assert [id for page_ids in found for id in page_ids] == [made[1], made[2], made[4]]
    assert cursor == ""


def test_ready_tasks_are_listed_by_lane(bench: Workbench) -> None:
    (other,) = bench.fill(1, lane="group/g")
    (any_,) = bench.fill(1)
    assert (ids(listed(bench, "ready")), ids(listed(bench, "ready", lane="group/g"))) == ([any_], [other])


def test_a_cursor_holds_the_longest_id(bench: Workbench) -> None:
    names = ["n" * 199 + str(at) for at in range(2)]
    for name in names:
        bench.raw_run("queue.enqueue.v1", "r", "", "", bench.now, "", "", 1, name, "", 1, "priority", 9)
    page = listed(bench, "ready", limit=1)
    assert ids(listed(bench, "ready", cursor=page.cursor)) == names[1:]


@pytest.mark.parametrize(
    "cursor", ["1", "x y", "1 ", "1 a", "state 1", "state -1 a", "state 1 a b", "state 1.5 a", "user 1 a"]
)
def test_a_cursor_that_no_page_gave_is_refused(bench: Workbench, cursor: str) -> None:
    with pytest.raises(Refused, match=r"^ADEQ_ARG cursor must be empty, or what the page before answered"):
        listed(bench, "ready", cursor=cursor)
