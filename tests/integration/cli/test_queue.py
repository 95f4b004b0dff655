"""`adeq queue`."""

import json
import signal
import subprocess
from collections.abc import Iterator

import pytest
import redis

from pyadeq import Adeq, Queue, Task
from pyadeq.ext.cli.shared.common import iso
from pyadeq.models.settings import SETTINGS
from tests.integration.cli.run import COMMAND, Terminal, adeq, answer, environment, error, lines
from tests.other_settings import other, others
from tests.waiting import DEADLINE

pytestmark = pytest.mark.any_engine


@pytest.fixture
def queue(url: str, base_name: str) -> Iterator[Queue]:
    """A queue with two ready tasks in two lanes, a delayed one, a running one, a finished one and a dead one."""
    with Adeq.from_url(url) as client:
        queue = client.queue(base_name)
        queue.enqueue_many([Task(priority=0), Task(priority=0), Task(priority=0)])
        finished, dead, _ = queue.claim(limit=3)
        queue.ack(finished)
        queue.fail(dead, "no", retryable=False)
        queue.enqueue_many([Task(), Task(lane="group/a"), Task(delay=3600)])
        yield queue


def test_stats(url: str, queue: Queue) -> None:
    found = answer("queue", "stats", queue.name, "--url", url)
    assert found["queue"] == queue.name
    assert (found["ready"], found["delayed"], found["finished"], found["lanes"]) == (2, 1, 1, {"any": 1, "group/a": 1})
    assert found["now_iso"] == iso(found["now"])
    assert found["oldest"].keys() == {"any", "group/a"}
    assert found["waited"] == found["now"] - min(found["oldest"].values())
    table = lines("queue", "stats", queue.name, ADEQ_URL=url)
    for row in (["ready", "2"], ["delayed", "1"], ["finished", "1"], ["enqueued", "6"]):
        assert row in table
    assert [row[:2] for row in table if row[:1] in (["any"], ["group/a"])] == [["any", "1"], ["group/a", "1"]]
    assert adeq("queue", "stats", queue.name, ADEQ_URL=url, ADEQ_OUTPUT="json").stdout.startswith("{\n")
    assert adeq("queue", "stats", queue.name, "-o", "jsonl", ADEQ_URL=url).stdout.count("\n") == 1


def test_ls(url: str, queue: Queue) -> None:
    rows = {row["queue"]: row for row in answer("queue", "ls", "--url", url)}
    assert rows[queue.name] == {
        "queue": queue.name,
        "mode": "running",
        "ready": 2,
        "delayed": 1,
        "blocked": 0,
        "running": 1,
        "stalled": 0,
        "finished": 1,
        "dead": 1,
    }
    assert [queue.name, "running", "2", "1", "0", "1", "0", "1", "1"] in lines(
        "queue", "ls", "--url", url, "-o", "wide"
    )
    as_lines = adeq("queue", "ls", "--url", url, "-o", "jsonl").stdout.splitlines()
    assert rows[queue.name] in map(json.loads, as_lines)


def test_ls_of_a_queue_that_cannot_be_read_shows_the_others(url: str, queue: Queue, base_name: str) -> None:
    with Adeq.from_url(url, clock=lambda: 1_000_000) as client:
        client.queue(f"{base_name}-test").configure(clock="test")
    rows = {row["queue"]: row for row in answer("queue", "ls", "--url", url)}
    assert rows[queue.name]["ready"] == 2
    assert rows[f"{base_name}-test"]["mode"] == "unreadable"
    assert "ADEQ_CLOCK" in rows[f"{base_name}-test"]["error"]


def test_keys_of_others_that_look_like_queues(url: str, queue: Queue, client: redis.Redis) -> None:
    client.hset(f"ade:{{queue:{queue.name} odd}}:config", "a", "b")
    names = [row["queue"] for row in answer("queue", "ls", "--url", url)]
    assert queue.name in names
    assert f"{queue.name} odd" not in names


def test_show(url: str, queue: Queue) -> None:
    found = answer("queue", "show", queue.name, "--url", url)
    assert (found["mode"], found["ready"], found["workers"]) == ("running", 2, 1)
    assert found["settings"] == queue.configure().model_dump()
    table = lines("queue", "show", queue.name, "--url", url)
    for row in (["ready", "2"], ["max-attempts", "3"], ["finished-keep", "604,800"], ["backoff-jitter", "0.1"]):
        assert row in table


