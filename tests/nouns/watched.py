"""Generated scripts in a real Lua 5.1, their commands passed on to a real server, and watched.

Nothing is simulated but what Redis puts around Lua: the globals, and how values are converted both ways.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha1
from socket import AF_UNIX, SO_RCVTIMEO, SOL_SOCKET, socket
from struct import pack
from typing import Any, Final

import redis
from hiredis import Reader, pack_command
from lupa.lua51 import LuaError, LuaRuntime, lua_type
from redis.connection import DefaultParser

from pyadeq._core.kernel.call import Call, Reply, parse_reply
from pyadeq._core.kernel.manifest import Field, Key, Library, Script, library
from pyadeq._core.kernel.packing import Wire
from pyadeq.errors import AdeqError
from pyadeq.keys import PATTERNS

# fmt: off
GLOBALS: Final = [
    "assert", "error", "getmetatable", "ipairs", "math", "next", "pairs", "pcall", "rawequal", "rawget", "rawset",
    "select", "setmetatable", "string", "table", "tonumber", "tostring", "type", "unpack", "xpcall",
]
# fmt: on

# The commands that scripts use: the type of their key and whether they write; unlisted commands are refused.
COMMANDS: Final = {
    **dict.fromkeys(["HEXISTS", "HGET", "HGETALL", "HKEYS", "HLEN", "HMGET", "HSCAN"], ("hash", False)),
    **dict.fromkeys(["HDEL", "HINCRBY", "HSET", "HSETNX"], ("hash", True)),
    **dict.fromkeys(["ZCARD", "ZCOUNT", "ZLEXCOUNT", "ZMSCORE", "ZRANGE", "ZRANK", "ZSCAN", "ZSCORE"], ("zset", False)),
    **dict.fromkeys(["ZADD", "ZPOPMIN", "ZREM", "ZREMRANGEBYRANK", "ZREMRANGEBYSCORE"], ("zset", True)),
    **dict.fromkeys(["SCARD", "SISMEMBER", "SMISMEMBER", "SRANDMEMBER"], ("set", False)),
    **dict.fromkeys(["SADD", "SREM"], ("set", True)),
    **dict.fromkeys(["GET", "MGET", "STRLEN"], ("string", False)),
    **dict.fromkeys(["MSET", "SET"], ("string", True)),
    **dict.fromkeys(["LINDEX", "LLEN", "LRANGE"], ("list", False)),
    **dict.fromkeys(["LPUSH", "LTRIM", "RPOP", "RPUSH"], ("list", True)),
    **dict.fromkeys(["XINFO", "XLEN", "XRANGE", "XREVRANGE"], ("stream", False)),
    **dict.fromkeys(["XADD", "XDEL", "XSETID", "XTRIM"], ("stream", True)),
    **dict.fromkeys(["PUBLISH", "SPUBLISH"], ("channel", True)),
    **dict.fromkeys(["EXISTS", "TYPE"], ("", False)),
    **dict.fromkeys(["DEL", "EXPIRE", "PERSIST", "PEXPIRE", "PEXPIREAT", "UNLINK"], ("", True)),
    **dict.fromkeys(["INFO", "TIME"], ("", False)),
}
# Which arguments are keys, where it is not the first alone.
KEY_ARGUMENTS: Final = {
    **dict.fromkeys(["INFO", "TIME"], slice(0)),
    **dict.fromkeys(["DEL", "EXISTS", "MGET", "UNLINK"], slice(None)),
    "MSET": slice(None, None, 2),
    "XINFO": slice(1, 2),
}
STATUS_REPLIES: Final = {"LTRIM", "MSET", "SET", "TYPE", "XSETID"}
COPY: Final = "queue.copy.v1"  # it writes any key of the base, as the call says
# While the server's memory is full it takes a command only from a script with this flag.
_WHEN_FULL: Final = "#!lua flags=allow-oom\nreturn redis.call(unpack(ARGV))"
MOST_MEMBERS: Final = 10_000  # that one command may read
MOST_VISITS: Final = 100_001  # members that a search for deadlocks may read
PATIENCE: Final = 5  # seconds for a reply
ENTRY_FIELDS: Final = {b"event", b"timestamp", b"id", b"payload", b"source", b"trace"}
_pack: Final[Any] = pack_command  # its own type allows of one word only

# On one line, the first, which is a comment in every script: so its own line events hide none of the script's.
# Every round of a loop is a line event, so these bound loops; count events get lost while the hook itself runs.
_HARNESS: Final = b"""
local sethook = debug.sethook
local function watch(chunk, limit, seen)
  local left = limit
  local function hook(_, line)
    seen[line] = true
    left = left - 1
    if left < 0 then error('more than ' .. limit .. ' lines', 0) end
  end
  sethook(hook, 'l') local reply = chunk() sethook() return reply, limit - left
