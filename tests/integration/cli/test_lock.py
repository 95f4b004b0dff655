"""`adeq lock`, but for `adeq lock watch`."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from pyadeq import Adeq, Locks, RequestState
from pyadeq.ext.cli.lock.listing import COLUMNS
from pyadeq.ext.cli.shared.common import iso
from pyadeq.ids import new_ulid
from pyadeq.models.lock import LockMode
from tests.integration.cli.run import Terminal, adeq, answer, error, lines
from tests.quick import slow_after

pytestmark = pytest.mark.any_engine

LONG = 600.0


class Domain(NamedTuple):
    """A lock domain, and how tests ask for locks there: without a client that polls or renews."""

    client: Adeq
    locks: Locks
    url: str

    def ask(self, resource: str, owner: str, mode: LockMode = "exclusive", **options: Any) -> RequestState:
        issued_ms = round(self.locks.stats().now * 1000)
        given = {"ttl": LONG, "wait": LONG, "issued_ms": issued_ms, **options}
        return self.client.send(self.locks.calls.acquire(new_ulid(), resource, owner, mode=mode, **given))

    @property
    def there(self) -> tuple[str, ...]:
        return "--domain", self.locks.name, "--url", self.url


@pytest.fixture
def domain(url: str, base_name: str) -> Iterator[Domain]:
    with Adeq.from_url(url) as client:
        domain = Domain(client, client.locks(base_name), url)
        domain.locks.configure(waiter=LONG)
        yield domain


@pytest.fixture
def busy(domain: Domain) -> Domain:
    """One holds `db:1` and two wait; two share `doc:1`; `gpu` has given 3 of 4 permits."""
    domain.ask("db:1", "ann/1", agent="ann", purpose="migration \x1b[31m[/red]")
    domain.ask("db:1", "bob", purpose="report")
    domain.ask("db:1", "cid", priority=9)
    domain.ask("doc:1", "bob", "shared")
    domain.ask("doc:1", "dan", "shared")
    domain.locks.capacities.set("gpu", 4, silent=LONG)
    domain.ask("gpu", "eve", "permit", permits=3)
    return domain


def held(domain: Domain, resource: str) -> list[str]:
    return [one.owner for one in domain.locks.get(resource).holders]


# ls, show, domains, stats


def test_ls(busy: Domain) -> None:
    found = answer("lock", "ls", *busy.there)
    assert [(one["owner"], one["state"], one["place"]) for one in found] == [
        ("ann/1", "held", None),
        ("bob", "waiting", 1),
        ("cid", "waiting", 2),
        ("bob", "held", None),
        ("dan", "held", None),
        ("eve", "held", None),
    ]
    first = found[0]
    assert (first["agent"], first["purpose"], first["ttl"]) == ("ann", "migration \x1b[31m[/red]", LONG)
    assert first["deadline_iso"] == iso(first["deadline"])
    assert first["since_iso"] == iso(first["since"])
    assert first["until"] is None
    assert found[-1]["locks"][0] | {"fence": 0} == {"resource": "gpu", "mode": "permit", "permits": 3, "fence": 0}
    as_lines = adeq("lock", "ls", *busy.there, "-o", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in as_lines] == found


def test_ls_as_a_table(busy: Domain) -> None:
    ended = adeq("lock", "ls", *busy.there, "-o", "wide")
    head, *rows = ended.stdout.splitlines()
    assert head.split() == list(COLUMNS)
    assert re.fullmatch(
        r"db:1 +exclusive +held +ann/1 +[\d.]+s ago +in \d+m\d\ds +ann +\d{16} +migration \ufffd\[31m\[/red\]", rows[0]
    )
    assert re.fullmatch(r"db:1 +exclusive +waiting +1 +bob +[\d.]+s ago +in \d+m\d\ds +bob +report", rows[1])
    assert re.match(r"gpu +3 permits +held +eve ", rows[5])
    assert ended.stderr == ""


@pytest.mark.parametrize(
    ("filter", "owners"),
    [
        ("--type doc", ["bob", "dan"]),
        ("--owner bob", ["bob", "bob"]),
        ("--agent ann", ["ann/1"]),
        ("--state waiting", ["bob", "cid"]),
        ("--state held --type db", ["ann/1"]),
        ("--owner nobody", []),
    ],
)
def test_ls_of_some(busy: Domain, filter: str, owners: list[str]) -> None:
    assert [one["owner"] for one in answer("lock", "ls", *filter.split(), *busy.there)] == owners
    assert len(lines("lock", "ls", *filter.split(), *busy.there)) == 1 + len(owners)


def test_ls_tells_that_there_is_more(busy: Domain) -> None:
    ended = adeq("lock", "ls", "--limit", "2", *busy.there)
    assert len(ended.stdout.splitlines()) == 3
    assert ended.stderr == "\nThere are more than 2: --limit N, or --all\n"
    assert len(answer("lock", "ls", "--limit", "2", *busy.there)) == 2
    assert adeq("lock", "ls", "--limit", "6", *busy.there).stderr == ""
    assert len(lines("lock", "ls", "--all", *busy.there)) == 7


def test_ls_of_a_request_for_several(domain: Domain) -> None:
    grant = domain.locks.take_many(["a", "b"], owner="ann")
    assert [(row[0], row[3]) for row in lines("lock", "ls", *domain.there)[1:]] == [("a", "ann"), ("b", "ann")]
    (found,) = answer("lock", "ls", *domain.there)
    assert {lock["resource"]: lock["fence"] for lock in found["locks"]} == grant.fences
    grant.release()
    assert answer("lock", "ls", *domain.there) == []


def test_show(busy: Domain) -> None:
    found = answer("lock", "show", "db:1", *busy.there)
    assert (found["domain"], found["resource"], found["held"], found["waiting"]) == (busy.locks.name, "db:1", 1, 2)
    assert found["now_iso"] == iso(found["now"])
    assert [(one["owner"], one["place"], one["priority"]) for one in found["waiters"]] == [("bob", 1, 5), ("cid", 2, 9)]
    assert [one["until_iso"] for one in found["waiters"]] == [iso(one["until"]) for one in found["waiters"]]
    assert found["capacity"] is None
    text = adeq("lock", "show", "db:1", *busy.there, "-o", "wide").stdout
    assert text.startswith("db:1 is held by 1, 2 waiting\n\nowner  mode ")
    assert re.search(r"^ann/1 +exclusive +\d{16} .* 10m00s +held +ann +migration \ufffd\[31m\[/red\]$", text, re.M)
    assert re.search(r"^ +1 +bob +exclusive +5 .* bob +report$", text, re.M)
    assert re.search(r"^ +2 +cid +exclusive +9 ", text, re.M)


def test_show_of_a_resource_with_a_capacity(busy: Domain) -> None:
    capacity = answer("lock", "show", "gpu", *busy.there)["capacity"]
    assert (capacity["max"], capacity["used"], capacity["status"], capacity["silent"]) == (4, 3, "active", LONG)
    assert capacity["heartbeat_iso"] == iso(capacity["heartbeat"])
    text = adeq("lock", "show", "gpu", *busy.there).stdout
    assert re.match(
        r"gpu is held by 1\n3 of 4 permits are in use; active, heartbeat [\d.]+s ago, due every 10m00s\n", text
    )


def test_show_of_what_nobody_holds(domain: Domain) -> None:
    assert adeq("lock", "show", "x:1", *domain.there).stdout == "x:1 is free\n"
    found = answer("lock", "show", "x:1", *domain.there)
    assert (found["holders"], found["waiters"], found["capacity"]) == ([], [], None)


def test_show_tells_that_there_is_more(busy: Domain) -> None:
    ended = adeq("lock", "show", "db:1", "--limit", "1", *busy.there)
    assert "cid" not in ended.stdout
    assert ended.stderr == "\nThere are more: --limit N, or adeq lock ls --all\n"


def test_domains(busy: Domain) -> None:
    counts = {"held": 4, "waiting": 2, "unchecked": 0, "ended": 0, "capacities": 1}
    name = busy.locks.name
    assert {"domain": name, **counts} in answer("lock", "domains", "--url", busy.url)
    assert [name, *map(str, counts.values())] in lines("lock", "domains", "--url", busy.url, "-o", "wide")
    found = answer("lock", "stats", *busy.there)
    assert counts.items() <= found.items()
    assert (found["domain"], found["now_iso"]) == (name, iso(found["now"]))
    assert ["waiting", "2"] in lines("lock", "stats", *busy.there)


def test_a_domain_that_cannot_be_read_does_not_hide_the_others(busy: Domain) -> None:
    with Adeq.from_url(busy.url, clock=lambda: 1_000_000) as client:
        client.locks(f"{busy.locks.name}-test").configure(clock="test")
    rows = {row["domain"]: row for row in answer("lock", "domains", "--url", busy.url)}
    assert rows[busy.locks.name]["held"] == 4
    assert "ADEQ_CLOCK" in rows[f"{busy.locks.name}-test"]["error"]
    assert [f"{busy.locks.name}-test", "unreadable"] in lines("lock", "domains", "--url", busy.url, "-o", "wide")


def test_prefix_and_slot(url: str, base_name: str) -> None:
    with Adeq.from_url(url, prefix="other", slot="shared") as client:
        client.locks(base_name).take("db:1", owner="ann")
    place = ["--prefix", "other", "--slot", "shared", "lock"]
    assert [one["owner"] for one in answer(*place, "ls", "-d", base_name, "--url", url)] == ["ann"]
    assert base_name in [row["domain"] for row in answer(*place, "domains", "--url", url)]
    assert "there is no" in error(1, "lock", "ls", "-d", base_name, "--url", url)


# graph


def test_graph(busy: Domain) -> None:
    found = answer("lock", "graph", *busy.there)
    assert [(one["owner"], one["blocker"], one["held"], one["deadlock"]) for one in found["edges"]] == [
        ("bob", "ann/1", True, None),
        ("cid", "bob", False, None),
    ]
    assert found["deadlocks"] == []
    assert lines("lock", "graph", *busy.there) == [
        ["owner", "wants", "resource", "of", "who", "deadlock"],
        ["bob", "exclusive", "db:1", "ann/1", "holds", "it"],
        ["cid", "exclusive", "db:1", "bob", "waits", "ahead"],
    ]
    as_lines = adeq("lock", "graph", *busy.there, "-o", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in as_lines] == found["edges"]


def test_graph_to_be_drawn(busy: Domain) -> None:
    graph = busy.locks.inspect.graph()
    assert adeq("lock", "graph", "--format", "mermaid", *busy.there).stdout == graph.mermaid()
    assert adeq("lock", "graph", "--format", "dot", *busy.there, "-o", "json").stdout == graph.dot()


def test_graph_of_a_deadlock(domain: Domain) -> None:
    """One that was too long to be found at once."""
    domain.locks.configure(detect_visits=16)
    count = 40
    for number in range(count):
        domain.ask(f"r{number}", f"o{number}")
    for number in range(count):
        assert domain.ask(f"r{(number + 1) % count}", f"o{number}").status == "queued"
    domain.ask("r7", "outside")
    found = answer("lock", "graph", *domain.there)
    (circle,) = found["deadlocks"]
    assert {step["owner"] for step in circle} == {f"o{number}" for number in range(count)}
    assert [edge["owner"] for edge in found["edges"] if not edge["deadlock"]] == ["outside"]
    table = adeq("lock", "graph", *domain.there).stdout
    assert "\n\ndeadlock 1: o" in table
    assert "o3 waits for r4 (exclusive) of o4, " in table
    marks = [row[-1] for row in map(str.split, table.splitlines()) if row[1:2] == ["exclusive"]]
    assert marks.count("1") == count
    mermaid = adeq("lock", "graph", "--format", "mermaid", *domain.there).stdout.splitlines()
    match = re.fullmatch(r"  linkStyle ([\d,]+) stroke:red", mermaid[-1])
    assert match
    assert len(match[1].split(",")) == count
    dot = adeq("lock", "graph", "--format", "dot", *domain.there).stdout
    assert dot.count(", color=red];") == count
    assert dot.endswith("}\n")


# release


def test_release(busy: Domain) -> None:
    holder = busy.locks.get("db:1").holders[0]
    found = answer("lock", "force-release", "db:1", "--reason", "stuck", "--yes", *busy.there)
    (lost,) = found["released"]
    assert (lost["rid"], lost["owner"], lost["agent"]) == (holder.rid, "ann/1", "ann")
    assert lost["locks"][0]["fence"] == holder.locks[0].fence
    assert found["fence"] > lost["locks"][0]["fence"]
    assert held(busy, "db:1") == ["bob"]
    assert [state.outcome for state in busy.locks.admin.poll([holder.rid])] == ["revoked"]
    assert busy.locks.get("db:1").holders[0].locks[0].fence > found["fence"]


def test_release_of_one_owner(busy: Domain) -> None:
    text = adeq("lock", "force-release", "doc:1", "--owner", "dan", "--reason", "stuck", "-y", *busy.there).stdout
    head, row, empty, last = text.splitlines()
    assert head.split() == ["owner", "mode", "fence", "since", "agent", "also", "lost", "purpose"]
    assert row.split()[:2] == ["dan", "shared"]
    assert empty == ""
    assert re.fullmatch(r"doc:1 was taken from 1 holder; the fence is \d{16} now", last)
    assert held(busy, "doc:1") == ["bob"]


def test_release_tells_what_goes_too(domain: Domain) -> None:
    domain.locks.take_many(["a", "b", "c"], owner="ann", purpose="all of it")
    row = lines("lock", "force-release", "b", "--reason", "stuck", "--yes", *domain.there)[1]
    assert row[0] == "ann"
    assert row[-5:] == ["a", "c", "all", "of", "it"]
    assert domain.locks.stats().held == 0


def test_release_needs_a_yes(busy: Domain) -> None:
    line = error(2, "lock", "force-release", "db:1", "--reason", "stuck", *busy.there)
    assert line == "adeq: This takes 'db:1' away from ann/1. There is no terminal to ask: add --yes"
    assert held(busy, "db:1") == ["ann/1"]


@pytest.mark.parametrize(("reply", "status", "owners"), slow_after(1, [("n", 1, ["ann/1"]), ("y", 0, ["bob"])]))
def test_release_asks_at_a_terminal(busy: Domain, reply: str, status: int, owners: list[str]) -> None:
    with Terminal("lock", "force-release", "db:1", "--reason", "stuck", *busy.there) as terminal:
        terminal.read_until("Go on? [y/N]: ")
        terminal.enter(f"{reply}\n")
        assert terminal.wait() == status
        assert ("nothing was released" in terminal.seen) == (status == 1)
    assert held(busy, "db:1") == owners


def test_offline(busy: Domain) -> None:
    assert "1 request of owner 'dan' ended" in adeq("lock", "offline", "--owner", "dan", "-y", *busy.there).stdout
    assert len(answer("lock", "offline", "--agent", "bob", "--yes", *busy.there)["ended"]) == 2
    assert held(busy, "doc:1") == []
    assert adeq("lock", "offline", "--owner", "dan", "-y", *busy.there).stdout.startswith("0 requests")


@pytest.mark.parametrize("who", [(), ("--owner", "o", "--agent", "a")])
def test_offline_needs_one_name(busy: Domain, who: tuple[str, ...]) -> None:
    assert "--owner, or an agent with --agent" in error(2, "lock", "offline", *who, "-y", *busy.there)


def test_release_of_what_is_not_held(busy: Domain) -> None:
    line = error(1, "lock", "force-release", "free", "--reason", "x", "--yes", *busy.there)
    assert line.startswith("adeq: resource: no request holds 'free' in domain ")
    line = error(1, "lock", "force-release", "db:1", "--owner", "zoe", "--reason", "x", "--yes", *busy.there)
    assert line.startswith("adeq: resource: zoe does not hold 'db:1' in domain ")
    assert held(busy, "db:1") == ["ann/1"]


# capacity


def test_capacity(busy: Domain) -> None:
    (found,) = answer("lock", "capacity", "ls", *busy.there)
    expected = {"resource": "gpu", "max": 4, "used": 3, "waiting": 0, "status": "active", "silent": LONG}
    assert expected.items() <= found.items()
    assert found["heartbeat_iso"] == iso(found["heartbeat"])
    as_lines = adeq("lock", "capacity", "ls", *busy.there, "-o", "jsonl").stdout
    assert json.loads(as_lines) == found
    found = answer("lock", "capacity", "set", "gpu", "8", "--silent", "1m", *busy.there)
    assert (found["resource"], found["max"], found["used"], found["silent"]) == ("gpu", 8, 3, 60)
    text = adeq("lock", "capacity", "set", "api", "2", *busy.there).stdout
    assert text == "api gives up to 2 permits, 0 are in use\n"
    head, api, gpu = lines("lock", "capacity", "ls", *busy.there)
    assert head == ["resource", "max", "used", "waiting", "status", "heartbeat", "silent"]
    assert api == ["api", "2", "0", "0", "active"]
    assert gpu[:5] == ["gpu", "8", "3", "0", "active"]
    assert gpu[-1] == "1m00s"


def test_drain_and_remove_a_capacity(busy: Domain) -> None:
    found = answer("lock", "capacity", "drain", "gpu", *busy.there)
    assert found == {"domain": busy.locks.name, "resource": "gpu", "status": "draining", "used": 3}
    assert adeq("lock", "capacity", "drain", "gpu", *busy.there).stdout == "gpu gives no more permits, 3 are in use\n"
    assert busy.ask("gpu", "fay", "permit").reason == "draining"
    assert "permits of 'gpu' are in use" in error(1, "lock", "capacity", "rm", "gpu", *busy.there)
    busy.locks.admin.force_release("gpu", "test")
    assert adeq("lock", "capacity", "rm", "gpu", *busy.there).stdout == "gpu no longer has a capacity\n"
    assert answer("lock", "capacity", "ls", *busy.there) == []
    for verb in ("drain", "rm"):
        assert "'gpu' has no capacity in domain" in error(1, "lock", "capacity", verb, "gpu", *busy.there)


def test_a_capacity_makes_its_domain(url: str, base_name: str) -> None:
    assert answer("lock", "capacity", "set", "gpu", "1", "-d", base_name, "--url", url)["max"] == 1
    assert answer("lock", "stats", "-d", base_name, "--url", url)["capacities"] == 1


# settings


def test_settings(url: str, base_name: str) -> None:
    there = ("-d", base_name, "--url", url)
    changes = "--lease 1m --waiter 20 --policy youngest --rate-per-minute 600 --detect-visits 100 --poll 500ms"
    found = answer("lock", "configure", *changes.split(), *there)["settings"]
    assert (found["lease"], found["waiter"], found["policy"], found["poll"]) == (60, 20, "youngest", 0.5)
    assert answer("lock", "configure", *there) == {"domain": base_name, "settings": found}
    table = lines("lock", "configure", *there)
    for row in (["lease", "60"], ["poll", "0.5"], ["policy", "youngest"], ["events-max", "100,000"]):
        assert row in table
    assert ["rate-burst", "3"] in lines("lock", "configure", "--rate-burst", "3", *there)
    assert "lease: 172800 is not accepted" in error(2, "lock", "configure", "--lease", "2d", *there)


# Times


# What is wrong


COMMANDS = "ls; show x; graph; force-release x --reason r --yes; watch; stats; capacity ls; capacity drain x"


@pytest.mark.parametrize("command", COMMANDS.split("; "))
def test_a_domain_that_there_is_not_is_not_made(url: str, base_name: str, command: str) -> None:
    line = error(1, "lock", *command.split(), "--domain", base_name, "--url", url)
    assert f"there is no '{base_name}' on this server" in line
    with Adeq.from_url(url) as client:
        assert not client.client.keys(f"*{base_name}*")


@pytest.mark.parametrize(
    "command",
    [
        "show a;b",
        "ls --type a:b",
        "ls --owner a;b",
        "force-release a;b --reason r -y",
        "watch a;b",
        "capacity set a;b 1",
    ],
)
def test_bad_names(domain: Domain, command: str) -> None:
    line = error(2, "lock", *command.split(), *domain.there)
    assert re.search(r"'a.b' is not accepted; allowed: 1 to \d00 of A-Z a-z", line)
    assert "domain: 'a;b' is not accepted" in error(2, "lock", "ls", "-d", "a;b", "--url", domain.url)


def test_a_server_that_does_not_answer() -> None:
    assert "start a server at" in error(3, "lock", "ls", "--url", "redis://127.0.0.1:1")


def test_tables_fit_a_terminal(busy: Domain) -> None:
    with Terminal("lock", "ls", *busy.there, COLUMNS="60") as terminal:
        assert terminal.wait() == 0
    rows = re.sub(r"\x1b\[\d*m", "", terminal.seen).splitlines()
    assert max(map(len, rows)) <= 60
    assert rows[0].split()[:4] == ["resource", "mode", "state", "owner"]
