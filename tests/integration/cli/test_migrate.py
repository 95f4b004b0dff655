"""`adeq scripts migrate` where there is one layout only: what it finds, what it says, and what it does not touch."""

import json
from collections.abc import Iterator

import pytest
import redis

from pyadeq import Adeq, EmbeddedServer
from tests.integration.cli.run import adeq, answer

pytestmark = pytest.mark.any_engine


@pytest.fixture
def own() -> Iterator[EmbeddedServer]:
    """A server with a queue, one in partitions, and a lock domain, the first of an older layout."""
    with EmbeddedServer() as server, Adeq.from_url(server.url) as client:
        client.queue("old").enqueue("work")
        client.client.hset("ade:{queue:old}:config", mapping={"layout": 0, "layout_min": 0})
        client.partitioned("wide").repartition(2)
        client.locks("doors").configure(poll=1)
        yield server


def layouts(server: EmbeddedServer) -> list[bytes | None]:
    with redis.Redis.from_url(server.url) as client:
        found: list[bytes | None] = client.hmget("ade:{queue:old}:config", ["layout", "layout_min"])
        return found


def test_everything_or_what_is_named(own: EmbeddedServer) -> None:
    found = answer("scripts", "migrate", "--dry-run", "--url", own.url)
    assert (found["layouts"]["queue"], found["complete"]) == (2, True)
    rows = [one for one in found["migrated"] if one["noun"] != "registry"]
    named = [(one["noun"], one["name"], one["layout"], one["all"]) for one in rows]
    assert named == [("queue", "old", 0, False), ("queue", "wide", 2, True), ("lock", "doors", 1, True)]
    assert layouts(own) == [b"0", b"0"]
    (only,) = answer("scripts", "migrate", "-q", "old", "--url", own.url)["migrated"]
    assert only == {"noun": "queue", "name": "old", "before": 0, "layout": 2, "rewritten": 0, "all": True}
    assert layouts(own) == [b"2", b"2"]
    (only,) = answer("scripts", "migrate", "-d", "doors", "--url", own.url)["migrated"]
    assert only == {"noun": "lock", "name": "doors", "before": 1, "layout": 1, "rewritten": 0, "all": True}


def test_a_noun_with_partitions_is_one_row(own: EmbeddedServer) -> None:
    with Adeq.from_url(own.url) as client:
        sessions = client.sessions("web")
        made = [sessions.create(user) for user in ("ann", "bob")]
        base = sessions.part(made[0].id[:2]).base
        client.client.hset(f"{base}:config", mapping={"layout": 0, "layout_min": 0})
    for words, before, layout, everything in ((["--dry-run"], 0, 0, False), ([], 0, 1, True), ([], 1, 1, True)):
        (row,) = answer("scripts", "migrate", "--only", "session=web", *words, "--url", own.url)["migrated"]
        assert (row["name"], row["before"], row["layout"], row["all"]) == ("web", before, layout, everything)


def test_a_table_of_what_was_done(own: EmbeddedServer) -> None:
    head, *rows = adeq("scripts", "migrate", "--url", own.url).stdout.splitlines()
    assert head.split() == ["noun", "name", "before", "layout", "rewritten", "all"]
    assert ["queue", "old", "0", "2", "0", "yes"] in [row.split() for row in rows]


def test_one_that_was_broken_off_is_seen(own: EmbeddedServer) -> None:
    with redis.Redis.from_url(own.url) as client:
        client.hset("ade:{queue:old}:config", mapping={"layout": 2, "layout_min": 2, "rewritten": 0})
    (seen,) = answer("scripts", "migrate", "-q", "old", "--dry-run", "--url", own.url)["migrated"]
    assert (seen["layout"], seen["all"]) == (2, False)
    assert "queue old: layout 0, this release has 2" in adeq("doctor", "--url", own.url).stdout
    assert adeq("scripts", "migrate", "-q", "old", "--url", own.url).status == 0
    (seen,) = answer("scripts", "migrate", "-q", "old", "--dry-run", "--url", own.url)["migrated"]
    assert seen["all"]


