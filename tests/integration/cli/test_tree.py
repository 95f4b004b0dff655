"""What every command of the tree does alike: a new one that does not fails here."""

import json
import math
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from pyadeq import Adeq, Changes, Every, Task
from pyadeq._core.session.ids import tag_of
from pyadeq._sync.kernel.partitions import PartitionedNoun
from pyadeq.ext.cli.app import app, module_of
from pyadeq.ext.cli.shared.made_facts import made
from pyadeq.ext.cli.shared.tree import behind_the_command, queue_first
from pyadeq.ext.operate.archive import Archive
from pyadeq.ext.outgoing.posts import Posts
from pyadeq.ext.outgoing.webhooks import Webhooks
from pyadeq.ext.server.tokens import new_token
from tests.integration.cli.run import COMMAND, adeq, environment, error
from tests.nouns.found import NOUNS
from tests.quick import slow_after
from tests.small_server import server, url
from tests.waiting import DEADLINE

__all__ = ["server", "url"]  # fixtures: many of these commands look at all keys of a server

pytestmark = pytest.mark.any_engine

CREATE = {
    "queue configure",
    "task enqueue",
    "worker run",
    "schedule set",
    "limit set",
    "share set",
    "lock capacity set",
    "lock run",
    "lock acquire",
    "task claim",
    "change put",
    "change policy set",
}
ARGUMENTS = {"KEY": "all", "KEY...": "all", "N": "1"}
MORE = {  # without these a command has nothing to do
    "dead retry": ["--all"],
    "dead abandon": ["--all"],
    **{f"worker {verb}": ["--all"] for verb in ("quiet", "resume", "stop", "restart", "resize")},
}


def test_the_list_of_commands_has_the_help_of_each() -> None:
    root: Any = typer.main.get_command(app)
    with typer.Context(root) as context, root._only_listed():
        listed = {name: root.get_command(context, name).get_short_help_str(200) for name in root.list_commands(context)}
    with typer.Context(root) as context:
        own = {name: root.get_command(context, name).get_short_help_str(200) for name in listed}
    assert listed == own


PROFILES = Path(__file__).with_name("profiles.toml")


class Leaf(NamedTuple):
    """A command, its parameters, and whether its help is shown."""

    path: str
    parameters: list[Any]
    hidden: bool

    def option(self, name: str) -> Any:
        return next((one for one in self.parameters if name in one.opts), None)

    def required(self) -> list[str]:
        """Values for what must be given, and what keeps it from asking."""
        words: list[str] = []
        for one in self.parameters:
            if one.required:
                options = one.opts if one.param_type_name == "option" else []
                words += [*options[:1], ARGUMENTS.get(one.metavar, "1" if "MAX" in (one.metavar or "") else "x")]
        words = ["0" if before == "--from" else word for before, word in zip(["", *words], words, strict=False)]
        return [*words, *MORE.get(self.path, []), *(["--yes"] if self.option("--yes") else [])]


def leaves(group: Any = None, path: str = "") -> Iterator[Leaf]:
    """Every command."""
    group = group or typer.main.get_command(app)
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from leaves(command, f"{path}{name} ")
        else:
            yield Leaf(path + name, command.params, command.hidden)


TREE = {leaf.path: leaf for leaf in leaves()}


def of_queue(leaf: Leaf) -> list[str] | None:
    """The words that name a queue that does not exist, if the command is about one."""
    if leaf.parameters[:1] and leaf.parameters[0].metavar == "QUEUE":
        return ["nosuch"]
    option = leaf.option("--queue")
    return ["--queue", "nosuch"] if option and not option.multiple else None


QUEUES = {path: words for path, leaf in TREE.items() if (words := of_queue(leaf)) and path not in CREATE}
DOMAINS = [
    path
    for path, leaf in TREE.items()
    if path.startswith(("lock ", "change ", "inbox"))
    and (option := leaf.option("--domain"))
    and not option.multiple
    and path not in CREATE
]


def test_the_tree_is_that_of_the_commands() -> None:
    assert TREE.keys() >= CREATE | MORE.keys()
    assert len(QUEUES) > 30
    assert len(DOMAINS) > 30


