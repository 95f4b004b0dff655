"""Every operation and every form, as everybody who may ask: the answers are those of the columns of `Operation`.

A column that does not say what the service does makes one of these tests fail, and so does a check by hand that no
column knows.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, get_args, get_origin

import pytest
from httpx import ASGITransport, AsyncClient, Response
from pydantic import BaseModel

from pyadeq.asyncio import Adeq, Task
from pyadeq.ext.operations.rights import ACT, all_rights
from pyadeq.ext.operations.row import Operation
from pyadeq.ext.server import Logins, ProxyUsers, Scope, Tokens, app, first_of, rights_of
from pyadeq.ext.server.api import inbox
from pyadeq.ext.server.api.routes import rows
from pyadeq.ext.server.application import API
from pyadeq.ext.server.paths import segment
from pyadeq.ext.server.tokens import new_token

pytestmark = pytest.mark.any_engine
ROUTES: Final = [route for part in (*API, inbox) for route in part.router.routes]
ROWS: Final = rows(ROUTES)
PROXY: Final = "192.0.2.1"
SECRET: Final = "only-for-bob"
SERVICE_QUEUE: Final = "adeq-webhooks"
ENDLESS: Final = "/events/{noun}/{name}"
FORGED: Final[Mapping[str, Any]] = {"actor": "bob", "principal": "bob", "groups": ["dba"], "proof": "p", "agent": "bob"}
REFUSAL: Final = re.compile(r"does not have the right|needs the right|only its service|only for one user")
PARAMETER: Final = re.compile(r"\{(\w+)\}")
DEFAULTS: Final[Mapping[Any, Any]] = {str: "a", int: 1, float: 1.0, bool: True, dict: {}, list: []}


@dataclass(frozen=True)
class Caller:
    """Somebody who asks. way: by a token, a login of the board, or a proxy."""

    way: str
    name: str
    rights: frozenset[str]
    user: str | None = None
    groups: tuple[str, ...] = ()


Enter = Callable[[Caller], Awaitable[AsyncClient]]
NOBODY: Final = Caller("none", "x", frozenset())


@pytest.fixture
async def enter(adeq: Adeq) -> AsyncIterator[Enter]:
    """`await enter(caller)` is a client that is this caller."""
    async with AsyncExitStack() as stack:

        async def client(caller: Caller) -> AsyncClient:
            scopes = [Scope(caller.rights, user=caller.user)]
            proxy = ProxyUsers("X-User", [f"{PROXY}/32"], scopes, groups_header="X-Groups")
            id, text, token = new_token(
                caller.name, caller.rights or ["rate.observe"], user=caller.user, groups=caller.groups
            )
            tokens = Tokens(adeq, more={id: token})
            logins = Logins(adeq, tokens)
            service = app(adeq, authenticate=first_of(proxy, tokens), logins=logins)
            transport = ASGITransport(service, client=(PROXY, 1), raise_app_exceptions=False)
            http = AsyncClient(transport=transport, base_url="http://service")
            stack.push_async_callback(http.aclose)
            http.headers["Sec-Fetch-Site"] = "same-origin"
            match caller.way:
                case "proxy":
                    http.headers.update({"X-User": caller.name, "X-Groups": ", ".join(caller.groups)})
                case "token":
                    http.headers["Authorization"] = f"Bearer {text}"
                case "login":
                    assert (await http.post("/login", data={"token": text})).status_code == 303
            return http

        yield client


async def fill(adeq: Adeq, name: str = "box") -> None:
    """Objects of all nouns of this name, with records of bob, and a message of the service's own queue."""
    await adeq.queue(name).enqueue_many([Task(id=id, user="bob", payload=SECRET) for id in ("a", "b", "gone")])
    await adeq.queue(SERVICE_QUEUE).enqueue({}, id="a")
    await adeq.locks(name).take("a", owner="bob")
    changes = adeq.changes(name)
    await changes.policies.set("one", required=1)
    await changes.put("a", type="t", description="d", actor="bob")
    await changes.delegations.set("bob", "a", to="cleo", actor="bob")
    await adeq.rates(name).set("a", algorithm="gcra", limit=1, period=60)
    await adeq.config(name).set("a", "a")
    await adeq.sessions(name).create("bob")


def needed(row: Operation) -> frozenset[str]:
    """The rights of somebody who may do it. Those of events are asked for a queue."""
    return frozenset({row.rights[0].replace("{noun}", "queue"), *([row.also] if row.also else [])})