def test_what_is_named_and_not_there(own: EmbeddedServer) -> None:
    ended = adeq("scripts", "migrate", "-q", "nosuch", "-d", "neither", "-q", "old", "--url", own.url)
    assert ended.status == 1
    assert "nosuch: queue: there is no 'nosuch'" in ended.stderr
    assert "neither: --domain: there is no 'neither'" in ended.stderr
    assert layouts(own) == [b"2", b"2"]


def test_one_with_a_clock_of_its_own_does_not_keep_the_others_from_it(own: EmbeddedServer) -> None:
    with redis.Redis.from_url(own.url) as client:
        client.hset("ade:{queue:an}:config", mapping={"layout": 0, "layout_min": 0, "clock": "test"})
    ended = adeq("scripts", "migrate", "--url", own.url)
    assert (ended.status, layouts(own)) == (1, [b"2", b"2"])
    assert "an: " in ended.stderr
    assert "ADEQ_CLOCK" in ended.stderr


def test_what_cannot_be_moved_does_not_keep_the_others_from_it(own: EmbeddedServer) -> None:
    with redis.Redis.from_url(own.url) as client:
        client.hset("ade:{lock:doors}:config", "layout_min", 2)
    ended = adeq("scripts", "migrate", "-o", "json", "--url", own.url)
    assert ended.status == 1
    assert "doors: lock.stats.v1: this data needs scripts of layout 2 or newer" in ended.stderr
    rows = {one["name"]: one for one in json.loads(ended.stdout)["migrated"]}
    assert (rows["old"]["layout"], rows["doors"]["layout"], "ADEQ_LAYOUT" in rows["doors"]["error"]) == (2, 1, True)


def test_a_worker_of_an_older_release_is_named(own: EmbeddedServer) -> None:
    with Adeq.from_url(own.url) as client, redis.Redis.from_url(own.url) as root:
        client.queue("old").workers.register("w1")
        root.hdel("ade:{queue:old}:worker:w1", "layout")
        assert client.queue("old").workers.list()[0].layout == 1
        root.hset("ade:{queue:old}:worker:w1", "layout", 0)
        ended = adeq("scripts", "migrate", "-q", "old", "--url", own.url)
        assert (ended.status, layouts(own)) == (1, [b"0", b"0"])
        assert "workers that do not know layout 2 are alive: w1 (pyadeq " in ended.stderr
        assert adeq("scripts", "migrate", "-q", "old", "--force", "--url", own.url).status == 0
        assert layouts(own) == [b"2", b"2"]


def test_a_server_with_nothing_on_it() -> None:
    with EmbeddedServer() as server:
        ended = adeq("scripts", "migrate", "--url", server.url)
        assert (ended.status, ended.stdout) == (0, "nothing is stored\n")


def test_nobody_answers() -> None:
    ended = adeq("scripts", "migrate", "-q", "mail", "-d", "doors", "--url", "redis://127.0.0.1:1")
    assert (ended.status, ended.stdout) == (3, "")
    assert "start a server at" in ended.stderr


def test_the_doctor_sees_what_is_left_in_partitions_and_domains(own: EmbeddedServer) -> None:
    with Adeq.from_url(own.url) as client, redis.Redis.from_url(own.url) as root:
        root.hset("ade:{queue:old}:config", mapping={"layout": 2, "layout_min": 2})
        assert "2 queues of layout 2" in adeq("doctor", "--url", own.url).stdout
        part = client.partitioned("wide").partitions()[1]
        root.hset(f"{part.base}:config", "rewritten", 0)
        assert "queue wide: layout 0, this release has 2" in adeq("doctor", "--url", own.url).stdout
        root.hdel(f"{part.base}:config", "rewritten")
        root.hset("ade:{lock:doors}:config", "rewritten", 0)
        assert "domain doors: layout 0, this release has 1" in adeq("doctor", "--url", own.url).stdout
