"""Metrics for Prometheus: what a scrape says, what it costs, and a server that is away."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from pyadeq import Adeq, Backoff, EmbeddedServer, Task
from pyadeq.ext.operate.doctor import examine
from pyadeq.ext.operate.metrics import AdeqCollector
from pyadeq.ext.operate.metrics.collector import never_falling
from pyadeq.ext.operate.metrics.table import GROUPS, LABELS, LANES, MARKS, TABLE
from tests.integration.cli.run import adeq as run
from tests.integration.conftest import Clock

Samples = dict[tuple[str, ...], float]


@pytest.fixture
def adeq(url: str, base_name: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=base_name) as client:
        yield client


def samples(text: str) -> Samples:
    """Each value by the name and the values of the labels, in the order of their names."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped(adeq: Adeq) -> Samples:
    registry = CollectorRegistry()
    registry.register(AdeqCollector(adeq))
    return samples(generate_latest(registry).decode())


def test_a_queue_with_tasks_in_each_state(adeq: Adeq) -> None:
    queue = adeq.queue("jobs")
    queue.enqueue_many(["a", "b", "c", "d"])
    first, second, _ = queue.claim(limit=3)
    queue.ack(first)
    queue.fail(second, "broken", retryable=False)
    queue.enqueue("later", delay=3600)
    queue.admin.pause()
    found = scraped(adeq)
    states = {key[2]: value for key, value in found.items() if key[0] == "adeq_tasks"}
    assert states == {"ready": 1, "delayed": 1, "blocked": 0, "running": 1, "stalled": 0, "finished": 1, "dead": 1}
    totals = {name: found[f"adeq_tasks_{name}_total", "jobs"] for name in ("enqueued", "claimed", "completed", "dead")}
    assert totals == {"enqueued": 5, "claimed": 3, "completed": 1, "dead": 1}
    assert (found["adeq_queue_paused", "jobs"], found["adeq_queue_draining", "jobs"]) == (1, 0)
    assert (found["adeq_workers", "jobs"], found["adeq_lane_tasks", "any", "jobs"]) == (1, 1)
    waits = [value for key, value in found.items() if key[0] == "adeq_task_wait_seconds_bucket"]
    assert waits == sorted(waits), "a histogram is cumulative"
    assert found["adeq_task_wait_seconds_bucket", "+Inf", "jobs"] == 3
    assert found["adeq_task_run_seconds_bucket", "+Inf", "jobs"] == 1
    assert (found["adeq_task_wait_seconds_count", "jobs"], found["adeq_task_run_seconds_count", "jobs"]) == (3, 1)
    counters = queue.stats().counters
    for what in ("wait", "run"):
        assert found[f"adeq_task_{what}_seconds_sum", "jobs"] == counters.get(f"{what}_ms_sum", 0) / 1000
    assert found["adeq_up",] == 1


def test_partitions_are_added_up(adeq: Adeq) -> None:
    queue = adeq.partitioned("jobs")
    queue.repartition(2)
    queue.enqueue_many([str(number) for number in range(20)])
    found = scraped(adeq)
    assert found["adeq_tasks", "jobs", "ready"] == 20
    assert found["adeq_tasks_enqueued_total", "jobs"] == 20
    assert {key[1] for key in found if key[0] == "adeq_tasks"} == {"jobs"}


def test_locks_and_changes(adeq: Adeq) -> None:
    locks = adeq.locks("repos")
    grant = locks.take("repo:1", owner="ann")
    adeq.changes("infra").put("c1", type="t", description="d", actor="ann")
    found = scraped(adeq)
    assert (found["adeq_locks_held", "repos"], found["adeq_locks_waiting", "repos"]) == (1, 0)
    assert found["adeq_changes", "infra", "draft"] == 1
    assert found["adeq_changes_overdue", "infra"] == 0
    grant.release()


def test_the_oldest_task_of_each_lane(url: str, base_name: str) -> None:
    clock = Clock()
    with Adeq.from_url(url, prefix=base_name, clock=clock) as adeq:
        queue = adeq.queue("jobs")
        queue.configure(clock="test")
        queue.enqueue(b"")
        clock.tick(50)
        queue.enqueue_many([Task(lane="group/g"), Task()])
        clock.tick(10)
        found = scraped(adeq)
    ages = {key[1]: value for key, value in found.items() if key[0] == "adeq_queue_oldest_seconds"}
    assert ages == {"any": 60, "group/g": 10}


