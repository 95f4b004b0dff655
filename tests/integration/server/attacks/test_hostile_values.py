"""Hostile values in every field of every operation, and every reader over what they leave.

The operations, their fields and the arguments of scripts come from tables, so a new one is attacked without a new line.
"""

from __future__ import annotations

import inspect
import json
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args, get_origin
from urllib.parse import quote

import pytest
import typer
from httpx import AsyncClient
from prometheus_client import CollectorRegistry, generate_latest
from pydantic import BaseModel
from redis.exceptions import ResponseError

from pyadeq import Adeq as SyncAdeq
from pyadeq import library
from pyadeq._core.kernel.manifest import Script
from pyadeq.asyncio import Adeq, ChangeRef, Every, Task
from pyadeq.errors import AdeqError
from pyadeq.ext.cli.app import app
from pyadeq.ext.operate.archive import Archive
from pyadeq.ext.operate.metrics import AdeqCollector
from pyadeq.ext.operations.row import Operation
from pyadeq.ext.outgoing.webhooks.endpoints import Endpoint
from pyadeq.ext.outgoing.webhooks.messages import body_of
from pyadeq.ext.server.application import BOARD
from pyadeq.ext.server.paths import segment
from pyadeq.keys import base_of
from pyadeq.models.base import flaw
from tests import hostile
from tests.integration.cli.run import adeq as run
from tests.integration.cli.run import put_together
from tests.integration.server.attacks.test_who_may_do_what import (
    PARAMETER,
    ROUTES,
    ROWS,
    at,
    can_end,
    fill,
    model_of,
    value_of,
)
from tests.integration.server.attacks.test_who_may_do_what import body_of as least
from tests.integration.server.conftest import Ask
from tests.nouns.arguments import noun_of, slots, values

pytestmark = pytest.mark.any_engine
HERE: Final = "@@here@@"
SECONDS: Final = frozenset({"wait", "block", "sync"})
"""Fields that make a request wait."""
ANY: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
NAMES: Final = ("box", "calm")
OF_PAGES: Final = {"queue": "box", "domain": "box", "realm": "box", "namespace": "box", "user": "bob"}
READ: Final = 150
"""Tasks whose pages are read."""


class Place(NamedTuple):
    """A field of an operation. body: a JSON text with HERE in the place of the field's value."""

    name: str
    where: str
    body: str = ""