def at(row: Operation, name: str = "box", **more: str) -> str:
    """Its path, for objects of this name and records of bob."""
    values = dict.fromkeys(("queue", "domain", "realm", "namespace"), name)
    values |= {"noun": "queue", "rev": "1", "slot": "1", "user": "bob", **more}
    values |= {"name": name} if row.noun == "events" else {}
    return PARAMETER.sub(lambda found: segment(values.get(found[1], "a")), row.path)


def value_of(kind: Any, name: str) -> Any:
    """Some value of a type."""
    if name == "digest":
        return "0" * 40
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return value_of(arguments[0], name)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return body_of(kind)
    if arguments and origin not in (list, dict, tuple):
        first = arguments[0]
        return first if isinstance(first, str) else value_of(first, name)
    return DEFAULTS.get(origin or kind, "a" if kind is not list else [])


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """The fields that a body needs."""
    fields = model.model_fields.items()
    return {name: value_of(one.annotation, name) for name, one in fields if one.is_required()}


def model_of(route: Any) -> Any:
    """The model of the body of an operation that is a method; None if it has none."""
    kind = next((one.field_info.annotation for one in route.dependant.body_params), None)  # codespell:ignore dependant
    found = [one for one in (kind, *get_args(kind)) if isinstance(one, type) and issubclass(one, BaseModel)]
    return found[0] if found else None


async def ask(http: AsyncClient, row: Operation, path: str, body: Any = None, form: bool = False) -> Response:
    """Ask for it, by the API or by the form of the board that is the same."""
    if row.path == "/inbox":
        name = path if path != "/inbox" else "box"
        return await http.post("/inbox", params={"queue": name}, json=body)
    key = {"Idempotency-Key": "r.1"} if path.endswith(":claim") else {}
    params = {"queue": "box"} if row.path == "/stats" else {}
    if form:
        fields = {name: str(value) for name, value in (body or {}).items() if isinstance(value, str)}
        return await http.post(f"/do/v1{path}", data={"_method": row.verb, **fields})
    if row.verb == "GET":
        return await http.get(f"/v1{path}", params=params)
    sent = {} if body is None and row.verb != "DELETE" else body
    return await http.request(row.verb, f"/v1{path}", json=sent, headers=key)


def is_refused(answer: Response) -> bool:
    """Whether somebody is not let in. What is let in may fail for another reason, as `only authors may do this`."""
    return answer.status_code == 401 or (answer.status_code == 403 and REFUSAL.search(answer.text) is not None)


def can_end(row: Operation) -> bool:
    """Whether the answer ends. Streams that are let in do not."""
    return row.path != ENDLESS


@pytest.mark.parametrize("way", ["token", "login", "proxy"])
async def test_each_needs_its_right_and_nothing_else(adeq: Adeq, enter: Enter, way: str) -> None:
    """Lists of names have all the names that one may see; so there the right decides what is in them."""
    await fill(adeq)
    without: dict[Any, AsyncClient] = {}
    with_it: dict[Any, AsyncClient] = {}
    http = await enter(NOBODY)
    for row in ROWS:
        rights = row.rights, row.also
        if rights not in with_it:
            others = all_rights() - {right.replace("{noun}", "queue") for right in (*row.rights, row.also)}
            with_it[rights] = await enter(Caller(way, "ann", needed(row)))
            without[rights] = await enter(Caller(way, "ann", others))
        is_form = way == "login" and row.verb != "GET" and "{" in row.path
        path = at(row, user="ann", id="gone" if row.verb == "DELETE" else "a")
        assert (await ask(http, row, path)).status_code == 401, row.at
        answer = await ask(without[rights], row, path, form=is_form)
        if row.path in ("/stats", "/kinds", "/queues", "/locks", "/changes", "/sessions", "/rates", "/configs"):
            assert answer.status_code == 200, row.at
            assert answer.json()["items"] == [], row.at
        else:
            assert answer.status_code == 403, (row.at, answer.text)
        if can_end(row):
            answer = await ask(with_it[rights], row, path, form=is_form)
            assert not is_refused(answer), (row.at, answer.text)