def test_lanes_of_single_workers_are_one(adeq: Adeq) -> None:
    """Their names change with each worker, so each would be a new series."""
    queue = adeq.queue("jobs")
    lanes = [f"group/{group}/inst/{number}" for group in "ab" for number in range(3)]
    queue.enqueue_many([Task(lane=lane) for lane in [*lanes, "any", "group/a"]])
    found = scraped(adeq)
    sizes = {key[1]: value for key, value in found.items() if key[0] == "adeq_lane_tasks"}
    assert sizes == {"group/a/inst": 3, "group/b/inst": 3, "any": 1, "group/a": 1}
    assert {key[1] for key in found if key[0] == "adeq_queue_oldest_seconds"} == sizes.keys()


def test_what_cannot_be_read_is_left_out_and_counted(adeq: Adeq, client: redis.Redis) -> None:
    adeq.queue("jobs").enqueue("a")
    adeq.partitioned("parts").repartition(2)
    adeq.locks("repos").take("repo:1", owner="ann").release()
    adeq.changes("infra").put("c1", type="t", description="d", actor="ann")
    adeq.sessions("web").create("ann")
    adeq.rates("api").set("r", algorithm="gcra", limit=1, period=1)
    adeq.events("queue", "jobs").add("mail")
    part = next(name for name in adeq.names("queue", partitions=True) if name.startswith("parts/"))
    newer = ("{queue:newer}", f"{{queue:{part}}}", "{lock:newer}", "{change:newer}", "{rate:newer}")
    bases = [f"{adeq.prefix}:{name}" for name in newer]
    for base in (*bases, f"{adeq.prefix}:{{session:newer/00}}"):
        client.hset(f"{base}:config", mapping={"layout": 99, "layout_min": 99, "clock": "server"})
    client.hset(f"{bases[0]}:events:config", mapping={"layout": 99, "layout_min": 99, "clock": "server"})
    client.zadd(f"{bases[0]}:events:groups", {"mail": 1})
    found = scraped(adeq)
    assert (found["adeq_up",], found["adeq_unreadable",]) == (1, 6)
    assert {key[1:] for key in found if key[0] == "adeq_unreadable_info"} == {
        ("parts", "queue"),
        *(("newer", noun) for noun in ("queue", "lock", "change", "session", "rate")),
    }
    assert {key[1] for key in found if key[0] in ("adeq_tasks", "adeq_locks_held", "adeq_changes")} == {
        "jobs",
        "repos",
        "infra",
    }
    assert (found["adeq_sessions", "web"], found["adeq_rate_rules", "enforced", "api"]) == (1, 1)
    assert found["adeq_event_group_lag", "mail", "queue:jobs"] > 0
    client.delete(f"{bases[0]}:events:groups")  # the audit would find no group behind it


KEYS = ["config", "events", "counters", "dead", "delayed", "deadlines", "requests", "changed", "rules", "due"]
NOUNS = ("queue", "lock", "change", "session", "rate")


@pytest.mark.parametrize("key", KEYS)
def test_a_key_of_a_wrong_type_hides_no_other_name(adeq: Adeq, client: redis.Redis, key: str) -> None:
    """Neither in metrics nor in what the doctor says."""
    for name in ("bad", "good"):
        queue = adeq.queue(name)
        queue.enqueue_many(["a", "b"])
        queue.fail(queue.claim()[0], "no", retryable=False)
        adeq.locks(name).take("a", owner="ann")
        adeq.changes(name).put("a", type="t", description="d", actor="ann")
        adeq.sessions(name).create("ann")
        adeq.rates(name).set("r", algorithm="gcra", limit=1, period=1)
        adeq.config(name).set("a", 1)
        adeq.events("queue", name).add("mail")
    sound = {one: value for one, value in scraped(adeq).items() if "bad" not in str(one)}
    bases = [base.removesuffix(b"config") for base in client.scan_iter(f"{adeq.prefix}:{{*:bad*:config")]
    for base in bases:
        client.delete(base + key.encode())
        client.set(base + key.encode(), "x")
    found, report = scraped(adeq), examine(adeq)
    assert found["adeq_up",] == 1
    for one, value in sound.items():
        if not one[0].startswith(("adeq_unreadable", "adeq_scrape", "adeq_server", "adeq_event_group_")):
            assert found[one] >= value or "seconds" in one[0], one
    left_out = {one[1:] for one in found if one[0] == "adeq_unreadable_info"}
    assert found["adeq_unreadable",] == len(left_out)
    assert {name for name, _ in left_out} <= {"bad"}
    assert key != "config" or left_out == {("bad", noun) for noun in NOUNS}
    said = next((one.found for one in report.checks if one.name == "stored data"), "")
    assert "bad" in said
    assert f"{key} is a string, not a " in said
    assert not any("not allowed" in one.found or "right" in one.found for one in report.checks), report
    for one in client.scan_iter(f"{adeq.prefix}:*"):
        client.delete(one)  # one by one: in a cluster they have different slots


