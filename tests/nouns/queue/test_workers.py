from __future__ import annotations

import pytest

from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import START, Workbench


def register(bench: Workbench, incarnation: str, worker: str = "w", **about: object) -> str:
    return bench.run(bench.calls.register(worker, incarnation, about))


def deregister(bench: Workbench, incarnation: str, worker: str = "w") -> str:
    return bench.run(bench.calls.deregister(worker, incarnation))


def standing(bench: Workbench, incarnation: str) -> str:
    return bench.real(bench.calls.claim("w", incarnation, 0, 1)).status


def test_a_worker_is_known_with_what_it_said_about_itself(bench: Workbench) -> None:
    assert register(bench, "i", hostname="h", pid=7, version="1.0", capacity=4) == "registered"
    assert bench.ask("ZRANGE", ":workers", 0, -1, "WITHSCORES") == [b"w", b"%d" % START]
    known = bench.dump()[":worker:w"][1]
    assert known["incarnation"] == b"i"
    assert known["registered_ms"] == b"%d" % START
    assert [known[name] for name in ("hostname", "pid", "version", "capacity")] == [b"h", b"7", b"1.0", b"4"]
    assert bench.ask("PTTL", ":worker:w") == -1
    (event,) = bench.events("worker.registered")
    assert (event["id"], event["payload"]) == (b"w", b"incarnation=i")


def test_registering_again_is_a_sign_of_life_and_nothing_else(bench: Workbench) -> None:
    register(bench, "i", pid=7)
    bench.real(bench.calls.claim("w", "i", 0, 1))
    before = bench.dump()
    bench.pass_time(1_000)
    assert register(bench, "i", pid=7) == "registered"
    before[":workers"] = ("zset", [b"w", b"%d" % bench.now])
    assert bench.dump() == before


def test_the_newest_incarnation_holds_the_name(bench: Workbench) -> None:
    register(bench, "old", pid=1)
    bench.real(bench.calls.claim("w", "old", 0, 5))
    assert register(bench, "new") == "registered"
    assert (standing(bench, "old"), standing(bench, "new")) == ("stale", "ok")
    assert "pid" not in bench.dump()[":worker:w"][1]


def test_a_late_registration_of_a_replaced_incarnation_is_stale_and_changes_nothing(bench: Workbench) -> None:
    for incarnation in ("one", "two", "three"):
        register(bench, incarnation)
    before = bench.dump()
    for incarnation in ("one", "two"):
        assert register(bench, incarnation) == "stale"
    assert bench.dump() == before


@pytest.mark.parametrize("length", [1, 26, 100])
def test_the_last_replaced_incarnations_are_known_and_no_other_is_taken_for_one(bench: Workbench, length: int) -> None:
    names = [f"{at}".rjust(length, "i")[-length:] for at in range(9)]
    for name in names:
        assert register(bench, name) == "registered"
    for name in names[1:-1]:
        assert register(bench, name) == "stale"
    for at in range(1, length):
        assert register(bench, names[0][:at] + "x"[: length - at]) == "registered"


@pytest.mark.parametrize("ended", ["deregistered", "lost"])
def test_an_incarnation_that_has_ended_does_not_come_back(bench: Workbench, ended: str) -> None:
    register(bench, "i")
    if ended == "deregistered":
        deregister(bench, "i")
    else:
        bench.pass_time(30_000)
        bench.real(bench.calls.reap())
    assert standing(bench, "i") == "unregistered"
    assert register(bench, "i") == "stale"
    assert bench.ask("ZCARD", ":workers") == 0
    assert register(bench, "new") == "registered"
    assert standing(bench, "new") == "ok"


def test_what_is_left_of_a_worker_goes_by_itself(bench: Workbench) -> None:
    register(bench, "i")
    deregister(bench, "i")
    assert 60_000 < bench.ask("PTTL", ":worker:w") <= 120_000
    register(bench, "new")
    assert bench.ask("PTTL", ":worker:w") == -1


def test_a_worker_that_stops_is_forgotten_at_once(bench: Workbench) -> None:
    register(bench, "i")
    call = bench.calls.deregister("w", "i", "deploy")
    assert bench.run(call) == "deregistered"
    assert bench.ask("EXISTS", ":workers") == 0
    assert [(event["id"], event["payload"]) for event in bench.events("worker.deregistered")] == [
        (b"w", b"reason=deploy")
    ]
    assert bench.run(call) == "deregistered"
    assert len(bench.events("worker.deregistered")) == 1


def test_only_the_incarnation_that_holds_the_name_can_deregister_it(bench: Workbench) -> None:
    register(bench, "old")
    register(bench, "new")
    before = bench.dump()
    assert deregister(bench, "old") == "stale"
    assert deregister(bench, "i", "nobody") == "unregistered"
    assert bench.dump() == before


