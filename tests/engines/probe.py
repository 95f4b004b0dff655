"""What differs between the engines, looked at on each of them: prints the tables of docs/reference/engines.md.

    python -m tests.engines.probe [NAME …]

NAME: only engines whose names begin like this.
"""

from __future__ import annotations

import hashlib
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from pyadeq import Adeq
from pyadeq.errors import ConfigError
from tests.engines.engine import Absent, Engine, engines
from tests.engines.lab import Lab, said
from tests.waiting import DEADLINE, wait_until

Row = Callable[[Lab], str]
ROWS: dict[str, dict[str, Row]] = {}  # by heading, then by what they are about

PROGRAMS = "For programs"
ERRORS = "What the server says"
CALLERS = "For those who call scripts"
AUTHORS = "For those who write scripts"
EVERYWHERE = "on these five"


def row(heading: str, label: str) -> Callable[[Row], Row]:
    """A line of the table."""

    def add(look: Row) -> Row:
        ROWS.setdefault(heading, {})[label] = look
        return look

    return add


def main() -> int:
    """Print the tables; 1 if an engine cannot be had."""
    found = list(engines(sys.argv[1:]))
    for engine in found:
        if isinstance(engine, Absent):
            print(f"{engine.name}: {engine.reason}", file=sys.stderr)
    there = sorted((engine for engine in found if isinstance(engine, Engine)), key=lambda one: (one.family, one.age))
    print(tables({title(engine): look_at(engine) for engine in there}))
    return int(len(there) < len(found))


def title(engine: Engine) -> str:
    """Redis 7.0, for instance."""
    return engine.name.capitalize().replace("-", " ")


def look_at(engine: Engine) -> dict[str, str]:
    """What each row says of an engine, by its label."""
    with Lab(engine.binary) as lab:
        return {label: look(lab) for rows in ROWS.values() for label, look in rows.items()}