def models_in(kind: Any) -> Iterator[type[BaseModel]]:
    """The models of a type."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for one in get_args(kind):
        yield from models_in(one)


def bodies(model: type[BaseModel], around: Any = HERE, depth: int = 2) -> Iterator[tuple[str, str]]:
    """Each field of a model, and of the models in it, with a body that has HERE in its place."""
    for name, one in model.model_fields.items():
        alias = one.alias or name
        yield alias, json.dumps(around).replace(json.dumps(HERE), json.dumps({**least(model), alias: HERE}))
        for inner in models_in(one.annotation) if depth else ():
            several = get_origin(one.annotation) is list
            outer = json.dumps({**least(model), alias: [HERE] if several else HERE})
            yield from bodies(inner, json.loads(json.dumps(around).replace(json.dumps(HERE), outer)), depth - 1)


def parts_of(route: Any) -> Iterator[Any]:
    """What an operation depends on, and what that depends on."""
    level = [route.dependant]  # codespell:ignore dependant
    for one in level:
        level += one.dependencies
    yield from level


def places(route: Any, row: Operation) -> Iterator[Place]:
    """All fields of an operation."""
    model = model_of(route)
    for part in parts_of(route):
        for one in part.query_params:
            inner = list(models_in(one.field_info.annotation))
            for name in inner[0].model_fields if inner else [one.alias]:
                yield Place(name, "query")
        for one in part.header_params:
            yield Place(one.alias, "header")
    for name in PARAMETER.findall(row.path):
        yield Place(name, "path")
    if model:
        for name, body in bodies(model):
            yield Place(name, "body", body)
        for name in () if model.model_config.get("extra") == "forbid" else ("payload", "a"):
            yield Place(name, "body", json.dumps({**least(model), name: HERE}))
    elif route.dependant.body_params:  # codespell:ignore dependant
        yield Place("", "body", json.dumps(HERE))


async def attack(http: AsyncClient, row: Operation, place: Place, value: Any) -> Any:
    """Ask for an operation with this value in one of its fields."""
    path, params, headers = f"/v1{at(row)}", b"", [(b"content-type", b"application/json")]
    body = json.dumps(least_of(row)) if row.verb != "GET" else ""
    if row.path == "/inbox":
        path, params = "/inbox", b"queue=box"
    if row.path == "/stats":
        params = b"queue=box"
    if path.endswith(":claim"):
        headers.append((b"idempotency-key", b"r.1"))
    match place.where:
        case "query":
            params += b"&%s=%s" % (place.name.encode(), quote(value).encode())
        case "header":
            name = place.name.encode()
            headers = [one for one in headers if one[0] != name.lower()] + [(name, value.replace(b"\n", b" "))]
        case "path":
            path = f"/v1{PARAMETER.sub(lambda found: named(row, found[1], place.name, value), row.path)}"
        case "body":
            body = place.body.replace(json.dumps(HERE), value)
    url = f"{path}?{params.decode()}" if params else path
    try:
        return await http.request(row.verb, url, content=body.encode(), headers=headers)
    except UnicodeEncodeError:  # the client sends no such header
        return None


def named(row: Operation, name: str, attacked: str, value: bytes) -> str:
    """A segment of a path: this value for the attacked one, and what is there for others."""
    given = {"noun": "queue", "rev": "1", "slot": "1", "user": "bob"}
    known = given.get(name, "box" if name in ("queue", "domain", "realm", "namespace", "name") else "a")
    return quote(value, safe="") if name == attacked else segment(known)


BODIES: Final[Mapping[str, Any]] = {
    row.at: least(model) if (model := model_of(route)) else {} for route, row in zip(ROUTES, ROWS, strict=True)
}


def least_of(row: Operation) -> Any:
    """A body with the fields that an operation needs."""
    return BODIES[row.at]


async def readers(adeq: Adeq, http: AsyncClient, url: str, tmp_path: Path) -> list[str]:
    """Ask every reader once. Returns what has failed."""
    failed: list[str] = []

    async def read(path: str) -> None:
        answer = await http.get(path)
        if answer.status_code >= 500:
            failed.append(f"{path}: {answer.status_code} {answer.text[:200]}")
        elif answer.headers.get("content-type", "").startswith("application/json"):
            json.loads(answer.content, parse_constant=lambda word: failed.append(f"{path}: {word}"))

    for noun in ("queue", "lock", "change", "session", "rate", "config"):
        for name in NAMES:
            failed += [f"{noun} {name}"] * (name not in [one async for one in adeq.names(noun)])
    for row in ROWS:
        if row.verb == "GET" and can_end(row):
            await read(f"/v1{at(row)}" + ("?queue=box" if row.path == "/stats" else ""))
    for state in ("ready", "delayed", "blocked", "running", "completed", "dead", "cancelled"):
        await read(f"/v1/queues/box/tasks?state={state}&limit=1000")
        await read(f"/queues/box/tasks?state={state}")
    for state in ("draft", "reviewing", "approved", "completed", "cancelled"):
        await read(f"/v1/changes/box/changes?state={state}&limit=100")
    for part in BOARD:
        for route in part.router.routes:
            path = getattr(route, "path", "")
            if "GET" in getattr(route, "methods", ()) and "/do/" not in path and "/static" not in path:
                await read(ANY.sub(lambda found: segment(OF_PAGES.get(found[1], "a")), path))
    tasks = [one async for one in adeq.queue("box").iterate(None, user="bob")]
    for state in ("ready", "completed", "dead"):
        tasks += [one async for one in adeq.queue("box").iterate(state)]  # type: ignore[arg-type]
    for one in tasks[:READ]:
        for path in ("", "/runs", "/log", "/events"):
            await read(f"/v1/queues/box/tasks/{segment(one.id)}{path}")
        await read(f"/queues/box/tasks/{segment(one.id)}")
    async for schedule in adeq.queue("box").schedules.iterate():
        await read(f"/v1/queues/box/schedules/{segment(schedule.name)}")
        await read(f"/queues/box/schedules/{segment(schedule.name)}")
    for name in await adeq.config("box").list():
        await read(f"/v1/configs/box/values/{segment(name)}")
        await read(f"/v1/configs/box/values/{segment(name)}/history")
        await read(f"/configs/box/{segment(name)}")
        if name.startswith("flag:"):
            answer = await http.post(f"/v1/flags/box/{segment(name.removeprefix('flag:'))}:evaluate", json={})
            failed += [f"{name}: {answer.text}"] * (answer.status_code >= 500)
    endpoint = Endpoint.model_construct(include=("payload", "result"))
    for some in (tasks[n : n + 20] for n in range(0, len(tasks), 20)):
        whole = await adeq.queue("box").get_many([one.id for one in some])
        json.loads(body_of({"type": "task.dead", "at": 1.0, "stream": "queue:box", "ids": []}, endpoint, whole))
    with SyncAdeq.from_url(url, prefix=adeq.prefix) as sync:
        registry = CollectorRegistry()
        registry.register(AdeqCollector(sync))
        text = generate_latest(registry).decode()
        failed += [text] * ("adeq_up 1.0" not in text)
        archive = Archive(str(tmp_path / "archive"))
        archive.write(sync)
        assert [one.as_line() for one in archive.read()]
    for words in (
        ("task", "ls", "box", "--all"), ("dead", "ls", "box"), ("schedule", "ls", "--queue", "box"),
        ("queue", "ls"), ("queue", "stats", "box"), ("config", "ls", "--namespace", "box"),
        ("flag", "ls", "--namespace", "box"), ("lock", "ls", "--domain", "box"),
        ("events", "groups", "--stream", "queue:box"),
        ("change", "ls", "--domain", "box"), ("session", "ls", "--realm", "box"), ("rate", "ls", "--namespace", "box"),
        *(("task", "show", "box", one.id) for one in tasks[:30]),
    ):  # fmt: skip
        for output in ("table", "json"):
            ended = run(*words, "--url", url, "-o", output, ADEQ_PREFIX=adeq.prefix)
            failed += [f"{words}: {ended.stderr[-500:]}"] * ("Traceback" in ended.stderr or ended.status not in (0, 1))
    return failed


def call_of(script: Script, base: str, arguments: Sequence[bytes]) -> tuple[Any, ...]:
    """EVALSHA as clients send it."""
    keys = [key.template.replace("{base}", base) for key in script.keys]
    return ("EVALSHA", script.sha1, len(keys), *keys, *arguments)


def base(adeq: Adeq, noun: str, name: str) -> str:
    """The base of a noun, for scripts that are sent as they are."""
    return base_of(noun, name, adeq.prefix)


async def good_neighbours(adeq: Adeq) -> None:
    """Records beside the hostile ones, which each reader must show."""
    await adeq.queue("box").admin.resume()
    await adeq.queue("box").enqueue_many([Task(id=f"good-{number}", payload=number, priority=0) for number in range(3)])
    await adeq.config("box").set("good", "good")
    await adeq.queue("box").schedules.set("good", Every(3600), payload="good")


async def assert_neighbours(http: AsyncClient) -> None:
    """Whether they can be read and claimed."""
    values = (await http.get("/v1/configs/box/values")).json()["items"]
    assert values["good"]["value"] == "good"
    schedules = (await http.get("/v1/queues/box/schedules")).json()["items"]
    assert "good" in {one["name"] for one in schedules}
    given: dict[str, Any] = {}
    for number in range(1, 20):
        body = {"worker": "neighbour", "limit": 1000}
        answer = await http.post("/v1/queues/box:claim", json=body, headers={"Idempotency-Key": f"good.{number}"})
        assert answer.status_code == 200, answer.text
        given |= {lease["id"]: lease["payload"] for lease in answer.json()["leases"]}
    assert {f"good-{number}": number for number in range(3)}.items() <= given.items()


async def store(adeq: Adeq, name: str, data: bytes) -> None:
    """Store these bytes wherever a client can. Any client can store them, also one in another language."""
    queue, text = adeq.queue("box"), data[:4000]
    await queue.enqueue_many([Task(id=f"{kind}-{name}", payload=data, priority=0) for kind in ("done", "failed")])
    done, failed = sorted(await queue.claim(limit=2), key=lambda one: one.id)
    await queue.progress(done, 0.5, data.decode(errors="replace"), log=data.decode(errors="replace"))
    await queue.ack(done, data)
    await queue.fail(failed, data[:2000], retryable=False)
    await queue.enqueue(data, id=f"ready-{name}")
    await queue.schedules.set(f"s-{name}", Every(60), payload=data)
    await adeq.config("box").set(name, data)
    await adeq.changes("box").put(name, type="t", description="d", parameters=text, actor="bob")
    await adeq.sessions("box").create("bob", data=text)
    for id, changes in RAW.items():
        script, own = library()[id], {"id": f"raw-{name}", "name": f"raw-{name}", "rid": f"raw-{name}"}
        given = []
        for one in slots(script):
            field = one.label.rpartition(".")[2] if one.argument else ""
            value = data[: changes[field]] if field in changes else own[field].encode() if field in own else one.value
            given.append(b"flag:" + value if id.startswith("config") and field == "name" else value)
        with suppress(ResponseError):  # the script refuses it
            await adeq.client.execute_command("SCRIPT", "LOAD", script.text)
            await adeq.client.execute_command(*call_of(script, base(adeq, noun_of(script), "box"), given))


RAW: Final[Mapping[str, Mapping[str, int]]] = {
    "queue.enqueue.v1": {"headers": 4000},
    "queue.put_schedule.v1": {"envelope": 60_000},
    "kind.publish.v1": {"schema": 16_000},
    "config.set.v1": {"value": 60_000},
}
"""What Python's client checks before it sends it, and how much of it is accepted."""


