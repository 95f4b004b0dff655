"""`adeq task`, but for files, and `adeq dead`."""

import json
import subprocess
import threading
from base64 import b64decode
from datetime import UTC, datetime
from typing import Any

import pytest

from pyadeq import Adeq, Queue, Task
from pyadeq.ext.cli.shared.common import iso
from tests.integration.cli.run import COMMAND, Terminal, adeq, answer, environment, error, lines
from tests.waiting import DEADLINE

pytestmark = pytest.mark.any_engine


def die(queue: Queue, *tasks: Task, reason: str = "error") -> list[str]:
    """Dead tasks; their ids."""
    ids = [receipt.id for receipt in queue.enqueue_many(list(tasks))]
    for lease in queue.claim(limit=len(tasks)):
        queue.fail(lease, "Traceback: \x1b[31mred\x1b[0m", reason=reason, retryable=False)
    return ids


# enqueue


def test_enqueue(url: str, queue: Queue) -> None:
    ended = adeq("task", "enqueue", queue.name, "--payload", '{"n": [1, "ü"]}', "--url", url)
    status, id = ended.stdout.split()
    assert (ended.status, status) == (0, "created")
    task = queue.get(id)
    assert task is not None
    assert (task.payload, task.priority, task.kind) == ({"n": [1, "ü"]}, 5, None)


def test_a_kind_that_no_worker_has_published_is_stored_with_a_warning(url: str, queue: Queue) -> None:
    put = ("schedule", "set", "s", "--queue", queue.name, "--every", "1h")
    for command in (("task", "enqueue", queue.name), put):
        assert adeq(*command, "--kind", "answr", "--url", url).stderr == ""  # not even one is published
    queue.adeq.noun("kind", queue.name).publish([{"kind": "answer"}])
    for command in (("task", "enqueue", queue.name), put):
        ended = adeq(*command, "--kind", "answr", "--url", url)
        said = f"adeq: no worker of '{queue.name}' has published the kind 'answr'; did you mean answer?\n"
        assert (ended.status, ended.stderr) == (0, said)
        assert adeq(*command, "--kind", "answer", "--url", url).stderr == ""


def test_enqueue_with_all_there_is(url: str, queue: Queue) -> None:
    options = (
        "--id t1 --kind mail --priority 2 --lane group/a/inst/1 --fallback any --fallback-after 1h --user u1 --tag x"
    )
    options += " --tag y --parent p1 --timeout 30 --delay 2m --expires-at 2999-01-01T00:00:00Z --unique k --scope s"
    options += " --coalesce last --result-ttl 0 --max-attempts 9 --idempotency-key i"
    found = answer("task", "enqueue", queue.name, *options.split(), "--url", url)
    assert found == {"queue": queue.name, "status": "created", "id": "t1"}
    found = answer("task", "show", queue.name, "t1", "--url", url)
    assert (found["state"], found["due_iso"]) == ("delayed", iso(found["due"]))
    expected = {
        "kind": "mail",
        "priority": 2,
        "lane": "group/a/inst/1",
        "fallback": ["any"],
        "user": "u1",
        "tags": ["x", "y"],
        "parent": "p1",
        "timeout": 30,
        "unique": "k",
        "scope": "s",
        "idempotency_key": "i",
        "max_attempts": 9,
        "expires_at_iso": "2999-01-01T00:00:00.000Z",
        "payload": None,
    }
    assert expected.items() <= found.items()
    assert answer("task", "enqueue", queue.name, "--unique", "k", "--url", url)["status"] == "deduplicated"
    assert answer("task", "enqueue", queue.name, "--id", "t1", "--url", url)["status"] == "exists"