def tables(seen: dict[str, dict[str, str]]) -> str:
    """In Markdown: a table for each heading of what differs, and one of what does not."""
    lines: list[str] = []
    same: dict[str, str] = {}
    for heading, rows in ROWS.items():
        differ: list[Sequence[str]] = []
        for label in rows:
            cells = [column[label] for column in seen.values()]
            if len(set(cells)) == 1:
                same[label] = cells[0]
            else:
                differ.append((label, *cells))
        if differ:
            lines += ["", f"## {heading}", "", *table(("", *seen), differ)]
    return "\n".join([*lines, "", "## What is the same", "", *table(("", EVERYWHERE), list(same.items()))])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of Markdown."""
    return [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows)]


def has(client: Any, command: str) -> str:
    info = client.execute_command("COMMAND INFO", command)
    return "yes" if any(info.values() if isinstance(info, dict) else info) else "no"


def quoted(text: str) -> str:
    return f"“{text}”"


def sha1(script: str) -> str:
    return hashlib.sha1(script.encode()).hexdigest()


@row(PROGRAMS, '`durability="aof"`, with `appendfsync always`')
def on_disk_always(lab: Lab) -> str:
    lab.alone.config_set("appendfsync", "always")
    try:
        return on_disk(lab)
    finally:
        lab.alone.config_set("appendfsync", "everysec")


@row(PROGRAMS, '`durability="aof"`, with `appendfsync everysec`')
def on_disk(lab: Lab) -> str:
    with Adeq.from_url(lab.server.url, durability="aof", durability_timeout=30) as adeq:
        try:
            return "yes" if adeq.queue("probe").enqueue("x").status == "created" else "no"
        except ConfigError:
            return "`ConfigError`"


@row(PROGRAMS, "WAITAOF, with `appendfsync everysec`")
def waitaof(lab: Lab) -> str:
    if has(lab.alone, "waitaof") == "no":
        return "does not exist"
    began = time.monotonic()
    for number in range(10):
        lab.alone.set("written", number)
        lab.alone.execute_command("WAITAOF", 1, 0, 0)
    # A disk that is asked once a second cannot have had ten writes, one after the other, in less.
    return "answers before the disk has it" if time.monotonic() - began < 5 else "answers when the disk has it"


@row(PROGRAMS, '`durability="replica"`')
def on_a_replica(lab: Lab) -> str:
    assert lab.replica.ping()
    with Adeq.from_url(lab.server.url, durability="replica", durability_timeout=30) as adeq:
        return "yes" if adeq.queue("probe").enqueue("x").status == "created" else "no"


@row(PROGRAMS, "`redis_version` in INFO")
def version(lab: Lab) -> str:
    info = lab.alone.info("server")
    if "valkey_version" in info:
        return f"{info['redis_version']}; `valkey_version` is its own"
    return "its own"


@row(PROGRAMS, "CLIENT LIST names the client's library")
def library(lab: Lab) -> str:
    return "yes" if lab.client(lab.server).client_info().get("lib-name") else "no"


@row(PROGRAMS, "SELECT 1 in a cluster")
def databases(lab: Lab) -> str:
    if lab.node.config_get("cluster-databases"):
        return "with `cluster-databases 2`"
    return "refused" if "not allowed" in said(lambda: lab.node.execute_command("SELECT 1")) else "answered"


@row(PROGRAMS, "CLUSTER MIGRATESLOTS, which moves slots in one step")
def slots_at_once(lab: Lab) -> str:
    return has(lab.alone, "cluster|migrateslots")


@row(PROGRAMS, "SCRIPT SHOW, the text of a loaded script")
def script_text(lab: Lab) -> str:
    return has(lab.alone, "script|show")


@row(ERRORS, "BUSY")
def busy(lab: Lab) -> str:
    with lab.hung():
        return quoted(said(lab.alone.ping).partition(".")[0] + ". …")


@row(ERRORS, "to the caller of a script that was killed")
def killed(lab: Lab) -> str:
    with lab.hung() as told:
        pass
    return without_place(told[0])


@row(ERRORS, "NOSCRIPT")
def no_script(lab: Lab) -> str:
    return quoted(said(lambda: lab.alone.evalsha("0" * 40, 0)))


@row(ERRORS, "OOM")
def out_of_memory(lab: Lab) -> str:
    with lab.full():
        return quoted(said(lambda: lab.alone.eval("#!lua\nreturn 1", 0)))


@row(ERRORS, "READONLY")
def read_only(lab: Lab) -> str:
    return quoted(said(lambda: lab.replica.eval("#!lua\nreturn 1", 0)))


@row(ERRORS, "CROSSSLOT")
def cross_slot(lab: Lab) -> str:
    return quoted(said(lambda: lab.node.eval("#!lua\nreturn 1", 2, "bar", "foo")))


@row(ERRORS, "CLUSTERDOWN")
def cluster_down(lab: Lab) -> str:
    return quoted(said(lambda: lab.node.get("foo")))


@row(ERRORS, "NOPERM, for a command")
def no_command(lab: Lab) -> str:
    with lab.user("+get", "~*") as guest:
        return quoted(said(lambda: guest.set("k", "v")))


@row(ERRORS, "NOPERM, for a key")
def no_key(lab: Lab) -> str:
    with lab.user("+@all", "~mine") as guest:
        return quoted(said(lambda: guest.get("k")))


@row(ERRORS, "in a script, for a command (code ERR)")
def no_command_in_script(lab: Lab) -> str:
    with lab.user("+eval", "~*") as guest:
        return without_place(said(lambda: guest.eval("return redis.call('GET', 'k')", 0)))


@row(ERRORS, "in a script, for a key (code ERR)")
def no_key_in_script(lab: Lab) -> str:
    with lab.user("+@all", "~mine") as guest:
        return without_place(said(lambda: guest.eval("return redis.call('GET', 'k')", 0)))


@row(ERRORS, "in a script, for a slot of another node (code ERR)")
def no_slot_in_script(lab: Lab) -> str:
    return without_place(said(lambda: lab.node.eval("return redis.call('GET', 'foo')", 1, "bar")))


def without_place(text: str) -> str:
    return quoted(text.rpartition(" script: ")[0])


@row(ERRORS, "added to the text of an error in a script")
def place(lab: Lab) -> str:
    text = said(lambda: lab.alone.eval("return redis.call('GET')", 0))
    return quoted(re.sub("[0-9a-f]{40}", "*sha*", "script: " + text.rpartition(" script: ")[2]))


MANY = 700


def pushed_out(lab: Lab, keep: Callable[[Any, str], object], script: str) -> str:
    keep(lab.alone, script)
    with lab.alone.pipeline(transaction=False) as pipe:
        for number in range(MANY):
            pipe.eval(f"return {number} -- {sha1(script)}", 0)
        pipe.execute()
    return "kept" if lab.alone.script_exists(sha1(script))[0] else "evicted"


@row(CALLERS, f"a script that came by SCRIPT LOAD, after {MANY} other EVALs")
def loaded(lab: Lab) -> str:
    return pushed_out(lab, lambda client, script: client.script_load(script), "return 'loaded'")


@row(CALLERS, f"a script that came by EVAL, after {MANY} others")
def evaluated(lab: Lab) -> str:
    return pushed_out(lab, lambda client, script: client.eval(script, 0), "return 'evaluated'")


@row(CALLERS, "one that came by EVAL and then by SCRIPT LOAD")
def evaluated_and_loaded(lab: Lab) -> str:
    return pushed_out(lab, lambda client, script: (client.eval(script, 0), client.script_load(script)), "return 'both'")


@row(CALLERS, "loaded scripts on a replica")
def scripts_on_a_replica(lab: Lab) -> str:
    lab.alone.script_load("return 'replica'")
    assert lab.replica.ping()
    lab.alone.set("after", 1)
    wait_until(lambda: lab.replica.get("after"))
    return "yes" if lab.replica.script_exists(sha1("return 'replica'"))[0] else "none"


@row(CALLERS, "loaded scripts after a restart")
def scripts_after_a_restart(lab: Lab) -> str:
    lab.alone.script_load("return 'restart'")
    lab.server.restart()
    return "yes" if lab.alone.script_exists(sha1("return 'restart'"))[0] else "none"


@row(CALLERS, "hints: SPUBLISH in a script")
def hints(lab: Lab) -> str:
    reached = [heard(lab.alone), heard(lab.node)]
    return "alone and in a cluster" if all(reached) else "no"


def heard(client: Any) -> bool:
    publish = "redis.call('SPUBLISH', KEYS[1], 'hint') return 1"
    with client.pubsub() as ear:
        ear.ssubscribe("bar")
        wait_until(lambda: (ear.get_sharded_message(timeout=1) or {}).get("type") == "ssubscribe")
        client.eval(publish, 1, "bar")
        return (ear.get_sharded_message(timeout=DEADLINE) or {}).get("data") == "hint"


@row(AUTHORS, "TIME while a script runs")
def time_of_scripts(lab: Lab) -> str:
    script = """
        local first = redis.call('TIME')
        for _ = 1, 1e6 do end
        local last = redis.call('TIME')
        return first[1] == last[1] and first[2] == last[2]
    """
    return "stands still" if lab.alone.eval(script, 0) else "goes on"


@row(AUTHORS, "expiry of keys while a script runs")
def expiry(lab: Lab) -> str:
    script = """
        redis.call('SET', KEYS[1], 1, 'PX', 1)
        for _ = 1, 1e6 do end
        return redis.call('EXISTS', KEYS[1])
    """
    return "stands still" if lab.alone.eval(script, 1, "soon") else "goes on"


@row(AUTHORS, "the numbers 1e17 and -0.1 as arguments of a command")
def numbers(lab: Lab) -> str:
    script = "redis.call('MSET', 'a', 1e17, 'b', -0.1) return redis.call('MGET', 'a', 'b')"
    return ", ".join(f"`{number}`" for number in lab.alone.eval(script, 0))


@row(AUTHORS, "`redis.REDIS_VERSION`")
def version_in_script(lab: Lab) -> str:
    own = lab.alone.info("server")["redis_version"] == lab.alone.eval("return redis.REDIS_VERSION", 0)
    return "as `redis_version`" if own else "another than `redis_version`"


@row(AUTHORS, "`server`, another name for `redis`")
def server_table(lab: Lab) -> str:
    return there(lab, "server")


@row(AUTHORS, "`os.clock`")
def os_clock(lab: Lab) -> str:
    return there(lab, "os")


@row(AUTHORS, "`getfenv`, `newproxy`")
def old_functions(lab: Lab) -> str:
    found = {there(lab, name) for name in ("getfenv", "newproxy")}
    return found.pop() if len(found) == 1 else "one of them"


def there(lab: Lab, name: str) -> str:
    return "no" if "nonexistent" in said(lambda: lab.alone.eval(f"return type({name})", 0)) else "yes"


@row(AUTHORS, "a key of the same slot that was not declared")
def undeclared(lab: Lab) -> str:
    return said(
        lambda: lab.node.eval("#!lua\nreturn redis.call('SET', '{bar}other', 'allowed') and 'allowed'", 1, "bar")
    )


@row(AUTHORS, "a key of another slot of the node, under `#!lua`")
def undeclared_elsewhere(lab: Lab) -> str:
    answer = said(lambda: lab.node.eval("#!lua\nreturn redis.call('GET', 'baz')", 1, "bar"))
    return "refused" if "slot" in answer or "local" in answer else "allowed"


if __name__ == "__main__":
    sys.exit(main())