def test_dead_tasks_by_kind_and_reason(adeq: Adeq) -> None:
    queue = adeq.queue("jobs")
    queue.enqueue_many([Task(kind=f"k{number:02}") for number in range(GROUPS + 5)] + [Task()])
    for lease in queue.claim(limit=100):
        queue.fail(lease, "no", reason="refused", retryable=False)
    found = {key[1:]: value for key, value in scraped(adeq).items() if key[0] == "adeq_dead_tasks"}
    assert (len(found), sum(found.values())) == (GROUPS + 1, GROUPS + 6)
    assert found["_other", "jobs", "_other"] == 6
    assert found["", "jobs", "refused"] == found["k00", "jobs", "refused"] == 1


def test_sessions_and_rates(adeq: Adeq) -> None:
    for user in ("ann", "bob", "cid"):
        adeq.sessions("web").create(user)
    rates = adeq.rates("api")
    rates.set("fast", algorithm="gcra", limit=5, period=1)
    rates.set("slow", algorithm="log", limit=5, period=60, shadow=True)
    adeq.rates("big").partitioned(2).set("fast", algorithm="gcra", limit=5, period=1)
    found = scraped(adeq)
    assert found["adeq_sessions", "web"] == 3
    rules = {key[1:]: value for key, value in found.items() if key[0] == "adeq_rate_rules"}
    assert rules == {("enforced", "api"): 1, ("shadow", "api"): 1, ("enforced", "big"): 1, ("shadow", "big"): 0}


def test_groups_that_read_events(adeq: Adeq) -> None:
    queue, events = adeq.queue("jobs"), adeq.events("queue", "jobs")
    queue.configure(events_max=100)
    queue.enqueue("x")
    for group in ("quick", "slow"):
        events.add(group)
    events.read("quick", limit=1)
    before = {key[0]: value for key, value in scraped(adeq).items() if "quick" in key[1:]}
    assert (before["adeq_event_group_lag"], before["adeq_event_group_pending"]) == (2, 1)
    assert (before["adeq_event_group_gap"], before["adeq_event_group_lost_total"]) == (0, 0)
    assert 0 < before["adeq_event_group_oldest_seconds"] < 60
    for _ in range(400):
        queue.enqueue("x")
    (slow,) = (one for one in events.groups().groups if one.name == "slow")
    assert slow.missed > 0
    after = {key[0]: value for key, value in scraped(adeq).items() if "slow" in key[1:]}
    assert (after["adeq_event_group_gap"], after["adeq_event_group_lost_total"]) == (1, slow.missed)
    assert (after["adeq_event_group_lapsed"], after["adeq_event_group_lag"]) == (0, slow.lag)
    assert scraped(adeq)["adeq_events", "queue:jobs"] == events.groups().length


def test_queues_without_groups_have_events(adeq: Adeq) -> None:
    queue = adeq.queue("jobs")
    for _ in range(3):
        queue.enqueue("x")
    assert scraped(adeq)["adeq_events", "queue:jobs"] == 3