async def test_a_stored_value_breaks_no_answer_with_others(
    adeq: Adeq, http: AsyncClient, url: str, tmp_path: Path
) -> None:
    await fill(adeq)
    await fill(adeq, "calm")
    await adeq.queue("box").admin.purge()
    for name, data in hostile.STORED.items():
        await store(adeq, name, data)
    await good_neighbours(adeq)
    assert await readers(adeq, http, url, tmp_path) == []
    await assert_neighbours(http)
    (held,) = (await http.get("/v1/locks/box/requests")).json()["requests"]
    assert held["owner"] == "bob"
    for name, data in hostile.STORED.items():
        task = (await http.get(f"/v1/queues/box/tasks/done-{name}")).json()
        value = (await http.get(f"/v1/configs/box/values/{name}")).json()
        for found, field in ((task, "payload"), (task, "result"), (value, "value")):
            encoded = found[f"{field}_base64"]
            assert (encoded and b64decode(encoded)) == (data if flaw(data) else None), (name, field)
            assert bool(found["unreadable"]) == bool(flaw(data))


@pytest.mark.slow
async def test_no_field_of_an_operation_breaks_the_service(adeq: Adeq, asking: Ask, url: str, tmp_path: Path) -> None:
    await fill(adeq)
    await fill(adeq, "calm")
    http = asking()
    before = await calm(http)
    asked, broken = 0, list[str]()
    for route, row in zip(ROUTES, ROWS, strict=True):
        if not can_end(row):
            continue
        for place in places(route, row):
            if place.name.lower() in SECONDS or (place.name == "prefer"):
                continue
            for name, value in (hostile.JSON if place.where == "body" else hostile.TEXTS).items():
                answer = await attack(http, row, place, value)
                asked += 1
                if answer is not None and answer.status_code >= 500:
                    broken.append(f"{row.at} {place.where} {place.name}: {name}")
    assert broken == []
    assert asked > 10_000
    assert await calm(http) == before
    await good_neighbours(adeq)
    assert await readers(adeq, http, url, tmp_path) == []
    await assert_neighbours(http)