def test_the_leases_of_a_worker_outlive_its_registration(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    deregister(bench, "i")
    assert bench.state(lease.id) == "running"
    assert bench.real(bench.calls.ack([(lease, None)])) == ["completed"]


# giving up with leases in hand


def test_a_worker_that_stops_gives_its_tasks_back_in_the_same_call(bench: Workbench) -> None:
    one, two, three = bench.lease(3)
    (later,) = bench.fill(1)
    assert bench.run(bench.calls.deregister("w", "i", leases=[two, one])) == "deregistered"
    assert bench.ready() == [one.id, two.id, later]
    assert bench.tokens() == 1
    assert bench.state(three.id) == "running"
    view = bench.view(one.id)
    assert view
    assert (view.attempts, view.crashes, view.deliveries) == (0, 0, 1)
    assert bench.counters()["released"] == 2
    check_queue(bench)


def test_a_task_that_is_to_be_cancelled_ends_with_its_worker(bench: Workbench) -> None:
    one, two = bench.lease(2)
    bench.real(bench.calls.cancel([one.id]))
    bench.run(bench.calls.deregister("w", "i", leases=[one, two]))
    assert (bench.state(one.id), bench.state(two.id)) == ("cancelled", "ready")
    assert (bench.counters()["cancelled"], bench.counters()["released"]) == (1, 1)
    check_queue(bench)


def test_a_call_that_comes_again_gives_nothing_back_that_somebody_has_now(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    call = bench.calls.deregister("w", "i", leases=[lease])
    assert bench.run(call) == "deregistered"
    before = bench.dump()
    assert bench.run(call) == "deregistered"
    assert bench.dump() == before
    register(bench, "new")
    (again,) = bench.real(bench.calls.claim("w", "new", 0, 1)).leases
    assert bench.run(call) == "stale"
    assert bench.state(again.id) == "running"


@pytest.mark.parametrize("ended", ["replaced", "lost", "forgotten"])
def test_who_is_known_no_more_gives_back_what_it_has(bench: Workbench, ended: str) -> None:
    """A token is enough, as for release."""
    (lease,) = bench.lease(1)
    bench.real(bench.calls.heartbeat([lease], lease=600))
    match ended:
        case "replaced":
            register(bench, "new")
        case "lost":
            bench.pass_time(30_000)
            bench.real(bench.calls.reap())
        case "forgotten":
            bench.ask("DEL", ":worker:w", ":workers")
    answer = bench.run(bench.calls.deregister("w", "i", leases=[lease]))
    assert answer == {"replaced": "stale", "lost": "deregistered", "forgotten": "unregistered"}[ended]
    assert bench.ready() == [lease.id]


def test_what_is_lost_by_then_stays_as_it_is(bench: Workbench) -> None:
    one, two = bench.lease(2)
    bench.real(bench.calls.ack([(one, None)]))
    bench.pass_time(15_000)
    assert bench.run(bench.calls.deregister("w", "i", leases=[one, two, ("unknown", "x")])) == "deregistered"
    assert (bench.state(one.id), bench.state(two.id)) == ("completed", "stalled")


def test_the_replaced_one_is_told_to_ask(bench: Workbench) -> None:
    register(bench, "old")
    assert bench.ask("EXISTS", ":control:w") == 0
    register(bench, "new")
    assert bench.ask("LRANGE", ":control:w", 0, -1) == [b"1"]
    assert 0 < bench.ask("PTTL", ":control:w") <= 60_000


def test_how_long_a_worker_may_be_silent_is_a_setting(bench: Workbench) -> None:
    bench.real(bench.calls.configure(presence=60))
    bench.worker("silent")
    bench.pass_time(59_999)
    assert [worker.name for worker in bench.run(bench.calls.workers())[0]] == ["silent"]
    assert bench.run(bench.calls.stats()).workers == 1
    assert bench.run(bench.calls.steer(["silent"], "quiet", rid="r")) == ["asked"]
    bench.sweep()
    bench.pass_time(1)
    assert bench.run(bench.calls.workers(name="silent"))[0] == []
    assert bench.run(bench.calls.stats()).workers == 1
    assert bench.run(bench.calls.steer(["silent"], "quiet", rid="other")) == ["not_found"]
    bench.pass_time(1_000)
    bench.sweep()
    assert [event["id"] for event in bench.events("worker.lost")] == [b"silent"]


def test_a_name_may_have_colons_and_an_instance_is_of_its_group(bench: Workbench) -> None:
    bench.run(bench.calls.register("host:1:ab/c", "i", {"group": "a", "instance": "1"}))
    bench.run(bench.calls.register("host:2", "i", {"group": "b", "instance": "1"}))
    found = {worker.name: (worker.group, worker.instance) for worker in bench.run(bench.calls.workers())[0]}
    assert found == {"host:1:ab/c": ("a", "1"), "host:2": ("b", "1")}
    bench.fill(1)
    (lease,) = bench.run(bench.calls.claim("host:1:ab/c", "i", 0, 1)).leases
    view = bench.view(lease.id)
    assert view
    assert view.worker == "host:1:ab/c"
    assert bench.run(bench.calls.cancel([lease.id])) == ["cancelling"]
    assert bench.ask("LLEN", ":control:host:1:ab/c") == 1
    assert bench.run(bench.calls.heartbeat([lease], "host:1:ab/c")).renewals[0].status == "cancelling"
    check_queue(bench)