@pytest.mark.parametrize("path", QUEUES)
def test_a_queue_that_does_not_exist_is_refused(path: str, url: str, base_name: str) -> None:
    words = TREE[path].required()
    if QUEUES[path] == ["nosuch"]:
        words[0] = "nosuch"
    else:
        words += QUEUES[path]
    place: dict[str, Any] = {"ADEQ_URL": url, "ADEQ_PREFIX": base_name}
    line = error(1, *path.split(), *words, **place)
    key = f"{base_name}:{{queue:nosuch}}:config"
    start = f"adeq: queue: there is no 'nosuch' on this server (its key would be {key}); "
    assert line == f"{start}there are none under this prefix; see adeq queue ls"
    with Adeq.from_url(url, prefix=base_name) as client:
        client.queue("mail").configure()
    assert error(1, *path.split(), *words, **place) == f"{start}there are: mail; see adeq queue ls"
    with Adeq.from_url(url, prefix=base_name) as client:
        assert list(client.queues()) == ["mail"], "looking for a queue must not create it"


@pytest.mark.parametrize("path", DOMAINS)
def test_a_domain_that_does_not_exist_is_refused(path: str, url: str, base_name: str) -> None:
    words = [*VALUES.get(path, TREE[path].required()), "--domain", "jobs"]
    noun = "lock" if path.startswith("lock ") else "change"
    with Adeq.from_url(url, prefix=base_name) as client:
        client.noun(noun, "jobz").configure()
        line = error(1, *path.split(), *words, ADEQ_URL=url, ADEQ_PREFIX=base_name)
        key = f"{base_name}:{{{noun}:jobs}}:config"
        assert line == (
            f"adeq: --domain: there is no 'jobs' on this server (its key would be {key}); "
            f"did you mean jobz? See adeq {noun} domains"
        )
        assert list(client.names(noun)) == ["jobz"]


# Options that all commands share


@pytest.mark.parametrize("path", TREE)
def test_options_are_accepted_before_and_after_every_noun_and_verb(path: str) -> None:
    leaf = TREE[path]
    shared = [word for option in ("--url", "--queue", "--domain") if leaf.option(option) for word in (option, "x")]
    if of_queue(leaf):
        shared += ["--queue", "x"]
    shared += ["--prefix", "x", "--slot", "x", "--cluster", "--codec", "m:x"]
    words = path.split()
    for place in range(len(words) + 1):
        ended = adeq(*words[:place], *shared, *words[place:], "--help")
        assert (ended.status, ended.stderr) == (0, "")
        assert ended.stdout.startswith(f"Usage: adeq {path} "), "it is the help of the command"


@pytest.mark.parametrize("place", range(4))
def test_options_mean_the_same_wherever_they_are(place: int, url: str, base_name: str) -> None:
    def words(*path: str, options: list[str]) -> list[str]:
        return [*path[:place], *options, *path[place:]]

    there = ["--url", url, f"--prefix={base_name}"]
    assert json.loads(
        adeq(*words("queue", "configure", "--lease=9", options=[*there, "-ojson", "--queue", "q"])).stdout
    )
    ended = adeq(*words("queue", "show", "q", options=[*there, "-o", "json"]))
    assert json.loads(ended.stdout)["settings"]["lease"] == 9
    assert json.loads(adeq(*words("limit", "ls", options=[*there, "--queue=q", "-o=jsonl", "-o", "json"])).stdout) == []
    ended = adeq(*words("lock", "capacity", "set", "gpu", "4", options=[*there, "-d", "m", "-o", "json"]))
    assert json.loads(ended.stdout)["domain"] == "m"


def test_the_command_line_goes_before_the_environment(url: str, base_name: str) -> None:
    wrong: dict[str, Any] = {"ADEQ_URL": "redis://127.0.0.1:1", "ADEQ_PREFIX": "wrong", "ADEQ_OUTPUT": "table"}
    ended = adeq("--url", url, "--prefix", base_name, "-o", "json", "queue", "ls", stdin=b"", **wrong)
    assert (ended.status, ended.stdout) == (0, "[]\n")


def test_the_option_nearest_to_the_end_counts(url: str, base_name: str) -> None:
    ended = adeq("--prefix", "wrong", "queue", "--prefix", base_name, "ls", "--url", url, "-o", "json")
    assert (ended.status, ended.stdout) == (0, "[]\n")


