"""Paths of what a worker says and hears besides its tasks: progress, more about failures, what is wanted of it."""

from __future__ import annotations

from typing import Any

from pyadeq.models import Lease
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import TIES, AnyCall, claim, fails, scenario, scenarios, sent, settle

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

NOTE: dict[str, Any] = {"ppm": 500_000, "text": b"half", "line": b"a line", "output": b"/out"}


def notes(leases: list[Lease], **note: Any) -> list[tuple[Lease, dict[str, Any]]]:
    return [(lease, note or NOTE) for lease in leases]


# progress and log


@scenario(1, 100, 1000)
def progress_all(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.progress(notes(bench.lease(n)), "r")


scenarios(
    (1, 100),
    progress_of_a_share=lambda bench, n: bench.calls.progress(notes(bench.lease(n), ppm=1), "r"),
    progress_of_nothing=lambda bench, n: bench.calls.progress([(lease, {}) for lease in bench.lease(n)], "r"),
    progress_again=lambda bench, n: sent(bench, bench.calls.progress(notes(bench.lease(n)), "r")),
)


@scenario(2, 100)
def progress_of_many_lines_of_one_task(bench: Workbench, n: int) -> AnyCall:
    (lease,) = bench.lease(1)
    return bench.calls.progress([(lease, {"line": b"%d" % at}) for at in range(n)], "r")


@scenario(1, 100)
def progress_while_cancelling(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.cancel([lease.id for lease in leases]))
    return bench.calls.progress(notes(leases), "r")


@scenario(1, 100)
def progress_of_lost_leases(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.pass_time(15_000)
    return bench.calls.progress(notes(leases), "r")


@scenario(1)
def progress_of_tasks_without_record(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    for lease in leases:
        bench.ask("DEL", f":task:{lease.id}")
    return bench.calls.progress(notes(leases), "r")


@scenario(1, 150)
def log_of_lines(bench: Workbench, n: int) -> AnyCall:
    (lease,) = bench.lease(1)
    bench.real(bench.calls.progress([(lease, {"line": b"%d" % at}) for at in range(n)], "r"))
    return bench.calls.log(lease.id)


@scenario(0)
def log_of_nothing(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.log("unknown")


@scenario(1)
def reap_tasks_with_a_log_without_record(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.progress(notes(leases), "r"))
    for lease in leases:
        bench.ask("DEL", f":task:{lease.id}")
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(1, 100)
def abandon_what_has_a_log(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.progress(notes(leases), "r"))
    bench.real(bench.calls.fail(**fails(leases, retryable=False)))
    return bench.calls.abandon([lease.id for lease in leases], "r")


# failures that say more


@scenario(1, 100, 1000)
def fail_with_all_there_is_to_say(bench: Workbench, n: int) -> AnyCall:
    more = {"delay": 7, "timeout": 60, "alert": True, "exit_code": 75, "run_trace": TRACE}
    return bench.calls.fail(**fails(bench.lease(n), reason="rate_limited", **more))


@scenario(1, 100)
def fail_with_an_alert_for_good(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.fail(**fails(bench.lease(n), retryable=False, alert=True, exit_code=137, timeout=60))


@scenario(1, 100)
def fail_again_with_an_alert(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.fail(**fails(bench.lease(n), alert=True, delay=0)))


@scenario(1, 100)
def fail_without_the_exit_code_of_the_run_before(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.fail(**fails(bench.lease(n), delay=0, exit_code=75)))
    return bench.calls.fail(**fails(bench.claim(n)))


# workers: what they do, and what is wanted of them


def workers(bench: Workbench, n: int) -> list[str]:
    names = [f"w{at}" for at in range(n)]
    for name in names:
        own = [f"group/g/inst/{name}", "any"]
        about = {"group": "g", "capabilities": ["gpu", "large"], "lanes": own, "capacity": 4}
        bench.real(bench.calls.register(name, "i", about))
    return names


@scenario(1, 100)
def settle_busy(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    return settle(bench, limit=n, busy=5)


@scenario(2, 100)
def claim_lane_first(bench: Workbench, n: int) -> AnyCall:
    for priority, lane in enumerate(("group/a", "any")):
        bench.fill(n // 2, lane=lane, priority=9 - priority)
    bench.worker()
    return bench.calls.claim("w", "i", 0, 10**6, limit=n, lanes=("group/a", "any"), lane_first=True, busy=0)


@scenario(0)
def register_with_all_there_is_to_say(bench: Workbench, _: int) -> AnyCall:
    about = {"hostname": "h", "pid": 1, "version": "1", "capacity": 4}
    about |= {"group": "g", "capabilities": ["a", "b"], "lanes": ["any"]}
    return bench.calls.register("w", "i", about)


scenarios(
    heartbeat_of_nobody=lambda bench: bench.calls.heartbeat([]),
    heartbeat_of_an_unknown_worker=lambda bench: bench.calls.heartbeat([], worker="w", busy=0),
    workers_of_a_name_that_is_unknown=lambda bench: bench.calls.workers(name="w"),
    workers_from_a_bad_cursor=lambda bench: bench.calls.workers(cursor="x"),
)


@scenario(0)
def heartbeat_of_a_worker_without_leases(bench: Workbench, _: int) -> AnyCall:
    bench.worker()
    return bench.calls.heartbeat([], worker="w", busy=0)


@scenario(0)
def heartbeat_of_a_steered_worker(bench: Workbench, _: int) -> AnyCall:
    bench.worker()
    bench.real(bench.calls.steer(["w"], "quiet", 3))
    return bench.calls.heartbeat([], worker="w", busy=2)


@scenario(1, 100, 1000)
def steer_all(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.steer(workers(bench, n), "quiet", 3, "r")


@scenario(1, 100)
def steer_again(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.steer(workers(bench, n), "stop", rid="r"))


@scenario(1)
def steer_and_keep_all(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.steer(workers(bench, n), rid="r")


@scenario(1, 100)
def steer_who_is_silent(bench: Workbench, n: int) -> AnyCall:
    names = workers(bench, n)
    bench.pass_time(30_000)
    return bench.calls.steer(names, "restart", rid="r")


@scenario(1)
def steer_nobody(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.steer(["w"], "run", rid="r")


@scenario(1, 100)  # of more the server shows as many at a time as it likes
def workers_all(bench: Workbench, n: int) -> AnyCall:
    workers(bench, n)
    return bench.calls.workers(limit=100)


@scenario(1, 100)
def workers_of_a_group_with_a_capability(bench: Workbench, n: int) -> AnyCall:
    workers(bench, n)
    bench.worker("other")
    return bench.calls.workers(group="g", capability="gpu")


@scenario(0)
def workers_of_a_name(bench: Workbench, _: int) -> AnyCall:
    workers(bench, 2)
    return bench.calls.workers(name="w1")


@scenario(1)
def workers_who_are_silent(bench: Workbench, n: int) -> AnyCall:
    workers(bench, n)
    bench.pass_time(30_000)
    return bench.calls.workers()


@scenario(1, 100)
def cancel_running_where_the_worker_is_told_already(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.steer(["w"], "quiet"))
    return bench.calls.cancel([lease.id for lease in leases], "r")


# deregister with leases


@scenario(1, 100, 1000)
def deregister_with_leases(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.deregister("w", "i", leases=bench.lease(n))


@scenario(1, 100)
def deregister_with_tied_leases(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.deregister("w", "i", leases=bench.lease(n, **TIES))


@scenario(1, 100)
def deregister_with_leases_that_are_cancelling(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(finished_max=0))
    leases = bench.lease(n, reply=True)
    bench.real(bench.calls.cancel([lease.id for lease in leases]))
    return bench.calls.deregister("w", "i", leases=leases)


@scenario(1, 100)
def deregister_again_with_leases(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.deregister("w", "i", leases=bench.lease(n)))


@scenario(1, 100)
def deregister_stale_with_leases(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.worker(incarnation="new")
    return bench.calls.deregister("w", "i", leases=leases)


@scenario(1, 100)
def deregister_with_lost_leases(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.pass_time(15_000)
    return bench.calls.deregister("w", "i", leases=leases)


# claim


@scenario(1)
def claim_again_before_a_request_is_heard(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.register("w", "i", {}))
    bench.real(bench.calls.steer(["w"], mode="quiet"))
    bench.real(bench.calls.claim("w", "i", 0, 10**6))
    return bench.calls.claim("w", "i", 0, 10**6 + 1, limit=n)


@scenario(1)
def claim_before_a_request_is_heard(bench: Workbench, n: int) -> AnyCall:
    call = claim(bench, n)
    bench.real(bench.calls.steer(["w"], "quiet", rid="s"))
    bench.ask("DEL", ":control:w")
    return call
