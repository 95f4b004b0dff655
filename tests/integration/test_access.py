"""Users of one role each, with the real clients: they can do their work, and hear what they may not do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import redis

import pyadeq
from pyadeq import Cron, TransportError
from pyadeq.access import ROLES, Role, acl_rules
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.asyncio import Worker
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import ConfigError, LockLost
from pyadeq.keys import lock_base, queue_base
from tests.integration.cli.run import adeq
from tests.integration.faults.stored import stored
from tests.integration.servers import ask, is_old
from tests.waiting import DEADLINE

As = Callable[..., pyadeq.Adeq]


@pytest.fixture(scope="module")
def server(binary: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(binary=binary) as server:
        yield server


@pytest.fixture
def enlist(server: EmbeddedServer) -> Callable[..., dict[str, Any]]:
    """Makes a user with roles; how a client gets to be that."""

    def make(*roles: Role, **places: Any) -> dict[str, Any]:
        name = "-".join(roles)
        ask(server, "ACL", "SETUSER", name, "reset", "on", ">secret", *acl_rules(*roles, old=is_old(server), **places))
        return {"username": name, "password": "secret"}

    return make


@pytest.fixture
def become(server: EmbeddedServer, enlist: Callable[..., dict[str, Any]]) -> Iterator[As]:
    """Makes clients of users with these roles."""
    made: list[pyadeq.Adeq] = []

    def make(*roles: Role, **places: Any) -> pyadeq.Adeq:
        made.append(pyadeq.Adeq.from_url(server.url, **enlist(*roles, **places)))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def root(server: EmbeddedServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url) as root:
        yield root


def test_a_day_of_everybody(become: As, server: EmbeddedServer, base_name: str) -> None:
    ask(server, "ACL", "LOG", "RESET")
    producer, worker, operator, observer = (
        become(role).queue(base_name) for role in ("producer", "worker", "operator", "observer")
    )
    operator.configure(lease=10)
    operator.limits.set("user:ann", concurrency=1)
    operator.schedules.set("daily", Cron("0 3 * * *"))
    receipt = producer.enqueue("work", id="a", user="ann", reply=True)
    producer.enqueue("waste", id="b")
    assert producer.cancel("b") == "cancelled"
    (lease,) = worker.claim("w", wait=5)
    worker.heartbeat(lease)
    worker.ack(lease, "done")
    assert receipt.result(DEADLINE) == "done"
    assert [task and task.result for task in observer.get_many(["a", "b"])] == ["done", None]
    assert [task.id for task in observer.list("completed").tasks] == ["a"]
    assert [one.name for one in observer.schedules.iterate()] == ["daily"]
    assert observer.stats().finished == 2
    operator.admin.pause()
    operator.admin.resume()
    operator.admin.purge(all=True)
    locks = become("worker").locks(base_name)
    grant = locks.take("door", owner="w")
    assert become("observer").locks(base_name).get("door").held == 1
    assert become("operator").locks(base_name).admin.force_release("door", "to see").rids
    with pytest.raises(LockLost):
        grant.release()
    assert ask(server, "ACL", "LOG") == []


def test_a_worker_program_needs_its_role_only(
    become: As, enlist: Callable[..., dict[str, Any]], server: EmbeddedServer, base_name: str
) -> None:
    ask(server, "ACL", "LOG", "RESET")
    producer = become("producer").queue(base_name)
    become("operator").queue(base_name).schedules.set("often", pyadeq.Every(0.1))
    receipts = [producer.enqueue(number, reply=True) for number in range(20)]

    async def work() -> None:
        async with AsyncAdeq.from_url(server.url, **enlist("worker")) as client:

            async def handle(lease: pyadeq.Lease) -> Any:
                async with client.locks(base_name).acquire(f"lock:{(lease.payload or 0) % 3}", owner=lease.id):
                    return lease.payload

            worker = Worker(client.queue(base_name), handle)
            running = asyncio.create_task(worker.run())
            results = await asyncio.to_thread(lambda: [receipt.result(DEADLINE) for receipt in receipts])
            assert results == list(range(20))
            while not (await client.queue(base_name).stats()).finished > 20:
                await asyncio.sleep(0.01)
            worker.stop()
            await asyncio.wait_for(running, DEADLINE)

    asyncio.run(work())
    assert ask(server, "ACL", "LOG") == []


def test_the_queues_of_others_do_not_hide_ones_own(
    enlist: Callable[..., dict[str, Any]], server: EmbeddedServer, base_name: str
) -> None:
    with pyadeq.Adeq.from_url(server.url) as client:
        for name in (base_name, f"{base_name}2"):
            client.queue(name).enqueue("x")
    user = enlist("observer", queues=[base_name])
    url = server.url.replace("://", f"://{user['username']}:{user['password']}@")
    ended = adeq("queue", "ls", "--url", url, "-o", "json")
    rows = {row["queue"]: row for row in json.loads(ended.stdout)}
    assert (rows[base_name]["ready"], rows[f"{base_name}2"]["mode"]) == (1, "unreadable")


FORBIDDEN: list[tuple[Role, Callable[[pyadeq.Adeq, str], Any]]] = [
    ("observer", lambda client, name: client.queue(name).enqueue("x")),
    ("observer", lambda client, name: client.locks(name).take("door", owner="o")),
    ("producer", lambda client, name: client.queue(name).claim("w")),
    ("producer", lambda client, name: client.queue(name).admin.purge(all=True)),
    ("producer", lambda client, name: client.locks(name).take("door", owner="o")),
    ("worker", lambda client, name: client.queue(name).enqueue("x")),
    ("worker", lambda client, name: client.queue(name).admin.pause()),
    ("worker", lambda client, name: client.locks(name).admin.force_release("door", "mine")),
    ("operator", lambda client, name: client.queue(name).claim("w")),
    ("operator", lambda client, name: client.locks(name).take("door", owner="o")),
]


@pytest.mark.parametrize(("role", "call"), FORBIDDEN)
def test_what_is_not_theirs_is_refused_and_changes_nothing(
    become: As, root: redis.Redis, base_name: str, role: Role, call: Callable[[pyadeq.Adeq, str], Any]
) -> None:
    become("producer").queue(base_name).enqueue("work")
    bases = queue_base(base_name), lock_base(base_name)
    before = stored(root, *bases)
    with pytest.raises(TransportError, match=r"which is for the role \w+: .* adeq scripts acl") as error:
        call(become(role), base_name)
    assert (error.value.retryable, error.value.may_have_applied) == (False, False)
    assert stored(root, *bases) == before


def test_who_may_load_no_scripts_uses_those_that_are_there(become: As, root: redis.Redis, base_name: str) -> None:
    root.script_flush()
    client = become("producer", load=False)
    with pytest.raises(TransportError, match="SCRIPT LOAD"):
        client.queue(base_name).enqueue("x")
    become("operator").load_scripts()
    assert client.queue(base_name).enqueue("x").status == "created"


def test_places_of_ones_own(become: As, base_name: str) -> None:
    mine = become("producer", "worker", queues=[base_name])
    mine.queue(base_name).enqueue("x")
    mine.queue(base_name).claim("w")
    for refused in (mine.queue(f"{base_name}2").stats, mine.locks(base_name).stats):
        with pytest.raises(TransportError, match="NOPERM"):
            refused()


def test_a_slot_and_a_prefix(become: As, enlist: Callable[..., dict[str, Any]], server: EmbeddedServer) -> None:
    user = enlist("producer", prefix="other", slot="prod")
    with pyadeq.Adeq.from_url(server.url, prefix="other", slot="prod", **user) as client:
        client.queue("q").enqueue("x")
        with pytest.raises(TransportError, match="NOPERM"):
            client.queue("q").claim("w")
    with pyadeq.Adeq.from_url(server.url, **user) as client, pytest.raises(TransportError, match="NOPERM"):
        client.queue("q").enqueue("x")


@pytest.mark.parametrize("roles", [(), ("boss",)])
def test_a_role_that_there_is_not(roles: Any) -> None:
    with pytest.raises(ConfigError, match=f"allowed: {', '.join(ROLES)}"):
        acl_rules(*roles)


COMMANDS: dict[Role, list[str]] = {
    "observer": [
        "queue ls", "queue show Q", "queue stats Q", "task ls Q", "task show Q b", "dead ls Q", "limit ls --queue Q",
        "schedule ls --queue Q", "share ls --queue Q", "worker ls --queue Q", "lock ls -d Q", "lock show door -d Q",
        "lock graph -d Q", "scripts verify", "doctor Q",
    ],
    "producer": ["task enqueue Q --payload 1", "task cancel Q b", "task ls Q"],
    "worker": ["task ls Q"],
    "operator": [
        "queue show Q", "queue pause Q", "queue resume Q", "queue configure Q --backoff-cap 20", "dead retry Q a",
        "queue trim Q", "limit set user:b --queue Q --concurrency 2", "schedule trigger s --queue Q",
        "share set ann 50 --queue Q", "lock force-release door --reason x --yes -d Q", "lock capacity set p 2 -d Q",
        "task enqueue Q", "queue purge Q --yes", "scripts load", "scripts migrate -q Q -d Q",
    ],
}  # fmt: skip


@pytest.mark.parametrize("role", ROLES)
def test_the_command_line_in_a_role(
    enlist: Callable[..., dict[str, Any]], server: EmbeddedServer, root: redis.Redis, base_name: str, role: Role
) -> None:
    with pyadeq.Adeq.from_url(server.url) as client:
        client.load_scripts()
        queue, locks = client.queue(base_name), client.locks(base_name)
        for id in ("a", "b"):
            queue.enqueue("work", id=id)
        (lease,) = queue.claim("w", limit=1)
        queue.fail(lease, "no", retryable=False)
        queue.schedules.set("s", pyadeq.Every(60))
        held = locks.take("door", owner="o")
        user = enlist(role)
        url = server.url.replace("://", f"://{user['username']}:{user['password']}@")
        for command in COMMANDS[role]:
            ended = adeq(*command.replace("Q", base_name).split(), "--url", url)
            assert (ended.status, command) == (0, command), ended.stderr
        with suppress(LockLost):
            held.release()


CHANGES = {
    "author": ["put new --type t -m x", "submit d --policy p", "withdraw c", "cancel c", "ls", "policy ls"],
    "assess": ["assess c --rev 1 --score 9 --as bot", "show c"],
    "review": ["approve c --rev 1 --as bob", "retract c --rev 1 --as bob", "delegate c --to eve --as bob", "log c"],
    "apply": ["begin a", "heartbeat a TOKEN", "finish a TOKEN --result released", "deliver", "diff a --since 1"],
    "override": ["override c --rev 1 -m x --yes"],
    "operate": [
        "policy set q --required 1",
        "configure --lease 9",
        "reassign c add --reviewer user:eve -m x",
        "sweep",
        "stats",
    ],
}


@pytest.mark.parametrize("role", CHANGES)
def test_the_command_line_of_changes_in_a_role(
    enlist: Callable[..., dict[str, Any]], server: EmbeddedServer, base_name: str, role: str
) -> None:
    with pyadeq.Adeq.from_url(server.url) as client:
        client.load_scripts()
        changes = client.changes(base_name)
        changes.policies.set("p", required=1, reviewers=["user:bob"])
        for id in ("a", "c", "d"):
            made = changes.put(id, type="t", description="x", actor="ann")
            if id != "d":
                changes.submit(made, policy="p", actor="ann")
            if id == "a":
                changes.approve(made, actor="bob")
    user = enlist(f"change.{role}")
    url = server.url.replace("://", f"://{user['username']}:{user['password']}@")
    token = ""
    for command in ["stats", "show c", *CHANGES[role]]:
        words = ["change", *command.replace("TOKEN", token).split(), "--url", url, "-d", base_name]
        ended = adeq(*words, "-o", "json", ADEQ_ACTOR="root" if role == "override" else "ann")
        assert (ended.status, command) == (0, command), ended.stderr
        token = json.loads(ended.stdout).get("token", token) if command.startswith("begin") else token
    ended = adeq("inbox", "bob", "--url", url, "-d", base_name)
    assert ended.status == 0, ended.stderr


def test_the_partitions_of_a_queue_belong_to_it(server: EmbeddedServer, become: As) -> None:
    """An operator says which there are; who works there needs no more rights, and has none in another queue."""
    with pyadeq.Adeq.from_url(server.url) as root:
        root.load_scripts()
        for name in ("parted", "partedly"):
            root.partitioned(name).repartition(4)
    own = become("producer", "worker", queues=["parted"])
    queue = own.partitioned("parted")
    queue.enqueue_many(range(400))
    leases = [lease for _ in range(4) for lease in queue.claim("w", 400)]
    assert queue.ack_many([(lease, None) for lease in leases]) == ["completed"] * 400
    with pytest.raises(TransportError, match="NOPERM"):
        own.partitioned("partedly").enqueue("somebody's")
    with pytest.raises(TransportError, match="operator"):
        queue.repartition(8)


@pytest.mark.parametrize("slot", [None, "s"])
def test_a_service_that_reads_sessions_cannot_log_anybody_in(
    server: EmbeddedServer, enlist: Callable[..., dict[str, Any]], slot: str | None
) -> None:
    with pyadeq.Adeq.from_url(server.url, slot=slot) as root:
        root.load_scripts()
        made = root.sessions("shop").create("ann")
    user = enlist("session.use", session=["shop"], slot=slot)
    with pyadeq.Adeq.from_url(server.url, slot=slot, **user) as own:
        sessions = own.sessions("shop")
        found = sessions.get(made.id)
        assert found
        assert sessions.update(found, data=b"x")
        assert [one.handle for one in sessions.iterate("ann")] == [made.handle]
        for refused in (
            lambda: sessions.create("ann"),
            lambda: sessions.rotate(found),
            lambda: sessions.revoke(made.id),
            lambda: sessions.revoke_all("ann"),
            lambda: own.sessions("shopping").get(made.id),
        ):
            with pytest.raises(TransportError, match="NOPERM"):
                refused()


@pytest.mark.parametrize("names", ["jobs", ["*"], ["a b"]])
def test_names_that_are_none(names: Any) -> None:
    with pytest.raises(ConfigError, match="is not accepted; allowed: "):
        acl_rules("observer", queues=names)


def test_a_role_in_one_noun() -> None:
    rules = acl_rules("lock.work", "observer")
    of_two = [rule for rule in rules if "~ade:{lock:" in rule or "~ade:{queue:" in rule]
    assert of_two == ["~ade:{lock:*}:*", "%R~ade:{queue:*}:*", "~ade:{lock:*}!work"]
    assert {"+evalsha", "+hset"} <= set(rules)
    with pytest.raises(ConfigError, match=r"'lock.produce' is not accepted; .*, and in one noun: .*lock\.work"):
        acl_rules("lock.produce")


@pytest.mark.parametrize("named", ["queue", "domain", "lock", "memos"])
def test_names_of_what_there_is_not(named: str) -> None:
    with pytest.raises(ConfigError, match=f"{named} is not known; allowed: .*domains, kind, queues"):
        acl_rules("worker", **{named: ["a"]})  # type: ignore[arg-type]


def test_the_command_line_tells_the_rules(server: EmbeddedServer) -> None:
    rules = acl_rules("worker", "producer")
    told = adeq("scripts", "acl", "worker", "producer", "--user", "al")
    assert told.stdout == f"ACL SETUSER al reset on >PASSWORD {' '.join(rules)}\n"
    found = json.loads(adeq("--slot", "prod", "scripts", "acl", "observer", "-q", "jobs", "-o", "json").stdout)
    assert found["rules"] == acl_rules("observer", queues=["jobs"], domains=[], slot="prod")
    assert [rule for rule in found["rules"] if "ade" in rule] == [
        "%R~ade:{prod}:queue:jobs:*",
        "&ade:{prod}:queue:jobs:*",
    ]
    assert (
        "%R~ade:{lock:d}:*" in json.loads(adeq("scripts", "acl", "observer", "-d", "d", "-o", "json").stdout)["rules"]
    )
    only = json.loads(adeq("scripts", "acl", "worker", "--only", "lock=d", "-d", "e", "-o", "json").stdout)
    assert only["rules"] == acl_rules("worker", domains=["e", "d"])
    own = json.loads(adeq("scripts", "acl", "lock.work", "--only", "queue=q", "-o", "json").stdout)
    assert own == {"user": "USER", "roles": ["lock.work"], "rules": acl_rules("lock.work", queues=["q"])}
    for bad in ("memo=a", "lock", "lock="):
        refused = adeq("scripts", "acl", "worker", "--only", bad)
        assert (refused.status, "--only: " in refused.stderr) == (2, True), refused
    assert adeq("scripts", "acl", "boss").status == 2
    assert adeq("scripts", "acl", "worker", "--user", "al on >x").status == 2
    refused = adeq("scripts", "acl", "worker", "-q", "no such name")
    assert refused.status == 2
    assert "allowed: 1 to 100 of" in refused.stderr
