"""The worst states for those who look at a queue, for its settings, its workers, its schedules and its lanes."""

from __future__ import annotations

from typing import Any

from pyadeq._core.queue.items import Failure
from pyadeq._core.queue.limits import rule_digest
from pyadeq.models import Task
from pyadeq.models.schedule import Every
from tests.nouns.queue.scenarios_of_copies import begun, event, write
from tests.nouns.queue.sizes_of_tasks import LANES, enqueue, everything, heavies, heavy, hold, limit_all, plain
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import acks
from tests.nouns.script_bench import START
from tests.nouns.size import AnyCall, long, pages, size, state


@state
def lanes(bench: Workbench, number: int) -> None:
    """So many lanes with a task in each."""
    everything(bench)
    enqueue(bench, [(f"n{at}", Task(payload=b"x", lane=f"group/{at:05}".ljust(100, "l"))) for at in range(number)], "n")


def all_names(number: int) -> list[str]:
    return [f"w{at}/".replace("/", ".").ljust(100, "n") for at in range(number)]


ABOUT: dict[str, Any] = {
    "hostname": "h" * 200, "pid": 1, "version": "v" * 100, "layout": 1, "capacity": 5, "group": "g" * 100,
    "capabilities": [long(f"c{at}") for at in range(64)], "lanes": LANES,
}  # fmt: skip


def workers(bench: Workbench, number: int) -> list[str]:
    names = all_names(number)
    for name in names:
        bench.real(bench.calls.register(name, "i", ABOUT))
    return names


# those who look


@size(1, 1000)
def get_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    everything(bench)
    ids = enqueue(bench, heavies(n))
    for page in pages(ids):  # the set that is looked at last
        bench.real(bench.calls.cancel(page[:1]))
    return bench.calls.get(ids)