async def calm(http: AsyncClient) -> dict[str, Any]:
    """What is stored of the names that nobody has attacked, without times that pass."""
    paths = [f"/v1{at(row, 'calm')}" for row in ROWS if row.verb == "GET" and can_end(row) and "{" in row.path]
    found = {}
    for path in paths:
        answer = await http.get(path)
        found[path] = (
            answer.status_code,
            re.sub(r'"(now|workers|waited|oldest|looked|active|idle|at)":[^,}]*', "", answer.text),
        )
    return found


@pytest.mark.slow
async def test_no_argument_of_a_script_breaks_a_reader(adeq: Adeq, http: AsyncClient, url: str, tmp_path: Path) -> None:
    """Clients in other languages send bytes where Python sends UTF-8."""
    await fill(adeq)
    await fill(adeq, "calm")
    scripts = [library()[id] for id in library()]
    for script in scripts:
        if script.read_only or script.id.split(".")[1] == "migrate" or noun_of(script) == "events":
            continue
        await adeq.client.execute_command("SCRIPT", "LOAD", script.text)
        there = slots(script)
        for at_, one in enumerate(there):
            if one.argument is None or one.argument.type != "bytes" or one.argument.name == "cursor":
                continue
            for number, value in enumerate([*hostile.TEXTS.values(), *hostile.STORED.values()]):
                given = values(there)
                given[at_] = value
                for other, slot in enumerate(there):
                    if slot.label == "rid":
                        given[other] = b"h%d.%d" % (at_, number)
                    elif slot.label in ("item[1].id", "item[2].id") and other != at_:
                        given[other] = b"%s-%d-%d" % (slot.label[5:6].encode(), at_, number)
                with suppress(ResponseError):  # it is refused
                    await adeq.client.execute_command(*call_of(script, base(adeq, noun_of(script), "box"), given))
    await good_neighbours(adeq)
    assert await readers(adeq, http, url, tmp_path) == []
    await assert_neighbours(http)