@pytest.mark.parametrize("verb", ["show", "stats", "watch", "pause", "resume", "drain", "purge", "trim"])
def test_a_queue_that_there_is_not_is_not_made(url: str, base_name: str, verb: str) -> None:
    assert f"there is no '{base_name}'" in error(1, "queue", verb, base_name, "--url", url)
    with Adeq.from_url(url) as client:
        assert not client.client.keys(f"*{base_name}*")


def test_pause_drain_and_resume(url: str, queue: Queue) -> None:
    found = answer("queue", "pause", queue.name, "--url", url)
    assert found == {"queue": queue.name, "mode": "paused", "pending": 3, "running": 1}
    assert queue.claim() == []
    assert answer("queue", "drain", queue.name, "--url", url)["mode"] == "draining"
    assert "takes no new tasks" in error(1, "task", "enqueue", queue.name, "--url", url)
    assert "is draining" in adeq("queue", "drain", queue.name, "--url", url).stdout
    assert "is running (3 waiting, 1 running)" in adeq("queue", "resume", queue.name, "--url", url).stdout
    assert len(queue.claim()) == 1


def test_configure(url: str, base_name: str) -> None:
    changes = ["--lease", "1m", "--max-attempts", "7", "--finished-keep", "1.5h", "--backoff-base", "250ms"]
    changes += ["--timeout", "2m"]
    settings = answer("queue", "configure", base_name, *changes, "--url", url)["settings"]
    assert (settings["lease"], settings["max_attempts"], settings["finished_keep"]) == (60, 7, 5400)
    assert settings["backoff"] == {"base": 0.25, "multiplier": 2, "cap": 300, "jitter": 0.1}
    assert settings["timeout"] == 120
    assert answer("queue", "configure", base_name, "--timeout", "0", "--url", url)["settings"]["timeout"] == 0
    settings = answer("queue", "configure", base_name, "--backoff-cap", "10", "--url", url)["settings"]
    assert settings["backoff"] == {"base": 0.25, "multiplier": 2, "cap": 10, "jitter": 0.1}
    assert ["max-attempts", "8"] in lines("queue", "configure", base_name, "--max-attempts", "8", "--url", url)
    settings = answer("queue", "configure", base_name, "--url", url)["settings"]
    assert (settings["max_attempts"], settings["backoff"]["base"]) == (8, 0.25)
    assert "max_attempts: 0 is not accepted" in error(
        2, "queue", "configure", base_name, "--max-attempts", "0", "--url", url
    )
    assert "--backoff-jitter: 2.0 is not accepted" in error(
        2, "queue", "configure", base_name, "--backoff-jitter", "2", "--url", url
    )


@pytest.mark.parametrize("noun", SETTINGS)
def test_each_setting_is_an_option(url: str, base_name: str, noun: str) -> None:
    options = []
    for setting in SETTINGS[noun]:
        word, value = setting.name.replace(".", "-").replace("_", "-"), other(setting)
        options += [f"--{'no-' * (not value)}{word}"] if setting.kind == "bool" else [f"--{word}", str(value)]
    where = [base_name] if noun == "queue" else ["--domain", base_name]
    found = answer(noun, "configure", *where, *options, "--url", url)["settings"]
    wanted = {name: one.model_dump() if name == "backoff" else one for name, one in others(noun).items()}
    assert {name: found[name] for name in wanted} == wanted


def test_configure_fair_shares(url: str, base_name: str) -> None:
    configure = ("queue", "configure", base_name, "--url", url)
    assert answer(*configure, "--fair")["settings"]["fair"] is True
    assert answer(*configure, "--lease", "60")["settings"]["fair"] is True
    assert ["fair", "yes"] in lines("queue", "show", base_name, "--url", url)
    assert ["fair", "no"] in lines(*configure, "--no-fair")
    assert answer("queue", "show", base_name, "--url", url)["settings"]["fair"] is False


def test_purge_needs_a_yes(url: str, queue: Queue) -> None:
    line = error(2, "queue", "purge", queue.name, "--url", url)
    assert f"all waiting tasks of queue '{queue.name}': 3. There is no terminal to ask: add --yes" in line
    assert queue.stats().pending == 3
    assert answer("queue", "purge", queue.name, "--yes", "--url", url) == {"queue": queue.name, "deleted": 3}
    stats = queue.stats()
    assert (stats.pending, stats.running, stats.finished, stats.dead) == (0, 1, 1, 1)
    assert adeq("queue", "purge", queue.name, "--url", url).stdout == "0 tasks deleted\n"
    assert ": 2." in error(2, "queue", "purge", queue.name, "--all", "--url", url)
    assert adeq("queue", "purge", queue.name, "--all", "-y", "--url", url).stdout == "2 tasks deleted\n"
    stats = queue.stats()
    assert (stats.running, stats.finished, stats.dead) == (1, 0, 0)


