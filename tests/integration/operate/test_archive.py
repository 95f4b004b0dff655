"""An archive of events and ended tasks, in a folder."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from pyadeq import Adeq, Event, Events, Queue
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.operate.archive import Archive, Archived, write
from pyadeq.ext.operate.archive.lines import Part
from pyadeq.ext.operate.archive.merge import merged
from pyadeq.ext.operate.archive.store import Store
from pyadeq.ids import new_ulid
from tests.integration.cli.run import adeq as command
from tests.integration.cli.run import answer, error
from tests.waiting import wait_until

pytestmark = pytest.mark.any_engine

# Kills itself before one of its steps. Prints the number of its steps if it has fewer.
KILLED = """
import os, pathlib, signal, sys
from pyadeq import Adeq, Events
from pyadeq.ext.operate.archive import Archive, write
url, prefix, place, last, stream = sys.argv[1:]
steps = 0

def step(owner, name):
    method = getattr(owner, name)
    def wrapped(*args, **options):
        global steps
        steps += 1
        if steps == int(last):
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*args, **options)
    setattr(owner, name, wrapped)

write.MOST = 100  # so the events of a run are in several parts
write.ROOM = 20_000
for owner, name in (
    (Events, "add"), (Events, "read"), (Events, "ack"), (os, "fsync"), (pathlib.Path, "replace"),
    (write.Store, "put"), (write.Part, "of"),
):
    step(owner, name)
with Adeq.from_url(url, prefix=prefix) as adeq:
    Archive(place).write(adeq, streams=[stream], hold=1)
