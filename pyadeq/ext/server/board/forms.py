"""A form is a request of the API: `POST /do/v1/queues/mail:pause` does what `POST /v1/queues/mail:pause` does.

The fields of the form are those of the API's JSON body. So a page can do nothing that the API does not check: rights,
values, revisions. The type of a field stands behind its name: `limit:int`, `payload:json`, `paused:bool`, `tags:list`;
without, it is a text. `task.kind` is the field `kind` in the object `task`. An empty field is left out. Fields that
begin with `_` are about the form itself:

_method: PUT, PATCH or DELETE. _id: a name that the person has written, for the segment `-` of the path. _next: the page
to show then; `{id}` may be in it, which is the id in the answer. _said: what to tell the person there; `{count}` and
other fields of the answer may be in it. _body: JSON that is the whole body. _match: the ETag of what the page has
shown, without its quotes, for If-Match. _reason: why, for the query.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from fastapi import Request, Response
from starlette.responses import RedirectResponse
from starlette.types import Message

from pyadeq.ext.server.board import words
from pyadeq.ext.server.board.page import SAID, pages, problem_page
from pyadeq.ext.server.paths import segment, url
from pyadeq.ext.server.problems import PAUSE, Problem, Refused

MOST_FIELDS: Final = 200
MOST_OUTER: Final = 4
"""Objects around a field, as in `a.b.c`, which has two."""
MOST_BYTES: Final = 2 * 1024 * 1024
_FIELD: Final = re.compile(r"\{(\w{1,30})\}")
METHODS: Final = ("POST", "PUT", "PATCH", "DELETE")
_STAND_IN: Final = re.compile(r"(?<=/)-(?=[:/]|$)")
_OF_BODIES: Final = {b"content-type", b"content-length", b"transfer-encoding", b"content-encoding"}
_OF_ROUTES: Final = {"route", "endpoint", "path_params", "router"}

router = pages()


@router.post("/do/v1/{path:path}")
async def act(request: Request, path: str) -> Response:
    """Make the request of the API that a form is, and go on to the next page."""
    fields = await read_form(request)
    own = {name: fields.pop(name) for name in list(fields) if name.startswith("_")}
    method = own.get("_method", "POST")
    if method not in METHODS:
        raise Refused(400, "BAD_REQUEST", f"#/_method: {method!r} is not accepted; allowed: {', '.join(METHODS)}")
    sent = _json(own["_body"]) if "_body" in own else typed(fields)
    match = [(b"if-match", f'"{own["_match"][:20]}"'.encode())] if "_match" in own else []
    query = urlencode({"reason": own["_reason"]}) if own.get("_reason") else None
    status, body = await ask(request, method, f"/v1/{named(path, own)}", sent, headers=match, query=query)
    answer = json.loads(body) if body else {}
    if status >= 400:
        refused = Refused(status, "", "", headers={"Retry-After": str(PAUSE)} if status == 503 else None)
        refused.problem = Problem.model_validate(answer)
        return await problem_page(request, refused, back=local(own["_next"]) if "_next" in own else "")
    request.app.state.looks.forget()
    response = RedirectResponse(url(request, local(_next(own, answer))), status_code=303)
    if said := own.get("_said"):
        say(response, filled(said, answer))
    return response


def say(response: Response, text: str) -> None:
    """Show a text on the next page."""
    response.set_cookie(SAID, words.packed(text), max_age=30, httponly=True, samesite="strict", path="/")


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form. Refused if they are too many or too long. Of a name that is there twice, the lines."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/x-www-form-urlencoded":
        raise Refused(415, "UNSUPPORTED_MEDIA_TYPE", "this is for forms: application/x-www-form-urlencoded")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise Refused(413, "TOO_LARGE", f"the form has more than {MOST_BYTES:,} bytes")
    found: dict[str, str] = {}
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Refused(400, "BAD_REQUEST", f"the form has more than {MOST_FIELDS} fields, or is not UTF-8") from None
    for name, value in pairs:
        found[name] = f"{found[name]}\n{value}" if name in found else value
    return found


def named(path: str, own: Mapping[str, str]) -> str:
    """The path with the name that the person has written in the place of its `-`, if the form has one."""
    if "_id" not in own:
        return path
    if not own["_id"].strip():
        raise Refused(400, "BAD_REQUEST", "#/_id: it is empty; allowed: a name")
    return _STAND_IN.sub(lambda _: segment(own["_id"].strip()), path, count=1)


def typed(fields: dict[str, str]) -> dict[str, Any]:
    """The JSON object that the fields mean. Empty ones are left out."""
    found: dict[str, Any] = {}
    for name, text in fields.items():
        word, _, kind = name.partition(":")
        if text.strip() == "":
            continue
        *outer, last = word.split(".")
        if len(outer) > MOST_OUTER:
            raise Refused(400, "BAD_REQUEST", f"#/{word[:100]}: it is too deep; allowed: {MOST_OUTER} points in a name")
        at = found
        for part in outer:
            at = at.setdefault(part, {})
            if not isinstance(at, dict):
                raise Refused(400, "BAD_REQUEST", f"#/{part}: it is there as a value and as an object; allowed: one")
        try:
            at[last] = _KINDS[kind](text.replace("\r\n", "\n"))
        except (KeyError, ValueError, RecursionError) as error:
            what = f"JSON: {error}" if kind == "json" else f"a value of type {kind}"
            raise Refused(400, "BAD_REQUEST", f"#/{word}: this is not accepted; allowed: {what}") from None
    return found


def _next(own: Mapping[str, str], answer: Mapping[str, Any]) -> str:
    return own.get("_next", "/").replace("{id}", segment(str(answer.get("id", ""))))


def filled(said: str, answer: Mapping[str, Any]) -> str:
    """A text with fields of an answer in it: `{count} tasks`. What the answer does not have is shown as it stands."""
    return _FIELD.sub(lambda found: str(answer.get(found[1], found[0])), said)


def local(path: str) -> str:
    """A path of this service; `/` for what may lead elsewhere."""
    is_local = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and "\\" not in path
    return path if is_local else "/"


_KINDS: Final[dict[str, Callable[[str], Any]]] = {
    "": str,
    "int": int,
    "float": float,
    "json": json.loads,
    "bool": lambda text: {"true": True, "on": True, "false": False}[text],
    "list": lambda text: [line.strip() for line in text.replace(",", "\n").split("\n") if line.strip()],
    "lines": lambda text: [line for line in text.split("\n") if line],
}


def _json(text: str) -> Any:
    """What a text means that is a whole body."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "BAD_REQUEST", f"#: this is not accepted; allowed: JSON: {error}") from None


async def ask(
    request: Request,
    method: str,
    path: str,
    body: Any,
    *,
    headers: Sequence[tuple[bytes, bytes]] = (),
    query: str | None = None,
) -> tuple[int, bytes]:
    """Ask the API, in this process, for the same person. Returns the status and the body of the answer.

    headers: further ones. query: in place of that of the form.
    """
    data = json.dumps(body).encode() if body or method != "DELETE" else b""
    sent = [pair for pair in request.scope["headers"] if pair[0] not in _OF_BODIES] + list(headers)
    sent += [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())] if data else []
    scope = {key: value for key, value in request.scope.items() if key not in _OF_ROUTES}
    scope |= {"method": method, "path": url(request, path), "headers": sent, "state": {}}
    scope |= {} if query is None else {"query_string": query.encode()}
    status, parts, asked = 500, [], False

    async def receive() -> Message:
        nonlocal asked
        if asked:
            return {"type": "http.disconnect"}
        asked = True
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            parts.append(message.get("body", b""))

    await request.app.router(scope, receive, send)
    return status, b"".join(parts)