def test_the_result_is_printed_when_the_task_has_ended(url: str, queue: Queue) -> None:
    id = answer("task", "enqueue", queue.name, "--payload", "1", "--reply", "--url", url)["id"]
    ended = adeq("task", "result", queue.name, id, "--url", url)
    assert (ended.status, ended.stdout) == (1, "")
    assert "is ready: it has not ended; wait for it with --wait" in ended.stderr

    def work() -> None:
        (lease,) = queue.claim(limit=1, wait=DEADLINE)
        queue.ack(lease, {"n": [1, "ü"]})

    worker = threading.Thread(target=work)
    worker.start()
    ended = adeq("task", "result", queue.name, id, "--wait", "30s", "--url", url)
    worker.join()
    assert (ended.status, ended.stdout) == (0, '{"n": [1, "ü"]}\n')
    command = [*COMMAND, "task", "result", queue.name, id, "--raw", "--url", url]
    assert subprocess.run(command, capture_output=True, check=True).stdout == '{"n":[1,"ü"]}'.encode()
    assert answer("task", "result", queue.name, id, "--url", url)["result"] == {"n": [1, "ü"]}


def test_who_asks_for_a_result_hears_that_there_is_none(url: str, queue: Queue) -> None:
    queue.enqueue(1, id="t1", lane="group/a", fallback=["group/b", "fail"], fallback_after=0)
    while queue.admin.expire():
        pass
    queue.enqueue(1, id="t2")
    queue.cancel("t2")
    for id, said in (("t1", "is dead: nobody_came; see its error"), ("t2", "was cancelled"), ("t3", "does not exist")):
        ended = adeq("task", "result", queue.name, id, "--url", url)
        assert (ended.status, ended.stdout) == (1, "")
        assert said in ended.stderr


def test_enqueue_the_same_again(url: str, queue: Queue) -> None:
    arguments = ["task", "enqueue", queue.name, "--rid", "r1", "--url", url]
    assert [answer(*arguments)["status"] for _ in range(2)] == ["created", "created"]
    assert queue.stats().ready == 1


def test_enqueue_at_a_time(url: str, queue: Queue) -> None:
    for when in ("2999-01-01T01:00:00+01:00", str(datetime(2999, 1, 1, tzinfo=UTC).timestamp())):
        found = answer("task", "enqueue", queue.name, "--run-after", when, "--url", url)
        task = queue.get(found["id"])
        assert task is not None
        assert iso(task.due or 0) == "2999-01-01T00:00:00.000Z"


def test_enqueue_raw(url: str, queue: Queue) -> None:
    found = answer("task", "enqueue", queue.name, "--payload", "not { JSON", "--raw", "--url", url)
    task = queue.get(found["id"])
    assert task is not None
    assert task.data == b"not { JSON"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--payload", "{"], "--payload: it is not JSON"),
        (["--payload", "NaN"], "payload must be bytes or JSON: payload is nan"),
        (["--priority", "10"], "priority: 10 is not accepted; allowed: an integer from 0 to 9"),
        (["--lane", "here"], "lane: 'here' is not accepted; allowed: any, group/"),
        (["--tag", "no tag"], "tags: 'no tag' is not accepted"),
        (["--rid", "no rid"], "--rid: 'no rid' is not accepted"),
        (["--rid", "r" * 151], "allowed: 150 at most"),
        (["--checkpoint", "c"], "--checkpoint: it goes with --file"),
        (["--file", "f", "--payload", "1"], "leave out --payload"),
        (["--file", "f", "--kind", "k", "--tag", "t"], "leave out --kind, --tag"),
    ],
)
def test_enqueue_of_nonsense(url: str, queue: Queue, options: list[str], text: str) -> None:
    assert text in error(2, "task", "enqueue", queue.name, *options, "--url", url)
    assert queue.stats().ready == 0


# ls and show


@pytest.mark.parametrize("data", [b'"\\ud800"', b"[" * 100_000], ids=["half", "deep"])
def test_show_and_watch_what_others_enqueued(url: str, queue: Queue, data: bytes) -> None:
    queue.enqueue(data, id="t1")
    (lease,) = queue.claim()
    queue.ack(lease)
    for verb in ("show", "watch"):
        found = answer("task", verb, queue.name, "t1", "--url", url)
        assert (found["payload"], b64decode(found["payload_base64"])) == (None, data)
        assert found["unreadable"].keys() == {"payload"}
        assert data[:8].decode() in adeq("task", verb, queue.name, "t1", "--url", url).stdout