@pytest.mark.parametrize(
    ("given", "moved"),
    [
        ([], []),
        (["--help"], ["--help"]),
        (["--url", "u"], []),
        (["--url"], []),
        (["--url", "u", "queue"], ["queue", "--url", "u"]),
        (["--cluster", "--version", "queue", "ls"], ["--version", "queue", "--cluster", "ls"]),
        (["-ojson", "--url=u", "queue", "ls", "--help"], ["queue", "-ojson", "--url=u", "ls", "--help"]),
        (["queue", "--url", "u"], ["queue", "--url", "u"]),
    ],
)
def test_moving_options(given: list[str], moved: list[str]) -> None:
    assert behind_the_command(given) == moved


@pytest.mark.parametrize(
    ("given", "moved"),
    [
        (["t1", "--queue", "q", "-o", "json"], ["q", "t1", "-o", "json"]),
        (["--queue=q"], ["q"]),
        (["q", "--queue"], ["q", "--queue"]),
        (["--", "--queue", "q"], ["--", "--queue", "q"]),
    ],
)
def test_moving_the_queue(given: list[str], moved: list[str]) -> None:
    assert queue_first(given) == moved


@pytest.mark.parametrize("words", ["limit ls one two", "limit ls -o json one", "limit set user:* 5"])
def test_other_words_are_no_queue(words: str) -> None:
    ended = adeq(*words.split())
    assert ended.status == 2
    assert "Got unexpected extra argument" in ended.stderr.partition("[--queue QUEUE]")[2]


# A reader that goes away


@pytest.mark.parametrize(
    "words",
    slow_after(
        1,  # and one in test_cli.py
        [
            ["task", "ls", "q", "--all", "-o", "jsonl"],
            ["--help"],
            ["queue", "watch", "q", "--interval", "100ms"],
            ["task", "ls", "nosuch"],
            ["--version"],
            ["queue", "--help"],
            ["scripts", "ls"],
            ["scripts", "ls", "-o", "json"],
            ["scripts", "acl", "worker"],
            ["scripts", "verify"],
            ["doctor"],
            ["queue", "ls"],
            ["queue", "ls", "-o", "json"],
            ["queue", "show", "q"],
            ["queue", "stats", "q"],
            ["queue", "watch", "q", "--interval", "100ms", "-o", "jsonl"],
            ["task", "ls", "q", "--all"],
            ["task", "ls", "q", "--all", "-o", "json"],
            ["task", "show", "q", "t1"],
            ["task", "tree", "q", "t1"],
            ["lock", "ls"],
            ["lock", "domains"],
            ["lock", "watch", "--for", "100ms", "-o", "json"],
            ["inbox"],
            ["change", "ls"],
            ["change", "watch", "--for", "100ms", "-o", "json"],
        ],
    ),
    ids=" ".join,
)
def test_a_reader_that_goes_away_is_no_error(words: list[str], url: str, base_name: str) -> None:
    with Adeq.from_url(url, prefix=base_name) as client:
        client.queue("q").enqueue_many([{}] * 500)
        client.queue("q").enqueue({}, id="t1", headers={"long": "x" * 2000})
        client.locks("default").configure()
        client.changes("default").configure()
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        ended = subprocess.run(
            [*COMMAND, *words],
            stdout=theirs,
            stderr=theirs if "nosuch" in words else subprocess.PIPE,
            env=environment(ADEQ_URL=url, ADEQ_PREFIX=base_name),
            timeout=DEADLINE,
            check=False,
        )
    finally:
        os.close(theirs)
    assert ended.stderr in (None, b"")
    assert ended.returncode == (1 if "nosuch" in words else 0)


# Answers

