"""The board's pages of configs: values with their versions, and flags with their rules in words."""

import html
import json
import re
from typing import Any

import pytest
from httpx import AsyncClient

from pyadeq.asyncio import Adeq
from pyadeq.ext.server.board.flag_words import rule_in_words
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
MARKUP = "<script>alert(1)</script>"
FLAG = {
    "state": "ENABLED",
    "variants": {"new": True, "old": False},
    "defaultVariant": "old",
    "targeting": {
        "if": [
            {"ends_with": [{"var": "email"}, "@example.org"]},
            "new",
            {"fractional": [["new", 10], ["old", 90]]},
        ]
    },
}


async def shown(http: AsyncClient, path: str) -> str:
    answer = await http.get(path)
    assert answer.status_code == 200, answer.text
    return html.unescape(answer.text)


def match_of(page: str) -> str:
    found = re.search(r'name="_match" value="(v\d+)"', page)
    assert found
    return found[1]


@pytest.mark.parametrize(
    ("rule", "lines"),
    [
        (
            FLAG["targeting"],
            ['if email ends with "@example.org": new', "otherwise: 10 % new, 90 % old, by the targeting key"],
        ),
        ({"fractional": [{"var": "company"}, ["a", 1], ["b", 3]]}, ["25 % a, 75 % b, by company"]),
        (
            {"if": [{"and": [{"==": [{"var": ["plan", "free"]}, "pro"]}, {"!": [{"var": "old"}]}]}, "a", None]},
            ['if (plan (or "free") is "pro") and (not old): a', "otherwise: the default variant"],
        ),
        (
            {"if": [{"in": [{"var": "targetingKey"}, ["x", "y"]]}, {"if": [{"var": "b"}, "n"]}]},
            ['if the targeting key is in ["x", "y"]:', " if b: n"],
        ),
        (
            {"if": [{"sem_ver": [{"var": "v"}, ">=", "1.2.0"]}, "a", {"<": [{"var": "$flagd.timestamp"}, 5]}, "b"]},
            ['if version v >= "1.2.0": a', "otherwise, if the time < 5: b"],
        ),
    ],
)
def test_rules_in_words(rule: Any, lines: list[str]) -> None:
    assert [" " * depth + text for depth, text in rule_in_words(rule)] == lines


async def test_a_value_is_set_only_as_the_page_showed_it(adeq: Adeq, http: AsyncClient) -> None:
    app = adeq.config("app")
    await app.set("pool/size", {"least": 1, "most": 10}, actor="eve", reason="first")
    assert 'href="/configs/app"' in await shown(http, "/configs")
    assert 'href="/configs/app/pool%2Fsize"' in await shown(http, "/configs/app")
    page = await shown(http, "/configs/app/pool%2Fsize")
    at, fields = "/do/v1/configs/app/values/pool%2Fsize", {"_method": "PUT", "_next": "/configs/app/pool%2Fsize"}
    seen = fields | {"_match": match_of(page)}
    await app.set("pool/size", {"least": 2, "most": 10}, actor="fay")
    late = await http.post(at, data=seen | {"_body": "7"})
    assert late.status_code == 412
    assert 'href="/configs/app/pool%2Fsize"' in late.text
    page = await shown(http, "/configs/app/pool%2Fsize")
    assert '-  "least": 1,' in page
    assert '+  "least": 2,' in page
    new = fields | {"_match": match_of(page), "_body": '{"least": 3}', "_reason": f"more & {MARKUP}"}
    assert (await http.post(at, data=new)).status_code == 303
    found = await app.get("pool/size")
    assert found
    assert (found.json(), found.actor, found.reason) == ({"least": 3}, "ann", f"more & {MARKUP}")
    answer = await http.get("/configs/app/pool%2Fsize")
    assert MARKUP not in answer.text
    assert (await http.post(at, data=new | {"_match": f"v{found.version}", "_body": "{"})).status_code == 400
    first = [one async for one in app.history("pool/size")][-1]
    back = {"version:int": str(first.version), "_match": f"v{found.version}"}
    assert (await http.post(f"{at}:revert", data=back | {"_match": "v1"})).status_code == 412
    assert (await http.post(f"{at}:revert", data=back)).status_code == 303
    assert json.loads((await app.get("pool/size")).value) == {"least": 1, "most": 10}  # type: ignore[union-attr]
    gone = {"_method": "DELETE", "_match": match_of(await shown(http, "/configs/app/pool%2Fsize"))}
    assert (await http.post(at, data=gone)).status_code == 303
    assert await app.get("pool/size") is None
    assert "It has no value" in await shown(http, "/configs/app/-?id=pool/size")


async def test_a_flag_is_switched(adeq: Adeq, http: AsyncClient) -> None:
    flags = adeq.config("flags")
    await flags.set("flag:new", FLAG)
    await flags.set("flag:dark", "enabled")
    page = await shown(http, "/configs/flags")
    assert 'if email ends with "@example.org": new' in page
    rows = dict(re.findall(r'data-id="(flag:\w+)"(.*?)</tr>', page, re.DOTALL))
    form = re.search(r'name="_match" value="(v\d+)"><input type="hidden" name="_body" value="(.*?)">', rows["flag:new"])
    assert form
    at, fields = "/do/v1/configs/flags/values/flag%3Anew", {"_method": "PUT", "_reason": "errors"}
    fields |= {"_match": form[1], "_body": form[2]}
    assert (await http.post(at, data=fields)).status_code == 303
    found = await flags.get("flag:new")
    assert found
    assert (found.json(), found.reason) == (FLAG | {"state": "DISABLED"}, "errors")
    assert (await http.post(at, data=fields)).status_code == 412
    page = await shown(http, "/configs/flags/flag%3Anew")
    assert '-  "state": "ENABLED"' in page
    wrong = await http.post(at, data=fields | {"_match": match_of(page), "_body": '{"state": "MAYBE"}'})
    assert (wrong.status_code, "state:" in wrong.text) == (400, True)


async def test_who_reads_gets_no_form_and_is_refused(adeq: Adeq, asking: Ask) -> None:
    app = adeq.config("app")
    await app.set("size", 1)
    await app.set("flag:new", FLAG)
    await app.set("image", b"\xff\x00")
    await adeq.config("other").set("size", 1)
    http = asking("config.observe", names=("app",))
    for path in ("/configs/app", "/configs/app/size", "/configs/app/flag%3Anew", "/configs/app/image"):
        assert "/do/v1/" not in await shown(http, path)
    assert "2 bytes that are not text" in await shown(http, "/configs/app")
    assert "other" not in await shown(http, "/configs")
    assert (await http.get("/configs/other")).status_code == 404
    assert (await asking().get("/configs/_tokens")).status_code == 404
    for verb, fields in (
        ("", {"_method": "PUT", "_body": "2"}),
        ("", {"_method": "DELETE"}),
        (":revert", {"version:int": "1"}),
    ):
        assert (await http.post(f"/do/v1/configs/app/values/size{verb}", data=fields)).status_code == 403
    assert (await asking("queue.observe").get("/configs/app")).status_code == 403
    found = await app.get("size")
    assert found
    assert found.json() == 1


async def test_versions_with_very_many_lines_are_not_compared(adeq: Adeq, http: AsyncClient) -> None:
    for first in ("a", "b"):
        await adeq.config("mail").set("long", f"{first}{chr(10) * 2100}".encode())
    assert "not shown: it has more than 2,000 lines" in await shown(http, "/configs/mail/long")
