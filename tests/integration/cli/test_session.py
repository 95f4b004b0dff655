"""`adeq session`: who is logged in, and logins that are ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pyadeq import Adeq, Sessions
from tests.integration.cli.run import Ended, adeq


@pytest.fixture
def sessions(url: str, base_name: str) -> Iterator[Sessions]:
    with Adeq.from_url(url, prefix=base_name) as client:
        yield client.sessions("web")


@pytest.fixture
def run(url: str, base_name: str) -> Any:
    def run(*words: str) -> Ended:
        return adeq("session", *words, "--url", url, ADEQ_PREFIX=base_name, ADEQ_SESSION_REALM="web")

    return run


def test_lists_and_shows_name_sessions_by_their_handles(sessions: Sessions, run: Any) -> None:
    first = sessions.create("ann", name="Ann\x1b[31m", agent="Firefox", lifetime=3600)
    second = sessions.create("ann", address="::1")
    sessions.create("bob")
    listed = json.loads(run("ls", "ann", "-o", "json").stdout)
    assert [one["handle"] for one in listed] == [first.handle, second.handle]
    assert (listed[1]["address"], listed[1]["user"], listed[1]["idle"]) == ("::1", "ann", 86_400)
    assert len(run("ls", "--limit", "2", "-o", "jsonl").stdout.splitlines()) == 2
    table = run("ls", "-o", "wide").stdout
    assert first.handle in table
    assert "\x1b" not in table
    shown = json.loads(run("show", "ann", first.handle, "-o", "json").stdout)
    assert (shown["realm"], shown["agent"]) == ("web", "Firefox")
    assert "Firefox" in run("show", "ann", first.handle).stdout
    missing = run("show", "bob", first.handle)
    assert (missing.status, missing.stderr) == (
        1,
        f"adeq: sessions: bob in realm 'web' has no {first.handle!r}. See adeq session ls bob\n",
    )
    realms = [{"realm": "web", "sessions": 3}]
    assert json.loads(run("realms", "-o", "json").stdout) == realms


def test_sessions_are_ended_one_by_one_and_all_at_once(sessions: Sessions, run: Any) -> None:
    made = [sessions.create("ann") for _ in range(4)]
    handles = [one.handle for one in made[:2]]
    assert run("revoke", "ann", *handles).status == 0
    again = run("revoke", "ann", handles[0], made[2].handle, "-o", "json")
    assert again.status == 1
    assert [one["status"] for one in json.loads(again.stdout)["handles"]] == ["not_found", "revoked"]
    assert run("revoke", "ann", made[3].id).status == 2
    refused = run("revoke-all", "ann")
    assert (refused.status, "add --yes" in refused.stderr) == (2, True)
    assert run("revoke-all", "ann", "--yes").stdout == "1 session of ann ended\n"
    assert [sessions.get(one.id) for one in made] == [None] * 4


def test_rights_are_read_again_and_old_sessions_swept(sessions: Sessions, run: Any) -> None:
    made = sessions.create("ann")
    assert run("renew-authz", "ann").stdout == "the rights of ann have version 2\n"
    found = sessions.get(made.id)
    assert found
    assert found.authz_stale
    assert json.loads(run("sweep", "-o", "json").stdout) == {"realm": "web", "ended": 0}


def test_a_realm_that_does_not_exist_is_named_with_those_that_do(sessions: Sessions, run: Any) -> None:
    sessions.create("ann")
    ended = run("ls", "--realm", "wed")
    assert (ended.status, "--realm: there is no 'wed' on this server" in ended.stderr) == (1, True)
    assert "did you mean web? See adeq session realms" in ended.stderr


@pytest.mark.parametrize(
    "words", [("revoke", "ann", "{handle}"), ("revoke-all", "ann", "--yes"), ("renew-authz", "ann"), ("sweep",)]
)
def test_logins_of_a_service_are_not_ended_by_general_commands(
    words: tuple[str, ...], sessions: Sessions, url: str, base_name: str
) -> None:
    with Adeq.from_url(url, prefix=base_name) as client:
        board = client.sessions("_board")
        made = board.create("ann")
        given = [word.format(handle=made.handle) for word in words]
        ended = adeq("session", *given, "--realm", "_board", "--url", url, ADEQ_PREFIX=base_name)
        assert (ended.status, "'_board' has records of a service" in ended.stderr) == (2, True), ended.stderr
        assert [one.handle for one in board.iterate("ann")] == [made.handle]