SLOW = {
    "chaos",
    "bench",
    "demo",
    "metrics",
    "serve",
    "send",
    "maintain",
    "worker run",
    *(f"{noun} {verb}" for noun in ("webhook", "post") for verb in ("run", "test")),
    "dev-server",
    "migrate queue",
    "lock run",
    *(f"lock {verb}" for verb in ("renew", "release")),
    *(f"task {verb}" for verb in ("ack", "fail", "release", "heartbeat")),
    *(f"migrate {verb}" for verb in ("mirror", "shadow", "cutover")),
}  # they have tests of their own
PROSE = {"doctor", "scripts acl", "scripts show"}  # text and commands to copy, which lines of 80 would break
SENTENCES = {"lock acquire", "task claim", "queue pause", "queue drain", "queue watch", "schedule backfill"}
WATCH = {
    path: ["--for", "100ms"] for path in ("queue watch", "task watch", "lock watch", "change watch", "config watch")
}
ANSWER = ["x", "--rev", "1", "--as", "bob"]
VALUES = {  # that are not x
    "registry remove": ['{"name": "x"}'],
    "kind publish": ['{"id": "x", "version": 1, "schema": "{}"}'],
    "schedule set": ["--every", "1h"],
    "limit set": ["--concurrency", "3"],
    "share set": ["x", "2"],
    "share show": ["x"],
    "schedule backfill": ["x", "--from", "4102444800", "--to", "4102444801"],
    "flag set": ["x", "enabled"],
    "bindings": ["go", "pyadeq"],
    **{f"archive {verb}": ["archive"] for verb in ("write", "read", "verify")},
    **{f"migrate {verb}": ["celery"] for verb in ("plan", "move", "status", "rollback", "cleanup")},
    "scripts show": ["lock.stats.v1"],
    "scripts acl": ["worker"],
    "task result": ["x", "done"],
    "task claim": ["x", "--lane", "group/g"],
    "token add": ["ann", "--right", "observer"],
    **{f"token {verb}": ["0123456789ab"] for verb in ("show", "revoke")},
    "webhook add": ["new", "https://1.1.1.1/", "--event", "task.dead", "--secret", "env:HOOK"],
    **{f"webhook {verb}": ["orders"] for verb in ("show", "rm", "enable", "disable")},
    "post add": ["new", "json", "https://1.1.1.1/"],
    **{f"post {verb}": ["on-call"] for verb in ("show", "rm")},
    "webhook rotate": ["orders", "--secret", "env:NEW"],
    "webhook replay": ["orders", "--since", "1h"],
    "profile show": ["laptop"],
    "lock offline": ["--owner", "o1", "--yes"],
    "lock force-release": ["database:orders", "--reason", "x", "--yes"],
    "worker show": ["host-12345-abcdef"],
    "inbox": ["bob"],
    "config show": ["mail/limit"],
    "config get": ["mail/limit"],
    "config set": ["mail/limit", "x"],
    "config rm": ["mail/limit"],
    "config history": ["mail/limit"],
    "config revert": ["mail/limit", "7"],
    "rate set": ["x", "--rate", "10/1m"],
    **{f"rate {verb}": ["mail:send", "user:1"] for verb in ("hit", "refund", "reset", "show")},
    "rate rm": ["mail:send"],
    "session show": ["ann@example.org", "0114498021cb8c4f"],
    "session revoke": ["ann", "0" * 16],
    "session revoke-all": ["ann", "--yes"],
    "change diff": ["x", "--since", "1"],
    "change put": ["new", "--type", "deploy", "-m", "x"],
    "change submit": ["draft", "--policy", "x", "--as", "ann"],
    "change withdraw": ["x", "--as", "ann"],
    "change cancel": ["x", "--as", "ann"],
    "change reopen": ["rejected", "--as", "ann"],
    "change assess": ["x", "--rev", "1", "--score", "9", "--as", "scanner"],
    **{f"change {verb}": ANSWER for verb in ("approve", "reject", "request-changes", "abstain", "retract")},
    "change delegate": ["x", "--to", "zoe", "--as", "bob"],
    "change take-back": ["delegated", "--as", "bob"],
    "change reassign": ["x", "add", "--reviewer", "user:zoe", "-m", "x"],
    "change override": ["x", "--rev", "1", "-m", "x", "--yes"],
    "change begin": ["approved"],
    "change delegation show": ["x", "--user", "zoe"],
    "change heartbeat": ["applying", "token"],
    "change finish": ["applying", "token", "--result", "success"],
}


READS = {
    "acl", "diff", "doctor", "domains", "get", "graph", "groups", "history", "inbox", "log", "ls", "namespaces",
    "partitions", "read", "realms", "settings", "show", "stats", "tree", "verify", "watch",
}  # fmt: skip
FRESH = 10  # seconds, after which leases of a place may be about to end


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    """The place of the commands that only read, and when it was made."""
    return {"made": -math.inf}