end
local function guard(undeclared)
  local function report(_, name) undeclared(name) end
  return { __index = report, __newindex = report }
end
return watch, guard
""".replace(b"\n", b" ")


class WatchError(AssertionError):
    """A script did what its contract does not allow."""


class ServerError(WatchError):
    """The server refused a command of a script, which may be ready for it (redis.pcall)."""


class Refused(redis.ResponseError):
    """The error reply of a script."""

    @property
    def code(self) -> str:
        return str(self).split(" ", 1)[0]


@dataclass
class Run:
    """What one call did: its commands in order, which lines of the generated text ran, and how many in all."""

    script: Script
    commands: list[tuple[bytes, ...]] = field(default_factory=list)
    lines: set[int] = field(default_factory=set)
    allow_oom: bool = False
    writes: int = 0
    steps: int = 0


class Server:
    """A server that is sent commands over its unix socket and answers in bytes, as they come.

    most: the bytes that it may use, as tests have set it; 0 if there is no limit.
    """

    def __init__(self, client: redis.Redis) -> None:
        self.most = 0
        self._socket: socket | None = None
        self._path = client.connection_pool.connection_kwargs["path"]
        self._reader: Reader

    def __call__(self, *command: Wire) -> Any:
        return self._answers(_pack(command), 1)[0]

    def all(self, commands: Sequence[Sequence[Wire]]) -> list[Any]:
        """The replies of many commands, in one round trip; the first that is refused is raised."""
        return self._answers(b"".join([_pack(tuple(command)) for command in commands]), len(commands))

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self._socket:
            self._socket.close()
            self._socket = None

    def _answers(self, packed: bytes, count: int) -> list[Any]:
        try:
            replies = self._exchange(packed, count)
        except ConnectionError:  # an earlier test has ended all connections of the server
            replies = self._exchange(packed, count)
        for reply in replies:
            if isinstance(reply, redis.RedisError):
                raise reply
        return replies

    def _exchange(self, packed: bytes, count: int) -> list[Any]:
        try:
            connection = self._socket or self._connect()
            connection.sendall(packed)
            return [self._reply(connection) for _ in range(count)]
        except BaseException as error:  # replies that are still to come are no answer to the next command
            self.close()
            if isinstance(error, BlockingIOError):
                raise redis.TimeoutError(f"no reply within {PATIENCE} s") from None
            raise

    def _reply(self, connection: socket) -> Any:
        while (reply := self._reader.gets()) is False:  # which no reply is
            if not (data := connection.recv(1 << 16)):
                raise ConnectionResetError("the server has ended the connection")
            self._reader.feed(data)
        return reply

    def _connect(self) -> socket:
        self._socket = socket(AF_UNIX)
        # Not settimeout, with which Python asks the system once more for each reply.
        self._socket.setsockopt(SOL_SOCKET, SO_RCVTIMEO, pack("ll", PATIENCE, 0))
        self._socket.connect(self._path)
        self._reader = Reader(replyError=DefaultParser.parse_error)
        return self._socket


class WatchedClient:
    """Runs calls like a server does, and raises WatchError where a script breaks its contract."""

    def __init__(self, client: redis.Redis, scripts: Library | None = None) -> None:
        self.server = Server(client)
        self.scripts = scripts or library()
        self.last: Run
        self._lua = LuaRuntime(encoding=None, register_eval=False)
        self._watch, self._guard = self._lua.execute(_HARNESS)
        globals_ = self._lua.globals()
        self._unhook = globals_[b"debug"][b"sethook"]
        self._load, self._setfenv = globals_[b"loadstring"], globals_[b"setfenv"]
        self._setmetatable = globals_[b"setmetatable"]
        self._given = {name.encode(): globals_[name.encode()] for name in GLOBALS}
        self._chunks: dict[str, Any] = {}

    def compile(self) -> None:
        """All scripts, at once: what is forked from this process has them."""
        for script_id in self.scripts:
            self._chunk(self.scripts[script_id], self.scripts[script_id].text)

    def call(self, call: Call[Any]) -> Reply:
        return self.run(call.script.id, call.keys, call.args)

    def run(self, script_id: str, keys: Iterable[Wire], args: Iterable[Wire]) -> Reply:
        """The reply; raises Refused for an error reply, and WatchError."""
        script = self.scripts[script_id]
        return self.run_text(script, script.text, list(map(wire, keys)), list(map(wire, args)))

    def run_text(self, script: Script, text: str, keys: Sequence[bytes], args: Sequence[bytes]) -> Reply:
        """The same for a text of one's own under the contract of a script."""
        run = self.last = Run(script, allow_oom="allow-oom" in text.partition("\n")[0])
        seen = self._lua.table()
        chunk = self._chunk(script, text)
        self._setfenv(chunk, self._environment(run, keys, args))
        try:
            value, run.steps = self._watch(chunk, allowance(script, args), seen)
        except LuaError as error:
            raise WatchError(f"{script.id}: {error}") from None
        finally:
            self._unhook()
            run.lines = set(seen.keys())
        return self._judge(run, value)

    def _chunk(self, script: Script, text: str) -> Any:
        if text not in self._chunks:
            chunk = self._load(text.replace("#!lua", "--!lua", 1).encode(), b"=" + script.id.encode())
            if isinstance(chunk, tuple):
                raise WatchError(f"{script.id}: {chunk[1].decode()}")
            self._chunks[text] = chunk
        return self._chunks[text]

    def _environment(self, run: Run, keys: Sequence[bytes], args: Sequence[bytes]) -> Any:
        def undeclared(name: bytes) -> None:
            raise WatchError(f"{run.script.id}: undeclared global {name.decode()}")

        def call(*command: Any) -> Any:
            return self._command(run, keys, command)

        def pcall(*command: Any) -> Any:
            try:
                return self._command(run, keys, command)
            except ServerError as error:
                return error_reply(str(error.__cause__).encode())

        def error_reply(text: bytes) -> Any:
            return self._lua.table_from({b"err": text})

        def status_reply(text: bytes) -> Any:
            return self._lua.table_from({b"ok": text})

        api: dict[bytes, Callable[..., Any]] = {
            b"call": call,
            b"pcall": pcall,
            b"error_reply": error_reply,
            b"status_reply": status_reply,
            b"sha1hex": lambda text: sha1(text).hexdigest().encode(),
        }
        environment = self._lua.table_from(
            self._given
            | {
                b"redis": self._lua.table_from(api),
                b"KEYS": self._lua.table_from(list(keys)),
                b"ARGV": self._lua.table_from(list(args)),
            }
        )
        return self._setmetatable(environment, self._guard(undeclared))

    def _command(self, run: Run, keys: Sequence[bytes], command: tuple[Any, ...]) -> Any:
        words = tuple(self._argument(run, word) for word in command)
        name = words[0].decode().upper()
        check_command(run, keys, name, words[1:])
        run.commands.append(words)
        try:
            reply = self._send(run, name, words)
        except redis.ResponseError as error:
            raise ServerError(f"{run.script.id}: {shown(words)}: {error}") from error
        is_status = name in STATUS_REPLIES and reply is not None  # SET NX may answer nil
        return self._lua.table_from({b"ok": reply}) if is_status else self._to_lua(reply)

    def _send(self, run: Run, name: str, words: tuple[bytes, ...]) -> Any:
        try:
            return self.server(*words)
        except redis.exceptions.OutOfMemoryError:
            if not run.allow_oom:
                raise
        keys = words[1:][KEY_ARGUMENTS.get(name, slice(1))]
        return self.server("EVAL", _WHEN_FULL, len(keys), *keys, *words)

    def _argument(self, run: Run, value: Any) -> bytes:
        if isinstance(value, bytes):
            return value
        # Servers write fractions and integers above 2^53 each in their own way.
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53:
            return b"%d" % value
        raise WatchError(f"{run.script.id}: {value!r} as an argument of a command")

    def _to_lua(self, reply: Any) -> Any:
        if isinstance(reply, list):
            return self._lua.table_from([self._to_lua(one) for one in reply])
        return False if reply is None else reply

    def _judge(self, run: Run, value: Any) -> Reply:
        script = run.script
        if lua_type(value) != "table":
            raise WatchError(f"{script.id}: the reply is {value!r}, not a table")
        if value[b"err"] is not None:
            text = value[b"err"].decode(errors="replace")
            code = text.split(" ", 1)[0]
            if run.writes:
                raise WatchError(f"{script.id}: {run.writes} writes before the error reply {text}")
            if code not in script.errors:
                raise WatchError(f"{script.id}: undeclared error {text}")
            raise Refused(text)
        reply: Reply = self._from_lua(run, value)
        check_reply(script, reply)
        return reply

    def _from_lua(self, run: Run, value: Any) -> Any:
        if isinstance(value, bytes) or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        if lua_type(value) != "table":
            raise WatchError(f"{run.script.id}: {value!r} in the reply")
        entries = dict(value.items())
        if entries.keys() != set(range(1, len(entries) + 1)):
            raise WatchError(f"{run.script.id}: the keys of a table in the reply are {sorted(entries, key=str)}")
        return [self._from_lua(run, entries[at]) for at in range(1, len(entries) + 1)]


