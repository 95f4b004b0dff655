"""The commands of a noun without a module of its own, shown with locks: as if nobody had written theirs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
import typer.main

from pyadeq import Adeq, library
from pyadeq.ext.cli import app
from pyadeq.ext.cli.app import Commands, module_of
from tests.integration.cli import run as cli

pytestmark = pytest.mark.any_engine


@pytest.fixture(autouse=True)
def generated() -> Iterator[None]:
    with (
        mock.patch.object(Commands, "nouns", tuple(noun for noun in Commands.nouns if noun != "lock")),
        mock.patch.object(app, "module_of", lambda name: None if name == "lock" else module_of(name)),
        mock.patch.object(app, "command_of", app.command_of.__wrapped__),
        mock.patch.object(cli, "put_together", typer.main.get_command),
    ):
        yield


@pytest.fixture
def lock(url: str, base_name: str) -> Any:
    """Runs `adeq lock …` in a domain of its own."""
    return lambda *words: cli.adeq("lock", *words, "--domain", base_name, ADEQ_URL=url)


def answer(ended: cli.Ended) -> Any:
    assert ended.status == 0, ended.stderr
    return json.loads(ended.stdout)


def test_each_script_is_a_command(lock: Any) -> None:
    shown = cli.adeq("lock", "--help").stdout
    assert "  set-capacity  " in shown
    assert "  confirm" not in shown
    assert re.search("\n  lock +Locks: made from the scripts of this release.\n", cli.adeq("--help").stdout)
    help = " ".join(cli.adeq("lock", "configure", "--help").stdout.split())
    (doc,) = [one["doc"] for one in library().manifest["nouns"]["lock"]["settings"] if one["name"] == "lease_ms"]
    assert f"--lease TIME {doc[:1].upper()}{doc[1:]}." in help
    assert "--detection / --no-detection" in help


def test_arguments_options_and_answers(lock: Any, base_name: str) -> None:
    created = answer(lock("set-capacity", "gpu", "2", "--silent", "1.5m", "-o", "json"))
    assert (created["domain"], created["status"]) == (base_name, "ok")
    shown = answer(lock("show", "gpu", "-o", "json"))
    assert (shown["capacity"]["max"], shown["capacity"]["silent"]) == (2, 90.0)
    assert ["silent", "90"] in [line.split() for line in lock("show", "gpu").stdout.splitlines()]
    changed = answer(lock("configure", "--lease", "5s", "--policy", "youngest", "--no-mirror", "-o", "json"))
    assert (changed["settings"]["lease"], changed["settings"]["policy"]) == (5.0, "youngest")
    assert changed["settings"]["poll"] == 2.0
    assert lock("heartbeat", "gpu", "nothing").stdout.split() == ["status", "active", "no_capacity"]


def test_items_of_several_fields_are_json(lock: Any) -> None:
    lock("configure", "--lease", "5")
    wanted = '{"resource": "db:1", "mode": "shared"}'
    asked = lock("acquire-many", "owner", "1", wanted)  # issued_ms: long ago
    assert "request_expired" in asked.stdout
    refused = lock("acquire-many", "owner", "1", "db:1")
    assert (refused.status, "a JSON object" in refused.stderr) == (2, True)


def test_a_list_is_read_page_by_page(lock: Any, url: str, base_name: str) -> None:
    with Adeq.from_url(url) as adeq:
        locks = adeq.locks(base_name)
        issued_ms = round(locks.stats().now * 1000)
        for number in range(130):
            adeq.send(locks.calls.acquire(f"r{number}", f"db:{number}", "me", issued_ms=issued_ms, ttl=60))
    assert len(answer(lock("ls", "-o", "json"))["items"]) == 130
    page = answer(lock("ls", "--limit", "2", "-o", "json"))
    assert (len(page["items"]), bool(page["cursor"])) == (2, True)
    next_page = answer(lock("ls", "--limit", "2", "--cursor", page["cursor"], "-o", "json"))
    assert len({one["rid"] for one in (*page["items"], *next_page["items"])}) == 4
    assert len(answer(lock("ls", "--cursor", page["cursor"], "-o", "json"))["items"]) == 128
    lines = [json.loads(line) for line in lock("ls", "-o", "jsonl").stdout.splitlines()]
    assert {line["owner"] for line in lines} == {"me"}
    assert lock("ls").stdout.count("\n") == 131


def test_only_what_writes_creates(lock: Any, url: str) -> None:
    for words in (["stats"], ["configure"]):
        ended = lock(*words)
        assert ended.status == 1
        assert (
            ended.stderr.rstrip().lower().endswith("see adeq lock lock-domains")
        )  # a sentence of its own where a name is alike
    lock("configure", "--lease", "5")
    assert lock("stats").status == 0
    names = cli.adeq("lock", "lock-domains", "-o", "json", ADEQ_URL=url)
    assert isinstance(answer(names), list)


def test_what_is_not_accepted_is_told(lock: Any) -> None:
    ended = lock("set-capacity", "gpu", "2", "--silent", "2x")
    assert (ended.status, "'2x' is not accepted" in ended.stderr) == (2, True)
    ended = lock("set-capacity", "no such", "2")
    assert (ended.status, "resource: 'no such' is not accepted" in ended.stderr) == (2, True)