METHODS: Final = sorted({row.at: row for row in ROWS if row.method}.values(), key=lambda row: row.at)
VALUES: Final[Mapping[str, Any]] = {
    "half": "a\ud83d",
    "nul": "a\0b",
    "nan": float("nan"),
    "infinity": float("inf"),
    "2^64": 2**64,
    "bytes": b"\xff",
    "list": ["a\ud83d"],
    "object": {"\ud83d": object()},
}


async def test_python_refuses_with_an_error_of_its_own(adeq: Adeq, http: AsyncClient, url: str, tmp_path: Path) -> None:
    """Each argument of each method, as AdeqError, or as TypeError if it is of a wrong type."""
    await fill(adeq)
    await fill(adeq, "calm")
    objects: dict[str, Any] = {
        "queue": adeq.queue("box"), "lock": adeq.locks("box"), "change": adeq.changes("box"),
        "session": adeq.sessions("box"), "rate": adeq.rates("box"), "config": adeq.config("box"),
    }  # fmt: skip
    wrong: list[str] = []
    for row in METHODS:
        owner = objects[row.noun]
        for word in row.area.split(".") if row.area else ():
            owner = getattr(owner, word)
        kinds = {name: of for name, of in row.arguments.items() if name not in ("rev", "digest") or not row.seen}
        needed = {name: value_of(of, name) for name, (of, default) in kinds.items() if default is ...}
        needed |= {"seen": ChangeRef("a", 1, "0" * 40)} if row.seen else {}
        needed |= {"actor": "bob"} if "actor" in kinds else {}
        needed |= {row.one_of[0]: "a"} if row.one_of else {}
        for name in kinds:
            for kind, value in VALUES.items():
                try:
                    found = getattr(owner, row.method.__name__)(**{**needed, name: value})  # type: ignore[union-attr]
                    if inspect.isawaitable(found):
                        await found
                    else:
                        async for _ in found:
                            break
                except (AdeqError, TypeError):  # as Python says it of a wrong type
                    pass
                except Exception as error:
                    wrong.append(f"{row.at} {name}={kind}: {type(error).__name__}: {error}")
    assert wrong == []
    await good_neighbours(adeq)
    assert await readers(adeq, http, url, tmp_path) == []


