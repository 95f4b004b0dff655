"""`adeq events`: groups that read events, and what `adeq doctor` says of them."""

import json
import os
import subprocess

import pytest

from pyadeq import Adeq
from pyadeq.ext.operate.doctor import events as doctor
from tests.integration.cli.run import COMMAND, Ended, environment
from tests.integration.cli.run import adeq as command


def run(url: str, *arguments: str) -> Ended:
    return command(*arguments, "--url", url)


def test_events_are_read_and_acknowledged(url: str, base_name: str) -> None:
    stream = ("--stream", f"queue:{base_name}")
    with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        queue.enqueue("x", id="a")
        assert run(url, "events", "add", "audit", *stream).stdout == "registered\n"
        assert run(url, "events", "add", "audit", *stream).stdout == "exists\n"
        (first,) = map(
            json.loads, run(url, "events", "read", "audit", "--limit", "1", "-o", "jsonl", *stream).stdout.splitlines()
        )
        assert (first["event"], first["ids"]) == ("task.enqueued", ["a"])
        peeked = run(url, "events", "read", "audit", "--peek", "--hold", "1", *stream)
        assert peeked.stdout.splitlines()[1].split()[1:] == ["group.registered", "audit"]
        (again,) = json.loads(run(url, "events", "read", "audit", "--wait", "20", "-o", "json", *stream).stdout)
        assert (again["event"], again["again"]) == ("group.registered", True)
        found = json.loads(run(url, "events", "groups", "-o", "json", *stream).stdout)
        assert (found["length"], found["groups"][0]["pending"], found["groups"][0]["lag"]) == (2, 0, 0)
        assert run(url, "events", "trim", "--older-than", "1d", *stream).stdout == "0 deleted\n"
        assert json.loads(run(url, "events", "configure", "--keep", "1d", "-o", "json", *stream).stdout)["settings"]
        assert run(url, "events", "rm", "audit", *stream).status == 0
        assert run(url, "events", "rm", "audit", *stream).status == 1
        assert "has no group 'audit'" in run(url, "events", "read", "audit", *stream).stderr


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "json", "table"])
def test_events_that_nobody_could_read_are_not_acknowledged(url: str, base_name: str, form: str) -> None:
    """The program behind the pipe has ended, and Python keeps what is printed until its buffer is full."""
    with Adeq.from_url(url) as adeq:
        adeq.queue(base_name).enqueue("x", id="a")
        events = adeq.events("queue", base_name)
        events.add("audit")
        reader, writer = os.pipe()
        os.close(reader)
        command = [*COMMAND, "events", "read", "audit", "-o", form, "--stream", f"queue:{base_name}", "--url", url]
        buffering = {name: value for name, value in environment().items() if name != "PYTHONUNBUFFERED"}
        ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=buffering, check=False)
        os.close(writer)
        (group,) = events.groups().groups
        assert (group.pending, group.lag, ended.stderr) == (2, 0, b"")


def test_what_is_lost_is_shown(url: str, base_name: str) -> None:
    stream = ("--stream", f"queue:{base_name}")
    with Adeq.from_url(url) as adeq:
        queue, events = adeq.queue(base_name), adeq.events("queue", base_name)
        queue.configure(events_max=100)
        events.add("audit")
        assert "audit" in [one.group.name for one in doctor.look(adeq, 5)]
        for _ in range(400):
            queue.enqueue("x")
        (mine,) = [one for one in doctor.look(adeq, 5) if one.stream == f"queue:{base_name}"]
        assert mine.group.missed > 0
        found = doctor.check([mine])
        assert (found.status, f"{mine.group.missed} events" in found.found) == ("warn", True)
        read = run(url, "events", "read", "audit", "--limit", "1000", *stream)
        assert read.stderr.startswith(f"gap: {mine.group.missed} events between 0-0 and ")
        (mine,) = [one for one in doctor.look(adeq, 5) if one.stream == f"queue:{base_name}"]
        assert doctor.check([mine]).status == "ok"
        lapsed = mine._replace(group=mine.group.model_copy(update={"lapsed": True}))
        assert "has no reader" in doctor.check([lapsed]).found
        assert "for 48 h" in doctor.check([mine._replace(age=172_800)]).found


def test_where_there_is_nothing(url: str) -> None:
    assert "NOUN:NAME" in run(url, "events", "groups", "--stream", "jobs").stderr
    assert "there is no 'nothing'" in run(url, "events", "groups", "--stream", "queue:nothing").stderr
    assert "noun: 'jobs' is not accepted" in run(url, "events", "groups", "--stream", "jobs:x").stderr


def test_a_group_of_a_queue_is_in_all_partitions(url: str, base_name: str) -> None:
    stream = ("--stream", f"queue:{base_name}")
    with Adeq.from_url(url) as adeq:
        queue = adeq.partitioned(base_name)
        tags = [one.tag for one in queue.repartition(2) if one.current]
        assert run(url, "events", "add", "audit", *stream).stdout == "registered\n"
        for number in range(20):
            queue.enqueue(1, id=f"t{number}")
        key, client = f"{queue.part(tags[0]).base}:events", adeq.client
        lost = client.xlen(key) - 2
        client.xtrim(key, maxlen=2, approximate=False)
        rows = [line.split()[:4] for line in run(url, "events", "groups", *stream).stdout.splitlines()[1:5]]
        assert [row[0] for row in rows] == ["audit", *tags, "-"]
        assert [sum(int(row[at]) for row in rows[1:]) for at in (1, 3)] == [int(rows[0][1]), lost]
        (found,) = json.loads(run(url, "events", "groups", "-o", "json", *stream).stdout)["groups"]
        assert found["partitions"][tags[0]]["missed"] == found["missed"] == lost
        read = run(url, "events", "read", "audit", "-o", "json", *stream)
        assert read.stderr.startswith(f"gap: {lost} events between {tags[0]}:0-0 and ")
        ids = [id for one in json.loads(read.stdout) for id in one["ids"] if one["event"] == "task.enqueued"]
        assert len(set(ids)) == len(ids) == 20 - lost
        assert run(url, "events", "read", "audit", *stream).stderr == ""
        run(url, "events", "configure", "--keep", "1d", *stream)
        assert {queue.events.part(tag).configure()["keep"] for tag in (*tags, "-")} == {86400}
        run(url, "events", "rm", "audit", *stream)
        assert not any(queue.events.part(tag).groups().groups for tag in (*tags, "-"))