def test_ls(url: str, queue: Queue) -> None:
    queue.enqueue_many([Task(id="a", kind="k1", user="u1"), Task(id="b", kind="k2", tags=["x"], lane="group/g")])
    queue.enqueue(delay=60, id="c", user="u1", payload="secret")
    (lease,) = queue.claim()
    arguments = ["task", "ls", queue.name, "--url", url]
    tasks = answer(*arguments)
    assert [(task["id"], task["state"]) for task in tasks] == [("a", "running"), ("b", "ready"), ("c", "delayed")]
    assert "payload" not in tasks[0]
    assert tasks[0]["deadline_iso"] == iso(lease.deadline)
    ended = adeq(*arguments, "-o", "jsonl")
    assert [json.loads(line) for line in ended.stdout.splitlines()] == answer(*arguments)
    rows = lines(*arguments, "-o", "wide")
    assert rows[0] == ["id", "state", "priority", "kind", "user", "tags", "runs", "created", "more"]
    assert [row[:2] for row in rows[1:]] == [["a", "running"], ["b", "ready"], ["c", "delayed"]]
    assert rows[1][-2:] == ["until", iso(lease.deadline)]
    assert rows[2][-1] == "group/g"
    for options, ids in (
        (["--state", "ready"], ["b"]),
        (["--state", "ready", "--lane", "any"], []),
        (["--user", "u1"], ["a", "c"]),
        (["--user", "u1", "--state", "delayed"], ["c"]),
        (["--tag", "x"], ["b"]),
        (["--kind", "k1"], ["a"]),
        (["--kind", "k1", "--tag", "x"], []),
        (["--parent", "p"], []),
    ):
        assert [task["id"] for task in answer(*arguments, *options)] == ids, options


def test_ls_of_nothing(url: str, queue: Queue) -> None:
    queue.configure()
    assert answer("task", "ls", queue.name, "--url", url) == []
    assert len(lines("task", "ls", queue.name, "--url", url)) == 1
    assert "user: 'no user' is not accepted" in error(2, "task", "ls", queue.name, "--user", "no user", "--url", url)


def test_ls_of_many(url: str, queue: Queue) -> None:
    queue.enqueue_many(range(2300))
    arguments = ["task", "ls", queue.name, "--url", url]
    assert len(answer(*arguments)) == 100
    assert len(answer(*arguments, "--limit", "7")) == 7
    assert len(answer(*arguments, "--all")) == 2300
    ended = adeq(*arguments)
    assert len(ended.stdout.splitlines()) == 101
    assert ended.stderr == "\nThere are more than 100: --limit N, or --all\n"
    assert len(lines(*arguments, "--all")) == 2301
    assert len(lines(*arguments, "--limit", "2300")) == 2301


def test_show(url: str, queue: Queue) -> None:
    (id,) = die(queue, Task(payload={"text": "\x9bü"}, tags=["x"], headers={"h": 1}), reason="told_to")
    found = answer("task", "show", queue.name, id, "--url", url)
    assert (found["state"], found["reason"], found["attempts"]) == ("dead", "told_to", 1)
    assert (found["payload"], found["headers"], found["tags"]) == ({"text": "\x9bü"}, {"h": 1}, ["x"])
    shown = adeq("task", "show", queue.name, id, "--url", url).stdout
    assert "Traceback: \N{REPLACEMENT CHARACTER}[31mred" in shown
    assert '"text": "\N{REPLACEMENT CHARACTER}ü"' in shown
    assert ["reason", "told_to"] in [line.split() for line in shown.splitlines()]
    assert "has no task with the id 'nobody'" in error(1, "task", "show", queue.name, "nobody", "--url", url)
    assert "'no id' is not accepted" in error(2, "task", "show", queue.name, "no id", "--url", url)