def wire(value: Wire) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def shown(words: Sequence[bytes]) -> str:
    return b" ".join(words)[:200].decode(errors="replace")


def allowance(script: Script, args: Sequence[bytes]) -> int:
    """How many lines a call may run: so many, and more for each argument and each id of a list, each task that it may
    move, look at or put back, and each request that it may visit in search of a deadlock.
    """
    names = [argument.name for argument in script.args]
    tasks = 0
    if "cursor" in names or script.id == "queue.repair.v1":
        tasks = 1000
    elif "limit" in names and len(args) > names.index("limit"):
        at = names.index("limit")
        limit = args[at] or b"%d" % int(script.args[at].default or 0)
        tasks = min(int(limit), 1000) if limit.isdigit() and len(limit) < 5 else 0
    visits = MOST_VISITS if "visits" in names else 10_000 if script.id.startswith("lock.") else 0
    ids = len(args) + sum(arg.count(b",") for arg in args)
    limits = 20_000 if script.id in ("queue.claim.v1", "queue.settle.v1") else 0  # 500 of tasks that are held back
    requests = 1_000_000 if script.id.startswith("change.") else 0  # 32 of each of 200 changes
    rates = 45_000 if script.id.startswith("rate.") else 0  # a hit that counts 5,000 for each of 8 rules; 1,000 rules
    sessions = 20_000 if script.id.startswith("session.") else 0  # 1,000 of a user
    return 12_000 + 125 * ids + 400 * tasks + 100 * visits + limits + requests + rates + sessions