def test_groups_of_partitions_are_added_up(adeq: Adeq) -> None:
    queue = adeq.partitioned("jobs")
    queue.repartition(2)
    for number in range(20):
        queue.enqueue(str(number))
    parts = [one.name for one in map(queue.part, [one.tag for one in queue.partitions()]) if "/" in one.name]
    assert len(parts) == 2
    for name in parts:
        adeq.events("queue", name).add("audit")
    found = {key[0]: value for key, value in scraped(adeq).items() if key[1:] == ("audit", "queue:jobs")}
    lag = sum(adeq.events("queue", name).groups().groups[0].lag for name in parts)
    assert found["adeq_event_group_lag"] == lag >= 20
    assert {key[1] for key in scraped(adeq) if key[0] == "adeq_events"} == {"queue:jobs"}


def test_groups_in_a_slot(url: str, base_name: str) -> None:
    with Adeq.from_url(url, prefix=base_name, slot="s") as adeq:
        adeq.queue("jobs").enqueue("x")
        adeq.events("queue", "jobs").add("audit")
        assert scraped(adeq)["adeq_event_group_lag", "audit", "queue:jobs"] == 2


def test_marks_are_times(adeq: Adeq) -> None:
    for number in range(MARKS + 2):
        adeq.annotate(f"v{number}")
    adeq.annotate("v5")  # back again
    marks = {key[1]: value for key, value in scraped(adeq).items() if key[0] == "adeq_mark_timestamp_seconds"}
    assert marks.keys() == {f"v{number}" for number in range(3, MARKS + 2)}
    assert max(marks, key=marks.__getitem__) == "v5"
    assert marks["v5"] == adeq.annotations()[-1].at


def test_many_lanes_have_few_series(adeq: Adeq) -> None:
    queue = adeq.queue("jobs")
    for number in range(LANES + 10):
        for _ in range(2 if number < LANES else 1):
            queue.enqueue("x", lane=f"group/g{number}")
    found = scraped(adeq)
    lanes = {key[1]: value for key, value in found.items() if key[0] == "adeq_lane_tasks"}
    assert (len(lanes), lanes["_other"], lanes["group/g0"]) == (LANES + 1, 10, 2)


def test_attempts_of_completed_tasks(adeq: Adeq) -> None:
    queue = adeq.queue("jobs")
    queue.configure(backoff=Backoff(base=0), max_attempts=5)
    queue.enqueue_many(["a", "b", "c"])
    for _ in range(2):
        first, *_ = queue.claim(limit=1)
        queue.fail(first, "no", delay=0)
        queue.admin.promote()
    for lease in queue.claim(limit=3):
        queue.ack(lease)
    found = {key[1:]: value for key, value in scraped(adeq).items() if key[0].startswith("adeq_task_attempts")}
    runs = [sum(run.outcome is not None for run in queue.inspect.runs(view.id)) for view in queue.iterate("completed")]
    assert sum(runs) == 5
    assert found["1.0", "jobs"] == runs.count(1)
    assert found["+Inf", "jobs"] == 3
    assert scraped(adeq)["adeq_task_attempts_sum", "jobs"] == 5


def test_a_scrape_of_ten_queues_costs_few_commands() -> None:
    with EmbeddedServer() as server, Adeq.from_url(server.url) as adeq:
        for number in range(10):
            queue = adeq.queue(f"q{number}")
            queue.enqueue("x")
            queue.fail(queue.claim()[0], "no", retryable=False)
            queue.enqueue("y")
            adeq.events("queue", queue.name).add("audit")
        collector = AdeqCollector(adeq)
        list(collector.collect())  # finds the names, and reads what is read once a minute
        before = commands(adeq.client)
        list(collector.collect())
        assert commands(adeq.client) - before <= 150


def test_a_user_who_may_not_ask_for_the_memory() -> None:
    with EmbeddedServer() as server, Adeq.from_url(server.url) as adeq:
        adeq.queue("jobs").enqueue("x")
        server_client: Any = adeq.client
        server_client.execute_command("ACL", "SETUSER", "default", "-info")
        found = scraped(adeq)
    assert (found["adeq_up",], found["adeq_tasks", "jobs", "ready"]) == (1, 1)
    assert "adeq_server_memory_bytes" not in {key[0] for key in found}


def test_a_scrape_takes_the_snapshots_of_queues_without_workers(adeq: Adeq) -> None:
    adeq.queue("jobs").enqueue("x")
    parted = adeq.partitioned("many")
    parted.repartition(2)
    parted.enqueue_many([str(number) for number in range(20)])
    assert scraped(adeq)["adeq_up",] == 1
    bases = [adeq.queue("jobs").base, *(parted.part(one.tag).base for one in parted.partitions())]
    assert {adeq.client.llen(f"{base}:history:minutes") for base in bases} == {1}