def test_show_of_a_result(url: str, queue: Queue) -> None:
    queue.enqueue_many([Task(id="t1")])
    queue.ack(queue.claim()[0], {"ok": True})
    assert answer("task", "show", queue.name, "t1", "--url", url)["result"] == {"ok": True}
    assert '\nresult\n{\n  "ok": true\n}\n' in adeq("task", "show", queue.name, "t1", "--url", url).stdout


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_show_has_a_link_to_the_trace(url: str, base_name: str) -> None:
    name = base_name
    with Adeq.from_url(url, trace=lambda: TRACE) as client:
        client.queue(name).enqueue(id="t1")
    with Adeq.from_url(url, trace=lambda: "odd") as client:
        client.queue(name).enqueue(id="t2")
    link: dict[str, Any] = {"ADEQ_TRACE_URL": "https://traces.example.org/{trace_id}?span={span_id}"}
    page = "https://traces.example.org/0af7651916cd43dd8448eb211c80319c?span=b7ad6b7169203331"
    assert answer("task", "show", name, "t1", "--url", url, **link)["trace_url"] == page
    assert page in adeq("task", "show", name, "t1", "--url", url, **link).stdout
    assert "trace_url" not in answer("task", "show", name, "t1", "--url", url)
    assert "trace_url" not in answer("task", "show", name, "t2", "--url", url, **link)
    assert "ADEQ_TRACE_URL: 'https://x' is not accepted; allowed: an address with {trace_id}" in error(
        2, "task", "show", name, "t1", "--url", url, ADEQ_TRACE_URL="https://x"
    )


def test_show_draws_the_runs(url: str, queue: Queue) -> None:
    queue.enqueue(id="t1")
    queue.release(queue.claim("w1")[0])
    queue.fail(queue.claim("w2")[0], "Traceback\n  odd\nValueError: no route\n", reason="ValueError", delay=0)
    queue.admin.promote()
    queue.claim("w3")
    shown = adeq("task", "show", queue.name, "t1", "--url", url).stdout.partition("\nruns\n")[2].splitlines()
    assert [line.split()[0] for line in shown] == ["run", "1", "2", "3"]
    assert [shown[0].index(head) for head in ("started", "worker", "outcome")] == [
        shown[3].index(cell) for cell in (iso(queue.inspect.runs("t1")[2].started), "w3", "running")
    ]
    assert shown[1].split()[4:] == ["w1", "released"]
    assert shown[2].endswith("w2      failed    ValueError: no route")
    found = answer("task", "show", queue.name, "t1", "--url", url)["runs"]
    assert [(run["outcome"], run["worker"], run["reason"]) for run in found] == [
        ("released", "w1", None),
        ("failed", "w2", "ValueError"),
        ("running", "w3", None),
    ]
    assert found[1]["ended_iso"] == iso(found[1]["ended"])
    assert found[2]["ended_iso"] is None


def test_show_says_how_many_runs_are_no_longer_known(url: str, queue: Queue) -> None:
    queue.enqueue(id="t1")
    for _ in range(23):
        queue.release(queue.claim("w")[0])
    shown = adeq("task", "show", queue.name, "t1", "--url", url).stdout
    assert "\nruns\n(older runs are no longer known: 3)\nrun " in shown


# cancel, retry, run-now, watch


def test_cancel(url: str, queue: Queue) -> None:
    queue.enqueue_many([Task(id="a"), Task(id="b")])
    queue.enqueue(id="done", priority=0)
    queue.ack(queue.claim(limit=1)[0])
    queue.claim(limit=1)
    found = answer("task", "cancel", queue.name, "b", "a", "--url", url)
    assert found["tasks"] == [{"id": "b", "status": "cancelled"}, {"id": "a", "status": "cancelling"}]
    ended = adeq("task", "cancel", queue.name, "done", "c", "--url", url)
    assert ended.status == 1
    assert [line.split() for line in ended.stdout.splitlines()[1:]] == [["done", "finished"], ["c", "not_found"]]


def test_retry(url: str, queue: Queue) -> None:
    first, second = die(queue, Task(unique="k"), Task())
    holder = queue.enqueue(unique="k").id
    found = answer("task", "retry", queue.name, first, second, holder, status=1, ADEQ_URL=url)
    assert found["tasks"] == [
        {"id": first, "status": "conflict", "holder": holder},
        {"id": second, "status": "retried"},
        {"id": holder, "status": "not_dead"},
    ]
    assert ["conflict", "held", "by", holder] in [
        line.split()[1:] for line in adeq("dead", "retry", queue.name, first, ADEQ_URL=url).stdout.splitlines()
    ]


