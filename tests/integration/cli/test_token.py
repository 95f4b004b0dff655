"""`adeq token`: tokens are made, listed and revoked, and their secrets are shown once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pyadeq import Adeq
from pyadeq.errors import ConfigError
from pyadeq.ext.server.tokens import TEXT, new_token, read_token
from tests.integration.cli.run import Ended, adeq

pytestmark = pytest.mark.any_engine


@pytest.fixture
def client(url: str, base_name: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=base_name) as client:
        yield client


@pytest.fixture
def run(url: str, base_name: str) -> Any:
    def run(*words: str) -> Ended:
        return adeq(*words, "--url", url, ADEQ_PREFIX=base_name, ADEQ_ACTOR="root")

    return run


def test_a_token_is_made_listed_and_revoked(client: Adeq, run: Any) -> None:
    done = run("token", "add", "Ann", "--right", "producer", "--right", "lock.work", "--name", "mail-*", "--user", "u1")
    match = TEXT.fullmatch(done.stdout.strip())
    assert done.status == 0
    assert match, done
    assert "not shown again" in done.stderr
    assert match[2] not in done.stderr
    stored = client.config("_tokens").get(match[1])
    assert stored
    assert stored.actor == "root"
    token = read_token(stored.value)
    assert token
    assert (token.owner, token.rights, token.names, token.user) == ("ann", ("producer", "lock.work"), ("mail-*",), "u1")
    assert token.expires == token.created + 90 * 86400
    assert token.fits(match[2])
    (listed,) = json.loads(run("token", "ls", "-o", "json").stdout)
    assert (listed["id"], listed["state"], listed["owner"]) == (match[1], "valid", "ann")
    for words in (("ls",), ("ls", "-o", "wide"), ("show", match[1]), ("revoke", match[0]), ("revoke", match[1])):
        ended = run("token", *words)
        assert (ended.status, match[1] in ended.stdout) == (0, True)
        assert match[2] not in ended.stdout + ended.stderr
        assert token.hash not in ended.stdout + ended.stderr
    assert json.loads(run("token", "ls", "-o", "json").stdout)[0]["state"] == "revoked"


def test_a_token_may_have_a_rate(client: Adeq, run: Any) -> None:
    made = json.loads(run("token", "add", "ann", "--right", "observer", "--rate", "600/1m", "-o", "json").stdout)
    assert made["rate"] == "600/60s"
    stored = client.config("_tokens").get(made["id"])
    token = stored and read_token(stored.value)
    assert token
    assert token.rate
    assert (token.rate.limit, token.rate.period) == (600, 60)
    assert "600/60s" in run("token", "ls", "-o", "wide").stdout
    for wrong in ("5", "0/s", "5/2w", "5/10ms", "5/2d"):
        assert run("token", "add", "ann", "--right", "observer", "--rate", wrong).status == 2, wrong
    assert len(client.config("_tokens").list()) == 1


def test_an_unlimited_token_must_be_said(run: Any) -> None:
    assert json.loads(run("token", "add", "ann", "--right", "observer", "-o", "json").stdout)["expires"]
    made = json.loads(run("token", "add", "ann", "--right", "observer", "--expires", "never", "-o", "json").stdout)
    assert (made["expires"], TEXT.fullmatch(made["token"]) is not None) == (None, True)
    assert "hash" not in made
    assert run("token", "add", "ann", "--right", "observer", "--expires", "0").status == 2
    assert run("token", "add", "ann").status == 2


def test_old_tokens_are_removed(client: Adeq, run: Any) -> None:
    _, _, old = new_token("ann", ["observer"], lifetime=10, now=1000)
    client.config("_tokens").set_many({f"{n:012x}": old.encoded() for n in range(99)})
    run("token", "add", "ann", "--right", "observer")
    assert len(client.config("_tokens").list()) == 1


def test_a_token_that_is_not_there(run: Any) -> None:
    done = run("token", "revoke", "0" * 12)
    assert (done.status, done.stderr) == (1, f"adeq: ID: there is no token '{'0' * 12}'. See adeq token ls\n")
    done = run("token", "revoke", "adeq_0123456789ab_half-a-secret")
    assert done.status == 2
    assert "half" not in done.stderr


def test_nothing_revives_a_token(client: Adeq, run: Any) -> None:
    made = json.loads(run("token", "add", "ann", "--right", "observer", "-o", "json").stdout)
    tokens = client.config("_tokens")
    found = tokens.get(made["id"])
    assert found
    run("token", "revoke", made["id"])
    with pytest.raises(ConfigError, match="cannot be reverted"):
        tokens.revert(made["id"], found.version)
    for words in (["revert", made["id"], str(found.version)], ["set", made["id"], "x"]):
        done = run("config", *words, "--namespace", "_tokens")
        assert done.status == 2, done
        assert "'_tokens' has records of a service" in done.stderr
    assert json.loads(run("token", "ls", "-o", "json").stdout)[0]["state"] == "revoked"