@pytest.fixture
def place(path: str, shared: dict[str, Any], url: str, base_name: str, tmp_path: Path) -> dict[str, Any]:
    """What a command needs to find a place with some of everything. One that writes has it for itself."""
    noun, *_, verb = path.split() if " " in path else ("", path)
    if noun == "archive" or verb not in READS:
        found = furnished(url, base_name, changes=noun in ("change", "scripts"))
        if path in ("archive read", "archive verify"):
            with Adeq.from_url(url, prefix=base_name) as client:
                Archive(str(tmp_path / "archive")).write(client, streams=["queue:x"])
        return found
    if time.monotonic() - shared["made"] > FRESH:
        shared.update(made=time.monotonic(), place=furnished(url, base_name))
    place: dict[str, Any] = shared["place"]
    return place


def furnished(url: str, prefix: str, *, changes: bool = True) -> dict[str, Any]:
    """A queue and a lock domain in which there is some of everything, with names as long as usual."""
    with Adeq.from_url(url, prefix=prefix) as client:
        queue, locks = client.queue("x"), client.locks("default")
        for state in ("dead", "done", "x"):
            ids: dict[str, Any] = {"id": state} if state != "dead" else {}
            queue.enqueue({}, kind="send-mail", user="ann@example.org", tags=["one", "two"], **ids)
        dead, done = queue.claim("host-12345-abcdef", 2)
        queue.fail(dead, "no", retryable=False)
        queue.ack(done, 1)
        queue.enqueue_many([Task(kind="send-mail", user="ann@example.org", delay=60), Task(lane="group/g")])
        queue.claim("host-12345-abcdef", 1)
        queue.schedules.set("x", Every(60), {})
        queue.limits.set("user:ann@example.org", concurrency=1, starts=10, period=60)
        queue.shares.set("ann@example.org", 2)
        for noun in NOUNS:
            if noun == "events":  # of the others
                continue
            found = client.noun(noun, "default")
            if isinstance(found, PartitionedNoun):  # one partition, as the audit looks at all of each test
                client.send(found.part(found.tags[0]).build("configure", settings=[]))
            else:
                found.configure()
        client.events("queue", "x").add("x")
        locks.capacities.set("x", 4)
        locks.capacities.set("gpu:0", 4, silent=60)
        locks.take("database:orders", owner="host-12345", agent="agent-12345", purpose="migration of all orders")
        client.rates("default").set("mail:send", limit=1000, period=86_400, burst=10)
        config = client.config("default")
        client.config("flags").set("flag:x", "enabled", actor="ann@example.org", reason="the new checkout was tested")
        config.set("mail/limit", {"most": 4}, actor="ann@example.org", reason="a test of the new limit")
        client.client.hset(f"{config.base}:value:mail/limit", "version", 7)  # so that the command lines can name it
        client.client.zadd(f"{config.base}:changed", {"mail/limit": 7})
        part = client.sessions("default").part(tag_of("default", "ann@example.org"))
        about = {"address": "2001:db8::7334", "agent": "Mozilla/5.0 (X11; Linux)", "name": "Ann"}
        client.send(part.build("create", hash="0" * 64, user="ann@example.org", **about))
        if changes:
            add_changes(client, client.changes("default"))
        _, _, token = new_token("ann@example.org", ["operator"], names=["mail-*", "news-*"])
        client.config("_tokens").set("0123456789ab", token.encoded())
        hook = "https://1.1.1.1/hooks/of-the-orders-service/3f9c0e6b12ad"
        Posts(client).add(
            "on-call", "json", "https://1.1.1.1/posts-of-the-orders-service/3f9c0e6b12ad", streams=["queue:x"]
        )
        Webhooks(client).add("orders", hook, secret="file:/run/secrets/hook", events=["task.dead", "task.expired"])
    where = {"ADEQ_URL": url, "ADEQ_PREFIX": prefix, "ADEQ_QUEUE": "x", "ADEQ_EVENTS_STREAM": "queue:x"}
    return {**where, "ADEQ_CONFIG": str(PROFILES), "ADEQ_FROM": url}


