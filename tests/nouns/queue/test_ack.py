from __future__ import annotations

import pytest

from pyadeq._core.queue.items import Failure, Held
from pyadeq.models import Lease, Task
from tests.nouns.queue.workbench import START, Workbench


def ack(bench: Workbench, *leases: Held, result: object = None) -> list[str]:
    return list(bench.run(bench.calls.ack([(lease, result) for lease in leases])))


def kept(bench: Workbench, lease: Lease) -> bytes | None:
    view = bench.view(lease.id)
    assert view is not None
    return view.result_data or None


def test_a_completed_task_keeps_its_result_and_how_it_ran(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(70)
    assert ack(bench, lease, result=b"done") == ["completed"]
    assert bench.record(lease.id) == {
        "rid": b"fill/t000001/1",
        "created_ms": b"%d" % START,
        "settled": f"{lease.token} completed".encode(),
        "ran": b"%d 1 1 0 1 w" % START,
    }
    assert kept(bench, lease) == b"done"
    assert bench.ask("ZRANGE", ":finished", 0, -1, "WITHSCORES") == [lease.id.encode(), b"%d" % (START + 70)]
    assert bench.ask("EXISTS", ":running", ":leases") == 0


def test_no_result_is_not_stored(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    ack(bench, lease)
    assert kept(bench, lease) is None


def test_a_result_may_be_a_mebibyte_of_any_bytes(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    result = b"\x00\xff\r\n" * 2**18
    ack(bench, lease, result=result)
    assert kept(bench, lease) == result


OTHER: dict[str, tuple[bytes, bytes, float | None, str]] = {
    "the same": (b"one", b"one", None, "completed"),
    "another": (b"one", b"two", None, "already"),
    "a longer one": (b"one", b"three", None, "already"),
    "none": (b"one", b"", None, "already"),
    "one after none": (b"", b"one", None, "already"),
    "none after none": (b"", b"", None, "completed"),
    "one that is kept for a time": (b"one", b"two", 60, "already"),
    "one that is not kept": (b"one", b"two", 0, "completed"),
}


@pytest.mark.parametrize("how", OTHER)
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("settles", [False, True])
def test_a_second_ack_with_another_result_says_so(bench: Workbench, how: str, own: bool, settles: bool) -> None:
    first, second, keep, answer = OTHER[how]
    if not own and keep is not None:
        bench.real(bench.calls.configure(result_ttl=keep))
    (lease,) = bench.lease(1, **({"result_ttl": keep} if own and keep is not None else {}))
    assert ack(bench, lease, result=first) == ["completed"]
    before = bench.dump()
    again = bench.calls.settle("w", "i", 0, 10**6, acks=[(lease, second)]) if settles else None
    statuses = bench.run(again).acks if again else ack(bench, lease, result=second)
    assert statuses == [answer]
    assert bench.dump()[f":task:{lease.id}"] == before[f":task:{lease.id}"]
    assert kept(bench, lease) == (first if first and keep != 0 else None)
    assert ack(bench, lease, result=first) == ["completed"]


def test_another_result_is_known_as_long_as_the_first_is_kept(bench: Workbench) -> None:
    (lease,) = bench.lease(1, result_ttl=1)
    assert ack(bench, lease, result=b"one") == ["completed"]
    assert ack(bench, lease, result=b"two") == ["already"]
    bench.ask("DEL", f":result:{lease.id}")
    assert ack(bench, lease, result=b"two") == ["completed"]


def test_of_two_results_in_one_call_the_first_is_kept(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    call = bench.calls.ack([(lease, b"one"), (lease, b"two"), (lease, b"one")])
    assert bench.run(call) == ["completed", "already", "completed"]
    assert bench.run(call) == ["completed", "already", "completed"]
    assert kept(bench, lease) == b"one"


def test_an_older_task_of_the_id_has_no_other_result(bench: Workbench) -> None:
    bench.real(bench.calls.configure(finished_max=0))
    (old,) = bench.lease(1)
    assert ack(bench, old, result=b"one") == ["completed"]
    bench.real(bench.calls.configure(finished_max=10))
    bench.real(bench.calls.enqueue([(old.id, Task(payload=b"x"))], "again"))
    (new,) = bench.claim(1)
    call = bench.calls.ack([(new, b"two"), (old, b"one")])
    assert bench.run(call) == bench.run(call) == ["completed", "completed"]


def test_the_result_of_a_removed_task_is_not_asked_for(bench: Workbench) -> None:
    bench.real(bench.calls.configure(finished_max=0))
    (lease,) = bench.lease(1)
    assert ack(bench, lease, result=b"one") == ["completed"]
    assert ack(bench, lease, result=b"two") == ["completed"]
    bench.real(bench.calls.configure(finished_max=10))
    bench.real(bench.calls.enqueue([(lease.id, Task(payload=b"x"))], "again"))
    ack(bench, *bench.claim(1), result=b"three")
    assert ack(bench, lease, result=b"one") == ["completed"]


def test_an_ack_is_counted_once_and_told_once(bench: Workbench) -> None:
    leases = bench.lease(3)
    bench.pass_time(70)
    ack(bench, *leases)
    ack(bench, *leases)
    assert [entry["id"] for entry in bench.events("task.completed")] == [b" ".join(one.id.encode() for one in leases)]
    counters = bench.counters()
    assert (counters["completed"], counters["run_ms:128"]) == (3, 3)


@pytest.mark.parametrize(
    ("runs", "counted"), [(1, {}), (2, {"attempts:2": 1, "attempts_sum": 2}), (3, {"attempts:4": 1, "attempts_sum": 3})]
)
def test_completions_are_counted_by_their_attempts_above_one(
    bench: Workbench, runs: int, counted: dict[str, int]
) -> None:
    (lease,) = bench.lease(1)
    for _ in range(runs - 1):
        bench.real(bench.calls.fail([Failure(lease)], [500_000]))
        bench.pass_time(60_000)
        (lease,) = bench.claim(1)
    ack(bench, lease)
    assert {name: n for name, n in bench.counters().items() if name.startswith("attempts")} == counted


@pytest.mark.parametrize(("ms", "bound"), [(0, 1), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (1024, 1024), (1025, 2048)])
def test_run_times_are_counted_below_the_next_power_of_two(bench: Workbench, ms: int, bound: int) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(ms)
    ack(bench, lease)
    assert {name: n for name, n in bench.counters().items() if name.startswith("run_ms:")} == {f"run_ms:{bound}": 1}


def test_run_times_are_added_up(bench: Workbench) -> None:
    leases = bench.lease(3)
    bench.pass_time(70)
    ack(bench, *leases[:2])
    bench.pass_time(1000)
    ack(bench, leases[2])
    assert bench.counters()["run_ms_sum"] == 2 * 70 + 1070


def test_a_sum_never_falls_and_stays_an_integer(bench: Workbench) -> None:
    first, second, third = bench.lease(3)
    bench.pass_time(70)
    ack(bench, first)
    bench.pass_time(-1000)
    ack(bench, second)
    assert bench.counters()["run_ms_sum"] == 70
    bench.pass_time(2**52)
    ack(bench, third)
    assert bench.counters()["run_ms_sum"] == 70 + 10**15


def test_all_times_above_the_last_bound_are_counted_there(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(2**40)
    ack(bench, lease)
    assert bench.counters()[f"run_ms:{2**31}"] == 1


@pytest.mark.parametrize("token", ["other", "i.0.1/1", "i"])
def test_a_wrong_token_is_lost_and_changes_nothing(bench: Workbench, token: str) -> None:
    (lease,) = bench.lease(1)
    before = bench.dump()
    assert token != lease.token
    assert ack(bench, (lease.id, token)) == ["lease_lost"]
    assert ack(bench, (lease.id, lease.token[:-1])) == ["lease_lost"]
    assert ack(bench, (lease.id, lease.token + "0")) == ["lease_lost"]
    assert bench.dump() == before


def test_an_unknown_id_and_a_task_that_waits_are_lost(bench: Workbench) -> None:
    (id,) = bench.fill(1)
    before = bench.dump()
    assert ack(bench, ("unknown", "x"), (id, "x")) == ["lease_lost", "lease_lost"]
    assert bench.dump() == before


def test_the_same_lease_twice_in_a_call_completes_once(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    assert ack(bench, lease, lease, (lease.id, "other")) == ["completed", "completed", "lease_lost"]
    assert bench.counters()["completed"] == 1


def test_each_item_of_a_call_has_its_own_answer(bench: Workbench) -> None:
    one, two, three = bench.lease(3)
    assert ack(bench, one, (two.id, "other"), three) == ["completed", "lease_lost", "completed"]
    assert [bench.state(lease.id) for lease in (one, two, three)] == ["completed", "running", "completed"]


def test_an_expired_lease_that_nobody_took_back_completes(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(60_000)
    assert bench.state(lease.id) == "stalled"
    assert ack(bench, lease) == ["completed"]
    assert bench.state(lease.id) == "completed"


def test_a_lease_that_was_taken_back_is_lost(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(15_000)
    bench.real(bench.calls.reap())
    assert ack(bench, lease) == ["lease_lost"]
    assert bench.state(lease.id) == "ready"
    (again,) = bench.claim(1)
    before = bench.dump()
    assert ack(bench, lease) == ["lease_lost"]
    assert bench.dump() == before
    assert ack(bench, again) == ["completed"]


def test_a_late_duplicate_after_the_next_settlement_is_lost(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.real(bench.calls.release([lease]))
    (again,) = bench.claim(1)
    ack(bench, again)
    before = bench.dump()
    assert ack(bench, lease) == ["lease_lost"]
    assert bench.dump() == before


@pytest.mark.parametrize("settled", ["failed", "released"])
def test_a_token_that_settled_otherwise_is_lost(bench: Workbench, settled: str) -> None:
    (lease,) = bench.lease(1)
    if settled == "failed":
        bench.real(bench.calls.fail([Failure(lease)], [0]))
    else:
        bench.real(bench.calls.release([lease]))
    before = bench.dump()
    assert ack(bench, lease) == ["lease_lost"]
    assert bench.dump() == before


def test_a_task_that_is_being_cancelled_completes(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.real(bench.calls.cancel([lease.id]))
    assert ack(bench, lease, result=b"late") == ["completed"]
    assert bench.state(lease.id) == "completed"
    assert "cancelled" not in bench.counters()