@size(1, 1000)
def get_running_tasks(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.get([lease.id for lease in hold(bench, n)])


@size(1, 1000)
def outcome_of_ended_tasks(bench: Workbench, n: int) -> AnyCall:
    leases = hold(bench, n)
    bench.real(bench.calls.ack(acks(leases, "x" * 4000)))
    return bench.calls.outcome([lease.id for lease in leases])


@size(1, 1000)
def outcome_of_waiting_tasks(bench: Workbench, n: int) -> AnyCall:
    ids = plain(bench, 1)
    return bench.calls.outcome([*ids, *plain(bench, n, "w", after=ids)][1:])


@size(100, 1000)
def list_running_tasks(bench: Workbench, n: int) -> AnyCall:
    hold(bench, 1000)
    return bench.calls.list(state="running", limit=n)


@size(100)
def list_of_a_tag_that_matches_none(bench: Workbench, n: int) -> AnyCall:
    everything(bench)
    enqueue(bench, heavies(1100, tags=["t"], user="u"))
    return bench.calls.list(state="blocked", tag="t", user="u", kind="other", limit=n)


@size(1, 1000)
def length_of_many_lanes(bench: Workbench, n: int) -> AnyCall:
    lanes(bench, n)
    return bench.calls.length([f"group/{at:05}".ljust(100, "l") for at in range(n)])


@size(1)
def log_of_100_lines(bench: Workbench, _: int) -> AnyCall:
    (lease,) = bench.lease(1)
    for number in range(110):
        bench.real(bench.calls.progress([(lease, {"line": "l" * 1000})], f"p{number}"))
    return bench.calls.log(lease.id)


@size(1)
def runs_of_20_with_long_errors(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(max_attempts=100))
    bench.fill(1)
    for _ in range(21):
        bench.pass_time(400_000)
        bench.real(bench.calls.promote())
        (lease,) = bench.claim(1)
        bench.real(bench.calls.fail([Failure(lease, "e" * 8192, reason="r" * 100)], [500_000]))
    bench.pass_time(400_000)
    bench.real(bench.calls.promote())
    (lease,) = bench.claim(1)
    return bench.calls.runs(lease.id)


@size(64, 11_000)  # lanes; it counts 10,000
def stats_of_many_lanes(bench: Workbench, n: int) -> AnyCall:
    lanes(bench, n)
    return bench.calls.stats()


@size(64, 11_000)  # lanes; it looks at 200
def overview_of_many_lanes(bench: Workbench, n: int) -> AnyCall:
    lanes(bench, n)
    return bench.calls.overview()


@size(200)
def overview_of_each_priority(bench: Workbench, n: int) -> AnyCall:
    for priority in range(10):
        tasks = [
            (f"{priority}/{at}", Task(payload=b"", priority=priority, lane=f"group/{at:05}".ljust(100, "l")))
            for at in range(n)
        ]
        bench.real(bench.calls.enqueue(tasks, f"r{priority}"))
    return bench.calls.overview()


@size(200)
def snapshot_of_many_lanes(bench: Workbench, n: int) -> AnyCall:
    lanes(bench, n)
    return bench.calls.snapshot()


@size(1440)
def history_of_a_day(bench: Workbench, n: int) -> AnyCall:
    text = " ".join(["1700000100000", *["123456789012"] * 15])
    for _ in range(n):
        bench.ask("RPUSH", ":history:minutes", text)
    return bench.calls.history("minutes")


@size(1000)
def count_dead_of_many_kinds(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, kind=lambda id: id.ljust(200, "k"))
    leases = bench.claim(n)
    bench.real(bench.calls.fail([Failure(one, retryable=False, reason="r" * 100) for one in leases], [0] * n))
    return bench.calls.count_dead()


# lanes and settings


@size(1)
def resume_10_000_lanes(bench: Workbench, _: int) -> AnyCall:
    lanes(bench, 10_000)
    bench.real(bench.calls.pause())
    bench.client.delete(*[f"{bench.base}:wake:group/{at:05}".ljust(100, "l") for at in range(10_000)])
    return bench.calls.resume("r")


@size(1)
def drain_10_000_lanes(bench: Workbench, _: int) -> AnyCall:
    lanes(bench, 10_000)
    return bench.calls.drain("r")


@size(1)
def pause_10_000_lanes(bench: Workbench, _: int) -> AnyCall:
    lanes(bench, 10_000)
    return bench.calls.pause("r")


@size(1)
def configure_everything(bench: Workbench, _: int) -> AnyCall:
    everything(bench)
    seen = bench.run(bench.calls.settings()).digest
    return bench.calls.configure("r", fair=False, max_attempts=5, finished_keep=60, dead_keep=60, lease=5, expect=seen)


@size(1)
def settings_of_512_partitions(bench: Workbench, _: int) -> AnyCall:
    partitioned(bench)
    return bench.calls.settings()


def partitioned(bench: Workbench) -> None:
    for epoch in range(1, 9):
        tags = [f"p{epoch}/{at}".ljust(200, "t") for at in range(512)]
        bench.real(bench.calls.partition(epoch, tags, f"e{epoch}"))


@size(1)
def partition_into_512(bench: Workbench, _: int) -> AnyCall:
    partitioned(bench)
    return bench.calls.partition(9, [long(f"p9/{at}") for at in range(512)], "r", settle=True)


@size(1)
def confirm_of_a_full_queue(bench: Workbench, _: int) -> AnyCall:
    everything(bench)
    return confirm(bench)


def confirm(bench: Any) -> AnyCall:
    from pyadeq._core.kernel.call import build_call

    noun = bench.noun
    return build_call(f"{noun}.confirm.v1", bench.base, {"now_ms": bench.now}, decode=lambda reply: reply)


@size(1)
def migrate_a_full_queue(bench: Workbench, _: int) -> AnyCall:
    everything(bench)
    return bench.calls.migrate()


# copies and fences


@size(1, 500)
def copy_write_keys_that_go_on(bench: Workbench, n: int) -> AnyCall:
    begun(bench)
    bench.real(write(bench, *((long(f"log:{at}"), "list", 0, 0, [("l", "")]) for at in range(n))))
    return write(bench, *((long(f"log:{at}"), "list", 1, START, [("l" * 1000, "")]) for at in range(n)))


@size(1, 499)
def copy_write_events(bench: Workbench, n: int) -> AnyCall:
    begun(bench)
    bench.real(write(bench, ("events", "stream", 0, 0, event(0))))
    return write(bench, ("events", "stream", 1, 0, [word for at in range(1, n + 1) for word in event(at, 1)]))


@size(1, 999)
def copy_write_a_set_by_score(bench: Workbench, n: int) -> AnyCall:
    begun(bench)
    return write(bench, ("dead", "zset", 0, 0, [(long(f"t{at}"), "-1.234567890123456e+18") for at in range(n)]))


@size(1)
def raise_fence_of_a_full_queue(bench: Workbench, _: int) -> AnyCall:
    everything(bench)
    return bench.calls.build("raise_fence", least=10**13)


# limits and weights


@size(1, 1000)
def set_limits_of_many_keys(bench: Workbench, n: int) -> AnyCall:
    rule = {"concurrency": 5, "starts": 7, "period_ms": 1_000, "burst": 3, "expect": rule_digest("1 queue 0 1")}
    keys = [f"user:{long(str(at))}" for at in range(n)]
    bench.real(bench.calls.set_limits([(key, {"concurrency": 1}) for key in keys], "before"))
    return bench.calls.set_limits([(key, rule) for key in keys], "r")


@size(200)
def limits_of_many_keys(bench: Workbench, n: int) -> AnyCall:
    limit_all(bench, 1)
    return bench.calls.limits([f"user:{long(str(at))}" for at in range(n)])


@size(200)
def limits_a_page_of_them(bench: Workbench, _: int) -> AnyCall:
    set_limits_of_many_keys(bench, 1000)
    return bench.calls.limits()


@size(1, 1000)
def set_weights_of_many_users(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.set_weights([(long(str(at)), 200) for at in range(n)], "r")


@size(1, 1000)
def weights_of_many_users(bench: Workbench, n: int) -> AnyCall:
    bench.real(set_weights_of_many_users(bench, 1000))
    return bench.calls.weights([long(str(at)) for at in range(n)])


# workers


@size(1)
def register_under_a_name_that_is_held(bench: Workbench, _: int) -> AnyCall:
    (name,) = workers(bench, 1)
    return bench.calls.register(name, "j", ABOUT)


@size(100, 200)
def workers_a_page_of_them(bench: Workbench, n: int) -> AnyCall:
    workers(bench, 400)
    return bench.calls.workers(limit=n)


@size(1, 1000)
def steer_many_workers(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.steer(workers(bench, n), "quiet", 5, "r")


# schedules


def schedules(bench: Workbench, number: int, payload: bytes) -> None:
    headers = {"h": "x" * 4000}
    for at in range(number):
        bench.schedule(
            f"s{at}", Every(60), payload=payload, headers=headers, tags=[long(f"t{tag}") for tag in range(16)]
        )


@size(100, 200)
def schedules_with_large_payloads(bench: Workbench, n: int) -> AnyCall:
    schedules(bench, n, b"x" * 1_000_000)
    return bench.calls.schedules(limit=n)


@size(100, 200)
def schedules_that_are_due(bench: Workbench, n: int) -> AnyCall:
    schedules(bench, n, b"x" * 10_000)
    bench.pass_time(600_000)
    return bench.calls.schedules(due=True, limit=n)


@size(1)
def put_schedule_with_a_large_payload(bench: Workbench, _: int) -> AnyCall:
    everything(bench)
    bench.schedule("s", payload=b"y" * 1_000_000)
    task = Task(payload=b"x" * 1_000_000, headers={"h": "x" * 4000})
    return bench.calls.put_schedule("s", Every(30), task, "r", bench.now / 1000)


@size(1)
def change_schedule_with_a_large_payload(bench: Workbench, _: int) -> AnyCall:
    everything(bench)
    seen = bench.schedule("s", payload=b"y" * 1_000_000)
    task = Task(payload=b"x" * 1_000_000, headers={"h": "x" * 4000})
    return bench.calls.put_schedule("s", Every(30), task, "r", bench.now / 1000, expect=seen.rev)


@size(1)
def steer_schedule_that_is_paused(bench: Workbench, _: int) -> AnyCall:
    everything(bench)
    schedule = bench.schedule("s", payload=b"y" * 1_000_000)
    bench.real(bench.calls.pause_schedule("s", "p"))
    return bench.calls.resume_schedule(schedule, "r", bench.now / 1000)


def busy_schedule(bench: Workbench, overlap: str) -> Any:
    """64 of its tasks have not ended; all have all that a task may have."""
    everything(bench)
    own = heavy(0)[1].model_dump(exclude_unset=True)
    for name in ("payload", "parent", "reply", "idempotency_key", "unique", "scope", "coalesce", "expires_at"):
        own.pop(name)
    schedule = bench.schedule("s", Every(60), overlap="allow", **own)
    for number in range(64):
        bench.real(bench.calls.trigger(schedule, f"open{number}", f"t{number}"))
    return bench.schedule("s", Every(60), overlap=overlap, **own)


@size(1)
def trigger_cancels_64_others(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.trigger(busy_schedule(bench, "cancel_other"), "last", "r")


@size(1)
def trigger_behind_64_others(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.trigger(busy_schedule(bench, "buffer_all"), "last", "r")


@size(1)
def fire_and_cancel_64_others(bench: Workbench, _: int) -> AnyCall:
    schedule = busy_schedule(bench, "cancel_other")
    bench.now = round(schedule.next * 1000)
    return bench.firing(schedule)


@size(1)
def fire_behind_64_others(bench: Workbench, _: int) -> AnyCall:
    schedule = busy_schedule(bench, "buffer_all")
    bench.now = round(schedule.next * 1000)
    return bench.firing(schedule)
