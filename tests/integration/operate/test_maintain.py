"""The periodic care of an installation in which nothing else happens."""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq
from pyadeq.errors import ConfigError
from pyadeq.ext.operate.archive import Archive
from pyadeq.ext.operate.maintain import CARES, Maintained, Maintainer
from tests.integration.cli.run import COMMAND, answer, environment
from tests.integration.cli.run import adeq as command
from tests.integration.conftest import Clock
from tests.waiting import wait_until

pytestmark = pytest.mark.any_engine

DAY = 86_400


@pytest.fixture
def client(url: str, base_name: str, clock: Clock) -> Iterator[Adeq]:
    """A client with the time of the test."""
    with Adeq.from_url(url, prefix=base_name, clock=clock) as client:
        yield client


def done(maintainer: Maintainer) -> dict[str, dict[str, int]]:
    """What a step has done, by the name and the kind of care."""
    found = list(maintainer.step())
    assert [one for one in found if one.error] == []
    return {f"{one.care} {one.name}": one.done for one in found if one.done}


def test_what_is_due_is_done(client: Adeq, clock: Clock) -> None:
    queue, locks, changes = client.queue("q"), client.locks("l"), client.changes("c")
    config, sessions = client.config("c"), client.sessions("s")
    for one in (queue, locks, changes, config):
        one.configure(clock="test")
    tag = "c7"
    client.send(sessions.part(tag).build("configure", clock="test", settings=[]))
    queue.configure(finished_keep=60)
    queue.enqueue("late", delay=60, expires_at=clock() / 1000 + 120)
    queue.enqueue("x")
    for lease in queue.claim(limit=2):
        if lease.payload == "x":
            queue.ack(lease)
    locks.take("r", owner="o", ttl=30)
    changes.policies.set("p", required=1, reviewers=["user:bob"], timeout=3600, on_timeout="reject")
    changes.submit(changes.put("a", type="deploy", description="x", actor="ann"), policy="p", actor="ann")
    config.set("n", 1, actor="ann")
    config.remove("n", actor="ann")
    build = sessions.part(tag).build
    client.send(build("create", hash="0" * 64, user="ann", lifetime=60.0))
    maintainer = Maintainer(client, only=[care for care in CARES if care not in ("archive", "events")])
    assert done(maintainer).keys() <= {"locks lock:l"}, "nothing is due yet"
    clock.tick(2 * DAY)
    found = done(maintainer)
    assert found["queues queue:q"]["expired"] == 1
    assert found["locks lock:l"] == {"ended": 1}
    assert found["changes change:c"]["due"] == 1
    assert found[f"sessions session:s/{tag}"] == {"deleted": 1}
    assert found["configs config:c"] == {"deleted": 1}
    assert done(maintainer) == {}, "all of it was done"


def test_deadlocks_across_domains_are_ended(client: Adeq) -> None:
    first, second = client.locks("a"), client.locks("b")
    for one in (first, second):
        one.configure(clock="test")
    mine, yours = first.take("x", owner="me"), second.take("y", owner="you")
    problems: list[Exception] = []

    def wait(domain: Any, resource: str, owner: str) -> None:
        try:
            domain.take(resource, owner=owner, wait=60).release()
        except Exception as problem:
            problems.append(problem)

    threads = [
        threading.Thread(target=wait, args=(second, "y", "me")),
        threading.Thread(target=wait, args=(first, "x", "you")),
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: first.stats().waiting == second.stats().waiting == 1)
    found = done(Maintainer(client, only=["deadlocks"]))
    assert found == {"deadlocks all lock domains": {"deadlocks": 1}}
    mine.release()
    yours.release()
    for thread in threads:
        thread.join()
    assert len(problems) == 1