def test_run_now(url: str, queue: Queue) -> None:
    queue.enqueue_many([Task(id="a", delay=3600), Task(id="b")])
    found = answer("task", "run-now", queue.name, "a", "b", "c", status=1, ADEQ_URL=url)
    assert found["tasks"] == [
        {"id": "a", "status": "ready"},
        {"id": "b", "status": "not_delayed", "state": "ready"},
        {"id": "c", "status": "not_found"},
    ]
    queue.enqueue(id="d", delay=3600)
    assert adeq("task", "run-now", queue.name, "d", "--url", url).status == 0


def test_watch_of_a_task(url: str, queue: Queue) -> None:
    queue.enqueue(id="t1", payload={"n": 1})
    command = [*COMMAND, "task", "watch", queue.name, "t1", "--interval", "50ms", "--url", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as child:
        assert child.stdout
        assert child.stdout.readline() == "t1 ready\n"
        (lease,) = queue.claim(worker="w1")
        assert child.stdout.readline() == f"t1 running run 1 w1 until {iso(lease.deadline)}\n"
        queue.progress(lease, 0.5, log="half\x1b[31m of it")
        assert child.stdout.readline().endswith("Z half\N{REPLACEMENT CHARACTER}[31m of it\n")
        assert child.stdout.readline() == f"t1 running run 1 50% w1 until {iso(lease.deadline)}\n"
        queue.ack(lease, {"ok": True})
        rest = child.stdout.read()
        assert rest.startswith("t1 completed run 1 ")
        assert '"ok": true' in rest
        assert child.wait(DEADLINE) == 0
    ended = adeq("task", "watch", queue.name, "t1", "-o", "jsonl", "--url", url)
    found = json.loads(ended.stdout)
    assert (found["state"], [line["text"] for line in found["log"]]) == ("completed", ["half\x1b[31m of it"])
    assert answer("task", "watch", queue.name, "t1", "--url", url)["result"] == {"ok": True}


def test_watch_of_what_does_not_complete(url: str, queue: Queue) -> None:
    (id,) = die(queue, Task())
    assert answer("task", "watch", queue.name, id, status=1, ADEQ_URL=url)["state"] == "dead"
    queue.enqueue(id="waits")
    found = answer("task", "watch", queue.name, "waits", "--for", "100ms", status=1, ADEQ_URL=url)
    assert found["state"] == "ready"
    assert "has no task with the id 'nobody'" in error(1, "task", "watch", queue.name, "nobody", ADEQ_URL=url)


def test_watch_keeps_what_the_tier_hides(url: str, queue: Queue) -> None:
    queue.enqueue(id="t1", tier="confidential")
    (lease,) = queue.claim()
    queue.progress(lease, log="secret")
    queue.ack(lease)
    for form in ("table", "jsonl"):
        ended = adeq("task", "watch", queue.name, "t1", "-o", form, "--url", url)
        assert ended.status == 0
        assert "secret" not in ended.stdout


@pytest.mark.slow
def test_watch_of_a_task_whose_record_is_not_kept(url: str, queue: Queue) -> None:
    queue.configure(finished_max=0)
    queue.enqueue(id="t1", reply=True)
    command = [*COMMAND, "task", "watch", queue.name, "t1", "--interval", "50ms", "--url", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as child:
        assert child.stdout
        assert child.stdout.readline() == "t1 ready\n"
        queue.ack(queue.claim()[0])
        child.stdout.read()
        assert child.wait(DEADLINE) == 0


@pytest.mark.slow
def test_watch_of_a_task_at_a_terminal(url: str, queue: Queue) -> None:
    queue.enqueue(id="t1")
    with Terminal("task", "watch", queue.name, "t1", "--interval", "50ms", "--url", url) as terminal:
        terminal.read_until("ready")
        (lease,) = queue.claim()
        terminal.read_until("running")
        queue.progress(lease, log="a line")
        terminal.read_until("a line")
        queue.ack(lease)
        terminal.read_until("completed")
        assert terminal.wait() == 0


# dlq


def test_dlq_ls(url: str, queue: Queue) -> None:
    first, second = die(queue, Task(id="a", kind="k1", user="u1"), Task(id="b", kind="k2"))
    (third,) = die(queue, Task(id="c", kind="k2"), reason="told_to")
    queue.enqueue(kind="k2")
    arguments = ["dead", "ls", queue.name, "--url", url]
    assert [task["id"] for task in answer(*arguments)] == [first, second, third]
    for options, ids in (
        (["--kind", "k2"], [second, third]),
        (["--reason", "told_to"], [third]),
        (["--user", "u1"], [first]),
        (["--limit", "1"], [first]),
    ):
        assert [task["id"] for task in answer(*arguments, *options)] == ids, options
    assert lines(*arguments, "--reason", "told_to")[1][-2] == "told_to"


def test_dlq_stats(url: str, queue: Queue) -> None:
    die(queue, Task(kind="k1"), Task(kind="k2"), Task(kind="k2"))
    die(queue, Task(kind="k2"), Task(), reason="told_to")
    arguments = ["dead", "stats", queue.name, "--url", url]
    found = answer(*arguments)
    rows = [(one["kind"], one["reason"], one["count"]) for one in found["groups"]]
    assert rows == [("k2", "error", 2), (None, "told_to", 1), ("k1", "error", 1), ("k2", "told_to", 1)]
    assert (found["counted"], found["complete"]) == (5, True)
    assert ["k2", "error", "2"] in [row[:3] for row in lines(*arguments)]
    assert (answer(*arguments, "--most", "4")["counted"], answer(*arguments, "--most", "4")["complete"]) == (4, False)
    assert "raise --most" in adeq(*arguments, "--most", "4").stdout


def test_dlq_retry(url: str, queue: Queue) -> None:
    ids = die(queue, Task(kind="k1"), Task(kind="k2"), Task(kind="k2"))
    arguments = ["dead", "retry", queue.name, "--url", url]
    assert "which tasks? Name some, or give a filter" in error(2, *arguments)
    assert answer(*arguments, "--kind", "k2", "--dry-run") == {
        "queue": queue.name,
        "matched": 2,
        "retried": 0,
        "dry_run": True,
    }
    assert adeq(*arguments, "--all", "--dry-run").stdout == "3 dead tasks would be retried; nothing was done\n"
    assert queue.stats().dead == 3
    assert adeq(*arguments, "--kind", "k2").stdout == "2 of 2 dead tasks retried\n"
    assert answer(*arguments, ids[0])["tasks"] == [{"id": ids[0], "status": "retried"}]
    assert answer(*arguments, "--all")["matched"] == 0
    assert (queue.stats().dead, queue.stats().ready) == (0, 3)


@pytest.mark.slow
def test_dlq_abandon(url: str, queue: Queue) -> None:
    ids = die(queue, Task(kind="k1"), Task(kind="k2"), Task(kind="k2"), Task())
    arguments = ["dead", "abandon", queue.name, "--url", url]
    assert "which tasks?" in error(2, *arguments, "--yes")
    assert f"This deletes 1 dead task of queue '{queue.name}' for good. There is no" in error(2, *arguments, ids[0])
    assert "This deletes 2 dead tasks of" in error(2, *arguments, "--kind", "k2")
    assert answer(*arguments, "--kind", "k2", "--dry-run")["matched"] == 2
    assert queue.stats().dead == 4
    assert answer(*arguments, ids[0], "--yes")["tasks"] == [{"id": ids[0], "status": "abandoned"}]
    assert answer(*arguments, "nobody", "-y", status=1)["tasks"] == [{"id": "nobody", "status": "not_found"}]
    assert adeq(*arguments, "--kind", "k2", "--yes").stdout == "2 of 2 dead tasks abandoned\n"
    with Terminal(*arguments, "--all") as terminal:
        terminal.read_until("This deletes 1 dead task")
        terminal.enter("y\n")
        assert terminal.wait() == 0
    assert queue.stats().dead == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["t1", "--all"], "only one of these"),
        (["t1", "--kind", "k"], "only one of these"),
        (["--all", "--kind", "k"], "--all means all dead tasks"),
        (["t1", "--dry-run"], "--dry-run counts"),
        (["no id"], "'no id' is not accepted"),
        (["--kind", "no kind"], "kind: 'no kind' is not accepted"),
    ],
)
def test_dlq_of_nonsense(url: str, queue: Queue, options: list[str], text: str) -> None:
    queue.configure()
    assert text in error(2, "dead", "retry", queue.name, *options, "--url", url)
    assert text in error(2, "dead", "abandon", queue.name, *options, "--yes", "--url", url)
