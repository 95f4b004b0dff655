"""What is so on a server, asked once. What it refuses to tell is None: managed services keep much to themselves."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from redis import RedisCluster, SSLConnection
from redis.exceptions import MasterDownError, MovedError, NoPermissionError, ResponseError
from redis.sentinel import SentinelConnectionPool

from pyadeq import Adeq, AdeqError, ConfigError, DamagedError, TransportError, library
from pyadeq.ext.operate.doctor import events
from pyadeq.ext.operate.doctor.nouns import Stored, base_at, damaged, is_damage, look, others
from pyadeq.ext.operate.doctor.repair import Inspection, inspect
from pyadeq.ext.operate.doctor.webhooks import PostFacts, post_facts, refused_in, stuck_in
from pyadeq.ext.outgoing.follower import Stuck
from pyadeq.ext.outgoing.patterns import WEBHOOKS
from pyadeq.ext.outgoing.posts.endpoints import NAMESPACE as POSTS
from pyadeq.ext.outgoing.webhooks import Known, Webhooks
from pyadeq.ext.outgoing.webhooks.endpoints import NAMESPACE
from pyadeq.ext.shared.finding import find_domains, find_queues
from pyadeq.ext.shared.layouts import newest_layouts
from pyadeq.keys import hash_slot, lock_base, partition_base, queue_base

T = TypeVar("T")

SETTINGS = (
    "appendfsync",
    "client-output-buffer-limit",
    "maxmemory-policy",
    "min-replicas-max-lag",
    "min-replicas-to-write",
    "save",
    "slowlog-log-slower-than",
    "tcp-keepalive",
    "timeout",
)
SLOW_ENTRIES = 128
CLOCK_SAMPLES = 3
SCAN_SECONDS = 5.0
MOST_QUEUES = 1000
MOST_DOMAINS = 1000
UNCHECKED_FOR = 60.0  # seconds; each agent has its turn to search every 30
PROBE = "#!lua flags=no-writes\nreturn 1"  # refused by what is older than 7.0
ROLES = ("produce", "work", "operate")
CLIENT_COMMANDS = (("SCRIPT", "LOAD", "return 1"), ("PING",))


class Slow(NamedTuple):
    """A script in the slow log: its id, or None if it is not of this release; seconds it took, and when."""

    script: str | None
    seconds: float
    at: float


class Layout(NamedTuple):
    """What the data of a queue is written in, and the oldest scripts that may touch it; exists: if there is one.

    slots: of its partitions.
    """

    queue: str
    layout: int
    layout_min: int
    exists: bool = True
    slots: Sequence[int] = ()


class Waits(NamedTuple):
    """A lock domain: how many requests live, and how many of them wait.

    layout: the oldest in which something is stored. layout_min: the oldest scripts that may touch it. unchecked: for
    how many that wait it has not been known for a minute whether they are in a deadlock.
    """

    domain: str
    layout: int
    layout_min: int
    live: int
    waiting: int
    unchecked: int


@dataclass(frozen=True)
class Facts:
    """All that the checks need.

    tool: the server's own command line, with the address. shebang: whether `#!lua` scripts run. clock: the server's
    time less this machine's, and how uncertain that is, both in seconds. user: who we are to the server. probed: the
    queue that rights were asked for, with its base. roles: whose calls this user may make there, of those that write.
    denied: commands of these that this user may not run, with the server's words.
    reading: what a read of that queue met with, empty if it went well; tried where `denied` cannot be known. domains:
    not looked for where queues are named; nor are others, the other nouns. other_roles: whose calls this user may
    make there. shards: the primaries of a cluster, with the slots of each. groups: those that
    read events. webhooks, webhooks_stuck, webhooks_refused, posts: of the services that send. inspection: what is
    damaged in the queues; None where SCAN is not allowed. wrong: keys of a wrong type, by `<noun> <name>`.
    """

    tool: str
    info: Mapping[str, Any]
    settings: Mapping[str, str] | None
    shebang: bool | None
    waitaof: bool | None
    clock: tuple[float, float] | None
    slow: Sequence[Slow] | None
    scripts: int
    missing: Sequence[str] | None
    queues: Sequence[Layout] | None
    all_queues: bool
    user: str | None
    probed: str
    base: str
    roles: Sequence[str] | None
    denied: Mapping[str, str] | None
    reading: str = ""
    cluster: Mapping[str, str] | None = None
    domains: Sequence[Waits] | None = ()
    others: Mapping[str, Sequence[Stored] | None] = field(default_factory=dict)
    other_roles: Mapping[str, Sequence[str] | None] = field(default_factory=dict)
    shards: Mapping[str, Sequence[range]] | None = None
    groups: Sequence[events.Read] | None = ()
    webhooks: Mapping[str, Known] | None = None
    webhooks_stuck: Stuck | None = None
    webhooks_refused: int | None = None
    posts: PostFacts | None = None
    inspection: Inspection | None = None
    wrong: Mapping[str, Sequence[str]] | None = None
    layouts: Mapping[str, int] = field(default_factory=newest_layouts)

    def setting(self, name: str) -> str | None:
        """A setting of the server, or None if it does not tell."""
        return None if self.settings is None else self.settings[name]

    @property
    def engine(self) -> str:
        """Name and version as the server tells them."""
        for name in ("dragonfly", "valkey", "redis"):
            if version := self.info.get(f"{name}_version"):
                return f"{name.capitalize()} {version}"
        return "unknown"


def gather(adeq: Adeq, names: Sequence[str]) -> Facts:
    """Ask for everything. names: the queues to look at; all that are found in 5 s without."""
    if isinstance(adeq.client, RedisCluster):
        raise ConfigError("client: the doctor checks one server; connect to each node of the cluster separately")
    client = adeq.client
    with suppress(NoPermissionError):
        client.ping()  # what refuses this, a wrong database or a script that runs on and on, refuses all
    info = _ask(client.info) or {}
    scanned = None if names else _ask(lambda: find_queues(adeq, SCAN_SECONDS, scan=True))
    found, complete = (list(names), True) if names else scanned or (None, False)
    probed = found[0] if found else "default"
    base = queue_base(probed, adeq.prefix, adeq.slot)
    user = _ask(client.acl_whoami)
    user = user if user is None else _text(user)
    roles = None if user is None else _ask(lambda: _roles(adeq, user, base, ROLES))
    noun_facts = {} if names else {noun: _ask(partial(look, adeq, noun, SCAN_SECONDS)) for noun in others()}
    denied = None if user is None or roles is None else _ask(lambda: _denied(adeq, user, base, roles))
    return Facts(
        tool=_tool(adeq, "valkey-cli" if "valkey_version" in info else "redis-cli"),
        info=info,
        settings=_ask(lambda: {name: _setting(adeq, name) for name in SETTINGS}),
        shebang=_runs_shebang(adeq),
        waitaof=_ask(lambda: _arities(adeq, ["waitaof"])["waitaof"] is not None),
        clock=_ask(lambda: min((_clock(adeq) for _ in range(CLOCK_SAMPLES)), key=lambda sample: sample[1])),
        slow=_ask(lambda: list(_slow(adeq))),
        scripts=len(library()),
        missing=_ask(lambda: _missing(adeq)),
        queues=None if found is None else _ask(lambda: _layouts(adeq, found[:MOST_QUEUES])),
        all_queues=complete and len(found or []) <= MOST_QUEUES,
        user=user,
        probed=probed,
        base=base,
        roles=roles,
        denied=denied,
        cluster=_ask(lambda: _texts(_command(adeq, "CLUSTER INFO"))) if info.get("cluster_enabled") else None,
        shards=_ask(lambda: _shards(adeq)) if info.get("cluster_enabled") else None,
        domains=() if names else _ask(lambda: _domains(adeq)),
        others=noun_facts,
        other_roles={noun: _roles_in(adeq, user, noun, stored) for noun, stored in noun_facts.items()},
        # these last, for they load the scripts that they run
        reading="" if denied is not None else _try_reading(adeq, probed),
        groups=() if names else _ask(lambda: events.look(adeq, SCAN_SECONDS)),
        webhooks=None if names else _ask(lambda: _endpoints(adeq)),
        webhooks_stuck=None if names or not _has_config(adeq, NAMESPACE) else _ask(lambda: stuck_in(adeq, NAMESPACE)),
        webhooks_refused=None
        if names or not _has_config(adeq, NAMESPACE)
        else _ask(lambda: refused_in(adeq, WEBHOOKS)),
        posts=None if names or not _has_config(adeq, POSTS) else _ask(lambda: post_facts(adeq)),
        inspection=_ask(lambda: inspect(adeq, names, seconds=SCAN_SECONDS)),
        wrong=_ask(lambda: damaged(adeq, SCAN_SECONDS, names)),
    )


def _endpoints(adeq: Adeq) -> dict[str, Known]:
    return Webhooks(adeq).list() if _has_config(adeq, NAMESPACE) else {}


def _has_config(adeq: Adeq, namespace: str) -> bool:
    """Whether there are endpoints. Without any, no script is asked: a first call would store it on the server."""
    return bool(_ask(lambda: adeq.client.exists(f"{adeq.config(namespace).base}:config")))


def _ask(question: Callable[[], T]) -> T | None:
    """The answer, or None if the server knows no such command or this user may not run it."""
    try:
        return question()
    except ResponseError as error:
        if _not_now(error):
            raise
        return None
    except TransportError as error:
        if error.retryable:
            raise
        return None


def _not_now(error: ResponseError) -> bool:
    """Whether the server refuses whatever it is asked: a script runs too long, or a replica has lost its primary."""
    return isinstance(error, MasterDownError) or str(error).startswith("BUSY ")


def _tool(adeq: Adeq, name: str) -> str:
    pool: Any = adeq.client.connection_pool  # type: ignore[union-attr]
    options = pool.connection_kwargs
    words = [name]
    if path := options.get("path"):
        words += ["-s", path]
    else:
        place = options.get("host", "localhost"), options.get("port", 6379)
        if isinstance(pool, SentinelConnectionPool):
            sentinels: Any = pool
            place = sentinels.get_master_address()
        host, port = place
        words += ["-h", host, "-p", port]
        words += ["--tls"] if issubclass(pool.connection_class, SSLConnection) else []
    words += ["-n", options["db"]] if options.get("db") else []
    words += ["--user", options["username"]] if options.get("username") else []
    words += ["--askpass"] if options.get("password") else []
    return shlex.join(map(str, words))


def _command(adeq: Adeq, *words: object) -> Any:
    return adeq.client.execute_command(*words)  # type: ignore[no-untyped-call]


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _texts(pairs: Mapping[Any, Any]) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in pairs.items()}


def _setting(adeq: Adeq, name: str) -> str:
    return _texts(adeq.client.config_get(name)).get(name, "")


def _runs_shebang(adeq: Adeq) -> bool | None:
    try:
        _command(adeq, "EVAL_RO", PROBE, 0)
    except NoPermissionError:
        return None
    except ResponseError as error:
        if _not_now(error):
            raise
        return False
    return True


def _clock(adeq: Adeq) -> tuple[float, float]:
    """One comparison of the two clocks; half of the round trip is what it may be wrong by."""
    before = time.time()
    seconds, micros = adeq.client.time()
    after = time.time()
    return seconds + micros / 1e6 - (before + after) / 2, (after - before) / 2


def _slow(adeq: Adeq) -> Iterator[Slow]:
    ids = {library()[id].sha1: id for id in library()}
    for entry in adeq.client.slowlog_get(SLOW_ENTRIES):
        command, _, rest = _text(entry["command"]).partition(" ")
        if command.upper() in ("EVALSHA", "EVALSHA_RO"):
            yield Slow(ids.get(rest.partition(" ")[0]), entry["duration"] / 1e6, float(entry["start_time"]))


def _missing(adeq: Adeq) -> list[str]:
    scripts = [library()[id] for id in library()]
    there = adeq.client.script_exists(*[script.sha1 for script in scripts])
    return [script.id for script, loaded in zip(scripts, there, strict=True) if not loaded]


def _layouts(adeq: Adeq, names: Sequence[str]) -> list[Layout]:
    layouts = []
    for name in names:
        with suppress(MovedError):  # a partition is here, and the list of them on another node, to be asked there
            layouts += _sound(partial(_layout, adeq, name))
    return layouts


def _sound(read: Callable[[], T]) -> list[T]:
    """What was read; nothing if a key has a wrong type. Another check names it."""
    try:
        return [read()]
    except ResponseError as error:
        if not is_damage(error):
            raise
        return []


def _layout(adeq: Adeq, name: str) -> Layout:
    key = f"{queue_base(name, adeq.prefix, adeq.slot)}:config"
    *stored, tags, homes = adeq.client.hmget(key, ["layout", "layout_min", "partitions", "homes"])
    oldest = int(stored[1] or 1)
    now = _text(tags or "").split()
    before = {tag for tag in _text(homes or "").replace(";", " ").split() if tag != "-"}
    others = [partition_base(name, tag, adeq.prefix) for tag in dict.fromkeys([*now, *sorted(before)])]
    layout = _oldest_form(adeq, key.removesuffix(":config"))
    for base in others:
        with suppress(MovedError):  # another node's, to be asked there
            layout = min(layout, _oldest_form(adeq, base))
    slots = [hash_slot(partition_base(name, tag, adeq.prefix)) for tag in now]
    return Layout(name, layout, oldest, any(stored) or bool(adeq.client.exists(key)), slots)


def _oldest_form(adeq: Adeq, base: str) -> int:
    """The layout of what is stored; what is not rewritten yet is of the one before."""
    layout, rewritten = adeq.client.hmget(f"{base}:config", ["layout", "rewritten"])
    newest = newest_layouts()["queue"]
    return min(int(layout or newest), int(rewritten or layout or newest))


def _shards(adeq: Adeq) -> dict[str, list[range]]:
    shards: dict[str, list[range]] = {}
    for first, last, (host, port, *_), *_ in _command(adeq, "CLUSTER SLOTS"):
        shards.setdefault(f"{_text(host)}:{port}", []).append(range(int(first), int(last) + 1))
    return shards


def _domains(adeq: Adeq) -> list[Waits]:
    names = find_domains(adeq, SCAN_SECONDS, scan=True).names[:MOST_DOMAINS]
    return [one for name in names for one in _sound(partial(_waits, adeq, name))]


def _waits(adeq: Adeq, name: str) -> Waits:
    base = lock_base(name, adeq.prefix, adeq.slot)
    now, waiting = adeq.client.hmget(f"{base}:requests", ["#now", "#waiting"])
    return Waits(
        name,
        _oldest_form(adeq, base),
        int(adeq.client.hget(f"{base}:config", "layout_min") or 1),
        adeq.client.zcount(f"{base}:deadlines", 0, "+inf"),
        int(waiting or 0),
        adeq.client.zcount(f"{base}:unchecked", 0, int(now or 0) - round(UNCHECKED_FOR * 1000)),
    )


def _roles_in(adeq: Adeq, user: str | None, noun: str, found: Sequence[Stored] | None) -> list[str] | None:
    """Return the roles in a noun whose calls this user may make, tried on the first object that was found."""
    if user is None:
        return None
    base = base_at(adeq, noun, found[0].name if found else "default")
    return _ask(lambda: _roles(adeq, user, base, [*library().manifest["nouns"][noun]["roles"]]))


def _roles(adeq: Adeq, user: str, base: str, roles: Sequence[str]) -> list[str]:
    """Return the roles whose calls this user may make, of roles that write."""
    calls = {role: ("ACL DRYRUN", user, "EVALSHA", "0" * 40, "1", f"{base}!{role}") for role in roles}
    return [role for role, call in calls.items() if _text(_command(adeq, *call)) == "OK"]


def _denied(adeq: Adeq, user: str, base: str, roles: Sequence[str]) -> dict[str, str]:
    """The commands of clients, and of a queue's scripts of these roles, that this user may not run on this base."""
    scripts = [library()[id] for id in library() if id.startswith("queue.")]
    own = {"observe", *(["any", *roles] if roles else [])}
    names = sorted({name for script in scripts if script.role in own for name in script.commands})
    key = f"{base}:config"
    commands: list[tuple[str, ...]] = [*CLIENT_COMMANDS, ("EVALSHA_RO", "0" * 40, "1", key)]
    commands += [("EVALSHA", "0" * 40, "1", key)] if roles else []
    commands += [("BLPOP", f"{base}:wake:any", "1")] if "work" in roles else []
    for name, arity in _arities(adeq, names).items():
        commands.append((name.upper(), *[key, *["1"] * abs(arity or 0)][: max(abs(arity or 2) - 1, 0)]))
    denied = {}
    for command in commands:
        answer = _text(_command(adeq, "ACL DRYRUN", user, *command))
        if answer != "OK":
            denied[" ".join(command[: 2 if command[0] == "SCRIPT" else 1])] = answer
    return denied


def _arities(adeq: Adeq, names: Sequence[str]) -> dict[str, int | None]:
    """How many words each command takes, itself among them, negative for that many and more; None if unknown."""
    rows = _command(adeq, "COMMAND INFO", *names)
    return {name: int(row[1]) if row else None for name, row in zip(names, rows, strict=True)}


def _try_reading(adeq: Adeq, name: str) -> str:
    try:
        adeq.queue(name).stats()
    except DamagedError:  # no question of rights
        return ""
    except AdeqError as error:
        return str(error)
    return ""