def test_events_are_archived_before_they_are_deleted(client: Adeq, clock: Clock, tmp_path: Path) -> None:
    queue = client.queue("q")
    queue.configure(clock="test")
    client.events("queue", "q").configure(clock="test")
    for _ in range(300):
        queue.enqueue("x")
    archive = Archive(str(tmp_path))
    clock.now_ms = round((datetime.now(UTC).timestamp() + 30 * DAY) * 1000)
    found = done(Maintainer(client, archive=archive, only=["archive", "events"]))
    assert found["archive queue:q"]["events"] >= 300
    assert found["events queue:q"]["deleted"] >= 200
    assert archive.verify().events >= 300


def test_one_that_fails_does_not_stop_the_others(url: str, client: Adeq) -> None:
    client.queue("of-a-test").configure(clock="test")  # its time is not that of the next client
    with Adeq.from_url(url, prefix=client.prefix) as other:
        locks = other.locks("l")
        locks.configure()
        found = {f"{one.care} {one.name}": one for one in Maintainer(other).step()}
    assert "clock" in (found["queues queue:of-a-test"].error or "")
    assert found["locks lock:l"] == Maintained("locks", "lock:l", {})


def test_what_is_refused() -> None:
    with Adeq.from_url("redis://nowhere") as adeq:
        with pytest.raises(ConfigError, match="'lock' is not accepted; allowed: names, archive, queues, locks"):
            Maintainer(adeq, only=["lock"])
        with pytest.raises(ConfigError, match="needs the place of an archive"):
            Maintainer(adeq, only=["archive"])


def test_the_kinds_are_explained() -> None:
    import pyadeq.ext.operate.maintain as module

    assert all(f"| `{care}`" in (module.__doc__ or "") for care in CARES)
    text = (Path(__file__).parents[3] / "docs/operations/maintain.md").read_text()
    assert all(f"| `{care}` |" in text for care in CARES)


# The command line


def test_once(url: str, base_name: str, tmp_path: Path) -> None:
    place: Any = {"ADEQ_URL": url, "ADEQ_PREFIX": base_name}
    to = str(tmp_path / "archive")
    with Adeq.from_url(url, prefix=base_name) as client:
        client.queue("q").enqueue("x")
        (row,) = answer("maintain", "--once", "--archive", to, **place)
        assert (row["care"], row["name"], row["done"]) == ("archive", "queue:q", {"events": 2})
        assert command("maintain", "--once", "--archive", to, **place).stdout == "nothing was to be done\n"
        client.queue("q").enqueue("x")
        assert ": 1 events\n" in command("maintain", "--once", "--archive", to, **place).stdout
    assert command("maintain", "--once", "--only", "lock", **place).status == 2


@pytest.mark.slow
def test_several_processes_until_a_signal_ends_them(url: str, base_name: str, tmp_path: Path) -> None:
    place: Any = {"ADEQ_URL": url, "ADEQ_PREFIX": base_name, "ADEQ_ARCHIVE": str(tmp_path)}
    words = [*COMMAND, "maintain", "--every", "100ms", "-o", "jsonl"]
    with Adeq.from_url(url, prefix=base_name) as client:
        queue, archive = client.queue("q"), Archive(str(tmp_path))
        queue.enqueue("x")
        running = [
            subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment(**place)) for _ in range(3)
        ]
        try:
            for one in running:
                assert one.stdout
                assert json.loads(one.stdout.readline())["every"] == 0.1
            for _ in range(50):
                queue.enqueue("x")
            wait_until(lambda: archive.lag(client)["queue:q"] == 0)
            running[0].kill()
            for _ in range(50):
                queue.enqueue("x")
            wait_until(lambda: archive.lag(client)["queue:q"] == 0)
            for one in running[1:]:
                one.send_signal(signal.SIGTERM)
            lines = [json.loads(line) for one in running[1:] for line in (one.communicate(timeout=60)[0]).splitlines()]
            assert [one.returncode for one in running[1:]] == [0, 0]
            assert [line for line in lines if line["error"]] == []
        finally:
            for one in running:
                one.kill()
                one.communicate()
        found = archive.verify(client)
        assert (found.bad, found.events) == (0, 102)
