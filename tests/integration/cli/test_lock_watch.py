"""`adeq lock watch`."""

import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pyadeq import Adeq, LockRequest, Locks, RequestState
from pyadeq.ext.cli.shared.common import iso
from pyadeq.ids import new_ulid
from tests.integration.cli.run import Terminal, adeq, answer
from tests.integration.worker.watching import Watch


@pytest.fixture
def client(url: str) -> Iterator[Adeq]:
    with Adeq.from_url(url) as client:
        yield client


@pytest.fixture
def locks(client: Adeq, base_name: str) -> Locks:
    locks = client.locks(base_name)
    locks.configure()
    return locks


def watching(locks: Locks, url: str, *arguments: str) -> Watch:
    """`adeq lock watch`."""
    words = ["lock", "watch", *arguments, "-d", locks.name, "--url", url]
    return Watch(lambda: locks.take("db:1", owner="beginner").release(), *words)


def ask(client: Adeq, locks: Locks, resource: str, owner: str, **options: Any) -> RequestState:
    """Ask for a lock, and be silent from then on."""
    issued_ms = round(locks.stats().now * 1000)
    return client.send(locks.calls.acquire(new_ulid(), resource, owner, wait=60, issued_ms=issued_ms, **options))


def test_a_domain_as_json(url: str, locks: Locks) -> None:
    locks.capacities.set("gpu", 3)
    with watching(locks, url, "-o", "jsonl") as watch:
        with locks.acquire("db:1", owner="ann/1", agent="ann") as grant:
            pass
        locks.take_many([("a", "shared"), LockRequest(resource="gpu", mode="permit", permits=2)], owner="bob")
        locks.admin.force_release("a", "stuck since=noon by all")
        acquired, released, many, forced = map(json.loads, watch.until("noon"))
        assert watch.interrupt() == 0
    assert acquired == {
        "time": acquired["time"],
        "time_iso": iso(acquired["time"]),
        "event": "acquired",
        "rid": grant.rid,
        "owner": "ann/1",
        "agent": "ann",
        "locks": [{"resource": "db:1", "mode": "exclusive", "permits": 1, "fence": grant.fence}],
    }
    assert (released["event"], released["rid"], released["locks"]) == ("released", grant.rid, acquired["locks"])
    assert [(one["resource"], one["mode"], one["permits"]) for one in many["locks"]] == [
        ("a", "shared", 1),
        ("gpu", "permit", 2),
    ]
    assert (forced["event"], forced["by"], forced["reason"]) == ("released", "force", "stuck since=noon by all")


@pytest.mark.slow
def test_one_resource(url: str, client: Adeq, locks: Locks) -> None:
    with watching(locks, url, "db:1") as watch:
        ask(client, locks, "other", "bob")
        ask(client, locks, "db:1", "ann", agent="agents/ann")
        ask(client, locks, "other", "ann")
        ask(client, locks, "db:1", "cid", mode="shared")
        assert ask(client, locks, "db:1", "bob").status == "deadlock"
        locks.admin.force_release("db:1", "\x1b[31mstuck")
        lines = watch.until("promoted")
    assert not any("other exclusive" in line for line in lines)
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    patterns = [
        r"acquired   ann of agents/ann  db:1 exclusive fence \d{16}",
        r"queued     cid  db:1 shared",
        r"deadlock   bob  db:1 exclusive  \(bob waits for db:1, ann waits for other\)",
        r"released   ann of agents/ann  db:1 exclusive fence \d{16}  \(by force: \ufffd\[31mstuck\)",
        r"promoted   cid  db:1 shared fence \d{16}",
    ]
    for line, pattern in zip(lines, patterns, strict=True):
        assert re.fullmatch(f"{time}  {pattern}", line), line


def test_a_watch_without_events(url: str, locks: Locks) -> None:
    locks.take("a", owner="ann")  # before it begins
    arguments = ["lock", "watch", "-d", locks.name, "--for", "100ms", "--url", url]
    assert adeq(*arguments).stdout == ""
    assert adeq(*arguments, "-o", "jsonl").stdout == ""
    assert answer(*arguments) == []


def test_at_a_terminal(url: str, locks: Locks) -> None:
    with Terminal("lock", "watch", "-d", locks.name, "--url", url) as terminal:
        reader = threading.Thread(target=terminal.read_until, args=["acquired"])
        reader.start()
        while reader.is_alive():
            locks.take("a", owner="ann").release()
            reader.join(0.1)
        assert "\x1b[32macquired" in terminal.seen
        terminal.enter("\x03")
        assert terminal.wait() == 0


def test_a_domain_without_events_is_not_watched(locks: Locks, url: str) -> None:
    locks.configure(events_max=0)
    told = adeq("lock", "watch", "-d", locks.name, "--url", url, "--for", "1")
    assert told.status == 2
    assert f"{locks.name} writes no events: adeq lock configure --domain {locks.name} --events-max" in told.stderr