def test_purge_of_a_lane(url: str, queue: Queue) -> None:
    queue.enqueue_many([Task(lane="group/s"), Task(lane="group/s")])
    purge = ("queue", "purge", queue.name, "--lane")
    assert "all ready tasks of lane 'group/s' of queue" in error(2, *purge, "group/s", "--url", url)
    assert answer(*purge, "group/s", "--yes", "--url", url) == {"queue": queue.name, "deleted": 2}
    assert adeq(*purge, "group/s", "--url", url).stdout == "0 tasks deleted\n"
    assert queue.stats().pending == 3
    assert "--all: with --lane" in error(2, *purge, "group/s", "--all", "--url", url)
    assert "lanes: 'a lane' is not accepted" in error(2, *purge, "a lane", "--url", url)


def test_purge_asks_at_a_terminal(url: str, queue: Queue) -> None:
    with Terminal("queue", "purge", queue.name, "--url", url) as terminal:
        terminal.read_until("Go on? [y/N]: ")
        terminal.enter("n\n")
        assert terminal.wait() == 1
        assert "nothing was deleted" in terminal.seen
    assert queue.stats().pending == 3
    with Terminal("queue", "purge", queue.name, "--url", url) as terminal:
        terminal.read_until("Go on? [y/N]: ")
        terminal.enter("y\n")
        assert terminal.wait() == 0
        assert "3 tasks deleted" in terminal.seen
    assert queue.stats().pending == 0


def test_purge_of_many(url: str, base_name: str) -> None:
    with Adeq.from_url(url) as client:
        client.queue(base_name).enqueue_many(range(2345))
    assert answer("queue", "purge", base_name, "--yes", "--url", url)["deleted"] == 2345


def test_trim(url: str, queue: Queue) -> None:
    assert answer("queue", "trim", queue.name, "--url", url) == {"queue": queue.name, "deleted": 0}
    assert adeq("queue", "trim", queue.name, "--url", url).stdout == "0 tasks deleted\n"


def test_watch_without_a_terminal(url: str, queue: Queue) -> None:
    arguments = ["queue", "watch", queue.name, "--interval", "100ms", "--for", "250ms", "--url", url]
    seen = adeq(*arguments).stdout.splitlines()
    assert 3 <= len(seen) <= 4
    words = seen[0].split()
    assert words[1:4] == [queue.name, "mode=running", "ready=2"]
    assert words[-1] == "dead/s=0"
    objects = [json.loads(line) for line in adeq(*arguments, "-o", "jsonl").stdout.splitlines()]
    assert [one["ready"] for one in objects] == [2] * len(objects)
    last = answer(*arguments)
    assert (last["queue"], last["running"], last["per_second"]["enqueued"]) == (queue.name, 1, 0)


def remembered(queue: Queue, minutes: int, adeq: Adeq) -> None:
    """A history as workers leave it: each minute one more task was enqueued and completed than the minute before."""
    now_ms = int(queue.stats().now * 1000)
    for ago in range(minutes, 0, -1):
        number = minutes - ago
        total = number * (number + 1) // 2
        at_ms = now_ms - now_ms % 60_000 - ago * 60_000
        entry = f"{at_ms} {total} {total} {total} 0 0 0 0 {1000 * total} 0 7 0 0 1 0 1"
        adeq.client.rpush(f"{queue.base}:history:minutes", entry)


def test_history_and_marks(url: str, base_name: str) -> None:
    with Adeq.from_url(url, prefix=base_name) as client:
        queue = client.queue("jobs")
        queue.enqueue(b"")
        remembered(queue, 6, client)
    place = ("--url", url, "--prefix", base_name)
    assert adeq("annotate", "v1.2", "--as", "ann", *place).stdout == "annotated: v1.2\n"
    found = adeq("queue", "history", "jobs", "-o", "jsonl", *place).stdout.splitlines()
    *points, mark = [json.loads(line) for line in found]
    assert [point["completed"] for point in points] == [1, 2, 3, 4, 5]
    assert [point["per_second"]["completed"] for point in points] == [round(n / 60, 4) for n in range(1, 6)]
    assert (mark["mark"], mark["actor"]) == ("v1.2", "ann")
    table = lines("queue", "history", "jobs", *place, COLUMNS="200")
    assert table[1][1:] == ["0.02", "0.02", "0.00", "0.00", "7", "1", "1", "s"]
    assert table[-1][-1] == "v1.2"
    assert [row[1:] for row in lines("annotate", *place)[1:]] == [["v1.2", "ann"]]