async def test_a_token_for_one_user_reaches_what_the_column_says(adeq: Adeq, enter: Enter) -> None:
    await fill(adeq)
    ann, every = Caller("token", "svc", all_rights() - {ACT}, user="ann"), all_rights()
    http, bob = await enter(ann), await enter(replace(ann, user="bob"))
    root = await enter(Caller("token", "root", every))
    tasks = adeq.queue("box")
    before = await tasks.get_many(["a", "b", "gone"])
    for route, row in zip(ROUTES, ROWS, strict=True):
        for form in {False, row.verb != "GET" and "{" in row.path}:
            if not can_end(row) and row.by_user != "refused":
                continue
            body = body_of(model) if (model := model_of(route)) and row.method else None
            answer = await ask(http, row, at(row), body, form=form)
            if row.by_user == "refused":
                expected: set[int] = {403} if row.noun and row.path != "/stats" else {200, 403, 404}
            elif row.by_user == "own" and "{id}" in row.path and row.noun == "queue":
                expected = {404}
            elif row.by_user == "own" and row.person:
                expected = {403}
            else:
                expected = {200, 201, 202, 204, 303, 400, 404, 409, 412}
                expected |= set() if is_refused(answer) else {403}  # by a rule of changes
            assert answer.status_code in expected, (row.at, row.by_user, answer.text)
            assert SECRET not in answer.text, row.at
    assert await tasks.get_many(["a", "b", "gone"]) == before
    for row in ROWS:
        if row.by_user != "refused" and can_end(row) and row.verb == "GET":
            assert not is_refused(await ask(bob, row, at(row))), row.at
            assert not is_refused(await ask(root, row, at(row))), row.at


async def test_the_actor_is_who_has_authenticated(adeq: Adeq, enter: Enter) -> None:
    """Whatever the body says. With `actor.any`, others may be named, and both names are stored."""
    await fill(adeq)
    plain = all_rights() - {ACT}
    changes = adeq.changes("box")
    acting = [(route, row) for route, row in zip(ROUTES, ROWS, strict=True) if row.acts]
    assert len(acting) > 20
    for way in ("token", "login", "proxy"):
        ann = await enter(Caller(way, "ann", plain, groups=("ops",)))
        for route, row in acting:
            model = model_of(route)
            for name, value in FORGED.items():
                if model is None or name not in model.model_fields:
                    continue
                body = {**body_of(model), name: value}
                answer = await ask(ann, row, at(row, user="ann"), body)
                assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN"), (row.at, name, answer.text)
                assert f"#/{name}" in answer.json()["detail"], (row.at, name)
                own = {"actor": "Ann", "groups": ["ops"], "agent": "ann/1"}
                if name in own:
                    answer = await ask(ann, row, at(row, id="none", user="ann"), {**body_of(model), name: own[name]})
                    assert not is_refused(answer), (row.at, name, answer.text)
        for row in ROWS:
            if row.person and row.verb != "GET":
                answer = await ask(ann, row, at(row, user="bob"), {"to": "ann"} if row.verb == "PUT" else None)
                assert answer.status_code == 403, (row.at, answer.text)
        assert [one.by for one in (await changes.get("a", log=100)).log or ()] == ["bob"]  # type: ignore[union-attr]


async def test_a_reader_changes_nothing(adeq: Adeq, enter: Enter) -> None:
    await fill(adeq)
    for way in ("token", "login", "proxy"):
        reader = await enter(Caller(way, "ann", rights_of(["observer"])))
        for row in ROWS:
            if row.verb != "GET" and not row.path.endswith(":evaluate"):
                for form in {False, "{" in row.path}:
                    assert (await ask(reader, row, at(row, user="ann"), form=form)).status_code == 403, row.at


async def test_no_one_feeds_the_queues_of_the_service(adeq: Adeq, enter: Enter) -> None:
    await fill(adeq)
    writers = {"queue.produce", "queue.work"}
    for way in ("token", "login", "proxy"):
        root = await enter(Caller(way, "root", all_rights()))
        for row in ROWS:
            if row.noun != "queue" or not can_end(row):
                continue
            feeds = row.feeds or (writers.issuperset(row.rights) and row.rights != ())
            path = SERVICE_QUEUE if row.path == "/inbox" else at(row, SERVICE_QUEUE)
            answer = await ask(root, row, path)
            assert (answer.status_code == 403) == feeds, (row.at, answer.text)
    assert [one.id async for one in adeq.queue(SERVICE_QUEUE).iterate(state="ready")] in ([], ["a"])
