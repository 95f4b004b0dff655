"""Kinds, users and tags that are not ASCII, as the commands take and show them."""

import pytest
import redis

from pyadeq import Adeq, Queue
from tests.integration.cli.run import adeq, answer, error

pytestmark = pytest.mark.any_engine


@pytest.fixture
def queue(url: str, base_name: str) -> Queue:
    return Adeq.from_url(url).queue(base_name)


def test_tasks(queue: Queue, url: str) -> None:
    own = ("--kind", "größe", "--user", "Zoë", "--tag", "日本", "--tag", "🌍/a")
    id = answer("task", "enqueue", queue.name, *own, "--url", url)["id"]
    queue.enqueue(user="Zoe", tags=["日"], kind="große")
    for filter in (("--user", "Zoë"), ("--tag", "日本"), ("--tag", "🌍/a"), ("--kind", "größe")):
        (task,) = answer("task", "ls", queue.name, *filter, "--url", url)
        assert (task["id"], task["kind"], task["user"], task["tags"]) == (id, "größe", "Zoë", ["日本", "🌍/a"])
    assert "Zoë" in adeq("task", "ls", queue.name, "--url", url).stdout
    said = error(2, "task", "enqueue", queue.name, "--user", "é" * 101, "--url", url)
    assert "user" in said
    assert "1 to 200 bytes of UTF-8" in said


def test_limits_and_shares(queue: Queue, url: str, client: redis.Redis) -> None:
    there = ("--queue", queue.name, "--url", url)
    adeq("limit", "set", "user:Zoë", "--concurrency", "1", *there)
    assert [one["key"] for one in answer("limit", "ls", *there)] == ["user:Zoë"]
    for _ in range(2):
        queue.enqueue(user="Zoë")
    assert len(queue.claim(limit=2)) == 1
    (limited,) = answer("task", "ls", queue.name, "--state", "blocked", "--url", url)
    assert limited["limited_by"] == "user:Zoë"
    assert answer("share", "set", "Zoë", "2", *there)["user"] == "Zoë"
    assert queue.shares.get("Zoë") == 2
    assert client.delete(f"{queue.base}:waiting:user:Zoë") == 1
    assert adeq("doctor", queue.name, "--repair", "--url", url).status == 0
    assert client.zrange(f"{queue.base}:waiting:user:Zoë", 0, -1) == [limited["id"].encode()]