def check_command(run: Run, keys: Sequence[bytes], name: str, arguments: Sequence[bytes]) -> None:
    """Raise WatchError unless the script may send this command now; note whether it writes."""
    script = run.script
    if name not in COMMANDS:
        raise WatchError(f"{script.id}: {name} is no command that scripts use; if it should be, list it here")
    type_, writes = COMMANDS[name]
    for key in arguments[KEY_ARGUMENTS.get(name, slice(1))]:
        if script.id == COPY and key.startswith(keys[0].removesuffix(b"config")):
            continue
        declared = declaration(script, keys, key)
        if type_ and declared.type != type_:
            raise WatchError(f"{script.id}: {name} on {key.decode()}, which is a {declared.type}")
        if declared.name == "counters" and writes and not table(script, "counters").fits(arguments[1], arguments[2]):
            raise WatchError(f"{script.id}: undeclared counter {arguments[1].decode()}")
    if not is_bounded(name, arguments):
        raise WatchError(f"{script.id}: {name} without a bound: {shown(arguments)}")
    if writes and script.read_only:
        raise WatchError(f"{script.id}: {name} in a script that only reads")
    run.writes += writes
    if name == "XADD" and script.id != COPY:
        check_entry(script, declaration(script, keys, arguments[0]), arguments)