def test_a_user_who_may_only_read_scrapes(base_name: str) -> None:
    with EmbeddedServer() as server, Adeq.from_url(server.url) as adeq:
        adeq.queue("jobs").enqueue("x")
        server_client: Any = adeq.client
        server_client.execute_command("ACL", "SETUSER", "default", "resetkeys", "%R~*")
        found = scraped(adeq)
    assert (found["adeq_up",], found["adeq_tasks", "jobs", "ready"]) == (1, 1)


def commands(client: Any) -> int:
    """How many commands the server has run, those of scripts included."""
    return sum(one["calls"] for one in client.info("commandstats").values())


def test_a_server_that_is_away() -> None:
    with Adeq.from_url("redis://127.0.0.1:1", retry_for=0) as adeq:
        found = scraped(adeq)
    assert found["adeq_up",] == 0
    assert {key[0] for key in found} == {"adeq_up", "adeq_build_info", "adeq_scrape_seconds"}


def test_counters_do_not_fall_with_a_server_that_has_lost_writes(adeq: Adeq) -> None:
    queue, client, registry = adeq.queue("jobs"), adeq.client, CollectorRegistry()
    registry.register(AdeqCollector(adeq))

    def enqueued() -> float:
        return samples(generate_latest(registry).decode())["adeq_tasks_enqueued_total", "jobs"]

    queue.enqueue_many(["x"] * 50)
    assert enqueued() == 50
    client.hincrby(f"{queue.base}:counters", "enqueued", -3)
    assert enqueued() == 50
    queue.enqueue_many(["x"] * 5)
    assert enqueued() == 52
    client.hset(f"{queue.base}:counters", "enqueued", 1)  # as of a new queue with the same name
    assert enqueued() == 1


def test_counters_that_fall_are_held_until_they_are_there_again() -> None:
    assert never_falling({"a": 10, "b": 2}, {"a": 9, "b": 3}) == {"a": 10, "b": 3}
    assert never_falling({"a": 10, "b": 2}, {"a": 9}) == {"a": 10, "b": 2}
    assert never_falling({"a": 100}, {"a": 9}) == {"a": 9}
    assert never_falling({}, {"a": 1}) == {"a": 1}
    assert never_falling({"a": 1}, {}) == {}


def test_each_name_and_label_fits_prometheus() -> None:
    assert len({one.name for one in TABLE}) == len(TABLE)
    for one in TABLE:
        assert re.fullmatch(r"adeq_[a-z_]+", one.name)
        assert one.name.endswith("_total") == (one.kind == "counter")
        assert not set(one.labels) & {"task", "id", "user", "worker", "tag", "host"}
    assert {label for one in TABLE for label in one.labels} == LABELS.keys()


def test_the_command_prints_once(adeq: Adeq, url: str) -> None:
    adeq.queue("jobs").enqueue("x")
    place = ("--url", url, "--prefix", adeq.prefix)
    assert samples(run("metrics", "--once", *place).stdout)["adeq_tasks", "jobs", "ready"] == 1
    found = [json.loads(line) for line in run("metrics", "--once", "-o", "jsonl", *place).stdout.splitlines()]
    assert {"metric": "adeq_tasks", "labels": {"queue": "jobs", "state": "ready"}, "value": 1} in found
    alerts = [json.loads(line)["name"] for line in run("metrics", "--rules", "-o", "jsonl").stdout.splitlines()]
    assert "AdeqNoWorkers" in alerts


def test_the_command_serves_until_a_signal(adeq: Adeq, url: str) -> None:
    adeq.queue("jobs").enqueue("x")
    words = [sys.executable, "-m", "pyadeq.ext.cli", "metrics", "--port", "0", "--url", url, "--prefix", adeq.prefix]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"}) as process:
        assert process.stdout
        said = process.stdout.readline()
        at = said.split()[-1]
        with urllib.request.urlopen(at, timeout=30) as answer:
            found = samples(answer.read().decode())
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert found["adeq_tasks", "jobs", "ready"] == 1
