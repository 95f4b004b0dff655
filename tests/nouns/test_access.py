"""Each role may do its own work, every command of it, and is refused all other scripts before they run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pytest
import redis

from pyadeq._core.kernel.manifest import Script, library
from pyadeq.access import ROLES, acl_rules
from tests.nouns.scenarios import small
from tests.nouns.script_bench import Bench, MakeAny, keys_of
from tests.nouns.watched import Server

NOUNS = library().manifest["nouns"]
MAY: dict[str, set[str]] = {
    "observer": set(),
    "producer": {"produce"},
    "worker": {"work"},
    "operator": {"produce", "operate"},
}
OWN = [f"{word}.{role}" for word, noun in NOUNS.items() for role in noun["roles"]]
WHOSE = {"observe": "observer", "produce": "producer", "work": "worker", "operate": "operator"}


def whose(script: Script) -> str:
    """A user who may call it. Every noun has the role `operate`."""
    return WHOSE.get(script.role) or f"{noun_of(script)}.{script.role.replace('any', 'operate')}"


def noun_of(script: Script) -> str:
    return script.id.partition(".")[0]


def may(role: str, script: Script) -> bool:
    noun = noun_of(script)
    roles = roles_in(noun, role)
    if script.role == "any":  # a user may call it who may write the keys of the noun
        if noun == "events" and roles_in("events", role):
            return True
        if noun == "events":  # its keys are among those of the other noun, in this test a queue
            return may(role, library()["queue.confirm.v1"])
        users = [one for one in map(library().__getitem__, library()) if noun in one.uses]
        return bool(roles & NOUNS[noun]["roles"].keys()) or any(
            one.role in roles_in(noun_of(one), role) for one in users
        )
    return script.role in {"observe", *roles}


def roles_in(noun: str, role: str) -> set[str]:
    word, _, own = role.partition(".")
    roles = MAY.get(role, {own} if word == noun else set())
    if noun == "registry" and role != "observer" and word != "events":
        return {*roles, "register"}  # a client adds the names that it writes to
    return roles


def is_old(server: Server) -> bool:
    return not server("COMMAND", "INFO", "WAITAOF")[0]


@contextmanager
def as_user(server: Server, *roles: str, slot: str | None = None) -> Iterator[None]:
    """The connection is that of a user with these roles; and of one that may do all, afterwards."""
    rules = acl_rules(*roles, old=is_old(server), slot=slot)
    rules += [
        rule.replace("{queue:", "{events:") for rule in rules if "{queue:" in rule
    ]  # where the tests of events have them
    server("ACL", "SETUSER", "modest", "reset", "on", "nopass", *rules)
    server("AUTH", "modest", "")
    try:
        yield
    finally:
        server("AUTH", "default", "")
        server("ACL", "DELUSER", "modest")


def test_every_script_that_writes_is_somebodys() -> None:
    scripts = [library()[id] for id in library()]
    assert {whose(script) for script in scripts} <= {*ROLES, *OWN}
    assert {script.id for script in scripts if script.role == "any"} == {f"{noun}.confirm.v1" for noun in NOUNS}
    assert all(script.read_only == (script.role == "observe") for script in scripts)
    for script in scripts:
        (gate,) = [key.template for key in script.keys if key.type == "gate"]
        own = "events" if noun_of(script) == "events" else ""
        nowhere = "{base}:events:nowhere" if own else "{base}:nowhere"
        wanted = f"{{base}}!{own and 'events.'}{script.role}"
        assert gate == (nowhere if script.role in ("any", "observe") else wanted)


@pytest.mark.parametrize("role", [*ROLES, *OWN])
def test_a_role_may_call_its_scripts_and_no_other(make_any: MakeAny, role: str) -> None:
    bench = make_any("queue")
    called = [library()[id] for id in library()]
    for script in called:
        bench.server("SCRIPT", "LOAD", script.text)
    with as_user(bench.server, role):
        answers = {script.id: answer(bench, script) for script in called}
    assert answers == {script.id: "ADEQ_ARG" if may(role, script) else "NOPERM" for script in called}


# A user may write other keys in the place of a gate, so the server cannot refuse them: the script does.
@pytest.mark.parametrize("role", [*ROLES, *OWN])
def test_a_role_opens_no_other_gate(make_any: MakeAny, role: str) -> None:
    bench, other = make_any("queue"), make_any("queue")
    gated = [script for script in map(library().__getitem__, library()) if script.role not in ("any", "observe")]
    called = [script for script in gated if not may(role, script)]
    for script in called:
        bench.server("SCRIPT", "LOAD", script.text)
    with as_user(bench.server, role):
        for script in called:
            base, elsewhere = (one.base.replace("{queue:", f"{{{stored_as(script)}:") for one in (bench, other))
            *keys, last = keys_of(script, base)
            gates = [f"{base}!{own}" for own in roles_in(noun_of(script), role)]
            for wrong in (*gates, f"{elsewhere}{last.removeprefix(base)}", f"{base}:zzz", keys[0]):
                found = code(bench, script, [*keys, wrong])
                assert found in ("ADEQ_ARG key gate", "NOPERM"), (script.id, wrong, found)


def answer(bench: Bench, script: Script) -> str:
    """The code of the error that a call without arguments gives."""
    found = code(bench, script, keys_of(script, bench.base.replace("{queue:", f"{{{stored_as(script)}:")))
    return found.partition(" ")[0]


def stored_as(script: Script) -> str:
    """Whose base it has: events have that of another noun."""
    return noun_of(script).replace("events", "queue")


def code(bench: Bench, script: Script, keys: Sequence[str]) -> str:
    """How the error begins that a call with these keys and without arguments gives: the code, and what is wrong."""
    with pytest.raises(redis.RedisError) as error:
        bench.server("EVALSHA_RO" if script.read_only else "EVALSHA", script.sha1, len(keys), *keys)
    if isinstance(error.value, redis.exceptions.NoPermissionError):
        return "NOPERM"
    return str(error.value).partition(" must be ")[0]


@pytest.mark.slow
def test_a_role_has_every_command_of_its_scripts(make_any: MakeAny) -> None:
    """Nothing that any scenario calls is denied, not even what a script would put up with."""
    server = make_any("queue").server
    server("ACL", "LOG", "RESET")
    for scenario in small():
        bench = make_any(scenario.noun, scenario.clock)
        call = scenario(bench)
        with suppress(redis.exceptions.OutOfMemoryError):
            bench.server("SCRIPT", "LOAD", call.script.text)
        place = bench.base.partition("{")[2].removesuffix("}")
        slot = None if ":" in place else place
        with as_user(bench.server, whose(call.script), slot=slot), suppress(redis.exceptions.ResponseError):
            bench.send(call)
        assert bench.server("ACL", "LOG") == [], scenario
        bench.remove()


def test_a_role_of_one_queue_reaches_no_other(make_any: MakeAny) -> None:
    mine, other = make_any("queue"), make_any("queue")
    mine.real(mine.calls.stats())
    server = mine.server
    rules = acl_rules("worker", queues=["x"], old=is_old(server))
    name = mine.base.removeprefix("ade:{queue:").removesuffix("}")
    rules = [rule.replace("{queue:x}", f"{{queue:{name}}}") for rule in rules]
    server("ACL", "SETUSER", "modest", "reset", "on", "nopass", *rules)
    server("AUTH", "modest", "")
    try:
        mine.real(mine.calls.stats())
        with pytest.raises(redis.exceptions.NoPermissionError):
            other.real(other.calls.stats())
    finally:
        server("AUTH", "default", "")
        server("ACL", "DELUSER", "modest")
