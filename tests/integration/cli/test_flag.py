"""`adeq flag`: feature flags, and who has changed them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq, Config
from tests.integration.cli.run import Ended, adeq

pytestmark = pytest.mark.any_engine

COLOUR = {
    "state": "ENABLED",
    "variants": {"red": "#f00", "blue": "#00f"},
    "defaultVariant": "red",
    "targeting": {"fractional": [["red", 90], ["blue", 10]]},
}


@pytest.fixture
def config(url: str, base_name: str) -> Iterator[Config]:
    with Adeq.from_url(url, prefix=base_name) as client:
        yield client.config("flags")


@pytest.fixture
def run(url: str, base_name: str) -> Any:
    def run(*words: str, stdin: bytes = b"") -> Ended:
        return adeq("flag", *words, "--url", url, stdin=stdin, ADEQ_PREFIX=base_name, ADEQ_ACTOR="ann")

    return run


def test_a_flag_is_set_switched_shown_and_removed(config: Config, run: Any) -> None:
    ended = run("set", "colour", json.dumps(COLOUR), "-m", "10 percent")
    stored = config.get("flag:colour")
    assert stored
    assert ended.stdout == f"colour set, version {stored.version}\n"
    assert (stored.json(), stored.actor, stored.reason) == (COLOUR, "ann", "10 percent")
    ended = run("off", "colour", "-m", "incident", "--as", "bob")
    off = config.get("flag:colour")
    assert off
    assert ended.stdout == f"colour off, version {off.version}\n"
    assert run("off", "colour").stdout == f"colour is off already, version {off.version}\n"
    assert off.json() == {**COLOUR, "state": "DISABLED"}
    told = json.loads(run("on", "colour", "-o", "json").stdout)
    last = told.pop("version")
    assert told == {"namespace": "flags", "flag": "colour", "status": "on"}
    shown = json.loads(run("show", "colour", "-o", "json").stdout)
    assert (shown["flag"], shown["version"], shown["value"]) == ("colour", last, COLOUR)
    text = run("show", "colour").stdout
    assert "ENABLED" in text
    assert json.loads(text[text.index("{") :]) == COLOUR
    versions = json.loads(run("history", "colour", "-o", "json").stdout)
    told = [(one["version"], one["value"]["state"], one["actor"], one["reason"]) for one in versions]
    assert told == [
        (last, "ENABLED", "ann", ""),
        (off.version, "DISABLED", "bob", "incident"),
        (stored.version, "ENABLED", "ann", "10 percent"),
    ]
    assert len(run("history", "colour", "--limit", "2", "-o", "jsonl").stdout.splitlines()) == 2
    assert run("rm", "colour").stdout == "removed colour\n"
    assert (run("rm", "colour").status, config.get("flag:colour")) == (1, None)
    table = run("history", "colour", "-o", "wide").stdout.splitlines()
    assert [line.split()[1] for line in table[1:]] == ["removed", "ENABLED", "DISABLED", "ENABLED"]


def test_flags_of_the_source_design_are_states(config: Config, run: Any) -> None:
    run("set", "deadlock_detection", "enabled")
    run("set", "batch_approvals", "disabled")
    config.set("other", 1)
    rows = json.loads(run("ls", "-o", "json").stdout)
    assert [(row["flag"], row["value"]["state"], row["value"]["defaultVariant"]) for row in rows] == [
        ("batch_approvals", "DISABLED", "on"),
        ("deadlock_detection", "ENABLED", "on"),
    ]
    table = run("ls", "-o", "wide").stdout.splitlines()
    assert table[1].split()[:6] == ["batch_approvals", "DISABLED", "on", "no", "on", "off"]


def test_a_flag_comes_from_a_file_or_stdin(config: Config, run: Any, tmp_path: Path) -> None:
    file = tmp_path / "flag.json"
    file.write_text(json.dumps(COLOUR))
    assert run("set", "a", f"@{file}").status == 0
    assert run("set", "b", "@-", stdin=file.read_bytes()).status == 0
    for name in ("flag:a", "flag:b"):
        found = config.get(name)
        assert found
        assert found.json() == COLOUR


def test_only_the_version_that_was_seen_is_replaced(config: Config, run: Any) -> None:
    assert run("set", "a", "enabled", "--expect", "0").status == 0
    again = run("set", "a", "disabled", "--expect", "0")
    found = config.get("flag:a")
    assert found
    assert (again.status, f"flag:a has {found.version}" in again.stderr) == (1, True)
    assert run("set", "a", "disabled", "--expect", str(found.version)).status == 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({**COLOUR, "state": "ON"}, "state: 'ON' is not accepted; allowed: ENABLED or DISABLED"),
        ({**COLOUR, "targeting": {"substr": ["a"]}}, "operator 'substr' is not accepted; allowed: var, ==,"),
        ({**COLOUR, "targeting": {"if": [True, "pink"]}}, "targeting.if[1]: variant 'pink' does not exist"),
        ("on", "allowed: an object in flagd's format"),
    ],
)
def test_a_wrong_flag_is_refused_before_anything_is_written(config: Config, run: Any, value: Any, message: str) -> None:
    ended = run("set", "a", json.dumps(value))
    assert (ended.status, message in ended.stderr) == (2, True)
    assert ended.stderr.count("\n") == 1
    assert config.get("flag:a") is None


def test_a_flag_or_namespace_that_does_not_exist(config: Config, run: Any) -> None:
    missing = run("ls")
    assert (missing.status, "there is no 'flags' on this server" in missing.stderr) == (1, True)
    config.set("other", 1)
    for words in (["show", "a"], ["on", "a"], ["off", "a"], ["rm", "a"], ["history", "a"]):
        ended = run(*words)
        assert (ended.status, ended.stderr) == (1, "adeq: there is no flag a in flags; see adeq flag ls\n")
    assert run("ls", "-o", "json").stdout == "[]\n"