print(steps)
"""


@pytest.fixture
def client(url: str, base_name: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=base_name, source="tests") as client:
        yield client


@pytest.fixture
def jobs(client: Adeq) -> Queue:
    return client.queue("jobs")


def work(queue: Queue, number: int) -> None:
    """Enqueue tasks, and end all of them but one."""
    queue.enqueue_many([{"n": n} for n in range(number)])
    for lease in queue.claim(limit=number)[1:]:
        if lease.payload["n"] % 3:
            queue.ack(lease, {"done": lease.payload["n"]})
        else:
            queue.fail(lease, "broken: % it = was \u20ac", retryable=False)


def on_server(client: Adeq, stream: str = "queue:jobs") -> list[Event]:
    noun, _, name = stream.partition(":")
    entries: Any = client.client.xrange(f"{client.events(noun, name).base}:events")
    return [Event.from_entry(*entry) for entry in entries]


def archived(archive: Archive, stream: str = "queue:jobs") -> list[Event]:
    return [one.event for one in archive.read(streams=[stream]) if one.event]


def kill_at_each_step(client: Adeq, url: str, place: Path, stream: str, work: Callable[[], object]) -> None:
    """Archive after some work, and kill the process before its first step. Then before its second, and so on.

    In the end, the archive has all events, each once.
    """
    for last in range(1, 100):
        work()
        words = [sys.executable, "-c", KILLED, url, client.prefix, str(place), str(last), stream]
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL, ended.stderr
    else:
        pytest.fail("it never came to its end")
    assert last > 10
    archive = Archive(str(place))
    wait_until(lambda: archive.write(client, streams=[stream], hold=1) and archive.lag(client)[stream] == 0)
    found = archive.verify(client, streams=[stream])
    assert (found.problems, found.twice) == ((), 0)
    assert archived(archive, stream) == on_server(client, stream)


def files(place: Path) -> list[Path]:
    return sorted(path for path in place.rglob("*") if path.is_file())


def test_what_is_archived_is_what_the_server_had(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    work(jobs, 30)
    with client.locks("d").acquire("x", owner="o"):
        pass
    archive = Archive(str(tmp_path))
    assert archive.lag(client) == {"lock:d": 2, "queue:jobs": len(on_server(client))}
    done = {one.stream: one for one in archive.write(client)}
    assert archive.lag(client) == {"lock:d": 0, "queue:jobs": 0}
    assert (done["queue:jobs"].tasks, done["queue:jobs"].gone, done["lock:d"].events) == (29, 0, 3)
    for stream in ("lock:d", "queue:jobs"):
        assert archived(archive, stream) == on_server(client, stream)
    tasks = [one.task for one in archive.read() if one.task]
    assert len({task["id"] for task in tasks}) == 29
    for task in tasks:
        view = jobs.get(task["id"])
        assert view is not None
        assert task == view.model_dump(mode="json", exclude_none=True)
    day = datetime.now(UTC).date().isoformat()
    assert {path.parent.name for path in files(tmp_path)} <= {f"day={day}", f"day={_before(day)}"}


def _before(day: str) -> str:
    return datetime.fromtimestamp(datetime.fromisoformat(f"{day}T00:00Z").timestamp() - 1, UTC).date().isoformat()


def test_the_next_run_goes_on(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    jobs.enqueue("a")
    archive.write(client)
    (first,) = files(tmp_path)
    (none,) = archive.write(client)
    assert (none.events, none.parts, files(tmp_path)) == (0, 0, [first])
    work(jobs, 20)
    (more,) = archive.write(client, limit=10)
    assert more.events == 10
    archive.write(client)
    assert len(files(tmp_path)) == 3
    found = archive.verify(client)
    assert (found.twice, found.bad, found.events) == (0, 0, len(on_server(client)))


def test_what_was_stored_and_not_acknowledged_is_not_stored_twice(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    work(jobs, 20)
    archive = Archive(str(tmp_path))
    with mock.patch.object(Events, "ack", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        archive.write(client, hold=1)
    before = files(tmp_path)
    jobs.enqueue("one more")
    done = archive.write(client, hold=1)
    while not any(one.left_out for one in done):
        time.sleep(0.1)  # until the events come again
        done += archive.write(client, hold=1)
    assert sum(one.events for one in done) == 1
    assert len(files(tmp_path)) == len(before) + 1
    found = archive.verify(client)
    assert (found.twice, found.bad, found.events) == (0, 0, len(on_server(client)))


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_step_loses_and_doubles_nothing(
    client: Adeq, jobs: Queue, url: str, tmp_path: Path
) -> None:
    archive = Archive(str(tmp_path))
    kill_at_each_step(client, url, tmp_path, "queue:jobs", lambda: work(jobs, 40))
    ended_tasks = [id for one in on_server(client) if one.event in ("task.completed", "task.dead") for id in one.ids]
    assert sorted(one.task["id"] for one in archive.read() if one.task) == sorted(ended_tasks)
    left = [path for path in files(tmp_path) if path.name.startswith(".")]
    assert left, "a process was killed before it gave a file its name"
    for path in left:
        os.utime(path, (0, 0))
    archive.write(client)
    jobs.enqueue("x")
    archive.write(client)
    assert not [path for path in files(tmp_path) if path.name.startswith(".")]


@pytest.mark.slow
def test_20_000_events_are_read_back(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    work(jobs, 300)
    events = client.events("queue", "jobs")
    calls = cycle((jobs.calls.pause, jobs.calls.resume))
    # A server that does not know one of the scripts gets its calls after the others: then fewer of them are events.
    while left := 20_000 - events.groups().length - 1:
        with client.pipeline() as pipe:
            for call in islice(calls, min(left, 1000)):
                pipe.add(call(new_ulid()))
    archive = Archive(str(tmp_path))
    (done,) = archive.write(client)
    assert (done.events, done.tasks, done.gone) == (20_000, 299, 0)
    assert archived(archive) == on_server(client)
    found = archive.verify(client)
    assert found.compared is not None
    assert (found.bad, found.twice, found.compared.events) == (0, 0, 20_000)
    assert found.compared.server_digest == found.compared.archive_digest == found.digest


@pytest.mark.slow
def test_events_that_come_again_while_they_are_gathered_are_stored_once(
    client: Adeq, jobs: Queue, tmp_path: Path
) -> None:
    for _ in range(20):
        jobs.enqueue("x")
    read = Events.read

    def slowly(events: Events, *args: Any, **options: Any) -> Any:
        time.sleep(0.6)  # two of these are longer than the hold
        return read(events, *args, **options)

    archive = Archive(str(tmp_path))
    with mock.patch.object(write, "PAGE", 5), mock.patch.object(Events, "read", slowly):
        archive.write(client, hold=1)
    found = archive.verify(client)
    assert (found.twice, found.bad, found.events) == (0, 0, len(on_server(client)))


def test_a_gap_is_archived(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    jobs.configure(events_max=100)
    archive.write(client)
    for _ in range(400):
        jobs.enqueue("x")
    left = on_server(client)
    (done,) = archive.write(client)
    assert done.lost > 0
    assert done.lost + len(left) == 400
    (gap,) = [one.gap for one in archive.read() if one.gap]
    assert (gap.lost, gap.before) == (done.lost, left[0].id)
    assert archive.write(client)[0].lost == 0
    assert archived(archive)[-1].event == "group.gap"
    found = archive.verify(client)
    assert (found.gaps, found.lost, found.bad) == (1, done.lost, 0)


def test_a_run_ends_where_events_never_cease(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    put = Store.put

    def put_late(store: Store, *args: Any) -> None:
        put(store, *args)
        jobs.enqueue("one more")

    jobs.enqueue("x")
    archive = Archive(str(tmp_path))
    with mock.patch.object(Store, "put", put_late):
        assert [archive.write(client)[0].parts for _ in range(3)] == [1, 1, 1]
    assert archive.lag(client) == {"queue:jobs": 1}


def test_records_that_are_gone_are_counted(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    jobs.configure(finished_max=3)
    jobs.enqueue_many(["x"] * 10)
    for lease in jobs.claim(limit=10):
        jobs.ack(lease)
    (done,) = Archive(str(tmp_path)).write(client)
    assert (done.tasks, done.gone) == (3, 7)


def test_a_task_that_is_retried_is_archived_when_it_ends_again(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    jobs.enqueue("x", id="a")
    jobs.fail(jobs.claim()[0], "broken", retryable=False)
    jobs.dead.retry("a")
    archive = Archive(str(tmp_path))
    assert archive.write(client)[0].tasks == 0
    jobs.ack(jobs.claim()[0], "fine")
    assert archive.write(client)[0].tasks == 1
    assert [one.task["state"] for one in archive.read() if one.task] == ["completed"]


def test_bytes_that_are_no_text_are_exact(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    jobs.enqueue(b"\xff\x00", id="a")
    jobs.ack(jobs.claim()[0], b"\xfe")
    archive = Archive(str(tmp_path))
    archive.write(client)
    (task,) = [one.task for one in archive.read() if one.task]
    assert (task["payload_base64"], task["result_base64"]) == ("/wA=", "/g==")


def test_a_payload_that_is_nested_deep_is_archived_as_its_bytes(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    deep = b"[" * 500 + b"]" * 500
    jobs.enqueue(deep, id="a")
    jobs.ack(jobs.claim()[0], b"[" * 50 + b"]" * 50)
    archive = Archive(str(tmp_path))
    assert archive.write(client)[0].tasks == 1
    (task,) = [one.task for one in archive.read() if one.task]
    assert (task["payload"], b64decode(task["payload_base64"])) == (None, deep)
    assert task["unreadable"] == {"payload": "it is nested deeper than 200 levels"}
    assert json.dumps(task["result"]) == "[" * 50 + "]" * 50


def test_a_group_that_was_dropped_stores_nothing_twice(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    work(jobs, 10)
    archive = Archive(str(tmp_path))
    archive.write(client)
    client.events("queue", "jobs").remove("archive")
    (done,) = archive.write(client)
    assert (done.events, done.tasks) == (2, 0), "that it was dropped, and registered again"
    found = archive.verify(client)
    assert (found.twice, found.bad, found.events) == (0, 0, len(on_server(client)))


def test_only_some_streams_and_times(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    jobs.enqueue("x")
    client.queue("other").enqueue("x")
    (only,) = archive.write(client, streams=["queue:jobs"], tasks=False)
    assert only.stream == "queue:jobs"
    assert {one.stream for one in archive.read()} == {"queue:jobs"}
    events = on_server(client)
    at = [int(one.id.partition("-")[0]) / 1000 for one in events]
    assert len(list(archive.read(until=at[0]))) == 0
    assert len(list(archive.read(since=at[0], until=at[-1] + 1))) == len(events)
    assert list(archive.read(since=at[-1] + 1)) == []
    (other,) = archive.write(client, streams=["queue:other"], since=at[-1] + 3600)
    assert (other.events, other.left_out) == (0, 2)


def test_partitions_and_odd_names_have_folders_of_their_own(client: Adeq, tmp_path: Path) -> None:
    client.queue("..").enqueue("x")
    parted = client.partitioned("many")
    parted.repartition(2)
    parted.enqueue_many(["x"] * 8)
    for part in (parted.part(one.tag) for one in parted.partitions()):
        for lease in part.claim(limit=8):
            part.ack(lease)
    archive = Archive(str(tmp_path / "in"))
    done = archive.write(client)
    assert sum(one.tasks for one in done) == 8
    assert files(tmp_path) == files(tmp_path / "in")
    for one in done:
        assert archived(archive, one.stream) == on_server(client, one.stream)


class Reversed:
    """A codec."""

    def seal(self, data: bytes, context: bytes) -> bytes:
        return data[::-1]

    open = seal


def test_what_a_codec_has_sealed_is_not_opened(client: Adeq, url: str, tmp_path: Path) -> None:
    with Adeq.from_url(url, prefix=client.prefix, codec=Reversed()) as sealed:
        queue = sealed.queue("jobs")
        queue.enqueue("secret", id="a")
        queue.enqueue("secret", id="b")
        first, second = queue.claim(limit=2)
        queue.ack(first, "secret")
        queue.fail(second, "secret", retryable=False)
        archive = Archive(str(tmp_path / "with"))
        assert archive.write(sealed, group="with")[0].tasks == 2
        assert "secret" not in _text(tmp_path)
        archive = Archive(str(tmp_path / "without"))
        assert archive.write(client, group="without")[0].tasks == 2
        assert "terces" in _text(tmp_path)
        assert "secret" not in _text(tmp_path)


def _text(place: Path) -> str:
    return "".join(gzip.decompress(path.read_bytes()).decode() for path in files(place))


# Reading back


def line(number: int, event: str = "task.enqueued", stream: str = "queue:jobs") -> Archived:
    id = f"1700000000000-{number}"
    return Archived(stream, id, event=Event(id, event, 1700000000.123, ("a",), {"": "x", "b": "c d"}, "s", "t"))


def part(*lines: Archived) -> tuple[Part, list[Archived]]:
    text = b"".join(one.as_line() for one in lines)
    made, content = Part.of(lines[0].stream, lines[0].id, lines[-1].id, text)
    assert Part.from_path(made.path) == made
    assert made.read(content) == list(lines)
    return made, list(lines)


def test_parts_that_overlap_are_read_in_order_and_once() -> None:
    stored = dict([part(line(1), line(9)), part(line(2), line(9), line(10)), part(line(11)), part(line(20))])
    other = part(line(5, stream="queue:other"))
    stored[other[0]] = other[1]
    twice: list[Archived] = []
    parts = sorted(stored, key=lambda one: one.place)
    found = list(merged(parts, stored.__getitem__, lambda one, _: twice.append(one)))
    assert [one.id.rpartition("-")[2] for one in found] == ["1", "2", "9", "10", "11", "20", "5"]
    assert twice == [line(9)]


def test_what_is_wrong_is_found(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    for _ in range(3):
        jobs.enqueue("x")
        archive.write(client)
    first, second, third = files(tmp_path)
    good = archive.verify(client)
    assert (good.bad, good.parts) == (0, 3)
    content = second.read_bytes()
    second.write_bytes(content[:-9])
    found = archive.verify(client)
    assert found.compared is not None
    assert (found.bad, found.compared.missing) == (2, 1)
    assert "is damaged: it is no complete gzip file" in found.problems[0]
    assert "1 events are missing, the first is" in found.problems[-1]
    with pytest.raises(AdeqError, match="restore it from a copy"):
        list(archive.read())
    second.write_bytes(first.read_bytes())
    assert "do not have the digest in its name" in archive.verify().problems[0]
    second.unlink()
    assert archive.verify().bad == 0
    assert archive.verify(client).bad == 1
    events = on_server(client)
    changed, text = Part.of("queue:jobs", events[0].id, events[0].id, line_of(events[0]._replace(source="else")))
    (third.parent / Path(changed.path).name).write_bytes(text)
    assert "does the archive hold two installations?" in archive.verify().problems[0]


def line_of(event: Event) -> bytes:
    return Archived("queue:jobs", event.id, event=event).as_line()


def test_events_that_were_not_acknowledged_are_not_compared(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    jobs.enqueue("x")
    archive.write(client)
    jobs.enqueue("y")
    client.events("queue", "jobs").read("archive")  # and not acknowledged
    found = archive.verify(client)
    assert found.compared is not None
    assert (found.bad, found.compared.events, found.compared.missing) == (0, 2, 0)
    assert "has no group 'other'" in archive.verify(client, group="other").problems[0]


# The command line


def test_the_commands(client: Adeq, jobs: Queue, url: str, tmp_path: Path) -> None:
    place: Any = {"ADEQ_URL": url, "ADEQ_PREFIX": client.prefix}
    to = str(tmp_path / "archive")
    assert error(1, "archive", "verify", to, **place) == (f"adeq: nothing is archived at {to}; see adeq archive write")
    work(jobs, 10)
    (done,) = answer("archive", "write", to, **place)["streams"]
    assert (done["stream"], done["tasks"], done["lost"]) == ("queue:jobs", 9, 0)
    assert "0 events archived, of 0 streams; 1 had none" in command("archive", "write", to, **place).stdout
    found = answer("archive", "verify", to, "--server", **place)
    assert (found["bad"], found["compared"]["events"]) == (0, done["events"])
    assert found["compared"]["server_digest"] == found["digest"]
    lines = [json.loads(text) for text in command("archive", "read", to, "-o", "jsonl", **place).stdout.splitlines()]
    assert [Archived.from_line(json.dumps(one).encode()) for one in lines] == list(Archive(to).read())
    assert "task.dead" in command("archive", "read", to, "--stream", "queue:jobs", **place).stdout
    assert "--stream: 'jobs' is not accepted" in error(2, "archive", "read", to, "--stream", "jobs", **place)
    (only,) = files(tmp_path)
    only.write_bytes(b"")
    ended = command("archive", "verify", to, **place)
    assert ended.status == 1
    assert ended.stderr.startswith(f"problem: {Path(only).relative_to(to)} is damaged")


def test_a_loss_is_said(client: Adeq, jobs: Queue, url: str, tmp_path: Path) -> None:
    place: Any = {"ADEQ_URL": url, "ADEQ_PREFIX": client.prefix}
    jobs.configure(events_max=100)
    command("archive", "write", str(tmp_path), **place)
    for _ in range(300):
        jobs.enqueue("x")
    ended = command("archive", "write", str(tmp_path), **place)
    assert ended.status == 0
    assert (
        "events were deleted by the bound of memory before they could be archived; archive more often" in ended.stderr
    )


def test_a_place_that_is_not_to_be_had(client: Adeq, jobs: Queue, tmp_path: Path) -> None:
    jobs.enqueue("x")
    (tmp_path / "file").write_text("")
    with pytest.raises(AdeqError, match="check that the place exists, and your rights there"):
        Archive(str(tmp_path / "file")).write(client)
    with pytest.raises(ConfigError, match="such as s3://bucket/folder"):
        Archive("nosuch://x")
    (group,) = client.events("queue", "jobs").groups().groups
    assert group.pending > 0, "nothing was acknowledged"


def test_without_the_extra_it_is_named(url: str, tmp_path: Path) -> None:
    with mock.patch.dict(sys.modules, {"fsspec": None}):
        for name in [name for name in sys.modules if name.startswith("pyadeq.ext.operate.archive")]:
            del sys.modules[name]
        line = error(2, "archive", "write", str(tmp_path), "--url", url)
    assert line == "adeq: an archive needs the extra `archive`: pip install 'pyadeq[archive]'"
