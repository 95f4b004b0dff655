"""Tasks of a single server move into a cluster and back: jobs of RQ, and a layout with a mirror and a writer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.move.migrate import Migration, stream
from tests.integration.cli.run import answer
from tests.integration.move.test_migrate_older import layout_of
from tests.integration.move.test_migrate_rq import LIST, fill, layout
from tests.integration.servers import ThreePrimaries
from tests.migrate.older import StreamLayout

pytestmark = pytest.mark.slow


@pytest.fixture
def old_server(binary: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(binary=binary) as server:
        yield server


def test_jobs_of_rq_move_into_a_cluster_and_back(
    old_server: EmbeddedServer, cluster: ThreePrimaries, base_name: str
) -> None:
    names = [f"{base_name}-{number}" for number in range(3)]  # in other slots
    where = ("rq", "--from", old_server.url, "--url", cluster.url)
    with Redis.from_url(old_server.url) as old, Adeq.from_url(cluster.url, cluster=True) as adeq:
        old.sadd("rq:queues", LIST)
        fill(old)
        for number, name in enumerate(names[1:]):
            old.sadd("rq:queues", f"rq:queue:{name}")
            old.hset(f"rq:job:of-{number}", mapping=old.hgetall("rq:job:a1"))
            old.rpush(f"rq:queue:{name}", f"of-{number}")
        before = layout(old)
        to = ("-q", f"default={names[0]}", "-q", names[1], "-q", names[2])
        plan = answer("--cluster", "migrate", "plan", *where, *to)
        assert sum(row["moves"] for row in plan["queues"]) == 9
        for _ in range(2):
            assert answer("--cluster", "migrate", "move", *where, *to)["moved"] == 9
            assert [adeq.queue(name).stats().pending for name in names] == [7, 1, 1]
            assert answer("--cluster", "migrate", "status", *where)["queues"]
            back = answer("--cluster", "migrate", "rollback", *where)
            assert (back["back"], back["digest"]) == (12, plan["digest"])
            assert layout(old) == before
        assert answer("--cluster", "migrate", "cleanup", *where, "--name", "rq")["deleted"] == 24
        for name in names:
            adeq.queue(name).admin.purge(all=True)


def test_a_mirror_in_a_cluster(old_server: EmbeddedServer, cluster: ThreePrimaries, base_name: str) -> None:
    with Redis.from_url(old_server.url) as old, Adeq.from_url(cluster.url, cluster=True) as adeq:
        old_layout, queue = StreamLayout(old), adeq.queue(base_name)

        def migration() -> Migration:
            return Migration(adeq, stream.StreamQueue(old), to="here", queues={"tasks": queue.name})

        for number in range(1, 6):
            old_layout.put(old, number)
        before: Any = layout_of(old)
        assert migration().mirror().copied == 5
        old_layout.write(adeq, old, 6, queue.name)
        assert (migration().shadow().equal, migration().cutover().moved) == (6, 6)
        old_layout.write(adeq, old, 7, queue.name)
        assert [task.payload for task in queue.get_many(["task-1", "task-7"]) if task] == [
            {"number": 1},
            {"number": 7},
        ]
        queue.ack(queue.claim(limit=1)[0])
        assert migration().rollback().back == 6
        after = layout_of(old)[b"ade:queue:tasks"]
        assert [fields[b"taskId"] for fields in after] == [b"task-%d" % number for number in range(2, 8)]
        assert after[:4] == before[b"ade:queue:tasks"][1:]
        queue.admin.purge(all=True)