KEYS: Final = sorted(
    {
        (noun, key.template.removeprefix("{base}:"))
        for id in library()
        for noun in [id.partition(".")[0]]
        for key in library()[id].data
        if key.type not in ("channel", "string") and not key.suffix and noun != "events"
    }
)


@pytest.mark.slow
async def test_a_key_of_a_wrong_type_is_a_problem_of_its_name_alone(adeq: Adeq, http: AsyncClient) -> None:
    """Of this name, requests are refused with words. Lists and other names are as usual."""
    await fill(adeq)
    await fill(adeq, "calm")
    before = await calm(http)
    for noun, key in KEYS:
        found = [
            one.removesuffix(b"config") async for one in adeq.client.scan_iter(f"{adeq.prefix}:{{{noun}:box*:config")
        ]
        for prefix in found:
            kept = await adeq.client.dump(prefix + key.encode())
            await adeq.client.delete(prefix + key.encode())
            await adeq.client.set(prefix + key.encode(), "of another program")
            for row in ROWS:
                if row.verb == "GET" and can_end(row) and row.noun in (noun, "events", ""):
                    answer = await http.get(f"/v1{at(row)}" + ("?queue=box&queue=calm" if row.path == "/stats" else ""))
                    assert answer.status_code < 500, (noun, key, row.at, answer.text)
            assert [one["queue"] for one in (await http.get("/v1/stats?queue=calm&queue=box")).json()["items"]][:1] == [
                "calm"
            ]
            await adeq.client.delete(prefix + key.encode())
            if kept:
                await adeq.client.restore(prefix + key.encode(), 0, kept)
    assert await calm(http) == before


ENDLESS: Final = frozenset({"run", "watch", "acquire", "claim"})
ELSEWHERE: Final = frozenset({"archive", "migrate", "profile", "scripts", "bindings"})
"""Commands that wait, and those that are about files and other servers."""
NO_VALUES: Final = frozenset({"url", "output", "wait", "timeout", "codec", "prefix", "slot", "every", "within"})
TYPED: Final = ("a\udcffb", "a\u202e\x1b[31mb", "1e999", "9" * 400)
"""What somebody types, or a script passes on. Each text is one that a command line can have."""


def commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command of the command line."""
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    with typer.Context(command) as context:
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), *path, name)


@pytest.mark.slow
def test_no_argument_of_a_command_ends_in_a_traceback(url: str, base_name: str) -> None:
    with SyncAdeq.from_url(url, prefix=base_name) as adeq:
        adeq.queue("box").enqueue(1, id="a")
        adeq.locks("box").take("a", owner="bob")
    asked, broken = 0, []
    for path, command in commands(put_together(app)):
        if len(path) < 2 or path[0] in ELSEWHERE or ENDLESS.intersection(path):
            continue
        arguments = [one for one in command.params if one.param_type_name == "argument"]
        needed = [one for one in command.params if one.param_type_name == "option" and one.required]
        for attacked in command.params:
            if (
                attacked.name in NO_VALUES
                or getattr(attacked, "is_flag", False)
                or "path" in str(attacked.bare_type).lower()
            ):
                continue
            for value in TYPED:
                words = [value if one is attacked else "box" if at == 0 else "a" for at, one in enumerate(arguments)]
                if attacked not in arguments:
                    words += [attacked.opts[0], value]
                for one in needed:
                    words += [] if one is attacked else [one.opts[0], "a"]
                asked += 1
                try:
                    ended = run(*path, *words, "--url", url, ADEQ_PREFIX=base_name)
                except Exception as error:
                    broken.append(f"{' '.join(path)} {attacked.name}={value!r:.30}: {type(error).__name__}: {error}")
                    continue
                if "Traceback" in ended.stderr:
                    broken.append(f"{' '.join(path)} {attacked.name}={value!r:.30}: {ended.stderr[-300:]}")
    assert asked > 1000
    assert [one.encode(errors="replace")[:300] for one in broken] == []