def is_bounded(name: str, arguments: Sequence[bytes]) -> bool:
    """Whether a command that reads members says how many."""
    match name, list(arguments):
        case "ZRANGE", [_, _, _, b"BYSCORE" | b"BYLEX" as by, *options]:
            match options:
                case [b"LIMIT", first, most, *_] | [b"REV", b"LIMIT", first, most, *_]:
                    return 0 <= int(most) <= (MOST_VISITS if by == b"BYLEX" else MOST_MEMBERS) - int(first)
            return False
        case "ZRANGE", [_, first, last, *options]:
            return not {b"BYSCORE", b"BYLEX"} & set(options) and 0 <= int(last) - int(first) < MOST_MEMBERS
        case "SRANDMEMBER", [_, most]:
            return 0 < int(most) <= MOST_MEMBERS
        case "XRANGE" | "XREVRANGE", [_, _, _, *options]:
            return options[:1] == [b"COUNT"] and 0 < int(options[1]) <= MOST_MEMBERS
        case "LRANGE", [_, first, last]:
            return 0 <= int(last) - int(first) < MOST_MEMBERS
        case "HSCAN" | "ZSCAN", [_, _, b"COUNT", most]:
            return 0 < int(most) <= MOST_MEMBERS
        case "XTRIM", [_, _, exactly, *_]:
            return exactly == b"~"  # then it deletes at most 100 blocks
        case "INFO", sections:
            return len(sections) == 1
    return name not in ("HSCAN", "LRANGE", "SRANDMEMBER", "XRANGE", "XREVRANGE", "ZRANGE", "ZSCAN")


def declaration(script: Script, keys: Sequence[bytes], key: bytes) -> Key:
    bases: dict[str, str] = {}
    for sent, given_key in zip(script.keys, keys, strict=False):
        whose, _, place = sent.template[1:].partition("}")
        bases.setdefault(f"{{{whose}}}", given_key.decode().removesuffix(place))
    for declared in script.data:
        whose, _, place = declared.template.partition("}")
        given = f"{bases[whose + '}']}{place}".encode()
        if key.startswith(given):
            suffix = key[len(given) :].decode(errors="replace")
            if is_suffix(declared.suffix, suffix) if declared.suffix else not suffix:
                return declared
    raise WatchError(f"{script.id}: undeclared key {key.decode(errors='replace')}")


