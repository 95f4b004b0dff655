"""`adeq config`: values are listed, set, removed and reverted, and changes are followed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq, Config
from tests.integration.cli.run import Ended, adeq


@pytest.fixture
def config(url: str, base_name: str) -> Iterator[Config]:
    with Adeq.from_url(url, prefix=base_name) as client:
        yield client.config("shop")


@pytest.fixture
def run(url: str, base_name: str) -> Any:
    def run(*words: str, stdin: bytes = b"") -> Ended:
        return adeq("config", *words, "--url", url, stdin=stdin, ADEQ_PREFIX=base_name, ADEQ_CONFIG_NAMESPACE="shop")

    return run


def as_json(ended: Ended) -> Any:
    return json.loads(ended.stdout)


def test_values_are_set_and_shown(config: Config, run: Any, tmp_path: Path) -> None:
    done = as_json(run("set", "mail.port", "25", "--as", "ann", "-m", "first", "-o", "json"))
    found = config.get("mail.port")
    assert found is not None
    assert done == {"namespace": "shop", "name": "mail.port", "version": found.version}
    assert (found.value, found.actor, found.reason) == (b"25", "ann", "first")
    (tmp_path / "logo").write_bytes(b"\xff\x00")
    run("set", "logo", f"@{tmp_path / 'logo'}")
    run("set", "mail.host", "@-", stdin=b"a\x1b[31m\n")
    assert run("get", "mail.host").stdout == "a\x1b[31m\n", "get prints what is there, and nothing else"
    assert "\x1b" not in run("show", "mail.host").stdout
    assert "\x1b" not in run("ls", "-o", "wide").stdout
    listed = as_json(run("ls", "-o", "json"))
    assert {one["name"]: one["value"] for one in listed} == {
        "logo": {"base64": "/wA="},
        "mail.host": "a\x1b[31m\n",
        "mail.port": "25",
    }
    assert [one["name"] for one in as_json(run("ls", "mail.", "-o", "json"))] == ["mail.host", "mail.port"]
    assert as_json(run("show", "mail.port", "-o", "json"))["actor"] == "ann"
    assert as_json(run("namespaces", "-o", "json")) == [{"namespace": "shop"}]


def test_what_another_has_changed_is_not_overwritten(config: Config, run: Any) -> None:
    version = config.set("a", 1)
    later = config.set("a", 2)
    for words in (("set", "a", "3"), ("rm", "a"), ("revert", "a", str(version))):
        ended = run(*words, "--expect", str(version))
        assert (ended.status, ended.stdout) == (1, "")
        assert f"a has {later}" in ended.stderr
    assert run("set", "a", "3", "--expect", str(later)).status == 0
    assert run("set", "b", "3", "--expect", "0").status == 0


def test_names_are_removed_and_reverted(config: Config, run: Any) -> None:
    version = config.set("a", 1, actor="ann", reason="first")
    config.set("b", 1)
    ended = run("rm", "a", "other", "-m", "not used", "--as", "cleo", "-o", "json")
    assert ended.status == 1
    assert [one["status"] for one in as_json(ended)["names"]] == ["removed", "not_found"]
    assert [*config.list()] == ["b"]
    done = as_json(run("revert", "a", str(version), "--as", "bob", "-o", "json"))
    assert (config.list()["a"].json(), config.list()["a"].version) == (1, done["new_version"])
    history = as_json(run("history", "a", "-o", "json"))
    assert [(one["value"], one["actor"], one["reason"]) for one in history] == [
        ("1", "bob", f"revert to {version}"),
        (None, "cleo", "not used"),
        ("1", "ann", "first"),
    ]
    assert "(removed)" in run("history", "a").stdout
    unknown = run("revert", "a", "7")
    assert (unknown.status, "is not in the history" in unknown.stderr) == (2, True)


def test_a_name_without_a_value_is_an_error(config: Config, run: Any) -> None:
    assert "there is no 'shop' on this server" in run("get", "a").stderr
    config.set("mail.port", 25)
    for verb in ("get", "show"):
        ended = run(verb, "mail.prt")
        assert (ended.status, "mail.port" in ended.stderr, ended.stdout) == (1, True, "")
    assert run("set", "a b", "1").status == 2


def test_changes_are_followed(config: Config, run: Any, url: str, base_name: str) -> None:
    config.set("a", 1)
    words = ["config", "watch", "--namespace", "shop", "--for", "60s", "-o", "jsonl", "--url", url]
    command = [sys.executable, "-m", "pyadeq.ext.cli", "--prefix", base_name, *words]
    done = threading.Event()

    def change() -> None:
        """Until it is seen: the command may begin to follow after the first of them."""
        number = 0
        while not done.wait(0.05):
            number += 1
            config.set("b", number, actor="ann")

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        thread = threading.Thread(target=change)
        thread.start()
        told = json.loads(process.stdout.readline())
        done.set()
        thread.join()
        process.terminate()
    assert (told["name"], told["status"], told["actor"]) == ("b", "set", "ann")
    assert as_json(run("watch", "--for", "0.1s", "-o", "json")) == []


@pytest.mark.parametrize(
    "words",
    [
        ("config", "set", "t1", "x"),
        ("config", "rm", "t1"),
        ("config", "revert", "t1", "1"),
        ("config", "configure", "--names-max", "1"),
        ("flag", "set", "t1", "enabled"),
        ("flag", "off", "t1"),
        ("flag", "rm", "t1"),
    ],
)
def test_records_of_a_service_are_not_changed_by_general_commands(
    words: tuple[str, ...], url: str, base_name: str
) -> None:
    with Adeq.from_url(url, prefix=base_name) as client:
        records = client.config("_tokens")
        before = records.set("t1", "secret")
        ended = adeq(*words, "--namespace", "_tokens", "--url", url, ADEQ_PREFIX=base_name)
        assert (ended.status, "'_tokens' has records of a service" in ended.stderr) == (2, True), ended.stderr
        assert {name: one.version for name, one in records.list().items()} == {"t1": before}
        shown = adeq("config", "configure", "--namespace", "_tokens", "--url", url, "-o", "json", ADEQ_PREFIX=base_name)
        assert (shown.status, "10000" in shown.stdout) == (0, True)
