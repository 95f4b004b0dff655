"""`adeq rate`: rules of a namespace, also of one in partitions, and hits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pyadeq import Adeq
from tests.integration.cli.run import Ended, adeq


@pytest.fixture
def client(url: str, base_name: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=base_name) as found:
        yield found


@pytest.fixture
def run(url: str, base_name: str) -> Any:
    def run(*words: str) -> Ended:
        return adeq("rate", *words, "--url", url, ADEQ_PREFIX=base_name, ADEQ_RATE_NAMESPACE="web")

    return run


def test_rules_and_hits(run: Any) -> None:
    assert run("set", "login", "--rate", "2/1h", "--algorithm", "log").stdout == "stored login: 2 in 1h00m\n"
    hits = [run("hit", "login", "ann", "-o", "json") for _ in range(3)]
    assert [one.status for one in hits] == [0, 0, 1]
    assert [json.loads(one.stdout)["remaining"] for one in hits] == [1, 0, 0]
    assert json.loads(run("refund", "login", "ann", "-o", "json").stdout)["remaining"] == 1
    assert run("reset", "login", "ann").stdout == "login allows ann 2 now\n"
    ended = run("show", "logn", "ann")
    assert (ended.status, "has no 'logn'; did you mean login? See adeq rate ls" in ended.stderr) == (1, True)
    assert run("rm", "login").status == 0
    assert run("hit", "login", "ann").status == 1


def test_a_namespace_in_partitions(run: Any, client: Adeq) -> None:
    there = ("--partitions", "4")
    assert run("set", "api", "--rate", "5/1h", *there).status == 0
    parts = client.rates("web").partitioned(4)
    assert [rule.limit for rule in parts.list()] == [5]
    assert run("hit", "api", "bob", *there).status == 0
    assert parts.peek("api", "bob").remaining == 4
    assert json.loads(run("show", "api", "bob", *there, "-o", "json").stdout)["remaining"] == 4
    assert [json.loads(line)["name"] for line in run("ls", *there, "-o", "jsonl").stdout.splitlines()] == ["api"]
    for words in (["ls"], ["ls", "--partitions", "8"]):
        ended = run(*words)
        assert ended.status == 1
        assert "--partitions: 'web' is in 4 partitions; add --partitions 4" in ended.stderr
    assert run("rm", "api", *there).status == 0


def test_a_namespace_without_partitions(run: Any, client: Adeq) -> None:
    client.rates("web").set("api", limit=5, period=60)
    ended = run("ls", "--partitions", "4")
    assert (ended.status, "--partitions: 'web' has no partitions; leave it out" in ended.stderr) == (1, True)
    ended = run("ls", "--namespace", "other", "--partitions", "4")
    assert (ended.status, "there is no 'other'" in ended.stderr) == (1, True)
