"""`adeq doctor` on servers that are well, ill, and silent."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq import Adeq, EmbeddedServer, Task, library
from pyadeq.access import acl_rules
from pyadeq.errors import ConfigError
from pyadeq.ext.operate.doctor import CHECKS, Check, check, examine, gather
from pyadeq.ext.operate.doctor.nouns import others
from pyadeq.ext.operate.doctor.storage import replicas
from pyadeq.keys import queue_base
from tests.audit import audit_server
from tests.integration.cli.run import Ended, adeq, answer, error
from tests.integration.servers import HOST, ThreePrimaries, is_old, replica_of, start
from tests.waiting import wait_until


@pytest.fixture
def own(binary: Path) -> Iterator[EmbeddedServer]:
    """A server that a test may make ill."""
    with EmbeddedServer(binary=binary) as server:
        yield server


def look(server: EmbeddedServer, url: str = "", queues: tuple[str, ...] = ()) -> dict[str, Check]:
    with Adeq.from_url(url or server.url) as adeq:
        return {check.name: check for check in examine(adeq, queues).checks}


def run(server: EmbeddedServer, *commands: str) -> None:
    """Commands of words with spaces between them."""
    with redis.Redis.from_url(server.url) as client:
        for command in commands:
            client.execute_command(*command.split(" "))


def as_user(server: EmbeddedServer, *rules: str) -> str:
    """The URL of a user who may do no more than the rules say."""
    run(server, f"ACL SETUSER al reset on >secret {' '.join(rules)}")
    return f"unix://al:secret@{server.socket_path}"


def doctor(*arguments: str) -> Ended:
    return adeq("doctor", *arguments)


def test_a_server_that_is_well(own: EmbeddedServer) -> None:
    with Adeq.from_url(own.url) as client:
        client.load_scripts()
        client.queue("jobs").enqueue({})
    ended = doctor("--url", own.url, "-o", "json")
    assert ended.status == 0, ended
    report = json.loads(ended.stdout)
    assert report["ok"]
    assert report["engine"].lower() == own.engine
    assert [check["name"] for check in report["checks"]] == [*CHECKS, *(noun["plural"] for noun in others().values())]
    assert {check["status"] for check in report["checks"]} == {"ok"}
    assert {check["found"] for check in report["checks"]} >= {
        "maxmemory-policy is noeviction",
        "appendfsync is everysec: a crash loses a second at most",
        f"all {len(library())} are loaded",
        "1 queue of layout 2",
        "user default may run all that queue 'jobs' needs",
    }
    assert doctor("--url", own.url).stdout.splitlines()[-1] == f"{len(CHECKS) + len(others())} ok"


def test_a_server_that_loses_tasks_ends_with_1_and_the_commands(own: EmbeddedServer) -> None:
    run(own, "CONFIG SET maxmemory 100mb", "CONFIG SET maxmemory-policy allkeys-lru")
    ended = doctor("--url", own.url)
    assert ended.status == 1
    assert "FAIL  eviction" in ended.stdout
    assert "Some guides recommend allkeys-lru; that is for caches, and here it deletes tasks." in ended.stdout
    assert f"-cli -s {own.socket_path} CONFIG SET maxmemory-policy noeviction\n" in "\n".join(
        line.rstrip() for line in ended.stdout.splitlines()
    )
    assert ended.stdout.splitlines()[-1].endswith("1 failed")


def test_an_unreachable_server_ends_with_3() -> None:
    ended = doctor("--url", "redis://127.0.0.1:1")
    assert (ended.status, ended.stdout) == (3, "")
    assert doctor("no name").status == 2


@pytest.mark.parametrize(
    ("commands", "name", "status", "found"),
    [
        (["CONFIG SET maxmemory-policy volatile-ttl"], "eviction", "warn", "maxmemory-policy is volatile-ttl"),
        (["CONFIG SET maxmemory 1gb"], "memory", "ok", "of 1 GiB (0%)"),
        (["CONFIG SET maxmemory 500kb"], "memory", "fail", "used of 500 KiB"),
        (["CONFIG SET appendonly no"], "append-only file", "fail", "appendonly is no"),
        (["CONFIG SET appendfsync no"], "append-only file", "warn", "appendfsync is no"),
        (["CONFIG SET appendfsync always"], "append-only file", "ok", "a crash loses nothing"),
        (["CONFIG SET maxclients 2"], "clients", "ok", "1 connected of 2"),
        pytest.param(["CONFIG SET maxclients 1"], "clients", "warn", "1 connected of 1", marks=pytest.mark.slow),
        (["CONFIG SET timeout 5"], "connections", "warn", "timeout is 5 s"),
        (["CONFIG SET timeout 300"], "connections", "ok", "timeout 300"),
        (["CONFIG SET tcp-keepalive 0"], "connections", "warn", "tcp-keepalive is 0"),
        (["SCRIPT FLUSH"], "scripts", "warn", f"{len(library())} of {len(library())} are not loaded"),
        (["CONFIG SET slowlog-log-slower-than -1"], "slow log", "ok", "off"),
    ],
)
def test_settings(own: EmbeddedServer, commands: list[str], name: str, status: str, found: str) -> None:
    run(own, *commands)
    seen = look(own)[name]
    assert seen.status == status
    assert found in seen.found
    if status != "ok":
        assert seen.why
        assert seen.how


@pytest.mark.parametrize("appendfsync", ["always", "everysec"])
def test_durability_is_what_a_client_is_told(own: EmbeddedServer, appendfsync: str) -> None:
    run(own, f"CONFIG SET appendfsync {appendfsync}")
    with Adeq.from_url(own.url, durability="aof", durability_timeout=10) as client:
        try:
            client.queue("jobs").enqueue({})
            told = "durability='aof' is possible"
        except ConfigError as error:
            told = "is possible with appendfsync always" if "set appendfsync" in str(error) else "is not possible"
    assert look(own)["engine"].found.endswith(told)


def test_a_small_buffer_for_replies(own: EmbeddedServer) -> None:
    with redis.Redis.from_url(own.url) as client:
        client.config_set("client-output-buffer-limit", "normal 1mb 0 0")
    seen = look(own)["connections"]
    assert (seen.status, seen.found) == ("warn", "client-output-buffer-limit is 1048576 0 0 for normal clients")


def test_snapshots_alone(own: EmbeddedServer) -> None:
    with redis.Redis.from_url(own.url) as client:
        client.config_set("save", "3600 1")
        client.config_set("appendonly", "no")
    seen = look(own)
    assert seen["append-only file"].status == "warn"
    assert seen["append-only file"].why.startswith("A restart loses all changes since the last snapshot")
    assert seen["snapshots"].found == "save is '3600 1'"


def test_neither_snapshots_nor_append_only_file(own: EmbeddedServer) -> None:
    run(own, "CONFIG SET appendonly no")
    seen = look(own)["snapshots"]
    assert (seen.status, seen.found) == ("warn", "off, as the append-only file is")


def test_a_server_that_answers_nothing_now(own: EmbeddedServer) -> None:
    assert "DB index is out of range" in error(1, "doctor", "--url", f"unix://{own.socket_path}?db=99")
    run(own, "CONFIG SET busy-reply-threshold 1")
    with redis.Redis.from_url(own.url) as client:
        pool: Any = client.connection_pool
        pool.get_connection().send_command("EVAL", "while true do end", 0)
        try:
            assert "busy running a script" in error(1, "doctor", "--url", own.url)
        finally:
            client.script_kill()


def test_commands_of_ours_name_the_server_that_was_named(own: EmbeddedServer) -> None:
    def advice(*arguments: str, **environment: Any) -> list[str]:
        (scripts,) = (one for one in answer("doctor", *arguments, **environment)["checks"] if one["name"] == "scripts")
        return list(scripts["how"])

    assert advice("--url", own.url) == [f"adeq scripts load --url {own.url}"]
    assert advice(ADEQ_URL=own.url) == ["adeq scripts load"]
    url = as_user(own, "~*", "&*", "+@all")
    assert advice("--url", url) == [f"adeq scripts load --url unix://USER:PASSWORD@{own.socket_path}"]


def test_a_server_without_a_configuration_file(own: EmbeddedServer) -> None:
    run(own, "CONFIG SET appendonly no")
    with Adeq.from_url(own.url) as client:
        facts = gather(client, [])
    for file, word in (("", "has no configuration file"), ("a.conf", "CONFIG REWRITE")):
        report = check(replace(facts, info={**facts.info, "config_file": file}))
        (seen,) = (one for one in report.checks if one.name == "append-only file")
        assert word in seen.how[-1]


def test_a_queue_that_there_is_not(own: EmbeddedServer) -> None:
    seen = look(own, queues=("nosuch",))["layout"]
    assert (seen.status, seen.found) == ("warn", "there is no queue nosuch")


@pytest.mark.parametrize(
    ("used", "advice"),
    [
        (1 << 30, "CONFIG SET maxmemory 4096mb"),
        (5 << 30, "CONFIG SET maxmemory 6144mb"),
        (7 << 30, "move to a machine with more memory, then set maxmemory"),
    ],
)
def test_no_limit_is_advised_above_the_memory_of_the_machine(own: EmbeddedServer, used: int, advice: str) -> None:
    with Adeq.from_url(own.url) as client:
        facts = replace(gather(client, []), info={"used_memory": used, "total_system_memory": 8 << 30})
    (seen,) = (one for one in check(facts).checks if one.name == "memory")
    assert seen.how[0].endswith(advice)


def test_slow_scripts_are_named(own: EmbeddedServer) -> None:
    run(own, "CONFIG SET slowlog-log-slower-than 0")
    with Adeq.from_url(own.url) as client:
        client.queue("jobs").stats()
    seen = look(own)["slow log"]
    assert seen.status == "warn"
    assert "above 0 ms; the slowest: queue.stats.v1, " in seen.found
    assert seen.how[1].startswith("on the server's machine: ")
    assert seen.how[1].endswith("-cli --intrinsic-latency 30")


def test_layouts(own: EmbeddedServer) -> None:
    with Adeq.from_url(own.url) as client:
        for name in ("old", "new", "well"):
            client.queue(name).enqueue({})
    run(own, "HSET ade:{queue:new}:config layout 4 layout_min 3")
    seen = look(own)["layout"]
    assert (seen.status, seen.found) == ("fail", "queue new: layout 3 is needed, this release has 2")
    assert look(own, queues=("old", "well"))["layout"].found == "2 queues of layout 2"
    run(own, "HSET ade:{queue:new}:config layout_min 2")
    assert look(own)["layout"].status == "ok"
    with Adeq.from_url(own.url) as client:
        newer = replace(gather(client, ["old", "new"]), layouts={"queue": 3, "lock": 1})
    (seen,) = (one for one in check(newer).checks if one.name == "layout")
    assert (seen.status, seen.found) == ("warn", "queue old: layout 2, this release has 3")


def test_lock_domains(own: EmbeddedServer) -> None:
    assert look(own)["locks"].found == "no lock domain to check"
    with Adeq.from_url(own.url) as client:
        locks = client.locks("jobs")
        locks.take("a", owner="ann")
        issued_ms = round(locks.stats().now * 1000)
        client.send(locks.calls.acquire("r1", "a", "bob", wait=60, issued_ms=issued_ms))
    assert look(own)["locks"].found == "1 domain, 1 held, 1 waiting"
    assert look(own, queues=("mail",))["locks"].found == "no lock domain to check"
    run(own, f"ZADD ade:{{lock:jobs}}:unchecked {issued_ms - 10_000} r1")
    assert look(own)["locks"].status == "ok"
    run(own, f"ZADD ade:{{lock:jobs}}:unchecked {issued_ms - 70_000} r1")
    seen = look(own)["locks"]
    words = "domain jobs: 1 waiter has not been searched for deadlocks for a minute"
    assert (seen.status, seen.found) == ("warn", words)
    assert seen.how[0] == "adeq lock graph --domain jobs"
    run(own, "HSET ade:{lock:jobs}:config layout 4 layout_min 3")
    seen = look(own)["locks"]
    assert (seen.status, seen.found) == ("fail", "domain jobs: layout 3 is needed, this release has 1")


def test_a_replica_and_its_primary(binary: Path) -> None:
    with start(binary, {}) as primary, replica_of(binary, primary) as replica:
        with redis.Redis.from_url(primary.url) as client:
            wait_until(lambda: client.info().get("slave0", {}).get("state") == "online")
        seen = look(replica)["replicas"]
        assert (seen.status, seen.found) == ("fail", f"this is a replica of 127.0.0.1:{primary.port}")
        assert seen.how == [f"use the primary: --url redis://127.0.0.1:{primary.port}"]
        seen = look(primary)["replicas"]
        assert (seen.status, seen.found) == ("warn", "1 follow; min-replicas-to-write is 0")
        run(primary, "CONFIG SET min-replicas-to-write 1")
        assert look(primary)["replicas"].status == "ok"


def test_a_cluster_without_slots(binary: Path) -> None:
    with start(binary, {"cluster-enabled": "yes"}) as server, redis.Redis.from_url(server.url) as client:
        seen = look(server)["cluster"]
        assert (seen.status, seen.found) == ("fail", "1 node, state fail, 0 of 16,384 slots served")
        client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
        wait_until(lambda: client.execute_command("CLUSTER INFO")["cluster_state"] == "ok")
        assert look(server)["cluster"].status == "ok"


def test_a_cluster_where_a_node_has_no_partition(binary: Path) -> None:
    with ThreePrimaries(binary) as cluster, Adeq.from_url(cluster.url, cluster=True) as adeq:
        name = next(name for name in map(str, range(1000)) if cluster.owner(queue_base(name)) is cluster.nodes[0])
        adeq.partitioned(name).repartition(2)
        seen = look(cluster.nodes[0], f"redis://{HOST}:{cluster.nodes[0].port}")["cluster"]
        idle = cluster.nodes[2]
        found = f"queue {name} has 2 partitions, and none on {HOST}:{idle.port}"
        assert (seen.status, seen.found) == ("warn", found)
        assert seen.how[0].startswith(f"adeq queue partitions {name} --set 4")
        adeq.partitioned(name).repartition(4)
        assert look(cluster.nodes[0], f"redis://{HOST}:{cluster.nodes[0].port}")["cluster"].status == "ok"


def test_a_user_who_may_not(own: EmbeddedServer) -> None:
    url = as_user(own, "~ade:*", "&*", "+@all", "-zadd", "-script|load")
    seen = look(own, url)["rights"]
    assert (seen.status, seen.found) == ("fail", "user al may not run SCRIPT LOAD, ZADD")
    assert seen.how[0].endswith("--user al --askpass ACL SETUSER al '~ade:*' +script|load +zadd")
    url = as_user(own, "~ade:{queue:mine}:*", "&*", "+@all")
    seen = look(own, url)["rights"]
    assert (seen.status, seen.found) == ("fail", "user al may not touch the keys of queue 'default'")
    assert any("adeq doctor QUEUE" in hint for hint in seen.how)
    seen = look(own, url, queues=("mine",))["rights"]
    assert (seen.status, seen.found.partition(";")[0]) == ("ok", "user al may look, and no more, with queue 'mine'")


def test_a_user_with_a_role(own: EmbeddedServer) -> None:
    rules = acl_rules("worker", "producer", old=is_old(own))
    seen = look(own, as_user(own, *rules, "+acl|whoami", "+acl|dryrun"))["rights"]
    told = "user al may look, produce, work, and no more, with queue 'default'"
    assert (seen.status, seen.found.partition(";")[0]) == ("ok", told)
    seen = look(own, as_user(own, *rules, "+acl|whoami", "+acl|dryrun", "-blpop"))["rights"]
    assert (seen.status, seen.found) == ("fail", "user al may not run BLPOP")
    assert "adeq scripts acl" in seen.how[-1]


def test_a_user_who_may_work_and_not_look(own: EmbeddedServer) -> None:
    """A managed service gives such users; what cannot be seen is said to be unknown, and where it is to be seen."""
    url = as_user(own, "~ade:*", "+@all", "-@admin", "-@dangerous", "+scan")
    seen = look(own, url)
    assert all(one.status in ("ok", "unknown") for one in seen.values() if one.name != "scripts"), seen
    for name in ("rights", "eviction", "append-only file", "replicas", "slow log", "connections"):
        assert seen[name].status == "unknown", name
        assert seen[name].why
        assert seen[name].how
    assert "al can read queue 'default'" in seen["rights"].found
    url = as_user(own, "~ade:*", "+@all", "-@admin", "-@dangerous", "-hmget")
    assert look(own, url)["rights"].status == "fail"


def test_a_user_who_may_nothing(own: EmbeddedServer) -> None:
    seen = look(own, as_user(own, "+ping"))
    assert seen["rights"].status == "fail"
    assert {one.status for name, one in seen.items() if name != "rights"} == {"unknown"}
    assert all(one.why and one.how for one in seen.values())


def test_a_service_without_config(binary: Path) -> None:
    with EmbeddedServer(
        binary=binary, config={"rename-command": 'CONFIG ""', "maxmemory-policy": "allkeys-lfu"}
    ) as own:
        seen = look(own)
    assert (seen["eviction"].status, seen["eviction"].found) == ("fail", "maxmemory-policy is allkeys-lfu")
    assert seen["eviction"].how == [
        "set maxmemory-policy to noeviction in the settings of the service that runs the server"
    ]
    assert seen["append-only file"].found == "appendonly is yes, appendfsync is unknown"
    assert [name for name, one in seen.items() if one.status == "unknown"] == [
        "append-only file",
        "snapshots",
        "connections",
    ]


@pytest.mark.parametrize(
    ("changes", "name", "status", "found"),
    [
        ({"info": {"redis_version": "6.2.14"}, "shebang": False}, "engine", "fail", "Redis 6.2.14 is too old"),
        ({"info": {"redis_version": "7.2.0"}, "shebang": False}, "engine", "fail", "does not run scripts"),
        ({"info": {"redis_version": "7.0.15"}, "shebang": None}, "engine", "ok", "Redis 7.0.15, by its version"),
        ({"info": {"dragonfly_version": "1.40"}}, "engine", "warn", "Dragonfly 1.40 is untested"),
        ({"clock": (-75.0, 0.001)}, "clock", "warn", "the server is 75.0 s behind this machine"),
        ({"clock": (1.2, 0.5)}, "clock", "ok", "within 1.700 s"),
        ({"info": {"maxmemory_policy": "noeviction", "evicted_keys": 3}}, "eviction", "warn", "3 keys were deleted"),
        ({"info": {"used_memory": 90, "maxmemory": 100}}, "memory", "warn", "(90%)"),
        ({"info": {"aof_enabled": 1, "aof_last_write_status": "err"}}, "append-only file", "fail", "failed"),
        ({"info": {"rdb_last_bgsave_status": "err"}}, "snapshots", "warn", "the last snapshot failed"),
        ({"info": {"role": "master", "connected_slaves": 1}}, "replicas", "warn", "1 of 1 do not follow"),
        ({"info": {"connected_clients": 1, "rejected_connections": 9}}, "clients", "warn", "9 were refused"),
    ],
)
def test_what_a_test_cannot_make(url: str, changes: dict[str, Any], name: str, status: str, found: str) -> None:
    with Adeq.from_url(url) as client:
        facts = replace(gather(client, ["default"]), **changes)
    (seen,) = (one for one in check(facts).checks if one.name == name)
    assert seen.status == status
    assert found in seen.found


@pytest.mark.parametrize(
    ("aof", "fsync", "loses"),
    [
        (0, "everysec", "those since the last snapshot"),
        (1, "always", "none of them"),
        (1, "everysec", "those of about the last second"),
        (1, None, "those of about the last half minute"),
    ],
)
def test_without_a_replica_it_says_which_approvals_a_crash_loses(
    url: str, aof: int, fsync: str | None, loses: str
) -> None:
    with Adeq.from_url(url) as client:
        facts = gather(client, ["default"])
    info = {"role": "master", "connected_slaves": 0, "aof_enabled": aof}
    seen = replicas(replace(facts, info=info, settings={"appendfsync": fsync} if fsync else None))
    assert (seen.status, seen.found) == ("ok", "none")
    assert seen.why.endswith(f"a crash of the machine loses {loses}.")


def test_nothing_is_changed(own: EmbeddedServer) -> None:
    with redis.Redis.from_url(own.url) as client:
        before = client.dbsize(), client.config_get()
        look(own)
        assert (client.dbsize(), client.config_get()) == before
        assert not any(client.script_exists(*[library()[id].sha1 for id in library()]))


# tasks that a call has lost


def lose(server: EmbeddedServer, base: str, count: int) -> None:
    """As a call leaves them that failed half-way: out of their set, and in no other; one is in two."""
    with redis.Redis.from_url(server.url) as client:
        lost = client.zrange(f"{base}:ready:any", 1, count)
        client.zrem(f"{base}:ready:any", *lost)
        client.zadd(f"{base}:delayed", {client.zrange(f"{base}:ready:any", 0, 0)[0]: 1e13})
        client.sadd(f"{base}:lanes", "group/gone")


def test_tasks_in_no_set_are_found_and_put_back(own: EmbeddedServer) -> None:
    with Adeq.from_url(own.url) as client:
        queue = client.queue("jobs")
        ids = [receipt.id for receipt in queue.enqueue_many([Task(payload=n) for n in range(30)])]
        parts = client.partitioned("parted")
        parts.repartition(2)
        parts.enqueue_many([Task(payload=n) for n in range(40)])
        lose(own, queue.base, 20)
        assert look(own)["tasks"].status == "fail"
        assert look(own)["tasks"].found == "queue jobs: 20 tasks in no set, 2 wrong entries"
        assert look(own, queues=("parted",))["tasks"].found == "40 tasks, each in one set"
        assert doctor("--url", own.url).status == 1
        lose(own, next(one.base for one in parts.partitions() if parts.part(one.tag).stats().ready > 4), 3)

        dry = doctor("--url", own.url, "--repair", "--dry-run", "-o", "json")
        assert dry.status == 1
        found = {one["queue"]: one for one in json.loads(dry.stdout)["queues"]}
        assert (found["jobs"]["lost"], found["jobs"]["twice"], found["jobs"]["lanes"]) == (20, 1, 1)
        assert (found["jobs"]["tasks"], found["jobs"]["repaired"]) == (30, 0)
        assert sorted(one["lost"] for name, one in found.items() if name.startswith("parted")) == [0, 0, 3]

        ended = doctor("--url", own.url, "jobs", "--repair")
        assert ended.status == 0, ended
        cells = ended.stdout.splitlines()[1].split()
        assert cells == ["jobs", "30", "20", "1", "0", "0", "1", "0", "22", "21", "ready"]
        assert json.loads(doctor("--url", own.url, "--repair", "-o", "json").stdout)["queues"][-1]["repaired"] in (0, 5)
        assert look(own)["tasks"].found == "70 tasks, each in one set"
        assert [lease.id for lease in queue.claim(worker="w", limit=100)] == ids
        assert audit_server(client.client) == []


def test_repair_without_damage_and_without_queues(own: EmbeddedServer) -> None:
    assert doctor("--url", own.url, "--repair").stdout == "no queue was found\n"
    assert doctor("--url", own.url, "--dry-run").status == 2
    with Adeq.from_url(own.url) as client:
        client.queue("tested").enqueue({})
        client.queue("jobs").enqueue({})
        run(own, "HSET ade:{queue:tested}:config clock test")
        ended = doctor("--url", own.url, "--repair")
        assert ended.status == 1
        assert "tested: queue.repair.v1: now_ms must be sent" in ended.stderr
        assert "jobs" in ended.stdout
        assert look(own)["tasks"].status == "unknown"


def test_who_may_not_repair(own: EmbeddedServer) -> None:
    with Adeq.from_url(own.url) as client:
        client.queue("jobs").enqueue({})
    seen = look(own, as_user(own, *acl_rules("worker", queues=["jobs"], old=is_old(own))), ("jobs",))["tasks"]
    assert seen.status == "unknown"
    assert seen.how == ["as an operator: adeq doctor --repair --dry-run"]
