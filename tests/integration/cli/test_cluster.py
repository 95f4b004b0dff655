"""The command line on a cluster of several servers."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq import Adeq
from pyadeq.errors import ConfigError
from pyadeq.ext.operate.doctor import examine
from tests.integration.cli.run import adeq, answer, error
from tests.integration.servers import HOST, ThreePrimaries, Watched, start

pytestmark = pytest.mark.any_engine

QUEUES = [f"queue-{n}" for n in range(8)]


@pytest.fixture(scope="module")
def cluster(binary: Path) -> Iterator[ThreePrimaries]:
    with ThreePrimaries(binary) as cluster:
        yield cluster


@pytest.mark.slow
def test_a_group_of_a_queue_on_all_servers(cluster: ThreePrimaries) -> None:
    stream = ("--stream", "queue:spread", "--url", cluster.url)
    with Adeq.from_url(cluster.url, cluster=True) as client:
        queue = client.partitioned("spread")
        queue.repartition(6)
        answer("--cluster", "events", "add", "audit", *stream)
        for number in range(30):
            queue.enqueue(1, id=f"t{number}")
    wrong = [adeq("events", "groups", "--stream", f"queue:{name}", "--url", cluster.url).stderr for name in QUEUES]
    assert any("add --cluster" in line for line in wrong)
    read = answer("--cluster", "events", "read", "audit", *stream)
    assert {id for one in read if one["event"] == "task.enqueued" for id in one["ids"]} == {f"t{n}" for n in range(30)}
    (group,) = answer("--cluster", "events", "groups", *stream)["groups"]
    assert (group["lag"], group["pending"], len(group["partitions"])) == (0, 0, 7)


@pytest.mark.slow
def test_queues_of_all_servers(cluster: ThreePrimaries, tmp_path: Path) -> None:
    file = tmp_path / "tasks"
    file.write_text("{}\n" * 1200)
    for name in QUEUES:
        assert answer("--cluster", "task", "enqueue", name, "--url", cluster.url)["status"] == "created"
        ended = adeq("task", "enqueue", name, "--file", str(file), ADEQ_URL=cluster.url, ADEQ_CLUSTER="1")
        assert ended.stdout.split(": ")[1].startswith("1,200 created in")
    rows = answer("--cluster", "queue", "ls", "--url", cluster.url)
    found = [(row["queue"], row["ready"]) for row in rows if row["queue"] in QUEUES]
    assert found == [(name, 1201) for name in QUEUES]
    assert answer("--cluster", "queue", "pause", QUEUES[0], "--url", cluster.url)["mode"] == "paused"
    assert len(answer("--cluster", "task", "ls", QUEUES[0], "--all", "--url", cluster.url)) == 1201
    assert answer("--cluster", "queue", "purge", QUEUES[0], "--yes", "--url", cluster.url)["deleted"] == 1201
    assert all(script["loaded"] for script in _loaded(cluster))


def test_lock_domains_of_all_servers(cluster: ThreePrimaries) -> None:
    for name in QUEUES:
        assert answer("--cluster", "lock", "capacity", "set", "gpu", "4", "-d", name, "--url", cluster.url)["max"] == 4
    rows = answer("--cluster", "lock", "domains", "--url", cluster.url)
    assert [(row["domain"], row["capacities"]) for row in rows] == [(name, 1) for name in QUEUES]
    (found,) = answer("--cluster", "lock", "capacity", "ls", "-d", QUEUES[3], "--url", cluster.url)
    assert (found["resource"], found["used"]) == ("gpu", 0)
    arguments = ("lock", "watch", "-d", QUEUES[3], "--for", "100ms", "--url", cluster.url)
    assert answer("--cluster", *arguments) == []


def _loaded(cluster: ThreePrimaries) -> list[dict[str, bool]]:
    answer("--cluster", "scripts", "load", "--url", cluster.url)
    scripts: list[dict[str, bool]] = answer("--cluster", "scripts", "verify", "--url", cluster.url)["scripts"]
    return scripts


def test_metrics_of_all_servers(cluster: ThreePrimaries) -> None:
    names = [f"metered-{n}" for n in range(8)]
    with Adeq.from_url(cluster.url, cluster=True) as client:
        for name in names:
            client.queue(name).enqueue("x")
            client.events("queue", name).add("audit")
    ended = adeq("--cluster", "metrics", "--once", "-o", "jsonl", "--url", cluster.url)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    streams = {one["labels"]["stream"] for one in found if one["metric"] == "adeq_event_group_lag"}
    assert streams >= {f"queue:{name}" for name in names}
    assert len({one["labels"]["server"] for one in found if one["metric"] == "adeq_server_memory_bytes"}) == 3


def test_the_doctor_looks_at_one_server(cluster: ThreePrimaries) -> None:
    for node in cluster.primaries:
        checks = {check["name"]: check for check in answer("--cluster", "doctor", "--url", node.url)["checks"]}
        assert checks["cluster"]["found"] == "4 nodes, state ok, 16,384 of 16,384 slots served"
        assert checks["layout"]["status"] == "ok"
    checks = {check["name"]: check for check in answer("doctor", "--url", cluster.replica.url, status=1)["checks"]}
    assert checks["replicas"]["status"] == "fail"
    with Adeq.from_url(cluster.url, cluster=True) as client, pytest.raises(ConfigError, match="one server"):
        examine(client)


def test_sentinels_say_where_the_server_is(binary: Path, tmp_path: Path) -> None:
    with Watched(binary) as watched:
        url = f"sentinel://{HOST}:{watched.sentinel_port}/adeq"
        assert answer("task", "enqueue", "q", "--url", url)["status"] == "created"
        assert [row["queue"] for row in answer("queue", "ls", ADEQ_URL=url)] == ["q"]
        report = answer("doctor", "--url", url)
        assert report["server"] == url
        advice = [line for check in report["checks"] for line in check["how"]]
        assert any(f"-p {watched.primary.port}" in line for line in advice)
        assert adeq("maintain", "--once", "--url", url).status == 0
        assert "adeq_up 1.0" in adeq("metrics", "--once", "--url", url).stdout
        history = str(tmp_path / "history")
        ended = adeq("chaos", "--url", url, "--seconds", "1", "--history", history)
        assert ended.status == 0, ended
        profiles = tmp_path / "config.toml"
        profiles.write_text(f'default = "a"\n[profiles.a]\nurl = "{url}?sentinel_password=secret"\n')
        assert "others may read it" in error(2, "queue", "ls", ADEQ_CONFIG=str(profiles))


def test_a_cluster_that_is_none(binary: Path) -> None:
    line = error(3, "--cluster", "queue", "ls", "--url", "redis://127.0.0.1:1")
    assert "start a server at redis://127.0.0.1:1, or name another" in line
    with start(binary, {}) as server:
        line = error(2, "--cluster", "queue", "ls", "--url", f"redis://127.0.0.1:{server.port}")
        assert "it is not that of a node of a cluster" in line