@pytest.mark.slow
def test_watch_shows_the_past(url: str, base_name: str) -> None:
    with Adeq.from_url(url, prefix=base_name) as client:
        queue = client.queue("jobs")
        queue.enqueue(b"")
        remembered(queue, 6, client)
        client.annotate("v1.2")
    arguments = ["queue", "watch", "jobs", "--for", "100ms", "--url", url, "--prefix", base_name]
    look = answer(*arguments)
    assert look["past"]["completed"] == [0.02, 0.03, 0.05, 0.07, 0.08]
    assert [one["text"] for one in look["marks"]] == ["v1.2"]
    assert " completed=.:=*#" in adeq(*arguments).stdout
    with Terminal(*arguments) as terminal:
        assert terminal.wait() == 0
        assert "▂▄▅▇█" in terminal.seen
        assert "v1.2" in terminal.seen


@pytest.mark.slow
def test_watch_counts_what_happens(url: str, queue: Queue) -> None:
    command = [*COMMAND, "queue", "watch", queue.name, "--interval", "100ms", "--url", url, "-o", "jsonl"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as child:
        assert child.stdout
        assert json.loads(child.stdout.readline())["per_second"]["enqueued"] == 0
        queue.enqueue_many(range(5))
        while not (seen := json.loads(child.stdout.readline()))["per_second"]["enqueued"]:
            pass
        assert seen["ready"] == 7
        child.send_signal(signal.SIGINT)
        assert child.wait(DEADLINE) == 0


@pytest.mark.slow
def test_watch_at_a_terminal_ends_with_control_c(url: str, queue: Queue) -> None:
    with Terminal("queue", "watch", queue.name, "--interval", "100ms", "--url", url) as terminal:
        terminal.read_until("Ctrl-C ends it")
        for text in ("ready", "per second", "group/a", "1 worker"):
            assert text in terminal.seen
        queue.enqueue_many(range(41))
        terminal.read_until("43")
        terminal.enter("\x03")
        assert terminal.wait() == 0


def test_partitions(url: str, queue: Queue) -> None:
    """The commands that are about a queue are about all of its partitions."""
    there = ["--url", url]
    before = answer("queue", "partitions", queue.name, *there)
    assert [(one["tag"], one["current"], one["ready"]) for one in before["partitions"]] == [("-", True, 2)]
    after = answer("queue", "partitions", queue.name, "--set", "4", *there)
    assert [one["current"] for one in after["partitions"]] == [True] * 4 + [False]
    assert [one["slot"] // 4096 for one in after["partitions"][:4]] == [0, 2, 1, 3]
    made = [answer("task", "enqueue", queue.name, "--payload", str(n), *there) for n in range(8)]
    kept = answer("task", "enqueue", queue.name, "--ordering-key", "k", *there)
    assert {one["status"] for one in [*made, kept]} == {"created"}
    assert answer("queue", "show", queue.name, *there)["ready"] == 11
    assert answer("queue", "stats", queue.name, *there)["ready"] == 11
    assert next(one for one in answer("queue", "ls", *there) if one["queue"] == queue.name)["ready"] == 11
    assert answer("task", "show", queue.name, made[0]["id"], *there)["state"] == "ready"
    assert adeq("task", "cancel", queue.name, made[0]["id"], *there).status == 0
    assert answer("queue", "pause", queue.name, *there)["mode"] == "paused"
    assert {one["mode"] for one in answer("queue", "partitions", queue.name, *there)["partitions"]} == {"paused"}
    assert answer("queue", "configure", queue.name, "--lease", "33", *there)["settings"]["lease"] == 33
    left = adeq("queue", "partitions", queue.name, "--finish", *there)
    assert (left.status, left.stderr) == (
        1,
        "\n4 tasks in the wrong partition: let them run, then repeat the command\n",
    )
    rows = lines("queue", "partitions", queue.name, *there)
    assert [row[:3] for row in rows if row[:1] == ["-"]] == [["-", str(before["partitions"][0]["slot"]), "no"]]
    assert answer("queue", "purge", queue.name, "--yes", *there)["deleted"] == 11
    assert "--finish: not together with --set" in error(
        2, "queue", "partitions", queue.name, "--set", "8", "--finish", *there
    )
    assert "allowed: an integer from 1 to 512" in error(2, "queue", "partitions", queue.name, "--set", "0", *there)
