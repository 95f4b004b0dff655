"""Random requests that schemathesis makes from the schema. Each answer must be one that the schema describes.

Each operation gets its edge cases and 20 random requests. With DAY set, a third of the operations gets 200. The seed is
DAY.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis

from tests.rotation import DAY, is_due, number_of
from tests.web.conftest import SCHEMA, SECRET, Tenants

SEED = DAY or 0
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
ENDLESS = "events_stream"
"""Its answer does not end by itself. tests/integration/server/test_server_events.py tests it."""
OPERATIONS = [one["operationId"] for path in json.loads(SCHEMA.read_text())["paths"].values() for one in path.values()]
LONGEST = 30.0  # seconds for a request; those that wait for something are changed


def loaded(examples: int = 20, daily: bool = True) -> Any:
    """The operations of the schema. daily: those of the day get more requests."""
    today = [] if DAY is None or not daily else [name for name in OPERATIONS if is_due(number_of(name), 3, DAY)]
    more = {"include-operation-id": today, "generation": {"max-examples": 200}}
    config = schemathesis.Config.from_dict(
        {
            "seed": SEED,
            "generation": {"max-examples": examples},
            "operations": [more] if today else [],
            "checks": {"enabled": False, **{check: {"enabled": True} for check in CHECKS}},
        }
    )
    return schemathesis.openapi.from_path(SCHEMA, config=config).exclude(operation_id=ENDLESS)


@pytest.fixture(scope="module")
def session(service: str) -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False  # or each request looks for proxies and passwords, which takes a tenth of its time
        yield session


@loaded().parametrize()  # type: ignore[untyped-decorator]
def test_answers_are_as_the_schema_says(case: schemathesis.Case, service: str, session: requests.Session) -> None:
    if isinstance(case.body, dict) and isinstance(case.body.get("wait"), int | float):
        case.body["wait"] = 0
    case.query.pop("sync", None)
    case.call_and_validate(base_url=service, session=session, timeout=LONGEST)


@pytest.fixture(scope="module")
def unchanged(tenants: Tenants) -> Iterator[Tenants]:
    """After all requests, the records of bob are as they were."""
    queue, changes = tenants.adeq.queue("box"), tenants.adeq.changes("box")
    before = queue.get_many(["a", "b"])
    yield tenants
    assert queue.get_many(["a", "b"]) == before
    found = changes.get("a", log=100)
    assert found
    assert {one.by for one in (found.log or ())[1:]} <= {"ann", "time"}, "nobody but ann has asked"


@loaded(examples=5, daily=False).parametrize()  # type: ignore[untyped-decorator]
def test_a_token_for_one_user_reaches_nothing_of_others(
    case: schemathesis.Case, unchanged: Tenants, session: requests.Session
) -> None:
    """Random requests about objects of bob, of somebody who has all rights for ann only."""
    for name in ("queue", "domain", "realm", "namespace"):
        if name in case.path_parameters:
            case.path_parameters[name] = "box"
    if "id" in case.path_parameters:
        case.path_parameters["id"] = "a"
    if "user" in case.path_parameters:
        case.path_parameters["user"] = "bob"
    if isinstance(case.body, dict) and isinstance(case.body.get("wait"), int | float):
        case.body["wait"] = 0
    case.query.pop("sync", None)
    headers = {"Authorization": f"Bearer {unchanged.ann}"}
    answer = case.call(base_url=unchanged.at, session=session, headers=headers, timeout=LONGEST)
    assert answer.status_code < 500, answer.text
    assert SECRET not in answer.text