def is_suffix(kind: str, suffix: str) -> bool:
    if kind != "pair":
        return PATTERNS[kind].fullmatch(suffix) is not None
    id, bar, label = suffix.partition("|")
    return bool(bar and PATTERNS["id"].fullmatch(id) and PATTERNS["label"].fullmatch(label))


def check_entry(script: Script, key: Key, arguments: Sequence[bytes]) -> None:
    """A stream of the noun has fields of its own."""
    flat = arguments[list(arguments).index(b"*") + 1 :]
    entry = dict(zip(flat[::2], flat[1::2], strict=True))
    event = entry[b"event"].decode()
    if event not in script.events:
        raise WatchError(f"{script.id}: undeclared event {event}")
    if key.name == "events" and (extra := entry.keys() - ENTRY_FIELDS):
        raise WatchError(f"{script.id}: {event} has the fields {extra}")


def check_reply(script: Script, reply: Reply) -> None:
    """Raise WatchError unless the reply is exactly what the manifest declares."""
    try:
        parse_reply(script, reply)
    except AdeqError as error:
        raise WatchError(str(error)) from None
    _check_fields(script, script.returns[reply[0].decode()], reply)


def _check_fields(script: Script, declared: Sequence[Field], values: Sequence[Any]) -> None:
    for one, value in zip(declared, values[1:], strict=True):
        if not _fits(script, one, value):
            raise WatchError(f"{script.id}: {one.name} in the reply is no {one.type}: {value!r:.200}")


class Table:
    """The names that a field of type pairs may have, each with its type; `p_<name>` is any name behind `p_`."""

    def __init__(self, entries: Sequence[dict[str, Any]]) -> None:
        self.names = {entry["name"]: entry for entry in entries}

    def fits(self, raw_name: bytes, value: bytes) -> bool:
        name = raw_name.decode()
        for entry in self.names.values():
            start, _, kind = entry["name"].rstrip(">").partition("<")
            rest = re.sub(r"#\d+$", "", name[len(start) :])  # a name may have a number: that of a step
            is_such = kind in PATTERNS and name.startswith(start) and PATTERNS[kind].fullmatch(rest)
            if is_such or entry["name"] in (name, re.sub(r":\d+$", ":<b>", name)):
                return _is_a(entry, value)
        return False


def _is_a(entry: dict[str, Any], value: bytes) -> bool:
    match entry["type"]:
        case "int":
            return re.fullmatch(rb"-?\d+", value) is not None or value == b""
        case "bool":
            return value in (b"0", b"1")
        case "enum":
            return value.decode() in entry["values"]
        case "bytes" | "text":
            return True
        case "ids" | "labels" | "lanes" | "id" | "label" if not value:  # none
            return True
        case "ids" | "labels" | "lanes" as kind:
            return all(PATTERNS[kind[:-1]].fullmatch(one.decode()) for one in value.split(b","))
        case kind:
            return PATTERNS[kind].fullmatch(value.decode()) is not None


@cache
def table(script: Script, name: str) -> Table:
    return Table(library().manifest["nouns"][script.id.split(".")[0]]["tables"][name])


def _fits(script: Script, declared: Field, value: Any) -> bool:
    match declared.type:
        case "int":
            return isinstance(value, int)
        case "bytes":
            return isinstance(value, bytes)
        case "text":
            return isinstance(value, bytes) and (not declared.words or value.decode() in declared.words)
        case "list":
            assert declared.shape
            for entry in value:
                _check_fields(script, script.shapes[declared.shape][entry[0].decode()], entry)
            return isinstance(value, list)
        case "pairs":
            names = value[::2]
            if not all(isinstance(one, bytes) for one in value) or len(set(names)) != len(names):
                return False
            return declared.table is None or all(map(table(script, declared.table).fits, names, value[1::2]))
        case "ids":
            return all(PATTERNS["id"].fullmatch(one.decode()) for one in value)
        case _:
            return isinstance(value, bytes) and PATTERNS[declared.type].fullmatch(value.decode()) is not None