def add_changes(client: Adeq, changes: Changes) -> None:
    """A change in each of some states, named by them; x is under review."""
    changes.policies.set("x", required=1, reviewers=["user:bob", "user:eve@example.org", "group:on-call"])
    changes.delegations.set("zoe", "x", to="max", until=4_102_444_800, types=["deploy"], tags=["infrastructure"])
    for id in ("x", "draft", "rejected", "delegated", "approved", "applying"):
        content: Any = {
            "resources": ["database:orders", "service:orders"],
            "tags": ["infrastructure"],
            "team": "payments",
        }
        made = changes.put(
            id,
            type="deploy",
            description="Raise the pool size of the orders service, and that of its two other clients",
            actor="ann",
            **content,
        )
        if id == "draft":
            continue
        changes.submit(made, policy="x", priority="urgent", actor="ann")
        changes.assess(made, score=99, assessed_by="scanner of the platform team", actor="scanner")
        if id == "rejected":
            changes.reject(made, actor="bob", reason="not before the end of the freeze, which lasts until Monday")
        if id in ("approved", "applying"):
            changes.approve(made, actor="bob", reason="it was tested with all the load of the day before, twice")
        if id == "delegated":
            changes.delegate(id, "zoe", actor="bob")

        if id == "applying":
            call = changes.calls.build("begin", rid="token", id=id, rev=made.rev, digest=made.digest, agent="deployer")
            client.send(call)


def words_of(path: str) -> list[str]:
    leaf = TREE[path]
    words = VALUES.get(path) or leaf.required()
    if path in ("schedule set", "limit set"):
        words = [*leaf.required(), *words]
    return [*path.split(), *words, *WATCH.get(path, [])]


@pytest.mark.parametrize("path", TREE.keys() - SLOW)
def test_every_command_answers_as_json(
    path: str, place: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    json.loads(adeq(*words_of(path), "-o", "json", stdin=b"", **place).stdout)
    assert adeq(*words_of(path), "-o", "xml", stdin=b"", **place).status == 2


@pytest.mark.parametrize("path", SLOW)
def test_slow_commands_have_the_option(path: str) -> None:
    assert "-o, --output <table|wide|json|jsonl>" in adeq(*path.split(), "--help").stdout


@pytest.mark.parametrize("path", TREE.keys() - SLOW - PROSE - SENTENCES)
def test_tables_fit_80_columns(
    path: str, place: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    ended = adeq(*words_of(path), stdin=b"", **place)
    assert [line for line in ended.stdout.splitlines() if len(line) > 80] == []
    assert "Traceback" not in ended.stderr


# Verbs

# Those that are written by hand. What a row of the operations says, was chosen there.
VERBS = {
    "ls show set rm stats watch configure pause resume drain",  # the same everywhere
    "purge trim partitions",  # of queues
    "enqueue cancel retry run-now result tree steps abandon claim ack fail",  # of tasks
    "trigger backfill fire",  # of schedules
    "domains graph acquire renew release force-release offline",  # of locks
    "run quiet stop restart resize",  # of workers
    "load verify acl migrate",  # of scripts
    "put submit withdraw reopen assess begin heartbeat finish sweep deliver diff log",  # of changes
    "hit refund reset namespaces",  # of rates
    "get history revert",  # of configs
    "read groups",  # of events
    "realms revoke revoke-all renew-authz",  # of sessions
    "on off",  # of flags
    "write",  # of archives
    "plan mirror shadow cutover move queue status rollback cleanup",  # of migrations
    "add enable disable rotate secret test replay",  # of webhooks
    "approve reject request-changes abstain retract comment delegate take-back reassign override",  # of their reviewers
}


def test_verbs_are_the_same_for_all_nouns() -> None:
    known = {verb for verbs in VERBS for verb in verbs.split()} | {verb for verbs in made().values() for verb in verbs}
    named = [path.split() for path, leaf in TREE.items() if not leaf.hidden and " " in path]
    generated = {noun for noun in NOUNS if module_of(noun) is None}  # verbs as those of scripts
    shown = [words for words in named if words[0] not in generated]
    assert {verb for *_, verb in shown} <= known
    nouns = {" ".join(noun) for *noun, verb in shown if verb == "ls"}
    assert [noun for noun in sorted(nouns) if f"{noun} show" not in TREE] == []
    assert not [path for path, leaf in TREE.items() if leaf.hidden]
